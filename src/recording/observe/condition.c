#include "observe/reading_private.h"

#include <ctype.h>

enum { CONDITION_MOST = 1 << 14, DEPTH_MOST = 32 };

static bool is_time(uint32_t type)
{
    return type == PG_DATE || type == PG_TIMESTAMP || type == PG_TIMESTAMPTZ;
}

static void put_quoted(struct iso_text *text, const char *value, char quote)
{
    iso_text_put_bytes(text, &quote, 1);
    for (; *value; value++)
        iso_text_put_bytes(text, *value == quote ? (quote == '"' ? "\"\"" : "''") : value,
                           *value == quote ? 2 : 1);
    iso_text_put_bytes(text, &quote, 1);
}

/* A constant as a condition has it, if it means for this column what it says. */
static bool put_value(const struct statement_input *input, struct iso_text *text,
                      const struct value *value, const struct catalog_column *column)
{
    const char *string = reading_text_of(value);
    uint32_t type = column->type;
    if (value->kind == VALUE_NULL) {
        iso_text_put(text, "NULL");
        return true;
    }
    if (value->kind == VALUE_UNKNOWN || (value->type && !reading_is_one_kind(value->type, type) &&
                                         !(type == PG_NUMERIC && pg_is_integer(value->type))))
        return false;
    if (pg_is_integer(type) || type == PG_NUMERIC) {
        size_t length = strlen(string);
        if (value->kind == VALUE_TRUTH || !length || length > 64 ||
            strspn(string, "0123456789.-") != length || !isdigit((unsigned char)string[length - 1]))
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
    if (is_time(type) &&
        (!input->spelling->is_iso || (type == PG_TIMESTAMPTZ && !input->spelling->is_utc) ||
         strspn(string, "0123456789-:. T") != strlen(string) || strlen(string) < 10))
        return false;
    put_quoted(text, string, '\'');
    return true;
}

const struct catalog_column *reading_column_of(const struct asking *asking,
                                               const PgQuery__Node *node)
{
    const char *qualifier, *name = plan_column(node, &qualifier);
    if (!name || (qualifier ? strcmp(qualifier, asking->alias) != 0 : !asking->alone))
        return NULL;
    return catalog_column_named(asking->table, name);
}

static bool put_column(const struct asking *asking, struct iso_text *text,
                       const PgQuery__Node *node, const struct catalog_column **column)
{
    *column = reading_column_of(asking, node);
    if (!*column || (*column)->is_key)
        return false;
    put_quoted(text, (*column)->name, '"');
    return true;
}

/* At least one. */
static bool put_list(const struct asking *asking, struct iso_text *text,
                     PgQuery__Node *const *items, size_t count, const struct catalog_column *column)
{
    iso_text_put(text, " (");
    for (size_t i = 0; i < count; i++) {
        struct value value = reading_value_of(asking->input, items[i]);
        iso_text_put(text, i ? ", " : "");
        if (!put_value(asking->input, text, &value, column))
            return false;
    }
    iso_text_put(text, ")");
    return count > 0;
}

static bool put_in(const struct asking *asking, struct iso_text *text, const PgQuery__AExpr *test,
                   const char *name, const struct catalog_column *column)
{
    const PgQuery__Node *list = test->rexpr;
    iso_text_put(text, strcmp(name, "=") ? " NOT IN" : " IN");
    return list && list->node_case == PG_QUERY__NODE__NODE_LIST &&
           put_list(asking, text, list->list->items, list->list->n_items, column);
}

/* column = ANY (ARRAY[...]) */
static bool put_any(const struct asking *asking, struct iso_text *text, const PgQuery__AExpr *test,
                    const char *name, const struct catalog_column *column)
{
    const PgQuery__Node *list = test->rexpr;
    iso_text_put(text, " IN");
    return !strcmp(name, "=") && list && list->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR &&
           put_list(asking, text, list->a_array_expr->elements, list->a_array_expr->n_elements,
                    column);
}

static bool put_between(const struct asking *asking, struct iso_text *text,
                        const PgQuery__Node *list, const struct catalog_column *column)
{
    if (!list || list->node_case != PG_QUERY__NODE__NODE_LIST || list->list->n_items != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct value value = reading_value_of(asking->input, list->list->items[i]);
        iso_text_put(text, i ? " AND " : " ");
        if (!put_value(asking->input, text, &value, column))
            return false;
    }
    return true;
}

/* The server minds a backslash with nothing behind it only where it gets there. */
static bool ends_in_escape(const char *pattern)
{
    size_t length = strlen(pattern), backslashes = 0;
    while (backslashes < length && pattern[length - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2;
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
        bool is_turned = !reading_column_of(asking, test->lexpr);
        for (size_t i = 0; i < sizeof turned / sizeof *turned; i++) {
            if (strcmp(name, turned[i][0]))
                continue;
            const PgQuery__Node *other = is_turned ? test->lexpr : test->rexpr;
            struct value value = reading_value_of(asking->input, other);
            if (value.kind == VALUE_NULL && other->node_case == PG_QUERY__NODE__NODE_A_CONST)
                return false; /* with transform_null_equals it is IS NULL */
            if (!put_column(asking, text, is_turned ? test->rexpr : test->lexpr, &column) ||
                (column->has_own_order && strpbrk(name, "<>") && strcmp(name, "<>") != 0))
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
        return put_in(asking, text, test, name, column);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
        return put_any(asking, text, test, name, column);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT: {
        struct value value = reading_value_of(asking->input, test->rexpr);
        iso_text_put(text, test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT
                               ? " IS DISTINCT FROM "
                               : " IS NOT DISTINCT FROM ");
        return put_value(asking->input, text, &value, column);
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        iso_text_put(text, test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN ? " BETWEEN"
                                                                                : " NOT BETWEEN");
        return !column->has_own_order && put_between(asking, text, test->rexpr, column);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE: {
        struct value value = reading_value_of(asking->input, test->rexpr);
        iso_text_put(text, strcmp(name, "~~") ? " NOT LIKE " : " LIKE ");
        return pg_is_text(column->type) && value.kind == VALUE_TEXT &&
               !ends_in_escape(reading_text_of(&value)) &&
               put_value(asking->input, text, &value, column);
    }
    default:
        return false;
    }
}

static bool put_all(const struct asking *asking, struct iso_text *text,
                    const PgQuery__BoolExpr *all, int depth)
{
    bool is_not = all->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR;
    const char *between = all->boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR ? " OR " : " AND ";
    iso_text_put(text, is_not ? "NOT (" : "(");
    for (size_t i = 0; i < all->n_args; i++) {
        iso_text_put(text, i ? between : "");
        if (!reading_put_condition(asking, text, all->args[i], depth + 1))
            return false;
    }
    iso_text_put(text, ")");
    return true;
}

bool reading_put_condition(const struct asking *asking, struct iso_text *text,
                           const PgQuery__Node *node, int depth)
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
        iso_text_put(text, node->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
                               ? " IS NULL"
                               : " IS NOT NULL");
        return true;
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return put_column(asking, text, node, &column) && column->type == PG_BOOL;
    default:
        return false;
    }
}
