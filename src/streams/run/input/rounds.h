/* Transactions of a stream that polygraph judges: those without timestamps, and, where any order is
 * asked for, all.
 *
 * The first committed transaction decides for the stream: if it carries no timestamp, all
 * transactions are collected and the online engine gets none. They are judged at the end, or also
 * every `--round` of them, all that have come so far. In between, what is not here yet may still
 * come: a round leaves out reads of values that nobody wrote so far, and what it finds is
 * *tentative*, since a later writer of the same value may explain it. The end is *final*, unless it
 * came before its time: what was found then is undecided, and so is what holds but for such reads
 * (reason `waiting`). Memory: all transactions; above `--memory` nothing more is taken, and the
 * verdict is undecided.
 */
#pragma once

#include "base/archive.h"
#include "pipeline/pipeline.h"
#include "run/input/kept.h"
#include "run/options.h"
#include "run/shown/output.h"

enum run_rounds_kind { RUN_ROUNDS_OPEN, RUN_ROUNDS_TIMED, RUN_ROUNDS_UNTIMED };

/* Advice for the reason no-stream. */
#define RUN_LACKS_STREAM                                                                           \
    "what rows had before, and what was written, stands in the change stream: add its --source KIND:TOPIC,cells=true"

struct run_rounds {
    const struct run_stream_options *options; /* NULL: not initialised, or released */
    struct iso_pipeline *pipeline;
    struct run_output *output; /* where verdicts go, or, if there is one, */
    struct run_kept *kept;     /* what keeps them */
    bool enabled;              /* there is an end, or are rounds, at which they can be judged */
    enum run_rounds_kind kind;
    struct iso_history collected; /* in building */
    uint64_t since;               /* transactions since the last round */
    uint32_t number;              /* of rounds so far */
    bool full;                    /* --memory is used up */
    uint64_t open_reads; /* that the last round left out: nobody wrote their values so far */
};

/* The members down to `enabled` are set. */
enum iso_status run_rounds_init(struct run_rounds *rounds, struct iso_error *error);
void run_rounds_release(struct run_rounds *rounds);

/* For --state: saves or restores (run/durable/durable.h). */
void run_rounds_archive(struct iso_archive *archive, struct run_rounds *rounds);

/* For the pipeline: takes transactions of a block. True: they are not the online engine's. */
bool run_rounds_take(struct run_rounds *rounds, const struct iso_history *block, uint32_t first,
                     uint32_t count, struct iso_error *error);

/* Keeps transactions of a block for --any-order. */
void run_rounds_keep(struct run_rounds *rounds, const struct iso_history *block, uint32_t first,
                     uint32_t count);

/* The end of a stream without timestamps: judges, emits, sums up. `complete`: all has come that
 * there is to come. */
enum iso_status run_rounds_conclude(struct run_rounds *rounds, bool complete, double seconds,
                                    struct iso_error *error);

/* A run that is stopped and remembers: what it has not judged. */
void run_rounds_log_stopped(const struct run_rounds *rounds);

/* polygraph's outcome for all that has come: "holds", "violated", "undecided". */
const char *run_rounds_any_order(struct run_rounds *rounds);
