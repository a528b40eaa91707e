/* How far a run of `watch` has come: in its input, and in its output.
 *
 * The pipeline is a function of the messages it gets, of how they are cut into batches, and of the
 * times that pass. So a journal of these (store/store.h) is enough to do again what was done since
 * a snapshot, to the byte of its output. A step's record names the messages by how many of each
 * input came in which order, a dozen bytes a batch, and ends with a digest of them: the same record
 * made again from what is read again is equal, or the input is not what it was.
 *
 *   STEP:      time, runs (input, messages) ..., digest of the messages       before they are fed
 *   PARTITION: time, input, partition, where it starts, topic                 before it is declared
 *   TOLD:      how many bytes of output its reader has after they were handed over
 *   CHECK:     position and digest of the output                              at each checkpoint
 *   FINISH:    time before the end of the input is declared
 *   RECORDS:   digest of the file of clients' records before these are given, ahead of all steps
 *   MEMORY:    the bound of memory, bytes in use, whether by a new process before the pipeline is
 *              told
 *   ENDED:     input the same: all that it holds was read
 *   REACHED:   message time the same: all was read up to it
 *
 * Numbers are 7 bits a byte, the low ones first. Times are those that the pipeline is given, in
 * milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/text.h"
#include "base/message.h"

enum iso_progress_record {
    ISO_PROGRESS_STEP = 1,
    ISO_PROGRESS_PARTITION,
    ISO_PROGRESS_TOLD,
    ISO_PROGRESS_CHECK,
    ISO_PROGRESS_FINISH,
    ISO_PROGRESS_RECORDS,
    ISO_PROGRESS_MEMORY,
    ISO_PROGRESS_ENDED,
    ISO_PROGRESS_REACHED
};

/* One input's position. */
struct iso_progress_position {
    int64_t next;      /* the offset to read next; -1: the input is not known here */
    int64_t last;      /* of the last message that was read; -1: none */
    uint64_t digest;   /* of that message */
    uint64_t declared; /* to the pipeline */
};

struct iso_progress {
    uint64_t time;                           /* of the last step */
    uint64_t messages;                       /* read in all */
    uint64_t position;                       /* bytes of output made so far */
    uint64_t digest;                         /* of them, line by line */
    struct iso_progress_position *positions; /* by input */
    uint32_t position_count, position_capacity;
};

void iso_progress_release(struct iso_progress *progress);
void iso_progress_archive(struct iso_archive *archive, struct iso_progress *progress);

/* An input's position, made if it is new. */
struct iso_progress_position *iso_progress_position(struct iso_progress *progress, uint32_t input);

/* The digest of one message: offset, key, payload and time. */
uint64_t iso_progress_digest(const struct iso_message *message);

/* Takes a batch: moves on time and places, and puts the step's record into `record`. */
void iso_progress_step(struct iso_progress *progress, const struct iso_message *messages,
                       uint32_t count, uint64_t time, struct iso_text *record);

/* The digest of a file's bytes. */
enum iso_status iso_progress_digest_file(const char *path, uint64_t *digest,
                                         struct iso_error *error);

/* A line of output was made. */
void iso_progress_line(struct iso_progress *progress, const char *line, size_t length);

/* ---- records ---- */

struct iso_progress_partition {
    uint64_t time;
    uint32_t input;
    int32_t partition;
    int64_t start;
    const char *topic;
    size_t length;
};

void iso_progress_put_partition(const struct iso_progress *progress,
                                const struct iso_progress_partition *partition,
                                struct iso_text *record);
void iso_progress_put_check(const struct iso_progress *progress, struct iso_text *record);
void iso_progress_put_number(struct iso_text *record, uint64_t number);

/* A record being read; false: it is not what its type says. */
struct iso_progress_reader {
    const uint8_t *at, *end;
};
bool iso_progress_get_number(struct iso_progress_reader *reader, uint64_t *number);
bool iso_progress_get_partition(const struct iso_progress *progress,
                                struct iso_progress_reader reader,
                                struct iso_progress_partition *partition);
bool iso_progress_get_check(struct iso_progress_reader reader, uint64_t *position,
                            uint64_t *digest);

/* A step: its time, then its runs one by one; false: there are no more, and `reader` is at the
 * digest. */
bool iso_progress_get_step(const struct iso_progress *progress, struct iso_progress_reader *reader,
                           uint64_t *time, uint64_t *runs);
bool iso_progress_get_run(struct iso_progress_reader *reader, uint64_t *input, uint64_t *count);
