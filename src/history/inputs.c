#include "iso/inputs.h"

#include <stdbool.h>

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

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
    iso_free(inputs->slots);
    iso_inputs_init(inputs);
}

static bool is_input(const struct iso_inputs_entry *input, const char *topic, size_t length, int32_t partition)
{
    return input->partition == partition && !strncmp(input->topic, topic, length) && !input->topic[length];
}

static uint32_t hash(const char *topic, size_t length, int32_t partition)
{
    return (uint32_t)XXH3_64bits_withSeed(topic, length, (uint64_t)(uint32_t)partition);
}

static void grow(struct iso_inputs *inputs)
{
    inputs->capacity = inputs->capacity ? inputs->capacity * 2 : 16;
    inputs->list = iso_reallocate(inputs->list, inputs->capacity * sizeof *inputs->list);
    iso_free(inputs->slots);
    inputs->slots = iso_allocate_zeroed(inputs->capacity * 2, sizeof *inputs->slots);
    inputs->slot_mask = inputs->capacity * 2 - 1;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct iso_inputs_entry *input = &inputs->list[i];
        uint32_t slot = hash(input->topic, strlen(input->topic), input->partition) & inputs->slot_mask;
        while (inputs->slots[slot])
            slot = (slot + 1) & inputs->slot_mask;
        inputs->slots[slot] = i + 1;
    }
}

uint32_t iso_inputs_number(struct iso_inputs *inputs, const char *topic, size_t length, int32_t partition)
{
    if (inputs->count && is_input(&inputs->list[inputs->latest], topic, length, partition))
        return inputs->latest;
    if (inputs->count == inputs->capacity)
        grow(inputs);
    uint32_t slot = hash(topic, length, partition) & inputs->slot_mask;
    for (; inputs->slots[slot]; slot = (slot + 1) & inputs->slot_mask)
        if (is_input(&inputs->list[inputs->slots[slot] - 1], topic, length, partition))
            return inputs->latest = inputs->slots[slot] - 1;
    if (inputs->count == ISO_INPUTS_MAX)
        return ISO_INPUTS_MAX;
    inputs->list[inputs->count] = (struct iso_inputs_entry){iso_copy_text(topic, length), partition};
    inputs->slots[slot] = inputs->count + 1;
    return inputs->latest = inputs->count++;
}
