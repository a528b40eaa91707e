/* Shared by the files of a shard. README.md draws it. */
#pragma once

#include "aion/shard/key_state.h"
#include "aion/memory/paging_state.h"
#include "aion/shard/pairs.h"
#include "aion/verdicts/pending_state.h"
#include "aion/reorder/reorder_state.h"
#include "aion/shard/shard.h"
#include "aion/shard/transaction_state.h"
#include "aion/structures/values.h"
#include "base/cell_key.h"
#include "base/log.h"
#include "spill/spill.h"

/* A list in the pool. */
struct aion_list {
    uint32_t references, count;
    uint32_t tail; /* more elements behind `count`: the reader's own, which others did not write */
    uint32_t size; /* of its block */
    uint32_t elements[];
};

/* Where time has come. */
struct aion_shard_time {
    uint64_t now;
    uint64_t limit, passed, floor; /* as given to iso_aion_shard_advance */
    bool ended, thorough;          /* nothing comes any more; every entry that may go goes */
};

/* Findings that the shard has to report. */
struct aion_findings {
    struct aion_finding *list;
    uint32_t count, capacity;
};

struct iso_aion_shard {
    struct iso_aion_options options;
    bool defers; /* transactions are held back (aion/levels/deferred.h) */
    struct aion_shard_time time;
    struct aion_pool pool;
    struct aion_values values;
    struct aion_keys keys;
    struct aion_colds cold;
    struct aion_transactions transactions;
    struct aion_readers readers;
    struct aion_pendings pending;
    struct aion_dues ties; /* SER: keys with readers and writers that share a cts */
    struct aion_findings findings;
    struct aion_reorder_buffer reorder;
    struct aion_overlap_count_writers overlap_count_writers;
    struct aion_paging paging;
    struct iso_aion_stats stats;
};

/* One line of the log, of a transaction of the shard. */
#define AION_LOG(shard, transaction, ...)                                                          \
    ISO_LOG(aion, &(shard)->values.atoms, (shard)->transactions.list[transaction].tid, __VA_ARGS__)

/* shard.c */
void aion_apply_part(struct iso_aion_shard *shard, const struct aion_batch *batch,
                     const struct aion_part *part);
uint32_t aion_transaction_add(struct iso_aion_shard *shard,
                              const struct aion_transaction *transaction);
void aion_transaction_drop(struct iso_aion_shard *shard, uint32_t transaction);
void aion_transaction_drop_later(struct iso_aion_shard *shard, uint32_t transaction);
void aion_readers_advance(struct iso_aion_shard *shard);
void aion_dues_push(struct aion_dues *dues, uint64_t time, uint32_t subject, uint32_t generation);
struct aion_due aion_dues_pop(struct aion_dues *dues);

static inline uint32_t aion_transaction_reference(struct iso_aion_shard *shard,
                                                  uint32_t transaction)
{
    shard->transactions.list[transaction].references++;
    return transaction;
}

/* Notes that a read stands in its key's run: the transaction stays until the watermark passes
 * it. */
static inline void aion_note_reader(struct iso_aion_shard *shard, uint64_t visible_below)
{
    shard->readers.last_visible_below = visible_below > shard->readers.last_visible_below
                                            ? visible_below
                                            : shard->readers.last_visible_below;
    shard->readers.keeps_reads = true;
}

static inline bool aion_key_is_list(const struct aion_key *key)
{
    return key->flags & ISO_KEY_LIST;
}

/* A read that no version to come can change; at SER one tick later, until ties at its cts are
 * reported. */
static inline bool aion_may_drop_read(const struct iso_aion_shard *shard, uint64_t visible_below)
{
    return shard->options.level == ISO_SER ? visible_below < shard->time.passed
                                           : visible_below <= shard->time.passed;
}

/* Commits from here on came too late for the read. Where it had a choice of moments (deferred.h),
 * `bound` is the one that it is told by, and transactions that it may rest on started before the
 * last one. */
static inline uint64_t aion_last_visible_below(const struct iso_aion_shard *shard,
                                               const struct aion_observed *observed)
{
    if (!shard->defers)
        return observed->visible_below;
    return shard->options.host.has_snapshot_boundaries ? observed->before
                                                       : aion_above(observed->before);
}

/* Whether both are one transaction: a part that came later than its writes has a number of its
 * own. */
static inline bool aion_is_same(const struct iso_aion_shard *shard, uint32_t one, uint32_t other)
{
    const struct aion_transaction *transactions = shard->transactions.list;
    if (one == other || !shard->defers || one == ISO_NONE || other == ISO_NONE)
        return one == other;
    return transactions[one].tid == transactions[other].tid &&
           transactions[one].cts == transactions[other].cts;
}

/* key.c */
struct aion_cold *aion_cold_of(struct iso_aion_shard *shard, struct aion_key *key);
/* `assumed`: a read reported it. */
void aion_set_initial(struct iso_aion_shard *shard, uint32_t key, const struct iso_atoms *atoms,
                      iso_atom value, bool assumed);
void aion_key_free(struct iso_aion_shard *shard, uint32_t number); /* its runs are empty */
void aion_keys_shrink(struct iso_aion_shard *shard); /* if much of the table is free */
static inline uint64_t aion_key_digest(const struct iso_aion_shard *shard,
                                       const struct aion_key *key)
{
    return aion_atom_digest(&shard->values.atoms, key->atom);
}

/* paging.c */
void aion_page_out(struct iso_aion_shard *shard, struct aion_key *key);
void aion_pages_trim(struct iso_aion_shard *shard, struct aion_key *key);
void aion_page_in_all(struct iso_aion_shard *shard, struct aion_key *key);
bool aion_reads_paged(struct iso_aion_shard *shard, const struct aion_key *key,
                      uint64_t visible_below, const struct iso_atoms *atoms, iso_atom value);

/* Whoever looks at versions from below `time` on: what is in the spill file comes back first. */
static inline void aion_page_in(struct iso_aion_shard *shard, struct aion_key *key, uint64_t time)
{
    if (key->flags & AION_KEY_PAGED &&
        aion_chunks_get(&shard->pool, &key->versions, aion_chunks_begin())->time >= time)
        aion_page_in_all(shard, key);
}

/* Fetches what versions of a register name, to be written or let go soon; `leaving`: when that is
 * there, what leads on from it. */
ISO_FETCH aion_fetch_versions(const struct iso_aion_shard *shard, const struct aion_entry *versions,
                              uint32_t count, bool leaving)
{
    for (; count; count--, versions++) {
        if (leaving) {
            aion_values_fetch_leave(&shard->values, versions->value);
        } else {
            aion_values_fetch_entry(&shard->values, versions->value);
            __builtin_prefetch(&shard->transactions.list[versions->transaction], 1);
        }
    }
}

/* evict.c */
void aion_entry_forget(struct iso_aion_shard *shard, const struct aion_key *key,
                       const struct aion_entry *version);
uint64_t aion_store_bytes(const struct iso_aion_shard *shard); /* in memory */
void aion_add_spilt(const struct iso_aion_shard *shard, struct iso_aion_spilt *spilt);

/* reorder_buffer.c */
void aion_reorder_buffer_release(struct aion_reorder_buffer *waiting);
uint64_t aion_reorder_buffer_bytes(const struct aion_reorder_buffer *waiting);

/* list.c: lists; the frontier of a key, be it a list or a register */
uint32_t aion_list_new(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                       const iso_atom *elements, uint32_t count, uint32_t tail);
uint32_t aion_value_reference(struct iso_aion_shard *shard, const struct aion_key *key,
                              uint32_t value);
void aion_value_drop(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t value);
void aion_list_fold(struct iso_aion_shard *shard, struct aion_key *key, struct aion_entry *version);
/* The value that a read of a register had to see. */
uint32_t aion_expected(const struct iso_aion_shard *shard, const struct aion_key *key,
                       const struct aion_observed *observed, uint32_t transaction);
enum aion_state aion_compare(struct iso_aion_shard *shard, const struct aion_key *key,
                             const struct aion_observed *observed, uint32_t transaction);
struct aion_entry *aion_visible(const struct iso_aion_shard *shard, const struct aion_key *key,
                                uint64_t visible_below, uint32_t own);
/* The version that a read had to see; `own`: not that transaction's. */
const struct aion_entry *aion_required(const struct iso_aion_shard *shard,
                                       const struct aion_key *key,
                                       const struct aion_observed *observed, uint32_t own);
struct aion_words aion_expected_words(struct iso_aion_shard *shard, const struct aion_key *key,
                                      const struct aion_observed *observed, uint32_t own);
/* How many elements a list has, and what was read of it. */
uint64_t aion_count_elements(const struct iso_aion_shard *shard, const struct aion_key *key,
                             const struct aion_observed *observed);
struct aion_words aion_value_words(struct iso_aion_shard *shard, const struct aion_key *key,
                                   uint32_t value);

/* read.c */
void aion_read(struct iso_aion_shard *shard, const struct aion_batch *batch,
               const struct aion_part *part, const struct aion_step *step, uint32_t transaction);
enum aion_state aion_judge(struct iso_aion_shard *shard, const struct aion_key *key,
                           const struct aion_observed *observed, uint32_t transaction);
void aion_recheck_version(struct iso_aion_shard *shard, struct aion_key *key,
                          const struct aion_entry *version, uint64_t successor);
void aion_recheck_pending(struct iso_aion_shard *shard, struct aion_key *key, uint32_t cause);
/* Its initial value has changed. */
void aion_recheck_initial(struct iso_aion_shard *shard, struct aion_key *key);
/* Why a read that waits does: for an outcome (false), or for what `*value`, unknown, stands for. */
bool aion_is_unknown_value(const struct iso_aion_shard *shard, const struct aion_key *key,
                           const struct aion_observed *observed, uint32_t transaction,
                           enum iso_unjudged *reason, bool *waits);

/* write.c */
/* Behind all that stand before it in the order of versions, or at its position. */
struct aion_cursor aion_cursor_of_version(const struct iso_aion_shard *shard,
                                          const struct aion_key *key,
                                          const struct aion_entry *version);
void aion_version(struct iso_aion_shard *shard, const struct aion_batch *batch,
                  const struct aion_part *part, const struct aion_step *step, uint32_t transaction);
void aion_nonversion(struct iso_aion_shard *shard, const struct aion_batch *batch,
                     const struct aion_step *step, uint32_t transaction);
void aion_forget(struct iso_aion_shard *shard, const struct aion_batch *batch,
                 const struct aion_part *part);

/* overlap_count.c: keys with more overlapping writers than are listed */
bool aion_is_crowded(const struct iso_aion_shard *shard, const struct aion_key *key);
bool aion_keeps_overlap_count(const struct iso_aion_shard *shard,
                              const struct aion_key *key); /* it must stay in memory */
void aion_note_overlap_count(struct iso_aion_shard *shard, struct aion_key *key, uint32_t wasted);
void aion_note_unlisted(struct iso_aion_shard *shard, struct aion_key *key);
struct aion_pairs aion_count_pairs(struct iso_aion_shard *shard, struct aion_key *key,
                                   const struct aion_entry *version);
void aion_overlap_count_add(struct iso_aion_shard *shard, const struct aion_key *key,
                            const struct aion_entry *version);
void aion_overlap_count_free(struct aion_overlap_count *overlap_count);
void aion_overlap_counts_release(struct iso_aion_shard *shard);

struct aion_commits aion_window_of(const struct iso_aion_shard *shard, const struct aion_key *key,
                                   uint64_t cts);
bool aion_is_doubted(const struct iso_aion_shard *shard, const struct aion_entry *version);

/* throttled.c: reads that are judged again too often wait until they are final */
enum { AION_MANY = 64, AION_RECHECKS = 16, AION_TENTATIVES = 8 };
/* More reads than these are not looked at again one by one each time (throttled.c). */
static inline uint32_t aion_many(const struct iso_aion_shard *shard)
{
    return shard->options.forced.throttles_soon ? 1 : AION_MANY;
}
void aion_note_rechecks(struct iso_aion_shard *shard, struct aion_key *key, struct aion_cursor end,
                        uint32_t scanned);
void aion_trim_idle(struct iso_aion_shard *shard, struct aion_key *key);
static inline bool aion_is_stale(const struct iso_aion_shard *shard,
                                 const struct aion_pending *subject)
{
    return subject->throttled || shard->cold.list[shard->keys.list[subject->key].cold].stale;
}

/* pending.c */
/* Judges a stale pending verdict again, so that it says how its reads are now. */
uint32_t aion_pending_new(struct iso_aion_shard *shard, uint32_t key, uint32_t transaction,
                          const struct aion_observed *observed);
void aion_pending_add(struct iso_aion_shard *shard, uint32_t number,
                      const struct aion_observed *observed);
/* All observed reads are there. */
void aion_pending_start(struct iso_aion_shard *shard, uint32_t number, uint32_t cause);
void aion_pending_age(struct iso_aion_shard *shard, const struct aion_key *key);
void aion_pending_count_waiting(const struct iso_aion_shard *shard, uint64_t visible_below,
                                struct iso_aion_waiting *waiting);
/* reorder_buffer.c */
void aion_reorder_count_waiting(const struct iso_aion_shard *shard,
                                struct iso_aion_waiting *waiting);
/* pending.c */
bool aion_pending_end(struct iso_aion_shard *shard,
                      uint32_t number); /* one right read: gone; else false */
void aion_pending_set(struct iso_aion_shard *shard, uint32_t number, uint32_t operation,
                      enum aion_state state, uint32_t cause);
void aion_pending_advance(struct iso_aion_shard *shard);
void aion_pending_tick(struct iso_aion_shard *shard);

/* A read of a cell: whether that of its row is wrong has changed; `observed` is one of the pending
 * verdict's. */
void aion_pending_excuse(struct iso_aion_shard *shard, uint32_t number,
                         struct aion_observed *observed, bool row_is_wrong, uint32_t cause);
/* Makes a pending verdict final if it waited for something that may be there now. */
void aion_pending_settle(struct iso_aion_shard *shard, uint32_t number);

/* row.c: rows and their cells */
bool aion_is_cell(const struct iso_atoms *atoms, iso_atom key, struct iso_json_text *row,
                  char buffer[ISO_ATOM_TEXT_MAX]);
void aion_row_join(struct iso_aion_shard *shard, uint32_t number); /* a new pending verdict */
/* One that goes; true: it is a row's, and some are left of its cells. */
bool aion_row_leave(struct iso_aion_shard *shard, uint32_t number);
void aion_row_note(struct iso_aion_shard *shard, uint32_t number,
                   struct aion_observed *observed); /* one more read */
void aion_row_changed(struct iso_aion_shard *shard, uint32_t number,
                      uint32_t cause); /* the state of some read of it */
void aion_row_doubt(struct iso_aion_shard *shard,
                    uint32_t number); /* what it waits for was forgotten */
void aion_row_gone(struct iso_aion_shard *shard, uint32_t row); /* the row's own pending verdict */
uint32_t aion_row_before(const struct iso_aion_shard *shard,
                         uint32_t number); /* of a cell: the row's; ISO_NONE: none */
bool aion_row_waits(struct iso_aion_shard *shard,
                    uint32_t number); /* whether a wrong cell is a finding is not known */
void aion_rows_archive(struct iso_archive *archive, struct iso_aion_shard *shard);
void aion_rows_validate(const struct iso_aion_shard *shard);

/* value_writers.c */
struct aion_value_writers { /* of the value that was read, as transactions, or ISO_NONE */
    uint32_t aborted, intermediate;
    uint32_t future;  /* the first such version */
    uint32_t visible; /* the last such version */
    uint32_t unknown;
    bool initial;
};
void aion_value_writers_add(struct iso_aion_shard *shard, const struct aion_key *key,
                            const struct aion_entry *write, bool is_version);
void aion_value_writers_drop(struct iso_aion_shard *shard, const struct aion_key *key,
                             const struct aion_entry *write, bool is_version);
void aion_find_value_writers(struct iso_aion_shard *shard, struct aion_key *key, uint32_t reader,
                             const struct aion_observed *observed,
                             struct aion_value_writers *found);

/* kind.c */
/* Explains a violation that is not listed, of a register. */
void aion_explain_unlisted(struct iso_aion_shard *shard, const struct aion_pending *subject,
                           const struct aion_observed *observed, struct aion_finding *finding);
void aion_explain(struct iso_aion_shard *shard, const struct aion_pending *subject,
                  const struct aion_observed *observed, struct aion_finding *finding);

/* tie.c: SER, transactions that share a cts */
void aion_tie_note(struct iso_aion_shard *shard, const struct aion_key *key, uint64_t time);
void aion_ties_advance(struct iso_aion_shard *shard);

/* finding.c */
struct aion_finding *aion_finding_new(struct iso_aion_shard *shard, enum aion_finding_what what,
                                      uint32_t key);
/* Whether a violation more of the key is reported in full: it takes `weight` of the list then. */
bool aion_list(struct iso_aion_shard *shard, struct aion_key *key, uint32_t weight);
bool aion_list_is_full(const struct iso_aion_shard *shard, const struct aion_key *key);
struct aion_party aion_party_of(struct iso_aion_shard *shard,
                                uint32_t transaction); /* ISO_NONE: nobody */

/* trim.c */
void aion_trim(struct iso_aion_shard *shard, struct aion_key *key);
void aion_trim_reads(struct iso_aion_shard *shard, struct aion_key *key);
void aion_trim_reading(struct iso_aion_shard *shard);
void aion_drop_read_values(struct iso_aion_shard *shard, struct aion_key *key, uint32_t count);

/* Empties the run of reads, of one chunk, if no version to come can change the latest of them:
 * asked of the key's line only. */
static inline void aion_drop_reads(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (!key->reads.count || !aion_may_drop_read(shard, key->last_read) ||
        aion_chunks_chunks(&key->reads) > 1)
        return;
    if (key->flags & AION_KEY_ENTRIES)
        aion_drop_read_values(shard, key, key->reads.count);
    shard->stats.open_reads -= key->reads.count;
    key->reads.count = 0;
    key->last_read = 0;
    key->flags &= ~(AION_KEY_OWN | AION_KEY_ENTRIES);
}
void aion_sweep_some(struct iso_aion_shard *shard);
