/* Building small histories by hand, and comparing whole ones. */
#ifndef TESTS_SUPPORT_HISTORY_H
#define TESTS_SUPPORT_HISTORY_H

#include "history/history.h"

/* The atom of a text. */
iso_atom test_atom(struct iso_history *history, const char *text);

/* Fails the test unless both, as they were built or finished, are the same column by column:
 * numbers, atoms' texts, origins, timestamps where there are any. `what` stands in the message. */
void test_same_history(const struct iso_history *left, const struct iso_history *right,
                       const char *what);

#endif
