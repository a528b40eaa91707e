/* Whatever the brokers do, the final verdicts are those of the same messages without brokers, or
 * the run ends with an error that names what is lost. A stream of transactions with planted stale
 * reads, over three partitions, is published in portions, and between them a fault of one kind
 * strikes. Half of the runs bound what waits. Each run is a process of its own.
 *
 * kafka_faults [--streams N] [--seed S]: streams of each kind
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "connectors/history/record.h"
#include "connectors/kafka/consumer.h"
#include "connectors/kafka/mock.h"
#include "connectors/kafka/producer.h"
#include "pipeline/pipeline.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum {
    PARTITIONS = 3,
    BROKERS = 3,
    PORTIONS = 6,
    PORTION = 60,
    KEYS = 12,
    AT_ONCE = 6,
    PATIENCE_MS = 240000,
    LITTLE_MEMORY = 4096
};
enum { TRANSACTIONS = PORTIONS * PORTION, MESSAGES = TRANSACTIONS + PORTIONS * PARTITIONS };

/* ---- the stream ---- */

struct stream {
    uint32_t count;
    int32_t partition[MESSAGES];
    char text[MESSAGES][160];
};

/* Transaction n runs from 10n to 10n+5, reads a key and writes it; one of twenty reads is of the
 * version before. */
static void make_stream(uint64_t seed, struct stream *stream)
{
    struct random random = {seed};
    uint32_t now[KEYS] = {0}, before[KEYS] = {0};
    stream->count = 0;
    for (uint32_t n = 1; n <= TRANSACTIONS; n++) {
        uint32_t key = random_below(&random, KEYS), session = random_below(&random, 9);
        uint32_t read = random_percent(&random, 5) ? before[key] : now[key];
        uint32_t at = stream->count++;
        char value[16];
        snprintf(value, sizeof value, read ? "%u" : "null", read);
        stream->partition[at] = (int32_t)(session % PARTITIONS);
        snprintf(
            stream->text[at], sizeof stream->text[at],
            "{\"tid\":%u,\"sid\":%u,\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"r\",\"k\":%u,\"v\":%s},{\"t\":\"w\",\"k\":%u,\"v\":%u}]}",
            n, session, 10 * n, 10 * n + 5, key, value, key, n);
        before[key] = now[key];
        now[key] = n;
        for (int32_t p = 0; n % PORTION == 0 && p < PARTITIONS; p++) {
            at = stream->count++;
            stream->partition[at] = p;
            snprintf(stream->text[at], sizeof stream->text[at], "{\"watermark\":%u}", 10 * n + 5);
        }
    }
}

/* ---- what the pipeline tells ---- */

static enum iso_status take_line(void *context, const char *line, size_t length,
                                 struct iso_error *error)
{
    (void)error;
    iso_text_put_bytes(context, line, length);
    return ISO_OK;
}

static struct iso_pipeline *open_pipeline(struct iso_text *lines)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline_options options;
    iso_pipeline_options_init(&options);
    options.final_only = true;
    options.sink = take_line;
    options.sink_context = lines;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(
        pipeline, "t",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    for (int32_t p = 0; p < PARTITIONS; p++)
        iso_pipeline_declare(pipeline, iso_inputs_number(iso_pipeline_inputs(pipeline), "t", 1, p),
                             0);
    return pipeline;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The lines in the order of their bytes: partitions are read side by side, so that finals of one
 * watermark may change places. */
static void sort_lines(struct iso_text *lines)
{
    char *list[MESSAGES], *rest = NULL;
    size_t count = 0;
    *iso_text_reserve(lines, 1) = 0;
    char *copy = strdup(lines->bytes);
    for (char *line = strtok_r(copy, "\n", &rest); line && count < MESSAGES;
         line = strtok_r(NULL, "\n", &rest))
        list[count++] = line;
    qsort(list, count, sizeof *list, compare_lines);
    lines->used = 0;
    for (size_t i = 0; i < count; i++) {
        iso_text_put(lines, list[i]);
        iso_text_put(lines, "\n");
    }
    free(copy);
}

/* The same messages, handed over one by one. */
static void without_brokers(const struct stream *stream, struct iso_text *lines)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline *pipeline = open_pipeline(lines);
    int64_t offsets[PARTITIONS] = {0};
    for (uint32_t i = 0; i < stream->count; i++) {
        int32_t p = stream->partition[i];
        struct iso_message message = {
            .topic = "t",
            .partition = p,
            .input = (uint32_t)p,
            .offset = offsets[p]++,
            .payload = {(const uint8_t *)stream->text[i], (uint32_t)strlen(stream->text[i])}};
        iso_pipeline_feed(pipeline, &message, 1, 0, &error);
    }
    iso_pipeline_end(pipeline, 0, &error);
    iso_pipeline_free(pipeline);
    sort_lines(lines);
}

/* ---- faults ---- */

struct world {
    struct iso_kafka_mock *mock;
    struct iso_kafka_properties properties;
    struct iso_kafka_producer *producer;
    struct iso_kafka_consumer *consumer;
    struct iso_pipeline *pipeline;
    struct iso_error error;
    struct random random;
    uint32_t published, seen;
};

static int32_t any_broker(struct world *world)
{
    return 1 + (int32_t)random_below(&world->random, BROKERS);
}

static enum iso_status poll_for(struct world *world, int64_t milliseconds)
{
    const struct iso_message *messages;
    uint32_t count;
    int64_t end = iso_clock_ms() + milliseconds;
    do {
        if (iso_kafka_consumer_poll(world->consumer, 20, &messages, &count, &world->error) !=
            ISO_OK)
            return world->error.status;
        iso_pipeline_feed(world->pipeline, messages, count, 0, &world->error);
        world->seen += count;
    } while (iso_clock_ms() < end && world->error.status == ISO_OK);
    return world->error.status;
}

static void one_broker_down(struct world *world)
{
    int32_t broker = any_broker(world);
    iso_kafka_mock_down(world->mock, broker, true);
    poll_for(world, 50 + random_below(&world->random, 200));
    iso_kafka_mock_down(world->mock, broker, false);
}

static void all_brokers_down(struct world *world)
{
    for (int32_t broker = 1; broker <= BROKERS; broker++)
        iso_kafka_mock_down(world->mock, broker, true);
    poll_for(world, 50 + random_below(&world->random, 200));
    for (int32_t broker = 1; broker <= BROKERS; broker++)
        iso_kafka_mock_down(world->mock, broker, false);
}

static void slow_answers(struct world *world)
{
    iso_kafka_mock_latency(world->mock, any_broker(world), (int)random_below(&world->random, 200));
}

/* And all that was published comes before they change again: librdkafka 2.0.2, hearing of a second
 * change while it moves a partition to its new leader, may stay with the old one ("leader
 * unchanged, not migrating away from preferred replica"), a consumer for five minutes, a producer
 * for as long as its messages live. */
static void leaders_change(struct world *world)
{
    int64_t deadline = iso_clock_ms() + PATIENCE_MS;
    for (int32_t p = 0; p < PARTITIONS; p++)
        iso_kafka_mock_leader(world->mock, "t", p, any_broker(world));
    while (world->seen < world->published && world->error.status == ISO_OK &&
           iso_clock_ms() < deadline)
        poll_for(world, 20);
}

static void slow_reader(struct world *world)
{
    iso_kafka_consumer_backlog(world->consumer, 1000);
    poll_for(world, random_below(&world->random, 200));
    iso_kafka_consumer_backlog(world->consumer, 0);
}

static void held_partition(struct world *world)
{
    uint32_t p = random_below(&world->random, PARTITIONS);
    iso_kafka_consumer_pause(world->consumer, p, true);
    poll_for(world, random_below(&world->random, 200));
    iso_kafka_consumer_pause(world->consumer, p, false);
}

/* `strike`, or that the next fetches (or questions about offsets) are answered by `answer`. */
struct kind {
    const char *name;
    void (*strike)(struct world *world);
    rd_kafka_resp_err_t answer;
    bool offsets;
    bool ends; /* the run may end with an error, which has to name the topic */
};

static const struct kind kinds[] = {
    {"one broker down", one_broker_down, 0, false, false},
    {"all brokers down", all_brokers_down, 0, false, false},
    {"slow answers", slow_answers, 0, false, false},
    {"leaders change", leaders_change, 0, false, false},
    {"a slow reader", slow_reader, 0, false, false},
    {"a partition held", held_partition, 0, false, false},
    {"not the leader", NULL, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, false, false},
    {"no leader", NULL, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, false, false},
    {"a request timed out", NULL, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, false, false},
    {"a broker not available", NULL, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, false, false},
    {"a replica not available", NULL, RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, false, false},
    {"a storage error", NULL, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, false, false},
    {"an old epoch", NULL, RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, false, false},
    {"ends not known yet", NULL, RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE, false, false},
    {"offsets not to be had", NULL, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, true, false},
    {"a corrupt message", NULL, RD_KAFKA_RESP_ERR_INVALID_MSG, false, true},
    {"an unknown error", NULL, RD_KAFKA_RESP_ERR_UNKNOWN, false, true},
    {"an offset out of range", NULL, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, false, true},
    {"an unknown topic", NULL, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, false, true},
    {"no permission", NULL, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, false, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void strike(struct world *world, const struct kind *kind)
{
    unsigned often = 1 + random_below(&world->random, 3);
    if (kind->strike)
        kind->strike(world);
    else if (kind->offsets)
        iso_kafka_mock_fail_offsets(world->mock, (int16_t)kind->answer, often);
    else
        iso_kafka_mock_fail_fetches(world->mock, (int16_t)kind->answer, often);
}

/* ---- one run ---- */

static void open_world(struct world *world, const struct kind *kind, struct iso_text *lines)
{
    static const char *const topics[] = {"t"};
    struct iso_kafka_consumer_options options = {.properties = &world->properties,
                                                 .topics = topics,
                                                 .topic_count = 1,
                                                 .refresh_seconds = 1,
                                                 .high_water = 500,
                                                 .low_water = 100,
                                                 .memory = random_below(&world->random, 2) *
                                                           LITTLE_MEMORY};
    world->mock = iso_kafka_mock_new(BROKERS, &world->error);
    iso_kafka_properties_set(&world->properties, "bootstrap.servers",
                             iso_kafka_mock_address(world->mock));
    iso_kafka_mock_topic(world->mock, "t", PARTITIONS, &world->error);
    world->producer = iso_kafka_producer_new(&world->properties, "t", PARTITIONS, &world->error);
    world->pipeline = open_pipeline(lines);
    if (kind->offsets) /* it asks for them when it opens */
        strike(world, kind);
    world->consumer =
        iso_kafka_consumer_new(&options, iso_pipeline_inputs(world->pipeline), &world->error);
}

static void close_world(struct world *world)
{
    iso_kafka_consumer_free(world->consumer);
    iso_kafka_producer_free(world->producer);
    iso_pipeline_free(world->pipeline);
    iso_kafka_properties_release(&world->properties);
    iso_kafka_mock_free(world->mock);
}

static void publish(struct world *world, const struct stream *stream, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && world->error.status == ISO_OK; i++) {
        struct iso_message message = {
            .partition = stream->partition[i],
            .payload = {(const uint8_t *)stream->text[i], (uint32_t)strlen(stream->text[i])}};
        iso_kafka_producer_send(world->producer, &message, &world->error);
        world->published++;
    }
}

static void play(struct world *world, const struct kind *kind, const struct stream *stream)
{
    uint32_t portion = stream->count / PORTIONS;
    int64_t deadline = iso_clock_ms() + PATIENCE_MS;
    for (uint32_t i = 0; i < PORTIONS && world->error.status == ISO_OK; i++) {
        publish(world, stream, i * portion, (i + 1) * portion);
        strike(world, kind);
        poll_for(world, random_below(&world->random, 60));
    }
    while (world->seen < stream->count && world->error.status == ISO_OK &&
           iso_clock_ms() < deadline)
        poll_for(world, 20);
    if (world->error.status == ISO_OK)
        iso_pipeline_end(world->pipeline, 0, &world->error);
}

/* NULL if all is well, else what is not. */
static const char *judge(const struct world *world, const struct kind *kind,
                         const struct stream *stream, const struct iso_text *expected,
                         const struct iso_text *got)
{
    if (world->error.status != ISO_OK) {
        bool named = strstr(world->error.text, "topic t") || strstr(world->error.text, "broker");
        return !kind->ends ? "ended with an error"
               : !named    ? "an error that does not name the topic"
                           : NULL;
    }
    if (world->seen != stream->count)
        return "not every message came once";
    return got->used == expected->used && !memcmp(got->bytes, expected->bytes, got->used)
               ? NULL
               : "other verdicts";
}

static int run(const struct kind *kind, uint64_t seed)
{
    struct stream *stream = malloc(sizeof *stream);
    struct world world = {.random = {~seed}};
    struct iso_text expected = {0}, got = {0};
    make_stream(seed, stream);
    without_brokers(stream, &expected);
    open_world(&world, kind, &got);
    play(&world, kind, stream);
    sort_lines(&got);
    const char *fault = expected.used ? judge(&world, kind, stream, &expected, &got)
                                      : "a stream without violations";
    if (fault)
        printf("# %s, seed %llu: %s; %u of %u messages, %zu bytes of verdicts for %zu; %s\n",
               kind->name, (unsigned long long)seed, fault, world.seen, stream->count, got.used,
               expected.used, world.error.text);
    else if (world.error.status != ISO_OK)
        printf("# %s, seed %llu ended, as it may: %s\n", kind->name, (unsigned long long)seed,
               world.error.text);
    fflush(stdout);
    close_world(&world);
    iso_text_release(&expected);
    iso_text_release(&got);
    free(stream);
    return fault != NULL;
}

/* ---- all of them, some at once ---- */

int main(int argument_count, char **arguments)
{
    uint64_t streams = 1, seed = 1;
    const struct argument known[] = {
        {"--streams", .number = &streams}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argument_count, arguments))
        return 2;
    uint32_t seeds = (uint32_t)streams, running = 0;
    uint32_t bad[KINDS] = {0};
    pid_t *children = calloc((size_t)seeds * KINDS, sizeof *children);
    int status, failed = 0;
    printf("1..%d\n", KINDS);
    fflush(stdout);
    for (uint32_t i = 0; i < seeds * KINDS || running;) {
        if (i < seeds * KINDS && running < AT_ONCE) {
            if ((children[i] = fork()) == 0)
                _exit(run(&kinds[i % KINDS], seed + i / KINDS));
            i++, running++;
            continue;
        }
        pid_t child = wait(&status);
        running--;
        for (uint32_t c = 0; c < i; c++)
            bad[c % KINDS] += children[c] == child && status != 0;
    }
    for (uint32_t k = 0; k < KINDS; k++) {
        printf("%s %u - %s: the same verdicts%s, %u streams\n", bad[k] ? "not ok" : "ok", k + 1,
               kinds[k].name, kinds[k].ends ? ", or an error" : "", seeds);
        failed |= bad[k] != 0;
    }
    free(children);
    return failed;
}
