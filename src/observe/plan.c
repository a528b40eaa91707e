#define _GNU_SOURCE
#include "observe/plan.h"

#include <strings.h>

#include "base/memory.h"

enum { SHAPE_MOST = 240, CURSOR_HOLD = 0x20 };

const char *const plan_reason_names[REASONS] = {
    "recorded", "no-table",  "syntax",      "writes", "grouped", "recursive", "twice",
    "no-key",   "condition", "undescribed", "cursor", "hold",    "pipeline",  "value",
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

/* ---- everything in a tree ---- */

struct survey {
    struct plan_statement *statement;
    const char *with[32]; /* names of WITH */
    uint32_t with_count;
    bool has_function, has_sublink, writes, groups_by_sets, is_recursive, sets, locks;
};

static void add_table(struct survey *survey, const PgQuery__RangeVar *table)
{
    struct plan_statement *statement = survey->statement;
    bool is_plain = !*table->schemaname;
    for (uint32_t i = 0; is_plain && i < survey->with_count; i++)
        if (!strcmp(survey->with[i], table->relname))
            return;
    const char *alias = table->alias ? table->alias->aliasname : table->relname;
    /* By name alone: that a schema is said in one place and not in another makes no second table of it. */
    for (uint32_t i = 0; i < statement->table_count; i++) {
        if (!strcmp(statement->tables[i].name, table->relname)) {
            statement->tables[i].times++;
            return;
        }
    }
    ISO_GROW(statement->tables, statement->table_count, statement->table_capacity);
    statement->tables[statement->table_count++] =
        (struct plan_table){.schema = table->schemaname, .name = table->relname, .alias = alias, .times = 1};
}

static const char *last_name(size_t count, PgQuery__Node *const *names)
{
    if (!count || names[count - 1]->node_case != PG_QUERY__NODE__NODE_STRING)
        return "";
    return names[count - 1]->string->sval;
}

static bool is_harmless_function(const char *name)
{
    static const char *const names[] = {"count",      "sum",     "min",        "max",     "avg",       "lower",
                                        "upper",      "length",  "now",        "abs",     "round",     "array_agg",
                                        "string_agg", "to_char", "date_trunc", "extract", "substring", "btrim",
                                        "row_number", "rank",    "json_agg",   NULL};
    for (const char *const *known = names; *known; known++)
        if (!strcmp(*known, name))
            return true;
    return false;
}

static void look_at(struct survey *survey, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (type == &pg_query__range_var__descriptor) {
        add_table(survey, (const void *)message);
    } else if (type == &pg_query__func_call__descriptor) {
        const PgQuery__FuncCall *call = (const void *)message;
        const char *name = last_name(call->n_funcname, call->funcname);
        survey->has_function |= !is_harmless_function(name);
        survey->sets |= !strcmp(name, "set_config");
    } else if (type == &pg_query__sub_link__descriptor) {
        survey->has_sublink = true;
    } else if (type == &pg_query__insert_stmt__descriptor || type == &pg_query__update_stmt__descriptor ||
               type == &pg_query__delete_stmt__descriptor || type == &pg_query__merge_stmt__descriptor ||
               type == &pg_query__into_clause__descriptor) {
        survey->writes = true;
    } else if (type == &pg_query__grouping_set__descriptor) {
        survey->groups_by_sets = true;
    } else if (type == &pg_query__with_clause__descriptor) {
        survey->is_recursive |= ((const PgQuery__WithClause *)(const void *)message)->recursive;
    } else if (type == &pg_query__locking_clause__descriptor) {
        survey->locks = true;
    }
}

static void gather_names(struct survey *survey, const ProtobufCMessage *message)
{
    if (message->descriptor == &pg_query__common_table_expr__descriptor &&
        survey->with_count < sizeof survey->with / sizeof *survey->with)
        survey->with[survey->with_count++] = ((const PgQuery__CommonTableExpr *)(const void *)message)->ctename;
}

/* Every message of the tree, by what protobuf-c says of its fields. */
static void visit(struct survey *survey, const ProtobufCMessage *message,
                  void (*act)(struct survey *survey, const ProtobufCMessage *message))
{
    act(survey, message);
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *at = (const char *)message;
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t count = *(const size_t *)(const void *)(at + field->quantifier_offset);
            ProtobufCMessage *const *list = *(ProtobufCMessage *const *const *)(const void *)(at + field->offset);
            for (size_t j = 0; j < count; j++)
                visit(survey, list[j], act);
        } else if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
                   *(const uint32_t *)(const void *)(at + field->quantifier_offset) == field->id) {
            const ProtobufCMessage *one = *(const ProtobufCMessage *const *)(const void *)(at + field->offset);
            if (one)
                visit(survey, one, act);
        }
    }
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
        statement->may_set =
            !*name || strcasestr(name, "isolation") || strcasestr(name, "role") || strcasestr(name, "authorization");
    }
}

static bool is_one_table(const PgQuery__SelectStmt *select)
{
    return select->n_from_clause == 1 && select->from_clause[0]->node_case == PG_QUERY__NODE__NODE_RANGE_VAR &&
           !select->n_group_clause && !select->having_clause && !select->n_window_clause && !select->with_clause &&
           select->op == PG_QUERY__SET_OPERATION__SETOP_NONE;
}

static void plan_select(struct plan_statement *statement, const PgQuery__SelectStmt *select,
                        const struct survey *survey)
{
    statement->select = select;
    statement->is_simple = is_one_table(select);
    statement->is_partial =
        select->limit_count || select->limit_offset || survey->locks; /* who waits for a lock sees newer rows */
    statement->is_distinct = select->n_distinct_clause > 0;
    bool is_once = false;
    for (uint32_t i = 0; i < statement->table_count; i++)
        is_once |= statement->tables[i].times == 1;
    if (!statement->table_count)
        statement->reason = REASON_NO_TABLE;
    else if (survey->writes)
        statement->reason = REASON_WRITES;
    else if (survey->groups_by_sets)
        statement->reason = REASON_GROUPED;
    else if (survey->is_recursive)
        statement->reason = REASON_RECURSIVE;
    else if (!is_once)
        statement->reason = REASON_TWICE;
}

static void plan_declare(struct plan_statement *statement, const PgQuery__DeclareCursorStmt *node,
                         const struct survey *survey)
{
    statement->kind = PLAN_DECLARE;
    statement->name = node->portalname;
    statement->holds = node->options & CURSOR_HOLD;
    if (node->query && node->query->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
        plan_select(statement, node->query->select_stmt, survey);
    else
        statement->reason = REASON_SYNTAX;
    statement->is_simple = false; /* what is fetched is a part */
}

static bool is_ddl(PgQuery__Node__NodeCase kind)
{
    return kind != PG_QUERY__NODE__NODE_COPY_STMT && kind != PG_QUERY__NODE__NODE_CALL_STMT &&
           kind != PG_QUERY__NODE__NODE_EXPLAIN_STMT && kind != PG_QUERY__NODE__NODE_EXECUTE_STMT &&
           kind != PG_QUERY__NODE__NODE_PREPARE_STMT && kind != PG_QUERY__NODE__NODE_DEALLOCATE_STMT &&
           kind != PG_QUERY__NODE__NODE_LISTEN_STMT && kind != PG_QUERY__NODE__NODE_NOTIFY_STMT &&
           kind != PG_QUERY__NODE__NODE_UNLISTEN_STMT && kind != PG_QUERY__NODE__NODE_LOCK_STMT &&
           kind != PG_QUERY__NODE__NODE_VACUUM_STMT && kind != PG_QUERY__NODE__NODE_CHECK_POINT_STMT &&
           kind != PG_QUERY__NODE__NODE_DISCARD_STMT && kind != PG_QUERY__NODE__NODE_TRUNCATE_STMT;
}

static void plan_any(struct plan_statement *statement)
{
    const PgQuery__Node *node = statement->node;
    struct survey survey = {.statement = statement};
    visit(&survey, &node->base, gather_names);
    visit(&survey, &node->base, look_at);
    statement->may_write = survey.writes || survey.has_function;
    statement->may_set = survey.sets;
    statement->calls = survey.has_function;
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT:
        plan_transaction(statement, node->transaction_stmt);
        break;
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT:
        plan_set(statement, node->variable_set_stmt);
        break;
    case PG_QUERY__NODE__NODE_VARIABLE_SHOW_STMT:
        break;
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        statement->kind = PLAN_SELECT;
        statement->counts_as_read = true;
        plan_select(statement, node->select_stmt, &survey);
        break;
    case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT:
        plan_declare(statement, node->declare_cursor_stmt, &survey);
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
    case PG_QUERY__NODE__NODE_INSERT_STMT:
    case PG_QUERY__NODE__NODE_UPDATE_STMT:
    case PG_QUERY__NODE__NODE_DELETE_STMT:
        statement->kind = PLAN_WRITE;
        statement->may_write = true;
        break;
    default:
        statement->may_write = true;
        statement->may_set |=
            node->node_case == PG_QUERY__NODE__NODE_DISCARD_STMT || node->node_case == PG_QUERY__NODE__NODE_CALL_STMT ||
            node->node_case == PG_QUERY__NODE__NODE_DO_STMT || node->node_case == PG_QUERY__NODE__NODE_EXECUTE_STMT;
        statement->is_ddl = is_ddl(node->node_case);
    }
}

/* ---- plans ---- */

/* Keywords alone: in what else a statement says, a word may be anybody's, and a secret (SET app.token TO hunter2). */
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
            for (const char *at = text + tokens.list[0].begin; at < text + tokens.list[0].end && used < 20; at++)
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
        plan->statements[0] = (struct plan_statement){.reason = REASON_SYNTAX, .may_write = true, .may_set = true};
    plan->shape = shape_of(plan, text, parsed ? length : 0);
    plan->bytes = sizeof *plan + iso_sql_tree_bytes(&plan->tree) + plan->count * sizeof *plan->statements;
    for (uint32_t i = 0; i < plan->count; i++)
        plan->bytes += plan->statements[i].table_capacity * sizeof *plan->statements[i].tables;
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
        iso_free(plan->statements[i].tables);
    iso_sql_tree_release(&plan->tree);
    iso_free(plan->statements);
    iso_free(plan->shape);
    iso_free(plan);
}
