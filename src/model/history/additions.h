/* Operations that are added to a finished history: what something else of it means as reads and
 * writes. */
#pragma once

#include "history/history.h"

struct history_addition {
    uint32_t transaction;
    uint32_t before; /* the operation in front of which it goes; ISO_NONE: behind all of them */
    /* an operation of it, whose moment the new one has; ISO_NONE: the transaction's */
    uint32_t like;
    uint32_t key;
    uint8_t kind;
    uint32_t value;
};

struct history_additions {
    struct history_addition *list;
    uint32_t count, capacity;
};

void history_additions_put(struct history_additions *additions, struct history_addition addition);
void history_additions_release(struct history_additions *additions);

/* Puts them into their transactions. Their keys are registers. */
void history_add(struct iso_history *finished, struct history_additions *additions);
