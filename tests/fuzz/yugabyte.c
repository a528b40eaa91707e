/* Any bytes as a message of YugabyteDB's connectors in JSON. */
#include "connectors/yugabyte/yugabyte.h"
#include "tests/fuzz/debezium.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct iso_decoder *decoder, *cells;
    static struct iso_events events;
    struct iso_error error = {0};
    if (!decoder) {
        decoder = iso_yugabyte_decoder.create(&(struct iso_decoder_options){0}, &error);
        cells = iso_yugabyte_decoder.create(&(struct iso_decoder_options){.cells = "true"}, &error);
        iso_events_init(&events);
        FUZZ_CHECK(decoder && cells);
    }
    fuzz_decode(decoder, &events, data, size);
    fuzz_decode(cells, &events, data, size);
    return 0;
}
