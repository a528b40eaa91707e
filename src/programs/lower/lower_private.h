/* The state that the files of this room share: the schema, a function's variables, values, and the
 * state of one lowering. */
#pragma once

#include "base/memory.h"
#include "prove/program.h"
#include "sql/sql.h"

#define NONE ISO_NONE

enum {
    MOST_COLUMNS = 64,
    MOST_KEY = 8,
    MOST_UNIQUE_CELLS = 4096,
    MOST_EXPRESSIONS = 1 << 20,
    MOST_COMBOS = 1 << 16,
    MOST_ROWS = 4096
};

enum type { TYPE_NULL, TYPE_INT, TYPE_BIGINT, TYPE_BOOLEAN, TYPE_TEXT };

/* An expression of SQL, lowered. `null` and `fails` are conditions; NONE: never. Where it is NULL
 * its value is any. */
struct value {
    enum type type;
    uint32_t at, null, fails;
    int64_t low, high;
};

/* ---- the schema (schema.c) ---- */

struct interval {
    int64_t low, high; /* low > high: nothing yet */
};

struct column {
    char *name;
    enum type type;
    bool not_null, serial, changes; /* changes: some UPDATE sets it */
    uint32_t limit;                 /* of varchar(n) and char(n); 0: none */
    const PgQuery__Node *fallback;  /* DEFAULT; or NULL */
    uint32_t flag;                  /* the IR's column of its NULL flag, or NONE */
    struct interval known, grown;   /* what reads may give; what was written so far */
    struct interval frozen;         /* as of the round that counts */
};

struct unique {
    char *name;
    uint32_t columns[MOST_KEY], count;
    bool generated; /* has a serial column: no two rows meet */
    uint32_t table; /* the IR's, this round */
    struct interval domain[MOST_KEY];
    bool primary;
};

/* A foreign key: of the columns, those of another table. */
struct reference {
    uint32_t columns[MOST_KEY], others[MOST_KEY], count, table;
};

struct table {
    char *name;
    char *refused; /* why it cannot be used; or NULL */
    ISO_LIST(struct reference) references;
    struct column columns[MOST_COLUMNS];
    uint32_t column_count;
    ISO_LIST(struct unique) uniques;
    ISO_LIST(const PgQuery__Node *) checks;
    int64_t *initial; /* initial_count * column_count; INT64_MIN: NULL */
    uint32_t initial_count, initial_capacity;
    bool deletes;               /* some DELETE is of it */
    bool frees, inserts;        /* a unique key is freed; one is taken */
    uint32_t slots, next_slots; /* for the INSERTs of all instances: of this round, of the next */
    uint32_t ir;                /* this round */
    struct iso_prove_span span;
};

/* ---- functions (schema.c reads their heads, body.c lowers their bodies) ---- */

struct parameter {
    char *name;
    enum type type;
    struct interval range; /* of the arguments of all calls */
    bool null;             /* some call gives NULL */
};

struct function {
    char *name;
    char *refused;                 /* why it cannot be called; or NULL */
    struct iso_prove_span span;    /* CREATE FUNCTION */
    uint32_t body_begin, body_end; /* bytes of the file between the dollars */
    struct iso_sql_tokens tokens;  /* of the body; locations are of the file */
    ISO_LIST(struct parameter) parameters;
    bool returns; /* a value */
    enum type result;
    uint32_t template;                /* this round */
    ISO_LIST(uint32_t) slots;         /* by parameter that is the number of a row: its table */
    uint32_t first_slot, known_slots; /* parameters; as of the round before */
    bool called;
    char *names; /* its variables' as psql has them, each with a zero behind it, and an empty one */
};

struct variable {
    char *name, *told; /* told: as psql has it */
    enum type type;
    bool constant, hidden; /* hidden: its block has ended */
    uint32_t local, null;  /* locals of the template */
    uint32_t limit;        /* as a column's */
    bool not_null;
};
struct state { /* of a variable, as far as the flow shows */
    bool may_be_null;
    struct interval interval;
};

/* ---- what runs, and what must hold (directive.c) ---- */

struct argument {
    enum type type;
    bool null;
    int64_t low, high;
};

struct call {
    uint32_t function, first_argument, session;
    struct iso_prove_span span;
};

struct rule {
    enum iso_prove_rule_kind kind;
    char *name;
    struct iso_prove_span expression, span;
};

/* ---- queries ---- */

/* A row that names of columns mean: row `row` of a table, or (row NONE) one that is being
 * written. */
struct entry {
    const char *alias;
    struct table *table;
    uint32_t row;
    const struct value *values;
};
struct from;
struct combos;
struct scope {
    const struct scope *outer;
    struct from *from;
    const struct combos *combos; /* of an aggregated query: its targets */
};

/* The rows that a FROM and a WHERE let through: `count` times `width` rows, and a condition
 * each. */
struct combos {
    uint32_t *rows, *matches;
    uint32_t count, capacity, width;
    uint32_t fails;
};

/* ---- one lowering, by those who change it ---- */

struct source_file {
    const char *name, *text;
    size_t length;
};

/* The caller's limits, and what was used of its time. */
struct limits {
    uint32_t repeats, unroll;
    uint32_t work; /* expressions looked at: now and then the program's `stop` is asked */
};

/* `--@ ignore`: constructs that are passed over instead of refused. */
struct ignored {
    bool references, defaults, locks;
};

/* Advisory locks: a cell for each key. */
struct advisory {
    struct interval grown, domain;
    uint32_t ir;
};

struct runs {
    ISO_LIST(struct call) calls;
    ISO_LIST(struct argument) arguments;
    ISO_LIST(struct rule) rules;
    uint32_t sessions;
};

/* A part of the file that was parsed by itself (read.c); rounds come back to it. */
struct cached_tree {
    uint32_t begin;
    char kind;
    struct iso_sql_tree tree;
};

/* A sub-select of the table that an UPDATE or a DELETE is about to change (change.c). */
struct hoisted {
    const PgQuery__Node *node;
    struct value value;
};

/* Where a statement names a variable (psql.c). */
struct use {
    uint32_t begin, end, variable;
};

/* The statement that is lowered. */
struct statement {
    struct iso_prove_span span;
    int64_t delta;  /* a node's location and this are its byte of the file */
    bool continued; /* it has a step already */
    bool planned;   /* what names no column may be computed before it runs */
    uint32_t tag;   /* its script's location */
    ISO_LIST(struct use) uses;
    ISO_LIST(struct hoisted) hoisted;
};

/* The function that is lowered (body.c); `function` NULL: a rule or a CHECK is. */
struct body {
    struct function *function;
    ISO_LIST(struct variable) variables;
    ISO_LIST(struct state) states; /* by variable */
    struct iso_prove_block *block; /* to which steps are added */
    const char *name;          /* of the function whose text is read: it, or one that it calls */
    uint32_t first;            /* of the variables, from which on they are that one's */
    uint32_t calls, inside;    /* inlined so far; around this place */
    uint32_t found, row_count; /* variables */
    uint32_t temporaries;      /* locals of its own so far */
};

struct lowering {
    struct iso_prove_program *program;
    struct iso_error *error;
    struct source_file file;
    struct limits limits;
    struct ignored ignored, passed; /* passed: over which something that runs was */
    struct iso_sql_tree schema;     /* the file's own tree */
    ISO_LIST(struct table) tables;
    ISO_LIST(struct function) functions;
    struct runs runs;
    ISO_LIST(char *) texts; /* a text's number is its location */
    ISO_LIST(struct cached_tree) trees;
    struct advisory advisory;
    bool final;         /* the round that counts */
    bool pads;          /* some text is a char(n) */
    uint32_t zero, one; /* expressions of this round; NONE: not made yet */
    struct statement at;
    struct body body;
};

static inline bool failed(const struct lowering *lowering)
{
    return lowering->error->status != ISO_OK;
}

/* Bad input at a byte of the file; the first one stays. */
__attribute__((format(printf, 3, 4))) void lower_refuse(struct lowering *lowering, size_t byte,
                                                        const char *format, ...);
/* The byte of a node's location in the file. */
static inline size_t location_of(const struct lowering *lowering, int32_t location)
{
    return location < 0 ? lowering->at.span.begin : (size_t)(location + lowering->at.delta);
}
/* Refuses a construct, which the text names, as outside of the subset of SQL that can be proved. */
__attribute__((format(printf, 3, 4))) void lower_refuse_form(struct lowering *lowering, size_t byte,
                                                             const char *format, ...);
/* A node that is not known, by its own location where it has one. */
void lower_refuse_node(struct lowering *lowering, const PgQuery__Node *node, const char *what);
/* The first location of a node and of what is below it; -1: none has one. */
int32_t lower_location_of(const PgQuery__Node *node);

/* ---- values.c: makers that fold constants ---- */

bool lower_constant_of(const struct lowering *lowering, uint32_t expression, int64_t *number);
uint32_t lower_number(struct lowering *lowering, int64_t number);
uint32_t lower_make(struct lowering *lowering, enum iso_prove_op op, uint32_t a, uint32_t b,
                    uint32_t c);
/* Conditions; NONE is false. */
uint32_t lower_and(struct lowering *lowering, uint32_t a, uint32_t b);
uint32_t lower_or(struct lowering *lowering, uint32_t a, uint32_t b);
uint32_t lower_not(struct lowering *lowering, uint32_t a);
uint32_t lower_choose(struct lowering *lowering, uint32_t condition, uint32_t a, uint32_t b);
/* Lists of them, as a balanced tree. */
uint32_t lower_any(struct lowering *lowering, const uint32_t *list, uint32_t count);
uint32_t lower_sum(struct lowering *lowering, const uint32_t *list, uint32_t count);

struct value lower_constant(struct lowering *lowering, enum type type, int64_t number);
struct value lower_null(struct lowering *lowering);
struct value lower_boolean(struct lowering *lowering, uint32_t at); /* NONE: false */
/* condition ? a : b, with the types of both. */
struct value lower_value_choose(struct lowering *lowering, uint32_t condition, struct value a,
                                struct value b);
/* True, and not NULL. */
uint32_t lower_truth(struct lowering *lowering, const struct value *value);
/* As an int or a bigint, which fails where it is out of range. */
void lower_fit(struct lowering *lowering, struct value *value, enum type type);
bool lower_types_meet(enum type one, enum type other);
const char *lower_type_name(enum type type);
void lower_widen(struct interval *interval, int64_t low, int64_t high);
uint32_t lower_text_number(struct lowering *lowering, const char *text);
/* A text as varchar(n) takes it: what is too long fails, unless only spaces go. */
void lower_limit_text(struct lowering *lowering, struct value *value, uint32_t limit);

/* ---- tree.c; also refuse_node and location_of ---- */

/* tree.c */
const char *lower_name_of(const PgQuery__Node *string);
/* Calls `visit` for each node below a message; below those of which it says so. */
void lower_each_node(const ProtobufCMessage *message,
                     bool (*visit)(void *with, const PgQuery__Node *node), void *with);

/* ---- name.c ---- */

/* The column that a name is of, in how many entries it was found. */
struct named {
    struct entry *entry;
    uint32_t column, found;
};
void lower_find_named(struct named *named, const struct from *from, const char *alias,
                      const char *name);
/* The parts of a name; false: it has another form. */
bool lower_names_of(const PgQuery__ColumnRef *reference, const char **alias, const char **name);
void lower_refuse_both(struct lowering *lowering, size_t location, const char *name);
struct value lower_reference(struct lowering *lowering, const struct scope *scope,
                             const PgQuery__ColumnRef *reference);
struct table *lower_find_table(struct lowering *lowering, const PgQuery__RangeVar *range);
uint32_t lower_find_column(const struct table *table, const char *name);
/* The columns that an INSERT names, or all in their order; their number, at most MOST_COLUMNS. */
uint32_t lower_find_insert_columns(struct lowering *lowering, const PgQuery__InsertStmt *insert,
                                   const struct table *table, uint32_t *columns);
struct value lower_variable_value(struct lowering *lowering, uint32_t variable);
struct value lower_read_column(struct lowering *lowering, const struct entry *entry,
                               uint32_t column);
uint32_t lower_presence(struct lowering *lowering, const struct table *table, uint32_t row);
uint32_t lower_rows_of(const struct table *table);
enum type lower_type_of(struct lowering *lowering, const PgQuery__TypeName *name, bool *serial);
/* n of varchar(n) and char(n); 0: none. */
uint32_t lower_limit_of(const PgQuery__TypeName *name);

/* ---- operator.c ---- */

/* The nearest that 64 bits hold. */
int64_t lower_narrow(__int128 number);
/* ADD, SUBTRACT or MULTIPLY. */
struct value lower_arithmetic(struct lowering *lowering, enum iso_prove_op op, struct value a,
                              struct value b, size_t location);
struct value lower_compare(struct lowering *lowering, enum iso_prove_op op, struct value a,
                           struct value b, size_t location);
/* a = b */
struct value lower_conjunction(struct lowering *lowering, struct value a, struct value b);
struct value lower_negation(struct lowering *lowering, struct value a);
/* GREATEST and LEAST pass over NULL. */
struct value lower_more_of(struct lowering *lowering, struct value a, struct value b, bool greatest,
                           size_t location);

/* ---- expression.c ---- */

struct value lower_expression(struct lowering *lowering, const struct scope *scope,
                              const PgQuery__Node *node);
/* An expression that can fail: refused where that is not known. */
void lower_check_planned(struct lowering *lowering, const PgQuery__Node *node, uint32_t fails);
/* A WHERE: true and not NULL; what fails is added to `fails`. Without a node: true. */
uint32_t lower_condition(struct lowering *lowering, const struct scope *scope,
                         const PgQuery__Node *node, uint32_t *fails);

/* ---- query.c ---- */

/* A FROM as entries of a scope, of which rows are still to be chosen; conditions of JOINs are
 * added. */
struct from {
    ISO_LIST(struct entry) entries;
    ISO_LIST(const PgQuery__Node *) conditions;
};
bool lower_open_from(struct lowering *lowering, struct from *from, PgQuery__Node *const *list,
                     size_t count);
void lower_close_from(struct from *from);
/* All rows that match; `from` and `where` of the same query. */
void lower_find_combos(struct lowering *lowering, const struct scope *outer, struct from *from,
                       struct combos *combos);
void lower_release_combos(struct combos *combos);
/* An expression of a query without rows: for what is refused in it. */
struct value lower_read_of_nothing(struct lowering *lowering, const struct scope *scope,
                                   const PgQuery__Node *node);
void lower_choose_rows(struct from *from, const struct combos *combos, uint32_t combo);
/* Refuses what is not in the subset; true: nothing was. */
bool lower_is_plain_select(struct lowering *lowering, const PgQuery__SelectStmt *select);
/* EXISTS, IN, or a query as a value. */
struct value lower_query(struct lowering *lowering, const struct scope *outer,
                         const PgQuery__SubLink *link);

/* ---- aggregate.c ---- */

bool lower_is_aggregate_name(const char *name);
bool lower_is_aggregated(const PgQuery__SelectStmt *select);
struct value lower_aggregate(struct lowering *lowering, const struct scope *scope, const char *name,
                             const PgQuery__FuncCall *node);

/* ---- one_row.c ---- */

/* Whether the conditions of a FROM let at most one row through: they fix a key of each table. */
bool lower_finds_one_row(struct lowering *lowering, const struct from *from);

/* ---- tree of a part of the file ---- */

/* read.c: the statement that the bytes are, `before` put in front of them ("SELECT "); sets delta.
 * NULL: refused. */
const PgQuery__Node *lower_parse_part(struct lowering *lowering, uint32_t begin, uint32_t end,
                                      const char *before, uint32_t blank_begin, uint32_t blank_end);
/* The expression that the bytes are. */
const PgQuery__Node *lower_parse_expression(struct lowering *lowering, uint32_t begin,
                                            uint32_t end);

/* ---- step.c ---- */

uint32_t lower_add_step(struct lowering *lowering, enum iso_prove_step_kind kind);
void lower_let(struct lowering *lowering, uint32_t local, uint32_t value);
/* A local of its own that has the value: it is computed here and now. Constants stay. */
uint32_t lower_keep(struct lowering *lowering, uint32_t value);
/* A condition that may be true or false: in rounds that do not count yet. */
uint32_t lower_unknown(struct lowering *lowering);
void lower_abort_if(struct lowering *lowering, uint32_t condition);
/* Steps between the two run when a condition holds; of one that always does they stand where they
 * are. */
struct guard {
    struct iso_prove_block block, *outer;
    uint32_t condition;
};
void lower_begin_guard(struct lowering *lowering, struct guard *guard, uint32_t condition);
void lower_end_guard(struct lowering *lowering, const struct guard *guard);
/* A condition's block; restore what it gives. */
struct iso_prove_block *lower_enter(struct lowering *lowering, struct iso_prove_block *block);
void lower_leave(struct lowering *lowering, struct iso_prove_block *outer, uint32_t condition,
                 const struct iso_prove_block *block, const struct iso_prove_block *otherwise);
/* A LOCK or a WRITE of a cell; `values` of a WRITE are by column, NONE stays. */
uint32_t lower_add_access(struct lowering *lowering, enum iso_prove_step_kind kind, uint32_t table,
                          uint32_t index, uint32_t where, const uint32_t *values);
/* Adds an access with a local that says whether it was done; 0 until then. */
uint32_t lower_add_told_access(struct lowering *lowering, enum iso_prove_step_kind kind,
                               uint32_t table, uint32_t index, uint32_t where,
                               const uint32_t *values);

/* ---- assign.c ---- */

/* Where a statement leaves its values: INTO. */
struct target {
    uint32_t variables[MOST_COLUMNS], count;
    uint32_t location;
    bool strict, given;
};
void lower_assign(struct lowering *lowering, uint32_t variable, struct value value,
                  uint32_t location);
/* All values first, then all variables. */
void lower_assign_all(struct lowering *lowering, const struct target *target, struct value *values,
                      uint32_t count);
/* FOUND and ROW_COUNT after a statement. */
void lower_set_found(struct lowering *lowering, uint32_t found, uint32_t count);
/* How many of the conditions are true; the list is used up. */
uint32_t lower_count_of(struct lowering *lowering, uint32_t *conditions, uint32_t count);
/* `settle` of all parts. */
struct value lower_keep_value(struct lowering *lowering, struct value value);

/* ---- advisory.c ---- */

/* PERFORM pg_advisory_xact_lock(KEY), of no table. False: it is something else. */
bool lower_advisory_lock(struct lowering *lowering, const PgQuery__Node *node);
void lower_make_advisory(struct lowering *lowering);

/* ---- row.c ---- */

/* A key of a unique index as the number of its cell; `null`: it has none. */
uint32_t lower_cell_of_key(struct lowering *lowering, const struct unique *unique,
                           const struct value *values, uint32_t *null);
uint32_t lower_is_free(struct lowering *lowering, const struct unique *unique, uint32_t cell);
/* The condition under which a row of these values breaks NOT NULL or a CHECK, or could not be
 * computed. */
uint32_t lower_broken(struct lowering *lowering, struct table *table, const struct value *values,
                      const bool *set);
/* What a column is without a value. */
struct value lower_default(struct lowering *lowering, const struct column *column);
/* A column may get a value: what reads give then. */
void lower_note_growth(const struct lowering *lowering, struct table *table, uint32_t column,
                       const struct value *value);
/* A row's columns as a WRITE takes them; NONE stays. */
void lower_row_values(struct lowering *lowering, const struct table *table,
                      const struct value *values, const bool *set, uint32_t *list);
/* Converts a term to the column's type; false: refused. */
bool lower_convert(struct lowering *lowering, const struct column *column, struct value *value,
                   size_t location);
/* False: RETURNING has more values than there is room for, and was refused. */
bool lower_limit_returning(struct lowering *lowering, const struct target *target, size_t count);
/* The values of RETURNING, of a row that is written. */
const struct value *lower_returned(struct lowering *lowering, struct table *table,
                                   PgQuery__Node *const *list, size_t count,
                                   const struct value *row, struct value *values);

/* ---- reference.c ---- */

void lower_read_reference(struct lowering *lowering, struct table *table,
                          const PgQuery__Constraint *constraint, const char *column);
/* The condition under which a row of these values has no row that it refers to, by the keys of
 * which some column is set. */
uint32_t lower_is_orphan(struct lowering *lowering, const struct table *table,
                         const struct value *values, const bool *set);
/* A statement that deletes rows of a table, or sets these columns: refused where others refer to
 * them. */
void lower_check_referred(struct lowering *lowering, const struct table *table, const bool *set);

/* ---- select.c, insert.c, change.c ---- */

/* The expression of a SELECT's or a RETURNING's target; NULL: refused. */
const PgQuery__Node *lower_target_of(struct lowering *lowering, const PgQuery__Node *node);
void lower_select(struct lowering *lowering, const PgQuery__SelectStmt *select,
                  const struct target *target);
void lower_insert(struct lowering *lowering, const PgQuery__InsertStmt *insert,
                  const struct target *target);

/* Sub-selects of the table that is about to change see it as it was (change.c). They may name no
 * column of the row. */
void lower_hoist(struct lowering *lowering, const PgQuery__Node *node, const struct table *table);

/* An UPDATE or a DELETE. */
struct change {
    struct table *table;
    const char *alias;
    const PgQuery__Node *where;
    PgQuery__Node *const *sets; /* of UPDATE */
    size_t set_count;
    bool deletes;
    const struct target *target;
    PgQuery__Node *const *returning;
    size_t returning_count;
    struct value *given;
};
/* `other`: it has a FROM, USING or WITH, too. */
void lower_change(struct lowering *lowering, struct change *change,
                  const PgQuery__RangeVar *relation, bool other);

/* ---- statement.c ---- */

/* Whether PostgreSQL may compute parts of it before it runs. */
bool lower_is_planned(const PgQuery__Node *node);
void lower_statement(struct lowering *lowering, const PgQuery__Node *node,
                     const struct target *target);

/* ---- body.c ---- */

bool lower_prepare_body(struct lowering *lowering, struct function *function);
void lower_function(struct lowering *lowering, struct function *function);

/* ---- body_reader.c ---- */

uint32_t lower_find_variable(const struct lowering *lowering, const char *name);

/* ---- psql.c ---- */

/* A statement begins. */
void lower_begin_script(struct lowering *lowering);
void lower_note_use(struct lowering *lowering, size_t location, uint32_t variable);
/* psql's script of a statement: bytes of the file, with the values of psql's variables for those of
 * the function. */
void lower_put_assignment(struct lowering *lowering, uint32_t variable, uint32_t first,
                          uint32_t last);
void lower_put_condition(struct lowering *lowering, uint32_t first, uint32_t last,
                         const char *what);
void lower_put_number(struct lowering *lowering, uint32_t variable, const char *value);
void lower_put_sql(struct lowering *lowering, uint32_t first, uint32_t last,
                   const struct target *target, const char *before, uint32_t blank_begin,
                   uint32_t blank_end, bool select);
/* psql's script before an instance: its arguments, and variables that have no value yet. */
void lower_put_prologue(struct lowering *lowering, const struct function *function,
                        const struct call *call, uint32_t first_value);

/* ---- schema.c, directive.c ---- */

bool lower_read_schema(struct lowering *lowering);
void lower_make_tables(struct lowering *lowering);
bool lower_read_directives(struct lowering *lowering, bool early); /* early: only what is ignored */
