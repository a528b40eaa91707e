/* Lines of test_decoding on their way into a capture: each with its transaction, its place and its
 * row's key, and beside them what became of tables' definitions (tables.h).
 *
 * Of a table that holds what nobody knows when it begins, one says so. A change of which it is not
 * sure whose table it is of is left out, as its table then is. Messages go to the topic
 * run.changes; format=test_decoding reads them. Threads: one at a time.
 */
#pragma once

#include "capture/capture.h"
#include "suite/tables.h"

#define SUITE_CHANGES "run.changes"
#define SUITE_RECORDS "run.records"
#define SUITE_KEYLESS "run.keyless" /* changes of tables that have no key yet */
#define SUITE_SNAPSHOTS "run.snapshots"

struct suite_capture {
    struct iso_capture_writer *writer;
    int64_t messages[4]; /* so far, of each topic */
};

enum iso_status suite_capture_put(struct suite_capture *capture, const char *topic, const char *key,
                                  size_t key_length, const char *payload, size_t length,
                                  struct iso_error *error);

/* Hands over each message, with ISO_JSON_PADDING readable bytes behind it. */
enum iso_status suite_capture_read(const char *path,
                                   void (*take)(void *context, const char *topic, const char *text,
                                                size_t length),
                                   void *context, struct iso_error *error);

struct suite_changes {
    struct suite_capture *capture;
    struct suite_tables tables;
    struct iso_text line, key;
    uint64_t previous, place;   /* where the last transaction ended; of the line at hand */
    uint32_t xid, order;        /* of the transaction at hand */
    struct iso_number_map seen; /* xids */
    bool has_heirs;             /* tables got keys, and the rows that they had */
    bool ended;                 /* a logical message of "isochron run" came */
};

void suite_changes_release(struct suite_changes *changes);

/* Behind all changes: a transaction that committed without any, if it is none of those. */
enum iso_status suite_changes_put_empty(struct suite_changes *changes, uint32_t xid,
                                        struct iso_error *error);

/* Adds the columns of the printed row that are the key's, in its order. False: one is missing. */
bool suite_find_key(struct iso_text *key, const char *columns, const char *row, const char *end);

/* All rows of a table as they were at the start. */
enum iso_status suite_changes_put_initial(struct suite_changes *changes,
                                          struct iso_database *database, struct suite_table *table,
                                          uint64_t start, struct iso_error *error);

/* A line of the slot, behind which the catalog was read. */
enum iso_status suite_changes_take(struct suite_changes *changes, uint64_t place, const char *line,
                                   struct iso_error *error);
