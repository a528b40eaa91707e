/* After a batch of a run with a state: its verdicts go out, and the journal notes how far;
 * checkpoints and snapshots are made when they are due. A snapshot is committed once what was
 * emitted before it is safe.
 *
 * Threads: the caller's.
 */
#pragma once

#include "run/durable/durable.h"

enum iso_status run_checkpoint_after_batch(struct run_durable *durable, uint64_t now,
                                           struct iso_error *error);

/* The last checkpoint of a run that ends; what a snapshot under way needs at most `seconds` for. */
enum iso_status run_checkpoint_last(struct run_durable *durable, uint64_t seconds,
                                    struct iso_error *error);

/* Figures for the page; seconds. */
struct run_checkpoint_figures {
    double checkpoint_interval, snapshot_interval;
    double checkpoint_age, checkpoint_took; /* the latter below 0: there was none yet */
    double snapshot_age, snapshot_took;     /* below 0: the snapshot is an earlier process's */
    double longest_pause;
    uint64_t journal_bytes, snapshot_bytes, snapshots;
};
void run_checkpoint_figures(const struct run_durable *durable,
                            struct run_checkpoint_figures *figures);
