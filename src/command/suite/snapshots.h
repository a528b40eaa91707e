/* What the database's snapshots, taken time and again, say of when transactions became visible:
 * also of those that no record tells of.
 *
 * A transaction that a snapshot sees is seen by every statement that is sent after the snapshot's
 * answer; one that it does not see is seen by none that was answered before it was asked for.
 * Equal snapshots in a row are one. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "database/database.h"

struct suite_snapshot {
    uint64_t answered, sent; /* of the first of equal ones, and of the last of them: nanoseconds */
    uint64_t xmin, xmax;
    uint32_t first, end; /* of `running` */
};

struct suite_snapshots {
    struct suite_snapshot *list;
    uint64_t *running; /* that are not seen though they are below xmax */
    uint32_t count, capacity, running_count, running_capacity;
    uint64_t flushed, inserted, asked; /* places in the log just behind the last; by nanoseconds */
};

/* As pg_current_snapshot() says it; what is none is ignored. */
void suite_snapshots_take(struct suite_snapshots *snapshots, const char *text, uint64_t sent,
                          uint64_t answered);
/* Asks the server for another, and for places in its log just behind it. */
enum iso_status suite_snapshots_ask(struct suite_snapshots *snapshots,
                                    struct iso_database *database, struct iso_error *error);
/* One of the series as a line, and such lines to a series again. */
void suite_snapshots_put(const struct suite_snapshots *snapshots, uint32_t number,
                         struct iso_text *line);
void suite_snapshots_read(struct suite_snapshots *snapshots, const char *line);
/* By when the transaction (the low 32 bits of its xid) was visible, and until when it was not; 0:
 * not known. */
void suite_snapshots_find(const struct suite_snapshots *snapshots, uint32_t xid,
                          uint64_t *visible_by, uint64_t *hidden_until);
/* Whether the last of the first `count` saw the transaction's end. */
bool suite_snapshots_see(const struct suite_snapshots *snapshots, uint32_t count, uint32_t xid);
/* A hash of what it sees; and of what statements saw that were sent and answered then, 0: that is
 * not known, since no snapshots of before and of behind them are equal. */
uint64_t suite_snapshots_hash(const struct suite_snapshots *snapshots, uint32_t number);
uint64_t suite_snapshots_around(const struct suite_snapshots *snapshots, uint64_t sent,
                                uint64_t answered);
void suite_snapshots_release(struct suite_snapshots *snapshots);
