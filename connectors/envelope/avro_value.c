#include "connectors/envelope/avro_value.h"

#include "connectors/envelope/nested.h"
#include "base/payload.h"
#include "values/value_type.h"

/* ---- what types are ---- */

static bool has_field(const struct iso_avro_type *type, const char *name)
{
    for (uint32_t i = 0; i < type->count; i++)
        if (!strcmp(type->fields[i].name, name))
            return true;
    return false;
}

static uint8_t use_of(const struct iso_avro_type *type)
{
    if (type->shape != ISO_AVRO_RECORD)
        return AVRO_PLAIN;
    if (type->connect_name && !strcmp(type->connect_name, "io.debezium.data.VariableScaleDecimal"))
        return AVRO_VARIABLE_DECIMAL;
    return type->count == 2 && has_field(type, "value") && has_field(type, "set") ? AVRO_CELL
                                                                                  : AVRO_PLAIN;
}

static uint32_t digest_of(const struct iso_avro_type *type)
{
    const char *meaning = type->connect_name ? type->connect_name : "";
    const uint8_t shape = type->shape;
    if (type->is_decimal)
        return ISO_TYPE_DECIMAL | (uint32_t)type->scale;
    if (type->use == AVRO_VARIABLE_DECIMAL || (type->shape == ISO_AVRO_STRING && !*meaning))
        return ISO_TYPE_STRING;
    return iso_type_digest((const char *)&shape, sizeof shape, meaning, strlen(meaning));
}

/* The type of a column, below null and {value, set}. */
static uint32_t digest_inside(const struct iso_avro_type *type)
{
    for (uint32_t i = 0; type->shape == ISO_AVRO_UNION && i < type->count; i++)
        if (type->branches[i]->shape != ISO_AVRO_NULL)
            return type->branches[i]->shape == ISO_AVRO_UNION ? 0
                                                              : digest_inside(type->branches[i]);
    for (uint32_t i = 0; type->use == AVRO_CELL && i < type->count; i++)
        if (!strcmp(type->fields[i].name, "value"))
            return type->fields[i].type->use == AVRO_CELL ? 0 : digest_inside(type->fields[i].type);
    return digest_of(type);
}

static const char *const plain_names[] = {
    [ISO_AVRO_BOOLEAN] = "boolean", [ISO_AVRO_INT] = "int32",     [ISO_AVRO_LONG] = "int64",
    [ISO_AVRO_FLOAT] = "float",     [ISO_AVRO_DOUBLE] = "double", [ISO_AVRO_BYTES] = "bytes",
    [ISO_AVRO_STRING] = "string",   [ISO_AVRO_FIXED] = "bytes",   [ISO_AVRO_ENUM] = "string",
    [ISO_AVRO_RECORD] = "struct",   [ISO_AVRO_ARRAY] = "array",   [ISO_AVRO_MAP] = "map",
    [ISO_AVRO_NULL] = "",           [ISO_AVRO_UNION] = ""};

static struct iso_value_type value_with_parameters(struct iso_connect_type *said,
                                                   const char *parameters)
{
    struct iso_payload padded = {0};
    struct iso_json json;
    iso_json_init(&json);
    iso_json_start(&json, iso_payload_copy(&padded, parameters, strlen(parameters)),
                   strlen(parameters));
    iso_connect_parameters(said, &json);
    struct iso_value_type value = iso_value_type_of(said);
    iso_json_release(&json);
    iso_payload_release(&padded);
    return value;
}

static struct iso_value_type value_of(const struct iso_avro_type *type)
{
    const char *plain = plain_names[type->shape],
               *name = type->connect_name ? type->connect_name : "";
    struct iso_connect_type said = {.type = {plain, strlen(plain)}, .name = {name, strlen(name)}};
    if (type->is_decimal)
        return (struct iso_value_type){ISO_VALUE_DECIMAL, false, (int16_t)type->scale};
    if (type->shape == ISO_AVRO_ARRAY && type->items)
        said.items = type->items->value;
    return type->parameters ? value_with_parameters(&said, type->parameters)
                            : iso_value_type_of(&said);
}

/* The type of a column's values, below null and {value, set}. */
static struct iso_value_type value_inside(const struct iso_avro_type *type)
{
    for (uint32_t i = 0; type->shape == ISO_AVRO_UNION && i < type->count; i++)
        if (type->branches[i]->shape != ISO_AVRO_NULL && type->branches[i]->shape != ISO_AVRO_UNION)
            return value_inside(type->branches[i]);
    for (uint32_t i = 0; type->use == AVRO_CELL && i < type->count; i++)
        if (!strcmp(type->fields[i].name, "value") && type->fields[i].type->use != AVRO_CELL)
            return value_inside(type->fields[i].type);
    return value_of(type);
}

/* Items before the arrays that have them. */
static void prepare_values(struct iso_avro_schema *schema)
{
    for (int arrays = 0; arrays < 2; arrays++)
        for (uint32_t i = 0; i < schema->type_count; i++)
            schema->types[i].value = value_inside(&schema->types[i]);
}

void avro_value_prepare(struct iso_avro_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        struct iso_avro_field *field = &schema->fields[i];
        for (int scope = 0; scope < ISO_AVRO_USES; scope++)
            field->use[scope] =
                (uint8_t)iso_member_find((enum iso_member_scope)scope, field->name, field->length);
    }
    for (uint32_t i = 0; i < schema->type_count; i++)
        schema->types[i].use = use_of(&schema->types[i]);
    for (uint32_t i = 0; i < schema->type_count; i++) {
        struct iso_avro_type *type = &schema->types[i];
        for (uint32_t b = 0; type->shape == ISO_AVRO_UNION && b < type->count; b++)
            if (type->branches[b]->use == AVRO_CELL)
                type->use = AVRO_CELL_OR_NULL;
    }
    for (uint32_t i = 0; i < schema->type_count; i++)
        schema->types[i].digest = digest_inside(&schema->types[i]);
    prepare_values(schema);
}

void *avro_value_parse(const char *text, size_t length, struct iso_error *error)
{
    struct iso_avro_schema *schema = iso_avro_schema_parse(text, length, error);
    if (schema)
        avro_value_prepare(schema);
    return schema;
}

/* ---- nested values: they go into the reading's text as JSON ---- */

static void put_value(struct avro_reading *reading, const struct iso_avro_type *type);

static void put_blocks(struct avro_reading *reading, const struct iso_avro_type *type)
{
    struct iso_avro_cursor *cursor = &reading->cursor;
    struct iso_text *text = reading->nested;
    bool is_map = type->shape == ISO_AVRO_MAP, first = true;
    iso_text_put(text, is_map ? "{" : "[");
    for (uint64_t count; (count = iso_avro_block(cursor));)
        for (; count && !cursor->expected; count--, first = false) {
            if (!first)
                iso_text_put(text, ",");
            if (is_map) {
                struct iso_json_text key = iso_avro_string(cursor);
                iso_text_put_string(text, key.at, key.length);
                iso_text_put(text, ":");
            }
            put_value(reading, type->items);
        }
    iso_text_put(text, is_map ? "}" : "]");
}

static void put_record(struct avro_reading *reading, const struct iso_avro_type *type)
{
    struct iso_text *text = reading->nested;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        iso_text_put(text, i ? "," : "{");
        iso_text_put_string(text, field->name, field->length);
        iso_text_put(text, ":");
        put_value(reading, field->type);
    }
    iso_text_put(text, type->count ? "}" : "{}");
}

static void put_value(struct avro_reading *reading, const struct iso_avro_type *type)
{
    struct iso_cell cell = {0};
    type = iso_avro_inside(type, &reading->cursor);
    if (!iso_avro_enter(&reading->cursor)) {
        iso_avro_leave(&reading->cursor);
        return;
    }
    if (type->shape == ISO_AVRO_RECORD && type->use != AVRO_VARIABLE_DECIMAL) {
        put_record(reading, type);
    } else if (type->shape == ISO_AVRO_ARRAY || type->shape == ISO_AVRO_MAP) {
        put_blocks(reading, type);
    } else {
        avro_value_read(reading, type, &cell);
        if (!reading->cursor.expected)
            iso_cell_put_json(reading->nested, &cell);
    }
    iso_avro_leave(&reading->cursor);
}

/* ---- cells ---- */

static void read_binary(struct iso_avro_cursor *cursor, const struct iso_avro_type *type,
                        struct iso_cell *cell)
{
    struct iso_json_text run =
        type->shape == ISO_AVRO_FIXED ? iso_avro_bytes(cursor, type->count) : iso_avro_run(cursor);
    wire_text(cell, type->is_decimal ? ISO_CELL_DECIMAL : ISO_CELL_BYTES, run.at, run.length);
    cell->scale = type->scale;
    if (type->is_decimal && (!run.length || run.length > ISO_CELL_DECIMAL_BYTES))
        iso_avro_fail(cursor, "a decimal of 1 to 64 bytes");
}

/* {scale, value}, in either order. */
static void read_variable_decimal(struct avro_reading *reading, const struct iso_avro_type *type,
                                  struct iso_cell *cell)
{
    int64_t scale = ISO_CELL_SCALE_MAX + 1;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        struct iso_cell inner = {0};
        avro_value_read(reading, field->type, &inner);
        if (inner.kind == ISO_CELL_INTEGER && !strcmp(field->name, "scale"))
            scale = (int64_t)inner.bits;
        else if (inner.kind == ISO_CELL_BYTES && !strcmp(field->name, "value"))
            wire_text(cell, ISO_CELL_DECIMAL, inner.text, inner.length);
    }
    cell->scale = (int32_t)scale;
    if (cell->kind != ISO_CELL_DECIMAL || !cell->length || cell->length > ISO_CELL_DECIMAL_BYTES ||
        scale > ISO_CELL_SCALE_MAX || scale < -ISO_CELL_SCALE_MAX)
        iso_avro_fail(&reading->cursor, "a decimal with its scale");
}

static void read_nested(struct avro_reading *reading, const struct iso_avro_type *type,
                        struct iso_cell *cell)
{
    size_t start = reading->nested->used;
    if (type->use == AVRO_VARIABLE_DECIMAL) {
        if (iso_avro_enter(&reading->cursor))
            read_variable_decimal(reading, type, cell);
        iso_avro_leave(&reading->cursor);
        return;
    }
    put_value(reading, type);
    wire_json(cell, reading->nested, start);
}

void avro_value_read(struct avro_reading *reading, const struct iso_avro_type *type,
                     struct iso_cell *cell)
{
    struct iso_avro_cursor *cursor = &reading->cursor;
    const struct iso_avro_field *symbol;
    struct iso_json_text run;
    type = iso_avro_inside(type, cursor);
    switch ((enum iso_avro_shape)type->shape) {
    case ISO_AVRO_NULL:
        cell->kind = ISO_CELL_NULL;
        return;
    case ISO_AVRO_BOOLEAN:
        cell->kind = ISO_CELL_BOOLEAN;
        cell->bits = iso_avro_boolean(cursor);
        return;
    case ISO_AVRO_INT:
        wire_signed(cell, iso_avro_int(cursor));
        return;
    case ISO_AVRO_LONG:
        wire_signed(cell, iso_avro_long(cursor));
        return;
    case ISO_AVRO_FLOAT:
        cell->kind = ISO_CELL_FLOAT;
        cell->bits = iso_avro_word(cursor, 4);
        return;
    case ISO_AVRO_DOUBLE:
        cell->kind = ISO_CELL_DOUBLE;
        cell->bits = iso_avro_word(cursor, 8);
        return;
    case ISO_AVRO_BYTES:
    case ISO_AVRO_FIXED:
        read_binary(cursor, type, cell);
        return;
    case ISO_AVRO_STRING:
        run = iso_avro_string(cursor);
        wire_text(cell, ISO_CELL_TEXT, run.at, run.length);
        return;
    case ISO_AVRO_ENUM:
        symbol = &type->fields[iso_avro_choice(cursor, type->count)];
        if (!cursor->expected)
            wire_text(cell, ISO_CELL_TEXT, symbol->name, symbol->length);
        return;
    default:
        read_nested(reading, type, cell);
    }
}

/* ---- rows ---- */

/* A cell that is null says nothing of its column. */
static void read_cell(struct avro_reading *reading, const struct iso_avro_type *type,
                      struct iso_cell *cell)
{
    bool set = true;
    type = iso_avro_inside(type, &reading->cursor);
    if (type->use != AVRO_CELL) {
        avro_value_read(reading, type, cell);
        cell->kind = type->shape == ISO_AVRO_NULL ? ISO_CELL_UNKNOWN : cell->kind;
        return;
    }
    for (uint32_t i = 0; i < type->count; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        bool is_value = !strcmp(field->name, "value");
        struct iso_cell mark = {0};
        avro_value_read(reading, field->type, is_value ? cell : &mark);
        set &= is_value || (mark.kind == ISO_CELL_BOOLEAN && mark.bits);
    }
    cell->in_cell = true;
    if (!set)
        cell->kind = ISO_CELL_UNKNOWN;
}

/* A default stands first in its union: one that is not null may stand in the column's place. */
static bool is_nullable(const struct iso_avro_type *column)
{
    return column->shape == ISO_AVRO_UNION && column->count > 1 &&
           column->branches[0]->shape == ISO_AVRO_NULL && column->use == AVRO_PLAIN;
}

void avro_value_row(struct avro_reading *reading, const struct iso_avro_type *type, bool cells,
                    struct iso_row *row, bool *is_null)
{
    struct iso_avro_cursor *cursor = &reading->cursor;
    type = iso_avro_inside(type, cursor);
    *is_null = type->shape == ISO_AVRO_NULL;
    if (*is_null)
        return;
    if (type->shape != ISO_AVRO_RECORD)
        iso_avro_fail(cursor, "a record of columns");
    for (uint32_t i = 0; i < type->count && !cursor->expected; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        const struct iso_avro_type *column = field->type;
        struct iso_cell *cell = iso_row_add(row, field->name, field->length);
        cell->type = column->digest;
        cell->value = column->value;
        cell->is_nullable = is_nullable(column);
        if (cells && column->use >= AVRO_CELL)
            read_cell(reading, column, cell);
        else
            avro_value_read(reading, column, cell);
    }
}
