#include "connectors/kafka/probe.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"

enum { ANSWER_MS = 10000, LOOK_MS = 50 };

/* One batch at a time, whatever the stream's own properties say. */
static const char *const settings[] = {
    "enable.auto.commit",      "false", "enable.auto.offset.store",   "false",
    "auto.offset.reset",       "error", "allow.auto.create.topics",   "false",
    "enable.partition.eof",    "true",  "queued.max.messages.kbytes", "1",
    "fetch.message.max.bytes", "1024",  "message.max.bytes",          "1024",
    "fetch.max.bytes",         "1024",
};

void kafka_probe_init(struct kafka_probe *probe, const struct iso_kafka_properties *properties)
{
    *probe = (struct kafka_probe){.count = 0};
    for (uint32_t i = 0; i < properties->count; i++)
        iso_kafka_properties_set(&probe->properties, properties->list[i].name,
                                 properties->list[i].value);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i += 2)
        iso_kafka_properties_set(&probe->properties, settings[i], settings[i + 1]);
}

static void join_thread(struct kafka_probe *probe)
{
    if (probe->started)
        pthread_join(probe->thread, NULL);
    probe->started = false;
}

void kafka_probe_release(struct kafka_probe *probe)
{
    atomic_store(&probe->ending, true);
    join_thread(probe);
    iso_free(probe->places);
    iso_kafka_properties_release(&probe->properties);
    *probe = (struct kafka_probe){.count = 0};
}

uint64_t kafka_probe_digest(const struct iso_message *message)
{
    uint64_t seed =
        message->timestamp_type == ISO_TIMESTAMP_CREATE ? (uint64_t)message->timestamp : 0;
    if (message->key.size)
        seed = XXH3_64bits_withSeed(message->key.data, message->key.size, seed);
    seed = seed * 0x9e3779b97f4a7c15u + message->key.size + (message->payload.data == NULL);
    return message->payload.size
               ? XXH3_64bits_withSeed(message->payload.data, message->payload.size, seed)
               : seed;
}

/* ---- the thread ---- */

struct reading {
    struct kafka_probe *probe;
    struct iso_kafka_client client;
    rd_kafka_queue_t *queue;
    rd_kafka_topic_t **topics; /* by place */
    uint32_t left;             /* places without an answer */
    bool *done;                /* by place */
};

static void start_reading(struct reading *reading)
{
    const struct kafka_probe *probe = reading->probe;
    for (uint32_t i = 0; i < probe->count; i++) {
        const struct kafka_place *place = &probe->places[i];
        reading->topics[i] = rd_kafka_topic_new(reading->client.handle, place->topic, NULL);
        reading->done[i] = !reading->topics[i] ||
                           rd_kafka_consume_start_queue(reading->topics[i], place->partition,
                                                        place->offset, reading->queue) < 0;
        reading->left += !reading->done[i];
    }
}

/* Nothing more is fetched of it. */
static void pause_reading(const struct reading *reading, const struct kafka_place *place)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, place->topic, place->partition);
    rd_kafka_pause_partitions(reading->client.handle, list);
    rd_kafka_topic_partition_list_destroy(list);
}

static enum kafka_probe_answer compare_message(const struct kafka_place *place,
                                               const rd_kafka_message_t *raw)
{
    rd_kafka_timestamp_type_t type;
    int64_t timestamp = rd_kafka_message_timestamp(raw, &type);
    struct iso_message message = {
        .timestamp = timestamp,
        .timestamp_type =
            type == RD_KAFKA_TIMESTAMP_CREATE_TIME ? ISO_TIMESTAMP_CREATE : ISO_TIMESTAMP_NONE,
        .key = {raw->key, (uint32_t)raw->key_len},
        .payload = {raw->payload, (uint32_t)raw->len},
    };
    if (raw->offset != place->offset)
        return KAFKA_PROBE_GONE;
    return kafka_probe_digest(&message) == place->digest ? KAFKA_PROBE_SAME : KAFKA_PROBE_OTHER;
}

static enum kafka_probe_answer answer_of(const struct kafka_place *place,
                                         const rd_kafka_message_t *raw)
{
    switch (raw->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return compare_message(place, raw);
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        return KAFKA_PROBE_GONE;
    default:
        return KAFKA_PROBE_UNKNOWN;
    }
}

static void take_answer(struct reading *reading, const rd_kafka_message_t *raw)
{
    const struct kafka_probe *probe = reading->probe;
    for (uint32_t i = 0; raw->rkt && i < probe->count; i++) {
        struct kafka_place *place = &probe->places[i];
        if (reading->done[i] || place->partition != raw->partition ||
            strcmp(place->topic, rd_kafka_topic_name(raw->rkt)) != 0)
            continue;
        place->answer = answer_of(place, raw);
        reading->done[i] = true;
        reading->left--;
        pause_reading(reading, place);
        return;
    }
}

static void stop_reading(struct reading *reading)
{
    const struct kafka_probe *probe = reading->probe;
    for (uint32_t i = 0; i < probe->count; i++) {
        if (!reading->topics[i])
            continue;
        rd_kafka_consume_stop(reading->topics[i], probe->places[i].partition);
        rd_kafka_topic_destroy(reading->topics[i]);
    }
    rd_kafka_queue_destroy(reading->queue);
}

static void read_again(struct reading *reading)
{
    int64_t deadline = iso_clock_ms() + ANSWER_MS;
    reading->queue = rd_kafka_queue_new(reading->client.handle);
    start_reading(reading);
    while (reading->left && !atomic_load(&reading->probe->ending) && iso_clock_ms() < deadline) {
        rd_kafka_poll(reading->client.handle, 0);
        rd_kafka_message_t *raw = rd_kafka_consume_queue(reading->queue, LOOK_MS);
        if (!raw)
            continue;
        take_answer(reading, raw);
        rd_kafka_message_destroy(raw);
    }
    stop_reading(reading);
}

static void *run_probe(void *context)
{
    static const char *const defaults[] = {"client.id", "isochron", NULL};
    struct kafka_probe *probe = context;
    struct iso_error error = {0};
    struct reading reading = {.probe = probe,
                              .topics = iso_allocate_zeroed(probe->count, sizeof *reading.topics),
                              .done = iso_allocate_zeroed(probe->count, sizeof *reading.done)};
    if (iso_kafka_client_open(&reading.client, RD_KAFKA_CONSUMER, &probe->properties, defaults,
                              NULL, &error) == ISO_OK)
        read_again(&reading);
    iso_kafka_client_close(&reading.client);
    iso_free(reading.topics);
    iso_free(reading.done);
    atomic_store(&probe->working, false);
    return NULL;
}

bool kafka_probe_ask(struct kafka_probe *probe, struct kafka_place *places, uint32_t count)
{
    iso_free(probe->places);
    probe->places = places;
    probe->count = count;
    atomic_store(&probe->working, true);
    probe->started = !pthread_create(&probe->thread, NULL, run_probe, probe);
    return probe->started;
}

bool kafka_probe_answered(struct kafka_probe *probe)
{
    if (!probe->started || atomic_load(&probe->working))
        return false;
    join_thread(probe);
    return true;
}
