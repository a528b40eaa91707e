/* Queries that wait: for the watermark, by their moments; or for a transaction of unknown outcome.
 *
 *     arrives -> queue (by moment) and `fresh` (by arrival)
 *         its deadline passes -> judged, `provisional`; once more whenever something came to its
 *           table late
 *         the watermark passes its moment, or the floor does -> judged for good, unless it is
 *           `held` for an outcome
 */
#include <assert.h>
#include <stdlib.h>

#include "rowsets/rowsets_private.h"

void rowsets_free_query(struct rowsets_query *query)
{
    if (!query)
        return; /* of an archive that ended too early */
    ISO_FREE_ALL(query->rows, query->owns, query->emitted, query);
}

uint64_t rowsets_query_bytes(const struct rowsets_query *query)
{
    return sizeof *query + query->row_count * sizeof *query->rows +
           query->own_count * sizeof *query->owns;
}

/* It waits, or does no more. */
static void count_open(struct iso_rowsets *engine, const struct rowsets_query *query, int by)
{
    assert(by > 0 || engine->waiting.query_bytes >= rowsets_query_bytes(query));
    engine->waiting.query_bytes += (uint64_t)(int64_t)by * rowsets_query_bytes(query);
    engine->waiting.open_ranges += (uint64_t)(int64_t)by * query->is_range;
}

/* ---- lists ---- */

static void append(struct rowsets_list *list, struct rowsets_query *query)
{
    query->turn.previous = list->last;
    query->turn.next = NULL;
    *(list->last ? &list->last->turn.next : &list->first) = query;
    list->last = query;
}

static void take_out(struct rowsets_list *list, struct rowsets_query *query)
{
    *(query->turn.previous ? &query->turn.previous->turn.next : &list->first) = query->turn.next;
    *(query->turn.next ? &query->turn.next->turn.previous : &list->last) = query->turn.previous;
    query->turn.previous = query->turn.next = NULL;
}

static struct rowsets_list *list_of(struct iso_rowsets *engine, const struct rowsets_query *query)
{
    return query->turn.is_provisional ? &engine->waiting.provisional : &engine->waiting.fresh;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct rowsets_query *one = *(struct rowsets_query *const *)left;
    const struct rowsets_query *other = *(struct rowsets_query *const *)right;
    return (one->turn.number > other->turn.number) - (one->turn.number < other->turn.number);
}

void rowsets_link_all(struct iso_rowsets *engine)
{
    uint32_t count = engine->waiting.queue.count;
    struct rowsets_query **queries = iso_allocate(((size_t)count + 1) * sizeof *queries);
    for (uint32_t i = 0; i < count; i++)
        queries[i] = (struct rowsets_query *)(uintptr_t)engine->waiting.queue.items[i].value;
    qsort(queries, count, sizeof(struct rowsets_query *), compare_numbers);
    engine->waiting.fresh = engine->waiting.provisional = (struct rowsets_list){NULL, NULL};
    for (uint32_t i = 0; i < count; i++)
        append(list_of(engine, queries[i]), queries[i]);
    iso_free(queries);
}

/* ---- judging ---- */

static void hold(struct iso_rowsets *engine, struct rowsets_query *query)
{
    assert(query->watched < engine->outcomes.unknown_count);
    ISO_PUSH(engine->waiting.held, engine->waiting.held_count, engine->waiting.held_capacity,
             query);
}

/* Judges it, and keeps it if it has to wait on. */
static void finalize(struct iso_rowsets *engine, struct rowsets_query *query, bool is_last)
{
    enum { MANY = 16 };
    if (!(query->turn.number % MANY))
        iso_columns_refit();
    query->watched = rowsets_judge(engine, query, is_last ? ROWSETS_LAST : ROWSETS_FINAL);
    if (query->watched == ISO_NONE) {
        rowsets_free_query(query);
        return;
    }
    count_open(engine, query, 1);
    hold(engine, query);
}

/* Bounds up to this one are final. */
static uint64_t final_below(const struct iso_rowsets *engine)
{
    if (engine->time.ended || engine->time.watermark == UINT64_MAX)
        return UINT64_MAX;
    return engine->time.has_watermark ? engine->time.watermark + 1 : 0;
}

/* From which bound on nothing changes it any more: at ser a range also meets who commits at its own
 * timestamp. */
static uint64_t due_of(const struct iso_rowsets *engine, const struct rowsets_query *query)
{
    bool meets = query->is_range && engine->options.level == ISO_SER && !query->is_point;
    return query->bound + (meets && query->bound < UINT64_MAX);
}

static void keep_waiting(struct iso_rowsets *engine, struct rowsets_query *query)
{
    count_open(engine, query, 1);
    append(list_of(engine, query), query);
    iso_heap_push(&engine->waiting.queue, due_of(engine, query), (uint64_t)(uintptr_t)query);
}

void rowsets_enqueue(struct iso_rowsets *engine, struct rowsets_query *query)
{
    assert(query->table_number < engine->store.table_count);
    ISO_LOG(rowsets, &engine->atoms, query->tid, "query of operation %" PRIu32 ", below %" PRIu64,
            query->operation, query->bound);
    query->turn.arrived = engine->waiting.now;
    query->turn.number = engine->waiting.numbered++;
    if (due_of(engine, query) <= final_below(engine) ||
        engine->store.tables[query->table_number].is_given_up)
        finalize(engine, query, engine->time.ended);
    else
        keep_waiting(engine, query);
}

static struct rowsets_query *take_first(struct iso_rowsets *engine)
{
    assert(engine->waiting.queue.count);
    struct rowsets_query *query =
        (struct rowsets_query *)(uintptr_t)iso_heap_pop(&engine->waiting.queue).value;
    take_out(list_of(engine, query), query);
    count_open(engine, query, -1);
    return query;
}

/* ---- deadlines ---- */

static void judge_early(struct iso_rowsets *engine, struct rowsets_query *query)
{
    struct rowsets_table *table = &engine->store.tables[query->table_number];
    table->judged_below = query->bound > table->judged_below ? query->bound : table->judged_below;
    query->turn.seen = table->changes;
    rowsets_fetch_asked(engine, &query, 1);
    rowsets_judge(engine, query, ROWSETS_BY_DEADLINE);
}

void iso_rowsets_clock(struct iso_rowsets *engine, uint64_t now, uint64_t patience)
{
    engine->waiting.now = now > engine->waiting.now ? now : engine->waiting.now;
    if (!patience)
        return;
    for (struct rowsets_query *query = engine->waiting.provisional.first; query;
         query = query->turn.next)
        if (query->turn.seen != engine->store.tables[query->table_number].changes)
            judge_early(engine, query);
    while (engine->waiting.fresh.first &&
           engine->waiting.now - engine->waiting.fresh.first->turn.arrived >= patience) {
        struct rowsets_query *query = engine->waiting.fresh.first;
        take_out(&engine->waiting.fresh, query);
        query->turn.is_provisional = true;
        append(&engine->waiting.provisional, query);
        judge_early(engine, query);
    }
}

/* ---- what is held ---- */

/* Held queries for which `wants` is true, once more. */
static void finalize_held(struct iso_rowsets *engine,
                          bool (*wants)(const struct rowsets_query *query, uint64_t number),
                          uint64_t number, bool is_last)
{
    uint32_t count = engine->waiting.held_count;
    struct rowsets_query **held = engine->waiting.held;
    engine->waiting.held = NULL;
    engine->waiting.held_count = engine->waiting.held_capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!wants(held[i], number))
            continue;
        count_open(engine, held[i], -1);
        finalize(engine, held[i], is_last);
        held[i] = NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        if (held[i])
            hold(engine, held[i]);
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

static bool asks_table(const struct rowsets_query *query, uint64_t table)
{
    return query->table_number == table;
}

static bool is_any(const struct rowsets_query *query, uint64_t number)
{
    (void)query;
    (void)number;
    return true;
}

void rowsets_wake(struct iso_rowsets *engine, uint32_t unknown)
{
    assert(unknown < engine->outcomes.unknown_count);
    if (engine->waiting.held_count)
        finalize_held(engine, watches, unknown, engine->time.ended);
}

/* ---- what is final ---- */

enum { AT_ONCE = 32 };

/* Those that are due first and a few more, in the order in which they are due, and came: what else
 * waits has no say in it. */
static void finalize_first(struct iso_rowsets *engine, uint64_t limit, bool is_last)
{
    const struct iso_heap *queue = &engine->waiting.queue;
    struct rowsets_query **list = NULL;
    uint32_t count = 0, capacity = 0;
    while (queue->count && queue->items[0].key <= limit && count < AT_ONCE) {
        uint64_t due = queue->items[0].key;
        uint32_t first = count;
        while (queue->count && queue->items[0].key == due)
            ISO_PUSH(list, count, capacity, take_first(engine));
        if (count > first + 1)
            qsort(list + first, count - first, sizeof(struct rowsets_query *), compare_numbers);
    }
    rowsets_fetch_asked(engine, list, count);
    for (uint32_t i = 0; i < count; i++)
        finalize(engine, list[i], is_last);
    iso_free(list);
}

static void finalize_up_to(struct iso_rowsets *engine, uint64_t limit, bool is_last)
{
    while (engine->waiting.queue.count && engine->waiting.queue.items[0].key <= limit)
        finalize_first(engine, limit, is_last);
}

static void finalize_due(struct iso_rowsets *engine)
{
    finalize_up_to(engine, final_below(engine), engine->time.ended);
}

/* Nothing that is still to come can be seen there. */
void rowsets_conclude_below(struct iso_rowsets *engine, uint64_t floor)
{
    finalize_up_to(engine, floor, true);
    if (engine->waiting.held_count)
        finalize_held(engine, is_below, floor, true);
}

void rowsets_conclude_table(struct iso_rowsets *engine, uint32_t table)
{
    assert(table < engine->store.table_count);
    uint32_t count = engine->waiting.queue.count;
    struct rowsets_query **all = iso_allocate(((size_t)count + 1) * sizeof *all);
    for (uint32_t i = 0; i < count; i++)
        all[i] = take_first(engine);
    for (uint32_t i = 0; i < count; i++)
        if (all[i]->table_number != table)
            keep_waiting(engine, all[i]);
    rowsets_link_all(engine); /* in the order in which they arrived */
    for (uint32_t i = 0; i < count; i++)
        if (all[i]->table_number == table)
            finalize(engine, all[i], true);
    iso_free(all);
    if (engine->waiting.held_count)
        finalize_held(engine, asks_table, table, true);
}

void iso_rowsets_watermark(struct iso_rowsets *engine, uint64_t timestamp)
{
    uint64_t retention = engine->options.retention;
    if (engine->time.has_watermark && timestamp <= engine->time.watermark)
        return;
    engine->time.watermark = timestamp;
    engine->time.has_watermark = true;
    finalize_due(engine);
    if (retention < timestamp)
        iso_rowsets_forget(engine, timestamp - retention);
}

void iso_rowsets_end(struct iso_rowsets *engine)
{
    engine->time.ended = true;
    finalize_due(engine);
    if (engine->waiting.held_count)
        finalize_held(engine, is_any, 0, true);
    assert(!engine->waiting.queue.count && !engine->waiting.held_count);
}
