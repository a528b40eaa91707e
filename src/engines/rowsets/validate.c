/* The invariants of the structures. */
#include <assert.h>

#include "rowsets/rowsets_private.h"

static void validate_versions(const struct iso_rowsets *engine, const struct rowsets_cell *cell)
{
    assert(cell->count <= (cell->first == ISO_NONE ? 0 : 1u << cell->class));
    for (uint32_t i = 1; i < cell->count; i++)
        assert(engine->store.versions[cell->first + i - 1].cts <=
               engine->store.versions[cell->first + i].cts);
    assert(!cell->count ||
           cell->newest_cts == engine->store.versions[cell->first + cell->count - 1].cts);
}

static void validate_row(const struct iso_rowsets *engine, uint32_t number, uint64_t *versions,
                         uint64_t *cells)
{
    const struct rowsets_row *row = &engine->store.rows[number];
    const struct rowsets_table *table = &engine->store.tables[row->table];
    assert(rowsets_find_row(engine, row->table, row->parts) == number);
    assert(engine->store.cells[row->cells].column == 0);
    for (uint32_t at = row->cells; at != ISO_NONE; at = engine->store.cells[at].next) {
        const struct rowsets_cell *cell = &engine->store.cells[at];
        assert(at == row->cells || (cell->column && cell->column < table->column_count));
        validate_versions(engine, cell);
        *versions += cell->count;
        ++*cells;
    }
    for (uint32_t at = row->candidates; at != ISO_NONE; at = engine->outcomes.candidates[at].next) {
        assert(engine->outcomes.candidates[at].unknown < engine->outcomes.unknown_count);
        assert(engine->outcomes.unknowns[engine->outcomes.candidates[at].unknown].tid !=
               ISO_ABSENT);
    }
}

static uint32_t validate_table(const struct iso_rowsets *engine, const struct rowsets_table *table,
                               uint64_t *versions, uint64_t *cells)
{
    uint32_t rows = 0, before = ISO_NONE;
    for (uint32_t c = 0; c < table->chunk_count; c++) {
        assert(table->chunks[c].count && table->chunks[c].count <= ROWSETS_CHUNK);
        for (uint32_t i = 0; i < table->chunks[c].count; i++) {
            uint32_t row = table->chunks[c].rows[i];
            assert(&engine->store.tables[engine->store.rows[row].table] == table);
            assert(before == ISO_NONE || rowsets_compare_rows(engine, &engine->store.rows[before],
                                                              &engine->store.rows[row]) < 0);
            validate_row(engine, row, versions, cells);
            before = row;
            rows++;
        }
    }
    assert(rows == table->row_count);
    return rows;
}

void iso_rowsets_validate(const struct iso_rowsets *engine)
{
    uint64_t versions = 0, cells = 0;
    uint32_t rows = 0, waiting = 0;
    for (uint32_t t = 0; t < engine->store.table_count; t++) {
        assert(rowsets_find_table(engine, engine->store.tables[t].name) == t);
        rows += validate_table(engine, &engine->store.tables[t], &versions, &cells);
    }
    assert(rows == engine->store.row_of.count && versions == engine->store.living &&
           cells == engine->store.living_cells);
    for (uint32_t i = 0; i < engine->waiting.queue.count; i++)
        assert(!engine->time.has_watermark ||
               engine->waiting.queue.items[i].key > engine->time.watermark);
    for (const struct rowsets_query *query = engine->waiting.fresh.first; query;
         query = query->turn.next)
        waiting += !query->turn.is_provisional;
    for (const struct rowsets_query *query = engine->waiting.provisional.first; query;
         query = query->turn.next)
        waiting += query->turn.is_provisional;
    assert(waiting == engine->waiting.queue.count);
    for (uint32_t i = 0; i < engine->waiting.held_count; i++)
        assert(engine->outcomes.unknowns[engine->waiting.held[i]->watched].tid != ISO_ABSENT);
    (void)rows;
    (void)waiting;
}
