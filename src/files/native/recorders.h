/* What the recorders of a file of records say beside it, in PATH.recorders, so that every line of
 * PATH is a transaction: which of its lines are theirs, and how many records there should be.
 *
 *     {"recorder":"ID","records":0,"line":1}                   when it begins: its first line
 *     {"recorder":"ID","records":70,"line":70,"ended":true}    at its end: its last line
 *
 * Read before the file itself, so that a recorder that ends meanwhile is one that still writes. A
 * line that cannot be read is what a killed recorder left of its own.
 * Threads: one at a time a history.
 */
#pragma once

#include "base/error.h"
#include "bytes/whole_file.h"
#include "history/history.h"

/* Nothing, if there is no such file. */
enum iso_status iso_recorders_read(const char *path, struct iso_whole_file *beside,
                                   struct iso_error *error);

/* Adds to `history->lost` what the file lacks, whose transactions are those of input `input`:
 * records that were counted and did not come, and recorders that did not end, since they were
 * killed, or write it still. */
void iso_recorders_compare(const struct iso_whole_file *beside, uint32_t input,
                           struct iso_history *history);
