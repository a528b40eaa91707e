/* Ways by which a transaction is visible at psi: sessions, reads, and pairs of writers of which the
 * later one overwrites the earlier one. What holds in every order costs nothing, what rests on a
 * choice or on the order as it is costs one: the cheapest way is found from its end, among what
 * stands between the two in the order.
 */
#pragma once

#include "weak/weak_private.h"

enum way_kind { WAY_SESSION, WAY_READ, WAY_BOND, WAY_ORDER };

struct way_step {
    uint32_t from, to;
    enum way_kind kind;
    uint32_t why; /* READ: the read, BOND: the bond, ORDER: the key */
};

struct visibility_paths {
    const struct weak *weak;
    uint32_t ww_pairs;                    /* of the first so many: those of every order */
    uint32_t *bond_first, *bond_of;       /* by transaction: those that end there */
    uint32_t search;                      /* the number of this one: */
    uint32_t *searched, *cost, *to, *why; /* by transaction */
    uint8_t *kind, *done;
    uint32_t *key_searched, *key_done; /* by key: versions below that slot are reached */
    uint32_t *now, *later, now_count, later_count, now_capacity, later_capacity;
    uint64_t steps;        /* so far: transactions that were looked at */
    struct way_step *step; /* of the last way that was found */
    uint32_t step_count, step_capacity;
};

void visibility_paths_init(struct visibility_paths *visibility_paths, const struct weak *weak);
void visibility_paths_release(struct visibility_paths *visibility_paths);

/* The rules that a way may use, beside those that hold in every order. */
enum way_rule {
    VISIBILITY_PATHS_CERTAIN, /* nothing */
    VISIBILITY_PATHS_ORDERED, /* reads with a choice, and the order as it is */
    VISIBILITY_PATHS_TRIED /* reads with a choice, and bonds that are tried, where the order keeps
                              them */
};

/* The order is a new one, or the first `bonds` bonds are. */
void visibility_paths_renew(struct visibility_paths *visibility_paths, uint32_t ww_pairs);

/* From a transaction to one behind it. False: there is none. */
bool visibility_paths_find(struct visibility_paths *visibility_paths, uint32_t from, uint32_t to,
                           enum way_rule rule);
