/* The schema registry client against answers that this test makes up.
 *
 * A thread with a listening loopback socket plays the registry: it proves which request goes out, and what becomes of
 * each kind of answer. It proves nothing about a real registry, of which no code is here. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/text.h"
#include "connectors/history/record.h"
#include "connectors/registry/registry.h"
#include "io/write_record.h"

enum { ANSWERS = 4, PATIENCE_MS = 60000, IMPATIENCE_MS = 300 };

static const char published[] =
#include <transaction.avsc.h>
    ;

/* One answer for each connection, the last for all that follow; NULL: the connection is held open without a word. */
struct stub {
    int listener, held, bell[2];
    uint16_t port;
    pthread_t thread;
    const char *answers[ANSWERS];
    unsigned requests;
    char request[4096]; /* the latest */
    struct iso_registry *registry;
    struct iso_error error;
};

static void read_request(struct stub *stub, int connection)
{
    size_t used = 0;
    ssize_t got = 1;
    stub->request[0] = 0;
    while (!strstr(stub->request, "\r\n\r\n") && used < sizeof stub->request - 1 && got > 0) {
        got = recv(connection, stub->request + used, sizeof stub->request - 1 - used, 0);
        used += got > 0 ? (size_t)got : 0;
        stub->request[used] = 0;
    }
}

static const char *next_answer(struct stub *stub)
{
    unsigned last = 0;
    while (last + 1 < ANSWERS && stub->answers[last + 1])
        last++;
    unsigned number = stub->requests++;
    return stub->answers[number < last ? number : last];
}

static void *serve(void *context)
{
    struct stub *stub = context;
    for (;;) {
        struct pollfd ready[] = {{stub->listener, POLLIN, 0}, {stub->bell[0], POLLIN, 0}};
        poll(ready, 2, -1);
        if (ready[1].revents)
            return NULL;
        int connection = accept(stub->listener, NULL, NULL);
        if (connection < 0)
            continue;
        read_request(stub, connection);
        const char *answer = next_answer(stub);
        if (answer) {
            send(connection, answer, strlen(answer), MSG_NOSIGNAL);
            close(connection);
        } else {
            stub->held = connection;
        }
    }
}

static void open_registry(struct stub *stub, const char *form)
{
    char url[128];
    snprintf(url, sizeof url, form, stub->port);
    stub->registry = iso_registry_new(url, &stub->error);
    assert_string_equal(stub->error.text, "");
    iso_registry_patience(stub->registry, PATIENCE_MS);
}

static int start(void **state)
{
    struct stub *stub = calloc(1, sizeof *stub);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    stub->held = -1;
    stub->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(pipe(stub->bell), 0);
    assert_int_equal(bind(stub->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(stub->listener, 16), 0);
    assert_int_equal(getsockname(stub->listener, (struct sockaddr *)&address, &size), 0);
    stub->port = ntohs(address.sin_port);
    *state = stub;
    return 0;
}

static void run(struct stub *stub)
{
    assert_int_equal(pthread_create(&stub->thread, NULL, serve, stub), 0);
    open_registry(stub, "http://127.0.0.1:%u/");
}

/* After it the thread's counts may be read. */
static void end(struct stub *stub)
{
    assert_int_equal(write(stub->bell[1], "x", 1), 1);
    pthread_join(stub->thread, NULL);
    stub->thread = 0;
}

static int stop(void **state)
{
    struct stub *stub = *state;
    if (stub->thread)
        end(stub);
    iso_registry_free(stub->registry);
    close(stub->listener);
    close(stub->bell[0]);
    close(stub->bell[1]);
    if (stub->held >= 0)
        close(stub->held);
    free(stub);
    return 0;
}

static enum iso_status find(struct stub *stub, uint32_t id, struct iso_schema *schema)
{
    const struct iso_schema_provider *provider = iso_registry_provider(stub->registry);
    stub->error = (struct iso_error){0};
    return provider->find(provider->context, id, schema, &stub->error);
}

/* The error's text after "schema registry http://127.0.0.1:PORT: ". */
static const char *reason(const struct stub *stub)
{
    char start[64];
    int length = snprintf(start, sizeof start, "schema registry http://127.0.0.1:%u: ", stub->port);
    assert_memory_equal(stub->error.text, start, length);
    return stub->error.text + length;
}

#define HTTP(status)                                                                                                   \
    "HTTP/1.1 " status "\r\nContent-Type: application/vnd.schemaregistry.v1+json\r\nConnection: close\r\n\r\n"

static void schema_by_id(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    char expected[64];
    stub->answers[0] = HTTP("200 OK") "{\"schema\":\"\\\"string\\\"\",\"later\":[1]}";
    run(stub);
    assert_int_equal(find(stub, 4294967295, &schema), ISO_OK);
    assert_int_equal(schema.type, ISO_SCHEMA_AVRO); /* what a registry leaves unsaid */
    assert_string_equal(schema.text, "\"string\"");
    assert_int_equal(schema.length, 8);
    end(stub);
    int length = snprintf(expected, sizeof expected, "GET /schemas/ids/4294967295 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n",
                          stub->port);
    assert_memory_equal(stub->request, expected, length);
    assert_non_null(strstr(stub->request, "Accept: application/vnd.schemaregistry.v1+json"));
}

static void kinds_of_schemas(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = HTTP("200 OK") "{\"schemaType\":\"PROTOBUF\",\"schema\":\"syntax\"}";
    stub->answers[1] = HTTP("200 OK") "{\"schemaType\":\"JSON\",\"schema\":\"{}\",\"references\":[]}";
    stub->answers[2] = HTTP("200 OK") "{\"schema\":\"{}\",\"references\":[{\"name\":\"other\"}]}";
    run(stub);
    assert_int_equal(find(stub, 1, &schema), ISO_OK);
    assert_int_equal(schema.type, ISO_SCHEMA_PROTOBUF);
    assert_int_equal(find(stub, 2, &schema), ISO_OK);
    assert_int_equal(schema.type, ISO_SCHEMA_JSON);
    assert_int_equal(find(stub, 3, &schema), ISO_BAD_INPUT);
    assert_string_equal(reason(stub), "schema 3 refers to other schemas, expected one that stands alone");
}

static void user_and_password_are_sent_and_not_shown(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = HTTP("401 Unauthorized") "{\"error_code\":40101,\"message\":\"no such user\"}";
    assert_int_equal(pthread_create(&stub->thread, NULL, serve, stub), 0);
    open_registry(stub, "http://ann:secret@127.0.0.1:%u");
    assert_int_equal(find(stub, 1, &schema), ISO_FAILED);
    assert_string_equal(reason(stub), "schema 1: HTTP 401: no such user");
    end(stub);
    assert_non_null(strstr(stub->request, "Authorization: Basic YW5uOnNlY3JldA=="));
}

/* What a registry says of an id that it does not have: told at once, and asked again next time. */
static void unknown_schema(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = HTTP("404 Not Found") "{\"error_code\":40403,\"message\":\"Schema 7 not found\"}";
    stub->answers[1] = HTTP("200 OK") "{\"schema\":\"\\\"int\\\"\"}";
    run(stub);
    assert_int_equal(find(stub, 7, &schema), ISO_FAILED);
    assert_string_equal(reason(stub), "schema 7: HTTP 404: Schema 7 not found");
    assert_int_equal(find(stub, 7, &schema), ISO_OK);
    end(stub);
    assert_int_equal(stub->requests, 2);
}

static void server_error_that_heals(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = HTTP("500 Internal Server Error") "{\"error_code\":50001,\"message\":\"backend\"}";
    stub->answers[1] = HTTP("200 OK") "{\"schema\":\"\\\"int\\\"\"}";
    run(stub);
    assert_int_equal(find(stub, 1, &schema), ISO_OK);
    assert_string_equal(schema.text, "\"int\"");
    end(stub);
    assert_int_equal(stub->requests, 2);
}

static void server_error_that_stays(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = HTTP("503 Service Unavailable") "<html>busy</html>";
    run(stub);
    assert_int_equal(find(stub, 1, &schema), ISO_FAILED);
    assert_string_equal(reason(stub), "schema 1: HTTP 503");
    end(stub);
    assert_int_equal(stub->requests, 3);
}

static void garbage(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    static const char *const bodies[] = {
        HTTP("200 OK") "<html>a proxy's login page</html>",
        HTTP("200 OK") "{\"schema\":\"\\\"int\\\"\"", /* cut off */
        HTTP("200 OK") "{\"schema\":7}",
    };
    memcpy(stub->answers, bodies, sizeof bodies);
    run(stub);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        assert_int_equal(find(stub, 1, &schema), ISO_FAILED);
        assert_string_equal(reason(stub), "schema 1: not an answer of a schema registry");
    }
}

static void not_even_http(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = "SSH-2.0-OpenSSH_9.2\r\n";
    run(stub);
    assert_int_equal(find(stub, 1, &schema), ISO_FAILED);
    assert_memory_equal(reason(stub), "schema 1: ", 10);
}

static void server_that_never_answers(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    run(stub);
    iso_registry_patience(stub->registry, IMPATIENCE_MS);
    assert_int_equal(find(stub, 1, &schema), ISO_FAILED);
    assert_memory_equal(reason(stub), "schema 1: ", 10);
    assert_non_null(strstr(stub->error.text, "timed out after "));
    end(stub);
    assert_true(stub->requests <= 1); /* the server may have come too late to hear it */
}

static void refused_connection(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    close(stub->listener); /* nobody listens at this port any more */
    stub->listener = -1;
    open_registry(stub, "http://127.0.0.1:%u");
    assert_int_equal(find(stub, 1, &schema), ISO_FAILED);
    assert_memory_equal(reason(stub), "schema 1: ", 10);
    assert_non_null(strstr(stub->error.text, "connect to 127.0.0.1 port"));
}

/* A topic of framed Avro: one request, however many messages. */
static void one_request_for_many_messages(void **state)
{
    enum { MESSAGES = 500 };
    struct stub *stub = *state;
    struct iso_text answer = {0}, payload = {0};
    struct iso_history sample;
    struct iso_events events;
    iso_text_put(&answer, HTTP("200 OK") "{\"schema\":");
    iso_text_put_string(&answer, published, strlen(published));
    iso_text_put(&answer, "}");
    *iso_text_reserve(&answer, 1) = 0;
    stub->answers[0] = answer.bytes;
    run(stub);
    struct iso_decoder_options options = {
        .format = "avro", .framed = true, .registry = iso_registry_provider(stub->registry)};
    struct iso_decoder *decoder = iso_record_decoder.create(&options, &stub->error);
    assert_string_equal(stub->error.text, "");
    iso_history_init(&sample);
    iso_history_begin(&sample, iso_atoms_text(&sample.atoms, "1", 1),
                      iso_history_session(&sample, iso_atoms_text(&sample.atoms, "s", 1)), ISO_COMMITTED, 0);
    iso_text_put_bytes(&payload, "\0\0\0\1\2", 5);
    assert_true(iso_record_write_avro(&sample, 0, &payload));
    iso_events_init(&events);
    for (int i = 0; i < MESSAGES; i++) {
        struct iso_message message = {
            .topic = "t", .offset = i, .payload = {(const uint8_t *)payload.bytes, (uint32_t)payload.used}};
        assert_int_equal(decoder->class->decode(decoder, &message, &events, &stub->error), ISO_OK);
    }
    assert_int_equal(events.block.transaction_count, MESSAGES);
    end(stub);
    assert_int_equal(stub->requests, 1);
    assert_memory_equal(stub->request, "GET /schemas/ids/258 ", 21);
    decoder->class->destroy(decoder);
    iso_events_release(&events);
    iso_history_release(&sample);
    iso_text_release(&payload);
    iso_text_release(&answer);
}

static void wrong_address(void **state)
{
    struct iso_error error = {0};
    (void)state;
    assert_null(iso_registry_new("localhost:8081", &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    assert_string_equal(error.text, "schema registry localhost:8081: expected http://HOST:PORT or https://HOST:PORT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(schema_by_id, start, stop),
        cmocka_unit_test_setup_teardown(kinds_of_schemas, start, stop),
        cmocka_unit_test_setup_teardown(user_and_password_are_sent_and_not_shown, start, stop),
        cmocka_unit_test_setup_teardown(unknown_schema, start, stop),
        cmocka_unit_test_setup_teardown(server_error_that_heals, start, stop),
        cmocka_unit_test_setup_teardown(server_error_that_stays, start, stop),
        cmocka_unit_test_setup_teardown(garbage, start, stop),
        cmocka_unit_test_setup_teardown(not_even_http, start, stop),
        cmocka_unit_test_setup_teardown(server_that_never_answers, start, stop),
        cmocka_unit_test_setup_teardown(refused_connection, start, stop),
        cmocka_unit_test_setup_teardown(one_request_for_many_messages, start, stop),
        cmocka_unit_test(wrong_address),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
