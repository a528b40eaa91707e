#define _GNU_SOURCE
#include "web/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

enum { CONNECTIONS = 32, CONNECTION_BYTES = 16384, IDLE_SECONDS = 10, TOKEN_LEAST = 16, TOKEN_MOST = 1024 };

struct iso_web {
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;
    struct iso_web_state state;
    char *token; /* NULL: none */
};

static uint64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* ---- answering ---- */

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct iso_web_answer *answer)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->body.used, answer->body.bytes, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", answer->content_type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
        "img-src data:; frame-ancestors 'none'");
    if (answer->status == 401)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (answer->status == 405)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, answer->status, response);
    MHD_destroy_response(response);
    return result;
}

/* MHD calls once when the headers are there; a body is not read, whoever sends one is answered and cut off. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **request_context)
{
    (void)version, (void)upload, (void)upload_size, (void)request_context;
    struct iso_web *web = context;
    struct iso_web_request request = {
        .method = method,
        .path = url,
        .since = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since"),
        .authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"),
    };
    struct iso_web_answer answer = {0};
    pthread_mutex_lock(&web->lock);
    iso_web_answer(&web->state, web->token, now_ms(), &request, &answer);
    pthread_mutex_unlock(&web->lock);
    enum MHD_Result result = send_answer(connection, &answer);
    iso_text_release(&answer.body);
    return result;
}

static void stay_silent(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments; /* what clients do wrong is no news of the checker's */
}

/* ---- starting ---- */

static enum iso_status read_token(struct iso_web *web, const char *path, struct iso_error *error)
{
    char text[TOKEN_MOST + 2];
    FILE *file = fopen(path, "re");
    if (!file)
        return iso_error_set(error, iso_error_of_open(errno), "%s: %s", path, strerror(errno));
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    while (length && strchr("\r\n \t", text[length - 1]))
        length--;
    bool plain = length >= TOKEN_LEAST && length <= TOKEN_MOST;
    for (size_t i = 0; i < length && plain; i++)
        plain = text[i] > ' ' && text[i] < 0x7f;
    if (!plain)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s: no token; expected %d to %d printable characters without spaces", path, TOKEN_LEAST,
                             TOKEN_MOST);
    web->token = iso_copy_text(text, length);
    return ISO_OK;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* HOST:PORT, [HOST]:PORT or PORT. The caller frees it. */
static struct addrinfo *resolve(const char *listen, struct iso_error *error)
{
    char host[256] = "127.0.0.1";
    const char *colon = strrchr(listen, ':'), *port = colon ? colon + 1 : listen;
    size_t length = colon ? (size_t)(colon - listen) : 0;
    bool bracketed = length > 1 && *listen == '[' && colon[-1] == ']';
    char *end;
    unsigned long number = strtoul(port, &end, 10);
    if (length < sizeof host && length) {
        memcpy(host, listen + bracketed, length - 2 * bracketed);
        host[length - 2 * bracketed] = 0;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    if (*port < '0' || *port > '9' || *end || number > 65535 || length >= sizeof host || (colon && !length) ||
        getaddrinfo(host, port, &hints, &found))
        iso_error_set(error, ISO_BAD_INPUT, "--listen %s: no address; expected HOST:PORT or PORT", listen);
    return found;
}

static enum iso_status start(struct iso_web *web, const char *listen, struct iso_error *error)
{
    struct addrinfo *address = resolve(listen, error);
    if (!address)
        return error->status;
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG |
                     (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    if (!web->token && !is_loopback(address->ai_addr)) {
        iso_error_set(error, ISO_BAD_INPUT,
                      "--listen %s: beyond the loopback interface; expected --listen-token FILE too", listen);
    } else {
        web->daemon = MHD_start_daemon(
            flags, 0, NULL, NULL, handle, web, MHD_OPTION_EXTERNAL_LOGGER, stay_silent, NULL, MHD_OPTION_SOCK_ADDR,
            address->ai_addr, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
        if (!web->daemon)
            iso_error_set(error, ISO_FAILED, "--listen %s: %s", listen, strerror(errno));
    }
    freeaddrinfo(address);
    return error->status;
}

struct iso_web *iso_web_new(const char *listen, const char *token_file, iso_web_explainer *explain,
                            struct iso_error *error)
{
    struct iso_web *web = iso_allocate_zeroed(1, sizeof *web);
    web->state.explain = explain;
    pthread_mutex_init(&web->lock, NULL);
    if ((!token_file || read_token(web, token_file, error) == ISO_OK) && start(web, listen, error) == ISO_OK)
        return web;
    iso_web_free(web);
    return NULL;
}

void iso_web_free(struct iso_web *web)
{
    if (!web)
        return;
    if (web->daemon)
        MHD_stop_daemon(web->daemon);
    pthread_mutex_destroy(&web->lock);
    iso_web_state_release(&web->state);
    iso_free(web->token);
    iso_free(web);
}

uint16_t iso_web_port(const struct iso_web *web)
{
    return MHD_get_daemon_info(web->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

/* ---- publishing ---- */

void iso_web_publish(struct iso_web *web, struct iso_metrics *metrics, bool ready, const char *trouble)
{
    pthread_mutex_lock(&web->lock);
    struct iso_metrics old = web->state.metrics;
    web->state.metrics = *metrics;
    web->state.published = now_ms();
    web->state.ready = ready;
    snprintf(web->state.trouble, sizeof web->state.trouble, "%s", trouble ? trouble : "");
    pthread_mutex_unlock(&web->lock);
    iso_metrics_clear(&old);
    *metrics = old; /* its room serves the next snapshot */
}

void iso_web_add(struct iso_web *web, const char *line, size_t length)
{
    pthread_mutex_lock(&web->lock);
    iso_web_state_add(&web->state, line, length);
    pthread_mutex_unlock(&web->lock);
}
