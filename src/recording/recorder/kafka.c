/* The Kafka sink: librdkafka's own bounded queue, and a thread that hears what became of
 * messages. */
#define _GNU_SOURCE
#include "recorder/recorder_private.h"

#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_MILLISECONDS = 100, FREE_SECONDS = 5, SILENT_MS = 200, REST_MS = 2000 };

struct kafka_sink {
    rd_kafka_t *client;
    struct iso_recorder *recorder;
    unsigned watermark_ms;
    uint64_t told;  /* the newest watermark; the listener's */
    int partitions; /* of the topic; 0: not known yet; the listener's */
    bool rests;     /* the client sends nothing; the listener's */
    unsigned heard; /* of `signs`, and when it last was heard, or needed, none; the listener's */
    int64_t heard_at;
    atomic_uint signs; /* of life: what became of messages, and of connections */
    atomic_bool has_delivered;
    char *topic;
    pthread_t listener;
    atomic_bool closing;
    atomic_ullong waiting; /* bytes taken, and neither delivered nor lost */
    pthread_mutex_t lock;
    uint64_t written, lost; /* guarded by `lock` */
    char trouble[256];      /* guarded by `lock` */
    char said[128];         /* guarded by `lock`: the client's latest complaint */
};

/* On the thread that polls. */
static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *context)
{
    struct kafka_sink *sink = context;
    (void)client;
    atomic_fetch_add(&sink->signs, 1);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
        atomic_store(&sink->has_delivered, true);
    if (message->_private) /* a watermark, or a count: no record */
        return;
    atomic_fetch_sub(&sink->waiting, message->len);
    pthread_mutex_lock(&sink->lock);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        sink->written++;
    } else {
        sink->lost++;
        snprintf(sink->trouble, sizeof sink->trouble, "%s%s%s", rd_kafka_err2str(message->err),
                 *sink->said ? ": " : "", sink->said);
    }
    pthread_mutex_unlock(&sink->lock);
}

/* On any thread of the client, which would else write to the application's stderr. */
static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
    struct kafka_sink *sink = rd_kafka_opaque(client);
    (void)level, (void)facility;
    atomic_fetch_add(&sink->signs, 1);
    pthread_mutex_lock(&sink->lock);
    snprintf(sink->said, sizeof sink->said, "%s", text);
    pthread_mutex_unlock(&sink->lock);
}

/* How many partitions the topic has, once the broker tells. */
static int ask_partitions(struct kafka_sink *sink)
{
    const struct rd_kafka_metadata *metadata;
    int count = 0;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(sink->client, sink->topic, NULL);
    if (topic &&
        rd_kafka_metadata(sink->client, 0, topic, &metadata, 1000) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (metadata->topic_cnt == 1 && metadata->topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR)
            count = metadata->topics[0].partition_cnt;
        rd_kafka_metadata_destroy(metadata);
    }
    if (topic)
        rd_kafka_topic_destroy(topic);
    return count;
}

/* Behind every record that was taken before `least` was read: a partition keeps the order. */
static void send_watermark(struct kafka_sink *sink)
{
    char text[48];
    uint64_t least = recorder_floors_least(&sink->recorder->floors);
    if (least <= sink->told)
        return;
    if (sink->partitions == 0)
        sink->partitions = ask_partitions(sink);
    int size = snprintf(text, sizeof text, "{\"watermark\":\"%" PRIu64 "\"}", least);
    for (int32_t p = 0; p < sink->partitions; p++)
        rd_kafka_producev(sink->client, RD_KAFKA_V_TOPIC(sink->topic), RD_KAFKA_V_PARTITION(p),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                          RD_KAFKA_V_VALUE(text, (size_t)size), RD_KAFKA_V_OPAQUE(sink),
                          RD_KAFKA_V_END);
    if (sink->partitions > 0)
        sink->told = least;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

static void rest(struct kafka_sink *sink, bool rests)
{
    if (rests == sink->rests)
        return;
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(sink->partitions);
    rd_kafka_topic_partition_list_add_range(all, sink->topic, 0, sink->partitions - 1);
    if (rests) {
        rd_kafka_pause_partitions(sink->client, all);
    } else {
        rd_kafka_resume_partitions(sink->client, all);
        rd_kafka_flush(sink->client, 0); /* wakes it */
    }
    rd_kafka_topic_partition_list_destroy(all);
    sink->rests = rests;
}

/* While requests wait for a broker that does not answer, librdkafka 2.0.2 goes through the messages
 * behind them over and over, which costs half a core. So it sends nothing until there is a sign of
 * life; now and then it may, for a moment, since a request may have been lost unheard. */
static void rest_while_silent(struct kafka_sink *sink)
{
    unsigned signs = atomic_load(&sink->signs);
    int64_t now = now_ms();
    if (signs != sink->heard || !atomic_load(&sink->waiting)) {
        sink->heard = signs;
        sink->heard_at = now;
    }
    int64_t silent = now - sink->heard_at;
    rest(sink, silent >= SILENT_MS && silent % REST_MS >= SILENT_MS);
}

static bool has_begun(struct iso_recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    bool has = recorder->has_begun;
    pthread_mutex_unlock(&recorder->lock);
    return has;
}

static void *listen_for_deliveries(void *context)
{
    struct kafka_sink *sink = context;
    int64_t next = now_ms() + sink->watermark_ms, alive = now_ms() + RECORDER_ALIVE_MS;
    while (!atomic_load(&sink->closing)) {
        int64_t left = sink->watermark_ms ? next - now_ms() : POLL_MILLISECONDS;
        rd_kafka_poll(sink->client, left < 0                   ? 0
                                    : left < POLL_MILLISECONDS ? (int)left
                                                               : POLL_MILLISECONDS);
        if (sink->partitions > 0)
            rest_while_silent(sink);
        else if (atomic_load(&sink->has_delivered))
            sink->partitions = ask_partitions(sink);
        if (sink->watermark_ms && now_ms() >= next) {
            send_watermark(sink);
            next = now_ms() + sink->watermark_ms;
        }
        if (now_ms() >= alive) {
            if (has_begun(sink->recorder))
                recorder_tell(sink->recorder, RECORDER_LIVES);
            alive = now_ms() + RECORDER_ALIVE_MS;
        }
    }
    return NULL;
}

static enum recorder_fate kafka_take(void *context, const char *sid, const char *line, size_t size)
{
    struct kafka_sink *sink = context;
    size--; /* a message needs no newline */
    atomic_fetch_add(&sink->waiting, size);
    rd_kafka_resp_err_t status = rd_kafka_producev(
        sink->client, RD_KAFKA_V_TOPIC(sink->topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(sid, strlen(sid)), RD_KAFKA_V_VALUE((void *)line, size), RD_KAFKA_V_END);
    if (status == RD_KAFKA_RESP_ERR_NO_ERROR)
        return RECORDER_TAKEN;
    atomic_fetch_sub(&sink->waiting, size);
    return status == RD_KAFKA_RESP_ERR__QUEUE_FULL ? RECORDER_FULL : RECORDER_REFUSED;
}

/* A key's own partition keeps the order. */
static bool kafka_tell(void *context, const char *key, const char *line, size_t size)
{
    struct kafka_sink *sink = context;
    return rd_kafka_producev(sink->client, RD_KAFKA_V_TOPIC(sink->topic),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                             RD_KAFKA_V_KEY(key, strlen(key)),
                             RD_KAFKA_V_VALUE((void *)line, size - 1), RD_KAFKA_V_OPAQUE(sink),
                             RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool kafka_flush(void *context, unsigned seconds)
{
    struct kafka_sink *sink = context;
    return rd_kafka_flush(sink->client, (int)seconds * 1000) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void kafka_count(void *context, struct iso_recorder_statistics *statistics)
{
    struct kafka_sink *sink = context;
    statistics->waiting_bytes = atomic_load(&sink->waiting);
    pthread_mutex_lock(&sink->lock);
    statistics->written = sink->written;
    statistics->lost = sink->lost;
    memcpy(statistics->trouble, sink->trouble, sizeof statistics->trouble);
    pthread_mutex_unlock(&sink->lock);
}

static void sink_release(struct kafka_sink *sink)
{
    if (sink->client)
        rd_kafka_destroy(sink->client);
    pthread_mutex_destroy(&sink->lock);
    free(sink->topic);
    free(sink);
}

static void kafka_free(void *context)
{
    struct kafka_sink *sink = context;
    atomic_store(&sink->closing, true);
    pthread_join(sink->listener, NULL);
    rest(sink, false);
    if (sink->watermark_ms)
        send_watermark(sink);
    bool is_flushed = kafka_flush(sink, FREE_SECONDS);
    if (is_flushed && sink->recorder->has_begun && recorder_tell(sink->recorder, RECORDER_ENDS))
        rd_kafka_flush(sink->client, FREE_SECONDS * 1000);
    rd_kafka_purge(sink->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    sink_release(sink);
}

static const struct recorder_sink kafka_functions = {kafka_take, kafka_flush, kafka_count,
                                                     kafka_free, kafka_tell,  true};

static bool set_property(rd_kafka_conf_t *conf, const char *name, const char *value,
                         struct iso_error *error)
{
    char text[256];
    if (rd_kafka_conf_set(conf, name, value, text, sizeof text) == RD_KAFKA_CONF_OK)
        return true;
    iso_error_set(error, ISO_BAD_INPUT, "Kafka property %s: %s", name, text);
    return false;
}

/* The buffer's size becomes librdkafka's queue's; properties of the caller come later and win. */
static bool configure_client(rd_kafka_conf_t *conf, const char *const *properties, size_t buffer,
                             struct iso_error *error)
{
    char kilobytes[24], messages[24];
    size_t kib = buffer / 1024 ? buffer / 1024 : 1, count = buffer / 128 ? buffer / 128 : 1;
    snprintf(kilobytes, sizeof kilobytes, "%zu", kib < 2097151 ? kib : 2097151);
    snprintf(messages, sizeof messages, "%zu", count < 10000000 ? count : 10000000);
    bool good = set_property(conf, "enable.idempotence", "true", error) &&
                set_property(conf, "linger.ms", "5", error) &&
                set_property(conf, "queue.buffering.max.kbytes", kilobytes, error) &&
                set_property(conf, "queue.buffering.max.messages", messages, error);
    for (; good && properties[0] && properties[1]; properties += 2)
        good = set_property(conf, properties[0], properties[1], error);
    return good;
}

static bool start_client(struct kafka_sink *sink, const char *const *properties, size_t buffer,
                         struct iso_error *error)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_opaque(conf, sink);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_log_cb(conf, on_log);
    char text[256];
    if (!configure_client(conf, properties, buffer, error)) {
        rd_kafka_conf_destroy(conf);
        return false;
    }
    sink->client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (sink->client)
        return true;
    rd_kafka_conf_destroy(conf);
    iso_error_set(error, ISO_BAD_INPUT, "Kafka: %s", text);
    return false;
}

struct iso_recorder *iso_recorder_new_kafka(const char *topic, const char *const *properties,
                                            const struct iso_recorder_options *options,
                                            struct iso_error *error)
{
    struct iso_recorder *recorder = recorder_new(options, error);
    struct kafka_sink *sink = recorder ? calloc(1, sizeof *sink) : NULL;
    if (!sink) {
        iso_recorder_free(recorder);
        return NULL;
    }
    pthread_mutex_init(&sink->lock, NULL);
    sink->recorder = recorder;
    sink->watermark_ms = options ? options->watermark_ms : 0;
    sink->topic = strdup(topic);
    if (!sink->topic || !start_client(sink, properties, recorder_buffer_bytes(options), error) ||
        !recorder_start_thread(&sink->listener, listen_for_deliveries, sink, error)) {
        sink_release(sink);
        iso_recorder_free(recorder);
        return NULL;
    }
    recorder_name(recorder);
    recorder->sink = &kafka_functions;
    recorder->context = sink;
    return recorder;
}
