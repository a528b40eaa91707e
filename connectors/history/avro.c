/* History records as Avro, by libavro's generic values under the writer's schema.
 *
 * The writer's schema may have members in another order, more members, fewer of the optional ones, and unions in any
 * arrangement: members are found by name, once a schema, and union branches by what they hold. */
#include <avro.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "connectors/history/avro_check.h"
#include "connectors/history/record_private.h"
#include "connectors/history/build.h"
#include "io/framing.h"

enum { SCHEMAS_MAX = 1024 };

/* One writer's schema, and the value into which its records are read. */
struct writer {
    uint32_t id;
    avro_schema_t schema;
    avro_value_iface_t *class;
    avro_value_t value;
};

struct avro_decoder {
    struct iso_decoder decoder;
    bool framed;
    const struct iso_schema_provider *registry; /* borrowed */
    uint32_t writer_count;
    struct writer *writers; /* by id; without framing the only one */
    avro_reader_t reader;
};

/* The schema of deploy/schemas/transaction.avsc, for messages without framing and without a schema of their own. */
static const char published[] =
#include <transaction.avsc.h>
    ;

static void release_writer(struct writer *writer)
{
    if (writer->value.iface)
        avro_value_decref(&writer->value);
    if (writer->class)
        avro_value_iface_decref(writer->class);
    if (writer->schema)
        avro_schema_decref(writer->schema);
}

static enum iso_status add_writer(struct avro_decoder *avro, uint32_t id, const char *schema, size_t length,
                                  struct writer **added, struct iso_error *error)
{
    struct writer writer = {.id = id};
    if (avro->writer_count == SCHEMAS_MAX)
        return iso_error_set(error, ISO_BAD_INPUT, "more than %d Avro schemas in one source", SCHEMAS_MAX);
    if (avro_schema_from_json_length(schema, length, &writer.schema))
        return iso_error_set(error, ISO_BAD_INPUT, "Avro schema %u: %s", id, avro_strerror());
    writer.class = avro_generic_class_from_schema(writer.schema);
    if (!writer.class || avro_generic_value_new(writer.class, &writer.value)) {
        release_writer(&writer);
        return iso_error_set(error, ISO_BAD_INPUT, "Avro schema %u: %s", id, avro_strerror());
    }
    avro->writers = iso_reallocate(avro->writers, (avro->writer_count + 1) * sizeof *avro->writers);
    avro->writers[avro->writer_count] = writer;
    *added = &avro->writers[avro->writer_count++];
    return ISO_OK;
}

static void destroy(struct iso_decoder *decoder)
{
    struct avro_decoder *avro = (struct avro_decoder *)decoder;
    for (uint32_t i = 0; i < avro->writer_count; i++)
        release_writer(&avro->writers[i]);
    iso_free(avro->writers);
    avro_reader_free(avro->reader);
    iso_free(avro);
}

static struct iso_decoder *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    struct avro_decoder *avro = iso_allocate_zeroed(1, sizeof *avro);
    struct writer *writer;
    const char *schema = options->schema ? options->schema : published;
    avro->decoder.class = &record_avro;
    avro->framed = options->framed;
    avro->registry = options->registry;
    avro->reader = avro_reader_memory("", 0);
    if (options->framed && !options->registry && !options->schema)
        iso_error_set(error, ISO_BAD_INPUT, "Avro with Confluent framing: expected a schema registry or a schema file");
    else if (!options->registry || options->schema)
        add_writer(avro, 0, schema, strlen(schema), &writer, error);
    if (error->status == ISO_OK)
        return &avro->decoder;
    destroy(&avro->decoder);
    return NULL;
}

/* The writer's schema of a message. A schema given by file stands for every id. */
static enum iso_status find_writer(struct avro_decoder *avro, uint32_t id, struct writer **writer,
                                   struct iso_error *error)
{
    struct iso_schema schema;
    if (!avro->framed || !avro->registry) {
        *writer = &avro->writers[0];
        return ISO_OK;
    }
    for (uint32_t i = 0; i < avro->writer_count; i++)
        if (avro->writers[i].id == id) {
            *writer = &avro->writers[i];
            return ISO_OK;
        }
    if (avro->registry->find(avro->registry->context, id, &schema, error) != ISO_OK)
        return error->status;
    if (schema.type != ISO_SCHEMA_AVRO)
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u is not an Avro schema", id);
    return add_writer(avro, id, schema.text, schema.length, writer, error);
}

/* ---- values ---- */

/* What a union holds, or the value itself. */
static bool inside(avro_value_t *value)
{
    while (avro_value_get_type(value) == AVRO_UNION)
        if (avro_value_get_current_branch(value, value))
            return false;
    return true;
}

/* A member of a record, out of its union; false: the schema does not have it. */
static bool member(const avro_value_t *record, const char *name, avro_value_t *value)
{
    return !avro_value_get_by_name(record, name, value, NULL) && inside(value);
}

static bool take_long(const avro_value_t *value, int64_t *number)
{
    int32_t small;
    switch (avro_value_get_type(value)) {
    case AVRO_INT64:
        return !avro_value_get_long(value, number);
    case AVRO_INT32:
        if (avro_value_get_int(value, &small))
            return false;
        *number = small;
        return true;
    default:
        return false;
    }
}

static bool take_atom(struct iso_history *block, const avro_value_t *value, iso_atom *atom)
{
    int64_t number;
    const char *text;
    size_t size;
    if (avro_value_get_type(value) == AVRO_STRING)
        return !avro_value_get_string(value, &text, &size) && size > 0 && build_text(block, text, size - 1, atom);
    if (!take_long(value, &number))
        return false;
    *atom = build_number(block, number);
    return true;
}

/* 1: there; 0: null or no such member; -1: something else. */
static int take_unsigned(const avro_value_t *record, const char *name, uint64_t *number)
{
    avro_value_t value;
    int64_t read;
    if (!member(record, name, &value) || avro_value_get_type(&value) == AVRO_NULL)
        return 0;
    if (!take_long(&value, &read) || read < 0)
        return -1;
    *number = (uint64_t)read;
    return 1;
}

/* The name that an enumeration or a string holds, or NULL. */
static const char *take_name(const avro_value_t *record, const char *name)
{
    avro_value_t value;
    const char *text = NULL;
    size_t size;
    int symbol;
    if (!member(record, name, &value))
        return NULL;
    if (avro_value_get_type(&value) == AVRO_STRING)
        return avro_value_get_string(&value, &text, &size) ? NULL : text;
    if (avro_value_get_type(&value) != AVRO_ENUM || avro_value_get_enum(&value, &symbol))
        return NULL;
    return avro_schema_enum_get(avro_value_get_schema(&value), symbol);
}

/* ---- records ---- */

static bool take_kind(const char *name, enum iso_operation_kind *kind)
{
    static const char *const words[] = {"read", "write", "delete", "append"};
    static const enum iso_operation_kind kinds[] = {ISO_READ, ISO_WRITE, ISO_DELETE, ISO_APPEND};
    for (int i = 0; name && i < 4; i++)
        if (!strcasecmp(name, words[i]) || ((*name | 0x20) == *words[i] && !name[1])) {
            *kind = kinds[i];
            return true;
        }
    return false;
}

static const char *take_list(struct iso_history *block, const avro_value_t *array, uint32_t *list)
{
    size_t size;
    iso_atom atom;
    avro_value_t element;
    *list = iso_history_list(block);
    if (avro_value_get_size(array, &size))
        return "v: an array that cannot be read";
    for (size_t i = 0; i < size; i++) {
        if (avro_value_get_by_index(array, i, &element, NULL) || !inside(&element) || !take_atom(block, &element, &atom))
            return "an element of v: expected a long or a UTF-8 string";
        iso_history_element(block, atom);
    }
    return NULL;
}

static const char *take_value(struct iso_history *block, const avro_value_t *record, struct build_operation *operation)
{
    avro_value_t value;
    if (!member(record, "v", &value) || avro_value_get_type(&value) == AVRO_NULL)
        return NULL;
    if (avro_value_get_type(&value) == AVRO_ARRAY) {
        operation->is_list = true;
        return take_list(block, &value, &operation->list);
    }
    return take_atom(block, &value, &operation->value) ? NULL : "v: expected null, a long, a UTF-8 string or an array";
}

static const char *take_operation(struct iso_history *block, const avro_value_t *record)
{
    struct build_operation operation = {.value = ISO_ABSENT};
    avro_value_t value;
    int lock = 0;
    if (avro_value_get_type(record) != AVRO_RECORD || !take_kind(take_name(record, "t"), &operation.kind))
        return "t of an operation: expected READ, WRITE, DELETE or APPEND";
    if (!member(record, "k", &value) || !take_atom(block, &value, &operation.key))
        return "k: expected a long or a UTF-8 string";
    const char *wrong = take_value(block, record, &operation);
    if (wrong)
        return wrong;
    int ots = take_unsigned(record, "ots", &operation.ots.physical);
    if (ots < 0 || (ots && !build_clock(block, ISO_CLOCK_SCALAR)))
        return "ots: expected an unsigned long";
    operation.has_ots = ots;
    if (member(record, "lock", &value) && avro_value_get_type(&value) == AVRO_BOOLEAN)
        avro_value_get_boolean(&value, &lock);
    operation.lock = lock;
    return build_add_operation(block, &operation);
}

static bool take_status(const char *name, uint8_t *status)
{
    *status = ISO_COMMITTED;
    if (!name || !strcasecmp(name, "committed"))
        return true;
    *status = !strcasecmp(name, "aborted") ? ISO_ABORTED : ISO_UNKNOWN;
    return *status == ISO_ABORTED || !strcasecmp(name, "unknown");
}

static const char *take_times(struct iso_history *block, const avro_value_t *record)
{
    uint64_t number;
    int found = take_unsigned(record, "sno", &number);
    if (found < 0)
        return "sno: expected an unsigned long";
    if (found)
        iso_history_set_sno(block, number);
    found = take_unsigned(record, "sts", &number);
    if (found < 0 || (found && !build_clock(block, ISO_CLOCK_SCALAR)))
        return "sts: expected an unsigned long";
    if (found)
        iso_history_set_sts(block, (struct iso_stamp){number, 0});
    found = take_unsigned(record, "cts", &number);
    if (found < 0 || (found && !build_clock(block, ISO_CLOCK_SCALAR)))
        return "cts: expected an unsigned long";
    if (found)
        iso_history_set_cts(block, (struct iso_stamp){number, 0});
    return NULL;
}

static const char *take_transaction(struct iso_history *block, const avro_value_t *record, uint64_t origin)
{
    avro_value_t value, element;
    iso_atom tid, sid;
    uint8_t status;
    size_t count = 0;
    if (!member(record, "tid", &value) || !take_atom(block, &value, &tid))
        return "tid: expected a long or a UTF-8 string";
    if (!member(record, "sid", &value) || !take_atom(block, &value, &sid))
        return "sid: expected a long or a UTF-8 string";
    if (!take_status(take_name(record, "status"), &status))
        return "status: expected COMMITTED, ABORTED or UNKNOWN";
    iso_history_begin(block, tid, sid, status, origin);
    const char *wrong = take_times(block, record);
    if (wrong)
        return wrong;
    if (!member(record, "ops", &value) || avro_value_get_type(&value) != AVRO_ARRAY || avro_value_get_size(&value, &count))
        return "ops: expected an array of operations";
    for (size_t i = 0; i < count && !wrong; i++)
        wrong = avro_value_get_by_index(&value, i, &element, NULL) || !inside(&element)
                    ? "an operation that cannot be read" : take_operation(block, &element);
    return wrong;
}

static const char *take_record(struct iso_events *events, avro_value_t record, const struct iso_message *message)
{
    struct iso_history_mark mark = iso_history_mark(&events->block);
    uint64_t origin = record_origin(message), watermark = 0;
    if (!inside(&record) || avro_value_get_type(&record) != AVRO_RECORD)
        return "expected a record, Transaction or Watermark";
    int found = take_unsigned(&record, "watermark", &watermark);
    if (found < 0)
        return "watermark: expected an unsigned long";
    if (found) {
        record_add_watermark(events, message, watermark);
        return NULL;
    }
    const char *wrong = take_transaction(&events->block, &record, origin);
    if (wrong)
        iso_history_rewind(&events->block, &mark);
    else
        iso_events_add_transaction(events, mark.transactions, origin);
    return wrong;
}

/* Reads the record into the writer's value. */
static bool read_value(struct avro_decoder *avro, struct writer *writer, const struct iso_frame *frame)
{
    if (!record_avro_check(writer->schema, frame->bytes, frame->size))
        return false;
    avro_reader_memory_set_source(avro->reader, (const char *)frame->bytes, (int64_t)frame->size);
    avro_value_reset(&writer->value);
    return !avro_value_read(avro->reader, &writer->value);
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error)
{
    struct avro_decoder *avro = (struct avro_decoder *)decoder;
    struct iso_frame frame = {.bytes = message->payload.data, .size = message->payload.size};
    struct writer *writer;
    const char *wrong;
    if (!message->payload.data) {
        record_add_tombstone(events, message);
        return ISO_OK;
    }
    if (avro->framed && !iso_frame_open(message, ISO_FRAME_PAYLOAD, false, &frame, &wrong))
        return iso_error_set(error, ISO_BAD_INPUT, "expected %s", wrong);
    if (find_writer(avro, frame.schema_id, &writer, error) != ISO_OK)
        return error->status;
    if (!read_value(avro, writer, &frame))
        return iso_error_set(error, ISO_BAD_INPUT, "not one Avro value of its schema");
    wrong = take_record(events, writer->value, message);
    return wrong ? iso_error_set(error, ISO_BAD_INPUT, "%s", wrong) : ISO_OK;
}

const struct iso_decoder_class record_avro = {"history", create, decode, destroy};
