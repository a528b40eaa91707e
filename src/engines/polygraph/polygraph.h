/* polygraph: is there any order of the transactions that explains every read? Judges without
 * timestamps.
 *
 * README.md explains the steps, cheapest first. Every verdict comes with evidence that
 * src/engines/verify confirms; a budget that is reached gives "undecided". Threads: one check is
 * one thread's; different checks share nothing but a finished history.
 */
#pragma once

#include "verdict/polygraph.h"

/* Judges a finished history. ISO_OK: `result` says the outcome (whatever it is); ISO_BAD_INPUT: the
 * history lacks what the level needs (clients' clocks). */
enum iso_status iso_polygraph_check(const struct iso_history *history,
                                    const struct iso_polygraph_options *options,
                                    struct iso_polygraph_result *result, struct iso_error *error);
