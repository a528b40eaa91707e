/* `isochron bench kafka`: how fast this machine gets history records into a topic and out of it
 * again, without decoding them and judged as `watch` does; and how long it takes at a given rate
 * from sending a record to its verdict (live.h). Against a broker, or against mock brokers inside
 * the measured process itself (which then take a part of its time). The topics are new, and deleted
 * afterwards.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "benchmark/live.h"
#include "benchmark/messages.h"
#include "run/input/consume.h"
#include "connectors/kafka/mock.h"
#include "connectors/kafka/producer.h"
#include "connectors/kafka/topic.h"
#include "pipeline/pipeline.h"

enum {
    PRODUCED,
    PRODUCED_BYTES,
    CONSUMED,
    CONSUMED_BYTES,
    RECORD_SIZE,
    JUDGED,
    TENTATIVE_50,
    TENTATIVE_99,
    FINAL_50,
    FINAL_99,
    PEAK_MEMORY,
    COLUMNS
};

static const struct iso_figure_column columns[COLUMNS] = {
    {"produced", "/s", ISO_BETTER_HIGHER},        {"produced_bytes", "MB/s", ISO_BETTER_HIGHER},
    {"consumed", "/s", ISO_BETTER_HIGHER},        {"consumed_bytes", "MB/s", ISO_BETTER_HIGHER},
    {"record_size", "bytes", ISO_BETTER_NEITHER}, {"judged", "/s", ISO_BETTER_HIGHER},
    {"tentative_p50", "ms", ISO_BETTER_LOWER},    {"tentative_p99", "ms", ISO_BETTER_LOWER},
    {"final_p50", "ms", ISO_BETTER_LOWER},        {"final_p99", "ms", ISO_BETTER_LOWER},
    {"peak_memory", "MiB", ISO_BETTER_LOWER},
};

static const char *const experiments[] = {"kafka", NULL};
static const char *const sweeps[] = {"txns", "ops", "rate", NULL};

/* A mock partition keeps its last 5 MiB. */
enum { MOCK_PARTITION = 4 << 20, FLUSH_SECONDS = 120, POLL_MS = 100 };

struct cluster {
    struct iso_kafka_properties properties;
    struct iso_kafka_mock *mock; /* NULL: a broker of the user's */
    char topic[64];
    int32_t partitions;
};

static bool names_broker(const struct iso_kafka_properties *properties)
{
    return iso_kafka_properties_get(properties, "bootstrap.servers") ||
           iso_kafka_properties_get(properties, "metadata.broker.list");
}

/* Properties as given; without a broker among them, BOOTSTRAP's, if it is set. */
static enum iso_status read_properties(const struct bench *bench,
                                       struct iso_kafka_properties *properties,
                                       struct iso_error *error)
{
    const char *bootstrap = getenv("BOOTSTRAP");
    iso_kafka_properties_init(properties);
    if (run_properties(properties, &bench->properties, error) == ISO_OK &&
        !names_broker(properties) && bootstrap && *bootstrap)
        iso_kafka_properties_set(properties, "bootstrap.servers", bootstrap);
    return error->status;
}

static void add_settings(const struct bench *bench, char *text, size_t size)
{
    struct iso_kafka_properties properties;
    struct iso_error error = {.status = ISO_OK};
    read_properties(bench, &properties, &error);
    snprintf(text, size, " --partitions %" PRIu64 " on %s", bench->partitions,
             names_broker(&properties) ? "a broker" : "mock brokers");
    iso_kafka_properties_release(&properties);
}

static enum iso_status open_cluster(struct cluster *cluster, const struct bench *bench,
                                    uint64_t bytes, struct iso_error *error)
{
    *cluster = (struct cluster){.partitions = (int32_t)bench->partitions};
    snprintf(cluster->topic, sizeof cluster->topic, "isochron-bench-%lld-%d", (long long)time(NULL),
             (int)getpid());
    if (read_properties(bench, &cluster->properties, error) != ISO_OK ||
        names_broker(&cluster->properties))
        return error->status;
    if (bytes / MOCK_PARTITION >= bench->partitions)
        cluster->partitions = (int32_t)(bytes / MOCK_PARTITION) + 1;
    cluster->mock = iso_kafka_mock_new(1, error);
    if (!cluster->mock)
        return error->status;
    iso_kafka_properties_set(&cluster->properties, "bootstrap.servers",
                             iso_kafka_mock_address(cluster->mock));
    return iso_kafka_mock_topic(cluster->mock, cluster->topic, cluster->partitions, error);
}

/* Mock brokers take their topic with them. */
static enum iso_status close_cluster(struct cluster *cluster, bool made, struct iso_error *error)
{
    struct iso_error deleting = {.status = ISO_OK};
    if (made && !cluster->mock &&
        iso_kafka_topic_delete(&cluster->properties, cluster->topic, &deleting) != ISO_OK)
        iso_error_set(error, deleting.status, "%s", deleting.text);
    iso_kafka_mock_free(cluster->mock);
    iso_kafka_properties_release(&cluster->properties);
    return error->status;
}

static enum iso_status produce_topic(const struct cluster *cluster, struct bench_messages *messages,
                                     bool *made, double *numbers, struct iso_error *error)
{
    struct iso_kafka_producer *producer =
        iso_kafka_producer_new(&cluster->properties, cluster->topic, cluster->partitions, error);
    if (!producer)
        return error->status;
    *made = true;
    int32_t partitions = iso_kafka_producer_partitions(producer);
    double started = iso_clock_seconds();
    for (uint32_t i = 0; i < messages->count && error->status == ISO_OK; i++) {
        messages->list[i].partition = (int32_t)(messages->session[i] % (uint32_t)partitions);
        iso_kafka_producer_send(producer, &messages->list[i], error);
    }
    if (error->status == ISO_OK &&
        iso_kafka_producer_flush(producer, FLUSH_SECONDS, error) == ISO_OK) {
        double seconds = iso_clock_seconds() - started;
        numbers[PRODUCED] = messages->count / seconds;
        numbers[PRODUCED_BYTES] = (double)messages->bytes / 1e6 / seconds;
    }
    iso_kafka_producer_free(producer);
    return error->status;
}

/* From connecting to the last message, through a pipeline if there is one. */
static enum iso_status consume_topic(const struct cluster *cluster, uint32_t expected,
                                     struct iso_inputs *inputs, struct iso_pipeline *pipeline,
                                     struct iso_kafka_counters *counters, double *seconds,
                                     struct iso_error *error)
{
    const char *topic = cluster->topic;
    struct iso_kafka_consumer_options options = {
        .properties = &cluster->properties, .topics = &topic, .topic_count = 1, .until_eof = true};
    double started = iso_clock_seconds();
    struct iso_kafka_consumer *consumer = iso_kafka_consumer_new(&options, inputs, error);
    while (error->status == ISO_OK && iso_kafka_consumer_counters(consumer)->messages < expected &&
           !iso_kafka_consumer_finished(consumer)) {
        const struct iso_message *messages;
        uint32_t count;
        if (iso_kafka_consumer_poll(consumer, POLL_MS, &messages, &count, error) == ISO_OK &&
            pipeline)
            iso_pipeline_feed(pipeline, messages, count, (uint64_t)iso_clock_ms(), error);
    }
    if (error->status == ISO_OK && pipeline)
        iso_pipeline_end(pipeline, (uint64_t)iso_clock_ms(), error);
    *seconds = iso_clock_seconds() - started;
    if (error->status == ISO_OK) {
        *counters = *iso_kafka_consumer_counters(consumer);
        if (counters->messages != expected)
            iso_error_set(error, ISO_FAILED,
                          "topic %s: %" PRIu64 " messages arrived of %u that were sent", topic,
                          counters->messages, expected);
    }
    iso_kafka_consumer_free(consumer);
    return error->status;
}

static enum iso_status consume_only(const struct cluster *cluster, uint32_t expected,
                                    double *numbers, struct iso_error *error)
{
    struct iso_inputs inputs;
    struct iso_kafka_counters counters;
    double seconds;
    iso_inputs_init(&inputs);
    if (consume_topic(cluster, expected, &inputs, NULL, &counters, &seconds, error) == ISO_OK) {
        numbers[CONSUMED] = (double)counters.messages / seconds;
        numbers[CONSUMED_BYTES] = (double)counters.bytes / 1e6 / seconds;
    }
    iso_inputs_release(&inputs);
    return error->status;
}

static enum iso_status consume_and_judge(const struct cluster *cluster, uint32_t expected,
                                         const struct bench *bench, double *numbers,
                                         struct iso_error *error)
{
    struct iso_kafka_counters counters;
    double seconds;
    struct iso_pipeline *pipeline = bench_pipeline_new(bench, cluster->topic, error);
    if (error->status == ISO_OK && consume_topic(cluster, expected, iso_pipeline_inputs(pipeline),
                                                 pipeline, &counters, &seconds, error) == ISO_OK)
        numbers[JUDGED] = (double)counters.messages / seconds;
    iso_pipeline_free(pipeline);
    return error->status;
}

/* In a topic of its own, of as many partitions as were asked for. */
static enum iso_status measure_latency(const struct cluster *cluster,
                                       const struct bench_messages *messages,
                                       const struct bench *bench, double *numbers,
                                       struct iso_error *error)
{
    struct bench_live live = {0};
    struct iso_error deleting = {.status = ISO_OK};
    char topic[sizeof cluster->topic + sizeof "-live"];
    snprintf(topic, sizeof topic, "%s-live", cluster->topic);
    bench_live_measure(&cluster->properties, topic, (int32_t)bench->partitions, messages, bench,
                       &live, error);
    if (!cluster->mock && iso_kafka_topic_delete(&cluster->properties, topic, &deleting) != ISO_OK)
        iso_error_set(error, deleting.status, "%s", deleting.text);
    numbers[TENTATIVE_50] = live.tentative_50;
    numbers[TENTATIVE_99] = live.tentative_99;
    numbers[FINAL_50] = live.final_50;
    numbers[FINAL_99] = live.final_99;
    return error->status;
}

static enum iso_status run_in_child(void *context, double *numbers, struct iso_error *error)
{
    const struct bench_point *point = context;
    struct bench_messages messages;
    struct cluster cluster = {.partitions = 0};
    bool made = false;
    if (bench_messages_init(&messages, &point->bench, BENCH_JSON, error) == ISO_OK &&
        open_cluster(&cluster, &point->bench, messages.bytes, error) == ISO_OK &&
        produce_topic(&cluster, &messages, &made, numbers, error) == ISO_OK &&
        consume_only(&cluster, messages.count, numbers, error) == ISO_OK &&
        consume_and_judge(&cluster, messages.count, &point->bench, numbers, error) == ISO_OK &&
        measure_latency(&cluster, &messages, &point->bench, numbers, error) == ISO_OK)
        numbers[RECORD_SIZE] = (double)messages.bytes / messages.count;
    close_cluster(&cluster, made, error);
    bench_messages_release(&messages);
    return error->status;
}

static const char *const takes[] = {"rate", "encoding", "partitions", "property", NULL};

const struct bench_kind bench_kafka = {
    .name = "kafka",
    .experiments = experiments,
    .sweeps = sweeps,
    .takes = takes,
    .columns = columns,
    .column_count = COLUMNS,
    .add_settings = add_settings,
    .run = run_in_child,
    .peak = PEAK_MEMORY,
};
