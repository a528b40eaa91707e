/* Any bytes as a message of Debezium's in JSON, with and without schemas. */
#include "connectors/debezium/debezium.h"
#include "tests/fuzz/debezium.h"
#include "tests/support/feed_debezium.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct iso_decoder *decoders[2];
    static struct iso_events events;
    struct iso_error error = {0};
    if (!decoders[0]) {
        struct iso_decoder_options options = feed_debezium_decoding(FEED_JSON);
        decoders[0] = iso_debezium_decoder.create(&options, &error);
        options.value = NULL;
        decoders[1] = iso_debezium_decoder.create(&options, &error);
        iso_events_init(&events);
        FUZZ_CHECK(decoders[0] && decoders[1]);
    }
    for (int i = 0; i < 2; i++)
        fuzz_decode(decoders[i], &events, data, size);
    return 0;
}
