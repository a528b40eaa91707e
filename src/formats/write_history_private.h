/* The writers of formats that say less than the native one: one file each kind; and what the native one has to say of
 * several operations as one. */
#ifndef ISO_FORMATS_WRITE_HISTORY_PRIVATE_H
#define ISO_FORMATS_WRITE_HISTORY_PRIVATE_H

#include "formats/write_history.h"

/* A row with its cells, or a query, whose operations begin at `first`; without its end, before which its time comes. */
void write_set(struct iso_output *output, const struct iso_history *history, const struct iso_range *set,
               uint32_t first);
/* True if it is one of these, and nothing of it is a value that nobody knows. */
bool can_write_set(const struct iso_history *history, const struct iso_range *set, uint32_t first);

/* Of a finished history. */
enum iso_status write_text(struct iso_history_writer *writer, const struct iso_history *history,
                           struct iso_error *error);
enum iso_status write_dbcop(struct iso_history_writer *writer, const struct iso_history *history,
                            struct iso_error *error);
enum iso_status write_elle(struct iso_history_writer *writer, const struct iso_history *history,
                           struct iso_error *error);

#endif
