/* A database's changes from a temporary logical slot of its own, by PostgreSQL's plugin
 * test_decoding.
 *
 * The slot belongs to a connection that speaks the replication protocol: it makes the slot with a
 * snapshot, in which another connection reads the rows that are there, and then the server streams
 * changes over it as transactions commit. Nothing stays in the database: the server drops
 * the slot when the connection ends, however that happens. Values are printed as ISO dates, in UTC.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "database/database.h"

enum { SUITE_LINES = 8192 }; /* of a batch, but for the rest of its last transaction */

struct suite_line {
    uint64_t place; /* in the log */
    size_t at;      /* of `bytes`, to a zero byte */
};

struct suite_slot {
    struct iso_database *connection;
    uint64_t start; /* place in the log at which changes begin */
    char name[64];
    char snapshot[128]; /* until the stream starts */
    bool streams;
    struct iso_text bytes;
    struct suite_line *lines;
    uint32_t count, capacity;
    uint32_t whole; /* lines of transactions that are there to their ends */
    uint64_t place; /* what was committed before it in the log is there */
};

/* ISO_BAD_INPUT: the server lacks something, and which statement mends it. Close in any case. */
enum iso_status suite_slot_open(struct suite_slot *slot, const char *url, struct iso_error *error);
void suite_slot_close(struct suite_slot *slot);

/* Once the snapshot is needed no more. */
enum iso_status suite_slot_start(struct suite_slot *slot, struct iso_error *error);
/* Takes what has come, about SUITE_LINES lines at most, in the order of commits, and has the server
 * tell how far it is where that is short of `goal`. */
enum iso_status suite_slot_receive(struct suite_slot *slot, uint64_t goal, struct iso_error *error);
/* Lets go of the lines of whole transactions. */
void suite_slot_drop(struct suite_slot *slot);

/* Connects beside it, with the same settings. */
struct iso_database *suite_connect(const char *url, bool replicates, struct iso_error *error);
/* The statement's rows, or the error says what the server said. */
enum iso_status suite_ask(struct iso_database *database, const char *sql, struct iso_error *error);
