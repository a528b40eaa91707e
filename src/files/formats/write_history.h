/* Writing histories: the native format (JSON Lines), TimeKiller's (one JSON array, timestamps as
 * {p,l}), and those of other checkers, each as one file, or a directory with a file a session
 * (Cobra's and Viper's).
 *
 * A writer takes one history, or many blocks after another (a generator's). The native and
 * TimeKiller's writers take finished ones and others. Native, a finished history with snapshots has
 * them beside the positions that finishing made of them, which win when it is read again;
 * statements' own snapshots are positions by then. TimeKiller's: a finished one's transactions come
 * in session order within each session, since there the order of the array is the order of the
 * session. The others take one finished history. What TimeKiller's format has no place for is left
 * out and counted. Write errors stay in the output. Threads: one at a time.
 */
#pragma once

#include "formats/format.h"
#include "formats/loss.h"
#include "bytes/output.h"
#include "history/history.h"

/* All formats are written; these as a directory, by iso_history_write_directory, the others by a
 * writer. */
static inline bool iso_format_is_directory(enum iso_format format)
{
    return format == ISO_FORMAT_COBRA || format == ISO_FORMAT_VIPER;
}

struct iso_history_writer {
    struct iso_output *output;
    enum iso_format format;
    uint64_t count; /* transactions written */
    struct iso_history_loss loss;
};

void iso_history_writer_init(struct iso_history_writer *writer, struct iso_output *output,
                             enum iso_format format);

/* ISO_BAD_INPUT if the history cannot be said in the format: TimeKiller's needs timestamps, most
 * others have no lists, no writes of the value that a key starts with; none but the native one has
 * writes that are not known, or not their values. */
enum iso_status iso_history_writer_add(struct iso_history_writer *writer,
                                       const struct iso_history *history, struct iso_error *error);

/* Writes the initial values of keys as an initial transaction, {"ops":[...]}, for --initial-file
 * beside a native history. Keys without one are left out. Returns how many were written. */
uint64_t iso_history_write_initial(struct iso_output *output, const struct iso_history *history);

/* Writes a finished history as a directory, which must not be there yet, or be empty; it appears
 * whole or not at all.
 */
enum iso_status iso_history_write_directory(const char *path, enum iso_format format,
                                            const struct iso_history *history,
                                            struct iso_history_loss *loss, struct iso_error *error);

/* The end of the text; the output stays open. */
void iso_history_writer_end(struct iso_history_writer *writer);
