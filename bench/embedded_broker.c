/* A Kafka cluster without Java for `make demo` and for trying things out: librdkafka's mock
 * brokers, for as long as its standard input stays open.
 *
 *     embedded-broker TOPIC:PARTITIONS...        prints host:port,host:port,... on one line once it
 *                                                listens
 *
 * Nothing is kept on disk, and of each partition the last 5 MiB only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connectors/kafka/mock.h"

enum { BROKERS = 1, PARTITIONS_MOST = 256 };

static enum iso_status create(struct iso_kafka_mock *mock, const char *argument,
                              struct iso_error *error)
{
    char topic[256];
    const char *colon = strrchr(argument, ':');
    long partitions = colon ? strtol(colon + 1, NULL, 10) : 0;
    if (!colon || partitions < 1 || partitions > PARTITIONS_MOST ||
        (size_t)(colon - argument) >= sizeof topic)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: expected TOPIC:PARTITIONS", argument);
    snprintf(topic, sizeof topic, "%.*s", (int)(colon - argument), argument);
    return iso_kafka_mock_topic(mock, topic, (int32_t)partitions, error);
}

int main(int count, char **arguments)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_kafka_mock *mock = iso_kafka_mock_new(BROKERS, &error);
    char byte;
    for (int i = 1; mock && i < count && error.status == ISO_OK; i++)
        create(mock, arguments[i], &error);
    if (error.status == ISO_OK) {
        printf("%s\n", iso_kafka_mock_address(mock));
        fflush(stdout);
        while (read(STDIN_FILENO, &byte, 1) > 0)
            continue;
    } else {
        fprintf(stderr, "embedded-broker: %s\n", error.text);
    }
    if (mock)
        iso_kafka_mock_free(mock);
    return (int)error.status;
}
