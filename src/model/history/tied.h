/* TIMESTAMP at SER, of transactions that share a commit timestamp: no two of them may write one
 * key, and they must have an order in which each reads below all that it reads from.
 *
 * For the order, a graph: transaction -> key if it reads the key externally, key -> transaction if
 * it writes the key. A path from one transaction to another is a path of "must come before", and
 * since keys are nodes the graph is no larger than the uses. Transactions on a cycle share a
 * strongly connected component. Threads: no shared state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A transaction uses a key, both by number: transactions in the order of their tids. One that does
 * both may say so in one or in two. */
struct iso_tied_use {
    uint32_t member, key;
    bool reads, writes;
};

/* By member: `other`, that of the smallest tid which writes a key that it writes too, or ISO_NONE;
 * whether it stands on a cycle. */
void iso_tied_judge(const struct iso_tied_use *uses, uint32_t count, uint32_t members,
                    uint32_t keys, uint32_t *other, bool *on_cycle);
