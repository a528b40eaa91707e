/* What a long run says of itself where stderr is no terminal: that it still waits for its first message, and now and
 * then how far it is. A log keeps every line, so there are few.
 *
 * Times are milliseconds of a clock that does not jump. Threads: the caller's.
 */
#ifndef ISO_APP_CALM_H
#define ISO_APP_CALM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/pipeline.h"

enum app_calm_line { APP_CALM_NOTHING, APP_CALM_WAITS, APP_CALM_PROGRESS };

struct app_calm {
    int64_t started, told; /* the last line */
    uint64_t messages;     /* read by then */
    bool waited;           /* that was told, which is once */
};

void app_calm_init(struct app_calm *calm, int64_t now);

/* Which line is due, having read so many messages. The caller notes when it has told of progress. */
enum app_calm_line app_calm_due(struct app_calm *calm, uint64_t messages, int64_t now);
void app_calm_note(struct app_calm *calm, uint64_t messages, int64_t now);

/* "3 topics (12 partitions)"; one topic by its name. */
void app_calm_topics(const char *const *topics, uint32_t count, uint32_t partitions, char *text, size_t size);

/* The line of progress. */
void app_calm_progress(const struct app_calm *calm, const struct iso_pipeline_stats *stats, uint64_t behind,
                       int64_t now, char *text, size_t size);

#endif
