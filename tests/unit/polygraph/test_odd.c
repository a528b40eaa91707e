/* polygraph on odd histories: what is empty, unknown, repeated or extreme. Each verdict is the one
 * told here and that of trying every schedule, and its evidence is confirmed; with and without the
 * steps before the solver. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "polygraph/polygraph.h"
#include "tests/oracle/schedule_oracle.h"
#include "tests/support/brief_history.h"
#include "verify/verify.h"

enum { SMALL = 12 }; /* transactions, for the oracle */

static void judge(const struct iso_history *history, enum iso_level level, bool solver,
                  enum iso_outcome expected, const char *name)
{
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    iso_polygraph_options_init(&options);
    iso_polygraph_result_init(&result);
    options.level = level;
    options.no_advice = options.no_saturation = options.no_search = options.no_windows = solver;
    assert_int_equal(iso_polygraph_check(history, &options, &result, &error), ISO_OK);
    if (result.outcome != expected)
        print_error("%s at %s: %s\n", name, iso_level_name(level),
                    iso_outcome_name(result.outcome));
    assert_int_equal(result.outcome, expected);
    if (expected != ISO_IS_UNDECIDED &&
        iso_verify(history, &result.evidence, &error) != ISO_CONFIRMED)
        fail_msg("%s at %s: %s", name, iso_level_name(level), error.text);
    iso_polygraph_result_release(&result);
}

static void judge_all(const struct iso_history *history, enum iso_outcome ser, enum iso_outcome si,
                      const char *name)
{
    for (int solver = 0; solver < 2; solver++) {
        judge(history, ISO_SER, solver, ser, name);
        judge(history, ISO_SI, solver, si, name);
    }
    if (ser == ISO_IS_UNDECIDED || history->txns.count > SMALL)
        return;
    assert_int_equal(schedule_oracle_holds(history, ISO_SER, 0), ser == ISO_HOLDS);
    assert_int_equal(schedule_oracle_holds(history, ISO_SI, 0), si == ISO_HOLDS);
}

struct odd {
    const char *name;
    enum iso_outcome ser, si;
    const char *lines;
};

static const struct odd odds[] = {
    {"no operations at all", ISO_HOLDS, ISO_HOLDS, "1 a - -\n2 a - -\n3 b - -\n"},
    {"only unknown outcomes", ISO_IS_UNDECIDED, ISO_IS_UNDECIDED,
     "1 a - - unknown | w x 1\n2 b - - unknown | r x 9 | w x 2\n"},
    {"an unknown outcome's own read is not judged", ISO_HOLDS, ISO_HOLDS,
     "1 a - - unknown | r x 77 | w x 5\n2 b - - | r x 5\n"},
    {"an unknown outcome is read whole or not at all", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "1 a - - unknown | w x 5 | w y 5\n2 b - - | r x 5 | r y null\n"},
    {"an unknown outcome is seen and then gone", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "1 a - - unknown | w x 5\n2 b - - | r x 5\n3 b - - | r x null\n"},
    {"the same value again after a delete", ISO_HOLDS, ISO_HOLDS,
     "1 a - - | w x 5\n2 a - - | d x\n3 a - - | w x 5\n4 a - - | d x\n"
     "5 b - - | r x 5\n6 b - - | r x null\n7 b - - | r x 5\n8 b - - | r x null\n"},
    {"once more than it was written", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "1 a - - | w x 5\n2 a - - | d x\n3 a - - | w x 5\n"
     "5 b - - | r x null\n6 b - - | r x 5\n7 b - - | r x null\n8 b - - | r x 5\n9 b - - | r x null\n"},
    {"the largest numbers, and beyond", ISO_HOLDS, ISO_HOLDS,
     "18446744073709551615 18446744073709551615 - - | w 18446744073709551615 18446744073709551616\n"
     "2 b - - | r 18446744073709551615 18446744073709551616\n"},
    {"both append what both saw", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "1 a - - | r l [1] | a l 1\n2 b - - | a l 1 | r l [1,1]\n"},
    {"one element twice by one transaction", ISO_HOLDS, ISO_HOLDS,
     "1 a - - | a l 1 | r l [1] | a l 1 | r l [1,1]\n2 b - - | r l [1,1]\n"},
    {"half of one element twice", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "1 a - - | a l 1 | a l 1\n2 b - - | r l [1]\n"},
    {"an element oftener than it was appended", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "1 a - - | a l 1\n2 b - - | a l 1\n3 c - - | r l [1,1,1]\n"},
    {"an aborted append of an element that another made", ISO_HOLDS, ISO_HOLDS,
     "1 a - - aborted | a l 1\n2 b - - | a l 1\n3 c - - | r l [1]\n"},
    {"two cannot share an element", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "1 a - - | a l 5 | a l 1\n2 b - - | a l 1 | a l 7\n3 c - - | r l [5,1,7]\n"},
    {"an unknown append fills a gap", ISO_HOLDS, ISO_HOLDS,
     "1 a - - | a l 1\n2 b - - unknown | a l 1\n3 c - - | r l [1,1]\n4 a - - | r l [1,1]\n"},
    {"where the list is cut, a session says", ISO_IS_VIOLATED, ISO_IS_VIOLATED,
     "3 a - - | a l 1 | a l 2\n1 a - - | a l 1\n2 a - - | a l 2 | a l 1\n4 a - - | a l 1\n"
     "5 b - - | r l [1,1,2]\n6 a - - | r l [1,1,2,2,1,1]\n"},
    {"an initial list that goes on with its own elements", ISO_HOLDS, ISO_HOLDS,
     "initial | a l 1 | a l 1\n1 a - - | a l 1\n2 a - - | a l 1\n3 b - - | r l [1,1]\n4 b - - | r l [1,1,1]\n"
     "5 b - - | r l [1,1,1,1]\n"},
    {"a skew of lists", ISO_IS_VIOLATED, ISO_HOLDS,
     "1 a - - | a l 1\n2 b - - | a m 1\n3 a - - | r l [1] | a m 1\n4 b - - | r m [1] | a l 1\n5 c - - | r l [1,1] | r m "
     "[1,1]\n"},
};

static void judges_odd_histories(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof odds / sizeof *odds; i++) {
        struct iso_history history;
        brief_history(&history, odds[i].lines);
        judge_all(&history, odds[i].ser, odds[i].si, odds[i].name);
        iso_history_release(&history);
    }
}

/* A read is left without a writer while the rules' clocks still lag behind the facts that say
 * so. */
static void judges_while_clocks_lag(void **state)
{
    static const struct {
        enum iso_level level;
        const char *lines;
    } late[] = {
        {ISO_GSI,
         "0 d - - begun=1 ended=11 | a l 1 | w x 1\n1 d - - begun=15 ended=31 | r x 1 | a l 0\n"
         "2 c - - begun=43 ended=43 | a l 2\n3 b - - begun=31 ended=48 | a l 0 | a l 2 | w x 2\n"
         "4 a - - begun=45 ended=56 | a l 2 | r x 1\n5 c - - begun=67 ended=89 | a l 1 | r l [1,0,2,0,2,2,1]\n"},
        {ISO_STRONG_SI,
         "0 b - - begun=36 ended=36 | a l 3 | a l 1\n1 b - - unknown begun=11 ended=36 | a l 0 | a m 0\n"
         "2 a - - begun=20 ended=48 | a m 3 | a l 3\n3 b - - begun=31 ended=60 | r l [3,1,0,3] | a l 0 | a m 3\n"
         "4 b - - begun=47 ended=51 | a l 1 | r m [3,0]\n5 a - - begun=57 ended=61 | r l [3,1,0]\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        struct iso_history history;
        brief_history(&history, late[i].lines);
        assert_false(schedule_oracle_holds(&history, late[i].level, 0));
        judge(&history, late[i].level, false, ISO_IS_VIOLATED, "clocks that lag");
        iso_history_release(&history);
    }
}

static void begin(struct iso_history *history, uint32_t tid, uint32_t session)
{
    iso_history_begin(history, tid, session, ISO_COMMITTED, iso_origin(0, tid + 1));
}

static void finish(struct iso_history *history, enum iso_outcome expected, const char *name)
{
    struct iso_error error = {0};
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    judge(history, ISO_SER, false, expected, name);
    judge(history, ISO_SI, false, expected, name);
    iso_history_release(history);
}

/* Longer than a chain may be, so that it is cut. */
static void judges_one_long_session(void **state)
{
    enum { LONG = 40000 };
    (void)state;
    for (uint32_t stale = 0; stale < 2; stale++) {
        struct iso_history history;
        iso_history_init(&history);
        iso_history_input(&history, "long");
        for (uint32_t t = 0; t < LONG; t++) {
            begin(&history, t, 0);
            if (t)
                iso_history_operation(&history, ISO_READ, 0, stale && t == LONG - 1 ? LONG / 3 : t);
            iso_history_operation(&history, ISO_WRITE, 0, t + 1);
        }
        finish(&history, stale ? ISO_IS_VIOLATED : ISO_HOLDS, "one long session");
    }
}

/* Seen whole, or but for one key. */
static void judges_one_wide_transaction(void **state)
{
    enum { WIDE = 10000 };
    (void)state;
    for (uint32_t torn = 0; torn < 2; torn++) {
        struct iso_history history;
        iso_history_init(&history);
        iso_history_input(&history, "wide");
        begin(&history, 0, 0);
        for (uint32_t key = 0; key < WIDE; key++)
            iso_history_operation(&history, ISO_WRITE, key, 7);
        begin(&history, 1, 1);
        for (uint32_t key = 0; key < WIDE; key++)
            iso_history_operation(&history, ISO_READ, key,
                                  torn && key == WIDE / 2 ? ISO_ABSENT : 7);
        finish(&history, torn ? ISO_IS_VIOLATED : ISO_HOLDS, "one wide transaction");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_odd_histories), cmocka_unit_test(judges_while_clocks_lag),
        cmocka_unit_test(judges_one_long_session), cmocka_unit_test(judges_one_wide_transaction)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
