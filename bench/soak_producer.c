/* A client that never stops, for `make soak`: transactions at a steady rate to a topic, until its
 * time is over.
 *
 *     soak-producer ADDRESS TOPIC PARTITIONS RATE SECONDS KEYS [COUNT]
 *
 * RATE 0: as fast as it goes; COUNT: no more than so many. Every second key has texts as values. A
 * session ends after some thousand transactions, and another of a new name takes its place, as
 * connections do.
 *
 * One after the other, so that every history of it keeps snapshot isolation, but for stale reads in
 * every 100,000th. Timestamps are sixteenths of microseconds since 1970, so that a watermark says
 * how late it is.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "base/text.h"
#include "connectors/kafka/producer.h"

enum {
    MOST_KEYS = 1 << 20,
    SESSIONS = 64,
    SESSION_LASTS = 4096,
    READS = 4,
    WRITES = 4,
    STALE_EVERY = 100000,
    WATERMARK_MS = 100,
    TICKS = 16, /* of the clock in a microsecond */
    PATIENCE_SECONDS = 60
};

struct soak {
    struct iso_kafka_producer *producer;
    struct iso_rng random;
    uint64_t values[MOST_KEYS], before[MOST_KEYS]; /* 0: none */
    uint64_t keys;
    uint64_t clock, sent, value, last_watermark;
    int32_t partitions;
    struct iso_text line;
    struct iso_error error;
};

static uint64_t microseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void publish(struct soak *soak, int32_t partition)
{
    iso_kafka_producer_send(soak->producer,
                            &(struct iso_message){.partition = partition,
                                                  .payload = {(const uint8_t *)soak->line.bytes,
                                                              (uint32_t)soak->line.used}},
                            &soak->error);
}

static void put(struct iso_text *line, const char *before, uint64_t number)
{
    iso_text_put(line, before);
    iso_text_put_unsigned(line, number);
}

static void put_value(struct iso_text *line, uint64_t key, uint64_t value)
{
    if (!value)
        iso_text_put(line, ",\"v\":null}");
    else if (key % 2) {
        put(line, ",\"v\":\"the value of number ", value);
        iso_text_put(line, "\"}");
    } else {
        put(line, ",\"v\":", value);
        iso_text_put(line, "}");
    }
}

/* A timestamp of its own, and room for another behind it. */
static uint64_t next_time(struct soak *soak)
{
    uint64_t now = microseconds(CLOCK_REALTIME) * TICKS;
    soak->clock = now > soak->clock + 2 ? now : soak->clock + 2;
    return soak->clock;
}

static void send_transaction(struct soak *soak)
{
    struct iso_text *line = &soak->line;
    uint64_t sts = next_time(soak), place = soak->sent % SESSIONS;
    uint64_t session = soak->sent / (SESSIONS * SESSION_LASTS) * SESSIONS + place;
    bool stale = soak->sent % STALE_EVERY == STALE_EVERY - 1;
    line->used = 0;
    put(line, "{\"tid\":", ++soak->sent);
    put(line, ",\"sid\":\"connection ", session);
    put(line, "\",\"sts\":\"", sts);
    put(line, "\",\"cts\":\"", sts + 1);
    iso_text_put(line, "\",\"ops\":[");
    for (int i = 0; i < READS + WRITES; i++) {
        uint64_t key =
            iso_rng_below(&soak->random, soak->keys / (READS + WRITES)) * (READS + WRITES) +
            (soak->sent + (uint64_t)i) % (READS + WRITES);
        iso_text_put(line, i ? "," : "");
        put(line, i < READS ? "{\"t\":\"r\",\"k\":" : "{\"t\":\"w\",\"k\":", key);
        if (i < READS) {
            put_value(line, key,
                      stale && soak->before[key] ? soak->before[key] : soak->values[key]);
            continue;
        }
        soak->before[key] = soak->values[key];
        soak->values[key] = ++soak->value;
        put_value(line, key, soak->value);
    }
    iso_text_put(line, "]}");
    publish(soak, (int32_t)(place % (uint64_t)soak->partitions));
}

static void send_watermarks(struct soak *soak)
{
    soak->line.used = 0;
    put(&soak->line, "{\"watermark\":\"", soak->clock + 1);
    iso_text_put(&soak->line, "\"}");
    for (int32_t partition = 0; partition < soak->partitions; partition++)
        publish(soak, partition);
}

/* As many as the rate asks for by now. */
static void produce(struct soak *soak, double rate, uint64_t seconds, uint64_t most)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    uint64_t started = microseconds(CLOCK_MONOTONIC), now = started;
    while (soak->error.status == ISO_OK && now - started < seconds * 1000000 && soak->sent < most) {
        uint64_t due =
            rate > 0 ? (uint64_t)((double)(now - started) / 1e6 * rate) : soak->sent + 1000;
        for (due = due < most ? due : most; soak->sent < due && soak->error.status == ISO_OK;)
            send_transaction(soak);
        if (now - soak->last_watermark >= WATERMARK_MS * 1000) {
            soak->last_watermark = now;
            send_watermarks(soak);
        }
        iso_kafka_producer_poll(soak->producer, &soak->error);
        if (rate > 0)
            nanosleep(&moment, NULL);
        now = microseconds(CLOCK_MONOTONIC);
    }
    if (soak->error.status == ISO_OK)
        send_watermarks(soak);
    if (soak->error.status == ISO_OK)
        iso_kafka_producer_flush(soak->producer, PATIENCE_SECONDS, &soak->error);
}

int main(int count, char **arguments)
{
    static struct soak soak;
    struct iso_kafka_properties properties;
    soak.keys = count > 6 ? strtoull(arguments[6], NULL, 10) : 0;
    if (soak.keys < READS + WRITES || soak.keys > MOST_KEYS) {
        fprintf(
            stderr,
            "usage: soak-producer ADDRESS TOPIC PARTITIONS RATE SECONDS KEYS [COUNT], of %d to %d keys\n",
            READS + WRITES, MOST_KEYS);
        return ISO_BAD_INPUT;
    }
    soak.partitions = (int32_t)strtol(arguments[3], NULL, 10);
    iso_kafka_properties_init(&properties);
    iso_kafka_properties_set(&properties, "bootstrap.servers", arguments[1]);
    /* The embedded broker answers a fetch with one batch of each partition. */
    iso_kafka_properties_set(&properties, "linger.ms", "100");
    iso_rng_seed(&soak.random, 1);
    soak.producer = iso_kafka_producer_new(&properties, arguments[2], soak.partitions, &soak.error);
    if (soak.producer)
        produce(&soak, strtod(arguments[4], NULL), strtoull(arguments[5], NULL, 10),
                count > 7 ? strtoull(arguments[7], NULL, 10) : UINT64_MAX);
    if (soak.error.status != ISO_OK)
        fprintf(stderr, "soak-producer: %s\n", soak.error.text);
    else
        printf("%" PRIu64 "\n", soak.sent);
    iso_kafka_producer_free(soak.producer);
    iso_kafka_properties_release(&properties);
    iso_text_release(&soak.line);
    return (int)soak.error.status;
}
