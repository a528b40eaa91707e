#include "metrics/metrics.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

static const struct iso_metric_row rows[ISO_METRICS] = {
#define ROW(member, type, name, help, ...)                                                         \
    [ISO_METRIC_##member] = {name, type, help, {__VA_ARGS__}},
#include "metrics/rows.h"
#undef ROW
};

const struct iso_metric_row *iso_metric_row(enum iso_metric metric)
{
    return &rows[metric];
}

void iso_metrics_release(struct iso_metrics *metrics)
{
    iso_free(metrics->samples);
    iso_text_release(&metrics->texts);
    memset(metrics, 0, sizeof *metrics);
}

void iso_metrics_clear(struct iso_metrics *metrics)
{
    metrics->count = 0;
    metrics->texts.used = 0;
}

static uint32_t keep_text(struct iso_metrics *metrics, const char *text)
{
    uint32_t place = (uint32_t)metrics->texts.used;
    iso_text_put_bytes(&metrics->texts, text, strlen(text) + 1);
    return place;
}

static struct iso_sample *add_sample(struct iso_metrics *metrics, enum iso_metric metric,
                                     const char *first, const char *second)
{
    const struct iso_metric_row *row = &rows[metric];
    assert(!row->labels[0] == !first && !row->labels[1] == !second);
    assert(!metrics->count || metrics->samples[metrics->count - 1].metric <= metric);
    ISO_GROW(metrics->samples, metrics->count, metrics->capacity);
    struct iso_sample *sample = &metrics->samples[metrics->count++];
    *sample = (struct iso_sample){.metric = metric};
    sample->labels[0] = first ? keep_text(metrics, first) : 0;
    sample->labels[1] = second ? keep_text(metrics, second) : 0;
    return sample;
}

void iso_metrics_count(struct iso_metrics *metrics, enum iso_metric metric, const char *first,
                       const char *second, uint64_t value)
{
    add_sample(metrics, metric, first, second)->count = value;
}

void iso_metrics_real(struct iso_metrics *metrics, enum iso_metric metric, const char *first,
                      const char *second, double value)
{
    struct iso_sample *sample = add_sample(metrics, metric, first, second);
    sample->is_real = true;
    sample->real = value;
}

uint64_t iso_metrics_sum(const struct iso_metrics *metrics, enum iso_metric metric)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->count; i++)
        sum += metrics->samples[i].metric == metric && !metrics->samples[i].is_real
                   ? metrics->samples[i].count
                   : 0;
    return sum;
}
