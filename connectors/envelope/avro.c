/* Envelopes as Avro, with Confluent's framing or with schemas from a file, {"key":schema,"payload":schema}. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "connectors/envelope/avro_schema.h"
#include "connectors/envelope/envelope_private.h"
#include "connectors/envelope/schemas.h"
#include "connectors/envelope/wire.h"
#include "io/framing.h"
#include "io/payload.h"

enum { STEPS_MIN = 10000 };

struct avro_reader {
    struct iso_envelope_reader reader;
    bool framed;
    struct envelope_schemas schemas;
    struct avro_schema *given_key, *given_payload; /* from a file */
    struct iso_text nested;                        /* JSON of nested values */
};

/* A message being read. The first fault stays. */
struct cursor {
    const uint8_t *start, *at, *end;
    const struct avro_schema *schema;
    struct avro_reader *avro;
    uint64_t
        items; /* that arrays and maps may still have: no more than the message has bytes, also where items are empty */
    uint64_t
        steps; /* values that may still be read: some of a schema take no bytes, and could be as many as they like */
    int depth;
    const char *expected;  /* NULL: no fault */
    const uint8_t *faulty; /* where it was */
};

static bool fault(struct cursor *cursor, const char *expected)
{
    if (!cursor->expected) {
        cursor->expected = expected;
        cursor->faulty = cursor->at;
    }
    return false;
}

/* ---- plain values ---- */

static bool take_long(struct cursor *cursor, int64_t *value)
{
    uint64_t bits = 0;
    if (cursor->at < cursor->end && *cursor->at < 0x80) { /* as most are */
        bits = *cursor->at++;
        *value = (int64_t)(bits >> 1 ^ (0u - (bits & 1)));
        return true;
    }
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = (int64_t)(bits >> 1 ^ (0u - (bits & 1)));
            return true;
        }
    }
    return fault(cursor, "a number of at most ten bytes");
}

static bool take_bytes(struct cursor *cursor, int64_t size, const uint8_t **bytes)
{
    if (size < 0 || size > cursor->end - cursor->at)
        return fault(cursor, "a length within the message");
    *bytes = cursor->at;
    cursor->at += size;
    return true;
}

static bool take_sized(struct cursor *cursor, const uint8_t **bytes, size_t *size)
{
    int64_t length;
    if (!take_long(cursor, &length) || !take_bytes(cursor, length, bytes))
        return false;
    *size = (size_t)length;
    return true;
}

static bool take_string(struct cursor *cursor, struct iso_cell *cell)
{
    const uint8_t *bytes;
    size_t size;
    if (!take_sized(cursor, &bytes, &size))
        return false;
    wire_text(cell, ISO_CELL_TEXT, bytes, size);
    return iso_utf8_valid(bytes, size) || fault(cursor, "UTF-8");
}

static bool take_index(struct cursor *cursor, uint32_t count, uint32_t *index)
{
    int64_t number;
    if (!take_long(cursor, &number))
        return false;
    *index = (uint32_t)number;
    return (number >= 0 && number < count) || fault(cursor, "an index within the union or enumeration");
}

static bool take_binary(struct cursor *cursor, const struct avro_type *type, struct iso_cell *cell)
{
    const uint8_t *bytes;
    size_t size = type->item;
    if (type->shape == SHAPE_FIXED ? !take_bytes(cursor, (int64_t)size, &bytes) : !take_sized(cursor, &bytes, &size))
        return false;
    wire_text(cell, type->meaning == AVRO_DECIMAL ? ISO_CELL_DECIMAL : ISO_CELL_BYTES, bytes, size);
    cell->scale = type->scale;
    return type->meaning != AVRO_DECIMAL || (size && size <= ISO_CELL_DECIMAL_BYTES) ||
           fault(cursor, "a decimal of 1 to 64 bytes");
}

static bool take_real(struct cursor *cursor, const struct avro_type *type, struct iso_cell *cell)
{
    const uint8_t *bytes;
    size_t size = type->shape == SHAPE_FLOAT ? 4 : 8;
    if (!take_bytes(cursor, (int64_t)size, &bytes))
        return false;
    cell->kind = size == 4 ? ISO_CELL_FLOAT : ISO_CELL_DOUBLE;
    cell->bits = 0;
    memcpy(&cell->bits, bytes, size);
    return true;
}

/* ---- any value ---- */

static bool take_value(struct cursor *cursor, uint32_t number, struct iso_cell *cell);
static bool put_value(struct cursor *cursor, uint32_t number);

/* Goes down a level; the caller comes up again by cursor->depth--. */
static bool enter(struct cursor *cursor)
{
    cursor->depth++;
    if (!cursor->steps)
        return fault(cursor, "fewer values in so few bytes");
    cursor->steps--;
    return cursor->depth < AVRO_DEPTH_MAX || fault(cursor, "fewer levels");
}

/* Starts the next block of an array or a map: its number of items, 0 at the end. */
static bool take_block(struct cursor *cursor, uint64_t *count)
{
    int64_t number, size;
    if (!take_long(cursor, &number))
        return false;
    if (number < 0 && !take_long(cursor, &size)) /* then the block's bytes are said too */
        return false;
    *count = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    if (*count > cursor->items)
        return fault(cursor, "no more items than the message has bytes");
    cursor->items -= *count;
    return true;
}

/* A nested value goes into the reader's text as JSON. */
static bool put_blocks(struct cursor *cursor, const struct avro_type *type)
{
    struct iso_text *text = &cursor->avro->nested;
    bool is_map = type->shape == SHAPE_MAP, first = true;
    struct iso_cell key = {0};
    uint64_t count;
    iso_text_put(text, is_map ? "{" : "[");
    while (take_block(cursor, &count) && count)
        for (; count; count--, first = false) {
            if (!first)
                iso_text_put(text, ",");
            if (is_map && !take_string(cursor, &key))
                return false;
            if (is_map) {
                iso_cell_put_json(text, &key);
                iso_text_put(text, ":");
            }
            if (!put_value(cursor, type->item))
                return false;
        }
    iso_text_put(text, is_map ? "}" : "]");
    return !cursor->expected;
}

static bool put_record(struct cursor *cursor, const struct avro_type *type)
{
    struct iso_text *text = &cursor->avro->nested;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct avro_field *field = &cursor->schema->fields[type->first + i];
        iso_text_put(text, i ? "," : "{");
        iso_text_put_string(text, field->name, field->length);
        iso_text_put(text, ":");
        if (!put_value(cursor, field->type))
            return false;
    }
    iso_text_put(text, type->count ? "}" : "{}");
    return true;
}

static bool put_value(struct cursor *cursor, uint32_t number)
{
    const struct avro_type *type = &cursor->schema->types[number];
    struct iso_cell cell = {0};
    uint32_t branch;
    bool fine;
    if (!enter(cursor))
        return false;
    if (type->shape == SHAPE_UNION) {
        fine = take_index(cursor, type->count, &branch) &&
               put_value(cursor, cursor->schema->branches[type->first + branch]);
    } else if (type->shape == SHAPE_RECORD && type->meaning != AVRO_VARIABLE_DECIMAL) {
        fine = put_record(cursor, type);
    } else if (type->shape == SHAPE_ARRAY || type->shape == SHAPE_MAP) {
        fine = put_blocks(cursor, type);
    } else {
        fine = take_value(cursor, number, &cell);
        if (fine)
            iso_cell_put_json(&cursor->avro->nested, &cell);
    }
    cursor->depth--;
    return fine;
}

/* {scale, value}, in either order. */
static bool take_variable_decimal(struct cursor *cursor, const struct avro_type *type, struct iso_cell *cell)
{
    int64_t scale = ISO_CELL_SCALE_MAX + 1;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct avro_field *field = &cursor->schema->fields[type->first + i];
        struct iso_cell inner = {0};
        if (!take_value(cursor, field->type, &inner))
            return false;
        if (inner.kind == ISO_CELL_INTEGER && !strcmp(field->name, "scale"))
            scale = (int64_t)inner.bits;
        else if (inner.kind == ISO_CELL_BYTES && !strcmp(field->name, "value"))
            wire_text(cell, ISO_CELL_DECIMAL, inner.text, inner.length);
    }
    cell->scale = (int32_t)scale;
    return (cell->kind == ISO_CELL_DECIMAL && cell->length && cell->length <= ISO_CELL_DECIMAL_BYTES &&
            scale <= ISO_CELL_SCALE_MAX && scale >= -ISO_CELL_SCALE_MAX) ||
           fault(cursor, "a decimal with its scale");
}

static bool take_nested(struct cursor *cursor, uint32_t number, struct iso_cell *cell)
{
    size_t start = cursor->avro->nested.used;
    if (!put_value(cursor, number))
        return false;
    wire_json(cell, &cursor->avro->nested, start);
    return true;
}

static bool take_value(struct cursor *cursor, uint32_t number, struct iso_cell *cell)
{
    const struct avro_type *type = &cursor->schema->types[number];
    const struct avro_field *symbol;
    uint32_t index;
    int64_t value;
    bool fine;
    switch (type->shape) {
    case SHAPE_NULL:
        cell->kind = ISO_CELL_NULL;
        return true;
    case SHAPE_BOOLEAN:
        cell->kind = ISO_CELL_BOOLEAN;
        cell->bits = cursor->at < cursor->end ? *cursor->at++ : 2;
        return cell->bits < 2 || fault(cursor, "a byte 0 or 1");
    case SHAPE_INT:
        if (!take_long(cursor, &value))
            return false;
        wire_signed(cell, value);
        return (value >= INT32_MIN && value <= INT32_MAX) || fault(cursor, "a number of 32 bits");
    case SHAPE_LONG:
        if (!take_long(cursor, &value))
            return false;
        wire_signed(cell, value);
        return true;
    case SHAPE_FLOAT:
    case SHAPE_DOUBLE:
        return take_real(cursor, type, cell);
    case SHAPE_BYTES:
    case SHAPE_FIXED:
        return take_binary(cursor, type, cell);
    case SHAPE_STRING:
        return take_string(cursor, cell);
    case SHAPE_ENUM:
        if (!take_index(cursor, type->count, &index))
            return false;
        symbol = &cursor->schema->fields[type->first + index];
        wire_text(cell, ISO_CELL_TEXT, symbol->name, symbol->length);
        return true;
    case SHAPE_UNION:
        fine = enter(cursor) && take_index(cursor, type->count, &index) &&
               take_value(cursor, cursor->schema->branches[type->first + index], cell);
        cursor->depth--;
        return fine;
    case SHAPE_RECORD:
        if (type->meaning == AVRO_VARIABLE_DECIMAL) {
            fine = enter(cursor) && take_variable_decimal(cursor, type, cell);
            cursor->depth--;
            return fine;
        }
        return take_nested(cursor, number, cell);
    default:
        return take_nested(cursor, number, cell);
    }
}

/* Chooses the branch of a union; the type inside. */
static bool open_unions(struct cursor *cursor, uint32_t *number)
{
    uint32_t index;
    for (int levels = 0; cursor->schema->types[*number].shape == SHAPE_UNION; levels++) {
        const struct avro_type *type = &cursor->schema->types[*number];
        if (levels == AVRO_DEPTH_MAX || !take_index(cursor, type->count, &index))
            return fault(cursor, "fewer levels");
        *number = cursor->schema->branches[type->first + index];
    }
    return true;
}

/* ---- rows and envelopes ---- */

/* Whether a column is {value, set}, or such a thing and null. */
static bool is_cell(const struct avro_schema *schema, uint32_t number)
{
    const struct avro_type *type = &schema->types[number];
    for (uint32_t i = 0; type->shape == SHAPE_UNION && i < type->count; i++)
        if (schema->types[schema->branches[type->first + i]].meaning == AVRO_CELL)
            return true;
    return type->meaning == AVRO_CELL;
}

/* A cell that is null says nothing of its column. */
static bool take_cell(struct cursor *cursor, uint32_t number, struct iso_cell *cell)
{
    if (!is_cell(cursor->schema, number))
        return take_value(cursor, number, cell);
    if (!open_unions(cursor, &number))
        return false;
    const struct avro_type *type = &cursor->schema->types[number];
    bool set = true;
    if (type->shape == SHAPE_NULL) {
        cell->kind = ISO_CELL_UNKNOWN;
        return true;
    }
    for (uint32_t i = 0; i < type->count; i++) {
        const struct avro_field *field = &cursor->schema->fields[type->first + i];
        bool is_value = !strcmp(field->name, "value");
        struct iso_cell mark = {0};
        if (!take_value(cursor, field->type, is_value ? cell : &mark))
            return false;
        set &= is_value || (mark.kind == ISO_CELL_BOOLEAN && mark.bits);
    }
    cell->in_cell = true;
    if (!set)
        cell->kind = ISO_CELL_UNKNOWN;
    return true;
}

static bool take_row(struct cursor *cursor, uint32_t number, struct iso_row *row, bool *is_null)
{
    if (!open_unions(cursor, &number))
        return false;
    const struct avro_type *type = &cursor->schema->types[number];
    *is_null = type->shape == SHAPE_NULL;
    if (*is_null)
        return true;
    if (type->shape != SHAPE_RECORD)
        return fault(cursor, "a record of columns");
    for (uint32_t i = 0; i < type->count; i++) {
        const struct avro_field *field = &cursor->schema->fields[type->first + i];
        struct iso_cell *cell = iso_row_add(row, field->name, field->length);
        if (cursor->avro->reader.cells ? !take_cell(cursor, field->type, cell) : !take_value(cursor, field->type, cell))
            return false;
    }
    return true;
}

static bool take_members(struct cursor *cursor, uint32_t number, enum iso_member_scope scope,
                         struct iso_envelope *envelope, bool *is_null, struct iso_error *error);

static bool take_member(struct cursor *cursor, uint32_t number, enum iso_member member, struct iso_envelope *envelope,
                        struct iso_error *error)
{
    struct iso_cell *cell = &envelope->member[member], ignored = {0};
    bool is_null = false, fine;
    if (member == ISO_MEMBER_NONE) {
        size_t start = cursor->avro->nested.used;
        fine = take_value(cursor, number, &ignored);
        cursor->avro->nested.used = start;
        return fine;
    }
    if (!envelope_note(envelope, member))
        return !envelope_twice(member, error);
    *cell = (struct iso_cell){.kind = ISO_CELL_JSON, .text = ""};
    switch (member) {
    case ISO_MEMBER_BEFORE:
    case ISO_MEMBER_AFTER:
        fine = take_row(cursor, number, envelope_row(envelope, member), &is_null);
        break;
    case ISO_MEMBER_SOURCE:
        fine = take_members(cursor, number, ISO_SCOPE_SOURCE, envelope, &is_null, error);
        break;
    case ISO_MEMBER_TRANSACTION:
        fine = take_members(cursor, number, ISO_SCOPE_TRANSACTION, envelope, &is_null, error);
        break;
    case ISO_MEMBER_MESSAGE:
        fine = take_members(cursor, number, ISO_SCOPE_MESSAGE, envelope, &is_null, error);
        break;
    default:
        return take_value(cursor, number, cell);
    }
    if (is_null)
        cell->kind = ISO_CELL_NULL;
    return fine;
}

static bool take_members(struct cursor *cursor, uint32_t number, enum iso_member_scope scope,
                         struct iso_envelope *envelope, bool *is_null, struct iso_error *error)
{
    if (!open_unions(cursor, &number))
        return false;
    const struct avro_type *type = &cursor->schema->types[number];
    *is_null = type->shape == SHAPE_NULL;
    if (*is_null)
        return true;
    if (type->shape != SHAPE_RECORD)
        return fault(cursor, scope == ISO_SCOPE_TOP ? "a record" : "a record inside the envelope");
    for (uint32_t i = 0; i < type->count; i++) {
        const struct avro_field *field = &cursor->schema->fields[type->first + i];
        if (!take_member(cursor, field->type, (enum iso_member)field->member[scope], envelope, error))
            return false;
    }
    return true;
}

/* ---- messages ---- */

static enum iso_status start(struct avro_reader *avro, const struct iso_message *message, enum iso_frame_part part,
                             struct cursor *cursor, struct iso_error *error)
{
    const struct iso_bytes *bytes = part == ISO_FRAME_KEY ? &message->key : &message->payload;
    struct iso_frame frame = {.bytes = bytes->data, .size = bytes->size};
    const struct avro_schema *schema = part == ISO_FRAME_KEY ? avro->given_key : avro->given_payload;
    const char *expected;
    if (avro->framed && !iso_frame_open(message, part, false, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "%sexpected %s", part == ISO_FRAME_KEY ? "key: " : "", expected);
    if (!schema && !(schema = envelope_schemas_find(&avro->schemas, frame.schema_id, error)))
        return error->status;
    *cursor = (struct cursor){.start = frame.bytes,
                              .at = frame.bytes,
                              .end = frame.bytes + frame.size,
                              .schema = schema,
                              .avro = avro,
                              .items = frame.size,
                              .steps = STEPS_MIN + frame.size * 4};
    return ISO_OK;
}

static enum iso_status finish(struct cursor *cursor, bool fine, const char *part, struct iso_error *error)
{
    if (fine && cursor->at != cursor->end)
        fine = fault(cursor, "the message's end");
    if (!fine && error->status == ISO_OK)
        iso_error_set(error, ISO_BAD_INPUT, "%sbyte %zu: expected %s", part,
                      (size_t)(cursor->faulty - cursor->start) + 1, cursor->expected);
    return error->status;
}

static enum iso_status read_message(struct iso_envelope_reader *reader, const struct iso_message *message,
                                    struct iso_envelope *envelope, struct iso_error *error)
{
    struct avro_reader *avro = (struct avro_reader *)reader;
    struct cursor cursor;
    avro->nested.used = 0;
    if (start(avro, message, ISO_FRAME_PAYLOAD, &cursor, error) != ISO_OK)
        return error->status;
    bool fine = take_members(&cursor, cursor.schema->root, ISO_SCOPE_TOP, envelope, &envelope->is_tombstone, error);
    finish(&cursor, fine, "", error);
    wire_settle(envelope, &avro->nested);
    return error->status;
}

static enum iso_status read_key(struct iso_envelope_reader *reader, const struct iso_message *message,
                                struct iso_envelope *envelope, struct iso_error *error)
{
    struct avro_reader *avro = (struct avro_reader *)reader;
    struct cursor cursor;
    bool is_null = false;
    if (start(avro, message, ISO_FRAME_KEY, &cursor, error) != ISO_OK)
        return error->status;
    bool fine = take_row(&cursor, cursor.schema->root, &envelope->key, &is_null);
    finish(&cursor, fine, "key, ", error);
    envelope->has_key = envelope->key.count > 0;
    wire_settle(envelope, &avro->nested);
    return error->status;
}

/* ---- creation ---- */

/* {"key":schema,"payload":schema}: schemas for messages that do not name theirs. */
static enum iso_status take_file(struct avro_reader *avro, const char *text, struct iso_error *error)
{
    struct iso_payload padded = {0};
    struct iso_json json;
    struct iso_json_text name;
    size_t length = strlen(text);
    iso_json_init(&json);
    iso_json_start(&json, iso_payload_copy(&padded, text, length), length);
    iso_json_enter_object(&json);
    while (error->status == ISO_OK && iso_json_member(&json, &name)) {
        bool is_key = ISO_PAYLOAD_IS(name, "key"), is_payload = ISO_PAYLOAD_IS(name, "payload");
        struct avro_schema **into = is_key ? &avro->given_key : &avro->given_payload;
        iso_json_space(&json);
        const char *from = json.at;
        if (iso_json_skip(&json) && (is_key || is_payload) && !*into)
            *into = avro_schema_parse(from, (size_t)(json.at - from), error);
    }
    if (error->status == ISO_OK && (!iso_json_finish(&json) || !avro->given_key || !avro->given_payload))
        iso_error_set(error, ISO_BAD_INPUT, "schema file: expected {\"key\":SCHEMA,\"payload\":SCHEMA}, both of Avro");
    iso_json_release(&json);
    iso_payload_release(&padded);
    return error->status;
}

static void destroy(struct iso_envelope_reader *reader)
{
    struct avro_reader *avro = (struct avro_reader *)reader;
    envelope_schemas_release(&avro->schemas);
    if (avro->given_key)
        avro_schema_forget(avro->given_key);
    if (avro->given_payload)
        avro_schema_forget(avro->given_payload);
    iso_text_release(&avro->nested);
    iso_free(avro);
}

static struct iso_envelope_reader *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    struct avro_reader *avro = iso_allocate_zeroed(1, sizeof *avro);
    avro->framed = options->framed;
    avro->schemas.registry = options->registry;
    avro->schemas.type = ISO_SCHEMA_AVRO;
    avro->schemas.parse = avro_schema_parse;
    avro->schemas.forget = avro_schema_forget;
    if (options->schema)
        take_file(avro, options->schema, error);
    else if (!options->registry || !options->framed)
        iso_error_set(error, ISO_BAD_INPUT, "format=avro: expected registry=URL and framing, or schema=FILE");
    if (error->status == ISO_OK)
        return &avro->reader;
    destroy(&avro->reader);
    return NULL;
}

const struct envelope_format envelope_avro = {"avro", create, read_message, read_key, destroy};
