/* Lists give their own version order: all reads of a key are prefixes of the longest one, and that
 * one is a row of blocks, each the appends of one transaction. So a list read has one possible
 * writer, that of its last block, and the writers of blocks stand in the order of the blocks,
 * before all whose appends nobody saw. Lists whose elements repeat are for repeats.c.
 */
#include <assert.h>

#include "problem/lists.h"
#include "base/hash.h"

/* ---- who appended what ---- */

/* ISO_NONE: nobody did, and `*at` is where it may stand. */
static uint32_t find_element(const struct appends *appends, uint32_t key, iso_atom element,
                             uint32_t *at)
{
    uint64_t hash = iso_hash_pair(key, element);
    uint32_t number;
    for (*at = iso_index_home(hash); iso_index_next(&appends->by_element, at, hash, &number);
         ++*at) {
        const struct append *first = &appends->entries[appends->elements[number].first];
        if (first->key == key && first->element == element)
            return number;
    }
    return ISO_NONE;
}

/* Joins those of its element, behind those that came before. */
static void index_append(struct lists *lists, uint32_t entry)
{
    struct appends *appends = &lists->appends;
    struct append *append = &appends->entries[entry];
    uint32_t at, number = find_element(appends, append->key, append->element, &at);
    if (number == ISO_NONE) {
        iso_index_fill(&appends->by_element, at, iso_hash_pair(append->key, append->element),
                       appends->element_count);
        appends->elements[appends->element_count++] = (struct appended){entry, entry, entry, false};
        return;
    }
    struct appended *appended = &appends->elements[number];
    bool takes_part = append->write != ISO_NONE,
         other_does = appends->entries[appended->likely].write != ISO_NONE;
    lists->repeats[append->key] = true;
    appended->several |= takes_part && other_does;
    lists->several[append->key] |= appended->several;
    if (takes_part && !other_does)
        appended->likely = entry;
    appends->entries[appended->last].same = entry;
    appended->last = entry;
}

/* By key, what the transaction at hand did to it. */
struct appending {
    /* 1 + its last append, an entry; those of other transactions come before `first` */
    uint32_t append;
    uint32_t write; /* 1 + the last write by any so far */
};

static void enter_appends(struct lists *lists, uint32_t t, struct appending *appending)
{
    const struct problem *problem = lists->problem;
    const struct iso_history *history = problem->history;
    uint32_t local = problem->transactions.local[t], first = lists->appends.count;
    for (uint32_t w = local == ISO_NONE ? 0 : problem->writes.first[local];
         local != ISO_NONE && w < problem->writes.first[local + 1]; w++)
        appending[problem->writes.key[w]].write = w + 1;
    ISO_EACH(o, history->txns.first_op, t) {
        if (iso_kind_of(history, o) != ISO_APPEND)
            continue;
        struct appending *of_key = &appending[history->ops.key[o]];
        uint32_t entry = lists->appends.count++;
        struct append *before =
            of_key->append > first ? &lists->appends.entries[of_key->append - 1] : NULL;
        if (before)
            before->rest = entry;
        lists->appends.entries[entry] =
            (struct append){.key = history->ops.key[o],
                            .element = history->ops.value[o],
                            .transaction = t,
                            .write = local == ISO_NONE ? ISO_NONE : of_key->write - 1,
                            .offset = before ? before->offset + 1 : 0,
                            .head = before ? before->head : entry,
                            .rest = ISO_NONE,
                            .same = ISO_NONE};
        of_key->append = entry + 1;
        index_append(lists, entry);
    }
}

static void index_appends(struct lists *lists)
{
    const struct iso_history *history = lists->problem->history;
    struct appends *appends = &lists->appends;
    uint32_t count = 0;
    for (uint32_t o = 0; o < history->ops.count; o++)
        count += iso_kind_of(history, o) == ISO_APPEND;
    iso_index_reserve(&appends->by_element, count);
    appends->entries = iso_allocate(((size_t)count + 1) * sizeof *appends->entries);
    appends->elements = iso_allocate(((size_t)count + 1) * sizeof *appends->elements);
    struct appending *appending =
        iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *appending);
    for (uint32_t t = 0; t < history->txns.count; t++)
        enter_appends(lists, t, appending);
    iso_free(appending);
}

const struct appended *lists_appended_of(const struct lists *lists, uint32_t key, iso_atom element)
{
    uint32_t at, number = find_element(&lists->appends, key, element, &at);
    return number == ISO_NONE ? NULL : &lists->appends.elements[number];
}

const struct append *lists_find_append(const struct lists *lists, uint32_t key, iso_atom element,
                                       bool *several)
{
    const struct appended *appended = lists_appended_of(lists, key, element);
    *several = appended && appended->several;
    return appended ? &lists->appends.entries[appended->likely] : NULL;
}

const struct append *lists_first_append(const struct lists *lists, uint32_t key, iso_atom element)
{
    const struct appended *appended = lists_appended_of(lists, key, element);
    return appended ? &lists->appends.entries[appended->first] : NULL;
}

const struct append *lists_next_append(const struct lists *lists, const struct append *append)
{
    return append->same == ISO_NONE ? NULL : &lists->appends.entries[append->same];
}

uint32_t lists_block_length(const struct lists *lists, const struct append *append,
                            const iso_atom *at, uint32_t left)
{
    uint32_t length = 0;
    for (uint32_t entry = append->head; entry != ISO_NONE; entry = append->rest) {
        append = &lists->appends.entries[entry];
        if (length == left || at[length] != append->element)
            return 0;
        length++;
    }
    return length;
}

/* ---- the longest read of a key, cut into blocks ---- */

const iso_atom *lists_elements(const struct lists *lists, uint32_t read)
{
    const struct iso_history *history = lists->problem->history;
    return history->lists.element + history->lists.first[lists->problem->reads.value[read]];
}

void lists_report(struct lists *lists, enum iso_finding_kind kind, uint32_t read, uint32_t other)
{
    struct problem *problem = lists->problem;
    problem_finding(problem, kind,
                    problem->transactions.in_history[problem->reads.transaction[read]],
                    problem->reads.operation[read], other);
}

static void collect_initial(struct lists *lists)
{
    const struct iso_history *history = lists->problem->history;
    uint32_t *first = iso_allocate_zeroed((size_t)history->keys.count + 2, sizeof *first);
    lists->initial_elements = iso_numbers(history->initial.count);
    for (uint32_t i = 0; i < history->initial.count; i++)
        first[history->initial.key[i] + 2] += history->initial.is_append[i];
    iso_running_sums(first + 1, (size_t)history->keys.count + 1);
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.is_append[i])
            lists->initial_elements[first[history->initial.key[i] + 1]++] =
                history->initial.value[i];
    }
    lists->initial_first = first;
}

void lists_add_pair(struct problem *problem, uint32_t earlier, uint32_t later, uint32_t operation)
{
    assert(operation < problem->history->ops.count);
    ISO_GROW(problem->list_orders.pairs, problem->list_orders.count, problem->list_orders.capacity);
    uint32_t *pair = problem->list_orders.pairs[problem->list_orders.count++];
    pair[0] = earlier, pair[1] = later, pair[2] = operation;
}

/* Cuts the longest prefix of a key into blocks; returns how far that went. */
static uint32_t cut_blocks(struct lists *lists, uint32_t key, uint32_t start, uint32_t *last)
{
    struct problem *problem = lists->problem;
    uint32_t read = lists->longest[key], length = problem->reads.prefix[read], at = start;
    const iso_atom *elements = lists_elements(lists, read);
    *last = ISO_NONE;
    while (at < length) {
        bool several;
        const struct append *append = lists_find_append(lists, key, elements[at], &several);
        if (!append || append->write == ISO_NONE) {
            lists_report(lists, append ? ISO_FINDING_G1A : ISO_FINDING_THINAIR, read,
                         append ? append->transaction : ISO_NONE);
            return at;
        }
        uint32_t block = lists_block_length(lists, append, elements + at, length - at);
        if (!block ||
            problem->transactions.local[append->transaction] == problem->reads.transaction[read]) {
            lists_report(lists, ISO_FINDING_G1B, read, append->transaction);
            return at;
        }
        uint32_t write = append->write;
        if (lists->observed[write]) { /* twice in one list */
            lists_report(lists, ISO_FINDING_INCOMPATIBLE, read, ISO_NONE);
            return at;
        }
        if (*last != ISO_NONE)
            lists_add_pair(problem, *last, write, problem->reads.operation[read]);
        lists->observed[write] = 1;
        at += block;
        lists->boundary[at] = *last = write;
    }
    return at;
}

bool lists_agree(struct lists *lists, uint32_t read, uint32_t start)
{
    struct problem *problem = lists->problem;
    uint32_t length = problem->reads.prefix[read],
             longest = lists->longest[problem->reads.key[read]];
    if (length >= start && !memcmp(lists_elements(lists, read), lists_elements(lists, longest),
                                   length * sizeof(iso_atom)))
        return true;
    lists_report(lists, ISO_FINDING_INCOMPATIBLE, read,
                 problem->transactions.in_history[problem->reads.transaction[longest]]);
    return false;
}

void lists_report_part(struct lists *lists, uint32_t read)
{
    bool several;
    uint32_t key = lists->problem->reads.key[read], last = lists->problem->reads.prefix[read] - 1;
    const struct append *append =
        lists_find_append(lists, key, lists_elements(lists, read)[last], &several);
    lists_report(lists, ISO_FINDING_G1B, read, append->transaction);
}

static void resolve_read(struct lists *lists, uint32_t read, uint32_t start, uint32_t cut)
{
    struct problem *problem = lists->problem;
    uint32_t length = problem->reads.prefix[read];
    if (!lists_agree(lists, read, start))
        return;
    if (length == start) {
        problem->reads.writer[read] = INITIAL;
    } else if (length <= cut) { /* beyond: the longest read's finding says it */
        uint32_t write = lists->boundary[length];
        if (write == ISO_NONE ||
            problem->writes.transaction[write] == problem->reads.transaction[read])
            lists_report_part(lists, read);
        else
            problem->reads.writer[read] = write;
    }
}

static void resolve_key(struct lists *lists, uint32_t key, const uint32_t *reads, uint32_t count,
                        const uint32_t *writes, uint32_t write_count)
{
    struct problem *problem = lists->problem;
    uint32_t longest = lists->longest[key], length = problem->reads.prefix[longest], last;
    uint32_t initial = lists->initial_first[key + 1] - lists->initial_first[key];
    const iso_atom *given = lists->initial_elements + lists->initial_first[key];
    if (length < initial ||
        memcmp(lists_elements(lists, longest), given, initial * sizeof *given)) {
        lists_report(lists, ISO_FINDING_INCOMPATIBLE, longest, ISO_NONE);
        return;
    }
    if (problem->rules.needs_uniques && lists->several[key]) {
        problem->has_repeats = true;
        return;
    }
    if (lists->repeats[key] && lists_repeat_in(lists, key, initial)) {
        struct numbers of_reads = {reads, count}, of_writes = {writes, write_count};
        lists_resolve_repeats(lists, key, initial, of_reads, of_writes);
        return;
    }
    lists->boundary =
        iso_reallocate(lists->boundary, ((size_t)length + 1) * sizeof *lists->boundary);
    memset(lists->boundary, 0xff, ((size_t)length + 1) * sizeof *lists->boundary);
    uint32_t cut = cut_blocks(lists, key, initial, &last);
    for (uint32_t i = 0; i < count; i++)
        resolve_read(lists, reads[i], initial, cut);
    for (uint32_t i = 0; i < write_count && last != ISO_NONE; i++) {
        if (!lists->observed[writes[i]])
            lists_add_pair(problem, last, writes[i], problem->reads.operation[longest]);
    }
}

/* Numbers from 0 to count - 1 by key, for list keys: items[first[key]] to items[first[key + 1] -
 * 1]. */
static uint32_t *by_list_key(const struct problem *problem, const uint32_t *keys, uint32_t count,
                             uint32_t **items)
{
    uint32_t key_count = problem->history->keys.count;
    uint32_t *first = iso_allocate_zeroed((size_t)key_count + 2, sizeof *first);
    *items = iso_allocate(((size_t)count + 1) * sizeof **items);
    for (uint32_t i = 0; i < count; i++)
        first[keys[i] + 2] += iso_key_is_list(problem->history, keys[i]) ? 1 : 0;
    iso_running_sums(first + 1, (size_t)key_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (iso_key_is_list(problem->history, keys[i]))
            (*items)[first[keys[i] + 1]++] = i;
    }
    return first;
}

static void resolve_keys(struct lists *lists)
{
    struct problem *problem = lists->problem;
    uint32_t *reads, *writes, key_count = problem->history->keys.count;
    uint32_t *first_read = by_list_key(problem, problem->reads.key, problem->reads.count, &reads);
    uint32_t *first_write =
        by_list_key(problem, problem->writes.key, problem->writes.count, &writes);
    lists->longest = iso_numbers(key_count);
    for (uint32_t key = 0; key < key_count; key++) {
        uint32_t longest = ISO_NONE;
        ISO_EACH(i, first_read, key) {
            if (longest == ISO_NONE ||
                problem->reads.prefix[reads[i]] > problem->reads.prefix[longest])
                longest = reads[i];
        }
        lists->longest[key] = longest;
        if (longest != ISO_NONE)
            resolve_key(lists, key, reads + first_read[key], first_read[key + 1] - first_read[key],
                        writes + first_write[key], first_write[key + 1] - first_write[key]);
    }
    ISO_FREE_ALL(first_read, first_write, reads, writes);
}

void problem_resolve_lists(struct problem *problem)
{
    struct lists lists = {.problem = problem};
    bool any = false;
    for (uint32_t key = 0; key < problem->history->keys.count && !any; key++)
        any = iso_key_is_list(problem->history, key);
    if (!any)
        return;
    lists.repeats =
        iso_allocate_zeroed((size_t)problem->history->keys.count + 1, sizeof *lists.repeats);
    lists.several =
        iso_allocate_zeroed((size_t)problem->history->keys.count + 1, sizeof *lists.several);
    lists.observed = iso_allocate_zeroed((size_t)problem->writes.count + 1, 1);
    index_appends(&lists);
    collect_initial(&lists);
    resolve_keys(&lists);
    ISO_FREE_ALL(lists.appends.entries, lists.appends.elements);
    iso_index_release(&lists.appends.by_element);
    ISO_FREE_ALL(lists.longest, lists.repeats, lists.several, lists.position, lists.initial_first,
                 lists.initial_elements, lists.boundary, lists.observed);
}
