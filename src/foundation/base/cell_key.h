/* Keys of cells: a row's key, `#`, and the column: `public.acct/7#balance`.
 *
 * A `#` in a name or in a part of the row's key stands as %23, so that the first one begins the
 * column, in which `%`, `/`, `,` and `#` are encoded as in rows' keys (values/row.h). Threads: any;
 * no state.
 */
#pragma once

#include "base/json.h"
#include "base/text.h"

/* Separates a row's key from the column. */
enum { ISO_CELL_MARK = '#' };

/* Adds `#` and the encoded column to a text that ends with the row's key. */
void iso_cell_key_put(struct iso_text *text, const char *column, size_t length);

/* Adds the column's name as it is without encoding: the inverse. What is no escape stays. */
void iso_cell_key_decode(struct iso_text *text, struct iso_json_text column);

/* The row's key and the column, still encoded, of a cell's key. False: it is no cell's, and `*row`
 * is all of it. */
static inline bool iso_cell_key_split(struct iso_json_text key, struct iso_json_text *row,
                                      struct iso_json_text *column)
{
    const char *mark = key.length ? memchr(key.at, ISO_CELL_MARK, key.length) : NULL;
    *row = mark ? (struct iso_json_text){key.at, (size_t)(mark - key.at)} : key;
    *column = mark ? (struct iso_json_text){mark + 1, key.length - row->length - 1}
                   : (struct iso_json_text){"", 0};
    return mark != NULL;
}

/* The key of the row, where it is a cell's: TABLE/PARTS#COLUMN. */
static inline bool iso_cell_key_row(struct iso_json_text key, struct iso_json_text *row)
{
    struct iso_json_text column;
    return iso_cell_key_split(key, row, &column) && column.length &&
           memchr(row->at, '/', row->length);
}
