/* The recorder's records on a topic; apart from its other tests, since the thread sanitizer cannot
 * run librdkafka. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "connectors/kafka/consumer.h"
#include "connectors/kafka/mock.h"
#include "iso/recorder.h"
#include "tests/support/test.h"

static struct iso_recorder_statistics counts(struct iso_recorder *recorder)
{
    struct iso_recorder_statistics statistics;
    iso_recorder_statistics(recorder, &statistics);
    return statistics;
}

static void record(struct iso_recorder_session *session, int count)
{
    for (int i = 0; i < count; i++) {
        iso_recorder_begin(session);
        iso_recorder_write(session, "t/1", "1");
        iso_recorder_commit(session);
    }
}

static const char *const *properties_of(const struct iso_kafka_mock *mock)
{
    static const char *properties[] = {"bootstrap.servers", NULL, NULL};
    properties[1] = iso_kafka_mock_address(mock);
    return properties;
}

/* What session s of recorder `id` says in front of its records, `count` of them, and behind
 * them. */
static int put_message(char text[200], const char *id, uint32_t i, uint32_t count)
{
    if (!i)
        return snprintf(text, 200, "{\"session\":\"s\",\"records\":0,\"recorder\":\"%s\"}", id);
    if (i > count)
        return snprintf(text, 200, "{\"session\":\"s\",\"records\":%u,\"ended\":true}", count);
    return snprintf(
        text, 200,
        "{\"sid\":\"s\",\"tid\":\"s.%u\",\"sno\":%u,\"ops\":[{\"t\":\"w\",\"k\":\"t/1\",\"v\":\"1\"}],"
        "\"status\":\"committed\"}",
        i - 1, i - 1);
}

/* A recorder's own messages: its id, as it says first, and how many records there were, as it says
 * last. */
static bool take_total(const struct iso_message *message, char id[100], int *total)
{
    char text[200] = "", name[100];
    int end = 0;
    memcpy(text, message->payload.data, message->payload.size < 199 ? message->payload.size : 199);
    if (sscanf(text, "{\"recorder\":\"%99[^\"]\",\"records\":%d,%n", name, total, &end) < 2)
        return false;
    assert_true(!*id || !strcmp(name, id));
    assert_string_equal(text + end, *id ? "\"ended\":true}" : "\"alive_ms\":2000}");
    assert_true(*id || !*total);
    strcpy(id, name);
    assert_int_equal(message->key.size, strlen(id));
    assert_memory_equal(message->key.data, id, strlen(id));
    return true;
}

/* Messages of the topic's one partition are the recorder's, or what session s says, and have their
 * key. */
static void check_topic(const struct iso_kafka_mock *mock, uint32_t count)
{
    static const char *const topics[] = {"records"};
    struct iso_error error = {0};
    struct iso_inputs inputs;
    struct iso_kafka_properties properties = {0};
    iso_inputs_init(&inputs);
    iso_kafka_properties_set(&properties, "bootstrap.servers", iso_kafka_mock_address(mock));
    const struct iso_kafka_consumer_options options = {
        .properties = &properties, .topics = topics, .topic_count = 1, .until_eof = true};
    struct iso_kafka_consumer *consumer = iso_kafka_consumer_new(&options, &inputs, &error);
    assert_non_null(consumer);
    uint32_t seen = 0, totals = 0;
    char id[100] = "";
    int total;
    while (!iso_kafka_consumer_finished(consumer)) {
        const struct iso_message *messages;
        uint32_t got;
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &error), ISO_OK);
        for (uint32_t i = 0; i < got; i++) {
            char text[200];
            if (take_total(&messages[i], id, &total)) {
                totals++;
                continue;
            }
            int length = put_message(text, id, seen++, count);
            assert_int_equal(messages[i].payload.size, length);
            assert_memory_equal(messages[i].payload.data, text, length);
            assert_int_equal(messages[i].key.size, 1);
            assert_memory_equal(messages[i].key.data, "s", 1);
        }
    }
    assert_int_equal(seen, count + 2);
    assert_int_equal(totals, 2);
    assert_int_equal(total, count);
    iso_kafka_consumer_free(consumer);
    iso_kafka_properties_release(&properties);
    iso_inputs_release(&inputs);
}

static void sends_to_a_topic(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_kafka_mock *mock = iso_kafka_mock_new(1, &error);
    assert_non_null(mock);
    assert_int_equal(iso_kafka_mock_topic(mock, "records", 1, &error), ISO_OK);
    struct iso_recorder *recorder =
        iso_recorder_new_kafka("records", properties_of(mock), NULL, &error);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    record(session, 100);
    assert_true(iso_recorder_flush(recorder, 60));
    struct iso_recorder_statistics seen = counts(recorder);
    assert_int_equal(seen.recorded, 100);
    assert_int_equal(seen.written, 100);
    assert_int_equal(seen.waiting_bytes, 0);
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    check_topic(mock, 100);
    iso_kafka_mock_free(mock);
}

/* Time for what must not happen; where it would happen later, the test sees nothing of it. */
static void pause_for_a_while(void)
{
    nanosleep(&(struct timespec){0, 100000000}, NULL);
}

/* The watermarks of a topic's partition, in their order; returns how many there are. */
static uint32_t watermarks(const struct iso_kafka_mock *mock, int32_t partition, uint64_t found[],
                           uint32_t most)
{
    static const char *const topics[] = {"records"};
    struct iso_error error = {0};
    struct iso_inputs inputs;
    struct iso_kafka_properties properties = {0};
    uint32_t count = 0;
    iso_inputs_init(&inputs);
    iso_kafka_properties_set(&properties, "bootstrap.servers", iso_kafka_mock_address(mock));
    const struct iso_kafka_consumer_options options = {
        .properties = &properties, .topics = topics, .topic_count = 1, .until_eof = true};
    struct iso_kafka_consumer *consumer = iso_kafka_consumer_new(&options, &inputs, &error);
    while (!iso_kafka_consumer_finished(consumer)) {
        const struct iso_message *messages;
        uint32_t got;
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &error), ISO_OK);
        for (uint32_t i = 0; i < got; i++) {
            char text[64] = "";
            memcpy(text, messages[i].payload.data,
                   messages[i].payload.size < 63 ? messages[i].payload.size : 63);
            if (messages[i].partition == partition && count < most &&
                sscanf(text, "{\"watermark\":\"%" SCNu64 "\"}", &found[count]) == 1)
                count++;
        }
    }
    iso_kafka_consumer_free(consumer);
    iso_kafka_properties_release(&properties);
    iso_inputs_release(&inputs);
    return count;
}

/* Until the topic has so many. */
static void await_watermarks(const struct iso_kafka_mock *mock, uint32_t count)
{
    uint64_t found[16];
    for (int tries = 0;
         watermarks(mock, 1, found, 16) < count || watermarks(mock, 0, found, 16) < count;
         tries++) {
        assert_true(tries < 1000);
        pause_for_a_while();
    }
}

/* No record will come whose snapshot has a smaller xmin: open transactions hold it back, every
 * partition hears it. */
static void tells_watermarks(void **state)
{
    (void)state;
    struct iso_error error = {0};
    uint64_t found[16];
    struct iso_kafka_mock *mock = iso_kafka_mock_new(1, &error);
    assert_int_equal(iso_kafka_mock_topic(mock, "records", 2, &error), ISO_OK);
    const struct iso_recorder_options options = {.watermark_ms = 20};
    struct iso_recorder *recorder =
        iso_recorder_new_kafka("records", properties_of(mock), &options, &error);
    struct iso_recorder_session *old = iso_recorder_session_new(recorder, "old");
    struct iso_recorder_session *new = iso_recorder_session_new(recorder, "new");
    iso_recorder_begin(old);
    iso_recorder_snapshot(old, "10:10:");
    iso_recorder_begin(new);
    await_watermarks(mock, 1); /* 10 */
    iso_recorder_snapshot(new, "20:25:21");
    iso_recorder_commit(new);
    iso_recorder_progress(recorder, "30:30:");
    iso_recorder_progress(recorder, "no snapshot");
    pause_for_a_while(); /* still 10 */
    iso_recorder_commit(old);
    iso_recorder_session_free(old);
    await_watermarks(mock, 2); /* 30 */
    iso_recorder_begin(new);
    iso_recorder_progress(recorder, "40:40:");
    pause_for_a_while(); /* 30: the snapshot of `new` may be from before */
    iso_recorder_abort(new);
    iso_recorder_session_free(new);
    iso_recorder_free(recorder); /* 40 */
    for (int32_t p = 0; p < 2; p++) {
        assert_int_equal(watermarks(mock, p, found, 16), 3);
        assert_int_equal(found[0], 10);
        assert_int_equal(found[1], 30);
        assert_int_equal(found[2], 40);
    }
    iso_kafka_mock_free(mock);
}

static void a_broker_that_is_away_costs_records_and_is_not_waited_for(void **state)
{
    (void)state;
    struct iso_error error = {0};
    const char *properties[] = {"bootstrap.servers", "127.0.0.1:1", "message.timeout.ms", "5000",
                                NULL};
    const struct iso_recorder_options options = {.buffer_bytes = 12800};
    struct iso_recorder *recorder = iso_recorder_new_kafka("records", properties, &options, &error);
    assert_non_null(recorder);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    for (int i = 0; i < 1000; i++) {
        record(session, 1);
        assert_true(counts(recorder).waiting_bytes <= options.buffer_bytes);
    }
    assert_true(iso_recorder_flush(recorder, 60));
    struct iso_recorder_statistics seen = counts(recorder);
    assert_true(seen.dropped_full > 0); /* had it waited, there would have been room */
    assert_int_equal(seen.recorded + seen.dropped_full, 1000);
    assert_int_equal(seen.lost, seen.recorded);
    assert_non_null(strstr(seen.trouble, "refused"));
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
}

static void bad_properties_are_refused(void **state)
{
    (void)state;
    struct iso_error error = {0};
    const char *properties[] = {"no.such.property", "1", NULL};
    assert_null(iso_recorder_new_kafka("records", properties, NULL, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, "no.such.property"));
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_to_a_topic),
        cmocka_unit_test(tells_watermarks),
        cmocka_unit_test(a_broker_that_is_away_costs_records_and_is_not_waited_for),
        cmocka_unit_test(bad_properties_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
