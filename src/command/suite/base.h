/* A database of the run, from the making of its slot until that is closed: its changes, what its
 * catalog says, its records, all in a capture of its own.
 *
 * Where a database is dropped, renamed or copied its base is closed first, drained, since nobody
 * may be connected to it; who connects to one of that name later opens another base.
 * Threads: one at a time.
 */
#pragma once

#include "suite/changes.h"
#include "suite/facts.h"
#include "suite/records.h"
#include "suite/slot.h"

struct suite_base {
    struct suite_facts facts;
    bool is_open;
    int64_t next; /* milliseconds: when its changes are looked at again */
    struct suite_slot slot;
    struct iso_database *beside; /* asks for the catalog and for rows */
    bool is_prepared;            /* what the proxy asks of it */
    struct suite_capture capture;
    struct suite_changes changes;
    struct suite_records records;
    struct iso_text waiting; /* records that came behind the last reading of the catalog */
    /* What is waited for: all changes of before are there, and these bytes of `waiting` may go. */
    struct suite_goal {
        bool is_set;
        uint64_t place, asked;
        size_t waiting;
        int64_t since; /* milliseconds */
    } goal;
    struct iso_text line; /* a record, as the capture has it */
};

/* Makes its slot, and reads the rows that are there; of one that does not stream, neither. Close
 * and release it in any case. */
enum iso_status suite_base_open(struct suite_base *base, const char *url, const char *path,
                                bool streams, struct iso_error *error);
/* What is new of it: a round. */
enum iso_status suite_base_follow(struct suite_base *base, struct iso_error *error);
void suite_base_take_record(struct suite_base *base, const char *line, size_t length);
/* Reads the catalog, before or behind a statement that changes it. */
enum iso_status suite_base_look(struct suite_base *base, struct iso_error *error);
/* What the proxy asks of the catalog, always the same, row by row; false: it is not known. */
bool suite_base_ask(struct suite_base *base, const char *query,
                    void (*take)(void *context, const char *const *row), void *context);
/* All changes until now are read, and its connections closed. */
enum iso_status suite_base_close(struct suite_base *base, struct iso_error *error);
/* But for `facts`, which are its owner's. */
void suite_base_release(struct suite_base *base);
