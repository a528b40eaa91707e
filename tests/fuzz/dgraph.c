/* Any bytes as a message of Dgraph's: refused with a reason, or one event; what is refused leaves nothing behind. */
#include <stdlib.h>

#include "connectors/dgraph/dgraph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct iso_decoder *decoder;
    static struct iso_events events;
    struct iso_error error = {0};
    struct iso_message message = {.topic = "fuzz", .payload = {data, (uint32_t)size}};
    if (!decoder) {
        decoder =
            iso_dgraph_decoder.create(&(struct iso_decoder_options){.schema = "friend: uid . tags: [int] ."}, &error);
        iso_events_init(&events);
    }
    iso_events_clear(&events);
    enum iso_status status = iso_dgraph_decoder.decode(decoder, &message, &events, &error);
    if (status == ISO_OK ? events.count != 1 : events.count || status != ISO_BAD_INPUT || !error.text[0])
        abort();
    return 0;
}
