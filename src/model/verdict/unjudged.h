/* Values that nobody knows, and why a read that meets one is not judged.
 *
 * A version may have been committed without anybody saying what it is: a column that the log leaves
 * out, a value from before the stream begins. Engines keep it as a version whose value is an atom
 * of its own kind: U+0002 and the reason's name. No client's value begins so (readers refuse it),
 * hence no read agrees with it, and one that does not agree is not wrong but unjudged, for that
 * reason. `waits` marks the value of a key that may still become known: who reads it waits.
 *
 *     "\x02unknown-value"   a version; reads of it are unjudged
 *     "\x02before-start"    what stood there before the stream began; the read lowest in position
 *                           says what it was
 *     "\x02initial"         the same, and a row of a snapshot may still say it
 */
#pragma once

#include "base/text.h"
#include "iso/verdict.h"

#define ISO_UNKNOWN_VALUE_BYTE '\x02'
#define ISO_UNKNOWN_INITIAL "\x02initial"

/* Whether the atom's text is that of a value that nobody knows. */
bool iso_value_is_unknown(const struct iso_atoms *atoms, iso_atom atom);

/* Why: of such a value only. An unknown word is "unknown-value". */
enum iso_unjudged iso_value_unjudged(const struct iso_atoms *atoms, iso_atom atom);

/* Whether it is ISO_UNKNOWN_INITIAL. */
bool iso_value_waits(const struct iso_atoms *atoms, iso_atom atom);

/* The name of the reason that most have; NULL: none has any. */
const char *iso_unjudged_largest(const uint64_t counts[ISO_UNJUDGED_REASONS]);

/* "67384 own-order, 8 collation": the largest first. */
void iso_unjudged_put(const uint64_t counts[ISO_UNJUDGED_REASONS], struct iso_text *text);

/* The atom of a value that is unknown for `reason`. */
iso_atom iso_value_unknown(struct iso_atoms *atoms, enum iso_unjudged reason);

/* Whether two whole rows, as canonical JSON objects, cannot be compared: they have other columns,
 * or a column has values of other JSON types, null left aside. False where one of them is no
 * object. */
bool iso_rows_cannot_compare(const struct iso_atoms *one_of, iso_atom one,
                             const struct iso_atoms *other_of, iso_atom other);
