/* Queries that wait: for the watermark, by their moments; or for a transaction of unknown outcome. */
#include "rowsets/rowsets_private.h"

void rowsets_free_query(struct rowsets_query *query)
{
    if (!query)
        return; /* of an archive that ended too early */
    iso_free(query->rows);
    iso_free(query->owns);
    iso_free(query->emitted);
    iso_free(query);
}

uint64_t rowsets_query_bytes(const struct rowsets_query *query)
{
    return sizeof *query + query->row_count * sizeof *query->rows + query->own_count * sizeof *query->owns;
}

/* It waits, or does no more. */
static void count_open(struct iso_rowsets *engine, const struct rowsets_query *query, int by)
{
    engine->query_bytes += (uint64_t)(int64_t)by * rowsets_query_bytes(query);
    engine->open_ranges += (uint64_t)(int64_t)by * query->is_range;
}

/* Judges it, and keeps it if it has to wait on. */
static void settle(struct iso_rowsets *engine, struct rowsets_query *query, bool is_last)
{
    query->watched = rowsets_judge(engine, query, is_last);
    if (query->watched == ISO_NONE) {
        rowsets_free_query(query);
        return;
    }
    count_open(engine, query, 1);
    ISO_GROW(engine->held, engine->held_count, engine->held_capacity);
    engine->held[engine->held_count++] = query;
}

static bool is_final(const struct iso_rowsets *engine, uint64_t bound)
{
    return engine->ended || (engine->has_watermark && engine->watermark >= bound - 1) || !bound;
}

/* From which bound on nothing changes it any more: at ser a range also meets who commits at its own timestamp. */
static uint64_t due_of(const struct iso_rowsets *engine, const struct rowsets_query *query)
{
    bool meets = query->is_range && engine->options.level == ISO_SER && !query->is_point;
    return query->bound + (meets && query->bound < UINT64_MAX);
}

void rowsets_enqueue(struct iso_rowsets *engine, struct rowsets_query *query)
{
    uint64_t due = due_of(engine, query);
    if (is_final(engine, due)) {
        settle(engine, query, engine->ended);
    } else {
        count_open(engine, query, 1);
        iso_heap_push(&engine->queue, due, (uint64_t)(uintptr_t)query);
    }
}

/* Held queries for which `wants` is true, once more. */
static void settle_held(struct iso_rowsets *engine, bool (*wants)(const struct rowsets_query *query, uint64_t number),
                        uint64_t number, bool is_last)
{
    uint32_t count = engine->held_count, kept = 0;
    struct rowsets_query **held = engine->held;
    engine->held = NULL;
    engine->held_count = engine->held_capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (wants(held[i], number)) {
            count_open(engine, held[i], -1);
            settle(engine, held[i], is_last);
        } else {
            held[kept++] = held[i];
        }
    }
    for (uint32_t i = 0; i < kept; i++) {
        ISO_GROW(engine->held, engine->held_count, engine->held_capacity);
        engine->held[engine->held_count++] = held[i];
    }
    iso_free(held);
}

static bool watches(const struct rowsets_query *query, uint64_t unknown)
{
    return query->watched == unknown;
}

static bool is_below(const struct rowsets_query *query, uint64_t floor)
{
    return query->bound <= floor;
}

static bool is_any(const struct rowsets_query *query, uint64_t number)
{
    (void)query;
    (void)number;
    return true;
}

void rowsets_wake(struct iso_rowsets *engine, uint32_t unknown)
{
    if (engine->held_count)
        settle_held(engine, watches, unknown, engine->ended);
}

static void settle_final(struct iso_rowsets *engine)
{
    while (engine->queue.count && is_final(engine, engine->queue.items[0].key)) {
        struct rowsets_query *query = (struct rowsets_query *)(uintptr_t)iso_heap_pop(&engine->queue).value;
        count_open(engine, query, -1);
        settle(engine, query, engine->ended);
    }
}

void iso_rowsets_watermark(struct iso_rowsets *engine, uint64_t timestamp)
{
    uint64_t retention = engine->options.retention;
    if (engine->has_watermark && timestamp <= engine->watermark)
        return;
    engine->watermark = timestamp;
    engine->has_watermark = true;
    settle_final(engine);
    if (retention >= timestamp)
        return;
    if (engine->held_count)
        settle_held(engine, is_below, timestamp - retention, true);
    engine->floor = timestamp - retention;
    rowsets_forget_dead(engine);
    rowsets_collect(engine);
}

void iso_rowsets_end(struct iso_rowsets *engine)
{
    engine->ended = true;
    settle_final(engine);
    if (engine->held_count)
        settle_held(engine, is_any, 0, true);
}
