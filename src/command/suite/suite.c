#define _GNU_SOURCE
#include "suite/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "proxy/address.h"
#include "proxy/gate.h"
#include "suite/command.h"

enum { ROUND_MS = 5, FLUSH_SECONDS = 5, SESSIONS_MS = 1000 };

/* What a loop asks of the thread that has the bases, and waits for. */
struct suite_request {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum {
        REQUEST_NONE,
        REQUEST_ADMIT,
        REQUEST_YIELD,
        REQUEST_ASK,
        REQUEST_LOOK,
        REQUEST_LAST = REQUEST_LOOK + OBSERVE_LOOK_SEVERAL
    } kind;
    const char *name; /* of a database; NULL: of all */
    const struct observe_asked *asked;
    const struct observe_given *given;
    int answer;
    bool is_over; /* nobody answers any more */
};

struct suite {
    const struct suite_options *options;
    struct suite_base **bases; /* in the order in which they were opened */
    uint32_t base_count, base_capacity;
    struct suite_request request;
    struct gate gate;
    bool has_gate;
    struct iso_recorder *recorder;
    struct suite_command command;
    int pipe;              /* records come from it; -1: none */
    struct iso_text lines; /* that have come, the last one maybe in part */
    struct iso_text server;
    char sid[32]; /* what ids of sessions begin with */
};

/* ---- bases ---- */

/* The URL with another place in it, or another database; NULL: as it is. Userinfo and parameters
 * stay. */
static void put_url(const struct suite *suite, const char *place, const char *database,
                    struct iso_text *url)
{
    const char *rest = strstr(suite->options->url, "://") + 3;
    size_t length = strcspn(rest, "/?");
    const char *at = memrchr(rest, '@', length);
    const char *query = strchr(rest, '?'), *path = rest + length;
    size_t user = at ? (size_t)(at - rest + 1) : 0;
    iso_text_format(url, "postgresql://%.*s", (int)user, rest);
    if (place)
        iso_text_put(url, place);
    else
        iso_text_put_bytes(url, rest + user, length - user);
    size_t named = query ? (size_t)(query - path) : strlen(path);
    if (named > 1 && !database)
        iso_text_put_bytes(url, path, named);
    iso_text_put(url, database ? "/" : "");
    for (const char *byte = database; byte && *byte; byte++)
        iso_text_format(url, strchr("%/?#& ", *byte) ? "%%%02X" : "%c", (unsigned char)*byte);
    const char *separator = place ? "?sslmode=disable&" : "?";
    for (const char *from = query; from; from = strchr(from + 1, '&')) {
        size_t size = strcspn(from + 1, "&");
        bool is_of_place = !strncmp(from + 1, "host", 4) || !strncmp(from + 1, "port=", 5) ||
                           !strncmp(from + 1, "ssl", 3);
        if ((place && is_of_place) || (database && !strncmp(from + 1, "dbname=", 7)))
            continue;
        iso_text_format(url, "%s%.*s", separator, (int)size, from + 1);
        separator = "&";
    }
    if (place && *separator == '?')
        iso_text_put(url, "?sslmode=disable");
    *iso_text_reserve(url, 1) = 0;
}

static struct suite_base *add_base(struct suite *suite, const char *database)
{
    struct suite_base *base = iso_allocate_zeroed(1, sizeof *base);
    ISO_PUSH(suite->bases, suite->base_count, suite->base_capacity, base);
    base->facts.name = database ? iso_copy_text(database, strlen(database)) : NULL;
    return base;
}

static enum iso_status open_base(struct suite *suite, const char *database, struct iso_error *error)
{
    struct iso_text url = {0}, path = {0};
    uint32_t number = suite->base_count;
    struct suite_base *base = add_base(suite, database);
    iso_text_format(&path, "%s/run%.0u" SUITE_CAPTURE, suite->options->folder, number);
    *iso_text_reserve(&path, 1) = 0;
    put_url(suite, NULL, database, &url);
    suite_base_open(base, url.bytes, path.bytes, suite->options->streams, error);
    iso_text_release(&url);
    iso_text_release(&path);
    return error->status;
}

/* What goes wrong with a database is the end of its being judged, and not of the command. */
static void give_up(struct suite_base *base, const struct iso_error *error)
{
    struct iso_error ignored = *error;
    if (!base->facts.failure)
        base->facts.failure = iso_copy_text(error->text, strlen(error->text));
    suite_base_close(base, &ignored);
}

/* A pipe that has a name, since a recorder writes to one. */
static enum iso_status open_recorder(struct suite *suite, struct iso_error *error)
{
    struct iso_recorder_options settings = {.linger_ms = 1, .from_stream = true};
    struct iso_text path = {0};
    iso_text_format(&path, "%s/records", suite->options->folder);
    *iso_text_reserve(&path, 1) = 0;
    if (mkfifo(path.bytes, 0600) ||
        (suite->pipe = open(path.bytes, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
        iso_error_set(error, ISO_FAILED, "%s: %s", path.bytes, strerror(errno));
    else
        suite->recorder = iso_recorder_new_file(path.bytes, &settings, error);
    unlink(path.bytes);
    iso_text_release(&path);
    return error->status;
}

/* ---- what loops ask ---- */

static int ask(struct suite *suite, int kind, const char *name, const struct observe_asked *asked,
               const struct observe_given *given)
{
    struct suite_request *request = &suite->request;
    int answer = -1;
    pthread_mutex_lock(&request->lock);
    while (request->kind && !request->is_over)
        pthread_cond_wait(&request->changed, &request->lock);
    if (!request->is_over) {
        request->name = name;
        request->asked = asked;
        request->given = given;
        request->kind = kind;
        pthread_cond_broadcast(&request->changed);
        while (request->kind && !request->is_over)
            pthread_cond_wait(&request->changed, &request->lock);
        answer = request->kind ? -1 : request->answer;
        pthread_cond_broadcast(&request->changed);
    }
    pthread_mutex_unlock(&request->lock);
    return answer;
}

static int admit(void *context, const char *database)
{
    return ask(context, REQUEST_ADMIT, database, NULL, NULL);
}

static void yield(void *context, const char *database)
{
    ask(context, REQUEST_YIELD, database, NULL, NULL);
}

static bool ask_catalog(void *context, const char *database, const struct observe_asked *asked)
{
    return ask(context, REQUEST_ASK, database, asked, NULL) > 0;
}

static void look(void *context, const char *database, enum observe_look what,
                 const struct observe_given *given)
{
    ask(context, REQUEST_LOOK + (int)what, database, NULL, given);
}

static enum iso_status take_records(struct suite *suite, struct iso_error *error);

/* The base of the database's sessions from now on; -1: none. */
static int find_base(struct suite *suite, const char *database)
{
    struct iso_error error = {.status = ISO_OK};
    for (uint32_t i = suite->base_count; i-- > 0;)
        if (!strcmp(suite->bases[i]->facts.name, database)) {
            if (suite->bases[i]->is_open)
                return (int)i;
            if (suite->bases[i]->facts.failure)
                return -1;
            break;
        }
    if (fnmatch(suite->options->pattern, database, 0)) {
        struct suite_base *base = add_base(suite, database);
        base->facts.failure = iso_copy_text("--database leaves it out", 24);
        base->facts.is_left_out = true;
        return -1;
    }
    if (open_base(suite, database, &error) == ISO_OK)
        return (int)suite->base_count - 1;
    give_up(suite->bases[suite->base_count - 1], &error);
    return -1;
}

/* Its sessions' records until now are in the capture, and so are its changes. */
static void close_bases(struct suite *suite, const char *database)
{
    struct iso_error error = {.status = ISO_OK};
    iso_recorder_flush(suite->recorder, 1);
    take_records(suite, &error);
    for (uint32_t i = 0; i < suite->base_count; i++) {
        struct suite_base *base = suite->bases[i];
        struct iso_error closing = error;
        if (base->is_open && (!database || !strcmp(base->facts.name, database)) &&
            suite_base_close(base, &closing) != ISO_OK)
            give_up(base, &closing);
    }
}

static void look_at(const struct suite *suite, const struct suite_request *request)
{
    enum observe_look what = (enum observe_look)(request->kind - REQUEST_LOOK);
    struct suite_definition definition = {.what = what == OBSERVE_LOOK_BEHIND
                                                      ? SUITE_DEFINES_NOTHING
                                                  : what == OBSERVE_LOOK_NEXT ? SUITE_DEFINES_NEXT
                                                  : what == OBSERVE_LOOK_SEVERAL ? SUITE_DEFINES_ANY
                                                                                 : SUITE_DEFINES};
    if (request->given) {
        definition.names = request->given->names.list;
        definition.count = request->given->names.count;
        definition.is_any = request->given->is_any;
    }
    for (uint32_t i = 0; i < suite->base_count; i++) {
        struct suite_base *base = suite->bases[i];
        struct iso_error error = {.status = ISO_OK};
        if (!base->is_open || strcmp(base->facts.name, request->name) != 0)
            continue;
        if (what != OBSERVE_LOOK_NEXT && suite_base_look(base, &error) != ISO_OK)
            give_up(base, &error);
        else
            suite_tables_define(&base->changes.tables, &definition);
    }
}

static bool answer_catalog(const struct suite *suite, const char *database,
                           const struct observe_asked *asked)
{
    for (uint32_t i = 0; i < suite->base_count; i++)
        if (suite->bases[i]->is_open && !strcmp(suite->bases[i]->facts.name, database))
            return suite_base_ask(suite->bases[i], asked->query, asked->take, asked->context);
    return false;
}

static void serve(struct suite *suite)
{
    struct suite_request *request = &suite->request;
    pthread_mutex_lock(&request->lock);
    if (request->kind == REQUEST_ADMIT)
        request->answer = find_base(suite, request->name);
    else if (request->kind == REQUEST_YIELD)
        close_bases(suite, request->name);
    else if (request->kind == REQUEST_ASK)
        request->answer = answer_catalog(suite, request->name, request->asked);
    else if (request->kind >= REQUEST_LOOK)
        look_at(suite, request);
    request->kind = REQUEST_NONE;
    pthread_cond_broadcast(&request->changed);
    pthread_mutex_unlock(&request->lock);
}

/* From here on loops are not waited for, and do not wait. */
static void serve_no_more(struct suite *suite)
{
    pthread_mutex_lock(&suite->request.lock);
    suite->request.is_over = true;
    pthread_cond_broadcast(&suite->request.changed);
    pthread_mutex_unlock(&suite->request.lock);
}

/* ---- before ---- */

static enum iso_status open_gate(struct suite *suite, struct iso_error *error)
{
    char *host = iso_database_place(suite->bases[0]->beside);
    snprintf(suite->sid, sizeof suite->sid, "run-%d", (int)getpid());
    iso_text_put(&suite->server, host);
    *iso_text_reserve(&suite->server, 1) = 0;
    iso_free(host);
    gate_init(&suite->gate, suite->sid);
    suite->has_gate = true;
    suite->gate.shared.host = (struct observe_host){admit, yield, look, ask_catalog, suite};
    suite->gate.shared.tells_moments = true;
    suite->gate.shared.shows_values = suite->options->shows_values;
    return gate_open(&suite->gate,
                     &(struct gate_settings){.bind = "127.0.0.1:0",
                                             .server = suite->server.bytes,
                                             .tls = LOOP_TLS_REFUSE,
                                             .recorder = suite->recorder,
                                             .threads = 1,
                                             .sessions_most = gate_sessions_most()},
                     error);
}

static enum iso_status start(struct suite *suite, struct iso_error *error)
{
    struct iso_text url = {0};
    char place[40];
    if (open_base(suite, NULL, error) != ISO_OK || open_recorder(suite, error) != ISO_OK ||
        open_gate(suite, error) != ISO_OK)
        return error->status;
    unsigned port = address_port(suite->gate.listener);
    bool names = strcspn(strstr(suite->options->url, "://") + 3, "/") + 1 <
                 strcspn(strstr(suite->options->url, "://") + 3, "?");
    snprintf(place, sizeof place, "127.0.0.1:%u", port);
    put_url(suite, place, names ? NULL : suite->bases[0]->facts.name, &url);
    suite_command_start(&suite->command, suite->options->arguments, url.bytes, port, error);
    iso_text_release(&url);
    return error->status;
}

/* ---- meanwhile ---- */

/* {"sid":"run-PID/BASE/SESSION",... NULL: of no base. */
static struct suite_base *base_of(const struct suite *suite, const char *line, size_t length)
{
    static const char begin[] = "{\"sid\":\"run-";
    const char *slash = length > sizeof begin && !memcmp(line, begin, sizeof begin - 1)
                            ? memchr(line, '/', length)
                            : NULL;
    int base = slash ? atoi(slash + 1) : -1;
    return base >= 0 && (uint32_t)base < suite->base_count ? suite->bases[base] : NULL;
}

/* What the pipe has, line by line. */
static enum iso_status take_records(struct suite *suite, struct iso_error *error)
{
    struct iso_text *lines = &suite->lines;
    for (ssize_t got = 1; got > 0 && error->status == ISO_OK;) {
        char *room = iso_text_reserve(lines, (1 << 16) + ISO_JSON_PADDING);
        got = read(suite->pipe, room, 1 << 16);
        lines->used += got > 0 ? (size_t)got : 0;
        size_t from = 0;
        for (char *end; (end = memchr(lines->bytes + from, '\n', lines->used - from)) != NULL;) {
            const char *line = lines->bytes + from;
            size_t length = (size_t)(end - line);
            struct suite_base *base = base_of(suite, line, length);
            if (base && base->is_open)
                suite_base_take_record(base, line, length);
            else if (base)
                base->facts.late++;
            from += length + 1;
        }
        memmove(lines->bytes, lines->bytes + from, lines->used - from);
        lines->used -= from;
    }
    return error->status;
}

/* A round's time, in which what loops ask is answered at once. */
static void attend(struct suite *suite)
{
    struct suite_request *request = &suite->request;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += ROUND_MS * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    for (bool is_over = false; !is_over; serve(suite)) {
        pthread_mutex_lock(&request->lock);
        while (!request->kind && !is_over)
            is_over = pthread_cond_timedwait(&request->changed, &request->lock, &end) == ETIMEDOUT;
        pthread_mutex_unlock(&request->lock);
    }
}

static enum iso_status accompany(struct suite *suite, struct iso_error *error)
{
    while (error->status == ISO_OK && !suite_command_has_ended(&suite->command)) {
        attend(suite);
        take_records(suite, error);
        for (uint32_t i = 0; i < suite->base_count && error->status == ISO_OK; i++) {
            struct suite_base *base = suite->bases[i];
            struct iso_error failure = {.status = ISO_OK};
            if (base->is_open && suite_base_follow(base, &failure) != ISO_OK)
                give_up(base, &failure);
        }
    }
    return error->status;
}

/* ---- afterwards ---- */

static void sum_up(const struct suite *suite, struct suite_result *result)
{
    struct iso_recorder_statistics recorder;
    for (uint32_t i = 0; i < suite->gate.loop_count; i++) {
        const struct observe_counts *counts = &loop_world(suite->gate.loops[i])->counts;
        result->reads += counts->reads;
        result->recorded += counts->recorded + counts->empty - counts->withdrawn;
    }
    iso_recorder_statistics(suite->recorder, &recorder);
    result->lost = recorder.dropped_full + recorder.dropped_refused + recorder.lost;
    result->exit_status = suite_command_exit(&suite->command);
}

/* The proxy asks behind a session's last statement whether what it recorded is sure: a moment for
 * that. Who left a process behind has sessions still. */
static void let_sessions_end(struct suite *suite)
{
    for (uint32_t waited = 0; waited < SESSIONS_MS; waited += ROUND_MS) {
        uint64_t open = 0;
        for (uint32_t i = 0; i < suite->gate.loop_count; i++) {
            const struct loop_counts *counts = loop_counts(suite->gate.loops[i]);
            open += counts->sessions_opened - counts->sessions_closed;
        }
        if (!open)
            return;
        attend(suite);
    }
}

static enum iso_status finish(struct suite *suite, struct suite_result *result,
                              struct iso_error *error)
{
    let_sessions_end(suite);
    serve_no_more(suite);
    gate_stop(&suite->gate);
    for (int i = 0; i < 2 && error->status == ISO_OK; i++) {
        take_records(suite, error);
        iso_recorder_flush(suite->recorder, FLUSH_SECONDS);
    }
    if (error->status == ISO_OK)
        close_bases(suite, NULL);
    result->lost_server = suite->bases[0]->facts.failure != NULL;
    sum_up(suite, result);
    return error->status;
}

/* What is known of each is the result's. */
static void release(struct suite *suite, struct suite_result *result)
{
    serve_no_more(suite);
    for (uint32_t i = 0; i < suite->base_count; i++) {
        struct suite_base *base = suite->bases[i];
        suite_base_close(base, &(struct iso_error){.status = ISO_FAILED});
        ISO_APPEND(result->bases, base->facts);
        suite_base_release(base);
        iso_free(base);
    }
    iso_free(suite->bases);
    if (suite->has_gate)
        gate_release(&suite->gate);
    if (suite->pipe >= 0)
        close(suite->pipe);
    iso_recorder_free(suite->recorder);
    iso_text_release(&suite->lines);
    iso_text_release(&suite->server);
}

enum iso_status suite_run(const struct suite_options *options, struct suite_result *result,
                          struct iso_error *error)
{
    struct suite suite = {
        .options = options,
        .pipe = -1,
        .request = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    if (start(&suite, error) == ISO_OK && accompany(&suite, error) == ISO_OK)
        finish(&suite, result, error);
    release(&suite, result);
    return error->status;
}
