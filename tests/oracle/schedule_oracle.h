/* The plainest answer to "is there an order that explains this history?": try every schedule.
 *
 * For histories of a dozen transactions at most. A schedule is a row of begins and commits (at the
 * serialisable levels a transaction is one step); a step is tried if sessions allow it, its reads
 * return what is there, no other writer of a key is open, and by the clients' clocks (where the
 * level asks for them) all is done that had ended when the transaction began (at gsi: when its
 * commit is due, else when its begin is). States that were seen before are not tried again. Shares
 * only the history with the engines.
 */
#ifndef ISO_TESTS_SCHEDULE_ORACLE_H
#define ISO_TESTS_SCHEDULE_ORACLE_H

#include "verdict/evidence.h"

/* True if some schedule explains the finished history. */
bool schedule_oracle_holds(const struct iso_history *history, enum iso_level level, uint64_t drift);

#endif
