#define _GNU_SOURCE
#include "proxy/http.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "proxy/address.h"
#include "web/guard.h"
#include "web/host.h"
#include "web/token.h"

enum { REQUEST_MOST = 8192, BACKLOG = 1024, PAUSE_MS = 100, HEADER_MOST = 1100 };

/* One request, and what is still to be sent of its answer. */
struct exchange {
    char *request; /* REQUEST_MOST + 1 bytes; NULL: it is answered */
    size_t used;
    struct iso_text out;
    size_t sent;
};

struct http {
    struct http_options options;
    struct iso_web_names names;
    int listener, bell;
    char *token; /* NULL: none */
    pthread_t thread;
    bool started;
    struct guard guard;
    uint32_t count;
    struct exchange exchanges[GUARD_ROOM];
    struct pollfd polled[2 + GUARD_ROOM]; /* the bell, the listener, exchanges */
};

/* ---- a request ---- */

/* A header's value, "" if it is not there. False: it is not. */
static bool header(const char *request, const char *name, char value[HEADER_MOST])
{
    size_t length = strlen(name);
    *value = 0;
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) || line[length] != ':')
            continue;
        line += length + 1;
        line += strspn(line, " \t");
        size_t size = strcspn(line, "\r\n");
        while (size && strchr(" \t", line[size - 1]))
            size--;
        snprintf(value, HEADER_MOST, "%.*s", (int)size, line);
        return true;
    }
    return false;
}

/* A word of the first line, up to one of `ends`. */
static const char *take_word(const char *at, const char *ends, char *word, size_t size)
{
    size_t length = strcspn(at, ends);
    snprintf(word, size, "%.*s", length < size ? (int)length : 0, at);
    return at + length;
}

static struct http_request read_request(const struct http *http, const char *text)
{
    struct http_request request;
    char value[HEADER_MOST];
    const char *at = take_word(text, " \r\n", request.method, sizeof request.method);
    take_word(at + (*at == ' '), " ?\r\n", request.path, sizeof request.path);
    request.is_for_this_host =
        iso_web_names_allow(&http->names, header(text, "Host", value) ? value : NULL);
    bool has_token =
        http->token && header(text, "Authorization", value) && iso_web_token_is(http->token, value);
    request.carries_token = has_token || !http->token;
    request.may_change = has_token || (!http->token && !header(text, "Origin", value) &&
                                       !header(text, "Sec-Fetch-Site", value));
    return request;
}

static void answer(struct http *http, struct exchange *exchange)
{
    struct http_request request = read_request(http, exchange->request);
    struct http_answer answer = {.status = "200 OK", .type = "text/plain; charset=utf-8"};
    http->options.answer(http->options.context, &request, &answer);
    iso_free(exchange->request);
    exchange->request = NULL;
    iso_text_format(
        &exchange->out,
        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\n",
        answer.status, answer.type, answer.body.used);
    iso_text_put_bytes(&exchange->out, answer.body.bytes, answer.body.used);
    iso_text_release(&answer.body);
}

/* ---- connections ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void end_exchange(struct http *http, uint32_t place)
{
    struct exchange *exchange = &http->exchanges[place];
    int fd = http->polled[2 + place].fd;
    guard_end(&http->guard, fd);
    close(fd);
    iso_free(exchange->request);
    iso_text_release(&exchange->out);
    *exchange = http->exchanges[--http->count];
    http->polled[2 + place] = http->polled[2 + http->count];
}

/* False: the connection is over. What comes behind a request is read and dropped, so that its close
 * is none by force. */
static bool receive(struct http *http, struct exchange *exchange, int fd)
{
    char dropped[1024];
    bool reads = exchange->request;
    ssize_t got = recv(fd, reads ? exchange->request + exchange->used : dropped,
                       reads ? REQUEST_MOST - exchange->used : sizeof dropped, MSG_DONTWAIT);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    if (!reads)
        return true;
    size_t looked = exchange->used < 3 ? 0 : exchange->used - 3;
    exchange->used += (size_t)got;
    exchange->request[exchange->used] = 0;
    if (memmem(exchange->request + looked, exchange->used - looked, "\r\n\r\n", 4) ||
        exchange->used == REQUEST_MOST)
        answer(http, exchange);
    return true;
}

static bool transmit(struct exchange *exchange, int fd)
{
    size_t left = exchange->out.used - exchange->sent;
    ssize_t put =
        left ? send(fd, exchange->out.bytes + exchange->sent, left, MSG_NOSIGNAL | MSG_DONTWAIT)
             : 0;
    if (put < 0)
        return errno == EAGAIN || errno == EINTR;
    exchange->sent += (size_t)put;
    if (left && exchange->sent == exchange->out.used)
        shutdown(fd, SHUT_WR);
    return true;
}

/* False: there are no descriptors left, or no room. */
static bool accept_all(struct http *http)
{
    while (http->count < GUARD_ROOM) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        int fd = accept4(http->listener, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);
        if (fd < 0)
            return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
        guard_begin(&http->guard, fd, (const struct sockaddr *)&peer, now_ms());
        http->polled[2 + http->count] = (struct pollfd){.fd = fd};
        http->exchanges[http->count++] =
            (struct exchange){.request = iso_allocate(REQUEST_MOST + 1)};
    }
    return false;
}

static void *run_http(void *context)
{
    struct http *http = context;
    bool accepts = true;
    http->polled[0] = (struct pollfd){.fd = http->bell, .events = POLLIN};
    while (!http->polled[0].revents) {
        uint64_t wait = guard_look(&http->guard, now_ms());
        http->polled[1] = (struct pollfd){.fd = accepts ? http->listener : -1, .events = POLLIN};
        for (uint32_t i = 0; i < http->count; i++)
            http->polled[2 + i].events =
                POLLIN | (http->exchanges[i].sent < http->exchanges[i].out.used ? POLLOUT : 0);
        int many =
            poll(http->polled, 2 + http->count, accepts || wait < PAUSE_MS ? (int)wait : PAUSE_MS);
        if (many < 0)
            continue; /* a signal: what poll said before is no news */
        for (uint32_t i = http->count; i-- > 0;) {
            int fd = http->polled[2 + i].fd;
            short events = http->polled[2 + i].revents;
            if (events & ~POLLOUT && !receive(http, &http->exchanges[i], fd))
                end_exchange(http, i);
            else if (!transmit(&http->exchanges[i], fd))
                end_exchange(http, i);
        }
        accepts = !http->polled[1].revents || accept_all(http);
    }
    while (http->count)
        end_exchange(http, http->count - 1);
    return NULL;
}

/* ---- starting ---- */

static void start_http(struct http *http, const struct addrinfo *address, struct iso_error *error)
{
    const char *listen = http->options.listen;
    if (!iso_web_may_listen(address->ai_addr, http->token, listen, error))
        return;
    http->listener = address_listen(address, listen, "--listen", BACKLOG, true, error);
    http->bell = eventfd(0, EFD_CLOEXEC);
    http->started = http->listener >= 0 && !pthread_create(&http->thread, NULL, run_http, http);
    if (!http->started)
        iso_error_set(error, ISO_FAILED, "--listen: no thread could be started");
}

struct http *http_new(const struct http_options *options, struct iso_error *error)
{
    struct http *http = iso_allocate_zeroed(1, sizeof *http);
    struct addrinfo *address = NULL;
    char own[ADDRESS_HOST_MOST];
    http->options = *options;
    http->listener = http->bell = -1;
    address_host(options->listen, own);
    if (*own)
        iso_web_names_add(&http->names, own);
    for (uint32_t i = 0; i < options->name_count; i++)
        iso_web_names_add(&http->names, options->names[i]);
    if (!options->token_file || (http->token = iso_web_token(options->token_file, error)))
        address = address_resolve(options->listen, "--listen", true, error);
    if (address)
        start_http(http, address, error);
    address_free(address);
    if (http->started)
        return http;
    http_free(http);
    return NULL;
}

void http_free(struct http *http)
{
    if (!http)
        return;
    if (http->started) {
        eventfd_write(http->bell, 1);
        pthread_join(http->thread, NULL);
    }
    if (http->listener >= 0)
        close(http->listener);
    if (http->bell >= 0)
        close(http->bell);
    iso_web_names_release(&http->names);
    iso_free(http->token);
    iso_free(http);
}

unsigned http_port(const struct http *http)
{
    return address_port(http->listener);
}
