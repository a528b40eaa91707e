/* What the stages of the generator share: a history in the making, with times as small numbers. */
#ifndef TESTS_RANDOM_HISTORY_PRIVATE_H
#define TESTS_RANDOM_HISTORY_PRIVATE_H

#include "tests/support/random.h"
#include "tests/support/random_history.h"

enum { DRAFT_KEYS = 8 };

struct draft_transaction {
    uint32_t sts, cts;
    bool took_place; /* of unknown outcome, but committed */
    uint32_t ots[PLAIN_OPERATIONS];
    bool own[PLAIN_OPERATIONS];
};

struct draft {
    struct random random;
    const struct random_history_options *options;
    struct plain_history *history; /* keys, values, ids are plain numbers until dressed */
    uint32_t keys, sessions, values, operations;
    bool list[DRAFT_KEYS];
    bool unique_values, serial, own_times, locks;
    uint32_t next_value;
    struct draft_transaction transactions[PLAIN_TRANSACTIONS];
};

/* Stage 1: transactions, their times and what they write. */
void draft_simulated(struct draft *draft);
void draft_random(struct draft *draft);

/* Stage 2: what the reads return, in a correct store; and in none. */
void draft_fill_reads(struct draft *draft);
void draft_random_reads(struct draft *draft);

/* Stage 3: something goes wrong. */
void draft_plant_fault(struct draft *draft);

/* Stage 4: times as timestamps, pairs or snapshots. */
void draft_give_times(struct draft *draft);

/* Stage 5: numbers become texts of all kinds. */
void draft_dress(struct draft *draft);

struct plain_text draft_value(struct draft *draft); /* any, often used before */

#endif
