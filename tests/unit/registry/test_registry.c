/* The schema registry client against answers that this test makes up.
 *
 * A thread with a listening loopback socket plays the registry: it proves which request goes out,
 * and what becomes of each kind of answer. It proves nothing about a real registry, of which no
 * code is here. */
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
#include "connectors/registry/schemas.h"
#include "connectors/history/write_record.h"

enum { ANSWERS = 4, PATIENCE_MS = 60000, IMPATIENCE_MS = 300 };

static const char published[] =
#include <transaction.avsc.h>
    ;

/* One answer for each connection, the last for all that follow; NULL: the connection is held open
 * without a word. */
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

static void open_registry(struct stub *stub, const char *form, const char *login)
{
    char url[128];
    snprintf(url, sizeof url, form, stub->port);
    stub->registry = iso_registry_new(url, login, &stub->error);
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
    open_registry(stub, "http://127.0.0.1:%u/", NULL);
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

#define HTTP(status)                                                                               \
    "HTTP/1.1 " status                                                                             \
    "\r\nContent-Type: application/vnd.schemaregistry.v1+json\r\nConnection: close\r\n\r\n"

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
    int length =
        snprintf(expected, sizeof expected,
                 "GET /schemas/ids/4294967295 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", stub->port);
    assert_memory_equal(stub->request, expected, length);
    assert_non_null(strstr(stub->request, "Accept: application/vnd.schemaregistry.v1+json"));
}

static void kinds_of_schemas(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = HTTP("200 OK") "{\"schemaType\":\"PROTOBUF\",\"schema\":\"syntax\"}";
    stub->answers[1] =
        HTTP("200 OK") "{\"schemaType\":\"JSON\",\"schema\":\"{}\",\"references\":[]}";
    stub->answers[2] = HTTP("200 OK") "{\"schema\":\"{}\",\"references\":[{\"name\":\"other\"}]}";
    run(stub);
    assert_int_equal(find(stub, 1, &schema), ISO_OK);
    assert_int_equal(schema.type, ISO_SCHEMA_PROTOBUF);
    assert_int_equal(find(stub, 2, &schema), ISO_OK);
    assert_int_equal(schema.type, ISO_SCHEMA_JSON);
    assert_int_equal(find(stub, 3, &schema), ISO_BAD_INPUT);
    assert_string_equal(reason(stub),
                        "schema 3 refers to other schemas, expected one without references");
}

static void user_and_password_are_sent_and_not_shown(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] =
        HTTP("401 Unauthorized") "{\"error_code\":40101,\"message\":\"no such user\"}";
    assert_int_equal(pthread_create(&stub->thread, NULL, serve, stub), 0);
    char path[] = "/tmp/test-registry-XXXXXX";
    int file = mkstemp(path);
    assert_int_equal(write(file, "ann:secret\r\nmore\n", 17), 17);
    close(file);
    open_registry(stub, "http://127.0.0.1:%u", path);
    unlink(path);
    assert_int_equal(find(stub, 1, &schema), ISO_FAILED);
    assert_string_equal(reason(stub), "schema 1: HTTP 401: no such user");
    end(stub);
    assert_non_null(strstr(stub->request, "Authorization: Basic YW5uOnNlY3JldA=="));
}

/* Its sender was quicker than the registry. */
static void schema_that_comes_a_little_later(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] =
        HTTP("404 Not Found") "{\"error_code\":40403,\"message\":\"Schema 7 not found\"}";
    stub->answers[1] = HTTP("200 OK") "{\"schema\":\"\\\"int\\\"\"}";
    run(stub);
    assert_int_equal(find(stub, 7, &schema), ISO_OK);
    end(stub);
    assert_int_equal(stub->requests, 2);
}

/* No failure of the registry's: its record is a bad one. Many such ids cost one request each, the
 * same id none. */
static void unknown_schema(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = HTTP("404 Not Found") "{\"error_code\":40403,\"message\":\"not found\"}";
    run(stub);
    assert_int_equal(find(stub, 7, &schema), ISO_BAD_INPUT);
    assert_string_equal(reason(stub), "schema 7: HTTP 404: not found");
    for (uint32_t id = 8; id < 108; id++)
        assert_int_equal(find(stub, id, &schema), ISO_BAD_INPUT);
    assert_string_equal(reason(stub), "schema 107: HTTP 404: not found");
    for (uint32_t id = 7; id < 108; id++)
        assert_int_equal(find(stub, id, &schema), ISO_BAD_INPUT);
    assert_string_equal(reason(stub), "schema 107: HTTP 404: not found");
    end(stub);
    assert_int_equal(stub->requests, 3 + 100);
}

/* What was not there may have been registered meanwhile. */
static void unknown_schema_is_asked_for_again(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] = stub->answers[1] = stub->answers[2] = HTTP("404 Not Found") "no JSON";
    stub->answers[3] = HTTP("200 OK") "{\"schema\":\"\\\"int\\\"\"}";
    run(stub);
    iso_registry_missing(stub->registry, 1);
    assert_int_equal(find(stub, 7, &schema), ISO_BAD_INPUT);
    assert_string_equal(reason(stub), "schema 7: HTTP 404");
    usleep(5000);
    assert_int_equal(find(stub, 7, &schema), ISO_OK);
}

static void too_long_a_schema(void **state)
{
    static const char head[] = HTTP("200 OK") "{\"schema\":\"";
    size_t size = sizeof head + (1 << 20);
    char *answer = malloc(size);
    struct stub *stub = *state;
    struct iso_schema schema;
    memset(answer, ' ', size - 1);
    memcpy(answer, head, sizeof head - 1);
    answer[size - 1] = 0;
    stub->answers[0] = answer;
    run(stub);
    assert_int_equal(find(stub, 7, &schema), ISO_BAD_INPUT);
    assert_string_equal(reason(stub), "schema 7: too long, expected at most 1 MiB");
    assert_int_equal(find(stub, 7, &schema),
                     ISO_BAD_INPUT); /* and is not sent again for each record */
    assert_string_equal(reason(stub), "schema 7: too long, expected at most 1 MiB");
    end(stub);
    assert_int_equal(stub->requests, 1);
    free(answer);
}

static void server_error_that_heals(void **state)
{
    struct stub *stub = *state;
    struct iso_schema schema;
    stub->answers[0] =
        HTTP("500 Internal Server Error") "{\"error_code\":50001,\"message\":\"backend\"}";
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
    open_registry(stub, "http://127.0.0.1:%u", NULL);
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
                      iso_history_session(&sample, iso_atoms_text(&sample.atoms, "s", 1)),
                      ISO_COMMITTED, 0);
    iso_text_put_bytes(&payload, "\0\0\0\1\2", 5);
    assert_true(iso_record_write_avro(&sample, 0, &payload));
    iso_events_init(&events);
    for (int i = 0; i < MESSAGES; i++) {
        struct iso_message message = {
            .topic = "t",
            .offset = i,
            .payload = {(const uint8_t *)payload.bytes, (uint32_t)payload.used}};
        assert_int_equal(decoder->class->decode(decoder, &message, &events, &stub->error), ISO_OK);
    }
    assert_int_equal(events.block.txns.count, MESSAGES);
    end(stub);
    assert_int_equal(stub->requests, 1);
    assert_memory_equal(stub->request, "GET /schemas/ids/258 ", 21);
    decoder->class->destroy(decoder);
    iso_events_release(&events);
    iso_history_release(&sample);
    iso_text_release(&payload);
    iso_text_release(&answer);
}

static unsigned found, parsed;

static enum iso_status find_text(void *context, uint32_t id, struct iso_schema *schema,
                                 struct iso_error *error)
{
    (void)context, (void)id, (void)error;
    found++;
    *schema = (struct iso_schema){.type = ISO_SCHEMA_AVRO, .text = "{", .length = 1};
    return ISO_OK;
}

static void *refuse(const char *text, size_t length, struct iso_error *error)
{
    (void)text, (void)length;
    parsed++;
    iso_error_set(error, ISO_BAD_INPUT, "no schema");
    return NULL;
}

static void forget_none(void *schema)
{
    assert_null(schema);
}

/* Its records are as many as their sender likes. */
static void a_schema_that_does_not_parse_is_parsed_once(void **state)
{
    struct iso_schema_provider provider = {find_text, NULL};
    struct iso_schemas schemas = {
        .registry = &provider, .type = ISO_SCHEMA_AVRO, .parse = refuse, .forget = forget_none};
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct iso_error error = {0};
        assert_null(iso_schemas_find(&schemas, 5, &error));
        assert_int_equal(error.status, ISO_BAD_INPUT);
        assert_string_equal(error.text, "schema 5: no schema");
    }
    assert_int_equal(found, 1);
    assert_int_equal(parsed, 1);
    for (uint32_t id = 6; id < 6 + 2 * ISO_SCHEMAS_MAX; id++) {
        struct iso_error error = {0};
        assert_null(iso_schemas_find(&schemas, id, &error));
    }
    assert_int_equal(schemas.count, ISO_SCHEMAS_MAX);
    iso_schemas_release(&schemas);
}

/* A registry with any number of schemas, each of which counts as `text_length` long. */
static size_t text_length;
static unsigned living;

static enum iso_status find_number(void *context, uint32_t id, struct iso_schema *schema,
                                   struct iso_error *error)
{
    static char text[1 << 20];
    (void)context, (void)error;
    found++;
    memcpy(text, &id, sizeof id);
    *schema = (struct iso_schema){.type = ISO_SCHEMA_AVRO, .text = text, .length = text_length};
    return ISO_OK;
}

static void *keep_number(const char *text, size_t length, struct iso_error *error)
{
    (void)length, (void)error;
    uint32_t *number = malloc(sizeof *number);
    memcpy(number, text, sizeof *number);
    living++;
    return number;
}

static void forget_number(void *schema)
{
    living--;
    free(schema);
}

static const struct iso_schema_provider numbers = {find_number, NULL};

static struct iso_schemas new_schemas(size_t length)
{
    found = living = 0;
    text_length = length;
    return (struct iso_schemas){.registry = &numbers,
                                .type = ISO_SCHEMA_AVRO,
                                .parse = keep_number,
                                .forget = forget_number};
}

static uint32_t number_of(struct iso_schemas *schemas, uint32_t id)
{
    struct iso_error error = {0};
    const uint32_t *number = iso_schemas_find(schemas, id, &error);
    assert_non_null(number);
    return *number;
}

/* However many ids, in whatever order, each is found by a few looks. */
static uint64_t looks_among(uint32_t ids)
{
    struct iso_schemas schemas = new_schemas(100);
    for (uint32_t round = 0; round < 4; round++)
        for (uint32_t i = 0; i < ids; i++)
            assert_int_equal(number_of(&schemas, (i * 2654435761u) % ids), (i * 2654435761u) % ids);
    assert_int_equal(found, ids);
    uint64_t looks = iso_number_map_cost(&schemas.by_id);
    iso_schemas_release(&schemas);
    assert_int_equal(living, 0);
    return looks;
}

static void twice_as_many_schemas_take_twice_the_looks(void **state)
{
    (void)state;
    uint64_t few = looks_among(ISO_SCHEMAS_MAX / 2), many = looks_among(ISO_SCHEMAS_MAX);
    assert_true(few >= ISO_SCHEMAS_MAX / 2);
    assert_true(many < 3 * few);
}

static void schemas_are_bounded(void **state)
{
    (void)state;
    struct iso_schemas schemas = new_schemas(100);
    for (uint32_t id = 0; id < 3 * ISO_SCHEMAS_MAX; id++)
        number_of(&schemas, id);
    assert_int_equal(living, ISO_SCHEMAS_MAX);
    iso_schemas_release(&schemas);
    schemas = new_schemas(1 << 20);
    for (uint32_t id = 0; id < 100; id++)
        number_of(&schemas, id);
    assert_int_equal(living, ISO_SCHEMAS_BYTES >> 20);
    iso_schemas_release(&schemas);
}

/* A payload's schema stays while the key's is asked for, also where it is the oldest. */
static void the_schema_before_the_last_is_valid(void **state)
{
    (void)state;
    struct iso_schemas schemas = new_schemas(1 << 20);
    struct iso_error error = {0};
    for (uint32_t id = 0; id < ISO_SCHEMAS_BYTES >> 20; id++)
        number_of(&schemas, id);
    for (uint32_t id = 0; id < 100; id++) {
        const uint32_t *payload = iso_schemas_find(&schemas, id, &error);
        assert_int_equal(number_of(&schemas, 1000 + id), 1000 + id);
        assert_int_equal(*payload, id);
    }
    iso_schemas_release(&schemas);
    assert_int_equal(living, 0);
}

static void wrong_address(void **state)
{
    struct iso_error error = {0};
    (void)state;
    assert_null(iso_registry_new("localhost:8081", NULL, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    assert_string_equal(
        error.text,
        "schema registry localhost:8081: expected http://HOST:PORT or https://HOST:PORT");
    static const char *const secret[] = {"http://ann:s3cret@host", "https://ann:s3/cret@host:80/x",
                                         "ann:s3cret@host", "http://s3cret@host",
                                         "ftp://:s3cret@host"};
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
        error = (struct iso_error){0};
        assert_null(iso_registry_new(secret[i], NULL, &error));
        assert_int_equal(error.status, ISO_BAD_INPUT);
        assert_null(strstr(error.text, "s3"));
        assert_non_null(strstr(error.text, "[redacted]@host"));
    }
    error = (struct iso_error){0};
    assert_null(iso_registry_new("http://host", "/nowhere/login", &error));
    assert_string_equal(error.text, "/nowhere/login: No such file or directory");
    error = (struct iso_error){0};
    assert_null(iso_registry_new("http://host", "/dev/null", &error));
    assert_string_equal(error.text, "/dev/null: expected USER:PASSWORD on its first line");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(schema_by_id, start, stop),
        cmocka_unit_test_setup_teardown(kinds_of_schemas, start, stop),
        cmocka_unit_test_setup_teardown(user_and_password_are_sent_and_not_shown, start, stop),
        cmocka_unit_test_setup_teardown(schema_that_comes_a_little_later, start, stop),
        cmocka_unit_test_setup_teardown(unknown_schema, start, stop),
        cmocka_unit_test_setup_teardown(unknown_schema_is_asked_for_again, start, stop),
        cmocka_unit_test_setup_teardown(too_long_a_schema, start, stop),
        cmocka_unit_test_setup_teardown(server_error_that_heals, start, stop),
        cmocka_unit_test_setup_teardown(server_error_that_stays, start, stop),
        cmocka_unit_test_setup_teardown(garbage, start, stop),
        cmocka_unit_test_setup_teardown(not_even_http, start, stop),
        cmocka_unit_test_setup_teardown(server_that_never_answers, start, stop),
        cmocka_unit_test_setup_teardown(refused_connection, start, stop),
        cmocka_unit_test_setup_teardown(one_request_for_many_messages, start, stop),
        cmocka_unit_test(a_schema_that_does_not_parse_is_parsed_once),
        cmocka_unit_test(twice_as_many_schemas_take_twice_the_looks),
        cmocka_unit_test(schemas_are_bounded),
        cmocka_unit_test(the_schema_before_the_last_is_valid),
        cmocka_unit_test(wrong_address),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
