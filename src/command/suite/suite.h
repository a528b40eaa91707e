/* `isochron run` until the command has ended: its sessions recorded by a proxy in front of the
 * database, and the database's changes beside them, both into a capture.
 *
 *     slot -> rows that were there -> proxy, command -> records ---\
 *                                            changes --------------+-> capture
 *     the command ends -> an end mark in the log, read until it comes back
 *
 * Only sessions of the URL's own database are recorded. Nothing is left in the database, however
 * the run ends. Threads: one; the proxy's loops and the recorder have their own.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "iso/recorder.h"
#include "suite/records.h"

struct suite_options {
    const char *url;
    char *const *arguments; /* of the command, NULL after the last */
    const char *folder;     /* where the capture goes, and what is needed meanwhile; it exists */
};

struct suite_result {
    struct iso_text capture;  /* its path */
    struct iso_text database; /* its name */
    struct iso_text tables;   /* that can be judged, "public.a;public.b" */
    int exit_status;          /* the command's */
    uint64_t reads, recorded; /* statements that read; of these those that were recorded */
    struct iso_recorder_statistics recorder;
    struct suite_records records;
};

void suite_result_release(struct suite_result *result);

/* ISO_BAD_INPUT: the command was not started. */
enum iso_status suite_run(const struct suite_options *options, struct suite_result *result,
                          struct iso_error *error);
