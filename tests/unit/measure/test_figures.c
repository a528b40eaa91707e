#define _GNU_SOURCE
/* Figures: what is written reads back, and the comparison names what got worse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "measure/figures.h"
#include "measure/percentile.h"

static const struct iso_figure_column columns[] = {
    {"rate", "/s", ISO_BETTER_HIGHER},
    {"delay", "ms", ISO_BETTER_LOWER},
    {"keys", "", ISO_BETTER_NEITHER},
};

static void fill(struct iso_figures *figures, double rate, double delay)
{
    iso_figures_init(figures, columns, 3);
    struct iso_figure_row *row = iso_figures_add(figures, "chronos", "operations", "8");
    row->numbers[0] = rate;
    row->numbers[1] = delay;
    row = iso_figures_add(figures, "chronos", "operations", "16");
    row->numbers[0] = rate / 2;
    row = iso_figures_add(figures, "aion", "distribution", "zipf \"1\", hot");
    row->numbers[2] = 1000;
}

__attribute__((noinline)) static char *written(const struct iso_figures *figures,
                                               void (*write)(const struct iso_figures *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    write(figures, out);
    fclose(out);
    return text;
}

static void texts_have_three_digits(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0, "0"},
        {7, "7"},
        {0.1234, "0.123"},
        {9999, "9999"},
        {12345, "12.3 k"},
        {1234567, "1.23 M"},
        {123456789, "123 M"},
        {4.5e9, "4.50 G"},
        {NAN, "-"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        iso_figure_text(cases[i].number, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void json_reads_back(void **state)
{
    struct iso_figures figures, back;
    struct iso_error error = {0};
    char path[] = "/tmp/isochron-figures-XXXXXX";
    (void)state;
    fill(&figures, 1234.5, 0.25);
    iso_figures_set_settings(&figures, "chronos --dist \"zipf\"");
    FILE *out = fdopen(mkstemp(path), "w");
    iso_figures_write_json(&figures, out);
    fclose(out);
    iso_figures_init(&back, columns, 3);
    assert_int_equal(iso_figures_read(&back, path, &error), ISO_OK);
    assert_int_equal(back.row_count, 3);
    assert_string_equal(back.settings, "chronos --dist \"zipf\"");
    const struct iso_figure_row *row = iso_figures_find(&back, "chronos", "operations", "8");
    assert_non_null(row);
    assert_true(row->numbers[0] == 1234.5 && row->numbers[1] == 0.25 && isnan(row->numbers[2]));
    assert_non_null(iso_figures_find(&back, "aion", "distribution", "zipf \"1\", hot"));
    iso_figures_release(&figures);
    iso_figures_release(&back);
    unlink(path);
}

static void bad_baseline_is_refused(void **state)
{
    static const char *const texts[] = {
        "", "{", "[]", "{\"rows\":3}", "{\"units\":{}}", "{\"rows\":[{\"rate\":1]}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct iso_figures back;
        struct iso_error error = {0};
        char path[] = "/tmp/isochron-figures-XXXXXX";
        FILE *out = fdopen(mkstemp(path), "w");
        fputs(texts[i], out);
        fclose(out);
        iso_figures_init(&back, columns, 3);
        assert_int_equal(iso_figures_read(&back, path, &error), ISO_BAD_INPUT);
        assert_non_null(strstr(error.text, path));
        iso_figures_release(&back);
        unlink(path);
    }
}

static void comparison_counts_what_got_worse(void **state)
{
    struct iso_figures before, now;
    FILE *nowhere = fopen("/dev/null", "w");
    (void)state;
    fill(&before, 1000, 1.0);
    fill(&now, 1000, 1.0);
    assert_int_equal(iso_figures_compare(&now, &before, 0.1, nowhere), 0);
    iso_figures_release(&now);
    fill(&now, 800, 1.0); /* both rates a fifth lower */
    assert_int_equal(iso_figures_compare(&now, &before, 0.1, nowhere), 2);
    iso_figures_release(&now);
    fill(&now, 2000, 1.3); /* faster, but later */
    assert_int_equal(iso_figures_compare(&now, &before, 0.1, nowhere), 1);
    iso_figures_release(&now);
    iso_figures_release(&before);
    fclose(nowhere);
}

static void csv_quotes_and_svg_draws(void **state)
{
    struct iso_figures figures;
    (void)state;
    fill(&figures, 1000, 1);
    char *csv = written(&figures, iso_figures_write_csv);
    assert_non_null(strstr(csv, "experiment,parameter,value,rate,delay,keys\r\n"));
    assert_non_null(strstr(csv, "aion,distribution,\"zipf \"\"1\"\", hot\",,,1000\r\n"));
    char *svg = written(&figures, iso_figures_write_svg);
    /* one chart: the rate of chronos is the only column with two points */
    const char *first = strstr(svg, "<polyline");
    assert_non_null(first);
    assert_null(strstr(first + 1, "<polyline"));
    free(csv);
    free(svg);
    iso_figures_release(&figures);
}

static void percentiles_are_close(void **state)
{
    struct iso_histogram *histogram = calloc(1, sizeof *histogram);
    (void)state;
    for (uint64_t i = 1; i <= 100000; i++)
        iso_histogram_add(histogram, i * 1000, 1);
    for (double share = 0.01; share < 1; share += 0.01) {
        double exact = share * 1e8, found = (double)iso_histogram_percentile(histogram, share);
        assert_true(fabs(found / exact - 1) < 0.033);
    }
    assert_int_equal(iso_histogram_percentile(histogram, 1), 100000000);
    iso_histogram_add(histogram, UINT64_MAX, 1);
    assert_true(iso_histogram_percentile(histogram, 1) == UINT64_MAX);
    free(histogram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_three_digits),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(bad_baseline_is_refused),
        cmocka_unit_test(comparison_counts_what_got_worse),
        cmocka_unit_test(csv_quotes_and_svg_draws),
        cmocka_unit_test(percentiles_are_close),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("measure/figures", tests, NULL, NULL);
}
