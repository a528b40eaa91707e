/* A shard of the online engine: everything that is local to a key, for the keys whose hash falls to
 * it.
 *
 * In go batches of *parts* (what one transaction did to this shard's keys, told apart into external
 * reads, versions and non-version writes by the front), watermarks and the passing of time; out
 * come *findings*. A shard knows no other shard and no session, and reads nothing but its
 * arguments, so that it can run on a thread of its own, or elsewhere. Parts may wait in it until it
 * is their turn (reorder_buffer.c). Its state is columns and 32-bit numbers without pointers among
 * them (pool.h), to be saved as bytes and, key by key, split or merged by hash.
 *
 * Threads: one at a time. A batch borrows the atoms of a block; findings belong to the shard until
 * cleared.
 */
#pragma once

#include "aion/aion.h"
#include "aion/front/batch.h"
#include "aion/shard/pairs.h"

struct iso_aion_shard;

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

enum aion_finding_what {
    AION_FOUND_EXT,
    AION_FOUND_CONFLICT,
    AION_FOUND_READER,
    AION_FOUND_WRITER
};

struct aion_finding {
    enum aion_finding_what what; /* READER, WRITER: of a key at a shared cts (SER) */
    enum iso_aion_state state;
    enum iso_violation_kind kind;
    bool by_deadline, assumed, is_first;
    uint32_t key, operation;
    uint64_t visible_below;     /* EXT: the read had to see what was committed below it */
    struct aion_pairs unlisted; /* count 0: it is listed */
    struct aion_party transaction, other, writer_expected, writer_actual, cause;
    struct aion_words expected, actual;
};

/* A shard heeds these of the engine's options: the level, the times of verdicts, how much is
 * listed, and what it asks of values and of pairs. */
struct iso_aion_shard *iso_aion_shard_new(const struct iso_aion_options *options);
void iso_aion_shard_free(struct iso_aion_shard *shard);

/* Initial values, before anything else: of every register, and of one key. */
void iso_aion_shard_initial(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                            iso_atom value);
void iso_aion_shard_initial_key(struct iso_aion_shard *shard, uint32_t key,
                                const struct iso_atoms *atoms, iso_atom value, bool is_append);

/* As iso_aion_shard_initial_key, of a register, at any time: its open reads are judged again. */
void iso_aion_shard_set_initial(struct iso_aion_shard *shard, uint32_t key,
                                const struct iso_atoms *atoms, iso_atom value);

/* The number of a key, new or known; `digest` is that of its text. A number is good as long as the
 * key is in memory: to the next iso_aion_shard_evict, or for good. */
uint32_t iso_aion_shard_key(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                            iso_atom key, uint64_t digest);

/* Many keys looked up in this order, each fetched ahead. */
struct aion_wanted {
    uint64_t digest;
    uint32_t hash; /* iso_atom_hash */
    iso_atom name;
    uint32_t key;    /* of the block */
    uint32_t number; /* what is looked for */
    uint8_t use;     /* and what it is known to be used as, ISO_KEY_ bits */
};
void iso_aion_shard_keys(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                         struct aion_wanted *wanted, uint32_t count);

uint8_t iso_aion_shard_use(const struct iso_aion_shard *shard, uint32_t key);
void iso_aion_shard_set_use(struct iso_aion_shard *shard, uint32_t key, uint8_t use);

/* Parts in an order: as they stand in a batch, or, if there is none, as it is their turn. */
struct aion_march {
    const struct aion_batch *batch;
    const struct aion_reorder_page *pages;
    const struct aion_turn *turns;
    uint32_t count, ahead;
};
void iso_aion_shard_apply(struct iso_aion_shard *shard, struct aion_march march);

/* As iso_aion_shard_apply, in two steps: parts of committed transactions wait in the shard, all
 * others are applied at once; then those with cts <= `until` go, in the order of cts, and those
 * that started at or below `start`. The shard may take the batch's columns and leave others in
 * their place; what is in it then is nobody's. */
void iso_aion_shard_keep(struct iso_aion_shard *shard, struct aion_batch *batch);
void iso_aion_shard_release(struct iso_aion_shard *shard, uint64_t until, uint64_t start,
                            uint64_t now);

/* Tells what has become tentative since the last time and still is. Before time goes on. */
void iso_aion_shard_emit(struct iso_aion_shard *shard);

/* Reads of versions below `limit` are final; reads below `passed` are never looked at again (where
 * only deadlines speak, `passed` is above `limit`); versions below `floor` go, but each key's
 * newest of them. None goes back. */
void iso_aion_shard_advance(struct iso_aion_shard *shard, uint64_t limit, uint64_t passed,
                            uint64_t floor, uint64_t now);
void iso_aion_shard_tick(struct iso_aion_shard *shard, uint64_t now);
void iso_aion_shard_end(struct iso_aion_shard *shard, uint64_t now); /* nothing is open any more */
void iso_aion_shard_sweep(struct iso_aion_shard *shard); /* drops from every key what may go */

/* overlap_count.c: a tid is contradicted, which `is_doubted` does not say yet. Tells of how many
 * pairs, counted and not listed, it takes the certainty, key by key. */
typedef void (*aion_doubted_pairs)(void *context, const struct iso_atoms *atoms, iso_atom key,
                                   uint64_t pairs);
void iso_aion_shard_doubt(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom tid,
                          aion_doubted_pairs emit, void *context);

/* evict.c: keys go to a spill file from now on. */
struct iso_spill_options;
enum iso_status iso_aion_shard_spill_to(struct iso_aion_shard *shard,
                                        const struct iso_spill_options *options,
                                        struct iso_error *error);

/* Lets keys that were not asked for lately go to the spill file, until `bytes` less are in use or
 * none can go. Keys that are pinned stay, and those with reads that a version to come may change.
 * The numbers of those that went are others'. Nothing is in flight: batches applied, findings
 * cleared. After an error the shard must not be asked any more. */
void iso_aion_shard_evict(struct iso_aion_shard *shard, uint64_t bytes);
void iso_aion_shard_pin(struct iso_aion_shard *shard, uint32_t key, bool pinned);
/* status ISO_OK: none */
const struct iso_error *iso_aion_shard_failure(const struct iso_aion_shard *shard);

/* finding.c */
const struct aion_finding *iso_aion_shard_findings(const struct iso_aion_shard *shard,
                                                   uint32_t *count);
void iso_aion_shard_clear(struct iso_aion_shard *shard);
/* shard.c: of findings and keys */
const struct iso_atoms *iso_aion_shard_atoms(const struct iso_aion_shard *shard);
iso_atom iso_aion_shard_key_atom(const struct iso_aion_shard *shard, uint32_t key);

/* key.c: adds the reads that wait where `bound` has been reached. */
void iso_aion_shard_count_waiting(const struct iso_aion_shard *shard, uint64_t visible_below,
                                  struct iso_aion_waiting *waiting);

/* shard_validate.c: asserts that the shard is whole; nothing is in flight. How many entries that
 * looks at. */
void aion_shard_validate(const struct iso_aion_shard *shard);
uint64_t aion_shard_size(const struct iso_aion_shard *shard);

/* shard.c: adds what this shard counts. */
void iso_aion_shard_stats(const struct iso_aion_shard *shard, struct iso_aion_stats *stats);
uint64_t iso_aion_shard_bytes(const struct iso_aion_shard *shard);
/* evict.c: of that, what goes with keys */
uint64_t iso_aion_shard_key_bytes(const struct iso_aion_shard *shard);
