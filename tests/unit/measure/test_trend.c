/* Does it grow: the slope, its interval, and where the warm-up ends. */
#include "measure/trend.h"

#include <math.h>

#include "base/rng.h"
#include "tests/support/test.h"

enum { POINTS = 30, RUNS = 400 };

/* A level of 100 that grows by `slope` a unit of time, with noise of which each takes over `alike`
 * of the last. */
static void draw(struct iso_rng *random, struct iso_sample_point *points, double slope,
                 double noise, double alike)
{
    double off = 0;
    for (int i = 0; i < POINTS; i++) {
        double fresh = (double)iso_rng_below(random, 1000001) / 500000 - 1;
        off = alike * off + sqrt(1 - alike * alike) * fresh;
        points[i] = (struct iso_sample_point){i, 100 + slope * i + noise * off};
    }
}

static void test_line_without_noise(void **state)
{
    struct iso_rng random;
    struct iso_sample_point points[POINTS];
    (void)state;
    iso_rng_seed(&random, 1);
    draw(&random, points, 0.5, 0, 0);
    struct iso_trend trend = iso_trend_of(points, POINTS);
    assert_float_equal(trend.slope, 0.5, 1e-9);
    assert_float_equal(trend.low, 0.5, 1e-9);
    assert_float_equal(trend.high, 0.5, 1e-9);
    assert_true(trend.warm_up <= POINTS / 2);
}

/* The interval holds the truth about as often as it says, also where neighbours are alike. */
static void test_interval_holds_the_slope(void **state)
{
    static const double alike[] = {0, 0.4};
    struct iso_rng random;
    struct iso_sample_point points[POINTS];
    (void)state;
    iso_rng_seed(&random, 2);
    for (int kind = 0; kind < 2; kind++) {
        int held = 0;
        for (int run = 0; run < RUNS; run++) {
            draw(&random, points, 0.02, 1, alike[kind]);
            struct iso_trend trend = iso_trend_of(points, POINTS);
            assert_true(trend.low <= trend.slope && trend.slope <= trend.high);
            held += trend.low <= 0.02 && 0.02 <= trend.high;
        }
        assert_in_range(held, RUNS * 85 / 100, RUNS);
    }
}

static void test_growth_is_not_taken_for_a_warm_up(void **state)
{
    struct iso_rng random;
    struct iso_sample_point points[POINTS];
    (void)state;
    iso_rng_seed(&random, 3);
    draw(&random, points, 1, 0.5, 0);
    struct iso_trend trend = iso_trend_of(points, POINTS);
    assert_true(trend.low > 0.9 && trend.high < 1.1);
}

static void test_warm_up_is_left_out(void **state)
{
    struct iso_rng random;
    struct iso_sample_point points[POINTS];
    (void)state;
    iso_rng_seed(&random, 4);
    draw(&random, points, 0, 0.2, 0);
    for (int i = 0; i < 6; i++)
        points[i].value -= 40 / (i + 1);
    struct iso_trend trend = iso_trend_of(points, POINTS);
    assert_in_range(trend.warm_up, 5, POINTS / 2);
    assert_true(trend.low < 0 && trend.high > 0 && trend.high < 0.1);
}

static void test_wild_samples_move_nothing(void **state)
{
    struct iso_rng random;
    struct iso_sample_point points[POINTS];
    (void)state;
    iso_rng_seed(&random, 5);
    draw(&random, points, 0.1, 0.1, 0);
    double before = iso_trend_of(points, POINTS).slope;
    for (int i = 3; i < POINTS; i += 7)
        points[i].value += 1000;
    assert_float_equal(iso_trend_of(points, POINTS).slope, before, 0.05);
}

static void test_too_few(void **state)
{
    struct iso_sample_point points[ISO_TREND_LEAST] = {{0, 0}};
    (void)state;
    assert_true(isnan(iso_trend_of(points, 0).slope));
    assert_true(isnan(iso_trend_of(points, ISO_TREND_LEAST - 1).slope));
}

static void test_medians_of_stretches(void **state)
{
    const struct iso_sample_point points[] = {{0, 1}, {1, 90}, {2, 3}, {30, 7}, {31, 9}, {40, 5}};
    struct iso_sample_point medians[4];
    (void)state;
    assert_int_equal(iso_trend_medians(points, 6, medians, 4),
                     2); /* the second and the third are empty */
    assert_float_equal(medians[0].value, 3, 1e-9);
    assert_float_equal(medians[0].time, 5, 1e-9);
    assert_float_equal(medians[1].value, 7, 1e-9);
    assert_float_equal(medians[1].time, 35, 1e-9);
    assert_int_equal(iso_trend_medians(points, 0, medians, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_without_noise),
        cmocka_unit_test(test_interval_holds_the_slope),
        cmocka_unit_test(test_growth_is_not_taken_for_a_warm_up),
        cmocka_unit_test(test_warm_up_is_left_out),
        cmocka_unit_test(test_wild_samples_move_nothing),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_medians_of_stretches),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
