/* A part of a finished history that keeps its meaning: if some order explains the whole, the same
 * order explains the part.
 *
 * Whatever is left out takes with it what others saw of it. A write that goes (always with the
 * transaction's other writes of the key) takes all reads of its value on that key, and from lists
 * its element; where the value has another writer that stays, it may be that one's, so the read
 * goes nevertheless, a list read whole. A read may go alone. So a part that no order explains shows
 * that the whole has none.
 *
 * Timestamps stay behind: a part is for engines that judge without them. Sessions keep their order,
 * and the clients' clocks what they said. Ownership: borrows the history. Threads: one at a time.
 */
#pragma once

#include "history/history.h"

struct iso_part {
    const struct iso_history *history;
    bool *transactions, *operations; /* what stays; everything at first. The caller clears */
    uint32_t *group; /* by operation: the number of its key and value; ISO_NONE: nobody wrote it */
    uint32_t *element_group; /* by element of lists, likewise */
    uint32_t *first_write,
        *writes;    /* by group: its writes; writes[first_write[g]] to [first_write[g + 1] - 1] */
    uint32_t *kept; /* by group: how many of them stay */
    uint32_t group_count;
};

void iso_part_init(struct iso_part *part, const struct iso_history *history);
void iso_part_release(struct iso_part *part);

/* Everything stays, or nothing. */
void iso_part_reset(struct iso_part *part, bool stays);

/* Builds what stays into `into` (an empty history, in building). */
void iso_part_build(struct iso_part *part, struct iso_history *into);

/* Copies a finished history so that every key starts with nothing: a register's initial value and
 * null are exchanged, lists lose the elements that they start with. False if a list read does not
 * begin with those: nothing is copied then. */
bool iso_part_without_initial(const struct iso_history *history, struct iso_history *into);
