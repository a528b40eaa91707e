/* A small history as plain structs: what the random generator makes, the oracles read and the
 * shrinker cuts down.
 *
 * It is the *unfinished* description, as a file would hold it: timestamps as they were given,
 * snapshots as they were given, no defaults. plain_history_build turns it into an iso_history for
 * the engines; the oracles work on it directly, so that they share nothing with the engines but the
 * meaning. Texts are compared as texts (7 and "7" are equal). Fixed bounds, no pointers: it is
 * copied by assignment.
 */
#ifndef TESTS_PLAIN_HISTORY_H
#define TESTS_PLAIN_HISTORY_H

#include <stdio.h>

#include "history/history.h"

enum {
    PLAIN_TRANSACTIONS = 12,
    PLAIN_OPERATIONS = 8, /* of a transaction */
    PLAIN_LIST = 24,      /* elements of a list read */
    PLAIN_INITIALS = 8,
    PLAIN_XIPS = 12,
    PLAIN_TEXT = 24
};

/* A key, value or id. Texts need no escapes in JSON. */
struct plain_text {
    bool absent; /* null */
    bool quoted; /* stands in quotes in a file; without quotes it must be an integer of 64 bits */
    char text[PLAIN_TEXT];
};

struct plain_stamp {
    bool given;
    uint64_t physical, logical; /* `logical` counts only where the history has pairs */
};

struct plain_snapshot {
    bool given;
    uint64_t xmin, xmax;
    uint32_t xip_count;
    uint64_t xip[PLAIN_XIPS];
};

struct plain_operation {
    enum iso_operation_kind kind;
    struct plain_text key;
    struct plain_text value; /* ISO_WRITE, ISO_APPEND, ISO_READ */
    uint32_t list_count;     /* ISO_READ_LIST */
    struct plain_text list[PLAIN_LIST];
    struct plain_stamp ots;
    struct plain_snapshot snapshot; /* counts only where there are no timestamps */
    bool lock;                      /* not together with `ots` */
};

struct plain_transaction {
    struct plain_text tid, session;
    uint8_t status; /* ISO_COMMITTED, ISO_ABORTED, ISO_UNKNOWN */
    bool has_sno;
    uint64_t sno;
    struct plain_stamp sts, cts;
    uint64_t xid; /* 0: none */
    struct plain_snapshot snapshot;
    uint32_t operation_count;
    struct plain_operation operations[PLAIN_OPERATIONS];
};

struct plain_initial {
    struct plain_text key, value;
    bool is_append;
};

struct plain_history {
    bool pairs; /* timestamps are {p,l} */
    uint32_t transaction_count;
    struct plain_transaction transactions[PLAIN_TRANSACTIONS];
    struct plain_text initial_value; /* of every register; absent by default */
    uint32_t initial_count;
    struct plain_initial initials[PLAIN_INITIALS];
};

/* The input that all transactions come from, transaction t from line t + 1. */
#define PLAIN_INPUT "generated"

void plain_history_clear(struct plain_history *history);

/* Adds an empty transaction, an empty operation; the caller fills them in. */
struct plain_transaction *plain_history_begin(struct plain_history *history, const char *tid,
                                              const char *session);
struct plain_operation *plain_history_operation(struct plain_transaction *transaction,
                                                enum iso_operation_kind kind, const char *key,
                                                const char *value);

/* Short forms for tests. A text of NULL is null; canonical integers stand without quotes. */
struct plain_text plain_text(const char *text);
struct plain_text plain_number(uint64_t number);
struct plain_stamp plain_stamp(uint64_t number);
bool plain_equal(const struct plain_text *left, const struct plain_text *right);

/* Order of reports: integers of 64 bits by size, then other texts by bytes. */
int plain_compare(const struct plain_text *left, const struct plain_text *right);

/* True if the text is a canonical decimal integer of 64 bits. */
bool plain_is_integer(const char *text);

bool plain_writes(const struct plain_operation *operation);
bool plain_transaction_writes(const struct plain_transaction *transaction);
/* Streams have no snapshots. And of the last timestamp there is who reads there does not see what
 * was committed there (aion/aion.h). */
bool plain_history_is_streamable(const struct plain_history *plain);

bool plain_key_is_list(const struct plain_history *history, const struct plain_text *key);

/* ISO_CLOCK_SNAPSHOT only if no timestamp is given anywhere: explicit timestamps win. */
enum iso_clock plain_clock(const struct plain_history *history);

/* The place of a transaction in its session's order: its own sno, or how many of its session
 * precede it. */
uint64_t plain_sno(const struct plain_history *history, uint32_t transaction);

/* Puts the transactions into the order `order[0]`, `order[1]`, ... (old indices), with session
 * orders as they were: the snos become explicit. */
void plain_history_permute(struct plain_history *history, const uint32_t *order);

/* Adds everything to an empty iso_history, unfinished. */
void plain_history_fill(const struct plain_history *history, struct iso_history *into);

/* Clears `into`, fills and finishes it. */
enum iso_status plain_history_build(const struct plain_history *history, struct iso_history *into,
                                    struct iso_error *error);

/* As native JSON Lines, each line after `prefix`; initial values as the options that give them. */
void plain_history_print(const struct plain_history *history, FILE *file, const char *prefix);

#endif
