/* The options that `watch`, `replay` and `explain` share: what comes in, what to check, what comes
 * out, how to run. */
#pragma once

#include "cli/options.h"
#include "verdict/polygraph.h"
#include "pipeline/pipeline.h"

#define RUN_GRACE_NOT_GIVEN UINT64_MAX
#define RUN_MEMORY_NOT_GIVEN UINT64_MAX

struct run_stream_options {
    /* what options say of it; the stream adds the rest. `retention` 0: everything */
    struct iso_pipeline_options pipeline;
    int level; /* run_stream_level; below 0: not said */
    int uncovered;
    bool no_session_order, allow_unjudged, any_order, json, quiet, stats;
    bool final_only, final_only_given;
    bool served;                /* lines go to a status server too */
    bool keep;                  /* all transactions, and the verdict, in memory */
    bool silent;                /* no verdict lines on standard output */
    bool brief;                 /* final verdicts on standard output, each in words */
    uint64_t grace;             /* milliseconds; RUN_GRACE_NOT_GIVEN */
    uint64_t memory;            /* bytes; RUN_MEMORY_NOT_GIVEN */
    uint64_t dead_letter_limit; /* bytes; 0: none */
    uint64_t round;             /* 0: judge at the end only */
    struct cli_texts sources, properties;
    const char *initial, *initial_file, *out, *dead_letter, *history, *to_history, *spill;
    const char *state; /* where it remembers: what is written and read on the way is for
                          durable/durable.h to open */
};

/* The rows of a command whose options struct has a `struct run_stream_options` named `stream`. */
#define RUN_STREAM_PLACE(owner, member)                                                            \
    (offsetof(owner, stream) + offsetof(struct run_stream_options, member))
/* Ends of lines are not aligned: any one would change them all. */
/* clang-format off */
#define RUN_SCANS_ROW(place) \
    CLI_ROW_FLAG("stats", place, \
        "Say at the end, on standard error, which conditions of queries no index\n" \
        "serves, and how many rows were looked at for them.")

#define RUN_STREAM_ROWS(owner) \
    CLI_ROW_GROUP("Input"), \
    CLI_ROW_TEXTS("source", "KIND:TOPIC[,OPT=V...]", RUN_STREAM_PLACE(owner, sources), \
        "history:TOPIC: whole transactions as clients saw them. debezium:,\n" \
        "ticdc:, yugabyte:, dgraph:TOPIC: a database's change stream, joined\n" \
        "with them; without any, before images are its reads. Options:\n" \
        "format=NAME, framed=true (Confluent framing), registry=URL, login=FILE\n" \
        "(USER:PASSWORD for it), schema=FILE, and of change streams value=COLUMN,\n" \
        "cells=true|A;B (columns by themselves), identity=full|default, tables=A;B, marker=COLUMN,\n" \
        "of history ranges=true (row sets of plain keys),\n" \
        "reported=yes|no, lossy=yes|no, xa=yes|no,\n" \
        "collation=ci|binary|C, compression=NAME; each connector's README says\n" \
        "what they do. May be given often. debezium:PREFIX.* and yugabyte:PREFIX.*\n" \
        "are all topics whose names begin so, those that appear later, too,\n" \
        "but for topics that another --source names, and such whose first message\n" \
        "is none of the connector's."), \
    CLI_ROW_TEXT("history", "FILE", RUN_STREAM_PLACE(owner, history), \
        "What clients saw, as a finished history in the native format."), \
    CLI_ROW_CHOICE("on-bad-record", "fail|skip|dead-letter", RUN_STREAM_PLACE(owner, pipeline.on_bad_record), \
        "What to do with a record that cannot be used: stop (the default), count\n" \
        "it, or count it and write it to --dead-letter FILE."), \
    CLI_ROW_TEXT("dead-letter", "FILE", RUN_STREAM_PLACE(owner, dead_letter), \
        "A capture of the records that were left out."), \
    CLI_ROW_NUMBER("dead-letter-limit", "BYTES", RUN_STREAM_PLACE(owner, dead_letter_limit), 0, UINT64_MAX, \
        "The most bytes of that file (1G). Further bad records are counted and\n" \
        "reported, but not kept. 0: no limit."), \
    CLI_ROW_COUNT("hlc-bits", "N", RUN_STREAM_PLACE(owner, pipeline.hlc_bits), 0, 63, \
        "Timestamps {p,l} become p * 2^N + l. Without it they are refused."), \
    CLI_ROW_GROUP("What to check"), \
    CLI_ROW_CHOICE("level", ISO_LEVEL_WORDS, RUN_STREAM_PLACE(owner, level), \
        "Snapshot isolation (si, the default), serializability (ser), prefix\n" \
        "consistency (pc: si whose writers may overlap), read committed (rc),\n" \
        "reads of one past moment (stale), read your writes (ryw), monotonic\n" \
        "reads (mr). Other levels are for check. A change stream without client\n" \
        "records is by default checked for consistency (cdc): it says nothing\n" \
        "about isolation.", \
        .refusal = iso_level_refusal), \
    CLI_ROW_FLAG("no-session-order", RUN_STREAM_PLACE(owner, no_session_order), \
        "Do not require that a session sees its own earlier transactions."), \
    CLI_ROW_TEXT("initial", "VALUE", RUN_STREAM_PLACE(owner, initial), \
        "The value of every key before the first write; null, the default, means\n" \
        "absent."), \
    CLI_ROW_TEXT("initial-file", "FILE", RUN_STREAM_PLACE(owner, initial_file), \
        "Initial values by key: {\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},...]}."), \
    CLI_ROW_FLAG("any-order", RUN_STREAM_PLACE(owner, any_order), \
        "When timestamps say violated, let polygraph find out at the end whether\n" \
        "the claimed order is wrong or no order exists."), \
    CLI_ROW_NUMBER("round", "N", RUN_STREAM_PLACE(owner, round), 1, UINT32_MAX, \
        "polygraph judges transactions without timestamps: at the end, and after\n" \
        "every N of them, all that have arrived."), \
    CLI_ROW_FLAG("allow-unjudged", RUN_STREAM_PLACE(owner, allow_unjudged), \
        "Reads that could not be judged (an unknown outcome, an unknown value,\n" \
        "another schema) do not make the verdict undecided."), \
    CLI_ROW_CHOICE("uncovered", "skip|judge", RUN_STREAM_PLACE(owner, uncovered), \
        "Operations of clients on tables that no change stream delivers: count\n" \
        "and report them (the default), or judge them by client records alone,\n" \
        "which must then contain every write to these tables."), \
    CLI_ROW_FLAG("strict-coverage", RUN_STREAM_PLACE(owner, pipeline.strict_coverage), \
        "Such operations make the verdict undecided."), \
    CLI_ROW_COUNT("scan-limit", "N", RUN_STREAM_PLACE(owner, pipeline.scan_limit), 1, UINT32_MAX, \
        "For queries of more than N rows (10000), only the returned rows are\n" \
        "checked, not whether rows are missing."), \
    CLI_ROW_SECONDS("grace", "SECONDS", RUN_STREAM_PLACE(owner, grace), 0, 86400, \
        "Longest time from BEGIN until a transaction's record reaches Kafka (10).\n" \
        "Beside a change stream clients need no watermarks: by Kafka's message times it is known\n" \
        "which transactions are over. A record that took longer is not judged. 0:\n" \
        "do not use message times. With --until-eof only if this option is given.\n" \
        "A recording contains what watch did, and replay does the same."), \
    CLI_ROW_NUMBER("settle", "MS", RUN_STREAM_PLACE(owner, pipeline.engine.settle_ms), 0, 60000, \
        "The longest time in the reorder window (50), so that transactions which\n" \
        "overtook each other are judged in the order of their commits. It is\n" \
        "shorter where transactions arrive in order, and ends at a watermark.\n" \
        "Where client records are joined with change streams, a violation is not\n" \
        "reported before the grace could explain it. 0: off."), \
    CLI_ROW_NUMBER("retention", "N", RUN_STREAM_PLACE(owner, pipeline.engine.retention), 0, UINT64_MAX, \
        "Keep state for transactions that start up to N ticks below the\n" \
        "watermark. A tick is one unit of their timestamps. 0, the default: keep\n" \
        "everything."), \
    CLI_ROW_NUMBER("max-ahead", "N", RUN_STREAM_PLACE(owner, pipeline.max_ahead), 0, UINT64_MAX, \
        "A watermark more than N ticks above everything before it is a bad\n" \
        "record, since it would make all that follows late. 0, the default: a\n" \
        "year, where timestamps are wall clocks; else 2^32 times the largest, and\n" \
        "2^63."), \
    CLI_ROW_NUMBER("memory", "BYTES", RUN_STREAM_PLACE(owner, memory), 0, UINT64_MAX - 1, \
        "Limit of the process's anonymous memory. Above it, keys that were not\n" \
        "used lately go to a file on disk. If that does not help, the retention\n" \
        "shrinks, and old transactions become final before their watermark. Where\n" \
        "polygraph judges: limit of its input and its clocks. Default: half of\n" \
        "the machine's memory, without a file; 0: no limit."), \
    CLI_ROW_TEXT("spill", "DIR", RUN_STREAM_PLACE(owner, spill), \
        "The folder of that file (TMPDIR, or /tmp). It has no name and vanishes\n" \
        "with the process. With --state it is in the state directory, and stays."), \
    CLI_ROW_GROUP("Output"), \
    CLI_ROW_TEXT("out", "kafka:TOPIC", RUN_STREAM_PLACE(owner, out), \
        "Write verdicts to a topic instead of standard output; with file:PATH, to\n" \
        "the end of a file."), \
    CLI_ROW_TEXT("to-history", "FILE", RUN_STREAM_PLACE(owner, to_history), \
        "Write the joined history, so that any engine can check it. Not for a run\n" \
        "without end."), \
    CLI_ROW_FLAG("final-only", RUN_STREAM_PLACE(owner, final_only), \
        "No lines for verdicts that may still change. On a terminal this is the\n" \
        "default; --final-only=false prints them there too.", .given = RUN_STREAM_PLACE(owner, final_only_given)), \
    CLI_ROW_FLAG("json", RUN_STREAM_PLACE(owner, json), \
        "Print one JSON object at the end instead of a line for each verdict."), \
    CLI_ROW_COUNT("max-violations", "N", RUN_STREAM_PLACE(owner, pipeline.max_violations), 0, UINT32_MAX, \
        "That object lists at most N violations (1000); 0: all. Counts are exact."), \
    CLI_ROW_COUNT("max-per-key", "N", RUN_STREAM_PLACE(owner, pipeline.engine.max_per_key), 0, UINT32_MAX, \
        "List at most N violations (1000) of one key, and of one session, and\n" \
        "then report how many more there are; 0: all. Counts are exact."), \
    CLI_ROW_FLAG("quiet", RUN_STREAM_PLACE(owner, quiet), "Print no status line and no closing summary."), \
    RUN_SCANS_ROW(RUN_STREAM_PLACE(owner, stats)), \
    CLI_ROW_GROUP("How to run"), \
    CLI_ROW_PROPERTIES(RUN_STREAM_PLACE(owner, properties)), \
    CLI_ROW_COUNT("threads", "N", RUN_STREAM_PLACE(owner, pipeline.engine.shards), 1, 64, \
        "Number of shards of the engine, each on its own thread (1).")
/* clang-format on */

/* The level that transactions are judged at. */
static inline enum iso_level run_stream_level(const struct run_stream_options *options)
{
    return options->level < 0 ? ISO_SI : (enum iso_level)options->level;
}

/* Options and defaults before parsing. */
void run_stream_options_init(struct run_stream_options *options);
/* Once they are parsed: a terminal shows only what is final, unless the options say otherwise. What
 * goes to a file, a topic or a run with a state does not depend on a terminal. */
void run_stream_options_finalize(struct run_stream_options *options);

/* Options for polygraph, but for the model. */
struct iso_polygraph_options run_stream_polygraph(const struct run_stream_options *options);

/* Initial values, into a history that is being built. */
enum iso_status run_stream_initial(const struct run_stream_options *options,
                                   struct iso_history *history, struct iso_error *error);

/* milliseconds: what was given, or the default */
uint64_t run_stream_grace(const struct run_stream_options *options);

/* Bytes; 0: no bound. Where nothing is said, half of what the machine has, or its control group may
 * use. */
uint64_t run_stream_memory(const struct run_stream_options *options);
/* --memory says how much */
bool run_stream_bounds_memory(const struct run_stream_options *options);
