/* Temporary folders of a run that is killed: a process of its own waits for the end of this one,
 * and removes them then. In a run that ends by itself they are gone by that time.
 */
#pragma once

/* Before there are threads. */
void suite_sweeper_start(void);
/* It is among those; without a process that sweeps, it is not. */
void suite_sweeper_add(const char *folder);
/* With all that is in it. */
void suite_folder_remove(const char *folder);
