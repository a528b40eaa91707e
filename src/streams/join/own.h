/* Where a client wrote what it does not list: in front of the statements that show it (adopt.c).
 *
 * Of a row whose changes have no place in the record, the stream says which states it had, in their
 * order: the snapshot's, number 0, and what each change left. A statement saw one of them, and none
 * behind it saw an earlier one. From the last statement back to the first, each is given the newest
 * state that all it read of the row can be of, and none newer than those behind it have: if there
 * is any order in which all reads are right, this is one. A change then stands in front of the
 * first statement of its state or a newer one. What fits no change is of the snapshot's state,
 * which the engine compares.
 */
#pragma once

#include "join/join_private.h"

/* The row of whose states the key's values are: of a cell the one that it is a cell of, else the
 * key itself. */
uint32_t join_own_unit(const struct iso_join *join, uint32_t key);

/* Looks for the rows of the transaction without a place in the kept record, and at what its
 * statements saw of them, which holds until the next call; false: there are none. `takes`: the
 * record leaves to the stream what it does not list at all. */
bool join_own_find(struct iso_join *join, const struct join_record *record,
                   const struct join_chain *rows, bool takes);

/* Whether the unit is one of those rows. */
bool join_own_is_loose(struct iso_join *join, uint32_t unit);

/* Which state of its key's unit, which is loose, operation `o` of the record has to see. */
uint32_t join_own_seen(const struct iso_join *join, const struct join_record *record, uint32_t o);

/* Number, from 1, of the change of its unit that row `i` of the transaction is, or is a cell of. */
