#include "run/ends.h"

#include "base/memory.h"
#include "run/input/intake.h"

enum { STOOD_MS = 1000 };

void run_ends_release(struct run_ends *ends)
{
    iso_free(ends->positions);
    *ends = (struct run_ends){0};
}

static struct run_ends_position *position_of(struct run_ends *ends, uint32_t partition)
{
    if (partition >= ends->count) {
        ends->positions =
            iso_reallocate(ends->positions, (partition + 1) * sizeof *ends->positions);
        for (; ends->count <= partition; ends->count++)
            ends->positions[ends->count] = (struct run_ends_position){.next = -1};
    }
    return &ends->positions[partition];
}

/* Whether it has stood at its end for long enough, and that was not reported. */
static bool is_to_be_reported(struct run_ends *ends, const struct run_stream *stream,
                              const struct iso_kafka_partition *partition, uint32_t index,
                              uint64_t time)
{
    struct run_ends_position *position = position_of(ends, index);
    if (!partition->at_end || partition->next != position->next)
        *position = (struct run_ends_position){.next = partition->at_end ? partition->next : -1,
                                               .since = time};
    return position->next >= 0 && time - position->since >= STOOD_MS &&
           !iso_pipeline_input(stream->pipeline, partition->input).at_end;
}

static enum iso_status report_end(struct run_stream *stream, struct run_durable *durable,
                                  uint32_t input, uint64_t time, struct iso_error *error)
{
    if (durable && run_durable_ended(durable, input, error) != ISO_OK)
        return error->status;
    return run_intake_end(stream, input, time, error);
}

static enum iso_status report_reached(struct run_stream *stream, struct run_durable *durable,
                                      uint64_t reached, uint64_t time, struct iso_error *error)
{
    if (durable && run_durable_reached(durable, reached, error) != ISO_OK)
        return error->status;
    return run_intake_reached(stream, reached, time, error);
}

enum iso_status run_ends_report(struct run_ends *ends, struct run_stream *stream,
                                struct run_durable *durable,
                                const struct iso_kafka_consumer *consumer, uint64_t time,
                                struct iso_error *error)
{
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(consumer, &partitions);
    uint64_t reached;
    for (uint32_t i = 0; i < count && error->status == ISO_OK; i++)
        if (is_to_be_reported(ends, stream, &partitions[i], i, time))
            report_end(stream, durable, partitions[i].input, time, error);
    if (error->status == ISO_OK && !ends->ends_alone &&
        iso_pipeline_time(stream->pipeline, time, &reached))
        report_reached(stream, durable, reached, time, error);
    return error->status;
}
