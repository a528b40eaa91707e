/* Envelopes as Protobuf with Confluent's framing; the schema comes from a registry.
 *
 * On the wire a field has its number, a type of encoding, and bytes; what they mean the schema says. A field that is
 * not there is null if the schema tells null from 0 (optional, a wrapper, a message). Otherwise it may be either: a
 * column of a row is then unknown, and the converter must be told `optional.for.nullables=true`; other members are 0.
 */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "connectors/envelope/envelope_private.h"
#include "connectors/envelope/proto_schema.h"
#include "connectors/envelope/wire.h"
#include "connectors/protobuf/wire.h"
#include "connectors/registry/schemas.h"
#include "io/framing.h"

enum { STEPS_MIN = 10000 };

struct protobuf_reader {
    struct iso_envelope_reader reader;
    struct iso_schemas schemas;
    struct iso_text nested; /* JSON of nested values */
};

/* What is read; a fault is noted here, and every part of a message points to it. */
struct state {
    const struct proto_schema *schema;
    struct protobuf_reader *protobuf;
    struct iso_envelope *envelope;
    struct iso_error *error;
    const uint8_t *start;
    const char *expected; /* NULL: no fault */
    const uint8_t *faulty;
    uint64_t steps; /* fields that may still be looked at */
    int depth;
};

static bool fault(struct state *state, const uint8_t *at, const char *expected)
{
    if (!state->expected) {
        state->expected = expected;
        state->faulty = at;
    }
    return false;
}

/* ---- the wire ---- */

static bool take_varint(struct state *state, struct iso_wire_span *span, uint64_t *value)
{
    const char *expected = iso_wire_varint(span, value);
    return !expected || fault(state, span->at, expected);
}

static bool take_fixed(struct state *state, struct iso_wire_span *span, unsigned size, uint64_t *value)
{
    const char *expected = iso_wire_fixed(span, size, value);
    return !expected || fault(state, span->at, expected);
}

/* The next field; false: a fault. The caller looks whether anything is left. */
static bool take_field(struct state *state, struct iso_wire_span *span, struct iso_wire_field *wire)
{
    const char *expected = iso_wire_take(span, wire);
    return !expected || fault(state, span->at, expected);
}

/* The field's index within its message, `count` if the schema does not have it. */
static uint32_t find_field(const struct proto_schema *schema, const struct proto_message *message, uint32_t number)
{
    if (number <= message->count && schema->fields[message->first + number - 1].number == number)
        return number - 1;
    uint32_t i = 0;
    while (i < message->count && schema->fields[message->first + i].number != number)
        i++;
    return i;
}

static uint32_t encoding_of(uint8_t kind)
{
    switch (kind) {
    case PROTO_DOUBLE:
    case PROTO_FIXED64:
    case PROTO_SFIXED64:
        return ISO_WIRE_EIGHT_BYTES;
    case PROTO_FLOAT:
    case PROTO_FIXED32:
    case PROTO_SFIXED32:
        return ISO_WIRE_FOUR_BYTES;
    case PROTO_STRING:
    case PROTO_BYTES:
    case PROTO_MESSAGE:
        return ISO_WIRE_SIZED;
    default:
        return ISO_WIRE_VARINT;
    }
}

/* ---- values ---- */

static bool take_scalar(struct state *state, uint8_t kind, const struct iso_wire_field *wire, struct iso_cell *cell)
{
    size_t size = (size_t)(wire->bytes.end - wire->bytes.at);
    if (wire->encoding != encoding_of(kind))
        return fault(state, state->start, "fields encoded as the schema says");
    switch (kind) {
    case PROTO_DOUBLE:
        cell->kind = ISO_CELL_DOUBLE;
        cell->bits = wire->bits;
        return true;
    case PROTO_FLOAT:
        cell->kind = ISO_CELL_FLOAT;
        cell->bits = wire->bits;
        return true;
    case PROTO_INT32:
        wire_signed(cell, (int32_t)wire->bits);
        return true;
    case PROTO_INT64:
    case PROTO_SFIXED64:
        wire_signed(cell, (int64_t)wire->bits);
        return true;
    case PROTO_SFIXED32:
        wire_signed(cell, (int32_t)wire->bits);
        return true;
    case PROTO_SINT32:
    case PROTO_SINT64:
        wire_signed(cell, iso_varint_signed(wire->bits));
        return true;
    case PROTO_BOOL:
        cell->kind = ISO_CELL_BOOLEAN;
        cell->bits = wire->bits != 0;
        return true;
    case PROTO_STRING:
        wire_text(cell, ISO_CELL_TEXT, wire->bytes.at, size);
        return iso_utf8_valid(wire->bytes.at, size) || fault(state, wire->bytes.at, "UTF-8");
    case PROTO_BYTES:
        wire_text(cell, ISO_CELL_BYTES, wire->bytes.at, size);
        return true;
    default: /* unsigned ones */
        cell->kind = ISO_CELL_INTEGER;
        cell->negative = false;
        cell->bits = wire->bits;
        return true;
    }
}

/* What a field without presence holds when it is not there. */
static void take_default(uint8_t kind, struct iso_cell *cell)
{
    if (kind == PROTO_STRING || kind == PROTO_BYTES) {
        wire_text(cell, kind == PROTO_STRING ? ISO_CELL_TEXT : ISO_CELL_BYTES, "", 0);
        return;
    }
    cell->bits = 0;
    cell->negative = false;
    cell->kind = kind == PROTO_BOOL     ? ISO_CELL_BOOLEAN
                 : kind == PROTO_DOUBLE ? ISO_CELL_DOUBLE
                 : kind == PROTO_FLOAT  ? ISO_CELL_FLOAT
                                        : ISO_CELL_INTEGER;
}

static bool take_value(struct state *state, const struct proto_field *field, const struct iso_wire_field *wire,
                       struct iso_cell *cell);

/* confluent.type.Decimal {value 1, precision 2, scale 3}, or {scale, value} by their names. */
static bool take_decimal(struct state *state, const struct proto_message *message, struct iso_wire_span span,
                         struct iso_cell *cell)
{
    uint32_t value = 1, scale = 3;
    uint64_t places = 0;
    struct iso_wire_field wire;
    for (uint32_t i = 0; message->meaning == PROTO_VARIABLE_DECIMAL && i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        *(!strcmp(field->name, "scale") ? &scale : &value) = field->number;
    }
    wire_text(cell, ISO_CELL_DECIMAL, "", 0);
    while (span.at < span.end) {
        if (!take_field(state, &span, &wire))
            return false;
        if (wire.number == value && wire.encoding == ISO_WIRE_SIZED)
            wire_text(cell, ISO_CELL_DECIMAL, wire.bytes.at, (size_t)(wire.bytes.end - wire.bytes.at));
        else if (wire.number == scale && wire.encoding == ISO_WIRE_VARINT)
            places = wire.bits;
    }
    cell->scale = (int32_t)places;
    return (cell->length <= ISO_CELL_DECIMAL_BYTES && cell->scale <= ISO_CELL_SCALE_MAX &&
            cell->scale >= -ISO_CELL_SCALE_MAX) ||
           fault(state, span.at, "a decimal of at most 64 bytes and 1000 places");
}

/* google.protobuf.*Value: field 1, absent for 0. */
static bool take_wrapped(struct state *state, const struct proto_message *message, struct iso_wire_span span,
                         struct iso_cell *cell)
{
    struct iso_wire_field wire;
    take_default(message->wrapped, cell);
    while (span.at < span.end)
        if (!take_field(state, &span, &wire) ||
            (wire.number == 1 && !take_scalar(state, message->wrapped, &wire, cell)))
            return false;
    return true;
}

static bool enter(struct state *state, const uint8_t *at)
{
    state->depth++;
    if (!state->steps)
        return fault(state, at, "fewer values in so few bytes");
    state->steps--;
    return state->depth < PROTO_DEPTH_MAX || fault(state, at, "fewer levels");
}

static bool put_value(struct state *state, const struct proto_field *field, const struct iso_wire_field *wire)
{
    struct iso_cell cell = {0};
    size_t start = state->protobuf->nested.used;
    if (!take_value(state, field, wire, &cell))
        return false;
    if (cell.kind != ISO_CELL_JSON) { /* a nested message has put itself */
        state->protobuf->nested.used = start;
        iso_cell_put_json(&state->protobuf->nested, &cell);
    }
    return true;
}

/* All elements of a repeated field in `span`, which may stand apart from each other; numbers may be packed. */
static bool put_repeated(struct state *state, const struct proto_field *field, struct iso_wire_span span)
{
    struct iso_text *text = &state->protobuf->nested;
    struct iso_wire_field wire;
    bool first = true;
    iso_text_put(text, "[");
    while (span.at < span.end) {
        if (!take_field(state, &span, &wire))
            return false;
        if (wire.number != field->number)
            continue;
        bool packed = wire.encoding == ISO_WIRE_SIZED && encoding_of(field->kind) != ISO_WIRE_SIZED;
        struct iso_wire_span rest = wire.bytes;
        do {
            if (packed && rest.at == rest.end)
                break;
            if (packed) {
                wire.encoding = encoding_of(field->kind);
                if (wire.encoding == ISO_WIRE_VARINT
                        ? !take_varint(state, &rest, &wire.bits)
                        : !take_fixed(state, &rest, wire.encoding == ISO_WIRE_EIGHT_BYTES ? 8 : 4, &wire.bits))
                    return false;
            }
            if (!first)
                iso_text_put(text, ",");
            first = false;
            if (!put_value(state, field, &wire))
                return false;
        } while (packed);
    }
    iso_text_put(text, "]");
    return true;
}

/* The last occurrence of the field counts; false: it is not there. */
static bool find_last(struct state *state, struct iso_wire_span span, uint32_t number, struct iso_wire_field *found)
{
    struct iso_wire_field wire;
    bool there = false;
    while (span.at < span.end && take_field(state, &span, &wire))
        if (wire.number == number) {
            *found = wire;
            there = true;
        }
    return there;
}

static bool put_message(struct state *state, const struct proto_message *message, struct iso_wire_span span)
{
    struct iso_text *text = &state->protobuf->nested;
    for (uint32_t i = 0; i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        struct iso_cell cell = {.kind = ISO_CELL_NULL};
        struct iso_wire_field wire;
        iso_text_put(text, i ? "," : "{");
        iso_text_put_string(text, field->name, field->length);
        iso_text_put(text, ":");
        bool fine = enter(state, span.at);
        if (fine && field->is_repeated) {
            fine = put_repeated(state, field, span);
        } else if (fine && find_last(state, span, field->number, &wire)) {
            fine = put_value(state, field, &wire);
        } else if (fine) {
            if (!field->has_presence)
                take_default(field->kind, &cell);
            iso_cell_put_json(text, &cell);
        }
        state->depth--;
        if (!fine || state->expected)
            return false;
    }
    iso_text_put(text, message->count ? "}" : "{}");
    return true;
}

static bool take_value(struct state *state, const struct proto_field *field, const struct iso_wire_field *wire,
                       struct iso_cell *cell)
{
    if (field->kind != PROTO_MESSAGE)
        return take_scalar(state, field->kind, wire, cell);
    if (wire->encoding != ISO_WIRE_SIZED)
        return fault(state, state->start, "fields encoded as the schema says");
    const struct proto_message *message = &state->schema->messages[field->message];
    size_t start = state->protobuf->nested.used;
    switch (message->meaning) {
    case PROTO_DECIMAL:
    case PROTO_VARIABLE_DECIMAL:
        return take_decimal(state, message, wire->bytes, cell);
    case PROTO_WRAPPER:
        return take_wrapped(state, message, wire->bytes, cell);
    default:
        if (!put_message(state, message, wire->bytes))
            return false;
        wire_json(cell, &state->protobuf->nested, start);
        return true;
    }
}

/* ---- rows and envelopes ---- */

/* A column that is {value, set}. */
static bool take_cell(struct state *state, const struct proto_message *message, struct iso_wire_span span,
                      struct iso_cell *cell)
{
    struct iso_wire_field wire;
    bool set = false;
    for (uint32_t i = 0; i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        bool is_value = !strcmp(field->name, "value"), there = find_last(state, span, field->number, &wire);
        struct iso_cell mark = {0};
        if (is_value && !there && !field->has_presence)
            cell->kind = ISO_CELL_UNKNOWN;
        if (there && !take_value(state, field, &wire, is_value ? cell : &mark))
            return false;
        set |= !is_value && mark.kind == ISO_CELL_BOOLEAN && mark.bits;
    }
    cell->in_cell = true;
    if (!set)
        cell->kind = ISO_CELL_UNKNOWN;
    return !state->expected;
}

static bool take_column(struct state *state, const struct proto_field *field, const struct iso_wire_field *wire,
                        struct iso_wire_span span, struct iso_cell *cell)
{
    size_t start = state->protobuf->nested.used;
    if (field->is_repeated) {
        if (cell->kind == ISO_CELL_JSON) /* its elements stand apart, and were all taken at the first */
            return true;
        if (!put_repeated(state, field, span))
            return false;
        wire_json(cell, &state->protobuf->nested, start);
        return true;
    }
    bool opens = state->protobuf->reader.cells && field->kind == PROTO_MESSAGE && wire->encoding == ISO_WIRE_SIZED &&
                 state->schema->messages[field->message].meaning == PROTO_CELL;
    return opens ? take_cell(state, &state->schema->messages[field->message], wire->bytes, cell)
                 : take_value(state, field, wire, cell);
}

/* A column that is not there is null, or not known; of a key it is 0, since keys are not null. */
static void add_columns(struct state *state, const struct proto_message *message, struct iso_row *row, bool is_key)
{
    for (uint32_t i = 0; i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        struct iso_cell *cell = iso_row_add(row, field->name, field->length);
        bool is_cell = state->protobuf->reader.cells && field->kind == PROTO_MESSAGE &&
                       state->schema->messages[field->message].meaning == PROTO_CELL;
        if (is_key && !field->has_presence)
            take_default(field->kind, cell);
        else if (is_cell || !field->has_presence)
            cell->kind = ISO_CELL_UNKNOWN;
    }
}

static bool take_row(struct state *state, const struct proto_message *message, struct iso_wire_span span,
                     struct iso_row *row, bool is_key)
{
    struct iso_wire_span whole = span;
    struct iso_wire_field wire;
    uint32_t first = row->count;
    add_columns(state, message, row, is_key);
    while (span.at < span.end) {
        if (!take_field(state, &span, &wire))
            return false;
        uint32_t index = find_field(state->schema, message, wire.number);
        if (index < message->count && !take_column(state, &state->schema->fields[message->first + index], &wire, whole,
                                                   &row->cells[first + index]))
            return false;
    }
    return true;
}

static bool take_members(struct state *state, const struct proto_message *message, struct iso_wire_span span,
                         enum iso_member_scope scope);

static bool take_struct(struct state *state, const struct proto_field *field, const struct iso_wire_field *wire,
                        enum iso_member member)
{
    if (field->kind != PROTO_MESSAGE || wire->encoding != ISO_WIRE_SIZED)
        return fault(state, state->start, "a message in before, after, source, transaction and message");
    const struct proto_message *message = &state->schema->messages[field->message];
    switch (member) {
    case ISO_MEMBER_SOURCE:
        return take_members(state, message, wire->bytes, ISO_SCOPE_SOURCE);
    case ISO_MEMBER_TRANSACTION:
        return take_members(state, message, wire->bytes, ISO_SCOPE_TRANSACTION);
    case ISO_MEMBER_MESSAGE:
        return take_members(state, message, wire->bytes, ISO_SCOPE_MESSAGE);
    default:
        return take_row(state, message, wire->bytes, envelope_row(state->envelope, member), false);
    }
}

static bool is_struct(enum iso_member member)
{
    return member >= ISO_MEMBER_BEFORE && member <= ISO_MEMBER_MESSAGE;
}

static bool take_member(struct state *state, const struct proto_field *field, const struct iso_wire_field *wire,
                        enum iso_member member)
{
    struct iso_cell *cell = &state->envelope->member[member];
    if (member == ISO_MEMBER_NONE || field->is_repeated)
        return true;
    if (!envelope_note(state->envelope, member))
        return !envelope_twice(member, state->error);
    *cell = (struct iso_cell){.kind = ISO_CELL_JSON, .text = ""};
    return is_struct(member) ? take_struct(state, field, wire, member) : take_value(state, field, wire, cell);
}

/* A member that the schema has and the message does not is there, as null or as 0. */
static void add_absent(struct state *state, const struct proto_message *message, enum iso_member_scope scope)
{
    for (uint32_t i = 0; i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        enum iso_member member = (enum iso_member)field->member[scope];
        if (member == ISO_MEMBER_NONE || field->is_repeated || !envelope_note(state->envelope, member))
            continue;
        struct iso_cell *cell = &state->envelope->member[member];
        *cell = (struct iso_cell){.kind = ISO_CELL_NULL};
        if (!field->has_presence)
            take_default(field->kind, cell);
    }
}

static bool take_members(struct state *state, const struct proto_message *message, struct iso_wire_span span,
                         enum iso_member_scope scope)
{
    struct iso_wire_field wire;
    while (span.at < span.end) {
        if (!take_field(state, &span, &wire))
            return false;
        uint32_t index = find_field(state->schema, message, wire.number);
        if (index == message->count)
            continue;
        const struct proto_field *field = &state->schema->fields[message->first + index];
        if (!take_member(state, field, &wire, (enum iso_member)field->member[scope]))
            return false;
    }
    add_absent(state, message, scope);
    return true;
}

/* ---- messages ---- */

static enum iso_status read_part(struct protobuf_reader *protobuf, const struct iso_message *message,
                                 enum iso_frame_part part, struct iso_envelope *envelope, struct iso_error *error)
{
    struct iso_frame frame;
    const char *expected, *name = part == ISO_FRAME_KEY ? "key: " : "";
    if (!iso_frame_open(message, part, true, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "%sexpected %s", name, expected);
    const struct proto_schema *schema = iso_schemas_find(&protobuf->schemas, frame.schema_id, error);
    if (!schema)
        return error->status;
    struct state state = {.schema = schema,
                          .protobuf = protobuf,
                          .envelope = envelope,
                          .error = error,
                          .start = frame.bytes,
                          .steps = STEPS_MIN + frame.size * 4};
    struct iso_wire_span span = {frame.bytes, frame.bytes + frame.size};
    const struct proto_message *root = &schema->messages[schema->root];
    bool fine = part == ISO_FRAME_KEY ? take_row(&state, root, span, &envelope->key, true)
                                      : take_members(&state, root, span, ISO_SCOPE_TOP);
    if (!fine && error->status == ISO_OK)
        iso_error_set(error, ISO_BAD_INPUT, "%sbyte %zu: expected %s", name, (size_t)(state.faulty - state.start) + 1,
                      state.expected);
    wire_settle(envelope, &protobuf->nested);
    return error->status;
}

static enum iso_status read_message(struct iso_envelope_reader *reader, const struct iso_message *message,
                                    struct iso_envelope *envelope, struct iso_error *error)
{
    struct protobuf_reader *protobuf = (struct protobuf_reader *)reader;
    protobuf->nested.used = 0;
    return read_part(protobuf, message, ISO_FRAME_PAYLOAD, envelope, error);
}

static enum iso_status read_key(struct iso_envelope_reader *reader, const struct iso_message *message,
                                struct iso_envelope *envelope, struct iso_error *error)
{
    read_part((struct protobuf_reader *)reader, message, ISO_FRAME_KEY, envelope, error);
    envelope->has_key = envelope->key.count > 0;
    return error->status;
}

static void destroy(struct iso_envelope_reader *reader)
{
    struct protobuf_reader *protobuf = (struct protobuf_reader *)reader;
    iso_schemas_release(&protobuf->schemas);
    iso_text_release(&protobuf->nested);
    iso_free(protobuf);
}

static struct iso_envelope_reader *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    if (!options->registry || !options->framed) {
        iso_error_set(error, ISO_BAD_INPUT, "format=protobuf: expected registry=URL and framing");
        return NULL;
    }
    struct protobuf_reader *protobuf = iso_allocate_zeroed(1, sizeof *protobuf);
    protobuf->schemas.registry = options->registry;
    protobuf->schemas.type = ISO_SCHEMA_PROTOBUF;
    protobuf->schemas.parse = proto_schema_parse;
    protobuf->schemas.forget = proto_schema_forget;
    return &protobuf->reader;
}

const struct envelope_format envelope_protobuf = {"protobuf", create, read_message, read_key, destroy};
