/* History records as Avro, under the writer's schema.
 *
 * That may have members in another order, more members, fewer of the optional ones, and unions in any arrangement:
 * members are found by name, once a schema (avro_plan.h), and union branches by what they hold. */
#include <avro.h>
#include <string.h>

#include "base/memory.h"
#include "connectors/history/avro_record.h"
#include "connectors/history/record_private.h"
#include "io/framing.h"

enum { SCHEMAS_MAX = 1024 };

/* One writer's schema. */
struct writer {
    uint32_t id;
    avro_schema_t schema;
    struct plan plan;
};

struct avro_decoder {
    struct iso_decoder decoder;
    bool framed;
    const struct iso_schema_provider *registry; /* borrowed */
    uint32_t writer_count;
    struct writer *writers; /* by id; without framing the only one */
};

/* The schema of deploy/schemas/transaction.avsc, for messages without framing and without a schema of their own. */
static const char published[] =
#include <transaction.avsc.h>
    ;

static void release_writer(struct writer *writer)
{
    plan_release(&writer->plan);
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
    if (!plan_init(&writer.plan, writer.schema)) {
        release_writer(&writer);
        return iso_error_set(error, ISO_BAD_INPUT, "Avro schema %u: nested too deeply", id);
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
    wrong = record_avro_read(&writer->plan, frame.bytes, frame.size, message, events);
    return wrong ? iso_error_set(error, ISO_BAD_INPUT, "%s", wrong) : ISO_OK;
}

const struct iso_decoder_class record_avro = {"history", create, decode, destroy};
