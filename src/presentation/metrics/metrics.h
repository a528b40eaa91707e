/* What the running checker says of itself: one table of metrics, a snapshot of their values, and
 * the renderers.
 *
 * A metric is its row in rows.h; every renderer follows the table, so that a figure has one name
 * and one meaning wherever it is read. Names and units follow Prometheus's rules (base units,
 * `_total` for counters). Labels are few and bounded: topics and partitions that are read (those of
 * the sources, and no others), axioms, states, classes of the books, what befell tables, ten
 * tables; never a key, a session or a transaction.
 *
 * A snapshot is a column of samples. It is filled by the checker's thread and rendered by another,
 * never both at a time: the owner sees to that. Ownership: a snapshot owns its samples and texts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum iso_metric {
#define ROW(member, ...) ISO_METRIC_##member,
#include "metrics/rows.h"
#undef ROW
    ISO_METRICS
};

enum iso_metric_type { ISO_COUNTER, ISO_GAUGE };

enum { ISO_METRIC_LABELS = 2 };

struct iso_metric_row {
    const char *name;
    enum iso_metric_type type;
    const char *help;
    const char *labels[ISO_METRIC_LABELS]; /* NULL: none */
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
    struct iso_sample
        *samples; /* those of a metric stand together, metrics in the order of the table */
    struct iso_text texts;
};

void iso_metrics_release(struct iso_metrics *metrics); /* a zeroed one is empty */
void iso_metrics_clear(struct iso_metrics *metrics);

/* Adds a sample; metrics come in the order of the table. The labels are those of the metric's row;
 * NULL where it has none. */
void iso_metrics_count(struct iso_metrics *metrics, enum iso_metric metric, const char *first,
                       const char *second, uint64_t value);
void iso_metrics_real(struct iso_metrics *metrics, enum iso_metric metric, const char *first,
                      const char *second, double value);

/* All samples of a metric of counts together. */
uint64_t iso_metrics_sum(const struct iso_metrics *metrics, enum iso_metric metric);

/* Prometheus's text format, version 0.0.4. */
void iso_metrics_prometheus(const struct iso_metrics *metrics, struct iso_text *text);

/* A JSON object by metric: a value, or a list of objects of labels and `value`. Counts beyond 2^53
 * are strings. */
void iso_metrics_json(const struct iso_metrics *metrics, struct iso_text *text);
