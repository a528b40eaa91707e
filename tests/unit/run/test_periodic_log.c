/* What a run without a terminal says of itself, and how seldom. */
#include "run/shown/periodic_log.h"

#include "tests/support/test.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static void test_waiting_is_told_once(void **state)
{
    struct run_periodic_log log;
    (void)state;
    run_periodic_log_init(&log, 5);
    assert_int_equal(run_periodic_log_due(&log, 0, 5 + 9 * SECOND), RUN_PERIODIC_LOG_NOTHING);
    assert_int_equal(run_periodic_log_due(&log, 0, 5 + 10 * SECOND), RUN_PERIODIC_LOG_WAITS);
    assert_int_equal(run_periodic_log_due(&log, 0, 5 + 11 * SECOND), RUN_PERIODIC_LOG_NOTHING);
    assert_int_equal(run_periodic_log_due(&log, 0, 5 + MINUTE), RUN_PERIODIC_LOG_PROGRESS);
}

static void test_who_has_messages_does_not_wait(void **state)
{
    struct run_periodic_log log;
    (void)state;
    run_periodic_log_init(&log, 0);
    assert_int_equal(run_periodic_log_due(&log, 1, 30 * SECOND), RUN_PERIODIC_LOG_NOTHING);
    assert_int_equal(run_periodic_log_due(&log, 1, MINUTE), RUN_PERIODIC_LOG_PROGRESS);
}

/* After a minute, then every five. */
static void test_a_day_has_few_lines(void **state)
{
    struct run_periodic_log log;
    unsigned lines = 0;
    (void)state;
    run_periodic_log_init(&log, 0);
    for (int64_t now = 0; now <= 24 * 60 * MINUTE; now += SECOND / 4) {
        if (run_periodic_log_due(&log, 1, now) != RUN_PERIODIC_LOG_PROGRESS)
            continue;
        run_periodic_log_note(&log, 1, now);
        lines++;
    }
    assert_int_equal(lines, 24 * 60 / 5);
}

static void test_what_the_lines_say(void **state)
{
    const char *const topics[] = {"orders", "payments"};
    struct run_periodic_log log;
    struct iso_pipeline_stats stats = {.messages = 1500};
    char text[400];
    (void)state;
    run_periodic_log_topics(topics, 1, 1, text, sizeof text);
    assert_string_equal(text, "topic orders (1 partition)");
    run_periodic_log_topics(topics, 2, 12, text, sizeof text);
    assert_string_equal(text, "2 topics (12 partitions)");
    run_periodic_log_init(&log, 0);
    run_periodic_log_note(&log, 500, MINUTE);
    stats.engine.transactions = 1;
    stats.engine.counts[ISO_EXT] = 2;
    stats.engine.counts[ISO_INT] = 1;
    run_periodic_log_progress(&log, &stats, 7, MINUTE + 10 * SECOND, text, sizeof text);
    assert_string_equal(
        text,
        "1500 messages so far (100/s lately), 7 behind; 1 transaction, 3 violations; no watermark yet");
    stats.has_watermark = true;
    stats.watermark = UINT64_MAX;
    run_periodic_log_progress(&log, &stats, 7, MINUTE + 10 * SECOND, text, sizeof text);
    assert_non_null(strstr(text, "; watermark 18446744073709551615"));
    run_periodic_log_progress(&log, &stats, 7, MINUTE + 10 * SECOND, text,
                              20); /* no room: cut, not overrun */
    assert_int_equal(strlen(text), 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_is_told_once),
        cmocka_unit_test(test_who_has_messages_does_not_wait),
        cmocka_unit_test(test_a_day_has_few_lines),
        cmocka_unit_test(test_what_the_lines_say),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
