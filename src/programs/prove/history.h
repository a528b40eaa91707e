/* A counterexample as a history in the native format, so that `isochron check` can judge it.
 *
 * A key is a cell; a value is what was written, with a marker that says by whom, so that no two are
 * the same and every read says its writer. Reads of initial values are null. One transaction more,
 * the observer, reads every cell as it was when the rule was broken: with it the history says all
 * that broke the rule, and at a level where the program holds no order explains it. (Locks are not
 * in it: a history cannot say "locked, not written".)
 */
#pragma once

#include "base/text.h"
#include "prove/execution.h"

void iso_prove_put_history(const struct iso_prove_execution *execution, struct iso_text *text);
