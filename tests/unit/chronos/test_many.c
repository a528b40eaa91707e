/* Violations by the thousand, of which few are kept: all are counted, and the first ones are whole.
 * What such histories cost is counted in tests/property/growth.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "chronos/chronos.h"

static void begin(struct iso_history *history, uint32_t tid, uint64_t sts, uint64_t cts)
{
    iso_history_begin(history, tid, tid, ISO_COMMITTED, 0);
    iso_history_set_sts(history, (struct iso_stamp){sts, 0});
    iso_history_set_cts(history, (struct iso_stamp){cts, 0});
}

/* Finishes and judges; the caller releases verdict and history. */
static void judge(struct iso_history *history, struct iso_verdict *verdict, uint32_t limit)
{
    struct iso_check_options options = {
        .level = ISO_SI, .session_order = true, .threads = 2, .max_violations = limit};
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    iso_verdict_init(verdict, history, ISO_SI, limit);
    assert_int_equal(iso_chronos_check(history, &options, verdict, &error), ISO_OK);
    iso_verdict_conclude(verdict, false);
}

static void release(struct iso_history *history, struct iso_verdict *verdict)
{
    iso_verdict_release(verdict);
    iso_history_release(history);
}

/* Two million pairs, and those with the smallest tids come last. */
static void all_pairs_of_overlapping_writers_are_counted(void **state)
{
    enum { WRITERS = 2000 };
    struct iso_history history;
    struct iso_verdict verdict;
    (void)state;
    iso_history_init(&history);
    for (uint32_t i = 0; i < WRITERS; i++) {
        begin(&history, WRITERS - 1 - i, i, WRITERS + i);
        iso_history_operation(&history, ISO_WRITE, 1, i);
    }
    judge(&history, &verdict, 10);
    assert_int_equal(verdict.counts[ISO_NOCONFLICT], (uint64_t)WRITERS * (WRITERS - 1) / 2);
    assert_int_equal(verdict.violation_count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(history.txns.tid[verdict.violations[i].transaction], 0);
        assert_int_equal(history.txns.tid[verdict.violations[i].other], i + 1);
    }
    release(&history, &verdict);
}

/* Two wide transactions share every key and their cts, with times of their own. */
static void each_key_of_a_shared_cts_is_a_conflict(void **state)
{
    enum { KEYS = 2000 };
    struct iso_history history;
    struct iso_verdict verdict;
    (void)state;
    iso_history_init(&history);
    for (uint32_t t = 0; t < 2; t++) {
        begin(&history, t, 1, 9);
        for (uint32_t key = 0; key < KEYS; key++) {
            iso_history_operation(&history, ISO_WRITE, key, t);
            iso_history_set_ots(&history, (struct iso_stamp){2 + t, 0});
        }
    }
    judge(&history, &verdict, 10);
    assert_int_equal(verdict.counts[ISO_NOCONFLICT], KEYS);
    assert_int_equal(verdict.violations[9].operation, KEYS + 9);
    release(&history, &verdict);
}

static void read_list(struct iso_history *history, uint32_t count)
{
    uint32_t list = iso_history_list(history);
    for (uint32_t i = 0; i < count; i++)
        iso_history_element(history, i);
    iso_history_operation(history, ISO_READ_LIST, 1, list);
}

/* Stale reads of a long list that one transaction wrote, or that was there from the beginning. */
static void each_read_of_a_long_list_is_stale(void **state)
{
    enum { ELEMENTS = 3000, READS = 40 };
    (void)state;
    for (int initial = 0; initial < 2; initial++) {
        struct iso_history history;
        struct iso_verdict verdict;
        iso_history_init(&history);
        begin(&history, 0, 1, 2);
        for (uint32_t i = 0; i < ELEMENTS && !initial; i++)
            iso_history_operation(&history, ISO_APPEND, 1, i);
        for (uint32_t i = 0; i < ELEMENTS && initial; i++)
            iso_history_initial(&history, 1, i, true);
        begin(&history, 1, 2, 3);
        iso_history_operation(&history, ISO_APPEND, 1, ELEMENTS);
        for (uint32_t i = 0; i < READS; i++) {
            begin(&history, 2 + i, 4, 4);
            read_list(&history, ELEMENTS);
        }
        judge(&history, &verdict, 0);
        assert_int_equal(verdict.counts[ISO_EXT], READS);
        for (uint32_t i = 0; i < READS; i++)
            assert_int_equal(verdict.violations[i].kind, ISO_STALE);
        release(&history, &verdict);
    }
}

/* Each wrong read is reported in place of an earlier one, with what it should have returned: a
 * million elements in all, of which a few are kept. */
static void evidence_that_is_replaced_is_not_kept(void **state)
{
    enum { ELEMENTS = 500, READS = 2000, LIMIT = 10 };
    struct iso_history history;
    struct iso_verdict verdict;
    (void)state;
    iso_history_init(&history);
    begin(&history, 0, 1, 2);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        iso_history_operation(&history, ISO_APPEND, 1, i);
    for (uint32_t i = 0; i < READS; i++) {
        begin(&history, READS - i, 4, 4);
        read_list(&history, i % 2);
    }
    judge(&history, &verdict, LIMIT);
    assert_int_equal(verdict.counts[ISO_EXT], READS);
    assert_true(verdict.element_capacity < 10 * LIMIT * ELEMENTS);
    for (uint32_t i = 0; i < LIMIT; i++) {
        const struct iso_value *expected = &verdict.violations[i].expected;
        assert_int_equal(history.txns.tid[verdict.violations[i].transaction], i + 1);
        assert_int_equal(expected->count, ELEMENTS);
        for (uint32_t e = 0; e < ELEMENTS; e++)
            assert_int_equal(iso_value_element(expected, e), e);
    }
    release(&history, &verdict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_of_overlapping_writers_are_counted),
        cmocka_unit_test(each_key_of_a_shared_cts_is_a_conflict),
        cmocka_unit_test(each_read_of_a_long_list_is_stale),
        cmocka_unit_test(evidence_that_is_replaced_is_not_kept)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
