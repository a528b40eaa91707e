/* The engine: what stands in front of the shards, and what brings their findings to the caller. */
#ifndef ISO_AION_ENGINE_PRIVATE_H
#define ISO_AION_ENGINE_PRIVATE_H

#include "aion/aion.h"
#include "aion/index.h"
#include "aion/queue.h"
#include "aion/run.h"
#include "aion/settle.h"
#include "aion/shard.h"
#include "aion/values.h"
#include "base/fetch.h"

/* A key of a block: where the engine knows it. */
struct aion_block_key {
    uint32_t number; /* in its shard, + 1; 0: not looked up yet */
    uint8_t shard, use;
    uint16_t stamp;  /* of the transaction that named it last, see aion_block_stamp */
    uint64_t digest; /* 0: not known yet */
};

/* A session of a block. */
struct aion_block_session {
    uint64_t digest;       /* of its name; 0: not known yet */
    uint32_t number, life; /* where the engine keeps it, + 1, and which of those it kept there; 0: not looked up yet */
};

/* A history that transactions are taken from. */
struct aion_block {
    const struct iso_history *history;
    struct aion_block_key *keys;
    uint32_t key_count; /* entries that exist; zeroed when new */
    uint32_t found;     /* keys that have been looked up */
    uint32_t ready;     /* all keys of the transactions to come below this one have been */
    uint16_t stamp;     /* of the transaction at hand */
    struct aion_block_session *sessions;
    uint32_t session_count;
    uint32_t *breach; /* by transaction, or NULL */
    uint32_t breach_count;
};

/* A committed transaction's times, with defaults filled in. */
struct aion_times {
    uint64_t sts, cts;
    bool point;
};

/* One that was accepted and waits to be taken. */
struct aion_accepted {
    struct aion_times times;
    uint64_t sno;
    uint32_t transaction;
    uint32_t number; /* of all accepted ones, wraps */
    bool plain;      /* as in `struct aion_taking` */
};

/* A member on its way into its session. */
struct aion_entrant {
    uint64_t sno;
    uint32_t session, member;
    uint32_t number; /* of all accepted ones, wraps */
};

/* Committed transactions whose parts wait in the shards, and whose members wait here (group.c). */
struct aion_apart {
    struct aion_queue queue; /* subjects: entrants, or ISO_NONE: of no session */
    struct aion_entrant *entrants;
    uint32_t *free; /* a stack */
    uint32_t entrant_count, capacity, free_count;
};

/* What iso_aion_add has accepted and not yet taken (group.c). */
struct aion_group {
    struct aion_accepted *accepted;
    struct aion_place_in_time {
        uint64_t time;
        uint32_t number; /* in `accepted` */
    } * order, *spare;
    uint32_t count, untold; /* untold: taken since the shards told what is tentative */
    bool sorted;
    bool waits; /* what is taken now waits for its turn */
};

/* ---- repeats (seen.c) ---- */

struct aion_sight {
    uint64_t tid, content; /* digests; tid 0: free */
    uint64_t stamp;        /* cts, or what there is; forgotten below the floor */
};

struct aion_seen {
    struct aion_sight *slots;
    uint64_t mask, used;
};

enum aion_seen_as { AION_NEW, AION_REPEAT, AION_OTHER_CONTENT };

enum aion_seen_as aion_seen_note(struct aion_seen *seen, uint64_t tid, uint64_t content, uint64_t stamp,
                                 uint64_t floor);
void aion_seen_rebuild(struct aion_seen *seen, uint64_t floor); /* only what is not below the floor */
void aion_seen_release(struct aion_seen *seen);
ISO_FETCH aion_seen_fetch(const struct aion_seen *seen, uint64_t tid)
{
    if (seen->slots)
        __builtin_prefetch(&seen->slots[tid & seen->mask], 1);
}

/* ---- sessions (session.c) ---- */

/* A committed transaction, as its session keeps it: two in a cache line. */
struct aion_member {
    uint64_t sts, cts, origin;
    uint32_t tid; /* value of the front */
    bool point, told;
};

/* Entries by sno, equal ones as they were accepted (their `operation`): hold = largest cts up to and
 * including it, detail = the member that has it, transaction = its own. */
struct aion_session {
    struct aion_run members;
    uint32_t pinned;  /* + 1; a member without an entry that the first entries hold */
    uint64_t arrived; /* transactions of any status: the sno where none is given */
    uint64_t latest;  /* timestamp of all that came: once the floor is above it the session may be forgotten */
    uint64_t lost;    /* sno of the last one that is not known any more: what comes to stand before is undecided */
    uint64_t below;   /* the positions of all that is not known any more, or may not be, are below this */
    uint32_t name;    /* value of `names`; ISO_ABSENT: nobody's */
    uint32_t waiting; /* members on their way (apart.c) */
    uint32_t life;    /* how many were kept here, wraps; never 0 */
};

/* What is left of a session that was forgotten. */
struct aion_past {
    uint64_t name; /* digest; 0: free */
    uint64_t arrived, lost, below;
};

/* All that are known (sessions.c), and those that ended lately (past.c). */
struct aion_sessions {
    struct aion_session *list;
    uint32_t *free; /* a stack */
    uint32_t count, capacity, free_count;
    struct aion_values names;
    struct aion_index by_name;
    uint32_t hand; /* whose turn it was to let go last */
    uint64_t due;  /* steps that the hand owes */
    uint64_t different;
    struct aion_past *past; /* sets of AION_PAST_SET */
    uint32_t past_count;
};
enum { AION_PAST_SET = 8, AION_PAST_MOST = 1 << 15 };

void aion_past_note(struct aion_sessions *sessions, const struct aion_past *past);
bool aion_past_take(struct aion_sessions *sessions, uint64_t name, struct aion_past *past); /* false: not known */

/* ---- one transaction and one key (front.c) ---- */

struct aion_touch {
    uint32_t key;                     /* of the block */
    uint32_t last;                    /* value that was read or written last; lists: unused */
    uint64_t moment;                  /* of the read before: the last timestamp that it sees */
    uint64_t opened;                  /* bound of the first write */
    uint32_t first_write, last_write; /* operations of the block */
    uint32_t writes, external;
    uint32_t first_step; /* of the external reads, in the shard's batch */
    uint64_t before;     /* lists: prefix of the read before, in `element` */
    uint32_t before_count;
    bool list, read, int_told, locked;
};

struct aion_tie {
    uint64_t cts, sts, origin;
    uint32_t shard, key, tid, breach;
    uint8_t what; /* AION_FOUND_READER, AION_FOUND_WRITER, AION_TIE_BREACH */
};
#define AION_TIE_BREACH 100

struct aion_arrivals { /* where deadlines say how far time has come */
    struct aion_arrival {
        uint64_t arrival, cts;
    } * ring;
    uint32_t first, count, capacity;
};

/* An unknown transaction, kept whole until its outcome is told. */
struct aion_held {
    uint64_t tid;         /* digest */
    uint32_t transaction; /* in `held.history` */
    bool open;
};

/* What of the memory limit is the engine's (spill.c). */
struct aion_budget {
    uint64_t limit;   /* of anonymous memory; 0: none */
    uint64_t most;    /* bytes that were in use at some time: so much the process has taken for the engine */
    uint64_t beside;  /* anonymous bytes of the process beside those, when they were looked at last */
    uint32_t looked;  /* transactions accepted by then, wraps */
    uint64_t useless; /* bytes in use after an eviction that found too few keys: not tried again below */
    uint64_t needed;  /* bytes of the process, after the last look; 0: the limit is enough */
    struct iso_error failure;
};

/* Keys to be looked up, of one shard. */
struct aion_wanted_keys {
    struct aion_wanted *list;
    uint32_t count, capacity;
};

struct iso_aion {
    struct iso_aion_options options;
    uint32_t shards;
    struct iso_aion_shard *shard[ISO_AION_SHARDS];
    struct aion_batch batch[ISO_AION_SHARDS];
    struct aion_wanted_keys wanted[ISO_AION_SHARDS];
    uint32_t part_of[ISO_AION_SHARDS]; /* part of the transaction at hand, + 1 */
    struct aion_block block, held;
    struct aion_group group;
    struct aion_settle settle;
    struct aion_apart apart;
    uint32_t accepted; /* how many, wraps */
    struct iso_history held_history;
    struct aion_held *open;
    uint32_t open_count, open_capacity, held_open;
    struct aion_seen seen;
    struct aion_values values; /* tids of sessions and ties */
    struct aion_pool pool;     /* runs of sessions */
    struct aion_sessions sessions;
    struct aion_member *members;
    uint32_t member_count, member_capacity;
    uint32_t *free_members; /* a stack */
    uint32_t free_member_count;
    struct aion_touch *touches;
    uint32_t touch_count, touch_capacity;
    uint64_t *touch_slots; /* for transactions with many keys: stamp << 32 | touch */
    uint32_t touch_mask, touch_stamp;
    struct aion_tie *ties;
    uint32_t tie_count, tie_capacity;
    struct aion_arrivals arrivals;
    uint64_t now, limit, settled, passed, floor;
    uint64_t retention; /* what the memory limit leaves of it */
    struct aion_budget budget;
    struct iso_aion_stats stats;
};

/* front.c. A transaction is accepted in the order of arrival: it may be refused, or be a repeat (then
 * `accepted->transaction` is ISO_NONE). Then it is taken, in any order of what was accepted. */
enum iso_status aion_accept(struct iso_aion *engine, struct aion_block *block, uint32_t transaction, bool resolved,
                            struct aion_accepted *accepted, struct iso_error *error);
void aion_take(struct iso_aion *engine, struct aion_block *block, const struct aion_accepted *accepted,
               uint64_t arrival);
void aion_forget_unknown(struct iso_aion *engine, struct aion_block *block, uint32_t transaction, uint64_t arrival);

/* group.c */
void aion_group_add(struct iso_aion *engine, const struct aion_accepted *accepted);
void aion_group_end(struct iso_aion *engine); /* takes all of it, and has everything told */
void aion_group_release(struct aion_group *group);

/* apart.c */
void aion_apart_add(struct iso_aion *engine, const struct aion_turn *turn, const struct aion_entrant *entrant);
void aion_apart_go(struct iso_aion *engine, uint64_t until, uint64_t start); /* into their sessions */
void aion_apart_release(struct aion_apart *apart);

/* block.c */
void aion_block_set(struct aion_block *block, const struct iso_history *history);
void aion_block_forget_keys(struct aion_block *block);
void aion_block_release(struct aion_block *block);
uint16_t aion_block_stamp(struct aion_block *block); /* one that no key bears */
void aion_block_fetch_keys(struct iso_aion *engine, struct aion_block *block, uint32_t transaction,
                           enum aion_fetch what);
struct aion_block_key *aion_block_find_key(struct iso_aion *engine, struct aion_block *block, uint32_t key);
void aion_block_want_keys(struct iso_aion *engine, struct aion_block *block, uint32_t first, uint32_t end);
void aion_block_take_keys(struct iso_aion *engine, struct aion_block *block); /* once the shards have found them */
struct aion_block_session *aion_block_find_session(struct aion_block *block, uint32_t session);

static inline struct aion_block_key *aion_block_key(struct iso_aion *engine, struct aion_block *block, uint32_t key)
{
    if (key < block->key_count && block->keys[key].number)
        return &block->keys[key];
    return aion_block_find_key(engine, block, key);
}

/* The digest of a session's name. */
static inline uint64_t aion_block_session_digest(struct aion_block *block, uint32_t session)
{
    if (session < block->session_count && block->sessions[session].digest)
        return block->sessions[session].digest;
    return aion_block_find_session(block, session)->digest;
}

/* digest.c */
uint64_t aion_tid_digest(const struct iso_history *history, uint32_t transaction); /* never 0 */
uint64_t aion_content_start(struct aion_block *block, uint32_t transaction);
uint64_t aion_content_rare(const struct iso_history *history, uint64_t digest, uint64_t key, uint32_t operation);
uint64_t aion_event_id(const struct iso_aion_event *event);

static inline uint64_t aion_fold(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 29;
}

static inline uint64_t aion_content_fold_plain(uint64_t digest, uint64_t key, uint8_t kind, uint32_t value)
{
    return aion_fold(digest, key + kind * 0xbf58476d1ce4e5b9u + value * 0x94d049bb133111ebu);
}

/* The digest of the content up to and including an operation on the key of digest `key`. */
static inline uint64_t aion_content_fold(const struct iso_history *history, uint64_t digest, uint64_t key,
                                         uint32_t operation)
{
    uint8_t kind = history->kind[operation];
    uint32_t value = history->value[operation];
    if (kind > ISO_WRITE || aion_value_is_entry(value))
        return aion_content_rare(history, digest, key, operation);
    return aion_content_fold_plain(digest, key, kind, value);
}

/* sessions.c. A session keeps its number as long as something waits to enter it, or until the next sweep. */
uint32_t aion_session_find(struct iso_aion *engine, struct aion_block *block, uint32_t session); /* or begins it */
void aion_sessions_sweep(struct iso_aion *engine); /* some of them; nothing is in flight but what is apart */
void aion_sessions_trim(struct iso_aion *engine);  /* all of them */
uint64_t aion_sessions_bytes(const struct aion_sessions *sessions);
void aion_sessions_release(struct aion_sessions *sessions);

static inline uint32_t aion_block_session(struct iso_aion *engine, struct aion_block *block, uint32_t session)
{
    if (session < block->session_count) {
        const struct aion_block_session *known = &block->sessions[session];
        if (known->number && engine->sessions.list[known->number - 1].life == known->life)
            return known->number - 1;
    }
    return aion_session_find(engine, block, session);
}

/* session.c */
uint32_t aion_member_new(struct iso_aion *engine, const struct aion_block *block, const struct aion_accepted *accepted);
void aion_session_add(struct iso_aion *engine, const struct aion_entrant *entrant);
void aion_session_trim(struct iso_aion *engine, struct aion_session *session);
void aion_session_empty(struct iso_aion *engine, struct aion_session *session); /* lets go of all */

/* engine.c: the shards, all at once. What waits goes up to cts `until`, and what started at or below `start`. */
void aion_run_batches(struct iso_aion *engine, bool tell);
void aion_keep_batches(struct iso_aion *engine);
void aion_let_go(struct iso_aion *engine, uint64_t until, bool tell);

void aion_evict_all(struct iso_aion *engine, uint64_t bytes); /* from each shard so many */
uint64_t aion_bytes(const struct iso_aion *engine);

/* spill.c */
void aion_spill_open(struct iso_aion *engine);
void aion_spill(struct iso_aion *engine); /* if memory is short. Nothing is in flight */
static inline void aion_note_failure(struct iso_aion *engine, uint32_t shard)
{
    const struct iso_error *failure = iso_aion_shard_failure(engine->shard[shard]);
    if (failure->status != ISO_OK)
        engine->budget.failure = *failure;
}

/* deliver.c */
void aion_deliver(struct iso_aion *engine);
void aion_emit(struct iso_aion *engine, struct iso_aion_event *event);
struct iso_aion_event aion_event_of(const struct iso_aion *engine, enum iso_axiom axiom);
struct iso_aion_party aion_party_in(const struct iso_aion *engine, const struct aion_block *block,
                                    uint32_t transaction);

/* cycle.c */
void aion_tie_add(struct iso_aion *engine, const struct aion_tie *tie, const struct iso_atoms *atoms, iso_atom tid);
void aion_ties_settle(struct iso_aion *engine);

/* unknown.c */
void aion_hold(struct iso_aion *engine, const struct aion_block *block, uint32_t transaction, uint64_t sno);
void aion_held_release(struct iso_aion *engine);

#endif
