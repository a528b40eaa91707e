#include "base/inputs.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/memory.h"

void iso_inputs_init(struct iso_inputs *inputs)
{
    *inputs = (struct iso_inputs){0};
}

void iso_inputs_release(struct iso_inputs *inputs)
{
    for (uint32_t i = 0; i < inputs->count; i++)
        iso_free(inputs->list[i].topic);
    iso_free(inputs->list);
    iso_index_release(&inputs->table);
    iso_inputs_init(inputs);
}

static bool is_input(const struct iso_inputs_entry *input, const char *topic, size_t length,
                     int32_t partition)
{
    return input->partition == partition && !strncmp(input->topic, topic, length) &&
           !input->topic[length];
}

uint32_t iso_inputs_number(struct iso_inputs *inputs, const char *topic, size_t length,
                           int32_t partition)
{
    if (inputs->count && is_input(&inputs->list[inputs->latest], topic, length, partition))
        return inputs->latest;
    uint64_t hash = iso_hash_number(iso_hash_text(topic, length) + (uint32_t)partition);
    uint32_t at = iso_index_home(hash), number;
    for (; iso_index_next(&inputs->table, &at, hash, &number); at++)
        if (is_input(&inputs->list[number], topic, length, partition))
            return inputs->latest = number;
    if (inputs->count == ISO_INPUTS_MAX)
        return ISO_INPUTS_MAX;
    ISO_GROW(inputs->list, inputs->count, inputs->capacity);
    inputs->list[inputs->count] =
        (struct iso_inputs_entry){iso_copy_text(topic, length), partition};
    iso_index_add(&inputs->table, hash, inputs->count);
    return inputs->latest = inputs->count++;
}
