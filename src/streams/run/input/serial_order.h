/* The end of `--level ser` where a source does not promise that transactions can be put in the
 * order of their commits: the joined history is collected, and at the end of the run, whatever
 * ended it, an order of its transactions is sought.
 *
 * Versions have the order of the stream. So a cycle that is found says something of what has come,
 * whatever else will; that there is none does so only of what was given to the join whole: what
 * still waits there waits in the books too. Memory: all transactions; above `--memory` nothing more
 * is taken, and the verdict is undecided.
 */
#pragma once

#include "base/archive.h"
#include "pipeline/pipeline.h"
#include "run/options.h"
#include "run/shown/output.h"

struct run_order {
    const struct run_stream_options *options; /* NULL: not initialised, or released */
    struct iso_pipeline *pipeline;
    struct run_output *output; /* where what is found goes */
    bool sought;
    struct iso_history collected; /* in building */
    bool full;                    /* --memory is used up */
    /* reads of the last round that may be a version in another spelling: left out */
    uint64_t unclear;
};

/* ISO_BAD_INPUT: the options cannot be judged so. */
/* The members down to `sought` are set. */
enum iso_status run_order_init(struct run_order *order, struct iso_error *error);
void run_order_release(struct run_order *order);

/* For --state. */
void run_order_archive(struct iso_archive *archive, struct run_order *order);

/* All transactions of a block of the joined history. */
void run_order_keep(struct run_order *order, const struct iso_history *block);

/* Seeks, emits lines of what was found, and has the pipeline know. */
enum iso_status run_order_seek(struct run_order *order, struct iso_error *error);
