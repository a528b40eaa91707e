/* The engine's state as an archive: lists as they stand, what has pointers piece by piece, maps made anew. */
#include "base/archive.h"

#include "history/archive.h"
#include "rowsets/rowsets_private.h"

static bool is_restoring(const struct iso_archive *archive)
{
    return archive->restoring && archive->error->status == ISO_OK;
}

/* ---- the store ---- */

static void archive_tables(struct iso_archive *archive, struct iso_rowsets *engine)
{
    ISO_ARCHIVE_ANY(archive, "tables", ISO_ARCHIVE_HEAP, engine->tables, engine->table_count, engine->table_capacity);
    for (uint32_t i = 0; archive->restoring && i < engine->table_count; i++) {
        engine->tables[i].columns = NULL;
        engine->tables[i].chunks = NULL;
        engine->tables[i].altered = NULL;
        engine->tables[i].indexes = NULL; /* made again when they are asked for */
        engine->tables[i].index_count = engine->tables[i].index_capacity = 0;
    }
    for (uint32_t i = 0; i < engine->table_count; i++) {
        struct rowsets_table *table = &engine->tables[i];
        ISO_ARCHIVE_ANY(archive, "columns", ISO_ARCHIVE_HEAP, table->columns, table->column_count,
                        table->column_capacity);
        ISO_ARCHIVE_ANY(archive, "chunks", ISO_ARCHIVE_HEAP, table->chunks, table->chunk_count, table->chunk_capacity);
        ISO_ARCHIVE_ANY(archive, "altered", ISO_ARCHIVE_HEAP, table->altered, table->altered_count,
                        table->altered_capacity);
    }
}

static void archive_rows(struct iso_archive *archive, struct iso_rowsets *engine)
{
    ISO_ARCHIVE_ANY(archive, "rows", ISO_ARCHIVE_COLUMN, engine->rows, engine->row_count, engine->row_capacity);
    ISO_ARCHIVE_ANY(archive, "cells", ISO_ARCHIVE_COLUMN, engine->cells, engine->cell_count, engine->cell_capacity);
    ISO_ARCHIVE_ANY(archive, "versions", ISO_ARCHIVE_COLUMN, engine->versions, engine->version_count,
                    engine->version_capacity);
    ISO_ARCHIVE_ANY(archive, "dead", ISO_ARCHIVE_HEAP, engine->dead.items, engine->dead.count, engine->dead.capacity);
    ISO_ARCHIVE_ANY(archive, "candidates", ISO_ARCHIVE_HEAP, engine->candidates, engine->candidate_count,
                    engine->candidate_capacity);
    ISO_ARCHIVE_AS(archive, "free_row", engine->free_row);
    ISO_ARCHIVE_AS(archive, "free_cell", engine->free_cell);
    ISO_ARCHIVE_AS(archive, "free_version", engine->free_version);
    ISO_ARCHIVE_AS(archive, "free_candidate", engine->free_candidate);
    ISO_ARCHIVE_AS(archive, "hand", engine->hand);
    ISO_ARCHIVE_AS(archive, "put", engine->put);
    ISO_ARCHIVE_AS(archive, "version_slots", engine->version_slots);
    ISO_ARCHIVE_AS(archive, "living", engine->living);
    ISO_ARCHIVE_AS(archive, "living_cells", engine->living_cells);
}

/* ---- queries ---- */

static struct rowsets_query *archive_query(struct iso_archive *archive, struct rowsets_query *query)
{
    if (archive->restoring)
        query = iso_allocate_zeroed(1, sizeof *query);
    iso_archive_value(archive, "query", query, sizeof *query);
    if (archive->restoring) {
        query->previous = query->next = NULL;
        query->rows = query->emitted = NULL;
        query->owns = NULL;
    }
    uint32_t rows = query->row_count, owns = query->own_count;
    ISO_ARCHIVE_ANY(archive, "query.rows", ISO_ARCHIVE_HEAP, query->rows, query->row_count, rows);
    ISO_ARCHIVE_ANY(archive, "query.owns", ISO_ARCHIVE_HEAP, query->owns, query->own_count, owns);
    ISO_ARCHIVE_ANY(archive, "query.emitted", ISO_ARCHIVE_HEAP, query->emitted, query->emitted_count,
                    query->emitted_capacity);
    return query;
}

static void archive_queue(struct iso_archive *archive, struct iso_rowsets *engine)
{
    struct iso_heap *queue = &engine->queue;
    ISO_ARCHIVE_ANY(archive, "queue", ISO_ARCHIVE_HEAP, queue->items, queue->count, queue->capacity);
    for (uint32_t i = 0; archive->restoring && i < queue->count; i++)
        queue->items[i].value = 0; /* of another process */
    for (uint32_t i = 0; i < queue->count; i++)
        queue->items[i].value =
            (uintptr_t)archive_query(archive, (struct rowsets_query *)(uintptr_t)queue->items[i].value);
}

static void archive_queries(struct iso_archive *archive, const char *name, struct rowsets_query ***list,
                            uint32_t *count, uint32_t *capacity)
{
    iso_archive_value(archive, name, count, sizeof *count);
    if (archive->restoring) {
        uint32_t expected = *count;
        *list = NULL;
        *count = *capacity = 0;
        while (*count < expected && archive->error->status == ISO_OK) {
            ISO_GROW(*list, *count, *capacity);
            (*list)[(*count)++] = archive_query(archive, NULL);
        }
        return;
    }
    for (uint32_t i = 0; i < *count; i++)
        archive_query(archive, (*list)[i]);
}

static void archive_unknowns(struct iso_archive *archive, struct iso_rowsets *engine)
{
    ISO_ARCHIVE_ANY(archive, "unknowns", ISO_ARCHIVE_HEAP, engine->unknowns, engine->unknown_count,
                    engine->unknown_capacity);
    for (uint32_t i = 0; archive->restoring && i < engine->unknown_count; i++) {
        engine->unknowns[i].writes = NULL;
        engine->unknowns[i].queries = NULL;
        engine->unknowns[i].query_count = 0;
    }
    for (uint32_t i = 0; i < engine->unknown_count; i++) {
        struct rowsets_unknown *unknown = &engine->unknowns[i];
        if (unknown->tid == ISO_ABSENT)
            continue;
        ISO_ARCHIVE_ANY(archive, "unknown.writes", ISO_ARCHIVE_HEAP, unknown->writes, unknown->write_count,
                        unknown->write_capacity);
        archive_queries(archive, "unknown.queries", &unknown->queries, &unknown->query_count, &unknown->query_capacity);
    }
    ISO_ARCHIVE_AS(archive, "free_unknowns", engine->free_unknowns);
}

/* ---- what is made anew ---- */

static bool are_in_range(const struct iso_rowsets *engine)
{
    bool fine = true;
    for (uint32_t i = 0; i < engine->row_count; i++) {
        const struct rowsets_row *row = &engine->rows[i];
        fine &= row->table == ISO_NONE || (row->table < engine->table_count && row->cells < engine->cell_count);
    }
    for (uint32_t i = 0; i < engine->cell_count; i++) {
        const struct rowsets_cell *cell = &engine->cells[i];
        fine &= cell->next == ISO_NONE || cell->next < engine->cell_count;
        fine &= cell->first == ISO_NONE ||
                (cell->class < 32 && cell->first + (1ull << cell->class) <= engine->version_count &&
                 cell->count <= 1ull << cell->class);
    }
    for (uint32_t t = 0; t < engine->table_count; t++)
        for (uint32_t c = 0; c < engine->tables[t].chunk_count; c++) {
            const struct rowsets_chunk *chunk = &engine->tables[t].chunks[c];
            fine &= chunk->count <= ROWSETS_CHUNK;
            for (uint32_t i = 0; fine && i < chunk->count; i++)
                fine = chunk->rows[i] < engine->row_count && engine->rows[chunk->rows[i]].table == t;
        }
    return fine;
}

void iso_rowsets_archive(struct iso_archive *archive, struct iso_rowsets *engine)
{
    iso_atoms_archive(archive, &engine->atoms);
    archive_tables(archive, engine);
    archive_rows(archive, engine);
    archive_unknowns(archive, engine);
    archive_queue(archive, engine);
    archive_queries(archive, "held", &engine->held, &engine->held_count, &engine->held_capacity);
    ISO_ARCHIVE_AS(archive, "watermark", engine->watermark);
    ISO_ARCHIVE_AS(archive, "floor", engine->floor);
    ISO_ARCHIVE_AS(archive, "has_watermark", engine->has_watermark);
    ISO_ARCHIVE_AS(archive, "ended", engine->ended);
    ISO_ARCHIVE_AS(archive, "visit", engine->visit);
    ISO_ARCHIVE_AS(archive, "atoms_kept", engine->atoms_kept);
    ISO_ARCHIVE_AS(archive, "stats", engine->stats);
    ISO_ARCHIVE_AS(archive, "query_bytes", engine->query_bytes);
    ISO_ARCHIVE_AS(archive, "open_ranges", engine->open_ranges);
    ISO_ARCHIVE_AS(archive, "now", engine->now);
    ISO_ARCHIVE_AS(archive, "numbered", engine->numbered);
    if (is_restoring(archive))
        iso_archive_expect(archive, are_in_range(engine));
    if (is_restoring(archive))
        rowsets_link_all(engine);
    if (is_restoring(archive))
        rowsets_make_maps(engine);
}
