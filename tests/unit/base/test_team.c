/* Every part is done once a call, by the same thread each time, and all are done when the call
 * returns. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/team.h"
#include "tests/support/test.h"

enum { PARTS = 7, ROUNDS = 3000 };

struct seen {
    uint32_t times[PARTS]; /* without a lock: whoever looks has waited for whoever writes */
    pthread_t thread[PARTS];
    bool moved, slow;
};

static void look(void *context, uint32_t part)
{
    struct seen *seen = context;
    if (seen->slow && part) /* longer than anyone looks before sleeping */
        usleep(2000);
    if (seen->times[part] && !pthread_equal(seen->thread[part], pthread_self()))
        seen->moved = true;
    seen->thread[part] = pthread_self();
    seen->times[part]++;
}

static void expect_rounds(struct iso_team *team, uint32_t parts, uint32_t rounds, bool slow)
{
    struct seen seen = {.slow = slow};
    for (uint32_t round = 1; round <= rounds; round++) {
        iso_team_run(team, look, &seen, parts);
        for (uint32_t part = 0; part < PARTS; part++)
            assert_int_equal(seen.times[part], part < parts ? round : 0);
        if (slow)
            usleep(2000);
    }
    assert_false(seen.moved);
}

static void all_parts_are_done(void **state)
{
    (void)state;
    for (uint32_t members = 0; members < 5; members++) {
        struct iso_team *team = iso_team_new(members);
        for (uint32_t parts = 0; parts <= PARTS; parts++)
            expect_rounds(team, parts, parts > 1 ? ROUNDS / PARTS : 3, false);
        iso_team_free(team);
    }
}

static void sleepers_are_woken(void **state)
{
    (void)state;
    struct iso_team *team = iso_team_new(3);
    expect_rounds(team, PARTS, 20, true);
    iso_team_free(team);
}

static void members_are_threads(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct iso_team *team = iso_team_new(2);
    iso_team_run(team, look, &seen, 3);
    assert_true(pthread_equal(seen.thread[0], pthread_self()));
    assert_true(pthread_equal(seen.thread[2], pthread_self()));
    assert_false(pthread_equal(seen.thread[1], pthread_self()));
    iso_team_free(team);
}

static void a_team_that_never_ran(void **state)
{
    (void)state;
    iso_team_free(iso_team_new(3));
    iso_team_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_are_done),
        cmocka_unit_test(sleepers_are_woken),
        cmocka_unit_test(members_are_threads),
        cmocka_unit_test(a_team_that_never_ran),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
