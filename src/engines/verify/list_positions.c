/* What a list read says of where transactions' elements stand, where elements repeat.
 *
 * A version of a list ends where some transaction's elements end; each transaction appends its
 * elements once, all in one piece. So the elements that a read returned, but for the reader's own
 * at their end, are cut into pieces without gap or overlap; who is not among them comes later.
 */
#include <assert.h>

#include "verify/verify_private.h"

struct said {
    const struct finals *finals;
    const struct iso_history *history;
    uint32_t operation, key, initial, prefix;
    const struct iso_literal *clause;
    uint32_t count;
};

static bool clause_has(const struct said *said, enum iso_literal_kind kind, uint32_t transaction,
                       uint32_t position)
{
    for (uint32_t i = 0; i < said->count; i++) {
        const struct iso_literal *literal = &said->clause[i];
        if (literal->kind == kind && literal->a == transaction && literal->b == position)
            return true;
    }
    return false;
}

static uint32_t count_of(const struct said *said, enum iso_literal_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < said->count; i++)
        count += said->clause[i].kind == kind;
    return count;
}

static const struct iso_literal *first_of(const struct said *said, enum iso_literal_kind kind)
{
    for (uint32_t i = 0; i < said->count; i++) {
        if (said->clause[i].kind == kind)
            return &said->clause[i];
    }
    return NULL;
}

static bool may_stand(const struct said *said, uint32_t transaction, uint32_t position)
{
    return lists_hold(said->finals, said->operation, said->prefix, transaction, position);
}

/* Every position at which a transaction's elements could cover element `at` is in the clause. */
static bool names_all_at(const struct said *said, uint32_t transaction, uint32_t at)
{
    const struct iso_history *history = said->history;
    uint32_t offset = 0;
    ISO_EACH(o, history->txns.first_op, transaction) {
        if (history->ops.key[o] != said->key || iso_kind_of(history, o) != ISO_APPEND)
            continue;
        if (offset <= at && may_stand(said, transaction, at - offset) &&
            !clause_has(said, ISO_LITERAL_PLACED, transaction, at - offset))
            return false;
        offset++;
    }
    return true;
}

/* Somebody's elements cover an element. */
static bool is_covered(const struct said *said, uint32_t at)
{
    const iso_atom *elements =
        said->history->lists.element +
        said->history->lists.first[said->history->ops.value[said->operation]];
    uint32_t end, first = finals_find(said->finals, said->key, elements[at], &end);
    for (uint32_t i = first; i < end; i++) {
        if (!names_all_at(said, said->finals->items[i].transaction, at))
            return false;
    }
    return true;
}

static bool says_cover(const struct said *said)
{
    const struct iso_literal *some = first_of(said, ISO_LITERAL_PLACED);
    if (!some || count_of(said, ISO_LITERAL_PLACED) != said->count)
        return false;
    uint64_t end = (uint64_t)some->b + lists_appended(said->history, some->a, said->key);
    for (uint64_t at = some->b; at < end && at < said->prefix; at++) {
        if (at >= said->initial && is_covered(said, (uint32_t)at))
            return true;
    }
    return false;
}

static uint64_t end_of(const struct said *said, const struct iso_literal *placed)
{
    return (uint64_t)placed->b + lists_appended(said->history, placed->a, said->key);
}

/* Not both: one transaction at two positions, or two over each other. */
static bool says_apart(const struct said *said)
{
    const struct iso_literal *a = &said->clause[0], *b = &said->clause[1];
    if (said->count != 2 || count_of(said, ISO_LITERAL_NOT_PLACED) != 2)
        return false;
    return a->a == b->a ? a->b != b->b : a->b < end_of(said, b) && b->b < end_of(said, a);
}

/* Of two appenders the one whose element stands first in a list is earlier, and so is one whose
 * element stands there than one whose element does not. */
static bool says_order(const struct said *said)
{
    const struct iso_literal *order = first_of(said, ISO_LITERAL_ORDER), *later = NULL,
                             *earlier = NULL;
    uint32_t placed = count_of(said, ISO_LITERAL_PLACED),
             not_placed = count_of(said, ISO_LITERAL_NOT_PLACED);
    if (!order || 1 + placed + not_placed != said->count)
        return false;
    for (uint32_t i = 0; i < said->count; i++) {
        const struct iso_literal *literal = &said->clause[i];
        if (literal->kind == ISO_LITERAL_NOT_PLACED && literal->a == order->a)
            earlier = literal;
        else if (literal->kind == ISO_LITERAL_NOT_PLACED && literal->a == order->b)
            later = literal;
    }
    if (!earlier)
        return false;
    if (later)
        return end_of(said, earlier) <= later->b && placed == 0 && not_placed == 2;
    if (end_of(said, earlier) > said->prefix || not_placed != 1)
        return false;
    for (uint32_t at = said->initial; at < said->prefix; at++) {
        if (may_stand(said, order->b, at) && !clause_has(said, ISO_LITERAL_PLACED, order->b, at))
            return false;
    }
    return true;
}

/* A read sees the version of the one whose elements end what it returned. */
static bool says_read(const struct said *said)
{
    const struct iso_literal *read = first_of(said, ISO_LITERAL_NOT_READS),
                             *placed = first_of(said, ISO_LITERAL_PLACED);
    if (said->count != 2 || !read || !placed || read->b == ISO_NONE || placed->a != read->b)
        return false;
    uint32_t operation = verify_external_read(said->history, read->a, said->key);
    return operation != ISO_NONE && iso_kind_of(said->history, operation) == ISO_READ_LIST &&
           end_of(said, placed) ==
               verify_read_shape(said->history, read->a, operation, false).prefix;
}

bool list_positions_imply(const struct finals *finals, const struct iso_literal *clause,
                          uint32_t count, uint32_t operation)
{
    assert(operation < finals->history->ops.count);
    const struct iso_history *history = finals->history;
    struct said said = {.finals = finals,
                        .history = history,
                        .operation = operation,
                        .clause = clause,
                        .count = count};
    if (operation >= history->ops.count || iso_kind_of(history, operation) != ISO_READ_LIST)
        return false;
    said.key = history->ops.key[operation];
    for (uint32_t i = 0; i < count; i++) {
        if (clause[i].key != said.key)
            return false;
    }
    uint32_t reader = iso_history_owner(history, operation);
    struct read_shape shape = verify_read_shape(history, reader, operation, false);
    if (iso_status_of(history, reader) != ISO_COMMITTED || !shape.consistent)
        return false;
    said.initial = finals->initial_length[said.key];
    said.prefix = shape.prefix;
    return says_cover(&said) || says_apart(&said) || says_order(&said) || says_read(&said);
}
