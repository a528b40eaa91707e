/* The consumer against mock brokers: everything once and in order, whatever the brokers do. */
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

enum { PARTITIONS = 4, PATIENCE_MS = 90000 };

struct world {
    struct iso_kafka_mock *mock;
    struct iso_kafka_properties properties;
    struct iso_inputs inputs;
    struct iso_error error;
    uint64_t seen[16][2]; /* by partition: count and the next number that is due */
    uint64_t memory;      /* of consumers */
};

/* Little enough that every partition is fetched by parts. */
enum { LITTLE_MEMORY = 60000 };

static int start(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    world->mock = iso_kafka_mock_new(3, &world->error);
    assert_non_null(world->mock);
    iso_kafka_properties_set(&world->properties, "bootstrap.servers",
                             iso_kafka_mock_address(world->mock));
    iso_inputs_init(&world->inputs);
    *state = world;
    return 0;
}

static int start_with_little(void **state)
{
    int outcome = start(state);
    ((struct world *)*state)->memory = LITTLE_MEMORY;
    return outcome;
}

static int stop(void **state)
{
    struct world *world = *state;
    iso_kafka_properties_release(&world->properties);
    iso_inputs_release(&world->inputs);
    iso_kafka_mock_free(world->mock);
    free(world);
    return 0;
}

/* Message i of a partition says "i", and its partition has header p. */
static void produce(struct world *world, const char *topic, uint64_t from, uint64_t to)
{
    struct iso_kafka_producer *producer =
        iso_kafka_producer_new(&world->properties, topic, PARTITIONS, &world->error);
    assert_string_equal(world->error.text, "");
    assert_int_equal(iso_kafka_producer_partitions(producer), PARTITIONS);
    for (uint64_t i = from; i < to; i++)
        for (int32_t p = 0; p < PARTITIONS; p++) {
            char text[32];
            uint8_t digit = (uint8_t)('0' + p);
            struct iso_header header = {{(const uint8_t *)"p", 1}, {&digit, 1}};
            struct iso_message message = {
                .partition = p,
                .headers = &header,
                .header_count = 1,
                .payload = {(const uint8_t *)text,
                            (uint32_t)snprintf(text, sizeof text, "%llu", (unsigned long long)i)},
            };
            assert_int_equal(iso_kafka_producer_send(producer, &message, &world->error), ISO_OK);
        }
    assert_int_equal(iso_kafka_producer_flush(producer, PATIENCE_MS / 1000, &world->error), ISO_OK);
    assert_int_equal(iso_kafka_producer_delivered(producer), (to - from) * PARTITIONS);
    iso_kafka_producer_free(producer);
}

static void check(struct world *world, const struct iso_message *message)
{
    char text[32];
    uint64_t *seen = world->seen[message->partition];
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)seen[1]);
    assert_int_equal(message->payload.size, length);
    assert_memory_equal(message->payload.data, text, length);
    assert_int_equal(message->header_count, 1);
    assert_int_equal(message->headers[0].value.data[0], '0' + message->partition);
    assert_null(message->key.data);
    seen[0]++;
    seen[1]++;
}

/* Polls until `count` messages of every partition have been seen. */
static void consume(struct world *world, struct iso_kafka_consumer *consumer, uint64_t count)
{
    int64_t deadline = iso_clock_ms() + PATIENCE_MS;
    uint64_t total = 0;
    while (total < count * PARTITIONS) {
        const struct iso_message *messages;
        uint32_t got;
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++)
            check(world, &messages[i]);
        total += got;
        if (iso_clock_ms() > deadline)
            fail_msg("%llu of %llu messages came", (unsigned long long)total,
                     (unsigned long long)count * PARTITIONS);
    }
    for (int p = 0; p < PARTITIONS; p++)
        assert_int_equal(world->seen[p][0], count);
    memset(world->seen, 0, sizeof world->seen);
}

static struct iso_kafka_consumer *open_consumer(struct world *world,
                                                struct iso_kafka_consumer_options options)
{
    static const char *const topics[] = {"t"};
    options.properties = &world->properties;
    options.topics = options.topics ? options.topics : topics;
    options.topic_count = 1;
    options.memory = world->memory;
    return iso_kafka_consumer_new(&options, &world->inputs, &world->error);
}

static void all_partitions_once_until_the_end(void **state)
{
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got;
    produce(world, "t", 0, 5000);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.until_eof = true});
    assert_non_null(consumer);
    produce(world, "t", 5000, 5100); /* behind the snapshot of the ends */
    assert_false(iso_kafka_consumer_finished(consumer));
    consume(world, consumer, 5000);
    assert_true(iso_kafka_consumer_finished(consumer));
    assert_int_equal(iso_kafka_consumer_poll(consumer, 200, &messages, &got, &world->error),
                     ISO_OK);
    assert_int_equal(got, 0);
    assert_int_equal(iso_kafka_consumer_counters(consumer)->missing, 0);
    iso_kafka_consumer_free(consumer);
}

/* A run without end that is to stop where the topic ends now: from there on it is one that reads to
 * those ends. */
static void stops_at_the_ends_of_a_moment(void **state)
{
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got;
    produce(world, "t", 0, 1000);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){0});
    assert_non_null(consumer);
    consume(world, consumer, 1000);
    produce(world, "t", 1000, 3000);
    assert_false(iso_kafka_consumer_finished(consumer));
    assert_int_equal(iso_kafka_consumer_stop_at_ends(consumer, &world->error), ISO_OK);
    assert_false(iso_kafka_consumer_finished(consumer));
    produce(world, "t", 3000, 3100); /* too late */
    for (int p = 0; p < PARTITIONS; p++)
        world->seen[p][1] = 1000;
    consume(world, consumer, 2000);
    assert_true(iso_kafka_consumer_finished(consumer));
    assert_int_equal(iso_kafka_consumer_poll(consumer, 200, &messages, &got, &world->error),
                     ISO_OK);
    assert_int_equal(got, 0);
    iso_kafka_consumer_free(consumer);
}

static void starts_at_end_and_at_positions(void **state)
{
    struct world *world = *state;
    produce(world, "t", 0, 100);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.start = ISO_KAFKA_END});
    assert_non_null(consumer);
    produce(world, "t", 100, 200);
    for (int p = 0; p < PARTITIONS; p++)
        world->seen[p][1] = 100;
    consume(world, consumer, 100);
    iso_kafka_consumer_free(consumer);
    const struct iso_kafka_position positions[] = {
        {"t", 0, 150, false}, {"t", 1, 150, false}, {"t", 2, 150, false}, {"t", 3, 150, false}};
    consumer = open_consumer(
        world, (struct iso_kafka_consumer_options){
                   .start = ISO_KAFKA_POSITIONS, .positions = positions, .position_count = 4});
    assert_non_null(consumer);
    for (int p = 0; p < PARTITIONS; p++)
        world->seen[p][1] = 150;
    consume(world, consumer, 50);
    iso_kafka_consumer_free(consumer);
}

/* As the group's own consumer would, which may have committed some partitions only. */
static void commit(struct world *world, const char *group, const int64_t *offsets, int32_t count)
{
    struct iso_kafka_client client = {0};
    static const char *const defaults[] = {NULL};
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
    iso_kafka_properties_set(&world->properties, "group.id", group);
    assert_int_equal(iso_kafka_client_open(&client, RD_KAFKA_CONSUMER, &world->properties, defaults,
                                           NULL, &world->error),
                     ISO_OK);
    for (int32_t p = 0; p < count; p++)
        rd_kafka_topic_partition_list_add(list, "t", p)->offset = offsets[p];
    assert_int_equal(rd_kafka_commit(client.handle, list, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_partition_list_destroy(list);
    iso_kafka_client_close(&client);
}

static void starts_where_the_group_has_committed(void **state)
{
    struct world *world = *state;
    const int64_t offsets[] = {90, 100, 0};
    const uint64_t due[PARTITIONS] = {10, 0, 100, 100}; /* the last: nothing committed */
    const struct iso_message *messages;
    uint32_t got;
    produce(world, "t", 0, 100);
    commit(world, "auditors", offsets, 3);
    struct iso_kafka_consumer *consumer = open_consumer(
        world, (struct iso_kafka_consumer_options){.start = ISO_KAFKA_STORED, .until_eof = true});
    assert_string_equal(world->error.text, "");
    for (int p = 0; p < PARTITIONS; p++)
        world->seen[p][1] = 100 - due[p];
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         !iso_kafka_consumer_finished(consumer) && iso_clock_ms() < deadline;) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++)
            check(world, &messages[i]);
    }
    for (int p = 0; p < PARTITIONS; p++)
        assert_int_equal(world->seen[p][0], due[p]);
    iso_kafka_consumer_free(consumer);
}

static void committed_offset_that_is_gone(void **state)
{
    struct world *world = *state;
    const int64_t offsets[] = {0, 11};
    produce(world, "t", 0, 10);
    commit(world, "auditors", offsets, 2);
    assert_null(
        open_consumer(world, (struct iso_kafka_consumer_options){.start = ISO_KAFKA_STORED}));
    assert_string_equal(world->error.text,
                        "topic t partition 1 offset 11: not on the broker, which has 0 to 10");
}

static void stored_offsets_without_a_group(void **state)
{
    struct world *world = *state;
    assert_null(
        open_consumer(world, (struct iso_kafka_consumer_options){.start = ISO_KAFKA_STORED}));
    assert_int_equal(world->error.status, ISO_BAD_INPUT);
    assert_string_equal(
        world->error.text,
        "stored offsets belong to a consumer group: expected the property group.id");
}

static void stored_offset_that_is_gone(void **state)
{
    struct world *world = *state;
    produce(world, "t", 0, 10);
    const struct iso_kafka_position positions[] = {{"t", 2, 11, false}};
    assert_null(open_consumer(
        world, (struct iso_kafka_consumer_options){
                   .start = ISO_KAFKA_POSITIONS, .positions = positions, .position_count = 1}));
    assert_int_equal(world->error.status, ISO_FAILED);
    assert_string_equal(world->error.text,
                        "topic t partition 2 offset 11: not on the broker, which has 0 to 10");
}

/* One message is handed out again where the broker still has it. */
static void position_to_compare(void **state)
{
    struct world *world = *state;
    produce(world, "t", 0, 10);
    const struct iso_kafka_position positions[] = {
        {"t", 0, 4, true}, {"t", 1, 0, true}, {"t", 2, 10, true}, {"t", 3, 4, false}};
    static const int64_t starts[] = {3, 0, 9, 4};
    struct iso_kafka_consumer *consumer = open_consumer(
        world, (struct iso_kafka_consumer_options){
                   .start = ISO_KAFKA_POSITIONS, .positions = positions, .position_count = 4});
    const struct iso_kafka_partition *partitions;
    assert_non_null(consumer);
    assert_int_equal(iso_kafka_consumer_partitions(consumer, &partitions), 4);
    for (int p = 0; p < 4; p++)
        assert_int_equal(partitions[p].next, starts[partitions[p].partition]);
    iso_kafka_consumer_free(consumer);
}

static void pausing_and_resuming_loses_nothing(void **state)
{
    struct world *world = *state;
    produce(world, "t", 0, 10000);
    struct iso_kafka_consumer *consumer = open_consumer(
        world,
        (struct iso_kafka_consumer_options){.until_eof = true, .high_water = 10, .low_water = 1});
    const struct iso_message *messages;
    uint32_t got;
    int64_t deadline = iso_clock_ms() + PATIENCE_MS;
    for (uint64_t round = 0; !iso_kafka_consumer_finished(consumer) && iso_clock_ms() < deadline;
         round++) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 5, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++)
            check(world, &messages[i]);
        iso_kafka_consumer_backlog(consumer, round % 8 ? 0 : 10);
    }
    for (int p = 0; p < PARTITIONS; p++)
        assert_int_equal(world->seen[p][0], 10000);
    assert_true(iso_kafka_consumer_counters(consumer)->pauses > 0);
    assert_int_equal(iso_kafka_consumer_counters(consumer)->missing, 0);
    printf("# %llu pauses, %llu seeks\n",
           (unsigned long long)iso_kafka_consumer_counters(consumer)->pauses,
           (unsigned long long)iso_kafka_consumer_counters(consumer)->seeks);
    iso_kafka_consumer_free(consumer);
}

/* However much is fetched of one partition, the others come beside it: their messages are of the
 * same time. */
static void partitions_are_read_side_by_side(void **state)
{
    enum { MESSAGES = 20000, SPREAD = 1000 };
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got;
    uint64_t widest = 0;
    produce(world, "t", 0, MESSAGES);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.until_eof = true});
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         !iso_kafka_consumer_finished(consumer) && iso_clock_ms() < deadline;) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++) {
            check(world, &messages[i]);
            for (int p = 0; p < PARTITIONS; p++) {
                uint64_t seen = world->seen[messages[i].partition][0], other = world->seen[p][0];
                widest = seen > other && seen - other > widest ? seen - other : widest;
            }
        }
    }
    for (int p = 0; p < PARTITIONS; p++)
        assert_int_equal(world->seen[p][0], MESSAGES);
    printf("# one partition was at most %llu messages ahead\n", (unsigned long long)widest);
    assert_true(widest < SPREAD);
    iso_kafka_consumer_free(consumer);
}

static void one_partition_is_held_and_let_go(void **state)
{
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got, held = PARTITIONS;
    const struct iso_kafka_partition *partitions;
    produce(world, "t", 0, 10000);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.until_eof = true});
    for (uint32_t i = 0; i < iso_kafka_consumer_partitions(consumer, &partitions); i++)
        held = partitions[i].partition == 2 ? i : held;
    assert_int_equal(iso_kafka_consumer_behind(consumer, held), 10000);
    iso_kafka_consumer_pause(consumer, held, true);
    int64_t deadline = iso_clock_ms() + PATIENCE_MS;
    for (uint64_t total = 0; total < 10000 * (PARTITIONS - 1) && iso_clock_ms() < deadline;
         total += got) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++)
            check(world, &messages[i]);
    }
    assert_int_equal(iso_kafka_consumer_poll(consumer, 200, &messages, &got, &world->error),
                     ISO_OK);
    assert_int_equal(got, 0);
    assert_int_equal(world->seen[2][0], 0);
    iso_kafka_consumer_pause(consumer, held, false);
    while (!iso_kafka_consumer_finished(consumer) && iso_clock_ms() < deadline) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++)
            check(world, &messages[i]);
    }
    for (int p = 0; p < PARTITIONS; p++)
        assert_int_equal(world->seen[p][0], 10000);
    assert_int_equal(iso_kafka_consumer_behind(consumer, held), 0);
    assert_int_equal(iso_kafka_consumer_counters(consumer)->single_pauses, 1);
    iso_kafka_consumer_free(consumer);
}

/* However much the broker has, and however long nobody takes what was read. */
static void what_waits_is_bounded(void **state)
{
    enum { MESSAGES = 20000 };
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got;
    produce(world, "t", 0, MESSAGES);
    struct iso_kafka_consumer *consumer = open_consumer(
        world, (struct iso_kafka_consumer_options){.until_eof = true, .high_water = 1});
    const struct iso_kafka_counters *counters = iso_kafka_consumer_counters(consumer);
    iso_kafka_consumer_backlog(consumer, 1);
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         counters->rests < PARTITIONS && iso_clock_ms() < deadline;) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 20, &messages, &got, &world->error),
                         ISO_OK);
        assert_int_equal(got, 0);
    }
    assert_int_equal(counters->rests, PARTITIONS); /* and none went on */
    iso_kafka_consumer_backlog(consumer, 0);
    consume(world, consumer, MESSAGES);
    assert_true(iso_kafka_consumer_finished(consumer));
    assert_int_equal(counters->missing, 0);
    assert_true(counters->rests > 10 * PARTITIONS);
    printf("# at most %llu bytes waited\n", (unsigned long long)counters->most_waiting);
    assert_in_range(counters->most_waiting, LITTLE_MEMORY / 4, LITTLE_MEMORY * 3 / 2);
    iso_kafka_consumer_free(consumer);
}

/* It comes behind messages for which there is no room on the shelf, as nobody looked for a while:
 * it is told, or all is read where the answer came too late to count, and no partition stands still
 * for ever. */
static void offset_that_is_gone_is_told_where_shelves_are_full(void **state)
{
    enum { MESSAGES = 5000, LEAST = 3, MOST = 6 };
    static const struct timespec a_while = {.tv_nsec = 200000000};
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got, told = 0;
    iso_kafka_properties_set(&world->properties, "queued.max.messages.kbytes", "1000");
    produce(world, "t", 0, MESSAGES);
    for (unsigned good = LEAST; good <= MOST; good++) {
        struct iso_error error = {0};
        iso_kafka_mock_fail_fetches(world->mock, RD_KAFKA_RESP_ERR_NO_ERROR, good);
        iso_kafka_mock_fail_fetches(world->mock, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, 1);
        struct iso_kafka_consumer *consumer =
            open_consumer(world, (struct iso_kafka_consumer_options){.until_eof = true});
        nanosleep(&a_while, NULL);
        for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
             error.status == ISO_OK && !iso_kafka_consumer_finished(consumer) &&
             iso_clock_ms() < deadline;)
            iso_kafka_consumer_poll(consumer, 20, &messages, &got, &error);
        assert_true(error.status == ISO_FAILED
                        ? strstr(error.text, "out of range") != NULL
                        : iso_kafka_consumer_counters(consumer)->messages == MESSAGES * PARTITIONS);
        told += error.status == ISO_FAILED;
        iso_kafka_consumer_free(consumer);
    }
    assert_true(told > 0);
}

/* A reader slower than the broker, whose queues are full most of the time: librdkafka must not
 * sleep a second whenever they are. It would do so two dozen times; a busy machine may hold
 * everything up now and then. */
static void full_queues_do_not_slow_it_down(void **state)
{
    enum { MESSAGES = 40000, LONG_MS = 800, MOST = 12 };
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got;
    uint32_t long_waits = 0;
    iso_kafka_properties_set(&world->properties, "queued.max.messages.kbytes", "4");
    iso_kafka_properties_set(&world->properties, "fetch.message.max.bytes", "4096");
    produce(world, "t", 0, MESSAGES);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.until_eof = true});
    int64_t since = iso_clock_ms();
    for (int64_t deadline = since + PATIENCE_MS;
         !iso_kafka_consumer_finished(consumer) && iso_clock_ms() < deadline;) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 1000, &messages, &got, &world->error),
                         ISO_OK);
        int64_t now = iso_clock_ms();
        long_waits += now - since > LONG_MS;
        for (uint32_t i = 0; i < got; i++)
            check(world, &messages[i]);
        since = iso_clock_ms();
    }
    for (int p = 0; p < PARTITIONS; p++)
        assert_int_equal(world->seen[p][0], MESSAGES);
    printf("# it waited for messages for more than %d ms %u times\n", LONG_MS, long_waits);
    assert_true(long_waits <= MOST);
    iso_kafka_consumer_free(consumer);
}

/* What `watch` does with its verdicts: as long as many wait for a slow broker, nothing more is
 * read. */
static void slow_topic_pauses_the_consumer(void **state)
{
    struct world *world = *state;
    const struct iso_message *messages;
    uint32_t got;
    uint64_t most = 0, total = 0;
    produce(world, "t", 0, 5000);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){
                                 .until_eof = true, .high_water = 1000, .low_water = 100});
    struct iso_kafka_producer *producer =
        iso_kafka_producer_new(&world->properties, "verdicts", 1, &world->error);
    assert_string_equal(world->error.text, "");
    for (int32_t broker = 1; broker <= 3; broker++)
        iso_kafka_mock_latency(world->mock, broker, 50);
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         !iso_kafka_consumer_finished(consumer) && iso_clock_ms() < deadline; total += got) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 20, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++) {
            struct iso_message verdict = {.partition = 0, .payload = messages[i].payload};
            check(world, &messages[i]);
            assert_int_equal(iso_kafka_producer_send(producer, &verdict, &world->error), ISO_OK);
        }
        uint64_t waiting = iso_kafka_producer_waiting(producer);
        most = waiting > most ? waiting : most;
        assert_int_equal(iso_kafka_producer_poll(producer, &world->error), ISO_OK);
        iso_kafka_consumer_backlog(consumer, waiting);
    }
    assert_int_equal(total, 5000 * PARTITIONS);
    assert_true(iso_kafka_consumer_counters(consumer)->pauses > 0);
    printf("# %llu pauses, at most %llu waiting\n",
           (unsigned long long)iso_kafka_consumer_counters(consumer)->pauses,
           (unsigned long long)most);
    assert_int_equal(iso_kafka_producer_flush(producer, PATIENCE_MS / 1000, &world->error), ISO_OK);
    assert_int_equal(iso_kafka_producer_delivered(producer), total);
    assert_int_equal(iso_kafka_producer_waiting(producer), 0);
    iso_kafka_producer_free(producer);
    iso_kafka_consumer_free(consumer);
}

static void consume_until_heard(struct world *world, struct iso_kafka_consumer *consumer)
{
    const struct iso_message *messages;
    uint32_t got;
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         !iso_kafka_consumer_is_live(consumer) && iso_clock_ms() < deadline;) {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        for (uint32_t i = 0; i < got; i++)
            check(world, &messages[i]);
    }
    assert_true(iso_kafka_consumer_is_live(consumer));
}

static void brokers_down_and_back(void **state)
{
    struct world *world = *state;
    char trouble[256];
    const struct iso_message *messages;
    uint32_t got;
    produce(world, "t", 0, 1000);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){0});
    assert_false(iso_kafka_consumer_is_live(consumer)); /* nothing came yet */
    consume(world, consumer, 1000);
    assert_true(iso_kafka_consumer_is_live(consumer));
    for (int32_t broker = 1; broker <= 3; broker++)
        iso_kafka_mock_down(world->mock, broker, true);
    int64_t deadline = iso_clock_ms() + PATIENCE_MS;
    do {
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
        assert_int_equal(got, 0);
    } while ((!iso_kafka_consumer_trouble(consumer, trouble, sizeof trouble) ||
              iso_kafka_consumer_is_live(consumer)) &&
             iso_clock_ms() < deadline);
    assert_true(*trouble);
    assert_false(iso_kafka_consumer_is_live(consumer));
    for (int32_t broker = 1; broker <= 3; broker++)
        iso_kafka_mock_down(world->mock, broker, false);
    consume_until_heard(world, consumer); /* nothing has come, and all is well again */
    for (deadline = iso_clock_ms() + PATIENCE_MS;
         iso_kafka_consumer_trouble(consumer, trouble, sizeof trouble) &&
         iso_clock_ms() < deadline;)
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
    assert_string_equal(trouble, "");
    for (int32_t broker = 1; broker <= 3; broker++)
        iso_kafka_mock_down(world->mock, broker, true);
    deadline = iso_clock_ms() + PATIENCE_MS;
    do
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
    while (iso_kafka_consumer_is_live(consumer) && iso_clock_ms() < deadline);
    for (int32_t broker = 1; broker <= 3; broker++)
        iso_kafka_mock_down(world->mock, broker, false);
    produce(world, "t", 1000, 2000);
    for (int p = 0; p < PARTITIONS; p++)
        world->seen[p][1] = 1000;
    consume_until_heard(world, consumer);
    for (int p = 0; p < PARTITIONS; p++)
        assert_int_equal(world->seen[p][0],
                         1000); /* it says so once it has read what it could not hear of */
    assert_false(iso_kafka_consumer_trouble(consumer, trouble, sizeof trouble));
    iso_kafka_consumer_free(consumer);
}

static void leaders_change_and_answers_are_slow(void **state)
{
    struct world *world = *state;
    produce(world, "t", 0, 2000);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.until_eof = true});
    assert_non_null(consumer);
    for (int32_t p = 0; p < PARTITIONS; p++)
        iso_kafka_mock_leader(world->mock, "t", p, 1 + (p + 1) % 3);
    for (int32_t broker = 1; broker <= 3; broker++)
        iso_kafka_mock_latency(world->mock, broker, 100);
    consume(world, consumer, 2000);
    iso_kafka_consumer_free(consumer);
}

static void fetch_errors_that_heal(void **state)
{
    struct world *world = *state;
    produce(world, "t", 0, 2000);
    iso_kafka_mock_fail_fetches(world->mock, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, 3);
    iso_kafka_mock_fail_fetches(world->mock, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, 2);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){0});
    consume(world, consumer, 2000);
    iso_kafka_consumer_free(consumer);
}

/* Right after its creation a partition may not have its leader yet. */
static void offsets_that_are_not_known_yet(void **state)
{
    struct world *world = *state;
    produce(world, "t", 0, 100);
    iso_kafka_mock_fail_offsets(world->mock, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, 3);
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.until_eof = true});
    assert_string_equal(world->error.text, "");
    consume(world, consumer, 100);
    iso_kafka_consumer_free(consumer);
}

static void topic_read_before_its_first_message(void **state)
{
    struct world *world = *state;
    static const char *const later[] = {"later"};
    const struct iso_message *messages;
    uint32_t got;
    struct iso_kafka_consumer *consumer =
        open_consumer(world, (struct iso_kafka_consumer_options){.topics = later,
                                                                 .wait_for_topics = true,
                                                                 .refresh_seconds = 1,
                                                                 .start = ISO_KAFKA_END});
    if (!consumer)
        fail_msg("%s", world->error.text);
    for (int64_t deadline = iso_clock_ms() + 1500; iso_clock_ms() < deadline;)
        assert_int_equal(iso_kafka_consumer_poll(consumer, 100, &messages, &got, &world->error),
                         ISO_OK);
    char trouble[256];
    iso_kafka_consumer_trouble(consumer, trouble, sizeof trouble);
    assert_string_equal(trouble, ""); /* a topic that is waited for is no fault of the broker's */
    produce(world, "later", 0, 50);
    consume(world, consumer, 50);
    iso_kafka_consumer_free(consumer);
}

static void broker_that_never_answers(void **state)
{
    struct world *world = *state;
    static const char *const topics[] = {"t"};
    struct iso_kafka_properties properties = {0};
    iso_kafka_properties_set(&properties, "bootstrap.servers", "127.0.0.1:1");
    int64_t begin = iso_clock_ms();
    assert_null(iso_kafka_consumer_new(
        &(struct iso_kafka_consumer_options){
            .properties = &properties, .topics = topics, .topic_count = 1, .connect_seconds = 2},
        &world->inputs, &world->error));
    assert_in_range(iso_clock_ms() - begin, 1500, PATIENCE_MS);
    assert_int_equal(world->error.status, ISO_FAILED);
    assert_non_null(
        strstr(world->error.text, "Kafka broker 127.0.0.1:1 did not answer within 2 s: "));
    assert_non_null(strstr(world->error.text, "Connection refused"));
    iso_kafka_properties_release(&properties);
}

static void wrong_properties(void **state)
{
    struct world *world = *state;
    struct iso_kafka_properties properties = {0};
    struct iso_error error = {0};
    assert_int_equal(iso_kafka_properties_argument(&properties, "sasl.password=x", &error),
                     ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, "-X sasl.password: a secret on the command line"));
    error = (struct iso_error){0};
    assert_int_equal(iso_kafka_properties_argument(&properties, "nonsense", &error), ISO_BAD_INPUT);
    iso_kafka_properties_set(&world->properties, "no.such.property", "1");
    assert_null(open_consumer(world, (struct iso_kafka_consumer_options){0}));
    assert_int_equal(world->error.status, ISO_BAD_INPUT);
    assert_non_null(strstr(world->error.text, "Kafka property no.such.property: "));
    iso_kafka_properties_release(&properties);
}

/* With librdkafka's queues, and with a bound for all that waits. */
#define EITHER_WAY(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, start, stop),                                            \
    {                                                                                              \
#test "_in_little_memory", test, start_with_little, stop, NULL                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        EITHER_WAY(all_partitions_once_until_the_end),
        EITHER_WAY(stops_at_the_ends_of_a_moment),
        EITHER_WAY(starts_at_end_and_at_positions),
        cmocka_unit_test_setup_teardown(stored_offset_that_is_gone, start, stop),
        EITHER_WAY(position_to_compare),
        cmocka_unit_test_setup_teardown(starts_where_the_group_has_committed, start, stop),
        cmocka_unit_test_setup_teardown(committed_offset_that_is_gone, start, stop),
        cmocka_unit_test_setup_teardown(stored_offsets_without_a_group, start, stop),
        EITHER_WAY(pausing_and_resuming_loses_nothing),
        cmocka_unit_test_setup_teardown(partitions_are_read_side_by_side, start, stop),
        EITHER_WAY(one_partition_is_held_and_let_go),
        cmocka_unit_test_setup_teardown(what_waits_is_bounded, start_with_little, stop),
        cmocka_unit_test_setup_teardown(offset_that_is_gone_is_told_where_shelves_are_full,
                                        start_with_little, stop),
        cmocka_unit_test_setup_teardown(full_queues_do_not_slow_it_down, start, stop),
        cmocka_unit_test_setup_teardown(slow_topic_pauses_the_consumer, start, stop),
        EITHER_WAY(brokers_down_and_back),
        EITHER_WAY(leaders_change_and_answers_are_slow),
        EITHER_WAY(fetch_errors_that_heal),
        EITHER_WAY(offsets_that_are_not_known_yet),
        EITHER_WAY(topic_read_before_its_first_message),
        cmocka_unit_test_setup_teardown(broker_that_never_answers, start, stop),
        cmocka_unit_test_setup_teardown(wrong_properties, start, stop),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
