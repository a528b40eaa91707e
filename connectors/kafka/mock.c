#include "connectors/kafka/mock.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "base/memory.h"

enum { FETCH_REQUEST = 1, LIST_OFFSETS_REQUEST = 2 };

struct iso_kafka_mock {
    rd_kafka_t *handle; /* carries the cluster, and connects nowhere itself */
    rd_kafka_mock_cluster_t *cluster;
};

/* Brokers that are taken down would be reported on stderr otherwise. */
static void be_silent(const rd_kafka_t *handle, int level, const char *facility, const char *text)
{
    (void)handle, (void)level, (void)facility, (void)text;
}

struct iso_kafka_mock *iso_kafka_mock_new(unsigned brokers, struct iso_error *error)
{
    char text[512];
    struct iso_kafka_mock *mock = iso_allocate_zeroed(1, sizeof *mock);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, be_silent);
    mock->handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (!mock->handle) {
        rd_kafka_conf_destroy(conf);
        iso_error_set(error, ISO_FAILED, "mock cluster: %s", text);
    } else {
        mock->cluster = rd_kafka_mock_cluster_new(mock->handle, (int)brokers);
        if (!mock->cluster)
            iso_error_set(error, ISO_FAILED,
                          "mock cluster: its brokers could not listen on loopback");
    }
    if (error->status == ISO_OK)
        return mock;
    iso_kafka_mock_free(mock);
    return NULL;
}

void iso_kafka_mock_free(struct iso_kafka_mock *mock)
{
    if (!mock)
        return;
    if (mock->cluster)
        rd_kafka_mock_cluster_destroy(mock->cluster);
    if (mock->handle)
        rd_kafka_destroy(mock->handle);
    iso_free(mock);
}

const char *iso_kafka_mock_address(const struct iso_kafka_mock *mock)
{
    return rd_kafka_mock_cluster_bootstraps(mock->cluster);
}

enum iso_status iso_kafka_mock_topic(struct iso_kafka_mock *mock, const char *topic,
                                     int32_t partitions, struct iso_error *error)
{
    rd_kafka_resp_err_t failure = rd_kafka_mock_topic_create(mock->cluster, topic, partitions, 1);
    if (failure)
        return iso_error_set(error, ISO_FAILED, "mock topic %s: %s", topic,
                             rd_kafka_err2str(failure));
    return ISO_OK;
}

void iso_kafka_mock_down(struct iso_kafka_mock *mock, int32_t broker, bool down)
{
    if (down)
        rd_kafka_mock_broker_set_down(mock->cluster, broker);
    else
        rd_kafka_mock_broker_set_up(mock->cluster, broker);
}

void iso_kafka_mock_latency(struct iso_kafka_mock *mock, int32_t broker, int milliseconds)
{
    rd_kafka_mock_broker_set_rtt(mock->cluster, broker, milliseconds);
}

void iso_kafka_mock_leader(struct iso_kafka_mock *mock, const char *topic, int32_t partition,
                           int32_t broker)
{
    rd_kafka_mock_partition_set_leader(mock->cluster, topic, partition, broker);
}

static void fail_requests(struct iso_kafka_mock *mock, int16_t request, int16_t protocol_error,
                          unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        rd_kafka_mock_push_request_errors(mock->cluster, request, 1,
                                          (rd_kafka_resp_err_t)protocol_error);
}

void iso_kafka_mock_fail_fetches(struct iso_kafka_mock *mock, int16_t protocol_error,
                                 unsigned count)
{
    fail_requests(mock, FETCH_REQUEST, protocol_error, count);
}

void iso_kafka_mock_fail_offsets(struct iso_kafka_mock *mock, int16_t protocol_error,
                                 unsigned count)
{
    fail_requests(mock, LIST_OFFSETS_REQUEST, protocol_error, count);
}
