/* Whether a topic is still the one that was read: what the probe says of right, wrong and missing
 * messages, and that a consumer takes neither retention nor a broker that goes away for another
 * topic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "connectors/kafka/consumer.h"
#include "connectors/kafka/mock.h"
#include "connectors/kafka/producer.h"
#include "connectors/kafka/probe.h"

/* A mock partition keeps its last 5 MiB. */
enum { PATIENCE_MS = 90000, SIZE = 100000, ALL_FORGOTTEN = 80 };

struct world {
    struct iso_kafka_mock *mock;
    struct iso_kafka_properties properties;
    struct iso_kafka_producer *producer;
    struct iso_inputs inputs;
    struct iso_error error;
    uint8_t payload[SIZE];
};

static int start(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    world->mock = iso_kafka_mock_new(1, &world->error);
    assert_non_null(world->mock);
    iso_kafka_properties_set(&world->properties, "bootstrap.servers",
                             iso_kafka_mock_address(world->mock));
    iso_kafka_properties_set(&world->properties, "compression.type", "none");
    world->producer = iso_kafka_producer_new(&world->properties, "t", 2, &world->error);
    assert_non_null(world->producer);
    iso_inputs_init(&world->inputs);
    *state = world;
    return 0;
}

static int stop(void **state)
{
    struct world *world = *state;
    iso_kafka_producer_free(world->producer);
    iso_kafka_properties_release(&world->properties);
    iso_inputs_release(&world->inputs);
    iso_kafka_mock_free(world->mock);
    free(world);
    return 0;
}

/* Messages of `size` bytes whose first says what they are. */
static void produce(struct world *world, char first, uint32_t count, uint32_t size)
{
    struct iso_message message = {.partition = 1, .payload = {world->payload, size}};
    memset(world->payload, first, size);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(iso_kafka_producer_send(world->producer, &message, &world->error), ISO_OK);
    assert_int_equal(iso_kafka_producer_flush(world->producer, PATIENCE_MS / 1000, &world->error),
                     ISO_OK);
}

static enum kafka_probe_answer ask(struct world *world, int64_t offset, uint64_t digest)
{
    struct kafka_probe probe;
    struct kafka_place *places = calloc(1, sizeof *places);
    places[0] =
        (struct kafka_place){.topic = "t", .partition = 1, .offset = offset, .digest = digest};
    kafka_probe_init(&probe, &world->properties);
    assert_true(kafka_probe_ask(&probe, places, 1));
    while (!kafka_probe_answered(&probe))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    enum kafka_probe_answer answer = probe.places[0].answer;
    kafka_probe_release(&probe);
    return answer;
}

static struct iso_kafka_consumer *open_consumer(struct world *world)
{
    static const char *const topics[] = {"t"};
    struct iso_kafka_consumer *consumer = iso_kafka_consumer_new(
        &(struct iso_kafka_consumer_options){
            .properties = &world->properties, .topics = topics, .topic_count = 1},
        &world->inputs, &world->error);
    assert_non_null(consumer);
    return consumer;
}

/* The digest of the first message. */
static uint64_t first_digest(struct world *world)
{
    const struct iso_message *messages;
    uint32_t got = 0;
    uint64_t digest = 0;
    struct iso_kafka_consumer *consumer = open_consumer(world);
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS; !got && iso_clock_ms() < deadline;) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        digest = got ? kafka_probe_digest(&messages[0]) : 0;
    }
    iso_kafka_consumer_free(consumer);
    return digest;
}

static void tells_same_from_other_and_from_none(void **state)
{
    struct world *world = *state;
    produce(world, 'a', 10, 8);
    uint64_t digest = first_digest(world);
    assert_int_equal(ask(world, 0, digest), KAFKA_PROBE_SAME);
    assert_int_equal(ask(world, 0, digest + 1), KAFKA_PROBE_OTHER);
    assert_int_equal(ask(world, 10, digest), KAFKA_PROBE_GONE); /* the end */
    assert_int_equal(ask(world, 99, digest), KAFKA_PROBE_GONE);
    produce(world, 'b', ALL_FORGOTTEN, SIZE);
    assert_int_equal(ask(world, 0, digest), KAFKA_PROBE_GONE);
}

static void digest_is_of_the_whole_message(void **state)
{
    struct iso_message message = {
        .timestamp = 5, .timestamp_type = ISO_TIMESTAMP_CREATE, .payload = {NULL, 0}};
    uint64_t tombstone = kafka_probe_digest(&message), before;
    (void)state;
    message.payload.data = (const uint8_t *)"";
    before = kafka_probe_digest(&message);
    assert_true(before != tombstone);
    message.key = (struct iso_bytes){(const uint8_t *)"k", 1};
    assert_true(kafka_probe_digest(&message) != before);
    before = kafka_probe_digest(&message);
    message.timestamp = 6;
    assert_true(kafka_probe_digest(&message) != before);
    message.timestamp_type = ISO_TIMESTAMP_LOG_APPEND; /* the broker's: not part of it */
    before = kafka_probe_digest(&message);
    message.timestamp = 7;
    assert_true(kafka_probe_digest(&message) == before);
}

/* Who is let in by its name is asked for that; what is read at once is the probe's own affair. */
static void asks_under_the_name_that_was_given(void **state)
{
    struct iso_kafka_properties properties = {0};
    struct kafka_probe probe;
    (void)state;
    iso_kafka_properties_set(&properties, "client.id", "auditor");
    iso_kafka_properties_set(&properties, "enable.partition.eof", "false");
    kafka_probe_init(&probe, &properties);
    assert_string_equal(iso_kafka_properties_get(&probe.properties, "client.id"), "auditor");
    assert_string_equal(iso_kafka_properties_get(&probe.properties, "enable.partition.eof"),
                        "true");
    kafka_probe_release(&probe);
    iso_kafka_properties_release(&properties);
}

/* Until there have been so many looks and errors. */
static void poll_until(struct world *world, struct iso_kafka_consumer *consumer, uint64_t looks,
                       uint64_t errors)
{
    const struct iso_message *messages;
    uint32_t got;
    const struct iso_kafka_counters *counters = iso_kafka_consumer_counters(consumer);
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         (counters->looks < looks || counters->errors < errors) && iso_clock_ms() < deadline;)
        assert_int_equal(iso_kafka_consumer_poll(consumer, 20, &messages, &got, &world->error),
                         ISO_OK);
    assert_true(counters->looks >= looks && counters->errors >= errors);
}

static void poll_until_read(struct world *world, struct iso_kafka_consumer *consumer,
                            uint64_t messages)
{
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         iso_kafka_consumer_counters(consumer)->messages < messages && iso_clock_ms() < deadline;)
        poll_until(world, consumer, iso_kafka_consumer_counters(consumer)->looks + 1, 0);
    assert_int_equal(iso_kafka_consumer_counters(consumer)->messages, messages);
}

/* Asked about every few milliseconds, while what was asked about is removed. */
static void retention_is_no_other_topic(void **state)
{
    struct world *world = *state;
    iso_kafka_properties_set(&world->properties, "topic.metadata.refresh.interval.ms", "10");
    produce(world, 'a', 10, 8);
    struct iso_kafka_consumer *consumer = open_consumer(world);
    const struct iso_kafka_counters *counters = iso_kafka_consumer_counters(consumer);
    poll_until(world, consumer, 2, 0);
    for (uint32_t round = 1; round <= 8; round++) {
        produce(world, 'b', ALL_FORGOTTEN / 8, SIZE);
        poll_until(world, consumer, counters->looks + 2, 0);
        poll_until_read(world, consumer, 10 + round * (ALL_FORGOTTEN / 8));
    }
    assert_int_equal(ask(world, 0, 0), KAFKA_PROBE_GONE);
    iso_kafka_mock_down(world->mock, 1, true);
    poll_until(world, consumer, 0, counters->errors + 1);
    iso_kafka_mock_down(world->mock, 1, false);
    poll_until(world, consumer, counters->looks + 2, 0);
    iso_kafka_consumer_free(consumer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tells_same_from_other_and_from_none, start, stop),
        cmocka_unit_test(digest_is_of_the_whole_message),
        cmocka_unit_test(asks_under_the_name_that_was_given),
        cmocka_unit_test_setup_teardown(retention_is_no_other_topic, start, stop),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
