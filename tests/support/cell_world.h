/* A small database of rows whose columns are registers: transactions run on it at snapshot
 * isolation, clients record which cells they read and wrote, a feed has the rows.
 *
 * Triggers write columns that no client lists, some clients list no column at all, updates change
 * nothing, rows are inserted, deleted and inserted again; some clients' records are withheld. Some
 * reads are lies, some databases let two transactions update one row.
 *
 *     cell_execute(&world); cell_lie(&world);       what happened, and what some clients tell
 *                                                   instead
 *     cell_expect(&world);                          what chronos finds of it, where every cell is
 *                                                   known
 *     cell_write_feed(&world, &feed);               what the change stream says
 *     cell_print_record(&world, file, t);           what the client of transaction t says
 *
 * tests/property/feeds.c carries all of it through the pipeline, tests/property/extent.c a
 * part.
 */
#ifndef TESTS_CELL_WORLD_H
#define TESTS_CELL_WORLD_H

#include <stdio.h>

#include "pipeline/pipeline.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/random.h"

enum {
    CELL_ACTIVE = 4,
    CELL_XIPS = 16,
    CELL_OPERATIONS = 5,
    CELL_ROWS = 12,
    CELL_TEXT = 120,
    CELL_FOUND = 2000,
    CELL_FIRST_XID = 700,
    CELL_NULL = -1
};

struct cell_format {
    const char *name, *kind, *protocol;
    enum feed_debezium_format encoding;
    bool alone;       /* nobody records anything */
    bool binlog;      /* MariaDB: records are known by their GTIDs, and so are snapshots */
    bool registers;   /* a row has one column, which is its value */
    bool in_band;     /* records come inside their transactions; with timestamps */
    bool no_metadata; /* no BEGIN, END and count */
    bool one_group;   /* Dgraph's, said to the pipeline */
};

extern const struct cell_format cell_formats[]; /* a NULL name at the end */

struct cells {
    bool exists;
    int v, w; /* CELL_NULL: null */
};

/* What a transaction did to a row. `lists_v`, `lists_w`: the client says so. */
struct cell_operation {
    enum { CELL_READ, CELL_INSERT, CELL_UPDATE, CELL_DELETE, CELL_QUERY } kind;
    uint32_t row;
    bool lists_v, lists_w;
    bool sets_v, sets_w;
    struct cells seen, before, after; /* CELL_READ: what was found; else the row's, at its commit */
    /* CELL_QUERY of the table of `row`: v >= least, or, 0, of all rows; which rows it returned, and
     * what they were. */
    int least;
    bool returned[CELL_ROWS];
    struct cells rows[CELL_ROWS];
    bool is_lie;
};

struct cell_transaction {
    uint64_t sts, cts; /* cts 0: it aborted */
    uint64_t acted;    /* its last operation */
    uint64_t log;      /* where its commit stands in the log, in halves of moments */
    bool withheld, is_active, writes;
    bool leaves; /* its record leaves to the stream what it wrote */
    uint64_t xmin, xmax, xip[CELL_XIPS];
    uint32_t xip_count, operation_count;
    struct cell_operation operations[CELL_OPERATIONS];
    struct cells view[CELL_ROWS]; /* its own */
    bool wrote[CELL_ROWS];
};

struct cell_found {
    uint32_t count;
    char list[CELL_FOUND][CELL_TEXT]; /* "EXT 3 public.t0/1#v" */
};

/* One history. The caller sets the first group, and `now`, before anything else. */
struct cell_world {
    const struct cell_format *format;
    struct random random;
    uint32_t tables, rows,
        capacity;         /* rows take turns among the tables; at most so many transactions */
    bool omits_snapshots; /* writers of PostgreSQL that read nothing, now and then */
    bool lies, conflicts; /* reads do; the database lets writers of one row overlap */
    /* behind all others transactions commit that write wherever the stream has parts */
    bool closed;

    uint64_t base; /* of timestamps */
    uint64_t now;
    uint32_t count;
    struct cell_transaction *list;
    struct cells initial[CELL_ROWS], now_of[CELL_ROWS];
    uint64_t changed[CELL_ROWS][2]; /* the newest commit to v, to w */

    struct cell_found expected, found, doubted;
    uint32_t of_chronos;   /* of those expected */
    struct iso_text *said; /* NULL, or where the pipeline's lines are kept */
    char failure[ISO_ERROR_TEXT];
    uint64_t violated, adopted, repeats, queries, of_queries; /* of all histories */
};

struct cell_world *cell_world_new(const struct cell_format *format, uint32_t capacity);
void cell_world_free(struct cell_world *world);

bool cell_is_of(const struct cell_world *world, const char *kind);

/* ---- cell_world.c: the database ---- */

bool cell_writes(const struct cell_operation *operation);
bool cell_matches(const struct cell_world *world, const struct cell_operation *query, uint32_t row,
                  const struct cells *cells);
void cell_execute(struct cell_world *world);

/* PostgreSQL: commits stand in the log before others see them, and not in that order. */
void cell_delay(struct cell_world *world, struct random *random);

/* Reads of what was not there, or is not what a client reads: that many in a hundred. */
void cell_lie(struct cell_world *world, uint32_t percent);

/* PostgreSQL: one record gets a snapshot that contradicts several others. Whose it is; ISO_NONE: the
 * one that was drawn contradicts nobody, or one other, so that nobody knows which is wrong. */
uint32_t cell_forge(struct cell_world *world, struct random *random);
bool cell_sees(const struct cell_transaction *by, uint64_t xid);

/* ---- cell_records.c: what clients publish ---- */

const char *cell_key_of(const struct cell_world *world, uint32_t row, char key[CELL_TEXT]);
const char *cell_second_column(const struct cell_world *world);
/* As the stream has it. `w` of Debezium's feed is a decimal, which only schemas tell. */
const char *cell_text_of(const struct cell_world *world, bool is_w, int value,
                         char text[CELL_TEXT]);
iso_atom cell_atom(struct iso_history *history, const char *text);
void cell_name_of(const struct cell_world *world, uint32_t t, char name[CELL_TEXT]);
void cell_print_record(const struct cell_world *world, FILE *file, uint32_t t);
/* Whether that has no snapshot, though others do (PostgreSQL). */
bool cell_omits_snapshot(const struct cell_world *world, uint32_t t);

/* ---- cell_expected.c: what the join must make of it ---- */

/* An update that left all as it was has no row in a stream of net changes. */
bool cell_has_row(const struct cell_world *world, const struct cell_operation *operation);
iso_atom cell_atom_of(const struct cell_world *world, struct iso_history *history, bool is_w,
                      int value);
void cell_add_found(struct cell_found *found, const char *text);
void cell_drop_found(struct cell_found *found, const char *text);
bool cell_same_found(struct cell_found *left, struct cell_found *right); /* sorts them */
void cell_expect(struct cell_world *world);

/* ---- cell_stream.c ---- */

/* Whether commits bring an END that counts their rows. */
bool cell_has_counts(const struct cell_world *world);

/* Whether records have PostgreSQL's snapshots. */
bool cell_has_snapshots(const struct cell_world *world);

/* False: the feed cannot carry it. */
bool cell_write_feed(struct cell_world *world, struct feed *feed);

/* A pipeline for it, whose final violations become `found`. */
struct iso_pipeline *cell_open_pipeline(struct cell_world *world);

/* What stood there before: as initial values; and to the pipeline, where no snapshot says it. */
void cell_tell_initial(const struct cell_world *world, struct iso_history *history);
void cell_set_initial(struct cell_world *world, struct iso_pipeline *pipeline);

#endif
