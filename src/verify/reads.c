/* What a single operation says, told the slow and plain way. */
#include <string.h>

#include "verify/verify_private.h"

static struct read_shape list_shape(const struct iso_history *history, uint32_t transaction, uint32_t operation)
{
    uint32_t key = history->key[operation], list = history->value[operation];
    uint64_t first = history->list_first[list], length = history->list_first[list + 1] - first, own = 0;
    struct read_shape shape = {.consistent = true};
    for (uint32_t o = history->first_operation[transaction]; o < operation; o++)
        own += history->key[o] == key && iso_kind_of(history, o) == ISO_APPEND;
    if (own > length)
        return (struct read_shape){0};
    shape.prefix = (uint32_t)(length - own);
    uint64_t at = first + shape.prefix;
    for (uint32_t o = history->first_operation[transaction]; o < operation; o++) {
        if (history->key[o] != key)
            continue;
        if (iso_kind_of(history, o) == ISO_APPEND) {
            shape.consistent &= history->element[at++] == history->value[o];
        } else if (!shape.internal) {
            struct read_shape earlier = list_shape(history, transaction, o);
            if (!earlier.consistent)
                continue; /* it told nothing */
            shape.internal = true;
            shape.consistent &= earlier.prefix == shape.prefix &&
                                memcmp(history->element + history->list_first[history->value[o]],
                                       history->element + first, shape.prefix * sizeof *history->element) == 0;
        }
    }
    return shape;
}

struct read_shape verify_read_shape(const struct iso_history *history, uint32_t transaction, uint32_t operation)
{
    if (iso_kind_of(history, operation) == ISO_READ_LIST)
        return list_shape(history, transaction, operation);
    for (uint32_t o = operation; o-- > history->first_operation[transaction];) {
        if (history->key[o] == history->key[operation])
            return (struct read_shape){.internal = true, .consistent = history->value[o] == history->value[operation]};
    }
    return (struct read_shape){.consistent = true};
}

uint32_t verify_external_read(const struct iso_history *history, uint32_t t, uint32_t key)
{
    if (t >= history->transaction_count || iso_status_of(history, t) != ISO_COMMITTED)
        return ISO_NONE;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (history->key[o] != key)
            continue;
        if (kind == ISO_READ_LIST) {
            struct read_shape shape = verify_read_shape(history, t, o);
            if (shape.consistent && !shape.internal)
                return o;
        } else if (kind != ISO_APPEND) {
            return kind == ISO_READ ? o : ISO_NONE;
        }
    }
    return ISO_NONE;
}

bool verify_final_write(const struct iso_history *history, uint32_t transaction, uint32_t key, uint32_t *value)
{
    for (uint32_t o = history->first_operation[transaction + 1]; o-- > history->first_operation[transaction];) {
        if (history->key[o] == key && iso_kind_writes(history->kind[o])) {
            *value = history->value[o];
            return true;
        }
    }
    return false;
}

uint32_t verify_initial_value(const struct iso_history *history, uint32_t key)
{
    uint32_t value = history->initial_value;
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initial_key[i] == key)
            value = history->initial_of_key[i];
    }
    return value;
}

uint32_t verify_initial_length(const struct iso_history *history, uint32_t key)
{
    uint32_t length = 0;
    for (uint32_t i = 0; i < history->initial_count; i++)
        length += history->initial_key[i] == key && history->initial_is_append[i];
    return length;
}
