/* The run of a benchmark: through a sweep, or the user's files, into a table of figures. */
#pragma once

#include "benchmark/kind.h"

struct bench_run {
    struct app *app;
    const struct bench_kind *kind;
    const struct bench *bench; /* with the defaults of what is swept */
    const char *sweep;         /* "all", "none", or one of the kind's */
    const char *values;        /* instead of the sweep's own; NULL */
    const struct cli_texts *files;
    uint64_t repeats;
    bool quiet;
    struct iso_figures *figures;
};

/* Describes the settings that all rows share, in the words of the command line. */
void bench_settings(const struct bench_run *run, char *text, size_t size);

/* Looks at all values and files before anything is measured. */
enum iso_status bench_check(const struct bench_run *run);

enum iso_status bench_measure(const struct bench_run *run);
