#include "pipeline/order.h"

#include <assert.h>
#include <string.h>

#include "pipeline/pipeline_private.h"

static const char waiting[] = "waiting";

void pipeline_order_init(struct iso_pipeline *pipeline)
{
    pipeline->order = (struct iso_pipeline_order){.outcome = ISO_IS_UNDECIDED, .reason = waiting};
}

void pipeline_order_release(struct iso_pipeline *pipeline)
{
    iso_text_release(&pipeline->order.counts);
    iso_text_release(&pipeline->order.violations);
}

void iso_pipeline_set_order(struct iso_pipeline *pipeline, struct iso_pipeline_order *order)
{
    assert(pipeline->options.seeks_order);
    pipeline_order_release(pipeline);
    pipeline->order = *order;
    *order = (struct iso_pipeline_order){0};
}

const struct iso_pipeline_order *iso_pipeline_order(const struct iso_pipeline *pipeline)
{
    return pipeline->options.seeks_order ? &pipeline->order : NULL;
}

const char *pipeline_order_reason(const struct iso_pipeline *pipeline)
{
    return pipeline->options.seeks_order && pipeline->order.outcome == ISO_IS_UNDECIDED
               ? pipeline->order.reason
               : NULL;
}

/* Reads without a start: the engine counts those of writers, the joined history alone those of
 * readers. */
static uint64_t reads_without_start(const struct iso_pipeline_stats *stats)
{
    return stats->engine.reads_of[ISO_AION_READS_NO_START] + stats->join.reads_without_start;
}

uint64_t pipeline_order_reads(const struct iso_pipeline *pipeline,
                              const struct iso_pipeline_stats *stats)
{
    bool judged = pipeline->options.seeks_order && !pipeline_order_reason(pipeline);
    return judged ? reads_without_start(stats) : 0;
}

static void move_count(uint64_t *of, enum iso_accounted_class from, enum iso_accounted_class to,
                       uint64_t count)
{
    of[from] -= count;
    of[to] += count;
}

void pipeline_order_open(const struct iso_pipeline *pipeline,
                         const struct iso_pipeline_stats *stats, struct iso_accounting *accounting)
{
    const char *reason = pipeline_order_reason(pipeline);
    uint64_t *transactions = accounting->of[ISO_UNIT_TRANSACTIONS],
             *reads = accounting->of[ISO_UNIT_READS];
    if (!pipeline->options.seeks_order || (reason && strcmp(reason, waiting) != 0))
        return;
    move_count(transactions, ISO_ACCOUNTED_UNPLACED, ISO_ACCOUNTED_JUDGED,
               transactions[ISO_ACCOUNTED_UNPLACED]);
    enum iso_accounted_class to = reason ? ISO_ACCOUNTED_WAITING : ISO_ACCOUNTED_JUDGED;
    move_count(reads, ISO_ACCOUNTED_UNPLACED, to, reads_without_start(stats));
    move_count(accounting->of[ISO_UNIT_RECORDS], ISO_ACCOUNTED_UNPLACED, to,
               stats->join.readers_without_start);
    if (!reason)
        return;
    accounting->waiting.for_order = transactions[ISO_ACCOUNTED_JUDGED];
    accounting->waiting.total += accounting->waiting.for_order;
    move_count(transactions, ISO_ACCOUNTED_JUDGED, ISO_ACCOUNTED_WAITING,
               accounting->waiting.for_order);
}
