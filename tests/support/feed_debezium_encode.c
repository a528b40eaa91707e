/* Debezium's messages in five encodings, written out by hand after the formats' specifications. */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "tests/support/feed_debezium_private.h"

enum { ID_CHANGE = 1, ID_KEY, ID_METADATA, ID_MESSAGE, AMOUNT_SCALE = 2 };

/* Two bytes, big-endian. */
static void amount_of(const struct feed_row *row, uint8_t amount[2])
{
    amount[0] = 0;
    amount[1] = row->has_amount ? row->amount : 150;
}

static bool has_amount(const struct feed_row *row)
{
    return !row->key_only && !row->is_amount_null;
}

static void transaction_id(bool binlog, uint32_t xid, uint64_t lsn, char text[64])
{
    if (binlog)
        snprintf(text, 64, "0-1-%u", xid);
    else
        snprintf(text, 64, "%u:%llu", xid, (unsigned long long)lsn);
}

static void sequence(const struct feed_change *change, char text[64])
{
    char previous[32] = "null";
    if (change->previous)
        snprintf(previous, sizeof previous, "\"%llu\"", (unsigned long long)change->previous);
    snprintf(text, 64, "[%s,\"%llu\"]", previous, (unsigned long long)change->lsn);
}

/* ---- JSON ---- */

static const char decimal_schema[] =
    "{\"type\":\"bytes\",\"optional\":true,\"name\":\"org.apache.kafka.connect.data.Decimal\",\"version\":1,"
    "\"parameters\":{\"scale\":\"2\",\"connect.decimal.precision\":\"12\"},\"field\":\"amt\"}";

static void json_text(struct iso_text *text, const struct feed_text *value)
{
    if (!value->at)
        iso_text_put(text, "null");
    else if (value->is_number)
        iso_text_put_bytes(text, value->at, value->length);
    else
        iso_text_put_string(text, value->at, value->length);
}

static void json_row(struct iso_text *text, const struct feed_row *row)
{
    if (row->is_null) {
        iso_text_put(text, "null");
        return;
    }
    iso_text_put(text, "{\"k\":");
    json_text(text, &row->key);
    iso_text_put(text, ",\"v\":");
    json_text(text, row->key_only ? &(struct feed_text){NULL, 0, false} : &row->value);
    iso_text_put(text, has_amount(row) ? ",\"amt\":\"" : ",\"amt\":null");
    if (has_amount(row)) {
        uint8_t amount[2];
        amount_of(row, amount);
        iso_base64_encode(amount, sizeof amount, iso_text_reserve(text, 4));
        text->used += 4;
        iso_text_put(text, "\"");
    }
    if (row->has_marker) {
        iso_text_put(text, ",\"m\":");
        json_text(text, &row->marker);
    }
    iso_text_put(text, "}");
}

static void json_source(struct iso_text *text, const struct feed_change *change)
{
    char numbers[64];
    bool is_message = change->op == 'm';
    iso_text_put(text, "\"source\":{\"version\":\"3.7.0.Final\",\"connector\":");
    iso_text_put(text, change->binlog ? "\"mariadb\"" : "\"postgresql\"");
    iso_text_put(text, ",\"name\":\"dbz\",\"ts_ms\":1795252007426,\"snapshot\":");
    if (change->snapshot)
        iso_text_put_string(text, change->snapshot, strlen(change->snapshot));
    else
        iso_text_put(text, "null"); /* replace.null.with.default=false */
    iso_text_put(text, change->binlog ? ",\"db\":\"public\",\"sequence\":"
                                      : ",\"db\":\"bank\",\"sequence\":");
    sequence(change, numbers);
    if (change->binlog)
        iso_text_put(text, "null");
    else
        iso_text_put_string(text, numbers, strlen(numbers));
    if (!change->binlog)
        iso_text_put(text, is_message ? ",\"schema\":\"\"" : ",\"schema\":\"public\"");
    iso_text_put(text, ",\"table\":\"");
    iso_text_put(text, is_message ? "" : change->table);
    iso_text_put(text, "\"");
    if (change->binlog) {
        iso_text_put(text, ",\"server_id\":1,\"gtid\":\"0-1-");
        iso_text_put_unsigned(text, change->xid);
        iso_text_put(text, "\",\"file\":\"binlog.000007\",\"pos\":");
        iso_text_put_unsigned(text, change->lsn);
        iso_text_put(text, ",\"row\":0,\"thread\":5,\"query\":null}");
        return;
    }
    iso_text_put(text, ",\"txId\":");
    iso_text_put_unsigned(text, change->xid);
    iso_text_put(text, ",\"lsn\":");
    iso_text_put_unsigned(text, change->lsn);
    iso_text_put(text, ",\"xmin\":null}");
}

static void json_transaction(struct iso_text *text, const struct feed_change *change)
{
    char id[64];
    iso_text_put(text, ",\"transaction\":");
    if (!change->order) {
        iso_text_put(text, "null");
        return;
    }
    transaction_id(change->binlog, change->xid, change->lsn, id);
    iso_text_put(text, "{\"id\":\"");
    iso_text_put(text, id);
    iso_text_put(text, "\",\"total_order\":");
    iso_text_put_unsigned(text, change->order);
    iso_text_put(text, ",\"data_collection_order\":1}");
}

static void json_content(struct iso_text *text, const struct feed_change *change)
{
    iso_text_put(text, ",\"message\":{\"prefix\":\"isochron\",\"content\":\"");
    size_t length = iso_base64_length(change->record_length);
    iso_base64_encode((const uint8_t *)change->record, change->record_length,
                      iso_text_reserve(text, length));
    text->used += length;
    iso_text_put(text, "\"}");
}

static void json_schema(struct iso_text *text)
{
    static const char row[] =
        "{\"type\":\"struct\",\"fields\":[{\"type\":\"string\",\"optional\":false,\"field\":\"k\"},"
        "{\"type\":\"string\",\"optional\":true,\"field\":\"v\"},";
    iso_text_put(text, "{\"schema\":{\"type\":\"struct\",\"fields\":[");
    iso_text_put(text, row);
    iso_text_put(text, decimal_schema);
    iso_text_put(text, "],\"optional\":true,\"name\":\"dbz.Value\",\"field\":\"before\"},");
    iso_text_put(text, row);
    iso_text_put(text, decimal_schema);
    iso_text_put(
        text, "],\"optional\":true,\"name\":\"dbz.Value\",\"field\":\"after\"}],\"optional\":false,"
              "\"name\":\"dbz.Envelope\",\"version\":2},\"payload\":");
}

static void json_change(struct iso_text *text, const struct feed_change *change, bool with_schema)
{
    if (with_schema)
        json_schema(text);
    if (change->op == 'm') {
        iso_text_put(text, "{");
    } else {
        iso_text_put(text, "{\"before\":");
        json_row(text, &change->before);
        iso_text_put(text, ",\"after\":");
        json_row(text, &change->after);
        iso_text_put(text, ",");
    }
    json_source(text, change);
    json_transaction(text, change);
    iso_text_put(text, ",\"op\":\"");
    iso_text_put_bytes(text, &change->op, 1);
    iso_text_put(text, "\",\"ts_ms\":1795252007737");
    if (change->op == 'm')
        json_content(text, change);
    iso_text_put(text, with_schema ? "}}" : "}");
}

static void json_metadata(struct iso_text *text, const struct feed_metadata *metadata,
                          bool with_schema)
{
    char id[64];
    transaction_id(metadata->binlog, metadata->xid, metadata->lsn, id);
    if (with_schema)
        iso_text_put(
            text,
            "{\"schema\":{\"type\":\"struct\",\"fields\":[],\"optional\":false},\"payload\":");
    iso_text_put(text, metadata->is_end ? "{\"status\":\"END\",\"id\":\""
                                        : "{\"status\":\"BEGIN\",\"id\":\"");
    iso_text_put(text, id);
    iso_text_put(text, "\",\"event_count\":");
    if (metadata->is_end)
        iso_text_put_unsigned(text, metadata->count);
    else
        iso_text_put(text, "null");
    iso_text_put(text, ",\"data_collections\":null,\"ts_ms\":1795252007414}");
    if (with_schema)
        iso_text_put(text, "}");
}

/* ---- Avro ---- */

static const char avro_source[] =
    "{\"name\":\"source\",\"type\":{\"type\":\"record\",\"name\":\"Source\",\"fields\":[{\"name\":\"version\",\"type\":\"string\"},"
    "{\"name\":\"connector\",\"type\":\"string\"},"
    "{\"name\":\"name\",\"type\":\"string\"},{\"name\":\"ts_ms\",\"type\":\"long\"},{\"name\":\"snapshot\",\"type\":[{\"type\":\"string\",\"connect.version\":1,"
    "\"connect.parameters\":{\"allowed\":\"true,false\"},\"connect.default\":\"false\",\"connect.name\":\"io.debezium.data.Enum\"},"
    "\"null\"],\"default\":\"false\"},{\"name\":\"db\",\"type\":\"string\"},{\"name\":\"sequence\",\"type\":[\"null\",\"string\"]},"
    "{\"name\":\"ts_us\",\"type\":[\"null\",\"long\"]},{\"name\":\"ts_ns\",\"type\":[\"null\",\"long\"]},"
    "{\"name\":\"schema\",\"type\":[\"null\",\"string\"]},{\"name\":\"table\",\"type\":\"string\"},"
    "{\"name\":\"txId\",\"type\":[\"null\",\"long\"]},{\"name\":\"lsn\",\"type\":[\"null\",\"long\"]},"
    "{\"name\":\"gtid\",\"type\":[\"null\",\"string\"]},{\"name\":\"file\",\"type\":[\"null\",\"string\"]},"
    "{\"name\":\"pos\",\"type\":[\"null\",\"long\"]},{\"name\":\"row\",\"type\":[\"null\",\"int\"]}],"
    "\"connect.name\":\"io.debezium.connector.postgresql.Source\"}},"
    "{\"name\":\"transaction\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"block\",\"namespace\":\"event\",\"fields\":["
    "{\"name\":\"id\",\"type\":\"string\"},{\"name\":\"total_order\",\"type\":\"long\"},"
    "{\"name\":\"data_collection_order\",\"type\":\"long\"}],\"connect.name\":\"event.block\"}],\"default\":null},"
    "{\"name\":\"op\",\"type\":\"string\"},{\"name\":\"ts_ms\",\"type\":[\"null\",\"long\"]}";

static const char avro_row[] =
    "{\"type\":\"record\",\"name\":\"Value\",\"fields\":[{\"name\":\"k\",\"type\":\"string\"},"
    "{\"name\":\"v\",\"type\":[\"null\",\"string\"],\"default\":null},{\"name\":\"amt\",\"type\":[\"null\",{\"type\":\"bytes\",\"scale\":2,"
    "\"precision\":12,\"connect.version\":1,\"connect.name\":\"org.apache.kafka.connect.data.Decimal\","
    "\"logicalType\":\"decimal\"}],\"default\":null}],\"connect.name\":\"dbz.public.t.Value\"}";

static void avro_long(struct iso_text *text, int64_t number)
{
    uint64_t bits = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    for (; bits > 0x7f; bits >>= 7)
        iso_text_put_bytes(text, &(char){(char)(bits | 0x80)}, 1);
    iso_text_put_bytes(text, &(char){(char)bits}, 1);
}

static void avro_bytes(struct iso_text *text, const void *bytes, size_t size)
{
    avro_long(text, (int64_t)size);
    iso_text_put_bytes(text, bytes, size);
}

static void avro_string(struct iso_text *text, const char *string)
{
    avro_bytes(text, string, strlen(string));
}

/* In a union of null and a string. */
static void avro_optional(struct iso_text *text, const char *string)
{
    avro_long(text, string != NULL);
    if (string)
        avro_string(text, string);
}

static void avro_put_row(struct iso_text *text, const struct feed_row *row)
{
    avro_long(text, !row->is_null);
    if (row->is_null)
        return;
    bool has_value = row->value.at && !row->key_only;
    avro_bytes(text, row->key.at, row->key.length);
    avro_long(text, has_value);
    if (has_value)
        avro_bytes(text, row->value.at, row->value.length);
    avro_long(text, has_amount(row));
    uint8_t amount[2];
    amount_of(row, amount);
    if (has_amount(row))
        avro_bytes(text, amount, sizeof amount);
}

static void avro_put_source(struct iso_text *text, const struct feed_change *change)
{
    char numbers[64];
    sequence(change, numbers);
    avro_string(text, "3.7.0.Final");
    avro_string(text, change->binlog ? "mariadb" : "postgresql");
    avro_string(text, "dbz");
    avro_long(text, 1795252007426);
    avro_long(text, !change->snapshot);
    if (change->snapshot)
        avro_string(text, change->snapshot);
    avro_string(text, change->binlog ? "public" : "bank");
    avro_optional(text, change->binlog ? NULL : numbers);
    avro_long(text, 1);
    avro_long(text, 1795252007426130);
    avro_long(text, 1);
    avro_long(text, 1795252007426130000);
    avro_optional(text, change->binlog ? NULL : change->op == 'm' ? "" : "public");
    avro_string(text, change->op == 'm' ? "" : change->table);
    for (int i = 0; i < 2; i++) {
        avro_long(text, !change->binlog);
        if (!change->binlog)
            avro_long(text, (int64_t)(i ? change->lsn : change->xid));
    }
    snprintf(numbers, sizeof numbers, "0-1-%u", change->xid);
    avro_optional(text, change->binlog ? numbers : NULL);
    avro_optional(text, change->binlog ? "binlog.000007" : NULL);
    for (int i = 0; i < 2; i++) {
        avro_long(text, change->binlog);
        if (change->binlog)
            avro_long(text, i ? 0 : (int64_t)change->lsn);
    }
}

static void avro_change(struct iso_text *text, const struct feed_change *change)
{
    char id[64];
    iso_text_put_bytes(text, (char[]){0, 0, 0, 0, change->op == 'm' ? ID_MESSAGE : ID_CHANGE}, 5);
    if (change->op != 'm') {
        avro_put_row(text, &change->before);
        avro_put_row(text, &change->after);
    }
    avro_put_source(text, change);
    avro_long(text, change->order != 0);
    if (change->order) {
        transaction_id(change->binlog, change->xid, change->lsn, id);
        avro_string(text, id);
        avro_long(text, (int64_t)change->order);
        avro_long(text, 1);
    }
    avro_bytes(text, &change->op, 1);
    avro_long(text, 1);
    avro_long(text, 1795252007737);
    if (change->op == 'm') {
        avro_string(text, "isochron");
        avro_bytes(text, change->record, change->record_length);
    }
}

static void avro_metadata(struct iso_text *text, const struct feed_metadata *metadata)
{
    char id[64];
    transaction_id(metadata->binlog, metadata->xid, metadata->lsn, id);
    iso_text_put_bytes(text, (char[]){0, 0, 0, 0, ID_METADATA}, 5);
    avro_string(text, metadata->is_end ? "END" : "BEGIN");
    avro_string(text, id);
    avro_long(text, metadata->is_end);
    if (metadata->is_end)
        avro_long(text, (int64_t)metadata->count);
}

static enum iso_status find_avro(void *context, uint32_t id, struct iso_schema *schema,
                                 struct iso_error *error)
{
    static char texts[ID_MESSAGE + 1][4096];
    (void)context;
    if (id < ID_CHANGE || id > ID_MESSAGE)
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u: not found", id);
    const char *format =
        id == ID_CHANGE
            ? "{\"type\":\"record\",\"name\":\"Envelope\",\"namespace\":\"dbz.public.t\",\"fields\":["
              "{\"name\":\"before\",\"type\":[\"null\",%s],\"default\":null},"
              "{\"name\":\"after\",\"type\":[\"null\",\"Value\"],\"default\":null},%s],\"connect.version\":2}"
        : id == ID_KEY
            ? "{\"type\":\"record\",\"name\":\"Key\",\"fields\":[{\"name\":\"k\",\"type\":\"string\"}]}"
        : id == ID_METADATA
            ? "{\"type\":\"record\",\"name\":\"TransactionMetadataValue\",\"fields\":[{\"name\":\"status\",\"type\":\"string\"},"
              "{\"name\":\"id\",\"type\":\"string\"},{\"name\":\"event_count\",\"type\":[\"null\",\"long\"]}]}"
            : "{\"type\":\"record\",\"name\":\"Envelope\",\"fields\":[%.0s%s,{\"name\":\"message\",\"type\":{\"type\":"
              "\"record\",\"name\":\"Message\",\"fields\":[{\"name\":\"prefix\",\"type\":\"string\"},"
              "{\"name\":\"content\",\"type\":\"bytes\"}]}}]}";
    int length = snprintf(texts[id], sizeof texts[id], format, avro_row, avro_source);
    *schema = (struct iso_schema){ISO_SCHEMA_AVRO, texts[id], (size_t)length};
    return ISO_OK;
}

const struct iso_schema_provider feed_debezium_avro = {find_avro, NULL};

/* ---- Protobuf ---- */

#define PROTO_SOURCE                                                                                                \
    "  message Source {\n    string connector = 1; string name = 2; optional string snapshot = 3; string db = 4;\n" \
    "    optional string sequence = 5; optional string schema = 6; string table = 7; optional int64 txId = 8;\n"    \
    "    optional int64 lsn = 9; optional string gtid = 10; optional string file = 11; optional int64 pos = 12;\n"  \
    "    int32 row = 13;\n  }\n  message block { string id = 1; int64 total_order = 2; int64 data_collection_order = 3; }\n"

static const char *const proto_texts[] = {
    [ID_CHANGE] =
        "syntax = \"proto3\";\npackage dbz.public.t;\n\nimport \"confluent/meta.proto\";\n"
        "import \"confluent/type/decimal.proto\";\n\nmessage Envelope {\n"
        "  option (confluent.message_meta) = { params: [{ key: \"x\", value: \"};\" }] };\n"
        "  Value before = 1; Value after = 2; Source source = 3; block transaction = 4; string op = 5;\n"
        "  optional int64 ts_ms = 6;\n"
        "  message Value { string k = 1; optional string v = 2;\n    .confluent.type.Decimal amt = 3 "
        "[(confluent.field_meta) = { params: [ { value: \"12\", key: \"precision\" } ] }]; }\n" PROTO_SOURCE
        "}\n",
    [ID_KEY] = "syntax = \"proto3\";\nmessage Key { string k = 1; }\n",
    [ID_METADATA] =
        "syntax = \"proto3\"; // metadata\nmessage TransactionMetadataValue { string status = 1; string id = 2;"
        " optional int64 event_count = 3; /* no more */ }\n",
    [ID_MESSAGE] =
        "syntax = \"proto3\";\nmessage Envelope {\n  Source source = 3; dbz.Envelope.block transaction = 4; string op = 5;\n"
        "  optional int64 ts_ms = 6; MessageMessage message = 7;\n"
        "  message MessageMessage { string prefix = 1; bytes content = 2; }\n" PROTO_SOURCE
        "}\npackage dbz;\n",
};

static enum iso_status find_protobuf(void *context, uint32_t id, struct iso_schema *schema,
                                     struct iso_error *error)
{
    (void)context;
    if (id < ID_CHANGE || id > ID_MESSAGE)
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u: not found", id);
    *schema = (struct iso_schema){ISO_SCHEMA_PROTOBUF, proto_texts[id], strlen(proto_texts[id])};
    return ISO_OK;
}

const struct iso_schema_provider feed_debezium_protobuf = {find_protobuf, NULL};

static void proto_varint(struct iso_text *text, uint64_t bits)
{
    for (; bits > 0x7f; bits >>= 7)
        iso_text_put_bytes(text, &(char){(char)(bits | 0x80)}, 1);
    iso_text_put_bytes(text, &(char){(char)bits}, 1);
}

static void proto_number(struct iso_text *text, uint32_t field, uint64_t number)
{
    proto_varint(text, field << 3);
    proto_varint(text, number);
}

static void proto_bytes(struct iso_text *text, uint32_t field, const void *bytes, size_t size)
{
    proto_varint(text, field << 3 | 2);
    proto_varint(text, size);
    iso_text_put_bytes(text, bytes, size);
}

static void proto_string(struct iso_text *text, uint32_t field, const char *string)
{
    if (string && *string)
        proto_bytes(text, field, string, strlen(string));
}

/* A message, whose bytes are put together first. */
static void proto_message(struct iso_text *text, uint32_t field, struct iso_text *part)
{
    proto_bytes(text, field, part->bytes, part->used);
    iso_text_release(part);
}

static void proto_row(struct iso_text *text, uint32_t field, const struct feed_row *row)
{
    struct iso_text part = {0}, decimal = {0};
    if (row->is_null)
        return;
    proto_bytes(&part, 1, row->key.at, row->key.length);
    if (row->value.at && !row->key_only)
        proto_bytes(&part, 2, row->value.at, row->value.length);
    if (has_amount(row)) {
        uint8_t amount[2];
        amount_of(row, amount);
        proto_bytes(&decimal, 1, amount, sizeof amount);
        proto_number(&decimal, 2, 12);
        proto_number(&decimal, 3, AMOUNT_SCALE);
        proto_message(&part, 3, &decimal);
    }
    proto_message(text, field, &part);
}

static void proto_source(struct iso_text *text, const struct feed_change *change)
{
    struct iso_text part = {0};
    char numbers[64];
    sequence(change, numbers);
    proto_string(&part, 1, change->binlog ? "mariadb" : "postgresql");
    proto_string(&part, 2, "dbz");
    if (change->snapshot)
        proto_string(&part, 3, change->snapshot);
    proto_string(&part, 4, change->binlog ? "public" : "bank");
    if (!change->binlog) {
        proto_string(&part, 5, numbers);
        proto_string(&part, 6, change->op == 'm' ? "" : "public");
    }
    proto_string(&part, 7, change->op == 'm' ? "" : change->table);
    if (!change->binlog) {
        proto_number(&part, 8, change->xid);
        proto_number(&part, 9, change->lsn);
    } else {
        snprintf(numbers, sizeof numbers, "0-1-%u", change->xid);
        proto_string(&part, 10, numbers);
        proto_string(&part, 11, "binlog.000007");
        proto_number(&part, 12, change->lsn);
    }
    proto_message(text, 3, &part);
}

static void proto_change(struct iso_text *text, const struct feed_change *change)
{
    struct iso_text part = {0};
    char id[64];
    iso_text_put_bytes(text, (char[]){0, 0, 0, 0, change->op == 'm' ? ID_MESSAGE : ID_CHANGE, 0},
                       6);
    if (change->op != 'm') {
        proto_row(text, 1, &change->before);
        proto_row(text, 2, &change->after);
    }
    proto_source(text, change);
    if (change->order) {
        transaction_id(change->binlog, change->xid, change->lsn, id);
        proto_string(&part, 1, id);
        proto_number(&part, 2, change->order);
        proto_number(&part, 3, 1);
        proto_message(text, 4, &part);
    }
    proto_bytes(text, 5, &change->op, 1);
    proto_number(text, 6, 1795252007737);
    if (change->op == 'm') {
        proto_string(&part, 1, "isochron");
        proto_bytes(&part, 2, change->record, change->record_length);
        proto_message(text, 7, &part);
    }
}

static void proto_metadata(struct iso_text *text, const struct feed_metadata *metadata)
{
    char id[64];
    transaction_id(metadata->binlog, metadata->xid, metadata->lsn, id);
    iso_text_put_bytes(text, (char[]){0, 0, 0, 0, ID_METADATA, 0}, 6);
    proto_string(text, 1, metadata->is_end ? "END" : "BEGIN");
    proto_string(text, 2, id);
    if (metadata->is_end)
        proto_number(text, 3, metadata->count);
}

/* ---- lines of test_decoding ---- */

static void text_quoted(struct iso_text *text, const char *at, size_t length)
{
    iso_text_put(text, "'");
    for (size_t i = 0; i < length; i++)
        iso_text_put_bytes(text, at[i] == '\'' ? "\'\'" : &at[i], 1 + (at[i] == '\''));
    iso_text_put(text, "'");
}

static void text_column(struct iso_text *text, const char *name, const struct feed_text *value)
{
    iso_text_put(text, name);
    if (value->at)
        text_quoted(text, value->at, value->length);
    else
        iso_text_put(text, "null");
}

static void text_row(struct iso_text *text, const struct feed_row *row)
{
    uint8_t amount[2];
    text_column(text, "k[text]:", &row->key);
    if (row->key_only)
        return;
    text_column(text, " v[public.any]:", &row->value);
    iso_text_put(text, " amt[numeric]:");
    amount_of(row, amount);
    if (has_amount(row))
        iso_text_format(text, "%u.%02u", amount[1] / 100, amount[1] % 100);
    else
        iso_text_put(text, "null");
    if (row->has_marker)
        text_column(text, " m[text]:", &row->marker);
}

static void text_change(struct iso_text *text, const struct feed_change *change)
{
    iso_text_format(text, "%c %u %llu %llu ", change->op, change->xid,
                    (unsigned long long)change->lsn, (unsigned long long)change->previous);
    if (change->snapshot)
        iso_text_put(text, change->snapshot);
    else
        iso_text_put_unsigned(text, change->order);
    iso_text_format(text, " public.%s%s", change->table, change->op == 't' ? "" : " ");
    if (change->op == 'u' && !change->before.is_null && !change->before.key_only)
        iso_text_put(text, "old-key: ");
    if (change->op == 'd' ||
        (change->op == 'u' && !change->before.is_null && !change->before.key_only))
        text_row(text, &change->before);
    if (change->op == 'u' && !change->before.is_null && !change->before.key_only)
        iso_text_put(text, " new-tuple: ");
    if (change->op != 'd' && change->op != 't')
        text_row(text, &change->after);
}

static void text_metadata(struct iso_text *text, const struct feed_metadata *metadata)
{
    iso_text_format(text, "%c %u %llu", metadata->is_end ? 'E' : 'B', metadata->xid,
                    (unsigned long long)metadata->lsn);
    if (metadata->is_end)
        iso_text_format(text, " %llu 1795252007737", (unsigned long long)metadata->count);
}

/* ---- all of them ---- */

void feed_encode_change(struct iso_text *text, enum feed_debezium_format format,
                        const struct feed_change *change)
{
    switch (format) {
    case FEED_AVRO:
        avro_change(text, change);
        break;
    case FEED_PROTOBUF:
        proto_change(text, change);
        break;
    case FEED_TEST_DECODING:
        text_change(text, change);
        break;
    default:
        json_change(text, change, format == FEED_JSON_SCHEMAS);
        break;
    }
}

void feed_encode_key(struct iso_text *text, enum feed_debezium_format format,
                     const struct feed_text *key)
{
    switch (format) {
    case FEED_AVRO:
        iso_text_put_bytes(text, (char[]){0, 0, 0, 0, ID_KEY}, 5);
        avro_bytes(text, key->at, key->length);
        break;
    case FEED_PROTOBUF:
        iso_text_put_bytes(text, (char[]){0, 0, 0, 0, ID_KEY, 0}, 6);
        proto_bytes(text, 1, key->at, key->length);
        break;
    case FEED_TEST_DECODING:
        text_column(text, "k[text]:", key);
        break;
    default:
        if (format == FEED_JSON_SCHEMAS)
            iso_text_put(
                text,
                "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"string\",\"optional\":false,"
                "\"field\":\"k\"}],\"optional\":false,\"name\":\"dbz.Key\"},\"payload\":");
        iso_text_put(text, "{\"k\":");
        json_text(text, key);
        iso_text_put(text, format == FEED_JSON_SCHEMAS ? "}}" : "}");
    }
}

void feed_encode_metadata(struct iso_text *text, enum feed_debezium_format format,
                          const struct feed_metadata *metadata)
{
    switch (format) {
    case FEED_AVRO:
        avro_metadata(text, metadata);
        break;
    case FEED_PROTOBUF:
        proto_metadata(text, metadata);
        break;
    case FEED_TEST_DECODING:
        text_metadata(text, metadata);
        break;
    default:
        json_metadata(text, metadata, format == FEED_JSON_SCHEMAS);
        break;
    }
}

struct iso_decoder_options feed_debezium_decoding(enum feed_debezium_format format)
{
    switch (format) {
    case FEED_AVRO:
        return (struct iso_decoder_options){
            .format = "avro", .framed = true, .value = "v", .registry = &feed_debezium_avro};
    case FEED_PROTOBUF:
        return (struct iso_decoder_options){.format = "protobuf",
                                            .framed = true,
                                            .value = "v",
                                            .registry = &feed_debezium_protobuf};
    case FEED_TEST_DECODING:
        return (struct iso_decoder_options){.format = "test_decoding", .value = "v"};
    default:
        return (struct iso_decoder_options){.format = "json", .value = "v"};
    }
}
