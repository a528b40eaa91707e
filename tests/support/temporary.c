#include "tests/support/temporary.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LEAST_FREE = 32 << 20 }; /* bytes; containers may have 64 MiB of it */

const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

const char *temporary_folder_in_memory(void)
{
    static const char memory[] = "/dev/shm";
    struct statvfs room;
    if (getenv("TMPDIR") || access(memory, W_OK | X_OK) || statvfs(memory, &room) ||
        room.f_bavail * room.f_frsize < LEAST_FREE)
        return temporary_folder();
    return memory;
}
