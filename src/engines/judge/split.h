/* Prefix consistency by the search for serializability: each transaction is split into a reading
 * half and a writing half, one behind the other in its session, and polygraph is asked whether the
 * halves are serializable. What it answers is told of the whole transactions again: the reading
 * half is the begin, the writing half the commit.
 */
#pragma once

#include "verdict/polygraph.h"

/* As iso_polygraph_check; options->level is ISO_PC. */
enum iso_status iso_split_check(const struct iso_history *history,
                                const struct iso_polygraph_options *options,
                                struct iso_polygraph_result *result, struct iso_error *error);

/* begins.c, by transaction: before the commit of which transaction, in the order of the input, its
 * external reads all saw what was newest; its own at the latest, and behind the one before it in
 * its session. NULL: some transaction has no such position, it takes too long to say, or there are
 * lists. The caller frees it. */
uint32_t *judge_begins(const struct iso_history *history);
