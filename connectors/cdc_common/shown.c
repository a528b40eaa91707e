#include "connectors/cdc_common/shown.h"

#include "base/archive.h"
#include "base/memory.h"

void iso_shown_release(struct iso_shown *shown)
{
    iso_text_release(&shown->texts);
    iso_free(shown->tables);
    iso_free(shown->columns);
    *shown = (struct iso_shown){0};
}

/* ---- archive ---- */

static bool is_text(const struct iso_shown *shown, uint32_t at, uint32_t length)
{
    return at <= shown->texts.used && length <= shown->texts.used - at;
}

/* Columns of a table stand in the list in the order in which they are chained. */
static bool is_sound(const struct iso_shown *shown)
{
    for (uint32_t i = 0; i < shown->table_count; i++) {
        const struct iso_shown_table *table = &shown->tables[i];
        bool empty = table->first == ISO_NONE;
        if (!is_text(shown, table->name, table->length) || empty != (table->last == ISO_NONE) ||
            (!empty && (table->first >= shown->column_count || table->last >= shown->column_count)))
            return false;
    }
    for (uint32_t i = 0; i < shown->column_count; i++) {
        const struct iso_shown_column *column = &shown->columns[i];
        bool is_last = column->next == ISO_NONE;
        if (!is_text(shown, column->name, column->length) ||
            (!is_last && (column->next <= i || column->next >= shown->column_count)))
            return false;
    }
    return true;
}

void iso_shown_archive(struct iso_archive *archive, struct iso_shown *shown)
{
    if (archive->restoring)
        iso_shown_release(shown);
    ISO_ARCHIVE_ANY(archive, "shown.texts", ISO_ARCHIVE_HEAP, shown->texts.bytes, shown->texts.used,
                    shown->texts.capacity);
    ISO_ARCHIVE_ANY(archive, "shown.tables", ISO_ARCHIVE_HEAP, shown->tables, shown->table_count,
                    shown->table_capacity);
    ISO_ARCHIVE_ANY(archive, "shown.columns", ISO_ARCHIVE_HEAP, shown->columns, shown->column_count,
                    shown->column_capacity);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, is_sound(shown));
}

/* ---- tables ---- */

static bool is_text_of(const struct iso_shown *shown, uint32_t at, uint32_t length,
                       const char *name, size_t name_length)
{
    return length == name_length && !memcmp(shown->texts.bytes + at, name, length);
}

static uint32_t number_of(const struct iso_shown *shown, struct iso_json_text name)
{
    for (uint32_t i = 0; i < shown->table_count; i++) {
        uint32_t number = (i + shown->last) % shown->table_count; /* mostly the one before */
        if (is_text_of(shown, shown->tables[number].name, shown->tables[number].length, name.at,
                       name.length))
            return number;
    }
    return ISO_NONE;
}

static uint32_t keep_text(struct iso_shown *shown, const char *text, size_t length)
{
    uint32_t at = (uint32_t)shown->texts.used;
    iso_text_put_bytes(&shown->texts, text, length);
    return at;
}

static struct iso_shown_table *find_table(struct iso_shown *shown, struct iso_json_text name)
{
    if (shown->column_count > ISO_SHOWN_MAX || shown->table_count > ISO_SHOWN_MAX ||
        shown->texts.used > ISO_SHOWN_BYTES_MAX)
        shown->texts.used = shown->table_count = shown->column_count = 0;
    uint32_t number = number_of(shown, name);
    if (number == ISO_NONE) {
        ISO_GROW(shown->tables, shown->table_count, shown->table_capacity);
        number = shown->table_count++;
        shown->tables[number] =
            (struct iso_shown_table){.name = keep_text(shown, name.at, name.length),
                                     .length = (uint32_t)name.length,
                                     .first = ISO_NONE,
                                     .last = ISO_NONE};
    }
    shown->last = number;
    return &shown->tables[number];
}

/* ---- columns ---- */

static bool is_named(const struct iso_shown *shown, uint32_t column, const struct iso_cell *cell)
{
    return is_text_of(shown, shown->columns[column].name, shown->columns[column].length, cell->name,
                      cell->name_length);
}

static uint32_t find_column(const struct iso_shown *shown, const struct iso_shown_table *table,
                            const struct iso_cell *cell)
{
    uint32_t column = table->first;
    while (column != ISO_NONE && !is_named(shown, column, cell))
        column = shown->columns[column].next;
    return column;
}

static uint32_t add_column(struct iso_shown *shown, struct iso_shown_table *table,
                           const struct iso_cell *cell)
{
    ISO_GROW(shown->columns, shown->column_count, shown->column_capacity);
    uint32_t number = shown->column_count++;
    shown->columns[number] =
        (struct iso_shown_column){.name = keep_text(shown, cell->name, cell->name_length),
                                  .length = cell->name_length,
                                  .next = ISO_NONE,
                                  .varies = table->rows > 1};
    if (table->last == ISO_NONE)
        table->first = number;
    else
        shown->columns[table->last].next = number;
    table->last = number;
    return number;
}

static void note_missing(struct iso_shown *shown, const struct iso_shown_table *table,
                         iso_shown_changed *changed, void *context)
{
    for (uint32_t i = table->first; i != ISO_NONE; i = shown->columns[i].next) {
        struct iso_shown_column *column = &shown->columns[i];
        if (column->row == table->rows || column->varies)
            continue;
        column->varies = true;
        changed(context, shown->texts.bytes + column->name, column->length);
    }
}

bool iso_shown_take(struct iso_shown *shown, struct iso_json_text name, const struct iso_row *row,
                    iso_shown_changed *changed, void *context)
{
    struct iso_shown_table *table = find_table(shown, name);
    uint32_t at = table->first; /* mostly columns come in the order in which they came first */
    bool missed = false;
    table->rows++;
    for (uint32_t i = 0; i < row->count; i++) {
        const struct iso_cell *cell = &row->cells[i];
        if (cell->is_key)
            continue;
        if (at == ISO_NONE || !is_named(shown, at, cell)) {
            missed = true;
            at = find_column(shown, table, cell);
        }
        if (at == ISO_NONE) {
            at = add_column(shown, table, cell);
            if (shown->columns[at].varies)
                changed(context, cell->name, cell->name_length);
        } else if (shown->columns[at].row == table->rows) {
            return false;
        }
        shown->columns[at].row = table->rows;
        at = shown->columns[at].next;
    }
    if (missed || at != ISO_NONE)
        note_missing(shown, table, changed, context);
    return true;
}

void iso_shown_complete(struct iso_shown *shown, struct iso_json_text name, struct iso_row *row)
{
    const struct iso_shown_table *table = find_table(shown, name);
    for (uint32_t i = table->first; i != ISO_NONE; i = shown->columns[i].next) {
        const char *column = shown->texts.bytes + shown->columns[i].name;
        if (iso_row_find(row, column, shown->columns[i].length))
            continue;
        struct iso_cell *cell = iso_row_add(row, column, shown->columns[i].length);
        cell->kind = ISO_CELL_UNKNOWN;
        cell->is_doubted = true;
    }
}

enum iso_column_coverage iso_shown_find(const struct iso_shown *shown, struct iso_json_text table,
                                        struct iso_json_text column)
{
    const struct iso_cell cell = {.name = column.at, .name_length = (uint32_t)column.length};
    uint32_t number = number_of(shown, table);
    if (number == ISO_NONE || !shown->tables[number].rows)
        return ISO_COLUMN_UNSEEN;
    return find_column(shown, &shown->tables[number], &cell) == ISO_NONE ? ISO_COLUMN_NOT_SHOWN
                                                                         : ISO_COLUMN_SHOWN;
}
