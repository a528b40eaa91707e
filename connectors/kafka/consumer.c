#include "connectors/kafka/consumer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "connectors/kafka/consumer_private.h"

/* No group: offsets are ours, so librdkafka neither commits nor resets any. What is fetched is
 * bounded by the budget's properties, which follow. */
static const char *const defaults[] = {
    "client.id",
    "isochron",
    "enable.auto.commit",
    "false",
    "enable.auto.offset.store",
    "false",
    "enable.partition.eof",
    "true",
    "auto.offset.reset",
    "error",
    "allow.auto.create.topics",
    "false",
    "check.crcs",
    "true",
    "fetch.wait.max.ms",
    "100",
    "fetch.error.backoff.ms",
    "100",
    "reconnect.backoff.max.ms",
    "1000",
    "socket.nagle.disable",
    "true",
    NULL,
};

static void copy_options(struct iso_kafka_consumer *consumer,
                         const struct iso_kafka_consumer_options *options)
{
    consumer->start = options->start;
    consumer->start_time = options->start_time;
    consumer->until_eof = options->until_eof;
    consumer->wait_for_topics = options->wait_for_topics;
    consumer->connect_seconds =
        options->connect_seconds ? options->connect_seconds : CONNECT_SECONDS;
    consumer->refresh_ms =
        1000 * (int64_t)(options->refresh_seconds ? options->refresh_seconds : REFRESH_SECONDS);
    consumer->high_water = options->high_water;
    consumer->low_water = options->low_water;
    consumer->position_count = options->position_count;
    consumer->positions =
        iso_allocate((size_t)options->position_count * sizeof *consumer->positions);
    for (uint32_t i = 0; i < options->position_count; i++) {
        consumer->positions[i] = options->positions[i];
        consumer->positions[i].topic =
            iso_copy_text(options->positions[i].topic, strlen(options->positions[i].topic));
    }
}

void kafka_consumer_name_topic(struct iso_kafka_consumer *consumer, struct topic *topic,
                               const char *name, struct iso_error *error)
{
    *topic = (struct topic){.name = iso_copy_text(name, strlen(name)),
                            .handle = rd_kafka_topic_new(consumer->client.handle, name, NULL)};
    if (!topic->handle)
        iso_error_set(error, ISO_BAD_INPUT, "topic %s: %s", name,
                      rd_kafka_err2str(rd_kafka_last_error()));
}

static void name_topics(struct iso_kafka_consumer *consumer,
                        const struct iso_kafka_consumer_options *options, struct iso_error *error)
{
    for (uint32_t i = 0; i < options->prefix_count; i++) {
        consumer->prefixes =
            iso_reallocate(consumer->prefixes, (i + 1) * sizeof *consumer->prefixes);
        consumer->prefixes[consumer->prefix_count++] =
            iso_copy_text(options->prefixes[i], strlen(options->prefixes[i]));
    }
    consumer->topics = iso_allocate_zeroed(options->topic_count, sizeof *consumer->topics);
    for (uint32_t i = 0; i < options->topic_count && error->status == ISO_OK; i++) {
        for (uint32_t earlier = 0; earlier < i; earlier++)
            if (!strcmp(options->topics[earlier], options->topics[i])) {
                iso_error_set(error, ISO_BAD_INPUT, "topic %s is named twice", options->topics[i]);
                return;
            }
        kafka_consumer_name_topic(consumer, &consumer->topics[consumer->topic_count++],
                                  options->topics[i], error);
    }
}

struct iso_kafka_consumer *iso_kafka_consumer_new(const struct iso_kafka_consumer_options *options,
                                                  struct iso_inputs *inputs,
                                                  struct iso_error *error)
{
    struct iso_kafka_consumer *consumer = iso_allocate_zeroed(1, sizeof *consumer);
    consumer->inputs = inputs;
    const char *settings[sizeof defaults / sizeof *defaults + 2 * BUDGET_PROPERTIES] = {NULL};
    char texts[BUDGET_PROPERTIES][BUDGET_TEXT];
    memcpy(settings, defaults, sizeof defaults);
    uint64_t memory = options->memory ? options->memory : DEFAULT_MEMORY;
    kafka_consumer_budget_properties(memory, texts,
                                     settings + sizeof defaults / sizeof *defaults - 1);
    consumer->wakeup_fd = -1;
    if (options->start == ISO_KAFKA_STORED &&
        !iso_kafka_properties_get(options->properties, "group.id")) {
        iso_error_set(error, ISO_BAD_INPUT,
                      "stored offsets belong to a consumer group: expected the property group.id");
        goto out;
    }
    if (iso_kafka_client_open(&consumer->client, RD_KAFKA_CONSUMER, options->properties, settings,
                              kafka_consumer_observe_answers, error) != ISO_OK)
        goto out;
    kafka_consumer_set_liveness(consumer, options->properties);
    kafka_consumer_set_identity(consumer, options->properties);
    kafka_waker_init(&consumer->waker, consumer->client.handle);
    copy_options(consumer, options);
    consumer->batch.raw = iso_allocate(BATCH_MESSAGES * sizeof *consumer->batch.raw);
    consumer->batch.messages = iso_allocate(BATCH_MESSAGES * sizeof *consumer->batch.messages);
    if (!kafka_consumer_open_wakeup_fd(consumer))
        iso_error_set(error, ISO_FAILED, "no file descriptor is left: %s", strerror(errno));
    else {
        consumer->budget.queue = kafka_consumer_queue(consumer);
        consumer->budget.limit = memory / 4 * 3;
    }
    if (error->status == ISO_OK)
        name_topics(consumer, options, error);
    if (error->status == ISO_OK)
        kafka_consumer_find(consumer, true, error);
out:
    if (error->status == ISO_OK)
        return consumer;
    iso_kafka_consumer_free(consumer);
    return NULL;
}

static void release_batch(struct iso_kafka_consumer *consumer)
{
    consumer->batch.filled = 0;
    for (uint32_t i = 0; i < consumer->partition_count; i++)
        iso_kafka_buffer_free_taken(&consumer->parts[i].supply.buffer);
}

void iso_kafka_consumer_free(struct iso_kafka_consumer *consumer)
{
    if (!consumer)
        return;
    kafka_probe_release(&consumer->probe);
    kafka_waker_release(&consumer->waker);
    release_batch(consumer);
    for (uint32_t i = 0; i < consumer->partition_count; i++)
        rd_kafka_consume_stop(consumer->topics[consumer->parts[i].topic].handle,
                              consumer->partitions[i].partition);
    for (uint32_t i = 0; i < consumer->topic_count; i++) {
        if (consumer->topics[i].handle)
            rd_kafka_topic_destroy(consumer->topics[i].handle);
        iso_free(consumer->topics[i].name);
        iso_free(consumer->topics[i].index_of);
    }
    kafka_consumer_budget_close(consumer);
    iso_kafka_client_close(&consumer->client);
    if (consumer->wakeup_fd >= 0)
        close(consumer->wakeup_fd);
    for (uint32_t i = 0; i < consumer->position_count; i++)
        iso_free((char *)consumer->positions[i].topic);
    for (uint32_t i = 0; i < consumer->prefix_count; i++)
        iso_free(consumer->prefixes[i]);
    iso_free(consumer->prefixes);
    iso_free(consumer->positions);
    iso_free(consumer->topics);
    iso_free(consumer->partitions);
    iso_free(consumer->parts);
    iso_free(consumer->batch.raw);
    iso_free(consumer->batch.messages);
    iso_free(consumer->batch.headers);
    iso_free(consumer);
}

void kafka_consumer_doubt(struct iso_kafka_consumer *consumer)
{
    for (uint32_t i = 0; i < consumer->partition_count; i++)
        consumer->parts[i].gaps.confirmed = 0;
    consumer->identity.sign = true;
    kafka_consumer_doubt_liveness(consumer);
}

/* Offset `found` came where `gaps->next` was due. True: the offsets between do not exist. False:
 * they are asked for again. */
static bool is_real_hole(struct iso_kafka_consumer *consumer, uint32_t index, int64_t found)
{
    struct gaps *gaps = &consumer->parts[index].gaps;
    rd_kafka_topic_t *topic = consumer->topics[consumer->parts[index].topic].handle;
    bool asked = gaps->sought == gaps->next;
    if (!asked && gaps->confirmed < CONFIRMED_GAPS &&
        rd_kafka_seek(topic, consumer->partitions[index].partition, gaps->next, 0) ==
            RD_KAFKA_RESP_ERR_NO_ERROR) {
        gaps->sought = gaps->next;
        gaps->skipped_batch = consumer->batch.number;
        consumer->counters.seeks++;
        return false;
    }
    consumer->identity.sign = consumer->identity.sign || !gaps->confirmed;
    gaps->confirmed++;
    consumer->counters.missing += (uint64_t)(found - gaps->next);
    return true;
}

bool kafka_consumer_arrives(struct iso_kafka_consumer *consumer, uint32_t index, int64_t offset)
{
    struct gaps *gaps = &consumer->parts[index].gaps;
    if (gaps->skipped_batch == consumer->batch.number)
        return false;
    if (offset < gaps->next) {
        consumer->counters.repeats++;
        return false;
    }
    if (offset > gaps->next && !is_real_hole(consumer, index, offset))
        return false;
    gaps->sought = -1;
    return true;
}

bool kafka_consumer_heals(rd_kafka_resp_err_t failure)
{
    switch (failure) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_UNKNOWN:
        return true;
    default:
        return false;
    }
}

static uint32_t take_headers(struct iso_kafka_consumer *consumer, const rd_kafka_message_t *raw)
{
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;
    uint32_t count = 0;
    if (rd_kafka_message_headers(raw, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return 0;
    for (; !rd_kafka_header_get_all(headers, count, &name, &value, &size); count++) {
        ISO_GROW(consumer->batch.headers, consumer->batch.header_count,
                 consumer->batch.header_capacity);
        consumer->batch.headers[consumer->batch.header_count++] = (struct iso_header){
            {(const uint8_t *)name, (uint32_t)strlen(name)}, {value, value ? (uint32_t)size : 0}};
    }
    return count;
}

void kafka_consumer_fill(struct iso_kafka_consumer *consumer, uint32_t index,
                         const rd_kafka_message_t *raw, struct iso_message *message)
{
    const struct iso_kafka_partition *partition = &consumer->partitions[index];
    rd_kafka_timestamp_type_t type;
    int64_t timestamp = rd_kafka_message_timestamp(raw, &type);
    *message = (struct iso_message){
        .topic = partition->topic,
        .partition = partition->partition,
        .broker = rd_kafka_message_broker_id(raw),
        .offset = raw->offset,
        .timestamp = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? 0 : timestamp,
        .timestamp_type = type == RD_KAFKA_TIMESTAMP_CREATE_TIME       ? ISO_TIMESTAMP_CREATE
                          : type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? ISO_TIMESTAMP_LOG_APPEND
                                                                       : ISO_TIMESTAMP_NONE,
        .input = partition->input,
        .header_count = take_headers(consumer, raw),
        .key = {raw->key, (uint32_t)raw->key_len},
        .payload = {raw->payload, (uint32_t)raw->len},
    };
}

void kafka_consumer_hand_out(struct iso_kafka_consumer *consumer, uint32_t index,
                             const struct iso_message *message)
{
    struct iso_kafka_partition *partition = &consumer->partitions[index];
    assert(message->offset >= partition->next);
    partition->next = message->offset + 1;
    partition->at_end = consumer->until_eof && partition->next >= partition->end;
    consumer->counters.messages++;
    consumer->counters.bytes += message->key.size + message->payload.size;
    if (consumer->parts[index].memory.candidate.offset < 0)
        kafka_consumer_remember(consumer, index, message);
}

/* Topics that do not exist yet, and those that may appear, are asked for more often. */
static bool is_refresh_due(const struct iso_kafka_consumer *consumer)
{
    int64_t every = consumer->prefix_count ? MISSING_REFRESH_MS : consumer->refresh_ms;
    for (uint32_t i = 0; i < consumer->topic_count; i++)
        if (!consumer->topics[i].partition_count && every > MISSING_REFRESH_MS)
            every = MISSING_REFRESH_MS;
    return !consumer->until_eof && iso_clock_ms() - consumer->refreshed >= every;
}

enum iso_status iso_kafka_consumer_poll(struct iso_kafka_consumer *consumer, int timeout_ms,
                                        const struct iso_message **messages, uint32_t *count,
                                        struct iso_error *error)
{
    uint64_t errors = consumer->client.errors;
    release_batch(consumer);
    consumer->batch.number++;
    *messages = consumer->batch.messages;
    *count = 0;
    rd_kafka_poll(consumer->client.handle, 0);
    if (consumer->client.errors != errors) {
        consumer->counters.errors += consumer->client.errors - errors;
        kafka_consumer_doubt(consumer);
    }
    if (consumer->client.fatal)
        return iso_error_set(error, ISO_FAILED, "Kafka broker %s: %s", consumer->client.brokers,
                             consumer->client.fatal_text);
    if (is_refresh_due(consumer))
        kafka_consumer_find(consumer, false, error);
    kafka_consumer_check_liveness(consumer);
    if (kafka_consumer_check_identity(consumer, error) != ISO_OK)
        return error->status;
    kafka_consumer_fetch(consumer, timeout_ms);
    kafka_consumer_failures(consumer, error);
    if (consumer->batch
            .filled) /* whatever was wrong with a broker is history once its messages arrive */
        iso_kafka_client_forget_trouble(&consumer->client);
    *count = consumer->batch.filled;
    if (error->status == ISO_OK)
        kafka_consumer_validate(consumer);
    return error->status;
}

bool iso_kafka_consumer_finished(const struct iso_kafka_consumer *consumer)
{
    for (uint32_t i = 0; i < consumer->partition_count; i++)
        if (consumer->partitions[i].next < consumer->partitions[i].end)
            return false;
    return consumer->until_eof;
}

uint32_t iso_kafka_consumer_partitions(const struct iso_kafka_consumer *consumer,
                                       const struct iso_kafka_partition **partitions)
{
    *partitions = consumer->partitions;
    return consumer->partition_count;
}

const struct iso_kafka_counters *
iso_kafka_consumer_counters(const struct iso_kafka_consumer *consumer)
{
    return &consumer->counters;
}

bool iso_kafka_consumer_trouble(struct iso_kafka_consumer *consumer, char *text, size_t size)
{
    return iso_kafka_client_trouble(&consumer->client, text, size);
}
