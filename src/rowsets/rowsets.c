#include "rowsets/rowsets.h"

#include <string.h>

#include "base/index.h"
#include "rowsets/rowsets_private.h"

void iso_rowsets_options_init(struct iso_rowsets_options *options)
{
    *options = (struct iso_rowsets_options){
        .level = ISO_SI, .scan_limit = ISO_SCAN_LIMIT, .retention = ISO_ROWSETS_FOREVER, .initial_is_known = true};
}

struct iso_rowsets *iso_rowsets_new(const struct iso_rowsets_options *options)
{
    struct iso_rowsets *engine = iso_allocate_zeroed(1, sizeof *engine);
    engine->options = *options;
    if (!engine->options.scan_limit)
        engine->options.scan_limit = ISO_SCAN_LIMIT;
    engine->free_row = engine->free_cell = engine->free_candidate = engine->free_unknowns = ISO_NONE;
    for (size_t i = 0; i < sizeof engine->free_version / sizeof *engine->free_version; i++)
        engine->free_version[i] = ISO_NONE;
    iso_atoms_init(&engine->atoms);
    return engine;
}

static void free_queries(struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->queue.count; i++)
        rowsets_free_query((struct rowsets_query *)(uintptr_t)engine->queue.items[i].value);
    for (uint32_t i = 0; i < engine->held_count; i++)
        rowsets_free_query(engine->held[i]);
    for (uint32_t i = 0; i < engine->unknown_count; i++) {
        struct rowsets_unknown *unknown = &engine->unknowns[i];
        for (uint32_t q = 0; unknown->tid != ISO_ABSENT && q < unknown->query_count; q++)
            rowsets_free_query(unknown->queries[q]);
        iso_free(unknown->queries);
        iso_free(unknown->writes);
    }
    iso_heap_release(&engine->queue);
    iso_free(engine->held);
    iso_free(engine->unknowns);
    iso_number_map_release(&engine->unknown_of);
}

void iso_rowsets_free(struct iso_rowsets *engine)
{
    if (!engine)
        return;
    free_queries(engine);
    rowsets_release_store(engine);
    iso_atoms_release(&engine->atoms);
    iso_free(engine->known);
    iso_free(engine->plain);
    iso_free(engine->writes);
    iso_text_release(&engine->text);
    iso_free(engine);
}

static uint64_t map_bytes(const struct iso_number_map *map)
{
    return map->slots ? ((uint64_t)map->mask + 1) * sizeof *map->slots : 0;
}

static uint64_t bytes_of(const struct iso_rowsets *engine)
{
    const struct iso_atoms *atoms = &engine->atoms;
    uint64_t bytes = atoms->capacity * (sizeof *atoms->payload + sizeof *atoms->form) + atoms->text_capacity +
                     iso_index_bytes(&atoms->table);
    bytes += engine->row_capacity * sizeof *engine->rows + engine->cell_capacity * sizeof *engine->cells;
    bytes += engine->version_capacity * sizeof *engine->versions;
    bytes += engine->candidate_capacity * sizeof *engine->candidates;
    bytes += (engine->known_capacity + engine->plain_capacity) * sizeof *engine->known;
    bytes += map_bytes(&engine->row_of) + map_bytes(&engine->table_of);
    bytes += (engine->queue.capacity + engine->dead.capacity) * sizeof *engine->queue.items;
    for (uint32_t i = 0; i < engine->table_count; i++)
        bytes += engine->tables[i].chunk_capacity * sizeof *engine->tables[i].chunks;
    bytes += engine->query_bytes;
    return bytes;
}

void iso_rowsets_stats(const struct iso_rowsets *engine, struct iso_rowsets_stats *stats)
{
    *stats = engine->stats;
    stats->waiting = engine->queue.count;
    stats->held = engine->held_count;
    stats->open_ranges = engine->open_ranges;
    for (const struct rowsets_query *query = engine->provisional.first; query; query = query->next)
        stats->provisional++;
    stats->tables = engine->table_count;
    for (uint32_t i = 0; i < engine->table_count; i++)
        stats->rows += engine->tables[i].row_count;
    stats->cells = engine->living_cells;
    stats->versions = engine->living;
    stats->bytes = bytes_of(engine);
}
