/* `isochron watch`: live topics. */
#include "run/watch.h"
#include "app/commands.h"

#define CHECKPOINT_NS UINT64_C(10000000000)

#define PLACE(member) offsetof(struct run_watch_options, member)

static const struct cli_option options[] = {
    RUN_STREAM_ROWS(struct run_watch_options),
    CLI_ROW_GROUP("Which messages"),
    CLI_ROW_TEXT("from", "PLACE", PLACE(from),
                 "beginning (the default), end, a time in milliseconds since 1970, or\n"
                 "stored: where the group of -X group.id=GROUP has committed to."),
    CLI_ROW_FLAG("until-eof", PLACE(until_eof),
                 "Stop where the partitions end now; everything is final then."),
    CLI_ROW_NUMBER("messages", "N", PLACE(messages), 1, UINT64_MAX,
                   "Stop after N messages. What still waits then stays undecided."),
    CLI_ROW_FLAG("drain", PLACE(drain),
                 "On Ctrl-C and SIGTERM read on until recorders have said how much there\n"
                 "was (seconds), and to where the partitions end then; then everything is\n"
                 "final. Without it, what still waits stays undecided."),
    CLI_ROW_FLAG("wait-for-topics", PLACE(wait_for_topics),
                 "A topic that does not exist may appear later; until then no deadline\n"
                 "passes."),
    CLI_ROW_TEXT("record", "FILE", PLACE(durable.record),
                 "Write a capture of all messages in the order of arrival, with an empty\n"
                 "line behind each batch. From it replay with the same options prints the\n"
                 "same verdicts, byte for byte, except those by deadlines."),
    CLI_ROW_SECONDS("finality-timeout", "SECONDS",
                    RUN_STREAM_PLACE(struct run_watch_options, pipeline.engine.finality_timeout_ms),
                    0, 86400,
                    "Without watermarks a verdict is final so long after its transaction (5);\n"
                    "beside change streams and clients, so long after --grace. The time does\n"
                    "not run while a broker is away. 0: only watermarks make verdicts final."),
    CLI_ROW_SECONDS("idle-timeout", "SECONDS",
                    RUN_STREAM_PLACE(struct run_watch_options, pipeline.idle_timeout_ms), 0, 86400,
                    "The watermark does not wait for a partition that has sent nothing for so\n"
                    "long. 0, the default: it waits for all."),
    CLI_ROW_FLAG("explain", RUN_STREAM_PLACE(struct run_watch_options, brief),
                 "Print each final verdict in words instead of its line; lines go to\n"
                 "--out, if it is given. isochron explain says more, from a recording\n"
                 "(--record)."),
    CLI_ROW_GROUP("Restarts"),
    CLI_ROW_TEXT("state", "DIR", PLACE(durable.state),
                 "Keep in DIR what a restart needs: after a crash at any moment the same\n"
                 "command goes on, reports no final verdict twice, and leaves none out.\n"
                 "Offsets come from there, not from --from."),
    CLI_ROW_DURATION("checkpoint-interval", "DURATION", PLACE(durable.checkpoint_interval),
                     "How often the state is written through to the device, so that it also\n"
                     "survives a crash of the machine (10 s)."),
    CLI_ROW_NUMBER("snapshot-after", "BYTES", PLACE(durable.snapshot_after), 0, UINT64_MAX,
                   "Save a whole snapshot of the state after so much input: a restart reads\n"
                   "no more than that again. 0, the default: four times the size of the\n"
                   "state, at least 64 MiB; and every hour."),
    CLI_ROW_SECONDS("shutdown-timeout", "SECONDS", PLACE(shutdown_timeout), 1, 3600,
                    "SIGTERM and Ctrl-C judge what has come, however long that takes, and end\n"
                    "the run. So long (10) it waits for others meanwhile: a broker, a device,\n"
                    "who reads the output; then it is undecided (waiting, status 3). A second\n"
                    "signal ends the run at once."),
    CLI_ROW_GROUP("Status over HTTP"),
    CLI_ROW_TEXT("listen", "HOST:PORT", PLACE(listen),
                 "Serve a live page, /metrics, /status, /violations, /livez and /readyz\n"
                 "over HTTP there; PORT alone is on 127.0.0.1."),
    CLI_ROW_TEXT("listen-token", "FILE", PLACE(listen_token),
                 "Requests must carry the token in FILE (Authorization: Bearer TOKEN).\n"
                 "Addresses other than loopback require one."),
    CLI_ROW_TEXTS("listen-name", "NAME", PLACE(listen_names),
                  "A host name that requests may use, such as that of a proxy or a service,\n"
                  "beside localhost, the name in --listen, and every address. Other names\n"
                  "get 421. May be given often."),
    CLI_ROW_SECONDS("expect-messages", "SECONDS", PLACE(expect_messages), 0, 86400,
                    "/readyz fails when the change streams have sent nothing for so long: a\n"
                    "connector may be gone. Heartbeats of the connector count, if their topic\n"
                    "is read. 0, the default: silence is allowed."),
    {.type = CLI_END},
};

/* Refuses options that exclude each other, beside those that the stream refuses. */
static enum iso_status check_options(const struct run_watch_options *watch,
                                     const struct cli_texts *files, struct iso_error *error)
{
    if (files->count)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: watch reads topics; replay reads files",
                             files->items[0]);
    if (watch->stream.brief && watch->stream.json)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--json and --explain: standard output is for one of them");
    if (watch->stream.brief && watch->durable.state && !watch->stream.out)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--state and --explain: a restart knows what was reported by its lines: expected --out too");
    if (watch->expect_messages && !watch->listen)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--expect-messages: /readyz reports it: expected --listen HOST:PORT too");
    return ISO_OK;
}

static enum iso_status watch_as_asked(struct app *app, void *target, const struct cli_texts *files)
{
    struct run_watch_options *watch = target;
    if (check_options(watch, files, &app->error) != ISO_OK)
        return app->error.status;
    watch->stream.served = watch->listen != NULL;
    watch->stream.state = watch->durable.state;
    run_stream_options_finalize(&watch->stream);
    return run_watch_run(watch, &app->out, &app->error);
}

static enum iso_status run_watch(struct app *app, int count, char **arguments)
{
    struct run_watch_options watch = {.durable.checkpoint_interval = CHECKPOINT_NS,
                                      .shutdown_timeout = 10000};
    run_stream_options_init(&watch.stream);
    return cli_run(app, count, arguments, &watch, watch_as_asked);
}

const struct cli_command app_watch = {
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
