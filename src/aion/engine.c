/* The engine's entrance: batches, watermarks, deadlines, and what may be forgotten. */
#include "aion/engine_private.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "history/index.h"
#include "spill/spill.h"

enum { FETCH_AHEAD = 8, FETCH_STRIDE = 2 };

/* Transactions whose keys are looked up together: one shard's still stand in the cache when their batch is judged. */
enum { FIND_AHEAD = 128, FIND_AHEAD_PARALLEL = 1024 };

/* So many keys of a block stay in the second level cache. */
enum { KEYS_IN_CACHE = 1 << 14 };

void iso_aion_options_init(struct iso_aion_options *options)
{
    *options = (struct iso_aion_options){
        .session_order = true, .shards = 1, .finality_timeout_ms = 5000, .retention = ISO_AION_FOREVER};
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
    struct aion_shard_options shard = {options->level, options->finality_timeout_ms};
    assert(options->shards <= ISO_AION_SHARDS);
    engine->options = *options;
    engine->shards = options->shards ? options->shards : 1;
    engine->retention = options->retention;
    for (uint32_t s = 0; s < engine->shards; s++)
        engine->shard[s] = iso_aion_shard_new(&shard);
    aion_settle_init(&engine->settle, wait_of(options), options->settle_distance, options->settle_untimed);
    aion_pool_init(&engine->pool);
    aion_values_init(&engine->values);
    iso_atoms_init(&engine->session_atoms);
    engine->session_index = iso_atom_index_new();
    iso_history_init(&engine->held_history);
    aion_block_set(&engine->held, &engine->held_history);
    aion_spill_open(engine);
    return engine;
}

void iso_aion_free(struct iso_aion *engine)
{
    if (!engine)
        return;
    for (uint32_t s = 0; s < engine->shards; s++) {
        iso_aion_shard_free(engine->shard[s]);
        aion_batch_release(&engine->batch[s]);
        iso_free(engine->wanted[s].list);
    }
    aion_held_release(engine);
    aion_group_release(&engine->group);
    aion_apart_release(&engine->apart);
    aion_block_release(&engine->block);
    aion_seen_release(&engine->seen);
    aion_values_release(&engine->values);
    aion_pool_release(&engine->pool);
    iso_atoms_release(&engine->session_atoms);
    iso_atom_index_free(engine->session_index);
    iso_column_free(engine->sessions, engine->session_capacity * sizeof *engine->sessions);
    iso_column_free(engine->members, engine->member_capacity * sizeof *engine->members);
    iso_column_free(engine->free_members, engine->member_capacity * sizeof *engine->free_members);
    iso_free(engine->touches);
    iso_free(engine->touch_slots);
    iso_free(engine->ties);
    iso_free(engine->arrivals.ring);
    iso_free(engine);
}

void iso_aion_initial(struct iso_aion *engine, const struct iso_history *history)
{
    struct aion_block block = {0};
    for (uint32_t s = 0; s < engine->shards; s++)
        iso_aion_shard_initial(engine->shard[s], &history->atoms, history->initial_value);
    aion_block_set(&block, history);
    for (uint32_t i = 0; i < history->initial_count; i++) {
        struct aion_block_key *key = aion_block_key(engine, &block, history->initial_key[i]);
        struct iso_aion_shard *shard = engine->shard[key->shard];
        bool append = history->initial_is_append[i];
        iso_aion_shard_set_use(shard, key->number - 1, append ? ISO_KEY_LIST : ISO_KEY_SCALAR);
        iso_aion_shard_initial_key(shard, key->number - 1, &history->atoms, history->initial_of_key[i], append);
    }
    aion_block_release(&block);
}

void iso_aion_block(struct iso_aion *engine, const struct iso_history *history)
{
    assert(history->finished || history->clock != ISO_CLOCK_PAIR);
    aion_block_set(&engine->block, history);
}

/* ---- the shards, all at once ---- */

struct task {
    struct iso_aion *engine;
    enum { FIND, APPLY, KEEP, GO, ADVANCE, TICK, END, SWEEP, EVICT } what;
    bool tell;
    uint64_t until, start; /* GO, ADVANCE */
    uint64_t bytes;        /* EVICT */
};

static void do_task(void *argument, uint32_t number)
{
    const struct task *task = argument;
    struct iso_aion *engine = task->engine;
    struct iso_aion_shard *shard = engine->shard[number];
    switch (task->what) {
    case FIND:
        iso_aion_shard_keys(shard, &engine->block.history->atoms, engine->wanted[number].list,
                            engine->wanted[number].count);
        break;
    case APPLY:
        iso_aion_shard_apply(shard, &engine->batch[number]);
        break;
    case KEEP:
        iso_aion_shard_keep(shard, &engine->batch[number]);
        break;
    case GO:
        iso_aion_shard_release(shard, task->until, task->start, engine->now);
        break;
    case ADVANCE:
        iso_aion_shard_release(shard, task->until, task->start, engine->now);
        iso_aion_shard_advance(shard, engine->limit, engine->passed, engine->floor, engine->now);
        break;
    case TICK:
        iso_aion_shard_tick(shard, engine->now);
        break;
    case END:
        iso_aion_shard_end(shard, engine->now);
        break;
    case SWEEP:
        iso_aion_shard_sweep(shard);
        break;
    case EVICT:
        iso_aion_shard_evict(shard, task->bytes);
        break;
    }
    if (task->tell)
        iso_aion_shard_tell(shard);
}

static void run_task(struct iso_aion *engine, struct task task)
{
    task.engine = engine;
    if (engine->options.run)
        engine->options.run(engine->options.runner, do_task, &task, engine->shards);
    else
        for (uint32_t s = 0; s < engine->shards; s++)
            do_task(&task, s);
    aion_deliver(engine);
}

static void run(struct iso_aion *engine, int what)
{
    run_task(engine, (struct task){.what = what});
}

/* Looks up the keys of the next transactions. Where there is a store, most of the work of a key is to bring it back. */
static void find_keys(struct iso_aion *engine, uint32_t first, uint32_t end)
{
    uint32_t most = engine->shards > 1 ? FIND_AHEAD_PARALLEL : FIND_AHEAD;
    end = end - first < most ? end : first + most;
    aion_block_want_keys(engine, &engine->block, first, end);
    run(engine, FIND);
    aion_block_take_keys(engine, &engine->block);
}

static void clear_batches(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->shards; s++)
        aion_batch_clear(&engine->batch[s]);
}

void aion_run_batches(struct iso_aion *engine, bool tell)
{
    run_task(engine, (struct task){.what = APPLY, .tell = tell});
    clear_batches(engine);
}

void aion_keep_batches(struct iso_aion *engine)
{
    run(engine, KEEP);
    clear_batches(engine);
}

void aion_let_go(struct iso_aion *engine, uint64_t until, bool tell)
{
    aion_apart_go(engine, until, 0);
    run_task(engine, (struct task){.what = GO, .tell = tell, .until = until});
}

void aion_evict_all(struct iso_aion *engine, uint64_t bytes)
{
    run_task(engine, (struct task){.what = EVICT, .bytes = bytes});
}

/* ---- adding ---- */

ISO_FETCH fetch_ahead(struct iso_aion *engine, uint32_t t, uint32_t end)
{
    const struct iso_history *history = engine->block.history;
    if (t >= end)
        return;
    aion_seen_fetch(&engine->seen, aion_tid_digest(history, t));
    if (engine->block.key_count <= KEYS_IN_CACHE)
        return;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if (history->key[o] < engine->block.key_count)
            __builtin_prefetch(&engine->block.keys[history->key[o]]);
    }
}

/* The keys of transactions to come that are not known by number yet, one step of the way after the other. */
static void fetch_keys_ahead(struct iso_aion *engine, uint32_t t, uint32_t end)
{
    struct aion_block *block = &engine->block;
    for (int what = 0; what < AION_FETCHES && block->found < block->history->key_count; what++) {
        uint32_t ahead = t + (uint32_t)((AION_FETCHES - what) * FETCH_STRIDE);
        if (ahead < end)
            aion_block_fetch_keys(engine, block, ahead, (enum aion_fetch)what);
    }
}

static void note_arrival(struct iso_aion *engine, uint64_t now, uint64_t cts)
{
    struct aion_arrivals *arrivals = &engine->arrivals;
    if (arrivals->count) {
        struct aion_arrival *last = &arrivals->ring[(arrivals->first + arrivals->count - 1) % arrivals->capacity];
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
    arrivals->ring[(arrivals->first + arrivals->count++) % arrivals->capacity] = (struct aion_arrival){now, cts};
}

enum iso_status iso_aion_add(struct iso_aion *engine, uint32_t first, uint32_t count, uint64_t now, uint32_t *taken,
                             struct iso_error *error)
{
    const struct iso_history *history = engine->block.history;
    uint32_t t = first, end = first + count;
    struct aion_accepted accepted;
    enum iso_status status = ISO_OK;
    assert(end <= history->transaction_count);
    if (taken)
        *taken = 0;
    if (engine->budget.failure.status != ISO_OK)
        return iso_error_set(error, ISO_FAILED, "%s", engine->budget.failure.text);
    engine->now = now > engine->now ? now : engine->now;
    aion_settle_begin(&engine->settle, engine->now);
    for (uint32_t ahead = first; ahead < first + FETCH_AHEAD; ahead++)
        fetch_ahead(engine, ahead, end);
    for (; t < end; t++) {
        fetch_ahead(engine, t + FETCH_AHEAD, end);
        if (engine->options.spill && t >= engine->block.ready)
            find_keys(engine, t, end);
        else if (!engine->options.spill)
            fetch_keys_ahead(engine, t, end);
        status = aion_accept(engine, &engine->block, t, false, &accepted, error);
        if (status != ISO_OK)
            break;
        if (engine->options.finality_timeout_ms && iso_status_of(history, t) == ISO_COMMITTED)
            note_arrival(engine, engine->now, history->cts[t]);
        if (accepted.transaction != ISO_NONE)
            aion_group_add(engine, &accepted);
    }
    aion_group_end(engine);
    if (taken)
        *taken = t - first;
    if (engine->budget.failure.status != ISO_OK)
        return iso_error_set(error, ISO_FAILED, "%s", engine->budget.failure.text);
    return status;
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
static void set_floor(struct iso_aion *engine)
{
    uint64_t reached = engine->limit > engine->settled ? engine->limit : engine->settled;
    uint64_t floor = less(reached, engine->retention), passed = less(engine->settled, engine->retention);
    passed = passed > engine->limit ? passed : engine->limit;
    engine->passed = passed > engine->passed ? passed : engine->passed;
    engine->floor = floor > engine->floor ? floor : engine->floor;
}

uint64_t aion_bytes(const struct iso_aion *engine)
{
    uint64_t bytes = engine->pool.in_use + aion_values_bytes(&engine->values) +
                     (uint64_t)(engine->member_count - engine->free_member_count) * sizeof *engine->members +
                     (uint64_t)engine->session_count * sizeof *engine->sessions +
                     (engine->seen.slots ? (engine->seen.mask + 1) * sizeof *engine->seen.slots : 0);
    for (uint32_t s = 0; s < engine->shards; s++)
        bytes += iso_aion_shard_bytes(engine->shard[s]);
    if (engine->options.spill && engine->budget.limit) /* from the start: room must be left for them */
        bytes += (uint64_t)engine->shards * ISO_SPILL_BUFFERS;
    return bytes;
}

/* Over the memory limit the retention halves, until what is left lies above the watermark. */
static void fit_memory(struct iso_aion *engine)
{
    uint64_t reached = engine->limit > engine->settled ? engine->limit : engine->settled;
    if (!engine->budget.limit)
        return;
    while (engine->floor < reached && aion_bytes(engine) > engine->budget.limit) {
        engine->retention = less(reached, engine->floor) / 2;
        set_floor(engine);
        run(engine, ADVANCE);
        run(engine, SWEEP);
        aion_sessions_trim(engine);
        if (engine->seen.slots)
            aion_seen_rebuild(&engine->seen, engine->floor);
    }
}

static void advance(struct iso_aion *engine)
{
    set_floor(engine);
    struct task task = {.what = ADVANCE};
    if (engine->limit)
        task.until = task.start = engine->limit - 1;
    task.start = engine->floor > task.start ? engine->floor : task.start;
    aion_apart_go(engine, task.until, task.start);
    run_task(engine, task);
    aion_ties_settle(engine);
    aion_spill(engine);
    fit_memory(engine);
}

void iso_aion_watermark(struct iso_aion *engine, uint64_t timestamp, uint64_t now)
{
    engine->now = now > engine->now ? now : engine->now;
    if (timestamp < engine->limit)
        return;
    engine->limit = timestamp == UINT64_MAX ? UINT64_MAX : timestamp + 1;
    advance(engine);
}

void iso_aion_tick(struct iso_aion *engine, uint64_t now)
{
    struct aion_arrivals *arrivals = &engine->arrivals;
    engine->now = now > engine->now ? now : engine->now;
    if (aion_queue_count(&engine->apart.queue))
        aion_let_go(engine, aion_settle_until(&engine->settle, engine->now), true);
    run(engine, TICK);
    bool settled = false;
    while (arrivals->count &&
           less(engine->now, arrivals->ring[arrivals->first].arrival) >= engine->options.finality_timeout_ms) {
        uint64_t cts = arrivals->ring[arrivals->first].cts;
        arrivals->first = (arrivals->first + 1) % arrivals->capacity;
        arrivals->count--;
        settled |= cts > engine->settled;
        engine->settled = cts > engine->settled ? cts : engine->settled;
    }
    if (settled)
        advance(engine);
}

void iso_aion_end(struct iso_aion *engine, uint64_t now)
{
    engine->now = now > engine->now ? now : engine->now;
    engine->limit = engine->passed = UINT64_MAX;
    aion_apart_go(engine, UINT64_MAX, UINT64_MAX);
    run(engine, END);
    aion_ties_settle(engine);
}

/* ---- looking in ---- */

void iso_aion_stats(const struct iso_aion *engine, struct iso_aion_stats *stats)
{
    *stats = engine->stats;
    stats->sessions = engine->session_count;
    stats->open_unknown = engine->held_open;
    stats->waiting = aion_queue_count(&engine->apart.queue);
    stats->waiting_from = stats->waiting ? engine->apart.queue.turns[engine->apart.queue.first].time : UINT64_MAX;
    for (uint32_t s = 0; s < engine->shards; s++)
        iso_aion_shard_stats(engine->shard[s], stats);
    stats->bytes = aion_bytes(engine);
}
