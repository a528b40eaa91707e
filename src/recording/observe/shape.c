#include "observe/shape.h"

#include "base/memory.h"

enum { DEPTH_MOST = 200 };

struct look {
    struct plan_statement *statement;
    const char *with[32]; /* names of WITH, wherever they stand */
    uint32_t with_count, depth;
    uint32_t selects; /* that are entered; what stands in FROM of the first can be the result's */
    bool groups_by_sets;
};

/* ---- the lists: a blank before and behind each name ---- */

/* No set of rows, no effect, and the same for every session but for the time. */
static const char functions[] =
    " "
    "abs age array_agg array_append array_length array_position array_prepend array_remove array_to_string ascii "
    "avg bit_length bool_and bool_or btrim cardinality ceil ceiling char_length character_length chr "
    "clock_timestamp coalesce concat concat_ws count cume_dist current_database current_schema current_setting "
    "date_part date_trunc decode dense_rank div encode every exp extract first_value floor format greatest "
    "initcap isfinite json_agg json_array_length json_build_array json_build_object json_extract_path "
    "json_extract_path_text json_object_agg json_typeof jsonb_agg jsonb_array_length jsonb_build_array "
    "jsonb_build_object jsonb_exists jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_set "
    "jsonb_typeof lag last_value lead least left length like_escape ln localtimestamp log lower lpad ltrim "
    "make_date make_interval max md5 min mod now nth_value ntile nullif num_nonnulls num_nulls octet_length "
    "overlay pg_backend_pid pg_current_snapshot pg_current_xact_id_if_assigned pg_get_serial_sequence "
    "pg_is_in_recovery pg_my_temp_schema pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_inserted "
    "pg_stat_get_xact_tuples_updated pg_typeof position power quote_ident "
    "quote_literal random rank regexp_replace repeat replace reverse right round row_number row_to_json rpad "
    "rtrim sign similar_to_escape split_part sqrt starts_with statement_timestamp stddev stddev_pop stddev_samp "
    "string_agg string_to_array strpos substr substring sum timezone to_char to_date to_json to_jsonb to_number "
    "to_timestamp to_tsquery to_tsvector transaction_timestamp translate trunc ts_rank upper var_pop var_samp "
    "variance version ";

static const char aggregates[] =
    " "
    "array_agg avg bool_and bool_or count every json_agg json_object_agg jsonb_agg jsonb_object_agg max min "
    "stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance ";

static const char operators[] =
    " "
    "!= !~ !~* !~~ !~~* #> #>> % && * + - -> ->> / < <= <> <@ = > >= ? ?& ?| @> @@ ^ || ~ ~* ~~ ~~* ";

static const char types[] =
    " "
    "bit bool bpchar bytea char cidr date float4 float8 inet int2 int4 int8 interval json jsonb money name "
    "numeric oid regclass text time timestamp timestamptz timetz tsquery tsvector uuid varbit varchar ";

static bool is_listed(const char *name, const char *list)
{
    size_t length = strlen(name);
    if (!length || strchr(name, ' '))
        return false;
    for (const char *at = list; (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* ---- what is found ---- */

/* Always false. The first reason stays. */
static bool refuse(struct look *look, enum plan_reason reason, const char *detail)
{
    struct plan_statement *statement = look->statement;
    if (!statement->reason || statement->reason == REASON_NO_TABLE) {
        statement->reason = reason;
        statement->detail = detail;
    }
    return false;
}

static bool is_same_use(const struct plan_use *use, enum plan_use_kind kind, const char *qualifier,
                        const char *name)
{
    return use->kind == kind && !strcmp(use->name, name) &&
           (kind != PLAN_USE_COLUMN || !strcmp(use->qualifier, qualifier));
}

static bool add_use(struct look *look, enum plan_use_kind kind, const char *qualifier,
                    const char *name)
{
    struct plan_statement *statement = look->statement;
    if (statement->use_count ==
        PLAN_USES_MOST) /* before they are looked through: the work is bounded */
        return refuse(look, REASON_SHAPE, "more names than are looked at");
    for (uint32_t i = statement->use_count; i-- > 0;)
        if (is_same_use(&statement->uses[i], kind, qualifier, name))
            return true;
    ISO_GROW(statement->uses, statement->use_count, statement->use_capacity);
    statement->uses[statement->use_count++] = (struct plan_use){kind, qualifier, name};
    return true;
}

/* The one part of a name, or the second behind pg_catalog; NULL: another. */
static const char *builtin_name(size_t count, PgQuery__Node *const *names, bool *is_qualified)
{
    for (size_t i = 0; i < count; i++)
        if (names[i]->node_case != PG_QUERY__NODE__NODE_STRING)
            return NULL;
    *is_qualified = count == 2;
    if (count == 1 || (count == 2 && !strcmp(names[0]->string->sval, "pg_catalog")))
        return names[count - 1]->string->sval;
    return NULL;
}

static bool is_with(const struct look *look, const PgQuery__RangeVar *table)
{
    for (uint32_t i = 0; !*table->schemaname && i < look->with_count; i++)
        if (!strcmp(look->with[i], table->relname))
            return true;
    return false;
}

/* `is_top`: its rows can be the result's. */
static bool add_table(struct look *look, const PgQuery__RangeVar *table, bool is_top)
{
    struct plan_statement *statement = look->statement;
    if (is_with(look, table))
        return add_use(look, PLAN_USE_WITH, NULL, table->relname);
    if (*table->catalogname || !table->inh || (table->alias && table->alias->n_colnames))
        return refuse(look, REASON_TABLE,
                      !table->inh ? "ONLY" : "a table with names for its columns");
    const char *alias = table->alias ? table->alias->aliasname : table->relname;
    uint32_t times = 1;
    for (uint32_t i = 0; i < statement->table_count; i++) {
        struct plan_table *known = &statement->tables[i];
        if (strcmp(known->name, table->relname))
            continue; /* by name alone: that a schema is said in one place and not in another makes
                         no second table of it */
        times = ++known->times;
        is_top = false;
    }
    if (statement->table_count == SHAPE_TABLES_MOST)
        return refuse(look, REASON_TABLE, "more tables than are looked at");
    ISO_GROW(statement->tables, statement->table_count, statement->table_capacity);
    statement->tables[statement->table_count++] = (struct plan_table){.schema = table->schemaname,
                                                                      .name = table->relname,
                                                                      .alias = alias,
                                                                      .times = times,
                                                                      .is_top = is_top};
    return true;
}

/* ---- expressions, and what stands in FROM: no effect, whatever they mean ---- */

static bool is_fine(struct look *look, const PgQuery__Node *node);
static bool is_fine_select(struct look *look, const PgQuery__SelectStmt *select);
static bool is_fine_part(struct look *look, const ProtobufCMessage *part);

/* Each part, whatever the message is, also behind one that is not: the tables in it are told,
 * too. */
static bool is_fine_in_parts(struct look *look, const ProtobufCMessage *message)
{
    bool fine = true;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *begin = (const char *)message;
        const void *at = begin + field->offset, *count_at = begin + field->quantifier_offset;
        bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
        const ProtobufCMessage *const *parts = at;
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (is_list)
            parts = *(const ProtobufCMessage *const *const *)at;
        for (size_t j = 0; j < (is_list ? *(const size_t *)count_at : 1); j++)
            fine &= is_fine_part(look, parts[j]);
    }
    return fine;
}

static bool is_fine_part(struct look *look, const ProtobufCMessage *part)
{
    if (!part)
        return true;
    if (part->descriptor == &pg_query__node__descriptor)
        return is_fine(look, (const PgQuery__Node *)part);
    if (part->descriptor == &pg_query__select_stmt__descriptor)
        return is_fine_select(look, (const PgQuery__SelectStmt *)part);
    return is_fine_in_parts(look, part);
}

static bool is_fine_column(struct look *look, const PgQuery__ColumnRef *column)
{
    const char *parts[2] = {NULL, NULL};
    if (column->n_fields > 2)
        return refuse(look, REASON_SHAPE, "a column's name of three parts");
    for (size_t i = 0; i < column->n_fields; i++) {
        if (column->fields[i]->node_case == PG_QUERY__NODE__NODE_A_STAR)
            return true;
        if (column->fields[i]->node_case != PG_QUERY__NODE__NODE_STRING)
            return refuse(look, REASON_SHAPE, "a column's name");
        parts[i] = column->fields[i]->string->sval;
    }
    /* `table.name` that is no column calls the function of that name. */
    return !parts[1] || add_use(look, PLAN_USE_COLUMN, parts[0], parts[1]);
}

static bool is_fine_operator(struct look *look, size_t count, PgQuery__Node *const *names)
{
    bool is_qualified = false;
    const char *name = builtin_name(count, names, &is_qualified);
    if (!name || !is_listed(name, operators))
        return refuse(look, REASON_OPERATOR, name ? name : "of a schema");
    return is_qualified || add_use(look, PLAN_USE_OPERATOR, NULL, name);
}

static bool is_fine_test(struct look *look, const PgQuery__AExpr *test)
{
    static const char *const of_between[] = {"<", "<=", ">", ">=", NULL};
    switch (test->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        for (const char *const *name = of_between; *name; name++)
            add_use(look, PLAN_USE_OPERATOR, NULL, *name);
        return true;
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF:
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
        return is_fine_operator(look, test->n_name, test->name);
    default:
        return refuse(look, REASON_SHAPE, "a comparison");
    }
}

static bool is_fine_cast(struct look *look, const PgQuery__TypeName *type)
{
    bool is_qualified = false;
    const char *name = type ? builtin_name(type->n_names, type->names, &is_qualified) : NULL;
    if (!name || type->setof || type->pct_type || !is_listed(name, types))
        return refuse(look, REASON_TYPE, name ? name : "of a schema");
    return is_qualified || add_use(look, PLAN_USE_TYPE, NULL, name);
}

static bool is_fine_call(struct look *look, const PgQuery__FuncCall *call)
{
    bool is_qualified = false;
    const char *name = builtin_name(call->n_funcname, call->funcname, &is_qualified);
    if (!name || !is_listed(name, functions))
        return refuse(look, REASON_FUNCTION, name ? name : "of a schema");
    if (call->func_variadic || call->agg_within_group)
        return refuse(look, REASON_FUNCTION, "VARIADIC or WITHIN GROUP");
    look->statement->has_aggregate |=
        !call->over && look->selects == 1 && is_listed(name, aggregates);
    return is_qualified || add_use(look, PLAN_USE_FUNCTION, NULL, name);
}

static bool is_fine_link(struct look *look, const PgQuery__SubLink *link)
{
    if (link->n_oper_name)
        return is_fine_operator(look, link->n_oper_name, link->oper_name);
    return link->sub_link_type != PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK ||
           add_use(look, PLAN_USE_OPERATOR, NULL, "=");
}

static bool is_fine_indirection(struct look *look, const PgQuery__AIndirection *all)
{
    for (size_t i = 0; i < all->n_indirection; i++)
        if (all->indirection[i]->node_case != PG_QUERY__NODE__NODE_A_INDICES)
            return refuse(look, REASON_SHAPE, "a field of a row"); /* or a function's name */
    return true;
}

static bool is_fine_join(struct look *look, const PgQuery__JoinExpr *join)
{
    bool is_inner = join->jointype == PG_QUERY__JOIN_TYPE__JOIN_INNER;
    look->statement->joins = true;
    if (join->is_natural || join->join_using_alias || join->alias ||
        (join->n_using_clause && !is_inner))
        return refuse(look, REASON_SHAPE, "a join by the names of columns");
    if (!is_inner && join->jointype != PG_QUERY__JOIN_TYPE__JOIN_LEFT &&
        join->jointype != PG_QUERY__JOIN_TYPE__JOIN_RIGHT &&
        join->jointype != PG_QUERY__JOIN_TYPE__JOIN_FULL)
        return refuse(look, REASON_SHAPE, "a join");
    return !join->n_using_clause || add_use(look, PLAN_USE_OPERATOR, NULL, "=");
}

static bool note_parameter(struct plan_statement *statement, int number)
{
    if (number >= 1 && number <= PLAN_PARAMETERS && statement->parameters[number - 1] < 2)
        statement->parameters[number - 1]++;
    return true;
}

/* The list: what is not on it is refused. A node is what it says here, and what its parts are. */
static bool is_fine_but_for_parts(struct look *look, const PgQuery__Node *node, const char *name)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
    case PG_QUERY__NODE__NODE_A_INDICES:
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
    case PG_QUERY__NODE__NODE_CASE_WHEN:
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
    case PG_QUERY__NODE__NODE_COMMON_TABLE_EXPR:
    case PG_QUERY__NODE__NODE_INTEGER:
    case PG_QUERY__NODE__NODE_LIST:
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
    case PG_QUERY__NODE__NODE_NULL_TEST:
    case PG_QUERY__NODE__NODE_ROW_EXPR:
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
    case PG_QUERY__NODE__NODE_STRING:
    case PG_QUERY__NODE__NODE_WINDOW_DEF:
        return true;
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        return look->statement->has_sub_select = true;
    case PG_QUERY__NODE__NODE_GROUPING_SET: /* a column may be NULL where the row's is not */
        return look->groups_by_sets = true;
    case PG_QUERY__NODE__NODE_PARAM_REF:
        return note_parameter(look->statement, node->param_ref->number);
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
        return look->statement->kind == PLAN_WRITE || refuse(look, REASON_SHAPE, "DEFAULT");
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return is_fine_cast(look, node->type_cast->type_name);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return is_fine_test(look, node->a_expr);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
        return !node->case_expr->arg || add_use(look, PLAN_USE_OPERATOR, NULL, "=");
    case PG_QUERY__NODE__NODE_A_INDIRECTION:
        return is_fine_indirection(look, node->a_indirection);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return is_fine_call(look, node->func_call);
    case PG_QUERY__NODE__NODE_SUB_LINK:
        return is_fine_link(look, node->sub_link);
    case PG_QUERY__NODE__NODE_JOIN_EXPR:
        return is_fine_join(look, node->join_expr);
    case PG_QUERY__NODE__NODE_RES_TARGET:
        return !node->res_target->n_indirection || refuse(look, REASON_SHAPE, "a part of a column");
    case PG_QUERY__NODE__NODE_SORT_BY:
        return !node->sort_by->n_use_op || refuse(look, REASON_SHAPE, "ORDER BY ... USING");
    default:
        return refuse(look, strncmp(name, "Range", 5) ? REASON_SHAPE : REASON_TABLE, name);
    }
}

static bool is_fine(struct look *look, const PgQuery__Node *node)
{
    if (!node || node->node_case == PG_QUERY__NODE__NODE__NOT_SET)
        return true;
    const ProtobufCMessage *message = &node->select_stmt->base; /* whichever it is */
    switch (node->node_case) {                                  /* what has no parts to look at */
    case PG_QUERY__NODE__NODE_A_CONST:
    case PG_QUERY__NODE__NODE_INDEX_ELEM: /* of ON CONFLICT: an index has it */
    case PG_QUERY__NODE__NODE_LOCKING_CLAUSE:
        return true;
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return is_fine_column(look, node->column_ref);
    case PG_QUERY__NODE__NODE_RANGE_VAR:
        return add_table(look, node->range_var, look->selects == 1);
    default:
        break;
    }
    if (++look->depth > DEPTH_MOST)
        return refuse(look, REASON_SHAPE, "nested too deep");
    bool fine = is_fine_but_for_parts(look, node, message->descriptor->short_name) &&
                is_fine_part(look, message);
    look->depth--;
    return fine;
}

/* ---- SELECT ---- */

/* Names, before they are used. */
static bool take_with(struct look *look, const PgQuery__WithClause *with)
{
    for (size_t i = 0; with && i < with->n_ctes; i++) {
        const PgQuery__CommonTableExpr *one = with->ctes[i]->common_table_expr;
        if (one->search_clause || one->cycle_clause ||
            look->with_count == sizeof look->with / sizeof *look->with)
            return refuse(look, REASON_SHAPE, "WITH");
        if (one->ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
            return refuse(look, REASON_WRITES, "WITH");
        look->with[look->with_count++] = one->ctename;
    }
    return true;
}

static bool is_fine_select(struct look *look, const PgQuery__SelectStmt *select)
{
    bool is_top = ++look->selects == 1, fine;
    if (look->selects > DEPTH_MOST) {
        fine = refuse(look, REASON_SHAPE, "nested too deep");
    } else if (select->into_clause || (select->n_values_lists && is_top)) {
        fine = refuse(look, select->into_clause ? REASON_WRITES : REASON_SHAPE, "VALUES");
    } else { /* both are looked at: each says what it found */
        bool takes = take_with(look, select->with_clause);
        fine = is_fine_in_parts(look, &select->base) && takes;
    }
    /* columns have the names of the first query's, and rows of both */
    look->statement->has_sub_select |= select->op != PG_QUERY__SET_OPERATION__SETOP_NONE;
    for (size_t i = 0; i < select->n_distinct_clause && is_top; i++)
        look->statement->has_distinct_on |=
            select->distinct_clause[i]->node_case != PG_QUERY__NODE__NODE__NOT_SET;
    look->selects--;
    return fine;
}

/* A constant, whatever the row is. */
static bool is_constant(const PgQuery__Node *node)
{
    while (node && node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST)
        node = node->type_cast->arg;
    return node && (node->node_case == PG_QUERY__NODE__NODE_A_CONST ||
                    node->node_case == PG_QUERY__NODE__NODE_PARAM_REF);
}

static bool says_some(const PgQuery__SelectStmt *select)
{
    for (size_t i = 0; i < select->n_target_list; i++)
        if (select->target_list[i]->node_case != PG_QUERY__NODE__NODE_RES_TARGET ||
            !is_constant(select->target_list[i]->res_target->val))
            return false;
    return select->n_target_list && !select->limit_offset;
}

/* It has a row for each row that meets its condition: with an aggregate, in its list or in ORDER
 * BY, it has one whatever the table holds. */
static bool is_row_by_row(const PgQuery__SelectStmt *select)
{
    for (size_t i = 0; i < select->n_target_list; i++) {
        const PgQuery__Node *value =
            select->target_list[i]->node_case == PG_QUERY__NODE__NODE_RES_TARGET
                ? select->target_list[i]->res_target->val
                : NULL;
        if (!value || (value->node_case != PG_QUERY__NODE__NODE_COLUMN_REF && !is_constant(value)))
            return false;
    }
    return !select->n_sort_clause;
}

/* SELECT EXISTS (SELECT ... FROM one table): the query within says which rows. */
static const PgQuery__SelectStmt *exists_of(const PgQuery__SelectStmt *select)
{
    if (select->n_target_list != 1 || select->n_from_clause || select->where_clause ||
        select->with_clause || select->n_group_clause || select->having_clause ||
        select->limit_count || select->limit_offset ||
        select->target_list[0]->node_case != PG_QUERY__NODE__NODE_RES_TARGET)
        return NULL;
    const PgQuery__Node *value = select->target_list[0]->res_target->val;
    const PgQuery__SubLink *link =
        value && value->node_case == PG_QUERY__NODE__NODE_SUB_LINK ? value->sub_link : NULL;
    return link && link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK
               ? link->subselect->select_stmt
               : NULL;
}

static bool is_one_table(const PgQuery__SelectStmt *select)
{
    return select->n_from_clause == 1 &&
           select->from_clause[0]->node_case == PG_QUERY__NODE__NODE_RANGE_VAR &&
           !select->n_group_clause && !select->having_clause && !select->n_window_clause &&
           !select->with_clause && !select->n_distinct_clause &&
           select->op == PG_QUERY__SET_OPERATION__SETOP_NONE;
}

/* Rows that it waited for may be newer than others that it returns. */
static bool locks_some(const PgQuery__SelectStmt *select)
{
    bool is_one = select->n_from_clause == 1 &&
                  select->from_clause[0]->node_case == PG_QUERY__NODE__NODE_RANGE_VAR;
    for (size_t i = 0; i < select->n_locking_clause; i++)
        if (!is_one || select->locking_clause[i]->locking_clause->strength ==
                           PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORKEYSHARE)
            return true; /* others may still write what has this lock */
    return false;
}

static void look_at_select(struct look *look, const PgQuery__SelectStmt *select)
{
    struct plan_statement *statement = look->statement;
    statement->select = select;
    /* who waits for a lock sees newer rows */
    statement->is_partial = select->limit_count || select->limit_offset || select->n_locking_clause;
    statement->is_distinct = select->n_distinct_clause > 0;
    statement->locks_some = locks_some(select);
    look->selects = 0;
    if (!is_fine_select(look, select)) {
        statement->counts_as_read &= statement->table_count > 0;
        return;
    }
    bool is_once = false, is_alone = statement->table_count == 1 && statement->tables[0].times == 1;
    for (uint32_t i = 0; i < statement->table_count; i++)
        is_once |= statement->tables[i].times == 1 && statement->tables[i].is_top;
    const PgQuery__SelectStmt *within = exists_of(select);
    if (within && is_alone && is_one_table(within) && is_row_by_row(within) &&
        !within->limit_count && !within->limit_offset && !within->n_locking_clause) {
        statement->select = within;
        statement->says_some = statement->is_exists = statement->is_simple = statement->is_pure =
            true;
        return;
    }
    statement->is_simple = is_alone && statement->tables[0].is_top && !statement->has_sub_select &&
                           !select->n_group_clause && !select->having_clause &&
                           !statement->has_distinct_on && !statement->joins;
    statement->says_some = statement->is_simple && !statement->has_aggregate &&
                           is_one_table(select) && says_some(select);
    if (!statement->table_count)
        refuse(look, REASON_NO_TABLE, NULL);
    else if (look->groups_by_sets)
        refuse(look, REASON_GROUPED, NULL);
    else if (!is_once)
        refuse(look, REASON_TWICE, NULL);
    statement->is_pure = true;
}

/* ---- writes ---- */

static void look_at_write(struct look *look, const PgQuery__Node *node)
{
    const ProtobufCMessage *message = &node->select_stmt->base; /* whichever it is */
    const PgQuery__RangeVar *table;
    bool fine;
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT) {
        const PgQuery__InsertStmt *insert = node->insert_stmt;
        const PgQuery__OnConflictClause *conflict = insert->on_conflict_clause;
        table = insert->relation;
        fine = !insert->with_clause &&
               insert->override == PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET &&
               !(conflict && conflict->infer && conflict->infer->where_clause);
    } else if (node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT) {
        table = node->update_stmt->relation;
        fine = !node->update_stmt->with_clause;
    } else {
        table = node->delete_stmt->relation;
        fine = !node->delete_stmt->with_clause;
    }
    if (!fine || !is_fine_in_parts(look, message) || !add_table(look, table, true))
        refuse(look, REASON_WRITES, "WITH, OVERRIDING or the like");
}

void plan_shape(struct plan_statement *statement)
{
    const PgQuery__Node *node = statement->node;
    struct look look = {.statement = statement, .selects = 2}; /* of a write */
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        look_at_select(&look, node->select_stmt);
        break;
    case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT:
        if (node->declare_cursor_stmt->query &&
            node->declare_cursor_stmt->query->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
            look_at_select(&look, node->declare_cursor_stmt->query->select_stmt);
        else
            refuse(&look, REASON_SHAPE, "a cursor");
        break;
    case PG_QUERY__NODE__NODE_INSERT_STMT:
    case PG_QUERY__NODE__NODE_UPDATE_STMT:
    case PG_QUERY__NODE__NODE_DELETE_STMT:
        look_at_write(&look, node);
        break;
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT:
    case PG_QUERY__NODE__NODE_VARIABLE_SHOW_STMT:
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT: /* what it changes of spelling and names the
                                                    session looks after */
    case PG_QUERY__NODE__NODE_FETCH_STMT:        /* if its cursor's query is */
    case PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT:
    case PG_QUERY__NODE__NODE_DEALLOCATE_STMT:
    case PG_QUERY__NODE__NODE_LISTEN_STMT:
    case PG_QUERY__NODE__NODE_UNLISTEN_STMT:
    case PG_QUERY__NODE__NODE_NOTIFY_STMT:
    case PG_QUERY__NODE__NODE_LOCK_STMT:
        statement->is_pure = true;
        break;
    default:
        break;
    }
}
