#define _GNU_SOURCE
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The address sanitizer sees overruns of heap blocks only; the thread sanitizer does not know
 * mremap, and takes what one thread wrote before its column moved away for a race with the thread
 * whose column comes to stand there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COLUMNS_ON_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COLUMNS_ON_HEAP 1
#endif
#endif
#ifndef COLUMNS_ON_HEAP
#define COLUMNS_ON_HEAP 0
#endif

/* Below this a column is a heap block: a mapping costs at least a page and three system calls. */
enum { MAPPED_FROM = 1 << 20 };

/* Bytes of a column that is worth huge pages: what is small should not wait for their zeroes. */
enum { HUGE_FROM = 4 << 20 };

static _Atomic(void (*)(size_t size)) on_exhaustion;

static _Atomic(const struct iso_column_keeper *) keeper;

void iso_columns_kept_by(const struct iso_column_keeper *other)
{
    keeper = other;
}

void iso_memory_on_exhaustion(void (*handler)(size_t size))
{
    on_exhaustion = handler;
}

_Noreturn void iso_out_of_memory(size_t size)
{
    void (*handler)(size_t size) = on_exhaustion;
    if (handler)
        handler(size);
    abort();
}

void *iso_allocate(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory)
        iso_out_of_memory(size);
    return memory;
}

void *iso_allocate_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        iso_out_of_memory(count * size);
    return memory;
}

void *iso_reallocate(void *memory, size_t size)
{
    memory = realloc(memory, size ? size : 1);
    if (!memory)
        iso_out_of_memory(size);
    return memory;
}

char *iso_copy_text(const char *text, size_t length)
{
    char *copy = iso_allocate(length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

void iso_free(void *memory)
{
    free(memory);
}

void iso_free_all(void *const *memory, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(memory[i]);
}

static int is_mapped(size_t bytes)
{
    return !COLUMNS_ON_HEAP && bytes >= MAPPED_FROM;
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        iso_out_of_memory(bytes);
    return memory;
}

void *iso_column_grow(void *column, size_t old_bytes, size_t new_bytes)
{
    const struct iso_column_keeper *other = keeper;
    if (column && other && other->grow(&column, old_bytes, new_bytes))
        return column;
    if (!is_mapped(new_bytes))
        return iso_reallocate(column, new_bytes);
    if (!column)
        return map(new_bytes);
    if (is_mapped(old_bytes)) {
        void *memory = mremap(column, old_bytes, new_bytes, MREMAP_MAYMOVE);
        if (memory == MAP_FAILED)
            iso_out_of_memory(new_bytes);
        return memory;
    }
    void *memory = map(new_bytes);
    memcpy(memory, column, old_bytes);
    free(column);
    return memory;
}

void *iso_column_zeroed(size_t bytes)
{
    return is_mapped(bytes) ? map(bytes) : iso_allocate_zeroed(1, bytes);
}

void iso_column_free(void *column, size_t bytes)
{
    const struct iso_column_keeper *other = keeper;
    if (!column || (other && other->free(column)))
        return;
    if (is_mapped(bytes))
        munmap(column, bytes);
    else
        free(column);
}

void iso_column_trim(void *column, size_t bytes, size_t used)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), kept = (used + page - 1) / page * page;
    if (column && is_mapped(bytes) && kept < bytes)
        madvise((char *)column + kept, bytes - kept, MADV_DONTNEED);
}

void iso_column_huge(void *column, size_t bytes)
{
    if (column && is_mapped(bytes) && bytes >= HUGE_FROM)
        madvise(column, bytes, MADV_HUGEPAGE); /* only advice: nothing depends on its success */
}

size_t iso_column_capacity(size_t capacity, size_t need)
{
    size_t next = capacity ? capacity * 2 : 64;
    return next < need ? need : next;
}
