/* What a soak measured: samples as CSV in, a table and a plot out; fails if memory grows.
 *
 *     soak-report SAMPLES.csv PLOT.svg WARMUP_SECONDS MOST_PERCENT
 *
 * The first column is the time in seconds, the second the memory in MiB. Its slope is that of the straight line through
 * all samples after the warm-up (least squares), in percent of their mean an hour.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/figures.h"

enum { LEAST_SAMPLES = 10, LINE = 4096 };

static const struct iso_figure_column columns[] = {
    {"memory", "MiB", ISO_BETTER_LOWER},       {"state on disk", "MiB", ISO_BETTER_LOWER},
    {"lag", "messages", ISO_BETTER_LOWER},     {"watermark delay", "s", ISO_BETTER_LOWER},
    {"throughput", "/s", ISO_BETTER_HIGHER},   {"checkpoint age", "s", ISO_BETTER_LOWER},
    {"longest pause", "ms", ISO_BETTER_LOWER}, {"snapshots", "", ISO_BETTER_NEITHER},
    {"processor", "%", ISO_BETTER_NEITHER},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

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

struct trend {
    double mean, slope; /* of memory: MiB; percent an hour */
    size_t samples;
};

static struct trend trend_of(const struct iso_figures *figures, double warm_up)
{
    struct trend trend = {0};
    double time = 0, products = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++) { /* means, then what differs from them */
        for (size_t i = 0; i < figures->row_count; i++) {
            double at = figures->rows[i].position, memory = figures->rows[i].numbers[0];
            if (at < warm_up)
                continue;
            trend.samples += !pass;
            time += pass ? 0 : at;
            trend.mean += pass ? 0 : memory;
            products += pass ? (at - time) * (memory - trend.mean) : 0;
            squares += pass ? (at - time) * (at - time) : 0;
        }
        time /= pass || !trend.samples ? 1 : (double)trend.samples;
        trend.mean /= pass || !trend.samples ? 1 : (double)trend.samples;
    }
    trend.slope = squares > 0 && trend.mean > 0 ? products / squares * 3600 / trend.mean * 100 : NAN;
    return trend;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print_row(const struct iso_figures *figures, size_t column, double *values, double warm_up)
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
    printf("%-16s %-9s %10s %10s %10s %10s\n", columns[column].name, columns[column].unit, texts[0], texts[1], texts[2],
           texts[3]);
}

static bool print_table(const struct iso_figures *figures, double warm_up)
{
    double *values = malloc((figures->row_count + 1) * sizeof *values);
    if (!values)
        return false;
    printf("%-16s %-9s %10s %10s %10s %10s\n", "after warm-up", "", "least", "median", "p99", "most");
    for (size_t column = 0; column < COLUMNS; column++)
        print_row(figures, column, values, warm_up);
    free(values);
    return true;
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

int main(int count, char **arguments)
{
    struct iso_figures figures;
    if (count != 5) {
        fputs("usage: soak-report SAMPLES.csv PLOT.svg WARMUP_SECONDS MOST_PERCENT\n", stderr);
        return ISO_BAD_INPUT;
    }
    double warm_up = strtod(arguments[3], NULL), most = strtod(arguments[4], NULL);
    iso_figures_init(&figures, columns, COLUMNS);
    bool good = read_samples(&figures, arguments[1]) && draw(&figures, arguments[2]);
    struct trend trend = trend_of(&figures, warm_up);
    if (good && trend.samples < LEAST_SAMPLES) {
        fprintf(stderr, "soak-report: %zu samples after the warm-up, expected at least %d\n", trend.samples,
                LEAST_SAMPLES);
        good = false;
    }
    good = good && print_table(&figures, warm_up);
    if (good)
        printf("memory: %.1f MiB on average, slope %+.2f%% an hour over %zu samples (%s %.2f%%)\n", trend.mean,
               trend.slope, trend.samples, trend.slope <= most ? "no more than" : "more than", most);
    iso_figures_release(&figures);
    return !good ? ISO_FAILED : trend.slope <= most ? 0 : 1;
}
