/* What a soak measured: samples as CSV in, a table and a plot out; fails if memory grows.
 *
 *     soak-report SAMPLES.csv PLOT.svg MOST_PERCENT
 *
 * The first column is the time in seconds, the second the process's anonymous memory, the third
 * what the engine counts of it. The run is cut into 30 stretches (minutes of half an hour), whose
 * medians have a slope and an interval in which it lies with 95% (measure/trend.h, which also tells
 * the warm-up), in percent of the level an hour. That of the process decides: 0, its upper end is
 * below MOST_PERCENT; 1, its lower end is not; 3, undecided: the run was too short or the machine
 * too restless.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "measure/figures.h"
#include "measure/trend.h"

enum { STRETCHES = 30, LINE = 4096 };

static const struct iso_figure_column columns[] = {
    {"memory", "MiB", ISO_BETTER_LOWER},        {"of the engine", "MiB", ISO_BETTER_LOWER},
    {"state on disk", "MiB", ISO_BETTER_LOWER}, {"lag", "messages", ISO_BETTER_LOWER},
    {"watermark delay", "s", ISO_BETTER_LOWER}, {"throughput", "/s", ISO_BETTER_HIGHER},
    {"checkpoint age", "s", ISO_BETTER_LOWER},  {"longest pause", "ms", ISO_BETTER_LOWER},
    {"snapshots", "", ISO_BETTER_NEITHER},      {"processor", "%", ISO_BETTER_NEITHER},
};
enum { COLUMNS = sizeof columns / sizeof *columns, MEMORY = 0, ENGINE = 1 };

/* False: not a row of numbers. */
static bool take_line(struct iso_figures *figures, char *line)
{
    double numbers[COLUMNS + 1];
    char *at = line, *end;
    for (int i = 0; i <= COLUMNS; i++) {
        numbers[i] = strtod(at, &end);
        if (end == at)
            return false;
        at = *end == ',' ? end + 1 : end;
    }
    char time[32];
    snprintf(time, sizeof time, "%.0f", numbers[0]);
    struct iso_figure_row *row = iso_figures_add(figures, "soak", "seconds", time);
    row->position = numbers[0];
    memcpy(row->numbers, numbers + 1, sizeof(double[COLUMNS]));
    return true;
}

static bool read_samples(struct iso_figures *figures, const char *path)
{
    char line[LINE];
    bool headed = false;
    FILE *file = fopen(path, "r");
    for (unsigned number = 1; file && fgets(line, sizeof line, file); number++) {
        if (!take_line(figures, line) && headed) {
            fprintf(stderr, "soak-report: %s:%u: expected %d numbers\n", path, number, COLUMNS + 1);
            break;
        }
        headed = true;
    }
    if (!file)
        perror(path);
    bool whole = file && feof(file);
    if (file)
        fclose(file);
    return whole;
}

/* The trend of a column, of the medians of the run's stretches. */
static struct iso_trend trend_of(const struct iso_figures *figures, size_t column)
{
    struct iso_sample_point medians[STRETCHES],
        *points = iso_allocate((figures->row_count + 1) * sizeof *points);
    for (size_t i = 0; i < figures->row_count; i++)
        points[i] =
            (struct iso_sample_point){figures->rows[i].position, figures->rows[i].numbers[column]};
    size_t count = iso_trend_medians(points, figures->row_count, medians, STRETCHES);
    struct iso_trend trend = iso_trend_of(medians, count);
    iso_free(points);
    return trend;
}

/* From percent an hour of its level. */
static double percent(const struct iso_trend *trend, double slope)
{
    return slope * 3600 / trend->level * 100;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print_row(const struct iso_figures *figures, size_t column, double *values,
                      double warm_up)
{
    size_t count = 0;
    char texts[4][32];
    for (size_t i = 0; i < figures->row_count; i++)
        if (figures->rows[i].position >= warm_up)
            values[count++] = figures->rows[i].numbers[column];
    qsort(values, count, sizeof *values, compare);
    iso_figure_text(values[0], texts[0], sizeof *texts);
    iso_figure_text(values[count / 2], texts[1], sizeof *texts);
    iso_figure_text(values[count * 99 / 100], texts[2], sizeof *texts);
    iso_figure_text(values[count - 1], texts[3], sizeof *texts);
    printf("%-16s %-9s %10s %10s %10s %10s\n", columns[column].name, columns[column].unit, texts[0],
           texts[1], texts[2], texts[3]);
}

static void print_table(const struct iso_figures *figures, double warm_up)
{
    double *values = iso_allocate((figures->row_count + 1) * sizeof *values);
    printf("%-16s %-9s %10s %10s %10s %10s\n", "after warm-up", "", "least", "median", "p99",
           "most");
    for (size_t column = 0; column < COLUMNS; column++)
        print_row(figures, column, values, warm_up);
    iso_free(values);
}

static bool draw(const struct iso_figures *figures, const char *path)
{
    FILE *file = fopen(path, "w");
    if (file)
        iso_figures_write_svg(figures, file);
    bool drawn = file && !ferror(file);
    if (!file || fclose(file)) {
        perror(path);
        return false;
    }
    return drawn;
}

static void print_trend(const char *name, const struct iso_trend *trend)
{
    printf(
        "%s: %.1f MiB, slope %+.2f%% an hour, between %+.2f%% and %+.2f%% (95%%; %+.3f MiB an hour, %+.3f to %+.3f)\n",
        name, trend->level, percent(trend, trend->slope), percent(trend, trend->low),
        percent(trend, trend->high), trend->slope * 3600, trend->low * 3600, trend->high * 3600);
}

static enum iso_status judge(const struct iso_figures *figures, double most)
{
    struct iso_trend memory = trend_of(figures, MEMORY), engine = trend_of(figures, ENGINE);
    if (isnan(memory.slope)) {
        fprintf(stderr, "soak-report: %zu samples are too few\n", figures->row_count);
        return ISO_FAILED;
    }
    double end = figures->rows[figures->row_count - 1].position;
    double warm_up = end * (double)memory.warm_up / STRETCHES;
    printf("warm-up: %.0f s of %.0f s\n", warm_up, end);
    print_table(figures, warm_up);
    print_trend("memory of the process", &memory);
    print_trend("of it the engine's", &engine);
    enum iso_status status = percent(&memory, memory.high) < most   ? ISO_OK
                             : percent(&memory, memory.low) >= most ? ISO_VIOLATED
                                                                    : ISO_UNDECIDED;
    printf("%s: memory grows by %s %.2f%% an hour\n",
           status == ISO_OK         ? "passed"
           : status == ISO_VIOLATED ? "failed"
                                    : "undecided",
           status == ISO_OK         ? "less than"
           : status == ISO_VIOLATED ? "at least"
                                    : "perhaps more, perhaps less than",
           most);
    return status;
}

int main(int count, char **arguments)
{
    struct iso_figures figures;
    if (count != 4) {
        fputs("usage: soak-report SAMPLES.csv PLOT.svg MOST_PERCENT\n", stderr);
        return ISO_BAD_INPUT;
    }
    iso_figures_init(&figures, columns, COLUMNS);
    bool good = read_samples(&figures, arguments[1]) && draw(&figures, arguments[2]);
    enum iso_status status = good ? judge(&figures, strtod(arguments[3], NULL)) : ISO_FAILED;
    iso_figures_release(&figures);
    return (int)status;
}
