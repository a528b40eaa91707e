/* `watch --state DIR`: what a run must remember, so that another can go on where it was killed.
 *
 * Before a batch is fed its step is in the journal; after its verdicts are told, so is how many bytes of them. Every
 * --checkpoint-interval the journal goes to the device; once enough input has come since the last one, a child writes a
 * snapshot. A restart restores the snapshot, reads again from Kafka what the journal says, and judges it again, batch
 * by batch at the times of then (catch_up.h): so the same lines are made once more, and those that are told already are
 * left out by their place in the output.
 *
 * What does not fit into memory (--memory) is in files of the directory, spill-0 and so on, one a shard
 * (spill/spill.h), which snapshots refer to. When something goes there depends on how much memory the process has; so
 * that is in the journal too, and the engine takes nothing else for it. What goes, and what the retention loses where
 * that is not enough, is then the same when it is done again.
 *
 * How far the output got: of a regular file its own length says so, to the byte, even in the middle of a line. Of a
 * topic, what its broker acknowledged; of a pipe, what was written: a crash in the instant before that is noted lets
 * the last lines be told again, with the same ids. A snapshot is committed once what was told before it is safe.
 *
 * Threads: the caller's.
 */
#ifndef ISO_APP_DURABLE_H
#define ISO_APP_DURABLE_H

#include <sys/types.h>

#include "app/captures.h"
#include "app/stream.h"
#include "connectors/kafka/consumer.h"
#include "state/progress.h"
#include "store/store.h"

struct app_durable_options {
    const char *state;            /* NULL: nothing is remembered */
    const char *record;           /* --record; NULL: nothing */
    uint64_t checkpoint_interval; /* nanoseconds */
    uint64_t snapshot_after;      /* bytes of input; 0: as many as four snapshots have, at least 64 MiB */
};

struct app_durable {
    struct app_stream *stream;
    struct app_durable_options options;
    struct iso_store *store;
    struct iso_progress progress;
    struct iso_text record, configuration;
    uint64_t told, noted;              /* bytes of output that its reader has; that the journal says it has */
    uint64_t marked;                   /* a topic: up to where it will have once its mark has settled */
    uint64_t device, inode, begun;     /* a regular file, and where in it the output begins; 0: none */
    uint64_t pending;                  /* the output at the fork of the snapshot under way */
    uint64_t fed, fed_at;              /* about as many bytes of input since the last snapshot; when that was */
    uint64_t checked;                  /* when the last checkpoint was */
    bool catching_up;                  /* chatter would repeat itself */
    bool finished;                     /* the journal says that the input ended */
    bool records_given;                /* those of --history FILE */
    struct app_captures_mark captures; /* at the last snapshot */
    pid_t process;
    uint64_t in_use, looked;     /* bytes of memory that the journal knows of; messages read by then */
    bool committing;             /* a snapshot that was begun with will be the one to restore */
    _Atomic uint64_t crash_left; /* for tests: at which point the process dies */
    const char *crash_point;
    uint64_t snapshots, longest_pause; /* microseconds, as what follows, on the monotonic clock */
    uint64_t opened;                   /* when this run began to remember */
    uint64_t forked;                   /* when the snapshot under way was begun */
    uint64_t snapped, snap_took;       /* the same of the committed one, and how long it took; 0: another process did */
};

/* What is seen of it from outside; seconds. */
struct app_durable_figures {
    double checkpoint_interval, snapshot_interval;
    double checkpoint_age, checkpoint_took; /* the latter below 0: there was none yet */
    double snapshot_age, snapshot_took;     /* below 0: the snapshot is an earlier process's */
    double longest_pause;
    uint64_t journal_bytes, snapshot_bytes, snapshots;
};

/* Opens the state and restores its snapshot into the stream's pipeline, if it has one. `stream` has been opened. */
enum iso_status app_durable_open(struct app_durable *durable, struct app_stream *stream,
                                 const struct app_durable_options *options);
void app_durable_close(struct app_durable *durable);

/* A line of output: how many of its bytes the reader has already. */
size_t app_durable_line(struct app_durable *durable, const char *line, size_t length);

/* Where the output really ended when the last run did; `told` after that. */
enum iso_status app_durable_find_told(struct app_durable *durable);

/* Where to go on reading, by the inputs that are known; the caller frees the list. */
struct iso_kafka_position *app_durable_positions(struct app_durable *durable, uint32_t *count);

/* Whether a batch holds messages that were read before. */
bool app_durable_knows(struct app_durable *durable, const struct iso_message *messages, uint32_t count);

/* Takes out of a batch the messages that were read before; ISO_FAILED if they are others than then. */
enum iso_status app_durable_compare(struct app_durable *durable, struct iso_message *messages, uint32_t *count);
enum iso_status app_durable_changed(struct app_durable *durable, const char *topic, int32_t partition, int64_t offset);

/* A new state: with the partitions as they were found, so that a restart begins where this run does. */
enum iso_status app_durable_begin(struct app_durable *durable, const struct iso_kafka_partition *partitions,
                                  uint32_t count, uint64_t time);

/* All was done again; from here on new steps are recorded. */
enum iso_status app_durable_resume(struct app_durable *durable);

/* A restart, before all is done again: opens what is written beside the verdicts, as it was at the snapshot. */
enum iso_status app_durable_resume_captures(struct app_durable *durable);

/* Gives the pipeline the records of --history FILE, unless it has them; again, where the journal has a record of that.
 */
enum iso_status app_durable_give_records(struct app_durable *durable);
enum iso_status app_durable_give_records_again(struct app_durable *durable, const struct iso_store_record *record);

/* Messages that a restart would have to read again. */
void app_durable_count(struct app_durable *durable, const struct iso_message *messages, uint32_t count);

bool app_durable_has_declared(struct app_durable *durable, uint32_t input);

/* A partition is going to be declared; a batch is going to be fed (none: only time passes); the end is. */
enum iso_status app_durable_declare(struct app_durable *durable, const struct iso_kafka_partition *partition,
                                    uint64_t time);
enum iso_status app_durable_step(struct app_durable *durable, const struct iso_message *messages, uint32_t count,
                                 uint64_t time);
enum iso_status app_durable_finish(struct app_durable *durable, uint64_t time);

/* After a batch: notes what was told; checkpoints and snapshots when they are due. */
enum iso_status app_durable_after(struct app_durable *durable, uint64_t now);

/* The last checkpoint of a run that ends; what a snapshot under way needs at most `seconds` for. */
enum iso_status app_durable_stop(struct app_durable *durable, uint64_t seconds);

void app_durable_figures(const struct app_durable *durable, struct app_durable_figures *figures);

/* For tests: the process may die here. */
void app_durable_at(struct app_durable *durable, const char *point);

#endif
