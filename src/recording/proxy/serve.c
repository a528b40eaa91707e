/* The proxy from its options to its end: listens, starts loops, waits for signals. */
#define _GNU_SOURCE
#include "proxy/serve.h"

#include <inttypes.h>
#include <openssl/err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "observe/shape.h"
#include "proxy/address.h"
#include "proxy/gate.h"
#include "proxy/status.h"
#include "run/input/consume.h"
#include "run/shown/notify.h"

enum { LINGER_MS = 5 }; /* as long as librdkafka by default */
enum { PROPERTIES_MOST = 256, REPORT_SECONDS = 60 };

struct proxy {
    const char *bind, *server, *to, *sid, *listen, *listen_token, *explain_sql;
    struct cli_texts properties, tables, listen_names;
    uint32_t threads;
    int tls;    /* enum loop_tls */
    int record; /* 0: all, 1: what has a snapshot */
    const char *certificate, *key, *server_ca;
    bool server_tls, quiet, shapes;
    uint64_t buffer;

    struct gate gate;
    SSL_CTX *own, *to_server;
    struct iso_recorder *recorder;
    struct iso_http *http;
    struct status_view view;
};

#define PLACE(member) offsetof(struct proxy, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("Between whom"),
    CLI_ROW_TEXT("bind", "ADDRESS", PLACE(bind),
                 "Where clients connect: HOST:PORT, PORT or the path of a Unix socket\n"
                 "(127.0.0.1:6432)."),
    CLI_ROW_TEXT("server", "ADDRESS", PLACE(server), "The database, likewise (127.0.0.1:5432)."),
    CLI_ROW_COUNT("threads", "N", PLACE(threads), 1, GATE_LOOPS_MOST,
                  "Event loops; one a processor by default."),
    CLI_ROW_GROUP("What is recorded"),
    CLI_ROW_TEXT("to", "WHERE", PLACE(to),
                 "kafka:TOPIC, or a file that records are appended to. Without it nothing\n"
                 "is recorded."),
    CLI_ROW_PROPERTIES(PLACE(properties)),
    CLI_ROW_TEXTS("tables", "TABLE", PLACE(tables),
                  "Record only this table, as schema.table or table. May be given often;\n"
                  "without it all tables that a change stream can have."),
    CLI_ROW_CHOICE("record", "all|snapshots", PLACE(record),
                   "all: transactions of every level, and statements outside of transactions.\n"
                   "snapshots: those at REPEATABLE READ and SERIALIZABLE alone. Without a\n"
                   "snapshot nothing is judged at si."),
    CLI_ROW_TEXT("sid", "TEXT", PLACE(sid),
                 "What ids of sessions begin with; by default the machine's name, the\n"
                 "process and its start. Must differ between proxies of one topic."),
    CLI_ROW_NUMBER("buffer", "BYTES", PLACE(buffer), 1 << 16, (uint64_t)1 << 34,
                   "What may wait for the file or the broker (16M); records beyond it are\n"
                   "dropped and counted."),
    CLI_ROW_GROUP("Encryption"),
    CLI_ROW_CHOICE("tls", "pass|refuse|own", PLACE(tls),
                   "What a client's request for TLS gets: the server's answer, and then its\n"
                   "session is encrypted from end to end and not recorded (pass); a no,\n"
                   "after which most clients go on without (refuse); TLS by the proxy, with\n"
                   "--tls-certificate and --tls-key (own)."),
    CLI_ROW_TEXT("tls-certificate", "FILE", PLACE(certificate),
                 "The certificate that clients are shown, with its chain, PEM. Where\n"
                 "clients bind channels (SCRAM-PLUS), it is the server's own."),
    CLI_ROW_TEXT("tls-key", "FILE", PLACE(key), "Its private key, PEM."),
    CLI_ROW_FLAG("server-tls", PLACE(server_tls), "Speak TLS with the server."),
    CLI_ROW_TEXT("server-ca", "FILE", PLACE(server_ca),
                 "Who must have signed the server's certificate, PEM; it must name the host of\n"
                 "--server. Without it the certificate is not looked at."),
    CLI_ROW_GROUP("How it is doing"),
    CLI_ROW_TEXT("listen", "ADDRESS", PLACE(listen),
                 "Serve /metrics, /status and PUT /recording/off over HTTP."),
    CLI_ROW_TEXT("listen-token", "FILE", PLACE(listen_token),
                 "A token that who asks must carry; needed beyond the loopback interface."),
    CLI_ROW_TEXTS("listen-name", "NAME", PLACE(listen_names),
                  "A host name that requests may use, beside localhost, the name in --listen,\n"
                  "and every address. Other names get 421. May be given often."),
    CLI_ROW_FLAG("shapes", PLACE(shapes),
                 "At the end print statements by shape: how many ran, read, were recorded."),
    CLI_ROW_TEXT("explain-sql", "SQL", PLACE(explain_sql),
                 "Say what would be recorded of these statements, and why not; nothing else\n"
                 "is done."),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Say nothing but warnings and errors."),
    {.type = CLI_END},
};

/* ---- parts ---- */

static SSL_CTX *tls_failed(SSL_CTX *context, const char *what, struct iso_error *error)
{
    char text[256] = "not readable";
    unsigned long code = ERR_get_error();
    if (code)
        ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    SSL_CTX_free(context);
    iso_error_set(error, ISO_BAD_INPUT, "%s: %s", what, text);
    return NULL;
}

static enum iso_status make_tls(struct proxy *proxy, struct iso_error *error)
{
    if (proxy->certificate || proxy->key)
        proxy->tls = LOOP_TLS_OWN;
    if (proxy->tls == LOOP_TLS_OWN && (!proxy->certificate || !proxy->key))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--tls own: expected --tls-certificate FILE and --tls-key FILE");
    if (proxy->tls == LOOP_TLS_OWN) {
        proxy->own = SSL_CTX_new(TLS_server_method());
        SSL_CTX_set_min_proto_version(proxy->own, TLS1_2_VERSION);
        if (SSL_CTX_use_certificate_chain_file(proxy->own, proxy->certificate) != 1)
            proxy->own = tls_failed(proxy->own, proxy->certificate, error);
        else if (SSL_CTX_use_PrivateKey_file(proxy->own, proxy->key, SSL_FILETYPE_PEM) != 1)
            proxy->own = tls_failed(proxy->own, proxy->key, error);
    }
    if (proxy->server_tls && error->status == ISO_OK) {
        proxy->to_server = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_min_proto_version(proxy->to_server, TLS1_2_VERSION);
        if (proxy->server_ca) {
            SSL_CTX_set_verify(proxy->to_server, SSL_VERIFY_PEER, NULL);
            if (SSL_CTX_load_verify_locations(proxy->to_server, proxy->server_ca, NULL) != 1)
                proxy->to_server = tls_failed(proxy->to_server, proxy->server_ca, error);
        }
    }
    return error->status;
}

static enum iso_status open_recorder(struct proxy *proxy, struct iso_error *error)
{
    struct iso_recorder_options settings = {.buffer_bytes = (size_t)proxy->buffer,
                                            .linger_ms = LINGER_MS,
                                            .totals = true,
                                            .from_stream = true};
    struct iso_kafka_properties properties = {0};
    const char *list[2 * PROPERTIES_MOST + 1];
    uint32_t count = 0;
    if (!proxy->to)
        return ISO_OK;
    if (strncmp(proxy->to, "kafka:", 6)) {
        proxy->recorder = iso_recorder_new_file(proxy->to, &settings, error);
        return error->status;
    }
    iso_kafka_properties_init(&properties);
    if (run_properties(&properties, &proxy->properties, error) == ISO_OK) {
        for (uint32_t i = 0; i < properties.count && i < PROPERTIES_MOST; i++) {
            list[count++] = properties.list[i].name;
            list[count++] = properties.list[i].value;
        }
        list[count] = NULL;
        proxy->recorder = iso_recorder_new_kafka(proxy->to + 6, list, &settings, error);
    }
    iso_kafka_properties_release(&properties);
    return error->status;
}

/* ---- running ---- */

static void set_recording(struct proxy *proxy, bool on)
{
    if (!proxy->recorder || proxy->gate.shared.is_off == !on)
        return;
    proxy->gate.shared.is_off = !on;
    cli_log(on ? "new sessions are recorded"
               : "nothing is recorded any more: all bytes are passed on as they come");
}

/* Reports drops since the last report. */
static void tell_drops(const struct proxy *proxy, uint64_t *told)
{
    struct status_sums sums;
    status_sum(&proxy->view, &sums);
    uint64_t dropped =
        sums.recorder.dropped_full + sums.recorder.dropped_refused + sums.recorder.lost;
    if (dropped > *told)
        cli_log_warning("%" PRIu64 " records were dropped: %" PRIu64 " had no room, %" PRIu64
                        " cannot be written, %" PRIu64 " were not taken%s%s",
                        dropped, sums.recorder.dropped_full, sums.recorder.dropped_refused,
                        sums.recorder.lost, *sums.recorder.trouble ? ": " : "",
                        sums.recorder.trouble);
    *told = dropped;
}

static void wait_for_the_end(struct proxy *proxy, const sigset_t *signals)
{
    uint64_t told = 0;
    for (;;) {
        struct timespec limit = {.tv_sec = REPORT_SECONDS};
        int signal = sigtimedwait(signals, NULL, &limit);
        if (signal == SIGUSR1)
            set_recording(proxy, false);
        else if (signal == SIGUSR2)
            set_recording(proxy, true);
        else if (signal > 0)
            return;
        tell_drops(proxy, &told);
    }
}

static void tell_shapes(struct app *app, const struct proxy *proxy)
{
    struct iso_text text = {0};
    iso_output_format(&app->out, "%10s %10s %10s  %-12s %s\n", "statements", "reads", "recorded",
                      "because", "shape");
    status_shapes(&proxy->view, &text, false);
    iso_output_bytes(&app->out, text.bytes, text.used);
    iso_text_release(&text);
}

static void tell_end(struct app *app, const struct proxy *proxy)
{
    struct status_sums sums;
    status_sum(&proxy->view, &sums);
    const struct observe_counts *counts = &sums.counts;
    uint64_t understood = counts->recorded + counts->empty, opened = sums.loops.sessions_opened;
    cli_log("%" PRIu64 " session%s; %" PRIu64 " of %" PRIu64 " reads recorded (%.1f%%; %" PRIu64
            " of them had nothing to say); %" PRIu64 " records, %" PRIu64 " written, %" PRIu64
            " dropped",
            opened, cli_plural(opened), understood, counts->reads,
            counts->reads ? 100.0 * (double)understood / (double)counts->reads : 100.0,
            counts->empty, sums.recorder.recorded, sums.recorder.written,
            sums.recorder.dropped_full + sums.recorder.dropped_refused + sums.recorder.lost);
    if (proxy->shapes)
        tell_shapes(app, proxy);
}

static void release(struct proxy *proxy)
{
    gate_release(&proxy->gate);
    iso_recorder_free(proxy->recorder);
    SSL_CTX_free(proxy->own);
    SSL_CTX_free(proxy->to_server);
}

static enum iso_status open_gate(struct proxy *proxy, struct iso_error *error)
{
    struct gate_settings settings = {.bind = proxy->bind,
                                     .server = proxy->server,
                                     .tls = (enum loop_tls)proxy->tls,
                                     .own = proxy->own,
                                     .to_server = proxy->to_server,
                                     .recorder = proxy->recorder,
                                     .threads = proxy->threads,
                                     .sessions_most = gate_sessions_most()};
    proxy->view =
        (struct status_view){proxy->gate.loops, 0, &proxy->gate.shared, settings.sessions_most};
    enum iso_status status = gate_open(&proxy->gate, &settings, error);
    proxy->view.loop_count = proxy->gate.loop_count;
    return status;
}

static enum iso_status serve(struct app *app, struct proxy *proxy)
{
    struct iso_error *error = &app->error;
    char sid[200], host[64] = "proxy";
    struct run_notify notify;
    sigset_t signals;
    run_notify_open(&notify);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* threads inherit that: signals are this one's */
    gethostname(host, sizeof host - 1);
    snprintf(sid, sizeof sid, "%s-%d-%lld", host, (int)getpid(), (long long)time(NULL));
    gate_init(&proxy->gate, proxy->sid ? proxy->sid : sid);
    proxy->gate.shared.tables = proxy->tables.items;
    proxy->gate.shared.table_count = proxy->tables.count;
    proxy->gate.shared.needs_position = proxy->record;
    if (make_tls(proxy, error) != ISO_OK || open_recorder(proxy, error) != ISO_OK ||
        open_gate(proxy, error) != ISO_OK)
        goto out;
    if (proxy->listen) {
        proxy->http = iso_http_new(&(struct iso_http_options){proxy->listen, proxy->listen_token,
                                                              proxy->listen_names.items,
                                                              proxy->listen_names.count,
                                                              status_answer, &proxy->view},
                                   error);
        if (!proxy->http)
            goto out;
        cli_log("status on port %u", iso_http_port(proxy->http));
    }
    cli_log("clients at %s (port %u), the server at %s; %s%s", proxy->bind,
            address_port(proxy->gate.listener), proxy->server,
            proxy->to ? "records to " : "nothing is recorded: expected --to FILE or kafka:TOPIC",
            proxy->to ? proxy->to : "");
    run_notify_ready(&notify);
    wait_for_the_end(proxy, &signals);
    run_notify_close(&notify);
    gate_stop(&proxy->gate);
    iso_recorder_flush(proxy->recorder, 5);
    tell_end(app, proxy);
out:
    run_notify_close(&notify);
    iso_http_free(proxy->http);
    release(proxy);
    return error->status;
}

static void explain_sql(struct app *app, const char *sql)
{
    struct iso_text text = {0};
    shape_explain(sql, &text);
    iso_output_bytes(&app->out, text.bytes, text.used);
    iso_text_release(&text);
}

static enum iso_status serve_as_asked(struct app *app, void *target, const struct cli_texts *files)
{
    struct proxy *proxy = target;
    if (files->count)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "%s: isochron-proxy reads no files; expected options only",
                             files->items[0]);
    if (!proxy->explain_sql)
        return serve(app, proxy);
    explain_sql(app, proxy->explain_sql);
    return ISO_OK;
}

static enum iso_status run_serve(struct app *app, int count, char **arguments)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct proxy proxy = {.bind = "127.0.0.1:6432",
                          .server = "127.0.0.1:5432",
                          .threads = (uint32_t)(processors < 1                 ? 1
                                                : processors > GATE_LOOPS_MOST ? GATE_LOOPS_MOST
                                                                               : processors)};
    return cli_run(app, count, arguments, &proxy, serve_as_asked);
}

const struct cli_command proxy_serve = {
    .name = "isochron-proxy",
    .is_program = true,
    .summary = "record what PostgreSQL's clients read, without touching them",
    .usage = "[--bind ADDRESS] [--server ADDRESS] [--to WHERE] [OPTIONS]",
    .intro = "Stands between an application and PostgreSQL, passes every byte on as it is, and\n"
             "writes a record of each transaction: which rows its statements returned, and at\n"
             "which snapshot. `isochron watch` checks these records against the change stream,\n"
             "with cells=true on its sources.\n\n"
             "SIGUSR1 stops recording at once, SIGUSR2 records new sessions again.",
    .examples =
        "  isochron-proxy --server db:5432 --to kafka:clients -X bootstrap.servers=broker:9092 --listen 9188\n"
        "      Let the application connect to port 6432 instead of the database.\n"
        "  isochron-proxy --to run.jsonl --tables public.orders --shapes\n"
        "      Records of one table, in a file; at the end what was recorded of which statements.\n",
    .options = options,
    .run = run_serve,
};
