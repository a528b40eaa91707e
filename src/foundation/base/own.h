/* Files of one's own: written where no other user of the machine could have put something else in
 * their place, and read by nobody else.
 *
 * A folder is safe if it belongs to this user or to root, and whoever else may write there cannot
 * replace what is this user's: nobody; a group that this process is in; all, where it is sticky, as
 * /tmp is. In it a file is opened that is no symbolic link; new ones have mode 0600. One that
 * exists keeps its mode (but see iso_own_hide); if it is regular, it must be this user's, have one
 * name only, and not be open to all for writing; a pipe or device, this user's or root's. Below
 * /dev (but /dev/shm and /dev/mqueue), where only root puts something, names mean what they do
 * everywhere.
 *
 * What is refused is ISO_BAD_INPUT, and the error says what was expected; what the system refuses
 * is ISO_FAILED. Threads: any; no state.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* As open(2) with `flags`, close-on-exec added; -1 with an error. Allocates nothing. */
int iso_own_open(const char *path, int flags, struct iso_error *error);

/* Is it a name below /dev that means what it does everywhere? */
bool iso_own_is_device_name(const char *path);

/* Is the folder `path` safe? One that cannot be looked at is: whoever opens something there is
 * told. */
bool iso_own_folder(const char *path, struct iso_error *error);
/* Judges a folder whose `status` is known; `alone`: a sticky folder that others may write to
 * does not do. */
bool iso_own_folder_is(const char *path, const struct stat *status, bool alone,
                       struct iso_error *error);

/* The folder that `path` lies in. The caller frees it. */
char *iso_own_folder_of(const char *path);

/* For a file that is written beside its place and then put there: the folder that `path` lies in,
 * if it is safe, for *at calls; -1: `error` if it is not, else errno. */
int iso_own_folder_for(const char *path, struct iso_error *error);
/* Its name in there. */
const char *iso_own_name_of(const char *path);
/* May a new file take the place of `path`? Only of a regular one that is this user's, and of none;
 * false: `error`, else errno. `mode`: the new one's, that of the one that goes. */
bool iso_own_may_replace(int folder, const char *path, mode_t *mode, struct iso_error *error);

/* Hides an open file that will hold people's data: if it is regular, nobody else can read it
 * from now on. False: errno. */
bool iso_own_hide(int file);

/* A regular file in a folder that is open: no symbolic link is followed, no pipe waited for. -1:
 * errno. */
int iso_own_open_in(int folder, const char *name, int flags);

/* A new file in the folder, if that is safe, without a name: nothing is left behind, however the
 * process ends. -1: `error` if it is not safe, else errno. */
int iso_own_unnamed(const char *folder, const char *name, struct iso_error *error);
