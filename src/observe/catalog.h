/* The tables of one database, as its catalog has them: what object identifiers and numbers of attributes in a result mean.
 *
 * Read by a query in a client's own session while that is idle, again when a statement names what is not known, after DDL that
 * was seen, and every minute.
 *
 * Only tables are there whose rows a change stream has: no views, no temporary and unlogged tables, no children of other
 * tables; of partitioned ones the root, where a publication publishes by it; published ones, if there is any publication.
 *
 * Ownership: a catalog is counted (atomically), and not changed once it is built. Threads: any.
 */
#ifndef ISO_OBSERVE_CATALOG_H
#define ISO_OBSERVE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/cursor.h"

enum { CATALOG_KEY_MOST = 16 };

struct catalog_column {
    int16_t number;
    bool is_key, compares_bytes; /* two texts are equal only if their bytes are */
    uint32_t type;
    char *name;
};

struct catalog_table {
    uint32_t oid;
    char *schema, *name, *full; /* schema.name, as keys of rows begin */
    bool is_taken;              /* it can be recorded; else only its name is known */
    bool hides_rows;            /* by row security */
    bool is_written_alone;      /* no trigger, rule or foreign key writes other rows with its own */
    uint32_t column_count, column_capacity;
    struct catalog_column *columns; /* by number */
    uint32_t key_count;
    int16_t key[CATALOG_KEY_MOST]; /* numbers of its columns, in the key's order */
};

struct catalog {
    _Atomic uint32_t references;
    uint64_t generation;
    uint32_t count, capacity;
    struct catalog_table *tables; /* by oid */
};

extern const char catalog_query[];

/* `tables`: names that are allowed, as schema.table or table; none: all. */
struct catalog *catalog_new(void);
/* A row of the query's answer, as DataRow has it; false: it is not one. */
bool catalog_add(struct catalog *catalog, struct wire_cursor row, const char *const *tables, uint32_t table_count);
struct catalog *catalog_share(struct catalog *catalog);
void catalog_release(struct catalog *catalog); /* NULL is allowed */

const struct catalog_table *catalog_find(const struct catalog *catalog, uint32_t oid);
const struct catalog_table *catalog_find_name(const struct catalog *catalog, const char *schema, const char *name);
const struct catalog_column *catalog_column(const struct catalog_table *table, int16_t number);
const struct catalog_column *catalog_column_named(const struct catalog_table *table, const char *name);

#endif
