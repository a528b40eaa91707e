/* Reads of registers without a possible writer: who else wrote the value. An aborted transaction
 * did (G1a), or one that overwrote it itself (G1b), or nobody (thin air).
 *
 * The values that such reads saw are collected first; one walk over the history then finds their
 * writers, however many reads there are.
 */
#include <assert.h>

#include "base/number_map.h"
#include "problem/problem.h"

/* Writers of a key and value that nobody left behind: the first that aborted, and the first two
 * others, since one of those may be the reader. */
struct unwritten {
    uint32_t aborted, other, second; /* transactions of the history, or ISO_NONE */
};

struct table {
    struct unwritten *items;
    uint32_t count, capacity;
    struct iso_number_map by_value; /* of a key: its item */
};

static bool has_no_writer(const struct problem *problem, uint32_t read)
{
    return problem->reads.writer[read] == OPEN && problem->reads.set[read] == ISO_NONE &&
           !iso_key_is_list(problem->history, problem->reads.key[read]);
}

static struct unwritten *find_item(const struct table *table, uint32_t key, uint32_t value)
{
    uint32_t item = iso_number_map_get(&table->by_value, iso_number_pair(key, value));
    return item == ISO_NONE ? NULL : &table->items[item];
}

static void collect_unwritten(struct table *table, const struct problem *problem)
{
    *table = (struct table){0};
    for (uint32_t read = 0; read < problem->reads.count; read++) {
        if (!has_no_writer(problem, read))
            continue;
        uint32_t key = problem->reads.key[read], value = problem->reads.value[read];
        if (iso_number_map_add(&table->by_value, iso_number_pair(key, value), table->count) !=
            table->count)
            continue;
        ISO_PUSH(table->items, table->count, table->capacity,
                 (struct unwritten){ISO_NONE, ISO_NONE, ISO_NONE});
    }
}

static void note_writer(struct unwritten *item, uint32_t transaction, bool aborted)
{
    assert(item->second == ISO_NONE || item->other != ISO_NONE);
    if (aborted && item->aborted == ISO_NONE)
        item->aborted = transaction;
    else if (!aborted && item->other == ISO_NONE)
        item->other = transaction;
    else if (!aborted && item->second == ISO_NONE && item->other != transaction)
        item->second = transaction;
}

static void find_writers(struct table *table, const struct iso_history *history)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        ISO_EACH(o, history->txns.first_op, t) {
            struct unwritten *item =
                iso_kind_writes(history->ops.kind[o])
                    ? find_item(table, history->ops.key[o], history->ops.value[o])
                    : NULL;
            if (item)
                note_writer(item, t, iso_status_of(history, t) == ISO_ABORTED);
        }
    }
}

static void classify_read(struct problem *problem, const struct unwritten *item, uint32_t read)
{
    uint32_t reader = problem->transactions.in_history[problem->reads.transaction[read]],
             o = problem->reads.operation[read];
    uint32_t intermediate = item->other == reader ? item->second : item->other;
    if (item->aborted != ISO_NONE)
        problem_finding(problem, ISO_FINDING_G1A, reader, o, item->aborted);
    else
        problem_finding(problem, intermediate == ISO_NONE ? ISO_FINDING_THINAIR : ISO_FINDING_G1B,
                        reader, o, intermediate);
}

void problem_classify_unwritten(struct problem *problem)
{
    struct table table;
    collect_unwritten(&table, problem);
    find_writers(&table, problem->history);
    for (uint32_t read = 0; read < problem->reads.count; read++) {
        if (has_no_writer(problem, read))
            classify_read(problem,
                          find_item(&table, problem->reads.key[read], problem->reads.value[read]),
                          read);
    }
    iso_free(table.items);
    iso_number_map_release(&table.by_value);
}
