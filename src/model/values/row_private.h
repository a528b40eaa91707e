/* Helpers of values/row.h's parts. */
#pragma once

#include "values/row.h"

/* Adds what the cell holds, without quotes and escapes. The cell is neither NULL nor unknown. */
void iso_cell_put(struct iso_text *text, const struct iso_cell *cell);
