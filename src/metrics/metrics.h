/* What the running checker says of itself: one table of metrics, a snapshot of their values, and the renderers.
 *
 * A metric is its row in metrics.c; every renderer follows the table, so that a figure has one name and one meaning
 * wherever it is read. Names and units follow Prometheus's rules (base units, `_total` for counters). Labels are few
 * and bounded: topics and partitions that are read (those of the sources, and no others), axioms, states, classes of
 * the books, what befell tables, ten tables; never a key, a session or a transaction.
 *
 * A snapshot is a column of samples. It is filled by the checker's thread and rendered by another, never both at a
 * time: the owner sees to that. Ownership: a snapshot owns its samples and texts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum iso_metric {
    ISO_METRIC_BUILD_INFO,
    ISO_METRIC_START_TIME,
    ISO_METRIC_READY,
    ISO_METRIC_MESSAGES,
    ISO_METRIC_MESSAGE_BYTES,
    ISO_METRIC_BAD_RECORDS,
    ISO_METRIC_CONTRADICTIONS,
    ISO_METRIC_UNKEPT,
    ISO_METRIC_UNSAID,
    ISO_METRIC_UNROUTED,
    ISO_METRIC_TRANSACTIONS,
    ISO_METRIC_REPEATS,
    ISO_METRIC_LATE,
    ISO_METRIC_BOOKS,
    ISO_METRIC_BOOKS_BALANCED,
    ISO_METRIC_WAITING,
    ISO_METRIC_WAITING_OLDEST,
    ISO_METRIC_UNSETTLED,
    ISO_METRIC_UNSETTLED_BOUND,
    ISO_METRIC_UNCOVERED,
    ISO_METRIC_TABLES_CHANGED,
    ISO_METRIC_SNAPSHOTS_AGAIN,
    ISO_METRIC_SNAPSHOT_GAPS,
    ISO_METRIC_READS_JUDGED,
    ISO_METRIC_READS_UNJUDGED,
    ISO_METRIC_SESSIONS_UNDECIDED,
    ISO_METRIC_VIOLATIONS,
    ISO_METRIC_DOUBTFUL,
    ISO_METRIC_VERDICTS,
    ISO_METRIC_STANDING,
    ISO_METRIC_OPEN_READS,
    ISO_METRIC_FLIPS,
    ISO_METRIC_WATERMARK,
    ISO_METRIC_WATERMARK_TIME,
    ISO_METRIC_PROGRESS_TIME,
    ISO_METRIC_CHANGES_TIME,
    ISO_METRIC_CLIENTS_TIME,
    ISO_METRIC_EXPECT_MESSAGES,
    ISO_METRIC_FINALITY_TIMEOUT,
    ISO_METRIC_IDLE_TIMEOUT,
    ISO_METRIC_RETENTION,
    ISO_METRIC_OFFSET,
    ISO_METRIC_END,
    ISO_METRIC_LAG,
    ISO_METRIC_PARTITION_WATERMARK,
    ISO_METRIC_IDLE,
    ISO_METRIC_AWAITED,
    ISO_METRIC_PARTITION_TIME,
    ISO_METRIC_GAPS,
    ISO_METRIC_SEEKS,
    ISO_METRIC_PAUSES,
    ISO_METRIC_MEMORY,
    ISO_METRIC_MEMORY_IN_USE,
    ISO_METRIC_MEMORY_LIMIT,
    ISO_METRIC_MEMORY_NEEDED,
    ISO_METRIC_SPILL_HITS,
    ISO_METRIC_SPILL_MISSES,
    ISO_METRIC_SPILL_EVICTIONS,
    ISO_METRIC_SPILL_KEYS,
    ISO_METRIC_SPILL_DISK,
    ISO_METRIC_SPILL_LIVING,
    ISO_METRIC_SPILL_HELD,
    ISO_METRIC_SPILL_READ,
    ISO_METRIC_SPILL_WRITTEN,
    ISO_METRIC_CHECKPOINT_INTERVAL,
    ISO_METRIC_CHECKPOINT_AGE,
    ISO_METRIC_CHECKPOINT_DURATION,
    ISO_METRIC_JOURNAL_BYTES,
    ISO_METRIC_SNAPSHOTS,
    ISO_METRIC_SNAPSHOT_INTERVAL,
    ISO_METRIC_SNAPSHOT_AGE,
    ISO_METRIC_SNAPSHOT_DURATION,
    ISO_METRIC_SNAPSHOT_BYTES,
    ISO_METRIC_SNAPSHOT_PAUSE,
    ISO_METRICS
};

enum iso_metric_type { ISO_COUNTER, ISO_GAUGE };

enum { ISO_METRIC_LABELS = 2 };

struct iso_metric_row {
    const char *name;
    enum iso_metric_type type;
    const char *labels[ISO_METRIC_LABELS]; /* NULL: none */
    const char *help;
};

const struct iso_metric_row *iso_metric_row(enum iso_metric metric);

struct iso_sample {
    enum iso_metric metric;
    bool is_real;
    uint32_t labels[ISO_METRIC_LABELS]; /* places in `texts`; a label ends with a zero byte */
    union {
        uint64_t count;
        double real;
    };
};

struct iso_metrics {
    uint32_t count, capacity;
    struct iso_sample *samples; /* those of a metric stand together, metrics in the order of the table */
    struct iso_text texts;
};

void iso_metrics_release(struct iso_metrics *metrics); /* a zeroed one is empty */
void iso_metrics_clear(struct iso_metrics *metrics);

/* Adds a sample; metrics come in the order of the table. The labels are those of the metric's row; NULL where it has
 * none. */
void iso_metrics_count(struct iso_metrics *metrics, enum iso_metric metric, const char *first, const char *second,
                       uint64_t value);
void iso_metrics_real(struct iso_metrics *metrics, enum iso_metric metric, const char *first, const char *second,
                      double value);

/* All samples of a metric of counts together. */
uint64_t iso_metrics_sum(const struct iso_metrics *metrics, enum iso_metric metric);

/* Prometheus's text format, version 0.0.4. */
void iso_metrics_prometheus(const struct iso_metrics *metrics, struct iso_text *text);

/* A JSON object by metric: a value, or a list of objects of labels and `value`. Counts beyond 2^53 are strings. */
void iso_metrics_json(const struct iso_metrics *metrics, struct iso_text *text);
