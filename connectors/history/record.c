#include "connectors/history/record.h"

#include <string.h>

#include "connectors/history/record_private.h"

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    static const struct {
        const char *format;
        const struct iso_decoder_class *class;
    } formats[] = {{"json", &record_json}, {"avro", &record_avro}, {"protobuf", &record_protobuf}};
    const char *format = options->format ? options->format : "json";
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].format, format))
            return formats[i].class->create(options, error);
    iso_error_set(error, ISO_BAD_INPUT,
                  "format=%s of a history source: expected json, avro or protobuf", format);
    return NULL;
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
{
    return decoder->class->decode(decoder, message, events, error);
}

static void destroy(struct iso_decoder *decoder)
{
    if (decoder)
        decoder->class->destroy(decoder);
}

const struct iso_decoder_class iso_record_decoder = {
    .kind = "history", .create = create, .decode = decode, .destroy = destroy};

void record_add_watermark(struct iso_events *events, const struct iso_message *message,
                          uint64_t timestamp)
{
    iso_events_add(events, &(struct iso_event){.type = ISO_EVENT_WATERMARK,
                                               .flags = ISO_EVENT_HAS_CTS,
                                               .cts = {.physical = timestamp},
                                               .origin = record_origin(message)});
}

void record_add_counted(struct iso_events *events, const struct iso_message *message,
                        const struct iso_counted *counted)
{
    bool has_time = message->timestamp_type != ISO_TIMESTAMP_NONE && message->timestamp > 0;
    iso_events_add(events, &(struct iso_event){.type = ISO_EVENT_COUNTED,
                                               .operation = counted->has_ended,
                                               .count = counted->of_stream,
                                               .key = counted->session,
                                               .source = counted->recorder,
                                               .cts = {.physical = counted->records},
                                               .order = counted->alive_ms,
                                               .time = has_time ? (uint64_t)message->timestamp : 0,
                                               .origin = record_origin(message)});
}

void record_add_tombstone(struct iso_events *events, const struct iso_message *message)
{
    iso_events_add(events, &(struct iso_event){.type = ISO_EVENT_IGNORED,
                                               .reason = "tombstone",
                                               .origin = record_origin(message)});
}
