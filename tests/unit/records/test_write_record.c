/* Records that are written by hand and read by the decoders' libraries come back as they were. */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "connectors/history/record.h"
#include "formats/write_history.h"
#include "connectors/history/write_record.h"
#include "tests/support/capture.h"
#include "tests/support/random_history.h"

enum { HISTORIES = 3000 };

/* A history as lines of the native format; the caller frees them. */
static char *native_text(const struct iso_history *history)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_history_writer writer;
    struct iso_output output;
    test_capture_start(&output);
    iso_history_writer_init(&writer, &output, ISO_FORMAT_NATIVE);
    assert_int_equal(iso_history_writer_add(&writer, history, &error), ISO_OK);
    iso_history_writer_end(&writer);
    return test_capture_end(&output);
}

/* Through the wire: every transaction a message. */
static char *through(const struct iso_history *history, bool avro)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_decoder_options options = {.format = avro ? "avro" : "protobuf"};
    struct iso_decoder *decoder = iso_record_decoder.create(&options, &error);
    struct iso_events events;
    struct iso_text text = {0};
    iso_events_init(&events);
    assert_non_null(decoder);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        text.used = 0;
        if (avro)
            assert_true(iso_record_write_avro(history, t, &text));
        else
            iso_record_write_protobuf(history, t, &text);
        struct iso_message message = {
            .topic = "t",
            .offset = t,
            .payload = {(const uint8_t *)text.bytes, (uint32_t)text.used}};
        decoder->class->decode(decoder, &message, &events, &error);
        assert_string_equal(error.text, "");
    }
    char *native = native_text(&events.block);
    iso_text_release(&text);
    iso_events_release(&events);
    decoder->class->destroy(decoder);
    return native;
}

/* Avro's long is signed. */
static bool fits_avro(const struct iso_history *history)
{
    struct iso_text text = {0};
    bool fits = true;
    for (uint32_t t = 0; t < history->txns.count && fits; t++) {
        size_t before = text.used;
        fits = iso_record_write_avro(history, t, &text);
        if (!fits)
            assert_int_equal(text.used, before);
    }
    iso_text_release(&text);
    return fits;
}

static bool has_large_stamp(const struct plain_history *plain)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    plain_history_print(plain, out, "");
    fclose(out);
    bool large = strstr(text, "18446744073709551") || strstr(text, "9223372036854775808");
    free(text);
    return large;
}

static void random_histories_come_back(void **state)
{
    struct random_history_options options = random_history_defaults();
    struct plain_history plain;
    uint32_t avro = 0, protobuf = 0, refused = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct iso_history history;
        iso_history_init(&history);
        random_history(seed, &options, &plain);
        plain_history_fill(&plain, &history);
        if (history.clock != ISO_CLOCK_PAIR && !history.snapshots.count && !history.txns.xid) {
            char *expected = native_text(&history), *actual = through(&history, false);
            assert_string_equal(actual, expected);
            free(actual);
            protobuf++;
            if (fits_avro(&history)) {
                actual = through(&history, true);
                assert_string_equal(actual, expected);
                free(actual);
                avro++;
            } else {
                assert_true(has_large_stamp(&plain));
                refused++;
            }
            free(expected);
        }
        iso_history_release(&history);
    }
    assert_true(protobuf > HISTORIES / 4 && avro > HISTORIES / 8 && refused > 0);
}

/* Texts and sizes that small histories do not have. */
static void long_texts_and_large_numbers_come_back(void **state)
{
    struct iso_history history;
    char text[1000];
    (void)state;
    memset(text, 'x', sizeof text);
    iso_history_init(&history);
    history.clock = ISO_CLOCK_SCALAR;
    struct iso_atoms *atoms = &history.atoms;
    iso_history_begin(&history, iso_atoms_unsigned(atoms, UINT64_MAX),
                      iso_atoms_text(atoms, "-9223372036854775808", 20), ISO_ABORTED, 0);
    iso_history_set_sts(&history, (struct iso_stamp){.physical = 0});
    iso_history_set_cts(&history, (struct iso_stamp){.physical = INT64_MAX});
    for (uint32_t i = 0; i < 300; i++)
        iso_history_operation(&history, ISO_WRITE, iso_atoms_text(atoms, text, 1 + 3 * i),
                              iso_atoms_unsigned(atoms, i));
    iso_history_operation(&history, ISO_WRITE, iso_atoms_unsigned(atoms, INT64_MAX),
                          iso_atoms_unsigned(atoms, (uint64_t)INT64_MAX + 1));
    char *expected = native_text(&history), *avro = through(&history, true),
         *protobuf = through(&history, false);
    assert_non_null(strstr(expected, "\"9223372036854775808\""));
    assert_string_equal(avro, expected);
    assert_string_equal(protobuf, expected);
    free(expected), free(avro), free(protobuf);
    iso_history_release(&history);
}

/* Marks are written in Protobuf; the published Avro schema, which readers of old records need as it
 * is, has none. */
static void marked_transactions(void **state)
{
    struct iso_history history;
    struct iso_text text = {0};
    (void)state;
    iso_history_init(&history);
    iso_history_begin(&history, 1, 1, ISO_COMMITTED, 0);
    iso_history_set_marks(&history, ISO_MARK_CDC_WRITES);
    iso_history_begin(&history, 2, 1, ISO_COMMITTED, 1);
    char *expected = native_text(&history), *actual = through(&history, false);
    assert_string_equal(actual, expected);
    assert_string_equal(
        expected,
        "{\"tid\":1,\"sid\":1,\"writes\":\"cdc\",\"ops\":[]}\n{\"tid\":2,\"sid\":1,\"ops\":[]}\n");
    assert_false(iso_record_write_avro(&history, 0, &text));
    assert_int_equal(text.used, 0);
    assert_true(iso_record_write_avro(&history, 1, &text));
    free(expected), free(actual);
    iso_text_release(&text);
    iso_history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_histories_come_back),
        cmocka_unit_test(long_texts_and_large_numbers_come_back),
        cmocka_unit_test(marked_transactions),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("records/write_record", tests, NULL, NULL);
}
