/* The engine's entrance: batches, watermarks, deadlines, and what may be forgotten. */
#include "aion/levels/deferred.h"

#include <assert.h>

#include "base/memory.h"
#include "history/copy.h"
#include "spill/spill.h"

enum { FETCH_AHEAD = 8 };

/* Transactions whose keys are looked up together: one shard's still stand in the cache when their
 * batch is judged. */
enum { FIND_AHEAD = 128, FIND_AHEAD_PARALLEL = 1024 };

/* Number of a block's keys that stay in the second level cache. */
enum { KEYS_IN_CACHE = 1 << 14 };

void iso_aion_options_init(struct iso_aion_options *options)
{
    *options = (struct iso_aion_options){.session_order = true,
                                         .shards = 1,
                                         .finality_timeout_ms = 5000,
                                         .retention = ISO_AION_FOREVER};
}

bool iso_aion_holds(enum iso_level level)
{
    return level == ISO_RC || level == ISO_STALE_READS || iso_aion_is_about_sessions(level);
}

bool iso_aion_is_about_sessions(enum iso_level level)
{
    return level == ISO_RYW || level == ISO_MR;
}

bool iso_aion_needs_no_start(enum iso_level level)
{
    return iso_aion_holds(level) && level != ISO_STALE_READS;
}

/* Nothing waits beyond its deadline. */
static uint64_t wait_of(const struct iso_aion_options *options)
{
    uint64_t deadline = options->finality_timeout_ms;
    return deadline && deadline < options->settle_ms ? deadline : options->settle_ms;
}

struct iso_aion *iso_aion_new(const struct iso_aion_options *options)
{
    struct iso_aion *engine = iso_allocate_zeroed(1, sizeof *engine);
    assert(options->shards <= ISO_AION_SHARDS);
    assert(iso_level_judged_by(options->level, ISO_BY_AION));
    engine->options = *options;
    engine->options.overlaps |= options->level != ISO_SER && options->level != ISO_SI;
    engine->deferred.is_on = iso_aion_holds(options->level);
    engine->deferred.boundaries.is_on =
        options->host.has_snapshot_boundaries &&
        (engine->options.level == ISO_RC || engine->options.level == ISO_STALE_READS);
    engine->deferred.are_positions =
        options->host.are_positions || engine->deferred.boundaries.is_on;
    engine->options.host.has_snapshot_boundaries = engine->deferred.boundaries.is_on;
    options = &engine->options;
    engine->shards.count = options->shards ? options->shards : 1;
    engine->time.retention = options->retention;
    for (uint32_t s = 0; s < engine->shards.count; s++)
        engine->shards.list[s] = iso_aion_shard_new(options);
    aion_reorder_window_init(&engine->reorder.window, wait_of(options),
                             options->forced.settle_distance, options->host.settle_untimed);
    aion_pool_init(&engine->sessions.pool);
    aion_values_init(&engine->values);
    aion_values_init(&engine->sessions.names);
    iso_history_init(&engine->unknown.history);
    aion_key_cache_set(&engine->unknown.cache, &engine->unknown.history);
    iso_history_init(&engine->deferred.history);
    aion_key_cache_set(&engine->deferred.cache, &engine->deferred.history);
    aion_spill_open(engine);
    return engine;
}

void iso_aion_free(struct iso_aion *engine)
{
    if (!engine)
        return;
    for (uint32_t s = 0; s < engine->shards.count; s++) {
        iso_aion_shard_free(engine->shards.list[s]);
        aion_batch_release(&engine->shards.batch[s]);
        iso_free(engine->shards.wanted[s].list);
    }
    aion_unknown_release(engine);
    aion_holding_release(engine);
    aion_group_release(&engine->group);
    aion_reorder_front_release(&engine->reorder);
    aion_key_cache_release(&engine->cache);
    aion_dedup_release(&engine->dedup);
    aion_values_release(&engine->values);
    aion_pool_release(&engine->sessions.pool);
    aion_sessions_release(&engine->sessions);
    ISO_FREE_COLUMN(engine->sessions.members.list, engine->sessions.members.capacity);
    ISO_FREE_COLUMN(engine->sessions.members.free, engine->sessions.members.capacity);
    ISO_FREE_ALL(engine->accesses.list, engine->accesses.slots, engine->ties.list,
                 engine->time.arrivals.ring, engine);
}

void iso_aion_initial(struct iso_aion *engine, const struct iso_history *history)
{
    struct aion_key_cache cache = {0};
    for (uint32_t s = 0; s < engine->shards.count; s++)
        iso_aion_shard_initial(engine->shards.list[s], &history->atoms,
                               history->initial.other_value);
    aion_key_cache_set(&cache, history);
    for (uint32_t i = 0; i < history->initial.count; i++) {
        struct aion_cached_key *key = aion_cached_key(engine, &cache, history->initial.key[i]);
        struct iso_aion_shard *shard = engine->shards.list[key->shard];
        bool append = history->initial.is_append[i];
        iso_aion_shard_set_use(shard, key->number - 1, append ? ISO_KEY_LIST : ISO_KEY_SCALAR);
        iso_aion_shard_initial_key(shard, key->number - 1, &history->atoms,
                                   history->initial.value[i], append);
    }
    aion_key_cache_release(&cache);
}

void iso_aion_set_initial(struct iso_aion *engine, uint32_t key, iso_atom value, uint64_t now)
{
    engine->time.now = now > engine->time.now ? now : engine->time.now;
    struct aion_cached_key *entry = aion_cached_key(engine, &engine->cache, key);
    if (engine->budget.failure.status != ISO_OK)
        return;
    iso_aion_shard_set_initial(engine->shards.list[entry->shard], entry->number - 1,
                               &engine->cache.history->atoms, value);
    aion_deliver(engine);
}

void iso_aion_block(struct iso_aion *engine, const struct iso_history *history)
{
    assert(history->finished || history->clock != ISO_CLOCK_PAIR);
    aion_key_cache_set(&engine->cache, history);
}

/* ---- the shards, all at once ---- */

static void do_task(void *argument, uint32_t number)
{
    const struct aion_task *task = argument;
    struct iso_aion *engine = task->engine;
    struct iso_aion_shard *shard = engine->shards.list[number];
    struct aion_batch *batch = &engine->shards.batch[number];
    switch (task->what) {
    case AION_FIND:
        iso_aion_shard_keys(shard, &engine->cache.history->atoms,
                            engine->shards.wanted[number].list,
                            engine->shards.wanted[number].count);
        break;
    case AION_APPLY:
        iso_aion_shard_apply(shard,
                             (struct aion_march){.batch = batch, .count = batch->part_count});
        aion_batch_clear(batch);
        break;
    case AION_KEEP:
        iso_aion_shard_keep(shard, batch);
        aion_batch_clear(batch);
        break;
    case AION_GO:
        iso_aion_shard_release(shard, task->until, task->start, engine->time.now);
        break;
    case AION_ADVANCE:
        iso_aion_shard_release(shard, task->until, task->start, engine->time.now);
        iso_aion_shard_advance(shard, engine->time.limit, engine->time.passed, engine->time.floor,
                               engine->time.now);
        break;
    case AION_TICK:
        iso_aion_shard_tick(shard, engine->time.now);
        break;
    case AION_END:
        iso_aion_shard_end(shard, engine->time.now);
        break;
    case AION_SWEEP:
        iso_aion_shard_sweep(shard);
        break;
    case AION_EVICT:
        iso_aion_shard_evict(shard, task->bytes);
        break;
    }
    if (task->emit)
        iso_aion_shard_emit(shard);
}

void aion_run_task(struct iso_aion *engine, struct aion_task task)
{
    task.engine = engine;
    if (engine->options.host.run_shards && engine->shards.count > 1)
        engine->options.host.run_shards(engine->options.host.runner, do_task, &task,
                                        engine->shards.count);
    else
        for (uint32_t s = 0; s < engine->shards.count; s++)
            do_task(&task, s);
    aion_deliver(engine);
}

/* Looks up the keys of the next transactions: most of the work of a key is to find it, or to bring
 * it back from the spill file. */
static void find_keys(struct iso_aion *engine, uint32_t first, uint32_t end)
{
    uint32_t most = engine->shards.count > 1 ? FIND_AHEAD_PARALLEL : FIND_AHEAD;
    end = end - first < most ? end : first + most;
    aion_key_cache_want(engine, &engine->cache, first, end);
    aion_run_task(engine, (struct aion_task){.what = AION_FIND});
    aion_key_cache_take(engine, &engine->cache);
}

void aion_let_go(struct iso_aion *engine, uint64_t until, bool emit)
{
    aion_reorder_go(engine, until, 0);
    aion_run_task(engine, (struct aion_task){.what = AION_GO, .emit = emit, .until = until});
}

/* ---- adding ---- */

ISO_FETCH fetch_ahead(struct iso_aion *engine, uint32_t t, uint32_t end)
{
    const struct iso_history *history = engine->cache.history;
    if (t >= end)
        return;
    aion_dedup_fetch(&engine->dedup, aion_tid_digest(history, t));
    if (engine->cache.key_count <= KEYS_IN_CACHE)
        return;
    ISO_EACH(o, history->txns.first_op, t) {
        if (history->ops.key[o] < engine->cache.key_count)
            __builtin_prefetch(&engine->cache.keys[history->ops.key[o]]);
    }
}

static void note_arrival(struct iso_aion *engine, uint64_t now, uint64_t cts)
{
    struct aion_arrivals *arrivals = &engine->time.arrivals;
    if (arrivals->count) {
        struct aion_arrival *last =
            &arrivals->ring[(arrivals->first + arrivals->count - 1) % arrivals->capacity];
        if (last->arrival == now) {
            last->cts = cts > last->cts ? cts : last->cts;
            return;
        }
    }
    if (arrivals->count == arrivals->capacity) {
        uint32_t capacity = arrivals->capacity ? arrivals->capacity * 2 : 64;
        struct aion_arrival *ring = iso_allocate(capacity * sizeof *ring);
        for (uint32_t i = 0; i < arrivals->count; i++)
            ring[i] = arrivals->ring[(arrivals->first + i) % arrivals->capacity];
        iso_free(arrivals->ring);
        *arrivals = (struct aion_arrivals){ring, 0, arrivals->count, capacity};
    }
    arrivals->ring[(arrivals->first + arrivals->count++) % arrivals->capacity] =
        (struct aion_arrival){now, cts};
}

enum iso_status iso_aion_add(struct iso_aion *engine, uint32_t first, uint32_t count, uint64_t now,
                             uint32_t *taken, struct iso_error *error)
{
    const struct iso_history *history = engine->cache.history;
    uint32_t t = first, end = first + count;
    struct aion_accepted accepted;
    enum iso_status status = ISO_OK;
    assert(end <= history->txns.count);
    if (taken)
        *taken = 0;
    engine->dedup.contradicted = UINT64_MAX;
    engine->group.misused = ISO_NONE;
    if (engine->budget.failure.status != ISO_OK)
        return iso_error_set(error, ISO_FAILED, "%s", engine->budget.failure.text);
    engine->time.now = now > engine->time.now ? now : engine->time.now;
    aion_reorder_window_begin(&engine->reorder.window, engine->time.now);
    for (uint32_t ahead = first; ahead < first + FETCH_AHEAD; ahead++)
        fetch_ahead(engine, ahead, end);
    for (; t < end; t++) {
        fetch_ahead(engine, t + FETCH_AHEAD, end);
        if (t >= engine->cache.ready)
            find_keys(engine, t, end);
        status = aion_accept(engine, &engine->cache, t, false, &accepted, error);
        if (status != ISO_OK)
            break;
        if (engine->options.finality_timeout_ms && iso_status_of(history, t) == ISO_COMMITTED)
            note_arrival(engine, engine->time.now, history->txns.cts[t]);
        if (accepted.transaction != ISO_NONE)
            aion_group_add(engine, &accepted);
    }
    aion_group_end(engine, true);
    aion_fit_now_and_then(engine);
    aion_engine_validate(engine);
    if (taken)
        *taken = t - first;
    if (engine->budget.failure.status != ISO_OK)
        return iso_error_set(error, ISO_FAILED, "%s", engine->budget.failure.text);
    return status;
}

uint64_t iso_aion_contradicted(const struct iso_aion *engine)
{
    return engine->dedup.contradicted;
}

uint32_t iso_aion_misused(const struct iso_aion *engine)
{
    return engine->group.misused;
}

const struct iso_error *iso_aion_failure(const struct iso_aion *engine)
{
    return &engine->budget.failure;
}

/* ---- time ---- */

static uint64_t less(uint64_t left, uint64_t right)
{
    return left > right ? left - right : 0;
}

/* Keeps what the retention says below where watermark and deadlines have come. */
uint64_t aion_set_floor(struct iso_aion *engine)
{
    uint64_t reached =
        engine->time.limit > engine->time.expired ? engine->time.limit : engine->time.expired;
    uint64_t floor = less(reached, engine->time.retention),
             passed = less(engine->time.expired, engine->time.retention);
    passed = passed > engine->time.limit ? passed : engine->time.limit;
    engine->time.passed = passed > engine->time.passed ? passed : engine->time.passed;
    return engine->time.floor = floor > engine->time.floor ? floor : engine->time.floor;
}

uint64_t aion_bytes(const struct iso_aion *engine)
{
    uint64_t bytes =
        engine->sessions.pool.in_use + aion_values_bytes(&engine->values) +
        (uint64_t)(engine->sessions.members.count - engine->sessions.members.free_count) *
            sizeof *engine->sessions.members.list +
        aion_sessions_bytes(&engine->sessions) + iso_history_size(&engine->unknown.history) +
        engine->unknown.capacity * sizeof *engine->unknown.list +
        (engine->dedup.slots ? (engine->dedup.mask + 1) * sizeof *engine->dedup.slots : 0);
    for (uint32_t s = 0; s < engine->shards.count; s++)
        bytes += iso_aion_shard_bytes(engine->shards.list[s]);
    bytes += aion_deferred_bytes(engine);
    if (engine->options.spill &&
        engine->budget.limit) /* from the start: room must be left for them */
        bytes += (uint64_t)engine->shards.count * ISO_SPILL_BUFFERS;
    return bytes;
}

/* Moves the floor to where the limit stands now, and forgets transactions that started at or
 * below `start`. */
static void pass_limit(struct iso_aion *engine, uint64_t start)
{
    struct aion_task task = {AION_ADVANCE, .start = start};
    if (engine->time.limit)
        task.until = engine->time.limit - 1;
    task.start = task.until > start ? task.until : start;
    aion_reorder_go(engine, task.until, task.start);
    aion_run_task(engine, task);
    if (aion_holds(engine)) {
        aion_deferred_advance(engine);
        aion_run_task(engine, task); /* what it found becomes final */
    }
    aion_ties_resolve(engine);
}

void aion_trim_all(struct iso_aion *engine)
{
    pass_limit(engine, 0);
    aion_run_task(engine, (struct aion_task){.what = AION_SWEEP});
    aion_sessions_trim(engine);
    aion_unknown_trim(engine, engine->time.floor);
    if (engine->dedup.slots)
        aion_dedup_rebuild(&engine->dedup, engine->time.floor);
}

/* Where time went on: what the retention no longer keeps, and what memory has no room for. */
static void sweep(struct iso_aion *engine)
{
    aion_sessions_sweep(engine);
    aion_unknown_sweep(engine);
    aion_spill(engine);
    aion_fit(engine);
}

void iso_aion_watermark(struct iso_aion *engine, uint64_t timestamp, uint64_t now)
{
    engine->time.now = now > engine->time.now ? now : engine->time.now;
    engine->time.promised = aion_above(timestamp) > engine->time.promised ? aion_above(timestamp)
                                                                          : engine->time.promised;
    if (timestamp < engine->time.limit)
        return;
    engine->time.limit = aion_above(timestamp);
    pass_limit(engine, aion_set_floor(engine));
    sweep(engine);
    aion_engine_validate(engine);
}

void iso_aion_tick(struct iso_aion *engine, uint64_t now)
{
    struct aion_arrivals *arrivals = &engine->time.arrivals;
    engine->time.now = now > engine->time.now ? now : engine->time.now;
    if (aion_reorder_queue_count(&engine->reorder.queue))
        aion_let_go(engine, aion_reorder_window_until(&engine->reorder.window, engine->time.now),
                    true);
    aion_run_task(engine, (struct aion_task){.what = AION_TICK});
    bool expired = false;
    while (arrivals->count && less(engine->time.now, arrivals->ring[arrivals->first].arrival) >=
                                  engine->options.finality_timeout_ms) {
        uint64_t cts = arrivals->ring[arrivals->first].cts;
        arrivals->first = (arrivals->first + 1) % arrivals->capacity;
        arrivals->count--;
        expired |= cts > engine->time.expired;
        engine->time.expired = cts > engine->time.expired ? cts : engine->time.expired;
    }
    if (expired) {
        pass_limit(engine, aion_set_floor(engine));
        sweep(engine);
    }
    aion_engine_validate(engine);
}

void iso_aion_end(struct iso_aion *engine, uint64_t now)
{
    engine->time.now = now > engine->time.now ? now : engine->time.now;
    engine->time.limit = engine->time.passed = engine->time.promised = UINT64_MAX;
    aion_reorder_go(engine, UINT64_MAX, UINT64_MAX);
    if (aion_holds(engine)) {
        aion_run_task(engine, (struct aion_task){
                                  .what = AION_ADVANCE, .until = UINT64_MAX, .start = UINT64_MAX});
        aion_deferred_end(engine);
    }
    aion_run_task(engine, (struct aion_task){.what = AION_END});
    aion_ties_resolve(engine);
    aion_engine_validate(engine);
}

/* ---- looking in ---- */

void iso_aion_count_waiting(const struct iso_aion *engine, struct iso_aion_waiting *waiting)
{
    uint64_t expired = engine->time.expired ? aion_above(engine->time.expired) : 0;
    uint64_t visible_below = engine->time.limit > expired ? engine->time.limit : expired;
    *waiting =
        (struct iso_aion_waiting){.transactions = aion_reorder_queue_count(&engine->reorder.queue),
                                  .read.since = UINT64_MAX,
                                  .outcome.since = UINT64_MAX,
                                  .initial.since = UINT64_MAX,
                                  .overtaken.since = UINT64_MAX,
                                  .now = engine->time.now};
    for (uint32_t s = 0; s < engine->shards.count; s++)
        iso_aion_shard_count_waiting(engine->shards.list[s], visible_below, waiting);
}

void iso_aion_stats(const struct iso_aion *engine, struct iso_aion_stats *stats)
{
    *stats = engine->stats;
    stats->sessions = engine->sessions.different;
    stats->open_unknown = engine->unknown.open;
    stats->waiting = aion_reorder_queue_count(&engine->reorder.queue);
    stats->waiting_from =
        stats->waiting ? engine->reorder.queue.turns[engine->reorder.queue.first].time : UINT64_MAX;
    for (uint32_t s = 0; s < engine->shards.count; s++)
        iso_aion_shard_stats(engine->shards.list[s], stats);
    stats->bytes = aion_bytes(engine);
}
