/* Reads of registers without a possible writer: who else wrote the value. An aborted transaction did (G1a), or one that
 * overwrote it itself (G1b), or nobody (thin air).
 *
 * The values that such reads saw are collected first; one walk over the history then finds their writers, however many
 * reads there are.
 */
#include "base/number_map.h"
#include "polygraph/polygraph_private.h"

/* Of a key and value: the first that aborted, and the first two others, since one of those may be the reader. */
struct unwritten {
    uint32_t aborted, other, second; /* transactions of the history, or ISO_NONE */
};

struct table {
    struct unwritten *items;
    uint32_t count, capacity;
    struct iso_number_map by_value; /* of a key: its item */
};

static bool has_no_writer(const struct engine *engine, uint32_t read)
{
    return engine->reads.writer[read] == OPEN && engine->reads.set[read] == ISO_NONE &&
           !iso_key_is_list(engine->history, engine->reads.key[read]);
}

static struct unwritten *find_item(const struct table *table, uint32_t key, uint32_t value)
{
    uint32_t item = iso_number_map_get(&table->by_value, iso_number_pair(key, value));
    return item == ISO_NONE ? NULL : &table->items[item];
}

static void collect_unwritten(struct table *table, const struct engine *engine)
{
    *table = (struct table){0};
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (!has_no_writer(engine, read))
            continue;
        uint32_t key = engine->reads.key[read], value = engine->reads.value[read];
        if (iso_number_map_add(&table->by_value, iso_number_pair(key, value), table->count) != table->count)
            continue;
        ISO_GROW(table->items, table->count, table->capacity);
        table->items[table->count++] = (struct unwritten){ISO_NONE, ISO_NONE, ISO_NONE};
    }
}

static void note_writer(struct unwritten *item, uint32_t transaction, bool aborted)
{
    if (aborted && item->aborted == ISO_NONE)
        item->aborted = transaction;
    else if (!aborted && item->other == ISO_NONE)
        item->other = transaction;
    else if (!aborted && item->second == ISO_NONE && item->other != transaction)
        item->second = transaction;
}

static void find_writers(struct table *table, const struct iso_history *history)
{
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            struct unwritten *item =
                iso_kind_writes(history->kind[o]) ? find_item(table, history->key[o], history->value[o]) : NULL;
            if (item)
                note_writer(item, t, iso_status_of(history, t) == ISO_ABORTED);
        }
    }
}

static void classify_read(struct engine *engine, const struct unwritten *item, uint32_t read)
{
    uint32_t reader = engine->transactions.in_history[engine->reads.transaction[read]],
             o = engine->reads.operation[read];
    uint32_t intermediate = item->other == reader ? item->second : item->other;
    if (item->aborted != ISO_NONE)
        problem_finding(engine, ISO_FINDING_G1A, reader, o, item->aborted);
    else
        problem_finding(engine, intermediate == ISO_NONE ? ISO_FINDING_THINAIR : ISO_FINDING_G1B, reader, o,
                        intermediate);
}

void unwritten_classify(struct engine *engine)
{
    struct table table;
    collect_unwritten(&table, engine);
    find_writers(&table, engine->history);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (has_no_writer(engine, read))
            classify_read(engine, find_item(&table, engine->reads.key[read], engine->reads.value[read]), read);
    }
    iso_free(table.items);
    iso_number_map_release(&table.by_value);
}
