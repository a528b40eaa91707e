/* Schemas that bootstraps and DDLs told, as an archive: such a message comes once, long before the
 * rows that need it.
 */
#include <string.h>

#include "base/archive.h"
#include "base/memory.h"
#include "connectors/ticdc/tables.h"

char *ticdc_archive_text(struct iso_archive *archive, const char *name, char *text)
{
    uint64_t length = text ? strlen(text) + 1 : 0, capacity = length;
    text = iso_archive_column(archive, name, ISO_ARCHIVE_HEAP, text, &length, &capacity, 1);
    iso_archive_expect(archive, text && length && !text[length - 1] && strlen(text) + 1 == length);
    return text;
}

/* A text that may not be there. */
static char *archive_optional(struct iso_archive *archive, const char *name, char *text)
{
    bool has = text != NULL;
    ISO_ARCHIVE_VALUE(archive, has);
    return has ? ticdc_archive_text(archive, name, archive->restoring ? NULL : text) : NULL;
}

static void archive_column(struct iso_archive *archive, struct ticdc_column *column)
{
    column->name = ticdc_archive_text(archive, "column", column->name);
    column->type = ticdc_archive_text(archive, "type", column->type);
    column->fallback = archive_optional(archive, "default", column->fallback);
    ISO_ARCHIVE_VALUE(archive, column->nullable);
    if (!archive->restoring || archive->error->status != ISO_OK)
        return;
    column->length = (uint32_t)strlen(column->name);
    column->class = ticdc_class_of((struct iso_json_text){column->type, strlen(column->type)});
}

/* Room for as many as the archive says, empty. */
static void *archive_count(struct iso_archive *archive, const char *name, uint32_t *count,
                           void *list, size_t size)
{
    iso_archive_value(archive, name, count, sizeof *count);
    iso_archive_expect(archive, *count <= UINT16_MAX);
    if (!archive->restoring)
        return list;
    *count = archive->error->status == ISO_OK ? *count : 0;
    return iso_allocate_zeroed(*count + 1, size);
}

static void archive_index(struct iso_archive *archive, struct ticdc_index *index)
{
    index->name = archive_optional(archive, "index", index->name);
    ISO_ARCHIVE_VALUE(archive, index->primary);
    ISO_ARCHIVE_VALUE(archive, index->nullable);
    ISO_ARCHIVE_VALUE(archive, index->unordered);
    index->columns =
        archive_count(archive, "keys", &index->count, index->columns, sizeof *index->columns);
    for (uint32_t i = 0; i < index->count && archive->error->status == ISO_OK; i++)
        index->columns[i] = ticdc_archive_text(archive, "key", index->columns[i]);
}

static void archive_table(struct iso_archive *archive, struct ticdc_table *table)
{
    table->database = ticdc_archive_text(archive, "database", table->database);
    table->table = ticdc_archive_text(archive, "table", table->table);
    ISO_ARCHIVE_VALUE(archive, table->version);
    ISO_ARCHIVE_VALUE(archive, table->any_version);
    ISO_ARCHIVE_VALUE(archive, table->from_file);
    table->columns = archive_count(archive, "columns", &table->column_count, table->columns,
                                   sizeof *table->columns);
    for (uint32_t i = 0; i < table->column_count && archive->error->status == ISO_OK; i++)
        archive_column(archive, &table->columns[i]);
    table->indexes = archive_count(archive, "indexes", &table->index_count, table->indexes,
                                   sizeof *table->indexes);
    for (uint32_t i = 0; i < table->index_count && archive->error->status == ISO_OK; i++)
        archive_index(archive, &table->indexes[i]);
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
