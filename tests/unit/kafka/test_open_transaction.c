/* A transaction that is not ended yet: a partition's end, as the broker counts it, lies beyond what
 * it gives out. The other partitions are read all the same.
 *
 * The mock broker knows no transactions, so the end is moved where the consumer asks for it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <cmocka.h>

#include "connectors/kafka/consumer.h"
#include "connectors/kafka/mock.h"
#include "connectors/kafka/producer.h"

enum { PATIENCE_MS = 90000, FEW = 10, MANY = 2000, OPEN = 1000, LITTLE_MEMORY = 60000 };

/* In librdkafka's place. */
rd_kafka_resp_err_t rd_kafka_get_watermark_offsets(rd_kafka_t *handle, const char *topic,
                                                   int32_t partition, int64_t *low, int64_t *high)
{
    rd_kafka_resp_err_t (*next)(rd_kafka_t *, const char *, int32_t, int64_t *, int64_t *);
    *(void **)&next = dlsym(RTLD_NEXT, "rd_kafka_get_watermark_offsets");
    rd_kafka_resp_err_t failure = next(handle, topic, partition, low, high);
    *high += !failure && partition == 0 && *high >= FEW ? OPEN : 0;
    return failure;
}

static void produce(const struct iso_kafka_properties *properties, int32_t partition,
                    uint32_t count, struct iso_error *error)
{
    struct iso_kafka_producer *producer = iso_kafka_producer_new(properties, "t", 2, error);
    const struct iso_message message = {.partition = partition,
                                        .payload = {(const uint8_t *)"x", 1}};
    assert_string_equal(error->text, "");
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(iso_kafka_producer_send(producer, &message, error), ISO_OK);
    assert_int_equal(iso_kafka_producer_flush(producer, PATIENCE_MS / 1000, error), ISO_OK);
    iso_kafka_producer_free(producer);
}

static void read_beside_an_open_transaction(uint64_t memory)
{
    static const char *const topics[] = {"t"};
    struct iso_error error = {0};
    struct iso_kafka_properties properties = {0};
    struct iso_inputs inputs;
    const struct iso_message *messages;
    uint32_t got, total = 0;
    struct iso_kafka_mock *mock = iso_kafka_mock_new(1, &error);
    assert_non_null(mock);
    iso_inputs_init(&inputs);
    iso_kafka_properties_set(&properties, "bootstrap.servers", iso_kafka_mock_address(mock));
    produce(&properties, 0, FEW, &error);
    produce(&properties, 1, MANY, &error);
    struct iso_kafka_consumer *consumer = iso_kafka_consumer_new(
        &(struct iso_kafka_consumer_options){
            .properties = &properties, .topics = topics, .topic_count = 1, .memory = memory},
        &inputs, &error);
    assert_non_null(consumer);
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         total < FEW + MANY && iso_clock_ms() < deadline; total += got)
        assert_int_equal(iso_kafka_consumer_poll(consumer, 20, &messages, &got, &error), ISO_OK);
    assert_int_equal(total, FEW + MANY);
    iso_kafka_consumer_free(consumer);
    iso_inputs_release(&inputs);
    iso_kafka_properties_release(&properties);
    iso_kafka_mock_free(mock);
}

static void other_partitions_are_read(void **state)
{
    (void)state;
    read_beside_an_open_transaction(0);
}

static void other_partitions_are_read_in_little_memory(void **state)
{
    (void)state;
    read_beside_an_open_transaction(LITTLE_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_partitions_are_read),
        cmocka_unit_test(other_partitions_are_read_in_little_memory),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
