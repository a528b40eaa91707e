/* A database's changes from a temporary logical slot of its own, by PostgreSQL's plugin
 * test_decoding.
 *
 * The slot belongs to a connection that speaks the replication protocol, whose session also answers
 * SQL: it makes the slot with a snapshot, in which another connection reads the rows that are
 * there, and then asks for changes time and again. Nothing stays in the database: the server drops
 * the slot when the connection ends, however that happens. Values are printed as ISO dates, in UTC.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "database/database.h"

enum { SUITE_LINES = 8192 }; /* of a batch, but for the rest of its last transaction */

struct suite_slot {
    struct iso_database *connection;
    uint64_t start; /* place in the log at which changes begin */
    char name[64];
    char snapshot[128]; /* until the next statement */
};

/* ISO_BAD_INPUT: the server lacks something, and which statement mends it. Close in any case. */
enum iso_status suite_slot_open(struct suite_slot *slot, const char *url, struct iso_error *error);
void suite_slot_close(struct suite_slot *slot);

/* The next lines, about SUITE_LINES at most, as rows of (place, xid, line) of the connection, in
 * the order of commits; none: there is nothing more for now. */
enum iso_status suite_slot_poll(struct suite_slot *slot, uint32_t *count, struct iso_error *error);

/* Connects beside it, with the same settings. */
struct iso_database *suite_connect(const char *url, bool replicates, struct iso_error *error);
/* The statement's rows, or the error says what the server said. */
enum iso_status suite_ask(struct iso_database *database, const char *sql, struct iso_error *error);
