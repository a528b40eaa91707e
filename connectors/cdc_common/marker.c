#include "connectors/cdc_common/marker.h"

#include <string.h>

#include "base/memory.h"

void iso_marker_init(struct iso_marker *marker, const char *option)
{
    const char *dot = option ? strrchr(option, '.') : NULL;
    const char *column = dot ? dot + 1 : option;
    *marker = (struct iso_marker){0};
    if (dot)
        marker->table = iso_copy_text(option, (size_t)(dot - option));
    if (column)
        marker->column = iso_copy_text(column, strlen(column));
}

void iso_marker_release(struct iso_marker *marker)
{
    iso_free(marker->table);
    iso_free(marker->column);
    *marker = (struct iso_marker){0};
}

bool iso_marker_is_table(const struct iso_marker *marker, const char *table, size_t length)
{
    return marker->table && strlen(marker->table) == length &&
           !memcmp(marker->table, table, length);
}

static struct iso_cell *find_cell(const struct iso_marker *marker, struct iso_row *row)
{
    return (struct iso_cell *)iso_row_find(row, marker->column, strlen(marker->column));
}

void iso_marker_hide(const struct iso_marker *marker, struct iso_row *row)
{
    struct iso_cell *cell = marker->column && !marker->table ? find_cell(marker, row) : NULL;
    if (cell)
        cell->is_key = true;
}

static void note_marker(const struct iso_marker *marker, struct iso_row *row,
                        struct iso_atoms *atoms, struct iso_event *event)
{
    iso_atom tid;
    if (iso_row_value(row, atoms, marker->column, &tid) != ISO_ROW_KNOWN || tid == ISO_ABSENT)
        return;
    event->marker = tid;
    event->flags |= ISO_EVENT_HAS_MARKER;
}

void iso_marker_take(const struct iso_marker *marker, struct iso_row *row, struct iso_atoms *atoms,
                     struct iso_event *event)
{
    if (!marker->column || marker->table)
        return;
    iso_marker_hide(marker, row);
    note_marker(marker, row, atoms, event);
}

void iso_marker_take_row(const struct iso_marker *marker, struct iso_row *row,
                         struct iso_atoms *atoms, struct iso_event *event)
{
    event->type = ISO_EVENT_IGNORED;
    event->reason = "a row that says whose transaction it is";
    if (row)
        note_marker(marker, row, atoms, event);
}
