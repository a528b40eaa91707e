/* What is recorded of a statement's result: decided once its columns are described, then done row
 * by row.
 *
 *     POINT       WHERE is exactly the whole key: a read of that row, or of its absence
 *     POINTS      WHERE is the key IN a list: reads of these rows, or of their absence
 *     SET         one table and a condition that can be recorded: a query with its rows. What is
 *                 said of the key is bounds. Of ORDER BY ... LIMIT it is two (first.c)
 *     BAG         the same, and nothing says which rows they are: a query with rows without keys
 *     AGGREGATES  counts, sum, avg, min, max, bool_and, bool_or over one table
 *     SOME        how many rows match, or that at least so many do: also where they are made of
 *                 what columns hold
 *     ROWS        each row of which the key is known, of each table: reads
 *     NOTHING     with the reason
 *
 * The key of a row is known if all columns of the primary key are in the result, or fixed by
 * equalities that WHERE demands.
 *
 * Ownership: a reading owns its texts; plan, constants and catalog are borrowed until
 * reading_release. Threads: one.
 */
#pragma once

#include "iso/recorder.h"
#include "observe/catalog.h"
#include "observe/plan.h"
#include "observe/values.h"

enum {
    READING_TABLES = 8,
    READING_FIELDS = 128,
    READING_ROWS = 1000,
    READING_POINTS_MOST = 200,
    READING_ORDERS = 4,
    READING_HELD = 1 << 20 /* bytes */
};

struct result_field {
    uint32_t table, type;
    int16_t column;
    bool is_binary;
};

struct result_fields {
    struct result_field *list;
    uint32_t count, capacity;
};

/* A parameter that was bound. */
struct parameter {
    bool is_null, is_known;
    uint32_t type;     /* declared, or what the server said since; 0: not known */
    uint32_t position; /* in `values` */
};

struct parameters {
    struct parameter *list;
    uint32_t count, capacity;
    struct iso_text values;
};

/* The input of one statement. */
struct statement_input {
    const struct plan_statement *statement;
    const struct constants *constants;
    const struct parameters *parameters; /* NULL: none */
    const struct catalog *catalog;       /* NULL: not known */
    const struct spelling *spelling;
    /* the result was described as this execution has it: tables' numbers are of now */
    bool is_told;
    bool has_temporary; /* a name without a schema may be a temporary relation's */
};

enum reading_mode {
    READING_NOTHING,
    READING_ROWS_ONLY,
    READING_POINT,
    READING_POINTS,
    READING_SET,
    READING_BAG,
    READING_AGGREGATES,
    READING_SOME
};

struct reading_part {
    int field;         /* of the result; -1: a fixed value */
    uint32_t position; /* in `texts` */
    uint32_t type;
};

struct reading_source {
    const struct catalog_table *table;
    struct reading_part parts[CATALOG_KEY_MOST];
    uint32_t cell_count;
    struct {
        uint32_t field;
        const char *name;
    } cells[READING_FIELDS];
};

/* A column of ORDER BY. */
struct reading_order {
    uint32_t field; /* of the result */
    const struct catalog_column *column;
    bool descends, nulls_first, is_null; /* the last row's is NULL, */
    uint32_t last;                       /* or this, in `texts` */
};

struct reading {
    enum reading_mode mode;
    enum plan_reason reason;
    bool has_begun, is_partial, failed;
    bool is_writing, deletes; /* rows are those that were written */
    bool is_exists;           /* SOME: the one row says whether there is one */
    uint64_t rows, operations,
        limit; /* with fewer rows than the limit they are all; 0: none is known */
    uint32_t source_count, source_capacity;
    struct reading_source *sources; /* READING_TABLES at most; there is always room for one */
    struct iso_text texts, condition, values;
    char *from, *to;                                   /* bounds of the key; NULL: open */
    uint32_t points[READING_POINTS_MOST], point_count; /* of POINTS: keys in `texts` */
    bool found[READING_POINTS_MOST];
    bool is_held; /* of a SET: rows wait in `held` for the last of them (first.c) */
    struct reading_order orders[READING_ORDERS];
    uint32_t order_count;
    enum { KEY_UNORDERED, KEY_ASCENDS, KEY_DESCENDS } key_order; /* behind them */
    struct iso_text held;                                        /* each behind its length */
    const struct result_fields *fields;
    struct spelling spelling;
};

void reading_release(struct reading *reading);

/* `plain`: nothing but ROWS is possible (a part of a cursor's rows). */
void reading_begin(struct reading *reading, const struct statement_input *input,
                   const struct result_fields *fields, bool plain);
/* The reason, or that nothing is passed on which could have been recorded. */
enum plan_reason reading_refused(const struct statement_input *input, enum plan_reason reason);
/* A DataRow's body; NULL: it was too large. */
void reading_row(struct reading *reading, struct wire_cursor row,
                 struct iso_recorder_session *session);
/* All rows came; `whole` is false if there may be more. */
void reading_end(struct reading *reading, bool whole, struct iso_recorder_session *session);

/* The write of an INSERT, UPDATE or DELETE. */
struct written {
    const struct catalog_table *table; /* NULL: not known, or not recorded */
    bool deletes, alone;               /* alone: nothing else is written, or done */
};
struct written written_of(const struct statement_input *input);
/* The one row's key, by the statement's text, as `table/key`; false: not known. */
bool written_key(const struct statement_input *input, const struct written *written, char *key,
                 size_t size);
/* As reading_begin, if RETURNING has the keys: rows are then recorded as written ones. */
void written_begin(struct reading *reading, const struct statement_input *input,
                   const struct written *written, const struct result_fields *fields);
