/* A history as Dgraph would send it: one message a write, groups interleaved, restarts that repeat
 * what was sent.
 *
 * Keys must be Dgraph's, `predicate/0xUID` (feed_dgraph_name makes them so). Lists and timestamp
 * pairs cannot be carried, and no two writers may share a cts.
 */
#ifndef TESTS_SUPPORT_FEED_DGRAPH_H
#define TESTS_SUPPORT_FEED_DGRAPH_H

#include "tests/support/feed.h"

struct feed_dgraph_options {
    uint64_t seed;
    const char *topic;
    uint32_t groups;    /* at least 1; a predicate belongs to one */
    uint32_t restarts;  /* how often a group's sender goes back, at most */
    const char *marker; /* a predicate that each transaction sets to its tid; NULL: none */
    /* A transaction's cts, 0 if it is not to be sent; NULL: of the committed ones, their own. */
    const uint64_t *commits;
};

/* Key `index` as "pN/0xUID", over `*(uint32_t *)context` predicates. */
iso_atom feed_dgraph_name(void *context, struct iso_history *history, uint32_t index);

/* Adds the messages of all writers; false if the history has what Dgraph cannot carry. */
bool feed_dgraph_write(struct feed *feed, const struct iso_history *history,
                       const struct feed_dgraph_options *options);

/* A drop of everything, or of a predicate. */
void feed_dgraph_drop(struct feed *feed, const char *topic, uint64_t commit_ts,
                      const char *predicate);

#endif
