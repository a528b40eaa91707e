/* What the files of this module share: the schema, a function's variables, values, and the state of
 * one lowering. */
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

/* ---- the schema ---- */

struct interval {
    int64_t low, high; /* low > high: nothing yet */
};

struct column {
    char *name;
    enum type type;
    bool not_null, serial, changes; /* changes: some UPDATE sets it */
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

struct check {
    const PgQuery__Node *node;
};

struct table {
    char *name;
    struct column columns[MOST_COLUMNS];
    uint32_t column_count;
    struct unique *uniques;
    uint32_t unique_count, unique_capacity;
    struct check *checks;
    uint32_t check_count, check_capacity;
    int64_t *initial; /* initial_count * column_count; INT64_MIN: NULL */
    uint32_t initial_count, initial_capacity;
    bool deletes;               /* some DELETE is of it */
    bool frees, inserts;        /* a unique key is freed; one is taken */
    uint32_t slots, next_slots; /* for the INSERTs of all instances: of this round, of the next */
    uint32_t ir;                /* this round */
    struct iso_prove_span span;
};

/* ---- functions ---- */

struct slot { /* a parameter that is the number of a row */
    uint32_t table;
};

struct function {
    char *name;
    struct iso_prove_span span;    /* CREATE FUNCTION */
    uint32_t body_begin, body_end; /* bytes of the file between the dollars */
    struct iso_sql_tokens tokens;  /* of the body; places are of the file */
    char **parameter_names;
    enum type *parameter_types;
    struct interval *arguments; /* of all calls */
    bool *null_arguments;
    uint32_t parameters;
    bool returns; /* a value */
    enum type result;
    uint32_t template; /* this round */
    struct slot *slots;
    uint32_t first_slot, known_slots; /* parameters; as of the round before */
    uint32_t slot_count, slot_capacity;
    bool called;
    /* of its variables as psql has them, each with a zero behind it, and an empty one */
    char *names;
    size_t names_size;
};

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

/* Of a function, while it is lowered. */
struct variable {
    char *name;
    enum type type;
    bool constant, hidden; /* hidden: its block has ended */
    uint32_t local, null;  /* locals of the template */
    bool not_null;
};
struct state { /* of a variable, as far as the flow shows */
    bool may_be_null;
    struct interval interval;
};

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

struct cached_tree {
    uint32_t begin;
    char kind;
    struct iso_sql_tree tree;
};

struct hoisted {
    const PgQuery__Node *node;
    struct value value;
};

/* Where a statement names a variable. */
struct use {
    uint32_t begin, end, variable;
};

struct lowering {
    struct iso_prove_program *program;
    struct iso_error *error;
    const char *file, *source;
    size_t length;
    uint32_t repeats, unroll;
    uint32_t work; /* expressions looked at: now and then the program's `stop` is asked */
    struct iso_sql_tree schema; /* the file's own tree */
    bool ignore_references, ignore_defaults, ignore_locks;
    struct table *tables;
    uint32_t table_count, table_capacity;
    struct function *functions;
    uint32_t function_count, function_capacity;
    struct call *calls;
    uint32_t call_count, call_capacity;
    struct argument *arguments;
    uint32_t argument_count, argument_capacity;
    struct rule *rules;
    uint32_t rule_count, rule_capacity;
    uint32_t sessions;
    char **texts; /* a text's number is its place */
    uint32_t text_count, text_capacity;
    struct cached_tree *trees;
    uint32_t tree_count, tree_capacity;
    /* of this round */
    bool final;
    int64_t delta; /* a node's location and this are its byte of the file */
    struct iso_prove_span span;
    uint32_t zero, one;
    /* of this function; NULL: a rule, a CHECK */
    struct function *function;
    struct variable *variables;
    struct state *states;
    uint32_t variable_count, variable_capacity, state_capacity;
    struct iso_prove_block *block;
    bool continued;
    uint32_t found, row_count; /* variables */
    uint32_t temporaries;
    struct hoisted *hoisted;
    uint32_t hoisted_count, hoisted_capacity;
    uint32_t tag; /* of the statement: its script's place */
    struct use *uses;
    uint32_t use_count, use_capacity;
};

static inline bool failed(const struct lowering *lowering)
{
    return lowering->error->status != ISO_OK;
}

/* Bad input at a byte of the file; the first one stays. */
__attribute__((format(printf, 3, 4))) void refuse(struct lowering *lowering, size_t byte,
                                                  const char *format, ...);
/* The byte of a node's location in the file. */
static inline size_t place_of(const struct lowering *lowering, int32_t location)
{
    return location < 0 ? lowering->span.begin : (size_t)(location + lowering->delta);
}
/* A node that is not known, by its own place where it has one. */
void refuse_node(struct lowering *lowering, const PgQuery__Node *node, const char *what);
/* The first location of a node and of what is below it; -1: none has one. */
int32_t location_of(const PgQuery__Node *node);

/* ---- values.c: makers that fold constants ---- */

bool constant_of(const struct lowering *lowering, uint32_t expression, int64_t *number);
uint32_t make_constant(struct lowering *lowering, int64_t number);
uint32_t make(struct lowering *lowering, enum iso_prove_op op, uint32_t a, uint32_t b, uint32_t c);
/* Conditions; NONE is false. */
uint32_t both(struct lowering *lowering, uint32_t a, uint32_t b);
uint32_t either(struct lowering *lowering, uint32_t a, uint32_t b);
uint32_t inverse(struct lowering *lowering, uint32_t a);
uint32_t choose(struct lowering *lowering, uint32_t condition, uint32_t a, uint32_t b);
/* Lists of them, as a balanced tree. */
uint32_t any_of(struct lowering *lowering, const uint32_t *list, uint32_t count);
uint32_t sum_of(struct lowering *lowering, const uint32_t *list, uint32_t count);

struct value value_constant(struct lowering *lowering, enum type type, int64_t number);
struct value value_null(struct lowering *lowering);
struct value value_condition(struct lowering *lowering, uint32_t at); /* NONE: false */
/* condition ? a : b, with the types of both. */
struct value value_choose(struct lowering *lowering, uint32_t condition, struct value a,
                          struct value b);
/* True, and not NULL. */
uint32_t truth_of(struct lowering *lowering, const struct value *value);
/* As an int or a bigint, which fails where it is out of range. */
void fit(struct lowering *lowering, struct value *value, enum type type);
bool types_meet(enum type one, enum type other);
const char *type_name(enum type type);
void hull(struct interval *interval, int64_t low, int64_t high);
uint32_t text_number(struct lowering *lowering, const char *text);

/* ---- tree.c; also refuse_node and location_of ---- */

const char *name_of(const PgQuery__Node *string);
/* Calls `visit` for each node below a message; below those of which it says so. */
void each_node(const ProtobufCMessage *message,
               bool (*visit)(void *with, const PgQuery__Node *node), void *with);

/* ---- name.c ---- */

/* The column that a name is of, in how many entries it was found. */
struct named {
    struct entry *entry;
    uint32_t column, found;
};
void prove_sql_find_named(struct named *named, const struct from *from, const char *alias,
                          const char *name);
/* The parts of a name; false: it has another form. */
bool prove_sql_names_of(const PgQuery__ColumnRef *reference, const char **alias, const char **name);
struct value prove_sql_lower_reference(struct lowering *lowering, const struct scope *scope,
                                       const PgQuery__ColumnRef *reference);
struct table *find_table(struct lowering *lowering, const PgQuery__RangeVar *range);
uint32_t find_column(const struct table *table, const char *name);
/* The columns that an INSERT names, or all in their order; their number, at most MOST_COLUMNS. */
uint32_t find_insert_columns(struct lowering *lowering, const PgQuery__InsertStmt *insert,
                             const struct table *table, uint32_t *columns);
struct value read_column(struct lowering *lowering, const struct entry *entry, uint32_t column);
uint32_t presence(struct lowering *lowering, const struct table *table, uint32_t row);
uint32_t rows_of(const struct table *table);
enum type type_of(struct lowering *lowering, const PgQuery__TypeName *name, bool *serial);

/* ---- operator.c ---- */

/* The nearest that 64 bits hold. */
int64_t prove_sql_narrow(__int128 number);
/* ADD, SUBTRACT or MULTIPLY. */
struct value prove_sql_arithmetic(struct lowering *lowering, enum iso_prove_op op, struct value a,
                                  struct value b, size_t place);
struct value prove_sql_compare(struct lowering *lowering, enum iso_prove_op op, struct value a,
                               struct value b, size_t place);
/* a = b */
struct value compare_equal(struct lowering *lowering, struct value a, struct value b, size_t place);
struct value prove_sql_conjunction(struct lowering *lowering, struct value a, struct value b);
struct value prove_sql_negation(struct lowering *lowering, struct value a);
/* GREATEST and LEAST pass over NULL. */
struct value prove_sql_more_of(struct lowering *lowering, struct value a, struct value b,
                               bool greatest, size_t place);

/* ---- expression.c ---- */

struct value lower(struct lowering *lowering, const struct scope *scope, const PgQuery__Node *node);
/* A WHERE: true and not NULL; what fails is added to `fails`. Without a node: true. */
uint32_t lower_condition(struct lowering *lowering, const struct scope *scope,
                         const PgQuery__Node *node, uint32_t *fails);

/* ---- query.c ---- */

/* A FROM as entries of a scope, of which rows are still to be chosen; conditions of JOINs are
 * added. */
struct from {
    struct entry *entries;
    uint32_t count, capacity;
    const PgQuery__Node **conditions;
    uint32_t condition_count, condition_capacity;
};
bool open_from(struct lowering *lowering, struct from *from, PgQuery__Node *const *list,
               size_t count);
void close_from(struct from *from);
/* All rows that match; `from` and `where` of the same query. */
void find_combos(struct lowering *lowering, const struct scope *outer, struct from *from,
                 struct combos *combos);
void release_combos(struct combos *combos);
void choose_rows(struct from *from, const struct combos *combos, uint32_t combo);
/* Refuses what is not in the subset; true: nothing was. */
bool plain_select(struct lowering *lowering, const PgQuery__SelectStmt *select);
/* EXISTS, IN, or a query as a value. */
struct value prove_sql_lower_query(struct lowering *lowering, const struct scope *outer,
                                   const PgQuery__SubLink *link);

/* ---- aggregate.c ---- */

bool prove_sql_is_aggregate_name(const char *name);
bool is_aggregated(const PgQuery__SelectStmt *select);
struct value prove_sql_lower_aggregate(struct lowering *lowering, const struct scope *scope,
                                       const char *name, const PgQuery__FuncCall *node);

/* ---- one_row.c ---- */

/* Whether the conditions of a FROM let at most one row through: they fix a key of each table. */
bool at_most_one(struct lowering *lowering, const struct from *from);

/* ---- tree of a part of the file ---- */

/* The statement that the bytes are, `before` put in front of them ("SELECT "); sets delta. NULL:
 * refused. */
const PgQuery__Node *parse_part(struct lowering *lowering, uint32_t begin, uint32_t end,
                                const char *before, uint32_t blank_begin, uint32_t blank_end);
/* The expression that the bytes are. */
const PgQuery__Node *parse_expression(struct lowering *lowering, uint32_t begin, uint32_t end);

/* ---- step.c ---- */

uint32_t add_step(struct lowering *lowering, enum iso_prove_step_kind kind);
void let(struct lowering *lowering, uint32_t local, uint32_t value);
/* A local of its own that has the value: it is computed here and now. Constants stay. */
uint32_t settle(struct lowering *lowering, uint32_t value);
void abort_if(struct lowering *lowering, uint32_t condition);
uint32_t new_local(struct lowering *lowering, const char *what);
/* A condition's block; restore what it gives. */
struct iso_prove_block *enter(struct lowering *lowering, struct iso_prove_block *block);
void leave_if(struct lowering *lowering, struct iso_prove_block *outer, uint32_t condition,
              const struct iso_prove_block *block, const struct iso_prove_block *otherwise);
/* A LOCK or a WRITE of a cell; `values` of a WRITE are by column, NONE stays. */
uint32_t prove_sql_add_access(struct lowering *lowering, enum iso_prove_step_kind kind,
                              uint32_t table, uint32_t index, uint32_t where,
                              const uint32_t *values);
/* The same with a local that says whether it was done; 0 until then. */
uint32_t prove_sql_access_told(struct lowering *lowering, enum iso_prove_step_kind kind,
                               uint32_t table, uint32_t index, uint32_t where,
                               const uint32_t *values);

/* ---- assign.c ---- */

/* Where a statement leaves its values: INTO. */
struct target {
    uint32_t variables[MOST_COLUMNS], count;
    uint32_t place;
    bool strict, given;
};
void assign(struct lowering *lowering, uint32_t variable, struct value value, uint32_t place);
/* All values first, then all variables. */
void prove_sql_assign_all(struct lowering *lowering, const struct target *target,
                          struct value *values, uint32_t count);
/* FOUND and ROW_COUNT after a statement. */
void set_found(struct lowering *lowering, uint32_t found, uint32_t count);
/* How many of the conditions are true; the list is used up. */
uint32_t prove_sql_count_of(struct lowering *lowering, uint32_t *conditions, uint32_t count);
/* `settle` of all parts. */
struct value prove_sql_settled(struct lowering *lowering, struct value value);

/* ---- row.c ---- */

/* A key of a unique index as the number of its cell; `null`: it has none. */
uint32_t prove_sql_cell_of_key(struct lowering *lowering, const struct unique *unique,
                               const struct value *values, uint32_t *null);
uint32_t prove_sql_is_free(struct lowering *lowering, const struct unique *unique, uint32_t cell);
/* The condition under which a row of these values breaks NOT NULL or a CHECK, or could not be
 * computed. */
uint32_t prove_sql_broken(struct lowering *lowering, struct table *table,
                          const struct value *values, const bool *set);
/* A column may get a value: what reads give then. */
void prove_sql_note_growth(const struct lowering *lowering, struct table *table, uint32_t column,
                           const struct value *value);
/* A row's columns as a WRITE takes them; NONE stays. */
void prove_sql_row_values(struct lowering *lowering, const struct table *table,
                          const struct value *values, const bool *set, uint32_t *list);
/* To the column's type; false: refused. */
bool prove_sql_convert(struct lowering *lowering, const struct column *column, struct value *value,
                       size_t place);
/* The values of RETURNING, of a row that is written. */
const struct value *prove_sql_returned(struct lowering *lowering, struct table *table,
                                       PgQuery__Node *const *list, size_t count,
                                       const struct value *row, struct value *values);

/* ---- select.c, insert.c, change.c ---- */

/* The expression of a SELECT's or a RETURNING's target; NULL: refused. */
const PgQuery__Node *prove_sql_target_of(struct lowering *lowering, const PgQuery__Node *node);
void prove_sql_lower_select(struct lowering *lowering, const PgQuery__SelectStmt *select,
                            const struct target *target);
void prove_sql_lower_insert(struct lowering *lowering, const PgQuery__InsertStmt *insert,
                            const struct target *target);

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
void prove_sql_lower_change(struct lowering *lowering, struct change *change,
                            const PgQuery__RangeVar *relation, bool other);

/* ---- statement.c ---- */

void lower_statement(struct lowering *lowering, const PgQuery__Node *node,
                     const struct target *target);

/* ---- body.c ---- */

bool prepare_body(struct lowering *lowering, struct function *function);
void lower_function(struct lowering *lowering, struct function *function);
uint32_t find_variable(const struct lowering *lowering, const char *name);

/* ---- psql.c ---- */

/* A statement begins. */
void begin_script(struct lowering *lowering);
void note_use(struct lowering *lowering, size_t place, uint32_t variable);
/* What psql is told of it: bytes of the file, with the values of psql's variables for those of the
 * function. */
void put_assignment(struct lowering *lowering, uint32_t variable, uint32_t first, uint32_t last);
void put_condition(struct lowering *lowering, uint32_t first, uint32_t last, const char *what);
void put_number(struct lowering *lowering, uint32_t variable, const char *value);
void put_sql(struct lowering *lowering, uint32_t first, uint32_t last, const struct target *target,
             const char *before, uint32_t blank_begin, uint32_t blank_end, bool select);
/* Of an instance: its arguments, and variables that have no value yet. */
void add_prologue(struct lowering *lowering, const struct function *function,
                  const struct call *call, uint32_t first_value);

/* ---- schema.c, directive.c ---- */

bool read_schema(struct lowering *lowering);
void make_tables(struct lowering *lowering);
bool read_directives(struct lowering *lowering, bool early); /* early: only what is ignored */
