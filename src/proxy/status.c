#define _GNU_SOURCE
#include "proxy/status.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "proxy/address.h"

enum { REQUEST_MOST = 8192, SECONDS = 2, TOKEN_LEAST = 16, TOKEN_MOST = 1024, BACKLOG = 64, SHOWN_SHAPES = 50 };

struct status {
    struct status_view view;
    int listener, bell;
    char token[TOKEN_MOST + 2];
    pthread_t thread;
    bool started;
};

/* ---- sums ---- */

static void add_counts(struct observe_counts *to, const struct observe_counts *from)
{
    to->statements += from->statements;
    to->reads += from->reads;
    to->recorded += from->recorded;
    to->empty += from->empty;
    to->transactions += from->transactions;
    to->aborted += from->aborted;
    to->single += from->single;
    to->unidentified += from->unidentified;
    to->unplaced += from->unplaced;
    to->positions += from->positions;
    to->questions_failed += from->questions_failed;
    to->lost += from->lost;
    for (int i = 0; i < REASONS; i++)
        to->reasons[i] += from->reasons[i];
}

void status_sum(const struct status_view *view, struct status_sums *sums)
{
    *sums = (struct status_sums){0};
    for (uint32_t i = 0; i < view->loop_count; i++) {
        const struct loop_counts *counts = loop_counts(view->loops[i]);
        struct observe_world *world = loop_world(view->loops[i]);
        sums->opened += counts->sessions_opened;
        sums->closed += counts->sessions_closed;
        sums->raw += counts->sessions_raw;
        sums->encrypted += counts->sessions_encrypted;
        sums->bad += counts->sessions_bad;
        sums->connects_failed += counts->connects_failed;
        sums->from_clients += counts->bytes_from_clients;
        sums->from_server += counts->bytes_from_server;
        pthread_mutex_lock(&world->lock);
        add_counts(&sums->counts, &world->counts);
        pthread_mutex_unlock(&world->lock);
    }
    if (view->shared->recorder)
        iso_recorder_statistics(view->shared->recorder, &sums->recorder);
}

/* ---- shapes ---- */

struct shape_sum {
    const char *shape;
    uint64_t statements, reads, recorded;
    enum plan_reason reason;
};

static int compare_shapes(const void *left, const void *right)
{
    const struct shape_sum *one = left, *other = right;
    uint64_t missing = one->reads - one->recorded, others = other->reads - other->recorded;
    if (missing != others)
        return missing < others ? 1 : -1;
    return one->statements < other->statements ? 1 : one->statements > other->statements ? -1 : 0;
}

static void add_shape(struct shape_sum *sums, uint32_t *count, const struct observe_shape *shape)
{
    uint32_t i = 0;
    while (i < *count && strcmp(sums[i].shape, shape->shape))
        i++;
    if (i == *count)
        sums[(*count)++] = (struct shape_sum){.shape = shape->shape};
    sums[i].statements += shape->statements;
    sums[i].reads += shape->reads;
    sums[i].recorded += shape->recorded;
    if (shape->reason)
        sums[i].reason = shape->reason;
}

static void put_shape(struct iso_text *text, const struct shape_sum *sum, bool as_json)
{
    const char *reason = sum->reads > sum->recorded ? plan_reason_names[sum->reason] : "";
    if (!as_json) {
        iso_text_format(text, "%10" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %-12s %s\n", sum->statements, sum->reads,
                        sum->recorded, reason, sum->shape);
        return;
    }
    iso_text_format(
        text, "{\"statements\":%" PRIu64 ",\"reads\":%" PRIu64 ",\"recorded\":%" PRIu64 ",\"reason\":\"%s\",\"shape\":",
        sum->statements, sum->reads, sum->recorded, reason);
    size_t length = strlen(sum->shape);
    while (length && !iso_utf8_valid((const uint8_t *)sum->shape, length))
        length--; /* it was cut within a letter */
    iso_text_put_string(text, sum->shape, length);
    iso_text_put(text, "}");
}

void status_shapes(const struct status_view *view, struct iso_text *text, bool as_json)
{
    struct shape_sum *sums = iso_allocate_zeroed((size_t)view->loop_count * (WORLD_SHAPES + 1), sizeof *sums);
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->loop_count; i++) {
        struct observe_world *world = loop_world(view->loops[i]);
        pthread_mutex_lock(&world->lock);
        for (uint32_t j = 0; j < world->shape_count; j++)
            add_shape(sums, &count, &world->shapes[j]);
        if (world->shapes[WORLD_SHAPES].statements)
            add_shape(sums, &count, &world->shapes[WORLD_SHAPES]);
        pthread_mutex_unlock(&world->lock);
    }
    qsort(sums, count, sizeof *sums, compare_shapes);
    for (uint32_t i = 0; i < count && i < SHOWN_SHAPES; i++) {
        if (as_json && i)
            iso_text_put(text, ",");
        put_shape(text, &sums[i], as_json);
    }
    iso_free(sums);
}

/* ---- answers ---- */

static void put_metric(struct iso_text *text, const char *name, const char *type, const char *help, uint64_t value)
{
    iso_text_format(text, "# HELP isochron_proxy_%s %s\n# TYPE isochron_proxy_%s %s\nisochron_proxy_%s %" PRIu64 "\n",
                    name, help, name, type, name, value);
}

static void put_metrics(const struct status_view *view, struct iso_text *text)
{
    struct status_sums sums;
    struct rusage usage;
    status_sum(view, &sums);
    getrusage(RUSAGE_SELF, &usage);
    const struct observe_counts *counts = &sums.counts;
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } rows[] = {
        {"recording", "gauge", "1 while sessions are recorded.", observe_is_on(view->shared)},
        {"sessions", "gauge", "Sessions that are open.", sums.opened - sums.closed},
        {"sessions_total", "counter", "Sessions that were opened.", sums.opened},
        {"sessions_raw_total", "counter", "Sessions of which bytes are passed on unread.", sums.raw},
        {"sessions_encrypted_total", "counter", "Those of them that are encrypted from end to end.", sums.encrypted},
        {"sessions_bad_total", "counter", "Sessions that were closed for bytes that are no message.", sums.bad},
        {"sessions_lost_total", "counter", "Sessions that were not understood and are passed on since.", counts->lost},
        {"connect_failures_total", "counter", "Connections that the server did not take.", sums.connects_failed},
        {"client_bytes_total", "counter", "Bytes from clients.", sums.from_clients},
        {"server_bytes_total", "counter", "Bytes from the server.", sums.from_server},
        {"statements_total", "counter", "Statements that ended.", counts->statements},
        {"reads_total", "counter", "SELECT and FETCH of recorded tables.", counts->reads},
        {"reads_recorded_total", "counter", "Those of them of which something was recorded.", counts->recorded},
        {"reads_empty_total", "counter", "Those that returned no row, of which nothing is to be said.", counts->empty},
        {"transactions_total", "counter", "Records of transactions that did not abort.", counts->transactions},
        {"transactions_aborted_total", "counter", "Records of transactions that aborted.", counts->aborted},
        {"transactions_single_total", "counter", "Records of single statements outside of transactions.",
         counts->single},
        {"transactions_unidentified_total", "counter", "Transactions that wrote and whose xid could not be asked for.",
         counts->unidentified},
        {"transactions_unplaced_total", "counter",
         "Transactions and statements without a snapshot, with --record snapshots.", counts->unplaced},
        {"positions_total", "counter", "Snapshots that were asked for.", counts->positions},
        {"questions_failed_total", "counter", "Questions of the proxy's own that failed.", counts->questions_failed},
        {"records_taken_total", "counter", "Records in the buffer, or beyond it.", sums.recorder.recorded},
        {"records_written_total", "counter", "Records that a file or the broker has.", sums.recorder.written},
        {"records_dropped_full_total", "counter", "Records for which the buffer had no room.",
         sums.recorder.dropped_full},
        {"records_dropped_refused_total", "counter", "Records that cannot be written.", sums.recorder.dropped_refused},
        {"records_lost_total", "counter", "Records that a file or the broker did not take.", sums.recorder.lost},
        {"records_waiting_bytes", "gauge", "Bytes in the buffer.", sums.recorder.waiting_bytes},
        {"peak_memory_bytes", "gauge", "The most memory that the process had.", (uint64_t)usage.ru_maxrss * 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        put_metric(text, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    iso_text_put(text,
                 "# HELP isochron_proxy_reads_passed_total Reads that were passed on and not recorded, by reason.\n"
                 "# TYPE isochron_proxy_reads_passed_total counter\n");
    for (int i = 1; i < REASONS; i++)
        iso_text_format(text, "isochron_proxy_reads_passed_total{reason=\"%s\"} %" PRIu64 "\n", plan_reason_names[i],
                        counts->reasons[i]);
}

static void put_status(const struct status_view *view, struct iso_text *text)
{
    struct status_sums sums;
    status_sum(view, &sums);
    const struct observe_counts *counts = &sums.counts;
    iso_text_format(text,
                    "{\"recording\":%s,\"sessions\":%" PRIu64 ",\"reads\":%" PRIu64 ",\"recorded\":%" PRIu64
                    ",\"empty\":%" PRIu64 ",\"records\":%" PRIu64 ",\"written\":%" PRIu64 ",\"dropped\":%" PRIu64
                    ",\"trouble\":",
                    observe_is_on(view->shared) ? "true" : "false", sums.opened - sums.closed, counts->reads,
                    counts->recorded, counts->empty, sums.recorder.recorded, sums.recorder.written,
                    sums.recorder.dropped_full + sums.recorder.dropped_refused + sums.recorder.lost);
    iso_text_put_string(text, sums.recorder.trouble, strlen(sums.recorder.trouble));
    iso_text_put(text, ",\"shapes\":[");
    status_shapes(view, text, true);
    iso_text_put(text, "]}\n");
}

/* The words of a request's first line: method and path. */
static void first_line(const char *request, char *method, char *path, size_t size)
{
    size_t length = strcspn(request, " \r\n");
    *method = *path = 0;
    if (length >= size || request[length] != ' ')
        return;
    memcpy(method, request, length);
    method[length] = 0;
    request += length + 1;
    length = strcspn(request, " ?\r\n");
    if (length >= size)
        return;
    memcpy(path, request, length);
    path[length] = 0;
}

/* In the time that does not depend on where they differ. */
static bool is_same(const char *one, const char *other)
{
    size_t length = strlen(one);
    unsigned differ = length != strlen(other);
    for (size_t i = 0; i < length && !differ; i++)
        differ |= (unsigned char)one[i] ^ (unsigned char)other[i];
    return !differ;
}

static bool may_ask(const struct status *status, const char *request)
{
    char given[TOKEN_MOST + 2];
    if (!*status->token)
        return true;
    const char *header = strcasestr(request, "\r\nAuthorization: Bearer ");
    if (!header)
        return false;
    header += strlen("\r\nAuthorization: Bearer ");
    size_t length = strcspn(header, "\r\n");
    if (length >= sizeof given)
        return false;
    memcpy(given, header, length);
    given[length] = 0;
    return is_same(given, status->token);
}

static const char *answer(struct status *status, const char *request, struct iso_text *body, const char **type)
{
    char method[64], path[64];
    const struct status_view *view = &status->view;
    first_line(request, method, path, sizeof path);
    bool gets = !strcmp(method, "GET"), puts = !strcmp(method, "PUT");
    *type = "text/plain; charset=utf-8";
    if (gets && !strcmp(path, "/livez")) {
        iso_text_put(body, "ok\n");
        return "200 OK";
    }
    if (!may_ask(status, request)) {
        iso_text_put(body, "a token is needed: Authorization: Bearer TOKEN\n");
        return "401 Unauthorized";
    }
    if (gets && !strcmp(path, "/metrics")) {
        *type = "text/plain; version=0.0.4; charset=utf-8";
        put_metrics(view, body);
        return "200 OK";
    }
    if (gets && !strcmp(path, "/status")) {
        *type = "application/json";
        put_status(view, body);
        return "200 OK";
    }
    if (puts && (!strcmp(path, "/recording/off") || !strcmp(path, "/recording/on"))) {
        view->shared->is_off = !strcmp(path, "/recording/off");
        iso_text_put(body, view->shared->is_off ? "nothing is recorded any more\n" : "new sessions are recorded\n");
        return "200 OK";
    }
    iso_text_put(body, "there are GET /metrics, /status, /livez and PUT /recording/off, /recording/on\n");
    return "404 Not Found";
}

static void serve(struct status *status, int fd)
{
    char request[REQUEST_MOST + 1];
    size_t used = 0;
    struct timeval limit = {.tv_sec = SECONDS};
    time_t until = time(NULL) + SECONDS;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    for (request[0] = 0; used < REQUEST_MOST && !strstr(request, "\r\n\r\n") && time(NULL) <= until;) {
        ssize_t got = recv(fd, request + used, REQUEST_MOST - used, 0);
        if (got <= 0)
            return;
        used += (size_t)got;
        request[used] = 0;
    }
    struct iso_text body = {0}, text = {0};
    const char *type, *line = answer(status, request, &body, &type);
    iso_text_format(
        &text,
        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\n",
        line, type, body.used);
    iso_text_put_bytes(&text, body.bytes, body.used);
    for (size_t sent = 0; sent < text.used;) {
        ssize_t put = send(fd, text.bytes + sent, text.used - sent, MSG_NOSIGNAL);
        if (put <= 0)
            break;
        sent += (size_t)put;
    }
    shutdown(fd, SHUT_WR);
    iso_text_release(&body);
    iso_text_release(&text);
}

static void *run_status(void *context)
{
    struct status *status = context;
    struct pollfd heard[] = {{.fd = status->listener, .events = POLLIN}, {.fd = status->bell, .events = POLLIN}};
    while (poll(heard, 2, -1) >= 0 || errno == EINTR) {
        if (heard[1].revents)
            break;
        int fd = accept4(status->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(status, fd);
        close(fd);
    }
    return NULL;
}

/* ---- starting ---- */

static enum iso_status read_token(struct status *status, const char *path, struct iso_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return iso_error_set(error, iso_error_of_open(errno), "%s: %s", path, strerror(errno));
    size_t length = fread(status->token, 1, TOKEN_MOST + 1, file);
    fclose(file);
    while (length && strchr("\r\n \t", status->token[length - 1]))
        length--;
    status->token[length] = 0;
    if (length < TOKEN_LEAST || length > TOKEN_MOST)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: no token; expected %d to %d characters", path, TOKEN_LEAST,
                             TOKEN_MOST);
    return ISO_OK;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

struct status *status_new(const char *listen, const char *token_file, const struct status_view *view,
                          struct iso_error *error)
{
    struct status *status = iso_allocate_zeroed(1, sizeof *status);
    *status = (struct status){.view = *view, .listener = -1, .bell = -1};
    struct addrinfo *address = NULL;
    if (token_file && read_token(status, token_file, error) != ISO_OK)
        goto failed;
    address = address_resolve(listen, "--listen", true, error);
    if (!address)
        goto failed;
    if (!token_file && !is_loopback(address->ai_addr)) {
        iso_error_set(error, ISO_BAD_INPUT,
                      "--listen %s: beyond the loopback interface; expected --listen-token FILE too", listen);
        goto failed;
    }
    status->listener = address_listen(address, listen, "--listen", BACKLOG, false, error);
    status->bell = eventfd(0, EFD_CLOEXEC);
    if (status->listener < 0)
        goto failed;
    status->started = !pthread_create(&status->thread, NULL, run_status, status);
    if (!status->started) {
        iso_error_set(error, ISO_FAILED, "--listen: no thread could be started");
        goto failed;
    }
    address_free(address);
    return status;
failed:
    address_free(address);
    status_free(status);
    return NULL;
}

void status_free(struct status *status)
{
    if (!status)
        return;
    if (status->started) {
        eventfd_write(status->bell, 1);
        pthread_join(status->thread, NULL);
    }
    if (status->listener >= 0)
        close(status->listener);
    if (status->bell >= 0)
        close(status->bell);
    iso_free(status);
}

unsigned status_port(const struct status *status)
{
    return address_port(status->listener);
}
