/* What was recorded as one operation and is several, as it was recorded: of the native format
 * only. */
#pragma once

#include "bytes/output.h"
#include "history/history.h"

/* The set that begins with the operation and is written as one; NULL: none. `*next` is where to
 * look from: 0 at first. A range without rows begins in front of the operation that follows it, if
 * there is one. */
const struct iso_range *formats_set_at(const struct iso_history *history, uint32_t transaction,
                                       uint32_t operation, uint32_t *next);

/* Its members but for its time and the closing brace. */
void formats_write_set(struct iso_output *output, const struct iso_history *history,
                       const struct iso_range *set);

/* write_history.c: the value of an operation, or a list. */
void formats_write_value(struct iso_output *output, const struct iso_history *history,
                         uint32_t operation);
