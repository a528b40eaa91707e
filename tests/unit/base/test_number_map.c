/* The map of numbers against a plain array: put, replaced, removed, cleared. */
#include "tests/support/test.h"

#include "base/number_map.h"

enum { NUMBERS = 3000, STEPS = 200000 };

static void the_same_as_an_array(void **state)
{
    (void)state;
    static uint32_t expected[NUMBERS];
    struct iso_number_map map = {0};
    uint64_t random = 7;
    uint32_t count = 0;
    memset(expected, 0xff, sizeof expected);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = (uint32_t)(test_random(&random) % NUMBERS);
        uint64_t number = (uint64_t)i << 32 | i; /* as numbers of one shape are */
        assert_int_equal(iso_number_map_get(&map, number), expected[i]);
        if (test_random(&random) % 3) {
            count += expected[i] == ISO_NUMBER_NONE;
            expected[i] = step;
            iso_number_map_put(&map, number, step);
        } else {
            count -= expected[i] != ISO_NUMBER_NONE;
            expected[i] = ISO_NUMBER_NONE;
            iso_number_map_remove(&map, number);
        }
        assert_int_equal(map.count, count);
    }
    iso_number_map_clear(&map);
    for (uint32_t i = 0; i < NUMBERS; i++)
        assert_int_equal(iso_number_map_get(&map, (uint64_t)i << 32 | i), ISO_NUMBER_NONE);
    iso_number_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_as_an_array),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
