/* join: makes whole transactions of the rows of change streams, and joins them with client records.
 *
 * Idea (rules: docs/semantics.md). A change stream has what was written and in which order it was
 * committed; clients record what they read, from which snapshot, and what they meant to write. Here
 * both sides wait for each other under an *identity* that both know: a commit timestamp (Dgraph,
 * TiDB), a start timestamp (TiDB), a transaction id (PostgreSQL's xid, a GTID, a UUID), a marker
 * that the client wrote (marker.c), or the record itself, carried inside the transaction (in-band).
 * What each kind of source promises is in one table (capability.c); the code asks that table and
 * knows no source by name.
 *
 *     rows ----> open transactions (by identity) --closed--> finish ----> transactions, outcomes,
 *     records -> expectations      (by identity) -----------/  |          findings
 *                                                              \----> what was finished: repeats
 *
 * A transaction is *closed* by what its source offers (END and its count, a larger commit
 * timestamp, a watermark, the end of the input), *complete* once nothing can be added to it, and
 * *finished* when the client's record was compared with it or it was found to have none. Only final
 * writes are compared. Where both agree it is finished at once; where they do not, it waits until
 * it is complete, since a row may still arrive.
 *
 * What leaves: transactions for the engine in a block of their own, outcomes of transactions that
 * had none, watermarks, and findings. Three questions can only be answered where the versions are,
 * by the engine: whether a before image is the version that the row replaced, whether a write
 * without a row changed anything. They travel as *probes*: transactions that only read, just below
 * the commit, and whose EXT violations are CDC violations (iso_join_probe_of).
 *
 * Clients' values leave as the stream spells them, where a schema says what their column's are
 * (normalised.c).
 *
 * PostgreSQL has snapshots and no timestamps: position.c gives commits and snapshots their
 * positions as they become certain.
 *
 * Bounded: open transactions and expectations wait until a watermark passes them, `patience_ms`
 * (live) or the end; beyond `waiting_limit` rows the oldest are finished as they stand and counted.
 * Texts of values are kept as long as something refers to them; keys for ever, as the engine does.
 * What was finished is remembered in rings that grow up to 2^20 transactions and 2^22 rows, 112 MiB
 * with their map, and until then that is what grows.
 *
 * Ownership: a join owns its output until it is drained. Threads: one at a time. Time is passed in.
 */
#pragma once

#include "values/source.h"
#include "verdict/verdict.h"
#include "base/archive.h"

struct iso_join;

/* Where the client's own ids of its transactions stand in the stream
 * (connectors/cdc_common/marker.h). */
enum iso_join_markers {
    ISO_JOIN_NO_MARKERS,
    ISO_JOIN_MARKER_COLUMN, /* in every row that was written and not deleted */
    ISO_JOIN_MARKER_ROWS    /* in a row of their own: every transaction that writes has one */
};

/* Where PostgreSQL's positions begin: what was there before stands here, the first commit at 3. */
enum { ISO_JOIN_START = 1 };

struct iso_join_options {
    const char *kind; /* of the change streams: "dgraph", ... */
    /* Whether a source delivers changes of `table`, as it stands in keys; NULL: of every table. */
    bool (*covers)(void *context, const char *table, size_t length);
    void *context;
    bool (*is_whole_row)(void *context, const char *key,
                         size_t length); /* as in struct iso_aion_options */
    /* Whether the key is of a table whose keys are equal whatever their case and the blanks behind
     * them. */
    bool (*is_caseless)(void *context, const char *key, size_t length);
    bool (*is_unreported)(void *context, const char *key,
                          size_t length); /* clients do not say what they write there */
    /* Type of a column of the table by the stream's schemas, or, with `column` NULL, of its
     * rows' values, as decoders give it (values/source.h). NULL: not known. */
    struct iso_value_type (*value_type)(void *context, const char *table, size_t length,
                                        const char *column, size_t column_length);
    /* Whether columns of the table are cells, and then, whether changes of one arrive. NULL: no
     * table's are. */
    bool (*has_cells)(void *context, const char *table, size_t length);
    enum iso_column_coverage (*covers_column)(void *context, const char *table, size_t length,
                                              const char *column, size_t column_length);
    bool judge_uncovered; /* clients' records of tables without a source are all that there is of
                             them */
    bool initial_known;   /* what stood there before is given, or nothing did */
    bool clients;       /* records arrive, from topics or a file; false: before images are reads */
    bool records_first; /* all of them are there before the first row */
    bool one_group;     /* Dgraph: one group sends, so that commit timestamps only go back after a
                           restart */
    bool reads_at_commit;    /* ser */
    uint64_t snapshots_from; /* an xid of when PostgreSQL's stream began, if records have snapshots:
                                commits are counted from there on; 0: from the first snapshot on */
    bool xa; /* transactions that stand in the log and do not end there may have committed */
    bool keep_joined; /* fills `joined` of the output */
    enum iso_join_markers markers;
    uint64_t patience_ms;   /* what has waited so long is finished as it stands; 0: never */
    uint64_t grace_ms;      /* no transaction lasts longer; 0: nothing is known of that */
    uint64_t waiting_limit; /* rows that may wait; 0: any number */
};

enum iso_join_step_type {
    ISO_JOIN_ADD,     /* transactions `first`, `count` of the block */
    ISO_JOIN_INITIAL, /* before its first version key `first` of the block had `tid`, an atom */
    ISO_JOIN_ALTERED, /* rows of table `tid`, an atom, went away or changed their columns at `cts`
                       */
    ISO_JOIN_RESOLVE, /* `tid` of the block's atoms: committed at `cts`, or aborted */
    ISO_JOIN_LOST,    /* changes of a table did not come: `lost`; what it holds behind `cts` is not
                         known */
    ISO_JOIN_BEYOND, /* at the end: what `tid` read and differs from what came waits (join/extent.h)
                      */
    ISO_JOIN_LAST, /* at the end: nothing proves that all came which stands in the log before `tid`
                      was over: tables that it read may have been emptied */
    ISO_JOIN_WATERMARK, /* nothing with cts <= `cts` will follow */
    ISO_JOIN_FINDING
};

/* A violation that the join itself found. Atoms are the block's; ISO_ABSENT: none. */
struct iso_join_finding {
    enum iso_axiom axiom; /* CDC, or TIMESTAMP of a snapshot */
    enum iso_violation_kind kind;
    iso_atom tid, key, expected,
        actual;                 /* expected: as the client says it; actual: as it was delivered */
    uint64_t client, delivered; /* origins; UINT64_MAX: none */
    uint64_t sts, cts;
};

/* A transaction of which not all came. Origins; UINT64_MAX: none. */
struct iso_join_lost {
    iso_atom name, tid,
        table; /* of the block; name: the stream's, or ABSENT; tid: the client's, or ABSENT */
    uint64_t counted, came; /* rows of the table; 0, 0: its END was lost, or all of it */
    uint64_t first, last;   /* of those that came */
    uint64_t end;           /* END */
    bool is_named;          /* something says that it had rows of the table: a person is told */
    bool may_empty;         /* one of them may have been a TRUNCATE */
};

struct iso_join_step {
    enum iso_join_step_type type;
    uint32_t first, count;
    iso_atom tid;
    bool committed;
    uint64_t cts;
    struct iso_join_finding finding;
    struct iso_join_lost lost;
};

struct iso_join_output {
    struct iso_history block; /* building; scalar timestamps */
    uint32_t count, capacity;
    struct iso_join_step *steps;
    /* Building: with outcomes and without probes, each with all that it wrote. A transaction that
     * left that to the stream has ISO_MARK_CDC_WRITES still, where it has queries: the order of its
     * writes is not known. */
    struct iso_history joined;
};

/* Classes of rows, records and reads that have arrived and do not wait: each is in one. */
enum iso_row_class {
    ISO_ROWS_JUDGED,  /* compared with what a client said, or with the rows before them */
    ISO_ROWS_FOREIGN, /* versions of transactions that no client recorded */
    ISO_ROWS_REPEATED,
    ISO_ROWS_INITIAL,  /* of a snapshot */
    ISO_ROWS_UNPLACED, /* no moment could be given to their transaction */
    ISO_ROWS_LATE,     /* their transaction had been finished without them */
    ISO_ROWS_ABORTED,  /* their transaction did not commit ... */
    ISO_ROWS_XA, /* ... where they stand in the log, and may have committed elsewhere (`xa`) */
    ISO_ROWS_BAD,
    ISO_ROW_CLASSES
};
enum iso_record_class {
    ISO_RECORDS_GIVEN, /* the engine has it */
    ISO_RECORDS_REPEATED,
    ISO_RECORDS_ABORTED,
    ISO_RECORDS_UNKNOWN, /* nothing says its outcome */
    ISO_RECORDS_BEFORE,  /* it ended before the stream begins */
    ISO_RECORDS_UNPLACED,
    ISO_RECORDS_LATE,
    ISO_RECORDS_XA, /* committed, and nothing says where */
    ISO_RECORD_CLASSES
};
enum iso_read_class {
    ISO_READS_UNCOVERED =
        ISO_RECORD_CLASSES, /* of tables without a source; those before: as their record */
    ISO_READS_BEFORE,       /* of a snapshot from before the stream begins */
    ISO_READS_OWN_ORDER,    /* after own writes whose order is not known */
    ISO_READS_INCOMPLETE,   /* of what its transaction may have written, and did not come */
    ISO_READ_CLASSES
};

struct iso_join_stats {
    uint64_t rows, transactions; /* delivered, without repeats */
    uint64_t repeats;            /* rows that stood in the stream again, and were ignored */
    uint64_t record_repeats;     /* of clients' records */
    uint64_t joined;             /* with a client's record */
    uint64_t foreign;            /* without */
    uint64_t resolved_committed, resolved_aborted, unresolved; /* records of unknown outcome */
    uint64_t incomplete;     /* finished although the source said that there was more */
    uint64_t hints_wrong;    /* more rows than the source's count said */
    uint64_t unplaced;       /* transactions to which no timestamp could be given: not judged */
    uint64_t unknown_values; /* rows that do not say what was written */
    uint64_t forced;         /* finished since too many were waiting, or too long */
    uint64_t snapshot_rows;
    uint64_t markers;       /* clients' ids of transactions that the stream gave */
    uint64_t stray_markers; /* of transactions that are others already: they say nothing */
    /* records that write, and whose reads nobody can place at SI: not judged */
    uint64_t without_start;
    uint64_t readers_without_start,
        reads_without_start; /* those that only read: the joined history alone has them */
    uint64_t empty_ends;     /* transactions of a binlog that ended without any event */
    uint64_t aborted_in_log; /* transactions in the log that did not commit there, with rows */
    uint64_t xa_unknown;   /* of them and of their late rows, those given as transactions of unknown
                              outcome */
    uint64_t late_records; /* arrived when their transaction had been finished without them: not
                              judged */
    uint64_t records;      /* of clients, that arrived */
    uint64_t records_gone[ISO_RECORD_CLASSES], rows_gone[ISO_ROW_CLASSES],
        reads_gone[ISO_READ_CLASSES];
    uint64_t row_events;           /* rows that arrived */
    uint64_t reads;                /* of clients' records */
    uint64_t reads_given;          /* of them, those that the engine has */
    uint64_t before_reads;         /* before images given as reads, where there are no clients */
    uint64_t waiting_aborted;      /* records that waited only in case rows of them arrive:
                                      iso_join_count_waiting */
    uint64_t adopted;              /* records that took writes from the stream */
    uint64_t initial_versions;     /* given to the engine: a key's state before the stream, */
    uint64_t initial_transactions; /* in that many transactions */
    uint64_t epochs;               /* times that a table's rows changed their columns */
    uint64_t incomparable;         /* writes whose row has other columns than the client says */
    uint64_t lost; /* writes of clients of which the stream cannot say what became of them */
    uint64_t gaps; /* rows of a snapshot that contradict what was streamed */
    uint64_t snapshots_again; /* times that one began in a partition behind changes */
    uint64_t probes;          /* transactions and reads among the engine's that are ours */
    uint64_t probe_reads;
    uint64_t waiting_transactions, waiting_records, waiting_rows, oldest_ms; /* now */
    uint64_t waiting_row_events,
        waiting_reads;                  /* the same, counted one by one: iso_join_count_waiting */
    uint64_t oldest_record, oldest_row; /* where these stand; UINT64_MAX: there is none */
    /* of those that are not of aborted transactions; as the two before */
    uint64_t oldest_record_ms;
    uint64_t open_tables; /* now: of their first snapshot rows came, and not the last one */
    bool start_complete,
        start_known; /* nothing of the state before the stream will arrive; a snapshot said it */
};

/* Watermarks. Of TiCDC they arrive with the rows. Of Dgraph, where one group sends (one_group): a
 * timestamp that is followed by a larger one is whole, and what arrives below it later was sent
 * again; the lesser of that and of what clients promise is the watermark, below the start of every
 * record whose outcome nothing says. */
struct iso_join *iso_join_new(const struct iso_join_options *options);
void iso_join_free(struct iso_join *join);

/* Whether `kind` is a source of rows that a join knows. */
bool iso_join_knows(const char *kind);

/* Whether it promises that serializable transactions are so in the order of their commits. Else
 * only the versions of each key have that order. */
bool iso_join_promises_order(const char *kind);
/* Whether timestamps are places in a log, which say nothing of what became visible first between
 * two snapshots. */
bool iso_join_has_positions(const char *kind);

/* Whether all that was there before the stream has been said, so that nothing else was. */
bool iso_join_initial_is_known(const struct iso_join *join);

/* Whether that is known, or will never be. */
bool iso_join_start_is_settled(const struct iso_join *join);

/* Whether inputs of the join's change streams have watermarks that the pipeline's must wait for. */
bool iso_join_has_watermarks(const struct iso_join *join);

/* A message of an input has arrived, whatever it is; the input stands at the end of its partition,
 * or does not. */
void iso_join_begun(struct iso_join *join, uint32_t input);
void iso_join_at_end(struct iso_join *join, uint32_t input, bool at_end);
bool iso_join_is_at_end(const struct iso_join *join, uint32_t input);

/* Whether transactions are closed by later positions in all declared inputs; and one of those that
 * has been silent for too long is not waited for, until it sends again. */
bool iso_join_waits_for_positions(const struct iso_join *join);
void iso_join_left_behind(struct iso_join *join, uint32_t input, bool left_behind);

/* At the end: whether a read of the key at this position that differs from what came is wrong, and
 * does not wait for what did not come (join/extent.h). */
bool iso_join_is_sure(struct iso_join *join, const struct iso_atoms *atoms, iso_atom key,
                      uint64_t position);

/* ISO_BAD_INPUT if the record's places are of another kind of database than the source. */
enum iso_status iso_join_check_record(struct iso_join *join, const struct iso_history *block,
                                      uint32_t transaction, struct iso_error *error);

/* Once, how many clients' records came before the source that their places are not of; 0: none.
 * The first one's origin, and what is wrong. */
uint64_t iso_join_early_foreign(struct iso_join *join, uint64_t *origin, struct iso_error *error);

/* At the end: whether a statement may stand between these positions that changes whole tables, and
 * that did not come: who finds there what the change before does not explain waits. */
bool iso_join_may_lack_statement(const struct iso_join *join, uint64_t after, uint64_t position);

/* Whether rows that the key's table had at first may not have come: who finds one that no change
 * explains waits. `has_topic`: a partition is known that delivers the table. */
bool iso_join_start_is_open(struct iso_join *join, const struct iso_atoms *atoms, iso_atom key,
                            bool has_topic);

/* Whether no other input of those is waited for that has not come as far as this one. */
bool iso_join_delays_others(const struct iso_join *join, uint32_t input);

/* Dgraph, one_group: every transaction up to this timestamp was sent, and whole. 0: not known. */
uint64_t iso_join_closed(const struct iso_join *join);

/* Between batches: checks all that waits again, since something became known that no event says. */
void iso_join_recheck(struct iso_join *join);

/* An input of the change streams that rows may come from. Positions in other inputs close a
 * transaction only if all inputs were named before. False: none will, as turned out. */
void iso_join_declare(struct iso_join *join, uint32_t input, bool declared);

/* A source brings ENDs; or what statements did to whole tables. Until something of it came, no
 * transaction is known to be whole, or no such statement to be none. */
void iso_join_expect_ends(struct iso_join *join);
void iso_join_expect_statements(struct iso_join *join);

/* Records may arrive inside transactions, and bring timestamps of their own: positions are no
 * watermarks then. */
void iso_join_expect_in_band(struct iso_join *join);

/* Between batches: a number that is another whenever `value_type` may say something else; 0: it
 * says nothing. */
void iso_join_types_known(struct iso_join *join, uint32_t types);

/* Tables that no source covers may have had no row yet: their names are not taken for wrong
 * ones. */
void iso_join_sources_may_grow(struct iso_join *join);

/* `covers` may say yes of tables of which it said no: from here on they are judged. */
void iso_join_sources_grew(struct iso_join *join);

/* An event that is to be ignored names a table: whether a source covers it is asked again. True: no
 * longer, but until now. */
bool iso_join_ask_coverage_again(struct iso_join *join, const struct iso_atoms *atoms,
                                 iso_atom table);

/* Takes one event of a change stream, or TRANSACTIONS of clients; texts are atoms of `block`, which
 * stays the same and only grows until iso_join_end_batch. ISO_BAD_INPUT: what the event says cannot
 * be. */
enum iso_status iso_join_take(struct iso_join *join, const struct iso_history *block,
                              const struct iso_event *event, uint64_t now, struct iso_error *error);

/* All client records of a block. */
void iso_join_take_records(struct iso_join *join, const struct iso_history *block, uint32_t first,
                           uint32_t count, uint64_t now);

/* The block is gone. */
void iso_join_end_batch(struct iso_join *join);

/* No later record (or, where the source has watermarks, row) has cts <= `timestamp`. Of PostgreSQL:
 * no later record has a snapshot whose xmin is below it. */
void iso_join_advance(struct iso_join *join, uint64_t timestamp, uint64_t now);

/* Lets patience end. */
void iso_join_tick(struct iso_join *join, uint64_t now);

/* Before the end, where the source has watermarks: up to where all of its inputs are whole. Behind
 * it nothing is missing, and what commits beyond it and did not come waits. */
void iso_join_whole(struct iso_join *join, uint64_t timestamp);

/* Nothing more will arrive: all is finished. */
void iso_join_end(struct iso_join *join, uint64_t now);

struct iso_join_output *iso_join_output(struct iso_join *join);
void iso_join_drained(struct iso_join *join); /* empties it */

void iso_join_stats(const struct iso_join *join, struct iso_join_stats *stats);

/* Whether something of XA transactions arrived, of which nothing says where it committed. */
static inline bool iso_join_has_xa(const struct iso_join_stats *stats)
{
    return stats->rows_gone[ISO_ROWS_XA] || stats->records_gone[ISO_RECORDS_XA];
}

/* PostgreSQL's names of a commit that was given a position (`cts`), as far as the stream has
 * them; 0: it has not. False: it is no such position, or was given so long ago that it is
 * forgotten. */
struct iso_join_commit {
    uint64_t xid, lsn;
    uint64_t time; /* milliseconds since 1970 */
};
bool iso_join_commit(const struct iso_join *join, uint64_t cts, struct iso_join_commit *commit);

/* Fills in what waits by going over all of it. */
/* A table of which the first snapshot is not whole (`open_tables`). */
void iso_join_open_table(const struct iso_join *join, char *name, size_t size);
void iso_join_count_waiting(const struct iso_join *join, struct iso_join_stats *stats);

/* The first table from `number` on of which operations were left out; false: there are no more. The
 * name is the join's. */
struct iso_join_left_out {
    uint32_t number;
    const char *name;
    size_t length;
    uint64_t operations;
    bool is_unknown; /* neither a source nor the stream knows it: a misspelt key */
    bool has_rows;   /* rows of it arrive, through a topic that does not cover it */
    bool is_column;  /* "table#column", of a table that is covered */
};
bool iso_join_left_out(const struct iso_join *join, uint32_t number,
                       struct iso_join_left_out *left_out);

/* Reads a probe's tid: the kind of violation that an EXT violation of it stands for, and the tid
 * that is meant. False: it is no probe. */
bool iso_join_probe_of(const struct iso_atoms *atoms, iso_atom tid, enum iso_violation_kind *kind,
                       const char **text, size_t *length);

/* The join's state as an archive (base/archive.h): one walk saves and restores. */
/* Between batches, with nothing in its output. Restoring: into a new one of the same options. */
void iso_join_archive(struct iso_archive *archive, struct iso_join *join);
