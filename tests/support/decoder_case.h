/* What tests of decoders whose messages are one event each share: a message in, a line of text out
 * (event_text.h). */
#ifndef TESTS_SUPPORT_DECODER_CASE_H
#define TESTS_SUPPORT_DECODER_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/event_text.h"

struct decoder_case {
    struct iso_decoder *decoder;
    struct iso_events events;
    struct iso_error error;
    char text[4096];
};

static inline void case_open(struct decoder_case *test, const struct iso_decoder_class *class,
                             struct iso_decoder_options options)
{
    *test = (struct decoder_case){0};
    iso_events_init(&test->events);
    test->decoder = class->create(&options, &test->error);
    assert_string_equal(test->error.text, "");
    assert_non_null(test->decoder);
}

static inline void case_close(struct decoder_case *test)
{
    test->decoder->class->destroy(test->decoder);
    iso_events_release(&test->events);
}

/* What the message becomes; on bad input the error's text, and nothing may have been added. */
static inline const char *case_bytes(struct decoder_case *test, const char *topic,
                                     struct iso_bytes key, struct iso_bytes payload)
{
    struct iso_message message = {
        .topic = topic, .input = 2, .offset = 41, .key = key, .payload = payload};
    iso_events_clear(&test->events);
    test->error = (struct iso_error){0};
    enum iso_status status =
        test->decoder->class->decode(test->decoder, &message, &test->events, &test->error);
    assert_int_equal(status, test->error.status);
    if (status == ISO_OK) {
        assert_true(test->events.count > 0);
        for (uint32_t i = 0; i < test->events.count; i++)
            assert_int_equal(test->events.list[i].origin, iso_origin(2, 41));
        event_text(&test->events, test->text, sizeof test->text);
        return test->text;
    }
    assert_int_equal(status, ISO_BAD_INPUT);
    assert_int_equal(test->events.count, 0);
    assert_int_equal(test->events.block.txns.count, 0);
    return test->error.text;
}

static inline struct iso_bytes case_text(const char *text)
{
    return (struct iso_bytes){(const uint8_t *)text, text ? (uint32_t)strlen(text) : 0};
}

static inline const char *case_decode(struct decoder_case *test, const char *key,
                                      const char *payload)
{
    return case_bytes(test, "dbz.public.kv", case_text(key), case_text(payload));
}

#endif
