/* What is always true of a pipeline between two batches. */
#include <assert.h>

#include "pipeline/pipeline_private.h"
#include "rowsets/shards.h"

#ifdef ISO_VALIDATE

/* Asserts that no input has promised more than it has, and that routes are of this pipeline. */
static void validate_inputs(const struct iso_pipeline *pipeline)
{
    const struct inputs *inputs = &pipeline->inputs;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->list[i];
        assert(!input->route || input->route == NO_ROUTE || input->route <= pipeline->routes.count);
        assert(!input->is_change_stream || pipeline->join);
        assert(!input->has_watermark || input->counts || input->is_change_stream);
        assert(!input->idle || input->counts || input->takes_part);
        assert(!input->lacks || pipeline->doubts.lacks);
        assert(!input->late || pipeline->doubts.late);
    }
}

static void validate_altered(const struct altered *altered)
{
    assert(altered->absent_count <= altered->absent_capacity);
    for (uint32_t i = 0; i < altered->table_count; i++) {
        const struct altered_table *table = &altered->tables[i];
        assert(table->time_count && table->time_count <= ISO_ALTERED_TIMES);
        for (uint32_t t = 1; t < table->time_count; t++)
            assert(table->times[t - 1] <= table->times[t]);
    }
}

void pipeline_validate(const struct iso_pipeline *pipeline)
{
    assert(!pipeline->batch.count);
    assert(pipeline->doubts.doubted.count <= PIPELINE_DOUBTED_MOST &&
           !pipeline->doubts.counted_count);
    assert(pipeline->stats.has_watermark || !pipeline->stats.watermark);
    assert(!pipeline->clock.year || (!pipeline->join && pipeline->stats.has_watermark));
    validate_inputs(pipeline);
    iso_stairs_validate(&pipeline->grace.promise);
    validate_altered(&pipeline->altered);
    findings_validate(&pipeline->reports.findings);
    if (pipeline->queries.engine)
        iso_rowsets_shards_validate(pipeline->queries.engine);
}

#else

void pipeline_validate(const struct iso_pipeline *pipeline)
{
    (void)pipeline;
}

#endif
