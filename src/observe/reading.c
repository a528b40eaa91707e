#include "observe/reading.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { KEY_MOST = 2048, CONDITION_MOST = 1 << 14, DEPTH_MOST = 32 };

/* ---- constants and parameters ---- */

enum value_kind { VALUE_UNKNOWN, VALUE_NULL, VALUE_NUMBER, VALUE_TEXT, VALUE_TRUTH };

struct value {
    enum value_kind kind;
    const char *text; /* NULL: `number` */
    uint32_t type;    /* that it was declared to have, 0: none */
    char number[40];
};

static const char *text_of(const struct value *value)
{
    return value->text ? value->text : value->number;
}

static struct value parameter_value(const struct statement_input *input, int number)
{
    struct value value = {.kind = VALUE_UNKNOWN};
    if (number >= TEMPLATE_FIRST) {
        uint32_t place = (uint32_t)(number - TEMPLATE_FIRST);
        if (place >= input->constants->count || input->constants->list[place].kind == CONSTANT_OPAQUE)
            return value;
        const struct constant *constant = &input->constants->list[place];
        const char *text = input->constants->values.bytes + constant->place;
        if (strlen(text) != constant->length) /* a zero byte within */
            return value;
        return (struct value){.kind = constant->kind == CONSTANT_NUMBER ? VALUE_NUMBER : VALUE_TEXT, .text = text};
    }
    if (!input->parameters || number < 1 || (uint32_t)number > input->parameters->count)
        return value;
    const struct parameter *parameter = &input->parameters->list[number - 1];
    if (parameter->is_null)
        value.kind = VALUE_NULL;
    else if (parameter->is_known)
        value = (struct value){
            .kind = VALUE_TEXT, .text = input->parameters->values.bytes + parameter->place, .type = parameter->type};
    return value;
}

static struct value constant_value(const PgQuery__AConst *constant)
{
    struct value value = {.kind = VALUE_UNKNOWN};
    if (constant->isnull) {
        value.kind = VALUE_NULL;
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
        value.kind = VALUE_NUMBER;
        snprintf(value.number, sizeof value.number, "%d", constant->ival->ival);
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_FVAL) {
        value.kind = VALUE_NUMBER;
        value.text = constant->fval->fval;
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_SVAL) {
        value.kind = VALUE_TEXT;
        value.text = constant->sval->sval;
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_BOOLVAL) {
        value.kind = VALUE_TRUTH;
        value.text = constant->boolval->boolval ? "true" : "false";
    }
    return value;
}

static uint32_t type_named(const PgQuery__TypeName *type)
{
    static const struct {
        const char *name;
        uint32_t type;
    } names[] = {{"int2", PG_INT2},
                 {"int4", PG_INT4},
                 {"int8", PG_INT8},
                 {"text", PG_TEXT},
                 {"varchar", PG_VARCHAR},
                 {"uuid", PG_UUID},
                 {"date", PG_DATE},
                 {"timestamp", PG_TIMESTAMP},
                 {"timestamptz", PG_TIMESTAMPTZ},
                 {"numeric", PG_NUMERIC},
                 {"bool", PG_BOOL}};
    if (!type || type->n_typmods || type->n_array_bounds || !type->n_names ||
        type->names[type->n_names - 1]->node_case != PG_QUERY__NODE__NODE_STRING)
        return 0;
    const char *name = type->names[type->n_names - 1]->string->sval;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name))
            return names[i].type;
    return 0;
}

static bool is_one_kind(uint32_t one, uint32_t other)
{
    return one == other || (pg_is_integer(one) && pg_is_integer(other)) || (pg_is_text(one) && pg_is_text(other));
}

static struct value value_of(const struct statement_input *input, const PgQuery__Node *node)
{
    struct value value = {.kind = VALUE_UNKNOWN};
    if (!node)
        return value;
    if (node->node_case == PG_QUERY__NODE__NODE_A_CONST)
        return constant_value(node->a_const);
    if (node->node_case == PG_QUERY__NODE__NODE_PARAM_REF)
        return parameter_value(input, node->param_ref->number);
    if (node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST) {
        uint32_t type = type_named(node->type_cast->type_name);
        value = value_of(input, node->type_cast->arg);
        /* A cast that could change the value (1.5::int) is none of ours. */
        bool keeps = type && (value.type ? is_one_kind(type, value.type)
                                         : value.kind == VALUE_TEXT ||
                                               (value.kind == VALUE_NUMBER && pg_is_plain_integer(text_of(&value)) &&
                                                (pg_is_integer(type) || type == PG_NUMERIC)));
        if (value.kind != VALUE_NULL && !keeps)
            value.kind = VALUE_UNKNOWN;
        value.type = type;
        return value;
    }
    if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR && !node->a_expr->lexpr && node->a_expr->n_name == 1 &&
        node->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP && !strcmp(node->a_expr->name[0]->string->sval, "-")) {
        struct value inner = value_of(input, node->a_expr->rexpr);
        if (inner.kind == VALUE_NUMBER && *text_of(&inner) != '-' &&
            strlen(text_of(&inner)) < sizeof value.number - 1) {
            value.kind = VALUE_NUMBER;
            *value.number = '-';
            memcpy(value.number + 1, text_of(&inner), strlen(text_of(&inner)) + 1);
        }
    }
    return value;
}

/* ---- conditions ---- */

static bool is_time(uint32_t type)
{
    return type == PG_DATE || type == PG_TIMESTAMP || type == PG_TIMESTAMPTZ;
}

static void put_quoted(struct iso_text *text, const char *value, char quote)
{
    iso_text_put_bytes(text, &quote, 1);
    for (; *value; value++)
        iso_text_put_bytes(text, *value == quote ? (quote == '"' ? "\"\"" : "''") : value, *value == quote ? 2 : 1);
    iso_text_put_bytes(text, &quote, 1);
}

/* A constant as a condition has it, if it means for this column what it says. */
static bool put_value(const struct statement_input *input, struct iso_text *text, const struct value *value,
                      const struct catalog_column *column)
{
    const char *string = text_of(value);
    uint32_t type = column->type;
    if (value->kind == VALUE_NULL) {
        iso_text_put(text, "NULL");
        return true;
    }
    if (value->kind == VALUE_UNKNOWN ||
        (value->type && !is_one_kind(value->type, type) && !(type == PG_NUMERIC && pg_is_integer(value->type))))
        return false;
    if (pg_is_integer(type) || type == PG_NUMERIC) {
        size_t length = strlen(string);
        if (value->kind == VALUE_TRUTH || !length || length > 64 || strspn(string, "0123456789.-") != length ||
            !isdigit((unsigned char)string[length - 1]))
            return false;
        iso_text_put(text, string);
        return true;
    }
    if (type == PG_BOOL) {
        bool is_true = !strcmp(string, "t") || !strcmp(string, "true"),
             is_false = !strcmp(string, "f") || !strcmp(string, "false");
        iso_text_put(text, is_true ? "true" : "false");
        return value->kind != VALUE_NUMBER && (is_true || is_false);
    }
    if (value->kind != VALUE_TEXT || !(pg_is_text(type)  ? column->compares_bytes
                                       : type == PG_UUID ? pg_key_part(type, string)
                                                         : is_time(type)))
        return false;
    if (is_time(type) && (!input->spelling->is_iso || (type == PG_TIMESTAMPTZ && !input->spelling->is_utc) ||
                          strspn(string, "0123456789-:. T") != strlen(string) || strlen(string) < 10))
        return false;
    put_quoted(text, string, '\'');
    return true;
}

/* Who asks: one table, by its name in the statement. */
struct asking {
    const struct statement_input *input;
    const struct catalog_table *table;
    const char *alias;
    bool alone;   /* columns need no name before them */
    bool keyless; /* columns of the key are none of a condition's: what is said of them is bounds */
};

static const struct catalog_column *column_of(const struct asking *asking, const PgQuery__Node *node)
{
    const char *qualifier, *name = plan_column(node, &qualifier);
    if (!name || (qualifier ? strcmp(qualifier, asking->alias) != 0 : !asking->alone))
        return NULL;
    return catalog_column_named(asking->table, name);
}

static bool put_column(const struct asking *asking, struct iso_text *text, const PgQuery__Node *node,
                       const struct catalog_column **column)
{
    *column = column_of(asking, node);
    if (!*column || (asking->keyless && (*column)->is_key))
        return false;
    put_quoted(text, (*column)->name, '"');
    return true;
}

static bool put_condition(const struct asking *asking, struct iso_text *text, const PgQuery__Node *node, int depth);

static bool put_list(const struct asking *asking, struct iso_text *text, const PgQuery__Node *list,
                     const struct catalog_column *column)
{
    if (!list || list->node_case != PG_QUERY__NODE__NODE_LIST || !list->list->n_items)
        return false;
    iso_text_put(text, " (");
    for (size_t i = 0; i < list->list->n_items; i++) {
        struct value value = value_of(asking->input, list->list->items[i]);
        iso_text_put(text, i ? ", " : "");
        if (!put_value(asking->input, text, &value, column))
            return false;
    }
    iso_text_put(text, ")");
    return true;
}

static bool put_between(const struct asking *asking, struct iso_text *text, const PgQuery__Node *list,
                        const struct catalog_column *column)
{
    if (!list || list->node_case != PG_QUERY__NODE__NODE_LIST || list->list->n_items != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct value value = value_of(asking->input, list->list->items[i]);
        iso_text_put(text, i ? " AND " : " ");
        if (!put_value(asking->input, text, &value, column))
            return false;
    }
    return true;
}

static bool is_prefix(const struct value *value)
{
    const char *text = text_of(value), *percent = strchr(text, '%');
    return value->kind == VALUE_TEXT && !strpbrk(text, "_\\") && (!percent || !percent[1]);
}

static bool put_test(const struct asking *asking, struct iso_text *text, const PgQuery__AExpr *test)
{
    static const char *const turned[][2] = {{"=", "="},   {"<>", "<>"}, {"<", ">"},
                                            {"<=", ">="}, {">", "<"},   {">=", "<="}};
    const struct catalog_column *column;
    if (test->n_name != 1 || test->name[0]->node_case != PG_QUERY__NODE__NODE_STRING)
        return false;
    const char *name = test->name[0]->string->sval;
    if (test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP) {
        bool is_turned = !column_of(asking, test->lexpr);
        for (size_t i = 0; i < sizeof turned / sizeof *turned; i++) {
            if (strcmp(name, turned[i][0]))
                continue;
            struct value value = value_of(asking->input, is_turned ? test->lexpr : test->rexpr);
            if (!put_column(asking, text, is_turned ? test->rexpr : test->lexpr, &column))
                return false;
            iso_text_format(text, " %s ", turned[i][is_turned]);
            return put_value(asking->input, text, &value, column);
        }
        return false;
    }
    if (!put_column(asking, text, test->lexpr, &column))
        return false;
    switch (test->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
        iso_text_put(text, strcmp(name, "=") ? " NOT IN" : " IN");
        return put_list(asking, text, test->rexpr, column);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        iso_text_put(text, test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN ? " BETWEEN" : " NOT BETWEEN");
        return put_between(asking, text, test->rexpr, column);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE: {
        struct value value = value_of(asking->input, test->rexpr);
        iso_text_put(text, strcmp(name, "~~") ? " NOT LIKE " : " LIKE ");
        return pg_is_text(column->type) && is_prefix(&value) && put_value(asking->input, text, &value, column);
    }
    default:
        return false;
    }
}

static bool put_all(const struct asking *asking, struct iso_text *text, const PgQuery__BoolExpr *all, int depth)
{
    bool is_not = all->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR;
    const char *between = all->boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR ? " OR " : " AND ";
    iso_text_put(text, is_not ? "NOT (" : "(");
    for (size_t i = 0; i < all->n_args; i++) {
        iso_text_put(text, i ? between : "");
        if (!put_condition(asking, text, all->args[i], depth + 1))
            return false;
    }
    iso_text_put(text, ")");
    return true;
}

static bool put_condition(const struct asking *asking, struct iso_text *text, const PgQuery__Node *node, int depth)
{
    const struct catalog_column *column;
    if (depth > DEPTH_MOST || text->used > CONDITION_MOST)
        return false;
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return put_all(asking, text, node->bool_expr, depth);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return put_test(asking, text, node->a_expr);
    case PG_QUERY__NODE__NODE_NULL_TEST:
        if (!put_column(asking, text, node->null_test->arg, &column))
            return false;
        iso_text_put(text,
                     node->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL ? " IS NULL" : " IS NOT NULL");
        return true;
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return put_column(asking, text, node, &column) && column->type == PG_BOOL;
    default:
        return false;
    }
}

/* ---- keys that WHERE fixes ---- */

struct fixed {
    uint32_t conjuncts, equalities;
    struct value values[CATALOG_KEY_MOST]; /* of the key's columns, in its order */
    bool has[CATALOG_KEY_MOST], twice;
};

static void find_fixed(const struct asking *asking, const PgQuery__Node *node, struct fixed *fixed)
{
    if (!node)
        return;
    if (node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR &&
        node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
        for (size_t i = 0; i < node->bool_expr->n_args; i++)
            find_fixed(asking, node->bool_expr->args[i], fixed);
        return;
    }
    fixed->conjuncts++;
    const PgQuery__AExpr *test = node->node_case == PG_QUERY__NODE__NODE_A_EXPR ? node->a_expr : NULL;
    if (!test || test->kind != PG_QUERY__A__EXPR__KIND__AEXPR_OP || test->n_name != 1 ||
        strcmp(test->name[0]->string->sval, "="))
        return;
    const struct catalog_column *column = column_of(asking, test->lexpr);
    struct value value = value_of(asking->input, column ? test->rexpr : test->lexpr);
    if (!column)
        column = column_of(asking, test->rexpr);
    if (!column || !column->is_key || !column->compares_bytes ||
        (value.type && !is_one_kind(value.type, column->type)) ||
        (value.kind != VALUE_TEXT && !(value.kind == VALUE_NUMBER && pg_is_integer(column->type))) ||
        !pg_key_part(column->type, text_of(&value)))
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

/* Exactly the whole key, and nothing else. */
static bool is_whole_key(const struct catalog_table *table, const struct fixed *fixed)
{
    return table->key_count && fixed->equalities == table->key_count && fixed->conjuncts == table->key_count &&
           !fixed->twice;
}

/* Does the table stand in FROM itself, and not in a query within it? */
static bool stands_in(const PgQuery__Node *node, const char *alias)
{
    if (!node)
        return false;
    if (node->node_case == PG_QUERY__NODE__NODE_JOIN_EXPR)
        return stands_in(node->join_expr->larg, alias) || stands_in(node->join_expr->rarg, alias);
    if (node->node_case != PG_QUERY__NODE__NODE_RANGE_VAR)
        return false;
    const PgQuery__RangeVar *table = node->range_var;
    return !strcmp(table->alias ? table->alias->aliasname : table->relname, alias);
}

static bool stands_in_from(const PgQuery__SelectStmt *select, const char *alias)
{
    for (size_t i = 0; i < select->n_from_clause; i++)
        if (stands_in(select->from_clause[i], alias))
            return true;
    return false;
}

/* ---- what is recorded ---- */

void reading_release(struct reading *reading)
{
    iso_free(reading->sources);
    iso_free(reading->from);
    iso_free(reading->to);
    iso_text_release(&reading->texts);
    iso_text_release(&reading->condition);
    iso_text_release(&reading->values);
    *reading = (struct reading){0};
}

static const struct plan_table *find_in_plan(const struct plan_statement *statement, const struct catalog_table *table)
{
    for (uint32_t i = 0; i < statement->table_count; i++) {
        const struct plan_table *known = &statement->tables[i];
        if (!strcmp(known->name, table->name) && (!*known->schema || !strcmp(known->schema, table->schema)))
            return known->times == 1 ? known : NULL;
    }
    return NULL;
}

static uint32_t put_text(struct iso_text *text, const char *string)
{
    uint32_t place = (uint32_t)text->used;
    iso_text_put_bytes(text, string, strlen(string) + 1);
    return place;
}

/* ---- bounds that WHERE sets to the key ---- */

struct bounds {
    bool has[CATALOG_KEY_MOST], is_fine;
    struct value values[CATALOG_KEY_MOST];
    uint32_t ranged; /* the part that has these; CATALOG_KEY_MOST: none */
    bool has_low, has_high;
    int64_t low, high;
};

static uint32_t key_part_of(const struct asking *asking, const PgQuery__Node *node)
{
    const struct catalog_column *column = column_of(asking, node);
    for (uint32_t i = 0; column && i < asking->table->key_count; i++)
        if (asking->table->key[i] == column->number)
            return i;
    return CATALOG_KEY_MOST;
}

static bool is_key_value(const struct catalog_column *column, const struct value *value)
{
    return column && column->compares_bytes && (!value->type || is_one_kind(value->type, column->type)) &&
           (value->kind == VALUE_TEXT || (value->kind == VALUE_NUMBER && pg_is_integer(column->type))) &&
           pg_key_part(column->type, text_of(value));
}

static bool integer_of(const struct asking *asking, const PgQuery__Node *node, int64_t *number)
{
    struct value value = value_of(asking->input, node);
    if ((value.kind != VALUE_NUMBER && value.kind != VALUE_TEXT) || (value.type && !pg_is_integer(value.type)) ||
        !pg_is_plain_integer(text_of(&value)) || strlen(text_of(&value)) > 18)
        return false;
    *number = strtoll(text_of(&value), NULL, 10);
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
static bool take_comparison(const struct asking *asking, struct bounds *bounds, uint32_t part, const char *operator,
                            const PgQuery__Node * other)
{
    const struct catalog_column *column = catalog_column(asking->table, asking->table->key[part]);
    int64_t number;
    if (!strcmp(operator, "=")) {
        struct value value = value_of(asking->input, other);
        if (bounds->has[part] || !is_key_value(column, &value))
            return false;
        bounds->has[part] = true;
        bounds->values[part] = value;
        return true;
    }
    bool is_low = *operator== '>', is_strict = !strcmp(operator, "<") || !strcmp(operator, ">");
    if ((!is_strict && strcmp(operator, "<=") && strcmp(operator, ">=")) || !column || !pg_is_integer(column->type) ||
        !integer_of(asking, other, &number))
        return false;
    add_bound(bounds, part, is_low, number + (is_strict ? is_low ? 1 : -1 : 0));
    return bounds->is_fine;
}

static bool take_between(const struct asking *asking, struct bounds *bounds, uint32_t part, const PgQuery__Node *other)
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
static bool take_bound(const struct asking *asking, const PgQuery__AExpr *test, struct bounds *bounds)
{
    static const char *const turned[][2] = {{"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}, {"=", "="}};
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
        bounds->is_fine &= take_comparison(asking, bounds, part, operator, is_turned ? test->lexpr : test->rexpr);
    else
        bounds->is_fine &= test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN && !is_turned &&
                           take_between(asking, bounds, part, test->rexpr);
    return true;
}

/* Conjuncts about the key become bounds, the others the condition. */
static bool put_conjuncts(const struct asking *asking, const PgQuery__Node *node, struct bounds *bounds,
                          struct iso_text *text)
{
    if (node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR &&
        node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
        for (size_t i = 0; i < node->bool_expr->n_args; i++)
            if (!put_conjuncts(asking, node->bool_expr->args[i], bounds, text))
                return false;
        return true;
    }
    if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR && take_bound(asking, node->a_expr, bounds))
        return bounds->is_fine;
    iso_text_put(text, text->used ? " AND " : "");
    return put_condition(asking, text, node, 0);
}

/* The parts that are fixed, and behind them the bound of the next. NULL: open. */
static char *bound_text(const struct asking *asking, const struct bounds *bounds, bool has, int64_t number)
{
    const char *parts[CATALOG_KEY_MOST];
    char key[KEY_MOST], digits[24];
    uint32_t count = 0;
    for (; count < asking->table->key_count && bounds->has[count]; count++)
        parts[count] = text_of(&bounds->values[count]);
    snprintf(digits, sizeof digits, "%" PRId64, number);
    if (has)
        parts[count++] = digits;
    return count && iso_recorder_row_key(key, sizeof key, NULL, parts, count) ? iso_copy_text(key, strlen(key)) : NULL;
}

static bool find_bounds(struct reading *reading, const struct asking *asking)
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

/* WHERE is the key's one column IN a list: each of them is a point. */
static bool find_points(struct reading *reading, const struct asking *asking)
{
    const PgQuery__Node *where = asking->input->statement->select->where_clause;
    const PgQuery__AExpr *test = where && where->node_case == PG_QUERY__NODE__NODE_A_EXPR ? where->a_expr : NULL;
    reading->point_count = 0;
    if (!test || test->kind != PG_QUERY__A__EXPR__KIND__AEXPR_IN || asking->table->key_count != 1 ||
        test->n_name != 1 || strcmp(test->name[0]->string->sval, "=") || key_part_of(asking, test->lexpr) != 0 ||
        !test->rexpr || test->rexpr->node_case != PG_QUERY__NODE__NODE_LIST ||
        test->rexpr->list->n_items > READING_POINTS_MOST)
        return false;
    const struct catalog_column *column = catalog_column(asking->table, asking->table->key[0]);
    for (size_t i = 0; i < test->rexpr->list->n_items; i++) {
        struct value value = value_of(asking->input, test->rexpr->list->items[i]);
        if (!is_key_value(column, &value))
            return false;
        reading->found[reading->point_count] = false;
        reading->points[reading->point_count++] = put_text(&reading->texts, text_of(&value));
    }
    return true;
}

static int field_of(const struct result_fields *fields, uint32_t table, int16_t column)
{
    for (uint32_t i = 0; i < fields->count && i < READING_FIELDS; i++)
        if (fields->list[i].table == table && fields->list[i].column == column)
            return (int)i;
    return -1;
}

/* False: its rows' keys are not known. */
static bool find_key(struct reading *reading, const struct statement_input *input, struct reading_source *source,
                     const struct plan_table *known)
{
    const struct catalog_table *table = source->table;
    struct asking asking = {input, table, known->alias, input->statement->table_count == 1, false};
    struct fixed fixed = {0};
    if (!table->key_count)
        return false;
    if (stands_in_from(input->statement->select, known->alias))
        find_fixed(&asking, input->statement->select->where_clause, &fixed);
    for (uint32_t i = 0; i < table->key_count; i++) {
        const struct catalog_column *column = catalog_column(table, table->key[i]);
        if (!column || !(pg_is_integer(column->type) || pg_is_text(column->type) || column->type == PG_UUID))
            return false;
        source->parts[i] = (struct reading_part){field_of(reading->fields, table->oid, table->key[i]), 0, column->type};
        if (source->parts[i].field < 0) {
            if (!fixed.has[i] || fixed.twice)
                return false;
            source->parts[i].place = put_text(&reading->texts, text_of(&fixed.values[i]));
        }
    }
    return true;
}

static void find_cells(struct reading *reading, struct reading_source *source)
{
    source->cell_count = 0;
    for (uint32_t i = 0; i < reading->fields->count && i < READING_FIELDS; i++) {
        const struct result_field *field = &reading->fields->list[i];
        if (field->table != source->table->oid)
            continue;
        const struct catalog_column *column = catalog_column(source->table, field->column);
        if (!column)
            reading->saw_unknown = true;
        else if (!column->is_key && field_of(reading->fields, field->table, field->column) == (int)i) {
            source->cells[source->cell_count].field = i;
            source->cells[source->cell_count++].name = column->name;
        }
    }
}

/* The tables that rows come from; those whose rows have keys are kept. */
static void find_sources(struct reading *reading, const struct statement_input *input)
{
    const struct result_fields *fields = reading->fields;
    uint32_t seen[READING_TABLES * 2], seen_count = 0;
    for (uint32_t i = 0; i < fields->count && i < READING_FIELDS; i++) {
        uint32_t oid = fields->list[i].table, j = 0;
        while (j < seen_count && seen[j] != oid)
            j++;
        if (!oid || j < seen_count || seen_count == sizeof seen / sizeof *seen ||
            reading->source_count == READING_TABLES)
            continue;
        seen[seen_count++] = oid;
        const struct catalog_table *table = catalog_find(input->catalog, oid);
        const struct plan_table *known = table ? find_in_plan(input->statement, table) : NULL;
        if (!table && oid >= 16384)
            reading->saw_unknown = true;
        if (!table || !table->is_taken || !known)
            continue;
        struct reading_source *source = &reading->sources[reading->source_count];
        source->table = table;
        if (find_key(reading, input, source, known)) {
            find_cells(reading, source);
            reading->source_count++;
        }
    }
}

static bool is_aggregate(const struct asking *asking, const PgQuery__Node *target, struct iso_text *name)
{
    const char *qualifier;
    if (target->node_case != PG_QUERY__NODE__NODE_RES_TARGET || !target->res_target->val ||
        target->res_target->val->node_case != PG_QUERY__NODE__NODE_FUNC_CALL)
        return false;
    const PgQuery__FuncCall *call = target->res_target->val->func_call;
    if (call->n_funcname != 1 || call->n_agg_order || call->agg_filter || call->over || call->agg_distinct ||
        call->agg_within_group || call->func_variadic || call->n_args != !call->agg_star)
        return false;
    const char *function = call->funcname[0]->string->sval;
    if (call->agg_star) {
        iso_text_put(name, "count");
        return !strcmp(function, "count");
    }
    const struct catalog_column *column = column_of(asking, call->args[0]);
    if (!column || !plan_column(call->args[0], &qualifier) || strpbrk(column->name, "()\""))
        return false;
    iso_text_format(name, "%s(%s)", function, column->name);
    return !strcmp(function, "count") ||
           ((!strcmp(function, "sum") || !strcmp(function, "min") || !strcmp(function, "max")) &&
            (pg_is_integer(column->type) || column->type == PG_NUMERIC));
}

/* Names of aggregates one after the other in `texts`, a zero byte behind each. */
static bool find_aggregates(struct reading *reading, const struct asking *asking)
{
    const PgQuery__SelectStmt *select = asking->input->statement->select;
    reading->texts.used = 0;
    if (select->n_target_list != reading->fields->count || !select->n_target_list ||
        select->n_target_list > READING_FIELDS)
        return false;
    for (size_t i = 0; i < select->n_target_list; i++) {
        if (!is_aggregate(asking, select->target_list[i], &reading->texts))
            return false;
        iso_text_put_bytes(&reading->texts, "", 1);
    }
    return true;
}

static bool find_bag(struct reading *reading, const struct catalog_table *table)
{
    struct reading_source *source = &reading->sources[0];
    source->table = table;
    source->cell_count = 0;
    for (uint32_t i = 0; i < reading->fields->count; i++) {
        const struct result_field *field = &reading->fields->list[i];
        const struct catalog_column *column = field->table == table->oid ? catalog_column(table, field->column) : NULL;
        if (!column || i == READING_FIELDS || field_of(reading->fields, field->table, field->column) != (int)i)
            return false;
        source->cells[source->cell_count].field = i;
        source->cells[source->cell_count++].name = column->name;
    }
    return source->cell_count > 0;
}

/* One table, each row that matches: what can be said of its whole result. */
static void find_set(struct reading *reading, const struct statement_input *input, const struct catalog_table *table)
{
    const struct plan_statement *statement = input->statement;
    const PgQuery__SelectStmt *select = statement->select;
    struct asking asking = {input, table, statement->tables[0].alias, true, true};
    struct fixed fixed = {0};
    bool has_key = reading->source_count == 1;
    reading->is_partial = statement->is_partial || table->hides_rows;
    find_fixed(&asking, select->where_clause, &fixed);
    if (!has_key)
        reading->sources[0].table = table;
    if (has_key && is_whole_key(table, &fixed)) {
        reading->mode = READING_POINT;
        for (uint32_t i = 0; i < table->key_count; i++) /* where there is no row, its key is what WHERE says */
            reading->sources[0].parts[i] = (struct reading_part){
                -1, put_text(&reading->texts, text_of(&fixed.values[i])), reading->sources[0].parts[i].type};
        return;
    }
    if (has_key && !reading->is_partial && find_points(reading, &asking)) {
        reading->mode = READING_POINTS;
        return;
    }
    bool says = find_bounds(reading, &asking);
    if (!says || !table->key_count)
        reading->reason = REASON_CONDITION;
    else if (has_key)
        reading->mode = READING_SET;
    else if (statement->is_distinct || reading->is_partial)
        reading->reason = REASON_NO_KEY;
    else if (find_aggregates(reading, &asking))
        reading->mode = READING_AGGREGATES;
    else if (find_bag(reading, table))
        reading->mode = READING_BAG;
}

void reading_begin(struct reading *reading, const struct statement_input *input, const struct result_fields *fields,
                   bool plain)
{
    const struct plan_statement *statement = input->statement;
    reading->mode = READING_NOTHING;
    reading->reason = statement->reason;
    reading->has_begun = reading->is_partial = reading->failed = reading->saw_unknown = false;
    reading->rows = reading->operations = 0;
    reading->source_count = 0;
    reading->texts.used = 0;
    iso_free(reading->from);
    iso_free(reading->to);
    reading->from = reading->to = NULL;
    reading->fields = fields;
    reading->spelling = *input->spelling;
    if (reading->reason)
        return;
    if (!reading->sources)
        reading->sources = iso_allocate_zeroed(READING_TABLES, sizeof *reading->sources);
    find_sources(reading, input);
    const struct catalog_table *table =
        statement->is_simple && !plain
            ? catalog_find_name(input->catalog, statement->tables[0].schema, statement->tables[0].name)
            : NULL;
    if (reading->source_count && table && reading->sources[0].table != table)
        table = NULL;
    if (table && table->is_taken)
        find_set(reading, input, table);
    if (reading->mode == READING_NOTHING && reading->source_count)
        reading->mode = READING_ROWS_ONLY;
    if (reading->mode != READING_NOTHING) {
        reading->reason = REASON_NONE;
    } else if (!reading->reason) {
        bool any = false;
        for (uint32_t i = 0; i < statement->table_count; i++) {
            const struct catalog_table *known =
                catalog_find_name(input->catalog, statement->tables[i].schema, statement->tables[i].name);
            any |= !input->catalog || (known && known->is_taken);
        }
        reading->reason = any ? REASON_NO_KEY : REASON_NO_TABLE;
    }
}

/* ---- rows ---- */

enum { CELL_UNKNOWN, CELL_NULL, CELL_TEXT };

struct cell {
    int kind;
    size_t place;
};

static bool read_cells(struct reading *reading, struct wire_cursor row, struct cell *cells)
{
    uint32_t count = wire_u16(&row);
    reading->values.used = 0;
    if (count != reading->fields->count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = wire_u32(&row);
        const uint8_t *bytes = size == UINT32_MAX ? NULL : wire_bytes(&row, size);
        if (row.bad)
            return false;
        if (i >= READING_FIELDS)
            continue;
        const struct result_field *field = &reading->fields->list[i];
        cells[i] = (struct cell){bytes ? CELL_UNKNOWN : CELL_NULL, reading->values.used};
        if (bytes && pg_value_text(field->type, field->is_binary, bytes, size, &reading->spelling, &reading->values))
            cells[i].kind = CELL_TEXT;
    }
    return true;
}

/* `key` gets the row's key, behind the table's name if `full`. False: it is not known, or there is no row (an outer join). */
static bool put_key(const struct reading *reading, const struct reading_source *source, const struct cell *cells,
                    bool full, char *key, bool *is_absent)
{
    const char *parts[CATALOG_KEY_MOST];
    const struct catalog_table *table = source->table;
    *is_absent = false;
    for (uint32_t i = 0; i < table->key_count; i++) {
        const struct reading_part *part = &source->parts[i];
        if (part->field < 0) {
            parts[i] = reading->texts.bytes + part->place;
            continue;
        }
        const struct cell *cell = &cells[part->field];
        *is_absent |= cell->kind == CELL_NULL;
        parts[i] = reading->values.bytes ? reading->values.bytes + cell->place : "";
        if (cell->kind != CELL_TEXT || !pg_key_part(part->type, parts[i]))
            return false;
    }
    return iso_recorder_row_key(key, KEY_MOST, full ? table->full : NULL, parts, table->key_count);
}

static size_t gather_cells(const struct reading *reading, const struct reading_source *source, const struct cell *cells,
                           const char **names, const char **values)
{
    size_t count = 0;
    for (uint32_t i = 0; i < source->cell_count; i++) {
        const struct cell *cell = &cells[source->cells[i].field];
        if (cell->kind == CELL_UNKNOWN)
            continue;
        names[count] = source->cells[i].name;
        values[count++] = cell->kind == CELL_NULL ? NULL : reading->values.bytes + cell->place;
    }
    return count;
}

static void begin_query(struct reading *reading, struct iso_recorder_session *session)
{
    char table[KEY_MOST];
    assert(reading->sources[0].table);
    reading->has_begun = true;
    const struct catalog_table *asked = reading->sources[0].table;
    if (!iso_recorder_row_key(table, sizeof table, asked->full, NULL, 0)) {
        reading->failed = true;
        return;
    }
    iso_recorder_query_begin(session, table, reading->from, reading->to,
                             *reading->condition.bytes ? reading->condition.bytes : NULL);
    if (reading->is_partial)
        iso_recorder_query_partial(session);
    if (reading->mode == READING_BAG) {
        const char *names[READING_FIELDS];
        for (uint32_t i = 0; i < reading->sources[0].cell_count; i++)
            names[i] = reading->sources[0].cells[i].name;
        iso_recorder_query_columns(session, names, reading->sources[0].cell_count);
    }
}

static bool record_aggregates(struct reading *reading, const struct cell *cells, struct iso_recorder_session *session)
{
    const char *name = reading->texts.bytes;
    for (uint32_t i = 0; i < reading->fields->count; i++, name += strlen(name) + 1) {
        const char *earlier = reading->texts.bytes;
        while (earlier < name && strcmp(earlier, name))
            earlier += strlen(earlier) + 1;
        if (earlier < name)
            continue;
        if (cells[i].kind == CELL_UNKNOWN)
            return false;
        iso_recorder_query_aggregate(session, name,
                                     cells[i].kind == CELL_NULL ? NULL : reading->values.bytes + cells[i].place);
    }
    return true;
}

/* The key that the row has is one of those that were asked for. */
static void note_found(struct reading *reading, const struct cell *cells)
{
    const struct reading_part *part = &reading->sources[0].parts[0];
    assert(part->field >= 0);
    for (uint32_t i = 0; i < reading->point_count; i++)
        if (!strcmp(reading->texts.bytes + reading->points[i], reading->values.bytes + cells[part->field].place))
            reading->found[i] = true;
}

/* Keys that were asked for and have no row. */
static void record_absent(struct reading *reading, struct iso_recorder_session *session)
{
    char key[KEY_MOST];
    for (uint32_t i = 0; i < reading->point_count; i++) {
        const char *part = reading->texts.bytes + reading->points[i];
        if (reading->found[i] || !iso_recorder_row_key(key, sizeof key, reading->sources[0].table->full, &part, 1))
            continue;
        iso_recorder_read_no_row(session, key);
        reading->operations++;
        for (uint32_t j = i + 1; j < reading->point_count; j++)
            reading->found[j] |= !strcmp(reading->texts.bytes + reading->points[j], part);
    }
}

void reading_row(struct reading *reading, struct wire_cursor row, struct iso_recorder_session *session)
{
    struct cell cells[READING_FIELDS];
    const char *names[READING_FIELDS], *values[READING_FIELDS];
    char key[KEY_MOST];
    bool is_set = reading->mode >= READING_SET, is_absent;
    if (reading->mode == READING_NOTHING || reading->failed || reading->rows++ >= READING_ROWS)
        return;
    if (row.bad || !read_cells(reading, row, cells)) {
        reading->failed = true;
        return;
    }
    if (is_set && !reading->has_begun)
        begin_query(reading, session);
    if (reading->mode == READING_AGGREGATES) {
        reading->failed |= !record_aggregates(reading, cells, session);
        return;
    }
    for (uint32_t i = 0; i < (is_set ? 1 : reading->source_count); i++) {
        const struct reading_source *source = &reading->sources[i];
        size_t count = gather_cells(reading, source, cells, names, values);
        if (reading->mode == READING_BAG) {
            reading->failed |= count < source->cell_count;
            if (!reading->failed)
                iso_recorder_query_values(session, values);
        } else if (!put_key(reading, source, cells, !is_set, key, &is_absent)) {
            reading->failed |= is_set || !is_absent;
        } else if (is_set) {
            iso_recorder_query_row(session, key, names, values, count);
        } else {
            iso_recorder_read_row(session, key, names, values, count);
            reading->operations++;
            if (reading->mode == READING_POINTS)
                note_found(reading, cells);
        }
        if (reading->failed)
            return;
    }
}

void reading_end(struct reading *reading, bool whole, struct iso_recorder_session *session)
{
    char key[KEY_MOST];
    bool is_absent;
    if (reading->mode == READING_NOTHING)
        return;
    if (reading->failed) {
        reading->reason = REASON_VALUE;
        reading->operations = 0; /* the caller takes back what there was */
        return;
    }
    if (reading->mode == READING_POINT && !reading->rows && whole && !reading->is_partial) {
        if (put_key(reading, &reading->sources[0], NULL, true, key, &is_absent)) {
            iso_recorder_read_no_row(session, key);
            reading->operations++;
        }
    } else if (reading->mode == READING_POINTS && whole) {
        record_absent(reading, session);
    } else if (reading->mode >= READING_SET) {
        bool cut = !whole || reading->rows > READING_ROWS;
        if (!reading->has_begun)
            begin_query(reading, session);
        if (cut && reading->mode != READING_SET) {
            reading->reason = REASON_VALUE;
            return;
        }
        if (cut)
            iso_recorder_query_partial(session);
        iso_recorder_query_end(session);
        reading->operations++;
    }
}

/* ---- writes ---- */

static bool sets_key(const struct catalog_table *table, size_t count, PgQuery__Node *const *targets)
{
    for (size_t i = 0; i < count; i++) {
        const struct catalog_column *column = targets[i]->node_case == PG_QUERY__NODE__NODE_RES_TARGET
                                                  ? catalog_column_named(table, targets[i]->res_target->name)
                                                  : NULL;
        if (!column || column->is_key)
            return true;
    }
    return false;
}

/* The values of the key's columns that the one row of VALUES has. */
static void find_inserted(const struct asking *asking, const PgQuery__InsertStmt *insert, struct fixed *fixed)
{
    const PgQuery__SelectStmt *select = insert->select_stmt ? insert->select_stmt->select_stmt : NULL;
    if (!select || select->n_values_lists != 1 || select->values_lists[0]->node_case != PG_QUERY__NODE__NODE_LIST ||
        insert->on_conflict_clause)
        return;
    const PgQuery__List *values = select->values_lists[0]->list;
    for (size_t i = 0; i < values->n_items; i++) {
        const struct catalog_column *column;
        if (insert->n_cols)
            column = i < insert->n_cols ? catalog_column_named(asking->table, insert->cols[i]->res_target->name) : NULL;
        else
            column = i < asking->table->column_count ? &asking->table->columns[i] : NULL;
        struct value value = value_of(asking->input, values->items[i]);
        for (uint32_t j = 0; column && j < asking->table->key_count; j++) {
            if (asking->table->key[j] != column->number || (value.kind != VALUE_TEXT && value.kind != VALUE_NUMBER) ||
                (value.kind == VALUE_NUMBER && !pg_is_integer(column->type)) ||
                !pg_key_part(column->type, text_of(&value)))
                continue;
            fixed->has[j] = true;
            fixed->values[j] = value;
        }
    }
}

bool written_row(const struct statement_input *input, char *key, size_t size, bool *deletes, bool *alone)
{
    const PgQuery__Node *node = input->statement->node;
    const PgQuery__RangeVar *range = NULL;
    struct fixed fixed = {0};
    *deletes = node->node_case == PG_QUERY__NODE__NODE_DELETE_STMT;
    *alone = false;
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT)
        range = node->insert_stmt->relation;
    else if (node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT && !node->update_stmt->n_from_clause)
        range = node->update_stmt->relation;
    else if (*deletes && !node->delete_stmt->n_using_clause)
        range = node->delete_stmt->relation;
    const struct catalog_table *table =
        range ? catalog_find_name(input->catalog, range->schemaname, range->relname) : NULL;
    if (!table || !table->is_taken || !table->key_count)
        return false;
    struct asking asking = {input, table, range->alias ? range->alias->aliasname : range->relname, true, false};
    *alone = table->is_written_alone && !input->statement->calls;
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT)
        find_inserted(&asking, node->insert_stmt, &fixed);
    else
        find_fixed(&asking, *deletes ? node->delete_stmt->where_clause : node->update_stmt->where_clause, &fixed);
    if (node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT &&
        sets_key(table, node->update_stmt->n_target_list, node->update_stmt->target_list))
        return false;
    const char *parts[CATALOG_KEY_MOST];
    for (uint32_t i = 0; i < table->key_count; i++) {
        if (!fixed.has[i] || fixed.twice)
            return false;
        parts[i] = text_of(&fixed.values[i]);
    }
    return iso_recorder_row_key(key, size, table->full, parts, table->key_count);
}
