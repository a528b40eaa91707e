/* Debezium's placeholder for a large column that did not change, which PostgreSQL's log does not
 * have: `__debezium_unavailable_value` as text, and in the type of other columns
 * (unavailable.value.placeholder's default).
 */
#pragma once

#include "values/row.h"

/* Makes the row's cells that hold the placeholder ISO_CELL_UNKNOWN. */
void iso_row_mark_unchanged(struct iso_row *row);
