#include "suite/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suite/slot.h"

/* clang-format off */
#define ESCAPED(name) "replace(replace(replace(replace(" name \
    ", '%', '%25'), '/', '%2F'), ',', '%2C'), '#', '%23')"
/* xmin of a system column's row is the transaction that made the table; of the others', the last
 * one that changed the column; of the row type's, the one that gave it its name. */
static const char question[] =
    "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), "
    "(SELECT string_agg(quote_ident(a.attname), ',' ORDER BY k.at) FROM pg_index i, "
    "unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) WITH ORDINALITY k(number, at) "
    "JOIN pg_attribute a ON a.attnum = k.number "
    "WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid), "
    "(SELECT coalesce(string_agg(concat_ws(' ', a.attnum, a.attname, "
    "a.atttypid, a.atttypmod, a.attisdropped, a.xmin), ',' ORDER BY a.attnum), '') "
    "FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0), "
    "c.oid, s.xmin, NOT EXISTS (SELECT FROM pg_attribute a "
    "WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.xmin <> s.xmin), "
    "CASE WHEN n.nspname || c.relname !~ ';' THEN replace(" ESCAPED("n.nspname") ", '.', '%2E') "
    "|| '.' || " ESCAPED("c.relname") " END, t.xmin "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute s "
    "ON s.attrelid = c.oid AND s.attname = 'xmin' AND s.attnum < 0 "
    "JOIN pg_type t ON t.oid = c.reltype "
    "WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname <> 'information_schema' "
    "AND n.nspname NOT LIKE 'pg\\_%'";
/* clang-format on */

static char *copy(const char *text)
{
    return text ? iso_copy_text(text, strlen(text)) : NULL;
}

static void release_table(struct suite_table *table)
{
    iso_free(table->name);
    iso_free(table->identity);
    iso_free(table->columns);
    iso_free(table->looks);
}

void suite_tables_release(struct suite_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++)
        release_table(&tables->list[i]);
    iso_free(tables->list);
    *tables = (struct suite_tables){0};
}

static int compare_name(const void *name, const void *table)
{
    return strcmp(name, ((const struct suite_table *)table)->name);
}

static struct suite_table *find(const struct suite_tables *tables, const char *name)
{
    return tables->count
               ? bsearch(name, tables->list, tables->count, sizeof *tables->list, compare_name)
               : NULL;
}

struct suite_table *suite_tables_find(const struct suite_tables *tables, const char *name,
                                      size_t length)
{
    char *text = iso_copy_text(name, length);
    struct suite_table *found = find(tables, text);
    iso_free(text);
    return found;
}

void suite_tables_add_unknown(struct suite_tables *tables, const char *name, size_t length)
{
    char *text = iso_copy_text(name, length);
    uint32_t at = 0;
    while (at < tables->count && strcmp(tables->list[at].name, text) < 0)
        at++;
    ISO_GROW(tables->list, tables->count, tables->capacity);
    memmove(tables->list + at + 1, tables->list + at, (tables->count - at) * sizeof *tables->list);
    tables->list[at] = (struct suite_table){.name = text, .is_gone = true, .is_unknown = true};
    tables->count++;
}

static struct suite_table take_row(struct iso_database *database, uint32_t row)
{
    const char *plain = iso_database_value(database, row, 5);
    return (struct suite_table){
        .name = copy(iso_database_value(database, row, 0)),
        .identity = copy(iso_database_value(database, row, 6)),
        .columns = copy(iso_database_value(database, row, 1)),
        .looks = copy(iso_database_value(database, row, 2)),
        .oid = (uint32_t)strtoul(iso_database_value(database, row, 3), NULL, 10),
        .made = (uint32_t)strtoul(iso_database_value(database, row, 4), NULL, 10),
        .named = (uint32_t)strtoul(iso_database_value(database, row, 7), NULL, 10),
        .is_plain = plain && *plain == 't'};
}

static bool are_same(const char *one, const char *other)
{
    return one && other ? !strcmp(one, other) : one == other;
}

static bool has_oid(const struct suite_tables *tables, uint32_t oid)
{
    for (uint32_t i = 0; i < tables->count; i++)
        if (tables->list[i].oid == oid)
            return true;
    return false;
}

enum { BATCHES = 2 }; /* the one before the reading, and that in which what it saw may stand */

/* What is known of the table from the reading before. One that had another name, if only for a
 * while, has rows that came under that; one that got a column has it in rows that did not come. */
static void compare(struct suite_table *table, const struct suite_tables *before, bool drained)
{
    const struct suite_table *was = find(before, table->name);
    bool is_same = was && was->oid == table->oid;
    if (!is_same) {
        table->is_new = !has_oid(before, table->oid);
        table->is_unknown = !table->is_new || table->named != table->made || !table->is_plain ||
                            (was && was->is_unknown);
        table->doubt = BATCHES;
        return;
    }
    table->is_new = was->is_new;
    table->is_unknown = was->is_unknown || was->named != table->named ||
                        !are_same(was->columns, table->columns) ||
                        !are_same(was->looks, table->looks);
    table->doubt = was->doubt - (was->doubt && drained);
    table->is_unknown |= table->is_new && !table->doubt; /* a subtransaction made it */
}

/* A table that is gone may have been altered before. */
static void keep(struct suite_tables *now, struct suite_table *gone)
{
    ISO_GROW(now->list, now->count, now->capacity);
    now->list[now->count] = *gone;
    now->list[now->count].doubt = gone->is_gone ? gone->doubt - (gone->doubt > 0) : BATCHES;
    now->list[now->count++].is_gone = true;
    *gone = (struct suite_table){0};
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(((const struct suite_table *)one)->name,
                  ((const struct suite_table *)other)->name);
}

static void sort(struct suite_tables *tables)
{
    if (tables->count)
        qsort(tables->list, tables->count, sizeof *tables->list, compare_names);
}

enum iso_status suite_tables_read(struct suite_tables *tables, struct iso_database *database,
                                  bool is_first, bool drained, struct iso_error *error)
{
    struct suite_tables now = {0};
    if (suite_ask(database, question, error) != ISO_OK)
        return error->status;
    for (uint32_t row = 0; row < iso_database_rows(database); row++) {
        struct suite_table table = take_row(database, row);
        if (!is_first)
            compare(&table, tables, drained);
        ISO_GROW(now.list, now.count, now.capacity);
        now.list[now.count++] = table;
    }
    uint32_t read = now.count;
    sort(&now);
    for (uint32_t i = 0; i < tables->count; i++) {
        struct suite_tables present = {now.list, read, 0};
        if (!find(&present, tables->list[i].name))
            keep(&now, &tables->list[i]);
    }
    sort(&now);
    suite_tables_release(tables);
    *tables = now;
    return ISO_OK;
}
