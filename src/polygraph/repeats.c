/* Lists that hold an element which several appends made.
 *
 * An element that one append alone made still tells where all of its transaction's stand; such a transaction is
 * *pinned*. Of the others there are only places where they may stand (placements.h). Orders that the history says are
 * those of pinned transactions, and of those that cannot be in the list at all.
 */
#include <stdlib.h>

#include "polygraph/lists.h"
#include "polygraph/placements.h"

enum { LOOK_UP = 4096 };

#define PERHAPS 0xfffffffeu /* place: it may stand in the list, or not */

bool repeats_in(const struct lists *lists, uint32_t key, uint32_t start)
{
    const iso_atom *elements = lists_elements(lists, lists->longest[key]);
    bool several = false;
    for (uint32_t at = start; at < lists->engine->read_prefix[lists->longest[key]] && !several; at++)
        lists_find_append(lists, key, elements[at], &several);
    return several;
}

/* How many appends to the same key its transaction makes before this one. */
static uint32_t offset_of(const struct lists *lists, const struct append *append)
{
    const struct iso_history *history = lists->engine->history;
    uint32_t offset = 0;
    for (uint32_t o = history->first_operation[append->transaction]; o < append->operation; o++)
        offset += history->key[o] == append->key && iso_kind_of(history, o) == ISO_APPEND;
    return offset;
}

/* The transaction of element `at`, which made it alone, stands around it; false: a finding. */
static bool pin(struct lists *lists, const struct append *append, uint32_t at, uint32_t start)
{
    struct engine *engine = lists->engine;
    uint32_t read = lists->longest[append->key], local = engine->local[append->transaction];
    uint32_t offset = offset_of(lists, append), write = lists_write_of(engine, local, append->key), place = at - offset;
    if (local == engine->read_transaction[read] || at < start + offset ||
        !lists_block_length(lists, append->transaction, append->key, lists_elements(lists, read) + place,
                            engine->read_prefix[read] - place)) {
        lists_report(lists, ISO_FINDING_G1B, read, append->transaction);
        return false;
    }
    if (lists->place[write] != ISO_NONE && lists->place[write] != place) {
        lists_report(lists, ISO_FINDING_INCOMPATIBLE, read, ISO_NONE);
        return false;
    }
    lists->place[write] = place;
    return true;
}

/* How far into the longest read there is nothing wrong by itself. */
static uint32_t pin_all(struct lists *lists, uint32_t key, uint32_t start)
{
    struct engine *engine = lists->engine;
    uint32_t read = lists->longest[key], length = engine->read_prefix[read];
    for (uint32_t at = start; at < length; at++) {
        bool several;
        const struct append *append = lists_find_append(lists, key, lists_elements(lists, read)[at], &several);
        if (!append || engine->local[append->transaction] == ISO_NONE) {
            lists_report(lists, append ? ISO_FINDING_G1A : ISO_FINDING_THINAIR, read,
                         append ? append->transaction : ISO_NONE);
            return at;
        }
        if (!several && !pin(lists, append, at, start))
            return at;
    }
    return length;
}

static int compare_elements(const void *left, const void *right)
{
    const iso_atom *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Appends of an element by others than the reader. */
static uint32_t count_appends(const struct lists *lists, uint32_t read, iso_atom element)
{
    const struct engine *engine = lists->engine;
    const struct append *append;
    uint32_t count = 0, key = engine->read_key[read];
    uint64_t slot = lists_first_slot(lists, key, element);
    for (; (append = lists_next_append(lists, key, element, &slot)); slot++) {
        uint32_t local = engine->local[append->transaction];
        count += local != ISO_NONE && local != engine->read_transaction[read];
    }
    return count;
}

/* No element stands in the longest read more often than it was appended; else a finding. The solver would be slow to
 * find that out. */
static bool are_enough(struct lists *lists, uint32_t key, uint32_t start)
{
    uint32_t read = lists->longest[key], count = lists->engine->read_prefix[read] - start, first = 0;
    iso_atom *sorted = iso_allocate(((size_t)count + 1) * sizeof *sorted);
    memcpy(sorted, lists_elements(lists, read) + start, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_elements);
    bool fine = true;
    for (uint32_t i = 1; i <= count && fine; i++) {
        if (i < count && sorted[i] == sorted[first])
            continue;
        fine = i - first <= count_appends(lists, read, sorted[first]);
        first = i;
    }
    if (!fine)
        lists_report(lists, ISO_FINDING_INCOMPATIBLE, read, ISO_NONE);
    iso_free(sorted);
    return fine;
}

/* Every place of every transaction; false: out of time or memory. */
static bool place_all(struct lists *lists, uint32_t key, uint32_t start)
{
    struct engine *engine = lists->engine;
    uint32_t read = lists->longest[key], length = engine->read_prefix[read];
    const iso_atom *elements = lists_elements(lists, read);
    const struct append *append;
    placements_begin(engine, (struct repeating_list){.key = key, .read = read, .start = start, .length = length});
    for (uint32_t at = start; at < length; at++) {
        uint64_t slot = lists_first_slot(lists, key, elements[at]);
        for (; (append = lists_next_append(lists, key, elements[at], &slot)); slot++) {
            uint32_t local = engine->local[append->transaction];
            if (local == ISO_NONE || offset_of(lists, append))
                continue;
            uint32_t block = lists_block_length(lists, append->transaction, key, elements + at, length - at);
            uint32_t write = lists_write_of(engine, local, key);
            bool elsewhere = lists->place[write] != ISO_NONE && lists->place[write] != at;
            if (block && !elsewhere)
                placements_add(engine, (struct placement){write, at, at + block});
            if (engine->placements->count % LOOK_UP == 0 && engine_must_stop(engine))
                return false;
        }
    }
    placements_end(engine);
    return true;
}

/* Every element is part of somebody's appends; else a finding. */
static bool all_covered(struct lists *lists, const struct repeating_list *list)
{
    const struct placement *items = lists->engine->placements->items;
    uint32_t covered = list->start;
    for (uint32_t i = list->first; i < list->end && items[i].at <= covered; i++)
        covered = items[i].end > covered ? items[i].end : covered;
    if (covered == list->length)
        return true;
    bool several;
    const struct append *append =
        lists_find_append(lists, list->key, lists_elements(lists, list->read)[covered], &several);
    lists_report(lists, ISO_FINDING_G1B, list->read, append->transaction);
    return false;
}

/* Elements that no pinned transaction covers make all who appended one PERHAPS. False: pinned ones overlap, which the
 * solver is to find out. */
static bool mark_perhaps(struct lists *lists, const struct repeating_list *list)
{
    const struct placement *items = lists->engine->placements->items;
    const iso_atom *elements = lists_elements(lists, list->read);
    uint32_t at = list->start, i = list->first;
    for (;;) {
        while (i < list->end && lists->place[items[i].write] != items[i].at)
            i++;
        uint32_t next = i < list->end ? items[i].at : list->length;
        if (next < at)
            return false;
        for (; at < next; at++) {
            const struct append *append;
            uint64_t slot = lists_first_slot(lists, list->key, elements[at]);
            for (; (append = lists_next_append(lists, list->key, elements[at], &slot)); slot++) {
                uint32_t local = lists->engine->local[append->transaction];
                uint32_t write = local == ISO_NONE ? ISO_NONE : lists_write_of(lists->engine, local, list->key);
                if (write != ISO_NONE && lists->place[write] == ISO_NONE)
                    lists->place[write] = PERHAPS;
            }
        }
        if (i == list->end)
            return true;
        at = items[i++].end;
    }
}

static void add_pairs(struct lists *lists, const struct repeating_list *list, struct numbers writes)
{
    struct engine *engine = lists->engine;
    const struct placement *items = engine->placements->items;
    uint32_t last = ISO_NONE, operation = engine->read_operation[list->read];
    if (!mark_perhaps(lists, list))
        return;
    for (uint32_t i = list->first; i < list->end; i++) {
        if (lists->place[items[i].write] != items[i].at)
            continue;
        if (last != ISO_NONE)
            lists_add_pair(engine, last, items[i].write, operation);
        last = items[i].write;
    }
    for (uint32_t i = 0; i < writes.count && last != ISO_NONE; i++) {
        if (lists->place[writes.items[i]] == ISO_NONE)
            lists_add_pair(engine, last, writes.items[i], operation);
    }
}

/* What a read may have seen last is left to its candidates, unless a pinned transaction ends there. */
static void resolve_read(struct lists *lists, const struct repeating_list *list, uint32_t read)
{
    struct engine *engine = lists->engine;
    uint32_t length = engine->read_prefix[read], possible = 0;
    if (length == list->start) {
        lists->writer[read] = INITIAL;
        return;
    }
    for (uint32_t i = list->first_ending[length - list->start]; i < list->first_ending[length - list->start + 1]; i++) {
        const struct placement *placement = &engine->placements->items[list->ending[i]];
        if (engine->write_transaction[placement->write] == engine->read_transaction[read])
            continue;
        possible++;
        if (lists->place[placement->write] == placement->at)
            lists->writer[read] = placement->write;
    }
    if (!possible)
        lists_report_part(lists, read);
}

void repeats_resolve(struct lists *lists, uint32_t key, uint32_t start, struct numbers reads, struct numbers writes)
{
    size_t size = ((size_t)lists->engine->write_count + 1) * sizeof *lists->place;
    if (!lists->place)
        lists->place = memset(iso_allocate(size), 0xff, size);
    bool fine = pin_all(lists, key, start) == lists->engine->read_prefix[lists->longest[key]];
    fine = fine && are_enough(lists, key, start);
    for (uint32_t i = 0; i < reads.count; i++)
        fine &= lists_agree(lists, reads.items[i], start);
    if (!fine || !place_all(lists, key, start))
        return;
    const struct repeating_list *list = placements_of_key(lists->engine, key);
    if (!all_covered(lists, list))
        return;
    for (uint32_t i = 0; i < reads.count; i++)
        resolve_read(lists, list, reads.items[i]);
    add_pairs(lists, list, writes);
}
