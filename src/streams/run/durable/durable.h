/* `watch --state DIR`: what a run must remember, so that another can continue where it was killed.
 *
 * Before a batch is fed its step is in the journal; after its verdicts are emitted, so is how many
 * bytes of them (delivery.h). Every --checkpoint-interval the journal goes to the device; once
 * enough input has come since the last one, a child writes a snapshot (checkpoint.h). A restart
 * restores the snapshot, reads again from Kafka what the journal says, and judges it again, batch
 * by batch at the times of then (catch_up.h): so the same lines are made once more, and those that
 * are emitted already are left out by their position in the output.
 *
 * What does not fit into memory (--memory) is in files of the directory, spill-0 and so on, one a
 * shard (spill/spill.h), which snapshots refer to. When something goes there depends on how much
 * memory the process has; so that is in the journal too, and the engine uses nothing else. What is
 * paged out, and what the retention loses where that is not enough, is then the same when it is
 * done again.
 *
 * Threads: the caller's.
 */
#pragma once

#include "connectors/kafka/consumer.h"
#include "run/durable/delivery.h"
#include "run/stream.h"
#include "state/progress.h"
#include "store/store.h"

struct run_durable_options {
    const char *state;            /* NULL: nothing is remembered */
    const char *record;           /* --record; NULL: nothing */
    uint64_t checkpoint_interval; /* nanoseconds */
    /* bytes of input; 0: as many as four snapshots have, at least 64 MiB */
    uint64_t snapshot_after;
};

/* Snapshots and checkpoints of this process. Times are microseconds of the clock that only rises,
 * but for those that say otherwise. */
struct run_snapshots {
    uint64_t opened;          /* when this run began to remember */
    uint64_t input, input_at; /* about as many bytes of input since the last snapshot; when that
                                 was, in the run's ms */
    uint64_t checked;         /* when the last checkpoint was, in the run's ms */
    uint64_t pending;         /* the output at the fork of the snapshot under way */
    uint64_t forked;          /* when that was begun */
    bool committing;          /* a snapshot that was begun with will be the one to restore */
    uint64_t committed,
        took; /* when the committed one was begun, and how long it took; 0: another process did */
    uint64_t count, longest_pause;
};

struct run_durable {
    struct run_stream *stream;
    struct run_durable_options options;
    struct iso_store *store;
    struct iso_progress progress;
    struct iso_text record;        /* of the journal, being put together */
    struct iso_text configuration; /* whose state it is */
    struct run_delivery delivery;
    struct run_snapshots snapshots;
    struct run_recording_mark mark; /* of the recording, at the last snapshot */
    uint64_t in_use, looked; /* bytes of memory that the journal knows of; messages read by then */
    bool catching_up;        /* what was done is being done again */
    bool finished;           /* the journal says that the input ended */
    bool records_given;      /* those of --history FILE */
};

/* Opens the state and restores its snapshot into the stream's pipeline, if it has one. `stream` has
 * been opened. */
enum iso_status run_durable_open(struct run_durable *durable, struct run_stream *stream,
                                 const struct run_durable_options *options,
                                 struct iso_error *error);
void run_durable_close(struct run_durable *durable);

/* A new state: with the partitions as they were found, so that a restart begins where this run
 * does. */
enum iso_status run_durable_begin(struct run_durable *durable,
                                  const struct iso_kafka_partition *partitions, uint32_t count,
                                  uint64_t time, struct iso_error *error);

/* ---- a restart ---- */

/* Where the output really ended when the last run did, and whether its input did. */
enum iso_status run_durable_find_delivered(struct run_durable *durable, struct iso_error *error);

/* Where to go on reading, by the inputs that are known; the caller frees the list. */
struct iso_kafka_position *run_durable_positions(const struct run_durable *durable,
                                                 uint32_t *count);

/* Whether a batch holds messages that were read before. */
bool run_durable_knows(struct run_durable *durable, const struct iso_message *messages,
                       uint32_t count);

/* Takes out of a batch the messages that were read before; ISO_FAILED if they are others than
 * then. */
enum iso_status run_durable_compare(struct run_durable *durable, struct iso_message *messages,
                                    uint32_t *count, struct iso_error *error);
enum iso_status run_durable_changed(const char *topic, int32_t partition, int64_t offset,
                                    struct iso_error *error);

/* All was done again; from here on new steps are recorded. */
enum iso_status run_durable_resume(struct run_durable *durable, struct iso_error *error);

/* ---- records ---- */

/* Puts `durable->record` into the journal. */
enum iso_status run_durable_append(struct run_durable *durable, enum iso_progress_record type,
                                   struct iso_error *error);
enum iso_status run_durable_append_number(struct run_durable *durable,
                                          enum iso_progress_record type, uint64_t number,
                                          struct iso_error *error);

/* Messages that a restart would have to read again. */
void run_durable_count(struct run_durable *durable, const struct iso_message *messages,
                       uint32_t count);

/* A partition is going to be declared; a batch is going to be fed (none: only time passes); the end
 * is. */
enum iso_status run_durable_declare(struct run_durable *durable,
                                    const struct iso_kafka_partition *partition, uint64_t time,
                                    struct iso_error *error);
enum iso_status run_durable_step(struct run_durable *durable, const struct iso_message *messages,
                                 uint32_t count, uint64_t time, struct iso_error *error);
/* After a step: an input's end is going to be reported; a message time is. */
enum iso_status run_durable_ended(struct run_durable *durable, uint32_t input,
                                  struct iso_error *error);
enum iso_status run_durable_reached(struct run_durable *durable, uint64_t reached,
                                    struct iso_error *error);
enum iso_status run_durable_finish(struct run_durable *durable, uint64_t time,
                                   struct iso_error *error);

/* Gives the pipeline the records of --history FILE, unless it has them; again, where the journal
 * has a record of that.
 */
enum iso_status run_durable_give_records(struct run_durable *durable, struct iso_error *error);
enum iso_status run_durable_give_records_again(struct run_durable *durable,
                                               const struct iso_store_record *record,
                                               struct iso_error *error);

/* Saves or restores a snapshot's content; `context` is the durable. */
void run_durable_archive(void *context, struct iso_archive *archive);
