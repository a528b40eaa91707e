#include "run/shown/periodic_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"

/* The first line after the wait comes soon enough for somebody who has just started the run. */
enum { WAITS_AFTER_MS = 10000, FIRST_AFTER_MS = 60000, THEN_EVERY_MS = 300000 };

void run_periodic_log_init(struct run_periodic_log *log, int64_t now)
{
    *log = (struct run_periodic_log){.started = now, .reported = now};
}

enum run_periodic_log_line run_periodic_log_due(struct run_periodic_log *log, uint64_t messages,
                                                int64_t now)
{
    int64_t patience =
        log->reported - log->started < FIRST_AFTER_MS ? FIRST_AFTER_MS : THEN_EVERY_MS;
    if (!messages && !log->waited && now - log->started >= WAITS_AFTER_MS) {
        log->waited = true;
        return RUN_PERIODIC_LOG_WAITS;
    }
    return now - log->reported < patience ? RUN_PERIODIC_LOG_NOTHING : RUN_PERIODIC_LOG_PROGRESS;
}

void run_periodic_log_note(struct run_periodic_log *log, uint64_t messages, int64_t now)
{
    log->reported = now;
    log->messages = messages;
}

void run_periodic_log_topics(const char *const *topics, uint32_t count, uint32_t partitions,
                             char *text, size_t size)
{
    char named[32];
    snprintf(named, sizeof named, "%" PRIu32 " partition%s", partitions, cli_plural(partitions));
    if (count == 1)
        snprintf(text, size, "topic %.100s (%s)", topics[0], named);
    else
        snprintf(text, size, "%" PRIu32 " topics (%s)", count, named);
}

void run_periodic_log_progress(const struct run_periodic_log *log,
                               const struct iso_pipeline_stats *stats, uint64_t behind, int64_t now,
                               char *text, size_t size)
{
    double seconds = (double)(now - log->reported) / 1000;
    uint64_t messages = stats->messages, fresh = messages - log->messages;
    char found[ISO_FOUND_TEXT];
    iso_pipeline_found_text(stats, 0, found);
    int used =
        snprintf(text, size,
                 "%" PRIu64 " message%s so far (%.0f/s lately), %" PRIu64 " behind; %" PRIu64
                 " transaction%s, %s; ",
                 messages, cli_plural(messages), seconds > 0 ? (double)fresh / seconds : 0, behind,
                 stats->engine.transactions, cli_plural(stats->engine.transactions), found);
    if (used < 0 || (size_t)used >= size)
        return;
    if (stats->has_watermark)
        snprintf(text + used, size - (size_t)used, "watermark %" PRIu64, stats->watermark);
    else
        snprintf(text + used, size - (size_t)used, "no watermark yet");
}
