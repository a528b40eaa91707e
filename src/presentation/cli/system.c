#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/paged.h"
#include "cli/system.h"

unsigned cli_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}

unsigned cli_threads(uint64_t asked)
{
    return asked ? (unsigned)asked : cli_processors();
}

uint64_t cli_peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

void cli_allow_core(bool allow)
{
    prctl(PR_SET_DUMPABLE, allow ? 1 : 0);
}

const char *cli_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

uint64_t cli_memory_in_use(void)
{
    struct iso_resident resident = iso_resident();
    uint64_t paged = iso_columns_paged();
    return resident.own + (resident.files < paged ? resident.files : paged);
}

/* ---- the machine's memory ---- */

static uint64_t number_in(const char *path)
{
    char text[32];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (length <= 0 || *text < '0' || *text > '9') /* "max": no limit */
        return UINT64_MAX;
    text[length] = 0;
    return strtoull(text, NULL, 10);
}

/* The least limit of the process's control group and those above it, in version 2 of the file
 * system or in 1. */
static uint64_t group_limit(const char *root, const char *group, const char *file)
{
    char path[PATH_MAX + 64], within[PATH_MAX];
    uint64_t least = UINT64_MAX;
    snprintf(within, sizeof within, "%s", group);
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", root, within, file);
        uint64_t limit = number_in(path);
        char *slash = strrchr(within, '/');
        least = limit < least ? limit : least;
        if (!slash)
            return least;
        *slash = 0;
    }
}

static uint64_t limit_of_groups(void)
{
    char line[PATH_MAX + 64];
    uint64_t least = UINT64_MAX, limit;
    FILE *groups = fopen("/proc/self/cgroup", "re");
    while (groups && fgets(line, sizeof line, groups)) {
        line[strcspn(line, "\n")] = 0;
        const char *controllers = strchr(line, ':'),
                   *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        bool unified = group == controllers + 1;
        if (!unified && strncmp(controllers, ":memory:", 8))
            continue;
        limit = unified ? group_limit("/sys/fs/cgroup", group + 1, "memory.max")
                        : group_limit("/sys/fs/cgroup/memory", group + 1, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    if (groups)
        fclose(groups);
    return least;
}

uint64_t cli_machine_memory(void)
{
    static uint64_t bytes;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (bytes)
        return bytes;
    uint64_t limit = limit_of_groups();
    bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    bytes = limit < bytes ? limit : bytes;
    return bytes;
}
