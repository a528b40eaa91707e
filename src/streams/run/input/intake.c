#include "run/input/intake.h"

#include <assert.h>

/* A recording keeps batches as they are judged; those that its reader would cut are cut here
 * already. */
enum iso_status run_intake_feed(struct run_stream *stream, const struct iso_message *messages,
                                uint32_t count, uint64_t time, struct iso_error *error)
{
    bool records = stream->recording.messages;
    uint32_t batch = count;
    for (; count && error->status == ISO_OK; messages += batch, count -= batch) {
        batch = records ? iso_capture_batch(messages, count) : count;
        assert(batch && batch <= count);
        if (records)
            run_recording_batch(&stream->recording, messages, batch, error);
        if (error->status == ISO_OK)
            iso_pipeline_feed(stream->pipeline, messages, batch, time, error);
    }
    return error->status;
}

enum iso_status run_intake_declare(struct run_stream *stream, const char *topic, int32_t partition,
                                   struct iso_error *error)
{
    struct iso_capture_writer *record = stream->recording.messages;
    return record ? iso_capture_declare(record, topic, partition, error) : ISO_OK;
}

enum iso_status run_intake_end(struct run_stream *stream, uint32_t input, uint64_t time,
                               struct iso_error *error)
{
    assert(input < iso_pipeline_inputs(stream->pipeline)->count);
    const struct iso_inputs_entry *entry = &iso_pipeline_inputs(stream->pipeline)->list[input];
    struct iso_capture_writer *record = stream->recording.messages;
    if (record && iso_capture_end(record, entry->topic, entry->partition, error) != ISO_OK)
        return error->status;
    return iso_pipeline_at_end(stream->pipeline, input, time, error);
}

enum iso_status run_intake_reached(struct run_stream *stream, uint64_t reached, uint64_t time,
                                   struct iso_error *error)
{
    struct iso_capture_writer *record = stream->recording.messages;
    if (record && iso_capture_reached(record, reached, error) != ISO_OK)
        return error->status;
    return iso_pipeline_reached(stream->pipeline, reached, time, error);
}
