/* History records as JSON. */
#include "base/memory.h"
#include "base/payload.h"
#include "connectors/history/record_private.h"
#include "connectors/cdc_common/framing.h"
#include "native/native.h"
#include "native/watermark.h"

struct json_decoder {
    struct iso_decoder decoder;
    struct iso_native native;
    struct iso_native_fault fault;
    bool framed;
    struct iso_payload payload;
};

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    (void)error;
    struct json_decoder *json = iso_allocate_zeroed(1, sizeof *json);
    json->decoder.class = &record_json;
    json->framed = options->framed;
    iso_native_init(&json->native);
    json->native.takes_ranges = json->decoder.ranges = options->ranges;
    return &json->decoder;
}

static void destroy(struct iso_decoder *decoder)
{
    struct json_decoder *json = (struct json_decoder *)decoder;
    iso_native_release(&json->native);
    iso_payload_release(&json->payload);
    iso_free(json);
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
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
    const char *text = iso_payload_copy(&json->payload, frame.bytes, frame.size);
    if (iso_watermark_is(text)) {
        uint64_t watermark;
        if (iso_watermark_read(&json->native, text, frame.size, &watermark, error) == ISO_OK)
            record_add_watermark(events, message, watermark);
        return error->status;
    }
    if (iso_first_member_is(text, "\"session\"") || iso_first_member_is(text, "\"recorder\"")) {
        struct iso_counted counted;
        if (iso_counted_read(&json->native, text, frame.size, &events->block, &counted, error) ==
            ISO_OK)
            record_add_counted(events, message, &counted);
        return error->status;
    }
    uint32_t index = events->block.txns.count;
    uint64_t origin = record_origin(message);
    if (iso_native_read_transaction(&json->native, text, frame.size, origin, &events->block,
                                    &json->fault) != ISO_OK)
        return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", json->fault.position + 1,
                             json->fault.text);
    iso_events_add_transaction(events, index, origin);
    return ISO_OK;
}

const struct iso_decoder_class record_json = {
    .kind = "history", .create = create, .decode = decode, .destroy = destroy};
