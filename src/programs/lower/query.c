/* Queries. A query is expanded over all rows of its tables: each combination of rows has a
 * condition. EXISTS, IN and a query as a value are made of these. */
#include <assert.h>
#include <string.h>

#include "lower/lower_private.h"

/* ---- queries ---- */

bool lower_is_plain_select(struct lowering *lowering, const PgQuery__SelectStmt *select)
{
    const char *what = NULL;
    const PgQuery__Node *node = NULL;
    if (select->op != PG_QUERY__SET_OPERATION__SETOP_NONE)
        what = "UNION, INTERSECT or EXCEPT";
    else if (select->n_distinct_clause)
        what = "DISTINCT";
    else if (select->n_group_clause)
        what = "GROUP BY", node = select->group_clause[0];
    else if (select->having_clause)
        what = "HAVING", node = select->having_clause;
    else if (select->n_window_clause)
        what = "WINDOW";
    else if (select->n_values_lists)
        what = "VALUES as a query";
    else if (select->n_sort_clause)
        what = "ORDER BY", node = select->sort_clause[0];
    else if (select->limit_count || select->limit_offset)
        what = "LIMIT or OFFSET",
        node = select->limit_count ? select->limit_count : select->limit_offset;
    else if (select->with_clause)
        what = "WITH";
    else if (select->into_clause)
        what = "SELECT INTO a table";
    if (!node && select->n_target_list)
        node = select->target_list[0];
    if (what)
        lower_refuse_node(lowering, node, what);
    return !what;
}

static bool add_table(struct lowering *lowering, struct from *from, const PgQuery__RangeVar *range)
{
    struct table *table = lower_find_table(lowering, range);
    if (!table)
        return false;
    const char *alias = range->alias ? range->alias->aliasname : table->name;
    for (uint32_t i = 0; i < from->entries.count; i++)
        if (!strcmp(from->entries.list[i].alias, alias))
            lower_refuse(lowering, location_of(lowering, range->location),
                         "the name \"%s\" stands twice in this FROM", alias);
    ISO_APPEND(from->entries, (struct entry){alias, table, NONE, NULL});
    return true;
}

static bool open_item(struct lowering *lowering, struct from *from, const PgQuery__Node *node)
{
    if (node->node_case == PG_QUERY__NODE__NODE_RANGE_VAR)
        return add_table(lowering, from, node->range_var);
    if (node->node_case != PG_QUERY__NODE__NODE_JOIN_EXPR) {
        lower_refuse_node(lowering, node, "a query or a function in FROM");
        return false;
    }
    const PgQuery__JoinExpr *join = node->join_expr;
    if (join->jointype != PG_QUERY__JOIN_TYPE__JOIN_INNER || join->is_natural ||
        join->n_using_clause || join->alias) {
        lower_refuse_node(lowering, node, "an outer or natural JOIN, or one with USING");
        return false;
    }
    if (!open_item(lowering, from, join->larg) || !open_item(lowering, from, join->rarg))
        return false;
    if (join->quals)
        ISO_APPEND(from->conditions, join->quals);
    return true;
}

bool lower_open_from(struct lowering *lowering, struct from *from, PgQuery__Node *const *list,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!open_item(lowering, from, list[i]))
            return false;
    return !failed(lowering);
}

void lower_close_from(struct from *from)
{
    ISO_FREE_ALL(from->entries.list, from->conditions.list);
    *from = (struct from){0};
}

static void add_combo(struct lowering *lowering, const struct scope *scope, struct combos *combos)
{
    struct from *from = scope->from;
    assert(combos->width == from->entries.count);
    uint32_t match = lower_number(lowering, 1), fails = NONE;
    for (uint32_t i = 0; i < from->entries.count; i++)
        match = lower_and(
            lowering, match,
            lower_presence(lowering, from->entries.list[i].table, from->entries.list[i].row));
    uint32_t present = match;
    for (uint32_t i = 0; i < from->conditions.count && match != NONE; i++)
        match = lower_and(lowering, match,
                          lower_condition(lowering, scope, from->conditions.list[i], &fails));
    combos->fails = lower_or(lowering, combos->fails, lower_and(lowering, present, fails));
    if (match == NONE)
        return;
    if (combos->count == combos->capacity) {
        combos->capacity = combos->capacity ? 2 * combos->capacity : 16;
        combos->matches =
            iso_reallocate(combos->matches, iso_list_bytes(combos->capacity, sizeof(uint32_t)));
        combos->rows = iso_reallocate(
            combos->rows,
            iso_list_bytes((size_t)combos->capacity * (from->entries.count + 1), sizeof(uint32_t)));
    }
    for (uint32_t i = 0; i < from->entries.count; i++)
        combos->rows[combos->count * from->entries.count + i] = from->entries.list[i].row;
    combos->matches[combos->count++] = match;
}

static void add_combos(struct lowering *lowering, const struct scope *scope, struct combos *combos,
                       uint32_t entry)
{
    struct from *from = scope->from;
    if (entry == from->entries.count) {
        add_combo(lowering, scope, combos);
        return;
    }
    for (uint32_t row = 0;
         row < lower_rows_of(from->entries.list[entry].table) && !failed(lowering); row++) {
        from->entries.list[entry].row = row;
        add_combos(lowering, scope, combos, entry + 1);
    }
}

void lower_find_combos(struct lowering *lowering, const struct scope *outer, struct from *from,
                       struct combos *combos)
{
    struct scope scope = {outer, from, NULL};
    uint64_t product = 1;
    *combos = (struct combos){.width = from->entries.count, .fails = NONE};
    for (uint32_t i = 0; i < from->entries.count && product <= MOST_COMBOS; i++)
        product *= lower_rows_of(from->entries.list[i].table);
    if (product > MOST_COMBOS) {
        lower_refuse(lowering, lowering->at.span.begin,
                     "a query of more than %d combinations of rows", MOST_COMBOS);
        return;
    }
    add_combos(lowering, &scope, combos, 0);
    for (uint32_t i = 0; i < from->conditions.count && !product; i++)
        lower_read_of_nothing(lowering, &scope, from->conditions.list[i]);
}

struct value lower_read_of_nothing(struct lowering *lowering, const struct scope *scope,
                                   const PgQuery__Node *node)
{
    uint32_t count = scope->from->entries.count;
    struct value *nulls = iso_allocate(sizeof *nulls * MOST_COLUMNS * (count + 1));
    for (uint32_t i = 0; i < count; i++) {
        struct entry *entry = &scope->from->entries.list[i];
        entry->values = nulls + i * MOST_COLUMNS;
        for (uint32_t j = 0; j < entry->table->column_count; j++) {
            nulls[i * MOST_COLUMNS + j] = lower_null(lowering);
            nulls[i * MOST_COLUMNS + j].type = entry->table->columns[j].type;
        }
    }
    struct value value = lower_expression(lowering, scope, node);
    for (uint32_t i = 0; i < count; i++)
        scope->from->entries.list[i].values = NULL;
    iso_free(nulls);
    return value;
}

void lower_release_combos(struct combos *combos)
{
    ISO_FREE_ALL(combos->rows, combos->matches);
    *combos = (struct combos){0};
}

void lower_choose_rows(struct from *from, const struct combos *combos, uint32_t combo)
{
    assert(combo < combos->count && combos->width == from->entries.count);
    for (uint32_t i = 0; i < from->entries.count; i++)
        from->entries.list[i].row = combos->rows[combo * combos->width + i];
}

/* ---- queries as values ---- */

static const PgQuery__Node *only_target(struct lowering *lowering,
                                        const PgQuery__SelectStmt *select, size_t location)
{
    if (select->n_target_list == 1 &&
        select->target_list[0]->node_case == PG_QUERY__NODE__NODE_RES_TARGET)
        return select->target_list[0]->res_target->val;
    lower_refuse(lowering, location, "a query as a value has one column");
    return NULL;
}

/* The one row's value; two rows fail. */
static struct value one_of(struct lowering *lowering, const struct scope *scope,
                           const struct combos *combos, const PgQuery__Node *target, bool certain)
{
    struct value value = lower_null(lowering);
    uint32_t *ones = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    if (!combos->count)
        value.type = lower_read_of_nothing(lowering, scope, target).type;
    for (uint32_t i = combos->count; i-- > 0 && !failed(lowering);) {
        lower_choose_rows(scope->from, combos, i);
        value = lower_value_choose(lowering, combos->matches[i],
                                   lower_expression(lowering, scope, target), value);
        ones[i] = lower_choose(lowering, combos->matches[i], lower_number(lowering, 1),
                               lower_number(lowering, 0));
    }
    if (!certain && combos->count > 1 && !failed(lowering)) {
        uint32_t many =
            lower_make(lowering, ISO_PROVE_GREATER, lower_sum(lowering, ones, combos->count),
                       lower_number(lowering, 1), NONE);
        value.fails =
            lower_or(lowering, value.fails, lower_and(lowering, many, lower_number(lowering, 1)));
    }
    iso_free(ones);
    return value;
}

static struct value any_equal(struct lowering *lowering, const struct scope *scope,
                              const struct combos *combos, const PgQuery__Node *target,
                              const PgQuery__SubLink *link)
{
    struct value asked = lower_expression(lowering, scope->outer, link->testexpr);
    uint32_t truth = NONE, null = NONE, fails = asked.fails;
    for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
        lower_choose_rows(scope->from, combos, i);
        struct value equal = lower_compare(lowering, ISO_PROVE_EQUAL, asked,
                                           lower_expression(lowering, scope, target),
                                           location_of(lowering, link->location));
        truth = lower_or(lowering, truth,
                         lower_and(lowering, combos->matches[i], lower_truth(lowering, &equal)));
        null = lower_or(lowering, null, lower_and(lowering, combos->matches[i], equal.null));
        fails = lower_or(lowering, fails, lower_and(lowering, combos->matches[i], equal.fails));
    }
    struct value value = lower_boolean(lowering, truth);
    value.null = lower_and(lowering, null, lower_not(lowering, truth));
    value.fails = fails;
    return value;
}

static struct value query_value(struct lowering *lowering, const struct scope *outer,
                                const PgQuery__SubLink *link, const PgQuery__SelectStmt *select,
                                struct from *from)
{
    size_t location = location_of(lowering, link->location);
    struct value value = lower_null(lowering);
    struct combos combos;
    if (select->where_clause)
        ISO_APPEND(from->conditions, select->where_clause);
    bool certain = lower_finds_one_row(lowering, from);
    lower_find_combos(lowering, outer, from, &combos);
    struct scope scope = {outer, from, NULL};
    bool aggregated = lower_is_aggregated(select);
    if (failed(lowering)) {
        lower_release_combos(&combos);
        return value;
    }
    if (link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK) {
        value =
            lower_boolean(lowering, aggregated ? lower_number(lowering, 1)
                                               : lower_any(lowering, combos.matches, combos.count));
    } else {
        const PgQuery__Node *target = only_target(lowering, select, location);
        if (target && link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK && !aggregated) {
            value = any_equal(lowering, &scope, &combos, target, link);
        } else if (target && link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK) {
            lower_refuse_form(lowering, location, "IN of an aggregate");
        } else if (target && aggregated) {
            scope.combos = &combos;
            value = lower_expression(lowering, &scope, target);
        } else if (target) {
            value = one_of(lowering, &scope, &combos, target, certain);
        }
    }
    value.fails = lower_or(lowering, value.fails, combos.fails);
    lower_release_combos(&combos);
    return value;
}

struct value lower_query(struct lowering *lowering, const struct scope *outer,
                         const PgQuery__SubLink *link)
{
    size_t location = location_of(lowering, link->location);
    struct value value = lower_null(lowering);
    bool any = link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK;
    if ((link->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK &&
         link->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK && !any) ||
        (any && link->n_oper_name) ||
        link->subselect->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
        lower_refuse(
            lowering, location,
            "this form of a sub-select: EXISTS, IN and a value are those that can be proved");
        return value;
    }
    const PgQuery__SelectStmt *select = link->subselect->select_stmt;
    if (select->n_locking_clause)
        lower_refuse_form(lowering, location, "FOR UPDATE in a sub-select");
    if (!lower_is_plain_select(lowering, select))
        return value;
    struct from from = {0};
    if (lower_open_from(lowering, &from, select->from_clause, select->n_from_clause))
        value = query_value(lowering, outer, link, select, &from);
    lower_close_from(&from);
    return value;
}
