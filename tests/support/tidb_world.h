/* A small TiDB whose change feed speaks any of TiCDC's protocols, as captures of its encoders show
 * them.
 *
 * Two tables have rows of all types, keys of one to four columns whose order in the table is not
 * that of the index, and statements that rename, truncate, drop, recover, exchange and alter them.
 * Transactions are optimistic, or pessimistic with a timestamp for each statement; some commit at
 * one timestamp (one-phase and async commit), some read the past.
 *
 *     tidb_execute(&world);           what happens: events of the feed, and what each client
 *                                     records
 *     tidb_write(&world, &feed);      the events as messages of `format`, over partitions that lag
 *                                     and send again
 *
 * The feed of a correct database accuses nobody. A client's lie about a cell that the feed tells
 * surely is `must_find`.
 */
#ifndef TESTS_SUPPORT_TIDB_WORLD_H
#define TESTS_SUPPORT_TIDB_WORLD_H

#include "values/source.h"
#include "tests/support/feed.h"
#include "tests/support/random.h"

enum {
    TIDB_TABLES = 2,
    TIDB_ROWS = 6,
    TIDB_KEYS = 4,
    TIDB_COLUMNS = 6,
    TIDB_POOL = 4,
    TIDB_VERSIONS = 60,
    TIDB_ACTIVE = 3,
    TIDB_EVENTS = 400,
    TIDB_SCHEMAS = 40,
    TIDB_LINES = 60,
    TIDB_LIES = 60
};

enum tidb_form {
    TIDB_INTEGER,
    TIDB_UNSIGNED, /* of 64 bits */
    TIDB_DECIMAL,
    TIDB_FLOAT,
    TIDB_DOUBLE,
    TIDB_VARCHAR,
    TIDB_TEXT,
    TIDB_BYTES,
    TIDB_BLOB,
    TIDB_BIT,
    TIDB_ENUM,
    TIDB_SET,
    TIDB_DATE,
    TIDB_DATETIME,
    TIDB_TIMESTAMP,
    TIDB_TIME,
    TIDB_YEAR,
    TIDB_JSON,
    TIDB_FORMS
};

struct tidb_type {
    enum tidb_form form;
    const char *sql, *mysql;     /* in a statement; in canal-json and simple */
    unsigned open_type, flags;   /* of the open protocol */
    const char *avro, *debezium; /* a column's schema, without its name */
    const char *pool[TIDB_POOL]; /* what clients record: bytes as base64, labels by number */
};

extern const struct tidb_type tidb_types[TIDB_FORMS], tidb_key_text, tidb_key_decimal;

struct tidb_column {
    char name[8];
    const struct tidb_type *type;
    bool has_default, is_dropped;
};

/* A table as it is from `version` on. */
struct tidb_schema {
    char name[24];
    uint64_t version;
    uint32_t id, key_count, column_count;
    uint8_t order[TIDB_KEYS]; /* of the key's columns in the table: places in the index */
    const struct tidb_type *key[TIDB_KEYS]; /* of the key's columns, in the index's order */
    bool is_unique, is_gone; /* a key that is not called primary; the table was dropped */
    struct tidb_column columns[TIDB_COLUMNS];
};

/* A place in a type's pool each; -1: NULL. */
struct tidb_values {
    int8_t of[TIDB_COLUMNS];
};

struct tidb_event {
    enum { TIDB_ROW, TIDB_DDL, TIDB_WATERMARK } kind;
    uint64_t cts, sts;
    uint32_t table, schema,
        before_schema; /* `before_schema`: of a DDL; ISO_NONE: it makes the table */
    uint32_t row, old_row;
    bool has_before, has_after;
    struct tidb_values before, after;
    char sql[400];
    const char *type; /* in canal-json */
    unsigned open_type;
};

struct tidb_version {
    uint64_t cts;
    bool exists, is_known[TIDB_COLUMNS]; /* the feed surely tells the cell */
    struct tidb_values values;
};

struct tidb_table {
    uint32_t schema;
    uint32_t keys[TIDB_ROWS][TIDB_KEYS];
    struct tidb_row {
        uint32_t count;
        struct tidb_version list[TIDB_VERSIONS];
        const void *locked; /* by this transaction */
    } rows[TIDB_ROWS];
};

struct tidb_lie {
    char text[300]; /* "tid key", without its axiom */
    bool must_find;
    bool may_be_doubt; /* another text of the cell's value was read before it: a doubt is enough */
};

struct tidb_world {
    const char *format; /* as the decoder's option */
    struct random random;
    bool lies, statements, one_zone; /* clients lie; DDL comes; zone=same is set */
    bool mixes;                      /* names and numbers of labels, in one transaction */
    bool loses;                      /* one row of the feed is left out */

    uint64_t now, altered;                /* the last statement's */
    uint32_t transactions, first_columns; /* of the tables, as they are made */
    struct tidb_table tables[TIDB_TABLES];
    uint32_t schema_count, event_count, line_count, lie_count;
    struct tidb_schema schemas[TIDB_SCHEMAS];
    struct tidb_event events[TIDB_EVENTS];
    char *lines[TIDB_LINES];
    struct tidb_lie told[TIDB_LIES];
    bool was_raw, says_start, has_lossy, was_lost;
    bool reveals; /* the row that was lost, by its next change */
    uint32_t shared_commits, locks, past_reads, moves, labels,
        recorded_reads;    /* how often they occurred */
    struct iso_text texts; /* schemas for the decoder */
    const char
        *column_schema[TIDB_SCHEMAS * 2]; /* avro: value's and key's of each schema, in `texts` */
    size_t schema_place[TIDB_SCHEMAS * 2];
};

void tidb_execute(struct tidb_world *world);
void tidb_release(struct tidb_world *world);

/* False: the world has too much for its lists. */
void tidb_write(struct tidb_world *world, struct feed *feed);

/* What a decoder of the feed needs; keeps texts in the world. */
void tidb_decoder_options(struct tidb_world *world, struct iso_decoder_options *options);

/* ---- tidb_types.c ---- */

/* A cell as a message has it. `text` NULL: null. */
struct tidb_cell {
    char name[8];
    const struct tidb_type *type;
    const char *text;
    bool is_key;
};

/* In the table's order; how many. */
uint32_t tidb_cells(const struct tidb_world *world, const struct tidb_schema *schema,
                    const uint32_t *key, const struct tidb_values *values, struct tidb_cell *cells);
bool tidb_is_label(const struct tidb_cell *cell);
const char *tidb_label_of(const struct tidb_cell *cell); /* its name */
void tidb_put_create(struct iso_text *text, const struct tidb_schema *schema);
const char *tidb_key_name(uint32_t place);
void tidb_put_long(struct iso_text *text, uint64_t number);
void tidb_put_run(struct iso_text *text, const char *bytes, size_t length);

/* The cell's value in each protocol. */
void tidb_put_canal(struct iso_text *text, const struct tidb_cell *cell);
void tidb_put_open(struct iso_text *text, const struct tidb_cell *cell);
void tidb_put_simple(struct iso_text *text, const struct tidb_cell *cell);
void tidb_put_simple_avro(struct iso_text *text, const struct tidb_cell *cell);
void tidb_put_avro(struct iso_text *text, const struct tidb_cell *cell);
void tidb_put_debezium(struct iso_text *text, const struct tidb_cell *cell, bool has_default);
void tidb_put_csv(struct iso_text *text, const struct tidb_cell *cell);

#endif
