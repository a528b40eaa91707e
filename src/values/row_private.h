/* What the parts of values/row.h share. */
#ifndef ISO_VALUES_ROW_PRIVATE_H
#define ISO_VALUES_ROW_PRIVATE_H

#include "values/row.h"

/* Adds what the cell holds, without quotes and escapes. The cell is neither NULL nor unknown. */
void iso_cell_put(struct iso_text *text, const struct iso_cell *cell);

#endif
