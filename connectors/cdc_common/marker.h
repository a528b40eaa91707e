/* A marker: where in a change stream a client's own id of its transaction stands.
 *
 * Where no id is known on both sides, the client writes one: into a column of every row that it
 * writes (`marker=COLUMN`), or into a row of a table of its own that is there for nothing else
 * (`marker=SCHEMA.TABLE.COLUMN`, which may be the table's key). The column is not part of a row's
 * value, and a row of such a table is no row that is checked. Only a row after a change says whose
 * change it was: the row before has the marker of the change before.
 */
#pragma once

#include "values/row.h"
#include "values/source.h"

struct iso_marker {
    char *table;  /* NULL: rows of every table carry it */
    char *column; /* NULL: none does */
};

/* `option`: "column", "schema.table.column", or NULL for none. */
void iso_marker_init(struct iso_marker *marker, const char *option);
void iso_marker_release(struct iso_marker *marker);

/* Whether rows of the table are markers and nothing else. */
bool iso_marker_is_table(const struct iso_marker *marker, const char *table, size_t length);

/* Keeps the column out of the row's value. After the row's key is known. */
void iso_marker_hide(const struct iso_marker *marker, struct iso_row *row);

/* Takes the marker of a row's new image: the event gets the transaction's name, if the row has
 * one. */
void iso_marker_take(const struct iso_marker *marker, struct iso_row *row, struct iso_atoms *atoms,
                     struct iso_event *event);

/* A row of the table makes its event one that only says whose transaction it is. NULL: a row that
 * is gone, or was there before, and says nothing. */
void iso_marker_take_row(const struct iso_marker *marker, struct iso_row *row,
                         struct iso_atoms *atoms, struct iso_event *event);
