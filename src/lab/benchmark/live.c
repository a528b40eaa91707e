#define _GNU_SOURCE
#include "benchmark/live.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "connectors/history/record.h"
#include "connectors/kafka/consumer.h"
#include "connectors/kafka/producer.h"
#include "measure/percentile.h"
#include "pipeline/pipeline.h"

enum {
    WATERMARK_MS = 20,
    LONGEST_SECONDS = 4,
    PATIENCE_SECONDS = 30,
    FLUSH_SECONDS = 60,
    POLL_MS = 50
};

struct client {
    const struct bench_messages *messages;
    struct iso_kafka_producer *producer;
    uint32_t count;
    int32_t partitions;
    double rate;
    _Atomic double
        *sent;      /* by message: when; the other thread reads it once the message has come */
    uint32_t *next; /* by message: the next one of its partition, or the number of all */
    struct iso_error error;
};

struct reader {
    struct iso_kafka_consumer *consumer;
    struct iso_pipeline *pipeline;
    struct client *client;
    uint32_t *due; /* by partition: the message that comes next */
    uint32_t total, final;
    struct iso_histogram tentative, settled; /* microseconds */
};

struct iso_pipeline *bench_pipeline_new(const struct bench *bench, const char *topic,
                                        struct iso_error *error)
{
    struct iso_pipeline_options options;
    struct iso_decoder *decoder =
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, error);
    iso_pipeline_options_init(&options);
    options.engine.level = bench->generate.level;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(pipeline, topic, decoder, false);
    return pipeline;
}

/* ---- the client ---- */

static void send_watermarks(struct client *client, uint64_t timestamp)
{
    char text[64];
    struct iso_message message = {.payload = {(const uint8_t *)text, 0}};
    message.payload.size =
        (uint32_t)snprintf(text, sizeof text, "{\"watermark\":\"%" PRIu64 "\"}", timestamp);
    for (message.partition = 0; message.partition < client->partitions; message.partition++)
        iso_kafka_producer_send(client->producer, &message, &client->error);
}

static void sleep_until(double due)
{
    double left = due - iso_clock_seconds();
    if (left > 0)
        nanosleep(&(struct timespec){(time_t)left, (long)((left - (double)(time_t)left) * 1e9)},
                  NULL);
}

static int32_t partition_of(const struct client *client, uint32_t message)
{
    return (int32_t)(client->messages->session[message] % (uint32_t)client->partitions);
}

static void *publish_at_rate(void *context)
{
    struct client *client = context;
    double started = iso_clock_seconds();
    uint32_t every = (uint32_t)(client->rate * WATERMARK_MS / 1000) + 1;
    for (uint32_t i = 0; i < client->count && client->error.status == ISO_OK; i++) {
        struct iso_message message = client->messages->list[i];
        message.partition = partition_of(client, i);
        sleep_until(started + i / client->rate);
        client->sent[i] = iso_clock_seconds();
        iso_kafka_producer_send(client->producer, &message, &client->error);
        if ((i + 1) % every == 0 || i + 1 == client->count)
            send_watermarks(client, client->messages->cts[i]);
        iso_kafka_producer_poll(client->producer, &client->error);
    }
    if (client->error.status == ISO_OK)
        iso_kafka_producer_flush(client->producer, FLUSH_SECONDS, &client->error);
    return NULL;
}

/* ---- the reader ---- */

static void add_latency(struct iso_histogram *histogram, double now, double sent)
{
    iso_histogram_add(histogram, now > sent ? (uint64_t)((now - sent) * 1e6) : 0, 1);
}

static bool is_watermark(const struct iso_message *message)
{
    static const char head[] = "{\"watermark\"";
    return message->payload.size > sizeof head &&
           !memcmp(message->payload.data, head, sizeof head - 1);
}

/* The batch has been judged; then everything up to the watermark is final. Transactions stand in
 * the order of cts. */
static void note_judged(struct reader *reader, const struct iso_message *messages, uint32_t count)
{
    const struct client *client = reader->client;
    struct iso_pipeline_stats stats;
    double now = iso_clock_seconds();
    for (uint32_t i = 0; i < count; i++) {
        if (is_watermark(&messages[i]))
            continue;
        uint32_t *due = &reader->due[messages[i].partition];
        add_latency(&reader->tentative, now, client->sent[*due]);
        *due = client->next[*due];
        reader->total++;
    }
    iso_pipeline_stats(reader->pipeline, &stats);
    for (; stats.has_watermark && reader->final < client->count &&
           client->messages->cts[reader->final] <= stats.watermark;
         reader->final++)
        add_latency(&reader->settled, now, client->sent[reader->final]);
}

/* Which message follows which in its partition, and the first of each. */
static void link_messages(struct reader *reader)
{
    struct client *client = reader->client;
    client->next = iso_allocate(client->count * sizeof *client->next);
    reader->due = iso_allocate((size_t)client->partitions * sizeof *reader->due);
    for (int32_t p = 0; p < client->partitions; p++)
        reader->due[p] = client->count;
    for (uint32_t i = client->count; i-- > 0;) {
        client->next[i] = reader->due[partition_of(client, i)];
        reader->due[partition_of(client, i)] = i;
    }
}

static void declare_partitions(struct reader *reader)
{
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(reader->consumer, &partitions);
    for (uint32_t i = 0; i < count; i++)
        iso_pipeline_declare(reader->pipeline, partitions[i].input, (uint64_t)iso_clock_ms());
}

static enum iso_status read_all(struct reader *reader, struct iso_error *error)
{
    double patience =
        iso_clock_seconds() + reader->client->count / reader->client->rate + PATIENCE_SECONDS;
    while (reader->final < reader->client->count && error->status == ISO_OK) {
        const struct iso_message *messages;
        uint32_t count;
        if (iso_kafka_consumer_poll(reader->consumer, POLL_MS, &messages, &count, error) ==
                ISO_OK &&
            iso_pipeline_feed(reader->pipeline, messages, count, (uint64_t)iso_clock_ms(), error) ==
                ISO_OK)
            note_judged(reader, messages, count);
        if (iso_clock_seconds() > patience)
            iso_error_set(error, ISO_FAILED, "%u of %u transactions arrived in time", reader->total,
                          reader->client->count);
    }
    return error->status;
}

static void take_figures(const struct reader *reader, struct bench_live *live)
{
    live->tentative_50 = (double)iso_histogram_percentile(&reader->tentative, 0.5) / 1e3;
    live->tentative_99 = (double)iso_histogram_percentile(&reader->tentative, 0.99) / 1e3;
    live->final_50 = (double)iso_histogram_percentile(&reader->settled, 0.5) / 1e3;
    live->final_99 = (double)iso_histogram_percentile(&reader->settled, 0.99) / 1e3;
}

static enum iso_status run_live(struct reader *reader,
                                const struct iso_kafka_properties *properties, const char *topic,
                                struct iso_error *error)
{
    struct iso_kafka_consumer_options options = {
        .properties = properties, .topics = &topic, .topic_count = 1};
    pthread_t thread;
    reader->consumer =
        iso_kafka_consumer_new(&options, iso_pipeline_inputs(reader->pipeline), error);
    if (!reader->consumer)
        return error->status;
    declare_partitions(reader);
    if (pthread_create(&thread, NULL, publish_at_rate, reader->client))
        return iso_error_set(error, ISO_FAILED, "a thread could not be started");
    read_all(reader, error);
    pthread_join(thread, NULL);
    if (reader->client->error.status != ISO_OK)
        iso_error_set(error, reader->client->error.status, "%s", reader->client->error.text);
    return error->status;
}

enum iso_status bench_live_measure(const struct iso_kafka_properties *properties, const char *topic,
                                   int32_t partitions, const struct bench_messages *messages,
                                   const struct bench *bench, struct bench_live *live,
                                   struct iso_error *error)
{
    struct client client = {
        .messages = messages, .count = messages->count, .rate = (double)bench->rate};
    struct reader *reader = iso_allocate_zeroed(1, sizeof *reader);
    if (client.count > client.rate * LONGEST_SECONDS)
        client.count = (uint32_t)(client.rate * LONGEST_SECONDS);
    client.sent = iso_allocate(client.count * sizeof *client.sent);
    reader->client = &client;
    reader->pipeline = bench_pipeline_new(bench, topic, error);
    client.producer = iso_kafka_producer_new(properties, topic, partitions, error);
    if (client.producer) {
        client.partitions = iso_kafka_producer_partitions(client.producer);
        link_messages(reader);
        if (run_live(reader, properties, topic, error) == ISO_OK)
            take_figures(reader, live);
    }
    iso_kafka_producer_free(client.producer);
    iso_kafka_consumer_free(reader->consumer);
    iso_pipeline_free(reader->pipeline);
    ISO_FREE_ALL(reader->due, client.next, client.sent, reader);
    return error->status;
}
