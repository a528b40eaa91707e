/* Whether it is known what the partitions hold now.
 *
 * A broker that is gone says so: its connection breaks, and librdkafka calls back. One that is
 * silent does not: but its fetches are answered every fetch.wait.max.ms, with messages or without,
 * and an interceptor notes when that was last. Either way the partitions' leaders are asked for the
 * ends of the partitions until all of them answer. What had been written by then, while nobody
 * could hear of it, is still to be read: only after that nothing is missing. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "connectors/kafka/consumer_private.h"

enum {
    FETCH = 1,
    SILENT_MS = 1000,
    FETCH_WAIT_MS = 100,
    ASK_MS = 100,
    ASK_MOST_MS = 400,
    ASK_PAUSES = 4
};

static_assert(offsetof(struct iso_kafka_consumer, client) == 0,
              "the client's address is the consumer's");

/* Called from librdkafka's threads. More brokers than places are not watched. */
static rd_kafka_resp_err_t on_response(rd_kafka_t *handle, int socket, const char *name,
                                       int32_t broker, int16_t api, int16_t version,
                                       int32_t correlation, size_t size, int64_t duration,
                                       rd_kafka_resp_err_t failure, void *context)
{
    struct liveness *liveness = context;
    (void)handle, (void)socket, (void)name, (void)version, (void)correlation, (void)size,
        (void)duration;
    if (api == FETCH && !failure && broker >= 0 && broker < LIVENESS_BROKERS)
        atomic_store_explicit(&liveness->answered[broker], iso_clock_ms(), memory_order_relaxed);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *handle, const rd_kafka_conf_t *conf, void *context,
                                  char *text, size_t size)
{
    struct iso_kafka_consumer *consumer = rd_kafka_opaque(handle);
    (void)conf, (void)context, (void)text, (void)size;
    return rd_kafka_interceptor_add_on_response_received(handle, "isochron", on_response,
                                                         &consumer->liveness);
}

void kafka_consumer_observe_answers(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_interceptor_add_on_new(conf, "isochron", on_new, NULL);
}

void kafka_consumer_set_liveness(struct iso_kafka_consumer *consumer,
                                 const struct iso_kafka_properties *properties)
{
    const char *wait = iso_kafka_properties_get(properties, "fetch.wait.max.ms");
    consumer->liveness.silent_ms = SILENT_MS + 2 * (wait ? atoi(wait) : FETCH_WAIT_MS);
    consumer->liveness.ask_ms = ASK_MS;
}

void kafka_consumer_doubt_liveness(struct iso_kafka_consumer *consumer)
{
    consumer->liveness.lost = consumer->liveness.doubted = true;
}

void iso_kafka_consumer_doubt(struct iso_kafka_consumer *consumer)
{
    kafka_consumer_doubt_liveness(consumer);
    consumer->identity.sign = true;
    consumer->liveness.asked = 0;
}

/* A broker that answered fetches does so no more. It may have nothing to fetch: that is to be found
 * out. */
static bool is_one_silent(const struct liveness *liveness, int64_t now)
{
    for (int broker = 0; broker < LIVENESS_BROKERS; broker++) {
        int64_t answered = atomic_load_explicit(&liveness->answered[broker], memory_order_relaxed);
        if (answered && now - answered > liveness->silent_ms)
            return true;
    }
    return false;
}

static void forget_silent(struct liveness *liveness, int64_t now)
{
    for (int broker = 0; broker < LIVENESS_BROKERS; broker++) {
        int64_t answered = atomic_load_explicit(&liveness->answered[broker], memory_order_relaxed);
        if (answered && now - answered > liveness->silent_ms)
            atomic_compare_exchange_strong(&liveness->answered[broker], &answered, 0);
    }
}

/* The partitions' ends now, as offsets of the list; false if a leader does not answer. */
static bool ask_ends(struct iso_kafka_consumer *consumer, rd_kafka_topic_partition_list_t *list)
{
    for (uint32_t i = 0; i < consumer->partition_count; i++)
        rd_kafka_topic_partition_list_add(list, consumer->partitions[i].topic,
                                          consumer->partitions[i].partition)
            ->offset = RD_KAFKA_OFFSET_END;
    if (rd_kafka_offsets_for_times(consumer->client.handle, list, consumer->liveness.ask_ms))
        return false;
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].err || list->elems[i].offset < 0)
            return false;
    return true;
}

/* The list is in the partitions' order, unless librdkafka sorted it. */
static void expect_ends(struct iso_kafka_consumer *consumer,
                        const rd_kafka_topic_partition_list_t *list)
{
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        const rd_kafka_topic_partition_t *found = rd_kafka_topic_partition_list_find(
            (rd_kafka_topic_partition_list_t *)list, partition->topic, partition->partition);
        consumer->parts[i].supply.due = found ? found->offset : 0;
    }
}

static bool is_troubled(struct iso_kafka_consumer *consumer)
{
    char text[2];
    return iso_kafka_client_trouble(&consumer->client, text, sizeof text);
}

/* Where every leader answers, what was wrong with a broker is history: also if there is nothing to
 * fetch from it. */
void kafka_consumer_check_liveness(struct iso_kafka_consumer *consumer)
{
    struct liveness *liveness = &consumer->liveness;
    int64_t now = iso_clock_ms();
    liveness->doubted = liveness->doubted || is_one_silent(liveness, now) || is_troubled(consumer);
    if (!liveness->doubted || now - liveness->asked < ASK_PAUSES * liveness->ask_ms)
        return;
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)consumer->partition_count);
    if (ask_ends(consumer, list)) {
        if (liveness->lost)
            expect_ends(consumer, list);
        if (consumer->partition_count)
            iso_kafka_client_forget_trouble(&consumer->client);
        forget_silent(liveness, now);
        liveness->lost = liveness->doubted = false;
        liveness->ask_ms = ASK_MS;
        liveness->asked = 0;
    } else {
        liveness->lost = true;
        liveness->ask_ms = liveness->ask_ms < ASK_MOST_MS ? 2 * liveness->ask_ms : ASK_MOST_MS;
        liveness->asked = iso_clock_ms();
    }
    rd_kafka_topic_partition_list_destroy(list);
}

bool iso_kafka_consumer_is_live(const struct iso_kafka_consumer *consumer)
{
    if (consumer->liveness.lost)
        return false;
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        const struct supply *supply = &consumer->parts[i].supply;
        bool ended = consumer->until_eof && partition->next >= partition->end;
        if (!ended && (!supply->answered || partition->next < supply->due))
            return false;
    }
    return true;
}
