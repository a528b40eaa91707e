/* Distributions of keys: each key as often as it should be. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "generate/draw.h"

enum { DRAWS = 400000 };

static void count_draws(enum iso_distribution distribution, uint32_t keys, uint32_t *seen)
{
    struct iso_draw draw;
    struct iso_rng rng;
    iso_rng_seed(&rng, 5);
    iso_draw_init(&draw, distribution, keys);
    memset(seen, 0, keys * sizeof *seen);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t key = iso_draw_key(&draw, &rng);
        assert_true(key < keys);
        seen[key]++;
    }
    iso_draw_release(&draw);
}

/* Within five standard deviations. */
static void assert_about(uint32_t seen, double share)
{
    double expected = DRAWS * share, deviation = sqrt(expected * (1 - share));
    assert_true(fabs(seen - expected) < 5 * deviation + 1);
}

static void uniform(void **state)
{
    (void)state;
    uint32_t seen[50];
    count_draws(ISO_UNIFORM, 50, seen);
    for (int key = 0; key < 50; key++)
        assert_about(seen[key], 1.0 / 50);
}

static void zipf(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 100, 1000};
    uint32_t seen[1000];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double sum = 0;
        for (uint32_t key = 0; key < sizes[i]; key++)
            sum += 1.0 / (key + 1);
        count_draws(ISO_ZIPF, sizes[i], seen);
        for (uint32_t key = 0; key < sizes[i]; key++)
            assert_about(seen[key], 1.0 / (key + 1) / sum);
    }
}

static void hotspot(void **state)
{
    (void)state;
    uint32_t seen[50];
    count_draws(ISO_HOTSPOT, 50, seen);
    for (int key = 0; key < 50; key++)
        assert_about(seen[key], key < 10 ? 0.8 / 10 : 0.2 / 40);
    count_draws(ISO_HOTSPOT, 1, seen);
    assert_int_equal(seen[0], DRAWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(uniform), cmocka_unit_test(zipf),
                                       cmocka_unit_test(hotspot)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
