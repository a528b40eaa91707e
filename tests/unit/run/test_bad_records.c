/* What a run says of bad records, however many there are. */
#define _GNU_SOURCE
#include "run/input/bad_records.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/log.h"
#include "tests/support/test.h"

/* What goes to stderr, until told_until. */
struct told {
    int before;
    char path[32];
    char *text;
    size_t length;
};

static struct told told_from(void)
{
    struct told told = {.path = "/tmp/test-bad-XXXXXX"};
    int file = mkstemp(told.path);
    told.before = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
    return told;
}

static void told_until(struct told *told)
{
    fflush(stderr);
    dup2(told->before, STDERR_FILENO);
    close(told->before);
    told->text = test_read_file(told->path, &told->length);
    unlink(told->path);
}

static unsigned count(const char *text, const char *what)
{
    unsigned found = 0;
    for (; (text = strstr(text, what)); text++)
        found++;
    return found;
}

static void causes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"left out: byte 17: a text ends here", "left out: byte N: a text ends here"},
        {"schema 7: HTTP 404: Schema 7 not found", "schema N: HTTP N: Schema N not found"},
        {"\"ann\" is \"17\"", "\"..\" is \"..\""},
        {"no end \"of it 5", "no end \"of it N"},
        {"", ""},
    };
    char cause[RUN_BAD_CAUSE_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_bad_records_cause(cases[i][0], cause);
        assert_string_equal(cause, cases[i][1]);
    }
    char longest[1000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    run_bad_records_cause(longest, cause);
    assert_in_range(strlen(cause), RUN_BAD_CAUSE_BYTES - 10, RUN_BAD_CAUSE_BYTES - 1);
}

/* A million of one cause and a few of another: a hundred lines, one for what is new, and sums that
 * add up. */
static void many_records_are_few_lines(void **state)
{
    enum { MANY = 1000000, MINUTES = 5 };
    (void)state;
    struct run_bad_records *bad = calloc(1, sizeof *bad);
    char reason[64];
    struct told told = told_from();
    for (int i = 0; i < MANY; i++) {
        snprintf(reason, sizeof reason, "left out: byte %d: oops", i);
        run_bad_records_note(bad, "there", reason, (double)i * RUN_BAD_SECONDS * MINUTES / MANY);
        if (i == 500)
            run_bad_records_note(bad, "there", "left out: \"x\" is new", 0);
    }
    run_bad_records_sum_up(bad, 1e9, true);
    run_bad_records_sum_up(bad, 1e9, true); /* nothing is left to be said */
    told_until(&told);
    assert_int_equal(count(told.text, "there: left out: byte "), RUN_BAD_LINES);
    assert_int_equal(count(told.text, "there: left out: \"x\" is new"), 1);
    assert_int_equal(count(told.text, "from here on they are summed up by cause"), 1);
    unsigned sums = count(told.text, " more records, by cause:");
    assert_in_range(sums, MINUTES, MINUTES + 1);
    uint64_t summed = 0;
    for (const char *at = told.text; (at = strstr(at, "isochron:   ")); at++)
        summed += strtoull(at + 12, NULL, 10);
    assert_int_equal(summed, MANY - RUN_BAD_LINES);
    free(told.text);
    free(bad);
}

/* Whoever thinks of a new reason for each has no more lines of it. */
static void many_causes_are_few_lines(void **state)
{
    enum { MANY = 10000 };
    (void)state;
    struct run_bad_records *bad = calloc(1, sizeof *bad);
    char reason[64];
    struct told told = told_from();
    for (int i = 0; i < MANY; i++) {
        snprintf(reason, sizeof reason, "left out: %c%c%c", 'a' + i % 26, 'a' + i / 26 % 26,
                 'a' + i / 676);
        run_bad_records_note(bad, "there", reason, 0);
    }
    run_bad_records_sum_up(bad, 0, true);
    told_until(&told);
    assert_int_equal(count(told.text, "there: "), RUN_BAD_LINES);
    char other[64];
    snprintf(other, sizeof other, "isochron:   %d of other causes\n", MANY - RUN_BAD_LINES);
    assert_non_null(strstr(told.text, other));
    free(told.text);
    free(bad);
}

/* A log has its share of an hour; errors are told all the same. */
static void the_log_has_a_limit(void **state)
{
    (void)state;
    struct told told = told_from();
    cli_log_set_limit(1000);
    for (int i = 0; i < 1000; i++)
        cli_log_warning("twenty bytes long: %d", 100 + i % 100);
    cli_log_error("the end");
    cli_log_set_limit(0);
    told_until(&told);
    assert_in_range(count(told.text, "twenty"), 30, 50);
    assert_int_equal(count(told.text, "--log-limit: 1000 bytes in an hour"), 1);
    assert_int_equal(count(told.text, "the end"), 1);
    assert_int_equal(cli_log_dropped(), 1000 - count(told.text, "twenty"));
    free(told.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes),
        cmocka_unit_test(many_records_are_few_lines),
        cmocka_unit_test(many_causes_are_few_lines),
        cmocka_unit_test(the_log_has_a_limit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
