#include "app/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/durable.h"
#include "explain/brief.h"
#include "iso/version.h"

enum { PUBLISH_MS = 250 };

static uint64_t since_1970(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void explain(const char *line, size_t length, struct iso_text *text)
{
    struct iso_brief brief;
    if (iso_brief_init(&brief, line, length))
        iso_brief_json(&brief, text);
    iso_brief_release(&brief);
}

static enum iso_status open_server(struct app_status *status, const char *listen, const char *token_file,
                                   struct iso_error *error)
{
    status->web = iso_web_new(listen, token_file, explain, error);
    if (!status->web)
        return error->status;
    const char *colon = strrchr(listen, ':');
    app_say("status page on http://%.*s:%u/", colon ? (int)(colon - listen) : 9, colon ? listen : "127.0.0.1",
            iso_web_port(status->web));
    return ISO_OK;
}

enum iso_status app_status_open(struct app_status *status, const char *listen, const char *token_file,
                                struct iso_error *error)
{
    if (!listen && token_file)
        return iso_error_set(error, ISO_BAD_INPUT, "--listen-token %s: expected --listen HOST:PORT too", token_file);
    status->started = status->progressed = since_1970();
    if (listen && open_server(status, listen, token_file, error) != ISO_OK)
        return error->status;
    app_notify_open(&status->notify);
    app_notify_ready(&status->notify);
    return ISO_OK;
}

void app_status_close(struct app_status *status)
{
    app_notify_close(&status->notify);
    iso_web_free(status->web);
    iso_metrics_release(&status->metrics);
}

static void count(struct app_status *status, enum iso_metric metric, uint64_t value)
{
    iso_metrics_count(&status->metrics, metric, NULL, NULL, value);
}

/* Below 0: there is nothing to tell. */
static void real(struct app_status *status, enum iso_metric metric, double value)
{
    if (value >= 0)
        iso_metrics_real(&status->metrics, metric, NULL, NULL, value);
}

static void put_intake(struct app_status *status, const struct iso_pipeline_stats *stats)
{
    const struct iso_aion_stats *engine = &stats->engine;
    count(status, ISO_METRIC_MESSAGES, stats->messages);
    count(status, ISO_METRIC_MESSAGE_BYTES, stats->bytes);
    count(status, ISO_METRIC_BAD_RECORDS, stats->bad_records);
    count(status, ISO_METRIC_UNROUTED, stats->unrouted);
    count(status, ISO_METRIC_TRANSACTIONS, engine->transactions);
    count(status, ISO_METRIC_REPEATS, engine->repeats);
    count(status, ISO_METRIC_LATE, engine->below_watermark);
}

static void put_verdicts(struct app_status *status, const struct iso_pipeline_stats *stats)
{
    struct iso_metrics *metrics = &status->metrics;
    const struct iso_aion_stats *engine = &stats->engine;
    uint64_t flips = 0;
    count(status, ISO_METRIC_READS_JUDGED, engine->reads_judged);
    count(status, ISO_METRIC_READS_UNJUDGED, engine->reads_unjudged + engine->reads_undecided);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        iso_metrics_count(metrics, ISO_METRIC_VIOLATIONS, iso_axiom_name((enum iso_axiom)axiom), NULL,
                          engine->counts[axiom]);
    iso_metrics_count(metrics, ISO_METRIC_VERDICTS, "tentative", NULL, stats->tentative);
    iso_metrics_count(metrics, ISO_METRIC_VERDICTS, "final", NULL, stats->final);
    iso_metrics_count(metrics, ISO_METRIC_VERDICTS, "retracted", NULL, stats->retracted);
    count(status, ISO_METRIC_STANDING, engine->standing);
    count(status, ISO_METRIC_OPEN_READS, engine->open_reads);
    for (uint32_t i = 0; i < ISO_AION_FLIPS; i++)
        flips += engine->flips[i] * (i + 1);
    count(status, ISO_METRIC_FLIPS, flips);
    if (stats->has_watermark) {
        count(status, ISO_METRIC_WATERMARK, stats->watermark);
        real(status, ISO_METRIC_WATERMARK_TIME, (double)status->moved / 1000);
    }
    real(status, ISO_METRIC_PROGRESS_TIME, (double)status->progressed / 1000);
}

/* One metric of a partition; false: there is no such figure. */
static bool partition_figure(const struct app_stream *stream, struct iso_kafka_consumer *consumer, uint32_t index,
                             enum iso_metric metric, uint64_t *value)
{
    const struct iso_kafka_partition *partition;
    iso_kafka_consumer_partitions(consumer, &partition);
    partition += index;
    struct iso_pipeline_input input = iso_pipeline_input(stream->pipeline, partition->input);
    switch (metric) {
    case ISO_METRIC_OFFSET:
        *value = (uint64_t)partition->next;
        return true;
    case ISO_METRIC_END:
        *value = (uint64_t)partition->next + iso_kafka_consumer_behind(consumer, index);
        return true;
    case ISO_METRIC_LAG:
        *value = iso_kafka_consumer_behind(consumer, index);
        return true;
    case ISO_METRIC_PARTITION_WATERMARK:
        *value = input.watermark;
        return input.has_watermark;
    default:
        *value = input.is_idle;
        return true;
    }
}

static void put_partitions(struct app_status *status, const struct app_stream *stream,
                           struct iso_kafka_consumer *consumer)
{
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(consumer, &partitions);
    for (int metric = ISO_METRIC_OFFSET; metric <= ISO_METRIC_IDLE; metric++) {
        for (uint32_t i = 0; i < partition_count; i++) {
            char number[16];
            uint64_t value;
            snprintf(number, sizeof number, "%" PRId32, partitions[i].partition);
            if (partition_figure(stream, consumer, i, (enum iso_metric)metric, &value))
                iso_metrics_count(&status->metrics, (enum iso_metric)metric, partitions[i].topic, number, value);
        }
    }
    const struct iso_kafka_counters *counters = iso_kafka_consumer_counters(consumer);
    count(status, ISO_METRIC_GAPS, counters->missing);
    count(status, ISO_METRIC_SEEKS, counters->seeks);
    count(status, ISO_METRIC_PAUSES, counters->pauses);
}

/* Only where there is a store. */
static void put_spill(struct app_status *status, const struct iso_aion_spilt *spilt)
{
    if (!spilt->disk)
        return;
    count(status, ISO_METRIC_SPILL_HITS, spilt->hits);
    count(status, ISO_METRIC_SPILL_MISSES, spilt->misses);
    count(status, ISO_METRIC_SPILL_EVICTIONS, spilt->evicted);
    count(status, ISO_METRIC_SPILL_KEYS, spilt->keys);
    count(status, ISO_METRIC_SPILL_DISK, spilt->disk);
    count(status, ISO_METRIC_SPILL_LIVING, spilt->living);
    count(status, ISO_METRIC_SPILL_HELD, spilt->held);
    count(status, ISO_METRIC_SPILL_READ, spilt->read);
    count(status, ISO_METRIC_SPILL_WRITTEN, spilt->written);
}

static void put_state(struct app_status *status, const struct app_durable *durable)
{
    struct app_durable_figures figures;
    app_durable_figures(durable, &figures);
    real(status, ISO_METRIC_CHECKPOINT_INTERVAL, figures.checkpoint_interval);
    real(status, ISO_METRIC_CHECKPOINT_AGE, figures.checkpoint_age);
    real(status, ISO_METRIC_CHECKPOINT_DURATION, figures.checkpoint_took);
    count(status, ISO_METRIC_JOURNAL_BYTES, figures.journal_bytes);
    count(status, ISO_METRIC_SNAPSHOTS, figures.snapshots);
    real(status, ISO_METRIC_SNAPSHOT_INTERVAL, figures.snapshot_interval);
    real(status, ISO_METRIC_SNAPSHOT_AGE, figures.snapshot_age);
    real(status, ISO_METRIC_SNAPSHOT_DURATION, figures.snapshot_took);
    count(status, ISO_METRIC_SNAPSHOT_BYTES, figures.snapshot_bytes);
    real(status, ISO_METRIC_SNAPSHOT_PAUSE, figures.longest_pause);
}

static void publish(struct app_status *status, const struct app_stream *stream, struct iso_kafka_consumer *consumer,
                    const struct iso_pipeline_stats *stats, const char *trouble)
{
    iso_metrics_clear(&status->metrics);
    iso_metrics_count(&status->metrics, ISO_METRIC_BUILD_INFO, ISO_VERSION,
                      iso_level_name((enum iso_level)stream->options->level), 1);
    iso_metrics_real(&status->metrics, ISO_METRIC_START_TIME, NULL, NULL, (double)status->started / 1000);
    put_intake(status, stats);
    put_verdicts(status, stats);
    count(status, ISO_METRIC_FINALITY_TIMEOUT, stream->options->finality_timeout);
    count(status, ISO_METRIC_IDLE_TIMEOUT, stream->options->idle_timeout);
    count(status, ISO_METRIC_RETENTION, stream->options->retention);
    put_partitions(status, stream, consumer);
    count(status, ISO_METRIC_MEMORY, stats->engine.bytes);
    count(status, ISO_METRIC_MEMORY_IN_USE, app_memory_in_use());
    if (stream->options->memory)
        count(status, ISO_METRIC_MEMORY_LIMIT, stream->options->memory);
    put_spill(status, &stats->engine.spilt);
    if (stream->durable)
        put_state(status, stream->durable);
    iso_web_publish(status->web, &status->metrics, true, trouble);
}

/* Progress is offsets: messages, and what holds none. */
static void tell_manager(struct app_status *status, struct iso_kafka_consumer *consumer,
                         const struct iso_pipeline_stats *stats, const char *trouble, uint64_t now)
{
    const struct iso_kafka_partition *partitions;
    uint64_t done = 0, behind = 0, violations = 0;
    uint32_t partition_count = iso_kafka_consumer_partitions(consumer, &partitions);
    for (uint32_t i = 0; i < partition_count; i++) {
        done += (uint64_t)partitions[i].next;
        behind += iso_kafka_consumer_behind(consumer, i);
    }
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        violations += stats->engine.counts[axiom];
    if (app_notify_progress(&status->notify, done, !behind || trouble, now))
        app_notify_status(
            &status->notify, "%" PRIu64 " transaction%s, %" PRIu64 " violation%s, %" PRIu64 " message%s behind%s%s",
            stats->engine.transactions, app_plural(stats->engine.transactions), violations, app_plural(violations),
            behind, app_plural(behind), trouble ? "; " : "", trouble ? trouble : "");
}

void app_status_update(struct app_status *status, const struct app_stream *stream, struct iso_kafka_consumer *consumer,
                       uint64_t now)
{
    struct iso_pipeline_stats stats;
    char text[200];
    if ((!status->web && !status->notify.socket) || now - status->published < PUBLISH_MS)
        return;
    status->published = now;
    iso_pipeline_stats(stream->pipeline, &stats);
    if (stats.messages != status->messages)
        status->progressed = since_1970();
    status->messages = stats.messages;
    if (stats.has_watermark && (!status->moved || stats.watermark != status->watermark))
        status->moved = since_1970();
    status->watermark = stats.watermark;
    const char *trouble = iso_kafka_consumer_trouble(consumer, text, sizeof text) ? text : NULL;
    if (status->web)
        publish(status, stream, consumer, &stats, trouble);
    tell_manager(status, consumer, &stats, trouble, now);
}
