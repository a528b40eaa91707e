/* Forgets versions that nobody can ask for any more; and where memory is short, whole tables. */
#include <assert.h>

#include "rowsets/rowsets_private.h"

enum { FEW = 64 };

/* Where there are few versions beside the newest ones, what is hidden takes less than looking for
 * it costs. */
static bool is_worth_a_sweep(const struct iso_rowsets *engine)
{
    enum { SPARE = 1024 };
    return engine->options.of_few ||
           engine->store.version_slots > 2 * engine->store.living_cells + SPARE;
}

void iso_rowsets_forget(struct iso_rowsets *engine, uint64_t floor)
{
    if (floor <= engine->time.floor)
        return;
    rowsets_conclude_below(engine, floor);
    assert(!engine->waiting.queue.count || engine->waiting.queue.items[0].key > floor);
    engine->time.floor = floor;
    rowsets_forget_dead(engine);
    if (is_worth_a_sweep(engine))
        rowsets_sweep(engine, 2 * engine->store.put + FEW);
    engine->store.put = 0;
    rowsets_collect(engine);
}

/* ---- how much there is ---- */

/* Bytes of a row in the map of rows by their keys, which is at most four fifths full. */
enum { IN_MAP = 32 };

static uint64_t bytes_of_rows(const struct iso_rowsets *engine, uint32_t number)
{
    const struct rowsets_table *table = &engine->store.tables[number];
    uint64_t bytes = (uint64_t)table->chunk_count * sizeof *table->chunks;
    for (uint32_t c = 0; c < table->chunk_count; c++)
        for (uint32_t i = 0; i < table->chunks[c].count; i++) {
            bytes += sizeof *engine->store.rows + IN_MAP;
            for (uint32_t at = engine->store.rows[table->chunks[c].rows[i]].cells; at != ISO_NONE;
                 at = engine->store.cells[at].next)
                bytes += sizeof *engine->store.cells +
                         ((engine->store.cells[at].first == ISO_NONE ? 0ull : 1ull)
                          << engine->store.cells[at].class) *
                             sizeof *engine->store.versions;
        }
    return bytes;
}

/* Bytes of a column from which on it is worth a file. */
static uint64_t least_page(const struct iso_rowsets *engine)
{
    return engine->options.of_few ? 1 : 1 << 20;
}

/* What a column of so many bytes takes in memory. */
static uint64_t in_memory(const struct iso_rowsets *engine, uint64_t bytes)
{
    return engine->store.is_paged && bytes >= least_page(engine) ? 0 : bytes;
}

uint64_t rowsets_needed(const struct iso_rowsets *engine)
{
    enum { ATOM = 20, IN_ORDER = 8 };
    const struct rowsets_store *store = &engine->store;
    uint64_t rows = store->row_of.count, bytes = rows * IN_ORDER + engine->waiting.query_bytes;
    bytes += in_memory(engine, rows * sizeof *store->rows) + in_memory(engine, rows * IN_MAP);
    bytes += in_memory(engine, store->living_cells * sizeof *store->cells) +
             in_memory(engine, store->version_slots * sizeof *store->versions);
    bytes += engine->outcomes.candidate_count * sizeof *engine->outcomes.candidates;
    for (uint32_t i = 0; i < store->table_count; i++)
        bytes += in_memory(engine, rowsets_index_bytes(&store->tables[i]));
    return bytes + in_memory(engine, (uint64_t)engine->atoms.count * ATOM) +
           in_memory(engine, engine->atoms.text_size);
}

/* ---- pages ---- */

static bool page_map(const struct iso_rowsets *engine, struct iso_number_map *map)
{
    return ISO_PAGE_COLUMN(map->slots, map->slots ? map->mask + 1ull : 0, least_page(engine),
                           engine->options.spill);
}

static bool page_atoms(const struct iso_rowsets *engine, struct iso_atoms *atoms)
{
    const char *folder = engine->options.spill;
    uint64_t least = least_page(engine);
    return ISO_PAGE_COLUMN(atoms->entries, atoms->capacity, least, folder) &&
           ISO_PAGE_COLUMN(atoms->text, atoms->text_capacity, least, folder) &&
           ISO_PAGE_COLUMN(atoms->table.slots, atoms->table.slots ? atoms->table.mask + 1ull : 0,
                           least, folder);
}

static bool page_indexes(const struct iso_rowsets *engine, const struct rowsets_table *table)
{
    bool fine = true;
    for (uint32_t i = 0; fine && i < table->index_count; i++)
        fine = page_map(engine, &table->indexes[i].heads) &&
               ISO_PAGE_COLUMN(table->indexes[i].entries, table->indexes[i].capacity,
                               least_page(engine), engine->options.spill);
    return fine;
}

void rowsets_page(struct iso_rowsets *engine)
{
    struct rowsets_store *store = &engine->store;
    const char *folder = engine->options.spill;
    uint64_t least = least_page(engine);
    store->is_paged = folder && ISO_PAGE_COLUMN(store->rows, store->row_capacity, least, folder) &&
                      ISO_PAGE_COLUMN(store->cells, store->cell_capacity, least, folder) &&
                      ISO_PAGE_COLUMN(store->versions, store->version_capacity, least, folder) &&
                      page_map(engine, &store->row_of) && page_atoms(engine, &engine->atoms);
    for (uint32_t i = 0; store->is_paged && i < store->table_count; i++)
        store->is_paged = page_indexes(engine, &store->tables[i]);
}

/* ---- tables that memory has no room for ---- */

static void drop_rows(struct iso_rowsets *engine, struct rowsets_table *table)
{
    while (table->chunk_count) {
        const struct rowsets_chunk *last = &table->chunks[table->chunk_count - 1];
        uint32_t row = last->rows[last->count - 1];
        rowsets_drop_all_candidates(engine, row);
        rowsets_free_row(engine, row);
    }
    assert(!table->row_count);
}

static void give_up(struct iso_rowsets *engine, uint32_t number)
{
    struct rowsets_table *table = &engine->store.tables[number];
    assert(!table->is_given_up);
    drop_rows(engine, table);
    rowsets_release_indexes(table);
    table->is_given_up = true;
    engine->stats.given_up++;
    rowsets_conclude_table(engine, number);
    /* where keys are is looked up again */
    engine->block.known_count = engine->block.plain_count = 0;
    rowsets_collect_now(engine);
}

uint64_t rowsets_largest(const struct iso_rowsets *engine, uint32_t *table)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < engine->store.table_count; i++) {
        uint64_t bytes = bytes_of_rows(engine, i);
        if (bytes > most && table)
            *table = i;
        most = bytes > most ? bytes : most;
    }
    return most;
}

void rowsets_give_up_largest(struct iso_rowsets *engine)
{
    uint32_t table;
    if (rowsets_largest(engine, &table))
        give_up(engine, table);
}

/* Queries make indexes again as they need them. */
void rowsets_tidy(struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->store.table_count; i++)
        rowsets_release_indexes(&engine->store.tables[i]);
    rowsets_sweep(engine, UINT64_MAX);
    rowsets_collect_now(engine);
}
