/* The meaning of a single operation, told the slow and plain way. */
#include <assert.h>
#include <string.h>

#include "verify/verify_private.h"

void own_list_append(struct own_list *own, iso_atom element)
{
    if (own->count == own->capacity) {
        own->capacity = 2 * own->capacity + 4;
        own->elements = iso_reallocate(own->elements, own->capacity * sizeof *own->elements);
    }
    own->has_read &= !own->each_read || own->count;
    own->elements[own->count++] = element;
}

struct read_shape own_list_read(struct own_list *own, const struct iso_history *history,
                                uint32_t operation)
{
    assert(operation < history->ops.count);
    uint32_t list = history->ops.value[operation];
    uint64_t first = history->lists.first[list], length = history->lists.first[list + 1] - first;
    own->has_read &= !own->each_read || own->count;
    if (own->count > length)
        return (struct read_shape){.internal = own->has_read};
    struct read_shape shape = {.internal = own->has_read,
                               .prefix = (uint32_t)(length - own->count)};
    const iso_atom *elements = history->lists.element + first;
    shape.consistent = !own->count || memcmp(elements + shape.prefix, own->elements,
                                             own->count * sizeof *elements) == 0;
    if (own->has_read) {
        const iso_atom *before =
            history->lists.element + history->lists.first[history->ops.value[own->read]];
        shape.consistent &=
            own->read_prefix == shape.prefix &&
            (!shape.prefix || memcmp(before, elements, shape.prefix * sizeof *elements) == 0);
    } else if (shape.consistent) { /* else it told nothing */
        own->has_read = true;
        own->read = operation;
        own->read_prefix = shape.prefix;
    }
    return shape;
}

/* All that the transaction did to the list up to a read. */
static struct read_shape list_shape(const struct iso_history *history, uint32_t transaction,
                                    uint32_t operation, bool each_read)
{
    assert(operation < history->ops.count);
    assert(transaction < history->txns.count);
    struct own_list own = {.each_read = each_read};
    struct read_shape shape = {0};
    for (uint32_t o = history->txns.first_op[transaction]; o <= operation; o++) {
        if (history->ops.key[o] != history->ops.key[operation])
            continue;
        if (iso_kind_of(history, o) == ISO_APPEND)
            own_list_append(&own, history->ops.value[o]);
        else if (iso_kind_of(history, o) == ISO_READ_LIST)
            shape = own_list_read(&own, history, o);
    }
    iso_free(own.elements);
    return shape;
}

/* Whether the transaction wrote the key before. */
static bool has_written(const struct iso_history *history, uint32_t transaction, uint32_t operation)
{
    for (uint32_t o = history->txns.first_op[transaction]; o < operation; o++) {
        if (history->ops.key[o] == history->ops.key[operation] &&
            iso_kind_writes(history->ops.kind[o]))
            return true;
    }
    return false;
}

struct read_shape verify_read_shape(const struct iso_history *history, uint32_t transaction,
                                    uint32_t operation, bool each_read)
{
    assert(operation < history->ops.count);
    assert(transaction < history->txns.count);
    assert(operation >= history->txns.first_op[transaction] &&
           operation < history->txns.first_op[transaction + 1]);
    if (iso_kind_of(history, operation) == ISO_READ_LIST)
        return list_shape(history, transaction, operation, each_read);
    if (each_read && !has_written(history, transaction, operation))
        return (struct read_shape){.consistent = true};
    for (uint32_t o = operation; o-- > history->txns.first_op[transaction];) {
        if (history->ops.key[o] == history->ops.key[operation])
            return (struct read_shape){.internal = true,
                                       .consistent =
                                           history->ops.value[o] == history->ops.value[operation]};
    }
    return (struct read_shape){.consistent = true};
}

bool verify_is_external(const struct iso_history *history, uint32_t t, uint32_t operation)
{
    assert(operation < history->ops.count);
    if (t >= history->txns.count || iso_status_of(history, t) != ISO_COMMITTED ||
        operation < history->txns.first_op[t] || operation >= history->txns.first_op[t + 1] ||
        iso_kind_writes(history->ops.kind[operation]))
        return false;
    struct read_shape shape = verify_read_shape(history, t, operation, true);
    return !shape.internal && shape.consistent;
}

uint32_t verify_external_read(const struct iso_history *history, uint32_t t, uint32_t key)
{
    assert(key < history->keys.count);
    if (t >= history->txns.count || iso_status_of(history, t) != ISO_COMMITTED)
        return ISO_NONE;
    struct own_list own = {0};
    uint32_t found = ISO_NONE;
    for (uint32_t o = history->txns.first_op[t];
         o < history->txns.first_op[t + 1] && found == ISO_NONE; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (history->ops.key[o] != key)
            continue;
        if (kind == ISO_APPEND)
            own_list_append(&own, history->ops.value[o]);
        else if (kind == ISO_READ_LIST && !own_list_read(&own, history, o).consistent)
            continue; /* it told nothing */
        else if (kind == ISO_READ_LIST || kind == ISO_READ)
            found = o;
        else
            break;
    }
    iso_free(own.elements);
    return found;
}

bool verify_final_write(const struct iso_history *history, uint32_t transaction, uint32_t key,
                        uint32_t *value)
{
    assert(key < history->keys.count);
    assert(transaction < history->txns.count);
    for (uint32_t o = history->txns.first_op[transaction + 1];
         o-- > history->txns.first_op[transaction];) {
        if (history->ops.key[o] == key && iso_kind_writes(history->ops.kind[o])) {
            *value = history->ops.value[o];
            return true;
        }
    }
    return false;
}
