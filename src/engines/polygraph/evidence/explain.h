/* Shared by the parts of an explanation: paths.c finds paths of facts, pruned.c says why candidates
 * were not listed, explain.c writes the lemmas. */
#pragma once

#include "base/number_map.h"
#include "base/heap.h"
#include "polygraph/engine_private.h"

#define OWN_EDGE 0xffffffffu /* in a path: begin to commit of one transaction */

struct explanation {
    struct engine *engine;
    uint8_t *needed;                    /* by fact */
    uint32_t *first_prune, *next_prune; /* by read; by fact: the facts that rule out candidates */
    uint8_t *asked;                     /* by read: why it lost its candidates is needed */
    struct fact *pruned; /* why those have not been listed, of the reads that are asked for */
    uint32_t pruned_count, pruned_capacity;
    /* search */
    uint64_t *cost;
    uint32_t *visited, *by; /* by node: the round, and the fact that led there */
    uint32_t round;
    struct iso_heap heap;                      /* nodes by cost */
    uint32_t *path, path_count, path_capacity; /* facts, from the first edge on */
    struct iso_number_map orders;              /* that lemmas have concluded: of two versions */
};

/* paths.c: finds a path by facts below `limit` into `path`; one of at least one edge if `from` is
 * `to` and `cyclic`. */
bool explanation_find_path(struct explanation *search, uint32_t from, uint32_t to, uint32_t limit,
                           bool cyclic);

/* pruned.c: fills `excluded`; the facts that it rests on are those below `listed_at`, whose clocks
 * are left in engine->seen. */
void explanation_find_pruned(struct explanation *explanation);
