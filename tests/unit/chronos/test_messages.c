/* rc by when messages went: what a statement has to see, and cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "chronos/chronos.h"
#include "tests/support/brief_history.h"

enum { VERSIONS = 4 };

/* Four versions of x, and a reader of what the third wrote, if not of another. */
static const char *const lines[] = {"1 a 5 10 | w x 1\n2 b 15 20 | w x 2\n3 c 25 30 | w x 3\n"
                                    "4 d 35 40 | w x 4\n5 e - - | r x null\n",
                                    "1 a 5 10 | w x 1\n2 b 15 20 | w x 2\n3 c 25 30 | w x 3\n"
                                    "4 d 35 40 | w x 4\n5 e - - | r x 1\n",
                                    "1 a 5 10 | w x 1\n2 b 15 20 | w x 2\n3 c 25 30 | w x 3\n"
                                    "4 d 35 40 | w x 4\n5 e - - | r x 3\n"};
static const int seen[] = {0, 1, 3};

/* `unknown`: of that version nobody knows the value; 0: of none. */
static struct iso_verdict judge(int which, int unknown, const struct iso_history_messages *messages)
{
    struct iso_check_options options = {.level = ISO_RC, .session_order = true, .threads = 1};
    struct iso_error error = {.status = ISO_OK};
    struct iso_history history;
    struct iso_verdict verdict;
    brief_history(&history, lines[which]);
    history.messages = messages;
    if (unknown)
        history.ops.value[history.txns.first_op[unknown - 1]] =
            iso_value_unknown(&history.atoms, ISO_UNJUDGED_SCHEMA);
    iso_verdict_init(&verdict, &history, ISO_RC, 0);
    assert_int_equal(iso_chronos_check(&history, &options, &verdict, &error), ISO_OK);
    struct iso_verdict counted = verdict;
    iso_verdict_release(&verdict);
    iso_history_release(&history);
    return counted;
}

static uint64_t violations(int which, const struct iso_history_messages *messages)
{
    return judge(which, 0, messages).counts[ISO_EXT];
}

/* Is there a moment of the statement at which each commit that was answered before is there, none
 * that was sent later is, and what was read is the newest one? */
static bool is_possible(int version, const uint64_t *sent, const uint64_t *answered, uint64_t from,
                        uint64_t to)
{
    for (int i = version; i < VERSIONS; i++)
        if (answered[i] && answered[i] < from)
            return false;
    for (int i = 0; i < version; i++)
        if (sent[i] > to)
            return false;
    return true;
}

struct times {
    uint64_t of_operations[2][VERSIONS + 1], of_commits[2][VERSIONS + 1];
    struct iso_history_messages messages;
};

static void draw(struct iso_rng *rng, struct times *times)
{
    uint64_t time = 1;
    memset(times, 0, sizeof *times);
    for (int i = 0; i < VERSIONS; i++) {
        bool is_known = iso_rng_below(rng, 4) > 0;
        time += 1 + iso_rng_below(rng, 5);
        times->of_commits[0][i] = is_known ? time : 0;
        time += 1 + iso_rng_below(rng, 5);
        times->of_commits[1][i] = is_known ? time : 0;
    }
    times->of_operations[0][VERSIONS] = 1 + iso_rng_below(rng, 40);
    times->of_operations[1][VERSIONS] =
        times->of_operations[0][VERSIONS] + 1 + iso_rng_below(rng, 8);
    times->messages =
        (struct iso_history_messages){times->of_operations[0], times->of_operations[1],
                                      times->of_commits[0], times->of_commits[1]};
}

static bool may_see(const struct times *times, int version)
{
    return is_possible(version, times->of_commits[0], times->of_commits[1],
                       times->of_operations[0][VERSIONS], times->of_operations[1][VERSIONS]);
}

/* That the third version, of which nobody knows the value, may have been seen leaves a read open
 * only where messages allow it. */
static void what_is_not_known_matters_where_it_may_have_been_seen(void **state)
{
    (void)state;
    struct iso_rng rng;
    struct times times;
    int open = 0, wrong = 0;
    iso_rng_seed(&rng, 11);
    for (int round = 0; round < 3000; round++) {
        draw(&rng, &times);
        struct iso_verdict verdict = judge(1, 3, &times.messages);
        bool fits = may_see(&times, 1), may_be_third = may_see(&times, 3);
        assert_int_equal(verdict.counts[ISO_EXT], !fits && !may_be_third);
        open += verdict.reads_unjudged;
        assert_true(may_be_third || !verdict.reads_unjudged);
        wrong += verdict.counts[ISO_EXT];
    }
    assert_in_range(open, 100, 2500);
    assert_in_range(wrong, 100, 2500);
}

static void each_read_fits_its_messages(void **state)
{
    (void)state;
    struct iso_rng rng;
    struct times times;
    int impossible = 0;
    iso_rng_seed(&rng, 7);
    for (int round = 0; round < 3000; round++) {
        draw(&rng, &times);
        const struct iso_history_messages messages = times.messages;
        for (int which = 0; which < 3; which++) {
            bool fits = may_see(&times, seen[which]);
            assert_int_equal(violations(which, &messages), !fits);
            impossible += !fits;
        }
    }
    assert_in_range(impossible, 1000, 8000);
}

static void without_messages_any_version_will_do(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++)
        assert_int_equal(violations(which, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_read_fits_its_messages),
        cmocka_unit_test(what_is_not_known_matters_where_it_may_have_been_seen),
        cmocka_unit_test(without_messages_any_version_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
