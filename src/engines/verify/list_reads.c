/* What the elements of a list read say about who appended them, and so about the order of versions.
 *
 * An element that one transaction alone appended is that one's; and a transaction's elements stand
 * together.
 */
#include <assert.h>
#include <string.h>

#include "verify/verify_private.h"

/* How many appends to the key a transaction makes before that of the element, and from it on. */
static void append_span(const struct iso_history *history, uint32_t t, uint32_t key,
                        iso_atom element, uint32_t *before, uint32_t *rest)
{
    bool found = false;
    *before = *rest = 0;
    ISO_EACH(o, history->txns.first_op, t) {
        if (history->ops.key[o] != key || iso_kind_of(history, o) != ISO_APPEND)
            continue;
        found |= history->ops.value[o] == element;
        ++*(found ? rest : before);
    }
}

uint32_t lists_appended(const struct iso_history *history, uint32_t t, uint32_t key)
{
    assert(key < history->keys.count);
    uint32_t count = 0;
    ISO_EACH(o, history->txns.first_op, t)
        count += history->ops.key[o] == key && iso_kind_of(history, o) == ISO_APPEND;
    return count;
}

bool lists_hold(const struct finals *finals, uint32_t operation, uint32_t prefix,
                uint32_t transaction, uint32_t position)
{
    assert(operation < finals->history->ops.count);
    const struct iso_history *history = finals->history;
    uint32_t key = history->ops.key[operation];
    assert(iso_kind_of(history, operation) == ISO_READ_LIST);
    const iso_atom *elements =
        history->lists.element + history->lists.first[history->ops.value[operation]];
    if (position < finals->initial_length[key])
        return false;
    ISO_EACH(o, history->txns.first_op, transaction) {
        if (history->ops.key[o] != key || iso_kind_of(history, o) != ISO_APPEND)
            continue;
        if (position >= prefix || elements[position++] != history->ops.value[o])
            return false;
    }
    return true;
}

uint32_t lists_last_writer(const struct finals *finals, uint32_t key, uint32_t operation,
                           uint32_t prefix)
{
    assert(key < finals->history->keys.count);
    assert(operation < finals->history->ops.count);
    const struct iso_history *history = finals->history;
    const iso_atom *elements =
        history->lists.element + history->lists.first[history->ops.value[operation]];
    uint32_t initial = finals->initial_length[key], before, rest, end;
    assert(iso_kind_of(history, operation) == ISO_READ_LIST && history->ops.key[operation] == key);
    for (uint32_t i = prefix; i-- > initial;) {
        uint32_t first = finals_find(finals, key, elements[i], &end);
        if (end - first != 1)
            continue;
        uint32_t writer = finals->items[first].transaction;
        append_span(history, writer, key, elements[i], &before, &rest);
        return i >= initial + before && i + rest == prefix ? writer : ISO_NONE;
    }
    return ISO_NONE;
}

/* Finds the appender of each element of a list read, as far as elements with a single appender
 * tell: those bring their transaction's others with them. The reader's own appends come last. */
static uint32_t *find_owners(const struct finals *finals, uint32_t reader, uint32_t operation)
{
    assert(operation < finals->history->ops.count);
    const struct iso_history *history = finals->history;
    uint32_t key = history->ops.key[operation], list = history->ops.value[operation], before, rest,
             end;
    uint64_t first = history->lists.first[list], length = history->lists.first[list + 1] - first;
    uint32_t prefix = verify_read_shape(history, reader, operation, finals->each_read).prefix;
    uint32_t *owners = iso_allocate((length + 1) * sizeof *owners);
    memset(owners, 0xff, (length + 1) * sizeof *owners);
    for (uint64_t i = prefix; i < length; i++)
        owners[i] = reader;
    for (uint32_t i = finals->initial_length[key]; i < prefix; i++) {
        uint32_t final = finals_find(finals, key, history->lists.element[first + i], &end);
        if (end - final != 1)
            continue;
        uint32_t writer = finals->items[final].transaction;
        append_span(history, writer, key, history->lists.element[first + i], &before, &rest);
        for (uint32_t at = i - (before < i ? before : i); at < i + rest && at < prefix; at++)
            owners[at] = writer;
    }
    return owners;
}

static bool appends_element(const struct iso_history *history, uint32_t t, uint32_t key,
                            iso_atom element)
{
    uint32_t before, rest;
    append_span(history, t, key, element, &before, &rest);
    return rest != 0;
}

/* The position of a transaction's elements in a list: first and one past the last; false if none is
 * known to be its own, and one may be. Not there: first = UINT64_MAX. */
static bool span_of(const struct finals *finals, uint32_t t, uint32_t operation,
                    const uint32_t *owners, uint64_t span[2])
{
    const struct iso_history *history = finals->history;
    uint32_t key = history->ops.key[operation], list = history->ops.value[operation];
    uint64_t first = history->lists.first[list], length = history->lists.first[list + 1] - first;
    bool unknown = false;
    span[0] = UINT64_MAX;
    span[1] = 0;
    for (uint64_t i = finals->initial_length[key]; i < length; i++) {
        unknown |= owners[i] == ISO_NONE &&
                   appends_element(history, t, key, history->lists.element[first + i]);
        if (owners[i] != t)
            continue;
        span[0] = i < span[0] ? i : span[0];
        span[1] = i + 1;
    }
    return span[1] || !unknown;
}

bool lists_order(const struct finals *finals, const struct iso_literal *literal, uint32_t operation)
{
    assert(operation < finals->history->ops.count);
    const struct iso_history *history = finals->history;
    uint32_t t = 0;
    uint64_t a[2], b[2];
    if (literal->kind != ISO_LITERAL_ORDER || operation >= history->ops.count ||
        iso_kind_of(history, operation) != ISO_READ_LIST ||
        history->ops.key[operation] != literal->key)
        return false;
    while (history->txns.first_op[t + 1] <= operation)
        t++;
    if (iso_status_of(history, t) != ISO_COMMITTED ||
        !verify_read_shape(history, t, operation, finals->each_read).consistent)
        return false;
    uint32_t *owners = find_owners(finals, t, operation);
    bool fine = span_of(finals, literal->a, operation, owners, a) &&
                span_of(finals, literal->b, operation, owners, b) && a[0] != UINT64_MAX &&
                a[1] <= b[0];
    iso_free(owners);
    return fine;
}
