/* A part of a violated history that is violated still, small enough to read.
 *
 * The part begins as the transactions that the evidence names and loses what it can: transactions
 * first, then single reads and a transaction's writes of a key, in halves, quarters, ... and at
 * last one by one (delta debugging). Whatever goes takes with it what others read of it
 * (history/part.h), so that the part is violated only if the whole is. Nothing can be taken from
 * the result alone; a smaller part that lacks several things at once may exist.
 */
#pragma once

#include "verdict/polygraph.h"

/* Judges a part of a history at the level of the options: iso_polygraph_check, or a function of
 * the same form. */
typedef enum iso_status iso_polygraph_judge(const struct iso_history *history,
                                            const struct iso_polygraph_options *options,
                                            struct iso_polygraph_result *result,
                                            struct iso_error *error);

/* `evidence` is a reject of `history` by these options, whose timeout (0: none) holds for all
 * checks together: when it has passed, the smallest part so far is the result. Fills `smallest`, an
 * empty history, and leaves it in building. Returns how often a part was checked. */
uint32_t iso_polygraph_minimise(const struct iso_history *history,
                                const struct iso_polygraph_options *options,
                                iso_polygraph_judge *judge, const struct iso_evidence *evidence,
                                struct iso_history *smallest);
