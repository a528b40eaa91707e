/* What is to be known of a statement before it runs: its kind, which tables stand in it and how often, whether its rows can be
 * rows of those tables. Made of PostgreSQL's own parse tree, once for each template (observe/template.h).
 *
 * A row that a statement returns is a read of a table's row only where the table stands in it once, nothing in it writes
 * (WITH ... AS (UPDATE ... RETURNING)), nothing is grouped by sets, and no WITH is recursive. Then each plain column of the
 * result comes from one row of the table that RowDescription names.
 *
 * Ownership: a plan is counted, and freed with its last reference. Threads: its loop's.
 */
#ifndef ISO_OBSERVE_PLAN_H
#define ISO_OBSERVE_PLAN_H

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
    PLAN_SET
};

enum isolation { ISOLATION_UNKNOWN, ISOLATION_READ_COMMITTED, ISOLATION_REPEATABLE_READ, ISOLATION_SERIALIZABLE };
enum isolation isolation_of(const char *name);

/* Why a statement that reads was passed on, and not recorded. */
enum plan_reason {
    REASON_NONE,
    REASON_NO_TABLE, /* it reads none of the recorded ones: not counted as passed on */
    REASON_SYNTAX,
    REASON_WRITES, /* what it returns may be its own writing */
    REASON_GROUPED,
    REASON_RECURSIVE,
    REASON_TWICE,     /* each of its tables stands in it more than once */
    REASON_NO_KEY,    /* nothing says which rows they are */
    REASON_CONDITION, /* nothing says which, and the condition is not one of those that are recorded */
    REASON_UNDESCRIBED,
    REASON_CURSOR, /* it reads as of its opening, and something was written since */
    REASON_HOLD,
    REASON_PIPELINE, /* several statements in one implicit transaction */
    REASON_VALUE,    /* a type or encoding that is not understood */
    REASONS
};
extern const char *const plan_reason_names[REASONS];

struct plan_table {
    const char *schema, *name; /* of the tree; schema "" if it is not said */
    const char *alias;         /* by which columns name it */
    uint32_t times;
};

struct plan_statement {
    enum plan_kind kind;
    enum isolation isolation; /* of BEGIN and SET */
    enum plan_reason reason;  /* its rows are no reads */
    bool may_write, is_ddl, may_set;
    bool sets_default; /* SET: that of later transactions */
    bool chains, holds, counts_as_read;
    bool calls;      /* functions that may do anything */
    bool is_simple;  /* one table, no joins, groups or the like: its rows are those that match the condition */
    bool is_partial; /* but not all of them: LIMIT, OFFSET, SKIP LOCKED */
    bool is_distinct;
    const char *name; /* of a savepoint, cursor */
    const PgQuery__SelectStmt *select;
    const PgQuery__Node *node;
    struct plan_table *tables;
    uint32_t table_count, table_capacity;
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

/* Never NULL; a text that is no statement has one of kind PLAN_OTHER, which may do anything. `is_template`: of constants there
 * is none in it. `account` outlives the plan. */
struct plan *plan_new(const char *text, size_t length, bool is_template, _Atomic size_t *account);
void plan_release(struct plan *plan); /* NULL is allowed */

static inline struct plan *plan_share(struct plan *plan)
{
    plan->references++;
    return plan;
}

/* The last part of a column's name, NULL if it is none; `qualifier` is what stands before it, or NULL. */
const char *plan_column(const PgQuery__Node *node, const char **qualifier);

#endif
