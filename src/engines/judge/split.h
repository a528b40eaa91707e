/* Prefix consistency by the search for serializability: each transaction is split into a reading
 * half and a writing half, one behind the other in its session, and polygraph is asked whether the
 * halves are serializable. What it answers is told of the whole transactions again: the reading
 * half is the begin, the writing half the commit.
 */
#pragma once

#include "verdict/polygraph.h"

/* As iso_polygraph_check; options->model is ISO_MODEL_PC. */
enum iso_status iso_split_check(const struct iso_history *history,
                                const struct iso_polygraph_options *options,
                                struct iso_polygraph_result *result, struct iso_error *error);
