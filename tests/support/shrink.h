/* Shrinks a history under which something fails to one from which nothing more can be taken.
 *
 * Greedy: drop a transaction, an operation, an element, an attribute; make a value or a time
 * simpler; keep the step if the failure is still there; until no step helps.
 */
#ifndef TESTS_SHRINK_H
#define TESTS_SHRINK_H

#include "tests/support/plain_history.h"

/* True if the history still fails. One that cannot be built does not. */
typedef bool shrink_fails(const struct plain_history *history, void *context);

void shrink_history(struct plain_history *history, shrink_fails *fails, void *context);

#endif
