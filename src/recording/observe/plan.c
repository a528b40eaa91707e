#define _GNU_SOURCE
#include "observe/plan.h"

#include <strings.h>

#include "base/memory.h"

enum { SHAPE_MOST = 240 };

const char *const plan_reason_names[REASONS] = {
    "recorded",  "no-table",    "syntax", "shape",   "function", "operator",
    "type",      "table",       "writes", "grouped", "twice",    "no-key",
    "condition", "undescribed", "cursor", "hold",    "session",  "value",
};

enum isolation isolation_of(const char *name)
{
    if (!strcasecmp(name, "serializable"))
        return ISOLATION_SERIALIZABLE;
    if (!strcasecmp(name, "repeatable read"))
        return ISOLATION_REPEATABLE_READ;
    if (!strcasecmp(name, "read committed") || !strcasecmp(name, "read uncommitted"))
        return ISOLATION_READ_COMMITTED;
    return ISOLATION_UNKNOWN;
}

const char *plan_column(const PgQuery__Node *node, const char **qualifier)
{
    if (!node || node->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
        return NULL;
    const PgQuery__ColumnRef *column = node->column_ref;
    const char *name = NULL;
    *qualifier = NULL;
    for (size_t i = 0; i < column->n_fields; i++) {
        if (column->fields[i]->node_case != PG_QUERY__NODE__NODE_STRING)
            return NULL;
        *qualifier = name;
        name = column->fields[i]->string->sval;
    }
    return name;
}

/* ---- kinds of statements ---- */

static enum isolation isolation_in(size_t count, PgQuery__Node *const *options)
{
    for (size_t i = 0; i < count; i++) {
        if (options[i]->node_case != PG_QUERY__NODE__NODE_DEF_ELEM)
            continue;
        const PgQuery__DefElem *option = options[i]->def_elem;
        if (!strcmp(option->defname, "transaction_isolation") && option->arg &&
            option->arg->node_case == PG_QUERY__NODE__NODE_A_CONST &&
            option->arg->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL)
            return isolation_of(option->arg->a_const->sval->sval);
    }
    return ISOLATION_UNKNOWN;
}

static void plan_transaction(struct plan_statement *statement, const PgQuery__TransactionStmt *node)
{
    static const enum plan_kind kinds[] = {
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_BEGIN] = PLAN_BEGIN,
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START] = PLAN_BEGIN,
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT] = PLAN_COMMIT,
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK] = PLAN_ROLLBACK,
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_SAVEPOINT] = PLAN_SAVEPOINT,
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_RELEASE] = PLAN_RELEASE,
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_TO] = PLAN_ROLLBACK_TO,
        [PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_PREPARE] = PLAN_PREPARE,
    };
    if ((size_t)node->kind < sizeof kinds / sizeof *kinds)
        statement->kind = kinds[node->kind];
    statement->name = node->savepoint_name;
    statement->chains = node->chain;
    statement->isolation = isolation_in(node->n_options, node->options);
}

static void plan_set(struct plan_statement *statement, const PgQuery__VariableSetStmt *node)
{
    statement->kind = PLAN_SET;
    const char *name = node->name;
    if (!strcasecmp(name, "TRANSACTION")) {
        statement->isolation = isolation_in(node->n_args, node->args);
    } else if (!strcasecmp(name, "SESSION CHARACTERISTICS")) {
        statement->sets_default = true;
        statement->isolation = isolation_in(node->n_args, node->args);
    } else {
        statement->imports = !strcasecmp(name, "TRANSACTION SNAPSHOT");
        statement->may_set = !*name || strcasestr(name, "isolation") || strcasestr(name, "role") ||
                             strcasestr(name, "authorization");
    }
}

static void plan_declare(struct plan_statement *statement, const PgQuery__DeclareCursorStmt *node)
{
    statement->kind = PLAN_DECLARE;
    statement->name = node->portalname;
    /* what is fetched is a part */
    statement->is_simple = statement->says_some = statement->is_exists = false;
}

static bool is_definition(const PgQuery__Node *node)
{
    static const char *const begin[] = {"Create", "Alter", "Drop", "Rename", "Define",
                                        "Index",  "View",  "Rule", NULL};
    const ProtobufCMessage *message = &node->select_stmt->base; /* whichever it is */
    for (const char *const *known = begin; *known; known++)
        if (!strncmp(message->descriptor->short_name, *known, strlen(*known)))
            return true;
    return false;
}

static void plan_any(struct plan_statement *statement)
{
    const PgQuery__Node *node = statement->node;
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT ||
        node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT ||
        node->node_case == PG_QUERY__NODE__NODE_DELETE_STMT)
        statement->kind = PLAN_WRITE;
    statement->counts_as_read = node->node_case == PG_QUERY__NODE__NODE_SELECT_STMT;
    statement->may_define = is_definition(node);
    plan_shape(statement);
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT:
        plan_transaction(statement, node->transaction_stmt);
        break;
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT:
        plan_set(statement, node->variable_set_stmt);
        break;
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        statement->kind = PLAN_SELECT;
        break;
    case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT:
        plan_declare(statement, node->declare_cursor_stmt);
        break;
    case PG_QUERY__NODE__NODE_FETCH_STMT:
        statement->kind = PLAN_FETCH;
        statement->counts_as_read = !node->fetch_stmt->ismove;
        statement->name = node->fetch_stmt->portalname;
        break;
    case PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT:
        statement->kind = PLAN_CLOSE;
        statement->name = node->close_portal_stmt->portalname;
        break;
    case PG_QUERY__NODE__NODE_DEALLOCATE_STMT:
        statement->kind = PLAN_DEALLOCATE;
        statement->name = node->deallocate_stmt->name;
        break;
    case PG_QUERY__NODE__NODE_DISCARD_STMT:
        if (node->discard_stmt->target == PG_QUERY__DISCARD_MODE__DISCARD_ALL)
            statement->kind = PLAN_DEALLOCATE;
        break;
    default:
        break;
    }
}

/* ---- plans ---- */

/* Keywords alone: in what else a statement says, a word may be anybody's, and a secret (SET
 * app.token TO hunter2). */
static bool has_names_only(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        enum plan_kind kind = plan->statements[i].kind;
        if (kind != PLAN_SELECT && kind != PLAN_WRITE && kind != PLAN_DECLARE && kind != PLAN_FETCH)
            return false;
    }
    return plan->count;
}

static char *shape_of(const struct plan *plan, const char *text, size_t length)
{
    char shape[SHAPE_MOST + 1];
    size_t used = 0;
    if (has_names_only(plan)) {
        for (; used < length && used < SHAPE_MOST; used++)
            shape[used] = (unsigned char)text[used] < ' ' || text[used] == 0x7f ? ' ' : text[used];
    } else {
        struct iso_sql_tokens tokens;
        struct iso_sql_fault fault;
        bool is_scanned = length && iso_sql_scan(&tokens, text, length, &fault);
        if (is_scanned && tokens.count && tokens.list[0].keyword)
            for (const char *at = text + tokens.list[0].begin;
                 at < text + tokens.list[0].end && used < 20; at++)
                shape[used++] = (char)(*at & ~0x20);
        if (is_scanned)
            iso_sql_tokens_release(&tokens);
        memcpy(shape + used, used ? " .." : "..", used ? 3 : 2);
        used += used ? 3 : 2;
    }
    return iso_copy_text(shape, used);
}

struct plan *plan_new(const char *text, size_t length, bool is_template, _Atomic size_t *account)
{
    struct plan *plan = iso_allocate_zeroed(1, sizeof *plan);
    struct iso_sql_fault fault;
    plan->references = 1;
    bool parsed = iso_sql_parse(&plan->tree, text, length, &fault);
    plan->needs_constants = !parsed && is_template;
    plan->count = parsed ? (uint32_t)plan->tree.count : 1;
    plan->statements = iso_allocate_zeroed(plan->count ? plan->count : 1, sizeof *plan->statements);
    if (parsed)
        for (uint32_t i = 0; i < plan->count; i++) {
            plan->statements[i].node = plan->tree.statements[i]->stmt;
            plan_any(&plan->statements[i]);
        }
    else
        plan->statements[0] = (struct plan_statement){.reason = REASON_SYNTAX};
    plan->shape = shape_of(plan, text, parsed ? length : 0);
    plan->bytes =
        sizeof *plan + iso_sql_tree_bytes(&plan->tree) + plan->count * sizeof *plan->statements;
    for (uint32_t i = 0; i < plan->count; i++)
        plan->bytes += plan->statements[i].table_capacity * sizeof *plan->statements[i].tables +
                       plan->statements[i].use_capacity * sizeof *plan->statements[i].uses;
    plan->account = account;
    *account += plan->bytes;
    return plan;
}

void plan_release(struct plan *plan)
{
    if (!plan || --plan->references)
        return;
    *plan->account -= plan->bytes;
    for (uint32_t i = 0; i < plan->count; i++)
        iso_free(plan->statements[i].tables), iso_free(plan->statements[i].uses);
    iso_sql_tree_release(&plan->tree);
    iso_free(plan->statements);
    iso_free(plan->shape);
    iso_free(plan);
}
