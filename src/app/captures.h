/* What a run writes down of what it reads: all of it (--record), and what it left out (--dead-letter).
 *
 * With --state both are gone on with after a restart: a snapshot remembers how long they were; what came since is read,
 * and written, once more, over what stands there. So each message stands in them once, whenever the process died. A
 * packed file begins a new frame at each snapshot.
 *
 * Threads: the caller's; _sync also in a snapshot's child.
 */
#ifndef ISO_APP_CAPTURES_H
#define ISO_APP_CAPTURES_H

#include "app/stream.h"
#include "base/archive.h"

/* New files. `record` NULL: none; the dead letter's name stands in the stream's options. `resumable`: they must be
 * regular files. */
enum iso_status app_captures_open(struct app_stream *stream, const char *record, bool resumable);
void app_captures_close(struct app_stream *stream); /* the stream's error says how it went */

/* Goes through batches of messages; the recording keeps how they were cut. */
enum iso_status app_captures_feed(struct app_stream *stream, const struct iso_message *messages, uint32_t count,
                                  uint64_t time);
enum iso_status app_captures_declare(struct app_stream *stream, const char *topic, int32_t partition);
enum iso_status app_captures_flush(struct app_stream *stream);

/* ---- with --state ---- */

struct app_captures_mark {
    uint64_t record, dead_letter;     /* bytes of the files */
    struct iso_text dead_letter_name; /* of which that is: the option may change between runs */
};

void app_captures_mark_archive(struct iso_archive *archive, struct app_captures_mark *mark);
void app_captures_mark_release(struct app_captures_mark *mark);

/* Before a snapshot: how far they are, to go into it. In its child: to the device. */
enum iso_status app_captures_settle(struct app_stream *stream, struct app_captures_mark *mark);
void app_captures_sync(struct app_stream *stream, struct iso_error *error);

/* A restart: opens them as they were at the mark. Once all was done again: they end here. */
enum iso_status app_captures_resume(struct app_stream *stream, const char *record,
                                    const struct app_captures_mark *mark);
enum iso_status app_captures_cut(struct app_stream *stream);

#endif
