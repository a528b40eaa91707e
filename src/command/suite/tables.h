/* What a database's catalog says of its tables, time and again, and what became of each between two
 * readings.
 *
 * test_decoding says neither which columns are a table's key nor when its definition changes. So
 * the catalog is read behind each batch of changes, before they are taken. A table that has other
 * columns, another key or another name than before is not judged. One that is gone, or has made
 * way for another one of its name, went somewhere between, in a transaction that is not known; but
 * who made a table is known, by its system columns, which nothing changes later. Threads: one at a
 * time.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "database/database.h"

struct suite_table {
    char *name;     /* "public.a", as SQL quotes it */
    char *identity; /* as keys of its rows begin; NULL: it has no place in a list of names */
    char *columns;  /* of its key, "id,\"B\"", as SQL quotes them; NULL: it has none */
    char *looks;    /* columns and types, and who defined them last */
    uint32_t oid;
    uint32_t made;   /* the transaction that created it, by its low 32 bits */
    uint32_t named;  /* the one that gave it its name */
    uint32_t doubt;  /* for so many batches more it may be defined anew in any transaction */
    bool is_plain;   /* no column of it was changed since it was made */
    bool is_new;     /* it was made meanwhile, and that transaction has not come yet */
    bool is_gone;    /* it was there, and is no more */
    bool is_unknown; /* what its rows are, or were once, nobody can say: it is not judged */
};

struct suite_tables {
    struct suite_table *list; /* by name; also those that are gone */
    uint32_t count, capacity;
};

/* Reads them. The first time all are there from the start. `drained`: the batch before this one was
 * all that there was. */
enum iso_status suite_tables_read(struct suite_tables *tables, struct iso_database *database,
                                  bool is_first, bool drained, struct iso_error *error);
void suite_tables_release(struct suite_tables *tables);

/* The table of that name, or NULL. */
struct suite_table *suite_tables_find(const struct suite_tables *tables, const char *name,
                                      size_t length);
/* Notes a name that no reading had, though rows of it came. */
void suite_tables_add_unknown(struct suite_tables *tables, const char *name, size_t length);

static inline bool suite_table_is_judged(const struct suite_table *table)
{
    return table->columns && table->identity && !table->is_unknown;
}
