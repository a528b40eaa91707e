/* Random numbers: the published sequence, bounds, no bias. */
#include "tests/support/test.h"

#include <math.h>

#include "base/normal.h"

/* The first outputs of splitmix64 from 0 and of xoshiro256** from the state 1, 2, 3, 4, as its
 * authors' code gives. */
static void the_published_sequence(void **state)
{
    (void)state;
    struct iso_rng rng = {.state = {1, 2, 3, 4}};
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_true(iso_rng_next(&rng) == expected[i]);
    iso_rng_seed(&rng, 0);
    assert_true(rng.state[0] == 0xe220a8397b1dcdafu);
    assert_true(rng.state[1] == 0x6e789e6aa1b965f4u);
}

static void below_its_bound(void **state)
{
    (void)state;
    struct iso_rng rng;
    unsigned seen[7] = {0};
    iso_rng_seed(&rng, 1);
    for (int i = 0; i < 70000; i++)
        seen[iso_rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 9600, 10400); /* 10000 with a deviation of 93 */
    for (int i = 0; i < 1000; i++) {
        assert_true(iso_rng_below(&rng, 1) == 0);
        assert_true(iso_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
    }
}

static void chances(void **state)
{
    (void)state;
    struct iso_rng rng;
    unsigned hits = 0;
    iso_rng_seed(&rng, 2);
    for (int i = 0; i < 10000; i++) {
        assert_false(iso_rng_chance(&rng, 0));
        assert_true(iso_rng_chance(&rng, (uint64_t)1 << 32));
        hits += iso_rng_chance(&rng, (uint64_t)1 << 30) != 0;
    }
    assert_in_range(hits, 2300, 2700);
}

/* Mean, deviation and tails of a million; and the same numbers again for the same seed. */
static void normal_deviates(void **state)
{
    enum { COUNT = 1000000 };
    (void)state;
    struct iso_rng rng, again;
    double sum = 0, squares = 0;
    unsigned beyond_one = 0, beyond_three = 0;
    iso_rng_seed(&rng, 7);
    iso_rng_seed(&again, 7);
    for (int i = 0; i < COUNT; i++) {
        double deviate = iso_rng_normal(&rng);
        if (i < 1000)
            assert_true(deviate == iso_rng_normal(&again));
        sum += deviate;
        squares += deviate * deviate;
        beyond_one += fabs(deviate) > 1;
        beyond_three += fabs(deviate) > 3;
    }
    assert_true(fabs(sum / COUNT) < 0.005);
    assert_true(fabs(squares / COUNT - 1) < 0.01);
    assert_in_range(beyond_one, 315311, 319311); /* 31.73% */
    assert_in_range(beyond_three, 2500, 2900);   /* 0.27% */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_sequence),
        cmocka_unit_test(below_its_bound),
        cmocka_unit_test(chances),
        cmocka_unit_test(normal_deviates),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
