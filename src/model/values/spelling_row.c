/* Whole rows, column by column. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/payload.h"
#include "values/spelling_private.h"

/* A column of a row: its text without quotes and escapes, or as it stands there. */
struct column {
    struct iso_json_text name, text;
    bool is_string;
};

/* A row that is being read; texts of its columns are its own. */
struct columns {
    struct iso_json json;
    struct iso_payload copy;
    struct column *list;
    uint32_t count, capacity;
};

static void release(struct columns *columns)
{
    iso_json_release(&columns->json);
    iso_payload_release(&columns->copy);
    iso_free(columns->list);
}

static bool read_text(struct iso_json *json, struct column *column)
{
    column->is_string = iso_json_peek(json) == ISO_JSON_STRING;
    if (column->is_string)
        return iso_json_string(json, &column->text);
    column->text.at = json->at;
    bool fine = iso_json_skip(json);
    column->text.length = (size_t)(json->at - column->text.at);
    return fine;
}

static int compare_names(const void *left, const void *right)
{
    const struct column *a = left, *b = right;
    size_t common = a->name.length < b->name.length ? a->name.length : b->name.length;
    int order = common ? memcmp(a->name.at, b->name.at, common) : 0;
    return order ? order : (a->name.length > b->name.length) - (a->name.length < b->name.length);
}

/* By name. False: it is no object; release it all the same. */
static bool read_columns(struct columns *columns, struct iso_json_text row)
{
    struct column column;
    *columns = (struct columns){.count = 0};
    iso_json_init(&columns->json);
    iso_json_start(&columns->json, iso_payload_copy(&columns->copy, row.at, row.length),
                   row.length);
    if (iso_json_peek(&columns->json) != ISO_JSON_OBJECT)
        return false;
    iso_json_enter_object(&columns->json);
    while (iso_json_member(&columns->json, &column.name)) {
        if (!read_text(&columns->json, &column))
            return false;
        ISO_APPEND(*columns, column);
    }
    if (columns->count)
        qsort(columns->list, columns->count, sizeof *columns->list, compare_names);
    return iso_json_finish(&columns->json);
}

static bool is_null(const struct column *column)
{
    return !column->is_string && spelling_is_word(column->text, "null");
}

/* ---- spelling ---- */

/* Values that stand in rows without quotes. */
static bool is_bare(struct iso_value_type type, struct iso_json_text text)
{
    switch (type.kind) {
    case ISO_VALUE_INTEGER:
    case ISO_VALUE_INTEGER_64:
    case ISO_VALUE_BOOLEAN:
    case ISO_VALUE_DATE:
    case ISO_VALUE_TIMESTAMP:
    case ISO_VALUE_TIME:
    case ISO_VALUE_LIST:
    case ISO_VALUE_NESTED:
        return true;
    case ISO_VALUE_DOUBLE:
    case ISO_VALUE_FLOAT:
        return text.length && (spelling_is_digit(text.at[text.length - 1]));
    default:
        return false;
    }
}

static void put_column(const struct iso_column_types *types, const struct column *column,
                       struct iso_text *out)
{
    struct iso_text spelt = {0};
    struct iso_value_type type = types->type_of(types->context, column->name);
    if (!is_null(column) && iso_value_spell(type, column->text, &spelt)) {
        struct iso_json_text text = {spelt.bytes, spelt.used};
        if (is_bare(type, text))
            iso_text_put_bytes(out, text.at, text.length);
        else
            iso_text_put_string(out, text.at ? text.at : "", text.length);
    } else if (column->is_string) {
        iso_text_put_string(out, column->text.at, column->text.length);
    } else {
        iso_text_put_bytes(out, column->text.at, column->text.length);
    }
    iso_text_release(&spelt);
}

bool iso_row_spell(const struct iso_column_types *types, struct iso_json_text row,
                   struct iso_text *out)
{
    struct columns columns;
    bool fine = read_columns(&columns, row);
    for (uint32_t i = 0; fine && i < columns.count; i++) {
        iso_text_put(out, i ? "," : "{");
        iso_text_put_string(out, columns.list[i].name.at, columns.list[i].name.length);
        iso_text_put(out, ":");
        put_column(types, &columns.list[i], out);
    }
    if (fine)
        iso_text_put(out, columns.count ? "}" : "{}");
    release(&columns);
    return fine;
}

/* ---- comparing ---- */

static enum iso_likeness compare_columns(const struct iso_column_types *types,
                                         const struct column *one, const struct column *other,
                                         struct iso_spellers spellers)
{
    struct iso_value_type type = types->type_of(types->context, one->name);
    if (is_null(one) || is_null(other))
        return is_null(one) == is_null(other) ? ISO_VALUES_EQUAL : ISO_VALUES_DIFFER;
    return iso_values_compare(type, one->text, other->text, spellers);
}

static enum iso_likeness compare_rows(const struct iso_column_types *types,
                                      const struct columns *left, const struct columns *right,
                                      struct iso_spellers spellers,
                                      struct iso_row_difference *difference)
{
    enum iso_likeness worst = ISO_VALUES_EQUAL;
    if (left->count != right->count)
        return ISO_VALUES_DIFFER;
    for (uint32_t i = 0; i < left->count; i++) {
        const struct column *one = &left->list[i], *other = &right->list[i];
        if (compare_names(one, other) != 0)
            return ISO_VALUES_DIFFER;
        enum iso_likeness likeness = compare_columns(types, one, other, spellers);
        if (likeness > worst) {
            worst = likeness;
            iso_spelling_cut(difference->column, sizeof difference->column, one->name);
            iso_spelling_cut(difference->one, sizeof difference->one, one->text);
            iso_spelling_cut(difference->other, sizeof difference->other, other->text);
        }
    }
    return worst;
}

enum iso_likeness iso_rows_compare(const struct iso_column_types *types, struct iso_json_text one,
                                   struct iso_json_text other, struct iso_spellers spellers,
                                   struct iso_row_difference *difference)
{
    struct columns left, right;
    enum iso_likeness likeness = ISO_VALUES_DIFFER;
    *difference = (struct iso_row_difference){.column = ""};
    if (spelling_equal(one, other))
        return ISO_VALUES_EQUAL;
    bool is_row = read_columns(&left, one), are_rows = read_columns(&right, other) && is_row;
    if (are_rows)
        likeness = compare_rows(types, &left, &right, spellers, difference);
    release(&left);
    release(&right);
    return likeness;
}
