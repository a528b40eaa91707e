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

#include "base/atom.h"
#include "base/text.h"

/* Why a read was not judged. */
enum iso_unjudged {
    ISO_UNJUDGED_UNKNOWN_WRITER, /* a transaction of unknown outcome may have written the value */
    ISO_UNJUDGED_BEFORE_START,   /* it saw what was there before the stream begins, and nothing says
                                    what that was */
    ISO_UNJUDGED_UNKNOWN_VALUE,  /* of a version whose value the stream does not contain */
    ISO_UNJUDGED_SCHEMA,         /* of a whole row that has other columns than the version */
    ISO_UNJUDGED_DDL,   /* of nothing, in a table that was truncated or rewritten after the reader's
                           snapshot */
    ISO_UNJUDGED_LOSSY, /* of a table of which the stream lacks changes, as its source says */
    ISO_UNJUDGED_SPELLING,  /* the two values are one, spelt in two ways */
    ISO_UNJUDGED_OWN_ORDER, /* after own writes whose order is not known */
    ISO_UNJUDGED_XA, /* of what an XA transaction wrote, or by one: nothing says when it committed
                      */
    ISO_UNJUDGED_SCAN_LIMIT, /* of what a row set does not contain: it covers too many keys */
    ISO_UNJUDGED_TYPE, /* a condition, bounds or aggregate of values whose types do not compare */
    ISO_UNJUDGED_COLLATION, /* the same of texts of which only their collation says how they compare
                             */
    ISO_UNJUDGED_SIGN,      /* the same of an integer below 0 that may be one above 2^63 */
    ISO_UNJUDGED_COLUMN,    /* the same of a column that nobody has shown */
    ISO_UNJUDGED_ROW_SETS,  /* what a query of a table did not return, where no timestamps say when
                               it read */
    ISO_UNJUDGED_VERSION_ORDER,  /* of a list two of whose writers committed at one position: in
                                    which order? */
    ISO_UNJUDGED_REPEATED_VALUE, /* of a value that was written several times: of which of its
                                    writers? */
    ISO_UNJUDGED_MEMORY,         /* of a table of which memory had no room for the rows */
    ISO_UNJUDGED_WRONG_ROW, /* of a cell, by who read wrongly that its row was there: the row is the
                               finding */
    ISO_UNJUDGED_INCOMPLETE, /* of what a transaction may have written of which not all rows came */
    ISO_UNJUDGED_NO_STREAM,  /* in a file whose records leave to a change stream what they wrote */
    ISO_UNJUDGED_REASONS
};

const char *iso_unjudged_name(enum iso_unjudged reason); /* "unknown-writer" */

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
