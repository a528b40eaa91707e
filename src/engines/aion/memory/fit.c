/* What goes where memory is short and the spill file does not help.
 *
 * First what lies below the watermark: the retention halves. Where that is used up, or there is no
 * watermark, what came long ago is closed as if there were one: `limit` moves up to the middle of
 * what has come lately, in steps of half of the way. What is still to come from below is then not
 * taken, and counted (`beyond_retention`); what becomes final by it is reported as such
 * (`unpromised`), since no sender has promised that nothing else will come. What has no time at
 * all, transactions of unknown outcome that do not say when they started, goes in the end.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aion/state_private.h"
#include "base/order.h"
#include "spill/spill.h"

/* LOOK: transactions between two looks; STEPS: at most so many at one time; SHARE: of the limit,
 * for the engine whatever there is beside it; FREE: of the limit, for what comes between two looks;
 * KEYS: of the limit, for keys; BESIDE: what else may have so much of it also where the process is
 * full. */
enum { TRANSACTIONS_A_LOOK = 1024, STEPS = 70, SHARE = 3, FREE = 10, KEYS = 8, BESIDE = 4 };

static uint64_t less(uint64_t left, uint64_t right)
{
    return left > right ? left - right : 0;
}

static uint64_t dedup_bytes(const struct iso_aion *engine)
{
    return engine->dedup.slots ? (engine->dedup.mask + 1) * sizeof *engine->dedup.slots : 0;
}

/* The process's memory beside the engine. The most that the engine ever had counts as kept, but for
 * the table of tids, which goes back to the system. */
static void measure_process(struct iso_aion *engine)
{
    struct aion_budget *budget = &engine->budget;
    uint64_t dedup = dedup_bytes(engine), kept = aion_bytes(engine) - dedup;
    budget->kept = kept > budget->kept ? kept : budget->kept;
    if (engine->options.host.memory_in_use)
        budget->beside = less(engine->options.host.memory_in_use(), budget->kept + dedup);
}

/* Bytes that go where the floor rises: all but the spill file's own. */
static uint64_t own_bytes(const struct iso_aion *engine)
{
    return less(aion_bytes(engine),
                engine->options.spill ? (uint64_t)engine->shards.count * ISO_SPILL_BUFFERS : 0);
}

/* Bytes of the engine that do not go to the spill file. */
static uint64_t bytes_beside_keys(const struct iso_aion *engine)
{
    uint64_t with_keys = 0, bytes = own_bytes(engine);
    for (uint32_t s = 0; s < engine->shards.count; s++)
        with_keys += iso_aion_shard_key_bytes(engine->shards.list[s]);
    if (engine->dedup.used + 2 * TRANSACTIONS_A_LOOK >=
        engine->dedup.mask / 4 * 3) /* a larger one stands beside it then */
        bytes += 2 * dedup_bytes(engine);
    return less(bytes, with_keys);
}

/* The engine's, and what stands beside it. */
static uint64_t all_bytes(const struct iso_aion *engine)
{
    uint64_t beside = engine->options.host.bytes_beside
                          ? engine->options.host.bytes_beside(engine->options.host.context)
                          : 0;
    return aion_bytes(engine) + beside;
}

static bool is_over_limit(const struct iso_aion *engine)
{
    return engine->options.spill && all_bytes(engine) > engine->budget.limit;
}

/* Where there is a spill file it has had its turn: it found too little that could go, or the rest
 * is too much beside the part that keys have. */
static bool is_short(const struct iso_aion *engine)
{
    const struct aion_budget *budget = &engine->budget;
    uint64_t room = less(budget->limit, budget->beside + budget->limit / FREE),
             part = budget->limit / SHARE;
    room = room > part ? room : part;
    if (!engine->options.spill)
        return all_bytes(engine) > budget->limit;
    uint64_t beside = bytes_beside_keys(engine),
             process = budget->beside + budget->kept + dedup_bytes(engine);
    bool is_full =
        process > budget->limit - budget->limit / FREE && beside > budget->limit / BESIDE;
    return is_full || (budget->needed && own_bytes(engine) > room) ||
           beside > less(room, budget->limit / KEYS);
}

static uint64_t reached(const struct iso_aion *engine)
{
    return engine->time.limit > engine->time.expired ? engine->time.limit : engine->time.expired;
}

/* The middle of the timestamps that came last: one that lies far from the others does not move
 * it. */
static uint64_t middle(const struct iso_aion *engine)
{
    const struct aion_recent *recent = &engine->time.recent;
    size_t most = sizeof recent->ring / sizeof *recent->ring,
           count = recent->count < most ? recent->count : most;
    uint64_t sorted[sizeof recent->ring / sizeof *recent->ring];
    memcpy(sorted, recent->ring, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, iso_order_u64);
    return count ? sorted[count / 2] : 0;
}

/* The floor goes half of the way to what was reached. False: it is there. */
static bool shrink_retention(struct iso_aion *engine)
{
    uint64_t to = reached(engine), from = engine->time.floor;
    from = engine->time.recent.earliest > from && engine->time.recent.earliest < to
               ? engine->time.recent.earliest
               : from;
    if (engine->time.floor >= to)
        return false;
    engine->time.retention = less(to, from) / 2;
    return true;
}

/* Half of the way to the middle of what came lately is closed. False: that was reached. */
static bool close_early(struct iso_aion *engine)
{
    uint64_t from = reached(engine), to = middle(engine);
    from = engine->time.recent.earliest > from ? engine->time.recent.earliest : from;
    if (to <= from || engine->time.recent.count < TRANSACTIONS_A_LOOK)
        return false;
    engine->time.limit = from + (to - from + 1) / 2;
    assert(from < engine->time.limit && engine->time.limit <= to);
    engine->stats.closed_early = engine->time.limit;
    uint64_t half = (engine->time.limit - from) / 2;
    engine->time.retention = half < engine->time.retention ? half : engine->time.retention;
    return true;
}

static void forget_timeless(struct iso_aion *engine)
{
    uint64_t aged = engine->stats.aged_unknown;
    aion_unknown_trim(engine, UINT64_MAX);
    engine->budget.given_up += engine->stats.aged_unknown - aged;
    if (engine->dedup.slots)
        aion_dedup_rebuild(&engine->dedup, engine->time.floor > 1 ? engine->time.floor : 1);
}

/* Whether the time above what was reached, up to the middle of what came lately, is longer than the
 * time below it, down to the floor. */
static bool lies_above(const struct iso_aion *engine)
{
    uint64_t from = reached(engine), to = middle(engine);
    from = engine->time.recent.earliest > from ? engine->time.recent.earliest : from;
    return less(to, from) > less(reached(engine), engine->time.floor);
}

static void trim_to_floor(struct iso_aion *engine)
{
    aion_set_floor(engine);
    assert(engine->time.floor <= reached(engine));
    if (engine->options.host.on_floor)
        engine->options.host.on_floor(engine->options.host.context, engine->time.floor);
    aion_trim_all(engine);
}

void aion_fit_now_and_then(struct iso_aion *engine)
{
    if (engine->group.number - engine->budget.fitted >= TRANSACTIONS_A_LOOK)
        aion_fit(engine);
}

void aion_fit(struct iso_aion *engine)
{
    assert(!engine->group.count);
    if (!engine->budget.limit)
        return;
    engine->budget.fitted = engine->group.number;
    measure_process(engine);
    for (int step = 0; step < STEPS && is_over_limit(engine) && shrink_retention(engine); step++)
        trim_to_floor(engine);
    for (int step = 0; step < STEPS && is_short(engine); step++) {
        bool done = lies_above(engine) ? close_early(engine)
                                       : shrink_retention(engine) || close_early(engine);
        if (!done) {
            forget_timeless(engine);
            return;
        }
        trim_to_floor(engine);
    }
}

uint64_t iso_aion_closed_early(const struct iso_aion *engine)
{
    return engine->stats.closed_early;
}

uint64_t iso_aion_floor(const struct iso_aion *engine)
{
    return engine->time.floor;
}

uint64_t iso_aion_given_up(const struct iso_aion *engine)
{
    return engine->budget.given_up;
}
