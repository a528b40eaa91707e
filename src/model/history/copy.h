/* Copying single transactions between histories: whole operations, and transactions with or without
 * their timestamps. `into` is building.
 */
#pragma once

#include "history/history.h"

/* Adds transaction `t` of `from` to `into`. Inputs that `from` has and `into` does not are named
 * first, so that origins mean the same in both: `from` must know all that `into` knows, in the same
 * order. */
void iso_history_copy(struct iso_history *into, const struct iso_history *from, uint32_t t);

/* Copies a history with its timestamps, snapshots and locks. `into` takes the clock of `from`. */
void iso_history_copy_timed(struct iso_history *into, const struct iso_history *from, uint32_t t);

/* The same of what it wrote alone, without a start: as of a writer whose reads nobody judges. */
void iso_history_copy_versions(struct iso_history *into, const struct iso_history *from,
                               uint32_t t);

/* Begins transaction `t` of `from` in `into`, in its session, if it has one; its number. */
uint32_t iso_history_copy_begin(struct iso_history *into, const struct iso_history *from,
                                uint32_t t, uint64_t origin);

/* Adds operation `o` to the transaction that `into` began last. */
void iso_history_copy_operation(struct iso_history *into, const struct iso_history *from,
                                uint32_t o, bool timed);

/* Gives the operation that `into` added last the timestamp, snapshot or lock of operation `o`. */
void iso_history_copy_moment(struct iso_history *into, const struct iso_history *from, uint32_t o);

/* Adds the operations of transaction `t` to the one that `into` began last; `timed`: with their own
 * timestamps, snapshots and locks. */
void iso_history_copy_operations(struct iso_history *into, const struct iso_history *from,
                                 uint32_t t, bool timed);

/* Adds the initial values. */
void iso_history_copy_initial(struct iso_history *into, const struct iso_history *from);

/* Bytes that the history's content takes, without what is reserved. */
uint64_t iso_history_size(const struct iso_history *history);
