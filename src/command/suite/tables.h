/* What a database's catalog says of its tables, time and again, and what became of each between two
 * readings.
 *
 * test_decoding says neither which columns are a table's key nor when its definition changes, and
 * it knows tables by their names alone. So a table is here what had one name, one definition and
 * one OID all the time: who gets another name or definition is another table from then on, with
 * another label. Each is known from one reading to another: statements by clocks, changes by their
 * place in the log behind the first, and by whether the last sees their transaction's end (one
 * that has not ended may still put another in its place). What is not surely of one table counts
 * for none.
 *
 * One that was made meanwhile, and is as it was made, was empty: it begins with the transaction
 * that made it. What others hold when they begin nobody knows. Threads: one at a time.
 */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/number_map.h"
#include "base/text.h"
#include "database/database.h"
#include "suite/snapshots.h"

struct suite_table {
    char *name;     /* "public.a", as SQL quotes it */
    char *label;    /* the same with a number, if another table had that name before */
    char *identity; /* the label as keys of its rows begin; NULL: it has no place in a list */
    char *columns;  /* of its key, "id,\"B\"", as SQL quotes them; NULL: it has none */
    char *looks;    /* columns and types, and who defined them last */
    uint32_t oid;
    uint32_t made;            /* the transaction that created it, by its low 32 bits */
    uint32_t named;           /* the one that gave it its name */
    uint32_t reading;         /* the last one that has it */
    uint32_t of_name, of_oid; /* the one before of that name, of that OID; or ISO_NUMBER_NONE */
    int64_t since, until;     /* nanoseconds: between them it was surely this one */
    uint64_t from;            /* a place in the log, likewise */
    uint64_t place;           /* the same of the last reading that has it */
    uint64_t changed;         /* of its last change, while it has no key */
    uint32_t file;            /* what it has on disk */
    uint32_t keyless;         /* the table that it was before it got its key; or ISO_NUMBER_NONE */
    uint64_t defined;         /* before that its maker may have written another of its name:
                                 UINT64_MAX: nobody was told what gave it that name */
    uint32_t seen;            /* of `snapshots`: up to that of the last reading that has it */
    uint32_t truncated;       /* the last transaction that emptied it; 0: none did */
    uint64_t left_out;        /* reads of it that were recorded, and are not judged */
    bool is_plain;            /* neither a column nor its name was changed since it was made */
    bool is_new;              /* it was made meanwhile: empty */
    bool is_alone;            /* the reading before its first one had none of its name */
    bool is_met;              /* it holds what nobody knows when it begins */
    bool has_begun;           /* changes from `from` on, or of who made it, have come */
    bool is_heir;             /* it has the rows of `keyless` */
    bool is_missed;           /* not all changes of before it had a key are known */
    bool is_gone;             /* it was there, and is no more */
    bool is_unknown;          /* what its rows are nobody can say: it is not judged */
};

struct suite_tables {
    struct suite_table *list; /* each behind those that were there before */
    uint32_t count, capacity;
    uint32_t readings;
    uint64_t place; /* in the log, just before the last reading */
    /* Of the last statement that may have given a table any name; UINT64_MAX: it may still do so.
     * And of each name that a statement was told to give (by_given); UINT64_MAX: some table has it
     * since. */
    uint64_t any;
    ISO_LIST(uint64_t) given;
    struct suite_snapshots snapshots;      /* also from before each reading */
    uint32_t beginning;                    /* tables that have not begun */
    struct iso_number_map by_name, by_oid; /* the newest */
    struct iso_number_map by_given;        /* names without schemas */
};

/* A reading of the catalog; nanoseconds. The first one is of the snapshot of the slot. */
struct suite_reading {
    int64_t sent, answered;
    bool is_first;
};
enum { SUITE_TABLES_COLUMNS = 11 }; /* of a row of its answer */
/* What it says, row behind row; the database's snapshot was asked for before. */
void suite_tables_take(struct suite_tables *tables, const struct suite_reading *reading,
                       const char *const *rows, uint32_t count);
/* Reads them. The first time all are there from the start. */
enum iso_status suite_tables_read(struct suite_tables *tables, struct iso_database *database,
                                  bool is_first, struct iso_error *error);
/* What is about to follow the last reading: names, without schemas, that it gives to tables. */
struct suite_definition {
    enum {
        SUITE_DEFINES_NOTHING,
        SUITE_DEFINES,
        SUITE_DEFINES_NEXT, /* right behind another definition: the reading is of before that */
        SUITE_DEFINES_ANY   /* a text of which nobody knows what it defines, and how often */
    } what;
    const char *const *names;
    uint32_t count;
    bool is_any; /* other names, too */
};
void suite_tables_define(struct suite_tables *tables, const struct suite_definition *definition);
void suite_tables_release(struct suite_tables *tables);

/* Whose a transaction's change of that name at that place is, or NULL: nobody's for sure. */
struct suite_table *suite_tables_find(const struct suite_tables *tables, const char *name,
                                      size_t length, uint32_t xid, uint64_t place);
/* What such a transaction does to the name it may have done to a table before. */
static inline bool suite_table_is_made_by(const struct suite_table *table, uint32_t xid)
{
    return table->is_new && table->made == xid;
}

/* What a statement that was sent and answered then meant by that OID, or NULL: nobody is sure. */
struct suite_table *suite_tables_meant(const struct suite_tables *tables, uint32_t oid,
                                       int64_t sent, int64_t answered);

static inline bool suite_table_is_judged(const struct suite_table *table)
{
    return table->columns && table->identity && !table->is_unknown;
}
/* If it gets a key: all of its changes are known. */
static inline bool suite_table_may_be_judged(const struct suite_table *table)
{
    return !table->columns && table->identity && table->is_new && !table->is_met &&
           !table->is_missed;
}
