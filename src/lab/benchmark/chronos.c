/* `isochron bench chronos`: a whole offline check, from the file to the verdict. */
#include <sys/stat.h>

#include "benchmark/kind.h"
#include "chronos/chronos.h"

enum { TRANSACTIONS, OPERATIONS, MEGABYTES, LOAD, SORT, CHECK, MEMORY, VIOLATIONS, COLUMNS };

static const struct iso_figure_column columns[COLUMNS] = {
    {"transactions", "/s", ISO_BETTER_HIGHER}, {"operations", "/s", ISO_BETTER_HIGHER},
    {"bytes", "MB/s", ISO_BETTER_HIGHER},      {"load", "s", ISO_BETTER_LOWER},
    {"sort", "s", ISO_BETTER_NEITHER},         {"check", "s", ISO_BETTER_LOWER},
    {"peak_memory", "MiB", ISO_BETTER_LOWER},  {"violations", "", ISO_BETTER_NEITHER},
};

static const char *const experiments[] = {"chronos", NULL};
static const char *const sweeps[] = {"sessions", "txns", "ops", "keys", "dist", "reads", NULL};

static void set_defaults(struct bench *bench)
{
    bench->generate.sessions = 50;
    bench->generate.operations = 15;
}

static enum iso_status prepare_file(struct bench_point *point, struct iso_error *error)
{
    struct stat file;
    if (!point->file)
        return bench_generate_file(point, error);
    point->bytes = stat(point->file, &file) == 0 ? (uint64_t)file.st_size : 0;
    return ISO_OK;
}

static void fill_in(const struct bench_point *point, const struct iso_verdict *verdict,
                    double *numbers)
{
    double seconds = verdict->seconds_total;
    numbers[TRANSACTIONS] = verdict->history->txns.count / seconds;
    numbers[OPERATIONS] = verdict->history->ops.count / seconds;
    numbers[MEGABYTES] = (double)point->bytes / 1e6 / seconds;
    numbers[LOAD] = verdict->seconds_load;
    numbers[SORT] = verdict->seconds_sort;
    numbers[CHECK] = verdict->seconds_check;
    numbers[VIOLATIONS] = 0;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        numbers[VIOLATIONS] += (double)verdict->counts[axiom];
}

/* As `isochron check` does it. */
static enum iso_status judge_in_child(void *context, double *numbers, struct iso_error *error)
{
    const struct bench_point *point = context;
    struct iso_check_options options = {.level = point->bench.generate.level,
                                        .session_order = true,
                                        .threads = cli_threads(point->bench.threads),
                                        .max_violations = 1000};
    struct iso_history history;
    struct iso_verdict verdict;
    double started = iso_clock_seconds();
    iso_history_init(&history);
    iso_verdict_init(&verdict, &history, options.level, options.max_violations);
    if (bench_load(point, options.threads, &history, error) == ISO_OK &&
        iso_history_finish(&history, error) == ISO_OK) {
        verdict.seconds_load = iso_clock_seconds() - started;
        if (iso_chronos_check(&history, &options, &verdict, error) == ISO_OK) {
            verdict.seconds_total = iso_clock_seconds() - started;
            fill_in(point, &verdict, numbers);
        }
    }
    iso_verdict_release(&verdict);
    iso_history_release(&history);
    return error->status;
}

static const char *const takes[] = {"threads", NULL};

const struct bench_kind bench_chronos = {
    .name = "chronos",
    .experiments = experiments,
    .sweeps = sweeps,
    .takes = takes,
    .file_format = "a history",
    .columns = columns,
    .column_count = COLUMNS,
    .set_defaults = set_defaults,
    .prepare = prepare_file,
    .run = judge_in_child,
    .peak = MEMORY,
};
