/* The radix sort against the C library's, on keys of all shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/team.h"
#include "base/radix.h"

enum { COUNT = 5000 };

struct item {
    uint64_t key;
    uint32_t payload;
};

static int compare(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->payload < b->payload ? -1 : 1; /* stable */
}

static void check(const uint64_t *keys, uint32_t count)
{
    static uint64_t first_keys[COUNT], second_keys[COUNT];
    static uint32_t first_payloads[COUNT], second_payloads[COUNT];
    static struct item expected[COUNT];
    struct iso_radix items = {first_keys, first_payloads}, other = {second_keys, second_payloads};
    for (uint32_t i = 0; i < count; i++) {
        first_keys[i] = keys[i];
        first_payloads[i] = i;
        expected[i] = (struct item){keys[i], i};
    }
    qsort(expected, count, sizeof *expected, compare);
    struct iso_radix sorted = iso_radix_sort(items, other, count) ? other : items;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(sorted.keys[i], expected[i].key);
        assert_int_equal(sorted.payloads[i], expected[i].payload);
    }
}

static void sorts_like_qsort(void **state)
{
    (void)state;
    static const uint64_t masks[] = {
        0, 1, 0xff, 0x7ff, 0x800, 0xfffff, 0xffff0000, 0xff000000000000ff, UINT64_MAX};
    static const uint64_t bases[] = {0, 1, UINT64_C(467257846263971800), UINT64_MAX - 0xfffff};
    uint64_t state_of_random = 7, keys[COUNT];
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
            for (uint32_t i = 0; i < COUNT; i++) {
                state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
                keys[i] = bases[b] + ((state_of_random ^ state_of_random >> 29) & masks[m]);
            }
            check(keys, COUNT);
        }
    }
}

static void few_and_sorted_keys(void **state)
{
    (void)state;
    uint64_t keys[COUNT] = {0};
    check(keys, 0);
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = i;
    check(keys, COUNT);
    check(keys, 1);
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = COUNT - i;
    check(keys, COUNT);
    check(keys, 2);
}

static void mark(void *context, unsigned part)
{
    ((unsigned *)context)[part] += part + 1;
}

static void every_part_runs_once(void **state)
{
    (void)state;
    unsigned marks[9] = {0};
    iso_parallel(8, mark, marks);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(marks[i], i + 1);
    assert_int_equal(marks[8], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sorts_like_qsort),
                                       cmocka_unit_test(few_and_sorted_keys),
                                       cmocka_unit_test(every_part_runs_once)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
