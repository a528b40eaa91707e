/* Who may have written what a read saw: one final write, the initial version, or one of several of
 * one value.
 *
 * Those of one key and value are a *set*, kept once however many read it: a few values on hot keys
 * make more pairs of a read and a possible writer than memory has room for. Writes and reads are
 * dealt out by key first, each with its value, so that the table of values is a small one that
 * stays in the cache, and nothing is looked up far away.
 */
#include <assert.h>

#include "base/hash.h"
#include "problem/placements.h"

/* Items of each key, ascending: list[first[key]] to list[first[key + 1] - 1]. */
struct dealt {
    uint32_t *first;
    struct item {
        uint32_t number, value;
    } * list;
};

/* Counts stand two positions on; dealing moves them to their ends, which is where the next ones
 * start. */
static void deal(struct dealt *dealt, const struct iso_history *history, const uint32_t *key,
                 const uint32_t *value, uint32_t count)
{
    dealt->first = iso_numbers_zero((size_t)history->keys.count + 2);
    dealt->list = iso_allocate(((size_t)count + 1) * sizeof *dealt->list);
    for (uint32_t i = 0; i < count; i++)
        dealt->first[key[i] + 2]++;
    iso_running_sums(dealt->first + 1, (size_t)history->keys.count + 1);
    for (uint32_t i = 0; i < count; i++)
        dealt->list[dealt->first[key[i] + 1]++] = (struct item){i, value[i]};
}

/* The values of one key. */
struct values {
    struct entry {
        uint32_t stamp; /* 1 + the key that uses it */
        uint32_t value, head, count, set;
    } * entries;
    uint32_t capacity, mask, seed;
    const struct item *writes;
    uint32_t *same, same_capacity; /* by position in `writes`: the next one of the same value */
};

static struct entry *find_entry(const struct values *values, uint32_t key, uint32_t value)
{
    uint32_t at = (uint32_t)iso_hash_pair(values->seed, value) & values->mask;
    while (values->entries[at].stamp == key + 1 && values->entries[at].value != value)
        at = (at + 1) & values->mask;
    return &values->entries[at];
}

static void enter_writes(struct values *values, uint32_t key, const struct item *writes,
                         uint32_t count)
{
    uint32_t size = 4;
    while (size < 2 * (size_t)count)
        size *= 2;
    if (size > values->capacity) {
        iso_free(values->entries);
        values->entries = iso_allocate_zeroed(size, sizeof *values->entries);
        values->capacity = size;
    }
    ISO_RESERVE(values->same, count, values->same_capacity);
    values->mask = size - 1;
    values->writes = writes;
    for (uint32_t i = count; i-- > 0;) {
        struct entry *entry = find_entry(values, key, writes[i].value);
        if (entry->stamp != key + 1)
            *entry = (struct entry){key + 1, writes[i].value, ISO_NONE, 0, ISO_NONE};
        values->same[i] = entry->head;
        entry->head = i;
        entry->count++;
    }
}

/* Room for one more set of as many members; where its first one goes. */
static uint32_t begin_set(struct writer_sets *sets, uint32_t members)
{
    ISO_RESERVE(sets->first, sets->count + 2, sets->capacity);
    if (!sets->count)
        sets->first[0] = 0;
    ISO_RESERVE(sets->member, (size_t)sets->first[sets->count] + members, sets->member_capacity);
    return sets->first[sets->count];
}

static uint32_t end_set(struct writer_sets *sets, uint32_t end)
{
    assert(sets->first[sets->count] <= end && end <= sets->member_capacity);
    sets->first[++sets->count] = end;
    return sets->count - 1;
}

static uint32_t make_set(struct writer_sets *sets, const struct values *values,
                         const struct entry *entry, bool initial)
{
    uint32_t end = begin_set(sets, entry->count + 1);
    for (uint32_t i = entry->head; i != ISO_NONE; i = values->same[i])
        sets->member[end++] = values->writes[i].number;
    if (initial)
        sets->member[end++] = INITIAL;
    assert(end == sets->first[sets->count] + entry->count + initial);
    return end_set(sets, end);
}

/* A transaction cannot have seen its own later write. */
static bool is_own(const struct problem *problem, uint32_t read, uint32_t write)
{
    return problem->reads.transaction[read] == problem->writes.transaction[write];
}

static bool is_seen(const struct problem *problem, uint32_t read)
{
    return problem->seen && problem->seen[read] != OPEN &&
           !iso_key_is_list(problem->history, problem->reads.key[read]);
}

/* A writer that is the only one may be the reader itself: drop_own() finds that. */
static void find_writer(struct problem *problem, const struct values *values, uint32_t key,
                        uint32_t initial_value, const struct item *item)
{
    struct entry *entry = find_entry(values, key, item->value);
    bool found = entry->stamp == key + 1, initial = item->value == initial_value;
    uint32_t count = (found ? entry->count : 0) + initial, read = item->number, left = count,
             other = ISO_NONE;
    if (count == 1) {
        problem->reads.writer[read] = initial ? INITIAL : values->writes[entry->head].number;
        return;
    }
    for (uint32_t i = count == 2 ? entry->head : ISO_NONE; i != ISO_NONE; i = values->same[i]) {
        if (is_own(problem, read, values->writes[i].number))
            left--;
        else
            other = values->writes[i].number;
    }
    if (count >= 3 || left == 2) {
        if (entry->set == ISO_NONE)
            entry->set = make_set(&problem->writer_sets, values, entry, initial);
        problem->reads.set[read] = entry->set;
    } else if (left == 1) {
        problem->reads.writer[read] = initial ? INITIAL : other;
    }
}

static void find_by_value(struct problem *problem)
{
    const struct iso_history *history = problem->history;
    const struct reads *of_reads = &problem->reads;
    struct dealt writes, reads;
    struct values values = {.seed = 1};
    uint32_t *initial = iso_history_initial_values(history, true);
    deal(&writes, history, problem->writes.key, problem->writes.value, problem->writes.count);
    deal(&reads, history, of_reads->key, of_reads->value, of_reads->count);
    for (uint32_t key = 0; key < history->keys.count; key++) {
        uint32_t first = reads.first[key], end = reads.first[key + 1];
        if (first == end || iso_key_is_list(history, key))
            continue;
        enter_writes(&values, key, writes.list + writes.first[key],
                     writes.first[key + 1] - writes.first[key]);
        for (uint32_t i = first; i < end; i++)
            if (!is_seen(problem, reads.list[i].number))
                find_writer(problem, &values, key, initial[key], &reads.list[i]);
    }
    ISO_FREE_ALL(initial, values.entries, values.same, writes.first, writes.list, reads.first,
                 reads.list);
}

/* ---- lists whose elements repeat ---- */

/* The writes whose appends may end a list of that length. */
static uint32_t set_of_length(struct problem *problem, const struct repeating_list *list,
                              uint32_t length)
{
    assert(list->start <= length && length <= list->length);
    uint32_t *set = &list->set[length - list->start];
    const uint32_t *first = &list->first_ending[length - list->start];
    if (*set != ISO_NONE)
        return *set;
    uint32_t end = begin_set(&problem->writer_sets, first[1] - first[0]);
    for (uint32_t i = first[0]; i < first[1]; i++)
        problem->writer_sets.member[end++] = problem->placements->items[list->ending[i]].write;
    return *set = end_set(&problem->writer_sets, end);
}

/* Finds the transactions whose appends may end the list that was read. `own`: the reader's write of
 * the key, or ISO_NONE. */
static void find_list_writer(struct problem *problem, const struct repeating_list *list,
                             uint32_t read, uint32_t own)
{
    uint32_t length = problem->reads.prefix[read], set = set_of_length(problem, list, length);
    const uint32_t *members = problem->writer_sets.member + problem->writer_sets.first[set];
    uint32_t count = problem->writer_sets.first[set + 1] - problem->writer_sets.first[set];
    bool may_be_own = own != ISO_NONE && placements_has(list, own, length);
    if (count - may_be_own == 1)
        problem->reads.writer[read] = may_be_own && members[0] == own ? members[1] : members[0];
    else
        problem->reads.set[read] = set;
}

static void find_list_writers(struct problem *problem)
{
    /* by key: the last write so far */
    uint32_t *last = iso_numbers_none(problem->history->keys.count);
    for (uint32_t t = 0; t < problem->transactions.count; t++) {
        ISO_EACH(write, problem->writes.first, t)
            last[problem->writes.key[write]] = write;
        ISO_EACH(read, problem->reads.first, t) {
            uint32_t write = last[problem->reads.key[read]];
            const struct repeating_list *list =
                placements_of_key(problem->placements, problem->reads.key[read]);
            if (list && problem->reads.writer[read] == OPEN)
                find_list_writer(problem, list, read,
                                 write != ISO_NONE && is_own(problem, read, write) ? write
                                                                                   : ISO_NONE);
        }
    }
    iso_free(last);
}

/* ---- all ---- */

/* Counts those that are open; false: a read has no writer. */
static bool drop_own(struct problem *problem)
{
    struct reads *reads = &problem->reads;
    const uint32_t *first_write = problem->writes.first;
    bool all = true;
    for (uint32_t t = 0; t < problem->transactions.count; t++) {
        ISO_EACH(read, reads->first, t) {
            if (is_seen(problem, read))
                reads->writer[read] = problem->seen[read];
            else if (reads->writer[read] >= first_write[t] &&
                     reads->writer[read] < first_write[t + 1])
                reads->writer[read] = OPEN;
            reads->open += reads->set[read] != ISO_NONE;
            all &= reads->writer[read] != OPEN || reads->set[read] != ISO_NONE;
        }
    }
    return all;
}

bool problem_find_registers(struct problem *problem)
{
    find_by_value(problem);
    if (problem->placements)
        find_list_writers(problem);
    return drop_own(problem);
}
