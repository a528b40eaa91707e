/* Memory: allocation that does not fail, and columns that grow without a copy.
 *
 * Out of memory has one handler, the program's: of `isochron` a line on stderr and exit status 4
 * (nothing is left half written, since files appear by rename). Where there is none the process is
 * aborted.
 *
 * Two kinds of arrays grow, both by doubling. A *list* is a plain heap block: ISO_GROW, iso_free. A
 * *column* is for what may become large: it has a mapping of its own and moves by page tables
 * (mremap), so that growing costs neither a copy nor a second resident copy: ISO_GROW_COLUMN,
 * iso_column_free with its size. Under the address and the thread sanitizer columns are heap
 * blocks, so that they see what happens to them.
 *
 * Where memory has no room for a column its pages may be a file's: base/paged.h.
 *
 * Ownership: the caller owns what it allocates. Threads: any; no shared state but the handler, and
 * the list of paged columns.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Never NULL; size 0 gives a unique pointer. */
void *iso_allocate(size_t size);
void *iso_allocate_zeroed(size_t count, size_t size);
void *iso_reallocate(void *memory, size_t size);
char *iso_copy_text(const char *text, size_t length); /* adds a terminating NUL */
void iso_free(void *memory);
/* Frees what a struct owns, or a function made: any number of them, each of which may be NULL. */
void iso_free_all(void *const *memory, size_t count);
#define ISO_FREE_ALL(...)                                                                          \
    iso_free_all((void *const[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
_Noreturn void iso_out_of_memory(size_t size);

/* Called with the bytes that the system refuses, on the thread that asked for them; it is not to
 * return. For the whole process; NULL: none. */
void iso_memory_on_exhaustion(void (*handler)(size_t size));

/* Grows a column of `old_bytes` (0: none yet, `column` NULL) to `new_bytes`; both must be what was
 * asked for before. New bytes have no defined content. Returns the new place. */
void *iso_column_grow(void *column, size_t old_bytes, size_t new_bytes);
/* A column of zeros, of which pages are taken only when they are written. */
void *iso_column_zeroed(size_t bytes);
void iso_column_free(void *column, size_t bytes);

/* Gives the memory behind the first `used` of a column's `bytes` back, where it has a mapping of
 * its own: what stands there is undefined, and may be written again. */
void iso_column_trim(void *column, size_t bytes, size_t used);

/* Asks for huge pages under a large column that is touched at random: else much time goes into
 * walking page tables. */
void iso_column_huge(void *column, size_t bytes);

/* Who has columns whose bytes are elsewhere (base/paged.h) is asked first, and says whether one is
 * of those. */
struct iso_column_keeper {
    bool (*grow)(void **column, size_t old_bytes, size_t new_bytes);
    bool (*free)(void *column);
};
void iso_columns_kept_by(const struct iso_column_keeper *keeper);

/* The next capacity, in elements, for a column that must hold `need`: at least doubled. */
size_t iso_column_capacity(size_t capacity, size_t need);

/* Room for `need` elements in a list on the heap, which moves when it grows; a list without room is
 * NULL, capacity 0. `list` and `capacity` are changed where they stand, and must be plain variables
 * or members. */
#define ISO_RESERVE(list, need, capacity)                                                          \
    do {                                                                                           \
        if ((size_t)(need) > (size_t)(capacity)) {                                                 \
            size_t grown_ = iso_column_capacity((capacity), (need));                               \
            (list) = iso_reallocate((list), iso_list_bytes(grown_, sizeof *(list)));               \
            (capacity) = (__typeof__(capacity))grown_;                                             \
            assert((capacity) == grown_);                                                          \
        }                                                                                          \
    } while (0)

/* Room for one element more. */
#define ISO_GROW(list, count, capacity) ISO_RESERVE(list, (size_t)(count) + 1, capacity)

/* An element more at the end of a list. It is computed first, so that it may read the list. */
#define ISO_PUSH(list, count, capacity, ...)                                                       \
    do {                                                                                           \
        __typeof__(*(list)) pushed_ = __VA_ARGS__;                                                 \
        ISO_GROW(list, count, capacity);                                                           \
        (list)[(count)++] = pushed_;                                                               \
    } while (0)

/* A list with its count as one member of a struct: `ISO_LIST(struct step) steps;`. */
#define ISO_LIST(type)                                                                             \
    struct {                                                                                       \
        type *list;                                                                                \
        uint32_t count, capacity;                                                                  \
    }

/* An element more at the end of an ISO_LIST, or of a struct with such members. */
#define ISO_APPEND(to, ...) ISO_PUSH((to).list, (to).count, (to).capacity, __VA_ARGS__)

/* A column of `old` elements becomes one of `next`. */
#define ISO_COLUMN_RESIZE(column, old, next)                                                       \
    ((column) = iso_column_grow((column), (size_t)(old) * sizeof *(column),                        \
                                iso_list_bytes((size_t)(next), sizeof *(column))))

/* Reserves room in a list that is a column (iso_column_grow, iso_column_free). */
#define ISO_RESERVE_COLUMN(column, need, capacity)                                                 \
    do {                                                                                           \
        if ((size_t)(need) > (size_t)(capacity)) {                                                 \
            size_t grown_ = iso_column_capacity((capacity), (need));                               \
            ISO_COLUMN_RESIZE(column, capacity, grown_);                                           \
            (capacity) = (__typeof__(capacity))grown_;                                             \
            assert((capacity) == grown_);                                                          \
        }                                                                                          \
    } while (0)
#define ISO_GROW_COLUMN(column, count, capacity)                                                   \
    ISO_RESERVE_COLUMN(column, (size_t)(count) + 1, capacity)
#define ISO_PUSH_COLUMN(column, count, capacity, ...)                                              \
    do {                                                                                           \
        __typeof__(*(column)) pushed_ = __VA_ARGS__;                                               \
        ISO_GROW_COLUMN(column, count, capacity);                                                  \
        (column)[(count)++] = pushed_;                                                             \
    } while (0)
#define ISO_FREE_COLUMN(column, capacity)                                                          \
    iso_column_free((column), (size_t)(capacity) * sizeof *(column))

static inline size_t iso_list_bytes(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        iso_out_of_memory(SIZE_MAX);
    return bytes;
}
