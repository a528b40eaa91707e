/* The renderers: Prometheus's text, and JSON. */
#include <stdio.h>
#include <string.h>

#include "metrics/metrics.h"

static const char *label_of(const struct iso_metrics *metrics, const struct iso_sample *sample,
                            int label)
{
    return metrics->texts.bytes + sample->labels[label];
}

static void put_real(struct iso_text *text, double value)
{
    char *room = iso_text_reserve(text, 40);
    text->used += (size_t)snprintf(room, 40, "%.17g", value);
}

/* ---- Prometheus ---- */

static void put_escaped(struct iso_text *text, const char *label)
{
    for (; *label; label++) {
        if (*label == '\\' || *label == '"')
            iso_text_put_bytes(text, "\\", 1);
        if (*label == '\n')
            iso_text_put(text, "\\n");
        else
            iso_text_put_bytes(text, label, 1);
    }
}

static void put_labels(struct iso_text *text, const struct iso_metrics *metrics,
                       const struct iso_sample *sample)
{
    const struct iso_metric_row *row = iso_metric_row(sample->metric);
    for (int i = 0; i < ISO_METRIC_LABELS && row->labels[i]; i++) {
        iso_text_format(text, "%s%s=\"", i ? "\"," : "{", row->labels[i]);
        put_escaped(text, label_of(metrics, sample, i));
    }
    if (row->labels[0])
        iso_text_put(text, "\"}");
}

void iso_metrics_prometheus(const struct iso_metrics *metrics, struct iso_text *text)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        const struct iso_sample *sample = &metrics->samples[i];
        const struct iso_metric_row *row = iso_metric_row(sample->metric);
        if (!i || sample[-1].metric != sample->metric) {
            iso_text_format(text, "# HELP %s %s\n# TYPE %s%s", row->name, row->help, row->name,
                            row->type == ISO_COUNTER ? " counter\n" : " gauge\n");
        }
        iso_text_put(text, row->name);
        put_labels(text, metrics, sample);
        iso_text_put(text, " ");
        if (sample->is_real)
            put_real(text, sample->real);
        else
            iso_text_put_unsigned(text, sample->count);
        iso_text_put(text, "\n");
    }
}

/* ---- JSON ---- */

static void put_value(struct iso_text *text, const struct iso_sample *sample)
{
    bool quoted = !sample->is_real && sample->count > (uint64_t)1 << 53;
    if (quoted)
        iso_text_put(text, "\"");
    if (sample->is_real)
        put_real(text, sample->real);
    else
        iso_text_put_unsigned(text, sample->count);
    if (quoted)
        iso_text_put(text, "\"");
}

static void put_member(struct iso_text *text, const char *name)
{
    iso_text_put_string(text, name, strlen(name));
    iso_text_put(text, ":");
}

static void put_object(struct iso_text *text, const struct iso_metrics *metrics,
                       const struct iso_sample *sample)
{
    const struct iso_metric_row *row = iso_metric_row(sample->metric);
    iso_text_put(text, "{");
    for (int i = 0; i < ISO_METRIC_LABELS && row->labels[i]; i++) {
        const char *label = label_of(metrics, sample, i);
        put_member(text, row->labels[i]);
        iso_text_put_string(text, label, strlen(label));
        iso_text_put(text, ",");
    }
    put_member(text, "value");
    put_value(text, sample);
    iso_text_put(text, "}");
}

void iso_metrics_json(const struct iso_metrics *metrics, struct iso_text *text)
{
    iso_text_put(text, "{");
    for (uint32_t i = 0, end; i < metrics->count; i = end) {
        const struct iso_sample *sample = &metrics->samples[i];
        const struct iso_metric_row *row = iso_metric_row(sample->metric);
        for (end = i + 1; end < metrics->count && metrics->samples[end].metric == sample->metric;)
            end++;
        iso_text_put(text, i ? "," : "");
        put_member(text, row->name);
        if (!row->labels[0]) {
            put_value(text, sample);
            continue;
        }
        iso_text_put(text, "[");
        for (uint32_t j = i; j < end; j++) {
            iso_text_put(text, j > i ? "," : "");
            put_object(text, metrics, &metrics->samples[j]);
        }
        iso_text_put(text, "]");
    }
    iso_text_put(text, "}");
}
