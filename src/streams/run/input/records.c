#include "run/input/records.h"

#include <string.h>

#include "base/memory.h"
#include "cli/system.h"
#include "native/read.h"

void run_records_release(struct run_records *records)
{
    if (records->history)
        iso_history_release(records->history);
    iso_free(records->history);
    records->history = NULL;
}

/* Origins name inputs of the pipeline's table. */
static void rename_inputs(struct iso_inputs *inputs, struct iso_history *history)
{
    uint32_t numbers[ISO_INPUTS_LIMIT];
    for (uint32_t i = 0; i < history->inputs.count; i++)
        numbers[i] = iso_inputs_number(inputs, history->inputs.names[i],
                                       strlen(history->inputs.names[i]), ISO_PIPELINE_FILE);
    for (uint32_t t = 0; t < history->txns.count; t++)
        history->txns.origin[t] = iso_origin(numbers[iso_origin_input(history->txns.origin[t])],
                                             iso_origin_offset(history->txns.origin[t]));
    if (history->inputs.count)
        history->lost.origin = iso_origin(numbers[iso_origin_input(history->lost.origin)],
                                          iso_origin_offset(history->lost.origin));
}

enum iso_status run_records_read(struct run_records *records, struct iso_pipeline *pipeline,
                                 struct iso_error *error)
{
    const struct iso_read_options how = {.threads = cli_processors()};
    if (!records->path || records->history)
        return ISO_OK;
    records->history = iso_allocate(sizeof *records->history);
    iso_history_init(records->history);
    if (iso_read_history(&records->path, 1, &how, records->history, error) == ISO_OK &&
        iso_history_refuse_ranges(records->history, "one with \"table\" beside a change stream",
                                  error) == ISO_OK)
        rename_inputs(iso_pipeline_inputs(pipeline), records->history);
    return error->status;
}

enum iso_status run_records_give(struct run_records *records, struct iso_pipeline *pipeline,
                                 struct iso_error *error)
{
    if (records->history)
        iso_pipeline_records(pipeline, records->history, 0, error);
    run_records_release(records);
    return error->status;
}
