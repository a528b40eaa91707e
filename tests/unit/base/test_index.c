/* Numbers by hashes, beside an array: added, found among others of one hash, removed, refilled,
 * shrunk. */
#include "tests/support/test.h"

#include "base/index.h"

enum { NUMBERS = 5000, HASHES = 3001, STEPS = 100000, MANY = 300000 };

static uint32_t hash_of(const void *context, uint32_t number)
{
    return number % HASHES * *(const uint32_t *)context;
}

static uint32_t find(const struct iso_index *index, uint32_t hash, uint32_t sought)
{
    uint32_t at = iso_index_home(hash), number, found = 0;
    for (; iso_index_next(index, &at, hash, &number); at++)
        found += number == sought;
    return found;
}

static void the_same_as_an_array(void **state)
{
    (void)state;
    static bool there[NUMBERS];
    struct iso_index index = {0};
    uint64_t random = 11;
    uint32_t count = 0, factor = 0x9e3779b9;
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t number = (uint32_t)(test_random(&random) % NUMBERS),
                 hash = hash_of(&factor, number);
        assert_int_equal(find(&index, hash, number), there[number]);
        if (there[number])
            iso_index_remove(&index, hash, number);
        else
            iso_index_add(&index, hash, number);
        there[number] = !there[number];
        count += there[number] ? 1 : UINT32_MAX;
        assert_int_equal(index.used, count);
    }
    factor = 0x85ebca6b; /* of another process */
    assert_true(iso_index_refill(&index, NUMBERS, hash_of, &factor));
    for (uint32_t number = 0; number < NUMBERS; number++)
        assert_int_equal(find(&index, hash_of(&factor, number), number), there[number]);
    assert_false(iso_index_refill(&index, NUMBERS / 2, hash_of, &factor));
    index.used++;
    assert_false(iso_index_refill(&index, NUMBERS, hash_of, &factor));
    iso_index_clear(&index);
    for (uint32_t number = 0; number < NUMBERS; number++)
        assert_int_equal(find(&index, hash_of(&factor, number), number), 0);
    iso_index_release(&index);
}

static void shrinks_when_most_went(void **state)
{
    (void)state;
    struct iso_index index = {0};
    iso_index_reserve(&index, MANY);
    uint64_t bytes = iso_index_bytes(&index);
    for (uint32_t number = 0; number < MANY; number++)
        iso_index_add(&index, number * 0x9e3779b9u, number);
    assert_int_equal(iso_index_bytes(&index), bytes);
    iso_index_shrink(&index);
    assert_int_equal(iso_index_bytes(&index), bytes);
    for (uint32_t number = MANY / 8; number < MANY; number++)
        iso_index_remove(&index, number * 0x9e3779b9u, number);
    iso_index_shrink(&index);
    assert_int_equal(iso_index_bytes(&index), bytes / 2);
    for (uint32_t number = 0; number < MANY / 4; number++)
        assert_int_equal(find(&index, number * 0x9e3779b9u, number), number < MANY / 8);
    iso_index_release(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_as_an_array),
        cmocka_unit_test(shrinks_when_most_went),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
