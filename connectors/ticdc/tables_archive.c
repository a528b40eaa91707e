/* Schemas that bootstraps and DDLs told, as an archive: such a message comes once, long before the rows that need it.
 */
#include <string.h>

#include "base/archive.h"
#include "base/memory.h"
#include "connectors/ticdc/tables.h"

/* A text with its NUL; restoring: a new one, or NULL after an error. */
static char *archive_text(struct iso_archive *archive, const char *name, char *text)
{
    uint64_t length = text ? strlen(text) + 1 : 0, capacity = length;
    text = iso_archive_column(archive, name, ISO_ARCHIVE_HEAP, text, &length, &capacity, 1);
    iso_archive_expect(archive, text && length && !text[length - 1] && strlen(text) + 1 == length);
    return text;
}

static void archive_columns(struct iso_archive *archive, struct ticdc_table *table)
{
    uint32_t count = table->column_count;
    ISO_ARCHIVE_ANY(archive, "columns", ISO_ARCHIVE_HEAP, table->columns, count, count);
    for (uint32_t i = 0; archive->restoring && i < count; i++)
        table->columns[i].name = NULL; /* of another process */
    table->column_count = count;
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        struct ticdc_column *column = &table->columns[i];
        column->name = archive_text(archive, "column", column->name);
        iso_archive_expect(archive, column->name && strlen(column->name) == column->length &&
                                        (unsigned)column->class <= TICDC_BYTES);
    }
}

static void archive_keys(struct iso_archive *archive, struct ticdc_table *table)
{
    uint32_t count = table->key_count;
    iso_archive_value(archive, "keys", &count, sizeof count);
    iso_archive_expect(archive, count <= UINT16_MAX);
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        char *name = archive_text(archive, "key", archive->restoring ? NULL : table->keys[i]);
        if (!archive->restoring)
            continue;
        if (archive->error->status == ISO_OK)
            ticdc_table_add_key(table, (struct iso_json_text){name, strlen(name)});
        iso_free(name);
    }
}

static void archive_table(struct iso_archive *archive, struct ticdc_table *table)
{
    table->database = archive_text(archive, "database", table->database);
    table->table = archive_text(archive, "table", table->table);
    ISO_ARCHIVE_VALUE(archive, table->version);
    ISO_ARCHIVE_VALUE(archive, table->any_version);
    ISO_ARCHIVE_VALUE(archive, table->has_primary);
    archive_columns(archive, table);
    archive_keys(archive, table);
}

void ticdc_tables_archive(struct iso_archive *archive, struct ticdc_tables *tables)
{
    uint32_t count = tables->count;
    if (archive->restoring)
        ticdc_tables_release(tables);
    iso_archive_value(archive, "tables", &count, sizeof count);
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        struct ticdc_table *table = archive->restoring ? ticdc_table_new() : tables->list[i];
        archive_table(archive, table);
        if (archive->restoring && archive->error->status == ISO_OK)
            ticdc_tables_put(tables, table);
        else if (archive->restoring)
            ticdc_table_free(table);
    }
}
