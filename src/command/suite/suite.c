#define _GNU_SOURCE
#include "suite/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "proxy/address.h"
#include "proxy/gate.h"
#include "suite/changes.h"
#include "suite/command.h"
#include "suite/slot.h"

enum {
    ROUND_MS = 5,
    END_ROUNDS = 1500,
    FLUSH_SECONDS = 5,
    SESSIONS_MS = 1000,
    PAUSE_SHARE = 9,
    CHANGES_MS = 20
};

struct suite {
    const struct suite_options *options;
    struct suite_slot slot;
    struct iso_database *beside; /* asks for the catalog and for rows */
    struct suite_capture capture;
    struct suite_changes changes;
    struct gate gate;
    bool has_gate, is_drained;
    struct iso_recorder *recorder;
    struct suite_command command;
    int pipe;              /* records come from it; -1: none */
    struct iso_text lines; /* that have come, the last one maybe in part */
    struct iso_text line;  /* one of them, as the capture has it */
    struct suite_result *result;
    struct iso_text name, server;
};

void suite_result_release(struct suite_result *result)
{
    iso_text_release(&result->capture);
    iso_text_release(&result->tables);
    iso_text_release(&result->database);
    suite_records_release(&result->records);
}

/* ---- before ---- */

static enum iso_status put_initial(struct suite *suite, struct iso_error *error)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SET TRANSACTION SNAPSHOT '%s'", suite->slot.snapshot);
    if (suite_ask(suite->beside, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error) !=
            ISO_OK ||
        suite_ask(suite->beside, sql, error) != ISO_OK ||
        suite_tables_read(&suite->changes.tables, suite->beside, true, true, error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0; i < suite->changes.tables.count && error->status == ISO_OK; i++)
        if (suite_table_is_judged(&suite->changes.tables.list[i]))
            suite_changes_put_initial(&suite->changes, suite->beside,
                                      &suite->changes.tables.list[i], suite->slot.start, error);
    /* its locks would be in the way of whoever alters a table */
    return error->status == ISO_OK ? suite_ask(suite->beside, "COMMIT", error) : error->status;
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

/* Where the server is, as the connection has it. */
static enum iso_status find_server(struct suite *suite, struct iso_error *error)
{
    char *host = iso_database_place(suite->slot.connection);
    const char *name = iso_database_ask(suite->beside, "SELECT current_database()");
    iso_text_put(&suite->name, name ? name : "");
    *iso_text_reserve(&suite->name, 1) = 0;
    iso_text_put(&suite->server, host);
    *iso_text_reserve(&suite->server, 1) = 0;
    iso_free(host);
    return name ? ISO_OK : iso_error_set(error, ISO_FAILED, "the database does not say its name");
}

static enum iso_status open_gate(struct suite *suite, struct iso_error *error)
{
    char sid[64];
    snprintf(sid, sizeof sid, "run-%d", (int)getpid());
    if (find_server(suite, error) != ISO_OK)
        return error->status;
    gate_init(&suite->gate, sid);
    suite->has_gate = true;
    suite->gate.shared.only = suite->name.bytes;
    suite->gate.shared.tells_moments = true;
    return gate_open(&suite->gate,
                     &(struct gate_settings){.bind = "127.0.0.1:0",
                                             .server = suite->server.bytes,
                                             .tls = LOOP_TLS_REFUSE,
                                             .recorder = suite->recorder,
                                             .threads = 1,
                                             .sessions_most = gate_sessions_most()},
                     error);
}

/* The URL with the proxy's place in it: userinfo, database and parameters stay. */
static void put_url(const struct suite *suite, struct iso_text *url)
{
    const char *rest = strstr(suite->options->url, "://") + 3;
    size_t length = strcspn(rest, "/?");
    const char *at = memrchr(rest, '@', length);
    const char *query = strchr(rest, '?'), *path = rest + length;
    iso_text_format(url, "postgresql://%.*s127.0.0.1:%u", at ? (int)(at - rest + 1) : 0, rest,
                    address_port(suite->gate.listener));
    size_t named = query ? (size_t)(query - path) : strlen(path);
    if (named > 1)
        iso_text_put_bytes(url, path, named);
    else
        iso_text_format(url, "/%s", suite->name.bytes);
    iso_text_put(url, "?sslmode=disable");
    for (const char *from = query; from; from = strchr(from + 1, '&')) {
        size_t size = strcspn(from + 1, "&");
        if (strncmp(from + 1, "host", 4) && strncmp(from + 1, "port=", 5) &&
            strncmp(from + 1, "ssl", 3))
            iso_text_format(url, "&%.*s", (int)size, from + 1);
    }
    *iso_text_reserve(url, 1) = 0;
}

static enum iso_status start(struct suite *suite, struct iso_error *error)
{
    struct iso_text url = {0};
    if (suite_slot_open(&suite->slot, suite->options->url, error) != ISO_OK)
        return error->status;
    suite->beside = suite_connect(suite->options->url, false, error);
    if (!suite->beside || put_initial(suite, error) != ISO_OK ||
        open_recorder(suite, error) != ISO_OK || open_gate(suite, error) != ISO_OK)
        return error->status;
    put_url(suite, &url);
    suite_command_start(&suite->command, suite->options->arguments, url.bytes,
                        address_port(suite->gate.listener), error);
    iso_text_release(&url);
    return error->status;
}

/* ---- meanwhile ---- */

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
            if (length && *line == '{') {
                suite_records_take(&suite->result->records, line, length, &suite->line);
                suite_capture_put(&suite->capture, SUITE_RECORDS, NULL, 0, suite->line.bytes,
                                  suite->line.used, error);
            }
            from += length + 1;
        }
        memmove(lines->bytes, lines->bytes + from, lines->used - from);
        lines->used -= from;
    }
    return error->status;
}

/* A batch of changes, with what the catalog says behind it. */
static enum iso_status take_changes(struct suite *suite, uint32_t *count, struct iso_error *error)
{
    if (suite_slot_poll(&suite->slot, count, error) != ISO_OK || !*count)
        return error->status;
    if (suite_tables_read(&suite->changes.tables, suite->beside, false, suite->is_drained, error) !=
        ISO_OK)
        return error->status;
    suite->is_drained = *count < SUITE_LINES;
    return suite_changes_take(&suite->changes, suite->slot.connection, *count, error);
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Commits that no record tells of are known by snapshots. */
static enum iso_status take_snapshot(struct suite *suite, struct iso_error *error)
{
    uint64_t sent = nanoseconds();
    if (suite_ask(suite->beside, "SELECT pg_current_snapshot()", error) == ISO_OK)
        suite_snapshots_take(&suite->result->records.snapshots,
                             iso_database_value(suite->beside, 0, 0), sent, nanoseconds());
    return error->status;
}

/* The server decodes anew what it wrote in the last 15 seconds whenever it is asked: it is left
 * alone for several times as long as that took. */
static enum iso_status accompany(struct suite *suite, struct iso_error *error)
{
    uint32_t count;
    int64_t next = 0;
    while (error->status == ISO_OK && !suite_command_wait(&suite->command, ROUND_MS)) {
        int64_t begun = iso_clock_ms();
        if (take_snapshot(suite, error) == ISO_OK && take_records(suite, error) == ISO_OK &&
            begun >= next && take_changes(suite, &count, error) == ISO_OK)
            next = begun + CHANGES_MS + (iso_clock_ms() - begun) * PAUSE_SHARE;
    }
    return error->status;
}

/* ---- afterwards ---- */

/* A transaction of its own behind all others of the command's. */
static enum iso_status read_to_the_end(struct suite *suite, struct iso_error *error)
{
    suite->changes.ended = false;
    if (suite_ask(suite->beside, "SELECT pg_logical_emit_message(true, 'isochron run', 'end')",
                  error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0, count; i < END_ROUNDS && !suite->changes.ended; i++) {
        if (take_changes(suite, &count, error) != ISO_OK)
            return error->status;
        if (!count)
            poll(NULL, 0, CHANGES_MS);
    }
    return suite->changes.ended
               ? ISO_OK
               : iso_error_set(error, ISO_FAILED, "the end of the changes did not come in 30 s");
}

static void sum_up(struct suite *suite, struct suite_result *result)
{
    const struct suite_tables *tables = &suite->changes.tables;
    for (uint32_t i = 0; i < tables->count; i++)
        if (suite_table_is_judged(&tables->list[i]) &&
            (!i || strcmp(tables->list[i].name, tables->list[i - 1].name) != 0))
            iso_text_format(&result->tables, "%s%s", result->tables.used ? ";" : "",
                            tables->list[i].identity);
    *iso_text_reserve(&result->tables, 1) = 0;
    for (uint32_t i = 0; i < suite->gate.loop_count; i++) {
        const struct observe_counts *counts = &loop_world(suite->gate.loops[i])->counts;
        result->reads += counts->reads;
        result->recorded += counts->recorded + counts->empty;
    }
    iso_recorder_statistics(suite->recorder, &result->recorder);
    iso_text_put(&result->database, suite->name.bytes);
    *iso_text_reserve(&result->database, 1) = 0;
    result->exit_status = suite_command_exit(&suite->command);
}

/* The proxy asks behind a session's last statement whether what it recorded is sure: a moment for
 * that. Who left a process behind has sessions still. */
static void let_sessions_end(const struct suite *suite)
{
    for (uint32_t waited = 0; waited < SESSIONS_MS; waited += 5) {
        uint64_t open = 0;
        for (uint32_t i = 0; i < suite->gate.loop_count; i++) {
            const struct loop_counts *counts = loop_counts(suite->gate.loops[i]);
            open += counts->sessions_opened - counts->sessions_closed;
        }
        if (!open)
            return;
        poll(NULL, 0, 5);
    }
}

static enum iso_status finish(struct suite *suite, struct suite_result *result,
                              struct iso_error *error)
{
    let_sessions_end(suite);
    gate_stop(&suite->gate);
    for (int i = 0; i < 2 && error->status == ISO_OK; i++) {
        take_records(suite, error);
        iso_recorder_flush(suite->recorder, FLUSH_SECONDS);
    }
    if (take_records(suite, error) == ISO_OK && read_to_the_end(suite, error) == ISO_OK)
        sum_up(suite, result);
    return error->status;
}

static void release(struct suite *suite)
{
    if (suite->has_gate)
        gate_release(&suite->gate);
    if (suite->pipe >= 0)
        close(suite->pipe);
    iso_recorder_free(suite->recorder);
    iso_database_close(suite->beside);
    suite_slot_close(&suite->slot);
    suite_changes_release(&suite->changes);
    iso_text_release(&suite->lines);
    iso_text_release(&suite->line);
    iso_text_release(&suite->name);
    iso_text_release(&suite->server);
}

enum iso_status suite_run(const struct suite_options *options, struct suite_result *result,
                          struct iso_error *error)
{
    struct suite suite = {.options = options, .pipe = -1, .is_drained = true, .result = result};
    struct iso_error closing = {.status = ISO_OK};
    suite.changes.capture = &suite.capture;
    iso_text_format(&result->capture, "%s/run.capture.jsonl.zst", options->folder);
    *iso_text_reserve(&result->capture, 1) = 0;
    suite.capture.writer = iso_capture_writer_new(result->capture.bytes, error);
    if (suite.capture.writer && start(&suite, error) == ISO_OK &&
        accompany(&suite, error) == ISO_OK)
        finish(&suite, result, error);
    release(&suite);
    if (suite.capture.writer)
        iso_capture_writer_close(suite.capture.writer, &closing);
    if (error->status == ISO_OK && closing.status != ISO_OK)
        *error = closing;
    return error->status;
}
