#include "values/value_type.h"

#include <stdlib.h>
#include <strings.h>

#include "base/payload.h"
#include "values/row.h"

struct meaning {
    const char *name;
    struct iso_value_type type;
};

static const struct meaning meanings[] = {
    {"io.debezium.time.Date", {ISO_VALUE_DATE, false, 0}},
    {"io.debezium.time.Timestamp", {ISO_VALUE_TIMESTAMP, false, 3}},
    {"io.debezium.time.MicroTimestamp", {ISO_VALUE_TIMESTAMP, false, 6}},
    {"io.debezium.time.NanoTimestamp", {ISO_VALUE_TIMESTAMP, false, 9}},
    {"io.debezium.time.ZonedTimestamp", {ISO_VALUE_INSTANT, true, 0}},
    {"io.debezium.time.Time", {ISO_VALUE_TIME, false, 3}},
    {"io.debezium.time.MicroTime", {ISO_VALUE_TIME, false, 6}},
    {"io.debezium.time.NanoTime", {ISO_VALUE_TIME, false, 9}},
    {"io.debezium.time.ZonedTime", {ISO_VALUE_ZONED_TIME, true, 0}},
    {"io.debezium.time.MicroDuration", {ISO_VALUE_TIME, false, 6}},
    {"io.debezium.time.NanoDuration", {ISO_VALUE_TIME, false, 9}},
    {"io.debezium.time.Year", {ISO_VALUE_INTEGER, false, 0}},
    {"io.debezium.data.Uuid", {ISO_VALUE_UUID, false, 0}},
    {"io.debezium.data.Json", {ISO_VALUE_JSON, true, 0}},
    {"io.debezium.data.Xml", {ISO_VALUE_TEXT, false, 0}},
    {"io.debezium.data.Enum", {ISO_VALUE_TEXT, false, 0}},
    {"io.debezium.data.EnumSet", {ISO_VALUE_TEXT, false, 0}},
    {"io.debezium.data.Ltree", {ISO_VALUE_TEXT, false, 0}},
    {"io.debezium.data.VariableScaleDecimal", {ISO_VALUE_NUMERIC, true, 0}},
    {"org.apache.kafka.connect.data.Date", {ISO_VALUE_DATE, false, 0}},
    {"org.apache.kafka.connect.data.Time", {ISO_VALUE_TIME, false, 3}},
    {"org.apache.kafka.connect.data.Timestamp", {ISO_VALUE_TIMESTAMP, false, 3}},
};

static const struct meaning plain_types[] = {
    {"int8", {ISO_VALUE_INTEGER, false, 0}},    {"int16", {ISO_VALUE_INTEGER, false, 0}},
    {"int32", {ISO_VALUE_INTEGER, false, 0}},   {"int64", {ISO_VALUE_INTEGER_64, false, 0}},
    {"boolean", {ISO_VALUE_BOOLEAN, false, 0}}, {"float", {ISO_VALUE_FLOAT, false, 0}},
    {"float32", {ISO_VALUE_FLOAT, false, 0}},   {"double", {ISO_VALUE_DOUBLE, false, 0}},
    {"float64", {ISO_VALUE_DOUBLE, false, 0}},  {"bytes", {ISO_VALUE_BYTES, false, 0}},
    {"string", {ISO_VALUE_ANY, false, 0}},      {"struct", {ISO_VALUE_NESTED, false, 0}},
    {"map", {ISO_VALUE_NESTED, false, 0}},
};

/* Databases' names of text types; PostgreSQL, MariaDB, MySQL. */
static const char *const texts[] = {
    "CHAR",     "VARCHAR", "TEXT",   "TINYTEXT",  "MEDIUMTEXT", "LONGTEXT", "CHARACTER",
    "NVARCHAR", "NCHAR",   "BPCHAR", "NAME",      "CITEXT",     "ENUM",     "SET",
    "INET4",    "INET6",   "INET",   "CIDR",      "MACADDR",    "MACADDR8", "XML",
    "TSVECTOR", "LTREE",   "JSON",   "INT4RANGE", "INT8RANGE"};

static bool is(struct iso_json_text text, const char *word)
{
    return text.length == strlen(word) && !strncasecmp(text.at, word, text.length);
}

/* "DECIMAL UNSIGNED" begins with DECIMAL. */
static bool begins(struct iso_json_text text, const char *word)
{
    size_t length = strlen(word);
    return text.length >= length && !strncasecmp(text.at, word, length) &&
           (text.length == length || text.at[length] == ' ' || text.at[length] == '(');
}

static struct iso_value_type decimal(bool has_scale, int32_t scale)
{
    if (has_scale && labs(scale) <= ISO_CELL_SCALE_MAX)
        return (struct iso_value_type){ISO_VALUE_DECIMAL, true, (int16_t)scale};
    return (struct iso_value_type){ISO_VALUE_NUMERIC, true, 0};
}

/* A string whose column the database calls so. */
static struct iso_value_type string_of(const struct iso_connect_type *said)
{
    static const char *const decimals[] = {"DECIMAL", "NUMERIC", "DEC", "FIXED", "MONEY"};
    for (size_t i = 0; i < sizeof decimals / sizeof *decimals; i++)
        if (begins(said->source, decimals[i]))
            /* PostgreSQL's numeric without a scale is told with 0 */
            return decimal(said->is_source_scaled &&
                               (said->source_scale || !begins(said->source, "NUMERIC")),
                           said->source_scale);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (begins(said->source, texts[i]))
            return (struct iso_value_type){ISO_VALUE_TEXT, false, 0};
    return (struct iso_value_type){ISO_VALUE_ANY, false, 0};
}

static struct iso_value_type of_plain(const struct iso_connect_type *said)
{
    if (said->source.length && ISO_PAYLOAD_IS(said->type, "string"))
        return string_of(said);
    if (begins(said->source, "FLOAT") && ISO_PAYLOAD_IS(said->type, "double") &&
        !said->is_source_scaled)
        return (struct iso_value_type){ISO_VALUE_FLOAT, false, 0};
    if (ISO_PAYLOAD_IS(said->type, "array")) {
        uint8_t items = said->items.kind;
        bool plain = items == ISO_VALUE_INTEGER || items == ISO_VALUE_INTEGER_64 ||
                     items == ISO_VALUE_BOOLEAN || items == ISO_VALUE_TEXT ||
                     items == ISO_VALUE_UUID;
        return (struct iso_value_type){plain ? ISO_VALUE_LIST : ISO_VALUE_NESTED, false, 0};
    }
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
        if (is(said->type, plain_types[i].name))
            return plain_types[i].type;
    return (struct iso_value_type){ISO_VALUE_ANY, false, 0};
}

struct iso_value_type iso_value_type_of(const struct iso_connect_type *said)
{
    if (!said->name.length)
        return of_plain(said);
    if (is(said->name, "org.apache.kafka.connect.data.Decimal"))
        return decimal(said->is_scaled, said->scale);
    if (is(said->name, "io.debezium.data.Bits") && said->has_length && said->length > 0 &&
        said->length <= INT16_MAX)
        return (struct iso_value_type){ISO_VALUE_BITS, false, (int16_t)said->length};
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (is(said->name, meanings[i].name))
            return meanings[i].type;
    /* A name that is not known: bits of varying length, intervals, geometry. */
    return (struct iso_value_type){
        ISO_PAYLOAD_IS(said->type, "struct") ? ISO_VALUE_NESTED : ISO_VALUE_ANY, false, 0};
}

static bool take_number(struct iso_json_text text, int32_t *number)
{
    char digits[12];
    if (!text.length || text.length >= sizeof digits)
        return false;
    memcpy(digits, text.at, text.length);
    digits[text.length] = 0;
    char *end;
    long value = strtol(digits, &end, 10);
    *number = (int32_t)value;
    return !*end && value >= INT32_MIN && value <= INT32_MAX;
}

void iso_connect_parameter(struct iso_connect_type *said, struct iso_json_text name,
                           struct iso_json_text value)
{
    if (is(name, "scale"))
        said->is_scaled =
            take_number(value, &said->scale) && labs(said->scale) <= ISO_CELL_SCALE_MAX;
    else if (is(name, "length"))
        said->has_length = take_number(value, &said->length);
    else if (is(name, "__debezium.source.column.type"))
        said->source = value;
    else if (is(name, "__debezium.source.column.scale"))
        said->is_source_scaled = take_number(value, &said->source_scale);
}

void iso_connect_parameters(struct iso_connect_type *said, struct iso_json *json)
{
    struct iso_json_text name, value;
    if (iso_json_peek(json) != ISO_JSON_OBJECT) {
        iso_json_skip(json);
        return;
    }
    iso_json_enter_object(json);
    while (iso_json_member(json, &name)) {
        if (iso_json_peek(json) != ISO_JSON_STRING)
            iso_json_skip(json);
        else if (iso_json_string(json, &value))
            iso_connect_parameter(said, name, value);
    }
}
