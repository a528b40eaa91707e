/* What a long run says of itself where stderr is no terminal: that it still waits for its first
 * message, and now and then how far it is. A log keeps every line, so there are few.
 *
 * Times are milliseconds of a clock that does not jump. Threads: the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/pipeline.h"

enum run_periodic_log_line {
    RUN_PERIODIC_LOG_NOTHING,
    RUN_PERIODIC_LOG_WAITS,
    RUN_PERIODIC_LOG_PROGRESS
};

struct run_periodic_log {
    int64_t started, reported; /* the last line */
    uint64_t messages;         /* read by then */
    bool waited;               /* that was reported, which is once */
};

void run_periodic_log_init(struct run_periodic_log *log, int64_t now);

/* Which line is due, having read so many messages. The caller notes when it has reported
 * progress. */
enum run_periodic_log_line run_periodic_log_due(struct run_periodic_log *log, uint64_t messages,
                                                int64_t now);
void run_periodic_log_note(struct run_periodic_log *log, uint64_t messages, int64_t now);

/* "3 topics (12 partitions)"; one topic by its name. */
void run_periodic_log_topics(const char *const *topics, uint32_t count, uint32_t partitions,
                             char *text, size_t size);

/* The line of progress. */
void run_periodic_log_progress(const struct run_periodic_log *log,
                               const struct iso_pipeline_stats *stats, uint64_t behind, int64_t now,
                               char *text, size_t size);
