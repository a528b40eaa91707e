/* What the files of this module share: bounds, event streams, the state of keys, a shard.
 *
 * Bounds. "Visible up to ots" is written as the exclusive bound ots + 1, so that LOCK ("just below
 * cts") is the bound cts, and a version is visible iff its cts < bound. Bounds of operations are
 * compared where the axioms compare their ots; they never overflow, since UINT64_MAX is no
 * timestamp.
 *
 * Shards. A shard is one thread's: it sweeps either a *slice* of time, on all keys, or all of time
 * on its *part* of the keys. It alone touches its verdict and the state of its keys; what lies in
 * one cache line belongs to one shard.
 */
#pragma once

#include "base/log.h"
#include "base/memory.h"
#include "chronos/chronos.h"

/* Events of one kind in time order; `padding` more stand behind the last, so that looking ahead
 * needs no test. */
struct chronos_events {
    uint64_t *time;        /* reads: bounds; commits: cts. UINT64_MAX behind the last */
    uint32_t *transaction; /* 0 behind the last */
    uint32_t count;
};
enum { CHRONOS_PADDING = 32 };

/* The sweep's state of a key: half a cache line. */
struct chronos_key {
    uint32_t value;     /* frontier; a list: how many elements it has */
    uint32_t writer;    /* of the frontier; ISO_NONE: initial */
    uint32_t accessor;  /* the transaction that read or wrote the key last ... */
    uint32_t last;      /* ... and the value it read or wrote */
    uint32_t int_found; /* the transaction with an INT violation here, if any */
    uint32_t contested; /* its number, from 1, among the keys two writers of which may overlap (SI);
                           0: not among them */
    uint64_t judged_cts; /* the latest commit of a writer that NOCONFLICT judges; 0: none */
};

/* A list key's frontier. Versions only append, so every earlier version is a prefix of
 * `elements`. */
struct chronos_list {
    iso_atom *elements;
    uint32_t count, capacity;
    uint32_t initial; /* how many of them are the initial list */
};

/* The version before the frontier, where the frontier's own writer may still have to look past
 * it. */
struct chronos_previous {
    uint32_t value, writer;
};

/* A shard's verdict, no cache line of which is another's. */
struct chronos_verdict {
    struct iso_verdict verdict;
    char padding[128];
};

/* Keys two writers of which may overlap. */
struct chronos_contested {
    uint32_t *keys;
    uint32_t count, capacity;
};

struct chronos_suspect;

/* A part's suspects after its sweep; `has_cells`: some of them are cells of rows. */
struct chronos_swept {
    struct chronos_suspect *suspects;
    uint32_t count, capacity;
    bool has_cells;
};

/* One check; read only while shards run, but for the elements of key columns that are a shard's
 * own. */
struct chronos {
    const struct iso_history *history;
    const struct iso_check_options *options;
    bool si;                        /* reads look at the start, not at the commit */
    bool overlaps;                  /* writers of a key may overlap: NOCONFLICT is not judged */
    bool each_statement;            /* only what is read behind own writes is internal */
    unsigned shards, slices, parts; /* shards = slices * parts, and one of these is 1 */
    struct chronos_events reads, commits;
    uint32_t most_operations; /* of a transaction */
    bool own_times; /* some committed transaction has operations with times of their own */
    bool inverted;  /* SI: some transaction commits before it reads, or may */
    struct chronos_key *keys; /* on a cache line's start; slices have their own, and these are as
                                 before the first event */
    void *keys_memory;
    struct chronos_list *lists;         /* by key; NULL if no key is a list */
    iso_atom *initial;                  /* by key; NULL if no key has an initial value of its own */
    struct chronos_previous *previous;  /* by key; NULL unless `inverted` */
    uint32_t *first_snapshot_violation; /* by transaction; NULL if there is none */
    struct chronos_verdict *verdicts;   /* by shard */
    struct chronos_contested *contested; /* by shard: what its sweep found */
    struct chronos_swept *swept;         /* by shard, of parts: the same */
    struct chronos_gaps *gaps;           /* `history` is a mapped one; NULL: it is as given */
    const uint64_t *log_positions;       /* then: cts as it was given */
    struct chronos_index *index;         /* of all versions, for levels that no sweep judges */
    uint32_t *position_in_session;       /* the same; by transaction, into `sessions.order` */
};

/* The verdict on a suspect. */
enum chronos_doubt {
    CHRONOS_WRONG,   /* it is wrong, unless a transaction of unknown outcome excuses it */
    CHRONOS_TIED,    /* unjudged: its writer and what comes after the read have one cts */
    CHRONOS_REPEATED /* unjudged: the value was written several times, and one of its writers would
                        do */
};

/* An external read that did not return what it should have: EXT, or unjudged. */
struct chronos_suspect {
    uint32_t transaction, operation;
    uint32_t expected; /* value; a list: how many elements of the key's list */
    uint32_t writer;   /* of the expected version */
    uint32_t prefix;   /* a list: how many of the elements that were read are others' */
    /* a version is visible, and none of the future, below it; 0: that of the read */
    uint64_t bound;
    uint64_t look; /* with `bound`: the bound at which another value was expected */
    enum chronos_doubt doubt;
    bool by_messages; /* these are the moments between which it could choose, as given: */
    uint64_t first_moment, last_moment;
};

/* The transaction at hand read a key that is no cell's wrongly, at this moment. */
struct chronos_wrong {
    uint32_t key;
    uint64_t moment;
};

/* An external read that is judged at a time of its own. */
struct chronos_extra {
    uint32_t transaction, operation, prefix;
};

struct chronos_shard {
    struct chronos *check;
    const struct iso_history *history;
    struct iso_verdict *verdict;
    unsigned index, part;
    uint32_t first_read, end_read, first_commit, end_commit; /* the slice */
    struct chronos_key *keys;
    void *keys_memory; /* of a slice; NULL: the check's */
    uint32_t *picked;  /* room for the operations of one transaction */
    uint64_t *sorted;  /* the same, as key << 32 | operation */
    bool deferring;    /* external reads become extras instead of being judged */

    struct chronos_extra *extras;
    uint64_t *extra_time; /* bounds, in the end sorted */
    uint32_t *extra_order;
    uint32_t extra_count, extra_capacity;

    struct chronos_contested contested;

    struct chronos_suspect *suspects;
    uint32_t suspect_count, suspect_capacity;
    struct chronos_wrong *wrong; /* by key */
    uint32_t wrong_count, wrong_capacity;
};

/* ---- times ---- */

static inline bool chronos_is_lock(uint8_t kind)
{
    return (kind & (ISO_OPERATION_LOCK | ISO_OPERATION_OTS)) == ISO_OPERATION_LOCK;
}

/* The operation's ots, as an exclusive bound. */
static inline uint64_t chronos_bound(const struct iso_history *history, uint32_t transaction,
                                     uint32_t operation)
{
    uint8_t kind = history->ops.kind[operation], flags = history->txns.flags[transaction];
    if (kind & ISO_OPERATION_OTS)
        return history->ops.ots[operation] + 1;
    if (kind & ISO_OPERATION_LOCK)
        return history->txns.cts[transaction] + (flags & ISO_POINT ? 1 : 0);
    return history->txns.sts[transaction] + 1; /* at SER sts may be missing: 0 */
}

/* The bound just below the transaction's first write of the key, which it writes. */
static inline uint64_t chronos_first_write_bound(const struct iso_history *history,
                                                 uint32_t transaction, uint32_t key)
{
    uint32_t o = history->txns.first_op[transaction];
    if (!(history->txns.flags[transaction] & ISO_OWN_TIMES))
        return history->txns.sts[transaction] + 1;
    while (history->ops.key[o] != key || !iso_kind_writes(history->ops.kind[o]))
        o++;
    return chronos_bound(history, transaction, o);
}

/* Where the transaction's reads look, but for operations with a time of their own at SI. */
static inline uint64_t chronos_read_bound(const struct chronos *check, uint32_t transaction)
{
    const struct iso_history *history = check->history;
    if (check->si)
        return history->txns.sts[transaction] + 1;
    return history->txns.cts[transaction] + (history->txns.flags[transaction] & ISO_POINT ? 1 : 0);
}

/* Where this very read looks. */
static inline uint64_t chronos_visible_bound(const struct chronos *check, uint32_t transaction,
                                             uint32_t operation)
{
    return check->si ? chronos_bound(check->history, transaction, operation)
                     : chronos_read_bound(check, transaction);
}

/* Levels at which a read has a choice of moments. */
static inline bool chronos_has_moments(enum iso_level level)
{
    return level == ISO_RC || level == ISO_STALE_READS;
}

/* Levels that ask for no more than that some moments, or writers, suit: they have an index of all
 * versions. */
static inline bool chronos_uses_index(enum iso_level level)
{
    return level != ISO_SI && level != ISO_SER && level != ISO_PC;
}

/* ---- shards ---- */

/* Fibonacci hashing spreads neighbours evenly; the two keys of a cache line stay together. */
static inline bool chronos_owns(uint32_t key, unsigned part, unsigned parts)
{
    return (uint64_t)((key >> 1) * 0x9e3779b1u) * parts >> 32 == part;
}

/* Decides between slices and parts; sets a shard's slice and brings its keys to where they stand at
 * its start. */
void chronos_choose_shards(struct chronos *check);
void chronos_slice_init(struct chronos_shard *shard);

/* The operations of a transaction on keys of this shard, or only those that write, to
 * `shard->sorted`, by key and in their own order. Returns how many. */
uint32_t chronos_sort_operations(struct chronos_shard *shard, uint32_t transaction,
                                 bool only_writes);
static inline uint32_t chronos_key_of(uint64_t sorted)
{
    return (uint32_t)(sorted >> 32);
}
static inline uint32_t chronos_operation_of(uint64_t sorted)
{
    return (uint32_t)sorted;
}
void chronos_sort_numbers(uint64_t *numbers, uint32_t count);

/* ---- parts ---- */

void chronos_events_init(struct chronos *check);
void chronos_events_release(struct chronos *check);
void chronos_extras_collect(struct chronos_shard *shard);
void chronos_extras_release(struct chronos_shard *shard);
void chronos_defer(struct chronos_shard *shard, uint32_t transaction, uint32_t operation,
                   uint32_t prefix);

void chronos_keys_init(struct chronos *check);
void chronos_keys_release(struct chronos *check);
struct chronos_key *chronos_keys_allocate(uint32_t count, void **memory); /* iso_free(memory) */
iso_atom chronos_initial_value(const struct chronos *check, uint32_t key);

void chronos_check_timestamps(struct chronos *check, struct iso_verdict *verdict, uint32_t first,
                              uint32_t end);
void chronos_check_shared_cts(struct chronos *check, struct iso_verdict *verdict, unsigned part,
                              unsigned parts);
void chronos_check_sessions(struct chronos *check, struct iso_verdict *verdict, unsigned part);

void chronos_sweep(struct chronos_shard *shard);

/* rc and stale, of the committed ones among transactions `first` to `end` - 1. */
void chronos_judge_moments(struct chronos_shard *shard, uint32_t first, uint32_t end);

/* ryw, mr, ra, cc and psi: SESSION and EXT of all. */
void chronos_judge_guarantees(struct chronos_shard *shard);

/* The external reads of one transaction, deferred, in the order of its operations. */
void chronos_sort_extras(struct chronos_shard *shard);
void chronos_add_session(struct iso_verdict *verdict, uint32_t transaction, uint32_t other);

/* Judges operations of one transaction that stand sorted, whatever they are; or all of this shard's
 * keys. */
void chronos_judge_runs(struct chronos_shard *shard, uint32_t transaction, const uint64_t *sorted,
                        uint32_t count);
void chronos_judge_transaction(struct chronos_shard *shard, uint32_t transaction);
void chronos_judge_register_read(struct chronos_shard *shard, uint32_t transaction,
                                 uint32_t operation);
void chronos_judge_list_read(struct chronos_shard *shard, uint32_t transaction, uint32_t operation,
                             uint32_t prefix);
void chronos_add_int(struct chronos_shard *shard, uint32_t transaction, uint32_t operation,
                     uint32_t last);

/* A list read ends with the transaction's `own` appends before it: false if not, else how many
 * elements stand before them. */
bool chronos_list_prefix(const struct iso_history *history, uint32_t operation, const iso_atom *own,
                         uint32_t own_count, uint32_t *prefix);

/* A list read should have returned this: a prefix, and the transaction's own appends. */
struct iso_value chronos_expected_list(struct chronos_shard *shard, const iso_atom *prefix,
                                       uint32_t prefix_count, const iso_atom *own,
                                       uint32_t own_count);

/* Commits that need care: several at one cts, or by transactions that commit before they read. */
void chronos_commit_group(struct chronos_shard *shard, const uint32_t *transactions,
                          uint32_t count);
void chronos_append(struct chronos_list *list, iso_atom element);

/* NOCONFLICT, on the keys that any shard's sweep found contested, when all of them are done:
 * whatever the shards of the sweep were, here each has a part of the keys. */
void chronos_contest(struct chronos_shard *shard, uint32_t key);
void chronos_judge_conflicts(struct chronos_shard *shard);

void chronos_add_suspect(struct chronos_shard *shard, const struct chronos_suspect *suspect);
void chronos_explain(struct chronos_shard *shard);
bool chronos_suspects_cells(const struct chronos_shard *shard);
