/* A message that was damaged between its producer and here: the consumer stops and says where.
 *
 * librdkafka's producer cannot be made to send a wrong checksum, so this test speaks the protocol
 * by itself: one Produce request (version 3) with one batch of one record, whose checksum is right
 * or not. The mock broker keeps what it is given unread. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "connectors/kafka/consumer.h"
#include "connectors/kafka/mock.h"

enum { PATIENCE_MS = 90000, BEFORE_CHECKSUM = 17, AFTER_CHECKSUM = 21 };

struct bytes {
    uint8_t at[512];
    size_t used;
};

static void put(struct bytes *bytes, uint64_t value, int size)
{
    while (size--)
        bytes->at[bytes->used++] = (uint8_t)(value >> 8 * size);
}

static void put_text(struct bytes *bytes, const char *text)
{
    memcpy(bytes->at + bytes->used, text, strlen(text));
    bytes->used += strlen(text);
}

/* CRC-32C, bit by bit. */
static uint32_t checksum(const uint8_t *at, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* Lengths of a record are zig-zag varints; these are small. */
static void put_batch(struct bytes *batch, const char *payload, bool damaged)
{
    size_t length = strlen(payload);
    put(batch, 0, 8);                                     /* base offset: the broker's to set */
    put(batch, AFTER_CHECKSUM - 12 + 40 + 7 + length, 4); /* bytes that follows */
    put(batch, 0, 4), put(batch, 2, 1);                   /* leader epoch, magic */
    put(batch, 0, 4);                                     /* the checksum, below */
    put(batch, 0, 2), put(batch, 0, 4);                   /* attributes, last offset delta */
    put(batch, 1000, 8), put(batch, 1000, 8);             /* first and last time */
    put(batch, UINT64_MAX, 8), put(batch, UINT64_MAX, 2),
        put(batch, UINT64_MAX, 4);      /* no producer id */
    put(batch, 1, 4);                   /* records */
    put(batch, (6 + length) * 2, 1);    /* length of the record */
    put(batch, 0, 3), put(batch, 1, 1); /* attributes, deltas; no key */
    put(batch, length * 2, 1), put_text(batch, payload), put(batch, 0, 1); /* no headers */
    uint32_t crc =
        checksum(batch->at + AFTER_CHECKSUM, batch->used - AFTER_CHECKSUM) ^ (damaged ? 1 : 0);
    for (int i = 0; i < 4; i++)
        batch->at[BEFORE_CHECKSUM + i] = (uint8_t)(crc >> (24 - 8 * i));
}

static void send_batch(int connection, const char *payload, bool damaged)
{
    struct bytes batch = {.used = 0}, request = {.used = 0};
    uint8_t answer[256];
    put_batch(&batch, payload, damaged);
    put(&request, 0, 4); /* the size, below */
    put(&request, 0, 2), put(&request, 3, 2), put(&request, 7, 4),
        put(&request, UINT16_MAX, 2); /* Produce; no name */
    put(&request, UINT16_MAX, 2), put(&request, UINT16_MAX, 2),
        put(&request, 5000, 4); /* acks: all */
    put(&request, 1, 4), put(&request, 1, 2), put_text(&request, "t");
    put(&request, 1, 4), put(&request, 0, 4), put(&request, batch.used, 4);
    memcpy(request.at + request.used, batch.at, batch.used);
    request.used += batch.used;
    request.at[2] = (uint8_t)((request.used - 4) >> 8), request.at[3] = (uint8_t)(request.used - 4);
    assert_int_equal(send(connection, request.at, request.used, MSG_NOSIGNAL), request.used);
    assert_true(recv(connection, answer, sizeof answer, 0) > 27);
    /* size, correlation, one topic "t", one partition 0: then the error's code */
    assert_int_equal(answer[4 + 4 + 4 + 3 + 4 + 4] << 8 | answer[4 + 4 + 4 + 3 + 4 + 5], 0);
}

static int connect_to(const char *address)
{
    char host[64];
    unsigned port;
    assert_int_equal(sscanf(address, "%63[^:]:%u", host, &port), 2);
    struct sockaddr_in broker = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(connection, (struct sockaddr *)&broker, sizeof broker), 0);
    return connection;
}

/* Polls until `count` messages or an error came; what the messages say goes into `seen`. */
static enum iso_status consume(struct iso_kafka_consumer *consumer, uint32_t count, char *seen,
                               struct iso_error *error)
{
    const struct iso_message *messages;
    uint32_t got, total = 0;
    for (int64_t deadline = iso_clock_ms() + PATIENCE_MS;
         total < count && error->status == ISO_OK && iso_clock_ms() < deadline; total += got) {
        iso_kafka_consumer_poll(consumer, 100, &messages, &got, error);
        for (uint32_t i = 0; i < got; i++)
            strncat(seen, (const char *)messages[i].payload.data, messages[i].payload.size);
    }
    return error->status;
}

static void run(const char *check_crcs, bool damaged, uint64_t memory, char *seen,
                struct iso_error *error)
{
    static const char *const topics[] = {"t"};
    struct iso_kafka_properties properties = {0};
    struct iso_inputs inputs;
    struct iso_kafka_mock *mock = iso_kafka_mock_new(1, error);
    assert_non_null(mock);
    assert_int_equal(iso_kafka_mock_topic(mock, "t", 1, error), ISO_OK);
    int connection = connect_to(iso_kafka_mock_address(mock));
    send_batch(connection, "one ", false);
    send_batch(connection, "two ", damaged);
    send_batch(connection, "three ", false);
    close(connection);
    iso_inputs_init(&inputs);
    iso_kafka_properties_set(&properties, "bootstrap.servers", iso_kafka_mock_address(mock));
    if (check_crcs)
        iso_kafka_properties_set(&properties, "check.crcs", check_crcs);
    struct iso_kafka_consumer *consumer = iso_kafka_consumer_new(
        &(struct iso_kafka_consumer_options){
            .properties = &properties, .topics = topics, .topic_count = 1, .memory = memory},
        &inputs, error);
    assert_non_null(consumer);
    consume(consumer, 3, seen, error);
    iso_kafka_consumer_free(consumer);
    iso_inputs_release(&inputs);
    iso_kafka_properties_release(&properties);
    iso_kafka_mock_free(mock);
}

/* Without it the test below could not tell a wrong checksum from a wrong request. */
static void whole_batches_are_read(void **state)
{
    struct iso_error error = {0};
    char seen[256] = "";
    (void)state;
    run(NULL, false, 0, seen, &error);
    assert_string_equal(error.text, "");
    assert_string_equal(seen, "one two three ");
}

static void stops_at_damage(uint64_t memory)
{
    static const char place[] = "topic t partition 0 offset 1: ";
    struct iso_error error = {0};
    char seen[256] = "";
    run(NULL, true, memory, seen, &error);
    assert_int_equal(error.status, ISO_FAILED);
    assert_memory_equal(error.text, place, sizeof place - 1);
    assert_non_null(strstr(error.text, "CRC32C"));
    assert_null(strstr(seen, "two"));
    printf("# %s\n", error.text);
}

static void damaged_batch_stops_the_consumer(void **state)
{
    (void)state;
    stops_at_damage(0);
}

static void damaged_batch_stops_it_in_little_memory(void **state)
{
    (void)state;
    stops_at_damage(1);
}

/* Checking is a property like any other. */
static void unchecked_batch_is_read(void **state)
{
    struct iso_error error = {0};
    char seen[256] = "";
    (void)state;
    run("false", true, 0, seen, &error);
    assert_string_equal(error.text, "");
    assert_string_equal(seen, "one two three ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_batches_are_read),
        cmocka_unit_test(damaged_batch_stops_the_consumer),
        cmocka_unit_test(damaged_batch_stops_it_in_little_memory),
        cmocka_unit_test(unchecked_batch_is_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
