/* Where the reads of each transaction may stand, if the order of the input is that of the
 * commits. */
#pragma once

#include "history/history.h"

/* By transaction: before the commit of which transaction, in the order of the input, its external
 * reads all saw what was newest; its own at the latest, and behind the one before it in its
 * session. NULL: some transaction has no such place, it takes too long to say, or there are lists.
 * The caller frees it.
 */
uint32_t *judge_begins(const struct iso_history *history);
