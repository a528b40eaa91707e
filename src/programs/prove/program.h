/* A program to prove: what the core language and SQL are lowered to, and all that the rest of this
 * module reads.
 *
 * A program is a finite set of *cells*, transactions over them, and what must hold. One table is a
 * row of cells; a cell is what a transaction writes, locks and sees as a whole (a row of SQL), and
 * has one or more columns of integers. SQL has a column for the present flag, and one for each NULL
 * flag, if it needs them; a unique index is a table, too. Booleans are the integers 0 and 1; as a
 * condition everything but 0 is true. Integers are exact.
 *
 * *Templates* are bodies with parameters. *Instances* are what runs: a template, its arguments, its
 * session. Of an instance that is to have a row of its own (an INSERT's slot), the row's number is
 * an argument like any other.
 *
 * Steps and statements. A body is a list of steps. At the level rc each *statement* has a snapshot
 * of its own, and a statement of SQL may need several steps: one that is `continued` belongs to the
 * statement of the step before it, one that is not begins a statement (an IF's condition and a
 * FOR's bounds are statements; LETs and all else likewise). A snapshot that reads no cell costs
 * nothing.
 *   - A READ gives the own last write of the transaction, else the version of the snapshot; *but*
 *     of a cell that the transaction has claimed (by a LOCK or WRITE, from that very step on: its
 *     `where` and its values read behind the claim) it gives the newest version. So an UPDATE of
 *     several rows with WHERE is
 *         LET c0 = where(row 0)            candidates, by the statement's snapshot
 *         LET c1 = where(row 1)            continued
 *         IF c0 { WRITE row 0 where where(row 0) values }         continued, both the IF and the
 *                                                                 WRITE
 *         IF c1 { WRITE row 1 where where(row 1) values }         continued
 *     where what the SET reads of *other* rows is taken by LETs before the first WRITE.
 *   - WRITE claims the cell whenever the step is reached, writes it only if `where` is true behind
 *     the claim, and sets `result` (a local) to whether it did. LOCK is the same without values. An
 *     index out of range claims and writes nothing, a READ of it is 0; the report warns where that
 *     can be.
 *   - At levels other than rc all steps have the one snapshot of the transaction, and claims
 *     conflict by NoConflict.
 *   - ABORT takes all writes and claims of the transaction back. RETURN ends the body.
 *   - Quantifiers and FORs have bounds that are constant once the arguments of the instance are
 *     known; of other FORs `unroll` rounds are made, and one more round that can be reached makes
 *     the verdict undecided.
 * SQL's overflow, constraints and RAISE are ABORTs with a condition; serialization failures and
 * deadlocks need nothing (the transaction is retried until it ends, so that it is as if it had not
 * begun).
 *
 * Expressions, steps and all else are indices into lists of the program, ISO_NONE is none. A *span*
 * is where something stands in the file, so that messages and schedules can quote it.
 *
 * Ownership: the program owns all its lists and texts. Threads: one at a time.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/memory.h"
#include "iso/status.h"

/* A stop, which everything that can take long asks now and then whether to go on. Threads: as its
 * context. */
struct iso_prove_stop {
    bool (*ask)(void *context); /* true: stop, and from then on always; NULL: nobody is asked */
    void *context;
};

static inline bool iso_prove_stop_asked(const struct iso_prove_stop *stop)
{
    return stop->ask && stop->ask(stop->context);
}

/* A stop at a time, of iso_clock_seconds; 0: never. */
struct iso_prove_stop iso_prove_stop_at(double *deadline);

struct iso_text;

/* Bytes of the file, [begin, end); both 0: none. */
struct iso_prove_span {
    uint32_t begin, end;
};

enum iso_prove_op {
    ISO_PROVE_CONSTANT, /* value */
    ISO_PROVE_LOCAL,    /* a: the local (parameters come first); bound variables are locals, too */
    ISO_PROVE_INPUT,    /* a: the input. Not in bodies: there it comes by a parameter */
    ISO_PROVE_READ,     /* a: table, b: index, c: column */
    ISO_PROVE_NOT,      /* a; 0 or 1 */
    ISO_PROVE_NEGATE,   /* a */
    ISO_PROVE_ADD,      /* a, b */
    ISO_PROVE_SUBTRACT,
    ISO_PROVE_MULTIPLY,
    ISO_PROVE_EQUAL, /* a, b; 0 or 1 */
    ISO_PROVE_UNEQUAL,
    ISO_PROVE_LESS,
    ISO_PROVE_LESS_EQUAL,
    ISO_PROVE_GREATER,
    ISO_PROVE_GREATER_EQUAL,
    ISO_PROVE_AND, /* a, b; 0 or 1 */
    ISO_PROVE_OR,
    ISO_PROVE_CHOOSE, /* a ? b : c */
    ISO_PROVE_SUM,    /* a: bound local, b..c: its bounds, d: body */
    ISO_PROVE_COUNT,  /* of the rounds in which d is true */
    ISO_PROVE_MAXIMUM,
    ISO_PROVE_FORALL,
    ISO_PROVE_EXISTS
};

struct iso_prove_expression {
    enum iso_prove_op op;
    uint32_t a, b, c, d;
    int64_t value;
    struct iso_prove_span span;
};

enum iso_prove_step_kind {
    ISO_PROVE_LET,   /* local := value */
    ISO_PROVE_WRITE, /* claim, and write if `where` */
    ISO_PROVE_LOCK,  /* claim */
    ISO_PROVE_IF,
    ISO_PROVE_FOR,
    ISO_PROVE_ABORT, /* if `value`, or always */
    ISO_PROVE_RETURN /* `value`, or nothing */
};

struct iso_prove_step {
    enum iso_prove_step_kind kind;
    bool continued;        /* belongs to the statement of the step before it */
    uint32_t next;         /* the next step of the block */
    uint32_t local;        /* LET's, FOR's; WRITE's and LOCK's result, or none */
    uint32_t value, bound; /* LET, ABORT, RETURN: an expression; IF: the condition; FOR: from
                              `value` to `bound` */
    uint32_t table, index; /* WRITE, LOCK */
    uint32_t where;        /* WRITE, LOCK: or none */
    uint32_t
        first_value; /* WRITE: one location in `values` for each column: an expression, or none:
                              it stays */
    uint32_t block, otherwise; /* IF, FOR: the first step of each; or none */
    uint32_t tag; /* the front end's own (which statement of SQL this is); ISO_NONE at first */
    struct iso_prove_span span;
};

struct iso_prove_table {
    char *name;
    uint32_t rows, columns;
    char **column_names; /* of `columns`; NULL where there is one without a name */
    char **row_names;    /* of `rows`, as messages call them ("room 1"); NULL: name[0], or the name
                            alone if !indexed */
    bool indexed;        /* a table of the core language, as opposed to its var */
    bool hidden;         /* no message lists its cells by themselves: a unique index */
    uint32_t *key, key_count; /* columns that fix a row, the first of its keys; none: not known */
    uint32_t first_cell; /* set by iso_prove_program_finish: cells are counted over all tables */
    uint32_t *initial;   /* rows * columns expressions of constants and inputs; row by row */
    struct iso_prove_span span;
};

/* A value that is not known: an input of the file, an initial value, an argument of a call that is
 * a range. */
struct iso_prove_input {
    char *name;
    int64_t least, most;
    struct iso_prove_span span;
};

struct iso_prove_template {
    char *name;
    uint32_t parameters, locals; /* of the locals, the first are the parameters */
    /* of `locals`; those that the front end made have names that begin with '$' */
    char **local_names;
    uint32_t block;        /* the first step, or none */
    int64_t *least, *most; /* of each parameter, where the front end knows a range (for
                              --any-number); or NULL */
    struct iso_prove_span span;
};

struct iso_prove_instance {
    uint32_t template;
    uint32_t first_argument; /* in `values`: expressions of constants and inputs */
    uint32_t session; /* instances of one session run in the order of the list; ISO_NONE: one of its
                         own */
    char *name;       /* as a message calls it: "book(0, p)" */
    struct iso_prove_span span;
};

enum iso_prove_rule_kind {
    ISO_PROVE_ASSUME,   /* about inputs and initial values */
    ISO_PROVE_ASSERT,   /* about the end */
    ISO_PROVE_INVARIANT /* about every observable moment, the start included */
};

struct iso_prove_rule {
    enum iso_prove_rule_kind kind;
    char *name; /* or NULL */
    uint32_t expression;
    uint32_t locals; /* how many its bound variables are */
    struct iso_prove_span span;
};

struct iso_prove_program {
    char *file;   /* its name, for messages */
    char *source; /* its text */
    size_t source_length;
    bool sql;
    bool has_odd_names; /* a variable has a name that psql has no location for */
    char *ignored;      /* "with references ignored": as asked, and it matters; or NULL */
    bool frees_keys;    /* some unique key is freed by one statement and inserted by another */
    ISO_LIST(struct iso_prove_expression) expressions;
    ISO_LIST(struct iso_prove_step) steps;
    ISO_LIST(uint32_t) values; /* expressions, of writes and calls */
    ISO_LIST(struct iso_prove_table) tables;
    ISO_LIST(struct iso_prove_input) inputs;
    ISO_LIST(struct iso_prove_template) templates;
    ISO_LIST(struct iso_prove_instance) instances;
    ISO_LIST(struct iso_prove_rule) rules;
    ISO_LIST(char *) warnings; /* what a reader wants to say, each "file:line:column: text" */
    /* psql's script of each statement of SQL, by its steps' tag; NULL: none. */
    ISO_LIST(char *) scripts;
    ISO_LIST(char *) prologues; /* of SQL: what psql is told before an instance begins */
    struct iso_prove_stop stop; /* asked while it is read: ISO_UNDECIDED. It outlives reading, and
                                   means nothing then */
    uint32_t sessions;          /* how many have been given out */
    uint32_t repeats;      /* how often the file's run list stands in `instances` (--instances) */
    uint32_t cells;        /* set by finish */
    uint32_t *cell_tables; /* set by finish: of each cell its table */
};

void iso_prove_program_init(struct iso_prove_program *program);
void iso_prove_program_release(struct iso_prove_program *program);

/* Makers; each gives the index of what it made. Texts are copied. */
uint32_t iso_prove_constant(struct iso_prove_program *program, int64_t value);
uint32_t iso_prove_expression(struct iso_prove_program *program, enum iso_prove_op op, uint32_t a,
                              uint32_t b, uint32_t c, struct iso_prove_span span);
uint32_t iso_prove_quantifier(struct iso_prove_program *program, enum iso_prove_op op,
                              uint32_t local, uint32_t from, uint32_t to, uint32_t body,
                              struct iso_prove_span span);
uint32_t iso_prove_step(struct iso_prove_program *program, enum iso_prove_step_kind kind,
                        struct iso_prove_span span);
uint32_t iso_prove_values(struct iso_prove_program *program, const uint32_t *list, uint32_t count);
/* All initial values are 0. */
uint32_t iso_prove_table(struct iso_prove_program *program, const char *name, uint32_t rows,
                         uint32_t columns, struct iso_prove_span span);
uint32_t iso_prove_input(struct iso_prove_program *program, const char *name, int64_t least,
                         int64_t most, struct iso_prove_span span);
uint32_t iso_prove_template(struct iso_prove_program *program, const char *name,
                            struct iso_prove_span span);
uint32_t iso_prove_local(struct iso_prove_program *program, uint32_t template, const char *name);
uint32_t iso_prove_instance(struct iso_prove_program *program, uint32_t template,
                            uint32_t first_argument, uint32_t session, const char *name,
                            struct iso_prove_span span);
uint32_t iso_prove_rule(struct iso_prove_program *program, enum iso_prove_rule_kind kind,
                        const char *name, uint32_t expression, struct iso_prove_span span);
__attribute__((format(printf, 3, 4))) void iso_prove_warn(struct iso_prove_program *program,
                                                          struct iso_prove_span span,
                                                          const char *format, ...);

/* A list of steps under construction: zeroed but for `first` and `last`, which are ISO_NONE. */
struct iso_prove_block {
    uint32_t first, last;
};
#define ISO_PROVE_BLOCK ((struct iso_prove_block){ISO_NONE, ISO_NONE})
void iso_prove_append(struct iso_prove_program *program, struct iso_prove_block *block,
                      uint32_t step);

/* Counts the cells, and checks with assertions that all indices are in range. After the last
 * maker. */
void iso_prove_program_finish(struct iso_prove_program *program);
void iso_prove_program_validate(const struct iso_prove_program *program);

/* The expressions that this one is made of, in the order in which they are read; how many. */
static inline uint32_t iso_prove_operands(const struct iso_prove_expression *node,
                                          uint32_t operands[3])
{
    bool binds = node->op >= ISO_PROVE_SUM, reads = node->op == ISO_PROVE_READ;
    operands[0] = binds || reads ? node->b : node->a;
    operands[1] = binds ? node->c : node->b;
    operands[2] = binds ? node->d : node->c;
    if (node->op < ISO_PROVE_READ)
        return 0;
    return node->op <= ISO_PROVE_NEGATE ? 1 : node->op < ISO_PROVE_CHOOSE ? 2 : 3;
}

/* The table that a cell is of. */
static inline const struct iso_prove_table *
iso_prove_table_of(const struct iso_prove_program *program, uint32_t cell)
{
    assert(cell < program->cells);
    return &program->tables.list[program->cell_tables[cell]];
}

/* Line and column of a byte of the file, from 1; columns are bytes. */
void iso_prove_location(const struct iso_prove_program *program, uint32_t byte, uint32_t *line,
                        uint32_t *column);

/* "FILE:LINE:COLUMN: " and the text as bad input. Returns ISO_BAD_INPUT. */
__attribute__((format(printf, 4, 5))) enum iso_status
iso_prove_refuse(const struct iso_prove_program *program, struct iso_error *error,
                 struct iso_prove_span span, const char *format, ...);

/* The names of a cell and of a cell's column in messages: "people[1]", "room 1.seats". */
void iso_prove_put_cell(const struct iso_prove_program *program, struct iso_text *text,
                        uint32_t cell);
void iso_prove_put_column(const struct iso_prove_program *program, struct iso_text *text,
                          uint32_t cell, uint32_t column);

/* The text of a span on one line: runs of white space are one space, comments go. */
void iso_prove_put_span(const struct iso_prove_program *program, struct iso_text *text,
                        struct iso_prove_span span);

/* Reads the core language from `source`, which it copies, into an empty program, and finishes
 * it. */
enum iso_status iso_prove_read_core(struct iso_prove_program *program, const char *file,
                                    const char *source, size_t length, uint32_t repeats,
                                    struct iso_error *error);
