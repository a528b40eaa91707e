/* Judges what a query did not find: rows that were there and were not returned, rows that do not
 * match, aggregates.
 *
 * To the engines rows and cells are plain keys, and the rows that a query returned are reads like
 * any others: a wrong cell, and a returned row that is not there, are theirs. What a query says of
 * all other rows is judged here:
 *
 *     missing-row   a row that is there at the query's moment, between its bounds and matching, and
 *                   was not returned
 *     extra-row     a row that was returned and is there, and does not match or lies beyond the
 *                   bounds
 *     aggregate     what was counted of the matching rows is another value
 *
 * Idea. Per table, rows in the order of their keys; per row, the versions of its existence and of
 * each cell, by commit. A query waits in a queue by its moment and is judged when the watermark has
 * passed it. So late arrivals need no second look, and nothing is retracted, unless the caller's
 * clock says that a deadline comes first. A fault that a transaction of unknown outcome may explain
 * waits on for that outcome; all else of that query is reported at once. Never guessed: a truth is
 * a set (predicate/truth.h), and a fault is reported only where all outcomes agree. README.md draws
 * the structures and says what they cost.
 *
 * What is a row: the key `TABLE/PARTS`, there unless absent; its cells are `TABLE/PARTS#COLUMN`
 * (base/cell_key.h). A deletion ends its cells; of one that nobody wrote since the row was there,
 * it is not known what it holds (`unknown-value`, and `unknown-column` where nobody wrote that
 * column at all). All other keys are passed over, and so are row sets that are no queries
 * (ISO_SET_QUERY).
 *
 * Own writes before the query lie over its moment; faults of rows that the transaction wrote itself
 * are INT. Of one with ISO_MARK_CDC_WRITES the order of its writes is not known: rows that it wrote
 * anywhere are unjudged (`own-order`).
 *
 * An instance is (axiom, transaction, operation, key). Cost: a query O(log n + rows between its
 * bounds), or those that an index of an equality finds; a write O(log n) of a new row, else O(1) in
 * order. Ownership: the engine copies what it keeps. Threads: calls come from one thread at a time;
 * callbacks are called on it, inside the call that caused them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "rowsets/scans.h"
#include "verdict/verdict.h"
#include "predicate/bounds.h"

struct iso_rowsets;

/* A transaction as findings name it. */
struct iso_rowsets_party {
    struct iso_json_text tid;
    uint64_t origin; /* as its history gave it */
    uint32_t index;  /* its number in the history that it came from */
};

enum iso_rowsets_state {
    ISO_ROWSETS_FINAL,
    ISO_ROWSETS_BY_DEADLINE, /* no watermark vouches for it: it may be retracted */
    ISO_ROWSETS_RETRACTED /* something came late: of what was found, transaction, axiom and key */
};

/* Texts live as long as the callback. */
struct iso_rowsets_finding {
    enum iso_rowsets_state state;
    bool is_promised; /* the watermark has passed its moment, or this is the end */
    struct iso_rowsets_party transaction;
    uint32_t operation;           /* the query's first, of the transaction's, from 0 */
    uint32_t step;                /* the same as iso_history_step has it */
    uint64_t sts, cts;            /* of the transaction; 0: it has none */
    enum iso_axiom axiom;         /* ISO_EXT, or ISO_INT */
    enum iso_violation_kind kind; /* ISO_MISSING_ROW, ISO_EXTRA_ROW, ISO_AGGREGATE */
    struct iso_json_text key;     /* of the row; of aggregates and of rows without keys `TABLE#` */
    struct iso_json_text table;
    uint64_t bound; /* the query had to see what was committed below it */
    /* As JSON; `at` NULL: nothing. Of a row `expected` is its cells as the query had to see them,
     * as far as they are known, {"amount":150}, and `actual` true if it was returned; of aggregates
     * those that are wrong, {"count":3}; of rows without keys one that was missing, or extra,
     * ["x"]. */
    struct iso_json_text expected, actual;
    struct {
        const struct iso_atoms *atoms; /* NULL: none, or a list, of which not all is kept */
        iso_atom atom;
    } value;       /* of a plain key, in place of `expected`: what was there */
    uint64_t rows; /* of rows without keys: how many are missing, or extra; else 1 */
    /* tid of the newest version that decided; `at` NULL: nobody, or not one */
    struct iso_json_text writer;
};

/* A query of which something was not judged; once a query, when all of it is final. */
struct iso_rowsets_unjudged {
    struct iso_rowsets_party transaction;
    uint32_t operation;
    struct iso_json_text table;
    enum iso_unjudged reason; /* the first in the order of the enum */
    uint32_t reasons;         /* all of them, bits by number */
    uint64_t rows;            /* of how many rows; 0: of the query as a whole */
};

/* The parts of a table's key, as far as they are known; `parts` 0: they are not. */
struct iso_rowsets_key {
    uint32_t parts;
    struct iso_scalar_type types[ISO_KEY_PARTS];
    struct iso_json_text columns[ISO_KEY_PARTS]; /* their names; `at` NULL: not known */
};

#define ISO_ROWSETS_FOREVER UINT64_MAX

struct iso_rowsets_options {
    enum iso_level level;
    bool ranges;         /* of plain keys are judged, too: all keys are kept for them */
    uint32_t scan_limit; /* rows that one query looks at; 0: ISO_SCAN_LIMIT */
    uint64_t retention;  /* in units of the timestamps: a query's moment may lie this far below the
                            watermark */
    bool initial_is_known; /* rows of which nothing is said were not there at the start; else nobody
                              knows */
    bool of_few; /* for tests: what is done for thousands of rows or texts is done for a few */
    enum iso_text_order texts; /* of keys and columns of which nothing else is known */
    const char *spill; /* the folder in which rows have their file where memory is short; or NULL:
                          tables are given up then; borrowed */
    uint32_t shards, shard; /* tables of other shards are passed over (shards.h); 0 counts as 1 */
    /* Types of a column's values, and the parts of a table's key; NULL: nothing is known. */
    struct iso_scalar_type (*type_of)(void *context, struct iso_json_text table,
                                      struct iso_json_text column);
    void (*key_of)(void *context, struct iso_json_text table, struct iso_rowsets_key *key);
    void (*on_finding)(void *context, const struct iso_rowsets_finding *finding);
    void (*on_unjudged)(void *context, const struct iso_rowsets_unjudged *unjudged); /* or NULL */
    /* Counts conditions of more than a few rows that no index serves; borrowed; or NULL. */
    struct iso_scans *scans;
    void *context;
    void *reports; /* in place of it for these two; NULL: the same */
};

static inline void *iso_rowsets_reports(const struct iso_rowsets_options *options)
{
    return options->reports ? options->reports : options->context;
}

/* SI, ISO_SCAN_LIMIT, everything is kept, initial values are known. */
void iso_rowsets_options_init(struct iso_rowsets_options *options);

struct iso_rowsets *iso_rowsets_new(const struct iso_rowsets_options *options);
void iso_rowsets_free(struct iso_rowsets *engine);

/* From now on transactions are of `history`: finished, or as it was read (scalar timestamps). Call
 * it again when another history takes its place or it was cleared; not when it has only grown. The
 * engine borrows it until then. */
void iso_rowsets_block(struct iso_rowsets *engine, const struct iso_history *history);

/* Takes a transaction of the block. Repeats are the caller's to leave out. Without the timestamps
 * that the level needs it is passed over. */
void iso_rowsets_add(struct iso_rowsets *engine, uint32_t transaction);

/* A row or a cell held `value`, an atom of the block, before its first version (ISO_ABSENT: not
 * there; also one of an unknown value; an element, if `is_list`). False: the key is no row's. May
 * be said at any time. */
bool iso_rowsets_initial(struct iso_rowsets *engine, iso_atom key, iso_atom value, bool is_list);

/* Initial values of plain keys are unknown, but where they were said. */
void iso_rowsets_unknown_keys(struct iso_rowsets *engine);

/* All rows that tables had at the start were said, or were not there. Queries that are judged
 * before are so without it. */
void iso_rowsets_whole(struct iso_rowsets *engine);

/* The table was emptied or rewritten: what transactions with an older moment, that may have read it
 * later, did not find is unjudged (`ddl`). */
void iso_rowsets_altered(struct iso_rowsets *engine, struct iso_json_text table, uint64_t cts);

/* Changes of the table did not come: what is counted of it by transactions with a later moment is
 * unjudged (`incomplete`). */
void iso_rowsets_lost(struct iso_rowsets *engine, struct iso_json_text table, uint64_t cts);

/* A transaction of unknown outcome committed at `cts`, or aborted. False: no such transaction is
 * open. */
bool iso_rowsets_resolve(struct iso_rowsets *engine, const struct iso_atoms *atoms, iso_atom tid,
                         bool committed, uint64_t cts);

/* No later transaction or resolution has cts <= `timestamp`. Going back is ignored. */
void iso_rowsets_watermark(struct iso_rowsets *engine, uint64_t timestamp);

/* The time, of the caller's clock: of what arrives from now on; and with `patience` (in its units;
 * 0: none) queries that arrived so long ago are judged as far as things are known. What is found is
 * ISO_ROWSETS_BY_DEADLINE, and retracted if it turns out to be right after all; each is judged once
 * more when its moment is final. */
void iso_rowsets_clock(struct iso_rowsets *engine, uint64_t now, uint64_t patience);

/* No query that is still to come has a moment at or below `floor`: those that wait there are final,
 * and versions below that newer ones hide are forgotten. Beside what the watermark and the
 * retention say; going back is ignored. */
void iso_rowsets_forget(struct iso_rowsets *engine, uint64_t floor);

/* Nothing will come any more. */
void iso_rowsets_end(struct iso_rowsets *engine);

struct iso_rowsets_stats {
    uint64_t transactions, queries;         /* of committed transactions; queries that were taken */
    uint64_t judged, unjudged;              /* queries: without and with a reason */
    uint64_t reasons[ISO_UNJUDGED_REASONS]; /* of `unjudged`, by the first reason */
    uint64_t missing_rows, extra_rows, aggregates; /* findings */
    uint64_t looked_at;                            /* rows */
    uint64_t late; /* queries whose moment was no longer kept: `before-start` */
    uint64_t unjudged_ranges, open_ranges; /* of `unjudged`; of `waiting` and `held` */
    uint64_t waiting,
        held; /* queries now: above the watermark; for a transaction of unknown outcome */
    uint64_t open_unknown;                  /* transactions */
    uint64_t provisional;                   /* of `waiting`: judged by their deadlines */
    uint64_t given_up;                      /* tables */
    uint64_t tables, rows, cells, versions; /* now */
    uint64_t bytes;
    /* The oldest waiting query, ranges aside: when it arrived (UINT64_MAX: none waits), and
     * where it stands. */
    uint64_t oldest, oldest_origin;
};
void iso_rowsets_stats(const struct iso_rowsets *engine, struct iso_rowsets_stats *stats);

/* Saves, or restores into an engine that is new and has the same options. The block has to be said
 * again. */
void iso_rowsets_archive(struct iso_archive *archive, struct iso_rowsets *engine);

/* Asserts what must hold of the structures: in sanitized and property builds after each step. */
void iso_rowsets_validate(const struct iso_rowsets *engine);

/* Adds to a finished history, of which an order of the transactions may be sought, what its queries
 * mean for that order, as reads and writes. With snapshots or a log (PostgreSQL, MariaDB) they are
 * of keys `ROW#?TID`, one for each commit that changed a row in a query's result (imply.c); without
 * timestamps of keys `ROW#?where CONDITION`, one for each row that met it (imply_any.c). A history
 * that has them already, or needs none, stays as it is. Of the options only what is known of
 * columns and keys counts. */
void iso_rowsets_imply(struct iso_history *finished, const struct iso_rowsets_options *known);

/* Whether an order of the transactions explains what each query of a finished history without
 * timestamps returned, to the last row, sum and row without a key: `moments` says of each
 * transaction where it began (2 * transaction) and was committed (2 * transaction + 1). `move`, if
 * there is one, gives a transaction whose queries are not explained another begin there; false:
 * there is none. So is the whole then: it is not explained, or not all of it can be judged. */
bool iso_rowsets_explained(const struct iso_history *finished,
                           const struct iso_rowsets_options *known, const uint64_t *moments,
                           bool (*move)(void *context, uint32_t transaction), void *context);

/* Judges all queries of a finished history: commits in order, each judged and forgotten as soon as
 * it can be. Of tables that no query asks nothing is kept; others are shared out among at most
 * `shards` threads, on which the functions of the options are called, on_finding and on_unjudged
 * one at a time. At ISO_RC the history says when messages went, and each row is judged by itself,
 * at any moment that these leave to its query. */
void iso_rowsets_check(const struct iso_history *history, const struct iso_rowsets_options *options,
                       struct iso_rowsets_stats *stats);
