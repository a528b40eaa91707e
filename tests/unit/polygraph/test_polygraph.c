/* polygraph's budgets, findings before any graph, and what switched-off steps leave. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "polygraph/polygraph.h"
#include "tests/support/blackbox_workload.h"
#include "tests/support/brief_history.h"
#include "tests/support/sanitized.h"
#include "verify/verify.h"

struct fixture {
    struct iso_history history;
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    iso_history_init(&fixture.history);
    iso_history_input(&fixture.history, "test");
    iso_polygraph_options_init(&fixture.options);
    fixture.options.no_advice = true;
    iso_polygraph_result_init(&fixture.result);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    iso_polygraph_result_release(&fixture->result);
    iso_history_release(&fixture->history);
    return 0;
}

static void check(struct fixture *fixture)
{
    assert_int_equal(iso_history_finish(&fixture->history, &fixture->error), ISO_OK);
    assert_int_equal(iso_polygraph_check(&fixture->history, &fixture->options, &fixture->result,
                                         &fixture->error),
                     ISO_OK);
}

static void make(struct fixture *fixture, const char *name, uint32_t transactions,
                 uint32_t sessions)
{
    struct blackbox_workload shape = {.name = name,
                                      .transactions = transactions,
                                      .keys = 5000,
                                      .sessions = sessions,
                                      .operations = 8};
    assert_true(blackbox_workload_make(&shape, &fixture->history));
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What runs long stops soon after the time is up: measured as the thread's own time, since the
 * machine may be busy. */
static void stops_in_time(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "hd", 20000, 200);
    fixture->options.level = ISO_ADYA_SI;
    fixture->options.timeout = 0.25;
    assert_int_equal(iso_history_finish(&fixture->history, &fixture->error), ISO_OK);
    do { /* until there is something that was decided so far */
        iso_polygraph_result_release(&fixture->result);
        iso_polygraph_result_init(&fixture->result);
        fixture->options.timeout *= 2;
        double before = seconds();
        assert_int_equal(iso_polygraph_check(&fixture->history, &fixture->options, &fixture->result,
                                             &fixture->error),
                         ISO_OK);
        assert_int_equal(fixture->result.outcome, ISO_IS_UNDECIDED);
        assert_string_equal(fixture->result.reason, "timeout");
        assert_true(seconds() - before < fixture->options.timeout + (SANITIZED ? 60 : 5));
        assert_int_equal(fixture->result.evidence.lemma_count, 0);
    } while (!SANITIZED && fixture->result.counters.known_edges == 0 &&
             fixture->options.timeout < 60);
    assert_true(SANITIZED || fixture->result.counters.known_edges > 0);
}

static uint64_t memory_in_use(void)
{
    unsigned long long size, resident, shared;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu %llu", &size, &resident, &shared), 3);
    fclose(file);
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t most;

static uint64_t watched_memory(void)
{
    uint64_t now = memory_in_use();
    most = now > most ? now : most;
    return now;
}

/* Every budget below what is needed is kept to within 5%, and told. */
static void keeps_to_memory(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "hd", 20000, 200);
    assert_int_equal(iso_history_finish(&fixture->history, &fixture->error), ISO_OK);
    fixture->options.level = ISO_SER;
    fixture->options.timeout = 500;
    fixture->options.memory_in_use = watched_memory;
    uint64_t start = memory_in_use();
    for (uint64_t more = 4; more <= 64; more *= 2) {
        fixture->options.memory = start + (more << 20);
        most = 0;
        assert_int_equal(iso_polygraph_check(&fixture->history, &fixture->options, &fixture->result,
                                             &fixture->error),
                         ISO_OK);
        if (fixture->result.outcome == ISO_IS_UNDECIDED)
            assert_string_equal(fixture->result.reason, "memory");
        if (!SANITIZED && most > fixture->options.memory + fixture->options.memory / 20)
            fail_msg("%llu MB more: %llu of %llu bytes", (unsigned long long)more,
                     (unsigned long long)most, (unsigned long long)fixture->options.memory);
        if (more == 4)
            assert_int_equal(fixture->result.outcome, ISO_IS_UNDECIDED);
        iso_polygraph_result_release(&fixture->result);
        iso_polygraph_result_init(&fixture->result);
    }
}

/* Where hundreds of sessions run side by side, an order is found without a search, and
 * confirmed. */
static void schedules_many_sessions(void **state)
{
    struct fixture *fixture = *state;
    for (int serial = 0; serial < 2; serial++) {
        struct blackbox_workload shape = {.name = "blindw",
                                          .transactions = 4000,
                                          .keys = 2000,
                                          .sessions = 400,
                                          .operations = 8,
                                          .serial = serial};
        assert_true(blackbox_workload_make(&shape, &fixture->history));
        fixture->options.level = serial ? ISO_SER : ISO_SI;
        check(fixture);
        assert_int_equal(fixture->result.outcome, ISO_HOLDS);
        assert_int_equal(fixture->result.counters.search_decisions, 0);
        assert_int_equal(fixture->result.counters.solver_calls, 0);
        assert_int_equal(iso_verify(&fixture->history, &fixture->result.evidence, &fixture->error),
                         ISO_CONFIRMED);
        iso_polygraph_result_release(&fixture->result);
        iso_history_release(&fixture->history);
        iso_history_init(&fixture->history);
        iso_history_input(&fixture->history, "test");
        iso_polygraph_result_init(&fixture->result);
    }
}

static void finds_lost_updates(void **state)
{
    struct fixture *fixture = *state;
    brief_history_add(&fixture->history, "| w x 10\n| r x 10 | w x 12\n| r x 10 | w x 13\n"
                                         "| r x 10 | w x 14\n");
    check(fixture);
    assert_int_equal(fixture->result.outcome, ISO_IS_VIOLATED);
    assert_int_equal(fixture->result.counts[ISO_FINDING_LOSTUPDATE], 2);
    assert_int_equal(fixture->result.cycles, 0);
    assert_int_equal(fixture->result.findings[0].transaction, 2);
    assert_int_equal(fixture->result.findings[0].other, 1);
    struct iso_evidence *evidence = &fixture->result.evidence;
    assert_int_equal(iso_verify(&fixture->history, evidence, &fixture->error), ISO_CONFIRMED);
    evidence->finding.other = 0; /* the writer of what was read lost nothing */
    assert_int_equal(iso_verify(&fixture->history, evidence, &fixture->error), ISO_REFUSED);
    evidence->finding.other = evidence->finding.transaction;
    assert_int_equal(iso_verify(&fixture->history, evidence, &fixture->error), ISO_REFUSED);
}

/* Of what nobody wrote; and the first transaction takes part. */
static void finds_lost_updates_of_the_initial_value(void **state)
{
    struct fixture *fixture = *state;
    brief_history_add(&fixture->history, "| r x null | w x 11\n| r x null | w x 12\n");
    check(fixture);
    assert_int_equal(fixture->result.counts[ISO_FINDING_LOSTUPDATE], 1);
    assert_int_equal(fixture->result.findings[0].transaction, 1);
    assert_int_equal(fixture->result.findings[0].other, 0);
    assert_int_equal(iso_verify(&fixture->history, &fixture->result.evidence, &fixture->error),
                     ISO_CONFIRMED);
}

/* A value that two wrote: both may have read another version. */
static void judges_duplicates_by_graph(void **state)
{
    struct fixture *fixture = *state;
    brief_history_add(&fixture->history, "| w x 10\n| r x 10 | w x 11\n| r x 10 | w x 12\n"
                                         "| w x 10\n");
    check(fixture);
    assert_int_equal(fixture->result.outcome, ISO_HOLDS);
    assert_int_equal(fixture->result.counts[ISO_FINDING_LOSTUPDATE], 0);
    assert_int_equal(iso_verify(&fixture->history, &fixture->result.evidence, &fixture->error),
                     ISO_CONFIRMED);
}

/* Whom the read of a value that stood there twice saw is not known; in the order of commits, that it
 * was not the version which its transaction replaced is. One that it may have been is fine, and so
 * is a writer that read nothing. */
static void finds_lost_updates_of_repeated_values_by_commits(void **state)
{
    static const struct {
        const char *lines;
        uint64_t lost;
    } cases[] = {
        {"1 a 1 10 | w x 10\n2 b 11 20 | w x 11\n3 c 21 30 | w x 10\n4 d 31 40 | w x 12\n"
         "5 e 31 50 | r x 10 | w x 13\n",
         1},
        {"1 a 1 10 | w x 10\n2 b 11 20 | w x 11\n3 c 21 30 | w x 10\n"
         "5 e 31 50 | r x 10 | w x 13\n",
         0},
        {"1 a 1 10 | w x 10\n2 b 11 20 | w x 10\n4 d 31 40 | w x 10\n"
         "5 e 31 50 | r x 10 | w x 13\n",
         0},
        {"1 a 1 10 | w x 10\n4 d 31 40 | w x 12\n5 e 31 50 | w x 13\n", 0},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct fixture fixture = {.error = {.status = ISO_OK}};
        iso_history_init(&fixture.history);
        iso_history_input(&fixture.history, "test");
        brief_history_add(&fixture.history, cases[i / 2].lines);
        iso_polygraph_options_init(&fixture.options);
        iso_polygraph_result_init(&fixture.result);
        fixture.options.level = ISO_SI;
        fixture.options.keys_by_commit = i % 2;
        check(&fixture);
        uint64_t lost = i % 2 ? cases[i / 2].lost : 0;
        assert_int_equal(fixture.result.counts[ISO_FINDING_LOSTUPDATE], lost);
        assert_int_equal(fixture.result.outcome, lost ? ISO_IS_VIOLATED : ISO_HOLDS);
        iso_polygraph_result_release(&fixture.result);
        iso_history_release(&fixture.history);
    }
    (void)state;
}

/* A workload comes in the order of its commits: that is enough, and is evidence. */
static void takes_advice(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "hd", 5000, 500);
    fixture->options.no_advice = false;
    fixture->options.no_windows = fixture->options.no_search = fixture->options.no_solver = true;
    check(fixture);
    assert_int_equal(fixture->result.outcome, ISO_HOLDS);
    assert_int_equal(fixture->result.counters.by_advice, 1);
    assert_int_equal(iso_verify(&fixture->history, &fixture->result.evidence, &fixture->error),
                     ISO_CONFIRMED);
}

static void says_what_is_switched_off(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "bl", 300, 10);
    fixture->options.no_windows = fixture->options.no_search = fixture->options.no_solver = true;
    check(fixture);
    assert_int_equal(fixture->result.outcome, ISO_IS_UNDECIDED);
    assert_string_equal(fixture->result.reason, "steps-switched-off");
}

/* The windows alone, on what a search decides with dead ends only. */
static void mends_in_windows(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "hd", 2000, 200);
    fixture->options.no_search = fixture->options.no_solver = true;
    check(fixture);
    assert_int_equal(fixture->result.outcome, ISO_HOLDS);
    assert_true(fixture->result.counters.window_cycles > 0);
    assert_int_equal(iso_verify(&fixture->history, &fixture->result.evidence, &fixture->error),
                     ISO_CONFIRMED);
}

static uint64_t gigabytes;

static uint64_t gigabytes_in_use(void)
{
    return gigabytes << 30;
}

/* Where nobody says how much memory there is, it is 16 GiB. */
static void memory_ends_by_itself(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "bl", 300, 10);
    fixture->options.memory_in_use = gigabytes_in_use;
    gigabytes = 15;
    check(fixture);
    assert_int_equal(fixture->result.outcome, ISO_HOLDS);
    iso_polygraph_result_release(&fixture->result);
    iso_polygraph_result_init(&fixture->result);
    gigabytes = 17;
    assert_int_equal(iso_polygraph_check(&fixture->history, &fixture->options, &fixture->result,
                                         &fixture->error),
                     ISO_OK);
    assert_int_equal(fixture->result.outcome, ISO_IS_UNDECIDED);
    assert_string_equal(fixture->result.reason, "memory");
}

/* A schedule that looks ahead leaves little for windows to mend. */
static void looks_ahead(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "hd", 2000, 200);
    fixture->options.no_schedule = fixture->options.no_search = fixture->options.no_solver = true;
    check(fixture);
    assert_int_equal(fixture->result.outcome, ISO_HOLDS);
    assert_in_range(fixture->result.counters.window_rounds, 1,
                    140); /* without looking ahead it is half as much again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stops_in_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_to_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schedules_many_sessions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_lost_updates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_lost_updates_of_the_initial_value, set_up, tear_down),
        cmocka_unit_test(finds_lost_updates_of_repeated_values_by_commits),
        cmocka_unit_test_setup_teardown(judges_duplicates_by_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_advice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_ends_by_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_ahead, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mends_in_windows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_what_is_switched_off, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
