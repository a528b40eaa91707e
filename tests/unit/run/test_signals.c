/* Stopping: who judges may take its time, who waits for others may not. */
#define _GNU_SOURCE
#include "run/shown/signals.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/support/test.h"

enum { DONE = 77, PATIENCE = 1 };

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A process that is told to stop and then does that; its exit status, or less than 0. What it says
 * is in `said`. */
static int stopped(void (*work)(void), char *said, size_t room)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        const volatile sig_atomic_t *flag = run_catch_signals(PATIENCE, false);
        raise(SIGTERM);
        if (*flag)
            work();
        _exit(*flag ? DONE : 1);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; (got = read(ends[0], said + used, room - used - 1)) > 0;)
        used += (size_t)got;
    said[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void burn(void)
{
    double began = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) - used < 2.2 && seconds(CLOCK_MONOTONIC) - began < 60)
        ;
}

static void block(void)
{
    for (;;)
        pause();
}

static void wait_in_steps(void)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    for (int i = 0; i < 25; i++) {
        run_signals_note_step();
        nanosleep(&moment, NULL);
    }
}

static void be_told_at_once(void)
{
    raise(SIGTERM);
    raise(SIGINT);
}

static void be_told_later(void)
{
    const struct timespec while_longer = {.tv_nsec = 600000000};
    nanosleep(&while_longer, NULL);
    raise(SIGTERM);
}

static void test_signals_of_one_moment_are_one(void **state)
{
    char said[512];
    (void)state;
    assert_int_equal(stopped(be_told_at_once, said, sizeof said), DONE);
}

static void test_a_second_signal_ends_it(void **state)
{
    char said[512];
    (void)state;
    assert_int_equal(stopped(be_told_later, said, sizeof said), -1);
}

static void test_judging_takes_its_time(void **state)
{
    char said[512];
    (void)state;
    assert_int_equal(stopped(burn, said, sizeof said), DONE);
}

static void test_waiting_ends_undecided(void **state)
{
    char said[512];
    (void)state;
    assert_int_equal(stopped(block, said, sizeof said), ISO_UNDECIDED);
    assert_non_null(strstr(said, "undecided; reason: waiting"));
}

static void test_each_step_has_its_time(void **state)
{
    char said[512];
    (void)state;
    assert_int_equal(stopped(wait_in_steps, said, sizeof said), DONE);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_of_one_moment_are_one),
        cmocka_unit_test(test_a_second_signal_ends_it),
        cmocka_unit_test(test_judging_takes_its_time),
        cmocka_unit_test(test_waiting_ends_undecided),
        cmocka_unit_test(test_each_step_has_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
