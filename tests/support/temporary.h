/* Where tests put their files. */
#ifndef TESTS_SUPPORT_TEMPORARY_H
#define TESTS_SUPPORT_TEMPORARY_H

#include <stdlib.h>

/* The directory for temporary files: $TMPDIR, or /tmp. */
static inline const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

#endif
