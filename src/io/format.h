/* History formats by name, told apart by content.
 *
 * Readers fill an empty history and leave it unfinished. A format is guessed only where none is named; what
 * was guessed is told. The native format (design, section 7) has its own reader.
 */
#ifndef ISO_IO_FORMAT_H
#define ISO_IO_FORMAT_H

#include "iso/history.h"

/* The name of the format that `path` seems to be in, or NULL. */
const char *iso_format_detect(const char *path);

/* Reads one history in the format that is named. ISO_BAD_INPUT if there is no such format. */
enum iso_status iso_format_read(const char *name, const char *path, struct iso_history *history,
                                struct iso_error *error);

/* Names, in the order of the table; NULL at the end. */
const char *iso_format_name(unsigned index);

#endif
