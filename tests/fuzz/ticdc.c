/* Any bytes as a message of TiCDC's, in each protocol: refused with a reason, or events; what is
 * refused leaves none.
 *
 * The first byte chooses the protocol and the compression, the second how many of the rest are the
 * message's key. */
#include <stdlib.h>

#include "connectors/ticdc/ticdc.h"
#include "tests/support/feed_ticdc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FORMATS = 7, COMPRESSIONS = 3 };

static struct iso_decoder *decoder_of(unsigned format, unsigned compression)
{
    static struct iso_decoder *decoders[FORMATS][COMPRESSIONS];
    static const char *const compressions[COMPRESSIONS] = {NULL, "lz4", "snappy"};
    struct iso_decoder **decoder = &decoders[format][compression];
    struct iso_decoder_options options = {.compression = compressions[compression]};
    struct iso_error error = {0};
    if (!*decoder) {
        feed_ticdc_decoder_options(feed_ticdc_formats[format], &options);
        options.value = compression == 1 ? "v" : NULL;
        options.cells = compression == 2 ? "true" : NULL;
        *decoder = iso_ticdc_decoder.create(&options, &error);
    }
    return *decoder;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct iso_events events;
    static bool ready;
    struct iso_error error = {0};
    if (!ready)
        iso_events_init(&events);
    ready = true;
    if (size < 2)
        return 0;
    struct iso_decoder *decoder = decoder_of(data[0] % FORMATS, data[0] / FORMATS % COMPRESSIONS);
    uint32_t rest = (uint32_t)size - 2, key = data[1] < rest ? data[1] : rest;
    struct iso_message message = {.topic = "fuzz",
                                  .key = {key ? data + 2 : NULL, key},
                                  .payload = {rest > key ? data + 2 + key : NULL, rest - key}};
    iso_events_clear(&events);
    enum iso_status status = iso_ticdc_decoder.decode(decoder, &message, &events, &error);
    if (status == ISO_OK ? !events.count || error.text[0]
                         : events.count || status != ISO_BAD_INPUT || !error.text[0])
        abort();
    for (uint32_t i = 0; i < events.count; i++)
        if ((events.list[i].type == ISO_EVENT_ROW || events.list[i].type == ISO_EVENT_CELL) &&
            events.list[i].key == ISO_ABSENT)
            abort();
    return 0;
}
