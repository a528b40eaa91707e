/* Figures as line charts in SVG: small multiples, one for each experiment, swept parameter and
 * column. */
#include <math.h>
#include <string.h>

#include "measure/figures.h"

enum {
    WIDTH = 320,
    HEIGHT = 220,
    LEFT = 64,
    RIGHT = 16,
    TOP = 34,
    BOTTOM = 44,
    PER_ROW = 3,
    TICKS = 4
};

/* The rows of one chart, as indices, and what its axes span. */
struct chart {
    const struct iso_figures *figures;
    size_t first; /* its first row; the others share experiment and parameter */
    size_t column;
    double x_low, x_high, y_high;
    bool logarithmic; /* x axis: sweeps over decades */
    size_t points;
};

static bool belongs(const struct chart *chart, size_t row)
{
    const struct iso_figure_row *a = &chart->figures->rows[chart->first],
                                *b = &chart->figures->rows[row];
    return !strcmp(a->experiment, b->experiment) && !strcmp(a->parameter, b->parameter) &&
           !isnan(b->numbers[chart->column]);
}

/* A swept name ("zipf") has no place on an axis: its row number is its place. */
static double x_of(const struct chart *chart, size_t row)
{
    double position = chart->figures->rows[row].position;
    return isnan(position) ? (double)(row - chart->first) : position;
}

static void measure(struct chart *chart)
{
    chart->x_low = INFINITY;
    chart->x_high = -INFINITY;
    chart->y_high = 0;
    chart->points = 0;
    for (size_t row = chart->first; row < chart->figures->row_count; row++) {
        if (!belongs(chart, row))
            continue;
        chart->points++;
        chart->x_low = fmin(chart->x_low, x_of(chart, row));
        chart->x_high = fmax(chart->x_high, x_of(chart, row));
        chart->y_high = fmax(chart->y_high, chart->figures->rows[row].numbers[chart->column]);
    }
    chart->logarithmic = chart->x_low > 0 && chart->x_high / chart->x_low >= 20;
    if (chart->y_high <= 0)
        chart->y_high = 1;
}

static double place_x(const struct chart *chart, double x)
{
    double low = chart->x_low, high = chart->x_high;
    if (chart->logarithmic) {
        low = log(low);
        high = log(high);
        x = log(x);
    }
    return LEFT + (high > low ? (x - low) / (high - low) : 0.5) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct chart *chart, double y)
{
    return HEIGHT - BOTTOM - y / (chart->y_high * 1.05) * (HEIGHT - TOP - BOTTOM);
}

static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void write_axes(const struct chart *chart, FILE *out)
{
    char text[32];
    for (int tick = 0; tick <= TICKS; tick++) {
        double y = chart->y_high * tick / TICKS;
        iso_figure_text(y, text, sizeof text);
        fprintf(out,
                "<line class='grid' x1='%d' x2='%d' y1='%.1f' y2='%.1f'/>"
                "<text class='tick' text-anchor='end' x='%d' y='%.1f'>%s</text>\n",
                LEFT, WIDTH - RIGHT, place_y(chart, y), place_y(chart, y), LEFT - 6,
                place_y(chart, y) + 4, text);
    }
    double last = -INFINITY;
    for (size_t row = chart->first; row < chart->figures->row_count; row++) {
        if (!belongs(chart, row))
            continue;
        double x = place_x(chart, x_of(chart, row));
        if (x - last < 40) /* no room for another label */
            continue;
        last = x;
        fprintf(out, "<text class='tick' text-anchor='middle' x='%.1f' y='%d'>", x,
                HEIGHT - BOTTOM + 16);
        if (isnan(chart->figures->rows[row].position)) {
            write_escaped(out, chart->figures->rows[row].value);
        } else {
            iso_figure_text(chart->figures->rows[row].position, text, sizeof text);
            fputs(text, out);
        }
        fputs("</text>\n", out);
    }
}

static void write_line(const struct chart *chart, FILE *out)
{
    fputs("<polyline class='line' points='", out);
    for (size_t row = chart->first; row < chart->figures->row_count; row++) {
        if (belongs(chart, row))
            fprintf(out, "%.1f,%.1f ", place_x(chart, x_of(chart, row)),
                    place_y(chart, chart->figures->rows[row].numbers[chart->column]));
    }
    fputs("'/>\n", out);
    for (size_t row = chart->first; row < chart->figures->row_count; row++) {
        if (belongs(chart, row))
            fprintf(out, "<circle class='point' r='3' cx='%.1f' cy='%.1f'/>\n",
                    place_x(chart, x_of(chart, row)),
                    place_y(chart, chart->figures->rows[row].numbers[chart->column]));
    }
}

static void write_chart(const struct chart *chart, size_t number, FILE *out)
{
    const struct iso_figure_row *row = &chart->figures->rows[chart->first];
    const struct iso_figure_column *column = &chart->figures->columns[chart->column];
    fprintf(out, "<g transform='translate(%zu,%zu)'>\n<text class='title' x='%d' y='18'>",
            number % PER_ROW * WIDTH, number / PER_ROW * HEIGHT, LEFT);
    write_escaped(out, row->experiment);
    fprintf(out, ": %s%s%s%s</text>\n", column->name, column->unit[0] ? " (" : "", column->unit,
            column->unit[0] ? ")" : "");
    write_axes(chart, out);
    write_line(chart, out);
    fprintf(out, "<text class='axis' text-anchor='middle' x='%d' y='%d'>",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
    write_escaped(out, row->parameter);
    fprintf(out, "%s</text>\n</g>\n", chart->logarithmic ? " (logarithmic)" : "");
}

/* The first row of its experiment and parameter. */
static bool is_first(const struct iso_figures *figures, size_t row)
{
    for (size_t i = 0; i < row; i++) {
        if (!strcmp(figures->rows[i].experiment, figures->rows[row].experiment) &&
            !strcmp(figures->rows[i].parameter, figures->rows[row].parameter))
            return false;
    }
    return true;
}

/* Writes all charts, or only counts them where `out` is NULL. */
static size_t each_chart(const struct iso_figures *figures, FILE *out)
{
    size_t number = 0;
    for (size_t row = 0; row < figures->row_count; row++) {
        if (!is_first(figures, row))
            continue;
        for (size_t column = 0; column < figures->column_count; column++) {
            struct chart chart = {.figures = figures, .first = row, .column = column};
            measure(&chart);
            if (chart.points < 2)
                continue;
            if (out)
                write_chart(&chart, number, out);
            number++;
        }
    }
    return number;
}

void iso_figures_write_svg(const struct iso_figures *figures, FILE *out)
{
    size_t charts = each_chart(figures, NULL), columns = charts < PER_ROW ? charts : PER_ROW;
    size_t rows = (charts + PER_ROW - 1) / PER_ROW;
    fprintf(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %zu %zu' width='%zu' height='%zu' "
        "font-family='sans-serif'>\n<style>.title{font-size:12px;font-weight:bold}.tick,.axis{font-size:10px;"
        "fill:#555}.grid{stroke:#ddd}.line{fill:none;stroke:#1565c0;stroke-width:2}.point{fill:#1565c0}</style>\n"
        "<rect width='100%%' height='100%%' fill='white'/>\n",
        (columns ? columns : 1) * WIDTH, (rows ? rows : 1) * HEIGHT,
        (columns ? columns : 1) * WIDTH, (rows ? rows : 1) * HEIGHT);
    each_chart(figures, out);
    fputs("</svg>\n", out);
}
