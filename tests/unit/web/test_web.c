/* The status server: answers, and the same over HTTP with clients that do not behave. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "web/guard.h"
#include "web/web.h"

static const char token[] = "a-token-of-enough-length";

/* ---- answers ---- */

struct asked {
    struct iso_web_state state;
    struct iso_web_answer answer;
};

static int start(void **state)
{
    *state = calloc(1, sizeof(struct asked));
    return 0;
}

static int stop(void **state)
{
    struct asked *asked = *state;
    iso_web_state_release(&asked->state);
    iso_text_release(&asked->answer.body);
    free(asked);
    return 0;
}

static const char *ask(struct asked *asked, unsigned status, const char *token_wanted, uint64_t now,
                       struct iso_web_request request)
{
    request.method = request.method ? request.method : "GET";
    struct iso_web_rules rules = {.token = token_wanted};
    iso_web_answer(&asked->state, &rules, now, &request, &asked->answer);
    assert_int_equal(asked->answer.status, status);
    iso_text_put_bytes(&asked->answer.body, "", 1);
    return asked->answer.body.bytes;
}

static void health(void **state)
{
    struct asked *asked = *state;
    assert_string_equal(ask(asked, 503, NULL, 5000, (struct iso_web_request){.path = "/livez"}),
                        "no progress\n");
    assert_string_equal(ask(asked, 503, NULL, 5000, (struct iso_web_request){.path = "/readyz"}),
                        "not started\n");
    asked->state.published = 5000;
    assert_string_equal(ask(asked, 200, NULL, 6000, (struct iso_web_request){.path = "/livez"}),
                        "ok\n");
    assert_string_equal(ask(asked, 503, NULL, 6000, (struct iso_web_request){.path = "/readyz"}),
                        "not reading yet\n");
    asked->state.ready = true;
    assert_string_equal(ask(asked, 200, NULL, 6000, (struct iso_web_request){.path = "/readyz"}),
                        "ok\n");
    strcpy(asked->state.trouble, "broker down");
    assert_string_equal(ask(asked, 503, NULL, 6000, (struct iso_web_request){.path = "/readyz"}),
                        "broker down\n");
    /* a checker that hangs is not alive, however well its server answers */
    assert_string_equal(
        ask(asked, 503, NULL, 5000 + 30001, (struct iso_web_request){.path = "/livez"}),
        "no progress\n");
}

static void paths_and_methods(void **state)
{
    struct asked *asked = *state;
    assert_non_null(
        strstr(ask(asked, 200, NULL, 1, (struct iso_web_request){.path = "/"}), "<!doctype html>"));
    ask(asked, 200, NULL, 1, (struct iso_web_request){.path = "/metrics"});
    ask(asked, 200, NULL, 1, (struct iso_web_request){.path = "/status", .method = "HEAD"});
    assert_non_null(strstr(
        ask(asked, 404, NULL, 1, (struct iso_web_request){.path = "/etc/passwd"}), "not here"));
    ask(asked, 404, NULL, 1, (struct iso_web_request){.path = ""});
    ask(asked, 405, NULL, 1, (struct iso_web_request){.path = "/metrics", .method = "POST"});
}

static void tokens(void **state)
{
    struct asked *asked = *state;
    static const char *const wrong[] = {NULL,
                                        "",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer a-token",
                                        "bearer a-token-of-enough-length",
                                        "Bearer a-token-of-enough-lengtH",
                                        "Bearer a-token-of-enough-length ",
                                        "Bearer a-token-of-enough-lengtha-token-of-enough-length"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ask(asked, 401, token, 1,
            (struct iso_web_request){.path = "/status", .authorization = wrong[i]});
    ask(asked, 200, token, 1,
        (struct iso_web_request){.path = "/status",
                                 .authorization = "Bearer a-token-of-enough-length"});
    ask(asked, 200, token, 1, (struct iso_web_request){.path = "/"});
    ask(asked, 503, token, 1, (struct iso_web_request){.path = "/livez"});
}

static json_t *violations(struct asked *asked, const char *since, uint64_t next, uint64_t lost)
{
    json_error_t error;
    json_t *object = json_loads(
        ask(asked, 200, NULL, 1, (struct iso_web_request){.path = "/violations", .since = since}),
        JSON_REJECT_DUPLICATES, &error);
    assert_non_null(object);
    assert_int_equal(json_integer_value(json_object_get(object, "next")), next);
    assert_int_equal(json_integer_value(json_object_get(object, "lost")), lost);
    return object;
}

static void check_lines(struct asked *asked, const char *since, uint64_t next, uint64_t lost,
                        size_t count, int first)
{
    json_t *object = violations(asked, since, next, lost),
           *lines = json_object_get(object, "lines");
    assert_int_equal(json_array_size(lines), count);
    if (count)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(lines, 0), "n")), first);
    json_decref(object);
}

static void latest_violations(void **state)
{
    struct asked *asked = *state;
    char line[32];
    check_lines(asked, NULL, 0, 0, 0, 0);
    for (int i = 1; i <= 2500; i++)
        iso_web_state_add(&asked->state, line,
                          (size_t)snprintf(line, sizeof line, "{\"n\":%d}\n", i));
    check_lines(asked, NULL, 2500, 1500, 1000, 1501);
    check_lines(asked, "2000", 2500, 0, 500, 2001);
    check_lines(asked, "1000", 2500, 500, 1000, 1501);
    check_lines(asked, "2500", 2500, 0, 0, 0);
    check_lines(asked, "99999999999999999999999", 2500, 0, 0, 0);
    ask(asked, 400, NULL, 1, (struct iso_web_request){.path = "/violations", .since = "x"});
    ask(asked, 400, NULL, 1, (struct iso_web_request){.path = "/violations", .since = "-1"});
    ask(asked, 400, NULL, 1, (struct iso_web_request){.path = "/violations", .since = ""});
}

static void add_verdict(struct asked *asked, unsigned id, const char *state)
{
    char line[80];
    int length = snprintf(line, sizeof line, "{\"id\":\"%016x\",\"state\":\"%s\",\"n\":%u}\n", id,
                          state, id);
    iso_web_state_add(&asked->state, line, (size_t)length);
}

/* What was retracted makes room, then what is tentative; what is final stays. */
static void what_stands_is_kept(void **state)
{
    struct asked *asked = *state;
    add_verdict(asked, 1, "final");
    add_verdict(asked, 2, "tentative");
    for (unsigned id = 3; id < 3000; id++) {
        add_verdict(asked, id, "tentative");
        add_verdict(asked, id, "retracted");
    }
    add_verdict(asked, 2, "final"); /* its first line is past from now on */
    json_t *object = violations(asked, NULL, 2 + 2 * 2997 + 1, 2 + 2 * 2997 + 1 - 1000);
    json_t *lines = json_object_get(object, "lines");
    assert_int_equal(json_array_size(lines), 1000);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(lines, 0), "n")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(lines, 999), "n")), 2);
    json_decref(object);
    for (unsigned id = 3000; id < 3998; id++)
        add_verdict(asked, id, "final");
    for (unsigned id = 4000; id < 4010; id++)
        add_verdict(asked, id, "tentative");
    object =
        violations(asked, NULL, 2 + 2 * 2997 + 1 + 998 + 10, 2 + 2 * 2997 + 1 + 998 + 10 - 1000);
    lines = json_object_get(object, "lines");
    size_t finals = 0, i;
    json_t *line;
    json_array_foreach(lines, i, line) finals +=
        !strcmp(json_string_value(json_object_get(line, "state")), "final");
    assert_int_equal(finals, 999); /* the last tentative one took the place of the oldest final, the
                                      others of each other */
    json_decref(object);
}

static uint64_t number_of(json_t *object, const char *member)
{
    return (uint64_t)json_integer_value(json_object_get(object, member));
}

/* How many stand is the counters' word, and the same in both answers, however many lines were
 * told. */
static void figures_agree(void **state)
{
    struct asked *asked = *state;
    for (unsigned i = 1; i <= 72; i++)
        add_verdict(asked, i, i % 2 ? "tentative" : "retracted");
    for (unsigned found = 0; found <= 3; found += 3) {
        iso_metrics_clear(&asked->state.metrics);
        iso_metrics_count(&asked->state.metrics, ISO_METRIC_VIOLATIONS, "EXT", NULL, found);
        iso_metrics_count(&asked->state.metrics, ISO_METRIC_VIOLATIONS, "INT", NULL, 0);
        iso_metrics_count(&asked->state.metrics, ISO_METRIC_STANDING, NULL, NULL, found / 3);
        strcpy(asked->state.waiting, found ? "2 rows for \"a\"" : "");
        strcpy(asked->state.notes, found ? "a \"table\"\ncut o" : "");
        json_t *status =
            json_loads(ask(asked, 200, NULL, 1, (struct iso_web_request){.path = "/status"}),
                       JSON_REJECT_DUPLICATES, NULL);
        json_t *told = violations(asked, NULL, 72, 0);
        assert_non_null(status);
        assert_int_equal(number_of(status, "violations"), found);
        assert_int_equal(number_of(told, "violations"), found);
        assert_int_equal(number_of(status, "tentative"), found ? 1 : 0);
        assert_int_equal(number_of(told, "tentative"), found ? 1 : 0);
        assert_int_equal(number_of(status, "lines"), 72);
        json_t *notes = json_object_get(status, "notes");
        assert_int_equal(json_array_size(notes), found ? 2 : 0);
        if (found) {
            assert_string_equal(json_string_value(json_array_get(notes, 0)), "a \"table\"");
            assert_string_equal(json_string_value(json_array_get(notes, 1)), "cut o");
        }
        if (found)
            assert_string_equal(json_string_value(json_object_get(status, "waiting")),
                                "2 rows for \"a\"");
        else
            assert_true(json_is_null(json_object_get(status, "waiting")));
        json_decref(status);
        json_decref(told);
    }
}

/* Explains lines that begin with {"n":1. */
static void explain_first(const char *line, size_t length, struct iso_text *text)
{
    if (length > 6 && !memcmp(line, "{\"n\":1", 6) && line[6] == '}')
        iso_text_put(text, "{\"title\":\"first\"}");
}

static void explained_lines(void **state)
{
    struct asked *asked = *state;
    asked->state.explain = explain_first;
    iso_web_state_add(&asked->state, "{\"n\":1}\n", 8);
    iso_web_state_add(&asked->state, "{\"n\":2}\n", 8);
    iso_web_state_add(&asked->state, "{}\n", 3);
    json_t *object = violations(asked, NULL, 3, 0), *lines = json_object_get(object, "lines");
    json_t *explanation = json_object_get(json_array_get(lines, 0), "explanation");
    assert_string_equal(json_string_value(json_object_get(explanation, "title")), "first");
    assert_int_equal(json_object_size(json_array_get(lines, 1)), 1);
    assert_int_equal(json_object_size(json_array_get(lines, 2)), 0);
    json_decref(object);
}

static void long_lines_are_bounded(void **state)
{
    struct asked *asked = *state;
    size_t size = (size_t)ISO_WEB_LINE_BYTES + 1;
    char *line = malloc(size);
    memset(line, '7', size);
    for (int i = 0; i < 10; i++) {
        iso_web_state_add(&asked->state, line, ISO_WEB_LINE_BYTES / 4);
        assert_true(asked->state.line_bytes <= ISO_WEB_LINE_BYTES);
    }
    iso_web_state_add(&asked->state, line, size);
    assert_int_equal(asked->state.line_count, 4);
    assert_int_equal(asked->state.lines_added, 11);
    free(line);
}

static void names(void **state)
{
    (void)state;
    static const char *const good[] = {NULL,
                                       "localhost",
                                       "LocalHost:8080",
                                       "127.0.0.1",
                                       "10.1.2.3:8080",
                                       "[::1]",
                                       "[fe80::1]:1",
                                       "watch.example",
                                       "Watch.Example:443",
                                       "watch.example.",
                                       "[::ffff:1.2.3.4]:80"};
    static const char *const bad[] = {"",
                                      ":80",
                                      "example",
                                      "watch.example.evil",
                                      "watch.exampl",
                                      "[::1",
                                      "[::1]x",
                                      "[watch",
                                      "127.0.0.1.evil",
                                      "127.0.0.1:8x",
                                      "1.2.3.4.5",
                                      "watch.example:80:80",
                                      " localhost",
                                      "localhost, evil",
                                      "a@localhost",
                                      "evil.localhost"};
    struct iso_web_names known = {0};
    iso_web_names_add(&known, "watch.example");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(iso_web_names_allow(&known, good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(iso_web_names_allow(&known, bad[i]));
    iso_web_names_release(&known);
}

/* Descriptors of socket pairs, whose other ends see who is ended. */
static void guarded_peers(void **state)
{
    (void)state;
    enum { MANY = GUARD_PEER + 3 };
    static struct guard guard;
    struct sockaddr_in first = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001)},
                       second = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000002)};
    int ends[MANY + 1][2];
    for (int i = 0; i <= MANY; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends[i]), 0);
        guard_begin(&guard, ends[i][0], (struct sockaddr *)(i ? &first : &second), (uint64_t)i);
    }
    for (int i = 0; i <= MANY;
         i++) { /* the first peer's three oldest went, the other's is older and stays */
        char byte;
        assert_int_equal(recv(ends[i][1], &byte, 1, 0), i >= 1 && i <= 3 ? 0 : -1);
    }
    assert_int_equal(guard_look(&guard, GUARD_DEADLINE_MS - 1), 1);
    assert_int_equal(guard_look(&guard, GUARD_DEADLINE_MS + 10), 1); /* 0 and 4 to 10 are over */
    char byte;
    assert_int_equal(recv(ends[0][1], &byte, 1, 0), 0);
    assert_int_equal(recv(ends[10][1], &byte, 1, 0), 0);
    assert_int_equal(recv(ends[11][1], &byte, 1, 0), -1);
    for (int i = 0; i <= MANY; i++) {
        guard_end(&guard, ends[i][0]);
        close(ends[i][0]);
        close(ends[i][1]);
    }
    assert_int_equal(guard.count, 0);
}

/* ---- over HTTP ---- */

static struct iso_web *open_web(const char *listen, const char *token_file, struct iso_error *error)
{
    return iso_web_new(&(struct iso_http_options){.listen = listen, .token_file = token_file}, NULL,
                       error);
}

static int open_connection(uint16_t port)
{
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(descriptor, (const struct sockaddr *)&address, sizeof address), 0);
    struct timeval patience = {.tv_sec = 120};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return descriptor;
}

/* What comes back, cut at `size`. */
static void request(uint16_t port, const char *text, char *answer, size_t size)
{
    int descriptor = open_connection(port);
    assert_int_equal(send(descriptor, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    size_t used = 0;
    for (ssize_t got;
         used + 1 < size && (got = recv(descriptor, answer + used, size - 1 - used, 0)) > 0;)
        used += (size_t)got;
    answer[used] = 0;
    close(descriptor);
}

static void serves(void **state)
{
    (void)state;
    static char answer[1 << 17];
    struct iso_error error = {.status = ISO_OK};
    struct iso_metrics metrics = {0};
    struct iso_web *web = open_web("127.0.0.1:0", NULL, &error);
    assert_string_equal(error.text, "");
    assert_non_null(web);
    for (int round = 0; round < 2; round++) {
        iso_metrics_count(&metrics, ISO_METRIC_TRANSACTIONS, NULL, NULL, 41 + (uint64_t)round);
        iso_web_publish(web, &metrics, true, NULL, NULL, NULL, NULL);
    }
    iso_web_add(web, "{\"n\":1}\n", 8);
    request(iso_web_port(web),
            "GET /metrics HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n", answer,
            sizeof answer);
    assert_memory_equal(answer, "HTTP/1.1 200", 12);
    assert_non_null(strstr(answer, "\nisochron_transactions_total 42\n"));
    request(iso_web_port(web), "GET /violations?since=0 HTTP/1.0\r\n\r\n", answer, sizeof answer);
    assert_non_null(strstr(answer, "{\"n\":1}"));
    request(iso_web_port(web), "GET / HTTP/1.0\r\n\r\n", answer, sizeof answer);
    assert_non_null(strstr(answer, "</html>"));
    request(iso_web_port(web), "GET /readyz HTTP/1.0\r\n\r\n", answer, sizeof answer);
    assert_non_null(strstr(answer, "ok\n"));
    request(iso_web_port(web), "GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n", answer,
            sizeof answer);
    assert_memory_equal(answer, "HTTP/1.1 421", 12);
    request(iso_web_port(web), "\x16\x03\x01 nonsense\r\n\r\n", answer, sizeof answer);
    assert_null(strstr(answer, " 200 "));
    iso_web_publish(web, &metrics, true, "http://ann:s3cret@registry: refused",
                    "sasl.password=s3cret", "[{\"class\":\"rows\"}]", "sasl.password=s3cret\n");
    request(iso_web_port(web), "GET /status HTTP/1.0\r\n\r\n", answer, sizeof answer);
    assert_non_null(strstr(answer, "http://[redacted]@registry: refused"));
    assert_null(strstr(answer, "s3cret"));
    assert_non_null(strstr(answer, ",\"waits\":[{\"class\":\"rows\"}],"));
    iso_metrics_release(&metrics);
    iso_web_free(web);
}

static void addresses(void **state)
{
    (void)state;
    char taken[32], path[] = "/tmp/test-web-token-XXXXXX";
    int file = mkstemp(path);
    static const char *const wrong[] = {
        "", "x", ":80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:8x", "256.1.1.1:80"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct iso_error error = {.status = ISO_OK};
        assert_null(open_web(wrong[i], NULL, &error));
        assert_int_equal(error.status, ISO_BAD_INPUT);
    }
    struct iso_error error = {.status = ISO_OK};
    assert_null(open_web("0.0.0.0:0", NULL, &error));
    assert_non_null(strstr(error.text, "expected --listen-token FILE too"));
    error.status = ISO_OK;
    assert_null(open_web("0.0.0.0:0", path, &error));
    assert_non_null(strstr(error.text, "no token"));
    assert_int_equal(write(file, token, sizeof token - 1), sizeof token - 1);
    close(file);
    error = (struct iso_error){.status = ISO_OK};
    struct iso_web *web = open_web("0.0.0.0:0", path, &error);
    assert_string_equal(error.text, "");
    snprintf(taken, sizeof taken, "127.0.0.1:%u", iso_web_port(web));
    assert_null(open_web(taken, NULL, &error));
    assert_int_equal(error.status, ISO_FAILED);
    iso_web_free(web);
    error = (struct iso_error){.status = ISO_OK};
    assert_null(open_web("0", "/nowhere/token", &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    unlink(path);
}

static void *ask_often(void *context)
{
    char answer[4096];
    for (int i = 0; i < 200; i++)
        request(*(uint16_t *)context, "GET /status HTTP/1.0\r\n\r\n", answer, sizeof answer);
    return NULL;
}

/* Opens `*idle` anew, which asks for nothing. */
static void hold(int *idle, uint16_t port)
{
    if (*idle >= 0)
        close(*idle);
    *idle = open_connection(port);
    assert_int_equal(send(*idle, "GET /sta", 8, MSG_NOSIGNAL), 8);
}

static bool is_open(int descriptor)
{
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Clients that send nothing hold all connections they get, others ask without pause: publishing
 * goes on beside them. One that it waited for would be gone then: the server ends those that say
 * nothing. */
static void hostile_clients_do_not_stop_the_checker(void **state)
{
    enum { IDLE = 20, EACH = 100 };
    (void)state;
    struct iso_error error = {.status = ISO_OK};
    struct iso_metrics metrics = {0};
    struct iso_web *web = open_web("0", NULL, &error);
    assert_non_null(web);
    uint16_t port = iso_web_port(web);
    int idle[IDLE];
    for (int i = 0; i < IDLE; i++) {
        idle[i] = -1;
        hold(&idle[i], port);
    }
    pthread_t askers[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, ask_often, &port), 0);
    int beside = 0;
    for (int i = 0; i < IDLE * EACH; i++) {
        int *newest = &idle[i / EACH];
        if (i % EACH == 0)
            hold(newest, port);
        iso_metrics_count(&metrics, ISO_METRIC_TRANSACTIONS, NULL, NULL, (uint64_t)i);
        iso_web_publish(web, &metrics, true, NULL, NULL, NULL, NULL);
        iso_web_add(web, "{}", 2);
        beside += i % EACH == 0 && is_open(*newest);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(askers[i], NULL);
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
    assert_true(beside > IDLE / 2);
    iso_metrics_release(&metrics);
    iso_web_free(web);
}

/* A client that says a byte at a time, on SLOW connections, and opens another for each that is
 * ended. */
enum { SLOW = 1000 };

struct slow {
    uint16_t port;
    _Atomic bool stop;
    _Atomic uint64_t rounds; /* a byte on each connection, or another connection */
    pthread_t thread;
};

static void *drip(void *context)
{
    static const char start[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: ";
    struct slow *slow = context;
    static int connections[SLOW];
    for (int i = 0; i < SLOW; i++)
        connections[i] = -1;
    while (!slow->stop) {
        for (int i = 0; i < SLOW; i++) {
            if (connections[i] >= 0 &&
                send(connections[i], "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
                continue;
            if (connections[i] >= 0)
                close(connections[i]);
            connections[i] = open_connection(slow->port);
            send(connections[i], start, sizeof start - 1, MSG_NOSIGNAL);
        }
        slow->rounds++;
    }
    for (int i = 0; i < SLOW; i++)
        if (connections[i] >= 0)
            close(connections[i]);
    return NULL;
}

/* A probe that is answered, however many others are not done with their question: within how many
 * of their rounds. It may be cut off among so many that come at once; the next one counts. */
static uint64_t probe(const struct slow *slow)
{
    char answer[4096];
    uint64_t before = slow->rounds;
    do
        request(slow->port, "GET /livez HTTP/1.1\r\nHost: 10.0.0.7:8080\r\n\r\n", answer,
                sizeof answer);
    while (!*answer);
    assert_memory_equal(answer, "HTTP/1.1 200", 12);
    return slow->rounds - before;
}

/* What waited for slow clients' deadlines would wait for hundreds of their rounds. */
static void probes_are_answered_beside_a_thousand_slow_clients(void **state)
{
    (void)state;
    enum { PROBES = 50, PATIENCE = 40 };
    struct iso_error error = {.status = ISO_OK};
    struct iso_metrics metrics = {0};
    struct iso_web *web = open_web("0", NULL, &error);
    assert_non_null(web);
    struct slow slow = {.port = iso_web_port(web)};
    iso_web_publish(web, &metrics, true, NULL, NULL, NULL, NULL);
    assert_int_equal(pthread_create(&slow.thread, NULL, drip, &slow), 0);
    unsigned later = 0;
    for (int i = 0; i < PROBES; i++) {
        struct timespec pause = {.tv_nsec = 20000000};
        nanosleep(&pause, NULL);
        later += probe(&slow) > PATIENCE;
    }
    slow.stop = true;
    pthread_join(slow.thread, NULL);
    assert_true(later <= PROBES / 10);
    iso_metrics_release(&metrics);
    iso_web_free(web);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(health, start, stop),
        cmocka_unit_test_setup_teardown(paths_and_methods, start, stop),
        cmocka_unit_test_setup_teardown(tokens, start, stop),
        cmocka_unit_test_setup_teardown(latest_violations, start, stop),
        cmocka_unit_test_setup_teardown(what_stands_is_kept, start, stop),
        cmocka_unit_test_setup_teardown(figures_agree, start, stop),
        cmocka_unit_test_setup_teardown(explained_lines, start, stop),
        cmocka_unit_test_setup_teardown(long_lines_are_bounded, start, stop),
        cmocka_unit_test(names),
        cmocka_unit_test(guarded_peers),
        cmocka_unit_test(serves),
        cmocka_unit_test(addresses),
        cmocka_unit_test(hostile_clients_do_not_stop_the_checker),
        cmocka_unit_test(probes_are_answered_beside_a_thousand_slow_clients),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
