#define _GNU_SOURCE
#include "proxy/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "web/token.h"

enum { SHOWN_SHAPES = 50 };

/* ---- sums ---- */

/* Counts are members of one type. */
static void add_counts(void *to, const void *from, size_t size)
{
    _Atomic uint64_t *sum = to;
    const _Atomic uint64_t *more = from;
    for (size_t i = 0; i < size / sizeof *sum; i++)
        sum[i] += more[i];
}

void status_sum(const struct status_view *view, struct status_sums *sums)
{
    *sums = (struct status_sums){0};
    for (uint32_t i = 0; i < view->loop_count; i++) {
        struct observe_world *world = loop_world(view->loops[i]);
        add_counts(&sums->loops, loop_counts(view->loops[i]), sizeof sums->loops);
        pthread_mutex_lock(&world->lock);
        add_counts(&sums->counts, &world->counts, sizeof sums->counts);
        sums->plan_bytes += world->plan_bytes;
        pthread_mutex_unlock(&world->lock);
    }
    if (view->shared->recorder)
        iso_recorder_statistics(view->shared->recorder, &sums->recorder);
}

/* ---- shapes ---- */

static int compare_shapes(const void *left, const void *right)
{
    const struct observe_shape *one = left, *other = right;
    uint64_t missing = one->reads - one->recorded, others = other->reads - other->recorded;
    if (missing != others)
        return missing < others ? 1 : -1;
    return one->statements < other->statements ? 1 : one->statements > other->statements ? -1 : 0;
}

static void add_shape(struct observe_shape *sums, uint32_t *count,
                      const struct observe_shape *shape)
{
    uint32_t i = 0;
    while (i < *count && strcmp(sums[i].shape, shape->shape))
        i++;
    if (i == *count)
        sums[(*count)++] = (struct observe_shape){.shape = shape->shape};
    sums[i].statements += shape->statements;
    sums[i].reads += shape->reads;
    sums[i].recorded += shape->recorded;
    if (shape->reason)
        sums[i].reason = shape->reason;
}

static void put_shape(struct iso_text *text, const struct observe_shape *sum, bool as_json)
{
    const char *reason = sum->reads > sum->recorded ? plan_reason_names[sum->reason] : "";
    if (!as_json) {
        iso_text_format(text, "%10" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %-12s %s\n",
                        sum->statements, sum->reads, sum->recorded, reason, sum->shape);
        return;
    }
    iso_text_format(text,
                    "{\"statements\":%" PRIu64 ",\"reads\":%" PRIu64 ",\"recorded\":%" PRIu64
                    ",\"reason\":\"%s\",\"shape\":",
                    sum->statements, sum->reads, sum->recorded, reason);
    size_t length = strlen(sum->shape);
    while (length && !iso_utf8_valid((const uint8_t *)sum->shape, length))
        length--; /* it was cut within a letter */
    iso_text_put_string(text, sum->shape, length);
    iso_text_put(text, "}");
}

void status_shapes(const struct status_view *view, struct iso_text *text, bool as_json)
{
    struct observe_shape *sums =
        iso_allocate_zeroed((size_t)view->loop_count * (WORLD_SHAPES + 1), sizeof *sums);
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->loop_count; i++) {
        struct observe_world *world = loop_world(view->loops[i]);
        pthread_mutex_lock(&world->lock);
        for (uint32_t j = 0; j <= WORLD_SHAPES; j++)
            if (world->shapes[j].statements)
                add_shape(sums, &count, &world->shapes[j]);
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

static void put_metric(struct iso_text *text, const char *name, const char *type, const char *help,
                       uint64_t value)
{
    iso_text_format(
        text,
        "# HELP isochron_proxy_%s %s\n# TYPE isochron_proxy_%s %s\nisochron_proxy_%s %" PRIu64 "\n",
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
        {"sessions", "gauge", "Sessions that are open.",
         sums.loops.sessions_opened - sums.loops.sessions_closed},
        {"sessions_total", "counter", "Sessions that were opened.", sums.loops.sessions_opened},
        {"sessions_limit", "gauge", "Sessions that descriptors allow; more wait to be accepted.",
         view->sessions_most},
        {"accept_pauses_total", "counter",
         "Times that nobody was accepted for lack of descriptors.", sums.loops.pauses},
        {"sessions_raw_total", "counter", "Sessions of which bytes are passed on unread.",
         sums.loops.sessions_raw},
        {"sessions_encrypted_total", "counter", "Those of them that are encrypted from end to end.",
         sums.loops.sessions_encrypted},
        {"sessions_bad_total", "counter",
         "Sessions that were closed for bytes that are no message.", sums.loops.sessions_bad},
        {"unconfirmed_total", "counter",
         "Times that records lost what they list: the catalog had changed, or could not be asked for.",
         counts->unconfirmed},
        {"sessions_lost_total", "counter",
         "Sessions that were not understood and are passed on since.", counts->lost},
        {"connect_failures_total", "counter", "Connections that the server did not take.",
         sums.loops.connects_failed},
        {"client_bytes_total", "counter", "Bytes from clients.", sums.loops.bytes_from_clients},
        {"server_bytes_total", "counter", "Bytes from the server.", sums.loops.bytes_from_server},
        {"statements_total", "counter", "Statements that ended.", counts->statements},
        {"reads_total", "counter", "SELECT and FETCH of recorded tables.", counts->reads},
        {"reads_recorded_total", "counter", "Those of them of which something was recorded.",
         counts->recorded},
        {"reads_empty_total", "counter",
         "Those that returned no row, of which nothing is to be said.", counts->empty},
        {"transactions_total", "counter", "Records of transactions that did not abort.",
         counts->transactions},
        {"transactions_aborted_total", "counter", "Records of transactions that aborted.",
         counts->aborted},
        {"transactions_single_total", "counter",
         "Records of single statements outside of transactions.", counts->single},
        {"transactions_unidentified_total", "counter",
         "Transactions without a record: they wrote and their xid could not be asked for, or they were prepared, imported a snapshot, or were parted by EXECUTE.",
         counts->unidentified},
        {"transactions_unplaced_total", "counter",
         "Transactions and statements without a snapshot, with --record snapshots.",
         counts->unplaced},
        {"positions_total", "counter", "Snapshots that were asked for.", counts->positions},
        {"questions_failed_total", "counter", "Questions of the proxy's own that failed.",
         counts->questions_failed},
        {"catalog_questions_total", "counter", "Questions for a catalog in clients' sessions.",
         counts->catalogs},
        {"catalog_questions_interrupted_total", "counter",
         "Those of them that were cancelled, as the client went on.", counts->catalogs_interrupted},
        {"databases", "gauge", "Databases that are known, at most 16 of them without a session.",
         observe_databases(view->shared)},
        {"plans_made_total", "counter", "Texts of statements that were parsed.", counts->plans},
        {"plans_refused_total", "counter", "Texts that were not, since plans had no room.",
         counts->plans_refused},
        {"plans_bytes", "gauge", "Memory of plans.", sums.plan_bytes},
        {"plans_limit_bytes", "gauge", "Memory beyond which plans are forgotten.",
         (uint64_t)view->loop_count * WORLD_PLAN_BYTES},
        {"records_taken_total", "counter", "Records in the buffer, or beyond it.",
         sums.recorder.recorded},
        {"records_written_total", "counter", "Records that a file or the broker has.",
         sums.recorder.written},
        {"records_dropped_full_total", "counter", "Records for which the buffer had no room.",
         sums.recorder.dropped_full},
        {"records_dropped_refused_total", "counter", "Records that cannot be written.",
         sums.recorder.dropped_refused},
        {"records_lost_total", "counter", "Records that a file or the broker did not take.",
         sums.recorder.lost},
        {"records_waiting_bytes", "gauge", "Bytes in the buffer.", sums.recorder.waiting_bytes},
        {"peak_memory_bytes", "gauge", "The most memory that the process had.",
         (uint64_t)usage.ru_maxrss * 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        put_metric(text, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    iso_text_put(
        text,
        "# HELP isochron_proxy_reads_passed_total Reads that were passed on and not recorded, by reason.\n"
        "# TYPE isochron_proxy_reads_passed_total counter\n");
    for (int i = 1; i < REASONS; i++)
        iso_text_format(text, "isochron_proxy_reads_passed_total{reason=\"%s\"} %" PRIu64 "\n",
                        plan_reason_names[i], counts->reasons[i]);
}

static void put_status(const struct status_view *view, struct iso_text *text)
{
    struct status_sums sums;
    status_sum(view, &sums);
    const struct observe_counts *counts = &sums.counts;
    iso_text_format(text,
                    "{\"recording\":%s,\"sessions\":%" PRIu64 ",\"reads\":%" PRIu64
                    ",\"recorded\":%" PRIu64 ",\"empty\":%" PRIu64 ",\"records\":%" PRIu64
                    ",\"written\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"trouble\":",
                    observe_is_on(view->shared) ? "true" : "false",
                    sums.loops.sessions_opened - sums.loops.sessions_closed, counts->reads,
                    counts->recorded, counts->empty, sums.recorder.recorded, sums.recorder.written,
                    sums.recorder.dropped_full + sums.recorder.dropped_refused +
                        sums.recorder.lost);
    iso_text_put_string(text, sums.recorder.trouble, strlen(sums.recorder.trouble));
    iso_text_put(text, ",\"shapes\":[");
    status_shapes(view, text, true);
    iso_text_put(text, "]}\n");
}

static void refuse(struct iso_web_answer *answer, unsigned status, const char *why)
{
    answer->status = status;
    iso_text_put(&answer->body, why);
}

static void switch_recording(struct observe_shared *shared, bool is_off, struct iso_text *body)
{
    shared->is_off = is_off;
    iso_text_put(body, is_off ? "nothing is recorded any more\n" : "new sessions are recorded\n");
}

void status_answer(void *context, const struct iso_web_rules *rules,
                   const struct iso_web_request *request, struct iso_web_answer *answer)
{
    struct status_view *view = context;
    const char *path = request->path;
    bool gets = !strcmp(request->method, "GET"), puts = !strcmp(request->method, "PUT");
    bool turns_off = puts && !strcmp(path, "/recording/off");
    bool turns_on = puts && !strcmp(path, "/recording/on");
    answer->status = 200;
    answer->content_type = "text/plain; charset=utf-8";
    if (!iso_web_names_allow(rules->names, request->host)) {
        refuse(answer, 421,
               "asked by a name that is not this server's; --listen-name NAME adds it\n");
    } else if (gets && !strcmp(path, "/livez")) {
        iso_text_put(&answer->body, "ok\n");
    } else if (rules->token && !iso_web_token_is(rules->token, request->authorization)) {
        refuse(answer, 401, "a token is needed: Authorization: Bearer TOKEN\n");
    } else if (gets && !strcmp(path, "/metrics")) {
        answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
        put_metrics(view, &answer->body);
    } else if (gets && !strcmp(path, "/status")) {
        answer->content_type = "application/json";
        put_status(view, &answer->body);
    } else if ((turns_off || turns_on) && !rules->token && request->is_from_page) {
        refuse(
            answer, 403,
            "a page in a browser may not change anything; expected no Origin, or a --listen-token\n");
    } else if (turns_off || turns_on) {
        switch_recording(view->shared, turns_off, &answer->body);
    } else {
        refuse(answer, 404,
               "there are GET /metrics, /status, /livez and PUT /recording/off, /recording/on\n");
    }
}
