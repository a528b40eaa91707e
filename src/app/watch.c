/* `isochron watch`: live topics. */
#include "run/watch.h"
#include "app/commands.h"

#define CHECKPOINT_NS UINT64_C(10000000000)

#define PLACE(member) offsetof(struct app_watch_options, member)

static const struct app_option options[] = {
    APP_STREAM_ROWS(struct app_watch_options),
    {.type = APP_GROUP, .help = "Which messages"},
    {.type = APP_TEXT,
     .name = "from",
     .argument = "PLACE",
     .offset = PLACE(from),
     .help =
         "beginning (the default), end, a time in milliseconds since 1970, or\nstored: where the group of -X group.id=GROUP "
         "has committed to."},
    {.type = APP_FLAG,
     .name = "until-eof",
     .offset = PLACE(until_eof),
     .help = "Stop where the partitions end now; everything is final then."},
    {.type = APP_NUMBER,
     .name = "messages",
     .argument = "N",
     .offset = PLACE(messages),
     .least = 1,
     .most = UINT64_MAX,
     .help = "Stop after N messages. What still waits then stays undecided."},
    {.type = APP_FLAG,
     .name = "drain",
     .offset = PLACE(drain),
     .help = "On Ctrl-C and SIGTERM read on to where the partitions end at that\n"
             "moment; then everything is final. Without it, what still waits stays\n"
             "undecided."},
    {.type = APP_FLAG,
     .name = "wait-for-topics",
     .offset = PLACE(wait_for_topics),
     .help = "A topic that does not exist may appear later; until then no deadline\npasses."},
    {.type = APP_TEXT,
     .name = "record",
     .argument = "FILE",
     .offset = PLACE(durable.record),
     .help = "Write a capture of all messages in the order of arrival, with an empty\n"
             "line behind each batch. From it replay with the same options prints the\n"
             "same verdicts, byte for byte, except those by deadlines."},
    {.type = APP_SECONDS,
     .name = "finality-timeout",
     .argument = "SECONDS",
     .offset = APP_STREAM_PLACE(struct app_watch_options, pipeline.finality_timeout_ms),
     .most = 86400,
     .help = "Without watermarks a verdict is final so long after its transaction (5);\n"
             "beside change streams and clients, so long after --grace. The time does\n"
             "not run while a broker is away. 0: only watermarks make verdicts final."},
    {.type = APP_SECONDS,
     .name = "idle-timeout",
     .argument = "SECONDS",
     .offset = APP_STREAM_PLACE(struct app_watch_options, pipeline.idle_timeout_ms),
     .most = 86400,
     .help = "The watermark does not wait for a partition that has sent nothing for so\n"
             "long. 0, the default: it waits for all."},
    {.type = APP_FLAG,
     .name = "explain",
     .offset = APP_STREAM_PLACE(struct app_watch_options, brief),
     .help = "Print each final verdict in words instead of its line; lines go to\n"
             "--out, if it is given. isochron explain says more, from a recording\n"
             "(--record)."},
    {.type = APP_GROUP, .help = "Restarts"},
    {.type = APP_TEXT,
     .name = "state",
     .argument = "DIR",
     .offset = PLACE(durable.state),
     .help = "Keep in DIR what a restart needs: after a crash at any moment the same\n"
             "command goes on, reports no final verdict twice, and leaves none out.\n"
             "Offsets come from there, not from --from."},
    {.type = APP_DURATION,
     .name = "checkpoint-interval",
     .argument = "DURATION",
     .offset = PLACE(durable.checkpoint_interval),
     .help = "How often the state is written through to the device, so that it also\n"
             "survives a crash of the machine (10 s)."},
    {.type = APP_NUMBER,
     .name = "snapshot-after",
     .argument = "BYTES",
     .offset = PLACE(durable.snapshot_after),
     .most = UINT64_MAX,
     .help = "Save a whole snapshot of the state after so much input: a restart reads\n"
             "no more than that again. 0, the default: four times the size of the\n"
             "state, at least 64 MiB; and every hour."},
    {.type = APP_SECONDS,
     .name = "shutdown-timeout",
     .argument = "SECONDS",
     .offset = PLACE(shutdown_timeout),
     .least = 1,
     .most = 3600,
     .help = "SIGTERM and Ctrl-C finish the current batch and end the run within so\n"
             "long (10). With --drain this time begins once everything is read. A\n"
             "second signal ends the run at once."},
    {.type = APP_GROUP, .help = "Status over HTTP"},
    {.type = APP_TEXT,
     .name = "listen",
     .argument = "HOST:PORT",
     .offset = PLACE(listen),
     .help = "Serve a live page, /metrics, /status, /violations, /livez and /readyz\nover HTTP there; PORT alone is on "
             "127.0.0.1."},
    {.type = APP_TEXT,
     .name = "listen-token",
     .argument = "FILE",
     .offset = PLACE(listen_token),
     .help = "Requests must carry the token in FILE (Authorization: Bearer TOKEN).\n"
             "Addresses other than loopback require one."},
    {.type = APP_TEXTS,
     .name = "listen-name",
     .argument = "NAME",
     .offset = PLACE(listen_names),
     .help = "A host name that requests may use, such as that of a proxy or a service,\n"
             "beside localhost, the name in --listen, and every address. Other names\n"
             "get 421. May be given often."},
    {.type = APP_SECONDS,
     .name = "expect-messages",
     .argument = "SECONDS",
     .offset = PLACE(expect_messages),
     .most = 86400,
     .help = "/readyz fails when the change streams have sent nothing for so long: a\n"
             "connector may be gone. Heartbeats of the connector count, if their topic\n"
             "is read. 0, the default: silence is allowed."},
    {.type = APP_END},
};

/* What cannot go together, besides what the stream refuses. */
static enum iso_status check_options(const struct app_watch_options *watch, const struct app_texts *files,
                                     struct iso_error *error)
{
    if (files->count)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: watch reads topics; replay reads files", files->items[0]);
    if (watch->stream.brief && watch->stream.json)
        return iso_error_set(error, ISO_BAD_INPUT, "--json and --explain: standard output is for one of them");
    if (watch->stream.brief && watch->durable.state && !watch->stream.out)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--state and --explain: a restart knows what was reported by its lines: expected --out too");
    if (watch->expect_messages && !watch->listen)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--expect-messages: /readyz reports it: expected --listen HOST:PORT too");
    return ISO_OK;
}

static enum iso_status run_watch(struct app *app, int count, char **arguments)
{
    struct app_watch_options watch = {.durable.checkpoint_interval = CHECKPOINT_NS, .shutdown_timeout = 10000};
    struct app_texts files = {0};
    bool done;
    app_stream_options_init(&watch.stream);
    enum iso_status status = app_parse(app, count, arguments, &watch, &files, &done);
    if (status == ISO_OK)
        status = check_options(&watch, &files, &app->error);
    watch.stream.served = watch.listen != NULL;
    watch.stream.state = watch.durable.state;
    app_stream_options_settle(&watch.stream);
    if (status == ISO_OK && !done)
        status = app_watch_run(&watch, &app->out, &app->error);
    app_stream_options_release(&watch.stream);
    app_texts_release(&watch.listen_names);
    app_texts_release(&files);
    return status;
}

const struct app_command app_watch = {
    .name = "watch",
    .summary = "check live Kafka topics",
    .usage = "--source KIND:TOPIC -X bootstrap.servers=HOST:PORT [OPTIONS]",
    .intro = "Reads all partitions of the sources' topics and prints each step of each\n"
             "verdict as a line of JSON: tentative, final, retracted. It joins no consumer\n"
             "group and commits nothing. Ctrl-C ends it with what is known so far.",
    .examples =
        "  isochron watch --source history:txns -X bootstrap.servers=localhost:9092\n"
        "      Whole transactions that clients publish as JSON.\n"
        "  isochron watch --source history:txns,format=avro,registry=http://localhost:8081 -X kafka.properties\n"
        "      Avro with a schema registry; broker and credentials from a file.\n"
        "  isochron watch --source history:txns --until-eof --json -X bootstrap.servers=localhost:9092\n"
        "      What is there now, and one object at the end.\n"
        "  isochron watch --source history:txns --state /var/lib/isochron --out file:verdicts.jsonl -X kafka.properties\n"
        "      For months: started again after a crash it goes on where it was.\n",
    .options = options,
    .run = run_watch,
};
