#include "connectors/envelope/tables.h"

#include <assert.h>
#include <string.h>

#include "base/archive.h"
#include "base/memory.h"

void iso_tables_release(struct iso_tables *tables)
{
    iso_text_release(&tables->texts);
    iso_free(tables->list);
    iso_free(tables->columns);
    *tables = (struct iso_tables){0};
}

/* ---- archive ---- */

static bool is_text(const struct iso_tables *tables, uint32_t at, uint32_t length)
{
    return at <= tables->texts.used && length <= tables->texts.used - at;
}

static bool is_sound(const struct iso_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        const struct iso_table *table = &tables->list[i];
        if (!is_text(tables, table->name, table->length) || table->first > tables->column_count ||
            table->count > tables->column_count - table->first)
            return false;
    }
    for (uint32_t i = 0; i < tables->column_count; i++)
        if (!is_text(tables, tables->columns[i].name, tables->columns[i].length))
            return false;
    return true;
}

void iso_tables_archive(struct iso_archive *archive, struct iso_tables *tables)
{
    if (archive->restoring)
        iso_tables_release(tables);
    ISO_ARCHIVE_VALUE(archive, tables->types);
    ISO_ARCHIVE_ANY(archive, "texts of tables", ISO_ARCHIVE_HEAP, tables->texts.bytes,
                    tables->texts.used, tables->texts.capacity);
    ISO_ARCHIVE_LIST(archive, "tables", ISO_ARCHIVE_HEAP, *tables);
    ISO_ARCHIVE_ANY(archive, "columns of tables", ISO_ARCHIVE_HEAP, tables->columns,
                    tables->column_count, tables->column_capacity);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, is_sound(tables));
}

/* ---- tables ---- */

static bool is_named(const struct iso_tables *tables, const struct iso_table *table,
                     const char *name, size_t length)
{
    return table->length == length && !memcmp(tables->texts.bytes + table->name, name, length);
}

/* Mostly the one before; `count` if it is new. */
static uint32_t number_of(const struct iso_tables *tables, const char *name, size_t length)
{
    if (tables->last < tables->count && is_named(tables, &tables->list[tables->last], name, length))
        return tables->last;
    uint32_t i = 0;
    while (i < tables->count && !is_named(tables, &tables->list[i], name, length))
        i++;
    return i;
}

const struct iso_table *iso_tables_seen(const struct iso_tables *tables, const char *name,
                                        size_t length)
{
    uint32_t number = number_of(tables, name, length);
    return number < tables->count ? &tables->list[number] : NULL;
}

static uint32_t keep_text(struct iso_tables *tables, const char *text, size_t length)
{
    uint32_t at = (uint32_t)tables->texts.used;
    assert(tables->texts.used + length <= UINT32_MAX);
    iso_text_put_bytes(&tables->texts, text, length);
    return at;
}

static void forget(struct iso_tables *tables)
{
    tables->texts.used = 0;
    tables->count = tables->column_count = tables->last = 0;
}

struct iso_table *iso_tables_find(struct iso_tables *tables, const char *name, size_t length)
{
    if (tables->column_count > ISO_TABLES_COLUMNS_MAX || tables->texts.used > ISO_TABLES_BYTES_MAX)
        forget(tables);
    uint32_t number = number_of(tables, name, length);
    if (number == tables->count) {
        if (tables->count == ISO_TABLES_MAX) {
            forget(tables);
            number = 0;
        }
        ISO_GROW(tables->list, tables->count, tables->capacity);
        number = tables->count++;
        tables->list[number] =
            (struct iso_table){.name = keep_text(tables, name, length), .length = (uint32_t)length};
    }
    tables->last = number;
    return &tables->list[number];
}

/* ---- columns ---- */

static struct iso_table_column *columns_of(const struct iso_tables *tables,
                                           const struct iso_table *table)
{
    return tables->columns ? tables->columns + table->first : NULL;
}

/* The column of the cell; mostly it stands where it stood before. */
static struct iso_table_column *find_column(const struct iso_tables *tables,
                                            const struct iso_table *table,
                                            const struct iso_cell *cell, uint32_t guess)
{
    struct iso_table_column *columns = columns_of(tables, table);
    for (uint32_t i = 0; i < table->count; i++) {
        struct iso_table_column *column = &columns[(i + guess) % table->count];
        if (column->length == cell->name_length &&
            !memcmp(tables->texts.bytes + column->name, cell->name, cell->name_length))
            return column;
    }
    return NULL;
}

static bool is_another(uint32_t known, uint32_t type)
{
    bool known_by_schema = known >= ISO_TYPE_DECLARED, by_schema = type >= ISO_TYPE_DECLARED;
    if (!known || !type || known == type || known_by_schema != by_schema)
        return false;
    bool decimal = (known | type) & ISO_TYPE_DECIMAL,
         text = known == ISO_TYPE_STRING || type == ISO_TYPE_STRING;
    return !(decimal && text);
}

static uint32_t type_of(const struct iso_cell *cell, bool typed)
{
    return cell->type ? cell->type : typed ? iso_cell_type(cell) : 0;
}

static bool has_others(const struct iso_tables *tables, const struct iso_table *table,
                       const struct iso_row *row, bool typed)
{
    if (row->count != table->count)
        return true;
    for (uint32_t i = 0; i < row->count; i++) {
        const struct iso_table_column *column = find_column(tables, table, &row->cells[i], i);
        if (!column || is_another(column->type, type_of(&row->cells[i], typed)))
            return true;
    }
    return false;
}

static void tell_respelt(const struct iso_tables *tables, const struct iso_table *table,
                         const struct iso_row *row, bool typed, iso_table_respelt *respelt,
                         void *context)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct iso_table_column *column = &columns_of(tables, table)[i];
        const char *name = tables->texts.bytes + column->name;
        const struct iso_cell *cell = iso_row_find(row, name, column->length);
        if (!column->is_key && (!cell || is_another(column->type, type_of(cell, typed))))
            respelt(context, name, column->length);
    }
}

/* A column whose values were spelt by another type before says nothing more of how they are. */
static void learn_value(struct iso_tables *tables, struct iso_table_column *column,
                        struct iso_value_type value)
{
    static const struct iso_value_type any = {ISO_VALUE_ANY, false, 0};
    if (value.kind == ISO_VALUE_UNKNOWN || iso_value_type_equal(column->value, value) ||
        column->value.kind == ISO_VALUE_ANY)
        return;
    column->value = column->value.kind == ISO_VALUE_UNKNOWN ? value : any;
    tables->types++;
}

/* Learns columns from a row. */
static void learn_columns(struct iso_tables *tables, const struct iso_table *table,
                          const struct iso_row *row, bool typed)
{
    for (uint32_t i = 0; i < row->count; i++) {
        const struct iso_cell *cell = &row->cells[i];
        struct iso_table_column *column = find_column(tables, table, cell, i);
        if (!column->type)
            column->type = type_of(cell, typed);
        column->nullable |= cell->is_nullable || cell->kind == ISO_CELL_NULL;
        column->is_key |= cell->is_key;
        learn_value(tables, column, cell->value);
    }
}

static void take_columns(struct iso_tables *tables, struct iso_table *table,
                         const struct iso_row *row)
{
    const struct iso_table before = *table;
    table->first = tables->column_count;
    table->count = row->count;
    ISO_RESERVE(tables->columns, tables->column_count + row->count, tables->column_capacity);
    for (uint32_t i = 0; i < row->count; i++) {
        const struct iso_table_column *known = find_column(tables, &before, &row->cells[i], i);
        tables->columns[tables->column_count++] = (struct iso_table_column){
            .name = keep_text(tables, row->cells[i].name, row->cells[i].name_length),
            .length = row->cells[i].name_length,
            .value = known ? known->value : (struct iso_value_type){0}};
    }
    table->has_columns = true;
}

static bool is_before(const uint64_t left[2], const uint64_t right[2])
{
    return left[0] != right[0] ? left[0] < right[0] : left[1] < right[1];
}

bool iso_table_changes(struct iso_tables *tables, struct iso_table *table,
                       const struct iso_row *row, const uint64_t *position, bool typed,
                       iso_table_respelt *respelt, void *context)
{
    bool changes = false;
    if (!table->has_columns || has_others(tables, table, row, typed)) {
        changes = table->has_columns;
        if (changes && position && is_before(position, table->began))
            return false; /* of a schema before this one */
        if (changes)
            tell_respelt(tables, table, row, typed, respelt, context);
        if (position)
            memcpy(table->began, position, sizeof table->began);
        take_columns(tables, table, row);
    }
    learn_columns(tables, table, row, typed);
    return changes;
}

struct iso_value_type iso_table_value(const struct iso_tables *tables,
                                      const struct iso_table *table, struct iso_json_text column)
{
    const struct iso_cell cell = {.name = column.at, .name_length = (uint32_t)column.length};
    const struct iso_table_column *known = find_column(tables, table, &cell, 0);
    return known ? known->value : (struct iso_value_type){0};
}

struct iso_json_text iso_table_key(const struct iso_tables *tables, const struct iso_table *table)
{
    struct iso_json_text key = {NULL, 0};
    for (uint32_t i = table->first; i < table->first + table->count; i++) {
        const struct iso_table_column *column = &tables->columns[i];
        if (column->is_key && key.at)
            return (struct iso_json_text){NULL, 0};
        if (column->is_key)
            key = (struct iso_json_text){tables->texts.bytes + column->name, column->length};
    }
    return key;
}

/* ---- before images ---- */

static bool shows_a_nullable(const struct iso_tables *tables, const struct iso_table *table,
                             const struct iso_row *before)
{
    for (uint32_t i = 0; i < before->count; i++) {
        const struct iso_cell *cell = &before->cells[i];
        if (cell->is_key || cell->kind == ISO_CELL_NULL || cell->kind == ISO_CELL_UNKNOWN)
            continue;
        const struct iso_table_column *column = find_column(tables, table, cell, i);
        if (cell->is_nullable || (column && column->nullable))
            return true;
    }
    return false;
}

static void learn_identity(const struct iso_tables *tables, struct iso_table *table,
                           const struct iso_row *before, const uint64_t position[2])
{
    bool is_full = table->is_full && !table->is_over,
         again = table->is_over && is_before(position, table->over);
    if (!is_full && !again && shows_a_nullable(tables, table, before)) {
        table->is_full = true;
        table->is_over = false;
        memcpy(table->full, table->newest, sizeof table->full);
    } else if (is_full && !before->count && !is_before(position, table->full)) {
        table->is_over = true;
        memcpy(table->over, position, sizeof table->over);
    }
}

bool iso_table_is_whole(const struct iso_tables *tables, struct iso_table *table,
                        const struct iso_row *before, const uint64_t position[2], bool is_update)
{
    if (is_before(table->newest, position))
        memcpy(table->newest, position, sizeof table->newest);
    if (is_update)
        learn_identity(tables, table, before, position);
    return before->count && table->is_full && !is_before(position, table->full) &&
           (!table->is_over || is_before(position, table->over));
}
