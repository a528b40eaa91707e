#include "connectors/kafka/producer.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"

enum { CONNECT_SECONDS = 10, POLL_EVERY = 256, FULL_WAIT_MS = 50 };

struct iso_kafka_producer {
    struct iso_kafka_client client;
    char *topic_name;
    rd_kafka_topic_t *topic;
    /* why the topic could not be created; 0: it was, or was not to be */
    rd_kafka_resp_err_t not_created;
    int32_t partition_count;
    uint64_t sent, delivered;
    uint64_t underway[2];        /* messages before the latest mark and behind it, by turns */
    unsigned turn;               /* of those behind it */
    rd_kafka_resp_err_t failure; /* of the first message that was not delivered */
    int32_t failed_partition;
};

static const char *const defaults[] = {
    "client.id",
    "isochron",
    "enable.idempotence",
    "true",
    "linger.ms",
    "5",
    "compression.type",
    "lz4",
    "queue.buffering.max.messages",
    "200000",
    "queue.buffering.max.kbytes",
    "65536",
    "reconnect.backoff.max.ms",
    "1000",
    NULL,
};

/* Called inside polls. The client's callbacks get the client, which is the producer's first
 * member. */
static void on_delivery(rd_kafka_t *handle, const rd_kafka_message_t *message, void *opaque)
{
    struct iso_kafka_producer *producer = opaque;
    (void)handle;
    producer->underway[message->_private != NULL]--;
    if (!message->err) {
        producer->delivered++;
    } else if (!producer->failure) {
        producer->failure = message->err;
        producer->failed_partition = message->partition;
    }
}

static void configure_client(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
}

static enum iso_status check_producer(struct iso_kafka_producer *producer, struct iso_error *error)
{
    if (producer->client.fatal)
        return iso_error_set(error, ISO_FAILED, "Kafka broker %s: %s", producer->client.brokers,
                             producer->client.fatal_text);
    if (producer->failure)
        return iso_error_set(error, ISO_FAILED,
                             "topic %s partition %" PRId32 ": a message could not be delivered: %s",
                             producer->topic_name, producer->failed_partition,
                             rd_kafka_err2str(producer->failure));
    return ISO_OK;
}

/* The broker's result for the one topic that was to be created. */
static rd_kafka_resp_err_t creation_result(rd_kafka_event_t *event)
{
    size_t count = 0;
    const rd_kafka_CreateTopics_result_t *result =
        event ? rd_kafka_event_CreateTopics_result(event) : NULL;
    const rd_kafka_topic_result_t **topics =
        result ? rd_kafka_CreateTopics_result_topics(result, &count) : NULL;
    if (!event)
        return RD_KAFKA_RESP_ERR__TIMED_OUT;
    return rd_kafka_event_error(event) || count == 0 ? rd_kafka_event_error(event)
                                                     : rd_kafka_topic_result_error(topics[0]);
}

/* Whether there is a broker that creates topics: librdkafka's mock names one that does not
 * exist. */
static bool has_controller(struct iso_kafka_producer *producer, struct iso_error *error)
{
    rd_kafka_t *handle = producer->client.handle;
    const struct rd_kafka_metadata *metadata;
    bool found = false;
    if (rd_kafka_metadata(handle, 0, NULL, &metadata, CONNECT_SECONDS * 1000)) {
        if (check_producer(producer, error) == ISO_OK)
            iso_kafka_client_no_answer(&producer->client, CONNECT_SECONDS, error);
        return false;
    }
    int32_t controller = rd_kafka_controllerid(handle, 0);
    for (int i = 0; i < metadata->broker_cnt; i++)
        found |= metadata->brokers[i].id == controller;
    rd_kafka_metadata_destroy(metadata);
    return found;
}

/* Creates the topic, if it does not exist. Before the client knows of it: a client that asks for a
 * topic makes many brokers create it, with a number of partitions of their own. Who may not create
 * it, or cannot, finds it there or not when it is awaited. */
static void create_topic(struct iso_kafka_producer *producer, int32_t partitions,
                         struct iso_error *error)
{
    char text[512] = "";
    rd_kafka_t *handle = producer->client.handle;
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(producer->topic_name, partitions, -1, text, sizeof text);
    if (!topic) {
        iso_error_set(error, ISO_BAD_INPUT, "topic %s: %s", producer->topic_name, text);
        return;
    }
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(handle, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
    rd_kafka_AdminOptions_set_request_timeout(options, CONNECT_SECONDS * 1000, text, sizeof text);
    rd_kafka_CreateTopics(handle, &topic, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, (CONNECT_SECONDS + 1) * 1000);
    rd_kafka_resp_err_t failure = creation_result(event);
    producer->not_created =
        failure == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS ? RD_KAFKA_RESP_ERR_NO_ERROR : failure;
    if (failure == RD_KAFKA_RESP_ERR__TIMED_OUT)
        iso_kafka_client_no_answer(&producer->client, CONNECT_SECONDS, error);
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_NewTopic_destroy(topic);
}

/* Partitions of the topic; 0: it does not exist, or the broker is silent (`*failure`). */
static int32_t count_partitions(struct iso_kafka_producer *producer, int timeout_ms,
                                rd_kafka_resp_err_t *failure)
{
    const struct rd_kafka_metadata *metadata;
    int32_t count = 0;
    *failure =
        rd_kafka_metadata(producer->client.handle, 0, producer->topic, &metadata, timeout_ms);
    if (*failure)
        return 0;
    if (metadata->topic_cnt == 1 && !metadata->topics[0].err)
        count = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    return count;
}

/* Waits for the topic, which a broker may create when it is first asked for. */
static enum iso_status await_topic(struct iso_kafka_producer *producer, struct iso_error *error)
{
    int64_t deadline = iso_clock_ms() + CONNECT_SECONDS * 1000;
    for (;;) {
        rd_kafka_resp_err_t failure;
        int64_t left = deadline - iso_clock_ms();
        producer->partition_count = count_partitions(producer, left < 1 ? 1 : (int)left, &failure);
        rd_kafka_poll(producer->client.handle, failure ? 0 : 50);
        if (producer->partition_count > 0)
            return ISO_OK;
        if (check_producer(producer, error) != ISO_OK)
            return error->status;
        if (failure)
            return iso_kafka_client_no_answer(&producer->client, CONNECT_SECONDS, error);
        if (iso_clock_ms() >= deadline && producer->not_created)
            return iso_error_set(error, ISO_FAILED, "topic %s could not be created: %s",
                                 producer->topic_name, rd_kafka_err2str(producer->not_created));
        if (iso_clock_ms() >= deadline)
            return iso_error_set(error, ISO_FAILED, "topic %s does not exist on Kafka broker %s",
                                 producer->topic_name, producer->client.brokers);
    }
}

struct iso_kafka_producer *iso_kafka_producer_new(const struct iso_kafka_properties *properties,
                                                  const char *topic, int32_t partitions,
                                                  struct iso_error *error)
{
    _Static_assert(offsetof(struct iso_kafka_producer, client) == 0,
                   "callbacks are given the client");
    struct iso_kafka_producer *producer = iso_allocate_zeroed(1, sizeof *producer);
    producer->topic_name = iso_copy_text(topic, strlen(topic));
    if (iso_kafka_client_open(&producer->client, RD_KAFKA_PRODUCER, properties, defaults,
                              configure_client, error) != ISO_OK)
        goto out;
    if (partitions > 0 && has_controller(producer, error))
        create_topic(producer, partitions, error);
    if (error->status != ISO_OK)
        goto out;
    producer->topic = rd_kafka_topic_new(producer->client.handle, topic, NULL);
    if (!producer->topic)
        iso_error_set(error, ISO_BAD_INPUT, "topic %s: %s", topic,
                      rd_kafka_err2str(rd_kafka_last_error()));
    else
        await_topic(producer, error);
out:
    if (error->status == ISO_OK)
        return producer;
    iso_kafka_producer_free(producer);
    return NULL;
}

void iso_kafka_producer_free(struct iso_kafka_producer *producer)
{
    if (!producer)
        return;
    if (producer->client.handle)
        rd_kafka_purge(producer->client.handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    if (producer->topic)
        rd_kafka_topic_destroy(producer->topic);
    iso_kafka_client_close(&producer->client);
    iso_free(producer->topic_name);
    iso_free(producer);
}

int32_t iso_kafka_producer_partitions(const struct iso_kafka_producer *producer)
{
    return producer->partition_count;
}

uint64_t iso_kafka_producer_delivered(const struct iso_kafka_producer *producer)
{
    return producer->delivered;
}

uint64_t iso_kafka_producer_waiting(const struct iso_kafka_producer *producer)
{
    return (uint64_t)rd_kafka_outq_len(producer->client.handle);
}

void iso_kafka_producer_mark(struct iso_kafka_producer *producer)
{
    assert(iso_kafka_producer_reached_mark(producer));
    producer->turn ^= 1;
}

bool iso_kafka_producer_reached_mark(const struct iso_kafka_producer *producer)
{
    return !producer->underway[producer->turn ^ 1];
}

enum iso_status iso_kafka_producer_poll(struct iso_kafka_producer *producer,
                                        struct iso_error *error)
{
    rd_kafka_poll(producer->client.handle, 0);
    return check_producer(producer, error);
}

static rd_kafka_headers_t *copy_headers(const struct iso_message *message)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(message->header_count);
    for (uint32_t i = 0; i < message->header_count; i++) {
        const struct iso_header *header = &message->headers[i];
        rd_kafka_header_add(headers, (const char *)header->name.data, header->name.size,
                            header->value.data, header->value.data ? header->value.size : 0);
    }
    return headers;
}

/* Copies the message into the queue; RD_KAFKA_RESP_ERR__QUEUE_FULL if there is no room. */
static rd_kafka_resp_err_t enqueue_message(struct iso_kafka_producer *producer,
                                           const struct iso_message *message)
{
    int64_t timestamp = message->timestamp_type == ISO_TIMESTAMP_NONE ? 0 : message->timestamp;
    rd_kafka_headers_t *headers = message->header_count ? copy_headers(message) : NULL;
    rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = producer->topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = message->partition},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)message->key.data, message->key.size}},
        {.vtype = RD_KAFKA_VTYPE_VALUE,
         .u.mem = {(void *)message->payload.data, message->payload.size}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = timestamp},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = producer->turn ? producer : NULL},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
    };
    size_t count = sizeof parts / sizeof *parts - (headers ? 0 : 1);
    rd_kafka_error_t *failed = rd_kafka_produceva(producer->client.handle, parts, count);
    if (!failed) {
        producer->underway[producer->turn]++;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    rd_kafka_resp_err_t failure = rd_kafka_error_code(failed);
    rd_kafka_error_destroy(failed);
    if (headers)
        rd_kafka_headers_destroy(headers);
    return failure;
}

enum iso_status iso_kafka_producer_send(struct iso_kafka_producer *producer,
                                        const struct iso_message *message, struct iso_error *error)
{
    rd_kafka_resp_err_t failure;
    if (++producer->sent % POLL_EVERY == 0)
        rd_kafka_poll(producer->client.handle, 0);
    while ((failure = enqueue_message(producer, message)) == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        rd_kafka_poll(producer->client.handle, FULL_WAIT_MS);
        if (check_producer(producer, error) != ISO_OK)
            return error->status;
    }
    if (failure)
        return iso_error_set(error, ISO_FAILED, "topic %s: %s", producer->topic_name,
                             rd_kafka_err2str(failure));
    return check_producer(producer, error);
}

enum iso_status iso_kafka_producer_flush(struct iso_kafka_producer *producer, unsigned seconds,
                                         struct iso_error *error)
{
    rd_kafka_resp_err_t failure = rd_kafka_flush(producer->client.handle, (int)seconds * 1000);
    if (check_producer(producer, error) == ISO_OK && failure)
        iso_error_set(error, ISO_FAILED, "topic %s: %d messages were not delivered within %u s",
                      producer->topic_name, rd_kafka_outq_len(producer->client.handle), seconds);
    return error->status;
}
