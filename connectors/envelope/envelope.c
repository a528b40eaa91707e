#include "connectors/envelope/envelope_private.h"

#include <string.h>

/* ---- readers ---- */

struct iso_envelope_reader *iso_envelope_reader_new(const struct iso_decoder_options *options,
                                                    bool cells, struct iso_error *error)
{
    static const struct envelope_format *const formats[] = {
        &envelope_json, &envelope_avro, &envelope_protobuf, &envelope_test_decoding};
    const char *name = options->format ? options->format : "json";
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i]->name, name))
            continue;
        struct iso_envelope_reader *reader = formats[i]->create(options, error);
        if (reader) {
            reader->format = formats[i];
            reader->cells = cells;
        }
        return reader;
    }
    iso_error_set(error, ISO_BAD_INPUT, "format=%s: expected json, avro, protobuf or test_decoding",
                  name);
    return NULL;
}

void iso_envelope_reader_free(struct iso_envelope_reader *reader)
{
    if (reader)
        reader->format->destroy(reader);
}

void iso_envelope_init(struct iso_envelope *envelope)
{
    *envelope = (struct iso_envelope){0};
    iso_row_init(&envelope->before);
    iso_row_init(&envelope->after);
    iso_row_init(&envelope->key);
}

void iso_envelope_release(struct iso_envelope *envelope)
{
    iso_row_release(&envelope->before);
    iso_row_release(&envelope->after);
    iso_row_release(&envelope->key);
}

static bool is_row(const struct iso_envelope *envelope)
{
    const struct iso_cell *op = &envelope->member[ISO_MEMBER_OP];
    return iso_envelope_saw(envelope, ISO_MEMBER_OP) && op->kind == ISO_CELL_TEXT &&
           op->length == 1 && memchr("curd", *op->text, 4);
}

enum iso_status iso_envelope_read(struct iso_envelope_reader *reader,
                                  const struct iso_message *message, struct iso_envelope *envelope,
                                  struct iso_error *error)
{
    envelope->seen = 0;
    envelope->has_key = false;
    iso_row_clear(&envelope->before);
    iso_row_clear(&envelope->after);
    iso_row_clear(&envelope->key);
    envelope->is_tombstone = !message->payload.data;
    if (envelope->is_tombstone)
        return ISO_OK;
    if (reader->format->read_payload(reader, message, envelope, error) != ISO_OK ||
        !is_row(envelope) || !message->key.data)
        return error->status;
    envelope->has_key = true;
    return reader->format->read_key(reader, message, envelope, error);
}

/* ---- members ---- */

static const char *const names[ISO_MEMBERS] = {
    [ISO_MEMBER_NONE] = "",
    [ISO_MEMBER_OP] = "op",
    [ISO_MEMBER_BEFORE] = "before",
    [ISO_MEMBER_AFTER] = "after",
    [ISO_MEMBER_SOURCE] = "source",
    [ISO_MEMBER_TRANSACTION] = "transaction",
    [ISO_MEMBER_MESSAGE] = "message",
    [ISO_MEMBER_DATA] = "data",
    [ISO_MEMBER_TS_MS] = "ts_ms",
    [ISO_MEMBER_STATUS] = "status",
    [ISO_MEMBER_ID] = "id",
    [ISO_MEMBER_EVENT_COUNT] = "event_count",
    [ISO_MEMBER_DATA_COLLECTIONS] = "data_collections",
    [ISO_MEMBER_PARTITION_ID] = "partition_id",
    [ISO_MEMBER_DDL] = "ddl",
    [ISO_MEMBER_DATABASE_NAME] = "databaseName",
    [ISO_MEMBER_CONNECTOR] = "source.connector",
    [ISO_MEMBER_NAME] = "source.name",
    [ISO_MEMBER_SNAPSHOT] = "source.snapshot",
    [ISO_MEMBER_DB] = "source.db",
    [ISO_MEMBER_SCHEMA] = "source.schema",
    [ISO_MEMBER_TABLE] = "source.table",
    [ISO_MEMBER_SEQUENCE] = "source.sequence",
    [ISO_MEMBER_TX_ID] = "source.txId",
    [ISO_MEMBER_LSN] = "source.lsn",
    [ISO_MEMBER_GTID] = "source.gtid",
    [ISO_MEMBER_FILE] = "source.file",
    [ISO_MEMBER_POS] = "source.pos",
    [ISO_MEMBER_ROW] = "source.row",
    [ISO_MEMBER_COMMIT_TIME] = "source.commit_time",
    [ISO_MEMBER_RECORD_TIME] = "source.record_time",
    [ISO_MEMBER_TABLET_ID] = "source.tablet_id",
    [ISO_MEMBER_TRANSACTION_ID] = "transaction.id",
    [ISO_MEMBER_TOTAL_ORDER] = "transaction.total_order",
    [ISO_MEMBER_PREFIX] = "message.prefix",
    [ISO_MEMBER_CONTENT] = "message.content",
};

const char *iso_member_name(enum iso_member member)
{
    return names[member];
}

#define IS(word) (length == sizeof(word) - 1 && !memcmp(name, word, sizeof(word) - 1))

static enum iso_member find_top(const char *name, size_t length)
{
    return IS("before")             ? ISO_MEMBER_BEFORE
           : IS("after")            ? ISO_MEMBER_AFTER
           : IS("source")           ? ISO_MEMBER_SOURCE
           : IS("op")               ? ISO_MEMBER_OP
           : IS("transaction")      ? ISO_MEMBER_TRANSACTION
           : IS("message")          ? ISO_MEMBER_MESSAGE
           : IS("ts_ms")            ? ISO_MEMBER_TS_MS
           : IS("status")           ? ISO_MEMBER_STATUS
           : IS("id")               ? ISO_MEMBER_ID
           : IS("event_count")      ? ISO_MEMBER_EVENT_COUNT
           : IS("data_collections") ? ISO_MEMBER_DATA_COLLECTIONS
           : IS("partition_id")     ? ISO_MEMBER_PARTITION_ID
           : IS("ddl")              ? ISO_MEMBER_DDL
           : IS("databaseName")     ? ISO_MEMBER_DATABASE_NAME
                                    : ISO_MEMBER_NONE;
}

static enum iso_member find_in_source(const char *name, size_t length)
{
    switch (length) {
    case 2:
        return IS("db") ? ISO_MEMBER_DB : ISO_MEMBER_NONE;
    case 3:
        return IS("lsn")   ? ISO_MEMBER_LSN
               : IS("pos") ? ISO_MEMBER_POS
               : IS("row") ? ISO_MEMBER_ROW
                           : ISO_MEMBER_NONE;
    case 4:
        return IS("name")   ? ISO_MEMBER_NAME
               : IS("txId") ? ISO_MEMBER_TX_ID
               : IS("gtid") ? ISO_MEMBER_GTID
               : IS("file") ? ISO_MEMBER_FILE
                            : ISO_MEMBER_NONE;
    case 5:
        return IS("table") ? ISO_MEMBER_TABLE : ISO_MEMBER_NONE;
    case 6:
        return IS("schema") ? ISO_MEMBER_SCHEMA : ISO_MEMBER_NONE;
    case 8:
        return IS("snapshot")   ? ISO_MEMBER_SNAPSHOT
               : IS("sequence") ? ISO_MEMBER_SEQUENCE
                                : ISO_MEMBER_NONE;
    case 9:
        return IS("connector")   ? ISO_MEMBER_CONNECTOR
               : IS("tablet_id") ? ISO_MEMBER_TABLET_ID
                                 : ISO_MEMBER_NONE;
    case 11:
        return IS("commit_time")   ? ISO_MEMBER_COMMIT_TIME
               : IS("record_time") ? ISO_MEMBER_RECORD_TIME
                                   : ISO_MEMBER_NONE;
    case 12:
        return IS("partition_id") ? ISO_MEMBER_PARTITION_ID : ISO_MEMBER_NONE;
    default:
        return ISO_MEMBER_NONE;
    }
}

enum iso_member iso_member_find(enum iso_member_scope scope, const char *name, size_t length)
{
    switch (scope) {
    case ISO_SCOPE_TOP:
        return find_top(name, length);
    case ISO_SCOPE_SOURCE:
        return find_in_source(name, length);
    case ISO_SCOPE_TRANSACTION:
        return IS("id")            ? ISO_MEMBER_TRANSACTION_ID
               : IS("total_order") ? ISO_MEMBER_TOTAL_ORDER
                                   : ISO_MEMBER_NONE;
    case ISO_SCOPE_MESSAGE:
        return IS("prefix")    ? ISO_MEMBER_PREFIX
               : IS("content") ? ISO_MEMBER_CONTENT
                               : ISO_MEMBER_NONE;
    default:
        return ISO_MEMBER_NONE;
    }
}

enum iso_status envelope_twice(enum iso_member member, struct iso_error *error)
{
    return iso_error_set(error, ISO_BAD_INPUT, "%s occurs twice, expected it once", names[member]);
}

bool iso_envelope_text(const struct iso_envelope *envelope, enum iso_member member,
                       struct iso_json_text *text, struct iso_error *error)
{
    const struct iso_cell *cell = &envelope->member[member];
    *text = (struct iso_json_text){"", 0};
    if (!iso_envelope_has(envelope, member))
        return true;
    if (cell->kind != ISO_CELL_TEXT)
        return !iso_error_set(error, ISO_BAD_INPUT, "%s: expected a string", names[member]);
    *text = (struct iso_json_text){cell->text, cell->length};
    return true;
}

bool iso_envelope_number(const struct iso_envelope *envelope, enum iso_member member,
                         uint64_t *number, struct iso_error *error)
{
    const struct iso_cell *cell = &envelope->member[member];
    *number = 0;
    if (!iso_envelope_has(envelope, member))
        return true;
    if (cell->kind == ISO_CELL_TEXT && iso_bytes_number(cell->text, cell->length, number))
        return true;
    if (cell->kind != ISO_CELL_INTEGER || cell->negative)
        return !iso_error_set(error, ISO_BAD_INPUT, "%s: expected an unsigned integer",
                              names[member]);
    *number = cell->bits;
    return true;
}
