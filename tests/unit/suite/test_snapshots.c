/* When transactions became visible, by snapshots. */
#include "suite/snapshots.h"

#include "tests/support/test.h"

static void assert_found(const struct suite_snapshots *snapshots, uint32_t xid, uint64_t visible_by,
                         uint64_t hidden_until)
{
    uint64_t visible, hidden;
    suite_snapshots_find(snapshots, xid, &visible, &hidden);
    assert_int_equal(visible, visible_by);
    assert_int_equal(hidden, hidden_until);
}

static void the_first_that_sees_it_says_so(void **state)
{
    (void)state;
    struct suite_snapshots snapshots = {.count = 0};
    assert_found(&snapshots, 7, 0, 0);
    suite_snapshots_take(&snapshots, "10:10:", 100, 101);
    suite_snapshots_take(&snapshots, "10:12:10", 110, 111);
    suite_snapshots_take(&snapshots, "10:12:10", 120, 121);
    suite_snapshots_take(&snapshots, "none", 125, 126);
    suite_snapshots_take(&snapshots, "13:13:", 130, 131);
    assert_int_equal(snapshots.count, 3);
    assert_found(&snapshots, 9, 101, 0);
    assert_found(&snapshots, 11, 111, 100);
    assert_found(&snapshots, 10, 131, 120);
    assert_found(&snapshots, 13, 0, 130);
    suite_snapshots_release(&snapshots);
}

static void xids_go_around(void **state)
{
    (void)state;
    struct suite_snapshots snapshots = {.count = 0};
    suite_snapshots_take(&snapshots, "4294967295:4294967295:", 1, 2);
    suite_snapshots_take(&snapshots, "4294967299:4294967300:4294967299", 3, 4);
    assert_found(&snapshots, UINT32_MAX, 4, 1);
    assert_found(&snapshots, 2, 4, 1);
    assert_found(&snapshots, 3, 0, 3);
    suite_snapshots_release(&snapshots);
}

static void statements_saw_what_both_sides_say(void **state)
{
    (void)state;
    struct suite_snapshots snapshots = {.count = 0};
    suite_snapshots_take(&snapshots, "10:10:", 10, 11);
    suite_snapshots_take(&snapshots, "10:12:10,11", 20, 21); /* none of these has ended */
    suite_snapshots_take(&snapshots, "10:12:10", 30, 31);
    assert_int_equal(snapshots.count, 2);
    assert_int_equal(suite_snapshots_around(&snapshots, 12, 19),
                     suite_snapshots_hash(&snapshots, 0));
    assert_int_equal(suite_snapshots_around(&snapshots, 12, 22), 0);
    assert_int_equal(suite_snapshots_around(&snapshots, 10, 19), 0);
    assert_int_equal(suite_snapshots_around(&snapshots, 32, 33), 0);
    suite_snapshots_release(&snapshots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_sees_it_says_so),
        cmocka_unit_test(xids_go_around),
        cmocka_unit_test(statements_saw_what_both_sides_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
