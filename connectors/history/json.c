/* History records as JSON. */
#include <string.h>

#include "base/memory.h"
#include "connectors/history/record_private.h"
#include "connectors/kit/framing.h"
#include "native/native.h"
#include "native/watermark.h"

struct json_decoder {
    struct iso_decoder decoder;
    struct iso_native native;
    struct iso_native_fault fault;
    bool framed;
    char *text; /* the payload, with the padding that the scanner reads */
    size_t capacity;
};

static struct iso_decoder *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    (void)error;
    struct json_decoder *json = iso_allocate_zeroed(1, sizeof *json);
    json->decoder.class = &record_json;
    json->framed = options->framed;
    iso_native_init(&json->native);
    return &json->decoder;
}

static void destroy(struct iso_decoder *decoder)
{
    struct json_decoder *json = (struct json_decoder *)decoder;
    iso_native_release(&json->native);
    iso_free(json->text);
    iso_free(json);
}

static void copy(struct json_decoder *json, const uint8_t *data, size_t size)
{
    if (json->capacity < size + ISO_JSON_PADDING) {
        json->capacity = iso_column_capacity(json->capacity, size + ISO_JSON_PADDING);
        json->text = iso_reallocate(json->text, json->capacity);
    }
    memcpy(json->text, data, size);
    memset(json->text + size, 0, ISO_JSON_PADDING);
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error)
{
    struct json_decoder *json = (struct json_decoder *)decoder;
    struct iso_frame frame = {.bytes = message->payload.data, .size = message->payload.size};
    const char *expected;
    if (!message->payload.data) {
        record_add_tombstone(events, message);
        return ISO_OK;
    }
    if (json->framed && !iso_frame_open(message, ISO_FRAME_PAYLOAD, false, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "expected %s", expected);
    copy(json, frame.bytes, frame.size);
    if (iso_watermark_is(json->text)) {
        uint64_t watermark;
        if (iso_watermark_read(&json->native, json->text, frame.size, &watermark, error) == ISO_OK)
            record_add_watermark(events, message, watermark);
        return error->status;
    }
    uint32_t index = events->block.transaction_count;
    uint64_t origin = record_origin(message);
    if (iso_native_read_transaction(&json->native, json->text, frame.size, origin, &events->block, &json->fault) !=
        ISO_OK)
        return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", json->fault.position + 1, json->fault.text);
    iso_events_add_transaction(events, index, origin);
    return ISO_OK;
}

const struct iso_decoder_class record_json = {
    .kind = "history", .create = create, .decode = decode, .destroy = destroy};
