/* What is to be known of a statement before it runs: its kind, its shape (observe/shape.h), which
 * tables and which names stand in it. Made of PostgreSQL's own parse tree, once for each template
 * (observe/template.h); whether the database's catalog agrees is found once for each catalog
 * (plan_agrees).
 *
 * Ownership: a plan is counted, and freed with its last reference. Threads: its loop's.
 */
#pragma once

#include "observe/catalog.h"
#include "observe/template.h"
#include "sql/sql.h"

enum plan_kind {
    PLAN_OTHER,
    PLAN_BEGIN,
    PLAN_COMMIT,
    PLAN_ROLLBACK,
    PLAN_SAVEPOINT,
    PLAN_RELEASE,
    PLAN_ROLLBACK_TO,
    PLAN_PREPARE,
    PLAN_SELECT,
    PLAN_WRITE, /* INSERT, UPDATE, DELETE */
    PLAN_DECLARE,
    PLAN_FETCH,
    PLAN_CLOSE,
    PLAN_DEALLOCATE,
    PLAN_SET
};

enum isolation {
    ISOLATION_UNKNOWN,
    ISOLATION_READ_COMMITTED,
    ISOLATION_REPEATABLE_READ,
    ISOLATION_SERIALIZABLE
};
enum isolation isolation_of(const char *name);

/* Why a statement was passed on, and not recorded. */
enum plan_reason {
    REASON_NONE,
    REASON_NO_TABLE, /* it reads none of the recorded ones: not counted as passed on */
    REASON_SYNTAX,
    REASON_SHAPE,    /* a node of the tree is not on the list */
    REASON_FUNCTION, /* nor a function, an operator, a type; or a user's could be meant */
    REASON_OPERATOR,
    REASON_TYPE,
    REASON_TABLE,  /* a relation that is not known, or whose reading may do anything */
    REASON_WRITES, /* what it returns may be its own writing */
    REASON_GROUPED,
    REASON_TWICE,     /* no table stands in it just once */
    REASON_NO_KEY,    /* nothing says which rows they are */
    REASON_CONDITION, /* nothing says which, and the condition is not one of those that are recorded
                       */
    REASON_UNDESCRIBED,
    REASON_CURSOR, /* it reads as of its opening, and something was written since */
    REASON_HOLD,
    REASON_SESSION, /* something ran in the session that may have changed what names and values mean
                     */
    REASON_VALUE,   /* a type or encoding that is not understood */
    REASONS
};
extern const char *const plan_reason_names[REASONS];

struct plan_table {
    const char *schema, *name; /* of the tree; schema "" if it is not said */
    const char *alias;         /* by which columns name it */
    uint32_t times;
    bool is_top; /* its rows can be the result's */
    const struct catalog_table
        *found; /* by plan_agrees: the only one of the name; NULL: there are several */
};

/* A name that has to mean what is PostgreSQL's own, or a table's. */
enum plan_use_kind {
    PLAN_USE_FUNCTION,
    PLAN_USE_OPERATOR,
    PLAN_USE_TYPE,
    PLAN_USE_COLUMN,
    PLAN_USE_WITH
};
enum { PLAN_USES_MOST = 256, PLAN_PARAMETERS = 256 };

struct plan_use {
    enum plan_use_kind kind;
    const char *qualifier, *name;
};

struct plan_statement {
    enum plan_kind kind;
    enum isolation isolation; /* of BEGIN and SET */
    enum plan_reason reason;  /* nothing of it is recorded */
    const char *detail;       /* which node, or name, is not on the list; NULL: none */
    bool may_set;
    bool may_define;   /* CREATE, ALTER, DROP: the catalog may be out of date behind it */
    bool is_pure;      /* if the catalog agrees: nothing is written, set or made by it */
    bool sets_default; /* SET: that of later transactions */
    bool imports;      /* SET TRANSACTION SNAPSHOT */
    bool chains, counts_as_read;
    bool is_simple;  /* one table, no joins, groups or the like: its rows are those that match the
                        condition */
    bool is_partial; /* but not all of them: LIMIT, OFFSET, SKIP LOCKED */
    bool locks_some; /* FOR UPDATE beside other tables, FOR KEY SHARE: at READ COMMITTED rows that
                        it waited for are newer than others */
    bool is_distinct, has_distinct_on, has_aggregate, has_sub_select, joins;
    bool says_some; /* constants of each row that matches; `is_exists`: whether there is one, by t
                       or f */
    bool is_exists;
    uint8_t parameters[PLAN_PARAMETERS]; /* how often $1 and those that follow stand in it: 2 is
                                            more than once */
    const char *name;                    /* of a savepoint, cursor, prepared statement */
    const PgQuery__SelectStmt *select;   /* whose condition it is */
    const PgQuery__Node *node;
    struct plan_table *tables;
    uint32_t table_count, table_capacity;
    struct plan_use *uses;
    uint32_t use_count, use_capacity;
    uint64_t agreed_serial; /* of the catalog that plan_agrees asked last */
    enum plan_reason agreed;
    const char *agreed_detail;
};

struct plan {
    uint32_t references, count;
    size_t bytes;            /* of memory */
    _Atomic size_t *account; /* the sum of all plans that live, these bytes among them */
    bool needs_constants;    /* the template is no statement; the text has to be parsed as it is */
    char *shape;             /* for people: the template, shortened */
    struct plan_statement *statements;
    struct iso_sql_tree tree;
};

/* Never NULL; a text that is no statement has one of kind PLAN_OTHER, which may do anything.
 * `is_template`: of constants there is none in it. `account` outlives the plan. */
struct plan *plan_new(const char *text, size_t length, bool is_template, _Atomic size_t *account);
void plan_release(struct plan *plan); /* NULL is allowed */

static inline struct plan *plan_share(struct plan *plan)
{
    plan->references++;
    return plan;
}

/* Looks at the statement's node (shape.c): its tables and uses, and `reason` and `detail` where it
 * is opaque. */
void plan_shape(struct plan_statement *statement);

/* REASON_NONE: by the catalog each name means what the shape needs; else why not. NULL: no catalog
 * is known. */
enum plan_reason plan_agrees(struct plan_statement *statement, struct catalog *catalog);

/* The last part of a column's name, NULL if it is none; `qualifier` is what stands before it, or
 * NULL. */
const char *plan_column(const PgQuery__Node *node, const char **qualifier);
