#include "run/options.h"

#include <string.h>
#include <unistd.h>

#include "native/read.h"

/* Milliseconds. */
enum { DEFAULT_GRACE = 10000, DEFAULT_FINALITY_TIMEOUT = 5000, DEFAULT_SETTLE = 50 };
#define DEAD_LETTER_LIMIT UINT64_C(1000000000)

void run_stream_options_init(struct run_stream_options *options)
{
    *options = (struct run_stream_options){.level = -1,
                                           .memory = RUN_MEMORY_NOT_GIVEN,
                                           .dead_letter_limit = DEAD_LETTER_LIMIT,
                                           .grace = RUN_GRACE_NOT_GIVEN};
    iso_pipeline_options_init(&options->pipeline);
    options->pipeline.engine.finality_timeout_ms = DEFAULT_FINALITY_TIMEOUT;
    options->pipeline.engine.settle_ms = DEFAULT_SETTLE;
    options->pipeline.engine.retention = 0;
}

uint64_t run_stream_memory(const struct run_stream_options *options)
{
    return options->memory == RUN_MEMORY_NOT_GIVEN ? cli_machine_memory() / 2 : options->memory;
}

bool run_stream_bounds_memory(const struct run_stream_options *options)
{
    return options->memory && options->memory != RUN_MEMORY_NOT_GIVEN;
}

uint64_t run_stream_grace(const struct run_stream_options *options)
{
    return options->grace == RUN_GRACE_NOT_GIVEN ? DEFAULT_GRACE : options->grace;
}

void run_stream_options_finalize(struct run_stream_options *options)
{
    if (!options->final_only_given && !options->out && !options->state && isatty(STDOUT_FILENO))
        options->final_only = true;
}

struct iso_polygraph_options run_stream_polygraph(const struct run_stream_options *options)
{
    struct iso_polygraph_options settings;
    iso_polygraph_options_init(&settings);
    settings.max_findings = options->pipeline.max_violations;
    settings.memory = run_stream_memory(options);
    settings.memory_in_use = cli_memory_in_use;
    return settings;
}

enum iso_status run_stream_initial(const struct run_stream_options *options,
                                   struct iso_history *history, struct iso_error *error)
{
    if (options->initial_file)
        iso_read_initial(options->initial_file, history, error);
    if (options->initial && strcmp(options->initial, "null"))
        history->initial.other_value =
            iso_atoms_text(&history->atoms, options->initial, strlen(options->initial));
    return error->status;
}
