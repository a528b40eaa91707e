/* Rows from JSON objects. */
#include "values/row.h"

/* An integer that fits 64 bits, from digits that are known to be a JSON number. */
static bool parse_integer(const char *at, size_t length, struct iso_cell *cell)
{
    uint64_t bits;
    bool negative = *at == '-';
    if (!iso_bytes_decimal(at + negative, length - negative, &bits) ||
        (negative && bits > (uint64_t)1 << 63))
        return false;
    cell->kind = ISO_CELL_INTEGER;
    cell->negative = negative && bits;
    cell->bits = negative ? 0 - bits : bits;
    return true;
}

static bool read_number(struct iso_cell *cell, struct iso_json *json)
{
    const char *from = json->at;
    if (iso_json_short_integer(json, &cell->bits)) {
        cell->kind = ISO_CELL_INTEGER;
        cell->negative = false;
        return true;
    }
    if (!iso_json_skip(json))
        return false;
    size_t length = (size_t)(json->at - from);
    if (!parse_integer(from, length, cell)) {
        cell->kind = ISO_CELL_NUMBER;
        cell->text = from;
        cell->length = (uint32_t)length;
    }
    return true;
}

/* Whether a string stands where it was read: then it has no escapes, and needs none. */
static bool is_inside(const struct iso_json *json, const char *at)
{
    return at > json->start && at < json->end;
}

bool iso_cell_read_json_slow(struct iso_cell *cell, struct iso_json *json)
{
    struct iso_json_text text;
    bool truth;
    switch (iso_json_peek(json)) {
    case ISO_JSON_STRING:
        if (!iso_json_string(json, &text))
            return false;
        cell->kind = ISO_CELL_TEXT;
        cell->text = text.at;
        cell->length = (uint32_t)text.length;
        cell->is_plain = is_inside(json, text.at);
        return true;
    case ISO_JSON_DIGITS:
        return read_number(cell, json);
    case ISO_JSON_TRUE:
    case ISO_JSON_FALSE:
        if (!iso_json_boolean(json, &truth))
            return false;
        cell->kind = ISO_CELL_BOOLEAN;
        cell->bits = truth;
        return true;
    case ISO_JSON_NULL:
        cell->kind = ISO_CELL_NULL;
        return iso_json_null(json);
    default:
        cell->kind = ISO_CELL_JSON;
        cell->text = json->at;
        if (!iso_json_skip(json))
            return false;
        cell->length = (uint32_t)(json->at - cell->text);
        return true;
    }
}

bool iso_row_read_json(struct iso_row *row, struct iso_json *json)
{
    struct iso_json_text name;
    uint8_t meaning;
    if (!iso_json_enter_object(json))
        return false;
    iso_json_shape_start(&row->shape);
    while (iso_json_shape_member(json, &row->shape, NULL, NULL, &name, &meaning)) {
        struct iso_cell *cell = iso_row_add(row, name.at, name.length);
        cell->is_plain_name = is_inside(json, name.at);
        if (!iso_cell_read_json(cell, json))
            return false;
    }
    return json->code == ISO_JSON_FINE;
}
