#include "connectors/ticdc/ticdc.h"

#include <string.h>

#include "base/archive.h"
#include "base/memory.h"
#include "connectors/ticdc/tables.h"

static const struct ticdc_protocol *const protocols[] = {
    &ticdc_canal, &ticdc_open,     &ticdc_simple, &ticdc_simple_avro,
    &ticdc_avro,  &ticdc_debezium, &ticdc_csv};

static const struct ticdc_protocol *find_protocol(const char *format)
{
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (!format || !strcmp(protocols[i]->format, format))
            return protocols[i];
    return NULL;
}

static bool take_compression(struct ticdc *ticdc, const char *name)
{
    ticdc->compression = !name || !strcmp(name, "none") ? TICDC_PLAIN
                         : !strcmp(name, "lz4")         ? TICDC_LZ4
                                                        : TICDC_SNAPPY;
    return ticdc->compression != TICDC_SNAPPY || !strcmp(name, "snappy");
}

static char *copy_text(const char *text)
{
    return text ? iso_copy_text(text, strlen(text)) : NULL;
}

static void destroy(struct iso_decoder *decoder)
{
    struct ticdc *ticdc = (struct ticdc *)decoder;
    if (!ticdc)
        return;
    if (ticdc->protocol->destroy)
        ticdc->protocol->destroy(ticdc);
    ticdc_compression_release(ticdc);
    iso_json_release(&ticdc->json);
    iso_json_release(&ticdc->key_json);
    iso_payload_release(&ticdc->payload);
    iso_payload_release(&ticdc->key);
    iso_payload_release(&ticdc->unpacked);
    iso_payload_release(&ticdc->unpacked_key);
    iso_text_release(&ticdc->room.bytes);
    while (ticdc->room.count)
        iso_free(ticdc->room.blocks[--ticdc->room.count]);
    iso_free(ticdc->room.blocks);
    iso_row_release(&ticdc->now);
    iso_row_release(&ticdc->old);
    iso_row_release(&ticdc->keys);
    iso_row_release(&ticdc->types);
    iso_row_names_release(&ticdc->names);
    iso_marker_release(&ticdc->marker);
    iso_cells_release(&ticdc->cells);
    ticdc_tables_release(&ticdc->known);
    ticdc_types_release(ticdc);
    iso_text_release(&ticdc->told);
    ISO_FREE_ALL(ticdc->key_option, ticdc->value, ticdc->tables, ticdc);
}

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    const struct ticdc_protocol *protocol = find_protocol(options->format);
    if (!protocol && !strcmp(options->format, "debezium-avro")) {
        iso_error_set(
            error, ISO_BAD_INPUT,
            "format=debezium-avro of a ticdc source is not read: set protocol=debezium in the sink's URI, and "
            "format=debezium");
        return NULL;
    }
    if (!protocol) {
        iso_error_set(error, ISO_BAD_INPUT,
                      "format=%s of a ticdc source: expected canal-json, open-protocol, simple, "
                      "simple-avro, avro, debezium or csv",
                      options->format);
        return NULL;
    }
    struct ticdc *ticdc = iso_allocate_zeroed(1, sizeof *ticdc);
    ticdc->decoder.class = &iso_ticdc_decoder;
    ticdc->protocol = protocol;
    ticdc->value = copy_text(options->value);
    ticdc->decoder.value = ticdc->value;
    ticdc->decoder.labels = &ticdc->typed.labels;
    ticdc->tables = copy_text(options->tables);
    ticdc->key_option = copy_text(options->key);
    ticdc->identity = options->identity;
    ticdc->unreported = options->unreported;
    ticdc->one_zone = options->one_zone;
    ticdc->caseless = options->caseless;
    iso_marker_init(&ticdc->marker, options->marker);
    iso_cells_init(&ticdc->cells, options->cells);
    ticdc->decoder.cells = ticdc->names.marks = ticdc->cells.on;
    if (!take_compression(ticdc, options->compression))
        iso_error_set(error, ISO_BAD_INPUT,
                      "compression=%s of a ticdc source: expected none, lz4 or snappy",
                      options->compression);
    else if (options->framed && protocol != &ticdc_avro)
        iso_error_set(error, ISO_BAD_INPUT,
                      "framing or a registry with format=%s of a ticdc source: expected neither",
                      protocol->format);
    else if (options->key && ticdc_check_key_option(options->key, error) != ISO_OK)
        ;
    else if (!protocol->create || protocol->create(ticdc, options, error) == ISO_OK)
        return &ticdc->decoder;
    destroy(&ticdc->decoder);
    return NULL;
}

/* The message as it was before it was compressed. */
static enum iso_status unpack(struct ticdc *ticdc, struct iso_message *message,
                              struct iso_error *error)
{
    if (ticdc->compression == TICDC_PLAIN || ticdc->protocol->compressed_inside)
        return ISO_OK;
    if (ticdc->protocol == &ticdc_debezium &&
        ticdc_unpack(ticdc, &ticdc->unpacked_key, message->key, &message->key, error) != ISO_OK)
        return error->status;
    return ticdc_unpack(ticdc, &ticdc->unpacked, message->payload, &message->payload, error);
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
{
    struct ticdc *ticdc = (struct ticdc *)decoder;
    struct iso_message plain = *message;
    uint32_t count = events->count;
    if (message->payload.size > TICDC_PAYLOAD_MAX || message->key.size > TICDC_PAYLOAD_MAX)
        return iso_error_set(error, ISO_BAD_INPUT, "a message of more than %d bytes",
                             TICDC_PAYLOAD_MAX);
    if (unpack(ticdc, &plain, error) != ISO_OK)
        return error->status;
    while (ticdc->room.count)
        iso_free(ticdc->room.blocks[--ticdc->room.count]);
    ticdc->room.bytes.used = 0;
    iso_text_reserve(&ticdc->room.bytes, (size_t)plain.payload.size + plain.key.size + 64);
    ticdc->key_count = 0;
    ticdc->message = &plain;
    ticdc->events = events;
    if (ticdc->protocol->decode(ticdc, error) != ISO_OK)
        events->count = count;
    else if (ticdc->unreported)
        iso_events_unreported(events, count);
    return error->status;
}

/* A changefeed may send every table to one topic. */
static bool covers(const struct iso_decoder *decoder, const char *topic, const char *table,
                   size_t length)
{
    const struct ticdc *ticdc = (const struct ticdc *)decoder;
    (void)topic;
    return iso_table_listed(ticdc->tables, table, length) &&
           !ticdc_is_left_out(ticdc, table, length) &&
           !iso_marker_is_table(&ticdc->marker, table, length);
}

static enum iso_column_coverage covers_column(const struct iso_decoder *decoder, const char *table,
                                              size_t length, const char *column,
                                              size_t column_length)
{
    const struct ticdc *ticdc = (const struct ticdc *)decoder;
    return iso_cells_cover(&ticdc->cells, (struct iso_json_text){table, length},
                           (struct iso_json_text){column, column_length});
}

static void archive(struct iso_decoder *decoder, struct iso_archive *archive)
{
    struct ticdc *ticdc = (struct ticdc *)decoder;
    iso_cells_archive(archive, &ticdc->cells);
    ticdc_tables_archive(archive, &ticdc->known);
    ticdc_types_archive(ticdc, archive);
    ISO_ARCHIVE_ANY(archive, "left-out", ISO_ARCHIVE_HEAP, ticdc->told.bytes, ticdc->told.used,
                    ticdc->told.capacity);
    iso_archive_expect(archive, !ticdc->told.used || !ticdc->told.bytes[ticdc->told.used - 1]);
    if (ticdc->protocol->archive)
        ticdc->protocol->archive(ticdc, archive);
}

const struct iso_decoder_class iso_ticdc_decoder = {.kind = "ticdc",
                                                    .create = create,
                                                    .decode = decode,
                                                    .destroy = destroy,
                                                    .archive = archive,
                                                    .covers = covers,
                                                    .value_type = ticdc_value_type,
                                                    .types_known = ticdc_types_known,
                                                    .covers_column = covers_column};
