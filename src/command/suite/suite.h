/* `isochron run` until the command has ended: its sessions recorded by a proxy in front of the
 * database, and the database's changes beside them, both into a capture.
 *
 *     slot -> rows that were there -> proxy, command -> records ---\
 *                                            changes --------------+-> capture
 *     the command ends -> an end mark in the log, read until it comes back
 *
 * Each database to which a session goes has a base of its own (base.h), made when the first session
 * begins, and closed before a statement goes in whose way it would be. Nothing is left in the
 * databases, however the run ends. Threads: one; the proxy's loop, which
 * waits while a base is made or closed, and the recorder have their own.
 */
#pragma once

#include "base/error.h"
#include "iso/recorder.h"
#include "suite/base.h"

struct suite_options {
    const char *url;
    char *const *arguments; /* of the command, NULL after the last */
    const char *folder;     /* where captures go, and what is needed meanwhile; it exists */
    const char *pattern;    /* of databases, as fnmatch has them */
    bool shows_values;      /* in the texts of statements */
    bool streams;           /* changes, too; else there are records alone */
};

/* ISO_BAD_INPUT: the command was not started. */
enum iso_status suite_run(const struct suite_options *options, struct suite_result *result,
                          struct iso_error *error);
