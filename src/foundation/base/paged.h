/* Columns whose pages are those of a file on disk: for what memory has no room for.
 *
 * A column (base/memory.h) that is paged stands in a mapping of a file without a name. To its owner
 * it is as before: it is read and written in place, grows, and is freed. But its pages are the
 * file's, which the system writes back and takes where memory is short, and which this process lets
 * go of above a limit (iso_columns_fit), in turn. The file's room is reserved before it is mapped,
 * so that a full disk is an answer of `iso_column_page` and no signal; where there is none to grow
 * into, the column comes back to memory.
 *
 * A child that is forked shares these pages: what it is to see as it was must not be changed until
 * it is done (iso_columns_paged). Threads: any, one a column; a lock keeps the list of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Moves the column to a file in `folder`. False: there is no room for it, and it stays where it is.
 * One that is paged already, or of less than `least` bytes, stays, too. */
bool iso_column_page(void **column, size_t bytes, size_t least, const char *folder);
#define ISO_PAGE_COLUMN(column, capacity, least, folder)                                           \
    ({                                                                                             \
        void *paged_ = (column);                                                                   \
        bool fine_ =                                                                               \
            iso_column_page(&paged_, (size_t)(capacity) * sizeof *(column), (least), (folder));    \
        (column) = paged_;                                                                         \
        fine_;                                                                                     \
    })

/* Bytes of all paged columns. */
uint64_t iso_columns_paged(void);

/* Bytes in this process's memory: of its own, and of files (its program, paged columns); 0: the
 * system does not say. */
struct iso_resident {
    uint64_t own, files;
};
struct iso_resident iso_resident(void);

/* Lets go of pages until at most `most` bytes of files are in this process's memory. */
void iso_columns_fit(uint64_t most);
/* Once more, as it was said last: for who walks through columns, now and then. */
void iso_columns_refit(void);
