/* Many transactions at once: what they write and ask lies anywhere in memory, and each step to it
 * needs what the step before has fetched. */

#include "rowsets/rowsets_private.h"

enum { TOGETHER = 32 };

/* ---- what transactions write and ask ---- */

static void list_writes(struct iso_rowsets *engine, uint32_t transaction)
{
    const struct iso_history *history = engine->block.history;
    ISO_EACH(o, history->txns.first_op, transaction) {
        uint8_t kind = iso_kind_of(history, o);
        const struct rowsets_known *known = kind == ISO_WRITE || kind == ISO_DELETE
                                                ? rowsets_key_of(engine, history->ops.key[o])
                                                : NULL;
        if (!known || known->cell != ISO_NONE)
            continue;
        iso_number_map_fetch(&engine->store.row_of,
                             iso_number_pair(known->table - 1, known->parts));
        ISO_APPEND(engine->block.ahead, history->ops.key[o]);
    }
}

static void list_text(struct iso_rowsets *engine, iso_atom atom)
{
    uint32_t hash = iso_atom_hash(&engine->block.history->atoms, atom);
    iso_atoms_fetch(&engine->atoms, hash, 0);
    ISO_APPEND(engine->block.texts, hash);
}

static void list_all(struct iso_rowsets *engine, const uint32_t *transactions, uint32_t count)
{
    const struct iso_history *history = engine->block.history;
    engine->block.ahead.count = engine->block.texts.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end, next = iso_history_sets_of(history, transactions[i], &end);
        if (iso_status_of(history, transactions[i]) != ISO_COMMITTED)
            continue;
        list_text(engine, history->txns.tid[transactions[i]]);
        for (; next < end; next++)
            list_text(engine, history->ranges.list[next].where);
        if (history->txns.flags[transactions[i]] & ISO_WRITES)
            list_writes(engine, transactions[i]);
    }
}

/* ---- step by step ---- */

static void find_rows(struct iso_rowsets *engine)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < engine->block.ahead.count; i++) {
        struct rowsets_known *known = &engine->block.known[engine->block.ahead.list[i]];
        known->row = rowsets_find_row(engine, known->table - 1, known->parts);
        if (known->row == ISO_NONE)
            continue;
        __builtin_prefetch(&engine->store.rows[known->row], 1);
        engine->block.ahead.list[found++] = engine->block.ahead.list[i];
    }
    engine->block.ahead.count = found;
}

static void find_cells(struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->block.ahead.count; i++) {
        struct rowsets_known *known = &engine->block.known[engine->block.ahead.list[i]];
        const struct rowsets_cell *cell = rowsets_find_cell(engine, known->row, known->column);
        if (!cell)
            continue;
        known->cell = (uint32_t)(cell - engine->store.cells);
        known->serial = engine->store.rows[known->row].serial;
        if (cell->first == ISO_NONE)
            continue;
        __builtin_prefetch(&engine->store.versions[cell->first], 1);
        __builtin_prefetch(&engine->store.versions[cell->first + cell->count], 1);
    }
}

static void look_ahead(struct iso_rowsets *engine, const uint32_t *transactions, uint32_t count)
{
    list_all(engine, transactions, count);
    find_rows(engine);
    for (uint32_t i = 0; i < engine->block.texts.count; i++)
        iso_atoms_fetch(&engine->atoms, engine->block.texts.list[i], 1);
    for (uint32_t i = 0; i < engine->block.ahead.count; i++)
        rowsets_fetch_cells(engine, engine->block.known[engine->block.ahead.list[i]].row);
    for (uint32_t i = 0; i < engine->block.texts.count; i++)
        iso_atoms_fetch(&engine->atoms, engine->block.texts.list[i], 2);
    find_cells(engine);
}

void rowsets_add_all(struct iso_rowsets *engine, const uint32_t *transactions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!(i % TOGETHER))
            look_ahead(engine, transactions + i, count - i < TOGETHER ? count - i : TOGETHER);
        iso_rowsets_add(engine, transactions[i]);
    }
}

/* ---- queries ---- */

ISO_FETCH fetch_where(const struct iso_rowsets *engine, const struct rowsets_query *query,
                      uint32_t step)
{
    if (query->where != ISO_ABSENT)
        iso_atoms_fetch_entry(&engine->atoms, query->where, step);
}

/* What a query asks an index for is what the rows have that it returned, as a rule. */
static void list_seeks(struct iso_rowsets *engine, const struct rowsets_query *query)
{
    const struct rowsets_table *table = &engine->store.tables[query->table_number];
    struct iso_scalar_place place;
    uint32_t row = query->row_count && table->index_count
                       ? rowsets_find_row(engine, query->table_number, query->rows[0])
                       : ISO_NONE;
    for (uint32_t i = 0; row != ISO_NONE && i < table->index_count; i++) {
        const struct rowsets_index *index = &table->indexes[i];
        const struct rowsets_cell *cell = rowsets_find_cell(engine, row, index->of.column);
        if (!cell || !cell->count || !rowsets_index_place(engine, index, cell->newest, &place))
            continue;
        iso_number_map_fetch(&index->heads, place.hash);
        ISO_APPEND(engine->block.seeks, (struct rowsets_seek){index, place.hash});
    }
}

/* Entries of one value stand before one another. */
ISO_FETCH fetch_entries(const struct rowsets_seek *seek)
{
    enum { FEW = 4 };
    uint32_t head = iso_number_map_get(&seek->index->heads, seek->hash);
    if (head == ISO_NUMBER_NONE)
        return;
    __builtin_prefetch(&seek->index->entries[head]);
    __builtin_prefetch(&seek->index->entries[head < FEW ? 0 : head - FEW]);
}

void rowsets_fetch_asked(struct iso_rowsets *engine, struct rowsets_query *const *queries,
                         uint32_t count)
{
    engine->block.ahead.count = 0;
    for (uint32_t q = 0; q < count; q++) {
        fetch_where(engine, queries[q], 1);
        for (uint32_t i = 0; i < queries[q]->row_count; i++)
            iso_number_map_fetch(&engine->store.row_of,
                                 iso_number_pair(queries[q]->table_number, queries[q]->rows[i]));
    }
    for (uint32_t q = 0; q < count; q++) {
        fetch_where(engine, queries[q], 2);
        for (uint32_t i = 0; i < queries[q]->row_count; i++) {
            uint32_t row = rowsets_find_row(engine, queries[q]->table_number, queries[q]->rows[i]);
            if (row == ISO_NONE)
                continue;
            __builtin_prefetch(&engine->store.rows[row], 1);
            ISO_APPEND(engine->block.ahead, row);
        }
    }
    for (uint32_t i = 0; i < engine->block.ahead.count; i++)
        rowsets_fetch_cells(engine, engine->block.ahead.list[i]);
    engine->block.seeks.count = 0;
    for (uint32_t q = 0; q < count; q++)
        list_seeks(engine, queries[q]);
    for (uint32_t i = 0; i < engine->block.seeks.count; i++)
        fetch_entries(&engine->block.seeks.list[i]);
}
