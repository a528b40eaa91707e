#include "connectors/kafka/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ANSWER_SECONDS = 10, OFFSETS_MS = 3000, MESSAGE_MS = 3000 };

/* Nothing is committed: the group is a name that the client wants. */
static const char *const defaults[] = {
    "client.id",
    "isochron",
    "group.id",
    "isochron-doctor",
    "enable.auto.commit",
    "false",
    "enable.auto.offset.store",
    "false",
    "isolation.level",
    "read_uncommitted",
    NULL,
};

static int compare_topics(const void *left, const void *right)
{
    const struct iso_kafka_surveyed *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void take_topics(struct iso_kafka_survey *survey, const struct rd_kafka_metadata *metadata)
{
    survey->topics = iso_allocate_zeroed((size_t)metadata->topic_cnt + 1, sizeof *survey->topics);
    for (int i = 0; i < metadata->topic_cnt; i++) {
        const struct rd_kafka_metadata_topic *topic = &metadata->topics[i];
        if (topic->err || !strncmp(topic->topic, "__", 2))
            continue;
        survey->topics[survey->count++] = (struct iso_kafka_surveyed){
            iso_copy_text(topic->topic, strlen(topic->topic)), (int32_t)topic->partition_cnt};
    }
    if (survey->count)
        qsort(survey->topics, survey->count, sizeof *survey->topics, compare_topics);
}

enum iso_status iso_kafka_survey(struct iso_kafka_survey *survey,
                                 const struct iso_kafka_properties *properties,
                                 struct iso_error *error)
{
    const struct rd_kafka_metadata *metadata;
    *survey = (struct iso_kafka_survey){0};
    if (iso_kafka_client_open(&survey->client, RD_KAFKA_CONSUMER, properties, defaults, NULL,
                              error) != ISO_OK)
        return error->status;
    if (rd_kafka_metadata(survey->client.handle, 1, NULL, &metadata, ANSWER_SECONDS * 1000))
        return iso_kafka_client_no_answer(&survey->client, ANSWER_SECONDS, error);
    take_topics(survey, metadata);
    rd_kafka_metadata_destroy(metadata);
    return ISO_OK;
}

void iso_kafka_survey_release(struct iso_kafka_survey *survey)
{
    for (uint32_t i = 0; i < survey->count; i++)
        iso_free(survey->topics[i].name);
    iso_free(survey->topics);
    if (survey->client.handle)
        rd_kafka_consumer_close(survey->client.handle);
    iso_kafka_client_close(&survey->client);
    *survey = (struct iso_kafka_survey){0};
}

const struct iso_kafka_surveyed *iso_kafka_survey_find(const struct iso_kafka_survey *survey,
                                                       const char *topic)
{
    for (uint32_t i = 0; i < survey->count; i++)
        if (!strcmp(survey->topics[i].name, topic))
            return &survey->topics[i];
    return NULL;
}

/* Returns how many messages there are to come. */
static int64_t add_partition(struct iso_kafka_survey *survey, const char *topic, int32_t partition,
                             int64_t most, rd_kafka_topic_partition_list_t *places)
{
    int64_t low = 0, high = 0;
    if (rd_kafka_query_watermark_offsets(survey->client.handle, topic, partition, &low, &high,
                                         OFFSETS_MS) ||
        high <= low)
        return 0;
    int64_t from = high - most > low ? high - most : low;
    rd_kafka_topic_partition_list_add(places, topic, partition)->offset = from;
    return high - from;
}

void iso_kafka_survey_last(struct iso_kafka_survey *survey, const struct iso_kafka_surveyed *topic,
                           int64_t most,
                           void (*take)(void *context, const void *payload, size_t size),
                           void *context)
{
    rd_kafka_topic_partition_list_t *places = rd_kafka_topic_partition_list_new(topic->partitions);
    int64_t expected = 0, until = iso_clock_ms() + MESSAGE_MS;
    for (int32_t partition = 0; partition < topic->partitions; partition++)
        expected += add_partition(survey, topic->name, partition, most, places);
    if (expected && !rd_kafka_assign(survey->client.handle, places)) {
        while (expected > 0 && iso_clock_ms() < until) {
            rd_kafka_message_t *message = rd_kafka_consumer_poll(survey->client.handle, 100);
            if (!message)
                continue;
            if (!message->err)
                expected--;
            if (!message->err && message->payload)
                take(context, message->payload, message->len);
            rd_kafka_message_destroy(message);
        }
        rd_kafka_assign(survey->client.handle, NULL);
    }
    rd_kafka_topic_partition_list_destroy(places);
}
