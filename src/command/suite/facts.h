/* What there is to judge of a run, beside the captures: its databases, and how many reads were not
 * recorded. `run --keep DIR` leaves them in DIR/run.json.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"

#define SUITE_CAPTURE ".capture.jsonl.zst" /* as the paths of captures end */

struct suite_unjudged {
    char *table;
    uint64_t reads;
};

/* A database, from the making of its slot until that was closed. */
struct suite_facts {
    char *name;       /* NULL: not known yet */
    char *failure;    /* why nothing of it is judged from there on; NULL: it is */
    char *path;       /* of the capture; NULL: there is none */
    char *tables;     /* that can be judged, "public.a;public.b"; NULL: it was never whole */
    bool is_left_out; /* --database does not name it */
    bool is_alone;    /* there are records and no changes */
    uint64_t
        covered;   /* the clock's nanoseconds: all changes of before are there; 0: not even rows */
    uint64_t late; /* records that came when it was closed */
    uint64_t unjudged;                           /* reads of tables that nobody is sure of */
    ISO_LIST(struct suite_unjudged) unjudged_of; /* of these, those of known names */
};

struct suite_result {
    ISO_LIST(struct suite_facts) bases; /* in the order in which they were opened */
    int exit_status;                    /* the command's */
    bool lost_server;                   /* the changes end before the command's end */
    uint64_t reads, recorded; /* statements that read; of these those that were recorded */
    uint64_t lost;            /* records */
};

void suite_facts_release(struct suite_facts *facts);
void suite_result_release(struct suite_result *result);

enum iso_status suite_result_write(const struct suite_result *result, const char *folder,
                                   struct iso_error *error);
/* Of a folder that `--keep` has left; the command's exit status is not among it. Release in any
 * case. */
enum iso_status suite_result_read(struct suite_result *result, const char *folder,
                                  struct iso_error *error);
