/* A condition without its constants: `a = 7 AND b IN (1, 2)` is of the shape `a = ? AND b IN (?)`,
 * as are all that differ in what they look for. */
#pragma once

#include "base/json.h"
#include "base/text.h"

/* Adds the shape; of a text that is no condition, as far as it has words. */
void iso_condition_shape(struct iso_text *shape, struct iso_json_text where);
