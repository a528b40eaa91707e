/* What a run remarks on while it goes on: records that it left out or doubts, with their copies
 * among the dead letters, and what befalls inputs and tables.
 *
 * Threads: one at a time.
 */
#pragma once

#include "pipeline/pipeline.h"
#include "rowsets/scans.h"
#include "run/input/bad_records.h"
#include "run/input/recording.h"

/* Events of tables since this process began, and the table of the last one. */
struct run_tables {
    uint64_t count[ISO_TABLE_NEWS];
    char latest[ISO_TABLE_NEWS][204];
};

struct run_remarks {
    struct run_bad_records bad_records;
    struct run_tables tables;
    bool muted; /* what is judged again after a restart was remarked on before */
};

/* A record that was left out, or is doubtful. `message` NULL: it came earlier than what is being
 * fed. */
void run_remarks_bad(struct run_remarks *remarks, struct run_recording *recording,
                     const struct iso_message *message, const char *location, const char *reason);
void run_remarks_doubtful(struct run_remarks *remarks, struct run_recording *recording,
                          const struct iso_message *message, const char *location,
                          const char *reason);

/* The others as the pipeline's callbacks of these names. */
void run_remarks_table(struct run_remarks *remarks, const char *location, const char *table,
                       size_t length, enum iso_table_news news, const char *reason);
void run_remarks_spelling(struct run_remarks *remarks,
                          const struct iso_pipeline_spelling *spelling);
void run_remarks_timeless(struct run_remarks *remarks, const struct iso_inputs_entry *input);
void run_remarks_far_ahead(struct run_remarks *remarks, const struct iso_inputs_entry *input,
                           uint64_t offset, uint64_t timestamp, uint64_t watermark);
void run_remarks_closed_early(struct run_remarks *remarks, uint64_t memory, uint64_t timestamp);
void run_remarks_given_up(struct run_remarks *remarks, uint64_t memory, uint64_t transactions);

/* The last words: those, and how many bad records --dead-letter did not take. */
void run_remarks_conclude(struct run_remarks *remarks, const struct run_recording *recording);

/* Logs which conditions no index served, if they were counted; NULL: nothing. */
void run_remarks_scans(const struct iso_scans *scans);
