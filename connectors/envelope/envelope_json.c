/* Envelopes as JSON.
 *
 * A message with schemas is {"schema":..,"payload":..}; its schema is three quarters of its bytes
 * and the same in nearly every message, so it is compared with those seen before and taken apart
 * once. */
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "connectors/envelope/envelope_private.h"
#include "connectors/envelope/json_schema.h"
#include "connectors/cdc_common/framing.h"
#include "base/payload.h"

struct json_reader {
    struct iso_envelope_reader reader;
    bool framed;
    struct iso_json payload_json, key_json, decimal_json;
    struct iso_payload payload, key;
    struct json_schemas schemas;
    struct iso_payload bytes; /* of decimals that came as base64; as large as the message */
    size_t bytes_used;
    struct iso_json_shape shapes[ISO_SCOPES], data_shape;
};

static struct iso_envelope_reader *create(const struct iso_decoder_options *options,
                                          struct iso_error *error)
{
    (void)error;
    struct json_reader *json = iso_allocate_zeroed(1, sizeof *json);
    json->framed = options->framed;
    iso_json_init(&json->payload_json);
    iso_json_init(&json->key_json);
    iso_json_init(&json->decimal_json);
    return &json->reader;
}

static void destroy(struct iso_envelope_reader *reader)
{
    struct json_reader *json = (struct json_reader *)reader;
    iso_json_release(&json->payload_json);
    iso_json_release(&json->key_json);
    iso_json_release(&json->decimal_json);
    iso_payload_release(&json->payload);
    iso_payload_release(&json->key);
    iso_payload_release(&json->bytes);
    json_schemas_release(&json->schemas);
    iso_free(json);
}

/* ---- rows ---- */

/* A cell that is {"value":X,"set":true}; another object is a value itself. */
static bool open_cell(struct iso_cell *cell, struct iso_json *json, bool *opened)
{
    struct iso_cell inner = *cell;
    struct iso_json_text name;
    const char *from = json->at;
    bool has_value = false, has_set = false, other = false, set = false;
    iso_json_enter_object(json);
    while (iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "value")) {
            has_value = iso_cell_read_json(&inner, json);
        } else if (ISO_PAYLOAD_IS(name, "set") && iso_json_peek(json) <= ISO_JSON_FALSE &&
                   iso_json_peek(json) >= ISO_JSON_TRUE) {
            has_set = iso_json_boolean(json, &set);
        } else {
            other = true;
            iso_json_skip(json);
        }
    }
    if (json->code != ISO_JSON_FINE)
        return false;
    *opened |= has_value && has_set && !other;
    if (has_value && has_set && !other) {
        *cell = inner;
        cell->in_cell = true;
        if (!set)
            cell->kind = ISO_CELL_UNKNOWN;
    } else {
        cell->kind = ISO_CELL_JSON;
        cell->text = from;
        cell->length = (uint32_t)(json->at - from);
    }
    return true;
}

/* Columns in cells, or plain ones. Where some are cells, one that is null says nothing of its
 * column. */
static bool read_cells(struct iso_row *row, struct iso_json *json)
{
    struct iso_json_text name;
    bool opened = false;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        struct iso_cell *cell = iso_row_add(row, name.at, name.length);
        if (iso_json_peek(json) == ISO_JSON_OBJECT ? !open_cell(cell, json, &opened)
                                                   : !iso_cell_read_json(cell, json))
            return false;
    }
    for (uint32_t i = 0; opened && i < row->count; i++)
        if (row->cells[i].kind == ISO_CELL_NULL && !row->cells[i].in_cell)
            row->cells[i].kind = ISO_CELL_UNKNOWN;
    return json->code == ISO_JSON_FINE;
}

static bool read_row(struct json_reader *reader, struct iso_row *row, struct iso_json *json)
{
    if (iso_json_peek(json) == ISO_JSON_NULL)
        return iso_json_null(json);
    return reader->reader.cells ? read_cells(row, json) : iso_row_read_json(row, json);
}

/* ---- decimals ---- */

static bool open_decimal(struct json_reader *json, struct iso_cell *cell, const char *text,
                         size_t length, int32_t scale)
{
    uint8_t *bytes = (uint8_t *)json->bytes.text + json->bytes_used;
    size_t size;
    if (length > ISO_CELL_DECIMAL_BYTES / 3 * 4 || !iso_base64_decode(text, length, bytes, &size) ||
        !size)
        return false;
    json->bytes_used += size;
    cell->kind = ISO_CELL_DECIMAL;
    cell->text = (const char *)bytes;
    cell->length = (uint32_t)size;
    cell->scale = scale;
    cell->value.is_respelt = cell->value.kind == ISO_VALUE_NUMERIC;
    return true;
}

/* {"scale":2,"value":"AJY="} */
static bool open_variable_decimal(struct json_reader *json, struct iso_cell *cell)
{
    struct iso_json *scanner = &json->decimal_json;
    struct iso_json_text name, text = {"", 0};
    struct iso_json_number scale = {ISO_CELL_SCALE_MAX + 1, false};
    iso_json_start(scanner, cell->text, cell->length);
    iso_json_enter_object(scanner);
    while (iso_json_member(scanner, &name)) {
        if (ISO_PAYLOAD_IS(name, "scale"))
            iso_json_integer(scanner, &scale);
        else if (ISO_PAYLOAD_IS(name, "value"))
            iso_json_string(scanner, &text);
        else
            iso_json_skip(scanner);
    }
    uint64_t places = scale.negative ? 0 - scale.bits : scale.bits;
    if (!iso_json_finish(scanner) || places > ISO_CELL_SCALE_MAX)
        return false;
    return open_decimal(json, cell, text.at, text.length,
                        scale.negative ? -(int32_t)places : (int32_t)places);
}

static bool apply_column(struct json_reader *json, struct iso_cell *cell,
                         const struct json_column *column)
{
    cell->type = column->type;
    cell->value = column->value;
    cell->is_nullable = column->is_nullable;
    if (column->meaning == JSON_PLAIN)
        return true;
    switch (cell->kind) {
    case ISO_CELL_NULL:
    case ISO_CELL_UNKNOWN:
        return true;
    case ISO_CELL_TEXT:
        return column->meaning == JSON_DECIMAL &&
               open_decimal(json, cell, cell->text, cell->length, column->scale);
    case ISO_CELL_JSON:
        return column->meaning == JSON_VARIABLE_DECIMAL && open_variable_decimal(json, cell);
    case ISO_CELL_NUMBER:
        cell->kind = ISO_CELL_TEXT;
        return column->meaning == JSON_DECIMAL;
    case ISO_CELL_INTEGER:
        return column->meaning == JSON_DECIMAL;
    default:
        return false;
    }
}

static bool is_of(const struct iso_cell *cell, const struct json_column *column)
{
    return cell->name_length == column->length && !memcmp(cell->name, column->name, column->length);
}

/* Columns mostly stand in the order of their schema. */
static enum iso_status apply_schema(struct json_reader *json, const struct json_schema *schema,
                                    struct iso_row *row, const char *part, struct iso_error *error)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct json_column *column = &schema->columns[i];
        bool in_order = i < row->count && is_of(&row->cells[i], column);
        for (uint32_t c = in_order ? i : 0; c < (in_order ? i + 1 : row->count); c++)
            if (is_of(&row->cells[c], column) && !apply_column(json, &row->cells[c], column))
                return iso_error_set(error, ISO_BAD_INPUT,
                                     "%s.%s: expected a decimal, as the schema says", part,
                                     column->name);
    }
    return ISO_OK;
}

/* ---- CloudEvents ----
 *
 * What stands in the envelope and in `source` otherwise is attributes, as strings, and before and
 * after are inside `data`.
 *
 *     {"id":"name:srv;lsn:29274832;txId:565","source":"/debezium/postgresql/srv","specversion":"1.0",..,
 *      "iodebeziumop":"u","iodebeziumconnector":"postgresql","iodebeziumlsn":"29274832",..,
 *      "iodebeziumtxid":"565","iodebeziumtxtotalorder":"1","data":{"before":{..},"after":{..}}}
 */

/* The meaning of an attribute's name; ISO_MEMBER_DATA: `data`, if the message is a CloudEvent. The
 * id of a transaction may be that of the source or that of the transaction's metadata: one
 * attribute stands for both, and both say the same. */
static enum iso_member cloud_member(struct iso_json_text name)
{
    static const char prefix[] = "iodebezium";
    size_t before = sizeof prefix - 1;
    if (ISO_PAYLOAD_IS(name, "data"))
        return ISO_MEMBER_DATA;
    if (name.length <= before || memcmp(name.at, prefix, before))
        return ISO_MEMBER_NONE;
    name.at += before;
    name.length -= before;
    return ISO_PAYLOAD_IS(name, "op") ? ISO_MEMBER_OP
           : ISO_PAYLOAD_IS(name, "txid") || ISO_PAYLOAD_IS(name, "txId")
               ? ISO_MEMBER_TRANSACTION_ID
           : ISO_PAYLOAD_IS(name, "txtotalorder")
               ? ISO_MEMBER_TOTAL_ORDER
               : iso_member_find(ISO_SCOPE_SOURCE, name.at, name.length);
}

/* A CloudEvent is known by its source, which is a string, and stands before its data. */
static bool is_cloud_event(const struct iso_envelope *envelope)
{
    return iso_envelope_saw(envelope, ISO_MEMBER_SOURCE) &&
           envelope->member[ISO_MEMBER_SOURCE].kind == ISO_CELL_TEXT;
}

/* ---- members ---- */

static uint8_t find_member(const void *of, const char *at, size_t length)
{
    enum iso_member_scope scope = *(const enum iso_member_scope *)of;
    enum iso_member member = iso_member_find(scope, at, length);
    return (uint8_t)(member == ISO_MEMBER_NONE && scope == ISO_SCOPE_TOP
                         ? cloud_member((struct iso_json_text){at, length})
                         : member);
}

static enum iso_status read_members(struct json_reader *reader, struct iso_json *json,
                                    struct iso_json_shape *shape, struct iso_envelope *envelope,
                                    struct iso_error *error);

/* One of the structs inside an envelope. */
static enum iso_status read_struct(struct json_reader *reader, struct iso_json *json,
                                   enum iso_member_scope scope, struct iso_envelope *envelope,
                                   struct iso_error *error)
{
    struct iso_json_shape *shape = &reader->shapes[scope];
    uint8_t member;
    if (iso_json_take_null(json))
        return ISO_OK;
    iso_json_shape_enter(json, shape);
    while (iso_json_shape_member(json, shape, find_member, &scope, NULL, &member)) {
        if (member == ISO_MEMBER_NONE) {
            iso_json_skip(json);
            continue;
        }
        if (!envelope_note(envelope, member))
            return envelope_twice(member, error);
        iso_cell_read_json(&envelope->member[member], json);
    }
    return ISO_OK;
}

static enum iso_status read_member(struct json_reader *reader, struct iso_json *json,
                                   enum iso_member member, struct iso_envelope *envelope,
                                   struct iso_error *error)
{
    struct iso_cell *cell = &envelope->member[member];
    if (member == ISO_MEMBER_DATA && !is_cloud_event(envelope)) {
        iso_json_skip(json);
        return ISO_OK;
    }
    if (!envelope_note(envelope, member))
        return envelope_twice(member, error);
    cell->kind = iso_json_peek(json) == ISO_JSON_NULL ? ISO_CELL_NULL : ISO_CELL_JSON;
    switch (member) {
    case ISO_MEMBER_BEFORE:
    case ISO_MEMBER_AFTER:
        read_row(reader, envelope_row(envelope, member), json);
        return ISO_OK;
    case ISO_MEMBER_SOURCE:
        if (iso_json_peek(json) != ISO_JSON_STRING)
            return read_struct(reader, json, ISO_SCOPE_SOURCE, envelope, error);
        iso_cell_read_json(cell, json);
        return ISO_OK;
    case ISO_MEMBER_DATA:
        iso_json_enter_object(json);
        return read_members(reader, json, &reader->data_shape, envelope, error);
    case ISO_MEMBER_TRANSACTION:
        return read_struct(reader, json, ISO_SCOPE_TRANSACTION, envelope, error);
    case ISO_MEMBER_MESSAGE:
        return read_struct(reader, json, ISO_SCOPE_MESSAGE, envelope, error);
    default:
        iso_cell_read_json(cell, json);
        return ISO_OK;
    }
}

/* The members of the object that the cursor is inside. */
static enum iso_status read_members(struct json_reader *reader, struct iso_json *json,
                                    struct iso_json_shape *shape, struct iso_envelope *envelope,
                                    struct iso_error *error)
{
    static const enum iso_member_scope scope = ISO_SCOPE_TOP;
    uint8_t member;
    iso_json_shape_start(shape);
    while (error->status == ISO_OK &&
           iso_json_shape_member(json, shape, find_member, &scope, NULL, &member)) {
        if (member == ISO_MEMBER_NONE)
            iso_json_skip(json);
        else
            read_member(reader, json, (enum iso_member)member, envelope, error);
    }
    return error->status;
}

/* Whether the object that follows is {"schema":..,"payload":..}, in either order, or
 * {"payload":{..}}. */
static bool is_wrapped(struct iso_json *json)
{
    struct iso_json_text name;
    bool wrapped = false;
    if (iso_json_peek(json) != ISO_JSON_OBJECT)
        return false;
    const char *from = json->at;
    if (from[1] == '"' && from[2] != 's' && from[2] != 'p' &&
        from[2] != '\\') /* as most are; padding follows */
        return false;
    iso_json_enter_object(json);
    if (iso_json_member(json, &name)) {
        enum iso_json_type type = iso_json_peek(json);
        wrapped = (ISO_PAYLOAD_IS(name, "schema") || ISO_PAYLOAD_IS(name, "payload")) &&
                  (type == ISO_JSON_OBJECT || type == ISO_JSON_NULL);
    }
    if (json->code != ISO_JSON_FINE)
        return false;
    json->at = from;
    json->depth = 0;
    json->fresh = false;
    return wrapped;
}

/* A message with schemas, as far as it was read. */
struct wrapped {
    const struct json_schema *schema; /* NULL: none */
    bool is_null;                     /* the payload */
};

/* Passes over a wrapping object; the payload is read by `read`. */
typedef enum iso_status read_payload(struct json_reader *reader, struct iso_json *json,
                                     struct iso_envelope *envelope, struct iso_error *error);

static enum iso_status read_wrapped(struct json_reader *reader, struct iso_json *json,
                                    read_payload *read, bool is_key, struct iso_envelope *envelope,
                                    struct wrapped *wrapped, struct iso_error *error)
{
    struct iso_json_text name;
    bool has_schema = false, has_payload = false;
    iso_json_enter_object(json);
    while (error->status == ISO_OK && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "schema") && !has_schema) {
            has_schema = true;
            wrapped->schema = json_schemas_take(&reader->schemas, json, is_key);
        } else if (ISO_PAYLOAD_IS(name, "payload") && !has_payload) {
            has_payload = true;
            wrapped->is_null = iso_json_peek(json) == ISO_JSON_NULL;
            if (wrapped->is_null)
                iso_json_null(json);
            else
                read(reader, json, envelope, error);
        } else {
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "member \"%.*s\" beside schema and payload, expected only those",
                                 (int)(name.length < 64 ? name.length : 64), name.at);
        }
    }
    if (json->code == ISO_JSON_FINE && !has_payload)
        return iso_error_set(error, ISO_BAD_INPUT, "a schema without a payload, expected both");
    return error->status;
}

static enum iso_status read_envelope(struct json_reader *reader, struct iso_json *json,
                                     struct iso_envelope *envelope, struct iso_error *error)
{
    if (!iso_json_enter_object(json))
        return ISO_OK; /* the scanner has the error */
    return read_members(reader, json, &reader->shapes[ISO_SCOPE_TOP], envelope, error);
}

static enum iso_status read_key_row(struct json_reader *reader, struct iso_json *json,
                                    struct iso_envelope *envelope, struct iso_error *error)
{
    (void)error;
    read_row(reader, &envelope->key, json);
    return ISO_OK;
}

/* Opens the frame, copies what is inside, and starts the scanner on it. */
static enum iso_status start(struct json_reader *reader, const struct iso_message *message,
                             enum iso_frame_part part, struct iso_json *json,
                             struct iso_payload *copy, struct iso_error *error)
{
    const struct iso_bytes *bytes = part == ISO_FRAME_KEY ? &message->key : &message->payload;
    struct iso_frame frame = {.bytes = bytes->data, .size = bytes->size};
    const char *expected;
    if (reader->framed && !iso_frame_open(message, part, false, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "expected %s", expected);
    iso_json_start(json, iso_payload_copy(copy, frame.bytes, frame.size), frame.size);
    return ISO_OK;
}

static enum iso_status read_message(struct iso_envelope_reader *reader,
                                    const struct iso_message *message,
                                    struct iso_envelope *envelope, struct iso_error *error)
{
    struct json_reader *json = (struct json_reader *)reader;
    struct iso_json *scanner = &json->payload_json;
    struct wrapped wrapped = {NULL, false};
    if (start(json, message, ISO_FRAME_PAYLOAD, scanner, &json->payload, error) != ISO_OK)
        return error->status;
    iso_payload_reserve(&json->bytes, (size_t)message->payload.size + message->key.size);
    json->bytes_used = 0;
    if (is_wrapped(scanner))
        read_wrapped(json, scanner, read_envelope, false, envelope, &wrapped, error);
    else
        read_envelope(json, scanner, envelope, error);
    if (error->status != ISO_OK)
        return error->status;
    if (!iso_json_finish(scanner))
        return iso_payload_fault(scanner, error);
    envelope->is_tombstone = wrapped.is_null;
    if (!wrapped.schema ||
        apply_schema(json, wrapped.schema, &envelope->before, "before", error) != ISO_OK)
        return error->status;
    return apply_schema(json, wrapped.schema, &envelope->after, "after", error);
}

static enum iso_status read_key(struct iso_envelope_reader *reader,
                                const struct iso_message *message, struct iso_envelope *envelope,
                                struct iso_error *error)
{
    struct json_reader *json = (struct json_reader *)reader;
    struct iso_json *scanner = &json->key_json;
    struct wrapped wrapped = {NULL, false};
    if (start(json, message, ISO_FRAME_KEY, scanner, &json->key, error) != ISO_OK)
        return error->status;
    if (is_wrapped(scanner))
        read_wrapped(json, scanner, read_key_row, true, envelope, &wrapped, error);
    else
        read_key_row(json, scanner, envelope, error);
    if (error->status != ISO_OK)
        return error->status;
    if (!iso_json_finish(scanner)) {
        char text[256];
        iso_json_describe(scanner, text, sizeof text);
        return iso_error_set(error, ISO_BAD_INPUT, "key, byte %zu: %s", scanner->position + 1,
                             text);
    }
    if (wrapped.is_null || !envelope->key.count)
        envelope->has_key = false;
    return wrapped.schema ? apply_schema(json, wrapped.schema, &envelope->key, "key", error)
                          : ISO_OK;
}

const struct envelope_format envelope_json = {"json", create, read_message, read_key, destroy};
