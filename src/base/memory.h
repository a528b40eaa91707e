/* Memory: allocation that does not fail, and columns that grow without a copy.
 *
 * Out of memory has one handler: a line on stderr and exit status 4 (the caller keeps nothing half done, files are
 * written by rename). A *column* is a plain array that grows by doubling; large ones live in their own mapping and
 * move by page tables (mremap), so growing costs neither a copy nor a second resident copy. Under the address and the
 * thread sanitizer columns are plain heap blocks, so that they see what happens to them.
 *
 * Ownership: the caller owns what it allocates. Threads: any; no shared state.
 */
#ifndef ISO_BASE_MEMORY_H
#define ISO_BASE_MEMORY_H

#include <stddef.h>

/* Never NULL; size 0 gives a unique pointer. */
void *iso_allocate(size_t size);
void *iso_allocate_zeroed(size_t count, size_t size);
void *iso_reallocate(void *memory, size_t size);
char *iso_copy_text(const char *text, size_t length); /* adds a terminating NUL */
void iso_free(void *memory);
_Noreturn void iso_out_of_memory(size_t size);

/* Grows a column of `old_bytes` (0: none yet, `column` NULL) to `new_bytes`; both must be what was asked for before.
 * New bytes have no defined content. Returns the new place. */
void *iso_column_grow(void *column, size_t old_bytes, size_t new_bytes);
/* A column of zeros, of which pages are taken only when they are written. */
void *iso_column_zeroed(size_t bytes);
void iso_column_free(void *column, size_t bytes);

/* Gives the memory behind the first `used` of a column's `bytes` back, where it has a mapping of its own: what stands
 * there is undefined, and may be written again. */
void iso_column_trim(void *column, size_t bytes, size_t used);

/* The next capacity, in elements, for a column that must hold `need`: at least doubled. */
size_t iso_column_capacity(size_t capacity, size_t need);

#endif
