/* A replicated store: sites that each hold all keys, and hear of one another's commits later.
 *
 * A session stays at one site. A transaction reads from what its site has when it begins; its
 * writes take effect at its site when it commits, and arrive at the others in any order that keeps
 * causes before effects: a site takes a commit only when it has all that the committing site had.
 *
 *   psi  a key is locked at all sites from begin to commit, and only who has its newest version may
 *        write it: no update is lost, yet two sites may take two commits in opposite orders.
 *        Parallel snapshot isolation (Sovran and others, SOSP 2011).
 *   cc   nobody locks anything. Of two versions the one with the larger Lamport time stays, so that
 *        all sites end equal. Causal consistency: updates are lost.
 *
 * Nobody has timestamps: such a history is judged by any order. Memory grows with sites times keys,
 * and with how far sites are behind, which is bounded.
 */
#pragma once

#include <stdbool.h>

#include "base/rng.h"

enum { ISO_GENERATE_SITES = 64 };

/* A site's version of a key. */
struct site_version {
    uint64_t value; /* 0: none yet */
    uint64_t time;  /* Lamport's */
    uint32_t site;  /* that wrote it: of two with one time the larger wins */
};

/* A commit on its way. */
struct site_commit {
    uint32_t site, write_count;
    uint32_t had[ISO_GENERATE_SITES]; /* how many commits of each site its site had taken, itself
                                         included */
    uint64_t time;
    struct site_write {
        uint32_t slot;
        uint64_t value;
    } * writes;
};

struct sites {
    uint32_t count, keys, behind;      /* `behind`: commits that a site may lack at most */
    bool locks;                        /* psi */
    struct site_version *versions;     /* by site, then by key */
    uint64_t *newest;                  /* psi: by key, the time of its newest version anywhere */
    uint64_t time[ISO_GENERATE_SITES]; /* each site's Lamport clock */
    uint32_t taken[ISO_GENERATE_SITES][ISO_GENERATE_SITES]; /* by site: how many commits of each */
    struct site_commit *log; /* in the order of commits: those that some site lacks */
    uint32_t log_count, log_capacity;
    uint32_t next[ISO_GENERATE_SITES]; /* by site: the first of the log that it may lack */
};

void sites_init(struct sites *sites, uint32_t count, uint32_t keys, uint32_t behind, bool locks);
void sites_release(struct sites *sites);

/* The site's version of a key. */
const struct site_version *sites_version(const struct sites *sites, uint32_t site, uint32_t slot);

/* Whether a transaction at the site may write the key: psi, no other site has a newer version. */
bool sites_may_write(const struct sites *sites, uint32_t site, uint32_t slot);

/* A commit at a site, which takes the writes (to be freed by iso_free). Each key stands there
 * once. */
void sites_commit(struct sites *sites, uint32_t site, struct site_write *writes,
                  uint32_t write_count);

/* Some commits arrive somewhere. */
void sites_deliver(struct sites *sites, struct iso_rng *rng);
