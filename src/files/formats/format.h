/* Every history format that is read, in one table: its name, how its content is recognized, its
 * reader.
 *
 * A guess looks at the first bytes (of what is packed: unpacked) and, of JSON, at the first names
 * of members that some format owns. What no format claims is left to the native reader, whose error
 * then says so. Standard input and other pipes cannot be read twice: they are native unless a
 * format is named.
 *
 * Native and TimeKiller's files stay with native/read.h, which reads them on all processors; of the
 * others one file or directory is a history, and they are read whole, by one thread, but for text,
 * which streams. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "history/history.h"

/* For option tables; in the order of the enum. */
#define ISO_FORMAT_NAMES                                                                           \
    "native|timekiller|dbcop|cobra|viper|text|awdit|elle-edn|elle-json|dbcop-json|hist"

enum iso_format {
    ISO_FORMAT_NATIVE,
    ISO_FORMAT_TIMEKILLER,
    ISO_FORMAT_DBCOP,
    ISO_FORMAT_COBRA,
    ISO_FORMAT_VIPER,
    ISO_FORMAT_TEXT,
    ISO_FORMAT_AWDIT,
    ISO_FORMAT_ELLE_EDN,
    ISO_FORMAT_ELLE_JSON,
    ISO_FORMAT_DBCOP_JSON,
    ISO_FORMAT_HIST,
    ISO_FORMATS
};

const char *iso_format_name(enum iso_format format);

/* The format of a file or a directory, by its content. ISO_BAD_INPUT: a directory that holds no
 * history, or several. A file that cannot be read is guessed native: reading it gives the error. */
enum iso_status iso_format_guess(const char *path, enum iso_format *format,
                                 struct iso_error *error);

/* Says which files of a directory its history is read from, and how many others are left out:
 * "T1.log, T2.log; 1 other file is left out", at the end of `text`. */
void iso_format_files(const char *path, enum iso_format format, struct iso_text *text);

/* The guess for the first bytes of a file. */
enum iso_format iso_format_of_text(const char *text, size_t length);

/* True if native/read.h reads it, several files as one history. */
static inline bool iso_format_is_native(enum iso_format format)
{
    return format == ISO_FORMAT_NATIVE || format == ISO_FORMAT_TIMEKILLER;
}

/* Reads a history of a format that is not native into an empty one. */
enum iso_status iso_format_read(enum iso_format format, const char *path,
                                struct iso_history *history, struct iso_error *error);

/* Reads on up to so many threads, of which the caller's is one. */
enum iso_status iso_format_read_on(unsigned threads, enum iso_format format, const char *path,
                                   struct iso_history *history, struct iso_error *error);
