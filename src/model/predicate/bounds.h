/* Bounds: which keys of a table a range read covers.
 *
 *     from "100"    to "200"        100 <= key <= 200
 *     from "7,b"    to "7"          of keys of two parts: (7, b) and on, as far as the first part
 *                                   is 7
 *     from NULL     to "9"          all up to 9
 *
 * A key's parts are joined by `,` with %25, %2F and %2C inside of them, as values/row.h writes them
 * behind `table/`. Bounds are inclusive, NULL is open, and one with fewer parts than the key is
 * compared with as many as it has. Parts are in the order of their types (scalar.h). Where a column
 * has no type, integers come by size, and before all other texts by bytes if its texts are in that
 * order: so are plain keys, which are one part as they stand (`types` NULL).
 *
 *     iso_bounds_read(&bounds, types, parts, from, to, &error)
 *     iso_bounds_cover(&bounds, iso_key_parts(key), &room)        true, false, or not known for a
 *                                                                 reason
 *
 * Errors: ISO_BAD_INPUT, "from: byte 3: ...": more parts than the key has, a part that is no value
 * of its type, an escape that is none, `from` behind `to`. Ownership: bounds own what they refer
 * to, types excepted, which are copied. `room` is the caller's, for parts that have to be
 * unescaped; nothing is allocated once it has reached its size. Threads: any number, each with a
 * room of its own.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "predicate/key_part.h"
#include "predicate/scalar.h"

enum { ISO_KEY_PARTS = 32 };

struct iso_bound {
    uint32_t count; /* 0: open */
    struct iso_scalar *parts;
    struct iso_text text; /* what they refer to */
};

struct iso_bounds {
    uint32_t part_count; /* of the key */
    bool is_plain;
    struct iso_scalar_type *types;
    struct iso_bound from, to;
};

/* `types` has `parts` elements, at most ISO_KEY_PARTS. A bound with a NULL text is open. */
enum iso_status iso_bounds_read(struct iso_bounds *bounds, const struct iso_scalar_type *types,
                                uint32_t parts, struct iso_json_text from, struct iso_json_text to,
                                struct iso_error *error);
void iso_bounds_release(struct iso_bounds *bounds); /* a zeroed one is empty */

/* The part of a key behind the table's name and its slash; all of it if there is none. */
struct iso_json_text iso_key_parts(struct iso_json_text key);

/* A key with another number of parts than the table's is not judged (ISO_PREDICATE_TYPE). */
iso_truth iso_bounds_cover(const struct iso_bounds *bounds, struct iso_json_text parts,
                           struct iso_text *room);
