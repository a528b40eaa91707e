/* join: rows of change streams to whole transactions, and what clients said of them joined with those.
 *
 * Idea (design, section 6). A change stream says what was written and in which order it was committed; clients say what
 * they read, from which snapshot, and what they meant to write. Here both sides wait for each other under an *identity*
 * that both know: a commit timestamp (Dgraph, TiDB), a start timestamp (TiDB), a transaction id (PostgreSQL's xid, a
 * GTID, a UUID), a marker that the client wrote (marker.c), or the record itself, carried inside the transaction
 * (in-band). What each kind of source promises
 * stands in one table (capability.c); the code asks that table and knows no source by name.
 *
 *     rows ----> open transactions (by identity) --closed--> settle ----> whole transactions, outcomes, findings
 *     records -> expectations      (by identity) ---------/      \----> what was settled, so that repeats are known
 *
 * A transaction is *closed* by what its source offers (END and its count, a larger commit timestamp, a watermark, the
 * end of the input), *complete* once nothing can be added to it, and *settled* when the client's record was compared
 * with it or it was found to have none. Only final writes are compared. Where both agree it is settled at once; where
 * they do not, it waits until it is complete, since a row may still come.
 *
 * What leaves: transactions for the engine in a block of their own, outcomes of transactions that had none, watermarks,
 * and findings. Three questions can only be answered where the versions are, by the engine: whether a before image is
 * the version that the row replaced, whether a write without a row changed anything. They travel as *probes*:
 * transactions that only read, just below the commit, and whose EXT violations are CDC violations (iso_join_probe_of).
 *
 * PostgreSQL has snapshots and no timestamps: place.c gives commits and snapshots their positions as they become
 * certain.
 *
 * Bounded: open transactions and expectations wait until a watermark passes them, `patience_ms` (live) or the end;
 * beyond `waiting_limit` rows the oldest are settled as they stand and counted. Texts of values are kept as long as
 * something refers to them; keys for ever, as the engine does. What was settled is remembered in rings of fixed size:
 * 2^20 transactions and 2^22 rows, 112 MiB with their map once they are full, and until then that is what grows.
 *
 * Ownership: a join owns its output until it is drained. Threads: one at a time. Time is passed in.
 */
#ifndef ISO_JOIN_JOIN_H
#define ISO_JOIN_JOIN_H

#include "iso/source.h"
#include "iso/verdict.h"

struct iso_join;

/* Where the client's own ids of its transactions stand in the stream (io/marker.h). */
enum iso_join_markers {
    ISO_JOIN_NO_MARKERS,
    ISO_JOIN_MARKER_COLUMN, /* in every row that was written and not deleted */
    ISO_JOIN_MARKER_ROWS    /* in a row of their own: every transaction that writes has one */
};

struct iso_join_options {
    const char *kind;   /* of the change streams: "dgraph", ... */
    bool clients;       /* records come, from topics or a file; false: before images are reads */
    bool records_first; /* all of them are there before the first row */
    bool one_group;     /* Dgraph: one group sends, so that commit timestamps only go back after a restart */
    bool keep_joined;   /* fills `joined` of the output */
    enum iso_join_markers markers;
    uint64_t patience_ms;   /* what has waited so long is settled as it stands; 0: never */
    uint64_t waiting_limit; /* rows that may wait; 0: any number */
};

enum iso_join_step_type {
    ISO_JOIN_ADD,       /* transactions `first`, `count` of the block */
    ISO_JOIN_RESOLVE,   /* `tid` of the block's atoms: committed at `cts`, or aborted */
    ISO_JOIN_WATERMARK, /* nothing with cts <= `cts` will follow */
    ISO_JOIN_FINDING
};

/* A violation that the join itself found. Atoms are the block's; ISO_ABSENT: none. */
struct iso_join_finding {
    enum iso_axiom axiom; /* CDC, or TIMESTAMP of a snapshot */
    enum iso_violation_kind kind;
    iso_atom tid, key, expected, actual; /* expected: as the client says it; actual: as it was delivered */
    uint64_t client, delivered;          /* origins; UINT64_MAX: none */
    uint64_t sts, cts;
};

struct iso_join_step {
    enum iso_join_step_type type;
    uint32_t first, count;
    iso_atom tid;
    bool committed;
    uint64_t cts;
    struct iso_join_finding finding;
};

struct iso_join_output {
    struct iso_history block; /* building; scalar timestamps */
    uint32_t count, capacity;
    struct iso_join_step *steps;
    struct iso_history joined; /* building: what may be written down, with outcomes and without probes */
};

struct iso_join_stats {
    uint64_t rows, transactions; /* delivered, without repeats */
    uint64_t repeats;            /* rows that stood in the stream again, and were ignored */
    uint64_t record_repeats;     /* of clients' records */
    uint64_t joined;             /* with a client's record */
    uint64_t foreign;            /* without */
    uint64_t resolved_committed, resolved_aborted, unresolved; /* records of unknown outcome */
    uint64_t incomplete;     /* settled although the source said that there was more */
    uint64_t hints_wrong;    /* more rows than the source's count said */
    uint64_t unplaced;       /* transactions to which no timestamp could be given: not judged */
    uint64_t unknown_values; /* rows that do not say what was written */
    uint64_t forced;         /* settled since too many were waiting, or too long */
    uint64_t snapshot_rows;
    uint64_t markers;       /* clients' ids of transactions that the stream told */
    uint64_t stray_markers; /* of transactions that are others already: they say nothing */
    uint64_t without_start; /* records that write, and whose reads nobody can place at SI: not judged */
    uint64_t late_records;  /* came when their transaction had been settled without them: not judged */
    uint64_t probes;        /* transactions and reads among the engine's that are ours */
    uint64_t probe_reads;
    uint64_t waiting_transactions, waiting_records, waiting_rows, oldest_ms; /* now */
};

/* Watermarks. Of TiCDC they come with the rows. Of Dgraph, where one group sends (one_group): a timestamp that is
 * followed by a larger one is whole, and what comes below it later was sent again; the lesser of that and of what
 * clients promise is the watermark, below the start of every record whose outcome nothing tells. */
struct iso_join *iso_join_new(const struct iso_join_options *options);
void iso_join_free(struct iso_join *join);

/* Whether `kind` is a source of rows that a join knows. */
bool iso_join_knows(const char *kind);

/* Whether inputs of the join's change streams have watermarks that the pipeline's must wait for. */
bool iso_join_has_watermarks(const struct iso_join *join);

/* An input of the change streams that rows may come from. Positions in other inputs close a transaction only if all
 * inputs were named before. */
void iso_join_declare(struct iso_join *join, uint32_t input);

/* Records may come inside transactions, and bring timestamps of their own: positions are no watermarks then. */
void iso_join_expect_in_band(struct iso_join *join);

/* Takes one event of a change stream, or TRANSACTIONS of clients; texts are atoms of `block`, which stays the same and
 * only grows until iso_join_end_batch. ISO_BAD_INPUT: what the event says cannot be. */
enum iso_status iso_join_take(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                              uint64_t now, struct iso_error *error);

/* All client records of a block. */
void iso_join_take_records(struct iso_join *join, const struct iso_history *block, uint32_t first, uint32_t count,
                           uint64_t now);

/* The block is gone. */
void iso_join_end_batch(struct iso_join *join);

/* No later record (or, where the source has watermarks, row) has cts <= `timestamp`. Of PostgreSQL: no later record has
 * a snapshot whose xmin is below it. */
void iso_join_advance(struct iso_join *join, uint64_t timestamp, uint64_t now);

/* Lets patience end. */
void iso_join_tick(struct iso_join *join, uint64_t now);

/* Nothing more will come: all is settled. */
void iso_join_end(struct iso_join *join, uint64_t now);

struct iso_join_output *iso_join_output(struct iso_join *join);
void iso_join_drained(struct iso_join *join); /* empties it */

void iso_join_stats(const struct iso_join *join, struct iso_join_stats *stats);

/* What a tid of the block asks: the kind of violation that an EXT violation of it is, and the tid that is meant. False:
 * it is no probe. */
bool iso_join_probe_of(const struct iso_atoms *atoms, iso_atom tid, enum iso_violation_kind *kind, const char **text,
                       size_t *length);

#endif
