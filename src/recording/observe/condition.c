#include "observe/reading_private.h"

#include <ctype.h>

enum { CONDITION_MOST = 1 << 14, DEPTH_MOST = 32 };

void reading_put_quoted(struct iso_text *text, const char *value, char quote)
{
    iso_text_put_bytes(text, &quote, 1);
    for (; *value; value++)
        iso_text_put_bytes(text, *value == quote ? (quote == '"' ? "\"\"" : "''") : value,
                           *value == quote ? 2 : 1);
    iso_text_put_bytes(text, &quote, 1);
}

/* Without quotes where it needs none. */
void reading_put_name(struct iso_text *text, const char *name)
{
    bool is_plain = strcmp(name, "distinct") && !isdigit((unsigned char)*name);
    for (const char *at = name; *at; at++)
        is_plain &= islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '_';
    if (is_plain)
        iso_text_put(text, name);
    else
        reading_put_quoted(text, name, '"');
}

/* What types are compared as, and how a condition names them. */
enum sort { SORT_OTHER, SORT_NUMBER, SORT_TEXT, SORT_DAY, SORT_INSTANT, SORT_CLOCK, SORT_UUID };
static const struct {
    uint32_t type;
    enum sort sort;
    const char *name;
} sorts[] = {{PG_INT2, SORT_NUMBER, "smallint"},
             {PG_INT4, SORT_NUMBER, "int"},
             {PG_INT8, SORT_NUMBER, "bigint"},
             {PG_NUMERIC, SORT_NUMBER, "numeric"},
             {PG_FLOAT8, SORT_NUMBER, "float8"},
             {PG_TEXT, SORT_TEXT, "text"},
             {PG_VARCHAR, SORT_TEXT, "varchar"},
             {PG_DATE, SORT_DAY, "date"},
             {PG_TIMESTAMP, SORT_DAY, "timestamp"},
             {PG_TIMESTAMPTZ, SORT_INSTANT, "timestamptz"},
             {PG_TIME, SORT_CLOCK, "time"},
             {PG_UUID, SORT_UUID, "uuid"},
             {0, SORT_OTHER, ""}};

static size_t sort_at(uint32_t type)
{
    size_t i = 0;
    while (sorts[i].type && sorts[i].type != type)
        i++;
    return i;
}

static enum sort sort_of(uint32_t type)
{
    return sorts[sort_at(type)].sort;
}

static bool is_time(uint32_t type)
{
    enum sort sort = sort_of(type);
    return sort == SORT_DAY || sort == SORT_INSTANT || sort == SORT_CLOCK;
}

/* Values of the type are compared with the column's by the column's type; of dates and timestamps
 * each has its own. */
static bool is_compared(uint32_t type, uint32_t column)
{
    if (type == column || reading_is_one_kind(type, column))
        return true;
    enum sort sort = sort_of(type);
    return sort == sort_of(column) && (sort == SORT_DAY || sort == SORT_NUMBER) &&
           type != PG_FLOAT8;
}

/* YYYY-MM-DD, behind which a time may follow: other orders hang on DateStyle. */
static bool begins_with_day(const char *string)
{
    return strspn(string, "0123456789") == 4 && string[4] == '-' &&
           strspn(string + 5, "0123456789") == 2 && string[7] == '-' &&
           strspn(string + 8, "0123456789") == 2 && strchr(" T", string[10]);
}

/* A time of day as the server spells it: others are equal to it whose text is not. */
static bool is_clock(const char *string)
{
    static const char digits[] = "0123456789";
    size_t length = strlen(string), fraction = length > 9 ? strspn(string + 9, digits) : 0;
    return strspn(string, digits) == 2 && string[2] == ':' && strspn(string + 3, digits) == 2 &&
           string[5] == ':' && strspn(string + 6, digits) == 2 && string[6] < '6' &&
           (length == 8 || (string[8] == '.' && fraction && fraction <= 6 &&
                            length == 9 + fraction && string[length - 1] != '0'));
}

/* A date or a time, with its own type where it is not the column's. An instant without a zone is in
 * the session's. */
static bool put_moment(const struct statement_input *input, struct iso_text *text,
                       const struct value *value, uint32_t type)
{
    enum { DAY = 10 };
    const char *string = reading_text_of(value);
    size_t length = strlen(string);
    bool is_instant = type == PG_TIMESTAMPTZ,
         has_zone = is_instant && length > DAY && strpbrk(string + DAY, "+-Z");
    if (!input->spelling->is_iso || (is_instant && !has_zone && !input->spelling->is_utc) ||
        !(type == PG_TIME
              ? is_clock(string)
              : begins_with_day(string) &&
                    strspn(string, is_instant ? "0123456789-:. T+Z" : "0123456789-:. T") == length))
        return false;
    iso_text_put(text, "'");
    iso_text_put(text, string);
    if (is_instant && !has_zone)
        iso_text_put(text, length == DAY ? " 00:00+00" : "+00");
    iso_text_put(text, "'");
    if (value->type && value->type != type)
        iso_text_format(text, "::%s", sorts[sort_at(value->type)].name);
    return true;
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
    if (value->kind == VALUE_UNKNOWN || (value->type && !is_compared(value->type, type)))
        return false;
    if (sort_of(type) == SORT_NUMBER) {
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
    if (is_time(type))
        return put_moment(input, text, value, type);
    reading_put_quoted(text, string, '\'');
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
                       const PgQuery__Node *node, struct catalog_column *as)
{
    const struct catalog_column *column = reading_column_of(asking, node);
    if (!column || column->is_key)
        return false;
    *as = *column;
    reading_put_quoted(text, column->name, '"');
    return true;
}

/* The argument of lower or upper; NULL: it is another expression. */
static const PgQuery__Node *folded(const PgQuery__Node *node, const char **function)
{
    const PgQuery__FuncCall *call =
        node && node->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ? node->func_call : NULL;
    if (!call || call->n_args != 1)
        return NULL;
    *function = call->funcname[call->n_funcname - 1]->string->sval;
    return !strcmp(*function, "lower") || !strcmp(*function, "upper") ? call->args[0] : NULL;
}

static bool put_operand(const struct asking *asking, struct iso_text *text,
                        const PgQuery__Node *node, struct catalog_column *as, int depth);

/* A cast that the reader of a condition makes as the server does. */
static bool put_cast(const struct asking *asking, struct iso_text *text,
                     const PgQuery__TypeCast *cast, struct catalog_column *as, int depth)
{
    char limits[READING_LIMITS];
    uint32_t type = reading_type_limited(asking->input, cast->type_name, limits);
    size_t start = text->used;
    if (!type || !put_operand(asking, text, cast->arg, as, depth))
        return false;
    enum sort from = sort_of(as->type), to = sort_of(type);
    bool cuts = as->type == PG_TIMESTAMP && type == PG_TIME;
    bool is_text = from == SORT_TEXT && to == SORT_TEXT;
    if (!*limits && (type == as->type || is_text))
        return true;
    if (!cuts && !is_text && (from != to || (from != SORT_NUMBER && from != SORT_DAY)))
        return false;
    as->type = type;
    iso_text_format(text, "::%s%s", sorts[sort_at(type)].name, limits);
    return text->used > start;
}

/* A column, or what a function or a cast makes of one: `as` is a column of its type. */
static bool put_operand(const struct asking *asking, struct iso_text *text,
                        const PgQuery__Node *node, struct catalog_column *as, int depth)
{
    const char *function;
    const PgQuery__Node *argument = folded(node, &function);
    if (depth > DEPTH_MOST)
        return false;
    if (argument) {
        iso_text_format(text, "%s(", function);
        bool fine = put_operand(asking, text, argument, as, depth + 1);
        iso_text_put(text, ")");
        return fine && pg_is_text(as->type) && !as->has_own_order;
    }
    return node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST
               ? put_cast(asking, text, node->type_cast, as, depth + 1)
               : put_column(asking, text, node, as);
}

/* A constant, also of a text in small or large letters. */
static bool put_constant(const struct asking *asking, struct iso_text *text,
                         const PgQuery__Node *node, const struct catalog_column *column)
{
    const char *function;
    const PgQuery__Node *argument = folded(node, &function);
    struct value value = reading_value_of(asking->input, argument ? argument : node);
    if (!argument)
        return put_value(asking->input, text, &value, column);
    iso_text_format(text, "%s(", function);
    bool fine = value.kind == VALUE_TEXT && pg_is_text(column->type) && !column->has_own_order &&
                put_value(asking->input, text, &value, column);
    iso_text_put(text, ")");
    return fine;
}

/* A constant, or another column that is compared with this one as constants of its type are. */
static bool put_other(const struct asking *asking, struct iso_text *text, const PgQuery__Node *node,
                      const struct catalog_column *column, bool is_ordered)
{
    struct catalog_column other;
    size_t start = text->used;
    if (put_constant(asking, text, node, column))
        return true;
    text->used = start;
    return put_operand(asking, text, node, &other, 0) &&
           (is_compared(other.type, column->type) || is_compared(column->type, other.type)) &&
           (sort_of(other.type) != SORT_OTHER || other.type == PG_BOOL) &&
           (!pg_is_text(other.type) || (other.compares_bytes && column->compares_bytes)) &&
           !(is_ordered && other.has_own_order);
}

static bool put_list(const struct asking *asking, struct iso_text *text,
                     PgQuery__Node *const *items, size_t count, const struct catalog_column *column)
{
    iso_text_put(text, " (");
    for (size_t i = 0; i < count; i++) {
        iso_text_put(text, i ? ", " : "");
        if (!put_constant(asking, text, items[i], column))
            return false;
    }
    iso_text_put(text, ")");
    return true;
}

static bool put_in(const struct asking *asking, struct iso_text *text, const PgQuery__AExpr *test,
                   const char *name, const struct catalog_column *column)
{
    const PgQuery__Node *list = test->rexpr;
    iso_text_put(text, strcmp(name, "=") ? " NOT IN" : " IN");
    return list && list->node_case == PG_QUERY__NODE__NODE_LIST &&
           put_list(asking, text, list->list->items, list->list->n_items, column);
}

/* The cast of an array leaves each of its elements as it is (not 1.5 of ARRAY[1.5]::int[]). */
static bool keeps_all(const struct asking *asking, const PgQuery__Node *array, uint32_t type)
{
    for (size_t i = 0; i < array->a_array_expr->n_elements; i++) {
        struct value value = reading_value_of(asking->input, array->a_array_expr->elements[i]);
        if (value.kind != VALUE_NULL && !reading_keeps(&value, type))
            return false;
    }
    return true;
}

/* column = ANY (ARRAY[...]), or <> ALL, also with a type behind it, and then also empty. From
 * `start` on the column stands. */
static bool put_any(const struct asking *asking, struct iso_text *text, const PgQuery__AExpr *test,
                    const char *name, const struct catalog_column *column, size_t start)
{
    const PgQuery__Node *list = test->rexpr;
    bool all = test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL;
    iso_text_put(text, all ? " NOT IN" : " IN");
    if (list && list->node_case == PG_QUERY__NODE__NODE_TYPE_CAST) {
        uint32_t type = reading_array_named(list->type_cast->type_name);
        if (!type || !reading_is_one_kind(type, column->type))
            return false;
        list = list->type_cast->arg;
        if (list->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR && !keeps_all(asking, list, type))
            return false;
    }
    if (strcmp(name, all ? "<>" : "=") || !list ||
        list->node_case != PG_QUERY__NODE__NODE_A_ARRAY_EXPR)
        return false;
    if (!list->a_array_expr->n_elements) { /* no value is in it, nor NULL */
        text->used = start;
        iso_text_put(text, all ? "TRUE" : "FALSE");
        return true;
    }
    return put_list(asking, text, list->a_array_expr->elements, list->a_array_expr->n_elements,
                    column);
}

static bool put_between(const struct asking *asking, struct iso_text *text,
                        const PgQuery__Node *list, const struct catalog_column *column)
{
    if (!list || list->node_case != PG_QUERY__NODE__NODE_LIST || list->list->n_items != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        iso_text_put(text, i ? " AND " : " ");
        if (!put_other(asking, text, list->list->items[i], column, true))
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

static bool put_like(const struct asking *asking, struct iso_text *text, const PgQuery__AExpr *test,
                     const char *name, const struct catalog_column *column)
{
    const char *function;
    const PgQuery__Node *argument = folded(test->rexpr, &function);
    struct value value = reading_value_of(asking->input, argument ? argument : test->rexpr);
    iso_text_put(text, strcmp(name, "~~") ? " NOT LIKE " : " LIKE ");
    return pg_is_text(column->type) && value.kind == VALUE_TEXT &&
           !ends_in_escape(reading_text_of(&value)) &&
           put_constant(asking, text, test->rexpr, column);
}

/* With transform_null_equals it is IS NULL. */
static bool is_plain_null(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_A_CONST && node->a_const->isnull;
}

static bool put_comparison(const struct asking *asking, struct iso_text *text,
                           const PgQuery__AExpr *test, const char *name)
{
    static const char *const turned[][2] = {{"=", "="},   {"<>", "<>"}, {"<", ">"},
                                            {"<=", ">="}, {">", "<"},   {">=", "<="}};
    struct catalog_column column;
    size_t which = 0, start = text->used;
    while (which < sizeof turned / sizeof *turned && strcmp(name, turned[which][0]))
        which++;
    if (which == sizeof turned / sizeof *turned || !test->lexpr || is_plain_null(test->lexpr) ||
        is_plain_null(test->rexpr))
        return false;
    bool is_turned = !put_operand(asking, text, test->lexpr, &column, 0),
         is_ordered = strpbrk(name, "<>") && strcmp(name, "<>") != 0;
    if (is_turned) {
        text->used = start;
        if (!put_operand(asking, text, test->rexpr, &column, 0))
            return false;
    }
    if (is_ordered && column.has_own_order)
        return false;
    iso_text_format(text, " %s ", turned[which][is_turned]);
    return put_other(asking, text, is_turned ? test->lexpr : test->rexpr, &column, is_ordered);
}

static bool put_test(const struct asking *asking, struct iso_text *text, const PgQuery__AExpr *test)
{
    struct catalog_column column;
    size_t start = text->used;
    if (test->n_name != 1 || test->name[0]->node_case != PG_QUERY__NODE__NODE_STRING)
        return false;
    const char *name = test->name[0]->string->sval;
    if (test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP)
        return put_comparison(asking, text, test, name);
    if (!test->lexpr || !put_operand(asking, text, test->lexpr, &column, 0))
        return false;
    switch (test->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
        return put_in(asking, text, test, name, &column);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
        return put_any(asking, text, test, name, &column, start);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
        iso_text_put(text, test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT
                               ? " IS DISTINCT FROM "
                               : " IS NOT DISTINCT FROM ");
        return put_other(asking, text, test->rexpr, &column, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        iso_text_put(text, test->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN ? " BETWEEN"
                                                                                : " NOT BETWEEN");
        return !column.has_own_order && put_between(asking, text, test->rexpr, &column);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
        return put_like(asking, text, test, name, &column);
    default:
        return false;
    }
}

/* IS [NOT] TRUE, FALSE, UNKNOWN */
static bool put_outcome(const struct asking *asking, struct iso_text *text,
                        const PgQuery__BooleanTest *test, int depth)
{
    static const char *const outcomes[] = {
        [PG_QUERY__BOOL_TEST_TYPE__IS_TRUE] = ") IS TRUE",
        [PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE] = ") IS NOT TRUE",
        [PG_QUERY__BOOL_TEST_TYPE__IS_FALSE] = ") IS FALSE",
        [PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE] = ") IS NOT FALSE",
        [PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN] = ") IS UNKNOWN",
        [PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN] = ") IS NOT UNKNOWN"};
    size_t outcome = (size_t)test->booltesttype;
    iso_text_put(text, "(");
    if (outcome >= sizeof outcomes / sizeof *outcomes || !outcomes[outcome] ||
        !reading_put_condition(asking, text, test->arg, depth + 1))
        return false;
    iso_text_put(text, outcomes[outcome]);
    return true;
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
    struct catalog_column column;
    if (depth > DEPTH_MOST || text->used > CONDITION_MOST)
        return false;
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return put_all(asking, text, node->bool_expr, depth);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return put_test(asking, text, node->a_expr);
    case PG_QUERY__NODE__NODE_NULL_TEST:
        if (!put_operand(asking, text, node->null_test->arg, &column, 0))
            return false;
        iso_text_put(text, node->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
                               ? " IS NULL"
                               : " IS NOT NULL");
        return true;
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return put_column(asking, text, node, &column) && column.type == PG_BOOL;
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
        return put_outcome(asking, text, node->boolean_test, depth);
    default:
        return false;
    }
}
