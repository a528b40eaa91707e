/* The histories that benchmarks run on: generated, or the user's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "benchmark/kind.h"
#include "generate/generate.h"
#include "native/read.h"
#include "formats/write_history.h"

static void pass_over(void *context, const struct iso_aion_event *event)
{
    (void)context, (void)event;
}

struct iso_aion_options bench_engine_options(const struct bench *bench, struct iso_team *team)
{
    struct iso_aion_options options;
    iso_aion_options_init(&options);
    options.level = bench->generate.level;
    options.shards = bench->threads ? (uint32_t)bench->threads : 1;
    options.host.run_shards = iso_team_run;
    options.host.runner = team;
    options.finality_timeout_ms = 0;
    options.retention = bench->retention ? bench->retention : ISO_AION_FOREVER;
    options.host.emit = pass_over;
    return options;
}

static bool append_block(void *context, const struct iso_history *block)
{
    iso_history_append(context, block, 0, 0);
    return true;
}

enum iso_status bench_generate(const struct bench *bench, struct iso_history *history,
                               struct iso_error *error)
{
    struct iso_generated generated;
    iso_history_input(history, "generated");
    iso_generate(&bench->generate, append_block, history, &generated);
    iso_generated_release(&generated);
    return iso_history_finish(history, error);
}

/* ---- into a file ---- */

struct file_sink {
    struct iso_history_writer writer;
    struct iso_output output;
    struct iso_error *error;
};

static bool write_block(void *context, const struct iso_history *block)
{
    struct file_sink *sink = context;
    return iso_history_writer_add(&sink->writer, block, sink->error) == ISO_OK &&
           !sink->output.error;
}

/* In a child, so that the memory that it takes is nobody else's. */
static enum iso_status write_file(void *context, double *numbers, struct iso_error *error)
{
    const struct bench_point *point = context;
    struct iso_generated generated;
    struct file_sink sink = {.error = error};
    iso_output_to(&sink.output, point->descriptor, "the temporary file of a history");
    iso_history_writer_init(&sink.writer, &sink.output, ISO_FORMAT_NATIVE);
    iso_generate(&point->bench.generate, write_block, &sink, &generated);
    iso_history_writer_end(&sink.writer);
    iso_generated_release(&generated);
    iso_output_flush(&sink.output);
    numbers[0] = (double)sink.output.written;
    return iso_output_close(&sink.output, error);
}

enum iso_status bench_generate_file(struct bench_point *point, struct iso_error *error)
{
    char path[4096];
    double bytes;
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/isochron-bench-XXXXXX", folder && *folder ? folder : "/tmp");
    point->descriptor = mkstemp(path);
    if (point->descriptor < 0)
        return iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
    unlink(path); /* it is read by its descriptor, and gone whatever happens */
    if (iso_child_measure(write_file, point, &bytes, 1, NULL, error) == ISO_OK)
        point->bytes = (uint64_t)bytes;
    return error->status;
}

enum iso_status bench_load(const struct bench_point *point, unsigned threads,
                           struct iso_history *history, struct iso_error *error)
{
    char path[32];
    const char *name = point->file;
    struct iso_read_options options = {.threads = threads};
    if (!name) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", point->descriptor);
        name = path;
    }
    return iso_read_history(&name, 1, &options, history, error);
}
