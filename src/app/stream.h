/* What `watch` and `replay` share: their options, sources, the pipeline, where verdicts go, the closing summary. */
#ifndef ISO_APP_STREAM_H
#define ISO_APP_STREAM_H

#include "app/app.h"
#include "app/options.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/producer.h"
#include "connectors/registry/registry.h"
#include "io/capture.h"
#include "io/write_history.h"
#include "pipeline/pipeline.h"
#include "web/web.h"

struct app_stream_options {
    int level, on_bad_record;
    bool no_session_order, allow_unjudged, json, final_only, quiet;
    bool served;                             /* lines go to a status server too */
    bool keep;                               /* all transactions, and the verdict, in memory */
    bool silent;                             /* no verdict lines on standard output */
    bool brief;                              /* final verdicts on standard output, each in words */
    uint64_t finality_timeout, idle_timeout; /* seconds */
    uint64_t hlc_bits, settle, retention, memory, max_violations, threads;
    uint64_t round; /* 0: judge at the end only */
    bool any_order;
    struct app_texts sources, properties;
    const char *initial, *initial_file, *out, *dead_letter, *history, *to_history, *spill;
    const char *state; /* where it remembers: what is written and read on the way is for app/durable.h to open */
};

/* The rows of a command whose options struct has a `struct app_stream_options` named `stream`. */
#define APP_STREAM_PLACE(owner, member) (offsetof(owner, stream) + offsetof(struct app_stream_options, member))
#define APP_STREAM_ROWS(owner)                                                                                                                                             \
    {.type = APP_GROUP, .help = "What comes in"},                                                                                                                          \
        {.type = APP_TEXTS,                                                                                                                                                \
         .name = "source",                                                                                                                                                 \
         .argument = "KIND:TOPIC[,OPT=V...]",                                                                                                                              \
         .offset = APP_STREAM_PLACE(owner, sources),                                                                                                                       \
         .help =                                                                                                                                                           \
             "history:TOPIC: whole transactions as clients saw them. debezium:,\nticdc:, yugabyte:, dgraph:TOPIC: a database's change "                                    \
             "stream, joined\nwith them; without any, before images are its reads. Options:\nformat=NAME, framed=true "                                                    \
             "(Confluent framing), registry=URL,\nschema=FILE, and of change streams value=COLUMN,\nidentity=full|default, "                                               \
             "tables=A;B, marker=COLUMN,\ncompression=NAME; each connector's README says what they do. May be\ngiven often."},                                             \
        {.type = APP_TEXT,                                                                                                                                                 \
         .name = "history",                                                                                                                                                \
         .argument = "FILE",                                                                                                                                               \
         .offset = APP_STREAM_PLACE(owner, history),                                                                                                                       \
         .help = "What clients saw, as a finished history in the native format."},                                                                                         \
        {.type = APP_CHOICE,                                                                                                                                               \
         .name = "on-bad-record",                                                                                                                                          \
         .choices = "fail|skip|dead-letter",                                                                                                                               \
         .offset = APP_STREAM_PLACE(owner, on_bad_record),                                                                                                                 \
         .help =                                                                                                                                                           \
             "A record that cannot be taken: stop (the default), count it, or count\nit and write it to --dead-letter FILE."},                                             \
        {.type = APP_TEXT,                                                                                                                                                 \
         .name = "dead-letter",                                                                                                                                            \
         .argument = "FILE",                                                                                                                                               \
         .offset = APP_STREAM_PLACE(owner, dead_letter),                                                                                                                   \
         .help = "A capture of the records that were left out."},                                                                                                          \
        {.type = APP_NUMBER,                                                                                                                                               \
         .name = "hlc-bits",                                                                                                                                               \
         .argument = "N",                                                                                                                                                  \
         .offset = APP_STREAM_PLACE(owner, hlc_bits),                                                                                                                      \
         .most = 63,                                                                                                                                                       \
         .help = "Timestamps {p,l} become p * 2^N + l. Without it they are refused."},                                                                                     \
        {.type = APP_GROUP, .help = "What to check"},                                                                                                                      \
        {.type = APP_CHOICE,                                                                                                                                               \
         .name = "level",                                                                                                                                                  \
         .choices = "si|ser",                                                                                                                                              \
         .offset = APP_STREAM_PLACE(owner, level),                                                                                                                         \
         .help = "Snapshot isolation (the default) or serializability in commit order."},                                                                                  \
        {.type = APP_FLAG,                                                                                                                                                 \
         .name = "no-session-order",                                                                                                                                       \
         .offset = APP_STREAM_PLACE(owner, no_session_order),                                                                                                              \
         .help = "Do not ask that a session sees its own earlier transactions."},                                                                                          \
        {.type = APP_TEXT,                                                                                                                                                 \
         .name = "initial",                                                                                                                                                \
         .argument = "VALUE",                                                                                                                                              \
         .offset = APP_STREAM_PLACE(owner, initial),                                                                                                                       \
         .help = "What every key holds before the first write; null, the default,\nis nothing."},                                                                          \
        {.type = APP_TEXT,                                                                                                                                                 \
         .name = "initial-file",                                                                                                                                           \
         .argument = "FILE",                                                                                                                                               \
         .offset = APP_STREAM_PLACE(owner, initial_file),                                                                                                                  \
         .help = "Initial values by key: {\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},...]}."},                                                                                 \
        {.type = APP_FLAG,                                                                                                                                                 \
         .name = "any-order",                                                                                                                                              \
         .offset = APP_STREAM_PLACE(owner, any_order),                                                                                                                     \
         .help =                                                                                                                                                           \
             "When timestamps say violated, ask polygraph at the end which it is:\nthe claimed order is wrong, or no order "                                               \
             "exists."},                                                                                                                                                   \
        {.type = APP_NUMBER,                                                                                                                                               \
         .name = "round",                                                                                                                                                  \
         .argument = "N",                                                                                                                                                  \
         .offset = APP_STREAM_PLACE(owner, round),                                                                                                                         \
         .least = 1,                                                                                                                                                       \
         .most = UINT32_MAX,                                                                                                                                               \
         .help =                                                                                                                                                           \
             "Transactions without timestamps are judged by polygraph: every N of\nthem, on all that have come, and at the "                                               \
             "end."},                                                                                                                                                      \
        {.type = APP_FLAG,                                                                                                                                                 \
         .name = "allow-unjudged",                                                                                                                                         \
         .offset = APP_STREAM_PLACE(owner, allow_unjudged),                                                                                                                \
         .help = "Reads that may come from a transaction of unknown outcome do not\nmake the verdict undecided."},                                                         \
        {.type = APP_NUMBER,                                                                                                                                               \
         .name = "settle",                                                                                                                                                 \
         .argument = "MS",                                                                                                                                                 \
         .offset = APP_STREAM_PLACE(owner, settle),                                                                                                                        \
         .most = 60000,                                                                                                                                                    \
         .help =                                                                                                                                                           \
             "The most that a transaction waits for others that it overtook on its\nway, before it is judged (50); what the "                                              \
             "disorder lately seen does\nnot ask for, or a watermark has reached, is not waited for. 0: off."},                                                            \
        {.type = APP_NUMBER,                                                                                                                                               \
         .name = "retention",                                                                                                                                              \
         .argument = "N",                                                                                                                                                  \
         .offset = APP_STREAM_PLACE(owner, retention),                                                                                                                     \
         .most = UINT64_MAX,                                                                                                                                               \
         .help = "Keep what transactions need that start up to N, in units of their\ntimestamps, below the "                                                               \
                 "watermark; 0, the default: everything."},                                                                                                                \
        {.type = APP_NUMBER,                                                                                                                                               \
         .name = "memory",                                                                                                                                                 \
         .argument = "BYTES",                                                                                                                                              \
         .offset = APP_STREAM_PLACE(owner, memory),                                                                                                                        \
         .most = UINT64_MAX,                                                                                                                                               \
         .help =                                                                                                                                                           \
             "Bound of the process's anonymous memory. Over it, keys that nobody asked\nfor lately go to a store on "                                                      \
             "disk; if that does not help, the\nretention shrinks. Where polygraph judges, of "                                                                            \
             "what has\ncome and of its clocks. 0: none."},                                                                                                                \
        {.type = APP_TEXT,                                                                                                                                                 \
         .name = "spill",                                                                                                                                                  \
         .argument = "DIR",                                                                                                                                                \
         .offset = APP_STREAM_PLACE(owner, spill),                                                                                                                         \
         .help =                                                                                                                                                           \
             "Where that store lies (TMPDIR, or /tmp). Its files have no names and\nare gone with the process. With --state it is in the state's directory,\nand stays."}, \
        {.type = APP_GROUP, .help = "What comes out"},                                                                                                                     \
        {.type = APP_TEXT,                                                                                                                                                 \
         .name = "out",                                                                                                                                                    \
         .argument = "kafka:TOPIC",                                                                                                                                        \
         .offset = APP_STREAM_PLACE(owner, out),                                                                                                                           \
         .help = "Verdicts to a topic, not to standard output; or file:PATH, to the end\nof a file."},                                                                     \
        {.type = APP_TEXT,                                                                                                                                                 \
         .name = "to-history",                                                                                                                                             \
         .argument = "FILE",                                                                                                                                               \
         .offset = APP_STREAM_PLACE(owner, to_history),                                                                                                                    \
         .help = "The joined history, so that any engine can check it; not of a run\nwithout end."},                                                                       \
        {.type = APP_FLAG,                                                                                                                                                 \
         .name = "final-only",                                                                                                                                             \
         .offset = APP_STREAM_PLACE(owner, final_only),                                                                                                                    \
         .help = "No lines for verdicts that may still change."},                                                                                                          \
        {.type = APP_FLAG,                                                                                                                                                 \
         .name = "json",                                                                                                                                                   \
         .offset = APP_STREAM_PLACE(owner, json),                                                                                                                          \
         .help = "One JSON object at the end, in place of a line for each verdict."},                                                                                      \
        {.type = APP_NUMBER,                                                                                                                                               \
         .name = "max-violations",                                                                                                                                         \
         .argument = "N",                                                                                                                                                  \
         .offset = APP_STREAM_PLACE(owner, max_violations),                                                                                                                \
         .most = UINT32_MAX,                                                                                                                                               \
         .help = "That object lists no more than N (1000), 0 for all. Counts are exact."},                                                                                 \
        {.type = APP_FLAG,                                                                                                                                                 \
         .name = "quiet",                                                                                                                                                  \
         .offset = APP_STREAM_PLACE(owner, quiet),                                                                                                                         \
         .help = "No status line, no closing summary."},                                                                                                                   \
        {.type = APP_GROUP, .help = "How to run"},                                                                                                                         \
        {.type = APP_TEXTS,                                                                                                                                                \
         .name = "property",                                                                                                                                               \
         .letter = 'X',                                                                                                                                                    \
         .argument = "NAME=VALUE",                                                                                                                                         \
         .offset = APP_STREAM_PLACE(owner, properties),                                                                                                                    \
         .help = "A property of librdkafka, or the name of a file of them. Secrets go\ninto a file."},                                                                     \
    {                                                                                                                                                                      \
        .type = APP_NUMBER, .name = "threads", .argument = "N", .offset = APP_STREAM_PLACE(owner, threads),                                                                \
        .least = 1, .most = 64, .help = "Shards of the engine, a thread each (1)."                                                                                         \
    }

struct app_durable;

struct app_stream {
    struct app *app;
    const struct app_stream_options *options;
    struct iso_pipeline *pipeline;
    struct iso_team *team; /* of the engine's shards */
    struct iso_kafka_properties properties;
    uint32_t topic_count;
    char **topics;
    uint32_t registry_count;
    struct iso_registry **registries;
    struct iso_kafka_producer *producer;             /* --out */
    struct iso_capture_writer *record, *dead_letter; /* captures.h; NULL: none */
    struct iso_history *records;                     /* --history, read and not given to the pipeline yet; or NULL */
    struct iso_output joined;                        /* --to-history */
    struct iso_history_writer joined_writer;
    struct iso_error joined_error;
    bool writes_joined, concluded, joins;
    struct iso_output *lines;    /* where verdicts go if not to a topic */
    struct iso_output file;      /* --out file:PATH */
    struct app_durable *durable; /* --state; NULL: nothing is remembered */
    struct iso_web *web;         /* borrowed; NULL: nobody looks */
    struct app_rounds *rounds;
    struct iso_history *kept; /* with `keep`: in building */
    struct iso_text verdict;  /* with `keep`: as JSON, once concluded */
    bool complete;            /* all has come that there is to come */
};

/* Options and defaults before parsing. */
void app_stream_options_init(struct app_stream_options *options);
void app_stream_options_release(struct app_stream_options *options);

/* Opens sources, pipeline and output. Close in any case. `deadlines`: of a live run; `ends`: it is known where it ends.
 */
enum iso_status app_stream_open(struct app_stream *stream, struct app *app, const struct app_stream_options *options,
                                bool deadlines, bool ends);
enum iso_status app_stream_close(struct app_stream *stream);

/* A line of the verdict, to where verdicts go. */
enum iso_status app_stream_tell(struct app_stream *stream, const char *line, size_t length);

/* Shows whoever reads the verdicts what was told until now. */
void app_stream_flush(struct app_stream *stream);

/* The summary, and the exit status of what was found. */
enum iso_status app_stream_conclude(struct app_stream *stream, double seconds);

#endif
