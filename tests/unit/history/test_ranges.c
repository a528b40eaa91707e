/* Row sets of plain keys while a history is built: what a stream adds to them, and copies of those
 * that found nothing. */
#include "tests/support/test.h"

#include <stdio.h>

#include "history/copy.h"
#include "tests/support/history.h"

static void begin(struct iso_history *history, const char *tid)
{
    iso_history_begin(history, test_atom(history, tid), test_atom(history, "s"), ISO_COMMITTED, 0);
    iso_history_set_sts(history, (struct iso_stamp){.physical = 5});
}

static void read_key(struct iso_history *history, iso_atom key, iso_atom value)
{
    iso_history_operation(history, ISO_READ, key, value);
}

static void add_range(struct iso_history *history, iso_atom from, iso_atom to, uint32_t rows,
                      bool is_partial)
{
    iso_history_range(history,
                      &(struct iso_range){.from = from,
                                          .to = to,
                                          .is_partial = is_partial,
                                          .kind = ISO_OPERATION_OTS,
                                          .ots = 7,
                                          .table = ISO_ABSENT},
                      rows);
}

/* Each operation as key and value; `-` is null. */
static void assert_operations(const struct iso_history *history, uint32_t transaction,
                              const char *expected)
{
    char text[256] = "";
    size_t used = 0;
    for (uint32_t o = history->txns.first_op[transaction];
         o < history->txns.first_op[transaction + 1]; o++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 history->ops.value[o] == ISO_ABSENT ? "%u- " : "%u:%u ",
                                 history->keys.atom[history->ops.key[o]], history->ops.value[o]);
    assert_string_equal(text, expected);
}

/* 1, 2 and 9 are named by others of the transaction; 20 lies outside. */
static void keys_that_the_transaction_names_are_read(void **state)
{
    struct iso_history history;
    (void)state;
    iso_history_init(&history);
    begin(&history, "a");
    read_key(&history, 1, 10);
    begin(&history, "b");
    read_key(&history, 2, 11);
    read_key(&history, 4, 12);
    add_range(&history, 2, 10, 1, false);
    add_range(&history, 1, 10, 0, false);
    add_range(&history, 1, 10, 0, true);
    read_key(&history, 9, 13);
    read_key(&history, 20, 14);
    begin(&history, "c");
    read_key(&history, 3, 15);
    iso_history_imply_own(&history, 1);
    assert_operations(&history, 0, "1:10 ");
    assert_operations(&history, 1, "2:11 4:12 2- 9- 2- 4- 9- 9:13 20:14 ");
    assert_operations(&history, 2, "3:15 ");
    const struct iso_range *sets = history.ranges.list;
    assert_int_equal(sets[0].first, 1);
    assert_int_equal(sets[0].count, 3);
    assert_int_equal(sets[0].rows, 1);
    assert_int_equal(sets[1].first, 4);
    assert_int_equal(sets[1].count, 3);
    assert_int_equal(sets[2].first, 7);
    assert_int_equal(sets[2].count, 0);
    uint32_t first = history.txns.first_op[1];
    assert_int_equal(history.ops.kind[first + 2], ISO_READ | ISO_OPERATION_OTS);
    assert_int_equal(history.ops.ots[first + 4], 7);
    assert_int_equal(iso_history_step(&history, 1, first + 7), 4);
    assert_int_equal(iso_history_set_step(&history, &sets[2]), 3);
    iso_history_release(&history);
}

static void sets_that_found_nothing_are_copied(void **state)
{
    struct iso_history history, copy;
    struct iso_error error = ISO_NO_ERROR;
    (void)state;
    iso_history_init(&history);
    iso_history_init(&copy);
    history.clock = ISO_CLOCK_SCALAR;
    begin(&history, "a");
    add_range(&history, 1, 10, 0, false);
    read_key(&history, 2, 11);
    read_key(&history, 4, 12);
    add_range(&history, 3, 4, 1, false);
    add_range(&history, ISO_ABSENT, 10, 0, false);
    iso_history_imply_own(&history, 0);
    iso_history_copy_timed(&copy, &history, 0);
    assert_int_equal(copy.ranges.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct iso_range *one = &history.ranges.list[i], *other = &copy.ranges.list[i];
        assert_int_equal(one->first, other->first);
        assert_int_equal(one->count, other->count);
        assert_int_equal(one->rows, other->rows);
        assert_int_equal(one->ots, other->ots);
        assert_int_equal(one->kind, other->kind);
    }
    assert_int_equal(iso_history_finish(&copy, &error), ISO_OK);
    assert_operations(&copy, 0, "2- 4- 2:11 4:12 2- 4- ");
    assert_int_equal(copy.txns.cts[0], 7);
    iso_history_release(&copy);
    iso_history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_the_transaction_names_are_read),
        cmocka_unit_test(sets_that_found_nothing_are_copied),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
