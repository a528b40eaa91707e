/* Types of a TiDB's columns, and their values in each of TiCDC's protocols. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "tests/support/tidb_world.h"

#define AVRO(type, name)                                                                           \
    "{\"type\":\"" type "\",\"connect.parameters\":{\"tidb_type\":\"" name "\"}}"
#define CONNECT(tidb, type) "\"tidb_type\":\"" tidb "\",\"type\":\"" type "\""
#define NAMED(tidb, type, name)                                                                    \
    CONNECT(tidb, type) ",\"name\":\"io.debezium." name "\",\"version\":1"

const struct tidb_type tidb_types[TIDB_FORMS] = {
    {TIDB_INTEGER,
     "INT",
     "int",
     3,
     65,
     AVRO("int", "INT"),
     CONNECT("int", "int32"),
     {"-7", "0", "42", "2147483647"}},
    {TIDB_UNSIGNED,
     "BIGINT UNSIGNED",
     "bigint unsigned",
     8,
     193,
     AVRO("long", "BIGINT UNSIGNED"),
     CONNECT("bigint unsigned", "int64"),
     {"0", "18446744073709551614", "9223372036854775808", "12"}},
    {TIDB_DECIMAL,
     "DECIMAL(12,2)",
     "decimal",
     246,
     65,
     "{\"type\":\"bytes\",\"connect.parameters\":{\"tidb_type\":\"DECIMAL\"},\"logicalType\":\"decimal\",\"precision\":12,\"scale\":2}",
     CONNECT("decimal", "double"),
     {"1.50", "-3.25", "0.00", "1000000.01"}},
    {TIDB_FLOAT,
     "FLOAT",
     "float",
     4,
     65,
     AVRO("float", "FLOAT"),
     CONNECT("float", "float"),
     {"0.5", "-2.25", "3", "0.1"}},
    {TIDB_DOUBLE,
     "DOUBLE",
     "double",
     5,
     65,
     AVRO("double", "DOUBLE"),
     CONNECT("double", "double"),
     {"0.1", "-1.5", "3", "12345.678"}},
    {TIDB_VARCHAR,
     "VARCHAR(20)",
     "varchar",
     15,
     64,
     AVRO("string", "TEXT"),
     CONNECT("varchar", "string"),
     {"x y", "\xc3\xa4\"\\", "", "7"}},
    {TIDB_TEXT,
     "TEXT",
     "text",
     252,
     64,
     AVRO("string", "TEXT"),
     CONNECT("text", "string"),
     {"text", "a,b", "", "~"}},
    {TIDB_BYTES,
     "VARBINARY(20)",
     "varbinary",
     15,
     65,
     AVRO("bytes", "BLOB"),
     CONNECT("varbinary", "string"),
     {"/wA=", "", "AQID", "iVBORw0K"}},
    {TIDB_BLOB,
     "BLOB",
     "blob",
     252,
     65,
     AVRO("bytes", "BLOB"),
     CONNECT("blob", "string"),
     {"iVBORw0K", "", "AP8BAg==", "/w=="}},
    {TIDB_BIT,
     "BIT(64)",
     "bit",
     16,
     193,
     "{\"type\":\"bytes\",\"connect.parameters\":{\"length\":\"64\",\"tidb_type\":\"BIT\"}}",
     NAMED("bit", "bytes", "data.Bits") ",\"parameters\":{\"length\":\"64\"}",
     {"0", "1", "18446744073709551615", "9223372036854775808"}},
    {TIDB_ENUM,
     "ENUM('a','b','c,d')",
     "enum",
     247,
     64,
     "{\"type\":\"string\",\"connect.parameters\":{\"allowed\":\"a,b,c\\\\,d\",\"tidb_type\":\"ENUM\"}}",
     NAMED("enum", "string", "data.Enum") ",\"parameters\":{\"allowed\":\"a,b,c\\\\,d\"}",
     {"1", "2", "3", "3"}},
    {TIDB_SET,
     "SET('a','b','c')",
     "set",
     248,
     64,
     "{\"type\":\"string\",\"connect.parameters\":{\"allowed\":\"a,b,c\",\"tidb_type\":\"SET\"}}",
     NAMED("set", "string", "data.EnumSet") ",\"parameters\":{\"allowed\":\"a,b,c\"}",
     {"0", "1", "5", "7"}},
    {TIDB_DATE,
     "DATE",
     "date",
     10,
     65,
     AVRO("string", "DATE"),
     NAMED("date", "int32", "time.Date"),
     {"2024-02-29", "1999-12-31", "1970-01-02", "9999-12-31"}},
    {TIDB_DATETIME,
     "DATETIME(6)",
     "datetime",
     12,
     65,
     AVRO("string", "DATETIME"),
     NAMED("datetime", "int64", "time.MicroTimestamp"),
     {"2024-02-29 12:34:56.500000", "1999-12-31 23:59:59.000000", "1970-01-02 00:00:00.000001",
      "2038-01-19 03:14:08.000000"}},
    {TIDB_TIMESTAMP,
     "TIMESTAMP",
     "timestamp",
     7,
     65,
     AVRO("string", "TIMESTAMP"),
     NAMED("timestamp", "string", "time.ZonedTimestamp"),
     {"2024-02-29 12:34:56", "1999-12-31 23:59:59", "1970-01-02 00:00:01", "2038-01-19 03:14:07"}},
    {TIDB_TIME,
     "TIME",
     "time",
     11,
     65,
     AVRO("string", "TIME"),
     NAMED("time", "int64", "time.MicroTime"),
     {"12:34:56", "-12:34:56", "838:59:59", "00:00:01"}},
    {TIDB_YEAR,
     "YEAR",
     "year",
     13,
     193,
     AVRO("int", "YEAR"),
     NAMED("year", "int32", "time.Year"),
     {"2024", "1970", "2155", "0"}},
    {TIDB_JSON,
     "JSON",
     "json",
     245,
     65,
     AVRO("string", "JSON"),
     NAMED("json", "string", "data.Json"),
     {"{\"a\": 1}", "null", "[1, 2]", "\"s\""}},
};

const struct tidb_type tidb_key_text = {TIDB_VARCHAR,
                                        "VARCHAR(20)",
                                        "varchar",
                                        15,
                                        64,
                                        AVRO("string", "TEXT"),
                                        CONNECT("varchar", "string"),
                                        {"a,b/c%", "7", "", "\xc3\xa4 "}};

/* What becomes of an INT column. */
const struct tidb_type tidb_key_decimal = {
    TIDB_DECIMAL,
    "DECIMAL(12,2)",
    "decimal",
    246,
    65,
    "{\"type\":\"bytes\",\"connect.parameters\":{\"tidb_type\":\"DECIMAL\"},\"logicalType\":\"decimal\",\"precision\":12,\"scale\":2}",
    CONNECT("decimal", "double"),
    {"-7.00", "0.00", "42.00", "2147483647.00"}};

/* ---- rows ---- */

const char *tidb_key_name(uint32_t place)
{
    static const char *const names[TIDB_KEYS] = {
        "z", "a", "m", "b"}; /* by the index's order; not the alphabet's */
    return names[place];
}

uint32_t tidb_cells(const struct tidb_world *world, const struct tidb_schema *schema,
                    const uint32_t *key, const struct tidb_values *values, struct tidb_cell *cells)
{
    uint32_t count = 0;
    (void)world;
    for (uint32_t i = 0; i < schema->key_count; i++) {
        uint32_t place = schema->order[i];
        struct tidb_cell *cell = &cells[count++];
        *cell = (struct tidb_cell){.type = schema->key[place],
                                   .text = schema->key[place]->pool[key[place]],
                                   .is_key = true};
        snprintf(cell->name, sizeof cell->name, "%s", tidb_key_name(place));
    }
    for (uint32_t c = 0; c < schema->column_count; c++) {
        const struct tidb_column *column = &schema->columns[c];
        if (column->is_dropped)
            continue;
        struct tidb_cell *cell = &cells[count++];
        *cell = (struct tidb_cell){.type = column->type,
                                   .text = values->of[c] < 0 ? NULL
                                                             : column->type->pool[values->of[c]]};
        memcpy(cell->name, column->name, sizeof cell->name);
    }
    return count;
}

void tidb_put_create(struct iso_text *text, const struct tidb_schema *schema)
{
    struct tidb_values none = {{0}};
    struct tidb_cell cells[TIDB_KEYS + TIDB_COLUMNS];
    uint32_t zeros[TIDB_KEYS] = {0}, count = tidb_cells(NULL, schema, zeros, &none, cells),
             next = 0;
    iso_text_format(text, "CREATE TABLE `%s` (", schema->name);
    for (uint32_t i = 0; i < count; i++) {
        iso_text_format(text, "%s`%s` %s", i ? ", " : "", cells[i].name, cells[i].type->sql);
        while (!cells[i].is_key && schema->columns[next].is_dropped)
            next++;
        if (cells[i].is_key)
            iso_text_put(text, " NOT NULL");
        else if (schema->columns[next++].has_default)
            iso_text_format(text, " DEFAULT %s", cells[i].type->pool[2]);
    }
    iso_text_put(text, schema->is_unique ? ", UNIQUE KEY `uk` (" : ", PRIMARY KEY (");
    for (uint32_t i = 0; i < schema->key_count; i++)
        iso_text_format(text, "%s`%s`", i ? ", " : "", tidb_key_name(i));
    iso_text_put(text, "))");
}

/* ---- parts of values ---- */

static size_t bytes_of(const struct tidb_cell *cell, uint8_t bytes[64])
{
    size_t size = 0;
    if (!iso_base64_decode(cell->text, strlen(cell->text), bytes, &size))
        abort();
    return size;
}

static bool is_binary(const struct tidb_cell *cell)
{
    return cell->type->form == TIDB_BYTES || cell->type->form == TIDB_BLOB;
}

bool tidb_is_label(const struct tidb_cell *cell)
{
    return cell->type->form == TIDB_ENUM || cell->type->form == TIDB_SET;
}

const char *tidb_label_of(const struct tidb_cell *cell)
{
    static const char *const enums[] = {"", "a", "b", "c,d"};
    static const char *const sets[] = {"", "a", "b", "a,b", "c", "a,c", "b,c", "a,b,c"};
    return cell->type->form == TIDB_ENUM ? enums[atoi(cell->text)] : sets[atoi(cell->text)];
}

static bool is_number(const struct tidb_cell *cell)
{
    enum tidb_form form = cell->type->form;
    return form == TIDB_INTEGER || form == TIDB_UNSIGNED || form == TIDB_FLOAT ||
           form == TIDB_DOUBLE || form == TIDB_BIT || form == TIDB_YEAR;
}

static void put_string(struct iso_text *text, const char *string)
{
    iso_text_put_string(text, string, strlen(string));
}

void tidb_put_long(struct iso_text *text, uint64_t number)
{
    uint64_t bits = number << 1 ^ (uint64_t)((int64_t)number >> 63);
    do {
        uint8_t byte = (uint8_t)((bits & 0x7f) | (bits > 0x7f ? 0x80 : 0));
        iso_text_put_bytes(text, &byte, 1);
        bits >>= 7;
    } while (bits);
}

void tidb_put_run(struct iso_text *text, const char *bytes, size_t length)
{
    tidb_put_long(text, length);
    iso_text_put_bytes(text, bytes, length);
}

static uint64_t number_of(const char *text)
{
    return *text == '-' ? 0 - strtoull(text + 1, NULL, 10) : strtoull(text, NULL, 10);
}

static void put_float(struct iso_text *text, const char *number)
{
    float value = strtof(number, NULL);
    iso_text_put_bytes(text, &value, sizeof value);
}

static void put_double(struct iso_text *text, const char *number)
{
    double value = strtod(number, NULL);
    iso_text_put_bytes(text, &value, sizeof value);
}

/* ---- one for each protocol ---- */

void tidb_put_canal(struct iso_text *text, const struct tidb_cell *cell)
{
    uint8_t bytes[64];
    char latin[128];
    size_t used = 0;
    if (!cell->text || !is_binary(cell)) {
        if (cell->text)
            put_string(text, cell->text);
        else
            iso_text_put(text, "null");
        return;
    }
    size_t size = bytes_of(cell, bytes);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] >= 0x80)
            latin[used++] = (char)(0xc0 | bytes[i] >> 6);
        latin[used++] = (char)(bytes[i] >= 0x80 ? 0x80 | (bytes[i] & 0x3f) : bytes[i]);
    }
    iso_text_put_string(text, latin, used);
}

void tidb_put_open(struct iso_text *text, const struct tidb_cell *cell)
{
    uint8_t bytes[64];
    unsigned flags = cell->is_key ? (cell->type->flags | 2) & ~64u : cell->type->flags;
    iso_text_format(text, "\"%s\":{\"t\":%u,%s\"f\":%u,\"v\":", cell->name, cell->type->open_type,
                    cell->is_key ? "\"h\":true," : "", flags);
    if (!cell->text) {
        iso_text_put(text, "null");
    } else if (is_number(cell) || tidb_is_label(cell)) {
        iso_text_put(text, cell->text);
    } else if (cell->type->form == TIDB_TEXT) {
        char coded[128];
        iso_base64_encode((const uint8_t *)cell->text, strlen(cell->text), coded);
        iso_text_put_string(text, coded, iso_base64_length(strlen(cell->text)));
    } else if (cell->type->form == TIDB_BYTES) {
        size_t size = bytes_of(cell, bytes);
        iso_text_put(text, "\"");
        for (size_t i = 0; i < size; i++)
            iso_text_format(text, "\\\\x%02x", bytes[i]);
        iso_text_put(text, "\"");
    } else {
        put_string(text, cell->text);
    }
    iso_text_put(text, "}");
}

void tidb_put_simple(struct iso_text *text, const struct tidb_cell *cell)
{
    if (!cell->text)
        iso_text_put(text, "null");
    else if (cell->type->form == TIDB_TIMESTAMP)
        iso_text_format(text, "{\"location\":\"Local\",\"value\":\"%s\"}", cell->text);
    else
        put_string(text, cell->text);
}

void tidb_put_simple_avro(struct iso_text *text, const struct tidb_cell *cell)
{
    uint8_t bytes[64];
    enum tidb_form form = cell->type->form;
    bool unsigned_ = form == TIDB_UNSIGNED || form == TIDB_BIT;
    bool integer = form == TIDB_INTEGER || form == TIDB_YEAR || tidb_is_label(cell);
    tidb_put_long(text, !cell->text              ? 0
                        : unsigned_              ? 7
                        : integer                ? 1
                        : form == TIDB_FLOAT     ? 2
                        : form == TIDB_DOUBLE    ? 3
                        : is_binary(cell)        ? 5
                        : form == TIDB_TIMESTAMP ? 6
                                                 : 4);
    if (!cell->text)
        return;
    if (unsigned_ || integer)
        tidb_put_long(text, number_of(cell->text));
    else if (form == TIDB_FLOAT)
        put_float(text, cell->text);
    else if (form == TIDB_DOUBLE)
        put_double(text, cell->text);
    else if (is_binary(cell))
        tidb_put_run(text, (char *)bytes, bytes_of(cell, bytes));
    else {
        if (form == TIDB_TIMESTAMP)
            tidb_put_run(text, "Local", 5);
        tidb_put_run(text, cell->text, strlen(cell->text));
    }
}

/* High bytes first, without those that the sign implies. */
static void put_unscaled(struct iso_text *text, int64_t number)
{
    uint8_t bytes[8], first = 0;
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)number >> (56 - 8 * i));
    while (first < 7 && bytes[first] == (number < 0 ? 0xff : 0) &&
           (bytes[first + 1] >> 7) == (number < 0))
        first++;
    tidb_put_run(text, (char *)bytes + first, 8u - first);
}

static int64_t cents_of(const char *decimal)
{
    int64_t number = strtoll(decimal, NULL, 10) * 100,
            rest = strtoll(strchr(decimal, '.') + 1, NULL, 10);
    return *decimal == '-' ? number - rest : number + rest;
}

void tidb_put_avro(struct iso_text *text, const struct tidb_cell *cell)
{
    uint8_t bytes[64];
    enum tidb_form form = cell->type->form;
    if (!cell->is_key)
        tidb_put_long(text, cell->text != NULL);
    if (!cell->text)
        return;
    if (form == TIDB_INTEGER || form == TIDB_UNSIGNED || form == TIDB_YEAR)
        tidb_put_long(text, number_of(cell->text));
    else if (form == TIDB_FLOAT)
        put_float(text, cell->text);
    else if (form == TIDB_DOUBLE)
        put_double(text, cell->text);
    else if (form == TIDB_DECIMAL)
        put_unscaled(text, cents_of(cell->text));
    else if (form == TIDB_BIT) {
        uint64_t bits = __builtin_bswap64(number_of(cell->text));
        tidb_put_run(text, (char *)&bits, sizeof bits);
    } else if (is_binary(cell)) {
        tidb_put_run(text, (char *)bytes, bytes_of(cell, bytes));
    } else {
        const char *string = tidb_is_label(cell) ? tidb_label_of(cell) : cell->text;
        tidb_put_run(text, string, strlen(string));
    }
}

/* Days since 1970 of the date that the text begins with. */
static int64_t days_of(const char *text)
{
    int year, month, day;
    if (sscanf(text, "%d-%d-%d", &year, &month, &day) != 3)
        abort();
    year -= month <= 2;
    int64_t era = year / 400, of_era = year % 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t micros_of(const char *clock)
{
    bool negative = *clock == '-';
    int hours, minutes, seconds, micros = 0;
    if (sscanf(clock + negative, "%d:%d:%d.%6d", &hours, &minutes, &seconds, &micros) < 3)
        abort();
    int64_t all = ((hours * 60LL + minutes) * 60 + seconds) * 1000000 + micros;
    return negative ? -all : all;
}

void tidb_put_debezium(struct iso_text *text, const struct tidb_cell *cell, bool has_default)
{
    enum tidb_form form = cell->type->form;
    if (!cell->text && has_default) { /* what it does */
        iso_text_put(text, cell->type->pool[2]);
    } else if (!cell->text) {
        iso_text_put(text, "null");
    } else if (form == TIDB_UNSIGNED) {
        iso_text_format(text, "%lld", (long long)number_of(cell->text));
    } else if (form == TIDB_DECIMAL) {
        iso_text_format(text, "%.10g", strtod(cell->text, NULL));
    } else if (form == TIDB_BIT) {
        uint64_t bits = number_of(cell->text);
        char coded[16];
        iso_base64_encode((const uint8_t *)&bits, sizeof bits, coded);
        iso_text_put_string(text, coded, iso_base64_length(sizeof bits));
    } else if (is_number(cell)) {
        iso_text_put(text, cell->text);
    } else if (tidb_is_label(cell)) {
        put_string(text, tidb_label_of(cell));
    } else if (form == TIDB_DATE) {
        iso_text_format(text, "%lld", (long long)days_of(cell->text));
    } else if (form == TIDB_DATETIME) {
        iso_text_format(
            text, "%lld",
            (long long)(days_of(cell->text) * 86400000000LL + micros_of(cell->text + 11)));
    } else if (form == TIDB_TIME) {
        iso_text_format(text, "%lld", (long long)micros_of(cell->text));
    } else if (form == TIDB_TIMESTAMP) {
        iso_text_format(text, "\"%.10sT%sZ\"", cell->text, cell->text + 11);
    } else {
        put_string(text, cell->text);
    }
}

void tidb_put_csv(struct iso_text *text, const struct tidb_cell *cell)
{
    if (!cell->text) {
        iso_text_put(text, "\\N");
        return;
    }
    const char *string = tidb_is_label(cell) ? tidb_label_of(cell) : cell->text;
    if (is_number(cell)) {
        iso_text_put(text, string);
        return;
    }
    iso_text_put(text, "\"");
    for (; *string; string++)
        iso_text_put_bytes(text, *string == '"' ? "\"\"" : string, *string == '"' ? 2 : 1);
    iso_text_put(text, "\"");
}
