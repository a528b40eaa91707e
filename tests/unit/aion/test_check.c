/* Histories larger than the property test's, so that runs have many chunks: aion in any order of
 * the file against chronos, violation by violation. */
#include "aion/aion.h"
#include "chronos/chronos.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

#include <stdlib.h>

enum { TRANSACTIONS = 1500, KEYS = 4, SESSIONS = 5 };

struct plan {
    uint64_t sts, cts, sno;
    uint32_t session, seed;
    uint8_t status;
};

static void add_operations(struct iso_history *history, struct random *random)
{
    uint32_t count = 1 + random_below(random, 5);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = random_below(random, KEYS), value = random_below(random, 40);
        switch (random_below(random, key == 0 ? 2 : 4)) {
        case 0:
            if (key == 0) {
                uint32_t list = iso_history_list(history);
                for (uint32_t n = random_below(random, 3); n; n--)
                    iso_history_element(history, random_below(random, 40));
                iso_history_operation(history, ISO_READ_LIST, key, list);
                break;
            } /* fall through */
        case 2:
            iso_history_operation(history, ISO_READ, key, key == 0 ? ISO_ABSENT : value);
            break;
        default:
            iso_history_operation(history,
                                  key == 0 ? ISO_APPEND
                                  : value  ? ISO_WRITE
                                           : ISO_DELETE,
                                  key, value || key == 0 ? value : ISO_ABSENT);
            break;
        }
        if (random_percent(random, 5))
            iso_history_set_lock(history);
    }
}

/* Times of a transaction span `spread` or less; the file's order is `order`. */
static void build(struct iso_history *history, uint64_t seed, uint64_t spread)
{
    struct random random = {seed};
    struct plan *plans = calloc(TRANSACTIONS, sizeof *plans);
    struct iso_error error = {.status = ISO_OK};
    assert_non_null(plans);
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        plans[i].cts = 1000 + i * 2 + random_below(&random, 4);
        plans[i].sts = plans[i].cts - random_below(&random, (uint32_t)spread);
        plans[i].session = random_below(&random, SESSIONS);
        plans[i].sno = i;
        plans[i].seed = (uint32_t)random_bits(&random);
        plans[i].status = random_percent(&random, 90)   ? ISO_COMMITTED
                          : random_percent(&random, 50) ? ISO_ABORTED
                                                        : ISO_UNKNOWN;
    }
    for (uint32_t i = TRANSACTIONS; i > 1; i--) {
        uint32_t other = random_below(&random, i);
        struct plan plan = plans[i - 1];
        plans[i - 1] = plans[other];
        plans[other] = plan;
    }
    iso_history_clear(history);
    history->clock = ISO_CLOCK_SCALAR;
    iso_history_input(history, "generated");
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        struct random operations = {plans[i].seed};
        iso_history_begin(history, 1 + plans[i].seed % 1000 + 1000 * i, plans[i].session,
                          plans[i].status, i + 1);
        iso_history_set_sts(history, (struct iso_stamp){.physical = plans[i].sts});
        iso_history_set_cts(history, (struct iso_stamp){.physical = plans[i].cts});
        iso_history_set_sno(history, plans[i].sno);
        add_operations(history, &operations);
    }
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    free(plans);
}

static void assert_same_value(const struct iso_value *left, const struct iso_value *right)
{
    assert_int_equal(left->is_list, right->is_list);
    if (!left->is_list) {
        assert_int_equal(left->atom, right->atom);
        return;
    }
    assert_int_equal(left->count, right->count);
    for (uint32_t i = 0; i < left->count; i++)
        assert_int_equal(iso_value_element(left, i), iso_value_element(right, i));
}

static void assert_same(const struct iso_verdict *left, const struct iso_verdict *right)
{
    assert_memory_equal(left->counts, right->counts, sizeof left->counts);
    assert_int_equal(left->reads_judged, right->reads_judged);
    assert_int_equal(left->reads_unjudged, right->reads_unjudged);
    assert_int_equal(left->writes_unjudged, right->writes_unjudged);
    assert_int_equal(left->violation_count, right->violation_count);
    for (uint32_t i = 0; i < left->violation_count; i++) {
        const struct iso_violation *a = &left->violations[i], *b = &right->violations[i];
        assert_int_equal(iso_violation_compare(left->history, a, b), 0);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->operation, b->operation);
        assert_int_equal(a->writer_expected, b->writer_expected);
        assert_int_equal(a->writer_actual, b->writer_actual);
        assert_same_value(&a->expected, &b->expected);
        assert_same_value(&a->actual, &b->actual);
    }
}

static void compare(uint64_t seed, uint64_t spread, enum iso_level level, unsigned threads)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = threads};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict chronos, aion;
    struct iso_history history;
    iso_history_init(&history);
    build(&history, seed, spread);
    iso_verdict_init(&chronos, &history, level, 0);
    iso_verdict_init(&aion, &history, level, 0);
    assert_int_equal(iso_chronos_check(&history, &options, &chronos, &error), ISO_OK);
    assert_int_equal(iso_aion_check(&history, &options, &aion, &error), ISO_OK);
    iso_verdict_conclude(&chronos, false);
    iso_verdict_conclude(&aion, false);
    assert_true(chronos.counts[ISO_EXT] > 100 && chronos.counts[ISO_INT] > 10 &&
                chronos.counts[ISO_SESSION] > 1);
    assert_true(level == ISO_SER || chronos.counts[ISO_NOCONFLICT] > 100);
    assert_true(chronos.reads_unjudged > 0);
    assert_same(&chronos, &aion);
    assert_string_equal(aion.engine, "aion");
    /* What is not listed is counted. */
    struct iso_verdict short_lists;
    options.max_per_key = 3;
    iso_verdict_init(&short_lists, &history, level, 0);
    assert_int_equal(iso_aion_check(&history, &options, &short_lists, &error), ISO_OK);
    iso_verdict_conclude(&short_lists, false);
    assert_memory_equal(chronos.counts, short_lists.counts, sizeof chronos.counts);
    assert_true(short_lists.violation_count < aion.violation_count);
    iso_verdict_release(&short_lists);
    iso_verdict_release(&chronos);
    iso_verdict_release(&aion);
    iso_history_release(&history);
}

static void test_si(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        compare(seed, seed == 1 ? 2000 : 30, ISO_SI, (unsigned)(seed % 3) + 1);
}

static void test_ser(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 14; seed++)
        compare(seed, 30, ISO_SER, (unsigned)(seed % 3) + 1);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_si), cmocka_unit_test(test_ser)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
