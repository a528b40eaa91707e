/* Captures: Kafka messages in a file, byte exact, one a line, in the members that `kcat -J` prints.
 *
 *   {"topic":"t","partition":0,"offset":7,"tstype":"create","ts":1795251884292,"broker":1,
 *    "headers":["name","value"],"key":null,"payload":"text"}
 *
 * A text is a JSON string if its bytes are UTF-8, else {"base64":"..."}; null is Kafka's null.
 * `headers` alternates names and values and is left out where there are none; `tstype` and `ts` are
 * left out without a timestamp, `broker` where it is not known. The reader takes the members in any
 * order, ignores members it does not know, and takes kcat's own output, in which bytes that are not
 * UTF-8 stand raw inside strings. `.zst` by name, "-" is stdin or stdout.
 *
 * A recording of a run (`watch --record`) has more, so that judging it again takes the same steps:
 *
 *   (an empty line)                          a batch was judged here
 *   {"recording":2}                          behind the first of these: the version of these lines
 *   {"topic":"t","partition":0}              a partition that was waited for from here on
 *   {"topic":"t","partition":0,"end":true}   everything in it was read
 *   {"reached":1795251884292}                all was read up to this message time
 *                                            (pipeline/pipeline.h)
 *
 * The reader hands batches out as they were, and with each the lines before it (iso_capture_signs).
 * Version 1 had the first and the third, and no version.
 *
 * Memory: a reader keeps one batch (a few hundred kilobytes, or the longest line). Errors:
 * ISO_BAD_INPUT names file and line; ISO_FAILED the file. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "bytes/stream.h"
#include "base/inputs.h"
#include "base/message.h"

struct iso_capture_reader;
struct iso_capture_writer;

/* NULL on error. Borrows `inputs`, in which it numbers the partitions that it meets. */
struct iso_capture_reader *iso_capture_reader_new(const char *path, struct iso_inputs *inputs,
                                                  struct iso_error *error);
void iso_capture_reader_free(struct iso_capture_reader *reader);

enum { ISO_CAPTURE_BATCH = 4096, ISO_CAPTURE_BATCH_BYTES = 1 << 25 /* of lines */ };

/* The next messages, at most ISO_CAPTURE_BATCH, in file order, valid until the next call; `*count`
 * 0 at the end or on error. What stands before a bad line is handed out first. */
enum iso_status iso_capture_read(struct iso_capture_reader *reader,
                                 const struct iso_message **messages, uint32_t *count,
                                 struct iso_error *error);

/* Behind the last batch: whether the file ends inside a line or a packed frame, as one does that is
 * still being written, or whose writer was killed; and how many whole lines there are. A line that
 * is wrong before its end is an error. */
bool iso_capture_is_cut(const struct iso_capture_reader *reader, uint64_t *lines);

/* A sign that stands before the batch that was read last, or behind all of them, in order; valid
 * until the next read. */
struct iso_capture_sign {
    enum { ISO_CAPTURE_SIGN_END, ISO_CAPTURE_SIGN_REACHED } type;
    uint32_t input; /* END */
    uint64_t time;  /* REACHED */
};
uint32_t iso_capture_signs(const struct iso_capture_reader *reader,
                           const struct iso_capture_sign **signs);

struct iso_capture_writer *iso_capture_writer_new(const char *path, struct iso_error *error);
/* As of streams (bytes/stream.h): for a run that goes on where it was killed. */
struct iso_capture_writer *iso_capture_writer_resume(const char *path, uint64_t length,
                                                     struct iso_error *error);
/* What lines go into: to flush, to measure, to go on with. The writer's. */
struct iso_stream_writer *iso_capture_stream(struct iso_capture_writer *writer);

enum iso_status iso_capture_write(struct iso_capture_writer *writer,
                                  const struct iso_message *message, struct iso_error *error);

/* How many of the messages, from the first on and at least one, a reader hands out as one batch for
 * certain. */
uint32_t iso_capture_batch(const struct iso_message *messages, uint32_t count);
/* Begins a recording, before all messages. */
enum iso_status iso_capture_begin(struct iso_capture_writer *writer, struct iso_error *error);
/* Ends a batch: messages since the last mark, or the beginning. */
enum iso_status iso_capture_mark(struct iso_capture_writer *writer, struct iso_error *error);
/* A partition that is waited for, whether or not a message of it follows. */
enum iso_status iso_capture_declare(struct iso_capture_writer *writer, const char *topic,
                                    int32_t partition, struct iso_error *error);
/* Between batches: a partition's end was reached; a message time was. */
enum iso_status iso_capture_end(struct iso_capture_writer *writer, const char *topic,
                                int32_t partition, struct iso_error *error);
enum iso_status iso_capture_reached(struct iso_capture_writer *writer, uint64_t time,
                                    struct iso_error *error);
/* Ends the file and frees the writer; the status of the whole. */
enum iso_status iso_capture_writer_close(struct iso_capture_writer *writer,
                                         struct iso_error *error);
