/* Writing histories: the native format (JSON Lines) and TimeKiller's (one JSON array, timestamps as {p,l}).
 *
 * A writer takes one history, or many blocks after another (a generator's). The native writer wants histories
 * that are not finished: finishing turns snapshots into positions. TimeKiller's writer takes both; a finished
 * one's transactions come in session order within each session, since there the order of the array is the
 * order of the session. What TimeKiller's format has no place for is left out and counted. Write errors stay
 * in the output. Threads: one at a time.
 */
#ifndef ISO_IO_WRITE_HISTORY_H
#define ISO_IO_WRITE_HISTORY_H

#include "io/output.h"
#include "iso/history.h"

enum iso_history_format { ISO_FORMAT_NATIVE, ISO_FORMAT_TIMEKILLER };

/* What did not survive, in transactions or operations. */
struct iso_history_loss {
    uint64_t aborted, unknown; /* transactions left out */
    uint64_t snapshots;        /* transactions whose snapshot became a pair of positions */
    uint64_t snos;             /* explicit positions; their order is kept */
    uint64_t own_times;        /* ots, snapshot or lock of an operation dropped */
    uint64_t deletes;          /* written as writes of null */
    uint64_t strings; /* keys and values that are strings; TimeKiller's own tools read integers only */
};

struct iso_history_writer {
    struct iso_output *output;
    enum iso_history_format format;
    uint64_t count; /* transactions written */
    struct iso_history_loss loss;
};

void iso_history_writer_init(struct iso_history_writer *writer, struct iso_output *output,
                             enum iso_history_format format);

/* ISO_BAD_INPUT if a transaction cannot be said in the format: TimeKiller's needs timestamps. */
enum iso_status iso_history_writer_add(struct iso_history_writer *writer, const struct iso_history *history,
                                       struct iso_error *error);

/* The end of the text; the output stays open. */
void iso_history_writer_end(struct iso_history_writer *writer);

#endif
