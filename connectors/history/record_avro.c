/* History records as Avro, under the writer's schema.
 *
 * That may have members in another order, more members, fewer of the optional ones, and unions in
 * any arrangement: members are found by name, once a schema (avro_schema.h), and union branches by
 * what they hold. */
#include <string.h>

#include "base/memory.h"
#include "connectors/history/avro_record.h"
#include "connectors/history/avro_schema.h"
#include "connectors/history/record_private.h"
#include "connectors/registry/schemas.h"
#include "connectors/cdc_common/framing.h"

struct avro_decoder {
    struct iso_decoder decoder;
    bool framed;
    struct iso_schemas schemas;
    struct iso_avro_schema
        *given; /* from a file, or the published one; stands for every id. NULL: the registry's */
};

/* The schema of deploy/schemas/transaction.avsc, for messages without framing and without a schema
 * of their own. */
static const char published[] =
#include <transaction.avsc.h>
    ;

static void destroy(struct iso_decoder *decoder)
{
    struct avro_decoder *avro = (struct avro_decoder *)decoder;
    iso_schemas_release(&avro->schemas);
    iso_avro_schema_free(avro->given);
    iso_free(avro);
}

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    struct avro_decoder *avro = iso_allocate_zeroed(1, sizeof *avro);
    const char *schema = options->schema ? options->schema : published;
    avro->decoder.class = &record_avro;
    avro->framed = options->framed;
    avro->schemas.registry = options->registry;
    avro->schemas.type = ISO_SCHEMA_AVRO;
    avro->schemas.parse = history_avro_parse;
    avro->schemas.forget = iso_avro_schema_free;
    if (options->framed && !options->registry && !options->schema)
        iso_error_set(error, ISO_BAD_INPUT,
                      "Avro with Confluent framing: expected a schema registry or a schema file");
    else if (options->schema || !options->framed || !options->registry)
        avro->given = history_avro_parse(schema, strlen(schema), error);
    if (error->status == ISO_OK)
        return &avro->decoder;
    destroy(&avro->decoder);
    return NULL;
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
{
    struct avro_decoder *avro = (struct avro_decoder *)decoder;
    struct iso_frame frame = {.bytes = message->payload.data, .size = message->payload.size};
    const struct iso_avro_schema *schema = avro->given;
    const char *wrong;
    if (!message->payload.data) {
        record_add_tombstone(events, message);
        return ISO_OK;
    }
    if (avro->framed && !iso_frame_open(message, ISO_FRAME_PAYLOAD, false, &frame, &wrong))
        return iso_error_set(error, ISO_BAD_INPUT, "expected %s", wrong);
    if (!schema && !(schema = iso_schemas_find(&avro->schemas, frame.schema_id, error)))
        return error->status;
    return record_avro_read(schema->root, frame.bytes, frame.size, message, events, error);
}

const struct iso_decoder_class record_avro = {
    .kind = "history", .create = create, .decode = decode, .destroy = destroy};
