/* ORDER BY ... LIMIT: the first rows of an order, as two sets.
 *
 *     WHERE shop = 3 ORDER BY made DESC, id LIMIT 2      rows (made, id): (8, 1), (7, 4)
 *
 *     shop = 3 AND (made > 7 OR made IS NULL)   what is before the last row: all of it
 *     shop = 3 AND made = 7, id to 4            what is as far as the last row: all of it up to its
 *                                               key, where the order ends in the key; else a part
 *
 * Only of columns whose order everybody has: numbers, truths, dates. The rows are held until it is
 * known which is the last, and that there are as many as LIMIT allows. */
#include "observe/reading_private.h"

static bool has_order(const struct catalog_column *column)
{
    return pg_is_integer(column->type) || column->type == PG_NUMERIC || column->type == PG_BOOL ||
           column->type == PG_DATE || column->type == PG_TIMESTAMP ||
           column->type == PG_TIMESTAMPTZ;
}

/* A name in ORDER BY is first one of the result, which may be of another value. */
static bool keeps_names(const PgQuery__SelectStmt *select)
{
    for (size_t i = 0; i < select->n_target_list; i++) {
        const PgQuery__Node *target = select->target_list[i];
        if (target->node_case != PG_QUERY__NODE__NODE_RES_TARGET || *target->res_target->name ||
            target->res_target->val->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
            return false;
    }
    return true;
}

static bool descends(const PgQuery__SortBy *sort)
{
    return sort->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
}

bool first_find(struct reading *reading, const struct asking *asking)
{
    const PgQuery__SelectStmt *select = asking->input->statement->select;
    const struct catalog_table *table = asking->table;
    reading->order_count = 0;
    reading->key_order = KEY_UNORDERED;
    if (!reading->limit || reading->limit > READING_ROWS || !keeps_names(select) ||
        select->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES)
        return false;
    for (size_t i = 0; i < select->n_sort_clause && reading->order_count < READING_ORDERS; i++) {
        const PgQuery__SortBy *sort = select->sort_clause[i]->sort_by;
        const struct catalog_column *column = reading_column_of(asking, sort->node);
        if (!column || sort->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING)
            break;
        if (column->is_key && table->key_count == 1 && pg_is_integer(column->type))
            reading->key_order = descends(sort) ? KEY_DESCENDS : KEY_ASCENDS;
        int field = reading_field_of(reading->fields, table->oid, column->number);
        if (column->is_key || field < 0 || !has_order(column))
            break;
        bool is_default = sort->sortby_nulls != PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST &&
                          sort->sortby_nulls != PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST;
        reading->orders[reading->order_count++] = (struct reading_order){
            .field = (uint32_t)field,
            .column = column,
            .descends = descends(sort),
            .nulls_first = is_default
                               ? descends(sort)
                               : sort->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST};
    }
    return reading->order_count || reading->key_order;
}

bool first_put_last(struct reading *reading, uint32_t number, const char *value)
{
    struct reading_order *order = &reading->orders[number];
    uint32_t type = order->column->type;
    bool is_number = pg_is_integer(type) || type == PG_NUMERIC, is_truth = type == PG_BOOL;
    order->last = value ? reading_put_text(&reading->texts, value) : 0;
    order->is_null = !value;
    return !value || is_truth ||
           strspn(value, is_number ? "0123456789-." : "0123456789-:. +") == strlen(value);
}

/* Digits of a numeric but for zeros at its end. */
static size_t length_of(uint32_t type, const char *value)
{
    size_t length = strlen(value);
    if (type != PG_NUMERIC || !strchr(value, '.'))
        return length;
    while (value[length - 1] == '0')
        length--;
    return length - (value[length - 1] == '.');
}

bool first_is_last(const struct reading *reading, uint32_t number, const char *value)
{
    const struct reading_order *order = &reading->orders[number];
    const char *last = reading->texts.bytes + order->last;
    uint32_t type = order->column->type;
    if (!value || order->is_null)
        return !value == order->is_null;
    size_t length = length_of(type, value);
    return length == length_of(type, last) && !memcmp(value, last, length);
}

static void put_compared(const struct reading *reading, struct iso_text *text,
                         const struct reading_order *order, const char *sign)
{
    const char *last = reading->texts.bytes + order->last;
    uint32_t type = order->column->type;
    bool is_number = pg_is_integer(type) || type == PG_NUMERIC;
    reading_put_quoted(text, order->column->name, '"');
    if (order->is_null)
        iso_text_put(text, strcmp(sign, "=") ? " IS NOT NULL" : " IS NULL");
    else if (type == PG_BOOL)
        iso_text_format(text, " %s %s", sign, *last == 't' ? "TRUE" : "FALSE");
    else
        iso_text_format(text, is_number ? " %s %s" : " %s '%s'", sign, last);
}

/* The column is before the last row's, where NULLs are first or last. */
static void put_before(const struct reading *reading, struct iso_text *text,
                       const struct reading_order *order)
{
    if (order->is_null && order->nulls_first) {
        iso_text_put(text, "FALSE");
        return;
    }
    bool has_nulls = order->nulls_first;
    iso_text_put(text, has_nulls ? "(" : "");
    put_compared(reading, text, order, order->descends ? ">" : "<");
    if (has_nulls) {
        iso_text_put(text, " OR ");
        reading_put_quoted(text, order->column->name, '"');
        iso_text_put(text, " IS NULL)");
    }
}

void first_put_condition(const struct reading *reading, struct iso_text *text, bool is_before)
{
    const char *where = reading->condition.bytes;
    iso_text_format(text, *where ? "(%s)" : "%s", where);
    iso_text_put(text, *where && reading->order_count ? " AND " : "");
    for (uint32_t i = 0; !is_before && i < reading->order_count; i++) {
        iso_text_put(text, i ? " AND " : "");
        put_compared(reading, text, &reading->orders[i], "=");
    }
    for (uint32_t i = 0; is_before && i < reading->order_count; i++) {
        iso_text_put(text, i ? " OR (" : "(");
        for (uint32_t j = 0; j < i; j++) {
            put_compared(reading, text, &reading->orders[j], "=");
            iso_text_put(text, " AND ");
        }
        put_before(reading, text, &reading->orders[i]);
        iso_text_put(text, i ? ")" : "");
    }
    iso_text_put(text, is_before && reading->order_count ? ")" : "");
    iso_text_put_bytes(text, "", 1);
}
