#include "suite/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "suite/slot.h"

/* clang-format off */
#define ESCAPED(name) "replace(replace(replace(replace(" name \
    ", '%', '%25'), '/', '%2F'), ',', '%2C'), '#', '%23')"
/* xmin of a system column's row is the transaction that made the table, and its cmin the command;
 * of the others', the last one that changed the column; of the row type's, the one that gave it
 * its name. Columns that came or changed behind the making are of another command, too; those that
 * got their default with the making are of the next one, and no column that comes later is: that
 * gets its default one further on. Likewise the row type, and the schema: what was renamed behind
 * the making has rows in the log under another name. Planning takes longer than reading. */
static const char prepare[] =
    "PREPARE isochron_tables AS SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), "
    "(SELECT string_agg(quote_ident(a.attname), ',' ORDER BY k.at) FROM pg_index i, "
    "unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) WITH ORDINALITY k(number, at) "
    "JOIN pg_attribute a ON a.attnum = k.number "
    "WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid), "
    "(SELECT coalesce(string_agg(concat_ws(' ', a.attnum, a.attname, "
    "a.atttypid, a.atttypmod, a.attisdropped), ',' ORDER BY a.attnum), '') "
    "|| c.relpersistence::text || ';' || string_agg(a.xmin::text, ',' ORDER BY a.attnum) "
    "FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0), "
    "c.oid, s.xmin, NOT EXISTS (SELECT FROM pg_attribute a "
    "WHERE a.attrelid = c.oid AND a.attnum > 0 AND (a.xmin <> s.xmin OR "
    "a.cmin::text::int8 NOT IN (s.cmin::text::int8, s.cmin::text::int8 + a.atthasdef::int))) "
    "AND t.cmin::text::int8 <= s.cmin::text::int8 + 1 "
    "AND (n.xmin <> s.xmin OR n.cmin::text::int8 <= s.cmin::text::int8 + 1), "
    "CASE WHEN n.nspname || c.relname !~ ';' AND c.relpersistence = 'p' THEN replace(" ESCAPED("n.nspname") ", '.', '%2E') "
    "|| '.' || " ESCAPED("c.relname") " END, t.xmin, "
    "quote_ident(n.nspname) || '.\"' || replace(c.relname, '\"', '\"\"'), "
    "pg_current_wal_insert_lsn() - '0/0', c.relfilenode "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute s "
    "ON s.attrelid = c.oid AND s.attname = 'xmin' AND s.attnum < 0 "
    "JOIN pg_type t ON t.oid = c.reltype "
    "WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname <> 'information_schema' "
    "AND n.nspname NOT LIKE 'pg\\_%'";
/* clang-format on */

static char *copy(const char *text)
{
    return text ? iso_copy_text(text, strlen(text)) : NULL;
}

void suite_tables_release(struct suite_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        struct suite_table *table = &tables->list[i];
        ISO_FREE_ALL(table->name, table->label, table->identity, table->columns, table->looks);
    }
    iso_number_map_release(&tables->by_name);
    iso_number_map_release(&tables->by_oid);
    iso_number_map_release(&tables->by_given);
    iso_free(tables->given.list);
    suite_snapshots_release(&tables->snapshots);
    iso_free(tables->list);
    *tables = (struct suite_tables){0};
}

/* ---- whose it is ---- */

struct suite_table *suite_tables_find(const struct suite_tables *tables, const char *name,
                                      size_t length, uint32_t xid, uint64_t place)
{
    struct suite_table *found = NULL;
    for (uint32_t i = iso_number_map_get(&tables->by_name, iso_hash_text(name, length));
         i != ISO_NUMBER_NONE; i = tables->list[i].of_name) {
        struct suite_table *table = &tables->list[i];
        if (suite_table_is_made_by(table, xid) && !found)
            return table;
        bool was_there = table->has_begun || place >= table->from;
        if (was_there && suite_snapshots_see(&tables->snapshots, table->seen, xid))
            found = table; /* also one that was there before the newest was made */
    }
    return found;
}

static int64_t since_of(const struct suite_table *table)
{
    return table->is_new && table->has_begun && !table->is_met ? 0 : table->since;
}

struct suite_table *suite_tables_meant(const struct suite_tables *tables, uint32_t oid,
                                       int64_t sent, int64_t answered)
{
    for (uint32_t i = iso_number_map_get(&tables->by_oid, oid); i != ISO_NUMBER_NONE;
         i = tables->list[i].of_oid)
        if (sent >= since_of(&tables->list[i]) && answered <= tables->list[i].until)
            return &tables->list[i];
    return NULL;
}

/* ---- a reading ---- */

/* A row of the question's answer. */
enum { NAME, COLUMNS, LOOKS, OID, MADE, PLAIN, IDENTITY, NAMED, OPEN, PLACE, FILE_ON_DISK };
_Static_assert(FILE_ON_DISK + 1 == SUITE_TABLES_COLUMNS, "a row has as many");

static uint32_t number_of(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static struct suite_table take_row(const char *const *row)
{
    return (struct suite_table){.name = copy(row[NAME]),
                                .identity = copy(row[IDENTITY]),
                                .columns = copy(row[COLUMNS]),
                                .looks = copy(row[LOOKS]),
                                .oid = number_of(row[OID]),
                                .made = number_of(row[MADE]),
                                .named = number_of(row[NAMED]),
                                .file = number_of(row[FILE_ON_DISK]),
                                .place = strtoull(row[PLACE], NULL, 10),
                                .keyless = ISO_NUMBER_NONE,
                                .is_plain = row[PLAIN] && *row[PLAIN] == 't'};
}

static bool are_same(const char *one, const char *other)
{
    return one && other ? !strcmp(one, other) : one == other;
}

static bool is_same(const struct suite_table *one, const struct suite_table *other)
{
    return one->named == other->named && are_same(one->name, other->name) &&
           are_same(one->columns, other->columns) && are_same(one->looks, other->looks);
}

/* Columns without who defined them last: "1 id 23 -1 f,2 v 25 -1 fp;812,812". */
static bool look_the_same(const char *one, const char *other)
{
    const char *end = one ? strrchr(one, ';') : NULL, *others = other ? strrchr(other, ';') : NULL;
    return end && others && end - one == others - other && !memcmp(one, other, (size_t)(end - one));
}

/* It is the same, with the same rows, and has a key now. */
static bool gets_key(const struct suite_table *before, const struct suite_table *table)
{
    return before->is_new && !before->columns && table->columns && before->file == table->file &&
           before->named == table->named && are_same(before->name, table->name) &&
           look_the_same(before->looks, table->looks);
}

/* "public.a", or behind another of that name "public.\"a~3\"". */
static void label(struct suite_table *table, const char *open, uint32_t number)
{
    struct iso_text text = {0};
    if (table->of_name == ISO_NUMBER_NONE) {
        table->label = copy(table->name);
        return;
    }
    iso_text_format(&text, "%s~%" PRIu32 "\"", open, number);
    table->label = iso_copy_text(text.bytes, text.used);
    text.used = 0;
    iso_text_format(&text, "%s~%" PRIu32, table->identity ? table->identity : "", number);
    char *plain = table->identity;
    table->identity = plain ? iso_copy_text(text.bytes, text.used) : NULL;
    iso_free(plain);
    iso_text_release(&text);
}

/* Of "public.\"A\"" the A. */
static uint64_t hash_without_schema(const char *name)
{
    struct iso_text bare = {0};
    bool is_quoted = false;
    for (; *name && (is_quoted || *name != '.'); name++)
        is_quoted ^= *name == '"';
    name += *name == '.';
    is_quoted = *name == '"';
    for (name += is_quoted; *name && (!is_quoted || *name != '"' || name[1] == '"'); name++) {
        iso_text_put_bytes(&bare, name, 1);
        name += is_quoted && *name == '"';
    }
    uint64_t hash = iso_hash_text(bare.bytes, bare.used);
    iso_text_release(&bare);
    return hash;
}

/* Where in the log the statement stands that gave it its name. */
static uint64_t take_given(struct suite_tables *tables, const char *name)
{
    uint32_t given = iso_number_map_get(&tables->by_given, hash_without_schema(name));
    uint64_t place = given == ISO_NUMBER_NONE ? UINT64_MAX : tables->given.list[given];
    if (given != ISO_NUMBER_NONE)
        tables->given.list[given] = UINT64_MAX;
    return place > tables->any ? place : tables->any;
}

static void add(struct suite_tables *tables, struct suite_table table, const char *open,
                const struct suite_reading *reading)
{
    uint32_t number = tables->count;
    table.of_name =
        iso_number_map_put(&tables->by_name, iso_hash_text(table.name, strlen(table.name)), number);
    table.of_oid = iso_number_map_put(&tables->by_oid, table.oid, number);
    table.is_new = !reading->is_first && table.of_oid == ISO_NUMBER_NONE &&
                   table.named == table.made && table.is_plain;
    table.is_alone = table.of_name == ISO_NUMBER_NONE ||
                     tables->list[table.of_name].reading + 1 < tables->readings;
    table.has_begun = reading->is_first;
    table.defined = take_given(tables, table.name);
    table.since = reading->is_first ? 0 : reading->answered;
    table.from = reading->is_first ? 0 : table.place;
    label(&table, open, number);
    tables->beginning += !table.has_begun;
    ISO_GROW(tables->list, tables->count, tables->capacity);
    tables->list[tables->count++] = table;
}

static void take_table(struct suite_tables *tables, const char *const *row,
                       const struct suite_reading *reading)
{
    struct suite_table table = take_row(row);
    uint32_t newest = iso_number_map_get(&tables->by_oid, table.oid);
    struct suite_table *known = newest == ISO_NUMBER_NONE ? NULL : &tables->list[newest];
    if (known && !known->is_gone && is_same(known, &table)) {
        ISO_FREE_ALL(table.name, table.identity, table.columns, table.looks);
        known->file = table.file;
        known->place = table.place;
    } else {
        if (known && !known->is_gone && gets_key(known, &table))
            table.keyless = newest;
        if (known)
            known->is_gone = true;
        add(tables, table, row[OPEN], reading);
        known = &tables->list[tables->count - 1];
    }
    known->reading = tables->readings;
    known->until = reading->is_first ? 0 : reading->sent; /* the first one is of a snapshot */
    known->seen = reading->is_first ? 0 : tables->snapshots.count;
}

void suite_tables_take(struct suite_tables *tables, const struct suite_reading *reading,
                       const char *const *rows, uint32_t count)
{
    tables->place = tables->snapshots.inserted;
    tables->readings++;
    for (uint32_t row = 0; row < count; row++)
        take_table(tables, rows + row * (size_t)SUITE_TABLES_COLUMNS, reading);
    for (uint32_t i = 0; i < tables->count; i++)
        tables->list[i].is_gone |= tables->list[i].reading != tables->readings;
}

static void give(struct suite_tables *tables, const char *name)
{
    uint64_t hash = iso_hash_text(name, strlen(name));
    uint32_t known = iso_number_map_get(&tables->by_given, hash);
    if (known == ISO_NUMBER_NONE) {
        iso_number_map_put(&tables->by_given, hash, tables->given.count);
        ISO_APPEND(tables->given, tables->place);
    } else {
        tables->given.list[known] = tables->place;
    }
}

void suite_tables_define(struct suite_tables *tables, const struct suite_definition *definition)
{
    bool is_any = definition->what == SUITE_DEFINES_ANY,
         is_read = definition->what != SUITE_DEFINES_NEXT;
    uint64_t place = is_any ? UINT64_MAX : tables->place;
    if (definition->is_any || is_any || (is_read && tables->any == UINT64_MAX))
        tables->any = place;
    for (uint32_t i = 0; i < definition->count; i++)
        give(tables, definition->names[i]);
}

enum iso_status suite_tables_read(struct suite_tables *tables, struct iso_database *database,
                                  bool is_first, struct iso_error *error)
{
    struct suite_reading reading = {.sent = iso_clock_nanoseconds(), .is_first = is_first};
    if ((is_first && suite_ask(database, prepare, error) != ISO_OK) ||
        suite_snapshots_ask(&tables->snapshots, database, error) != ISO_OK ||
        suite_ask(database, "EXECUTE isochron_tables", error) != ISO_OK)
        return error->status;
    reading.answered = iso_clock_nanoseconds();
    uint32_t count = iso_database_rows(database), most = count * SUITE_TABLES_COLUMNS;
    const char **rows = iso_allocate((most + (size_t)1) * sizeof *rows);
    for (uint32_t i = 0; i < most; i++)
        rows[i] = iso_database_value(database, i / SUITE_TABLES_COLUMNS, i % SUITE_TABLES_COLUMNS);
    suite_tables_take(tables, &reading, rows, count);
    iso_free(rows);
    return ISO_OK;
}
