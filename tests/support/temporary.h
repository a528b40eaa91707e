/* Where tests put their files. */
#ifndef TESTS_SUPPORT_TEMPORARY_H
#define TESTS_SUPPORT_TEMPORARY_H

/* The directory for temporary files: $TMPDIR, or /tmp. */
const char *temporary_folder(void);

/* For thousands of small files, one after the other, which file systems on disks take long to make
 * and remove: in memory if there is some, else the directory above. */
const char *temporary_folder_in_memory(void);

#endif
