/* What a query had to find, from the definitions: tables are made anew for each query, by all that
 * was committed before its moment, in order, operation by operation; conditions are sets of the
 * three truths, by going through all outcomes.
 *
 * Histories are plain structs of one table with a few rows and columns of integers. Slow, and
 * simple. Threads: any. */
#ifndef TESTS_ORACLE_TABLE_ORACLE_H
#define TESTS_ORACLE_TABLE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "verdict/verdict.h"

enum {
    TABLE_ROWS = 6,
    TABLE_COLUMNS = 3,
    TABLE_TRANSACTIONS = 10,
    TABLE_OPERATIONS = 5,
    TABLE_NODES = 7,
    TABLE_BAG = 8,
    TABLE_PARTS = 60 /* as many rows as there can be divide it */
};

struct table_cell {
    bool is_given, is_null;
    int value;
};

/* TABLE_SAME: IS NOT DISTINCT FROM the constant; TABLE_AGAINST: compares with another column;
 * TABLE_UNKNOWN: the left one IS UNKNOWN. */
enum table_node_kind {
    TABLE_COMPARE,
    TABLE_IS_NULL,
    TABLE_SAME,
    TABLE_AGAINST,
    TABLE_NOT,
    TABLE_UNKNOWN,
    TABLE_AND,
    TABLE_OR
};
struct table_node {
    enum table_node_kind kind;
    uint32_t column, other, relation; /* relation: bits: 1 less, 2 equal, 4 greater */
    int constant;
    uint32_t spelling;    /* for who writes it as a text */
    uint32_t left, right; /* nodes behind this one */
};

/* Parts of a key; a bound may have fewer, and none is open. */
struct table_key {
    uint32_t count;
    int parts[2];
};

enum table_asked { TABLE_ASKED_ROWS, TABLE_ASKED_AGGREGATES, TABLE_ASKED_BAG };
enum table_function {
    TABLE_COUNT_ROWS,
    TABLE_COUNT,
    TABLE_DISTINCT, /* as far as here how many */
    TABLE_SUM,
    TABLE_AVERAGE, /* in parts of TABLE_PARTS */
    TABLE_MIN,
    TABLE_MAX
};
enum table_time { TABLE_AT_START, TABLE_AT_OTS, TABLE_AT_LOCK };

struct table_query {
    struct table_key from, to;
    struct table_node nodes[TABLE_NODES];
    uint32_t node_count; /* 0: no condition */
    enum table_asked asked;
    bool is_partial, is_parted; /* is_parted: the next two ask the same of NOT and of IS UNKNOWN */
    enum table_time time;
    uint64_t ots;
    bool returned[TABLE_ROWS];
    uint32_t aggregate_count;
    struct table_aggregate {
        enum table_function function;
        uint32_t column;
        struct table_cell told;
    } aggregates[2];
    uint32_t bag_column, bag_count; /* TABLE_COLUMNS: of no column */
    struct table_cell bag[TABLE_BAG];
};

enum table_kind { TABLE_WRITE, TABLE_DELETE, TABLE_QUERY };
struct table_operation {
    enum table_kind kind;
    uint32_t row;
    struct table_cell cells[TABLE_COLUMNS];
    struct table_query query;
};

struct table_transaction {
    uint32_t tid;
    uint8_t status; /* ISO_COMMITTED, ... */
    bool is_point, cdc_writes;
    bool comes_unknown; /* online its outcome is told later */
    uint64_t sts, cts;
    struct table_operation operations[TABLE_OPERATIONS];
    uint32_t operation_count;
};

struct table_history {
    struct table_key keys[TABLE_ROWS];
    bool was_there[TABLE_ROWS]; /* at the start, with these cells */
    struct table_cell cells[TABLE_ROWS][TABLE_COLUMNS];
    struct table_transaction transactions[TABLE_TRANSACTIONS];
    uint32_t transaction_count;
    uint32_t scan_limit;
};

/* Why something was not judged. */
enum { TABLE_VALUE = 1, TABLE_UNKNOWN_WRITER = 2, TABLE_OWN_ORDER = 4, TABLE_SCAN_LIMIT = 8 };

struct table_judgement {
    uint32_t missing[2], extra[2]; /* rows by number as bits: EXT, INT */
    bool aggregate;
    uint32_t bag_missing, bag_extra; /* how many */
    uint32_t reasons;
};

struct table_judgement table_oracle(const struct table_history *history, enum iso_level level,
                                    uint32_t transaction, uint32_t operation);

/* Whether the key lies between the query's bounds. */
bool table_within(const struct table_query *query, const struct table_key *key);

/* For who makes histories: the rows as the query had to see them, as far as they are known. */
struct table_row {
    bool is_there, is_own;
    struct table_cell cells[TABLE_COLUMNS]; /* not given: not known */
};
void table_state(const struct table_history *history, enum iso_level level, uint32_t transaction,
                 uint32_t operation, struct table_row rows[TABLE_ROWS]);

/* What the aggregate is of these rows, of which each one counts that surely belongs to the answer;
 * false: it is not known. */
bool table_aggregate(const struct table_history *history, const struct table_query *query,
                     const struct table_row *rows, const struct table_aggregate *aggregate,
                     struct table_cell *value);

/* Outcomes of the query's condition as bits: 1 true, 2 false, 4 null. */
unsigned table_matches(const struct table_query *query, const struct table_row *row);

#endif
