#include "observe/reading_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

/* ---- equalities ---- */

/* The value that a test makes its left side equal to: by =, or IN a list of one. */
static const PgQuery__Node *equal_of(const PgQuery__AExpr *test)
{
    bool is_list = test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_IN;
    if ((test->kind != PG_QUERY__A__EXPR__KIND__AEXPR_OP && !is_list) || test->n_name != 1 ||
        strcmp(test->name[0]->string->sval, "="))
        return NULL;
    if (!is_list)
        return test->rexpr;
    const PgQuery__Node *list = test->rexpr;
    return list && list->node_case == PG_QUERY__NODE__NODE_LIST && list->list->n_items == 1
               ? list->list->items[0]
               : NULL;
}

/* A value of the column's kind, as the change stream spells it: equal to it is one row's. */
static bool is_key_value(const struct catalog_column *column, const struct value *value)
{
    return column && column->compares_bytes &&
           (!value->type || reading_is_one_kind(value->type, column->type)) &&
           (value->kind == VALUE_TEXT ||
            (value->kind == VALUE_NUMBER && pg_is_integer(column->type))) &&
           pg_key_part(column->type, reading_text_of(value));
}

/* It leaves out nothing. */
static bool is_true(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
           node->a_const->val_case == PG_QUERY__A__CONST__VAL_BOOLVAL &&
           node->a_const->boolval->boolval;
}

void reading_find_fixed(const struct asking *asking, const PgQuery__Node *node, struct fixed *fixed)
{
    if (!node || is_true(node))
        return;
    if (node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR &&
        node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
        for (size_t i = 0; i < node->bool_expr->n_args; i++)
            reading_find_fixed(asking, node->bool_expr->args[i], fixed);
        return;
    }
    fixed->conjuncts++;
    const PgQuery__AExpr *test =
        node->node_case == PG_QUERY__NODE__NODE_A_EXPR ? node->a_expr : NULL;
    const PgQuery__Node *equal = test ? equal_of(test) : NULL;
    if (!equal)
        return;
    const struct catalog_column *column = reading_column_of(asking, test->lexpr);
    struct value value = reading_value_of(asking->input, column ? equal : test->lexpr);
    if (!column)
        column = reading_column_of(asking, test->rexpr);
    if (!column || !column->is_key || !is_key_value(column, &value))
        return;
    for (uint32_t i = 0; i < asking->table->key_count; i++) {
        if (asking->table->key[i] != column->number)
            continue;
        fixed->twice |= fixed->has[i];
        fixed->has[i] = true;
        fixed->values[i] = value;
        fixed->equalities++;
    }
}

bool reading_is_whole_key(const struct catalog_table *table, const struct fixed *fixed)
{
    return table->key_count && fixed->equalities == table->key_count &&
           fixed->conjuncts == table->key_count && !fixed->twice;
}

/* ---- bounds, and lists ---- */

struct bounds {
    bool has[CATALOG_KEY_MOST], is_fine;
    struct value values[CATALOG_KEY_MOST];
    uint32_t ranged; /* the part that has these; CATALOG_KEY_MOST: none */
    bool has_low, has_high;
    int64_t low, high;
};

static uint32_t key_part_of(const struct asking *asking, const PgQuery__Node *node)
{
    const struct catalog_column *column = reading_column_of(asking, node);
    for (uint32_t i = 0; column && i < asking->table->key_count; i++)
        if (asking->table->key[i] == column->number)
            return i;
    return CATALOG_KEY_MOST;
}

static bool integer_of(const struct asking *asking, const PgQuery__Node *node, int64_t *number)
{
    struct value value = reading_value_of(asking->input, node);
    if ((value.kind != VALUE_NUMBER && value.kind != VALUE_TEXT) ||
        (value.type && !pg_is_integer(value.type)) ||
        !pg_is_plain_integer(reading_text_of(&value)) || strlen(reading_text_of(&value)) > 18)
        return false;
    *number = strtoll(reading_text_of(&value), NULL, 10);
    return true;
}

static void add_bound(struct bounds *bounds, uint32_t part, bool is_low, int64_t number)
{
    bounds->is_fine &= bounds->ranged == CATALOG_KEY_MOST || bounds->ranged == part;
    bounds->ranged = part;
    if (is_low && (!bounds->has_low || number > bounds->low))
        bounds->low = number;
    if (!is_low && (!bounds->has_high || number < bounds->high))
        bounds->high = number;
    *(is_low ? &bounds->has_low : &bounds->has_high) = true;
}

/* part < number, and so on; inclusive bounds of integers. */
static bool take_comparison(const struct asking *asking, struct bounds *bounds, uint32_t part,
                            const char *operator, const PgQuery__Node * other)
{
    const struct catalog_column *column = catalog_column(asking->table, asking->table->key[part]);
    int64_t number;
    if (!strcmp(operator, "=")) {
        struct value value = reading_value_of(asking->input, other);
        if (bounds->has[part] || !is_key_value(column, &value))
            return false;
        bounds->has[part] = true;
        bounds->values[part] = value;
        return true;
    }
    bool is_low = *operator== '>', is_strict = !strcmp(operator, "<") || !strcmp(operator, ">");
    if ((!is_strict && strcmp(operator, "<=") && strcmp(operator, ">=")) || !column ||
        !pg_is_integer(column->type) || !integer_of(asking, other, &number))
        return false;
    add_bound(bounds, part, is_low, number + (is_strict ? is_low ? 1 : -1 : 0));
    return bounds->is_fine;
}

static bool take_between(const struct asking *asking, struct bounds *bounds, uint32_t part,
                         const PgQuery__Node *other)
{
    const struct catalog_column *column = catalog_column(asking->table, asking->table->key[part]);
    int64_t low, high;
    if (!column || !pg_is_integer(column->type) || other->node_case != PG_QUERY__NODE__NODE_LIST ||
        other->list->n_items != 2 || !integer_of(asking, other->list->items[0], &low) ||
        !integer_of(asking, other->list->items[1], &high))
        return false;
    add_bound(bounds, part, true, low);
    add_bound(bounds, part, false, high);
    return bounds->is_fine;
}

/* True: the test is about a part of the key, and is a bound unless the bounds are fine no more. */
static bool take_bound(const struct asking *asking, const PgQuery__AExpr *test,
                       struct bounds *bounds)
{
    static const char *const turned[][2] = {
        {"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}, {"=", "="}};
    uint32_t part = key_part_of(asking, test->lexpr);
    bool is_turned = part == CATALOG_KEY_MOST;
    if (is_turned)
        part = key_part_of(asking, test->rexpr);
    if (part == CATALOG_KEY_MOST)
        return false;
    const char *operator= "";
    for (size_t i = 0; i < sizeof turned / sizeof *turned && test->n_name == 1; i++)
        if (!strcmp(test->name[0]->string->sval, turned[i][0]))
            operator= turned[i][is_turned];
    if (test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP)
        bounds->is_fine &=
            take_comparison(asking, bounds, part, operator, is_turned ? test->lexpr : test->rexpr);
    else
        bounds->is_fine &= test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN && !is_turned &&
                           take_between(asking, bounds, part, test->rexpr);
    return true;
}

/* Conjuncts about the key become bounds, the others the condition. */
static bool put_conjuncts(const struct asking *asking, const PgQuery__Node *node,
                          struct bounds *bounds, struct iso_text *text)
{
    if (node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR &&
        node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
        for (size_t i = 0; i < node->bool_expr->n_args; i++)
            if (!put_conjuncts(asking, node->bool_expr->args[i], bounds, text))
                return false;
        return true;
    }
    if (is_true(node))
        return true;
    if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR && take_bound(asking, node->a_expr, bounds))
        return bounds->is_fine;
    iso_text_put(text, text->used ? " AND " : "");
    return reading_put_condition(asking, text, node, 0);
}

/* The parts that are fixed, and behind them the bound of the next. NULL: open. */
static char *bound_text(const struct asking *asking, const struct bounds *bounds, bool has,
                        int64_t number)
{
    const char *parts[CATALOG_KEY_MOST];
    char key[KEY_MOST], digits[24];
    uint32_t count = 0;
    for (; count < asking->table->key_count && bounds->has[count]; count++)
        parts[count] = reading_text_of(&bounds->values[count]);
    snprintf(digits, sizeof digits, "%" PRId64, number);
    if (has)
        parts[count++] = digits;
    return count && iso_recorder_row_key(key, sizeof key, NULL, parts, count)
               ? iso_copy_text(key, strlen(key))
               : NULL;
}

bool reading_find_bounds(struct reading *reading, const struct asking *asking)
{
    const PgQuery__Node *where = asking->input->statement->select->where_clause;
    struct bounds bounds = {.is_fine = true, .ranged = CATALOG_KEY_MOST};
    uint32_t fixed = 0, all = 0;
    reading->condition.used = 0;
    if (where && !put_conjuncts(asking, where, &bounds, &reading->condition))
        return false;
    iso_text_put_bytes(&reading->condition, "", 1);
    while (fixed < asking->table->key_count && bounds.has[fixed])
        fixed++;
    for (uint32_t i = 0; i < asking->table->key_count; i++)
        all += bounds.has[i];
    if (all > fixed || (bounds.ranged < CATALOG_KEY_MOST && bounds.ranged != fixed))
        return false; /* a later part without those before it is no range of keys */
    reading->from = bound_text(asking, &bounds, bounds.has_low, bounds.low);
    reading->to = bound_text(asking, &bounds, bounds.has_high, bounds.high);
    return true;
}

bool reading_find_points(struct reading *reading, const struct asking *asking)
{
    const PgQuery__Node *where = asking->input->statement->select->where_clause;
    const PgQuery__AExpr *test =
        where && where->node_case == PG_QUERY__NODE__NODE_A_EXPR ? where->a_expr : NULL;
    reading->point_count = 0;
    if (!test || test->kind != PG_QUERY__A__EXPR__KIND__AEXPR_IN || asking->table->key_count != 1 ||
        test->n_name != 1 || strcmp(test->name[0]->string->sval, "=") ||
        key_part_of(asking, test->lexpr) != 0 || !test->rexpr ||
        test->rexpr->node_case != PG_QUERY__NODE__NODE_LIST ||
        test->rexpr->list->n_items > READING_POINTS_MOST)
        return false;
    const struct catalog_column *column = catalog_column(asking->table, asking->table->key[0]);
    for (size_t i = 0; i < test->rexpr->list->n_items; i++) {
        struct value value = reading_value_of(asking->input, test->rexpr->list->items[i]);
        if (!is_key_value(column, &value))
            return false;
        reading->found[reading->point_count] = false;
        reading->points[reading->point_count++] =
            reading_put_text(&reading->texts, reading_text_of(&value));
    }
    return true;
}
