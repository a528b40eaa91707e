#include "benchmark/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "measure/percentile.h"

enum { VALUE_LIMIT = 64, VALUES_LIMIT = 256 };

/* A parameter is the option of its name; its values are what that option takes. */
struct sweep {
    const char *name;
    const char *values; /* NULL: parts and multiples of what is set */
    size_t number;      /* where its number is, for those that are numbers; else NO_NUMBER */
};
#define NO_NUMBER ((size_t)-1)

static const struct sweep sweeps[] = {
    {"sessions", "10,25,50,100,200", offsetof(struct bench, generate.sessions)},
    {"txns", NULL, offsetof(struct bench, generate.transactions)},
    {"ops", "5,10,15,20,30", offsetof(struct bench, generate.operations)},
    {"keys", "100,1k,10k,100k", offsetof(struct bench, generate.keys)},
    {"dist", "uniform,zipf,hotspot", NO_NUMBER},
    {"reads", "0.1,0.3,0.5,0.7,0.9", NO_NUMBER},
    {"delay", "0,50,100,200,400", offsetof(struct bench, delay)},
    {"deviation", "0,5,10,20,50", offsetof(struct bench, deviation)},
};

static const struct sweep *sweep_named(const char *name)
{
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        if (!strcmp(sweeps[i].name, name))
            return &sweeps[i];
    }
    return NULL;
}

/* The values of a sweep, as text; `own` is room for those that are made here. */
static const char *values_of(const struct bench_run *run, const struct sweep *sweep,
                             char own[VALUES_LIMIT])
{
    static const struct {
        uint64_t times, by;
    } parts[] = {{1, 20}, {1, 5}, {1, 2}, {1, 1}, {2, 1}, {5, 1}, {10, 1}};
    size_t used = 0;
    if (run->values || sweep->values)
        return run->values ? run->values : sweep->values;
    uint64_t middle = *(const uint32_t *)((const char *)run->bench + sweep->number), last = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t value = middle * parts[i].times / parts[i].by;
        if (value > last)
            used += (size_t)snprintf(own + used, VALUES_LIMIT - used, "%s%" PRIu64, used ? "," : "",
                                     value);
        last = value;
    }
    return own;
}

/* The next of the values with commas between; false at their end. */
static bool next_value(const char **at, char value[VALUE_LIMIT])
{
    if (!**at)
        return false;
    size_t length = strcspn(*at, ",");
    snprintf(value, VALUE_LIMIT, "%.*s", (int)(length < VALUE_LIMIT ? length : VALUE_LIMIT), *at);
    *at += length;
    if (**at == ',' && (*at)[1])
        ++*at;
    else if (**at == ',')
        *at = ","; /* an empty value at the end, which no option takes */
    return true;
}

/* ---- looking before measuring ---- */

static enum iso_status check_size(const struct bench_run *run, const struct bench *bench)
{
    if ((uint64_t)bench->generate.transactions * bench->generate.operations >> 32)
        return iso_error_set(&run->app->error, ISO_BAD_INPUT,
                             "--txns times --ops must stay below 2^32");
    return ISO_OK;
}

static enum iso_status check_values(const struct bench_run *run, const struct sweep *sweep)
{
    char value[VALUE_LIMIT], own[VALUES_LIMIT];
    const char *at = values_of(run, sweep, own);
    size_t count = 0;
    while (next_value(&at, value)) {
        struct bench bench = *run->bench;
        if (cli_option_set(run->app, sweep->name, value, &bench) != ISO_OK ||
            check_size(run, &bench) != ISO_OK)
            return run->app->error.status;
        count++;
    }
    return count ? ISO_OK
                 : iso_error_set(&run->app->error, ISO_BAD_INPUT, "--values needs values: A,B,C");
}

static bool kind_knows(const struct bench_kind *kind, const char *sweep)
{
    for (const char *const *name = kind->sweeps; *name; name++) {
        if (!strcmp(*name, sweep))
            return true;
    }
    return false;
}

static enum iso_status check_files(const struct bench_run *run)
{
    struct iso_error *error = &run->app->error;
    if (!run->kind->file_format)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: bench %s reads no files",
                             run->files->items[0], run->kind->name);
    if (run->values || strcmp(run->sweep, "all"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s: a file is what it is; --sweep and --values are for generated "
                             "workloads",
                             run->files->items[0]);
    for (uint32_t i = 0; i < run->files->count; i++) {
        if (!strcmp(run->files->items[i], "-"))
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "-: expected a file, since it is read several times");
        if (access(run->files->items[i], R_OK) < 0)
            return iso_error_set(error, ISO_BAD_INPUT, "%s: %m", run->files->items[i]);
    }
    return ISO_OK;
}

enum iso_status bench_check(const struct bench_run *run)
{
    struct iso_error *error = &run->app->error;
    bool one = strcmp(run->sweep, "all") && strcmp(run->sweep, "none");
    if (run->files->count)
        return check_files(run);
    if (one && !kind_knows(run->kind, run->sweep))
        return iso_error_set(error, ISO_BAD_INPUT, "--sweep %s: bench %s has no such parameter",
                             run->sweep, run->kind->name);
    if (!one && run->values)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--values needs --sweep with the one parameter that they are of");
    if (one)
        return check_values(run, sweep_named(run->sweep));
    check_size(run, run->bench);
    for (const char *const *name = run->kind->sweeps;
         *name && error->status == ISO_OK && !strcmp(run->sweep, "all"); name++)
        check_values(run, sweep_named(*name));
    return error->status;
}

/* ---- measuring ---- */

struct progress {
    bool shown;
    size_t done, total;
};

static size_t count_values(const struct bench_run *run, const struct sweep *sweep)
{
    char value[VALUE_LIMIT], own[VALUES_LIMIT];
    const char *at = values_of(run, sweep, own);
    size_t count = 0;
    while (next_value(&at, value))
        count++;
    return count;
}

static size_t count_points(const struct bench_run *run)
{
    size_t count = 0;
    if (run->files->count)
        return run->files->count;
    if (!strcmp(run->sweep, "none"))
        return 1;
    if (strcmp(run->sweep, "all"))
        return count_values(run, sweep_named(run->sweep));
    for (const char *const *name = run->kind->sweeps; *name; name++)
        count += count_values(run, sweep_named(*name));
    return count;
}

static void show_progress(struct progress *progress, const struct bench_run *run,
                          const char *parameter, const char *value)
{
    if (progress->shown)
        fprintf(stderr, "\rmeasuring %s: %s %s (%zu of %zu)\033[K", run->kind->name, parameter,
                value, ++progress->done, progress->total);
}

static enum iso_status measure_once(const struct bench_kind *kind, struct bench_point *point,
                                    double *numbers, struct iso_error *error)
{
    uint64_t peak;
    if (kind->measure)
        return kind->measure(point, numbers, error);
    if (iso_child_measure(kind->run, point, numbers, kind->column_count, &peak, error) == ISO_OK &&
        kind->peak)
        numbers[kind->peak] = BENCH_MEBIBYTES(peak);
    return error->status;
}

static enum iso_status measure_experiment(const struct bench_run *run, struct bench_point *point,
                                          const char *parameter, const char *value)
{
    struct iso_error *error = &run->app->error;
    size_t columns = run->kind->column_count;
    double(*rounds)[ISO_FIGURE_COLUMNS] = iso_allocate(run->repeats * sizeof *rounds);
    double *numbers = iso_allocate(run->repeats * sizeof *numbers);
    for (uint64_t round = 0; round < run->repeats && error->status == ISO_OK; round++)
        measure_once(run->kind, point, rounds[round], error);
    if (error->status == ISO_OK) {
        struct iso_figure_row *row =
            iso_figures_add(run->figures, point->experiment, parameter, value);
        for (size_t column = 0; column < columns; column++) {
            for (uint64_t round = 0; round < run->repeats; round++)
                numbers[round] = rounds[round][column];
            row->numbers[column] = iso_median(numbers, run->repeats);
        }
    }
    ISO_FREE_ALL(numbers, rounds);
    return error->status;
}

static enum iso_status measure_point(const struct bench_run *run, const struct bench *bench,
                                     const char *file, const char *parameter, const char *value)
{
    struct bench_point point = {.bench = *bench, .file = file, .descriptor = -1};
    struct iso_error *error = &run->app->error;
    if (run->kind->prepare)
        run->kind->prepare(&point, error);
    int only = bench->encoding, number = 1;
    for (const char *const *name = run->kind->experiments; *name && error->status == ISO_OK;
         name++, number++) {
        point.experiment = *name;
        if ((!only || only == number) && (!run->kind->applies || run->kind->applies(&point)))
            measure_experiment(run, &point, parameter, value);
    }
    if (point.descriptor >= 0)
        close(point.descriptor);
    return error->status;
}

static enum iso_status measure_sweep(const struct bench_run *run, const struct sweep *sweep,
                                     struct progress *progress)
{
    struct iso_error *error = &run->app->error;
    char value[VALUE_LIMIT], own[VALUES_LIMIT];
    const char *at = values_of(run, sweep, own);
    while (error->status == ISO_OK && next_value(&at, value)) {
        struct bench bench = *run->bench;
        cli_option_set(run->app, sweep->name, value, &bench);
        if (sweep->number != NO_NUMBER)
            snprintf(value, sizeof value, "%" PRIu32,
                     *(uint32_t *)((char *)&bench + sweep->number));
        show_progress(progress, run, sweep->name, value);
        measure_point(run, &bench, NULL, sweep->name, value);
    }
    return error->status;
}

enum iso_status bench_measure(const struct bench_run *run)
{
    struct iso_error *error = &run->app->error;
    struct progress progress = {.shown = !run->quiet && cli_log_can_draw(),
                                .total = count_points(run)};
    if (run->files->count) {
        for (uint32_t i = 0; i < run->files->count && error->status == ISO_OK; i++) {
            const char *file = run->files->items[i];
            show_progress(&progress, run, "file", file);
            measure_point(run, run->bench, file, "file", file);
        }
    } else if (!strcmp(run->sweep, "none")) {
        show_progress(&progress, run, "with", "the defaults");
        measure_point(run, run->bench, NULL, "defaults", "-");
    } else if (strcmp(run->sweep, "all")) {
        measure_sweep(run, sweep_named(run->sweep), &progress);
    } else {
        for (const char *const *name = run->kind->sweeps; *name && error->status == ISO_OK; name++)
            measure_sweep(run, sweep_named(*name), &progress);
    }
    if (progress.shown)
        fprintf(stderr, "\r\033[K");
    return error->status;
}

/* ---- settings ---- */

void bench_settings(const struct bench_run *run, char *text, size_t size)
{
    static const char *const distributions[] = {"uniform", "zipf", "hotspot"};
    const struct bench *bench = run->bench;
    size_t used = (size_t)snprintf(text, size, "%s --level %s", run->kind->name,
                                   iso_level_name(bench->generate.level));
    if (!run->files->count)
        used += (size_t)snprintf(
            text + used, size - used,
            " --sessions %" PRIu32 " --txns %" PRIu32 " --ops %" PRIu32 " --keys %" PRIu32
            " --dist %s --reads %.4g --seed %" PRIu64,
            bench->generate.sessions, bench->generate.transactions, bench->generate.operations,
            bench->generate.keys, distributions[bench->generate.distribution],
            (double)bench->generate.read_share / 4294967296.0, bench->generate.seed);
    if (bench->threads)
        used += (size_t)snprintf(text + used, size - used, " --threads %" PRIu64, bench->threads);
    if (run->kind->add_settings)
        run->kind->add_settings(bench, text + used, size - used);
}
