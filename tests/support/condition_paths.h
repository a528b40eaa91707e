/* What a condition says of its paths (predicate/condition.h), for tests. */
#pragma once

#include "predicate/condition.h"

/* Whether an index finds the row, whichever side it takes of what either side finds. */
bool condition_paths_find(const struct iso_condition *condition,
                          const struct iso_scalar_type *types, const struct iso_scalar *cells);

/* In postfix order: "a=7 B=x either". */
void condition_paths_put(struct iso_text *text, const struct iso_condition *condition);
