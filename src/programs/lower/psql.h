/* A counterexample of SQL as a script: one psql for each transaction, told its statements in the
 * order of the schedule.
 *
 * Statements are those of the functions, with the values that the session's variables have: psql's
 * own variables carry them (`\gset`), so that nothing of what the solver found is in the script but
 * the order and the arguments. What waits for a lock is left waiting until the commit that it waits
 * for. At the end, or after the commit where the invariant breaks, the rule is asked.
 */
#pragma once

#include "base/text.h"
#include "prove/prove.h"

/* The strongest violated level that PostgreSQL has. False: there is none, or the program is not of
 * SQL. */
bool iso_prove_put_psql(const struct iso_prove_result *result, struct iso_text *text);
