#include "run/shown/display.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/log.h"
#include "cli/progress.h"

enum { UPDATE_MS = 250 };

void run_display_init(struct run_display *display, bool draws, int64_t now)
{
    *display = (struct run_display){.draws = draws, .started = now};
    run_periodic_log_init(&display->periodic_log, now);
}

static void draw_line(const struct run_display *display, const struct iso_pipeline_stats *stats,
                      struct iso_kafka_consumer *consumer, int64_t now)
{
    char trouble[200], text[400], found[ISO_FOUND_TEXT];
    iso_pipeline_found_text(stats, 0, found);
    double seconds = (double)(now - display->started) / 1000;
    int used = snprintf(
        text, sizeof text, "%" PRIu64 " transactions  %.0f/s  %s  %" PRIu64 " open reads",
        stats->engine.transactions, seconds > 0 ? (double)stats->engine.transactions / seconds : 0,
        found, stats->engine.open_reads);
    if (stats->has_watermark)
        used += snprintf(text + used, sizeof text - (size_t)used, "  watermark %" PRIu64,
                         stats->watermark);
    if (iso_kafka_consumer_trouble(consumer, trouble, sizeof trouble))
        snprintf(text + used, sizeof text - (size_t)used, "  %.60s", trouble);
    cli_progress_line(text);
}

/* Says that nothing has come only where it is known that nothing is there. */
static void log_periodically(struct run_display *display, const struct run_stream *stream,
                             const struct iso_pipeline_stats *stats,
                             struct iso_kafka_consumer *consumer, int64_t now)
{
    const struct iso_kafka_partition *partitions;
    char text[400];
    uint64_t behind = 0;
    enum run_periodic_log_line line =
        run_periodic_log_due(&display->periodic_log, stats->messages, now);
    if (line == RUN_PERIODIC_LOG_NOTHING)
        return;
    uint32_t count = iso_kafka_consumer_partitions(consumer, &partitions);
    for (uint32_t i = 0; i < count; i++)
        behind += iso_kafka_consumer_behind(consumer, i);
    if (line == RUN_PERIODIC_LOG_PROGRESS) {
        run_periodic_log_progress(&display->periodic_log, stats, behind, now, text, sizeof text);
        run_periodic_log_note(&display->periodic_log, stats->messages, now);
        cli_log("%s", text);
        return;
    }
    run_periodic_log_topics((const char *const *)stream->sources.topics,
                            stream->sources.topic_count, count, text, sizeof text);
    if (iso_kafka_consumer_awaited_topic(consumer))
        cli_log("%s: not all topics exist yet; waiting for them, 0 messages so far", text);
    else
        cli_log("%s: nothing to read yet; waiting for messages, %" PRIu64 " so far, %" PRIu64
                " on their way",
                text, stats->messages, behind);
}

void run_display_update(struct run_display *display, const struct run_stream *stream,
                        struct iso_kafka_consumer *consumer, bool silent, int64_t now)
{
    struct iso_pipeline_stats stats;
    if ((!display->draws && silent) || now - display->updated < UPDATE_MS)
        return;
    display->updated = now;
    iso_pipeline_stats(stream->pipeline, &stats);
    if (display->draws)
        draw_line(display, &stats, consumer, now);
    else
        log_periodically(display, stream, &stats, consumer, now);
}

void run_display_end(const struct run_display *display)
{
    if (display->draws)
        fputs("\r\033[K", stderr);
}
