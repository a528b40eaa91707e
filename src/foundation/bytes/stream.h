/* Lines out of an input (bytes/input.h), and bytes into a file that grows while others may read it.
 *
 * A reader hands out lines of any length up to a bound (a capture's line holds a whole Kafka
 * message). A writer writes in place, packed where the name ends in `.zst`, "-" is stdout: unlike
 * bytes/output.h, whose files appear whole or not at all, a capture that is cut off is readable up
 * to its last flush. Ownership: streams own their file and buffers. Threads: one at a time. Errors
 * name the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ISO_STREAM_PADDING = 64 }; /* as scanners read ahead: base/json.h */

struct iso_stream_reader;
struct iso_stream_writer;

struct iso_stream_reader *iso_stream_reader_new(const char *path,
                                                struct iso_error *error); /* NULL on error */
void iso_stream_reader_free(struct iso_stream_reader *reader);

/* The next line without its newline, with ISO_STREAM_PADDING readable bytes behind it, valid until
 * the next call; false at the end (error->status ISO_OK) or on error. The last line needs no
 * newline. */
bool iso_stream_read_line(struct iso_stream_reader *reader, const char **line, size_t *length,
                          struct iso_error *error);

/* Whether the line that was handed out last has no newline, and at the end: whether the packed
 * bytes end inside a frame. So does a file that is still being written, or whose writer was killed;
 * what is whole in it was handed out. */
bool iso_stream_line_is_partial(const struct iso_stream_reader *reader);
bool iso_stream_reader_is_cut(const struct iso_stream_reader *reader);

struct iso_stream_writer *iso_stream_writer_new(const char *path,
                                                struct iso_error *error); /* NULL on error */

/* For a file that may have been written before, up to `length` bytes of which a mark told: goes on
 * behind them. What stands there is written over (packed: is gone at once), and the file only ends
 * where the stream does after _cut. ISO_FAILED: also if it is no regular file, or shorter. Length 0
 * makes the file if need be. */
struct iso_stream_writer *iso_stream_writer_resume(const char *path, uint64_t length,
                                                   struct iso_error *error);
enum iso_status iso_stream_writer_cut(struct iso_stream_writer *writer, struct iso_error *error);

/* Bytes of the file so far, those included that wait; packed, without what the packer holds. */
uint64_t iso_stream_written(const struct iso_stream_writer *writer);

/* Writes out what waits; the file is whole then, and `*length` bytes long up to here. */
enum iso_status iso_stream_writer_mark(struct iso_stream_writer *writer, uint64_t *length,
                                       struct iso_error *error);
enum iso_status iso_stream_writer_sync(struct iso_stream_writer *writer,
                                       struct iso_error *error); /* to the device */

/* Ends the stream, so that its bytes are in the file; the status of the whole. Frees the writer in
 * any case. */
enum iso_status iso_stream_writer_close(struct iso_stream_writer *writer, struct iso_error *error);

enum iso_status iso_stream_write(struct iso_stream_writer *writer, const char *bytes, size_t length,
                                 struct iso_error *error);
enum iso_status iso_stream_flush(struct iso_stream_writer *writer, struct iso_error *error);
