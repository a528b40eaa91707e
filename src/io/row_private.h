/* What the parts of io/row.h share. */
#ifndef ISO_IO_ROW_PRIVATE_H
#define ISO_IO_ROW_PRIVATE_H

#include "io/row.h"

/* Adds what the cell holds, without quotes and escapes. The cell is neither NULL nor unknown. */
void iso_cell_put(struct iso_text *text, const struct iso_cell *cell);

#endif
