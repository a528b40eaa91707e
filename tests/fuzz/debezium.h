/* What the targets of the envelope's decoders share: a message out of fuzzed bytes, and what must hold of its decoding.
 */
#ifndef TESTS_FUZZ_DEBEZIUM_H
#define TESTS_FUZZ_DEBEZIUM_H

#include "iso/source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/feed_debezium.h"

/* The first byte is the length of the key, 255: none; the rest is the payload. Copies, so that overruns are seen. */
static inline void fuzz_decode(struct iso_decoder *decoder, struct iso_events *events, const uint8_t *data, size_t size)
{
    struct iso_error error = {0};
    if (!size)
        return;
    size_t length = *data == 255 ? 0 : *data < size - 1 ? *data : size - 1;
    uint8_t *key = malloc(length + 1), *payload = malloc(size - length);
    FUZZ_CHECK(key && payload);
    memcpy(key, data + 1, length);
    memcpy(payload, data + 1 + length, size - 1 - length);
    struct iso_message message = {.topic = "dbz.public.kv",
                                  .payload = {payload, (uint32_t)(size - 1 - length)},
                                  .key = {*data == 255 ? NULL : key, (uint32_t)length}};
    iso_events_clear(events);
    enum iso_status status = decoder->class->decode(decoder, &message, events, &error);
    if (status == ISO_OK)
        FUZZ_CHECK(events->count == 1 && (events->list[0].type != ISO_EVENT_ROW || events->list[0].key != ISO_ABSENT));
    else
        FUZZ_CHECK(status == ISO_BAD_INPUT && error.text[0] && !events->count && !events->block.transaction_count);
    free(key);
    free(payload);
}

/* Two decoders of Debezium's: of one column, and of whole rows. */
#define FUZZ_DEBEZIUM(format)                                                                                          \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                                       \
    {                                                                                                                  \
        static struct iso_decoder *decoders[2];                                                                        \
        static struct iso_events events;                                                                               \
        struct iso_error error = {0};                                                                                  \
        if (!decoders[0]) {                                                                                            \
            struct iso_decoder_options options = feed_debezium_decoding(format);                                       \
            decoders[0] = iso_debezium_decoder.create(&options, &error);                                               \
            options.value = NULL;                                                                                      \
            decoders[1] = iso_debezium_decoder.create(&options, &error);                                               \
            iso_events_init(&events);                                                                                  \
            FUZZ_CHECK(decoders[0] && decoders[1]);                                                                    \
        }                                                                                                              \
        for (int i = 0; i < 2; i++)                                                                                    \
            fuzz_decode(decoders[i], &events, data, size);                                                             \
        return 0;                                                                                                      \
    }

#endif
