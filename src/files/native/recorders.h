/* What the recorders of a file of records say beside it, in PATH.recorders, so that every line of
 * PATH is a transaction: which of its lines are theirs, and how many there should be.
 *
 *     {"recorder":"ID","records":0,"line":1}         when it begins; as in counted.h
 *     {"recorder":"ID","records":70,"ended":true}    at its end, by the same recorder
 *
 * Threads: one at a time a history.
 */
#pragma once

#include "base/error.h"
#include "history/history.h"

/* Adds what the file lacks to `history->lost`: records that were counted and did not come, and
 * recorders that did not end, since they were killed, or write it still. A file that has none of
 * this beside it lacks nothing. The file's transactions are those of input `input`. */
enum iso_status iso_recorders_read(const char *path, uint32_t input, struct iso_history *history,
                                   struct iso_error *error);
