/* Conditions and aggregates against SQLite's own answers, on random small tables with NULLs.
 *
 * SQLite keeps a table of integers, numerics, texts and booleans, declared as such, so that its
 * affinities and the standard agree: constants are of their column's type, numerics have at most 15
 * digits, those that are summed are quarters. It says of each row what a random condition is: true,
 * false or NULL. So must ours be, if it was told the types. Where it was told less (a column
 * without its type, a text of another collation, a cell that is unknown), ours is a set that has to
 * contain SQLite's answer: it never guesses. Aggregates are compared over the rows that match.
 *
 * Dates and times are texts to SQLite, in one form, so that their bytes are in order; what else there
 * is of them, and casts that round, only PostgreSQL is asked.
 *
 * For another database it writes the same questions as a script for psql, and what may be answered:
 * a line a row, `t|f|N`, and `tN` where either may be (tests/system/postgres/conditions.sh).
 *
 *     predicate_sql [--conditions N] [--seed N] [--script FILE --answers FILE]
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "predicate/aggregate.h"
#include "predicate/bounds.h"
#include "predicate/condition.h"
#include "tests/support/arguments.h"
#include "tests/support/condition_paths.h"
#include "values/spelling.h"

enum { COLUMNS = 17, ROWS = 12, CELL = 48, STATEMENT = 1 << 14, PER_TABLE = 25, DEPTH = 4 };

enum family { INTEGERS, NUMERICS, TEXTS, BOOLEANS, DATES, TIMESTAMPS, INSTANTS, TIMES };

struct column {
    const char *name, *declared; /* as SQL writes it, and what SQLite is told */
    const char *plain;           /* its name */
    enum family family;
    struct iso_scalar_type type;
    bool is_loose; /* its answers are sets */
};

static const struct column columns[COLUMNS] = {
    {"a", "INTEGER", "a", INTEGERS, {.value = {.kind = ISO_VALUE_INTEGER}}, false},
    {"Big",
     "INTEGER",
     "big",
     INTEGERS,
     {.value = {.kind = ISO_VALUE_INTEGER_64}, .is_signed = true},
     false},
    {"n", "NUMERIC", "n", NUMERICS, {.value = {.kind = ISO_VALUE_DECIMAL, .detail = 2}}, false},
    {"\"no\"\"te\"",
     "TEXT",
     "no\"te",
     TEXTS,
     {.value = {.kind = ISO_VALUE_TEXT}, .text = ISO_TEXT_ORDERED},
     false},
    {"t", "TEXT", "t", TEXTS, {.value = {.kind = ISO_VALUE_TEXT}, .text = ISO_TEXT_ORDERED}, false},
    {"f", "BOOLEAN", "f", BOOLEANS, {.value = {.kind = ISO_VALUE_BOOLEAN}}, false},
    {"loose", "TEXT COLLATE NOCASE", "loose", TEXTS, {.value = {.kind = ISO_VALUE_TEXT}}, true},
    {"m", "INTEGER", "m", INTEGERS, {.text = ISO_TEXT_ORDERED}, true},
    {"v", "TEXT COLLATE NOCASE", "v", TEXTS, {.value = {.kind = ISO_VALUE_ANY}}, true},
    {"back",
     "TEXT COLLATE backwards",
     "back",
     TEXTS,
     {{.kind = ISO_VALUE_TEXT}, .text = ISO_TEXT_DISTINCT},
     true},
    {"x",
     "TEXT COLLATE backwards",
     "x",
     TEXTS,
     {{.kind = ISO_VALUE_ANY}, .text = ISO_TEXT_DISTINCT},
     true},
    {"w", "TEXT", "w", TEXTS, {.value = {.kind = ISO_VALUE_ANY}, .text = ISO_TEXT_ORDERED}, true},
    {"d", "TEXT", "d", DATES, {.value = {.kind = ISO_VALUE_DATE}}, false},
    {"ts", "TEXT", "ts", TIMESTAMPS, {.value = {.kind = ISO_VALUE_TIMESTAMP, .detail = 6}}, false},
    {"ts3",
     "TEXT",
     "ts3",
     TIMESTAMPS,
     {.value = {.kind = ISO_VALUE_TIMESTAMP, .detail = 3}},
     false},
    {"tz", "TEXT", "tz", INSTANTS, {.value = {.kind = ISO_VALUE_INSTANT}}, false},
    {"tm", "TEXT", "tm", TIMES, {.value = {.kind = ISO_VALUE_TIME, .detail = 6}}, false},
};

struct table {
    uint32_t rows;
    char cells[ROWS][COLUMNS][CELL]; /* canonical; NULL is '\1' */
    bool is_foreign[ROWS];           /* it has letters that are no ASCII */
};

static const char none[] = "\1";

static sqlite3 *database;
static FILE *script, *answers; /* or NULL */
static bool is_only_of_server; /* the condition has what SQLite takes for something else */
static struct iso_rng random_numbers;

static uint64_t below(uint64_t bound)
{
    return iso_rng_below(&random_numbers, bound);
}

static void fail(const char *what, const char *condition)
{
    printf("not ok 1 - %s: %s\n# SQLite: %s\n", what, condition, sqlite3_errmsg(database));
    exit(1);
}

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, strlen(text)};
}

/* ---- values ---- */

static const char *const texts[] = {"",         "a",  "A",  "ab", "aB", "abc",  "b'c",
                                    "\"",       "10", "9",  "07", "1.", "open", "paid",
                                    "\xc3\xa9", " a", "a ", "t",  "z%", "a_b"};

static void random_integer(char *cell)
{
    static const char *const edges[] = {"9223372036854775807", "-9223372036854775808", "4294967296",
                                        "-1", "0"};
    if (below(8))
        snprintf(cell, CELL, "%d", (int)below(12) - 3);
    else
        snprintf(cell, CELL, "%s", edges[below(sizeof edges / sizeof *edges)]);
}

static void random_numeric(char *cell)
{
    int quarters = (int)below(40) - 10;
    snprintf(cell, CELL, "%s%d.%02d", quarters < 0 ? "-" : "", abs(quarters) / 4,
             abs(quarters) % 4 * 25);
}

/* Few, so that some are equal; of a timestamp(3) also what it has no place for. */
static void random_time(enum family family, bool is_short, char *cell)
{
    static const char *const days[] = {"1969-12-31", "1970-01-01", "2024-02-29", "2024-03-01"};
    static const char *const clocks[] = {"00:00:00.000000", "12:34:56.500000", "23:59:59.999000",
                                         "12:34:56.500001"};
    const char *day = days[below(4)], *clock = clocks[below(is_short ? 3 : 4)];
    if (family == DATES)
        snprintf(cell, CELL, "%s", day);
    else if (family == TIMES)
        snprintf(cell, CELL, "%s", clock);
    else
        snprintf(cell, CELL, "%s %s%s", day, clock, family == INSTANTS ? "+00" : "");
}

static void random_value(const struct column *column, char *cell)
{
    switch (column->family) {
    case INTEGERS:
        random_integer(cell);
        if (column->plain[0] != 'b')
            snprintf(cell, CELL, "%d", (int)below(12) - 3);
        break;
    case NUMERICS:
        random_numeric(cell);
        break;
    case TEXTS:
        snprintf(cell, CELL, "%s", texts[below(sizeof texts / sizeof *texts)]);
        break;
    case BOOLEANS:
        snprintf(cell, CELL, "%s", below(2) ? "true" : "false");
        break;
    default:
        random_time(column->family, !strcmp(column->plain, "ts3"), cell);
        break;
    }
}

/* As SQL writes it, without more quotes. */
static void put_quoted(struct iso_text *text, const char *value)
{
    iso_text_put(text, "'");
    for (; *value; value++) {
        iso_text_put_bytes(text, value, 1);
        if (*value == '\'')
            iso_text_put(text, "'");
    }
    iso_text_put(text, "'");
}

static void put_integer(struct iso_text *text)
{
    char cell[CELL];
    random_integer(cell);
    if (!below(12))
        iso_text_put(text, below(2) ? "99999999999999999999" : "-1e3");
    else if (!below(8))
        put_quoted(text, cell);
    else
        iso_text_put(text, cell);
}

static void put_numeric(struct iso_text *text)
{
    static const char *const odd[] = {
        "2.10", ".5", "-0.0", "1e1", "+3.", "25E-2", "123456789.012345"};
    char cell[CELL];
    random_numeric(cell);
    if (below(6))
        iso_text_put(text, cell);
    else
        iso_text_put(text, odd[below(sizeof odd / sizeof *odd)]);
}

/* In one form for SQLite; for a server in its others, too. */
static void put_time(struct iso_text *text, enum family family)
{
    static const char *const types[] = {[DATES] = "DATE ",
                                        [TIMESTAMPS] = "timestamp ",
                                        [INSTANTS] = "timestamptz ",
                                        [TIMES] = "time "};
    static const char *const odd[] = {[DATES] = "2024-03-01",
                                      [TIMESTAMPS] = "2024-02-29 12:34",
                                      [INSTANTS] = "2024-02-29 01:34:56.5+13",
                                      [TIMES] = "12:34:56.5"};
    char cell[CELL];
    random_time(family, false, cell);
    if (script && !below(3)) {
        is_only_of_server = true;
        iso_text_put(text, below(2) ? types[family] : "");
        put_quoted(text, odd[family]);
        return;
    }
    put_quoted(text, cell);
}

static void put_constant(struct iso_text *text, enum family family)
{
    if (!below(12)) {
        iso_text_put(text, "NULL");
        return;
    }
    switch (family) {
    case INTEGERS:
        if (below(6))
            put_integer(text);
        else
            put_numeric(text);
        break;
    case NUMERICS:
        put_numeric(text);
        break;
    case TEXTS:
        put_quoted(text, texts[below(sizeof texts / sizeof *texts)]);
        break;
    case BOOLEANS:
        iso_text_put(text, below(2) ? "TRUE" : "false");
        break;
    default:
        put_time(text, family);
        break;
    }
}

/* ---- conditions ---- */

static const char *const operators[] = {" = ", " <> ", "!= ", " < ", " <= ", " > ", ">= "};

static const char *some_operator(void)
{
    return operators[below(sizeof operators / sizeof *operators)];
}

static bool is_number(enum family family)
{
    return family == INTEGERS || family == NUMERICS;
}

/* Another column of its kind and collation, or a constant. */
static void put_other(struct iso_text *text, const struct column *column)
{
    const struct column *other = &columns[below(COLUMNS)];
    bool alike =
        other->family == column->family || (is_number(other->family) && is_number(column->family));
    bool collated = column->is_loose && column->family == TEXTS;
    if (script && column->family == DATES && !below(4)) {
        is_only_of_server = true;
        iso_text_put(text, below(2) ? "ts" : "TIMESTAMP '2024-02-29 12:34:56.5'");
        return;
    }
    if (alike && !below(4) && !other->is_loose && !collated)
        iso_text_put(text, other->name);
    else
        put_constant(text, column->family);
}

static void put_in(struct iso_text *text, const struct column *column)
{
    iso_text_put(text, below(3) ? " IN (" : " NOT IN (");
    if (!script && !below(6)) { /* no SQL of PostgreSQL's, where a list may be empty in an array */
        iso_text_put(text, ")");
        return;
    }
    for (uint64_t left = 1 + below(4); left; left--) {
        put_constant(text, column->family);
        iso_text_put(text, left > 1 ? ", " : ")");
    }
}

/* Of a type, since an array of texts is compared with texts only. */
static void put_any(struct iso_text *text, const struct column *column)
{
    static const char *const types[] = {"numeric", "numeric",   "text",        "boolean",
                                        "date",    "timestamp", "timestamptz", "time"};
    static const char *const functions[] = {"ANY (ARRAY[", "any(array[", "SOME (ARRAY [",
                                            "ALL (ARRAY["};
    is_only_of_server = true;
    iso_text_put(text, some_operator());
    iso_text_put(text, functions[below(4)]);
    for (uint64_t left = below(5), i = 0; i < left; i++) {
        char cell[CELL];
        random_value(column, cell);
        iso_text_put(text, i ? ", " : "");
        if (!below(8))
            iso_text_put(text, "NULL");
        else if (is_number(column->family) && below(3))
            put_numeric(text);
        else
            put_quoted(text, cell);
    }
    iso_text_format(text, "]::%s[])", types[column->family]);
}

static void put_between(struct iso_text *text, const struct column *column)
{
    iso_text_put(text, below(3) ? " BETWEEN " : " not between ");
    put_other(text, column);
    iso_text_put(text, " AND ");
    put_other(text, column);
}

static void put_like(struct iso_text *text)
{
    static const char *const patterns[] = {" LIKE 'a%'",    " LIKE '%'",       " NOT LIKE 'ab%'",
                                           " like 'A'",     " LIKE '10%'",     " LIKE '%b%'",
                                           " LIKE '_'",     " NOT LIKE '%_b'", " LIKE 'a%%c_'",
                                           " LIKE '%a%a%'", " LIKE '__%'"};
    iso_text_put(text, patterns[below(sizeof patterns / sizeof *patterns)]);
}

/* A limit that values of these columns keep within, once they are rounded or cut. */
static void put_limited(struct iso_text *text, const struct column *column)
{
    static const char *const numbers[] = {"::numeric(2,1)", "::numeric(1)", "::DECIMAL(9, 2)",
                                          "::real::numeric(3,1)", "::float8::numeric(1,0)"};
    static const char *const cut[] = {"::varchar(1)", "::character varying(2)", "::varchar",
                                      "::varchar(3)::varchar(2)"};
    bool is_text = column->family == TEXTS;
    is_only_of_server = true;
    iso_text_put(text, is_text || below(2) ? column->name : below(2) ? "(7.25)" : "'-0.45'");
    iso_text_put(text, is_text ? cut[below(4)] : numbers[below(5)]);
    iso_text_put(text, some_operator());
    if (below(3))
        put_constant(text, column->family);
    else if (is_text)
        iso_text_put(text, "'abc'::varchar(2)");
    else
        iso_text_put(text, below(2) ? "(7.25::numeric(2,1))" : "'7.25'::numeric(9,1)");
}

/* Letters of texts; casts of numbers that SQLite takes as others do, and those that it does not. */
static bool put_function(struct iso_text *text, const struct column *column)
{
    static const char *const kept[] = {"numeric", "DECIMAL"};
    static const char *const numbers[] = {"int8",   "bigint", "numeric", "double precision",
                                          "float8", "real",   "float4"};
    bool is_text = column->family == TEXTS, is_plain = !script || below(2);
    if (!is_text && !is_number(column->family))
        return false;
    is_only_of_server |= !is_text && !is_plain;
    iso_text_put(text, is_text ? below(2) ? "lower(" : "UPPER(" : "CAST(");
    iso_text_put(text, column->name);
    if (!is_text) {
        iso_text_put(text, " AS ");
        iso_text_put(text, is_plain ? kept[below(2)] : numbers[below(7)]);
    }
    bool is_small = strcmp(column->plain, "big") != 0; /* in single precision, too */
    iso_text_put(text, is_text || is_plain || !is_small || below(3) ? ")" : ")::numeric::bigint");
    if (is_text && !below(3)) {
        put_like(text);
        return true;
    }
    iso_text_put(text, some_operator());
    if (is_text && !below(3)) {
        iso_text_put(text, "lower('AB')");
    } else if (is_text) {
        put_constant(text, TEXTS);
    } else {
        put_numeric(text);
    }
    return true;
}

/* A timestamp's day, and its time of day. */
static void put_part(struct iso_text *text)
{
    bool is_day = below(2);
    is_only_of_server = true;
    iso_text_put(text, below(2) ? "ts" : "ts3");
    iso_text_put(text, is_day ? "::date" : "::time");
    iso_text_put(text, some_operator());
    if (!below(3))
        iso_text_put(text, is_day ? "d" : "tm");
    else
        put_constant(text, is_day ? DATES : TIMES);
}

static void put_test(struct iso_text *text)
{
    static const char *const truths[] = {"",          " IS TRUE",      " IS NOT TRUE",
                                         " IS FALSE", " IS NOT FALSE", " IS NULL"};
    const struct column *column = &columns[below(COLUMNS)];
    uint64_t kind = below(10);
    if (!below(30)) {
        iso_text_put(text, below(2) ? "1 = 1.0" : "2 > 3");
        return;
    }
    if (!below(8) && put_function(text, column))
        return;
    if (script && !below(10)) {
        put_part(text);
        return;
    }
    bool is_limited = script && (column->family == TEXTS || is_number(column->family)) &&
                      strcmp(column->plain, "big");
    if (is_limited && !below(6)) {
        put_limited(text, column);
        return;
    }
    if (kind == 0 && !column->is_loose) {
        put_constant(text, column->family);
        iso_text_put(text, some_operator());
        iso_text_put(text, column->name);
        return;
    }
    iso_text_put(text, column->name);
    if (column->family == BOOLEANS && kind < 4) {
        iso_text_put(text, truths[below(sizeof truths / sizeof *truths)]);
    } else if (kind < 6) {
        iso_text_put(text, some_operator());
        put_other(text, column);
    } else if (kind == 6) {
        if (script && below(2))
            put_any(text, column);
        else
            put_in(text, column);
    } else if (kind == 7) {
        put_between(text, column);
    } else if (kind == 8 && column->family == TEXTS) {
        put_like(text);
    } else if (kind == 9 && !column->is_loose) {
        iso_text_put(text, below(2) ? " IS DISTINCT FROM " : " is not distinct from ");
        put_other(text, column);
    } else {
        iso_text_put(text, below(2) ? " IS NULL" : " IS NOT NULL");
    }
}

static void put_condition(struct iso_text *text, int depth)
{
    uint64_t kind = depth ? below(6) : 0;
    if (kind < 2) {
        put_test(text);
    } else if (kind == 2) {
        iso_text_put(text, "NOT (");
        put_condition(text, depth - 1);
        iso_text_put(text, below(4) ? ")" : ") IS NOT TRUE");
    } else {
        bool brackets = below(2);
        iso_text_put(text, brackets ? "(" : "");
        put_condition(text, depth - 1);
        iso_text_put(text, below(2) ? " AND " : " or ");
        put_condition(text, depth - 1);
        iso_text_put(text, brackets ? ")" : "");
    }
}

/* ---- tables ---- */

static void run(const char *sql)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail("SQLite refuses", sql);
}

static void make_canonical(const struct column *column, char *cell)
{
    struct iso_text text = {0};
    if (!iso_value_spell(column->type.value, text_of(cell), &text))
        fail("no time", cell);
    snprintf(cell, CELL, "%.*s", (int)text.used, text.bytes);
    iso_text_release(&text);
}

static void make_table(struct table *table)
{
    struct iso_text sql = {0};
    memset(table->is_foreign, 0, sizeof table->is_foreign);
    table->rows = (uint32_t)below(ROWS + 1);
    iso_text_put(&sql, "DELETE FROM t;");
    for (uint32_t row = 0; row < table->rows; row++) {
        iso_text_put(&sql, "INSERT INTO t VALUES (");
        iso_text_put_unsigned(&sql, row);
        for (uint32_t i = 0; i < COLUMNS; i++) {
            char *cell = table->cells[row][i];
            bool is_null = !below(5), is_quoted = columns[i].family >= DATES;
            random_value(&columns[i], cell);
            table->is_foreign[row] |= (*cell & 0x80) != 0;
            iso_text_put(&sql, ",");
            if (is_null)
                iso_text_put(&sql, "NULL");
            else if (columns[i].family == TEXTS || is_quoted)
                put_quoted(&sql, cell);
            else
                iso_text_put(&sql, cell);
            if (is_null)
                strcpy(cell, none);
            else if (is_quoted)
                make_canonical(&columns[i], cell);
        }
        iso_text_put(&sql, ");");
    }
    iso_text_put_bytes(&sql, "", 1);
    run(sql.bytes);
    if (script)
        fprintf(script, "%s\n", sql.bytes);
    iso_text_release(&sql);
}

/* Of texts that are another with another byte, and in an order that nobody would guess. */
static int backwards(void *context, int length, const void *left, int other_length,
                     const void *right)
{
    int common = length < other_length ? length : other_length,
        order = memcmp(left, right, (size_t)common);
    (void)context;
    return -(order ? order : length - other_length);
}

static void create_table(void)
{
    struct iso_text sql = {0};
    if (sqlite3_create_collation(database, "backwards", SQLITE_UTF8, NULL, backwards) != SQLITE_OK)
        fail("SQLite takes no collation", "backwards");
    run("PRAGMA case_sensitive_like = ON");
    iso_text_put(&sql, "CREATE TABLE t (id INTEGER");
    for (uint32_t i = 0; i < COLUMNS; i++) {
        iso_text_put(&sql, ",");
        iso_text_put(&sql, columns[i].name);
        iso_text_put(&sql, " ");
        iso_text_put(&sql, columns[i].declared);
    }
    iso_text_put(&sql, ")");
    iso_text_put_bytes(&sql, "", 1);
    run(sql.bytes);
    iso_text_release(&sql);
}

/* ---- one condition ---- */

struct tried {
    struct iso_condition condition;
    uint32_t column[COLUMNS]; /* of each that it names */
    struct iso_scalar_type types[COLUMNS];
    bool is_loose;
    iso_truth truth[ROWS];
};

static uint64_t judged, unjudged;

static uint32_t find_column(const struct iso_condition_column *named)
{
    for (uint32_t i = 0; i < COLUMNS; i++)
        if (iso_condition_column_is(named, text_of(columns[i].plain)))
            return i;
    fail("a column that there is not", named->name.at);
    return 0;
}

static struct iso_scalar cell_of(const struct table *table, uint32_t row, uint32_t column)
{
    const char *cell = table->cells[row][column];
    return strcmp(cell, none) ? iso_scalar_read(columns[column].type, text_of(cell))
                              : iso_scalar_of_kind(ISO_SCALAR_NULL);
}

static void read_condition(struct tried *tried, const char *text)
{
    struct iso_error error = ISO_NO_ERROR;
    *tried = (struct tried){.is_loose = false};
    if (iso_condition_parse(&tried->condition, text, strlen(text), &error) != ISO_OK)
        fail(error.text, text);
    for (uint32_t i = 0; i < tried->condition.column_count; i++) {
        tried->column[i] = find_column(&tried->condition.columns[i]);
        tried->types[i] = columns[tried->column[i]].type;
        tried->is_loose |= columns[tried->column[i]].is_loose;
    }
    iso_condition_bind(&tried->condition, tried->types);
}

/* Whatever stands in a cell that is unknown, the answer is one of those that were given. */
static void try_unknown(const struct tried *tried, struct iso_scalar *cells, iso_truth truth,
                        const char *text)
{
    if (!tried->condition.column_count)
        return;
    uint32_t which = (uint32_t)below(tried->condition.column_count);
    cells[which] = iso_scalar_of_kind(ISO_SCALAR_UNKNOWN);
    iso_truth unknown = iso_condition_judge(&tried->condition, cells);
    if (iso_truth_outcomes(truth) & ~iso_truth_outcomes(unknown))
        fail("an unknown cell was guessed", text);
}

static void judge_rows(struct tried *tried, const struct table *table, const char *text)
{
    for (uint32_t row = 0; row < table->rows; row++) {
        struct iso_scalar cells[COLUMNS];
        for (uint32_t i = 0; i < tried->condition.column_count; i++)
            cells[i] = cell_of(table, row, tried->column[i]);
        tried->truth[row] = iso_condition_judge(&tried->condition, cells);
        try_unknown(tried, cells, tried->truth[row], text);
    }
}

/* The condition's paths find each row that may match. */
static void check_paths(const struct tried *tried, const struct table *table, const char *text)
{
    for (uint32_t row = 0; row < table->rows; row++) {
        struct iso_scalar cells[COLUMNS];
        for (uint32_t i = 0; i < tried->condition.column_count; i++)
            cells[i] = cell_of(table, row, tried->column[i]);
        if (tried->truth[row] & ISO_TRUTH_TRUE &&
            !condition_paths_find(&tried->condition, tried->types, cells))
            fail("a row that matches is not found", text);
    }
}

static sqlite3_stmt *prepare(const char *before, const char *text, const char *behind)
{
    sqlite3_stmt *statement;
    char sql[STATEMENT];
    snprintf(sql, sizeof sql, "%s%s%s", before, text, behind);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        fail("SQLite refuses", sql);
    return statement;
}

static void compare_rows(const struct tried *tried, const struct table *table, const char *text)
{
    sqlite3_stmt *statement = prepare("SELECT (", text, ") FROM t ORDER BY id");
    for (uint32_t row = 0; row < table->rows; row++) {
        if (sqlite3_step(statement) != SQLITE_ROW)
            fail("SQLite has fewer rows", text);
        bool is_null = sqlite3_column_type(statement, 0) == SQLITE_NULL;
        unsigned answer = is_null                            ? ISO_TRUTH_NULL
                          : sqlite3_column_int(statement, 0) ? ISO_TRUTH_TRUE
                                                             : ISO_TRUTH_FALSE;
        iso_truth truth = tried->truth[row];
        bool is_loose = tried->is_loose || (table->is_foreign[row] &&
                                            iso_truth_reason(truth) == ISO_PREDICATE_COLLATION);
        if (!(truth & answer) || (!is_loose && truth != answer)) {
            printf("# row %u: SQLite says %u, we %u\n", row, answer, truth);
            fail("another truth", text);
        }
        *(truth == answer ? &judged : &unjudged) += tried->is_loose;
    }
    sqlite3_finalize(statement);
}

/* ---- aggregates ---- */

static const char *const aggregates[] = {"count(*)",
                                         "count(a)",
                                         "COUNT(\"no\"\"te\")",
                                         "sum(a)",
                                         "sum(n)",
                                         "min(n)",
                                         "max(a)",
                                         "min(Big)",
                                         "max(t)",
                                         "min(\"no\"\"te\")",
                                         "max(n)",
                                         "count(f)",
                                         "sum(m)",
                                         "max(loose)",
                                         "avg(a)",
                                         "avg(n)",
                                         "count(DISTINCT a)",
                                         "count(distinct n)",
                                         "count(DISTINCT t)",
                                         "count(DISTINCT loose)",
                                         "count(DISTINCT w)",
                                         "count(DISTINCT tz)"};

static void add_rows(struct iso_aggregation *total, const struct tried *tried,
                     const struct table *table, uint32_t column)
{
    static const struct iso_scalar row_itself = {.kind = ISO_SCALAR_NULL};
    for (uint32_t row = 0; row < table->rows; row++) {
        iso_truth matches = iso_truth_matches(tried->truth[row]);
        struct iso_scalar cell = column < COLUMNS ? cell_of(table, row, column) : row_itself;
        if (matches == ISO_TRUTH_TRUE)
            iso_aggregation_add(total, &cell);
        else if (iso_truth_reason(matches))
            iso_aggregation_doubt(total, iso_truth_reason(matches));
    }
}

/* What is counted of the rows that match; the column, or COLUMNS. */
static uint32_t count_rows(struct iso_aggregation *total, const struct tried *tried,
                           const struct table *table, const char *function)
{
    struct iso_aggregate aggregate;
    struct iso_error error = ISO_NO_ERROR;
    if (iso_aggregate_parse(&aggregate, function, strlen(function), &error) != ISO_OK)
        fail(error.text, function);
    uint32_t column =
        aggregate.kind == ISO_AGGREGATE_ROWS ? COLUMNS : find_column(&aggregate.column);
    iso_aggregation_init(total, &aggregate,
                         column < COLUMNS ? columns[column].type : (struct iso_scalar_type){0});
    add_rows(total, tried, table, column);
    iso_aggregate_release(&aggregate);
    return column;
}

static void compare_aggregate(const struct tried *tried, const struct table *table,
                              const char *text, const char *function)
{
    struct iso_aggregation total;
    char sql[STATEMENT];
    uint32_t column = count_rows(&total, tried, table, function);
    snprintf(sql, sizeof sql, "SELECT CAST(%s AS TEXT) FROM t WHERE ", function);
    sqlite3_stmt *statement = prepare(sql, text, "");
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail("SQLite has no aggregate", text);
    const char *said = (const char *)sqlite3_column_text(statement, 0);
    iso_truth truth =
        iso_aggregation_is(&total, said ? text_of(said) : (struct iso_json_text){NULL, 0});
    bool is_loose = tried->is_loose || (column < COLUMNS && columns[column].is_loose) ||
                    iso_truth_reason(truth) == ISO_PREDICATE_COLLATION;
    if (!(truth & ISO_TRUTH_TRUE) || (!is_loose && truth != ISO_TRUTH_TRUE)) {
        printf("# %s: SQLite says %s\n", function, said ? said : "NULL");
        fail("another aggregate", text);
    }
    if (!is_loose && iso_aggregation_is(&total, text_of("12345.678")) == ISO_TRUTH_TRUE)
        fail("an aggregate is anything", text);
    sqlite3_finalize(statement);
    iso_aggregation_release(&total);
}

/* The server is asked for the same aggregate, as a text of our form; of an average, whether it is
 * ours but for its last digits. Our answer: `=` and the text, N, or `?` where we do not know. */
static void ask_aggregate(const struct tried *tried, const struct table *table, const char *text,
                          struct iso_text *question, struct iso_text *answer)
{
    static const struct {
        const char *function, *before, *behind;
    } asked[] = {{"count(DISTINCT a)", "", ""},  {"count(DISTINCT n)", "", ""},
                 {"count(DISTINCT t)", "", ""},  {"count(DISTINCT ts3)", "", ""},
                 {"bool_and(f)", "", "::text"},  {"every(f)", "", "::text"},
                 {"bool_or(f)", "", "::text"},   {"sum(n)", "trim_scale(", ")"},
                 {"max(n)", "trim_scale(", ")"}, {"min(Big)", "", ""},
                 {"avg(a)", "abs(", NULL},       {"avg(n)", "abs(", NULL}};
    size_t which = below(sizeof asked / sizeof *asked);
    struct iso_aggregation total;
    struct iso_text ours = {0};
    count_rows(&total, tried, table, asked[which].function);
    bool has = iso_aggregation_put(&total, &ours), is_average = !asked[which].behind;
    iso_text_format(question, "%s%s FILTER (WHERE %s)", asked[which].before, asked[which].function,
                    text);
    if (is_average)
        iso_text_format(question, " - %.*s) < 1e-9", has ? (int)ours.used : 1,
                        has ? ours.bytes : "0");
    else
        iso_text_put(question, asked[which].behind);
    if (total.doubt)
        iso_text_put(answer, "?");
    else if (!has)
        iso_text_put(answer, "N");
    else
        iso_text_format(answer, "=%.*s", is_average ? 1 : (int)ours.used,
                        is_average ? "t" : ours.bytes);
    iso_text_release(&ours);
    iso_aggregation_release(&total);
}

/* ---- all of them ---- */

static iso_truth truths[PER_TABLE][ROWS]; /* of the conditions on the table at hand, */
static struct iso_text counted, counts;   /* and for the server what is counted of their rows */

static void try_condition(const struct table *table, uint32_t which)
{
    struct tried tried;
    struct iso_text text = {0};
    is_only_of_server = false;
    put_condition(&text, (int)below(DEPTH + 1));
    iso_text_put_bytes(&text, "", 1);
    read_condition(&tried, text.bytes);
    judge_rows(&tried, table, text.bytes);
    check_paths(&tried, table, text.bytes);
    if (!is_only_of_server) {
        compare_rows(&tried, table, text.bytes);
        compare_aggregate(&tried, table, text.bytes,
                          aggregates[below(sizeof aggregates / sizeof *aggregates)]);
    }
    memcpy(truths[which], tried.truth, sizeof tried.truth);
    if (script) {
        fprintf(script, "%s (%s)", which ? "," : "SELECT", text.bytes);
        iso_text_put(&counted, which ? ", " : "SELECT ");
        iso_text_put(&counts, which ? "|" : "");
        ask_aggregate(&tried, table, text.bytes, &counted, &counts);
    }
    iso_condition_release(&tried.condition);
    iso_text_release(&text);
}

static void put_answers(const struct table *table, uint32_t conditions)
{
    fprintf(script, " FROM t ORDER BY id;\n");
    for (uint32_t row = 0; row < table->rows; row++)
        for (uint32_t i = 0; i < conditions; i++) {
            iso_truth truth = truths[i][row];
            fprintf(answers, "%s%s%s%c", truth & ISO_TRUTH_TRUE ? "t" : "",
                    truth & ISO_TRUTH_FALSE ? "f" : "", truth & ISO_TRUTH_NULL ? "N" : "",
                    i + 1 < conditions ? '|' : '\n');
        }
    fprintf(script, "%.*s FROM t;\n", (int)counted.used, counted.bytes);
    fprintf(answers, "%.*s\n", (int)counts.used, counts.bytes);
    counted.used = counts.used = 0;
}

static void try_table(uint32_t conditions)
{
    static struct table table;
    make_table(&table);
    for (uint32_t i = 0; i < conditions; i++)
        try_condition(&table, i);
    if (script)
        put_answers(&table, conditions);
}

static FILE *open_file(const char *name)
{
    FILE *file = name ? fopen(name, "w") : NULL;
    if (name && !file)
        fail("cannot be written", name);
    return file;
}

int main(int count, char **arguments)
{
    uint64_t conditions = 20000, seed = 18;
    const char *script_name = NULL, *answers_name = NULL;
    const struct argument known[] = {{"--conditions", .number = &conditions},
                                     {"--seed", .number = &seed},
                                     {"--script", .text = &script_name},
                                     {"--answers", .text = &answers_name},
                                     {0}};
    if (!arguments_read(known, count, arguments))
        return 2;
    iso_rng_seed(&random_numbers, seed);
    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        fail("SQLite does not open", "");
    answers = open_file(answers_name);
    script = answers ? open_file(script_name) : NULL;
    create_table();
    for (uint64_t left = conditions; left; left -= left < PER_TABLE ? left : PER_TABLE)
        try_table(left < PER_TABLE ? (uint32_t)left : PER_TABLE);
    sqlite3_close(database);
    iso_text_release(&counted);
    iso_text_release(&counts);
    if (script && (fclose(script) || fclose(answers)))
        fail("cannot be written", script_name);
    bool enough = judged > unjudged;
    printf("ok 1 - %" PRIu64 " conditions, each on up to %d rows, and as many aggregates\n",
           conditions, ROWS);
    printf("%sok 2 - where types or collations were kept from us %" PRIu64
           " answers were sure, %" PRIu64 " were not\n1..2\n",
           enough ? "" : "not ", judged, unjudged);
    return !enough;
}
