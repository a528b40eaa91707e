/* When keys go to the spill file: what of the memory limit is the engine's, and what is over it.
 *
 * The limit is on the process's anonymous memory. What the engine has taken it keeps: entries that
 * are free wait for others of their kind. So the engine's part of the process is what was in use
 * when most was; what the process has beside that (queues of messages, libraries, slack) is looked
 * at now and then, and the rest of the limit, less a margin, is the engine's. Over it keys go until
 * a fortieth of it is free. The margin is for what comes between two looks, and for the change that
 * comes once keys go: memory of the kinds that there are fewer of then is no room for those that
 * there are more of.
 *
 * What does not go with keys (who was seen, sessions, what waits) and the process's rest may leave
 * nothing. To let all keys go then, at every watermark, would have each come back at once: the
 * engine would do nothing else. An eighth of the limit is for keys whatever there is beside them,
 * and the process takes what it takes; that is for whoever set the limit to know
 * (iso_aion_memory_needed).
 */
#include <assert.h>
#include <stdio.h>

#include "aion/state_private.h"
#include "spill/spill.h"

/* LOOK: transactions between two looks at the process; MARGIN, LEAST: shares of the limit. */
enum { TRANSACTIONS_A_LOOK = 1024, MARGIN = 10, STRIDE = 40, LEAST = 8 };

static uint64_t less(uint64_t left, uint64_t right)
{
    return left > right ? left - right : 0;
}

void aion_spill_open(struct iso_aion *engine)
{
    const struct iso_aion_options *options = &engine->options;
    engine->budget.limit = options->memory_limit;
    for (uint32_t s = 0; options->spill && s < engine->shards.count; s++) {
        char name[24];
        struct iso_spill_options store = {.folder = options->spill,
                                          .name = options->host.spill_stays ? name : NULL,
                                          .segment_bits = options->forced.spill_segment_bits};
        snprintf(name, sizeof name, "spill-%u", s);
        iso_aion_shard_spill_to(engine->shards.list[s], &store, &engine->budget.failure);
    }
}

void iso_aion_memory(struct iso_aion *engine, uint64_t limit, uint64_t in_use, bool anew)
{
    struct aion_budget *budget = &engine->budget;
    budget->limit = limit;
    if (anew)
        budget->most = budget->useless = budget->needed = 0;
    uint64_t bytes = aion_bytes(engine);
    budget->most = bytes > budget->most ? bytes : budget->most;
    budget->beside = less(in_use, budget->most);
}

/* Bytes that the engine may have in use. */
static uint64_t allowed(struct iso_aion *engine, uint64_t in_use)
{
    struct aion_budget *budget = &engine->budget;
    uint64_t limit = budget->limit;
    budget->most = in_use > budget->most ? in_use : budget->most;
    if (engine->options.host.memory_in_use &&
        engine->group.number - budget->looked >= TRANSACTIONS_A_LOOK) {
        budget->looked = engine->group.number;
        budget->beside = less(engine->options.host.memory_in_use(), budget->most);
    }
    return less(limit, limit / MARGIN + budget->beside);
}

/* Ties that wait in front name keys of the shards by number. */
static void pin_ties(struct iso_aion *engine, bool pinned)
{
    for (uint32_t i = 0; i < engine->ties.count; i++) {
        const struct aion_tie *tie = &engine->ties.list[i];
        assert(tie->shard < engine->shards.count);
        if (tie->what != AION_TIE_SNAPSHOT_ORDER)
            iso_aion_shard_pin(engine->shards.list[tie->shard], tie->key, pinned);
    }
}

static void evict_bytes(struct iso_aion *engine, uint64_t bytes)
{
    pin_ties(engine, true);
    aion_key_cache_forget(&engine->cache);
    aion_key_cache_forget(&engine->unknown.cache);
    aion_run_task(engine, (struct aion_task){.what = AION_EVICT,
                                             .bytes = bytes / engine->shards.count +
                                                      (bytes % engine->shards.count != 0)});
    pin_ties(engine, false);
}

/* Bytes that no eviction frees, and what keys have whatever there is beside them. */
static uint64_t least(const struct iso_aion *engine, uint64_t in_use)
{
    uint64_t with_keys = 0;
    for (uint32_t s = 0; s < engine->shards.count; s++)
        with_keys += iso_aion_shard_key_bytes(engine->shards.list[s]);
    return less(in_use, with_keys) + engine->budget.limit / LEAST;
}

static void fit_keys(struct iso_aion *engine)
{
    struct aion_budget *budget = &engine->budget;
    uint64_t in_use = aion_bytes(engine), room = allowed(engine, in_use),
             floor = least(engine, in_use);
    uint64_t most = room > floor ? room : floor;
    budget->useless = in_use > most ? budget->useless : 0;
    if (in_use > most && in_use >= budget->useless) {
        evict_bytes(engine, in_use - most + most / STRIDE);
        in_use = aion_bytes(engine);
        budget->useless = in_use > most ? in_use + most / STRIDE : 0;
    }
    uint64_t rest = in_use > floor ? in_use : floor;
    budget->needed = rest > room ? (rest + budget->beside) / (MARGIN - 1) * MARGIN : 0;
}

uint64_t iso_aion_memory_needed(const struct iso_aion *engine)
{
    return engine->budget.needed;
}

void aion_spill(struct iso_aion *engine)
{
    assert(!engine->group.count);
    struct aion_budget *budget = &engine->budget;
    if (!engine->options.spill || budget->failure.status != ISO_OK)
        return;
    if (engine->options.forced.spill_all) {
        evict_bytes(engine, UINT64_MAX);
    } else if (budget->limit) {
        fit_keys(engine);
    }
    for (uint32_t s = 0; s < engine->shards.count; s++)
        aion_note_failure(engine, s);
}
