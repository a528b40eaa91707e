/* One message of each of TiCDC's protocols. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/feed_ticdc.h"
#include "tests/support/pack.h"

const char *const feed_ticdc_formats[] = {"canal-json", "open-protocol", "simple", "simple-avro",
                                          "avro",       "debezium",      "csv",    NULL};

static void put(struct iso_text *text, const char *string)
{
    iso_text_put(text, string);
}

static void put_json(struct iso_text *text, struct iso_bytes bytes)
{
    if (bytes.data)
        iso_text_put_string(text, bytes.data, bytes.size);
    else
        put(text, "null");
}

/* "V|W": the first, and the rest, or null; `~` stands for null. */
static struct iso_bytes split_value(struct iso_bytes *value)
{
    const uint8_t *bar = value->data ? memchr(value->data, '|', value->size) : NULL;
    struct iso_bytes rest = {bar && bar[1] != '~' ? bar + 1 : NULL,
                             bar ? (uint32_t)(value->data + value->size - bar - 1) : 0};
    if (bar)
        *value = (struct iso_bytes){*value->data == '~' ? NULL : value->data,
                                    (uint32_t)(bar - value->data)};
    return rest;
}

/* The parts of a composite identity "Z,A,M", of PRIMARY KEY (z, a, m), in the table's order or by
 * name. */
enum { PARTS = 3 };
static const struct part {
    const char *name;
    unsigned place; /* in the index */
} by_table[PARTS] = {{"m", 2}, {"z", 0}, {"a", 1}}, by_name[PARTS] = {{"a", 1}, {"m", 2}, {"z", 0}};

static bool is_composite(const struct feed_ticdc_row *row)
{
    return memchr(row->id.data, ',', row->id.size);
}

static struct iso_bytes part_of(struct iso_bytes id, unsigned place)
{
    for (; place; place--) {
        const uint8_t *comma = memchr(id.data, ',', id.size);
        id = (struct iso_bytes){comma + 1, (uint32_t)(id.data + id.size - comma - 1)};
    }
    const uint8_t *comma = memchr(id.data, ',', id.size);
    return (struct iso_bytes){id.data, comma ? (uint32_t)(comma - id.data) : id.size};
}

/* Each part behind its name in quotes and `before`, and `after` behind it; or so the one column
 * `id`. */
static void put_identity(struct iso_text *text, struct iso_bytes id, const struct part parts[PARTS],
                         const char *before, const char *after)
{
    bool composite = memchr(id.data, ',', id.size);
    for (unsigned i = 0; i < (composite ? PARTS : 1); i++) {
        put(text, i ? ",\"" : "\"");
        put(text, composite ? parts[i].name : "id");
        put(text, before);
        put_json(text, composite ? part_of(id, parts[i].place) : id);
        put(text, after);
    }
}

/* The statement that made the table, as JSON's text without quotes. */
static void put_create(struct iso_text *text, const struct feed_ticdc_row *row)
{
    put(text, "CREATE TABLE `");
    iso_text_put_bytes(text, row->table.data, row->table.size);
    put(text,
        is_composite(row)
            ? "` (m VARCHAR(99), z VARCHAR(99), a VARCHAR(99), v VARCHAR(99), PRIMARY KEY (z, a, m))"
            : "` (id VARCHAR(99) PRIMARY KEY, v VARCHAR(99), w VARCHAR(99) /* of cells */)");
}

/* {"id":..,"v":..}, or null. */
static void put_marked_row(struct iso_text *text, struct iso_bytes id, struct iso_bytes value,
                           struct iso_bytes marker)
{
    if (!value.data) {
        put(text, "null");
        return;
    }
    bool has_cells = memchr(value.data, '|', value.size);
    struct iso_bytes other = split_value(&value);
    put(text, "{");
    put_identity(text, id, by_table, "\":", "");
    put(text, ",\"v\":");
    put_json(text, value);
    if (has_cells) {
        put(text, ",\"w\":");
        put_json(text, other);
    }
    if (marker.data) {
        put(text, ",\"m\":");
        put_json(text, marker);
    }
    put(text, "}");
}

static void put_row(struct iso_text *text, struct iso_bytes id, struct iso_bytes value)
{
    put_marked_row(text, id, value, (struct iso_bytes){NULL, 0});
}

static void put_member(struct iso_text *text, const char *name, uint64_t number)
{
    put(text, name);
    iso_text_put_unsigned(text, number);
}

static const char *type_of(const struct feed_ticdc_row *row, const char *insert, const char *update,
                           const char *delete)
{
    return !row->before.data ? insert : row->after.data ? update : delete;
}

/* ---- canal-json ---- */

static void put_list(struct iso_text *text, struct iso_bytes id, struct iso_bytes value,
                     struct iso_bytes marker)
{
    if (value.data)
        put(text, "[");
    put_marked_row(text, id, value, marker);
    if (value.data)
        put(text, "]");
}

static void canal(const struct feed_ticdc_row *row, uint64_t cts, bool bootstrap,
                  struct iso_text *text)
{
    if (!row) {
        put_member(
            text,
            "{\"id\":0,\"database\":\"\",\"table\":\"\",\"pkNames\":null,\"isDdl\":false,\"type\":\"TIDB_WATERMARK\",\"es\":1,\"ts\":1,"
            "\"sql\":\"\",\"sqlType\":null,\"mysqlType\":null,\"data\":null,\"old\":null,\"_tidb\":{\"watermarkTs\":",
            cts);
        put(text, "}}");
        return;
    }
    put(text, "{\"id\":0,\"database\":");
    put_json(text, row->database);
    put(text, ",\"table\":");
    put_json(text, row->table);
    if (bootstrap) {
        put(text, ",\"pkNames\":null,\"isDdl\":true,\"type\":\"CREATE\",\"sql\":\"");
        put_create(text, row);
        put(text, "\",\"data\":null,\"old\":null,\"_tidb\":{\"commitTs\":1}}");
        return;
    }
    put(text, is_composite(row) ? ",\"pkNames\":[\"m\",\"z\",\"a\"],\"isDdl\":false,\"type\":\""
                                : ",\"pkNames\":[\"id\"],\"isDdl\":false,\"type\":\"");
    put(text, type_of(row, "INSERT", "UPDATE", "DELETE"));
    put(text,
        "\",\"es\":1,\"ts\":1,\"sql\":\"\",\"sqlType\":{\"id\":12,\"v\":12},\"mysqlType\":{\"id\":\"varchar\",");
    put(text, row->cells ? "\"w\":\"varchar\"," : "");
    put(text, "\"v\":\"varchar\"},\"old\":");
    static const uint8_t another[] = "another";
    struct iso_bytes before = {row->marker.data ? another : NULL, sizeof another - 1};
    put_list(text, row->id, row->after.data ? row->before : row->after, before);
    put(text, ",\"data\":");
    put_list(text, row->id, row->after.data ? row->after : row->before,
             row->after.data ? row->marker : before);
    put_member(text, ",\"_tidb\":{\"commitTs\":", cts);
    put(text, "}}");
}

/* ---- open-protocol ---- */

static void put_word(struct iso_text *text, uint64_t word)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(word >> (56 - 8 * i));
    iso_text_put_bytes(text, bytes, sizeof bytes);
}

static void put_columns(struct iso_text *text, const char *name, struct iso_bytes id,
                        struct iso_bytes value)
{
    put(text, name);
    put(text, "{");
    put_identity(text, id, by_name, "\":{\"t\":15,\"h\":true,\"f\":10,\"v\":", "}");
    bool has_cells = memchr(value.data, '|', value.size);
    struct iso_bytes other = split_value(&value);
    put(text, ",\"v\":{\"t\":15,\"f\":64,\"v\":");
    put_json(text, value);
    if (has_cells) {
        put(text, "},\"w\":{\"t\":15,\"f\":64,\"v\":");
        put_json(text, other);
    }
    put(text, "}}");
}

static void open(const struct feed_ticdc_row *row, uint64_t cts, bool bootstrap,
                 const char *compression, struct feed_ticdc_message *message)
{
    struct iso_text key = {0}, value = {0}, packed = {0};
    put_member(&key, "{\"ts\":", bootstrap ? 1 : cts);
    if (row) {
        put(&key, ",\"scm\":");
        put_json(&key, row->database);
        put(&key, ",\"tbl\":");
        put_json(&key, row->table);
        put(&key, bootstrap ? ",\"t\":2}" : ",\"t\":1}");
        put(&value, bootstrap ? "{\"q\":\"" : "{");
        if (bootstrap) {
            put_create(&value, row);
            put(&value, "\",\"t\":3");
        }
        if (row->after.data)
            put_columns(&value, "\"u\":", row->id, row->after);
        if (row->after.data && row->before.data)
            put(&value, ",");
        if (row->before.data)
            put_columns(&value, row->after.data ? "\"p\":" : "\"d\":", row->id, row->before);
        put(&value, "}");
        pack(&packed, compression, value.bytes, value.used);
    } else {
        put(&key, ",\"t\":3}");
    }
    message->has_key = true;
    put_word(&message->key, 1);
    put_word(&message->key, key.used);
    iso_text_put_bytes(&message->key, key.bytes, key.used);
    put_word(&message->payload, packed.used);
    if (packed.used)
        iso_text_put_bytes(&message->payload, packed.bytes, packed.used);
    iso_text_release(&key);
    iso_text_release(&value);
    iso_text_release(&packed);
}

/* ---- simple ---- */

#define COLUMN(name)                                                                               \
    "{\"name\":\"" name                                                                            \
    "\",\"dataType\":{\"mysqlType\":\"varchar\"},\"nullable\":false,\"default\":null}"

static void simple(const struct feed_ticdc_row *row, uint64_t cts, bool bootstrap,
                   struct iso_text *text)
{
    if (!row) {
        put_member(text, "{\"version\":1,\"type\":\"WATERMARK\",\"commitTs\":", cts);
        put(text, ",\"buildTs\":1}");
        return;
    }
    put(text,
        bootstrap
            ? "{\"version\":1,\"type\":\"BOOTSTRAP\",\"commitTs\":0,\"buildTs\":1,\"tableSchema\":{\"schema\":"
            : "{\"version\":1,\"database\":");
    put_json(text, row->database);
    put(text, ",\"table\":");
    put_json(text, row->table);
    if (bootstrap) {
        put(text, ",\"tableID\":1,\"version\":4,\"columns\":[");
        put(text, is_composite(row) ? COLUMN("m") "," COLUMN("z") "," COLUMN("a") : COLUMN("id"));
        put(text, "," COLUMN("v"));
        put(text, row->cells ? "," COLUMN("w") : "");
        put(text,
            "],\"indexes\":[{\"name\":\"primary\",\"unique\":true,\"primary\":true,\"nullable\":false,\"columns\":[");
        put(text, is_composite(row) ? "\"z\",\"a\",\"m\"]}]}}" : "\"id\"]}]}}");
        return;
    }
    put(text, ",\"tableID\":1,\"type\":\"");
    put(text, type_of(row, "INSERT", "UPDATE", "DELETE"));
    put_member(text, "\",\"commitTs\":", cts);
    if (row->sts)
        put_member(text, ",\"startTs\":", row->sts);
    put(text, ",\"buildTs\":1,\"schemaVersion\":4,\"data\":");
    put_row(text, row->id, row->after);
    put(text, ",\"old\":");
    put_row(text, row->id, row->before);
    put(text, "}");
}

/* ---- Avro ---- */

static void put_long(struct iso_text *text, uint64_t number)
{
    uint64_t bits = number << 1 ^ (uint64_t)((int64_t)number >> 63);
    do {
        uint8_t byte = (uint8_t)((bits & 0x7f) | (bits > 0x7f ? 0x80 : 0));
        iso_text_put_bytes(text, &byte, 1);
        bits >>= 7;
    } while (bits);
}

static void put_bytes(struct iso_text *text, struct iso_bytes bytes)
{
    put_long(text, bytes.size);
    iso_text_put_bytes(text, bytes.data, bytes.size);
}

static void put_text(struct iso_text *text, const char *string)
{
    put_bytes(text, (struct iso_bytes){(const uint8_t *)string, (uint32_t)strlen(string)});
}

static void put_map(struct iso_text *text, struct iso_bytes id, struct iso_bytes value)
{
    put_long(text, value.data != NULL);
    if (!value.data)
        return;
    put_long(text, 2);
    put_text(text, "v");
    put_long(text, 4);
    put_bytes(text, value);
    put_text(text, "id");
    put_long(text, 4);
    put_bytes(text, id);
    put_long(text, 0);
}

static void put_avro_column(struct iso_text *text, const char *name)
{
    put_text(text, name);
    put_text(text, "varchar");
    put_text(text, "utf8mb4");
    put_text(text, "utf8mb4_bin");
    put_long(text, 16);
    iso_text_put_bytes(text, "\0\0\0\0\0\0",
                       6); /* decimal, elements, unsigned, zerofill; nullable; default */
}

static void simple_avro(const struct feed_ticdc_row *row, uint64_t cts, bool bootstrap,
                        struct iso_text *text)
{
    uint64_t kind = !row ? 0 : bootstrap ? 1 : 3;
    put_long(text, 11);
    put_long(text, kind);
    put_long(text, kind);
    put_long(text, 1);
    if (!row) {
        put_long(text, cts);
        put_long(text, 1);
        return;
    }
    if (bootstrap)
        put_long(text, 1);
    put_bytes(text, row->database);
    put_bytes(text, row->table);
    put_long(text, 1);
    if (bootstrap) {
        put_long(text, 4);
        put_long(text, 2);
        put_avro_column(text, "id");
        put_avro_column(text, "v");
        put_long(text, 0);
        put_long(text, 1);
        put_text(text, "primary");
        iso_text_put_bytes(text, "\1\1\0", 3);
        put_long(text, 1);
        put_text(text, "id");
        put_long(text, 0);
        put_long(text, 0);
        return;
    }
    put_long(text, !row->before.data ? 0 : row->after.data ? 1 : 2);
    put_long(text, cts);
    put_long(text, 1);
    put_long(text, 4);
    iso_text_put_bytes(text, "\0\0\0", 3); /* claimCheckLocation, handleKeyOnly, checksum */
    put_map(text, row->id, row->after);
    put_map(text, row->id, row->before);
}

#define AVRO_COLUMN(name)                                                                          \
    "{\"name\":\"" name                                                                            \
    "\",\"type\":{\"type\":\"string\",\"connect.parameters\":{\"tidb_type\":\"TEXT\"}}}"
#define AVRO_RECORD(fields)                                                                        \
    "{\"name\":\"t0\",\"namespace\":\"default.test\",\"type\":\"record\",\"fields\":[" fields "]}"

static const char avro_schemas[] = AVRO_RECORD(AVRO_COLUMN("id") "," AVRO_COLUMN(
    "v") ",{\"name\":\"_tidb_op\",\"type\":\"string\"},{\"name\":\"_tidb_commit_ts\",\"type\":\"long\"},"
         "{\"name\":\"_tidb_commit_physical_time\",\"type\":\"long\"},{\"name\":\"_ticdc_before\",\"type\":[\"null\",{\"type\":\"record\","
         "\"name\":\"t0_before\",\"fields\":[" AVRO_COLUMN("id") "," AVRO_COLUMN("v") "]}]}")
    AVRO_RECORD(AVRO_COLUMN("id"));

static void avro(const struct feed_ticdc_row *row, uint64_t cts, struct feed_ticdc_message *message)
{
    struct iso_text *text = &message->payload;
    if (!row) {
        iso_text_put_bytes(text, "\2", 1);
        put_word(text, cts);
        return;
    }
    message->has_key = true;
    iso_text_put_bytes(&message->key, "\0\0\0\0\2", 5);
    put_bytes(&message->key, row->id);
    iso_text_put_bytes(text, "\0\0\0\0\1", 5);
    put_bytes(text, row->id);
    put_bytes(text, row->after.data ? row->after : row->before);
    put_text(text, type_of(row, "c", "u", "d"));
    put_long(text, cts);
    put_long(text, cts >> 18);
    put_long(text, row->before.data && row->after.data);
    if (row->before.data && row->after.data) {
        put_bytes(text, row->id);
        put_bytes(text, row->before);
    }
}

/* ---- debezium ---- */

static void debezium(const struct feed_ticdc_row *row, uint64_t cts, bool bootstrap,
                     const char *compression, struct feed_ticdc_message *message)
{
    static const struct iso_bytes nothing = {(const uint8_t *)"", 0};
    struct iso_text key = {0}, value = {0};
    put(&key, "{\"payload\":{");
    if (row)
        put_identity(&key, row->id, by_table, "\":", "");
    put(&key, "}}");
    put(&value,
        "{\"payload\":{\"source\":{\"version\":\"2.4.0.Final\",\"connector\":\"TiCDC\",\"name\":\"c1\",\"ts_ms\":1,\"snapshot\":\"false\",\"db\":");
    put_json(&value, row ? row->database : nothing);
    put(&value, ",\"table\":");
    put_json(&value, row ? row->table : nothing);
    put_member(&value, ",\"server_id\":0,\"gtid\":null,\"commit_ts\":", bootstrap ? 1 : cts);
    if (row && row->sts)
        put_member(&value, ",\"start_ts\":", row->sts);
    put(&value, ",\"cluster_id\":\"c1\"},\"ts_ms\":1,");
    put(&value, bootstrap ? "\"ddl\":\"" : "\"transaction\":null,\"op\":\"");
    if (bootstrap)
        put_create(&value, row);
    else
        put(&value, !row ? "m" : type_of(row, "c", "u", "d"));
    put(&value, "\"");
    if (row && !bootstrap) {
        put(&value, ",\"before\":");
        put_row(&value, row->id, row->before);
        put(&value, ",\"after\":");
        put_row(&value, row->id, row->after);
    }
    put(&value, "}}");
    message->has_key = true;
    pack(&message->key, compression, key.bytes, key.used);
    pack(&message->payload, compression, value.bytes, value.used);
    iso_text_release(&key);
    iso_text_release(&value);
}

/* ---- csv ---- */

static void put_quoted(struct iso_text *text, struct iso_bytes bytes)
{
    put(text, "\"");
    for (uint32_t i = 0; i < bytes.size; i++)
        iso_text_put_bytes(text, bytes.data[i] == '"' ? "\"\"" : (const char *)&bytes.data[i],
                           bytes.data[i] == '"' ? 2 : 1);
    put(text, "\"");
}

static void put_line(struct iso_text *text, const char *operation, const struct feed_ticdc_row *row,
                     struct iso_bytes value)
{
    put(text, operation);
    put_quoted(text, row->table);
    put(text, ",");
    put_quoted(text, row->database);
    put_member(text, ",", row->cts);
    put(text, row->before.data && row->after.data ? ",true," : ",false,");
    put_quoted(text, row->id);
    put(text, ",");
    put_quoted(text, value);
    put(text, "\n");
}

static void csv(const struct feed_ticdc_row *row, uint64_t cts, struct iso_text *text)
{
    if (!row) {
        put_member(text, "{\"checkpoint-ts\":", cts);
        put(text, "}");
        return;
    }
    if (row->before.data)
        put_line(text, "\"D\",", row, row->before);
    if (row->after.data)
        put_line(text, "\"I\",", row, row->after);
}

/* ---- all of them ---- */

bool feed_ticdc_encode(const char *format, const char *compression,
                       const struct feed_ticdc_row *row, uint64_t cts, bool bootstrap,
                       struct feed_ticdc_message *message)
{
    struct iso_text text = {0};
    if (!strcmp(format, "open-protocol"))
        open(row, cts, bootstrap, compression, message);
    else if (!strcmp(format, "debezium"))
        debezium(row, cts, bootstrap, compression, message);
    else if (!strcmp(format, "avro"))
        avro(row, cts, message);
    else if (!strcmp(format, "simple"))
        simple(row, cts, bootstrap, &text);
    else if (!strcmp(format, "simple-avro"))
        simple_avro(row, cts, bootstrap, &text);
    else if (!strcmp(format, "csv"))
        csv(row, cts, &text);
    else if (!strcmp(format, "canal-json"))
        canal(row, cts, bootstrap, &text);
    else
        return false;
    if (text.used)
        pack(&message->payload, compression, text.bytes, text.used);
    iso_text_release(&text);
    return true;
}

static enum iso_status find_schema(void *context, uint32_t id, struct iso_schema *schema,
                                   struct iso_error *error)
{
    (void)context;
    static const char *const middle = "]}{\"name\""; /* where the first record ends */
    const char *second = strstr(avro_schemas, middle) + 2;
    if (id != 1 && id != 2)
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u is not there", id);
    *schema = (struct iso_schema){ISO_SCHEMA_AVRO, id == 1 ? avro_schemas : second,
                                  id == 1 ? (size_t)(second - avro_schemas) : strlen(second)};
    return ISO_OK;
}

void feed_ticdc_decoder_options(const char *format, struct iso_decoder_options *options)
{
    static const struct iso_schema_provider registry = {find_schema, NULL};
    static const char csv_schema[] =
        "{\"Schema\":\"test\",\"Table\":\"t0\",\"TableColumns\":[{\"ColumnName\":\"id\",\"ColumnType\":\"VARCHAR\","
        "\"ColumnIsPk\":\"true\"},{\"ColumnName\":\"v\",\"ColumnType\":\"VARCHAR\"}]}";
    options->format = format;
    options->value = "v";
    if (!strcmp(format, "csv"))
        options->schema = csv_schema;
    if (!strcmp(format, "avro")) {
        options->registry = &registry;
        options->framed = true;
    }
}
