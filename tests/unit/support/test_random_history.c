/* The generator, the shrinker and the plain history themselves: what tests rest on. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/oracle/timestamp_oracle.h"
#include "tests/support/random_history.h"
#include "tests/support/shrink.h"

enum { HISTORIES = 500 };

struct bench {
    struct plain_history history, other;
    struct iso_history built;
    struct instances found, found_again;
    bool refused[PLAIN_TRANSACTIONS];
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return -1;
    iso_history_init(&bench->built);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    iso_history_release(&bench->built);
    free(bench);
    return 0;
}

static char *printed(const struct plain_history *history)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    plain_history_print(history, file, "");
    fclose(file);
    return text;
}

static void same_seed_same_history(void **state)
{
    struct bench *bench = *state;
    struct random_history_options options = random_history_defaults();
    uint32_t different = 0;
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        random_history(seed, &options, &bench->history);
        random_history(seed, &options, &bench->other);
        char *one = printed(&bench->history), *two = printed(&bench->other);
        assert_string_equal(one, two);
        random_history(seed + 1, &options, &bench->other);
        free(two);
        two = printed(&bench->other);
        different += strcmp(one, two) != 0;
        free(one);
        free(two);
    }
    assert_true(different > HISTORIES * 9 / 10);
}

static void all_are_well_formed(void **state)
{
    struct bench *bench = *state;
    struct random_history_options options = random_history_defaults();
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        struct iso_error error = {.status = ISO_OK};
        random_history(seed, &options, &bench->history);
        if (plain_history_build(&bench->history, &bench->built, &error) != ISO_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        assert_int_equal(bench->built.txns.count, bench->history.transaction_count);
    }
}

static void options_are_kept(void **state)
{
    struct bench *bench = *state;
    struct random_history_options options = {.max_transactions = 6,
                                             .max_keys = 2,
                                             .max_sessions = 3,
                                             .max_operations = 3,
                                             .plain_sessions = true};
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        random_history(seed, &options, &bench->history);
        assert_int_equal(plain_clock(&bench->history), ISO_CLOCK_NONE);
        assert_true(bench->history.transaction_count <= 6);
        for (uint32_t t = 0; t < bench->history.transaction_count; t++) {
            assert_true(bench->history.transactions[t].operation_count <= 3);
            assert_false(bench->history.transactions[t].has_sno);
        }
    }
    options.timestamps = options.complete = true;
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        random_history(seed, &options, &bench->history);
        assert_true(timestamp_oracle(&bench->history, ISO_SI, true, &bench->found, bench->refused));
    }
}

/* Another order of the file is the same history: the same violations, by tid. */
static void order_does_not_matter(void **state)
{
    struct bench *bench = *state;
    struct random_history_options options = random_history_defaults();
    uint32_t order[PLAIN_TRANSACTIONS];
    options.complete = true;
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        random_history(seed, &options, &bench->history);
        uint32_t count = bench->history.transaction_count;
        for (uint32_t t = 0; t < count; t++)
            order[t] = count - 1 - t;
        bench->other = bench->history;
        plain_history_permute(&bench->other, order);
        assert_true(timestamp_oracle(&bench->history, ISO_SI, true, &bench->found, bench->refused));
        assert_true(
            timestamp_oracle(&bench->other, ISO_SI, true, &bench->found_again, bench->refused));
        assert_int_equal(bench->found.count, bench->found_again.count);
        for (uint32_t i = 0; i < bench->found_again.count; i++) {
            struct instance *row = &bench->found_again.rows[i];
            row->transaction = order[row->transaction];
            row->other = row->other == ISO_NONE ? ISO_NONE : order[row->other];
        }
        instances_sort(&bench->found_again);
        for (uint32_t i = 0; i < bench->found.count; i++) {
            assert_int_equal(bench->found.rows[i].transaction,
                             bench->found_again.rows[i].transaction);
            assert_int_equal(bench->found.rows[i].axiom, bench->found_again.rows[i].axiom);
            assert_int_equal(bench->found.rows[i].kind, bench->found_again.rows[i].kind);
            assert_int_equal(bench->found.rows[i].other, bench->found_again.rows[i].other);
            assert_string_equal(bench->found.rows[i].actual, bench->found_again.rows[i].actual);
        }
    }
}

static bool has_stale_read(const struct plain_history *history, void *context)
{
    struct bench *bench = context;
    if (!timestamp_oracle(history, ISO_SI, true, &bench->found, bench->refused))
        return false;
    for (uint32_t i = 0; i < bench->found.count; i++) {
        if (bench->found.rows[i].axiom == ISO_EXT && bench->found.rows[i].kind == ISO_STALE)
            return true;
    }
    return false;
}

/* A stale read needs two transactions and three operations at most: two writers of one and the
 * read. */
static void shrinks_to_the_core(void **state)
{
    struct bench *bench = *state;
    struct random_history_options options = random_history_defaults();
    uint32_t shrunk = 0;
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        random_history(seed, &options, &bench->history);
        if (!has_stale_read(&bench->history, bench))
            continue;
        shrink_history(&bench->history, has_stale_read, bench);
        assert_true(has_stale_read(&bench->history, bench));
        assert_true(bench->history.transaction_count <= 3);
        uint32_t operations = 0;
        for (uint32_t t = 0; t < bench->history.transaction_count; t++)
            operations += bench->history.transactions[t].operation_count;
        assert_true(operations <= 4);
        shrunk++;
    }
    assert_true(shrunk >= 5);
}

static void printed_as_json_lines(void **state)
{
    struct bench *bench = *state;
    plain_history_clear(&bench->history);
    struct plain_transaction *one = plain_history_begin(&bench->history, "1", "s");
    one->sts = plain_stamp(10);
    one->cts = plain_stamp(20);
    plain_history_operation(one, ISO_WRITE, "x", "7")->lock = true;
    plain_history_operation(one, ISO_DELETE, "y", NULL);
    struct plain_operation *read = plain_history_operation(one, ISO_READ_LIST, "z", NULL);
    read->list_count = 2;
    read->list[0] = plain_text("a");
    read->list[1] = plain_text("-1");
    read->ots = plain_stamp(11);
    char *text = printed(&bench->history);
    assert_string_equal(text,
                        "{\"tid\":1,\"sid\":\"s\",\"sts\":\"10\",\"cts\":\"20\",\"ops\":["
                        "{\"t\":\"w\",\"k\":\"x\",\"v\":7,\"lock\":true},{\"t\":\"d\",\"k\":\"y\"},"
                        "{\"t\":\"r\",\"k\":\"z\",\"v\":[\"a\",-1],\"ots\":\"11\"}]}\n");
    free(text);
}

static void texts_in_order(void **state)
{
    (void)state;
    static const char *const order[] = {
        "-9223372036854775808", "-2", "-1", "0", "7", "10", "18446744073709551615", "-0", "007",
        "18446744073709551616", "a",  "aa", "b"};
    size_t count = sizeof order / sizeof order[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            struct plain_text left = plain_text(order[i]), right = plain_text(order[j]);
            int sign = plain_compare(&left, &right);
            assert_int_equal((sign > 0) - (sign < 0), (i > j) - (i < j));
        }
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_history), cmocka_unit_test(all_are_well_formed),
        cmocka_unit_test(options_are_kept),       cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(shrinks_to_the_core),    cmocka_unit_test(printed_as_json_lines),
        cmocka_unit_test(texts_in_order),
    };
    return cmocka_run_group_tests_name("random histories", tests, set_up, tear_down);
}
