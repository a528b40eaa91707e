#define _GNU_SOURCE
#include "web/http.h"

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
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
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

struct iso_http {
    struct iso_http_options options;
    struct mhd mhd;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    bool started;       /* it has that thread */
    int wakeup_fd;      /* written to when the thread is to end */
    struct guard guard; /* the thread's */
    struct iso_web_names names;
    char *token; /* NULL: none */
};

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

static const char *header(const struct mhd *mhd, struct MHD_Connection *connection,
                          const char *name)
{
    return mhd->lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* MHD calls once when the headers are there; a body is not read, whoever sends one is answered and
 * cut off. */
static enum MHD_Result handle_request(void *context, struct MHD_Connection *connection,
                                      const char *url, const char *method, const char *version,
                                      const char *upload, size_t *upload_size,
                                      void **request_context)
{
    (void)version, (void)upload, (void)upload_size, (void)request_context;
    struct iso_http *http = context;
    const struct mhd *mhd = &http->mhd;
    struct iso_web_request request = {
        .method = method,
        .path = url,
        .since = mhd->lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since"),
        .authorization = header(mhd, connection, "Authorization"),
        .host = header(mhd, connection, "Host"),
        .is_from_page =
            header(mhd, connection, "Origin") || header(mhd, connection, "Sec-Fetch-Site"),
    };
    struct iso_web_answer answer = {0};
    http->options.answer(http->options.context, &(struct iso_web_rules){http->token, &http->names},
                         &request, &answer);
    enum MHD_Result result = send_answer(mhd, connection, &answer);
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
    struct iso_http *http = context;
    (void)socket_context;
    int descriptor =
        http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        guard_end(&http->guard, descriptor);
    else
        guard_begin(&http->guard, descriptor,
                    http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
                        ->client_addr,
                    (uint64_t)iso_clock_ms());
}

/* Until wakeup_fd is written to. MHD says by when it wants to run though nothing happens. */
static void *run_server(void *context)
{
    struct iso_http *http = context;
    struct pollfd heard[] = {
        {.fd = http->mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
         .events = POLLIN},
        {.fd = http->wakeup_fd, .events = POLLIN}};
    while (!heard[1].revents) {
        MHD_UNSIGNED_LONG_LONG wish;
        uint64_t wait = guard_look(&http->guard, (uint64_t)iso_clock_ms());
        if (http->mhd.get_timeout(http->daemon, &wish) == MHD_YES && wish < wait)
            wait = wish;
        poll(heard, 2, (int)wait);
        http->mhd.run(http->daemon);
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

static enum iso_status start_thread(struct iso_http *http, struct iso_error *error)
{
    http->wakeup_fd = eventfd(0, EFD_CLOEXEC);
    http->started =
        http->wakeup_fd >= 0 && pthread_create(&http->thread, NULL, run_server, http) == 0;
    return http->started ? ISO_OK
                         : iso_error_set(error, ISO_FAILED, "--listen: no thread could be started");
}

static enum iso_status start_server(struct iso_http *http, const char *listen,
                                    struct iso_error *error)
{
    struct addrinfo *address = resolve_address(listen, error);
    if (!address)
        return error->status;
    unsigned flags =
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    if (iso_web_may_listen(address->ai_addr, http->token, listen, error)) {
        http->daemon = http->mhd.start_daemon(
            flags, 0, NULL, NULL, handle_request, http, MHD_OPTION_EXTERNAL_LOGGER, stay_silent,
            NULL, MHD_OPTION_SOCK_ADDR, address->ai_addr, MHD_OPTION_NOTIFY_CONNECTION,
            on_connection, http, MHD_OPTION_CONNECTION_LIMIT, (unsigned)GUARD_ROOM,
            MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)CONNECTION_BYTES, MHD_OPTION_END);
        if (!http->daemon)
            iso_error_set(error, ISO_FAILED, "--listen %s: %s", listen, strerror(errno));
    }
    freeaddrinfo(address);
    return error->status == ISO_OK ? start_thread(http, error) : error->status;
}

struct iso_http *iso_http_new(const struct iso_http_options *options, struct iso_error *error)
{
    struct iso_http *http = iso_allocate_zeroed(1, sizeof *http);
    http->options = *options;
    http->wakeup_fd = -1;
    add_own_name(&http->names, options->listen);
    for (uint32_t i = 0; i < options->name_count; i++)
        iso_web_names_add(&http->names, options->names[i]);
    if (iso_shared_library_load(&libmicrohttpd, &http->mhd, error) == ISO_OK &&
        (!options->token_file || (http->token = iso_web_token(options->token_file, error))) &&
        start_server(http, options->listen, error) == ISO_OK)
        return http;
    iso_http_free(http);
    return NULL;
}

void iso_http_free(struct iso_http *http)
{
    if (!http)
        return;
    if (http->started) {
        eventfd_write(http->wakeup_fd, 1);
        pthread_join(http->thread, NULL);
    }
    if (http->daemon)
        http->mhd.stop_daemon(http->daemon);
    if (http->wakeup_fd >= 0)
        close(http->wakeup_fd);
    iso_web_names_release(&http->names);
    ISO_FREE_ALL(http->token, http);
}

uint16_t iso_http_port(const struct iso_http *http)
{
    return http->mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}
