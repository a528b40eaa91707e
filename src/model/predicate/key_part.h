/* Parts of keys, as they stand in a key: joined by `,`, with %25, %2F and %2C inside of them
 * (values/row.h).
 *
 * The order of all keys, whatever their columns are: part by part, integers by size, before all
 * texts by bytes. It is total, so that lists of keys can be kept in it; where a column's type has
 * another order, bounds.h knows. Threads: pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* Takes the part before the next comma off `*rest`, still encoded; false: none is left. An empty
 * text is one part. */
bool iso_key_take_part(struct iso_json_text *rest, struct iso_json_text *part);

/* Takes the next byte off an encoded part; -1: none is left. A % that begins no escape is itself,
 * and noted. */
int iso_key_next_byte(struct iso_json_text *part, bool *is_damaged);

/* The canonical text of an integer: no zero leads; of any size. */
bool iso_key_is_integer(struct iso_json_text part);
/* As iso_key_is_integer, of 64 bits, with its value. */
bool iso_key_read_integer(struct iso_json_text part, int64_t *number);

int iso_key_compare(struct iso_json_text left, struct iso_json_text right);
