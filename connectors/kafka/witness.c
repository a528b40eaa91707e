#include "connectors/kafka/witness.h"

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

void kafka_witness_init(struct kafka_witness *witness, const struct iso_kafka_properties *properties)
{
    *witness = (struct kafka_witness){.count = 0};
    for (uint32_t i = 0; i < properties->count; i++)
        iso_kafka_properties_set(&witness->properties, properties->list[i].name, properties->list[i].value);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i += 2)
        iso_kafka_properties_set(&witness->properties, settings[i], settings[i + 1]);
}

static void join(struct kafka_witness *witness)
{
    if (witness->started)
        pthread_join(witness->thread, NULL);
    witness->started = false;
}

void kafka_witness_release(struct kafka_witness *witness)
{
    atomic_store(&witness->ending, true);
    join(witness);
    iso_free(witness->places);
    iso_kafka_properties_release(&witness->properties);
    *witness = (struct kafka_witness){.count = 0};
}

uint64_t kafka_witness_digest(const struct iso_message *message)
{
    uint64_t seed = message->timestamp_type == ISO_TIMESTAMP_CREATE ? (uint64_t)message->timestamp : 0;
    if (message->key.size)
        seed = XXH3_64bits_withSeed(message->key.data, message->key.size, seed);
    seed = seed * 0x9e3779b97f4a7c15u + message->key.size + (message->payload.data == NULL);
    return message->payload.size ? XXH3_64bits_withSeed(message->payload.data, message->payload.size, seed) : seed;
}

/* ---- the thread ---- */

struct reading {
    struct kafka_witness *witness;
    struct iso_kafka_client client;
    rd_kafka_queue_t *queue;
    rd_kafka_topic_t **topics; /* by place */
    uint32_t left;             /* places without an answer */
    bool *done;                /* by place */
};

static void begin(struct reading *reading)
{
    const struct kafka_witness *witness = reading->witness;
    for (uint32_t i = 0; i < witness->count; i++) {
        const struct kafka_place *place = &witness->places[i];
        reading->topics[i] = rd_kafka_topic_new(reading->client.handle, place->topic, NULL);
        reading->done[i] = !reading->topics[i] || rd_kafka_consume_start_queue(reading->topics[i], place->partition,
                                                                               place->offset, reading->queue) < 0;
        reading->left += !reading->done[i];
    }
}

/* Nothing more is fetched of it. */
static void rest(const struct reading *reading, const struct kafka_place *place)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, place->topic, place->partition);
    rd_kafka_pause_partitions(reading->client.handle, list);
    rd_kafka_topic_partition_list_destroy(list);
}

static enum kafka_testimony compare(const struct kafka_place *place, const rd_kafka_message_t *raw)
{
    rd_kafka_timestamp_type_t type;
    int64_t timestamp = rd_kafka_message_timestamp(raw, &type);
    struct iso_message message = {
        .timestamp = timestamp,
        .timestamp_type = type == RD_KAFKA_TIMESTAMP_CREATE_TIME ? ISO_TIMESTAMP_CREATE : ISO_TIMESTAMP_NONE,
        .key = {raw->key, (uint32_t)raw->key_len},
        .payload = {raw->payload, (uint32_t)raw->len},
    };
    if (raw->offset != place->offset)
        return KAFKA_GONE;
    return kafka_witness_digest(&message) == place->digest ? KAFKA_SAME : KAFKA_OTHER;
}

static enum kafka_testimony testify(const struct kafka_place *place, const rd_kafka_message_t *raw)
{
    switch (raw->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return compare(place, raw);
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        return KAFKA_GONE;
    default:
        return KAFKA_UNKNOWN;
    }
}

static void hear(struct reading *reading, const rd_kafka_message_t *raw)
{
    const struct kafka_witness *witness = reading->witness;
    for (uint32_t i = 0; raw->rkt && i < witness->count; i++) {
        struct kafka_place *place = &witness->places[i];
        if (reading->done[i] || place->partition != raw->partition ||
            strcmp(place->topic, rd_kafka_topic_name(raw->rkt)) != 0)
            continue;
        place->testimony = testify(place, raw);
        reading->done[i] = true;
        reading->left--;
        rest(reading, place);
        return;
    }
}

static void end(struct reading *reading)
{
    const struct kafka_witness *witness = reading->witness;
    for (uint32_t i = 0; i < witness->count; i++) {
        if (!reading->topics[i])
            continue;
        rd_kafka_consume_stop(reading->topics[i], witness->places[i].partition);
        rd_kafka_topic_destroy(reading->topics[i]);
    }
    rd_kafka_queue_destroy(reading->queue);
}

static void read_again(struct reading *reading)
{
    int64_t deadline = iso_kafka_now() + ANSWER_MS;
    reading->queue = rd_kafka_queue_new(reading->client.handle);
    begin(reading);
    while (reading->left && !atomic_load(&reading->witness->ending) && iso_kafka_now() < deadline) {
        rd_kafka_poll(reading->client.handle, 0);
        rd_kafka_message_t *raw = rd_kafka_consume_queue(reading->queue, LOOK_MS);
        if (!raw)
            continue;
        hear(reading, raw);
        rd_kafka_message_destroy(raw);
    }
    end(reading);
}

static void *work(void *context)
{
    static const char *const defaults[] = {"client.id", "isochron", NULL};
    struct kafka_witness *witness = context;
    struct iso_error error = {0};
    struct reading reading = {.witness = witness,
                              .topics = iso_allocate_zeroed(witness->count, sizeof *reading.topics),
                              .done = iso_allocate_zeroed(witness->count, sizeof *reading.done)};
    if (iso_kafka_client_open(&reading.client, RD_KAFKA_CONSUMER, &witness->properties, defaults, NULL, &error) ==
        ISO_OK)
        read_again(&reading);
    iso_kafka_client_close(&reading.client);
    iso_free(reading.topics);
    iso_free(reading.done);
    atomic_store(&witness->working, false);
    return NULL;
}

bool kafka_witness_ask(struct kafka_witness *witness, struct kafka_place *places, uint32_t count)
{
    iso_free(witness->places);
    witness->places = places;
    witness->count = count;
    atomic_store(&witness->working, true);
    witness->started = !pthread_create(&witness->thread, NULL, work, witness);
    return witness->started;
}

bool kafka_witness_answered(struct kafka_witness *witness)
{
    if (!witness->started || atomic_load(&witness->working))
        return false;
    join(witness);
    return true;
}
