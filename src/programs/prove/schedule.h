/* An execution as a list of what happens one after another: statements, commits.
 *
 * At ser, si, pc and rc a snapshot is what was committed at some time, so that the list is a
 * timeline: each statement stands behind the commits that its snapshot has. (A claim that waits for
 * a later commit says so.) At psi, cc and ra there is no such time: transactions stand in the order
 * of arbitration, and each says whom it sees.
 *
 * Ownership: the schedule owns its list and borrows the execution. Threads: one at a time.
 */
#pragma once

#include "prove/execution.h"

enum iso_prove_item_kind { ISO_PROVE_STATEMENT, ISO_PROVE_COMMITS, ISO_PROVE_FAILS };

struct iso_prove_item {
    enum iso_prove_item_kind kind;
    uint32_t instance;
    uint32_t first, end; /* STATEMENT: its events, the first one BEGINS */
    uint32_t waits_for;  /* STATEMENT: an instance whose commit its claim waits for, or ISO_NONE */
};

struct iso_prove_schedule {
    struct iso_prove_item *list;
    uint32_t count, capacity;
    bool timeline;
};

void iso_prove_schedule_init(struct iso_prove_schedule *schedule,
                             const struct iso_prove_execution *execution);
void iso_prove_schedule_release(struct iso_prove_schedule *schedule);
