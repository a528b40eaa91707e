/* weak: is there any order of the transactions that explains every read at a weak level: rc, ra,
 * cc, psi, pram, ryw, mr, mw, wfr, adya-rc? Judges without timestamps, as polygraph does for
 * stronger levels, and shares no code with it.
 *
 * README.md explains how: an order is proposed and swept, and what breaks in it becomes a
 * constraint, until nothing breaks or the constraints close a cycle. Every verdict comes with
 * evidence that src/engines/verify confirms. Threads: one check is one thread's; different checks
 * share nothing but a finished history.
 */
#pragma once

#include "verdict/polygraph.h"

/* Judges a finished history at a level that iso_level_judged_by(level, ISO_BY_WEAK). Of the options
 * it takes level, timeout, memory, memory_in_use and max_findings. */
enum iso_status iso_weak_check(const struct iso_history *history,
                               const struct iso_polygraph_options *options,
                               struct iso_polygraph_result *result, struct iso_error *error);

/* The part of that which needs no order, for whoever judges another level by other means. True: the
 * result says it, or that there is nothing to judge. */
bool iso_weak_findings(const struct iso_history *history,
                       const struct iso_polygraph_options *options,
                       struct iso_polygraph_result *result);
