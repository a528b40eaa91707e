/* Large pages, so that a fork is short.
 *
 * A fork copies page tables: 32 ms for a GB of pages of 4 KiB, 1 ms of 2 MiB. Memory that is large
 * begins with large pages where it was asked for; but what is written to while a snapshot's child
 * shares it is split into small ones, a page at a time, and stays so. Once the child is gone they
 * are put together again, before the next fork. The kernel's own thread would come round to that in
 * hours.
 *
 * Only what is dense is touched, or was asked to be large: elsewhere large pages would take memory
 * that nobody uses. What the owner of the memory does in the meantime does not matter: a page that
 * is put together holds what it held.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "store/store_private.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; older ones refuse it */
#endif

enum { LEAST_KIB = 4096, DENSE_PERCENT = 90, LINE = 512 };
#define LARGE ((uintptr_t)2 << 20)
/* Each call has all processors give up what they hold: few calls, yet it can be stopped. */
#define AT_ONCE ((uintptr_t)64 << 20)

struct area {
    uintptr_t start, end;
    bool is_private, has_file, is_asked_for;
    uint64_t kib, resident_kib, large_kib;
};

/* The first line of an area in /proc/self/smaps: "start-end rwxp offset device inode path". */
static bool read_head(const char *line, struct area *area)
{
    char rights[8];
    uint64_t inode;
    struct area next = {0};
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %" SCNu64, &next.start, &next.end,
               rights, &inode) != 4)
        return false;
    next.is_private = !strncmp(rights, "rw-p", 4);
    next.has_file = inode != 0;
    *area = next;
    return true;
}

static void read_member(const char *line, struct area *area)
{
    (void)(sscanf(line, "Size: %" SCNu64, &area->kib) ||
           sscanf(line, "Rss: %" SCNu64, &area->resident_kib) ||
           sscanf(line, "AnonHugePages: %" SCNu64, &area->large_kib));
    if (!strncmp(line, "VmFlags:", 8))
        area->is_asked_for = strstr(line, " hg") != NULL;
}

static bool is_worth_it(const struct area *area)
{
    bool dense = area->resident_kib * 100 >= area->kib * DENSE_PERCENT;
    return area->is_private && !area->has_file && area->kib >= LEAST_KIB &&
           area->large_kib < area->resident_kib && (dense || area->is_asked_for);
}

static void collapse_area(const struct area *area, const _Atomic bool *stop)
{
    uintptr_t at = (area->start + LARGE - 1) & ~(LARGE - 1), end = area->end & ~(LARGE - 1);
    for (uintptr_t next; at < end && !*stop; at = next) {
        next = end - at < AT_ONCE ? end : at + AT_ONCE;
        madvise((void *)at, next - at,
                MADV_COLLAPSE); /* nothing there, or no memory for it: then it stays as it is */
    }
}

void store_collapse(const _Atomic bool *stop)
{
    char line[LINE];
    struct area area = {0};
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file && !*stop && fgets(line, sizeof line, file)) {
        if (read_head(line, &area))
            continue;
        read_member(line, &area);
        if (!strncmp(line, "VmFlags:", 8) && is_worth_it(&area)) /* its last line */
            collapse_area(&area, stop);
    }
    if (file)
        fclose(file);
}
