/* Histories with known verdicts: a simulated multi-version store.
 *
 * Sessions take turns to begin and to commit transactions, so that about half of them are open at
 * any time. A written key is locked from begin to commit; a write whose key another open
 * transaction has locked moves to another key or, after a few tries, becomes a read: no two writers
 * overlap. At si all reads come from the snapshot at the start; at ser from what is there at the
 * commit. What the other level makes of such a history is known too: a read is stale there iff its
 * key changed between start and commit, which the store sees when it commits. Values are unique.
 * Lists move on to a fresh key when they are full, so that reads stay short.
 *
 * At rc a transaction is two statements: the first half of its operations reads at its start, the
 * second at its commit.
 *
 * At psi and cc the store is replicated (sites.h), and transactions have no timestamps, nor have
 * they in workloads of ranges: what is known of such a history, and of any other, is at which
 * levels some order explains it (iso_generated_any_order).
 *
 * Anomalies are planted as small scripts of transactions on keys and sessions of their own, so that
 * each adds exactly the findings that its script names, at both levels (anomaly.h).
 *
 * With `tables`, operations are on rows with columns instead of keys: reads of a row, queries by a
 * range of keys or by a condition, aggregates; writes insert a row that is not there, and change
 * some columns of one that is, or delete it. Column 1, 4, ... has few values, so that an equality
 * finds some rows; 2, 5, ... unique ones; 3, 6, ... amounts, some of them NULL. Then the other
 * level's verdict comes from asking again, at the moment at which that level looks (table.h).
 * Transactions of unknown outcome change unique values only, so that what one of them may explain
 * is what it wrote: who reads it, and each aggregate and bag that has it, is not judged, at the
 * store's own level; at the other one it is left open.
 *
 * The history leaves in blocks while it is made; memory depends on keys and sessions, not on
 * transactions. The same options give the same bytes on every machine: integers only, one generator
 * of random numbers (base/rng.h). Threads: one at a time.
 */
#pragma once

#include "generate/draw.h"
#include "generate/plant.h"
#include "generate/sites.h"
#include "history/history.h"
#include "verdict/verdict.h"

/* In which order transactions leave. RANDOM: each waits among some thousands that leave in random
 * order. */
enum iso_generate_order { ISO_ORDER_COMMIT, ISO_ORDER_START, ISO_ORDER_RANDOM };

/* Which transactions there are. RANGE_: each does one thing to rows of a table, and nobody has
 * timestamps: queries of a range of keys, insertions, deletions, reads and updates of a row. B: a
 * fifth each; RQH: half of them queries; IDH: 35 of 100 insertions, as many deletions. */
enum iso_workload {
    ISO_WORKLOAD_MIXED,
    ISO_WORKLOAD_RANGE_B,
    ISO_WORKLOAD_RANGE_RQH,
    ISO_WORKLOAD_RANGE_IDH
};

struct iso_generate_options {
    enum iso_workload workload;
    uint32_t sessions, transactions, operations,
        keys; /* each at least 1; planted ones come on top */
    uint64_t read_share, aborted_share, unknown_share; /* parts of 2^32 */
    enum iso_distribution distribution;
    enum iso_level level; /* ISO_SI, ISO_SER, ISO_RC, ISO_PSI or ISO_CC */
    uint32_t sites;       /* at psi and cc: 1 to ISO_GENERATE_SITES ... */
    uint32_t behind; /* ... each of which lacks at most so many commits of the others, at least 1 */
    enum iso_generate_order order;
    bool lists;
    uint32_t tables;  /* 0: keys with one value each; else `keys` are rows of so many tables */
    uint32_t columns; /* of each, 1 to 30 */
    uint32_t span;    /* keys that a range covers */
    bool texts;       /* every third column, the first one first, has texts */
    uint64_t range_share, condition_share, aggregate_share,
        bag_share;         /* of reads; the rest reads one row. Parts of 2^32 */
    uint64_t delete_share; /* of writes */
    uint64_t seed;
    const struct iso_plant *plants;
    uint32_t plant_count;
};

/* What a checker must find, at one level. Of tables with transactions of unknown outcome only at
 * the store's own, since at the other one they may explain more than what was read of them
 * (iso_generate_knows). */
struct iso_expectation {
    uint64_t counts[ISO_AXIOMS];
    uint64_t reads_unjudged;
    /* Those of `counts` that reads do not show: rows that a query lacks or has too much,
     * aggregates. Each once for a transaction and a key. */
    uint64_t of_queries;
};

struct iso_generated {
    uint64_t committed, aborted, unknown, operations;
    struct iso_expectation levels[2]; /* ISO_SI, ISO_SER: by timestamps */
    struct iso_planted *planted;      /* in the order of the run */
    uint32_t planted_count, planted_capacity;
};

/* Takes a block of transactions, unfinished; false ends the run. */
typedef bool iso_generate_sink(void *context, const struct iso_history *block);

/* Runs the store. `generated` is filled in (also if the sink ended the run) and is to be
 * released. */
void iso_generate(const struct iso_generate_options *options, iso_generate_sink *sink,
                  void *context, struct iso_generated *generated);
void iso_generated_release(struct iso_generated *generated);

/* The name of a table: t1, t2, ...; that of an anomaly after its first key, p1000. */
enum { ISO_TABLE_NAME = 24 };
void iso_generated_table(char name[ISO_TABLE_NAME], bool is_planted, uint64_t number);

/* At psi and cc. */
static inline bool iso_generate_has_sites(const struct iso_generate_options *options)
{
    return options->level == ISO_PSI || options->level == ISO_CC;
}

static inline bool iso_generate_is_timeless(const struct iso_generate_options *options)
{
    return iso_generate_has_sites(options) || options->workload != ISO_WORKLOAD_MIXED;
}

/* What a checker must say of all orders, at a level of black-box judging: ISO_HOLDS if the store
 * keeps the level and no planted anomaly breaks it, ISO_IS_VIOLATED if one does, ISO_IS_UNDECIDED
 * where it depends on what the store did. */
enum iso_outcome iso_generated_any_order(const struct iso_generate_options *options,
                                         const struct iso_generated *generated,
                                         enum iso_level level);

/* Whether it is known what a checker must find at the level, by timestamps. */
static inline bool iso_generate_knows(const struct iso_generate_options *options,
                                      enum iso_level level)
{
    return !options->tables || !options->unknown_share || level == options->level;
}

/* ISO_IS_VIOLATED, ISO_IS_UNDECIDED or ISO_HOLDS, as a checker would conclude. By timestamps. */
enum iso_outcome iso_generated_outcome(const struct iso_generated *generated, enum iso_level level);
