/* What a driver is to database.c: its functions, and the rows that it fills in. */
#pragma once

#include "base/text.h"
#include "database/database.h"

/* Where to connect; all texts are owned, NULL: not said. */
struct database_address {
    char *url; /* as it was given */
    char *host, *user, *password, *name, *socket;
    unsigned port; /* 0: the default */
};

/* Rows of the last statement: texts one behind the other, and where each begins. */
struct database_rows {
    struct iso_text bytes;
    size_t *offsets; /* into it: columns first, then values by row; SIZE_MAX: NULL */
    size_t offset_count, offset_capacity;
    uint32_t rows, columns;
    uint64_t affected;
};

void database_rows_clear(struct database_rows *rows, uint32_t columns);
void database_rows_add(struct database_rows *rows, const char *bytes, size_t size); /* NULL: NULL */

/* The last failure. */
struct database_failure {
    char state[6];
    unsigned number;
    char message[512];
};

struct database_driver {
    enum iso_database_protocol protocol;
    /* NULL on error. */
    void *(*connect)(const struct database_address *address, struct iso_error *error);
    void (*close)(void *connection);
    enum iso_database_outcome (*execute)(void *connection, const char *sql,
                                         struct database_rows *rows,
                                         struct database_failure *failure);
    bool (*send)(void *connection, const char *sql);
    int (*socket)(void *connection); /* -1: none */
    /* NULL: there are none. A message of size 0 ends the stream. */
    enum iso_database_outcome (*stream)(void *connection, const char *sql,
                                        struct database_failure *failure);
    enum iso_database_outcome (*receive)(void *connection, const char **message, size_t *size,
                                         struct database_failure *failure);
    enum iso_database_outcome (*reply)(void *connection, const void *message, size_t size,
                                       struct database_failure *failure);
    uint64_t (*session)(void *connection);
    char *(*place)(void *connection); /* NULL: it is not asked */
};

extern const struct database_driver database_postgres, database_mysql;

/* The words of a message as one line without blanks at its ends. */
void database_one_line(char *text);

/* Refuses what is no URL of ours. */
enum iso_status database_parse(const char *url, struct database_address *address,
                               const struct database_driver **driver, struct iso_error *error);
void database_address_release(struct database_address *address);
