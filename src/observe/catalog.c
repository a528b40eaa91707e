#include "observe/catalog.h"

#include <stdlib.h>

#include "base/memory.h"

/* As texts; in one row a column of a table. Tables without columns are none of ours. */
const char catalog_query[] =
    "SELECT c.oid::pg_catalog.text, n.nspname::pg_catalog.text, c.relname::pg_catalog.text,"
    " ((c.relkind = 'r' AND NOT c.relispartition AND NOT c.relhassubclass OR c.relkind = 'p' AND NOT c.relispartition AND"
    " EXISTS (SELECT 1 FROM pg_catalog.pg_publication WHERE pubviaroot)) AND c.relpersistence = 'p' AND"
    " (p.tablename IS NOT NULL OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_publication)))::pg_catalog.text,"
    " c.relrowsecurity::pg_catalog.text, a.attnum::pg_catalog.text, a.attname::pg_catalog.text,"
    " a.atttypid::pg_catalog.int8::pg_catalog.text, coalesce(i.indkey::pg_catalog.text, ''),"
    " coalesce(o.collisdeterministic, true)::pg_catalog.text,"
    " (NOT c.relhasrules AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)"
    " AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint f WHERE f.confrelid = c.oid AND f.contype = 'f' AND"
    " (f.confdeltype IN ('c', 'n', 'd') OR f.confupdtype IN ('c', 'n', 'd'))))::pg_catalog.text"
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary"
    " LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation"
    " LEFT JOIN (SELECT DISTINCT schemaname, tablename FROM pg_catalog.pg_publication_tables) p"
    " ON p.schemaname = n.nspname AND p.tablename = c.relname"
    " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('information_schema', 'pg_catalog', 'pg_toast')"
    " AND pg_catalog.pg_current_snapshot() IS NOT NULL" /* which fails here, and not in a client's transaction */
    " ORDER BY c.oid, a.attnum";

struct catalog *catalog_new(void)
{
    struct catalog *catalog = iso_allocate_zeroed(1, sizeof *catalog);
    catalog->references = 1;
    return catalog;
}

struct catalog *catalog_share(struct catalog *catalog)
{
    catalog->references++;
    return catalog;
}

void catalog_release(struct catalog *catalog)
{
    if (!catalog || --catalog->references)
        return;
    for (uint32_t i = 0; i < catalog->count; i++) {
        struct catalog_table *table = &catalog->tables[i];
        for (uint32_t j = 0; j < table->column_count; j++)
            iso_free(table->columns[j].name);
        iso_free(table->columns);
        iso_free(table->schema);
        iso_free(table->name);
        iso_free(table->full);
    }
    iso_free(catalog->tables);
    iso_free(catalog);
}

enum { OID, SCHEMA, TABLE, TAKEN, HIDES, NUMBER, COLUMN, TYPE, KEY, COMPARES, ALONE, FIELDS };

static bool is_allowed(const struct catalog_table *table, const char *const *tables, uint32_t table_count)
{
    for (uint32_t i = 0; i < table_count; i++)
        if (!strcmp(tables[i], table->name) || !strcmp(tables[i], table->full))
            return true;
    return !table_count;
}

static void add_key(struct catalog_table *table, const char *numbers)
{
    for (char *end; *numbers; numbers = end) {
        long number = strtol(numbers, &end, 10);
        if (end == numbers)
            return;
        if (number <= 0 || table->key_count == CATALOG_KEY_MOST) { /* an expression, or too many */
            table->key_count = 0;
            return;
        }
        table->key[table->key_count++] = (int16_t)number;
    }
}

static struct catalog_table *add_table(struct catalog *catalog, char fields[FIELDS][256], const char *const *tables,
                                       uint32_t table_count)
{
    uint32_t oid = (uint32_t)strtoul(fields[OID], NULL, 10);
    if (catalog->count && catalog->tables[catalog->count - 1].oid == oid)
        return &catalog->tables[catalog->count - 1];
    ISO_GROW(catalog->tables, catalog->count, catalog->capacity);
    struct catalog_table *table = &catalog->tables[catalog->count++];
    char full[513];
    size_t schema = strlen(fields[SCHEMA]);
    memcpy(full, fields[SCHEMA], schema);
    full[schema] = '.';
    memcpy(full + schema + 1, fields[TABLE], strlen(fields[TABLE]) + 1);
    *table = (struct catalog_table){.oid = oid,
                                    .schema = iso_copy_text(fields[SCHEMA], schema),
                                    .name = iso_copy_text(fields[TABLE], strlen(fields[TABLE])),
                                    .full = iso_copy_text(full, strlen(full)),
                                    .hides_rows = *fields[HIDES] == 't',
                                    .is_written_alone = *fields[ALONE] == 't'};
    table->is_taken = *fields[TAKEN] == 't' && is_allowed(table, tables, table_count);
    add_key(table, fields[KEY]);
    return table;
}

bool catalog_add(struct catalog *catalog, struct wire_cursor row, const char *const *tables, uint32_t table_count)
{
    char fields[FIELDS][256];
    if (wire_u16(&row) != FIELDS)
        return false;
    for (int i = 0; i < FIELDS; i++) {
        uint32_t size = wire_u32(&row);
        *fields[i] = 0;
        if (size == UINT32_MAX)
            continue;
        const uint8_t *bytes = wire_bytes(&row, size);
        if (!bytes || size >= sizeof fields[i])
            return false;
        memcpy(fields[i], bytes, size);
        fields[i][size] = 0;
    }
    struct catalog_table *table = add_table(catalog, fields, tables, table_count);
    ISO_GROW(table->columns, table->column_count, table->column_capacity);
    struct catalog_column *column = &table->columns[table->column_count++];
    *column = (struct catalog_column){.number = (int16_t)atoi(fields[NUMBER]),
                                      .type = (uint32_t)strtoul(fields[TYPE], NULL, 10),
                                      .compares_bytes = *fields[COMPARES] == 't',
                                      .name = iso_copy_text(fields[COLUMN], strlen(fields[COLUMN]))};
    for (uint32_t i = 0; i < table->key_count; i++)
        column->is_key |= table->key[i] == column->number;
    return true;
}

const struct catalog_table *catalog_find(const struct catalog *catalog, uint32_t oid)
{
    uint32_t low = 0, high = catalog ? catalog->count : 0;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (catalog->tables[middle].oid == oid)
            return &catalog->tables[middle];
        if (catalog->tables[middle].oid < oid)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct catalog_table *catalog_find_name(const struct catalog *catalog, const char *schema, const char *name)
{
    const struct catalog_table *found = NULL;
    for (uint32_t i = 0; catalog && i < catalog->count; i++) {
        const struct catalog_table *table = &catalog->tables[i];
        if (strcmp(table->name, name) || (*schema && strcmp(table->schema, schema)))
            continue;
        if (found)
            return NULL; /* which of them it is, the search path knows */
        found = table;
    }
    return found;
}

const struct catalog_column *catalog_column(const struct catalog_table *table, int16_t number)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (table->columns[i].number == number)
            return &table->columns[i];
    return NULL;
}

const struct catalog_column *catalog_column_named(const struct catalog_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, name))
            return &table->columns[i];
    return NULL;
}
