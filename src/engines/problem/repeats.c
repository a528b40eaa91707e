/* Lists with an element which several appends made.
 *
 * An element that one append alone made still says where all of its transaction's stand; such a
 * transaction is *pinned*. Of the others there are only positions where they may stand
 * (placements.h). Orders that the history says are those of pinned transactions, and of those that
 * cannot be in the list at all.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/sorted.h"
#include "problem/lists.h"
#include "problem/placements.h"

enum { LOOK_UP = 4096 };

#define PERHAPS 0xfffffffeu /* position: it may stand in the list, or not */

bool lists_repeat_in(const struct lists *lists, uint32_t key, uint32_t start)
{
    const iso_atom *elements = lists_elements(lists, lists->longest[key]);
    bool several = false;
    for (uint32_t at = start; at < lists->problem->reads.prefix[lists->longest[key]] && !several;
         at++)
        lists_find_append(lists, key, elements[at], &several);
    return several;
}

/* The transaction of element `at`, which made it alone, stands around it; false: a finding. */
static bool pin_transaction(struct lists *lists, const struct append *append, uint32_t at,
                            uint32_t start)
{
    assert(append->write != ISO_NONE);
    struct problem *problem = lists->problem;
    uint32_t read = lists->longest[append->key], position = at - append->offset;
    uint32_t *pinned = &lists->position[append->write];
    bool fits = at >= start + append->offset;
    if (fits && *pinned == position)
        return true;
    if (problem->transactions.local[append->transaction] == problem->reads.transaction[read] ||
        !fits ||
        !lists_block_length(lists, append, lists_elements(lists, read) + position,
                            problem->reads.prefix[read] - position)) {
        lists_report(lists, ISO_FINDING_G1B, read, append->transaction);
        return false;
    }
    if (*pinned != ISO_NONE) {
        lists_report(lists, ISO_FINDING_INCOMPATIBLE, read, ISO_NONE);
        return false;
    }
    *pinned = position;
    return true;
}

/* How far into the longest read there is nothing wrong by itself. */
static uint32_t pin_all(struct lists *lists, uint32_t key, uint32_t start)
{
    struct problem *problem = lists->problem;
    uint32_t read = lists->longest[key], length = problem->reads.prefix[read];
    for (uint32_t at = start; at < length; at++) {
        bool several;
        const struct append *append =
            lists_find_append(lists, key, lists_elements(lists, read)[at], &several);
        if (!append || append->write == ISO_NONE) {
            lists_report(lists, append ? ISO_FINDING_G1A : ISO_FINDING_THINAIR, read,
                         append ? append->transaction : ISO_NONE);
            return at;
        }
        if (!several && !pin_transaction(lists, append, at, start))
            return at;
    }
    return length;
}

/* Appends of an element by others than the reader. */
static uint32_t count_appends(const struct lists *lists, uint32_t read, iso_atom element)
{
    const struct problem *problem = lists->problem;
    const struct append *append = lists_first_append(lists, problem->reads.key[read], element);
    uint32_t count = 0;
    for (; append; append = lists_next_append(lists, append))
        count += append->write != ISO_NONE && problem->transactions.local[append->transaction] !=
                                                  problem->reads.transaction[read];
    return count;
}

/* No element stands in the longest read more often than it was appended; else a finding. The solver
 * would be slow to find that out. */
static bool are_enough(struct lists *lists, uint32_t key, uint32_t start)
{
    uint32_t read = lists->longest[key], count = lists->problem->reads.prefix[read] - start,
             first = 0;
    iso_atom *sorted = iso_numbers(count);
    memcpy(sorted, lists_elements(lists, read) + start, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, iso_order_u32);
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

/* Every position of every transaction; false: out of time or memory. */
static bool place_all(struct lists *lists, uint32_t key, uint32_t start)
{
    struct problem *problem = lists->problem;
    uint32_t read = lists->longest[key], length = problem->reads.prefix[read];
    const iso_atom *elements = lists_elements(lists, read);
    uint64_t tried = 0;
    placements_begin(problem, (struct repeating_list){
                                  .key = key, .read = read, .start = start, .length = length});
    for (uint32_t at = start; at < length; at++) {
        const struct append *append = lists_first_append(lists, key, elements[at]);
        for (; append; append = lists_next_append(lists, append)) {
            if (++tried % LOOK_UP == 0 && problem->rules.must_stop(problem->rules.context))
                return false;
            if (append->write == ISO_NONE || append->offset)
                continue;
            uint32_t block = lists_block_length(lists, append, elements + at, length - at);
            bool elsewhere =
                lists->position[append->write] != ISO_NONE && lists->position[append->write] != at;
            if (block && !elsewhere)
                placements_add(problem, (struct placement){append->write, at, at + block});
        }
    }
    placements_end(problem);
    return true;
}

/* Every element is part of somebody's appends; else a finding. */
static bool all_covered(struct lists *lists, const struct repeating_list *list)
{
    const struct placement *items = lists->problem->placements->items;
    uint32_t covered = list->start;
    for (uint32_t i = list->first; i < list->end && items[i].at <= covered; i++)
        covered = items[i].end > covered ? items[i].end : covered;
    if (covered == list->length)
        return true;
    assert(covered < list->length);
    bool several;
    const struct append *append =
        lists_find_append(lists, list->key, lists_elements(lists, list->read)[covered], &several);
    lists_report(lists, ISO_FINDING_G1B, list->read, append->transaction);
    return false;
}

/* Marks the element's appenders that are not pinned: their appends may stand in the list. An
 * element that the list repeats is looked at once. */
static void mark_appenders(struct lists *lists, uint32_t key, iso_atom element, bool *marked)
{
    const struct appended *appended = lists_appended_of(lists, key, element);
    if (!appended || marked[appended - lists->appends.elements])
        return;
    marked[appended - lists->appends.elements] = true;
    const struct append *append = &lists->appends.entries[appended->first];
    for (; append; append = lists_next_append(lists, append)) {
        if (append->write != ISO_NONE && lists->position[append->write] == ISO_NONE)
            lists->position[append->write] = PERHAPS;
    }
}

/* Elements that no pinned transaction covers make all who appended one PERHAPS. False: pinned ones
 * overlap, which the solver is to find out. */
static bool mark_perhaps(struct lists *lists, const struct repeating_list *list, bool *marked)
{
    const struct placement *items = lists->problem->placements->items;
    const iso_atom *elements = lists_elements(lists, list->read);
    uint32_t at = list->start, i = list->first;
    for (;;) {
        while (i < list->end && lists->position[items[i].write] != items[i].at)
            i++;
        uint32_t next = i < list->end ? items[i].at : list->length;
        if (next < at)
            return false;
        for (; at < next; at++)
            mark_appenders(lists, list->key, elements[at], marked);
        if (i == list->end)
            return true;
        at = items[i++].end;
    }
}

static void add_pairs(struct lists *lists, const struct repeating_list *list, struct numbers writes)
{
    struct problem *problem = lists->problem;
    const struct placement *items = problem->placements->items;
    uint32_t last = ISO_NONE, operation = problem->reads.operation[list->read];
    bool *marked = iso_allocate_zeroed((size_t)lists->appends.element_count + 1, sizeof *marked);
    bool fits = mark_perhaps(lists, list, marked);
    iso_free(marked);
    if (!fits)
        return;
    for (uint32_t i = list->first; i < list->end; i++) {
        if (lists->position[items[i].write] != items[i].at)
            continue;
        if (last != ISO_NONE)
            lists_add_pair(problem, last, items[i].write, operation);
        last = items[i].write;
    }
    for (uint32_t i = 0; i < writes.count && last != ISO_NONE; i++) {
        if (lists->position[writes.items[i]] == ISO_NONE)
            lists_add_pair(problem, last, writes.items[i], operation);
    }
}

/* By length: the last placements of pinned transactions that end there; two, since one may be the
 * reader's. */
struct pinned {
    uint32_t write, before; /* or ISO_NONE */
};

static struct pinned *list_pinned(const struct lists *lists, const struct repeating_list *list)
{
    size_t size = ((size_t)list->length - list->start + 1) * sizeof(struct pinned);
    struct pinned *pinned = memset(iso_allocate(size), 0xff, size);
    const struct placement *items = lists->problem->placements->items;
    for (uint32_t i = list->first; i < list->end; i++) {
        struct pinned *of_length = &pinned[items[i].end - list->start];
        if (lists->position[items[i].write] == items[i].at)
            *of_length = (struct pinned){items[i].write, of_length->write};
    }
    return pinned;
}

/* The write of the key at hand, among all of it, by a transaction, or ISO_NONE. */
static uint32_t write_by(const struct problem *problem, struct numbers writes, uint32_t transaction)
{
    assert(transaction < problem->history->txns.count);
    uint32_t low = 0, high = writes.count;
    ISO_BISECT(low, high, middle, problem->writes.transaction[writes.items[middle]] < transaction);
    return low < writes.count && problem->writes.transaction[writes.items[low]] == transaction
               ? writes.items[low]
               : ISO_NONE;
}

/* The element that a read may have seen last is left to its candidates, unless a pinned transaction
 * ends there. */
static void resolve_read(struct lists *lists, const struct repeating_list *list,
                         const struct pinned *pinned, struct numbers writes, uint32_t read)
{
    struct problem *problem = lists->problem;
    uint32_t length = problem->reads.prefix[read];
    assert(list->start <= length && length <= list->length);
    if (length == list->start) {
        problem->reads.writer[read] = INITIAL;
        return;
    }
    uint32_t own = write_by(problem, writes, problem->reads.transaction[read]);
    const uint32_t *first = &list->first_ending[length - list->start];
    bool may_be_own = own != ISO_NONE && placements_has(list, own, length);
    const struct pinned *of_length = &pinned[length - list->start];
    problem->reads.writer[read] = of_length->write != own ? of_length->write : of_length->before;
    if (first[1] - first[0] == may_be_own)
        lists_report_part(lists, read);
}

void lists_resolve_repeats(struct lists *lists, uint32_t key, uint32_t start, struct numbers reads,
                           struct numbers writes)
{
    assert(start <= lists->problem->reads.prefix[lists->longest[key]]);
    if (!lists->position)
        lists->position = iso_numbers_none(lists->problem->writes.count);
    bool fine = pin_all(lists, key, start) == lists->problem->reads.prefix[lists->longest[key]];
    fine = fine && are_enough(lists, key, start);
    for (uint32_t i = 0; i < reads.count; i++)
        fine &= lists_agree(lists, reads.items[i], start);
    if (!fine || !place_all(lists, key, start))
        return;
    const struct repeating_list *list = placements_of_key(lists->problem->placements, key);
    if (!all_covered(lists, list))
        return;
    struct pinned *pinned = list_pinned(lists, list);
    for (uint32_t i = 0; i < reads.count; i++)
        resolve_read(lists, list, pinned, writes, reads.items[i]);
    iso_free(pinned);
    add_pairs(lists, list, writes);
}
