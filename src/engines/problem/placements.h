/* Lists whose elements repeat: where the appends of each transaction may stand.
 *
 * lists.c distinguishes the writers of a key by elements that one append alone makes. Where the
 * longest read of a key has an element that several made, that says too little: then every position
 * at which all appends of a transaction stand in that list, in one piece, is kept here (filled by
 * repeats.c). A read of the key has a candidate for each that ends where it ends, and clauses say
 * how the pieces may be put together (placement_clauses.c).
 */
#pragma once

#include "problem/problem.h"

/* The appends of a write, from element `at` to before `end`. */
struct placement {
    uint32_t write, at, end;
};

struct repeating_list {
    uint32_t key, read;     /* the longest external read */
    uint32_t start, length; /* of its elements: behind the initial ones; without the reader's own */
    uint32_t first, end;    /* its placements, by `at` */
    uint32_t *first_ending; /* by length - start, length - start + 2: into `ending` */
    uint32_t *ending;       /* its placements, by `end` */
    uint64_t *ends;         /* of its placements, write << 32 | end, ascending */
    uint32_t
        *set; /* by length, as first_ending: the set of their writes (writers.c), or ISO_NONE */
};

struct placements {
    struct placement *items;
    uint32_t count, capacity;
    struct repeating_list *lists;
    uint32_t list_count, list_capacity;
    uint32_t *list_of_key; /* ISO_NONE: its elements do not repeat */
};

/* A list without placements; those that are added next are its own, until it ends. */
void placements_begin(struct problem *problem, struct repeating_list list);
void placements_add(struct problem *problem, struct placement placement);
void placements_end(struct problem *problem);

/* The list of a key; NULL: its elements do not repeat. `placements`: NULL where nothing does. */
const struct repeating_list *placements_of_key(const struct placements *placements, uint32_t key);

/* The first of a list's placements that starts at `at` or behind it. */
uint32_t placements_at(const struct placements *placements, const struct repeating_list *list,
                       uint32_t at);

/* Whether the appends of a write may end at `end`. */
bool placements_has(const struct repeating_list *list, uint32_t write, uint32_t end);
