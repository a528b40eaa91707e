#define _GNU_SOURCE
#include "run/durable/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <time.h>

#include "base/fault.h"
#include "cli/log.h"
#include "pipeline/archive.h"

enum { SNAPSHOTS_OF_INPUT = 4, SNAPSHOT_EVERY_MS = 3600000 };
#define LEAST_INPUT (UINT64_C(64) << 20)
#define MOST_JOURNAL (UINT64_C(64) << 20)

/* ---- the output ---- */

static enum iso_status deliver_output(struct run_durable *durable, struct iso_error *error)
{
    return run_delivery_advance(&durable->delivery, &durable->stream->output,
                                durable->progress.position, error);
}

static enum iso_status journal_delivered(struct run_durable *durable, struct iso_error *error)
{
    struct run_delivery *delivery = &durable->delivery;
    assert(delivery->delivered <= durable->progress.position);
    if (delivery->delivered <= delivery->journaled)
        return ISO_OK;
    delivery->journaled = delivery->delivered;
    ISO_FAULT(iso_fault_point("before-note"));
    run_durable_append_number(durable, ISO_PROGRESS_TOLD, delivery->delivered, error);
    ISO_FAULT(iso_fault_point("after-note"));
    return error->status;
}

/* ---- checkpoints ---- */

static enum iso_status write_checkpoint(struct run_durable *durable, bool is_last,
                                        struct iso_error *error)
{
    ISO_FAULT(iso_fault_point(is_last ? "before-last-checkpoint" : "before-checkpoint"));
    iso_progress_put_check(&durable->progress, &durable->record);
    if (run_durable_append(durable, ISO_PROGRESS_CHECK, error) != ISO_OK)
        return error->status;
    iso_store_sync(durable->store, is_last, error);
    ISO_FAULT(iso_fault_point(is_last ? "after-last-checkpoint" : "after-checkpoint"));
    return error->status;
}

/* ---- snapshots ---- */

/* The store's file grows while cleaned segments wait for a snapshot. */
static bool is_much_held(const struct run_durable *durable)
{
    struct iso_pipeline_stats stats;
    if (durable->snapshots.input < LEAST_INPUT / 4)
        return false;
    iso_pipeline_stats(durable->stream->pipeline, &stats);
    return stats.engine.spilt.archived >= LEAST_INPUT &&
           stats.engine.spilt.archived > stats.engine.spilt.disk / 2;
}

/* Bytes of input after which a snapshot is worth its price: so many times what it writes. */
static uint64_t input_worth_a_snapshot(const struct run_durable *durable)
{
    struct iso_pipeline_stats stats;
    if (durable->options.snapshot_after)
        return durable->options.snapshot_after;
    if (durable->snapshots.input < LEAST_INPUT)
        return LEAST_INPUT;
    iso_pipeline_stats(durable->stream->pipeline, &stats);
    uint64_t worth = SNAPSHOTS_OF_INPUT * stats.engine.bytes;
    return worth > LEAST_INPUT ? worth : LEAST_INPUT;
}

static bool is_snapshot_due(const struct run_durable *durable, uint64_t now)
{
    const struct run_snapshots *snapshots = &durable->snapshots;
    return snapshots->input >= input_worth_a_snapshot(durable) ||
           iso_store_journal_bytes(durable->store) >= MOST_JOURNAL ||
           (snapshots->input && now - snapshots->input_at >= SNAPSHOT_EVERY_MS) ||
           is_much_held(durable);
}

static enum iso_status take_snapshot(struct run_durable *durable, uint64_t now,
                                     struct iso_error *error)
{
    struct run_snapshots *snapshots = &durable->snapshots;
    assert(!snapshots->committing);
    snapshots->pending = durable->progress.position;
    snapshots->input = 0;
    snapshots->input_at = now;
    snapshots->count++;
    snapshots->forked = (uint64_t)iso_clock_nanoseconds() / 1000;
    ISO_FAULT(iso_fault_point("before-snapshot"));
    if (run_recording_settle(&durable->stream->recording, &durable->mark, error) != ISO_OK)
        return error->status;
    ISO_FAULT(iso_fault_point("after-captures-settled"));
    iso_pipeline_fork(durable->stream->pipeline);
    iso_store_snapshot(durable->store, run_durable_archive, durable, error);
    ISO_FAULT(iso_fault_point("after-snapshot"));
    return error->status;
}

static void commit_snapshot(struct run_durable *durable, struct iso_error *error)
{
    struct run_snapshots *snapshots = &durable->snapshots;
    ISO_FAULT(iso_fault_point("before-commit"));
    iso_store_commit(durable->store, error);
    snapshots->committing = true;
    snapshots->committed = snapshots->forked;
    snapshots->took = (uint64_t)iso_clock_nanoseconds() / 1000 - snapshots->forked;
    ISO_FAULT(iso_fault_point("after-commit"));
}

/* How far the snapshot under way is. Once it is the one to restore, what its forerunner needed of
 * the store is free. */
static enum iso_store_progress look_at_snapshot(struct run_durable *durable,
                                                struct iso_error *error)
{
    enum iso_store_progress progress = iso_store_look(durable->store, false, error);
    if (error->status == ISO_OK && progress == ISO_STORE_IDLE && durable->snapshots.committing) {
        durable->snapshots.committing = false;
        iso_pipeline_commit(durable->stream->pipeline);
        ISO_FAULT(iso_fault_point("after-spill-freed"));
    }
    return progress;
}

/* Whether the snapshot is written, and what was emitted before it is safe. */
static bool is_to_be_committed(const struct run_durable *durable, enum iso_store_progress progress)
{
    return progress == ISO_STORE_WRITTEN &&
           durable->delivery.delivered >= durable->snapshots.pending;
}

/* A snapshot that is nearly done spares the next run much reading. */
static void await_snapshot(struct run_durable *durable, uint64_t seconds, struct iso_error *error)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    uint64_t end = (uint64_t)iso_clock_nanoseconds() / 1000 + seconds * 500000;
    enum iso_store_progress progress;
    while ((progress = look_at_snapshot(durable, error)) != ISO_STORE_IDLE &&
           error->status == ISO_OK && (uint64_t)iso_clock_nanoseconds() / 1000 < end) {
        if (is_to_be_committed(durable, progress))
            commit_snapshot(durable, error);
        nanosleep(&moment, NULL);
    }
}

/* ---- when ---- */

static enum iso_status make_what_is_due(struct run_durable *durable, uint64_t now,
                                        struct iso_error *error)
{
    struct run_snapshots *snapshots = &durable->snapshots;
    enum iso_store_progress progress = look_at_snapshot(durable, error);
    if (error->status == ISO_OK && is_to_be_committed(durable, progress))
        commit_snapshot(durable, error);
    if (error->status == ISO_OK && progress == ISO_STORE_IDLE && is_snapshot_due(durable, now))
        take_snapshot(durable, now, error);
    if (error->status == ISO_OK &&
        now - snapshots->checked >= durable->options.checkpoint_interval / 1000000) {
        snapshots->checked = now;
        write_checkpoint(durable, false, error);
    }
    return error->status;
}

enum iso_status run_checkpoint_after_batch(struct run_durable *durable, uint64_t now,
                                           struct iso_error *error)
{
    struct run_snapshots *snapshots = &durable->snapshots;
    if (!snapshots->checked)
        snapshots->checked = snapshots->input_at = now;
    if (deliver_output(durable, error) != ISO_OK || journal_delivered(durable, error) != ISO_OK)
        return error->status;
    uint64_t started = (uint64_t)iso_clock_nanoseconds() / 1000;
    make_what_is_due(durable, now, error);
    uint64_t took = (uint64_t)iso_clock_nanoseconds() / 1000 - started;
    snapshots->longest_pause = took > snapshots->longest_pause ? took : snapshots->longest_pause;
    return error->status;
}

enum iso_status run_checkpoint_last(struct run_durable *durable, uint64_t seconds,
                                    struct iso_error *error)
{
    struct run_stream *stream = durable->stream;
    const struct run_snapshots *snapshots = &durable->snapshots;
    if (stream->output.producer)
        iso_kafka_producer_flush(stream->output.producer, (unsigned)seconds, error);
    for (int i = 0; i < 2 && error->status == ISO_OK; i++) /* a topic: the mark before, then all */
        deliver_output(durable, error);
    if (error->status == ISO_OK && journal_delivered(durable, error) == ISO_OK &&
        write_checkpoint(durable, true, error) == ISO_OK)
        await_snapshot(durable, seconds, error);
    if (snapshots->count && !stream->options->quiet)
        cli_log("state %s: %" PRIu64 " snapshots, for which the stream stopped for %" PRIu64
                ".%03" PRIu64 " ms at most; the last has %" PRIu64 " bytes",
                durable->options.state, snapshots->count, snapshots->longest_pause / 1000,
                snapshots->longest_pause % 1000, iso_store_snapshot_bytes(durable->store));
    return error->status;
}

void run_checkpoint_figures(const struct run_durable *durable,
                            struct run_checkpoint_figures *figures)
{
    const struct run_snapshots *snapshots = &durable->snapshots;
    uint64_t now = (uint64_t)iso_clock_nanoseconds() / 1000, began, took;
    bool synced = iso_store_synced(durable->store, &began, &took);
    *figures = (struct run_checkpoint_figures){
        .checkpoint_interval = (double)durable->options.checkpoint_interval / 1e9,
        .snapshot_interval = SNAPSHOT_EVERY_MS / 1e3,
        .checkpoint_age = (double)(now - (synced ? began : snapshots->opened)) / 1e6,
        .checkpoint_took = synced ? (double)took / 1e6 : -1,
        .snapshot_age = snapshots->committed ? (double)(now - snapshots->committed) / 1e6 : -1,
        .snapshot_took = snapshots->committed ? (double)snapshots->took / 1e6 : -1,
        .longest_pause = (double)snapshots->longest_pause / 1e6,
        .journal_bytes = iso_store_journal_bytes(durable->store),
        .snapshot_bytes = iso_store_snapshot_bytes(durable->store),
        .snapshots = snapshots->count,
    };
}
