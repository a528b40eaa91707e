/* A PostgreSQL of one's own, for as long as a command runs: made in a temporary folder from the
 * binaries that are installed, on the loopback interface, with a password that was drawn.
 *
 * It forgets everything: nothing is synced to disk. Root becomes the user `postgres` for it, since
 * PostgreSQL does not run as root. It ends with the process that started it, however that ends.
 * Threads: one at a time.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

struct suite_server {
    struct iso_text folder, programs, url; /* all end in a zero byte */
    pid_t process;                         /* 0: none */
    uid_t user;                            /* whose folder and process they are; 0: this one's */
    gid_t group;
};

/* `version`: "15"; NULL: the newest. Its URL leads to the database `postgres`; PGUSER, PGPASSWORD
 * and PGDATABASE say the same. ISO_BAD_INPUT: there is none. Stop it in any case. */
enum iso_status suite_server_start(struct suite_server *server, const char *version,
                                   const char *temporary, struct iso_error *error);
void suite_server_stop(struct suite_server *server);
