/* Reads of registers without a possible writer: who else wrote the value. An aborted transaction did (G1a), or one that
 * overwrote it itself (G1b), or nobody (thin air).
 *
 * The values that such reads saw are collected first; one walk over the history then finds their writers, however many
 * reads there are.
 */
#include "base/hash.h"
#include "polygraph/polygraph_private.h"

/* Of a key and value: the first that aborted, and the first two others, since one of those may be the reader. */
struct unwritten {
    uint32_t key, value;
    uint32_t aborted, other, second; /* transactions of the history, or ISO_NONE */
};

struct table {
    struct unwritten *items;
    uint32_t *slots; /* 1 + an item; 0: empty */
    uint32_t count;
    uint64_t mask;
};

static bool has_no_writer(const struct engine *engine, uint32_t read)
{
    return engine->reads.writer[read] == OPEN && engine->reads.set[read] == ISO_NONE &&
           !iso_key_is_list(engine->history, engine->reads.key[read]);
}

static uint32_t *find_slot(const struct table *table, uint32_t key, uint32_t value)
{
    uint64_t slot = iso_hash_pair(key, value) & table->mask;
    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        const struct unwritten *item = &table->items[table->slots[slot] - 1];
        if (item->key == key && item->value == value)
            break;
    }
    return &table->slots[slot];
}

static void collect_unwritten(struct table *table, const struct engine *engine)
{
    uint32_t reads = 0;
    size_t slots = 64;
    for (uint32_t read = 0; read < engine->reads.count; read++)
        reads += has_no_writer(engine, read);
    while (slots < 2 * (size_t)reads)
        slots *= 2;
    *table = (struct table){.items = iso_allocate(((size_t)reads + 1) * sizeof *table->items),
                            .slots = iso_allocate_zeroed(slots, sizeof *table->slots),
                            .mask = slots - 1};
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (!has_no_writer(engine, read))
            continue;
        uint32_t key = engine->reads.key[read], value = engine->reads.value[read];
        uint32_t *slot = find_slot(table, key, value);
        if (*slot)
            continue;
        table->items[table->count++] = (struct unwritten){key, value, ISO_NONE, ISO_NONE, ISO_NONE};
        *slot = table->count;
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
            uint32_t item =
                iso_kind_writes(history->kind[o]) ? *find_slot(table, history->key[o], history->value[o]) : 0;
            if (item)
                note_writer(&table->items[item - 1], t, iso_status_of(history, t) == ISO_ABORTED);
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
            classify_read(
                engine, &table.items[*find_slot(&table, engine->reads.key[read], engine->reads.value[read]) - 1], read);
    }
    iso_free(table.items);
    iso_free(table.slots);
}
