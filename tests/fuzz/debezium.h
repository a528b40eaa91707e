/* What the targets of the envelope's decoders share: a message out of fuzzed bytes, and what must
 * hold of its decoding.
 */
#ifndef TESTS_FUZZ_DEBEZIUM_H
#define TESTS_FUZZ_DEBEZIUM_H

#include "values/source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/feed_debezium.h"

/* A message is one event, behind what it says of its table's columns or of the collections that it
 * counts, and before a row's cells. */
static inline bool fuzz_is_sound(const struct iso_events *events)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < events->count; i++) {
        const struct iso_event *event = &events->list[i];
        bool leads = event->type == ISO_EVENT_COLLECTION || event->type == ISO_EVENT_SCHEMA ||
                     event->type == ISO_EVENT_COLUMN;
        bool is_row = event->type == ISO_EVENT_ROW, is_cell = event->type == ISO_EVENT_CELL;
        if (((is_row || is_cell) && event->key == ISO_ABSENT) || is_cell != (left > 0))
            return false;
        left = is_row ? event->count : is_cell ? left - 1 : 0;
        if (i + 1 < events->count && !leads && !left)
            return false;
    }
    if (left)
        return false;
    return events->count > 0;
}

/* The first byte is the length of the key, 255: none; the rest is the payload. Copies, so that
 * overruns are seen. */
static inline void fuzz_decode(struct iso_decoder *decoder, struct iso_events *events,
                               const uint8_t *data, size_t size)
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
        FUZZ_CHECK(fuzz_is_sound(events));
    else
        FUZZ_CHECK(status == ISO_BAD_INPUT && error.text[0] && !events->count &&
                   !events->block.txns.count);
    free(key);
    free(payload);
}

/* Three decoders of Debezium's: of one column, of whole rows, and of cells. */
#define FUZZ_DEBEZIUM(format)                                                                      \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        static struct iso_decoder *decoders[3];                                                    \
        static struct iso_events events;                                                           \
        struct iso_error error = {0};                                                              \
        if (!decoders[0]) {                                                                        \
            struct iso_decoder_options options = feed_debezium_decoding(format);                   \
            decoders[0] = iso_debezium_decoder.create(&options, &error);                           \
            options.value = NULL;                                                                  \
            decoders[1] = iso_debezium_decoder.create(&options, &error);                           \
            options.cells = "true";                                                                \
            decoders[2] = iso_debezium_decoder.create(&options, &error);                           \
            iso_events_init(&events);                                                              \
            FUZZ_CHECK(decoders[0] && decoders[1] && decoders[2]);                                 \
        }                                                                                          \
        for (int i = 0; i < 3; i++)                                                                \
            fuzz_decode(decoders[i], &events, data, size);                                         \
        return 0;                                                                                  \
    }

#endif
