/* The order of versions where it is given: that of their commit timestamps.
 *
 * A change stream says in which order the versions of a key came to be, also where it does not
 * promise that transactions can be put in the order of their commits. Then nothing about versions
 * is left to be searched: versions of a key stand by cts (those of equal cts in any order), and a
 * read that says when it looked (its ots, its lock or its transaction's sts) saw the newest version
 * of then. A read of another value than that is not polygraph's to judge: it is left out (EXT says
 * what is wrong with it).
 *
 * Where all reads have their versions the graph is known, and one walk decides
 * (commit_order_graph.c); else the orders are facts for the search.
 *
 * A cycle through a transaction that only the stream names is doubtful: such ones may are scheduled
 * at a lower level.
 */
#pragma once

#include "polygraph/engine_private.h"

struct commit_order {
    uint32_t *order;    /* writes of committed transactions with a cts, by key and cts */
    uint32_t *first;    /* by key, keys + 1: into `order` */
    uint32_t *position; /* by write: in `order`, or ISO_NONE */
    uint32_t
        *seen; /* by read: the write that it saw by its moment, INITIAL, or OPEN: its value says */
    uint8_t *foreign;        /* by transaction; `neighbours`: also those without a start */
    bool ties;               /* two versions of a key share a cts */
    uint32_t *tie, *tie_end; /* if so, by position: the positions that share its cts and key */
    uint32_t
        *by_value; /* and the positions of each tie in the order of their values, then positions */
};

/* Behind the scan of operations: orders writes, and leaves out reads. */
void commit_order_build(struct engine *engine);
void commit_order_release(struct engine *engine);

static inline uint64_t given_cts(const struct engine *engine, uint32_t write)
{
    return engine->history->txns
        .cts[engine->transactions.in_history[engine->writes.transaction[write]]];
}

/* How many facts of the graph the orders are, and adds them, if asked: each version comes before
 * all of the next cts. */
uint64_t commit_order_facts(struct engine *engine, bool adds);

/* commit_order_graph.c: true, with the verdict and its evidence, if everything is known. */
bool commit_order_decides(struct engine *engine);

/* commit_order.c: true if the lemmas of a reject go through a foreign transaction. */
bool commit_order_is_doubtful(const struct engine *engine);
