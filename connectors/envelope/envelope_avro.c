/* Envelopes as Avro, with Confluent's framing or with schemas from a file,
 * {"key":schema,"payload":schema}. */
#include "base/memory.h"
#include "connectors/envelope/avro_value.h"
#include "connectors/envelope/envelope_private.h"
#include "connectors/envelope/nested.h"
#include "connectors/registry/schemas.h"
#include "connectors/cdc_common/framing.h"
#include "base/payload.h"

_Static_assert((int)ISO_SCOPES <= (int)ISO_AVRO_USES, "a field has a use in each scope");

struct avro_reader {
    struct iso_envelope_reader reader;
    bool framed;
    struct iso_schemas schemas;
    struct iso_avro_schema *given_key, *given_payload; /* from a file */
    struct iso_text nested;                            /* JSON of nested values */
};

/* ---- members ---- */

static bool read_members(struct avro_reader *avro, struct avro_reading *reading,
                         const struct iso_avro_type *type, enum iso_member_scope scope,
                         struct iso_envelope *envelope, struct iso_error *error);

/* The members of the struct that the member is; otherwise ISO_SCOPE_TOP. */
static enum iso_member_scope scope_of(enum iso_member member)
{
    return member == ISO_MEMBER_SOURCE        ? ISO_SCOPE_SOURCE
           : member == ISO_MEMBER_TRANSACTION ? ISO_SCOPE_TRANSACTION
           : member == ISO_MEMBER_MESSAGE     ? ISO_SCOPE_MESSAGE
                                              : ISO_SCOPE_TOP;
}

static void read_member(struct avro_reader *avro, struct avro_reading *reading,
                        const struct iso_avro_type *type, enum iso_member member,
                        struct iso_envelope *envelope, struct iso_error *error)
{
    struct iso_cell *cell = &envelope->member[member];
    struct iso_row *row = envelope_row(envelope, member);
    enum iso_member_scope scope = scope_of(member);
    bool is_null = false;
    if (!envelope_note(envelope, member)) {
        envelope_twice(member, error);
        return;
    }
    *cell = (struct iso_cell){.kind = ISO_CELL_JSON, .text = ""};
    if (row)
        avro_value_row(reading, type, avro->reader.cells, row, &is_null);
    else if (scope != ISO_SCOPE_TOP)
        is_null = read_members(avro, reading, type, scope, envelope, error);
    else
        avro_value_read(reading, type, cell);
    if (is_null)
        cell->kind = ISO_CELL_NULL;
}

/* True: there is a null in their place. */
static bool read_members(struct avro_reader *avro, struct avro_reading *reading,
                         const struct iso_avro_type *type, enum iso_member_scope scope,
                         struct iso_envelope *envelope, struct iso_error *error)
{
    struct iso_avro_cursor *cursor = &reading->cursor;
    type = iso_avro_inside(type, cursor);
    if (type->shape == ISO_AVRO_NULL)
        return true;
    if (type->shape != ISO_AVRO_RECORD)
        return iso_avro_fail(cursor,
                             scope == ISO_SCOPE_TOP ? "a record" : "a record inside the envelope");
    for (uint32_t i = 0; i < type->count && !cursor->expected && error->status == ISO_OK; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        if (field->use[scope] == ISO_MEMBER_NONE)
            iso_avro_skip(field->type, cursor);
        else
            read_member(avro, reading, field->type, (enum iso_member)field->use[scope], envelope,
                        error);
    }
    return false;
}

/* ---- messages ---- */

static enum iso_status start(struct avro_reader *avro, const struct iso_message *message,
                             enum iso_frame_part part, struct avro_reading *reading,
                             const struct iso_avro_type **root, struct iso_error *error)
{
    const struct iso_bytes *bytes = part == ISO_FRAME_KEY ? &message->key : &message->payload;
    struct iso_frame frame = {.bytes = bytes->data, .size = bytes->size};
    const struct iso_avro_schema *schema =
        part == ISO_FRAME_KEY ? avro->given_key : avro->given_payload;
    const char *expected;
    if (avro->framed && !iso_frame_open(message, part, false, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "%sexpected %s",
                             part == ISO_FRAME_KEY ? "key: " : "", expected);
    if (!schema && !(schema = iso_schemas_find(&avro->schemas, frame.schema_id, error)))
        return error->status;
    iso_avro_start(&reading->cursor, frame.bytes, frame.size);
    *root = schema->root;
    reading->nested = &avro->nested;
    return ISO_OK;
}

static enum iso_status finish(struct avro_reading *reading, const char *part,
                              struct iso_error *error)
{
    if (error->status == ISO_OK && !iso_avro_finish(&reading->cursor))
        iso_error_set(error, ISO_BAD_INPUT, "%sbyte %zu: expected %s", part,
                      reading->cursor.position + 1, reading->cursor.expected);
    return error->status;
}

static enum iso_status read_message(struct iso_envelope_reader *reader,
                                    const struct iso_message *message,
                                    struct iso_envelope *envelope, struct iso_error *error)
{
    struct avro_reader *avro = (struct avro_reader *)reader;
    struct avro_reading reading;
    const struct iso_avro_type *root;
    avro->nested.used = 0;
    if (start(avro, message, ISO_FRAME_PAYLOAD, &reading, &root, error) != ISO_OK)
        return error->status;
    envelope->is_tombstone = read_members(avro, &reading, root, ISO_SCOPE_TOP, envelope, error);
    finish(&reading, "", error);
    wire_settle(envelope, &avro->nested);
    return error->status;
}

static enum iso_status read_key(struct iso_envelope_reader *reader,
                                const struct iso_message *message, struct iso_envelope *envelope,
                                struct iso_error *error)
{
    struct avro_reader *avro = (struct avro_reader *)reader;
    struct avro_reading reading;
    const struct iso_avro_type *root;
    bool is_null = false;
    if (start(avro, message, ISO_FRAME_KEY, &reading, &root, error) != ISO_OK)
        return error->status;
    avro_value_row(&reading, root, reader->cells, &envelope->key, &is_null);
    finish(&reading, "key, ", error);
    envelope->has_key = envelope->key.count > 0;
    wire_settle(envelope, &avro->nested);
    return error->status;
}

/* ---- creation ---- */

/* {"key":schema,"payload":schema}: schemas for messages that do not name theirs. */
static enum iso_status take_file(struct avro_reader *avro, const char *text,
                                 struct iso_error *error)
{
    struct iso_payload padded = {0};
    struct iso_json json;
    struct iso_json_text name;
    size_t length = strlen(text);
    iso_json_init(&json);
    iso_json_start(&json, iso_payload_copy(&padded, text, length), length);
    iso_json_enter_object(&json);
    while (error->status == ISO_OK && iso_json_member(&json, &name)) {
        bool is_key = ISO_PAYLOAD_IS(name, "key");
        struct iso_avro_schema **into = is_key ? &avro->given_key : &avro->given_payload;
        if ((!is_key && !ISO_PAYLOAD_IS(name, "payload")) || *into)
            iso_json_skip(&json);
        else if ((*into = iso_avro_schema_read(&json, error)))
            avro_value_prepare(*into);
    }
    if (error->status == ISO_OK &&
        (!iso_json_finish(&json) || !avro->given_key || !avro->given_payload))
        iso_error_set(error, ISO_BAD_INPUT,
                      "schema file: expected {\"key\":SCHEMA,\"payload\":SCHEMA}, both of Avro");
    iso_json_release(&json);
    iso_payload_release(&padded);
    return error->status;
}

static void destroy(struct iso_envelope_reader *reader)
{
    struct avro_reader *avro = (struct avro_reader *)reader;
    iso_schemas_release(&avro->schemas);
    iso_avro_schema_free(avro->given_key);
    iso_avro_schema_free(avro->given_payload);
    iso_text_release(&avro->nested);
    iso_free(avro);
}

static struct iso_envelope_reader *create(const struct iso_decoder_options *options,
                                          struct iso_error *error)
{
    struct avro_reader *avro = iso_allocate_zeroed(1, sizeof *avro);
    avro->framed = options->framed;
    avro->schemas.registry = options->registry;
    avro->schemas.type = ISO_SCHEMA_AVRO;
    avro->schemas.parse = avro_value_parse;
    avro->schemas.forget = iso_avro_schema_free;
    if (options->schema)
        take_file(avro, options->schema, error);
    else if (!options->registry || !options->framed)
        iso_error_set(error, ISO_BAD_INPUT,
                      "format=avro: expected registry=URL and framing, or schema=FILE");
    if (error->status == ISO_OK)
        return &avro->reader;
    destroy(&avro->reader);
    return NULL;
}

const struct envelope_format envelope_avro = {"avro", create, read_message, read_key, destroy};
