#define _GNU_SOURCE
#include "observe/catalog.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"

struct catalog *catalog_new(void)
{
    static _Atomic uint64_t serial;
    struct catalog *catalog = iso_allocate_zeroed(1, sizeof *catalog);
    catalog->references = 1;
    catalog->serial = ++serial;
    pthread_mutex_init(&catalog->lock, NULL);
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
        ISO_FREE_ALL(table->columns, table->schema, table->name, table->full);
    }
    for (uint32_t i = 0; i < catalog->shadow_count; i++)
        iso_free(catalog->shadows[i].name);
    for (uint32_t i = 0; i < catalog->used_count; i++)
        iso_free(catalog->used[i]);
    pthread_mutex_destroy(&catalog->lock);
    ISO_FREE_ALL(catalog->shadows, catalog->by_name, catalog->tables, catalog);
}

enum {
    OID,
    SCHEMA,
    TABLE,
    TAKEN,
    HIDES,
    NUMBER,
    COLUMN,
    TYPE,
    KEY,
    COMPARES,
    ALONE,
    PLAIN,
    CLASS,
    MOST,
    KEEPS,
    GENERATION,
    FIELDS
};

static bool is_allowed(const struct catalog_table *table, const char *const *tables,
                       uint32_t table_count)
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

static struct catalog_table *add_table(struct catalog *catalog, const char *const fields[FIELDS],
                                       const char *const *tables, uint32_t table_count)
{
    uint32_t oid = (uint32_t)strtoul(fields[OID], NULL, 10);
    if (catalog->count && catalog->tables[catalog->count - 1].oid == oid)
        return &catalog->tables[catalog->count - 1];
    ISO_GROW(catalog->tables, catalog->count, catalog->capacity);
    struct catalog_table *table = &catalog->tables[catalog->count++];
    struct iso_text full = {0}; /* as change streams' names of rows begin (values/row.h) */
    iso_text_put_escaped(&full, fields[SCHEMA], strlen(fields[SCHEMA]), "%/,.");
    iso_text_put(&full, ".");
    iso_text_put_escaped(&full, fields[TABLE], strlen(fields[TABLE]), "%/,");
    if (catalog->tells_oids)
        iso_text_format(&full, "~%" PRIu32, oid);
    *table = (struct catalog_table){.oid = oid,
                                    .schema = iso_copy_text(fields[SCHEMA], strlen(fields[SCHEMA])),
                                    .name = iso_copy_text(fields[TABLE], strlen(fields[TABLE])),
                                    .full = iso_copy_text(full.bytes, full.used),
                                    .hides_rows = *fields[HIDES] == 't',
                                    .is_plain = *fields[PLAIN] == 't',
                                    .keeps_keys = *fields[KEEPS] == 't',
                                    .generation = strtoull(fields[GENERATION], NULL, 10),
                                    .is_written_alone = *fields[ALONE] == 't'};
    iso_text_release(&full);
    table->is_taken = *fields[TAKEN] == 't' && is_allowed(table, tables, table_count);
    add_key(table, fields[KEY]);
    return table;
}

static void add_shadow(struct catalog *catalog, const char *const fields[FIELDS])
{
    if (*fields[SCHEMA] == 'g') {
        catalog->generation = strtoull(fields[GENERATION], NULL, 10);
        return;
    }
    ISO_GROW(catalog->shadows, catalog->shadow_count, catalog->shadow_capacity);
    catalog->shadows[catalog->shadow_count++] =
        (struct catalog_shadow){.kind = *fields[SCHEMA],
                                .is_of_any = *fields[TAKEN] == 't',
                                .name = iso_copy_text(fields[TABLE], strlen(fields[TABLE]))};
}

bool catalog_is_system(const struct catalog_table *table)
{
    return table->oid < 16384; /* of an object that initdb made */
}

void catalog_add_row(struct catalog *catalog, const char *const *fields, const char *const *tables,
                     uint32_t table_count)
{
    if (!strcmp(fields[OID], "0")) {
        add_shadow(catalog, fields);
        return;
    }
    struct catalog_table *table = add_table(catalog, fields, tables, table_count);
    if (catalog_is_system(table))
        return;
    ISO_GROW(table->columns, table->column_count, table->column_capacity);
    struct catalog_column *column = &table->columns[table->column_count++];
    *column =
        (struct catalog_column){.number = (int16_t)atoi(fields[NUMBER]),
                                .type = (uint32_t)strtoul(fields[TYPE], NULL, 10),
                                .compares_bytes = *fields[COMPARES] != 'f',
                                .has_own_order = *fields[COMPARES] == 'e',
                                .type_class = *fields[CLASS] ? *fields[CLASS] : ' ',
                                .most = (uint32_t)strtoul(fields[MOST], NULL, 10),
                                .name = iso_copy_text(fields[COLUMN], strlen(fields[COLUMN]))};
    table->has_user_types |= column->type_class != ' ';
    for (uint32_t i = 0; i < table->key_count; i++)
        column->is_key |= table->key[i] == column->number;
}

bool catalog_add(struct catalog *catalog, struct wire_cursor row, const char *const *tables,
                 uint32_t table_count)
{
    char texts[FIELDS][256];
    const char *fields[FIELDS];
    if (wire_u16(&row) != FIELDS)
        return false;
    for (int i = 0; i < FIELDS; i++) {
        uint32_t size = wire_u32(&row);
        fields[i] = texts[i];
        *texts[i] = 0;
        if (size == UINT32_MAX)
            continue;
        const uint8_t *bytes = wire_bytes(&row, size);
        if (!bytes || size >= sizeof texts[i])
            return false;
        memcpy(texts[i], bytes, size);
        texts[i][size] = 0;
    }
    catalog_add_row(catalog, fields, tables, table_count);
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

static int compare_tables(const void *left, const void *right, void *context)
{
    const struct catalog *catalog = context;
    return strcmp(catalog->tables[*(const uint32_t *)left].name,
                  catalog->tables[*(const uint32_t *)right].name);
}

static int compare_shadows(const void *left, const void *right)
{
    const struct catalog_shadow *one = left, *other = right;
    return one->kind != other->kind ? one->kind - other->kind : strcmp(one->name, other->name);
}

void catalog_end(struct catalog *catalog)
{
    catalog->by_name =
        iso_allocate_zeroed(catalog->count ? catalog->count : 1, sizeof *catalog->by_name);
    for (uint32_t i = 0; i < catalog->count; i++)
        catalog->by_name[i] = i;
    qsort_r(catalog->by_name, catalog->count, sizeof *catalog->by_name, compare_tables, catalog);
    if (catalog->shadow_count)
        qsort(catalog->shadows, catalog->shadow_count, sizeof *catalog->shadows, compare_shadows);
}

const struct catalog_table *catalog_next_named(const struct catalog *catalog, const char *schema,
                                               const char *name, uint32_t *position)
{
    uint32_t low = *position, high = catalog ? catalog->count : 0;
    while (!*position && low < high) {
        uint32_t middle = (low + high) / 2;
        if (strcmp(catalog->tables[catalog->by_name[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; catalog && low < catalog->count; low++) {
        const struct catalog_table *table = &catalog->tables[catalog->by_name[low]];
        if (strcmp(table->name, name))
            return NULL;
        *position = low + 1;
        if (!*schema || !strcmp(table->schema, schema))
            return table;
    }
    return NULL;
}

const struct catalog_shadow *catalog_find_shadow(const struct catalog *catalog, char kind,
                                                 const char *name)
{
    const struct catalog_shadow wanted = {.kind = kind, .name = (char *)(uintptr_t)name};
    return catalog->shadow_count ? bsearch(&wanted, catalog->shadows, catalog->shadow_count,
                                           sizeof wanted, compare_shadows)
                                 : NULL;
}

const struct catalog_column *catalog_column(const struct catalog_table *table, int16_t number)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (table->columns[i].number == number)
            return &table->columns[i];
    return NULL;
}

const struct catalog_column *catalog_column_named(const struct catalog_table *table,
                                                  const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, name))
            return &table->columns[i];
    return NULL;
}
