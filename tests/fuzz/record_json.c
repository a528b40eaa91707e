/* Any bytes as a client record in json: refused with a reason, or taken; what is refused leaves nothing behind. */
#include <stdlib.h>

#include "connectors/history/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct iso_decoder *decoder;
    static struct iso_events events;
    struct iso_error error = {0};
    struct iso_message message = {.topic = "fuzz", .payload = {data, (uint32_t)size}};
    if (!decoder) {
        decoder = iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error);
        iso_events_init(&events);
    }
    iso_events_clear(&events);
    enum iso_status status = iso_record_decoder.decode(decoder, &message, &events, &error);
    if (status == ISO_OK ? events.count != 1 : events.count || events.block.transaction_count || !error.text[0])
        abort();
    return 0;
}
