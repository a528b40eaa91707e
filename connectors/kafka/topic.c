#include "connectors/kafka/topic.h"

enum { ANSWER_SECONDS = 10 };

/* The broker's result for the one topic. */
static rd_kafka_resp_err_t result_of(rd_kafka_event_t *event)
{
    size_t count = 0;
    if (!event)
        return RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (rd_kafka_event_error(event))
        return rd_kafka_event_error(event);
    const rd_kafka_DeleteTopics_result_t *result = rd_kafka_event_DeleteTopics_result(event);
    const rd_kafka_topic_result_t **topics = rd_kafka_DeleteTopics_result_topics(result, &count);
    return count ? rd_kafka_topic_result_error(topics[0]) : RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void ask_broker(rd_kafka_t *handle, const char *name, struct iso_error *error)
{
    char text[512];
    rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(name);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(handle, RD_KAFKA_ADMIN_OP_DELETETOPICS);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
    rd_kafka_AdminOptions_set_request_timeout(options, ANSWER_SECONDS * 1000, text, sizeof text);
    rd_kafka_DeleteTopics(handle, &topic, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, (ANSWER_SECONDS + 1) * 1000);
    rd_kafka_resp_err_t failure = result_of(event);
    if (failure)
        iso_error_set(error, ISO_FAILED, "topic %s could not be deleted: %s", name,
                      rd_kafka_err2str(failure));
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_DeleteTopic_destroy(topic);
}

enum iso_status iso_kafka_topic_delete(const struct iso_kafka_properties *properties,
                                       const char *topic, struct iso_error *error)
{
    static const char *const defaults[] = {"client.id", "isochron", NULL};
    struct iso_kafka_client client = {0};
    if (iso_kafka_client_open(&client, RD_KAFKA_PRODUCER, properties, defaults, NULL, error) ==
        ISO_OK)
        ask_broker(client.handle, topic, error);
    iso_kafka_client_close(&client);
    return error->status;
}
