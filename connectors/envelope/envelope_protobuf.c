/* Envelopes as Protobuf with Confluent's framing; the schema comes from a registry.
 *
 * On the wire a field has its number, a type of encoding, and bytes; what they mean the schema
 * says. A field that is not there is null if the schema tells null from 0 (optional, a wrapper, a
 * message). Otherwise it may be either: a column of a row is then unknown, and the converter must
 * be told `optional.for.nullables=true`; other members are 0.
 */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "connectors/envelope/envelope_private.h"
#include "connectors/envelope/proto_schema.h"
#include "connectors/envelope/nested.h"
#include "connectors/protobuf/wire.h"
#include "connectors/registry/schemas.h"
#include "connectors/cdc_common/framing.h"

enum { STEPS_MIN = 10000 };

/* A field of a message as it stands on the wire, and the next one of the same number. */
struct occurrence {
    struct iso_wire_field wire;
    uint32_t next; /* NONE: it is the last one */
};

/* The first and last occurrence of a field; NONE: it is not there. */
struct occurrences {
    uint32_t first, last;
};

#define NONE UINT32_MAX

struct protobuf_reader {
    struct iso_envelope_reader reader;
    struct iso_schemas schemas;
    struct iso_text nested; /* JSON of nested values */
    /* Stacks: messages nest. */
    struct occurrence *list;
    struct occurrences *fields;
    uint32_t list_count, list_capacity, field_count, field_capacity;
};

/* State of one reading; every part of a message points to it, and notes a fault here. */
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

static bool take_fixed(struct state *state, struct iso_wire_span *span, unsigned size,
                       uint64_t *value)
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
static uint32_t find_field(const struct state *state, const struct proto_message *message,
                           uint32_t number)
{
    if (number <= message->count &&
        state->schema->fields[message->first + number - 1].number == number)
        return number - 1;
    return proto_field_find(state->schema, message, number);
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

static bool take_scalar(struct state *state, uint8_t kind, const struct iso_wire_field *wire,
                        struct iso_cell *cell)
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

/* A field without presence that is not there has its type's default. */
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

static bool take_value(struct state *state, const struct proto_field *field,
                       const struct iso_wire_field *wire, struct iso_cell *cell);

/* confluent.type.Decimal {value 1, precision 2, scale 3}, or {scale, value} by their names. */
static bool take_decimal(struct state *state, const struct proto_message *message,
                         struct iso_wire_span span, struct iso_cell *cell)
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
            wire_text(cell, ISO_CELL_DECIMAL, wire.bytes.at,
                      (size_t)(wire.bytes.end - wire.bytes.at));
        else if (wire.number == scale && wire.encoding == ISO_WIRE_VARINT)
            places = wire.bits;
    }
    cell->scale = (int32_t)places;
    cell->value = message->meaning == PROTO_VARIABLE_DECIMAL
                      ? (struct iso_value_type){ISO_VALUE_NUMERIC, true, 0}
                      : (struct iso_value_type){ISO_VALUE_DECIMAL, false, (int16_t)places};
    return (cell->length <= ISO_CELL_DECIMAL_BYTES && cell->scale <= ISO_CELL_SCALE_MAX &&
            cell->scale >= -ISO_CELL_SCALE_MAX) ||
           fault(state, span.at, "a decimal of at most 64 bytes and 1000 places");
}

/* google.protobuf.*Value: field 1, absent for 0. */
static bool take_wrapped(struct state *state, const struct proto_message *message,
                         struct iso_wire_span span, struct iso_cell *cell)
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

static bool put_value(struct state *state, const struct proto_field *field,
                      const struct iso_wire_field *wire)
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

/* ---- all occurrences of fields ---- */

/* The stack space that a message's fields take. */
struct collected {
    uint32_t fields, list; /* where they begin */
};

static void add_occurrence(struct protobuf_reader *protobuf, struct occurrences *field,
                           const struct iso_wire_field *wire)
{
    ISO_GROW(protobuf->list, protobuf->list_count, protobuf->list_capacity);
    uint32_t place = protobuf->list_count++;
    protobuf->list[place] = (struct occurrence){*wire, NONE};
    if (field->first == NONE)
        field->first = place;
    else
        protobuf->list[field->last].next = place;
    field->last = place;
}

/* Looks at every field of a message once, however many of them the schema has. */
static bool collect(struct state *state, const struct proto_message *message,
                    struct iso_wire_span span, struct collected *collected)
{
    struct protobuf_reader *protobuf = state->protobuf;
    struct iso_wire_field wire;
    *collected = (struct collected){protobuf->field_count, protobuf->list_count};
    uint32_t need = protobuf->field_count + message->count;
    ISO_RESERVE(protobuf->fields, need, protobuf->field_capacity);
    protobuf->field_count = need;
    for (uint32_t i = 0; i < message->count; i++)
        protobuf->fields[collected->fields + i] = (struct occurrences){NONE, NONE};
    while (span.at < span.end) {
        if (!take_field(state, &span, &wire))
            return false;
        uint32_t index = find_field(state, message, wire.number);
        if (index < message->count)
            add_occurrence(protobuf, &protobuf->fields[collected->fields + index], &wire);
    }
    return true;
}

static void release_collected(struct state *state, const struct collected *collected)
{
    state->protobuf->field_count = collected->fields;
    state->protobuf->list_count = collected->list;
}

/* One occurrence's elements; numbers may be packed. */
static bool put_elements(struct state *state, const struct proto_field *field,
                         struct iso_wire_field wire, bool *first)
{
    struct iso_text *text = &state->protobuf->nested;
    bool packed = wire.encoding == ISO_WIRE_SIZED && encoding_of(field->kind) != ISO_WIRE_SIZED;
    struct iso_wire_span rest = wire.bytes;
    do {
        if (packed && rest.at == rest.end)
            break;
        if (packed) {
            wire.encoding = encoding_of(field->kind);
            if (wire.encoding == ISO_WIRE_VARINT
                    ? !take_varint(state, &rest, &wire.bits)
                    : !take_fixed(state, &rest, wire.encoding == ISO_WIRE_EIGHT_BYTES ? 8 : 4,
                                  &wire.bits))
                return false;
        }
        if (!*first)
            iso_text_put(text, ",");
        *first = false;
        if (!put_value(state, field, &wire))
            return false;
    } while (packed);
    return true;
}

/* All elements of a repeated field, whose occurrences may stand apart from each other. */
static bool put_repeated(struct state *state, const struct proto_field *field,
                         struct occurrences occurrences)
{
    struct iso_text *text = &state->protobuf->nested;
    bool first = true;
    iso_text_put(text, "[");
    for (uint32_t at = occurrences.first; at != NONE; at = state->protobuf->list[at].next)
        if (!put_elements(state, field, state->protobuf->list[at].wire, &first))
            return false;
    iso_text_put(text, "]");
    return true;
}

/* The last occurrence of a field counts. */
static bool put_field(struct state *state, const struct proto_field *field,
                      struct occurrences occurrences)
{
    struct iso_cell cell = {.kind = ISO_CELL_NULL};
    if (field->is_repeated)
        return put_repeated(state, field, occurrences);
    if (occurrences.last != NONE) {
        struct iso_wire_field wire = state->protobuf->list[occurrences.last].wire;
        return put_value(state, field, &wire);
    }
    if (!field->has_presence)
        take_default(field->kind, &cell);
    iso_cell_put_json(&state->protobuf->nested, &cell);
    return true;
}

static bool put_fields(struct state *state, const struct proto_message *message,
                       const struct collected *collected, const uint8_t *at)
{
    struct iso_text *text = &state->protobuf->nested;
    for (uint32_t i = 0; i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        iso_text_put(text, i ? "," : "{");
        iso_text_put_string(text, field->name, field->length);
        iso_text_put(text, ":");
        bool fine = enter(state, at) &&
                    put_field(state, field, state->protobuf->fields[collected->fields + i]);
        state->depth--;
        if (!fine || state->expected)
            return false;
    }
    iso_text_put(text, message->count ? "}" : "{}");
    return true;
}

static bool put_message(struct state *state, const struct proto_message *message,
                        struct iso_wire_span span)
{
    struct collected collected;
    bool fine = collect(state, message, span, &collected) &&
                put_fields(state, message, &collected, span.at);
    release_collected(state, &collected);
    return fine;
}

static bool take_value(struct state *state, const struct proto_field *field,
                       const struct iso_wire_field *wire, struct iso_cell *cell)
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
static bool take_cell(struct state *state, const struct proto_message *message,
                      struct iso_wire_span span, struct iso_cell *cell)
{
    struct collected collected;
    bool set = false, fine = collect(state, message, span, &collected);
    for (uint32_t i = 0; fine && i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        uint32_t last = state->protobuf->fields[collected.fields + i].last;
        bool is_value = !strcmp(field->name, "value");
        struct iso_cell mark = {0};
        if (is_value && last == NONE && !field->has_presence)
            cell->kind = ISO_CELL_UNKNOWN;
        struct iso_wire_field wire =
            last == NONE ? (struct iso_wire_field){0} : state->protobuf->list[last].wire;
        fine = last == NONE || take_value(state, field, &wire, is_value ? cell : &mark);
        set |= !is_value && mark.kind == ISO_CELL_BOOLEAN && mark.bits;
    }
    release_collected(state, &collected);
    cell->in_cell = true;
    if (!set)
        cell->kind = ISO_CELL_UNKNOWN;
    return fine && !state->expected;
}

/* Where the message's lists are; they are collected at the first one, since most have none. */
struct lists {
    const struct proto_message *message;
    struct iso_wire_span span;
    struct collected collected;
    bool are_collected;
};

/* The elements of a list stand apart, and are all taken at its first one. */
static bool put_list(struct state *state, struct lists *lists, uint32_t index,
                     struct iso_cell *cell)
{
    size_t start = state->protobuf->nested.used;
    if (!lists->are_collected) {
        lists->are_collected = true;
        if (!collect(state, lists->message, lists->span, &lists->collected))
            return false;
    }
    if (!put_repeated(state, &state->schema->fields[lists->message->first + index],
                      state->protobuf->fields[lists->collected.fields + index]))
        return false;
    wire_json(cell, &state->protobuf->nested, start);
    return true;
}

static void release_lists(struct state *state, const struct lists *lists)
{
    if (lists->are_collected)
        release_collected(state, &lists->collected);
}

static bool take_column(struct state *state, uint32_t index, const struct iso_wire_field *wire,
                        struct lists *lists, struct iso_cell *cell)
{
    const struct proto_field *field = &state->schema->fields[lists->message->first + index];
    if (field->is_repeated)
        return cell->kind == ISO_CELL_JSON || put_list(state, lists, index, cell);
    bool opens = state->protobuf->reader.cells && field->kind == PROTO_MESSAGE &&
                 wire->encoding == ISO_WIRE_SIZED &&
                 state->schema->messages[field->message].meaning == PROTO_CELL;
    return opens ? take_cell(state, &state->schema->messages[field->message], wire->bytes, cell)
                 : take_value(state, field, wire, cell);
}

/* The type of a column's values; of a message, its name. */
static uint32_t type_of(const struct proto_schema *schema, const struct proto_field *field)
{
    const struct proto_message *message =
        field->kind == PROTO_MESSAGE ? &schema->messages[field->message] : NULL;
    uint8_t meaning = message ? message->meaning : (uint8_t)PROTO_PLAIN;
    uint8_t kind = meaning == PROTO_WRAPPER ? message->wrapped : field->kind;
    if (meaning == PROTO_CELL)
        return 0;
    if (!field->is_repeated &&
        (meaning == PROTO_DECIMAL || meaning == PROTO_VARIABLE_DECIMAL || kind == PROTO_STRING))
        return ISO_TYPE_STRING; /* a decimal's scale travels with its value */
    const char shape[] = {(char)kind, (char)field->is_repeated};
    return iso_type_digest(shape, sizeof shape, message ? message->name : "",
                           message ? strlen(message->name) : 0);
}

/* Only what a plain type says: numbers may be times, and texts anything. */
static struct iso_value_type value_of(const struct proto_schema *schema,
                                      const struct proto_field *field)
{
    const struct proto_message *message =
        field->kind == PROTO_MESSAGE ? &schema->messages[field->message] : NULL;
    uint8_t kind = message && message->meaning == PROTO_WRAPPER ? message->wrapped : field->kind;
    if (field->is_repeated)
        return (struct iso_value_type){ISO_VALUE_NESTED, false, 0};
    return kind == PROTO_BOOL     ? (struct iso_value_type){ISO_VALUE_BOOLEAN, false, 0}
           : kind == PROTO_DOUBLE ? (struct iso_value_type){ISO_VALUE_DOUBLE, false, 0}
           : kind == PROTO_FLOAT  ? (struct iso_value_type){ISO_VALUE_FLOAT, false, 0}
           : kind == PROTO_BYTES  ? (struct iso_value_type){ISO_VALUE_BYTES, false, 0}
           : message              ? (struct iso_value_type){0}
                                  : (struct iso_value_type){ISO_VALUE_ANY, false, 0};
}

/* A column that is not there is null, or not known; of a key it is 0, since keys are not null. */
static void add_columns(struct state *state, const struct proto_message *message,
                        struct iso_row *row, bool is_key)
{
    for (uint32_t i = 0; i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        struct iso_cell *cell = iso_row_add(row, field->name, field->length);
        cell->type = type_of(state->schema, field);
        cell->value = value_of(state->schema, field);
        bool is_cell = state->protobuf->reader.cells && field->kind == PROTO_MESSAGE &&
                       state->schema->messages[field->message].meaning == PROTO_CELL;
        if (is_key && !field->has_presence)
            take_default(field->kind, cell);
        else if (is_cell || !field->has_presence)
            cell->kind = ISO_CELL_UNKNOWN;
    }
}

static bool take_row(struct state *state, const struct proto_message *message,
                     struct iso_wire_span span, struct iso_row *row, bool is_key)
{
    struct lists lists = {.message = message, .span = span};
    struct iso_wire_field wire;
    uint32_t first = row->count;
    bool fine = true;
    add_columns(state, message, row, is_key);
    while (fine && span.at < span.end) {
        fine = take_field(state, &span, &wire);
        uint32_t index = fine ? find_field(state, message, wire.number) : message->count;
        fine = index == message->count
                   ? fine
                   : take_column(state, index, &wire, &lists, &row->cells[first + index]);
    }
    release_lists(state, &lists);
    return fine;
}

static bool take_members(struct state *state, const struct proto_message *message,
                         struct iso_wire_span span, enum iso_member_scope scope);

static bool take_struct(struct state *state, const struct proto_field *field,
                        const struct iso_wire_field *wire, enum iso_member member)
{
    if (field->kind != PROTO_MESSAGE || wire->encoding != ISO_WIRE_SIZED)
        return fault(state, state->start,
                     "a message in before, after, source, transaction and message");
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

static bool take_member(struct state *state, uint32_t index, const struct iso_wire_field *wire,
                        struct lists *lists, enum iso_member member)
{
    const struct proto_field *field = &state->schema->fields[lists->message->first + index];
    struct iso_cell *cell = &state->envelope->member[member];
    if (member == ISO_MEMBER_NONE)
        return true;
    if (field->is_repeated)
        return member != ISO_MEMBER_DATA_COLLECTIONS || !envelope_note(state->envelope, member) ||
               put_list(state, lists, index, cell);
    if (!envelope_note(state->envelope, member))
        return !envelope_twice(member, state->error);
    *cell = (struct iso_cell){.kind = ISO_CELL_JSON, .text = ""};
    return is_struct(member) ? take_struct(state, field, wire, member)
                             : take_value(state, field, wire, cell);
}

/* A member that the schema has and the message does not is there, as null or as 0. */
static void add_absent(struct state *state, const struct proto_message *message,
                       enum iso_member_scope scope)
{
    for (uint32_t i = 0; i < message->count; i++) {
        const struct proto_field *field = &state->schema->fields[message->first + i];
        enum iso_member member = (enum iso_member)field->member[scope];
        if (member == ISO_MEMBER_NONE || field->is_repeated ||
            !envelope_note(state->envelope, member))
            continue;
        struct iso_cell *cell = &state->envelope->member[member];
        *cell = (struct iso_cell){.kind = ISO_CELL_NULL};
        if (!field->has_presence)
            take_default(field->kind, cell);
    }
}

static bool take_members(struct state *state, const struct proto_message *message,
                         struct iso_wire_span span, enum iso_member_scope scope)
{
    struct lists lists = {.message = message, .span = span};
    struct iso_wire_field wire;
    bool fine = true;
    while (fine && span.at < span.end) {
        fine = take_field(state, &span, &wire);
        uint32_t index = fine ? find_field(state, message, wire.number) : message->count;
        if (index == message->count)
            continue;
        const struct proto_field *field = &state->schema->fields[message->first + index];
        fine = take_member(state, index, &wire, &lists, (enum iso_member)field->member[scope]);
    }
    release_lists(state, &lists);
    if (fine)
        add_absent(state, message, scope);
    return fine;
}

/* ---- messages ---- */

static enum iso_status read_part(struct protobuf_reader *protobuf,
                                 const struct iso_message *message, enum iso_frame_part part,
                                 struct iso_envelope *envelope, struct iso_error *error)
{
    struct iso_frame frame;
    const char *expected, *name = part == ISO_FRAME_KEY ? "key: " : "";
    if (!iso_frame_open(message, part, true, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "%sexpected %s", name, expected);
    const struct proto_schema *schema =
        iso_schemas_find(&protobuf->schemas, frame.schema_id, error);
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
        iso_error_set(error, ISO_BAD_INPUT, "%sbyte %zu: expected %s", name,
                      (size_t)(state.faulty - state.start) + 1, state.expected);
    wire_settle(envelope, &protobuf->nested);
    return error->status;
}

static enum iso_status read_message(struct iso_envelope_reader *reader,
                                    const struct iso_message *message,
                                    struct iso_envelope *envelope, struct iso_error *error)
{
    struct protobuf_reader *protobuf = (struct protobuf_reader *)reader;
    protobuf->nested.used = 0;
    return read_part(protobuf, message, ISO_FRAME_PAYLOAD, envelope, error);
}

static enum iso_status read_key(struct iso_envelope_reader *reader,
                                const struct iso_message *message, struct iso_envelope *envelope,
                                struct iso_error *error)
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
    ISO_FREE_ALL(protobuf->list, protobuf->fields, protobuf);
}

static struct iso_envelope_reader *create(const struct iso_decoder_options *options,
                                          struct iso_error *error)
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

const struct envelope_format envelope_protobuf = {"protobuf", create, read_message, read_key,
                                                  destroy};
