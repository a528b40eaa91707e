/* Finding topics and partitions, making start offsets absolute, and beginning to consume. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "connectors/kafka/consumer_private.h"

/* A topic that was created a moment ago may not be known to the broker that is asked. */
enum { PROPAGATION_MS = 2000, RETRY_MS = 100, LATER_TIMEOUT_MS = 1000 };

static int remaining_ms(int64_t deadline)
{
    int64_t left = deadline - iso_clock_ms();
    return left < 1 ? 1 : (int)left;
}

static void sleep_ms(int64_t milliseconds)
{
    struct timespec duration = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&duration, NULL);
}

static bool is_silence(rd_kafka_resp_err_t failure)
{
    return failure == RD_KAFKA_RESP_ERR__TRANSPORT || failure == RD_KAFKA_RESP_ERR__TIMED_OUT ||
           failure == RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE ||
           failure == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           failure == RD_KAFKA_RESP_ERR__WAIT_COORD ||
           failure == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           failure == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           failure == RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE;
}

static bool is_missing(rd_kafka_resp_err_t failure)
{
    return failure == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           failure == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
}

/* The topic's partitions now; `*count` 0 if it does not exist. */
static rd_kafka_resp_err_t count_partitions(struct iso_kafka_consumer *consumer,
                                            const struct topic *topic, int timeout_ms,
                                            int32_t *count)
{
    const struct rd_kafka_metadata *metadata;
    *count = 0;
    rd_kafka_resp_err_t failure =
        rd_kafka_metadata(consumer->client.handle, 0, topic->handle, &metadata, timeout_ms);
    if (failure)
        return failure;
    if (metadata->topic_cnt == 1) {
        failure = metadata->topics[0].err;
        *count = failure ? 0 : (int32_t)metadata->topics[0].partition_cnt;
    }
    rd_kafka_metadata_destroy(metadata);
    return failure;
}

static enum iso_status explain_topic(struct iso_kafka_consumer *consumer, const struct topic *topic,
                                     rd_kafka_resp_err_t failure, struct iso_error *error)
{
    struct iso_kafka_client *client = &consumer->client;
    rd_kafka_poll(client->handle, 0);
    if (client->fatal)
        return iso_error_set(error, ISO_FAILED, "Kafka broker %s: %s", client->brokers,
                             client->fatal_text);
    if (is_silence(failure))
        return iso_kafka_client_no_answer(client, consumer->connect_seconds, error);
    if (is_missing(failure))
        return iso_error_set(error, ISO_FAILED, "topic %s does not exist on Kafka broker %s",
                             topic->name, client->brokers);
    return iso_error_set(error, ISO_FAILED, "topic %s: %s", topic->name, rd_kafka_err2str(failure));
}

/* At the start: asks again until the deadline. */
static enum iso_status await_topic(struct iso_kafka_consumer *consumer, const struct topic *topic,
                                   int64_t deadline, int32_t *count, struct iso_error *error)
{
    int64_t patience = iso_clock_ms() + PROPAGATION_MS;
    for (;;) {
        rd_kafka_resp_err_t failure =
            count_partitions(consumer, topic, remaining_ms(deadline), count);
        rd_kafka_poll(consumer->client.handle, 0);
        if (!failure && *count > 0)
            return ISO_OK;
        bool missing = is_missing(failure) || !failure;
        if (missing && consumer->wait_for_topics)
            return ISO_OK;
        int64_t limit = missing && patience < deadline ? patience : deadline;
        if (consumer->client.fatal || iso_clock_ms() >= limit || (!missing && !is_silence(failure)))
            return explain_topic(consumer, topic,
                                 missing ? RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC : failure, error);
        sleep_ms(RETRY_MS);
    }
}

/* The first offset at or after a time, -1 if there is none; RD_KAFKA_OFFSET_BEGINNING and
 * RD_KAFKA_OFFSET_END are times too. */
static rd_kafka_resp_err_t offset_of_time(struct iso_kafka_consumer *consumer, const char *topic,
                                          int32_t partition, int64_t time, int timeout_ms,
                                          int64_t *offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *element = rd_kafka_topic_partition_list_add(list, topic, partition);
    element->offset = time;
    rd_kafka_resp_err_t failure =
        rd_kafka_offsets_for_times(consumer->client.handle, list, timeout_ms);
    if (!failure)
        failure = element->err;
    *offset = element->offset;
    rd_kafka_topic_partition_list_destroy(list);
    return failure;
}

/* The group's committed offset, or `low` where it committed none. */
static rd_kafka_resp_err_t committed_offset(struct iso_kafka_consumer *consumer, const char *topic,
                                            int32_t partition, int64_t low, int timeout_ms,
                                            int64_t *offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *element = rd_kafka_topic_partition_list_add(list, topic, partition);
    rd_kafka_resp_err_t failure = rd_kafka_committed(consumer->client.handle, list, timeout_ms);
    if (!failure)
        failure = element->err;
    *offset = element->offset >= 0 ? element->offset : low;
    rd_kafka_topic_partition_list_destroy(list);
    return failure;
}

static const struct iso_kafka_position *given_position(const struct iso_kafka_consumer *consumer,
                                                       const char *topic, int32_t partition)
{
    for (uint32_t i = 0; i < consumer->position_count; i++) {
        const struct iso_kafka_position *position = &consumer->positions[i];
        if (position->partition == partition && !strcmp(position->topic, topic))
            return position;
    }
    return NULL;
}

/* An offset that retention removed, or that never was, is told before anything is consumed. */
static enum iso_status check_start(const char *topic, int32_t partition, int64_t low, int64_t high,
                                   int64_t offset, struct iso_error *error)
{
    if (offset < low || offset > high)
        return iso_error_set(error, ISO_FAILED,
                             "topic %s partition %" PRId32 " offset %" PRId64
                             ": not on the broker, which has %" PRId64 " to %" PRId64,
                             topic, partition, offset, low, high);
    return ISO_OK;
}

/* The partition's first offset and its end now. One that was created a moment ago may not have its
 * leader yet: it is asked again until the deadline. (librdkafka's own
 * rd_kafka_query_watermark_offsets asks for both at once, and where the broker refuses one of the
 * two, 2.0.2 was seen to give the other's answer for both: a start at the end.) */
static rd_kafka_resp_err_t query_ends(struct iso_kafka_consumer *consumer, const char *topic,
                                      int32_t partition, int64_t deadline, int64_t *low,
                                      int64_t *high)
{
    for (;;) {
        rd_kafka_resp_err_t failure = offset_of_time(
            consumer, topic, partition, RD_KAFKA_OFFSET_BEGINNING, remaining_ms(deadline), low);
        if (!failure)
            failure = offset_of_time(consumer, topic, partition, RD_KAFKA_OFFSET_END,
                                     remaining_ms(deadline), high);
        if (!failure && (*low < 0 || *high < *low))
            failure = RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE;
        if (!is_silence(failure) || iso_clock_ms() + RETRY_MS >= deadline)
            return failure;
        sleep_ms(RETRY_MS);
    }
}

/* Where to start in a partition, and where it ends now. */
static enum iso_status resolve_start(struct iso_kafka_consumer *consumer, const struct topic *topic,
                                     int32_t partition, bool first, int64_t deadline,
                                     int64_t *offset, int64_t *end, struct iso_error *error)
{
    int64_t low = 0, high = 0;
    rd_kafka_resp_err_t failure =
        query_ends(consumer, topic->name, partition, deadline, &low, &high);
    int timeout_ms = remaining_ms(deadline);
    *offset = low;
    *end = high;
    if (!failure && first && consumer->start == ISO_KAFKA_END)
        *offset = high;
    if (!failure && first && consumer->start == ISO_KAFKA_TIME) {
        failure = offset_of_time(consumer, topic->name, partition, consumer->start_time, timeout_ms,
                                 offset);
        *offset = *offset < 0 ? high : *offset;
    }
    if (!failure && first && consumer->start == ISO_KAFKA_STORED)
        failure = committed_offset(consumer, topic->name, partition, low, timeout_ms, offset);
    const struct iso_kafka_position *given = consumer->start == ISO_KAFKA_POSITIONS
                                                 ? given_position(consumer, topic->name, partition)
                                                 : NULL;
    *offset = given ? given->offset : *offset;
    if (failure)
        return iso_error_set(error, ISO_FAILED,
                             "topic %s partition %" PRId32 ": asking for its offsets: %s",
                             topic->name, partition, rd_kafka_err2str(failure));
    if (check_start(topic->name, partition, low, high, *offset, error) != ISO_OK)
        return error->status;
    if (given && given->compared && given->offset > low)
        *offset = given->offset - 1;
    return ISO_OK;
}

/* Adds the index of the topic's next partition. */
static void add_index(struct topic *topic, uint32_t index)
{
    ISO_GROW(topic->index_of, (uint32_t)topic->partition_count, topic->capacity);
    topic->index_of[topic->partition_count++] = index;
}

static struct iso_kafka_partition *add_partition(struct iso_kafka_consumer *consumer,
                                                 uint32_t topic, int64_t next)
{
    add_index(&consumer->topics[topic], consumer->partition_count);
    if (consumer->partition_count == consumer->partition_capacity) {
        uint32_t capacity = consumer->partition_capacity ? consumer->partition_capacity * 2 : 16;
        consumer->partitions =
            iso_reallocate(consumer->partitions, capacity * sizeof *consumer->partitions);
        consumer->parts = iso_reallocate(consumer->parts, capacity * sizeof *consumer->parts);
        consumer->partition_capacity = capacity;
    }
    consumer->parts[consumer->partition_count] =
        (struct partition_parts){.gaps = {.next = next, .sought = -1},
                                 .supply.empty_at = -1,
                                 .memory = {.anchor.offset = -1, .candidate.offset = -1},
                                 .topic = topic};
    return &consumer->partitions[consumer->partition_count++];
}

static enum iso_status place_partition(struct iso_kafka_consumer *consumer, uint32_t topic_index,
                                       bool first, int64_t deadline, struct iso_error *error)
{
    struct topic *topic = &consumer->topics[topic_index];
    int32_t number = topic->partition_count;
    int64_t offset, end;
    if (resolve_start(consumer, topic, number, first, deadline, &offset, &end, error) != ISO_OK)
        return error->status;
    uint32_t input = iso_inputs_number(consumer->inputs, topic->name, strlen(topic->name), number);
    if (input == ISO_INPUTS_MAX)
        return iso_error_set(error, ISO_BAD_INPUT, "topic %s: more than %d partitions in all",
                             topic->name, ISO_INPUTS_MAX);
    *add_partition(consumer, topic_index, offset) =
        (struct iso_kafka_partition){.input = input,
                                     .topic = consumer->inputs->list[input].topic,
                                     .partition = number,
                                     .next = offset,
                                     .end = consumer->until_eof ? end : -1,
                                     .at_end = consumer->until_eof && offset >= end};
    consumer->parts[consumer->partition_count - 1].supply.end_then = end;
    return ISO_OK;
}

/* Fetching begins once nothing more is to be asked: an answer would wait behind the fetches of its
 * connection, each of which the broker may keep for fetch.wait.max.ms. */
static enum iso_status begin_partition(struct iso_kafka_consumer *consumer, uint32_t index,
                                       struct iso_error *error)
{
    const struct iso_kafka_partition *partition = &consumer->partitions[index];
    rd_kafka_topic_t *topic = consumer->topics[consumer->parts[index].topic].handle;
    rd_kafka_queue_t *queue = consumer->budget.queue;
    if (rd_kafka_consume_start_queue(topic, partition->partition, partition->next, queue) < 0)
        return iso_error_set(error, ISO_FAILED,
                             "topic %s partition %" PRId32 " offset %" PRId64 ": %s",
                             partition->topic, partition->partition, partition->next,
                             rd_kafka_err2str(rd_kafka_last_error()));
    return ISO_OK;
}

static bool is_of_prefix(const struct iso_kafka_consumer *consumer, const char *name)
{
    bool begins = false;
    for (uint32_t i = 0; i < consumer->prefix_count; i++)
        begins |= !strncmp(name, consumer->prefixes[i], strlen(consumer->prefixes[i]));
    return begins;
}

static uint32_t find_topic(const struct iso_kafka_consumer *consumer, const char *name)
{
    uint32_t i = 0;
    while (i < consumer->topic_count && strcmp(name, consumer->topics[i].name) != 0)
        i++;
    return i;
}

static void add_topics(struct iso_kafka_consumer *consumer,
                       const struct rd_kafka_metadata *metadata, struct iso_error *error)
{
    for (int i = 0; i < metadata->topic_cnt && error->status == ISO_OK; i++) {
        const struct rd_kafka_metadata_topic *topic = &metadata->topics[i];
        uint32_t number = find_topic(consumer, topic->topic);
        bool is_new = number == consumer->topic_count;
        if (topic->err || !topic->partition_cnt ||
            (is_new && !is_of_prefix(consumer, topic->topic)))
            continue;
        if (is_new) {
            consumer->topics = iso_reallocate(consumer->topics, (consumer->topic_count + 1) *
                                                                    sizeof *consumer->topics);
            kafka_consumer_name_topic(consumer, &consumer->topics[consumer->topic_count++],
                                      topic->topic, error);
        }
        consumer->topics[number].told = topic->partition_cnt;
    }
}

/* Those of the prefixes. At the start there has to be one. */
static enum iso_status find_topics(struct iso_kafka_consumer *consumer, bool first,
                                   int64_t deadline, struct iso_error *error)
{
    const struct rd_kafka_metadata *metadata;
    uint32_t named = consumer->topic_count;
    int64_t patience = iso_clock_ms() + PROPAGATION_MS;
    while (consumer->prefix_count && error->status == ISO_OK) {
        rd_kafka_resp_err_t failure =
            rd_kafka_metadata(consumer->client.handle, 1, NULL, &metadata, remaining_ms(deadline));
        rd_kafka_poll(consumer->client.handle, 0);
        if (!failure) {
            add_topics(consumer, metadata, error);
            rd_kafka_metadata_destroy(metadata);
        }
        bool is_enough =
            !first || consumer->topic_count > named || (!failure && consumer->wait_for_topics);
        if (is_enough)
            break;
        if (consumer->client.fatal || iso_clock_ms() >= (failure ? deadline : patience)) {
            struct topic none = {.name = consumer->prefixes[0]};
            if (failure)
                return explain_topic(consumer, &none, failure, error);
            return iso_error_set(error, ISO_FAILED, "no topic on Kafka broker %s begins with %s",
                                 consumer->client.brokers, consumer->prefixes[0]);
        }
        sleep_ms(RETRY_MS);
    }
    return error->status;
}

enum iso_status kafka_consumer_find(struct iso_kafka_consumer *consumer, bool first,
                                    struct iso_error *error)
{
    int64_t deadline =
        iso_clock_ms() + (first ? (int64_t)consumer->connect_seconds * 1000 : LATER_TIMEOUT_MS);
    uint32_t known = consumer->partition_count;
    if (find_topics(consumer, first, deadline, error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0; i < consumer->topic_count; i++) {
        struct topic *topic = &consumer->topics[i];
        int32_t count = topic->told;
        if (first && await_topic(consumer, topic, deadline, &count, error) != ISO_OK)
            return error->status;
        if (!first && !consumer->prefix_count && /* one by one, the last have no time left */
            count_partitions(consumer, topic, remaining_ms(deadline), &count))
            continue;
        while (topic->partition_count < count) {
            struct iso_error later = {0};
            if (place_partition(consumer, i, first, deadline, first ? error : &later) == ISO_OK)
                continue;
            if (first)
                return error->status;
            consumer->counters.errors++; /* it is tried again at the next refresh */
            break;
        }
    }
    for (uint32_t i = known; i < consumer->partition_count && error->status == ISO_OK; i++)
        begin_partition(consumer, i, error);
    consumer->refreshed = iso_clock_ms();
    return error->status;
}

const char *iso_kafka_consumer_awaited_topic(const struct iso_kafka_consumer *consumer)
{
    for (uint32_t i = 0; i < consumer->topic_count; i++) {
        const struct topic *topic = &consumer->topics[i];
        if (!topic->partition_count && (topic->told || !is_of_prefix(consumer, topic->name)))
            return topic->name;
    }
    return NULL;
}

enum iso_status iso_kafka_consumer_stop_at_ends(struct iso_kafka_consumer *consumer,
                                                struct iso_error *error)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)consumer->partition_count);
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        rd_kafka_topic_partition_list_add(list, partition->topic, partition->partition)->offset =
            RD_KAFKA_OFFSET_END;
    }
    rd_kafka_resp_err_t failure =
        list->cnt ? rd_kafka_offsets_for_times(consumer->client.handle, list,
                                               (int)consumer->connect_seconds * 1000)
                  : RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int i = 0; i < list->cnt && !failure; i++)
        failure = list->elems[i].err;
    for (int i = 0; i < list->cnt && !failure; i++) {
        struct iso_kafka_partition *partition = &consumer->partitions[i];
        partition->end = list->elems[i].offset;
        partition->at_end = partition->next >= partition->end;
    }
    consumer->until_eof = !failure;
    rd_kafka_topic_partition_list_destroy(list);
    if (failure)
        return iso_error_set(error, ISO_FAILED, "Kafka broker %s: asking where partitions end: %s",
                             consumer->client.brokers, rd_kafka_err2str(failure));
    return ISO_OK;
}
