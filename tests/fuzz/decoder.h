/* Any bytes as a payload: refused with a reason, or one event; what is refused leaves nothing
 * behind. */
#ifndef TESTS_FUZZ_DECODER_H
#define TESTS_FUZZ_DECODER_H

#include "values/source.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_payload(const struct iso_decoder_class *class,
                                const struct iso_decoder_options *options, const uint8_t *data,
                                size_t size)
{
    static struct iso_decoder *decoder;
    static struct iso_events events;
    struct iso_error error = {0};
    struct iso_message message = {.topic = "fuzz", .payload = {data, (uint32_t)size}};
    if (!decoder) {
        decoder = class->create(options, &error);
        iso_events_init(&events);
        FUZZ_CHECK(decoder);
    }
    iso_events_clear(&events);
    if (class->decode(decoder, &message, &events, &error) == ISO_OK)
        FUZZ_CHECK(events.count == 1);
    else
        FUZZ_CHECK(error.status == ISO_BAD_INPUT && error.text[0] && !events.count &&
                   !events.block.txns.count);
}

#define FUZZ_DECODER(class, ...)                                                                   \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        fuzz_payload(&class, &(struct iso_decoder_options){__VA_ARGS__}, data, size);              \
        return 0;                                                                                  \
    }

#endif
