#include "observe/reading_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

bool reading_is_spelt(const struct catalog_column *column, const struct value *value)
{
    return (!value->type || reading_is_one_kind(value->type, column->type)) &&
           (value->kind == VALUE_TEXT ||
            (value->kind == VALUE_NUMBER && pg_is_integer(column->type))) &&
           pg_key_part(column->type, reading_text_of(value));
}

/* Equal to it is one row's. */
static bool is_key_value(const struct catalog_column *column, const struct value *value)
{
    return column && column->compares_bytes && reading_is_spelt(column, value);
}

/* It leaves out nothing. */
static bool is_true(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
           node->a_const->val_case == PG_QUERY__A__CONST__VAL_BOOLVAL &&
           node->a_const->boolval->boolval;
}

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

/* Inclusive. */
static void add_bound(struct demands *demands, uint32_t part, bool is_low, int64_t number)
{
    demands->is_said &= demands->ranged == CATALOG_KEY_MOST || demands->ranged == part;
    demands->ranged = part;
    if (is_low && (!demands->has_low || number > demands->low))
        demands->low = number;
    if (!is_low && (!demands->has_high || number < demands->high))
        demands->high = number;
    *(is_low ? &demands->has_low : &demands->has_high) = true;
}

static bool take_equality(struct demands *demands, uint32_t part, const struct value *value)
{
    const struct catalog_column *column = catalog_column(demands->table, demands->table->key[part]);
    if (!is_key_value(column, value))
        return false;
    demands->twice |= demands->has[part];
    demands->has[part] = true;
    demands->values[part] = *value;
    return !demands->twice;
}

static bool take_between(const struct asking *asking, struct demands *demands, uint32_t part,
                         const PgQuery__Node *list)
{
    int64_t low, high;
    if (list->node_case != PG_QUERY__NODE__NODE_LIST || list->list->n_items != 2 ||
        !integer_of(asking, list->list->items[0], &low) ||
        !integer_of(asking, list->list->items[1], &high))
        return false;
    add_bound(demands, part, true, low);
    add_bound(demands, part, false, high);
    return true;
}

/* part < number, and so on; part = value; part IN (value); part BETWEEN. */
static bool take_comparison(const struct asking *asking, struct demands *demands, uint32_t part,
                            const PgQuery__AExpr *test, bool is_turned)
{
    static const char *const turned[][2] = {
        {"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}, {"=", "="}};
    const struct catalog_column *column = catalog_column(asking->table, asking->table->key[part]);
    const PgQuery__Node *other = is_turned ? test->lexpr : test->rexpr;
    const char *operator= "";
    int64_t number;
    for (size_t i = 0; i < sizeof turned / sizeof *turned && test->n_name == 1; i++)
        if (!strcmp(test->name[0]->string->sval, turned[i][0]))
            operator= turned[i][is_turned];
    bool is_in = test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_IN;
    if (is_in && other->node_case == PG_QUERY__NODE__NODE_LIST && other->list->n_items == 1)
        other = other->list->items[0];
    if (*operator== '=' &&(is_in || test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP)) {
        struct value value = reading_value_of(asking->input, other);
        return take_equality(demands, part, &value);
    }
    if (!column || !pg_is_integer(column->type))
        return false;
    if (test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN)
        return !is_turned && take_between(asking, demands, part, other);
    if (test->kind != PG_QUERY__A__EXPR__KIND__AEXPR_OP ||
        !*operator|| !integer_of(asking, other, &number))
        return false;
    bool is_low = *operator== '>', is_strict = !operator[1];
    add_bound(demands, part, is_low, number + (is_strict ? is_low ? 1 : -1 : 0));
    return true;
}

/* False: the test is about no part of the key. */
static bool take_test(const struct asking *asking, struct demands *demands,
                      const PgQuery__Node *node)
{
    if (node->node_case != PG_QUERY__NODE__NODE_A_EXPR)
        return false;
    const PgQuery__AExpr *test = node->a_expr;
    uint32_t part = key_part_of(asking, test->lexpr);
    bool is_turned = part == CATALOG_KEY_MOST;
    if (is_turned)
        part = key_part_of(asking, test->rexpr);
    if (part == CATALOG_KEY_MOST)
        return false;
    demands->is_said &= take_comparison(asking, demands, part, test, is_turned);
    return true;
}

void reading_find_demands(const struct asking *asking, const PgQuery__Node *node,
                          struct demands *demands)
{
    if (!node || is_true(node))
        return;
    if (node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR &&
        node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
        for (size_t i = 0; i < node->bool_expr->n_args; i++)
            reading_find_demands(asking, node->bool_expr->args[i], demands);
        return;
    }
    demands->conjuncts++;
    if (take_test(asking, demands, node) || !demands->condition || !demands->is_said)
        return;
    iso_text_put(demands->condition, demands->condition->used ? " AND " : "");
    demands->is_said = reading_put_condition(asking, demands->condition, node, 0);
}

/* How many of the key's first columns are fixed, and `all`: of all. */
static uint32_t count_fixed(const struct demands *demands, uint32_t *all)
{
    uint32_t first = 0;
    *all = 0;
    while (first < demands->table->key_count && demands->has[first])
        first++;
    for (uint32_t i = 0; i < demands->table->key_count; i++)
        *all += demands->has[i];
    return first;
}

bool reading_is_whole_key(const struct demands *demands)
{
    uint32_t all, count = demands->table->key_count;
    return count && count_fixed(demands, &all) == count && demands->conjuncts == count &&
           !demands->twice;
}

/* The parts that are fixed, and behind them the bound of the next. NULL: open. */
static char *bound_text(const struct demands *demands, bool has, int64_t number)
{
    const char *parts[CATALOG_KEY_MOST];
    char key[KEY_MOST], digits[24];
    uint32_t count = 0;
    for (; count < demands->table->key_count && demands->has[count]; count++)
        parts[count] = reading_text_of(&demands->values[count]);
    snprintf(digits, sizeof digits, "%" PRId64, number);
    if (has)
        parts[count++] = digits;
    return count && iso_recorder_row_key(key, sizeof key, NULL, parts, count)
               ? iso_copy_text(key, strlen(key))
               : NULL;
}

bool reading_set_bounds(struct reading *reading, const struct demands *demands)
{
    uint32_t all, first = count_fixed(demands, &all);
    if (!demands->is_said || all > first ||
        (demands->ranged < CATALOG_KEY_MOST && demands->ranged != first))
        return false; /* a later part without those before it is no range of keys */
    iso_text_put_bytes(&reading->condition, "", 1);
    reading->from = bound_text(demands, demands->has_low, demands->low);
    reading->to = bound_text(demands, demands->has_high, demands->high);
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
