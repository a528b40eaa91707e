#define _GNU_SOURCE
#include "chronos/version_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "verdict/unjudged.h"

/* ---- building ---- */

struct order {
    const struct iso_history *history;
    const struct chronos_version *versions;
    const uint64_t *positions; /* in the log; NULL: not known */
    uint32_t key;
};

static int by_order(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    const struct iso_history *history = order->history;
    const struct chronos_version *a = left, *b = right;
    if (a->cts != b->cts)
        return a->cts < b->cts ? -1 : 1;
    if (order->positions && order->positions[a->writer] != order->positions[b->writer])
        return order->positions[a->writer] < order->positions[b->writer] ? -1 : 1;
    if (a->writer == b->writer)
        return 0;
    uint64_t a_bound = chronos_first_write_bound(history, a->writer, order->key),
             b_bound = chronos_first_write_bound(history, b->writer, order->key);
    if (a_bound != b_bound)
        return a_bound < b_bound ? -1 : 1;
    return iso_atom_compare(&history->atoms, history->txns.tid[a->writer],
                            history->txns.tid[b->writer]);
}

static int by_value_and_order(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (order->versions[a].value != order->versions[b].value)
        return order->versions[a].value < order->versions[b].value ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Calls for each (transaction, key) that is written, in the order of commits, and says the value
 * written last. */
static void put_versions(struct chronos_index *index, uint32_t *next, bool count_only)
{
    const struct chronos *check = index->check;
    const struct iso_history *history = check->history;
    uint32_t *writer = iso_allocate(((size_t)history->keys.count + 1) * sizeof *writer);
    memset(writer, 0xff, ((size_t)history->keys.count + 1) * sizeof *writer);
    for (uint32_t c = 0; c < check->commits.count; c++) {
        uint32_t t = check->commits.transaction[c];
        ISO_EACH(o, history->txns.first_op, t) {
            uint32_t key = history->ops.key[o];
            if (!iso_kind_writes(history->ops.kind[o]))
                continue;
            next[key] += writer[key] != t;
            writer[key] = t;
            if (!count_only)
                index->versions[next[key] - 1] =
                    (struct chronos_version){history->txns.cts[t], t, history->ops.value[o]};
        }
    }
    iso_free(writer);
}

/* Versions of one cts have been put as they came. */
static void order_ties(struct chronos_index *index, uint32_t key)
{
    assert(key < index->check->history->keys.count);
    struct order order = {index->check->history, index->versions, index->check->log_positions, key};
    for (uint32_t i = index->first[key], end; i < index->first[key + 1]; i = end) {
        for (end = i + 1;
             end < index->first[key + 1] && index->versions[end].cts == index->versions[i].cts;)
            end++;
        if (end - i > 1)
            qsort_r(index->versions + i, end - i, sizeof *index->versions, by_order, &order);
    }
}

/* Versions only append: each is a prefix of the key's elements. */
static void grow_list(struct chronos_index *index, uint32_t key)
{
    assert(key < index->check->history->keys.count);
    const struct iso_history *history = index->check->history;
    struct chronos_list *list = &index->check->lists[key];
    ISO_EACH(i, index->first, key) {
        struct chronos_version *version = &index->versions[i];
        ISO_EACH(o, history->txns.first_op, version->writer) {
            if (history->ops.key[o] == key && iso_kind_of(history, o) == ISO_APPEND)
                chronos_append(list, history->ops.value[o]);
        }
        version->value = list->count;
    }
}

static void build_key(struct chronos_index *index, uint32_t key)
{
    assert(key < index->check->history->keys.count);
    struct order order = {index->check->history, index->versions, index->check->log_positions, key};
    uint32_t first = index->first[key], count = index->first[key + 1] - first;
    order_ties(index, key);
    if (iso_key_is_list(index->check->history, key))
        grow_list(index, key);
    for (uint32_t i = 0; i < count; i++)
        index->by_value[first + i] = first + i;
    if (!iso_key_is_list(index->check->history, key) && count > 1)
        qsort_r(index->by_value + first, count, sizeof *index->by_value, by_value_and_order,
                &order);
}

struct chronos_index *chronos_index_new(struct chronos *check)
{
    const struct iso_history *history = check->history;
    struct chronos_index *index = iso_allocate_zeroed(1, sizeof *index);
    *index = (struct chronos_index){
        .check = check, .are_positions = history->clock == ISO_CLOCK_SNAPSHOT || check->gaps};
    uint32_t *next = iso_allocate_zeroed((size_t)history->keys.count + 2, sizeof *next);
    index->first = iso_allocate_zeroed((size_t)history->keys.count + 2, sizeof *index->first);
    put_versions(index, next, true);
    for (uint32_t key = 0; key < history->keys.count; key++) {
        index->first[key + 1] = index->first[key] + next[key];
        next[key] = index->first[key];
    }
    index->versions =
        iso_allocate(((size_t)index->first[history->keys.count] + 1) * sizeof *index->versions);
    index->by_value =
        iso_allocate(((size_t)index->first[history->keys.count] + 1) * sizeof *index->by_value);
    put_versions(index, next, false);
    iso_free(next);
    for (uint32_t key = 0; key < history->keys.count; key++)
        build_key(index, key);
    chronos_messages_add(index);
    return index;
}

void chronos_index_free(struct chronos_index *index)
{
    if (!index)
        return;
    ISO_FREE_ALL(index->first, index->by_value, index->versions, index->visible_by,
                 index->hidden_until, index);
}

/* ---- looking up ---- */

struct chronos_look chronos_look_of(const struct chronos_index *index,
                                    const struct chronos_extra *read)
{
    const struct iso_history *history = index->check->history;
    struct chronos_look look = {history->ops.key[read->operation], read->transaction,
                                history->ops.value[read->operation], false};
    if (read->prefix == ISO_NONE)
        return look;
    const struct chronos_list *list = &index->check->lists[look.key];
    const iso_atom *elements = history->lists.element + history->lists.first[look.value];
    look.value = read->prefix;
    look.is_of_nobody =
        read->prefix > list->count ||
        (read->prefix && memcmp(elements, list->elements, read->prefix * sizeof *elements) != 0);
    return look;
}

uint32_t chronos_initial_version(const struct chronos_index *index, uint32_t key)
{
    assert(key < index->check->history->keys.count);
    return iso_key_is_list(index->check->history, key) ? index->check->lists[key].initial
                                                       : chronos_initial_value(index->check, key);
}

uint32_t chronos_position_of(const struct chronos_index *index, uint32_t key, uint64_t bound)
{
    uint32_t low = index->first[key], high = index->first[key + 1];
    ISO_BISECT(low, high, middle, index->versions[middle].cts < bound);
    return low;
}

uint32_t chronos_find_value(const struct chronos_index *index, const struct chronos_look *look,
                            uint32_t position)
{
    uint32_t low = index->first[look->key], high = index->first[look->key + 1];
    const struct chronos_version *versions = index->versions;
    ISO_BISECT(low, high, middle,
               versions[index->by_value[middle]].value != look->value
                   ? versions[index->by_value[middle]].value < look->value
                   : index->by_value[middle] < position);
    return low;
}

/* The version in `by_value[at]` if it has the value that was read and is not the reader's, or the
 * next or the one before it; ISO_NONE: none. */
static uint32_t value_at(const struct chronos_index *index, const struct chronos_look *look,
                         uint32_t at, int step)
{
    for (int attempt = 0; attempt < 2; attempt++, at += (uint32_t)step) {
        if (at < index->first[look->key] || at >= index->first[look->key + 1])
            return ISO_NONE;
        const struct chronos_version *version = &index->versions[index->by_value[at]];
        if (version->value != look->value)
            return ISO_NONE;
        if (version->writer != look->reader)
            return index->by_value[at];
    }
    return ISO_NONE; /* a transaction has one version of a key */
}

/* The start of the versions that share the cts of the one before `end`. */
static uint32_t start_of_group(const struct chronos_index *index, uint32_t key, uint32_t end)
{
    return chronos_position_of(index, key, index->versions[end - 1].cts);
}

static bool is_only_of(const struct chronos_index *index, uint32_t start, uint32_t end,
                       uint32_t reader)
{
    return end - start == 1 && index->versions[start].writer == reader;
}

/* Whether a version of positions `start` to `end` has the value. */
static bool group_has(const struct chronos_index *index, const struct chronos_look *look,
                      uint32_t start, uint32_t end)
{
    uint32_t found = value_at(index, look, chronos_find_value(index, look, start), 1);
    return found != ISO_NONE && found < end;
}

bool chronos_right_at(const struct chronos_index *index, const struct chronos_look *look,
                      uint64_t bound)
{
    uint32_t first = index->first[look->key], end = chronos_position_of(index, look->key, bound);
    bool may_precede = index->are_positions;
    if (look->is_of_nobody)
        return false;
    while (end > first) {
        uint32_t start = start_of_group(index, look->key, end);
        if (!is_only_of(index, start, end, look->reader)) {
            if (group_has(index, look, start, end))
                return true;
            if (!may_precede || index->versions[start].cts != bound - 1)
                return false;
            may_precede = false;
        }
        end = start;
    }
    return look->value == chronos_initial_version(index, look->key);
}

uint64_t chronos_first_right(const struct chronos_index *index, const struct chronos_look *look,
                             uint64_t low, uint64_t high)
{
    assert(low);
    if (look->is_of_nobody)
        return 0;
    if (chronos_right_at(index, look, low))
        return low;
    uint32_t found =
        value_at(index, look,
                 chronos_find_value(index, look, chronos_position_of(index, look->key, low)), 1);
    return found != ISO_NONE && index->versions[found].cts < high ? index->versions[found].cts + 1
                                                                  : 0;
}

/* The first position from `position` on with a cts above `cts` that is not only the reader's; it
 * exists. */
static uint64_t next_cts(const struct chronos_index *index, const struct chronos_look *look,
                         uint32_t position)
{
    while (index->versions[position].writer == look->reader)
        position++;
    return index->versions[position].cts;
}

uint64_t chronos_last_right(const struct chronos_index *index, const struct chronos_look *look,
                            uint64_t high)
{
    uint32_t first = index->first[look->key], end = chronos_position_of(index, look->key, high);
    if (look->is_of_nobody)
        return 0;
    if (chronos_right_at(index, look, high))
        return high;
    uint32_t at = chronos_find_value(index, look, end);
    uint32_t found = at > first ? value_at(index, look, at - 1, -1) : ISO_NONE, behind = first;
    if (found != ISO_NONE)
        behind = chronos_position_of(index, look->key, index->versions[found].cts + 1);
    else if (look->value != chronos_initial_version(index, look->key))
        return 0;
    return next_cts(index, look, behind) + index->are_positions;
}

uint32_t chronos_newest_below(const struct chronos_index *index, uint32_t key, uint32_t reader,
                              uint64_t bound)
{
    assert(key < index->check->history->keys.count);
    uint32_t end = chronos_position_of(index, key, bound);
    if (end > index->first[key] && index->versions[end - 1].writer == reader)
        end--;
    return end > index->first[key] ? end - 1 : ISO_NONE;
}

static bool is_incomparable(const struct chronos_index *index, const struct chronos_look *look,
                            uint32_t version)
{
    const struct iso_history *history = index->check->history;
    const struct iso_atoms *atoms = &history->atoms;
    uint32_t value = version == ISO_NONE ? chronos_initial_version(index, look->key)
                                         : index->versions[version].value;
    return iso_value_is_unknown(atoms, value) ||
           (history->whole_rows && iso_rows_cannot_compare(atoms, value, atoms, look->value));
}

static bool is_unsure(const struct chronos_index *index, const struct chronos_look *look,
                      uint32_t operation, uint32_t version)
{
    return is_incomparable(index, look, version) &&
           !chronos_messages_exclude(index, look, operation, version);
}

uint64_t chronos_first_unsure(const struct chronos_index *index, const struct chronos_look *look,
                              uint32_t operation, uint64_t low, uint64_t high, uint32_t *version)
{
    uint64_t from = low - index->are_positions; /* as chronos_right_at: it may precede a group */
    if (iso_key_is_list(index->check->history, look->key))
        return 0;
    *version = chronos_newest_below(index, look->key, look->reader, from);
    if (is_unsure(index, look, operation, *version))
        return low;
    for (*version = chronos_position_of(index, look->key, from);
         *version < index->first[look->key + 1] && index->versions[*version].cts < high;
         ++*version) {
        uint64_t moment = index->versions[*version].cts + 1;
        if (index->versions[*version].writer != look->reader &&
            is_unsure(index, look, operation, *version))
            return moment > low ? moment : low;
    }
    return 0;
}

enum chronos_sight chronos_may_see(const struct chronos_index *index,
                                   const struct chronos_look *look, uint32_t from, uint32_t end,
                                   uint32_t *unclear)
{
    uint32_t next = from == ISO_NONE ? index->first[look->key] : from;
    if (iso_key_is_list(index->check->history, look->key) ||
        (from == ISO_NONE && look->value == chronos_initial_version(index, look->key)) ||
        group_has(index, look, next, end))
        return CHRONOS_SEEN;
    *unclear = from;
    if (from == ISO_NONE && is_incomparable(index, look, ISO_NONE))
        return CHRONOS_UNCLEAR;
    for (*unclear = next; *unclear < end; ++*unclear)
        if (is_incomparable(index, look, *unclear))
            return CHRONOS_UNCLEAR;
    return CHRONOS_UNSEEN;
}

bool chronos_list_is_tied(const struct chronos_index *index, uint32_t key)
{
    assert(key < index->check->history->keys.count);
    bool has_order = !index->are_positions || index->check->log_positions;
    for (uint32_t i = index->first[key] + 1; !has_order && i < index->first[key + 1]; i++) {
        if (index->versions[i].cts == index->versions[i - 1].cts)
            return true;
    }
    return false;
}
