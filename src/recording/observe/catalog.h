/* What a database's catalog says that a statement's text and its result do not: which relation and
 * column a name or a number means, keys, what reading or writing a relation does besides, and which
 * objects of users have names that could be meant instead of the database's own.
 *
 * Read by a query, in a client's own session while that is idle, or by a host. It is as of its
 * moment. Each relation has a *generation*: a hash of the rows of the system catalogs that it is
 * made of, by their xmin; and so has all that is no relation's (functions, operators, casts,
 * types). Whoever asks later, in a new snapshot, for those of the names that statements used
 * (catalog_put_check), and gets the same sum, knows that nothing of these changed between: what a
 * statement in between was taken to mean is what it meant. A relation that took one of the names
 * since is in the sum, too.
 *
 * Rows of a table are taken (`is_taken`) only where a change stream has them: no views, no
 * temporary and unlogged tables, no children of other tables and none that has any; of partitioned
 * ones the root, where a publication publishes by it; published ones, if there is any publication.
 *
 * Ownership: a catalog is counted (atomically); once it is built nothing changes but which names
 * are used, and how far it is confirmed. Threads: any.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "wire/cursor.h"

enum { CATALOG_KEY_MOST = 16 };

struct catalog_column {
    int16_t number;
    bool is_key, compares_bytes; /* two texts are equal only if their bytes are */
    bool has_own_order;          /* and letters: texts of it have a collation of their own */
    char type_class;             /* of a user's type: e (an enumeration) or u; else a blank */
    uint32_t type, most;         /* of varchar(n) the n; 0: no such limit */
    char *name;
};

struct catalog_table {
    uint32_t oid;
    char *schema, *name, *full; /* schema.name, as keys of rows begin */
    bool is_taken;              /* it can be recorded; else only its name is known */
    bool is_plain; /* reading it does nothing else: no function of a user's in a view or a policy */
    bool hides_rows;       /* by row security */
    bool is_written_alone; /* no trigger, rule, foreign key or function of a user's changes, or adds
                              to, what is written */
    bool keeps_keys;       /* no rule: what RETURNING says was written to it */
    bool has_user_types;
    uint64_t generation; /* of its rows in the catalogs, and of those of its partitions */
    uint32_t column_count, column_capacity;
    struct catalog_column *columns; /* by number; of the system's relations none */
    uint32_t key_count;
    int16_t key[CATALOG_KEY_MOST]; /* numbers of its columns, in the key's order */
};

/* An object of a user's that could be meant by a name of the database's own: kind f, o, c (a cast),
 * t (a type); k: what sorts a user's type, which no name says. */
struct catalog_shadow {
    char kind;
    bool is_of_any; /* for values of the database's own types; else only where a table has columns
                       of a user's types */
    char *name;
};

enum { CATALOG_NAMES = 256, CATALOG_EXPECTED = 24 };

struct catalog {
    _Atomic uint32_t references;
    uint64_t serial;      /* each has another */
    uint64_t generation;  /* of what is no relation's */
    int64_t asked_at;     /* nanoseconds: it is of a later moment */
    pthread_mutex_t lock; /* guards what was used */
    uint32_t used_count;
    char *used[CATALOG_NAMES];
    bool uses_all;
    bool tells_oids; /* `full` is schema.name~oid */
    /* Guarded by who shares it: what it said of what was used was so after this moment, too. */
    int64_t confirmed_at;
    int64_t held_at;  /* something that waits for that was recorded until then */
    bool is_refuted;  /* something that was used has changed: what else has, the next one says */
    bool is_replaced; /* there is a next one: this one is confirmed no more */
    uint32_t count, capacity;
    struct catalog_table *tables; /* by oid */
    uint32_t *by_name;            /* their places, by name; made when the catalog is whole */
    uint32_t shadow_count, shadow_capacity;
    struct catalog_shadow *shadows; /* by kind and name */
};

extern const char catalog_query[];
/* Asks whether a transaction with an xid may have changed the catalog itself. */
extern const char catalog_changed_query[];

/* `tables`: names that are allowed, as schema.table or table; none: all. */
struct catalog *catalog_new(void);
/* A row of the query's answer: its texts, "" where it is NULL. */
void catalog_add_row(struct catalog *catalog, const char *const *fields, const char *const *tables,
                     uint32_t table_count);
/* The same, as DataRow has it; false: it is not one. */
bool catalog_add(struct catalog *catalog, struct wire_cursor row, const char *const *tables,
                 uint32_t table_count);
void catalog_end(struct catalog *catalog); /* every row was added */
struct catalog *catalog_share(struct catalog *catalog);
void catalog_release(struct catalog *catalog); /* NULL is allowed */

/* A statement that is judged by this catalog uses the name. Before its record's end. */
void catalog_use(struct catalog *catalog, const char *name);
/* A query of one number; its text if nothing of what was used until now has changed. Of an open
 * transaction it says what that sees. */
void catalog_put_check(struct catalog *catalog, struct iso_text *query,
                       char expected[CATALOG_EXPECTED]);
/* Does what was used, or all of it, mean the same in another? */
bool catalog_agrees(struct catalog *catalog, const struct catalog *other, bool in_all);

const struct catalog_table *catalog_find(const struct catalog *catalog, uint32_t oid);
/* The next relation of that name, from a place that begins with 0; schema "": of each. NULL: no
 * other. */
const struct catalog_table *catalog_next_named(const struct catalog *catalog, const char *schema,
                                               const char *name, uint32_t *position);
bool catalog_is_system(const struct catalog_table *table);
const struct catalog_shadow *catalog_find_shadow(const struct catalog *catalog, char kind,
                                                 const char *name);
const struct catalog_column *catalog_column(const struct catalog_table *table, int16_t number);
const struct catalog_column *catalog_column_named(const struct catalog_table *table,
                                                  const char *name);
