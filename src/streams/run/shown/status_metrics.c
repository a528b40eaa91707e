/* The table of metrics, filled from a run. */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/log.h"
#include "cli/system.h"
#include "iso/version.h"
#include "run/input/left_out.h"
#include "run/shown/status_private.h"

static void put_count(struct run_status *status, enum iso_metric metric, uint64_t value)
{
    iso_metrics_count(&status->metrics, metric, NULL, NULL, value);
}

/* Below 0: there is nothing to report. */
static void put_real(struct run_status *status, enum iso_metric metric, double value)
{
    if (value >= 0)
        iso_metrics_real(&status->metrics, metric, NULL, NULL, value);
}

static void put_intake(struct run_status *status)
{
    const struct iso_aion_stats *engine = &status->stats.engine;
    put_count(status, ISO_METRIC_MESSAGES, status->stats.messages);
    put_count(status, ISO_METRIC_MESSAGE_BYTES, status->stats.bytes);
    put_count(status, ISO_METRIC_BAD_RECORDS, status->stats.bad_records);
    put_count(status, ISO_METRIC_CONTRADICTIONS, status->stats.contradictions);
    put_count(status, ISO_METRIC_UNKEPT, status->stream->recording.unkept);
    put_count(status, ISO_METRIC_UNSAID, cli_log_dropped());
    put_count(status, ISO_METRIC_UNROUTED, status->stats.unrouted);
    put_count(status, ISO_METRIC_TRANSACTIONS, engine->transactions);
    put_count(status, ISO_METRIC_REPEATS, engine->repeats);
    put_count(status, ISO_METRIC_LATE, engine->below_watermark);
}

static void put_books(struct run_status *status)
{
    const struct iso_accounting *books = &status->books.content;
    for (int unit = 0; unit < ISO_UNITS; unit++) {
        const char *name = iso_unit_name((enum iso_unit)unit);
        iso_metrics_count(&status->metrics, ISO_METRIC_BOOKS, name, "came", books->came[unit]);
        for (int i = 0; i < ISO_ACCOUNTED_CLASSES; i++)
            if (books->of[unit][i])
                iso_metrics_count(&status->metrics, ISO_METRIC_BOOKS, name,
                                  iso_accounted_class_name((enum iso_accounted_class)i),
                                  books->of[unit][i]);
    }
    put_count(status, ISO_METRIC_BOOKS_BALANCED, books->balanced);
}

static void put_waiting(struct run_status *status)
{
    struct run_waiting_class class;
    for (unsigned i = 0; run_waiting_class(&status->books.content, i, &class); i++)
        iso_metrics_count(&status->metrics, ISO_METRIC_WAITING, class.name, NULL, class.count);
    for (unsigned i = 0; run_waiting_class(&status->books.content, i, &class); i++)
        if (class.oldest.ms != UINT64_MAX)
            iso_metrics_real(&status->metrics, ISO_METRIC_WAITING_OLDEST, class.name, NULL,
                             (double)class.oldest.ms / 1000);
    put_real(status, ISO_METRIC_UNSETTLED, (double)status->waiting.unsettled / 1000);
    put_real(status, ISO_METRIC_UNSETTLED_BOUND, (double)status_unsettled_bound(status) / 1000);
}

static void put_uncovered(struct run_status *status)
{
    uint32_t tables;
    struct iso_join_left_out *list = run_left_out(status->stream->pipeline, &tables);
    for (uint32_t i = 0; i < tables && i < RUN_TABLES_NAMED; i++) {
        char name[200];
        snprintf(name, sizeof name, "%.*s", list[i].length < 150 ? (int)list[i].length : 150,
                 list[i].name);
        iso_metrics_count(&status->metrics, ISO_METRIC_UNCOVERED, name, NULL, list[i].operations);
    }
    iso_free(list);
}

static void put_tables(struct run_status *status)
{
    if (!status->stats.has_join)
        return;
    for (int news = 0; news < ISO_TABLE_NEWS; news++)
        iso_metrics_count(&status->metrics, ISO_METRIC_TABLES_CHANGED,
                          iso_table_news_name((enum iso_table_news)news), NULL,
                          status->stream->remarks.tables.count[news]);
    put_count(status, ISO_METRIC_SNAPSHOTS_AGAIN, status->stats.join.snapshots_again);
    put_count(status, ISO_METRIC_SNAPSHOT_GAPS, status->stats.join.gaps);
}

static void put_verdicts(struct run_status *status)
{
    struct iso_metrics *metrics = &status->metrics;
    const struct iso_aion_stats *engine = &status->stats.engine;
    uint64_t flips = 0;
    put_count(status, ISO_METRIC_READS_JUDGED, engine->reads_judged);
    put_count(status, ISO_METRIC_READS_UNJUDGED, engine->reads_unjudged + engine->reads_undecided);
    put_count(status, ISO_METRIC_SESSIONS_UNDECIDED, engine->sessions_undecided);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        iso_metrics_count(metrics, ISO_METRIC_VIOLATIONS, iso_axiom_name((enum iso_axiom)axiom),
                          NULL, iso_pipeline_certain(&status->stats, (enum iso_axiom)axiom));
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        if (status->stats.doubted[axiom])
            iso_metrics_count(metrics, ISO_METRIC_DOUBTFUL, iso_axiom_name((enum iso_axiom)axiom),
                              NULL, status->stats.doubted[axiom]);
    iso_metrics_count(metrics, ISO_METRIC_VERDICTS, "tentative", NULL, status->stats.tentative);
    iso_metrics_count(metrics, ISO_METRIC_VERDICTS, "final", NULL,
                      status->stats.final - status->stats.final_doubtful);
    iso_metrics_count(metrics, ISO_METRIC_VERDICTS, "doubtful", NULL, status->stats.final_doubtful);
    iso_metrics_count(metrics, ISO_METRIC_VERDICTS, "retracted", NULL, status->stats.retracted);
    put_count(status, ISO_METRIC_STANDING, engine->standing);
    put_count(status, ISO_METRIC_OPEN_READS, engine->open_reads);
    for (uint32_t i = 0; i < ISO_AION_FLIPS; i++)
        flips += engine->flips[i] * (i + 1);
    put_count(status, ISO_METRIC_FLIPS, flips);
    if (status->stats.has_watermark) {
        put_count(status, ISO_METRIC_WATERMARK, status->stats.watermark);
        put_real(status, ISO_METRIC_WATERMARK_TIME, (double)status->times.moved / 1000);
    }
    put_real(status, ISO_METRIC_PROGRESS_TIME, (double)status->times.progressed / 1000);
}

static void put_silence(struct run_status *status)
{
    put_real(status, ISO_METRIC_CHANGES_TIME, status_last_message(status, true));
    put_real(status, ISO_METRIC_CLIENTS_TIME, status_last_message(status, false));
    put_real(status, ISO_METRIC_EXPECT_MESSAGES, (double)status->expect_messages / 1000);
}

/* One metric of a partition; false: there is no such figure. */
static bool partition_figure(const struct run_status *status, uint32_t index,
                             enum iso_metric metric, uint64_t *value)
{
    const struct iso_kafka_partition *partition;
    iso_kafka_consumer_partitions(status->consumer, &partition);
    partition += index;
    struct iso_pipeline_input input =
        iso_pipeline_input(status->stream->pipeline, partition->input);
    switch (metric) {
    case ISO_METRIC_OFFSET:
        *value = (uint64_t)partition->next;
        return true;
    case ISO_METRIC_END:
        *value = (uint64_t)partition->next + iso_kafka_consumer_behind(status->consumer, index);
        return true;
    case ISO_METRIC_LAG:
        *value = iso_kafka_consumer_behind(status->consumer, index);
        return true;
    case ISO_METRIC_PARTITION_WATERMARK:
        *value = input.watermark;
        return input.has_watermark;
    case ISO_METRIC_AWAITED:
        *value = input.holds_back && run_waiting_on_inputs(&status->books.content);
        return true;
    case ISO_METRIC_PARTITION_TIME:
        *value = index < status->locations.count ? status->locations.list[index].time / 1000 : 0;
        return *value;
    default:
        *value = input.is_idle;
        return true;
    }
}

static void put_partitions(struct run_status *status)
{
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(status->consumer, &partitions);
    for (int metric = ISO_METRIC_OFFSET; metric <= ISO_METRIC_PARTITION_TIME; metric++) {
        for (uint32_t i = 0; i < partition_count; i++) {
            char number[16];
            uint64_t value;
            snprintf(number, sizeof number, "%" PRId32, partitions[i].partition);
            if (partition_figure(status, i, (enum iso_metric)metric, &value))
                iso_metrics_count(&status->metrics, (enum iso_metric)metric, partitions[i].topic,
                                  number, value);
        }
    }
    const struct iso_kafka_counters *counters = iso_kafka_consumer_counters(status->consumer);
    put_count(status, ISO_METRIC_GAPS, counters->missing);
    put_count(status, ISO_METRIC_SEEKS, counters->seeks);
    put_count(status, ISO_METRIC_PAUSES, counters->pauses);
}

/* Only where there is a store. */
static void put_spill(struct run_status *status, const struct iso_aion_spilt *spilt)
{
    if (!spilt->disk)
        return;
    put_count(status, ISO_METRIC_SPILL_HITS, spilt->hits);
    put_count(status, ISO_METRIC_SPILL_MISSES, spilt->misses);
    put_count(status, ISO_METRIC_SPILL_EVICTIONS, spilt->evicted);
    put_count(status, ISO_METRIC_SPILL_KEYS, spilt->keys);
    put_count(status, ISO_METRIC_SPILL_DISK, spilt->disk);
    put_count(status, ISO_METRIC_SPILL_LIVING, spilt->living);
    put_count(status, ISO_METRIC_SPILL_HELD, spilt->archived);
    put_count(status, ISO_METRIC_SPILL_READ, spilt->read);
    put_count(status, ISO_METRIC_SPILL_WRITTEN, spilt->written);
}

static void put_state(struct run_status *status)
{
    struct run_checkpoint_figures figures;
    run_checkpoint_figures(status->durable, &figures);
    put_real(status, ISO_METRIC_CHECKPOINT_INTERVAL, figures.checkpoint_interval);
    put_real(status, ISO_METRIC_CHECKPOINT_AGE, figures.checkpoint_age);
    put_real(status, ISO_METRIC_CHECKPOINT_DURATION, figures.checkpoint_took);
    put_count(status, ISO_METRIC_JOURNAL_BYTES, figures.journal_bytes);
    put_count(status, ISO_METRIC_SNAPSHOTS, figures.snapshots);
    put_real(status, ISO_METRIC_SNAPSHOT_INTERVAL, figures.snapshot_interval);
    put_real(status, ISO_METRIC_SNAPSHOT_AGE, figures.snapshot_age);
    put_real(status, ISO_METRIC_SNAPSHOT_DURATION, figures.snapshot_took);
    put_count(status, ISO_METRIC_SNAPSHOT_BYTES, figures.snapshot_bytes);
    put_real(status, ISO_METRIC_SNAPSHOT_PAUSE, figures.longest_pause);
}

void status_fill_metrics(struct run_status *status, bool is_ready)
{
    iso_metrics_clear(&status->metrics);
    iso_metrics_count(&status->metrics, ISO_METRIC_BUILD_INFO, ISO_VERSION,
                      iso_pipeline_level_name(status->stream->pipeline), 1);
    iso_metrics_real(&status->metrics, ISO_METRIC_START_TIME, NULL, NULL,
                     (double)status->times.started / 1000);
    put_count(status, ISO_METRIC_READY, is_ready);
    put_intake(status);
    put_books(status);
    put_waiting(status);
    put_uncovered(status);
    put_tables(status);
    put_verdicts(status);
    put_silence(status);
    put_real(status, ISO_METRIC_FINALITY_TIMEOUT,
             (double)status->stream->options->pipeline.engine.finality_timeout_ms / 1000);
    put_real(status, ISO_METRIC_IDLE_TIMEOUT,
             (double)status->stream->options->pipeline.idle_timeout_ms / 1000);
    put_count(status, ISO_METRIC_RETENTION, status->stream->options->pipeline.engine.retention);
    put_partitions(status);
    put_count(status, ISO_METRIC_MEMORY, status->stats.engine.bytes);
    put_count(status, ISO_METRIC_MEMORY_IN_USE, cli_memory_in_use());
    if (run_stream_memory(status->stream->options)) {
        put_count(status, ISO_METRIC_MEMORY_LIMIT, run_stream_memory(status->stream->options));
        put_count(status, ISO_METRIC_MEMORY_NEEDED,
                  iso_pipeline_memory_needed(status->stream->pipeline));
    }
    put_spill(status, &status->stats.engine.spilt);
    if (status->durable)
        put_state(status);
}
