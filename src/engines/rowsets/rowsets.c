#include "base/index.h"
#include "base/numbers.h"
#include "rowsets/rowsets_private.h"

void iso_rowsets_options_init(struct iso_rowsets_options *options)
{
    *options = (struct iso_rowsets_options){.level = ISO_SI,
                                            .scan_limit = ISO_SCAN_LIMIT,
                                            .retention = ISO_ROWSETS_FOREVER,
                                            .initial_is_known = true};
}

struct iso_rowsets *iso_rowsets_new(const struct iso_rowsets_options *options)
{
    struct iso_rowsets *engine = iso_allocate_zeroed(1, sizeof *engine);
    engine->options = *options;
    if (!engine->options.scan_limit)
        engine->options.scan_limit = ISO_SCAN_LIMIT;
    engine->store.free_row = engine->store.free_cell = engine->outcomes.free_candidate =
        engine->outcomes.free_unknowns = ISO_NONE;
    for (size_t i = 0; i < sizeof engine->store.free_version / sizeof *engine->store.free_version;
         i++)
        engine->store.free_version[i] = ISO_NONE;
    iso_atoms_init(&engine->atoms);
    rowsets_forget_conditions(engine);
    return engine;
}

static void free_queries(struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->waiting.queue.count; i++)
        rowsets_free_query((struct rowsets_query *)(uintptr_t)engine->waiting.queue.items[i].value);
    for (uint32_t i = 0; i < engine->waiting.held_count; i++)
        rowsets_free_query(engine->waiting.held[i]);
    for (uint32_t i = 0; i < engine->outcomes.unknown_count; i++) {
        struct rowsets_unknown *unknown = &engine->outcomes.unknowns[i];
        for (uint32_t q = 0; unknown->tid != ISO_ABSENT && q < unknown->query_count; q++)
            rowsets_free_query(unknown->queries[q]);
        ISO_FREE_ALL(unknown->queries, unknown->writes);
    }
    iso_heap_release(&engine->waiting.queue);
    ISO_FREE_ALL(engine->waiting.held, engine->outcomes.unknowns);
    iso_number_map_release(&engine->outcomes.unknown_of);
}

void iso_rowsets_free(struct iso_rowsets *engine)
{
    if (!engine)
        return;
    free_queries(engine);
    rowsets_release_store(engine);
    iso_atoms_release(&engine->atoms);
    ISO_FREE_ALL(engine->block.known, engine->block.plain, engine->block.writes,
                 engine->block.ahead.list, engine->block.texts.list, engine->block.seeks.list);
    iso_text_release(&engine->text);
    rowsets_release_room(&engine->room);
    rowsets_forget_conditions(engine);
    iso_free(engine);
}

static uint64_t bytes_of(const struct iso_rowsets *engine)
{
    const struct iso_atoms *atoms = &engine->atoms;
    uint64_t bytes = atoms->capacity * sizeof *atoms->entries + atoms->text_capacity +
                     iso_index_bytes(&atoms->table);
    bytes += engine->store.row_capacity * sizeof *engine->store.rows +
             engine->store.cell_capacity * sizeof *engine->store.cells;
    bytes += engine->store.version_capacity * sizeof *engine->store.versions;
    bytes += engine->outcomes.candidate_capacity * sizeof *engine->outcomes.candidates;
    bytes +=
        (engine->block.known_capacity + engine->block.plain_capacity) * sizeof *engine->block.known;
    bytes +=
        iso_number_map_bytes(&engine->store.row_of) + iso_number_map_bytes(&engine->store.table_of);
    bytes += (engine->waiting.queue.capacity + engine->store.dead.capacity) *
             sizeof *engine->waiting.queue.items;
    for (uint32_t i = 0; i < engine->store.table_count; i++)
        bytes += engine->store.tables[i].chunk_capacity * sizeof *engine->store.tables[i].chunks;
    bytes += engine->waiting.query_bytes;
    return bytes;
}

static void note_oldest(const struct rowsets_query *query, struct iso_rowsets_stats *stats)
{
    if (query->is_range || query->turn.arrived >= stats->oldest)
        return;
    stats->oldest = query->turn.arrived;
    stats->oldest_origin = query->origin;
}

void iso_rowsets_stats(const struct iso_rowsets *engine, struct iso_rowsets_stats *stats)
{
    *stats = engine->stats;
    stats->oldest = UINT64_MAX;
    for (uint32_t i = 0; i < engine->waiting.queue.count; i++)
        note_oldest((const void *)(uintptr_t)engine->waiting.queue.items[i].value, stats);
    for (uint32_t i = 0; i < engine->waiting.held_count; i++)
        note_oldest(engine->waiting.held[i], stats);
    stats->waiting = engine->waiting.queue.count;
    stats->held = engine->waiting.held_count;
    stats->open_ranges = engine->waiting.open_ranges;
    for (const struct rowsets_query *query = engine->waiting.provisional.first; query;
         query = query->turn.next)
        stats->provisional++;
    stats->tables = engine->store.table_count;
    for (uint32_t i = 0; i < engine->store.table_count; i++)
        stats->rows += engine->store.tables[i].row_count;
    stats->cells = engine->store.living_cells;
    stats->versions = engine->store.living;
    stats->bytes = bytes_of(engine);
}

void rowsets_add_stats(struct iso_rowsets_stats *stats, const struct iso_rowsets_stats *more)
{
    const size_t first = offsetof(struct iso_rowsets_stats, queries),
                 end = offsetof(struct iso_rowsets_stats, oldest);
    uint64_t open_unknown = stats->open_unknown; /* as transactions, the same in each */
    iso_add_counts(&stats->queries, &more->queries, end - first);
    stats->open_unknown = open_unknown;
    if (more->oldest < stats->oldest) {
        stats->oldest = more->oldest;
        stats->oldest_origin = more->oldest_origin;
    }
}
