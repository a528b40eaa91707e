/* What a soak measured: samples as CSV in, a table and a plot out; fails if memory grows.
 *
 *     soak-report SAMPLES.csv PLOT.svg WARMUP_SECONDS MOST_PERCENT
 *
 * The first column is the time in seconds, the second the memory in MiB. Its slope is that of the straight line through
 * the means of stretches of the time after the warm-up (least squares), in percent of the whole's mean an hour; how far
 * stretches lie off the line says how far it may be trusted. It fails if it is too large by more than twice its
 * standard error.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/figures.h"

enum { STRETCHES = 20, LEAST_SAMPLES = 10, LINE = 4096 };

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
    double mean, slope, error; /* of memory: MiB; percent an hour, and its standard error */
    size_t samples;
};

struct stretch {
    double time, memory; /* sums, then means */
    size_t samples;
};

/* Samples that follow each other are alike: the means of stretches much less so. */
static size_t take_stretches(const struct iso_figures *figures, double warm_up, struct stretch *stretches)
{
    double end = figures->row_count ? figures->rows[figures->row_count - 1].position : 0;
    size_t kept = 0;
    for (size_t i = 0; i < figures->row_count; i++) {
        double at = figures->rows[i].position;
        if (at < warm_up)
            continue;
        size_t place = (size_t)((at - warm_up) / (end - warm_up + 1) * STRETCHES);
        stretches[place].time += at;
        stretches[place].memory += figures->rows[i].numbers[0];
        stretches[place].samples++;
    }
    for (size_t i = 0; i < STRETCHES; i++) {
        if (!stretches[i].samples)
            continue;
        stretches[kept].samples = stretches[i].samples;
        stretches[kept].time = stretches[i].time / (double)stretches[i].samples;
        stretches[kept++].memory = stretches[i].memory / (double)stretches[i].samples;
    }
    return kept;
}

static struct trend trend_of(const struct iso_figures *figures, double warm_up)
{
    struct stretch stretches[STRETCHES] = {0};
    struct trend trend = {.slope = NAN, .error = NAN};
    size_t count = take_stretches(figures, warm_up, stretches);
    double time = 0, products = 0, squares = 0, rest = 0;
    for (size_t i = 0; i < count; i++) {
        trend.samples += stretches[i].samples;
        time += stretches[i].time / (double)count;
        trend.mean += stretches[i].memory / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        products += (stretches[i].time - time) * (stretches[i].memory - trend.mean);
        squares += (stretches[i].time - time) * (stretches[i].time - time);
    }
    if (count < LEAST_SAMPLES || squares <= 0 || trend.mean <= 0)
        return trend;
    for (size_t i = 0; i < count; i++) {
        double off = stretches[i].memory - trend.mean - products / squares * (stretches[i].time - time);
        rest += off * off;
    }
    double percent = 3600 / trend.mean * 100;
    trend.slope = products / squares * percent;
    trend.error = sqrt(rest / (double)(count - 2) / squares) * percent;
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
    if (good && isnan(trend.slope)) {
        fprintf(stderr, "soak-report: %zu samples after the warm-up, expected at least %d\n", trend.samples,
                LEAST_SAMPLES);
        good = false;
    }
    good = good && print_table(&figures, warm_up);
    bool flat = trend.slope - 2 * trend.error <= most;
    if (good)
        printf(
            "memory: %.1f MiB on average, slope %+.2f%% an hour, standard error %.2f%%, over %zu samples: %s %.2f%%\n",
            trend.mean, trend.slope, trend.error, trend.samples,
            !flat                 ? "more than"
            : trend.slope <= most ? "no more than"
                                  : "not certainly more than",
            most);
    iso_figures_release(&figures);
    return !good ? ISO_FAILED : flat ? 0 : 1;
}
