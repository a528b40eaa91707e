/* Cells: each column of a row a register of its own, and so the row's existence
 * (docs/semantics.md).
 *
 *     insert, snapshot    ROW of the row's key, `true`; CELL of each column
 *     update              ROW, `true` over `true`: who updates a row has touched it; CELL of each
 *                         column that changed, as far as its value before is known, else of each
 *                         that is told
 *     delete              ROW, absent; no CELL: nobody can read what is gone
 *
 * A row's events stand together, ROW first with how many CELLs follow. COLUMN stands before them
 * where the table's rows do not all have that column. Columns of the key, and a marker's, are no
 * cells.
 *
 * Threads: one at a time.
 */
#pragma once

#include "connectors/cdc_common/shown.h"

struct iso_cells {
    bool on;
    char *columns;       /* these only, "a;b"; NULL: all */
    struct iso_text key; /* put together here */
    struct iso_shown shown;
    iso_atom present; /* what an existing row's key has, as it was in some block */
};

/* `option`: "true", "a;b", or NULL: rows are whole. */
void iso_cells_init(struct iso_cells *cells, const char *option);
void iso_cells_release(struct iso_cells *cells);
void iso_cells_archive(struct iso_archive *archive, struct iso_cells *cells);

/* A decoder's `covers_column`. */
enum iso_column_coverage iso_cells_cover(const struct iso_cells *cells, struct iso_json_text table,
                                         struct iso_json_text column);

/* Adds the event of the row's own key, with its existence before and after. `existed`: an update
 * or delete whose row is known to have been there. */
void iso_cells_exist(struct iso_cells *cells, struct iso_atoms *atoms, struct iso_event *event,
                     bool existed);

/* The name of a column: "table#column". */
iso_atom iso_cells_column(struct iso_cells *cells, struct iso_atoms *atoms, iso_atom table,
                          const char *name, size_t length);

/* Takes the columns of a row whose key is marked, before its event is added: COLUMN events of
 * `event`'s table. */
enum iso_status iso_cells_note(struct iso_cells *cells, const struct iso_row *row,
                               const struct iso_event *event, struct iso_events *events,
                               struct iso_error *error);

/* The cells of the ROW that was added last. `before`: as far as it is known, or NULL. */
void iso_cells_add(struct iso_cells *cells, const struct iso_row *before, struct iso_row *after,
                   struct iso_events *events);
