/* Histories on which a careless engine takes time or memory that grows with their square: each must
 * be done in seconds. They are large enough that the square takes minutes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "chronos/chronos.h"

enum { SECONDS = 100 }; /* of processor time, in the slowest flavour of the build */

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
    clock_t start = clock();
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    iso_verdict_init(verdict, history, ISO_SI, limit);
    assert_int_equal(iso_chronos_check(history, &options, verdict, &error), ISO_OK);
    iso_verdict_conclude(verdict, false);
    assert_true(clock() - start < SECONDS * CLOCKS_PER_SEC);
}

static void release(struct iso_history *history, struct iso_verdict *verdict)
{
    iso_verdict_release(verdict);
    iso_history_release(history);
}

/* Five thousand million pairs, and those with the smallest tids come last. */
static void all_writers_of_a_key_overlap(void **state)
{
    enum { WRITERS = 100000 };
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
        assert_int_equal(history.tid[verdict.violations[i].transaction], 0);
        assert_int_equal(history.tid[verdict.violations[i].other], i + 1);
    }
    release(&history, &verdict);
}

/* Two wide transactions share every key and their cts, with times of their own. */
static void wide_transactions_share_a_cts(void **state)
{
    enum { KEYS = 200000 };
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

/* One transaction appends once and reads its list very often. */
static void many_list_reads_in_a_transaction(void **state)
{
    enum { READS = 600000 };
    struct iso_history history;
    struct iso_verdict verdict;
    (void)state;
    iso_history_init(&history);
    begin(&history, 0, 1, 2);
    iso_history_operation(&history, ISO_APPEND, 1, 0);
    for (uint32_t i = 0; i < READS; i++)
        read_list(&history, 1);
    judge(&history, &verdict, 10);
    assert_int_equal(verdict.outcome, ISO_HOLDS);
    release(&history, &verdict);
}

/* Stale reads of a long list that one transaction wrote, or that was there from the beginning. */
static void stale_reads_of_a_long_list(void **state)
{
    enum { ELEMENTS = 30000, READS = 40 };
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
 * thousand million elements in all, of which a few are kept. */
static void evidence_that_is_kept_no_more(void **state)
{
    enum { ELEMENTS = 5000, READS = 20000, LIMIT = 10 };
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
        assert_int_equal(history.tid[verdict.violations[i].transaction], i + 1);
        assert_int_equal(expected->count, ELEMENTS);
        for (uint32_t e = 0; e < ELEMENTS; e++)
            assert_int_equal(iso_value_element(expected, e), e);
    }
    release(&history, &verdict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_writers_of_a_key_overlap),
                                       cmocka_unit_test(wide_transactions_share_a_cts),
                                       cmocka_unit_test(many_list_reads_in_a_transaction),
                                       cmocka_unit_test(stale_reads_of_a_long_list),
                                       cmocka_unit_test(evidence_that_is_kept_no_more)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
