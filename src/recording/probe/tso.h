/* What TiDB answers about a transaction's timestamps, read strictly.
 *
 * @@tidb_current_ts is a number; @@tidb_last_txn_info and @@tidb_last_query_info are JSON objects,
 * or empty. A version that answers in another way is refused: what was read wrongly would be judged
 * wrongly. Threads: any; no state.
 */
#ifndef ISO_PROBE_TSO_H
#define ISO_PROBE_TSO_H

#include <stdbool.h>
#include <stdint.h>

enum tso_answer {
    TSO_SAID,  /* the timestamp is given */
    TSO_OTHER, /* nothing was said, or of another transaction; or it failed */
    TSO_WRONG  /* none of the shapes that are known */
};

/* A decimal number whose milliseconds are of this century. 0 is TSO_OTHER: outside of a
 * transaction. */
enum tso_answer tso_current(const char *answer, uint64_t *timestamp);

/* When the transaction that began at `start` committed. */
enum tso_answer tso_commit(const char *answer, uint64_t start, uint64_t *commit);

/* As of when the last statement read what it locked. */
enum tso_answer tso_for_update(const char *answer, uint64_t *timestamp);

#endif
