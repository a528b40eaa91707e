#include "measure/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "iso/version.h"

void iso_figures_init(struct iso_figures *figures, const struct iso_figure_column *columns,
                      size_t column_count)
{
    memset(figures, 0, sizeof *figures);
    figures->columns = columns;
    figures->column_count = column_count;
}

void iso_figures_release(struct iso_figures *figures)
{
    for (size_t i = 0; i < figures->row_count; i++)
        ISO_FREE_ALL(figures->rows[i].experiment, figures->rows[i].parameter,
                     figures->rows[i].value);
    ISO_FREE_ALL(figures->rows, figures->settings);
    memset(figures, 0, sizeof *figures);
}

void iso_figures_set_settings(struct iso_figures *figures, const char *settings)
{
    iso_free(figures->settings);
    figures->settings = iso_copy_text(settings, strlen(settings));
}

static double position_of(const char *value)
{
    char *end;
    double number = strtod(value, &end);
    return *value && !*end ? number : NAN;
}

struct iso_figure_row *iso_figures_add(struct iso_figures *figures, const char *experiment,
                                       const char *parameter, const char *value)
{
    ISO_GROW(figures->rows, figures->row_count, figures->row_capacity);
    struct iso_figure_row *row = &figures->rows[figures->row_count++];
    row->experiment = iso_copy_text(experiment, strlen(experiment));
    row->parameter = iso_copy_text(parameter, strlen(parameter));
    row->value = iso_copy_text(value, strlen(value));
    row->position = position_of(value);
    for (size_t i = 0; i < ISO_FIGURE_COLUMNS; i++)
        row->numbers[i] = NAN;
    return row;
}

const struct iso_figure_row *iso_figures_find(const struct iso_figures *figures,
                                              const char *experiment, const char *parameter,
                                              const char *value)
{
    for (size_t i = 0; i < figures->row_count; i++) {
        const struct iso_figure_row *row = &figures->rows[i];
        if (!strcmp(row->experiment, experiment) && !strcmp(row->parameter, parameter) &&
            !strcmp(row->value, value))
            return row;
    }
    return NULL;
}

void iso_figure_text(double number, char *text, size_t size)
{
    static const struct {
        double from;
        const char *suffix;
    } scales[] = {{1e9, " G"}, {1e6, " M"}, {1e4, " k"}};
    if (isnan(number)) {
        snprintf(text, size, "-");
        return;
    }
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (fabs(number) < scales[i].from)
            continue;
        double scaled = number / (i == 2 ? 1e3 : scales[i].from);
        snprintf(text, size,
                 scaled >= 100  ? "%.0f%s"
                 : scaled >= 10 ? "%.1f%s"
                                : "%.2f%s",
                 scaled, scales[i].suffix);
        return;
    }
    snprintf(text, size,
             number == floor(number) ? "%.0f"
             : fabs(number) >= 100   ? "%.0f"
                                     : "%.3g",
             number);
}

static int head_text(const struct iso_figure_column *column, char *text, size_t size)
{
    return column->unit[0] ? snprintf(text, size, "%s (%s)", column->name, column->unit)
                           : snprintf(text, size, "%s", column->name);
}

/* Columns that have a number in some row; the others are not shown to a person. */
static bool is_used(const struct iso_figures *figures, size_t column)
{
    for (size_t i = 0; i < figures->row_count; i++) {
        if (!isnan(figures->rows[i].numbers[column]))
            return true;
    }
    return false;
}

void iso_figures_write_text(const struct iso_figures *figures, FILE *out)
{
    char text[128];
    fprintf(out, "%-10s %-16s %12s", "experiment", "parameter", "value");
    for (size_t c = 0; c < figures->column_count; c++) {
        if (!is_used(figures, c))
            continue;
        head_text(&figures->columns[c], text, sizeof text);
        fprintf(out, "  %*s", (int)(strlen(text) > 9 ? strlen(text) : 9), text);
    }
    fputc('\n', out);
    for (size_t i = 0; i < figures->row_count; i++) {
        const struct iso_figure_row *row = &figures->rows[i];
        fprintf(out, "%-10s %-16s %12s", row->experiment, row->parameter, row->value);
        for (size_t c = 0; c < figures->column_count; c++) {
            if (!is_used(figures, c))
                continue;
            int width = head_text(&figures->columns[c], text, sizeof text);
            iso_figure_text(row->numbers[c], text, sizeof text);
            fprintf(out, "  %*s", width > 9 ? width : 9, text);
        }
        fputc('\n', out);
    }
}

/* RFC 4180: quoted where the text needs it. */
static void write_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void iso_figures_write_csv(const struct iso_figures *figures, FILE *out)
{
    fputs("experiment,parameter,value", out);
    for (size_t c = 0; c < figures->column_count; c++)
        fprintf(out, ",%s", figures->columns[c].name);
    fputs("\r\n", out);
    for (size_t i = 0; i < figures->row_count; i++) {
        const struct iso_figure_row *row = &figures->rows[i];
        write_csv_text(out, row->experiment);
        fputc(',', out);
        write_csv_text(out, row->parameter);
        fputc(',', out);
        write_csv_text(out, row->value);
        for (size_t c = 0; c < figures->column_count; c++) {
            fputc(',', out);
            if (!isnan(row->numbers[c]))
                fprintf(out, "%.9g", row->numbers[c]);
        }
        fputs("\r\n", out);
    }
}

static void write_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

void iso_figures_write_json(const struct iso_figures *figures, FILE *out)
{
    fprintf(out, "{\"isochron\":\"%s\",", ISO_VERSION);
    if (figures->settings) {
        fputs("\"settings\":", out);
        write_json_text(out, figures->settings);
        fputs(",\n", out);
    }
    fputs("\"units\":{", out);
    for (size_t c = 0; c < figures->column_count; c++)
        fprintf(out, "%s\"%s\":\"%s\"", c ? "," : "", figures->columns[c].name,
                figures->columns[c].unit);
    fputs("},\n\"rows\":[", out);
    for (size_t i = 0; i < figures->row_count; i++) {
        const struct iso_figure_row *row = &figures->rows[i];
        fputs(i ? ",\n{\"experiment\":" : "\n{\"experiment\":", out);
        write_json_text(out, row->experiment);
        fputs(",\"parameter\":", out);
        write_json_text(out, row->parameter);
        fputs(",\"value\":", out);
        write_json_text(out, row->value);
        for (size_t c = 0; c < figures->column_count; c++) {
            if (!isnan(row->numbers[c]))
                fprintf(out, ",\"%s\":%.9g", figures->columns[c].name, row->numbers[c]);
        }
        fputc('}', out);
    }
    fputs("]}\n", out);
}

/* How far `number` is from `before` on the bad side, as a share; negative: better. */
static double worsening(const struct iso_figure_column *column, double number, double before)
{
    double change = number / before - 1;
    return column->better == ISO_BETTER_HIGHER  ? -change
           : column->better == ISO_BETTER_LOWER ? change
                                                : 0;
}

static size_t compare_row(const struct iso_figures *figures, const struct iso_figure_row *row,
                          const struct iso_figure_row *before, double tolerance, FILE *out)
{
    size_t worse = 0;
    for (size_t c = 0; c < figures->column_count; c++) {
        char now_text[32], before_text[32];
        double now = row->numbers[c], then = before->numbers[c];
        if (isnan(now) || isnan(then) || then == 0 ||
            figures->columns[c].better == ISO_BETTER_NEITHER)
            continue;
        double worsened = worsening(&figures->columns[c], now, then);
        iso_figure_text(now, now_text, sizeof now_text);
        iso_figure_text(then, before_text, sizeof before_text);
        fprintf(out, "%-10s %-16s %12s  %-28s %10s -> %10s  x%.2f  %s\n", row->experiment,
                row->parameter, row->value, figures->columns[c].name, before_text, now_text,
                now / then,
                worsened > tolerance    ? "worse"
                : worsened < -tolerance ? "better"
                                        : "same");
        worse += worsened > tolerance;
    }
    return worse;
}

size_t iso_figures_compare(const struct iso_figures *figures, const struct iso_figures *baseline,
                           double tolerance, FILE *out)
{
    size_t worse = 0;
    for (size_t i = 0; i < figures->row_count; i++) {
        const struct iso_figure_row *row = &figures->rows[i];
        const struct iso_figure_row *before =
            iso_figures_find(baseline, row->experiment, row->parameter, row->value);
        if (before)
            worse += compare_row(figures, row, before, tolerance, out);
        else
            fprintf(out, "%-10s %-16s %12s  not in the baseline\n", row->experiment, row->parameter,
                    row->value);
    }
    return worse;
}
