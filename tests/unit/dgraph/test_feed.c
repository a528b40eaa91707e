/* Histories written as Dgraph's feed, and read again: every write arrives, in the order that Dgraph
 * keeps. And every message of a real server's feeds decodes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "connectors/dgraph/dgraph.h"
#include "capture/capture.h"
#include "tests/support/decoding.h"
#include "tests/support/feed_dgraph.h"
#include "tests/support/history.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { KEYS = 7, HISTORIES = 200 };

/* A history of writers and readers, with commit timestamps in no order. */
static void build(struct iso_history *history, uint64_t seed, uint32_t predicates)
{
    struct random random = {seed};
    uint32_t transactions = 1 + random_below(&random, 12);
    iso_history_init(history);
    history->clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < transactions; t++) {
        uint32_t operations = random_below(&random, 5);
        iso_history_begin(history, t, random_below(&random, 3),
                          random_percent(&random, 90) ? ISO_COMMITTED : ISO_ABORTED, t);
        iso_history_set_cts(history, (struct iso_stamp){1000 - (t * 7919) % 997, 0});
        for (uint32_t o = 0; o < operations; o++) {
            uint32_t kind = random_below(&random, 4);
            iso_history_operation(history,
                                  kind == 0   ? ISO_READ
                                  : kind == 1 ? ISO_DELETE
                                              : ISO_WRITE,
                                  random_below(&random, KEYS),
                                  kind == 1   ? ISO_ABSENT
                                  : kind == 2 ? test_atom(history, "18446744073709551615")
                                              : random_below(&random, 5));
        }
    }
    feed_rename_keys(history, feed_dgraph_name, &predicates);
}

/* What the feed must hold at least: the committed writes in the order of cts, one event a line. */
static char *expected_of(const struct iso_history *history)
{
    struct iso_text text = {0};
    char line[200], key[ISO_ATOM_TEXT_MAX], value[ISO_ATOM_TEXT_MAX];
    for (uint64_t cts = 0; cts <= 1000; cts++)
        for (uint32_t t = 0; t < history->txns.count; t++)
            for (uint32_t o = history->txns.first_op[t];
                 history->txns.cts[t] == cts && o < history->txns.first_op[t + 1]; o++) {
                size_t key_length, value_length = 0;
                if (iso_status_of(history, t) != ISO_COMMITTED ||
                    !iso_kind_writes(history->ops.kind[o]))
                    continue;
                bool deletes = iso_kind_of(history, o) == ISO_DELETE;
                const char *name = iso_atom_text(
                    &history->atoms, history->keys.atom[history->ops.key[o]], key, &key_length);
                const char *to = deletes ? "-"
                                         : iso_atom_text(&history->atoms, history->ops.value[o],
                                                         value, &value_length);
                snprintf(line, sizeof line, "ROW %s %.*s: ? -> %.*s cts %llu\n",
                         deletes ? "delete" : "update", (int)key_length, name,
                         deletes ? 1 : (int)value_length, to, (unsigned long long)cts);
                iso_text_put(&text, line);
            }
    *iso_text_reserve(&text, 1) = 0;
    return text.bytes;
}

static char *decode_feed(const struct feed *feed)
{
    struct iso_text text = {0};
    struct decoding decoding;
    decoding_start(&decoding, &iso_dgraph_decoder, &(struct iso_decoder_options){0});
    for (uint32_t i = 0; i < feed->count; i++) {
        const struct iso_message *message = &feed->list[i];
        assert_int_equal(message->offset, i);
        iso_text_put(&text, decoding_of(&decoding, message->key.data, message->key.size,
                                        message->payload.data, message->payload.size));
    }
    decoding_end(&decoding);
    *iso_text_reserve(&text, 1) = 0;
    return text.bytes;
}

static void without_restarts_a_group_sends_the_history(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct iso_history history;
        struct feed feed;
        build(&history, seed, 1 + seed % 3);
        feed_init(&feed);
        assert_true(feed_dgraph_write(
            &feed, &history,
            &(struct feed_dgraph_options){.seed = seed, .topic = "t", .groups = 1}));
        feed_finish(&feed);
        char *expected = expected_of(&history), *found = decode_feed(&feed);
        assert_string_equal(found, expected);
        iso_free(expected);
        iso_free(found);
        feed_release(&feed);
        iso_history_release(&history);
    }
}

/* With several groups and restarts: every line of the expected text is there, and no other; each
 * group's last sending ends in order, which the first occurrences show: they come in the order of
 * cts within a predicate. */
static void with_restarts_and_groups_nothing_is_lost(void **state)
{
    (void)state;
    uint32_t repeated = 0, crossed = 0;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct iso_history history;
        struct feed feed;
        build(&history, seed, 3);
        feed_init(&feed);
        assert_true(feed_dgraph_write(
            &feed, &history,
            &(struct feed_dgraph_options){.seed = seed, .topic = "t", .groups = 3, .restarts = 4}));
        feed_finish(&feed);
        char *expected = expected_of(&history), *found = decode_feed(&feed);
        uint64_t before = 0;
        for (const char *line = found, *end; *line; line = end + 1) {
            char one[200];
            end = strchr(line, '\n');
            snprintf(one, sizeof one, "%.*s\n", (int)(end - line), line);
            assert_non_null(strstr(expected, one));
            uint64_t cts = strtoull(strstr(one, "cts ") + 4, NULL, 10);
            crossed += cts < before;
            before = cts;
        }
        for (const char *line = expected, *end; *line; line = end + 1) {
            char one[200];
            end = strchr(line, '\n');
            snprintf(one, sizeof one, "%.*s\n", (int)(end - line), line);
            assert_non_null(strstr(found, one));
        }
        repeated += strlen(found) > strlen(expected);
        iso_free(expected);
        iso_free(found);
        feed_release(&feed);
        iso_history_release(&history);
    }
    assert_true(repeated > HISTORIES / 4); /* else the encoder does not do what this is for */
    assert_true(crossed > HISTORIES / 4);
}

static void what_dgraph_cannot_carry(void **state)
{
    (void)state;
    struct iso_history history;
    struct feed feed;
    build(&history, 1, 1);
    feed_init(&feed);
    struct feed_dgraph_options options = {.seed = 1, .topic = "t", .groups = 1};
    iso_history_begin(&history, 99, 1, ISO_COMMITTED, 0);
    iso_history_set_cts(&history, (struct iso_stamp){5, 0});
    iso_history_operation(&history, ISO_WRITE, test_atom(&history, "no identity"), 1);
    assert_false(feed_dgraph_write(&feed, &history, &options));
    feed_release(&feed);
    iso_history_release(&history);
}

/* Every message of the captures: a row with a key, a value where one was set, and the commit
 * timestamp. */
static void captures(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t messages;
    } files[] = {{"clean", 1961}, {"best-effort", 5865}, {"noconflict", 11649}, {"kill", 24907}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[100];
        struct decoding decoding;
        struct iso_inputs inputs;
        struct iso_error error = {0};
        const struct iso_message *messages;
        uint32_t count, total = 0;
        snprintf(path, sizeof path, "tests/data/recordings/dgraph/%s.capture.jsonl.zst",
                 files[f].name);
        decoding_start(&decoding, &iso_dgraph_decoder, &(struct iso_decoder_options){0});
        iso_inputs_init(&inputs);
        struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, &error);
        assert_non_null(reader);
        while (iso_capture_read(reader, &messages, &count, &error) == ISO_OK && count)
            for (uint32_t i = 0; i < count; i++, total++) {
                decoding_of(&decoding, messages[i].key.data, messages[i].key.size,
                            messages[i].payload.data, messages[i].payload.size);
                assert_int_equal(decoding.events.count, 1);
                const struct iso_event *event = &decoding.events.list[0];
                assert_int_equal(event->type, ISO_EVENT_ROW);
                assert_int_equal(event->flags, ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_AFTER);
                assert_true((event->operation == ISO_ROW_DELETE) == (event->after == ISO_ABSENT));
                assert_true(event->cts.physical > 0 && event->key != ISO_ABSENT &&
                            event->table != ISO_ABSENT);
            }
        assert_string_equal(error.text, "");
        assert_int_equal(total, files[f].messages);
        iso_capture_reader_free(reader);
        iso_inputs_release(&inputs);
        decoding_end(&decoding);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_restarts_a_group_sends_the_history),
        cmocka_unit_test(with_restarts_and_groups_nothing_is_lost),
        cmocka_unit_test(what_dgraph_cannot_carry),
        cmocka_unit_test(captures),
    };
    return cmocka_run_group_tests_name("dgraph feed", tests, NULL, NULL);
}
