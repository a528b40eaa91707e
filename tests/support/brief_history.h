/* Histories and verdicts as a few lines of text, for unit tests that one can read.
 *
 * A line is a transaction: tid, session, sts, cts ("-": none; "2.5": a pair), then what is not
 * usual (aborted, unknown, sno=N, xid=N, snapshot=S, begun=N, ended=N), then its operations, each
 * behind a bar:
 *     1 a 10 20 | w x 1 | r y null | r z 7 @15 | d x | a l 3 | r l [1,2] | w q 3 lock
 *     2 a - - aborted xid=745 snapshot=745:745: | r x 1 snapshot=745:746:
 * One that begins with a bar, or with aborted or unknown and a bar, is known by its number, alone
 * in its session, at no time:
 *     | w x 1 | r y null
 *     aborted | w x 2
 * A line that starts with "initial" is the initial transaction: initial | w x 1 | a l 2; "initially
 * 0" gives every register that value.
 *
 * A verdict is a line for each violation, in the order of reports:
 *     EXT stale 2 x: 0 of -, not 1 of 5
 *     INT 2 x: 0, not 1
 *     NOCONFLICT 2 1 x
 *     SESSION 2 1
 *     TIMESTAMP shared-cts 2 1
 * A malformed line fails the test.
 */
#ifndef TESTS_BRIEF_HISTORY_H
#define TESTS_BRIEF_HISTORY_H

#include "tests/support/plain_history.h"
#include "verdict/verdict.h"

/* Initialises, builds and finishes the history. */
void brief_history(struct iso_history *history, const char *lines);

/* Adds the lines to one that is being built. */
void brief_history_add(struct iso_history *history, const char *lines);

/* The same as the oracles read it. False: it is larger than those are. */
bool brief_plain(struct plain_history *plain, const char *lines);

/* The sorted verdict as text, to be freed by free. */
char *brief_verdict(const struct iso_verdict *verdict);

#endif
