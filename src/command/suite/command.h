/* A command with a database of its own: its environment says where, and signals go to it.
 *
 * Threads: one at a time; nothing else of the process may fork meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct suite_command {
    pid_t process;
    int status; /* as waitpid has it, once it ended */
};

/* From here on signals that end a process are the command's; before any thread is started. */
void suite_command_guard(void);

/* `url` is DATABASE_URL, and what {URL} in its arguments becomes; PGHOST and PGPORT say the same.
 * ISO_BAD_INPUT: there is no such command. */
enum iso_status suite_command_start(struct suite_command *command, char *const *arguments,
                                    const char *url, unsigned port, struct iso_error *error);
/* Whether it has ended, until it has; passes on signals that came. */
bool suite_command_has_ended(struct suite_command *command);
/* As a shell has it. */
int suite_command_exit(const struct suite_command *command);
