#define _GNU_SOURCE
#include "base/paged.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/own.h"

enum { STEP = 1 << 22 }; /* bytes that are moved, or let go of, at once */

struct paged {
    char *at;
    size_t bytes;
    int file;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ISO_LIST(struct paged) all;
static _Atomic uint64_t total, limit; /* bytes of all; of files in memory, as it was said last */
static uint64_t hand;                 /* among the bytes of all, one column behind the other */

/* ---- files ---- */

static int new_file(const char *folder)
{
    struct iso_error error = ISO_NO_ERROR;
    return iso_own_unnamed(folder, "isochron-pages", &error);
}

/* NULL: there is no room for it. */
static char *map_file(int file, size_t bytes)
{
    if (posix_fallocate(file, 0, (off_t)bytes))
        return NULL;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, bytes, MADV_RANDOM);
    madvise(at, bytes, MADV_NOHUGEPAGE); /* one element would bring 2 MiB with it */
    madvise(at, bytes, MADV_DONTDUMP);
    return at;
}

static struct paged *find(const void *column)
{
    for (uint32_t i = 0; i < all.count; i++)
        if (all.list[i].at == column)
            return &all.list[i];
    return NULL;
}

/* ---- columns ---- */

/* From the end on, so that no more than a step of it is in memory twice. */
static void move(char *to, char *from, size_t bytes)
{
    for (size_t end = bytes; end;) {
        size_t start = end > STEP ? end - STEP : 0;
        memcpy(to + start, from + start, end - start);
        iso_column_trim(from, bytes, start);
        madvise(to + start, bytes - start, MADV_DONTNEED);
        end = start;
    }
}

static void take_out(struct paged *paged)
{
    munmap(paged->at, paged->bytes);
    close(paged->file);
    total -= paged->bytes;
    *paged = all.list[--all.count];
    if (!all.count) {
        iso_free(all.list);
        memset(&all, 0, sizeof all);
    }
}

static void grow(struct paged *paged, void **column, size_t old_bytes, size_t new_bytes)
{
    assert(old_bytes == paged->bytes);
    char *at = map_file(paged->file, new_bytes);
    if (at) {
        munmap(paged->at, paged->bytes);
        total += new_bytes - old_bytes;
        paged->at = at;
        paged->bytes = new_bytes;
    } else {
        at = iso_column_grow(NULL, 0, new_bytes);
        memcpy(at, paged->at, old_bytes < new_bytes ? old_bytes : new_bytes);
        take_out(paged);
    }
    *column = at;
}

static bool grow_paged(void **column, size_t old_bytes, size_t new_bytes)
{
    if (!total)
        return false;
    pthread_mutex_lock(&lock);
    struct paged *paged = find(*column);
    if (paged)
        grow(paged, column, old_bytes, new_bytes);
    pthread_mutex_unlock(&lock);
    return paged;
}

static bool free_paged(void *column)
{
    if (!total)
        return false;
    pthread_mutex_lock(&lock);
    struct paged *paged = find(column);
    if (paged)
        take_out(paged);
    pthread_mutex_unlock(&lock);
    return paged;
}

static bool page(void **column, size_t bytes, const char *folder)
{
    int file = new_file(folder);
    char *at = file < 0 ? NULL : map_file(file, bytes);
    if (!at) {
        if (file >= 0)
            close(file);
        return false;
    }
    static const struct iso_column_keeper keeper = {grow_paged, free_paged};
    iso_columns_kept_by(&keeper);
    move(at, *column, bytes);
    iso_column_free(*column, bytes);
    *column = at;
    pthread_mutex_lock(&lock);
    ISO_APPEND(all, (struct paged){at, bytes, file});
    total += bytes;
    pthread_mutex_unlock(&lock);
    return true;
}

bool iso_column_page(void **column, size_t bytes, size_t least, const char *folder)
{
    if (!*column || !bytes || bytes < least)
        return true;
    pthread_mutex_lock(&lock);
    bool is_paged = find(*column);
    pthread_mutex_unlock(&lock);
    return is_paged || page(column, bytes, folder);
}

/* ---- memory ---- */

uint64_t iso_columns_paged(void)
{
    return total;
}

struct iso_resident iso_resident(void)
{
    char text[128];
    unsigned long long size, resident, shared;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || resident < shared)
        return (struct iso_resident){0};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (struct iso_resident){(resident - shared) * page, shared * page};
}

/* The next step of pages, or what is left of its column. */
static void let_go(void)
{
    uint64_t at = hand;
    uint32_t i = 0;
    while (i < all.count && at >= all.list[i].bytes)
        at -= all.list[i++].bytes;
    if (i == all.count) {
        hand = 0;
        return;
    }
    size_t bytes = all.list[i].bytes - at < STEP ? all.list[i].bytes - at : STEP;
    madvise(all.list[i].at + at, bytes, MADV_DONTNEED);
    hand += bytes;
}

void iso_columns_fit(uint64_t most)
{
    enum { SLACK = 16 };
    limit = most;
    if (!total || iso_resident().files <= most)
        return;
    pthread_mutex_lock(&lock);
    uint64_t steps = total / STEP + 2 * all.count + 1;
    while (steps-- && iso_resident().files > most - most / SLACK)
        let_go();
    pthread_mutex_unlock(&lock);
}

void iso_columns_refit(void)
{
    if (total && limit)
        iso_columns_fit(limit);
}
