/* The engine: what stands in front of the shards, and what brings their findings to the caller. */
#pragma once

#include "aion/aion.h"
#include "aion/front/dedup.h"
#include "aion/front/front_state.h"
#include "aion/levels/deferred_state.h"
#include "aion/reorder/reorder_state.h"
#include "aion/sessions/session_state.h"
#include "aion/shard/shard.h"
#include "aion/structures/values.h"
#include "base/fetch.h"

/* Keys to be looked up, of one shard. */
struct aion_wanted_keys {
    struct aion_wanted *list;
    uint32_t count, capacity;
};

/* The shards, and what is on its way to each. */
struct aion_shards {
    uint32_t count;
    struct iso_aion_shard *list[ISO_AION_SHARDS];
    struct aion_batch batch[ISO_AION_SHARDS];
    struct aion_wanted_keys wanted[ISO_AION_SHARDS];
    uint32_t part_of[ISO_AION_SHARDS]; /* part of the transaction at hand, + 1 */
};

struct iso_aion {
    struct iso_aion_options options;
    struct aion_shards shards;
    struct aion_key_cache cache;
    struct aion_group group;
    struct aion_reorder_front reorder;
    struct aion_unknowns unknown;
    struct aion_holding deferred;
    struct aion_dedup dedup;
    struct aion_sessions sessions;
    struct aion_accesses accesses;
    struct aion_ties ties;
    struct aion_values values; /* tids of sessions and ties */
    struct aion_time time;
    struct aion_budget budget;
    struct iso_aion_stats stats;
#ifdef ISO_VALIDATE
    uint64_t calls; /* since it was validated last */
#endif
};

/* engine_validate.c: after each call, in builds that validate. */
#ifdef ISO_VALIDATE
void aion_engine_validate(struct iso_aion *engine);
#else
static inline void aion_engine_validate(struct iso_aion *engine)
{
    (void)engine;
}
#endif

/* front.c. A transaction is accepted in the order of arrival: it may be refused, or be a repeat
 * (then `accepted->transaction` is ISO_NONE). Then it is taken, in any order of what was
 * accepted. */
enum iso_status aion_accept(struct iso_aion *engine, struct aion_key_cache *cache,
                            uint32_t transaction, bool resolved, struct aion_accepted *accepted,
                            struct iso_error *error);
void aion_take(struct iso_aion *engine, struct aion_key_cache *cache,
               const struct aion_accepted *accepted, uint64_t arrival);
void aion_forget_unknown(struct iso_aion *engine, struct aion_key_cache *cache,
                         uint32_t transaction);
/* As aion_forget_unknown, for good: the transaction had its outcome at or before `until`, and
 * nobody reported it. */
void aion_age_unknown(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t transaction,
                      uint64_t until);

/* group.c */
void aion_group_add(struct iso_aion *engine, const struct aion_accepted *accepted);
void aion_group_end(struct iso_aion *engine, bool emit); /* takes all of it, and reports it */
void aion_group_release(struct aion_group *group);

/* reorder_front.c */
void aion_reorder_add(struct iso_aion *engine, const struct aion_turn *turn,
                      const struct aion_entrant *entrant);
void aion_reorder_go(struct iso_aion *engine, uint64_t until,
                     uint64_t start); /* into their sessions */
void aion_reorder_front_release(struct aion_reorder_front *reorder);

/* key_cache.c */
void aion_key_cache_set(struct aion_key_cache *cache, const struct iso_history *history);
void aion_key_cache_forget(struct aion_key_cache *cache);
void aion_key_cache_release(struct aion_key_cache *cache);
uint16_t aion_key_cache_stamp(struct aion_key_cache *cache); /* one that no key bears */
struct aion_cached_key *aion_key_cache_find(struct iso_aion *engine, struct aion_key_cache *cache,
                                            uint32_t key);
void aion_key_cache_want(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t first,
                         uint32_t end);
void aion_key_cache_take(struct iso_aion *engine,
                         struct aion_key_cache *cache); /* once the shards have found them */
struct aion_cached_session *aion_key_cache_find_session(struct aion_key_cache *cache,
                                                        uint32_t session);

/* By which rules versions are read: of SI also below it, where more is kept back and less is
 * forbidden. */
static inline enum iso_level aion_versions_level(const struct iso_aion *engine)
{
    return engine->options.level == ISO_SER ? ISO_SER : ISO_SI;
}

static inline struct aion_cached_key *aion_cached_key(struct iso_aion *engine,
                                                      struct aion_key_cache *cache, uint32_t key)
{
    if (key < cache->key_count && cache->keys[key].number)
        return &cache->keys[key];
    return aion_key_cache_find(engine, cache, key);
}

/* The digest of a session's name. */
static inline uint64_t aion_cached_session_digest(struct aion_key_cache *cache, uint32_t session)
{
    if (session < cache->session_count && cache->sessions[session].digest)
        return cache->sessions[session].digest;
    return aion_key_cache_find_session(cache, session)->digest;
}

/* digest.c */
uint64_t aion_tid_digest(const struct iso_history *history, uint32_t transaction); /* never 0 */
uint64_t aion_content_start(struct aion_key_cache *cache, uint32_t transaction);
uint64_t aion_content_other(const struct iso_history *history, uint64_t digest, uint64_t key,
                            uint32_t operation);

static inline uint64_t aion_fold(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 29;
}

static inline uint64_t aion_content_fold_plain(uint64_t digest, uint64_t key, uint8_t kind,
                                               uint32_t value)
{
    return aion_fold(digest, key + kind * 0xbf58476d1ce4e5b9u + value * 0x94d049bb133111ebu);
}

/* The digest of the content up to and including an operation on the key of digest `key`. */
static inline uint64_t aion_content_fold(const struct iso_history *history, uint64_t digest,
                                         uint64_t key, uint32_t operation)
{
    uint8_t kind = history->ops.kind[operation];
    uint32_t value = history->ops.value[operation];
    if (kind > ISO_WRITE || aion_value_is_entry(value))
        return aion_content_other(history, digest, key, operation);
    return aion_content_fold_plain(digest, key, kind, value);
}

/* sessions.c. A session keeps its number as long as something waits to enter it, or until the next
 * sweep. */
uint32_t aion_session_find(struct iso_aion *engine, struct aion_key_cache *cache,
                           uint32_t session);      /* or begins it */
void aion_sessions_sweep(struct iso_aion *engine); /* some of them; nothing is in flight but what
                                                      waits in the reorder buffer */
void aion_sessions_trim(struct iso_aion *engine);  /* all of them */
uint64_t aion_sessions_bytes(const struct aion_sessions *sessions);
void aion_sessions_release(struct aion_sessions *sessions);

static inline uint32_t aion_cached_session(struct iso_aion *engine, struct aion_key_cache *cache,
                                           uint32_t session)
{
    if (session < cache->session_count) {
        const struct aion_cached_session *known = &cache->sessions[session];
        if (known->number && engine->sessions.list[known->number - 1].life == known->life)
            return known->number - 1;
    }
    return aion_session_find(engine, cache, session);
}

/* session.c */
uint32_t aion_member_new(struct iso_aion *engine, const struct aion_key_cache *cache,
                         const struct aion_accepted *accepted);
void aion_session_add(struct iso_aion *engine, const struct aion_entrant *entrant);
void aion_session_trim(struct iso_aion *engine, struct aion_session *session);
void aion_session_empty(struct iso_aion *engine, struct aion_session *session); /* lets go of all */

/* Shared by session.c and disorder.c. */
bool aion_session_judge(struct iso_aion *engine, struct aion_session *session,
                        struct aion_member *member, const struct aion_member *latest);
bool aion_is_larger(const struct iso_aion *engine, const struct aion_member *member,
                    const struct aion_member *other);
struct aion_cursor aion_session_cursor(const struct iso_aion *engine,
                                       const struct aion_sorted_chunks *sorted_chunks, uint64_t sno,
                                       uint32_t number);
void aion_session_lose(const struct iso_aion *engine, struct aion_session *session, uint64_t sno,
                       uint64_t cts);
void aion_session_doubt(struct iso_aion *engine, struct aion_session *session,
                        const struct aion_entrant *entrant, bool in_order);
void aion_member_free(struct iso_aion *engine, uint32_t number);

/* disorder.c */
void aion_disorder_begin(struct iso_aion *engine, struct aion_session *session);
void aion_disorder_add(struct iso_aion *engine, struct aion_session *session,
                       const struct aion_entrant *entrant);
void aion_disorder_trim(struct iso_aion *engine, struct aion_session *session);
void aion_disorder_empty(struct iso_aion *engine, struct aion_session *session);

/* engine.c: the shards, all at once. */
struct aion_task {
    enum {
        AION_FIND,
        AION_APPLY, /* the batches */
        AION_KEEP,  /* the same, but what is committed waits */
        AION_GO,    /* what waits up to cts `until`, and what started at or below `start` */
        AION_ADVANCE,
        AION_TICK,
        AION_END,
        AION_SWEEP,
        AION_EVICT
    } what;
    bool emit; /* tell then what is tentative */
    uint64_t until, start;
    uint64_t bytes; /* AION_EVICT: from each shard so many */
    struct iso_aion *engine;
};
void aion_run_task(struct iso_aion *engine, struct aion_task task);
void aion_let_go(struct iso_aion *engine, uint64_t until, bool emit);
uint64_t aion_bytes(const struct iso_aion *engine);

/* fit.c */
void aion_fit_now_and_then(struct iso_aion *engine);
void aion_fit(struct iso_aion *engine); /* if memory is short, after what can went to the spill
                                           file. Nothing is in flight */

static inline void aion_recent_note(struct aion_recent *recent, uint64_t time)
{
    recent->ring[recent->count++ % (sizeof recent->ring / sizeof *recent->ring)] = time;
    recent->earliest = time < recent->earliest || recent->count == 1 ? time : recent->earliest;
}

/* The timestamp of what was accepted last; 0: there was none. */
static inline uint64_t aion_recent(const struct iso_aion *engine)
{
    const struct aion_recent *recent = &engine->time.recent;
    return recent->count
               ? recent->ring[(recent->count - 1) % (sizeof recent->ring / sizeof *recent->ring)]
               : 0;
}

/* engine.c: what follows where the floor, or the limit, has moved. */
uint64_t aion_set_floor(struct iso_aion *engine);
void aion_trim_all(struct iso_aion *engine);

/* spill.c */
void aion_spill_open(struct iso_aion *engine);
void aion_spill(struct iso_aion *engine); /* if memory is short. Nothing is in flight */
static inline void aion_note_failure(struct iso_aion *engine, uint32_t shard)
{
    const struct iso_error *failure = iso_aion_shard_failure(engine->shards.list[shard]);
    if (failure->status != ISO_OK)
        engine->budget.failure = *failure;
}

/* deliver.c */
void aion_deliver(struct iso_aion *engine);
void aion_emit(struct iso_aion *engine, struct iso_aion_event *event);
struct iso_aion_event aion_event_of(const struct iso_aion *engine, enum iso_axiom axiom);
struct iso_aion_party aion_party_in(const struct iso_aion *engine,
                                    const struct aion_key_cache *cache, uint32_t transaction);

/* cycle.c */
void aion_tie_add(struct iso_aion *engine, const struct aion_tie *tie,
                  const struct iso_atoms *atoms, iso_atom tid);
void aion_ties_resolve(struct iso_aion *engine);

/* unknown.c. What started below the floor and was not reported is forgotten: some at a time, or all
 * below `floor`. */
void aion_unknown_sweep(struct iso_aion *engine);
void aion_unknown_trim(struct iso_aion *engine, uint64_t floor);
void aion_unknown_index(struct iso_aion *engine); /* makes the table of tids anew */
void aion_unknown_add(struct iso_aion *engine, const struct aion_key_cache *cache,
                      uint32_t transaction, uint64_t sno);
void aion_unknown_release(struct iso_aion *engine);
/* Into a history that keeps what is judged later: the number there. */
uint32_t aion_copy_transaction(struct iso_history *into, const struct iso_history *from,
                               uint32_t transaction, uint64_t origin, uint64_t sno);
