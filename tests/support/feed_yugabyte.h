/* A history as YugabyteDB's connectors would send it, in JSON.
 *
 * The gRPC connector: rows in cells, tablets (a partition each) interleaved, each in the order of
 * commit times, BEGIN and END per tablet, restarts that send again. The logical one: transactions
 * whole, with the slot's numbers for them, those of one commit time as one. Keys as in
 * feed_debezium.h; a timestamp t of the history is FEED_YUGABYTE_TIME + t. Topics are yb.public.tN
 * and yb.transaction.
 */
#ifndef TESTS_SUPPORT_FEED_YUGABYTE_H
#define TESTS_SUPPORT_FEED_YUGABYTE_H

#include "tests/support/feed.h"

#define FEED_YUGABYTE_TIME 6963200000000000000u

struct feed_yugabyte_options {
    uint64_t seed;
    bool logical;      /* the logical replication connector, else gRPC */
    bool cells;        /* logical: yboutput, else pgoutput */
    bool sequence;     /* logical: LSNs count, else they are HybridTimes */
    bool changes_only; /* no before images; gRPC: of a row that is updated, the columns that changed
                        */
    bool early;        /* rows before, and columns that a write left alone, are as of the start of
                        * the transaction, as YugabyteDB reads them; else as of the write */
    bool fast_path;    /* gRPC: transactions with one write have no id */
    bool metadata;     /* the transaction topic */
    uint32_t tablets;  /* at least 1 */
    uint32_t restarts; /* of the connector, at most */
    const uint64_t *commits; /* a transaction's cts, 0 if it is not to be sent; NULL: of the
                                committed ones, their own */
};

/* The id of transaction t, "00000000-0000-4000-8000-00000000002a". */
enum { FEED_YUGABYTE_ID = 40 };
void feed_yugabyte_id(uint32_t transaction, char id[FEED_YUGABYTE_ID]);

/* Adds the messages of all writers; false if the history has what cannot be carried. */
bool feed_yugabyte_write(struct feed *feed, const struct iso_history *history,
                         const struct feed_yugabyte_options *options);

#endif
