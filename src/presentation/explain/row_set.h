/* A row set beside what its range contained: for a violation by a read of a range of keys, one row
 * for each key. Of a query on a table: each row and cell that it found, and the one that the
 * argument says it lacks.
 *
 * At most ISO_ROW_SET_SHOWN rows are kept, of which those that differ come first; the rest is
 * counted. What had to be there is looked up: what the transaction itself wrote before, or else the
 * newest version that the read's moment sees, or the initial value. Nothing is said of lists (a
 * claim on one says itself what it expects), nor of versions whose value is not known.
 *
 * Texts are those of an argument: UTF-8, NUL-terminated, hostile. Ownership: a table owns its
 * texts. Threads: one at a time.
 */
#pragma once

#include "explain/argument.h"

enum { ISO_ROW_SET_SHOWN = 50 };

struct iso_row_set_row {
    uint32_t operation;
    uint32_t key, expected, actual; /* offsets in `text` */
    bool differs, is_claimed;       /* is_claimed: it is what the argument is about */
};

struct iso_row_set {
    struct iso_text text;
    uint32_t title; /* "keys from a to z, read by T1 at 5" */
    uint32_t row_count;
    uint64_t left, left_differing;                  /* not among the rows */
    struct iso_row_set_row rows[ISO_ROW_SET_SHOWN]; /* in the order of keys */
};

/* False if the argument is not about a read of a range. Release in any case. */
bool iso_row_set_init(struct iso_row_set *set, const struct iso_argument *argument);
void iso_row_set_release(struct iso_row_set *set);

static inline const char *iso_row_set_text(const struct iso_row_set *set, uint32_t offset)
{
    return set->text.bytes + offset;
}
