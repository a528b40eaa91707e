#define _GNU_SOURCE
#include "web/web.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <page.html.policy.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/redact.h"
#include "base/shared_library.h"
#include "web/guard.h"
#include "web/token.h"

/* Connections that are to end are closed a little later: there are never so many of them as there
 * is room. */
enum { CONNECTION_BYTES = 16384, BACKLOG = 1024 };

/* The functions of libmicrohttpd that are called. */
/* clang-format off */
#define FUNCTIONS(X) \
    X(add_response_header) X(create_response_from_buffer) X(destroy_response) \
    X(get_connection_info) X(get_daemon_info) X(get_timeout) X(lookup_connection_value) \
    X(queue_response) X(run) X(start_daemon) X(stop_daemon)
/* clang-format on */
#define MEMBER(name) __typeof__(MHD_##name) *name;
#define NAME(name) {"MHD_" #name, offsetof(struct mhd, name)},
struct mhd {
    FUNCTIONS(MEMBER)
};
static const struct iso_shared_function functions[] = {FUNCTIONS(NAME)};
static const struct iso_shared_library libmicrohttpd = {"libmicrohttpd.so.12", "libmicrohttpd12",
                                                        "--listen", functions,
                                                        sizeof functions / sizeof *functions};

struct iso_web {
    struct mhd mhd;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    bool started;       /* it has that thread */
    int bell;           /* rung when the thread is to end */
    struct guard guard; /* the thread's */
    struct iso_web_names names;
    pthread_mutex_t lock;
    struct iso_web_state state;
    char *token; /* NULL: none */
};

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static uint64_t now_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

/* ---- answering ---- */

static enum MHD_Result send_answer(const struct mhd *mhd, struct MHD_Connection *connection,
                                   struct iso_web_answer *answer)
{
    struct MHD_Response *response = mhd->create_response_from_buffer(
        answer->body.used, answer->body.bytes, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    mhd->add_response_header(response, "Content-Type", answer->content_type);
    mhd->add_response_header(response, "Cache-Control", "no-store");
    mhd->add_response_header(response, "X-Content-Type-Options", "nosniff");
    mhd->add_response_header(response, "Referrer-Policy", "no-referrer");
    mhd->add_response_header(response, "Connection",
                             "close"); /* a deadline for each request is one for its connection */
    mhd->add_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; script-src " PAGE_HTML_SCRIPT "; style-src " PAGE_HTML_STYLE
        "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'");
    if (answer->status == 401)
        mhd->add_response_header(response, "WWW-Authenticate", "Bearer");
    if (answer->status == 405)
        mhd->add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = mhd->queue_response(connection, answer->status, response);
    mhd->destroy_response(response);
    return result;
}

/* MHD calls once when the headers are there; a body is not read, whoever sends one is answered and
 * cut off. */
static enum MHD_Result handle_request(void *context, struct MHD_Connection *connection,
                                      const char *url, const char *method, const char *version,
                                      const char *upload, size_t *upload_size,
                                      void **request_context)
{
    (void)version, (void)upload, (void)upload_size, (void)request_context;
    struct iso_web *web = context;
    struct iso_web_request request = {
        .method = method,
        .path = url,
        .since = web->mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since"),
        .authorization =
            web->mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"),
        .host = web->mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
    };
    struct iso_web_answer answer = {0};
    pthread_mutex_lock(&web->lock);
    iso_web_answer(&web->state, &(struct iso_web_rules){web->token, &web->names}, now_ms(),
                   &request, &answer);
    pthread_mutex_unlock(&web->lock);
    enum MHD_Result result = send_answer(&web->mhd, connection, &answer);
    iso_text_release(&answer.body);
    return result;
}

static void stay_silent(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format,
        (void)arguments; /* what clients do wrong is no news of the checker's */
}

/* ---- connections ---- */

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct iso_web *web = context;
    (void)socket_context;
    int descriptor =
        web->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        guard_end(&web->guard, descriptor);
    else
        guard_begin(&web->guard, descriptor,
                    web->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
                        ->client_addr,
                    clock_ms(CLOCK_MONOTONIC));
}

/* Until the bell rings. MHD says by when it wants to run though nothing happens. */
static void *run_server(void *context)
{
    struct iso_web *web = context;
    struct pollfd heard[] = {
        {.fd = web->mhd.get_daemon_info(web->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
         .events = POLLIN},
        {.fd = web->bell, .events = POLLIN}};
    while (!heard[1].revents) {
        MHD_UNSIGNED_LONG_LONG wish;
        uint64_t wait = guard_look(&web->guard, clock_ms(CLOCK_MONOTONIC));
        if (web->mhd.get_timeout(web->daemon, &wish) == MHD_YES && wish < wait)
            wait = wish;
        poll(heard, 2, (int)wait);
        web->mhd.run(web->daemon);
    }
    return NULL;
}

/* ---- starting ---- */

/* HOST:PORT, [HOST]:PORT or PORT. The caller frees it. */
static struct addrinfo *resolve_address(const char *listen, struct iso_error *error)
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
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *found = NULL;
    if (*port < '0' || *port > '9' || *end || number > 65535 || length >= sizeof host ||
        (colon && !length) || getaddrinfo(host, port, &hints, &found))
        iso_error_set(error, ISO_BAD_INPUT, "--listen %s: no address; expected HOST:PORT or PORT",
                      listen);
    return found;
}

/* The name in --listen is one to be asked by. */
static void add_own_name(struct iso_web_names *names, const char *listen)
{
    const char *colon = strrchr(listen, ':');
    char *name = iso_copy_text(listen, colon ? (size_t)(colon - listen) : 0);
    if (*name)
        iso_web_names_add(names, name);
    iso_free(name);
}

static enum iso_status start_thread(struct iso_web *web, struct iso_error *error)
{
    web->bell = eventfd(0, EFD_CLOEXEC);
    web->started = web->bell >= 0 && pthread_create(&web->thread, NULL, run_server, web) == 0;
    return web->started ? ISO_OK
                        : iso_error_set(error, ISO_FAILED, "--listen: no thread could be started");
}

static enum iso_status start_server(struct iso_web *web, const char *listen,
                                    struct iso_error *error)
{
    struct addrinfo *address = resolve_address(listen, error);
    if (!address)
        return error->status;
    unsigned flags =
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    if (iso_web_may_listen(address->ai_addr, web->token, listen, error)) {
        web->daemon = web->mhd.start_daemon(
            flags, 0, NULL, NULL, handle_request, web, MHD_OPTION_EXTERNAL_LOGGER, stay_silent,
            NULL, MHD_OPTION_SOCK_ADDR, address->ai_addr, MHD_OPTION_NOTIFY_CONNECTION,
            on_connection, web, MHD_OPTION_CONNECTION_LIMIT, (unsigned)GUARD_ROOM,
            MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)CONNECTION_BYTES, MHD_OPTION_END);
        if (!web->daemon)
            iso_error_set(error, ISO_FAILED, "--listen %s: %s", listen, strerror(errno));
    }
    freeaddrinfo(address);
    return error->status == ISO_OK ? start_thread(web, error) : error->status;
}

struct iso_web *iso_web_new(const struct iso_web_options *options, struct iso_error *error)
{
    struct iso_web *web = iso_allocate_zeroed(1, sizeof *web);
    web->bell = -1;
    web->state.explain = options->explain;
    pthread_mutex_init(&web->lock, NULL);
    add_own_name(&web->names, options->listen);
    for (uint32_t i = 0; i < options->name_count; i++)
        iso_web_names_add(&web->names, options->names[i]);
    if (iso_shared_library_load(&libmicrohttpd, &web->mhd, error) == ISO_OK &&
        (!options->token_file || (web->token = iso_web_token(options->token_file, error))) &&
        start_server(web, options->listen, error) == ISO_OK)
        return web;
    iso_web_free(web);
    return NULL;
}

void iso_web_free(struct iso_web *web)
{
    if (!web)
        return;
    if (web->started) {
        eventfd_write(web->bell, 1);
        pthread_join(web->thread, NULL);
    }
    if (web->daemon)
        web->mhd.stop_daemon(web->daemon);
    if (web->bell >= 0)
        close(web->bell);
    pthread_mutex_destroy(&web->lock);
    iso_web_state_release(&web->state);
    iso_web_names_release(&web->names);
    iso_free(web->token);
    iso_free(web);
}

uint16_t iso_web_port(const struct iso_web *web)
{
    return web->mhd.get_daemon_info(web->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

/* ---- publishing ---- */

/* Publishes words of a broker's client, without secrets that they may quote from its settings. */
static void publish_words(char *into, size_t size, const char *words)
{
    char *shown = iso_redacted(words ? words : "");
    snprintf(into, size, "%s", shown);
    iso_free(shown);
}

void iso_web_publish(struct iso_web *web, struct iso_metrics *metrics, bool ready,
                     const char *trouble, const char *waiting, const char *waits, const char *notes)
{
    pthread_mutex_lock(&web->lock);
    struct iso_metrics old = web->state.metrics;
    web->state.metrics = *metrics;
    web->state.published = now_ms();
    web->state.ready = ready;
    publish_words(web->state.trouble, sizeof web->state.trouble, trouble);
    publish_words(web->state.waiting, sizeof web->state.waiting, waiting);
    snprintf(web->state.waits, sizeof web->state.waits, "%s",
             waits && strlen(waits) < sizeof web->state.waits ? waits : "[]");
    publish_words(web->state.notes, sizeof web->state.notes, notes);
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
