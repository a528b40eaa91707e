/* Random numbers: the published sequence, bounds, no bias. */
#include "tests/support/test.h"

#include "base/rng.h"

/* The first outputs of splitmix64 from 0 and of xoshiro256** from the state 1, 2, 3, 4, as its authors' code
 * gives. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_sequence),
        cmocka_unit_test(below_its_bound),
        cmocka_unit_test(chances),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
