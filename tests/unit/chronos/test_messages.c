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

static uint64_t violations(int which, const struct iso_history_messages *messages)
{
    struct iso_check_options options = {.level = ISO_RC, .session_order = true, .threads = 1};
    struct iso_error error = {.status = ISO_OK};
    struct iso_history history;
    struct iso_verdict verdict;
    brief_history(&history, lines[which]);
    history.messages = messages;
    iso_verdict_init(&verdict, &history, ISO_RC, 0);
    assert_int_equal(iso_chronos_check(&history, &options, &verdict, &error), ISO_OK);
    uint64_t found = verdict.counts[ISO_EXT];
    iso_verdict_release(&verdict);
    iso_history_release(&history);
    return found;
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

static void each_read_fits_its_messages(void **state)
{
    (void)state;
    struct iso_rng rng;
    int impossible = 0;
    iso_rng_seed(&rng, 7);
    for (int round = 0; round < 3000; round++) {
        uint64_t of_operations[2][VERSIONS + 1] = {{0}}, of_commits[2][VERSIONS + 1] = {{0}};
        uint64_t time = 1;
        for (int i = 0; i < VERSIONS; i++) {
            bool is_known = iso_rng_below(&rng, 4) > 0;
            time += 1 + iso_rng_below(&rng, 5);
            of_commits[0][i] = is_known ? time : 0;
            time += 1 + iso_rng_below(&rng, 5);
            of_commits[1][i] = is_known ? time : 0;
        }
        of_operations[0][VERSIONS] = 1 + iso_rng_below(&rng, 40);
        of_operations[1][VERSIONS] = of_operations[0][VERSIONS] + 1 + iso_rng_below(&rng, 8);
        struct iso_history_messages messages = {of_operations[0], of_operations[1], of_commits[0],
                                                of_commits[1]};
        for (int which = 0; which < 3; which++) {
            bool fits = is_possible(seen[which], of_commits[0], of_commits[1],
                                    of_operations[0][VERSIONS], of_operations[1][VERSIONS]);
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
        cmocka_unit_test(without_messages_any_version_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
