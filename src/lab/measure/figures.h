/* Figures of measurements: rows of numbers by experiment and swept parameter, and how to show them.
 *
 * One table feeds every renderer (text, CSV, JSON, SVG), so that they cannot drift apart. A row is
 * one run: the experiment it belongs to ("chronos"), the parameter that was swept ("operations"),
 * its value as text and as a number, and one number for each column; NAN where there is none. A
 * column says its unit and which direction is better, which the comparison with a baseline needs.
 *
 * Ownership: the table owns copies of all texts. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum iso_better { ISO_BETTER_NEITHER, ISO_BETTER_HIGHER, ISO_BETTER_LOWER };

struct iso_figure_column {
    const char *name; /* "transactions_per_second"; JSON member and CSV head */
    const char *unit; /* "/s", "ms", "MiB"; "" if none */
    enum iso_better better;
};

enum { ISO_FIGURE_COLUMNS = 16 };

struct iso_figure_row {
    char *experiment, *parameter, *value;
    double position; /* of the value on an axis; NAN: a name, not a number */
    double numbers[ISO_FIGURE_COLUMNS];
};

struct iso_figures {
    const struct iso_figure_column *columns; /* the caller's, must outlive the table */
    size_t column_count;
    struct iso_figure_row *rows;
    size_t row_count, row_capacity;
    char *settings; /* what was the same in all rows; NULL: not known. Figures compare only where it
                       is equal */
};

void iso_figures_init(struct iso_figures *figures, const struct iso_figure_column *columns,
                      size_t column_count);
void iso_figures_release(struct iso_figures *figures);

void iso_figures_set_settings(struct iso_figures *figures, const char *settings);

/* Adds a row whose numbers are all NAN; the caller fills them in. Valid until the next row is
 * added. */
struct iso_figure_row *iso_figures_add(struct iso_figures *figures, const char *experiment,
                                       const char *parameter, const char *value);

/* The row with these three texts, or NULL. */
const struct iso_figure_row *iso_figures_find(const struct iso_figures *figures,
                                              const char *experiment, const char *parameter,
                                              const char *value);

/* "1.23 M", "45.6 k", "789", "0.123": three digits that a person reads. */
void iso_figure_text(double number, char *text, size_t size);

void iso_figures_write_text(const struct iso_figures *figures, FILE *out);
void iso_figures_write_csv(const struct iso_figures *figures, FILE *out);
void iso_figures_write_json(const struct iso_figures *figures, FILE *out);

/* One file with a line chart for each experiment, swept parameter and column; no scripts, no fonts
 * of its own. */
void iso_figures_write_svg(const struct iso_figures *figures, FILE *out);

/* Reads what iso_figures_write_json wrote, into a table with the same columns; columns that the
 * file lacks stay NAN. */
enum iso_status iso_figures_read(struct iso_figures *figures, const char *path,
                                 struct iso_error *error);

/* Row by row, what changed against the baseline: ratio and better or worse. Returns how many
 * numbers got worse by more than `tolerance` (0.1: a tenth). */
size_t iso_figures_compare(const struct iso_figures *figures, const struct iso_figures *baseline,
                           double tolerance, FILE *out);
