/* Which columns a stream has shown of its tables: those of its rows so far, without keys' and
 * markers'.
 *
 * Rows of a table that do not all have a column were written under several schemas: the column was
 * added, or removed. What rows had in it before is said by nobody. Bounded: beyond ISO_SHOWN_MAX
 * columns, or their texts, all are forgotten. Threads: one at a time.
 */
#pragma once

#include "values/source.h"
#include "values/row.h"

enum { ISO_SHOWN_MAX = 1 << 17, ISO_SHOWN_BYTES_MAX = 1 << 22 };

struct iso_shown_column {
    uint32_t name, length; /* in the texts */
    uint32_t next;         /* the table's next one; ISO_NONE */
    uint32_t row;          /* the table's last row that had it */
    uint32_t varies;       /* not all rows have it */
};

struct iso_shown_table {
    uint32_t name, length;
    uint32_t first, last; /* column; ISO_NONE */
    uint32_t rows, unused;
};

struct iso_shown {
    struct iso_text texts;
    struct iso_shown_table *tables;
    uint32_t table_count, table_capacity, last;
    struct iso_shown_column *columns;
    uint32_t column_count, column_capacity;
};

void iso_shown_release(struct iso_shown *shown); /* a zeroed one is empty */
void iso_shown_archive(struct iso_archive *archive, struct iso_shown *shown);

/* Takes the columns of a row. False: two have one name. `changed` is called of each column that not
 * all rows have, once; its name may be the row's or the shown's own. */
typedef void iso_shown_changed(void *context, const char *name, size_t length);
bool iso_shown_take(struct iso_shown *shown, struct iso_json_text table, const struct iso_row *row,
                    iso_shown_changed *changed, void *context);

/* Adds those of the table's columns that the row lacks, as unknown; their names are the shown's. */
void iso_shown_complete(struct iso_shown *shown, struct iso_json_text table, struct iso_row *row);

/* Coverage of a column by the rows so far: any value but ISO_COLUMN_UNLISTED. */
enum iso_column_coverage iso_shown_find(const struct iso_shown *shown, struct iso_json_text table,
                                        struct iso_json_text column);
