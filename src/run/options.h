/* The options that `watch`, `replay` and `explain` share: what comes in, what to check, what comes out, how to run. */
#ifndef ISO_RUN_OPTIONS_H
#define ISO_RUN_OPTIONS_H

#include "cli/options.h"
#include "pipeline/pipeline.h"

#define APP_GRACE_NOT_GIVEN UINT64_MAX
#define APP_MEMORY_NOT_GIVEN UINT64_MAX

struct app_stream_options {
    struct iso_pipeline_options
        pipeline; /* what options say of it; the stream adds the rest. `retention` 0: everything */
    int level;    /* app_stream_level; below 0: not said */
    int uncovered;
    bool no_session_order, allow_unjudged, any_order, json, quiet;
    bool final_only, final_only_given;
    bool served;                /* lines go to a status server too */
    bool keep;                  /* all transactions, and the verdict, in memory */
    bool silent;                /* no verdict lines on standard output */
    bool brief;                 /* final verdicts on standard output, each in words */
    uint64_t grace;             /* milliseconds; APP_GRACE_NOT_GIVEN */
    uint64_t memory;            /* bytes; APP_MEMORY_NOT_GIVEN */
    uint64_t dead_letter_limit; /* bytes; 0: none */
    uint64_t round;             /* 0: judge at the end only */
    struct app_texts sources, properties;
    const char *initial, *initial_file, *out, *dead_letter, *history, *to_history, *spill;
    const char *state; /* where it remembers: what is written and read on the way is for run/durable.h to open */
};

/* The rows of a command whose options struct has a `struct app_stream_options` named `stream`. */
#define APP_STREAM_PLACE(owner, member) (offsetof(owner, stream) + offsetof(struct app_stream_options, member))
/* Ends of lines are not aligned: any one would change them all. */
/* clang-format off */
#define APP_STREAM_ROWS(owner) \
    {.type = APP_GROUP, .help = "Input"}, \
        {.type = APP_TEXTS, \
         .name = "source", \
         .argument = "KIND:TOPIC[,OPT=V...]", \
         .offset = APP_STREAM_PLACE(owner, sources), \
         .help = \
             "history:TOPIC: whole transactions as clients saw them. debezium:,\nticdc:, yugabyte:, dgraph:TOPIC: a database's change " \
             "stream, joined\nwith them; without any, before images are its reads. Options:\nformat=NAME, framed=true " \
             "(Confluent framing), registry=URL, login=FILE\n(USER:PASSWORD for it), schema=FILE, and of change streams value=COLUMN,\nidentity=full|default, " \
             "tables=A;B, marker=COLUMN,\nreported=yes|no, lossy=yes|no, xa=yes|no,\ncollation=ci, compression=NAME; each connector's README says\nwhat they do. May be given often."}, \
        {.type = APP_TEXT, \
         .name = "history", \
         .argument = "FILE", \
         .offset = APP_STREAM_PLACE(owner, history), \
         .help = "What clients saw, as a finished history in the native format."}, \
        {.type = APP_CHOICE, \
         .name = "on-bad-record", \
         .choices = "fail|skip|dead-letter", \
         .offset = APP_STREAM_PLACE(owner, pipeline.on_bad_record), \
         .help = \
             "What to do with a record that cannot be used: stop (the default), count\n" \
             "it, or count it and write it to --dead-letter FILE."}, \
        {.type = APP_TEXT, \
         .name = "dead-letter", \
         .argument = "FILE", \
         .offset = APP_STREAM_PLACE(owner, dead_letter), \
         .help = "A capture of the records that were left out."}, \
        {.type = APP_NUMBER, \
         .name = "dead-letter-limit", \
         .argument = "BYTES", \
         .offset = APP_STREAM_PLACE(owner, dead_letter_limit), \
         .most = UINT64_MAX, \
         .help = "The most bytes of that file (1G). Further bad records are counted and\n" \
             "reported, but not kept. 0: no limit."}, \
        {.type = APP_COUNT, \
         .name = "hlc-bits", \
         .argument = "N", \
         .offset = APP_STREAM_PLACE(owner, pipeline.hlc_bits), \
         .most = 63, \
         .help = "Timestamps {p,l} become p * 2^N + l. Without it they are refused."}, \
        {.type = APP_GROUP, .help = "What to check"}, \
        {.type = APP_CHOICE, \
         .name = "level", \
         .choices = "si|ser", \
         .offset = APP_STREAM_PLACE(owner, level), \
         .help = \
             "Snapshot isolation (the default) or serializability. A change stream\n" \
             "without client records is by default checked for consistency (cdc): it\n" \
             "says nothing about isolation."}, \
        {.type = APP_FLAG, \
         .name = "no-session-order", \
         .offset = APP_STREAM_PLACE(owner, no_session_order), \
         .help = "Do not require that a session sees its own earlier transactions."}, \
        {.type = APP_TEXT, \
         .name = "initial", \
         .argument = "VALUE", \
         .offset = APP_STREAM_PLACE(owner, initial), \
         .help = "The value of every key before the first write; null, the default, means\n" \
             "absent."}, \
        {.type = APP_TEXT, \
         .name = "initial-file", \
         .argument = "FILE", \
         .offset = APP_STREAM_PLACE(owner, initial_file), \
         .help = "Initial values by key: {\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},...]}."}, \
        {.type = APP_FLAG, \
         .name = "any-order", \
         .offset = APP_STREAM_PLACE(owner, any_order), \
         .help = \
             "When timestamps say violated, let polygraph find out at the end whether\n" \
             "the claimed order is wrong or no order exists."}, \
        {.type = APP_NUMBER, \
         .name = "round", \
         .argument = "N", \
         .offset = APP_STREAM_PLACE(owner, round), \
         .least = 1, \
         .most = UINT32_MAX, \
         .help = \
             "polygraph judges transactions without timestamps: at the end, and after\n" \
             "every N of them, all that have arrived."}, \
        {.type = APP_FLAG, \
         .name = "allow-unjudged", \
         .offset = APP_STREAM_PLACE(owner, allow_unjudged), \
         .help = \
             "Reads that could not be judged (an unknown outcome, an unknown value,\nanother schema) do not make the verdict undecided."}, \
        {.type = APP_CHOICE, \
         .name = "uncovered", \
         .choices = "skip|judge", \
         .offset = APP_STREAM_PLACE(owner, uncovered), \
         .help = \
             "Operations of clients on tables that no change stream delivers: count\n" \
             "and report them (the default), or judge them by client records alone,\n" \
             "which must then contain every write to these tables."}, \
        {.type = APP_FLAG, \
         .name = "strict-coverage", \
         .offset = APP_STREAM_PLACE(owner, pipeline.strict_coverage), \
         .help = "Such operations make the verdict undecided."}, \
        {.type = APP_SECONDS, \
         .name = "grace", \
         .argument = "SECONDS", \
         .offset = APP_STREAM_PLACE(owner, grace), \
         .most = 86400, \
         .help = \
             "How long a transaction may last and be on its way (10). Beside a change\n" \
             "stream clients need no watermarks: by Kafka's message times it is known\n" \
             "which transactions are over. A record that took longer is not judged. 0:\n" \
             "do not use message times. With --until-eof only if this option is given.\n" \
             "A recording contains what watch did, and replay does the same."}, \
        {.type = APP_NUMBER, \
         .name = "settle", \
         .argument = "MS", \
         .offset = APP_STREAM_PLACE(owner, pipeline.settle_ms), \
         .most = 60000, \
         .help = \
             "The longest time in the reorder window (50), so that transactions which\n" \
             "overtook each other are judged in the order of their commits. It is\n" \
             "shorter where transactions arrive in order, and ends at a watermark.\n" \
             "Where client records are joined with change streams, a violation is not\n" \
             "reported before the grace could explain it. 0: off."}, \
        {.type = APP_NUMBER, \
         .name = "retention", \
         .argument = "N", \
         .offset = APP_STREAM_PLACE(owner, pipeline.retention), \
         .most = UINT64_MAX, \
         .help = "Keep state for transactions that start up to N ticks below the\n" \
             "watermark. A tick is one unit of their timestamps. 0, the default: keep\n" \
             "everything."}, \
        {.type = APP_NUMBER, \
         .name = "max-ahead", \
         .argument = "N", \
         .offset = APP_STREAM_PLACE(owner, pipeline.max_ahead), \
         .most = UINT64_MAX, \
         .help = "A watermark more than N ticks above everything before it is a bad\n" \
             "record, since it would make all that follows late. 0, the default: a\n" \
             "year, where timestamps are wall clocks; else 2^32 times the largest, and\n" \
             "2^63."}, \
        {.type = APP_NUMBER, \
         .name = "memory", \
         .argument = "BYTES", \
         .offset = APP_STREAM_PLACE(owner, memory), \
         .most = UINT64_MAX - 1, \
         .help = \
             "Limit of the process's anonymous memory. Above it, keys that were not\n" \
             "used lately go to a file on disk. If that does not help, the retention\n" \
             "shrinks, and old transactions become final before their watermark. Where\n" \
             "polygraph judges: limit of its input and its clocks. Default: half of\n" \
             "the machine's memory, without a file; 0: no limit."}, \
        {.type = APP_TEXT, \
         .name = "spill", \
         .argument = "DIR", \
         .offset = APP_STREAM_PLACE(owner, spill), \
         .help = \
             "The folder of that file (TMPDIR, or /tmp). It has no name and vanishes\n" \
             "with the process. With --state it is in the state directory, and stays."}, \
        {.type = APP_GROUP, .help = "Output"}, \
        {.type = APP_TEXT, \
         .name = "out", \
         .argument = "kafka:TOPIC", \
         .offset = APP_STREAM_PLACE(owner, out), \
         .help = "Write verdicts to a topic instead of standard output; with file:PATH, to\n" \
             "the end of a file."}, \
        {.type = APP_TEXT, \
         .name = "to-history", \
         .argument = "FILE", \
         .offset = APP_STREAM_PLACE(owner, to_history), \
         .help = "Write the joined history, so that any engine can check it. Not for a run\n" \
             "without end."}, \
        {.type = APP_FLAG, \
         .name = "final-only", \
         .offset = APP_STREAM_PLACE(owner, final_only), \
         .help = "No lines for verdicts that may still change. On a terminal this is the\n" \
             "default; --final-only=false prints them there too.", \
         .given = APP_STREAM_PLACE(owner, final_only_given)}, \
        {.type = APP_FLAG, \
         .name = "json", \
         .offset = APP_STREAM_PLACE(owner, json), \
         .help = "Print one JSON object at the end instead of a line for each verdict."}, \
        {.type = APP_COUNT, \
         .name = "max-violations", \
         .argument = "N", \
         .offset = APP_STREAM_PLACE(owner, pipeline.max_violations), \
         .most = UINT32_MAX, \
         .help = "That object lists at most N violations (1000); 0: all. Counts are exact."}, \
        {.type = APP_COUNT, \
         .name = "max-per-key", \
         .argument = "N", \
         .offset = APP_STREAM_PLACE(owner, pipeline.max_per_key), \
         .most = UINT32_MAX, \
         .help = "List at most N violations (1000) of one key, and of one session, and\n" \
             "then report how many more there are; 0: all. Counts are exact."}, \
        {.type = APP_FLAG, \
         .name = "quiet", \
         .offset = APP_STREAM_PLACE(owner, quiet), \
         .help = "Print no status line and no closing summary."}, \
        {.type = APP_GROUP, .help = "How to run"}, \
        {.type = APP_TEXTS, \
         .name = "property", \
         .letter = 'X', \
         .argument = "NAME=VALUE", \
         .offset = APP_STREAM_PLACE(owner, properties), \
         .help = "A property of librdkafka, or the name of a file of them. Secrets go\ninto a file."}, \
    { \
        .type = APP_COUNT, .name = "threads", .argument = "N", .offset = APP_STREAM_PLACE(owner, pipeline.shards), \
        .least = 1, .most = 64, .help = "Number of shards of the engine, each on its own thread (1)." \
    }
/* clang-format on */

/* What transactions are judged at. */
static inline enum iso_level app_stream_level(const struct app_stream_options *options)
{
    return options->level == ISO_SER ? ISO_SER : ISO_SI;
}

/* Options and defaults before parsing. */
void app_stream_options_init(struct app_stream_options *options);
/* Once they are parsed: a terminal shows only what is final, unless the options say otherwise. What goes to a file, a
 * topic or a run with a state does not depend on a terminal. */
void app_stream_options_settle(struct app_stream_options *options);
void app_stream_options_release(struct app_stream_options *options);

/* Initial values, into a history that is being built. */
enum iso_status app_stream_initial(const struct app_stream_options *options, struct iso_history *history,
                                   struct iso_error *error);

uint64_t app_stream_grace(const struct app_stream_options *options); /* milliseconds: what was given, or the default */

/* Bytes; 0: no bound. Where nothing is said, half of what the machine has, or its control group may use. */
uint64_t app_stream_memory(const struct app_stream_options *options);
bool app_stream_bounds_memory(const struct app_stream_options *options); /* --memory says how much */

#endif
