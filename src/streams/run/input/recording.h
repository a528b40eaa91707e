/* What a run writes down of what it reads: all of it (--record), and what it left out
 * (--dead-letter).
 *
 * With --state both are gone on with after a restart: a snapshot remembers how long they were; what
 * came since is read, and written, once more, over what stands there. So each message stands in
 * them once, whenever the process died. A packed file begins a new frame at each snapshot.
 *
 * Threads: the caller's; _sync also in a snapshot's child.
 */
#pragma once

#include <stdbool.h>

#include "base/archive.h"
#include "base/text.h"
#include "capture/capture.h"

struct run_recording {
    struct iso_capture_writer *messages;    /* --record; NULL: not asked for, or not open yet */
    struct iso_capture_writer *dead_letter; /* likewise */
    const char *dead_letter_path;           /* or NULL */
    uint64_t dead_letter_limit;             /* bytes that the file may become; 0: any number */
    uint64_t unkept;                        /* bad records that the file did not take */
};

/* New files. `path` NULL: no --record. `resumable`: they must be regular files. */
enum iso_status run_recording_open(struct run_recording *recording, const char *path,
                                   bool resumable, struct iso_error *error);
void run_recording_close(struct run_recording *recording, struct iso_error *error);

/* A batch as it was judged: how late a transaction is depends on what is judged with it. */
enum iso_status run_recording_batch(struct run_recording *recording,
                                    const struct iso_message *messages, uint32_t count,
                                    struct iso_error *error);

/* A record that was left out. False: the file has reached its limit, which is remarked on once, or
 * fails, and then `error` says how. */
bool run_recording_keep(struct run_recording *recording, const struct iso_message *message,
                        struct iso_error *error);

enum iso_status run_recording_flush(struct run_recording *recording, struct iso_error *error);

/* ---- with --state ---- */

struct run_recording_mark {
    uint64_t record, dead_letter;     /* bytes of the files */
    struct iso_text dead_letter_name; /* of which that is: the option may change between runs */
};

void run_recording_mark_archive(struct iso_archive *archive, struct run_recording_mark *mark);

/* Before a snapshot: how far they are, to go into it. In its child: to the device. */
enum iso_status run_recording_settle(struct run_recording *recording,
                                     struct run_recording_mark *mark, struct iso_error *error);
void run_recording_sync(struct run_recording *recording, struct iso_error *error);

/* A restart: opens them as they were at the mark. Once all was done again: they end here. */
enum iso_status run_recording_resume(struct run_recording *recording, const char *path,
                                     const struct run_recording_mark *mark,
                                     struct iso_error *error);
enum iso_status run_recording_cut(struct run_recording *recording, struct iso_error *error);
