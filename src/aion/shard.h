/* A shard of the online engine: everything that is local to a key, for the keys whose hash falls to it.
 *
 * In go batches of *parts* (what one transaction did to this shard's keys, told apart into external reads,
 * versions and spare writes by the front), watermarks and the passing of time; out come *findings*. A shard
 * knows no other shard and no session, and reads nothing but its arguments, so that it can run on a thread of
 * its own, or elsewhere. Parts may wait in it until it is their turn (wait.c). Its state is columns and 32-bit numbers
 * without pointers among them (pool.h), to be saved as bytes and, key by key, split or merged by hash.
 *
 * Threads: one at a time. A batch borrows the atoms of a block; findings belong to the shard until cleared.
 */
#ifndef ISO_AION_SHARD_H
#define ISO_AION_SHARD_H

#include "aion/aion.h"

struct iso_aion_shard;

enum aion_step_kind { AION_READ, AION_READ_LIST, AION_VERSION, AION_VERSION_LIST, AION_SPARE };

/* flags of a step */
#define AION_OWN 0x01u          /* a read above the transaction's own version, which it must not see */
#define AION_GROUP 0x02u        /* one of several external reads of the key by the transaction: one instance */
#define AION_UNJUDGED 0x04u     /* a version not judged for NOCONFLICT: LOCK, or foreign */
#define AION_FINAL_VALUE 0x08u  /* a spare write of an unknown transaction: it would be a version */
#define AION_INTERMEDIATE 0x10u /* a spare write of a committed transaction: it is no version */

struct aion_step {
    uint32_t key;       /* number in the shard */
    uint32_t value;     /* atom of the block; lists: first of `count` elements of the batch */
    uint32_t operation; /* place in the transaction; version: its first write of the key */
    uint32_t detail;    /* + 1; 0: a register, at the times of the part */
    uint8_t kind, flags;
};

/* The least time above all that one at `time` sees: a bound. There is none above the last timestamp of all, 2^64-1: who
 * reads there sees all versions but those of that same timestamp. */
static inline uint64_t aion_above(uint64_t time)
{
    return time + (time != UINT64_MAX);
}

/* What few steps have. */
struct aion_detail {
    uint64_t time;        /* read: versions below this are visible; version: those below this are not overlapped */
    uint64_t before;      /* read: an unknown writer that it may rest on started below this */
    uint32_t count, tail; /* list read: behind `count` elements of others stand `tail` of its own */
};

/* flags of a part: the status and ISO_HAS_STS, ISO_HAS_CTS, ISO_POINT as in a history, or this one */
#define AION_FORGET 0x10u /* takes back the spare writes of the unknown transaction of this tid */

struct aion_part {
    uint64_t sts, cts, origin;
    uint64_t arrival;               /* ms */
    uint64_t bound, before, opened; /* `time` and `before` of reads, `time` of versions without a detail */
    uint32_t first_step, step_count;
    iso_atom tid; /* of the block */
    uint8_t flags;
};

struct aion_batch {
    const struct iso_atoms *atoms;
    struct aion_part *parts;
    struct aion_step *steps;
    struct aion_detail *details;
    iso_atom *elements;
    uint32_t part_count, part_capacity, step_count, step_capacity, detail_count, detail_capacity;
    uint32_t element_count, element_capacity;
};

/* batch.c */
void aion_batch_release(struct aion_batch *batch);
void aion_batch_widen(struct aion_batch *batch, uint32_t steps);
struct aion_part *aion_batch_part(struct aion_batch *batch);                                      /* one more, unset */
struct aion_detail *aion_batch_detail(struct aion_batch *batch, struct aion_step *step);          /* one more, zeroed */
uint32_t aion_batch_elements(struct aion_batch *batch, const iso_atom *elements, uint32_t count); /* where they are */

static inline void aion_batch_reserve(struct aion_batch *batch, uint32_t steps)
{
    if (batch->step_count + steps > batch->step_capacity)
        aion_batch_widen(batch, steps);
}

static inline void aion_batch_clear(struct aion_batch *batch)
{
    batch->part_count = batch->step_count = batch->detail_count = batch->element_count = 0;
}

/* A transaction in a finding; `tid` is a value of the shard, ISO_ABSENT: nobody. */
struct aion_party {
    uint32_t tid;
    uint64_t origin, sts, cts;
};

/* A value in a finding. */
struct aion_words {
    bool is_list;
    uint32_t count;
    uint32_t atom;      /* if not a list */
    uint32_t *elements; /* if a list */
};

enum aion_finding_what { AION_FOUND_EXT, AION_FOUND_CONFLICT, AION_FOUND_READER, AION_FOUND_WRITER };

struct aion_finding {
    enum aion_finding_what what; /* READER, WRITER: of a key at a shared cts (SER) */
    enum iso_aion_state state;
    enum iso_violation_kind kind;
    bool by_deadline;
    uint32_t key, operation;
    uint64_t bound; /* EXT: the read had to see what was committed below it */
    struct aion_party transaction, other, writer_expected, writer_actual, cause;
    struct aion_words expected, actual;
};

struct aion_shard_options {
    enum iso_level level;
    uint64_t finality_timeout_ms;
};

struct iso_aion_shard *iso_aion_shard_new(const struct aion_shard_options *options);
void iso_aion_shard_free(struct iso_aion_shard *shard);

/* Initial values, before anything else: of every register, and of one key. */
void iso_aion_shard_initial(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom value);
void iso_aion_shard_initial_key(struct iso_aion_shard *shard, uint32_t key, const struct iso_atoms *atoms,
                                iso_atom value, bool is_append);

/* The number of a key, new or known; `digest` is that of its text. A number is good as long as the key is in memory: to
 * the next iso_aion_shard_evict, or for good. */
uint32_t iso_aion_shard_key(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom key, uint64_t digest);

/* The same of many, in this order, each fetched ahead. */
struct aion_wanted {
    uint64_t digest;
    iso_atom name;
    uint32_t key;    /* of the block */
    uint32_t number; /* what is looked for */
    uint8_t use;     /* and what it is known to be used as, ISO_KEY_ bits */
};
void iso_aion_shard_keys(struct iso_aion_shard *shard, const struct iso_atoms *atoms, struct aion_wanted *wanted,
                         uint32_t count);

/* Fetches cache lines for iso_aion_shard_key, one step after the other: each needs what the one before has fetched. */
enum aion_fetch { AION_FETCH_SLOT, AION_FETCH_KEY, AION_FETCH_ENTRY, AION_FETCH_TEXT, AION_FETCHES };
void iso_aion_shard_fetch(const struct iso_aion_shard *shard, uint64_t digest, enum aion_fetch what);

uint8_t iso_aion_shard_use(const struct iso_aion_shard *shard, uint32_t key);
void iso_aion_shard_set_use(struct iso_aion_shard *shard, uint32_t key, uint8_t use);

void iso_aion_shard_apply(struct iso_aion_shard *shard, const struct aion_batch *batch);

/* The same in two steps: parts of committed transactions wait in the shard, all others are applied at once; then those
 * with cts <= `until` go, in the order of cts, and those that started at or below `start`. The shard may take the
 * batch's columns and leave others in their place; what is in it then is nobody's. */
void iso_aion_shard_keep(struct iso_aion_shard *shard, struct aion_batch *batch);
void iso_aion_shard_release(struct iso_aion_shard *shard, uint64_t until, uint64_t start, uint64_t now);

/* Tells what has become tentative since the last time and still is. Before time goes on. */
void iso_aion_shard_tell(struct iso_aion_shard *shard);

/* Reads of versions below `limit` are final; reads below `passed` are never looked at again (where only
 * deadlines speak, `passed` is above `limit`); versions below `floor` go, but each key's newest of them. None
 * goes back. */
void iso_aion_shard_advance(struct iso_aion_shard *shard, uint64_t limit, uint64_t passed, uint64_t floor,
                            uint64_t now);
void iso_aion_shard_tick(struct iso_aion_shard *shard, uint64_t now);
void iso_aion_shard_end(struct iso_aion_shard *shard, uint64_t now); /* nothing is open any more */
void iso_aion_shard_sweep(struct iso_aion_shard *shard);             /* drops from every key what may go */

/* evict.c: keys go to a store from now on. */
struct iso_spill_options;
enum iso_status iso_aion_shard_spill_to(struct iso_aion_shard *shard, const struct iso_spill_options *options,
                                        struct iso_error *error);

/* Lets keys that were not asked for lately go to the store, until `bytes` less are in use or none can go. Keys that are
 * pinned stay, and those with reads that a version to come may change. The numbers of those that went are others'.
 * Nothing is in flight: batches applied, findings cleared. After an error the shard must not be asked any more. */
void iso_aion_shard_evict(struct iso_aion_shard *shard, uint64_t bytes);
void iso_aion_shard_pin(struct iso_aion_shard *shard, uint32_t key, bool pinned);
const struct iso_error *iso_aion_shard_failure(const struct iso_aion_shard *shard); /* status ISO_OK: none */

const struct aion_finding *iso_aion_shard_findings(const struct iso_aion_shard *shard, uint32_t *count);
void iso_aion_shard_clear(struct iso_aion_shard *shard);
const struct iso_atoms *iso_aion_shard_atoms(const struct iso_aion_shard *shard); /* of findings and keys */
iso_atom iso_aion_shard_key_atom(const struct iso_aion_shard *shard, uint32_t key);

/* Adds what this shard counts. */
void iso_aion_shard_stats(const struct iso_aion_shard *shard, struct iso_aion_stats *stats);
uint64_t iso_aion_shard_bytes(const struct iso_aion_shard *shard);
uint64_t iso_aion_shard_key_bytes(const struct iso_aion_shard *shard); /* of that, what goes with keys (evict.c) */

#endif
