/* The engine's state as an archive: lists as they stand, what has pointers piece by piece, maps
 * made anew. */
#include "base/archive.h"

#include <assert.h>

#include "history/archive.h"
#include "rowsets/rowsets_private.h"

static bool is_restoring(const struct iso_archive *archive)
{
    return archive->restoring && archive->error->status == ISO_OK;
}

/* ---- the store ---- */

static void archive_tables(struct iso_archive *archive, struct iso_rowsets *engine)
{
    ISO_ARCHIVE_ANY(archive, "tables", ISO_ARCHIVE_HEAP, engine->store.tables,
                    engine->store.table_count, engine->store.table_capacity);
    for (uint32_t i = 0; archive->restoring && i < engine->store.table_count; i++) {
        engine->store.tables[i].columns = NULL;
        engine->store.tables[i].chunks = NULL;
        engine->store.tables[i].altered = NULL;
        engine->store.tables[i].indexes = NULL;
        engine->store.tables[i].index_count = engine->store.tables[i].index_capacity = 0;
    }
    for (uint32_t i = 0; i < engine->store.table_count; i++) {
        struct rowsets_table *table = &engine->store.tables[i];
        ISO_ARCHIVE_ANY(archive, "columns", ISO_ARCHIVE_HEAP, table->columns, table->column_count,
                        table->column_capacity);
        ISO_ARCHIVE_ANY(archive, "chunks", ISO_ARCHIVE_HEAP, table->chunks, table->chunk_count,
                        table->chunk_capacity);
        ISO_ARCHIVE_ANY(archive, "altered", ISO_ARCHIVE_HEAP, table->altered, table->altered_count,
                        table->altered_capacity);
    }
}

static void archive_rows(struct iso_archive *archive, struct iso_rowsets *engine)
{
    ISO_ARCHIVE_ANY(archive, "rows", ISO_ARCHIVE_COLUMN, engine->store.rows,
                    engine->store.row_count, engine->store.row_capacity);
    ISO_ARCHIVE_ANY(archive, "cells", ISO_ARCHIVE_COLUMN, engine->store.cells,
                    engine->store.cell_count, engine->store.cell_capacity);
    ISO_ARCHIVE_ANY(archive, "versions", ISO_ARCHIVE_COLUMN, engine->store.versions,
                    engine->store.version_count, engine->store.version_capacity);
    ISO_ARCHIVE_ANY(archive, "dead", ISO_ARCHIVE_HEAP, engine->store.dead.items,
                    engine->store.dead.count, engine->store.dead.capacity);
    ISO_ARCHIVE_ANY(archive, "candidates", ISO_ARCHIVE_HEAP, engine->outcomes.candidates,
                    engine->outcomes.candidate_count, engine->outcomes.candidate_capacity);
    ISO_ARCHIVE_AS(archive, "free_row", engine->store.free_row);
    ISO_ARCHIVE_AS(archive, "free_cell", engine->store.free_cell);
    ISO_ARCHIVE_AS(archive, "free_version", engine->store.free_version);
    ISO_ARCHIVE_AS(archive, "free_candidate", engine->outcomes.free_candidate);
    ISO_ARCHIVE_AS(archive, "hand", engine->store.hand);
    ISO_ARCHIVE_AS(archive, "put", engine->store.put);
    ISO_ARCHIVE_AS(archive, "version_slots", engine->store.version_slots);
    ISO_ARCHIVE_AS(archive, "living", engine->store.living);
    ISO_ARCHIVE_AS(archive, "living_cells", engine->store.living_cells);
}

/* Which there are: the memory that they are counted with decides what is given up. */
static void archive_indexes(struct iso_archive *archive, struct iso_rowsets *engine)
{
    for (uint32_t t = 0; t < engine->store.table_count; t++) {
        uint32_t count = engine->store.tables[t].index_count;
        iso_archive_value(archive, "indexes", &count, sizeof count);
        for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
            struct rowsets_indexed of = {0};
            if (!archive->restoring)
                of = engine->store.tables[t].indexes[i].of;
            iso_archive_value(archive, "index", &of, sizeof of);
            iso_archive_expect(archive, of.column < engine->store.tables[t].column_count);
            if (!is_restoring(archive))
                continue;
            uint32_t made = rowsets_index(engine, t, of.column, of.type);
            engine->store.tables[t].indexes[made].of = of;
        }
    }
}

/* ---- queries ---- */

static struct rowsets_query *archive_query(struct iso_archive *archive, struct rowsets_query *query)
{
    if (archive->restoring)
        query = iso_allocate_zeroed(1, sizeof *query);
    iso_archive_value(archive, "query", query, sizeof *query);
    if (archive->restoring) {
        query->turn.previous = query->turn.next = NULL;
        query->rows = query->emitted = NULL;
        query->owns = NULL;
    }
    uint32_t rows = query->row_count, owns = query->own_count;
    ISO_ARCHIVE_ANY(archive, "query.rows", ISO_ARCHIVE_HEAP, query->rows, query->row_count, rows);
    ISO_ARCHIVE_ANY(archive, "query.owns", ISO_ARCHIVE_HEAP, query->owns, query->own_count, owns);
    ISO_ARCHIVE_ANY(archive, "query.emitted", ISO_ARCHIVE_HEAP, query->emitted,
                    query->emitted_count, query->emitted_capacity);
    return query;
}

static void archive_queue(struct iso_archive *archive, struct iso_rowsets *engine)
{
    struct iso_heap *queue = &engine->waiting.queue;
    ISO_ARCHIVE_ANY(archive, "queue", ISO_ARCHIVE_HEAP, queue->items, queue->count,
                    queue->capacity);
    for (uint32_t i = 0; archive->restoring && i < queue->count; i++)
        queue->items[i].value = 0; /* of another process */
    for (uint32_t i = 0; i < queue->count; i++)
        queue->items[i].value = (uintptr_t)archive_query(
            archive, (struct rowsets_query *)(uintptr_t)queue->items[i].value);
}

static void archive_queries(struct iso_archive *archive, const char *name,
                            struct rowsets_query ***list, uint32_t *count, uint32_t *capacity)
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
    ISO_ARCHIVE_ANY(archive, "unknowns", ISO_ARCHIVE_HEAP, engine->outcomes.unknowns,
                    engine->outcomes.unknown_count, engine->outcomes.unknown_capacity);
    for (uint32_t i = 0; archive->restoring && i < engine->outcomes.unknown_count; i++) {
        engine->outcomes.unknowns[i].writes = NULL;
        engine->outcomes.unknowns[i].queries = NULL;
        engine->outcomes.unknowns[i].query_count = 0;
    }
    for (uint32_t i = 0; i < engine->outcomes.unknown_count; i++) {
        struct rowsets_unknown *unknown = &engine->outcomes.unknowns[i];
        if (unknown->tid == ISO_ABSENT)
            continue;
        ISO_ARCHIVE_ANY(archive, "unknown.writes", ISO_ARCHIVE_HEAP, unknown->writes,
                        unknown->write_count, unknown->write_capacity);
        archive_queries(archive, "unknown.queries", &unknown->queries, &unknown->query_count,
                        &unknown->query_capacity);
    }
    ISO_ARCHIVE_AS(archive, "free_unknowns", engine->outcomes.free_unknowns);
}

/* ---- what is made anew ---- */

static bool are_in_range(const struct iso_rowsets *engine)
{
    bool fine = true;
    for (uint32_t i = 0; i < engine->store.row_count; i++) {
        const struct rowsets_row *row = &engine->store.rows[i];
        fine &= row->table == ISO_NONE ||
                (row->table < engine->store.table_count && row->cells < engine->store.cell_count);
    }
    for (uint32_t i = 0; i < engine->store.cell_count; i++) {
        const struct rowsets_cell *cell = &engine->store.cells[i];
        fine &= cell->next == ISO_NONE || cell->next < engine->store.cell_count;
        fine &= cell->first == ISO_NONE ||
                (cell->first + (1ull << cell->class) <= engine->store.version_count &&
                 cell->count <= 1ull << cell->class);
    }
    for (uint32_t t = 0; t < engine->store.table_count; t++)
        for (uint32_t c = 0; c < engine->store.tables[t].chunk_count; c++) {
            const struct rowsets_chunk *chunk = &engine->store.tables[t].chunks[c];
            fine &= chunk->count <= ROWSETS_CHUNK;
            for (uint32_t i = 0; fine && i < chunk->count; i++)
                fine = chunk->rows[i] < engine->store.row_count &&
                       engine->store.rows[chunk->rows[i]].table == t;
        }
    return fine;
}

/* A new engine may have been told initial values already: the archive has them, too, so they go. */
static void forget_store(struct iso_rowsets *engine)
{
    assert(!engine->waiting.queue.count && !engine->waiting.held_count &&
           !engine->outcomes.unknown_count);
    rowsets_release_store(engine);
    engine->store = (struct rowsets_store){0};
    engine->outcomes.candidates = NULL;
    engine->outcomes.candidate_count = engine->outcomes.candidate_capacity = 0;
    iso_atoms_release(&engine->atoms);
    rowsets_forget_conditions(engine);
    iso_atoms_init(&engine->atoms);
}

void iso_rowsets_archive(struct iso_archive *archive, struct iso_rowsets *engine)
{
    if (archive->restoring)
        forget_store(engine);
    iso_atoms_archive(archive, &engine->atoms);
    archive_tables(archive, engine);
    archive_rows(archive, engine);
    archive_unknowns(archive, engine);
    archive_queue(archive, engine);
    archive_queries(archive, "held", &engine->waiting.held, &engine->waiting.held_count,
                    &engine->waiting.held_capacity);
    ISO_ARCHIVE_AS(archive, "watermark", engine->time.watermark);
    ISO_ARCHIVE_AS(archive, "floor", engine->time.floor);
    ISO_ARCHIVE_AS(archive, "has_watermark", engine->time.has_watermark);
    ISO_ARCHIVE_AS(archive, "ended", engine->time.ended);
    ISO_ARCHIVE_AS(archive, "visit", engine->store.visit);
    ISO_ARCHIVE_AS(archive, "atoms_kept", engine->atoms_kept);
    ISO_ARCHIVE_AS(archive, "stats", engine->stats);
    ISO_ARCHIVE_AS(archive, "query_bytes", engine->waiting.query_bytes);
    ISO_ARCHIVE_AS(archive, "open_ranges", engine->waiting.open_ranges);
    ISO_ARCHIVE_AS(archive, "now", engine->waiting.now);
    ISO_ARCHIVE_AS(archive, "numbered", engine->waiting.numbered);
    if (is_restoring(archive))
        iso_archive_expect(archive, are_in_range(engine));
    if (is_restoring(archive))
        rowsets_link_all(engine);
    if (is_restoring(archive))
        rowsets_make_maps(engine);
    ISO_ARCHIVE_AS(archive, "is_paged", engine->store.is_paged);
    archive_indexes(archive, engine);
    if (is_restoring(archive) && engine->store.is_paged)
        rowsets_page(engine);
}
