/* extent: up to where the inputs are known to be whole, what is missing, and what follows for a
 * read.
 *
 * A change stream is delivered in the order of its commits, so what is whole is a *position*, by
 * each source's own measure:
 *
 *     PostgreSQL    a snapshot: what those saw end together that delivered transactions had. What
 *                   one of them saw committed stands in the log before that transaction, so it was
 *                   delivered before; what it saw end without that is no commit of this stream: it
 *                   aborted, is another database's, or touched no table that is covered. That a
 *                   snapshot does not see a delivered transaction, even that it ends before its
 *                   xid, proves less: a transaction stands in the log before others see it, and one
 *                   that commits meanwhile may be seen first. But none lasts longer than the grace:
 *                   where the END of one arrived that committed so much later, the snapshot was
 *                   taken before that, and what it saw stands before it. Until a snapshot is
 *                   reached, what had ended when the first client looked is behind the extent for
 *                   those that do not see a commit which arrived; for others it proves nothing how
 *                   small an xid is
 *     binlog        a place in the log: that of the last END, or, without ENDs, what all partitions
 *                   have passed
 *     in-band       a record's timestamp: the largest whose transaction came whole
 *     TiCDC         a timestamp: the stream's watermark
 *     YugabyteDB    a commit time, of each tablet as a partition has it: what is below the largest
 *                   that came of it
 *     Dgraph        a commit timestamp, of each group: what is below the largest that came. Nothing
 *                   says which groups there are, so that is one for each predicate; `one-group`
 *                   says that it is one for all
 *
 * Behind the extent everything has an outcome. Beyond it, and only once nothing more arrives, three
 * things may be (enum join_reach):
 *
 *     within     all that it may rest on was delivered
 *     beyond     nothing says that a transaction is missing, and nothing that none is: who reads
 *                there and agrees with what came is right; who differs waits for what did not come
 *     lacking    it sees a transaction that was not delivered, and of which a record says that it
 *                committed, or of which rows came without their END: it waits as a whole, and so
 *                does that record
 *
 * What is missing behind the extent is *lost*: a transaction of which not all rows came that its
 * END counts, or none at all although its record says what it wrote. It stands at its commit, and
 * what it may have written is of unknown value (`incomplete`) from there on: the keys that its
 * record lists and that have no row; where it leaves that to the stream, all keys of the
 * collections that END counts more of (join_lose). It accuses nobody, and the verdict names it.
 *
 * A record that gives its xid and says nothing of writes may have written, or locked a row. Where
 * nothing of it came, and no snapshot that was reached saw it end, its reads are judged, who sees
 * it is beyond, and it waits itself.
 *
 * Without ENDs, a transaction that stands where not every partition has gone on may be incomplete:
 * of each partition that is the last one. Where a record lists what it wrote, and all of that came,
 * it is whole. Of one that is not, a key is unsure whose own partition has not gone on, and who
 * sees it and differs there waits; all other keys are sure. Of a record that leaves its writes to
 * the stream waits what it read otherwise, which may be its own; else it is taken for whole, as
 * nothing but an END would ever tell.
 *
 * Threads: those of the join. Cost: a snapshot's reach is a walk over the xids that it sees beyond
 * the extent.
 */
#ifndef ISO_JOIN_EXTENT_H
#define ISO_JOIN_EXTENT_H

#include "base/stairs.h"
#include "values/source.h"
#include "join/map.h"

struct iso_join;
struct iso_snapshot;
struct join_link;
struct join_transaction;

enum join_reach { JOIN_WITHIN, JOIN_BEYOND, JOIN_LACKING };

/* A transaction that did not come, and that no snapshot of `reached` saw end. */
struct join_missing {
    uint64_t xid;
    bool wrote; /* its record says so, or rows of it came; else it may have */
};

/* A commit of which, without END, more rows may be on their way. */
struct join_partial {
    uint64_t cts, position; /* as it was counted; in the log */
};

/* A channel sends commits in the order of their timestamps: a part of an input, a tablet or a
 * predicate. */
struct join_channel {
    uint32_t input, part;
    uint64_t largest; /* commit timestamp of it that came: those below it came before */
};

struct join_extent {
    bool ended;    /* nothing more arrives ... */
    bool closed;   /* ... and records are there, which may wait for what did not */
    uint64_t sure; /* binlog: the last place that was reached; TiCDC, when closed: the watermark */
    struct join_channel *channels; /* YugabyteDB, Dgraph */
    uint32_t channel_count, channel_capacity;
    struct join_map by_channel;
    struct iso_history reached; /* PostgreSQL: at most one snapshot */
    struct iso_stairs over;     /* the largest xid whose END arrived, by times of commits; reached:
                                   that is surely over, as others committed later than the grace */
    uint64_t latest;            /* the latest of these times */
    uint64_t first;             /* xmin of the first client's snapshot; 0: there is none */
    struct join_missing *missing; /* when closed, by xid */
    uint32_t missing_count, missing_capacity;
    struct join_partial *partial; /* PostgreSQL: when closed; a binlog's: without END; both of
                                     their members rise */
    uint32_t partial_count, partial_capacity;
};

void join_extent_release(struct join_extent *extent);

/* ---- passed.c: timestamps, and places in a log ---- */

/* A row of the key arrived; and, where a source counts on ENDs, one of a commit at that place
 * did. */
void join_extent_pass(struct iso_join *join, const struct iso_event *event, uint32_t key);
void join_extent_pass_end(struct iso_join *join, uint64_t position);

/* A transaction of the stream has no moment: where its rows' keys changed nobody knows. */
void join_extent_misplace(struct iso_join *join, const struct join_transaction *transaction);

/* PostgreSQL: the transaction got its place; `record` is its client's, or ISO_NONE. */
void join_extent_place(struct iso_join *join, const struct join_transaction *transaction,
                       uint32_t record, uint64_t cts);

/* PostgreSQL: a snapshot got its place. Without ENDs, who reads there or later is sure of a key
 * whose partition has gone on to a commit that it does not see. */
void join_extent_look(struct iso_join *join, uint64_t sts);

/* A binlog's transaction has no END, and the log goes on: of each partition that has not, more of
 * its rows may be on their way. */
void join_extent_interrupt(struct iso_join *join, uint64_t position);

/* Nothing more arrives, and nothing at or below the timestamp is missing: TiCDC. */
void join_extent_close_at(struct iso_join *join, uint64_t whole);

/* Nothing more arrives. Records that commit beyond the extent, and of which not all came, get
 * JOIN_RECORD_BEYOND. */
void join_extent_close(struct iso_join *join);

/* Whether more rows of an open transaction may have been on their way. Where ENDs come, and its
 * own does not lie behind the last of them, its own was lost. */
bool join_extent_is_beyond(const struct iso_join *join, const struct join_transaction *transaction);

/* ---- reach.c: PostgreSQL ---- */

/* A client's snapshot arrives. */
void join_extent_note(struct iso_join *join, const struct iso_snapshot *snapshot);

/* The record's transaction was delivered, up to its commit. */
void join_extent_deliver(struct iso_join *join, uint32_t record);

/* END of a transaction arrived, and says when it committed, in milliseconds; 0: it does not. */
void join_extent_note_end(struct iso_join *join, uint64_t xid, uint64_t committed);

/* Goes through the snapshots that wait; returns up to which xid everything has an outcome. */
uint64_t join_extent_whole_below(struct iso_join *join);

/* Nothing more arrives. Records that are missing, or rest on something that is, get
 * JOIN_RECORD_BEYOND. */
void join_extent_close_snapshots(struct iso_join *join);

/* Reach of one of the snapshot's records: a transaction that may have written, and of which
 * nothing came, is itself beyond. */
enum join_reach join_extent_reach_of(const struct iso_join *join, const struct join_link *link);

#endif
