/* What the files of a shard share. README.md draws it. */
#ifndef ISO_AION_SHARD_PRIVATE_H
#define ISO_AION_SHARD_PRIVATE_H

#include "aion/index.h"
#include "aion/queue.h"
#include "aion/run.h"
#include "aion/shard.h"
#include "aion/values.h"
#include "spill/spill.h"

/* A key: one cache line. The newest version stands in it, so that a read of it looks at nothing else. */
struct aion_key {
    uint64_t newest_time; /* of the newest version; 0 if there is none */
    uint64_t span;        /* the most that a version's time is above its hold */
    uint64_t last_read;   /* the largest bound among the open reads */
    struct aion_run versions, reads;
    uint32_t newest_value; /* of the newest version, or the initial value */
    uint32_t atom;         /* its name, among the values; of a free key: the next free one + 1 */
    uint32_t rare;         /* what few keys have; 0: nothing */
    uint32_t flags;
};
#define AION_KEY_USE 0x03u      /* ISO_KEY_SCALAR, ISO_KEY_LIST */
#define AION_KEY_DROPPED 0x04u  /* versions older than the first one here existed */
#define AION_KEY_OWN 0x08u      /* some open read is above its own transaction's version */
#define AION_KEY_ENTRIES 0x10u  /* some open read's value has to be let go (aion_value_drop) */
#define AION_KEY_FREE 0x20u     /* nobody's */
#define AION_KEY_PINNED 0x80u   /* evict.c: something that waits names it by its number */
#define AION_KEY_STORED 0x100u  /* the store has a record of it */
#define AION_KEY_CHANGED 0x200u /* and that lacks something */
#define AION_KEY_ALONE 0x400u   /* never evicted: another key of the same digest has the place in the store */
#define AION_KEY_CUT 0x800u     /* versions older than the first one here are in the store, in segments */
#define AION_KEY_ASKED 0x3000u  /* how often it was asked for again, less how often the hand of evict.c came by */
#define AION_KEY_ASKED_ONCE 0x1000u

/* Versions: time = cts, hold = ots of the first write + 1 (under a lock: cts), detail = AION_VERSION_ bits;
 * lists: value is a list of the appended elements. Reads: time = bound (versions below it are visible), hold
 * = `before` of the step, detail = the case + 1; operation: with AION_READ_OWN. Lists: value is a list, or
 * ISO_ABSENT if empty. */
#define AION_VERSION_UNJUDGED 0x01u
#define AION_READ_OWN 0x80000000u

struct aion_rare {
    struct aion_run spares; /* writes that are no version: time = when they may go, see aion_unknown_time,
                             * hold = sts + 1 or 0, detail = */
    uint32_t first_case;    /* + 1; cases of the key, chained */
    uint32_t initial;       /* a register's initial value */
    uint32_t base;          /* a list's initial elements and those of dropped versions; ISO_ABSENT: none */
    struct aion_run cuts;   /* segments of older versions in the store (cut.c) */
};
enum aion_spare { AION_SPARE_ABORTED = 1, AION_SPARE_INTERMEDIATE, AION_SPARE_UNKNOWN, AION_SPARE_UNKNOWN_FINAL };

/* The time of a spare write whose transaction's outcome is unknown: behind all others, in the order of
 * values. */
static inline uint64_t aion_unknown_time(uint32_t value)
{
    return (uint64_t)UINT32_MAX << 32 | value;
}

static inline bool aion_is_unknown(const struct aion_entry *spare)
{
    return spare->detail >= AION_SPARE_UNKNOWN;
}

/* A transaction: one cache line, as long as a version, a spare write, a case or, until the watermark has
 * passed it (see `readers`), a read names it. */
struct aion_transaction {
    uint64_t sts, cts, origin, arrival;
    uint32_t tid;
    uint32_t holders; /* 0: free, `tid` is the next free one + 1 */
    uint32_t flips;
    uint32_t flags;
    uint64_t unused[2];
};

/* A list in the pool. */
struct aion_list {
    uint32_t holders, count;
    uint32_t tail; /* more elements behind `count`: the reader's own, which others did not write */
    uint32_t size; /* of its block */
    uint32_t elements[];
};

enum aion_state { AION_RIGHT, AION_WRONG, AION_HELD, AION_UNDECIDED };

/* A read as a case keeps it. */
struct aion_look {
    uint64_t bound, before;
    uint32_t value, operation;
    uint8_t state;
    bool own;
};

/* A case: one instance (EXT, transaction, key) that was wrong at some time, or has several reads. */
struct aion_case {
    uint32_t key, transaction;
    uint32_t next, previous; /* + 1; of the same key; `next` of a free case: the next free one */
    uint32_t look_count;     /* 0: the case is free */
    struct aion_look look;
    struct aion_look *more; /* all looks, if there are several */
    uint64_t bound;         /* the largest of its looks */
    uint64_t wrong_since, deadline;
    uint32_t generation;
    uint8_t state;
    bool told, told_final, waiting; /* tentative or final; final; past the watermark but held */
    bool fresh, queued;             /* among `fresh`; its times stand in `finals` and `deadlines` */
};

/* A place in time at which a case has to be looked at. */
struct aion_due {
    uint64_t time;
    uint32_t subject, generation;
};

struct aion_dues {
    struct aion_due *heap;
    uint32_t count, capacity;
};

/* Bytes that grow. */
struct aion_bytes {
    uint8_t *bytes;
    size_t size, capacity;
};

/* Parts that wait (wait.c), in values of the shard. */
struct aion_page {
    struct aion_batch batch;
    uint32_t left; /* parts that have not gone */
};

struct aion_waiting {
    struct aion_page *pages;
    uint32_t *free; /* a stack of pages */
    uint32_t page_count, page_capacity, free_count;
    uint32_t shared;         /* + 1; the page that small batches are copied to */
    struct aion_queue queue; /* subjects: page << AION_PAGE_BITS | part of its batch */
};
enum { AION_PAGE_BITS = 16 };

enum { AION_LEAVING = 32 };

struct iso_aion_shard {
    enum iso_level level;
    uint64_t timeout, now;
    uint64_t limit, passed, floor; /* as given to iso_aion_shard_advance */
    bool ended, thorough;          /* nothing comes any more; every entry that may go goes */
    bool eager;                    /* every key and every version that may leave memory leaves it */
    struct aion_pool pool;
    struct aion_values values;
    struct aion_index key_index;
    struct aion_key *keys;
    uint32_t key_count, key_capacity, keys_in_use;
    uint32_t free_key;   /* + 1 */
    uint64_t known_keys; /* in memory or not */
    struct aion_rare *rares;
    uint32_t rare_count, rare_capacity, rares_in_use;
    uint32_t free_rare; /* chained by `first_case`; 0: none */
    struct aion_transaction *transactions;
    uint32_t transaction_count, transaction_capacity, free_transaction, transactions_in_use;
    struct aion_case *cases;
    uint32_t case_count, case_capacity, free_case;
    struct aion_dues finals, deadlines;
    struct aion_dues fresh; /* a list of new cases and those gone wrong: most are right again before they are told */
    struct aion_dues ties;  /* SER: keys with readers and writers that share a cts */
    struct aion_finding *findings;
    uint32_t finding_count, finding_capacity;
    uint32_t *groups; /* cases of the part at hand that have several reads */
    uint32_t group_count, group_capacity;
    uint32_t leaving[AION_LEAVING]; /* transactions to be dropped, + 1 */
    uint32_t leaving_at;
    uint64_t last_bound; /* of the reads that the part at hand keeps */
    bool keeps_reads;
    struct aion_reader { /* transactions held for their reads, in the order of arrival */
        uint64_t bound;  /* the largest */
        uint32_t transaction;
    } * readers;
    uint32_t reader_count, reader_capacity;
    uint32_t readers_left;   /* of them when they were last gone through */
    uint64_t readers_passed; /* `passed` at that time: what reads below it name is nobody any more */
    struct aion_waiting waiting;
    struct iso_spill *store; /* of keys that are not in memory, or NULL; its first failure */
    struct iso_error failure;
    struct aion_bytes record; /* of the key that goes there */
    uint32_t evict_hand;      /* the key that is looked at next */
    uint32_t initial;         /* of every register */
    uint32_t hand;            /* the key that the sweep looks at next */
    uint64_t work;            /* steps since the last sweep */
    struct iso_aion_stats stats;
};

/* shard.c */
void aion_apply_waiting(struct iso_aion_shard *shard, const struct aion_turn *turns, uint32_t count);
void aion_apply_part(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part);
uint32_t aion_transaction_add(struct iso_aion_shard *shard, const struct aion_transaction *transaction);
void aion_transaction_drop(struct iso_aion_shard *shard, uint32_t transaction);
void aion_transaction_drop_later(struct iso_aion_shard *shard, uint32_t transaction);
void aion_readers_advance(struct iso_aion_shard *shard);
void aion_dues_push(struct aion_dues *dues, uint64_t time, uint32_t subject, uint32_t generation);
struct aion_due aion_dues_pop(struct aion_dues *dues);

static inline uint32_t aion_transaction_hold(struct iso_aion_shard *shard, uint32_t transaction)
{
    shard->transactions[transaction].holders++;
    return transaction;
}

/* Notes that a read stands in its key's run: that holds the transaction until the watermark passes it. */
static inline void aion_note_reader(struct iso_aion_shard *shard, uint64_t bound)
{
    shard->last_bound = bound > shard->last_bound ? bound : shard->last_bound;
    shard->keeps_reads = true;
}

static inline bool aion_key_is_list(const struct aion_key *key)
{
    return key->flags & ISO_KEY_LIST;
}

/* A read that no version to come can change; at SER one tick later, until ties at its cts are told. */
static inline bool aion_may_drop_read(const struct iso_aion_shard *shard, uint64_t bound)
{
    return shard->level == ISO_SER ? bound < shard->passed : bound <= shard->passed;
}

/* key.c */
struct aion_rare *aion_rare_of(struct iso_aion_shard *shard, struct aion_key *key);
void aion_key_free(struct iso_aion_shard *shard, uint32_t number, uint64_t digest); /* its runs are empty */
void aion_keys_shrink(struct iso_aion_shard *shard);                                /* if much of the table is free */
static inline uint64_t aion_key_digest(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    return aion_atom_digest(&shard->values.atoms, key->atom);
}

/* cut.c */
void aion_cut(struct iso_aion_shard *shard, struct aion_key *key);
void aion_cuts_trim(struct iso_aion_shard *shard, struct aion_key *key);
void aion_join_all(struct iso_aion_shard *shard, struct aion_key *key);
bool aion_reads_cut(struct iso_aion_shard *shard, const struct aion_key *key, uint64_t bound,
                    const struct iso_atoms *atoms, iso_atom value);

/* Whoever looks at versions from below `time` on: what is in the store comes back first. */
static inline void aion_join(struct iso_aion_shard *shard, struct aion_key *key, uint64_t time)
{
    if (key->flags & AION_KEY_CUT && aion_run_get(&shard->pool, &key->versions, aion_run_begin())->time >= time)
        aion_join_all(shard, key);
}

/* Fetches what versions of a register name, to be written or let go soon; `leaving`: when that is there, what leads on
 * from it. */
ISO_FETCH aion_fetch_versions(const struct iso_aion_shard *shard, const struct aion_entry *versions, uint32_t count,
                              bool leaving)
{
    for (; count; count--, versions++) {
        if (leaving) {
            aion_values_fetch_leave(&shard->values, versions->value);
        } else {
            aion_values_fetch_entry(&shard->values, versions->value);
            __builtin_prefetch(&shard->transactions[versions->transaction], 1);
        }
    }
}

/* evict.c */
void aion_entry_forget(struct iso_aion_shard *shard, const struct aion_key *key, const struct aion_entry *version);
uint64_t aion_store_bytes(const struct iso_aion_shard *shard); /* in memory */
void aion_add_spilt(const struct iso_aion_shard *shard, struct iso_aion_spilt *spilt);

/* wait.c */
void aion_waiting_release(struct aion_waiting *waiting);
uint64_t aion_waiting_bytes(const struct aion_waiting *waiting);

/* list.c: lists; the frontier of a key, be it a list or a register */
uint32_t aion_list_new(struct iso_aion_shard *shard, const struct iso_atoms *atoms, const iso_atom *elements,
                       uint32_t count, uint32_t tail);
uint32_t aion_value_hold(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t value);
void aion_value_drop(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t value);
void aion_list_fold(struct iso_aion_shard *shard, struct aion_key *key, struct aion_entry *version);
enum aion_state aion_compare(struct iso_aion_shard *shard, const struct aion_key *key, const struct aion_look *look,
                             uint32_t transaction);
struct aion_entry *aion_visible(const struct iso_aion_shard *shard, const struct aion_key *key, uint64_t bound,
                                uint32_t own);
struct aion_words aion_expected_words(struct iso_aion_shard *shard, const struct aion_key *key,
                                      const struct aion_look *look, uint32_t own);
struct aion_words aion_value_words(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t value);

/* read.c */
void aion_read(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part,
               const struct aion_step *step, uint32_t transaction);
enum aion_state aion_judge(struct iso_aion_shard *shard, const struct aion_key *key, const struct aion_look *look,
                           uint32_t transaction);
void aion_recheck_version(struct iso_aion_shard *shard, struct aion_key *key, const struct aion_entry *version,
                          uint64_t successor);
void aion_recheck_cases(struct iso_aion_shard *shard, struct aion_key *key, uint32_t cause);

/* write.c */
void aion_version(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part,
                  const struct aion_step *step, uint32_t transaction);
void aion_spare(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_step *step,
                uint32_t transaction);
void aion_forget(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part);

/* case.c */
uint32_t aion_case_new(struct iso_aion_shard *shard, uint32_t key, uint32_t transaction, const struct aion_look *look);
void aion_case_add(struct iso_aion_shard *shard, uint32_t number, const struct aion_look *look);
void aion_case_start(struct iso_aion_shard *shard, uint32_t number, uint32_t cause); /* all looks are there */
bool aion_case_end(struct iso_aion_shard *shard, uint32_t number); /* one right look: gone; else false */
void aion_case_set(struct iso_aion_shard *shard, uint32_t number, uint32_t operation, enum aion_state state,
                   uint32_t cause);
void aion_cases_advance(struct iso_aion_shard *shard);
void aion_cases_tell_fresh(struct iso_aion_shard *shard);
void aion_cases_tick(struct iso_aion_shard *shard);

/* kind.c */
void aion_explain(struct iso_aion_shard *shard, const struct aion_case *subject, const struct aion_look *look,
                  struct aion_finding *finding);

/* tie.c: SER, transactions that share a cts */
void aion_tie_note(struct iso_aion_shard *shard, const struct aion_key *key, uint64_t time);
void aion_ties_advance(struct iso_aion_shard *shard);

/* finding.c */
struct aion_finding *aion_finding_new(struct iso_aion_shard *shard, enum aion_finding_what what, uint32_t key);
struct aion_party aion_party_of(struct iso_aion_shard *shard, uint32_t transaction); /* ISO_NONE: nobody */

/* trim.c */
void aion_trim(struct iso_aion_shard *shard, struct aion_key *key);
void aion_trim_reads(struct iso_aion_shard *shard, struct aion_key *key);
void aion_sweep_some(struct iso_aion_shard *shard);

#endif
