/* What waits in a running watch, since when, and for whom; and whether it waits for longer than the
 * bounds explain that the run was given.
 *
 * Three kinds of things wait: rows and records in the join, for their other half, and reads in the
 * engine, for a watermark or a deadline. A kind stands still while some of it waits and none of it
 * is resolved. That is explained by the bounds (--finality-timeout, --grace, --idle-timeout) and by
 * an input that sends nothing; where input has come for longer than the bounds and a kind stood
 * still all that time, something is wrong.
 *
 * Times are milliseconds of a clock that does not jump. Threads: the caller's.
 */
#pragma once

#include "pipeline/accounting.h"

enum run_waiting_kind {
    RUN_WAITING_ROWS,
    RUN_WAITING_RECORDS,
    RUN_WAITING_READS,
    RUN_WAITING_KINDS
};

struct run_waiting {
    uint64_t progress[RUN_WAITING_KINDS]; /* how far each kind has come */
    uint64_t since[RUN_WAITING_KINDS];    /* when it came there */
    uint64_t messages, input;             /* read so far; when the last of them was */
    uint64_t changes,
        changed_at;     /* offsets of the change streams, together; when they last moved */
    uint64_t unsettled; /* for how long input has come in vain */
};

void run_waiting_init(struct run_waiting *waiting, uint64_t now);

/* The books were opened; `watermark` 0: there is none. */
void run_waiting_look(struct run_waiting *waiting, const struct iso_accounting *books,
                      uint64_t watermark, uint64_t messages, uint64_t now);

/* Change streams were read up to these offsets, added up. */
void run_waiting_note_changes(struct run_waiting *waiting, uint64_t changes, uint64_t now);

/* An item of isochron_waiting: how many, the oldest of them (ms UINT64_MAX: not known), for what
 * each waits, and when that will be. */
struct run_waiting_class {
    const char *name;
    uint64_t count;
    struct iso_accounting_oldest oldest;
    const char *what, *final;
};
bool run_waiting_class(const struct iso_accounting *books, unsigned number,
                       struct run_waiting_class *class); /* false: no more */

/* How much of it waits for what inputs are to say. */
uint64_t run_waiting_on_inputs(const struct iso_accounting *books);

/* The longest that any of that has waited. */
uint64_t run_waiting_oldest(const struct iso_accounting *books);
