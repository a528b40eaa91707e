#define _GNU_SOURCE
#include "connectors/ticdc/debezium_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "connectors/cdc_common/ddl_words.h"
#include "values/value_type.h"

void debezium_schema_release(struct debezium_schema *schema)
{
    iso_payload_release(&schema->text);
    iso_json_release(&schema->json);
    iso_free(schema->columns);
}

/* ---- reading ---- */

static void read_parameters(struct iso_json *json, struct debezium_column *column,
                            struct iso_connect_type *said)
{
    struct iso_json_text name, value;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (iso_json_peek(json) != ISO_JSON_STRING)
            iso_json_skip(json);
        else if (iso_json_string(json, &value) && ISO_PAYLOAD_IS(name, "allowed"))
            column->labels = value;
        else
            iso_connect_parameter(said, name, value);
    }
}

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, strlen(text)};
}

/* How Connect calls what TiDB's types become: each says the other where a message lacks it, as
 * without tidb_type (enable-tidb-extension=false) or without a schema. */
static const struct pair {
    const char *name, *type;
} pairs[] = {{"io.debezium.time.Date", "date"},
             {"io.debezium.time.Timestamp", "datetime"},
             {"io.debezium.time.MicroTimestamp", "datetime"},
             {"io.debezium.time.ZonedTimestamp", "timestamp"},
             {"io.debezium.time.MicroTime", "time"},
             {"io.debezium.data.Json", "json"},
             {"io.debezium.data.Enum", "enum"},
             {"io.debezium.data.EnumSet", "set"},
             {"io.debezium.data.Bits", "bit"},
             {"boolean", "bit"},
             {"int64", "bigint"},
             {"float", "float"},
             {"double", "double"}};
enum { PAIRS = sizeof pairs / sizeof *pairs, MICROS_PAIR = 2 };

static struct iso_json_text type_of(const struct iso_connect_type *said)
{
    struct iso_json_text name = said->name.length ? said->name : said->type;
    for (size_t i = 0; i < PAIRS; i++)
        if (iso_payload_is(name, pairs[i].name, strlen(pairs[i].name)))
            return text_of(pairs[i].type);
    return (struct iso_json_text){"", 0};
}

/* What values of a type that a statement defines are; the same with more than three places of a
 * second. */
static struct iso_value_type value_of(struct iso_json_text type)
{
    struct iso_connect_type said = {.type = {"", 0}, .name = {"", 0}, .source = {"", 0}};
    struct iso_ddl_words words = iso_ddl_words_of(type);
    size_t i = 0;
    if (!iso_ddl_next(&words))
        return (struct iso_value_type){ISO_VALUE_ANY, false, 0};
    while (i < PAIRS && !iso_ddl_is(&words, pairs[i].type))
        i++;
    if (i < PAIRS && i + 1 == MICROS_PAIR && iso_ddl_pass(&words, "(") && iso_ddl_next(&words))
        i += *words.token.at > '3';
    if (i < PAIRS)
        said.name = said.type = text_of(pairs[i].name);
    if (i < PAIRS && !strchr(pairs[i].name, '.'))
        said.name.length = 0;
    return iso_value_type_of(&said);
}

/* {"tidb_type":"int","type":"int32","optional":true,"field":"v","default":7} */
static void read_column(struct iso_json *json, struct debezium_schema *schema)
{
    struct debezium_column column = {.name = {"", 0}, .type = {"", 0}, .labels = {NULL, 0}};
    struct iso_connect_type said = {.type = {"", 0}, .name = {"", 0}, .source = {"", 0}};
    struct iso_json_text name;
    column.fallback.kind = ISO_CELL_UNKNOWN;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "field"))
            ticdc_read_text(json, &column.name);
        else if (ISO_PAYLOAD_IS(name, "tidb_type"))
            ticdc_read_text(json, &column.type);
        else if (ISO_PAYLOAD_IS(name, "type") && iso_json_peek(json) == ISO_JSON_STRING)
            ticdc_read_text(json, &said.type);
        else if (ISO_PAYLOAD_IS(name, "name"))
            ticdc_read_text(json, &said.name);
        else if (ISO_PAYLOAD_IS(name, "optional"))
            iso_json_boolean(json, &column.nullable);
        else if (ISO_PAYLOAD_IS(name, "default"))
            iso_cell_read_json(&column.fallback, json);
        else if (ISO_PAYLOAD_IS(name, "parameters") && iso_json_peek(json) == ISO_JSON_OBJECT)
            read_parameters(json, &column, &said);
        else
            iso_json_skip(json);
    }
    column.value = iso_value_type_of(&said);
    if (!column.type.length)
        column.type = type_of(&said);
    else if (column.value.kind == ISO_VALUE_ANY)
        column.value = value_of(column.type);
    ISO_GROW(schema->columns, schema->count, schema->capacity);
    schema->columns[schema->count++] = column;
}

/* {"field":"after","fields":[..]} of the envelope's; `before` has the same columns. */
static void read_part(struct iso_json *json, struct debezium_schema *schema)
{
    struct iso_json_text name, field = {"", 0};
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        bool is_row = ISO_PAYLOAD_IS(field, "after") && ISO_PAYLOAD_IS(name, "fields");
        if (ISO_PAYLOAD_IS(name, "field"))
            ticdc_read_text(json, &field);
        else if (!is_row || iso_json_peek(json) != ISO_JSON_ARRAY)
            iso_json_skip(json);
        else
            for (iso_json_enter_array(json); json->code == ISO_JSON_FINE && iso_json_element(json);)
                read_column(json, schema);
    }
}

static void read_schema(struct iso_json *json, struct debezium_schema *schema)
{
    struct iso_json_text name;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (!ISO_PAYLOAD_IS(name, "fields") || iso_json_peek(json) != ISO_JSON_ARRAY)
            iso_json_skip(json);
        else
            for (iso_json_enter_array(json); json->code == ISO_JSON_FINE && iso_json_element(json);)
                read_part(json, schema);
    }
}

void debezium_schema_take(struct debezium_schema *schema, struct iso_json *json)
{
    if (iso_json_peek(json) != ISO_JSON_OBJECT) {
        iso_json_skip(json);
        return;
    }
    const char *from = json->at;
    if (schema->length && (size_t)(json->end - from) >= schema->length &&
        !memcmp(from, schema->json.start, schema->length)) {
        json->at = from + schema->length;
        return;
    }
    if (!iso_json_skip(json))
        return;
    schema->count = 0;
    schema->length = (size_t)(json->at - from);
    iso_json_start(&schema->json, iso_payload_copy(&schema->text, from, schema->length),
                   schema->length);
    read_schema(&schema->json, schema);
    if (schema->json.code != ISO_JSON_FINE) /* none of Connect's: it says nothing */
        schema->count = schema->length = 0;
}

/* ---- what is known of one column ---- */

struct said {
    struct iso_json_text type, labels;
    struct iso_value_type value;
    bool nullable, has_default;
    const struct iso_cell *fallback;    /* NULL: not comparable */
    const struct ticdc_column *defined; /* by a statement; NULL: by none */
};

static const struct debezium_column *find_column(const struct debezium_schema *schema,
                                                 const struct iso_cell *cell, uint32_t guess)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct debezium_column *column = &schema->columns[(guess + i) % schema->count];
        if (iso_payload_is(column->name, cell->name, cell->name_length))
            return column;
    }
    return NULL;
}

/* False: nobody says what the column is. */
static bool find_said(const struct debezium_schema *schema, const struct ticdc_table *table,
                      const struct iso_cell *cell, uint32_t guess, struct said *said)
{
    const struct debezium_column *column = find_column(schema, cell, guess);
    *said = (struct said){.labels = {NULL, 0}, .value = {ISO_VALUE_ANY, false, 0}};
    said->defined = table ? ticdc_table_column(table, cell, guess) : NULL;
    if (column) {
        said->type = column->type;
        said->labels = column->labels;
        said->value = column->value;
        said->nullable = column->nullable;
        said->has_default =
            column->fallback.kind != ISO_CELL_UNKNOWN && column->fallback.kind != ISO_CELL_NULL;
        said->fallback = &column->fallback;
    } else if (said->defined) {
        said->type = text_of(said->defined->type);
        said->value = value_of(said->type);
        said->nullable = said->defined->nullable;
        said->has_default = said->defined->fallback;
    }
    return column || said->defined;
}

static bool is_of(const struct said *said, const char *word)
{
    struct iso_ddl_words words = iso_ddl_words_of(said->type);
    return iso_ddl_next(&words) && iso_ddl_is(&words, word);
}

/* ---- values ---- */

/* A default that NULL was replaced with. */
static bool may_be_null(const struct said *said, const struct iso_cell *cell)
{
    if (!said->nullable || !said->has_default || cell->kind == ISO_CELL_NULL)
        return false;
    const struct iso_cell *fallback = said->fallback;
    if (!fallback || fallback->kind != cell->kind)
        return true;                    /* written in another way: nothing says that they differ */
    if (cell->kind == ISO_CELL_INTEGER) /* the default went through a double */
        return cell->negative == fallback->negative &&
               (double)(int64_t)cell->bits == (double)(int64_t)fallback->bits;
    if (cell->kind == ISO_CELL_TEXT && !said->labels.at && !is_of(said, "timestamp"))
        return cell->length == fallback->length &&
               !memcmp(cell->text, fallback->text, cell->length);
    return true;
}

/* Whether the value is a stand-in: for a date of zeros, or a number that is too large. */
static bool is_stand_in(const struct said *said, const struct iso_cell *cell)
{
    static const char epoch[] = "1970-01-01T00:00:00Z";
    struct iso_json_text text = {cell->text, cell->length};
    if (cell->kind == ISO_CELL_NULL)
        return is_of(said, "date") || is_of(said, "datetime");
    if (cell->kind == ISO_CELL_TEXT && is_of(said, "timestamp"))
        return text.length >= 19 && !memcmp(text.at, epoch, 19);
    return cell->kind == ISO_CELL_INTEGER && cell->negative && cell->bits == UINT64_MAX &&
           is_of(said, "bigint");
}

static bool is_decimal(const struct said *said)
{
    return is_of(said, "decimal") || is_of(said, "numeric") || is_of(said, "dec") ||
           is_of(said, "fixed");
}

/* A decimal of so few digits that a double has them all, with all places of its scale. False: what
 * it was is not known. */
static bool set_decimal(const struct said *said, struct ticdc *ticdc, struct iso_cell *cell)
{
    enum { DIGITS_MOST = 15, ROOM = 64 };
    int precision = 10, scale = 0;
    const char *bracket = said->defined ? strchr(said->defined->type, '(') : NULL;
    if (!said->defined || (bracket && sscanf(bracket, "(%d ,%d", &precision, &scale) < 1) ||
        precision > DIGITS_MOST || scale < 0 || scale > precision)
        return false;
    double number = cell->kind == ISO_CELL_INTEGER
                        ? cell->negative ? -(double)(0 - cell->bits) : (double)cell->bits
                        : 0;
    char digits[ROOM], *room = ticdc_room(ticdc, ROOM);
    if (cell->kind == ISO_CELL_NUMBER) {
        if (cell->length >= sizeof digits)
            return false;
        memcpy(digits, cell->text, cell->length);
        digits[cell->length] = 0;
        number = strtod(digits, NULL);
    } else if (cell->kind != ISO_CELL_INTEGER) {
        return false;
    }
    cell->length = (uint32_t)snprintf(room, ROOM, "%.*f", scale, number);
    cell->kind = ISO_CELL_TEXT;
    cell->text = room;
    cell->is_plain = false;
    return cell->length < ROOM;
}

/* `true`, or base64 of little-endian bytes: a number. */
static void set_bits(struct iso_cell *cell)
{
    uint8_t bytes[16];
    size_t size = 0;
    uint64_t bits = 0;
    if (cell->kind == ISO_CELL_BOOLEAN)
        ticdc_set_integer(cell, cell->bits, false);
    if (cell->kind != ISO_CELL_TEXT || cell->length > 12 ||
        !iso_base64_decode(cell->text, cell->length, bytes, &size))
        return;
    while (size--)
        bits = bits << 8 | bytes[size];
    ticdc_set_integer(cell, bits, false);
}

/* False: what the row has is not known. */
static bool set_value(const struct said *said, struct ticdc *ticdc, struct iso_cell *cell)
{
    cell->value = said->value;
    if (may_be_null(said, cell) || is_stand_in(said, cell))
        return false;
    bool is_number = cell->kind == ISO_CELL_INTEGER || cell->kind == ISO_CELL_NUMBER;
    if (is_decimal(said)) {
        cell->value = (struct iso_value_type){ISO_VALUE_NUMERIC, false, 0};
        return cell->kind == ISO_CELL_NULL || set_decimal(said, ticdc, cell);
    }
    if (is_of(said, "enum") || is_of(said, "set")) {
        cell->value = (struct iso_value_type){ISO_VALUE_LABEL, false,
                                              is_of(said, "set") ? ISO_LABELS_SET : 0};
        if (said->labels.at)
            iso_labels_add(&ticdc->typed.labels, &cell->value, said->labels, iso_labels_of_allowed);
    } else if (is_of(said, "bit")) {
        cell->value.kind = ISO_VALUE_ANY;
        set_bits(cell);
    } else if (is_number && (is_of(said, "float") || is_of(said, "double"))) {
        if (cell->kind == ISO_CELL_NUMBER)
            ticdc_set_text(cell, is_of(said, "float") ? TICDC_FLOAT : TICDC_DOUBLE,
                           (struct iso_json_text){cell->text, cell->length});
    } else if (cell->kind == ISO_CELL_INTEGER && cell->negative && ticdc_is_unsigned(said->type)) {
        cell->negative = false; /* above 2^63 */
    }
    if (cell->value.kind <= ISO_VALUE_INTEGER_64 || cell->value.kind == ISO_VALUE_JSON)
        cell->value.kind = ISO_VALUE_ANY;
    return true;
}

static bool is_key(const struct ticdc *ticdc, const struct iso_cell *cell)
{
    for (uint32_t i = 0; i < ticdc->key_count; i++)
        if (iso_payload_is(ticdc->key_names[i], cell->name, cell->name_length))
            return true;
    return false;
}

/* The default of a binary column comes twice, in base64 and as it is: what the row has is not
 * known. */
static bool drop_twins(struct iso_row *row)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_cell *last = kept ? &row->cells[kept - 1] : NULL, *cell = &row->cells[i];
        if (last && last->name_length == cell->name_length &&
            iso_bytes_equal(last->name, cell->name, cell->name_length))
            last->kind = ISO_CELL_UNKNOWN;
        else
            row->cells[kept++] = *cell;
    }
    bool dropped = kept < row->count;
    row->count = kept;
    return dropped;
}

bool debezium_schema_apply(const struct debezium_schema *schema, const struct ticdc_table *table,
                           struct ticdc *ticdc, struct iso_row *row)
{
    bool lossy = drop_twins(row);
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_cell *cell = &row->cells[i];
        struct said said;
        bool is_said = find_said(schema, table, cell, i, &said);
        if (is_key(ticdc, cell)) {
            cell->is_doubted = is_said && !set_value(&said, ticdc, cell);
            continue;
        }
        if (cell->kind != ISO_CELL_UNKNOWN && is_said && set_value(&said, ticdc, cell))
            continue;
        cell->kind = ISO_CELL_UNKNOWN;
        cell->is_doubted = lossy = true;
    }
    return lossy;
}
