/* Measured runs: numbers and errors come back, deaths are told, memory is the child's own; medians
 * and arrivals. */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure/arrival.h"
#include "measure/child.h"
#include "measure/percentile.h"

static enum iso_status give_numbers(void *context, double *numbers, struct iso_error *error)
{
    (void)error;
    numbers[0] = *(double *)context;
    numbers[2] = (double)getpid();
    *(double *)context = 0; /* in the child's memory only */
    return ISO_OK;
}

static void numbers_come_back(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    double context = 42, numbers[3] = {1, 1, 1};
    uint64_t peak = 0;
    (void)state;
    assert_int_equal(iso_child_measure(give_numbers, &context, numbers, 3, &peak, &error), ISO_OK);
    assert_true(numbers[0] == 42 && isnan(numbers[1]) && context == 42);
    assert_true(numbers[2] != (double)getpid());
    assert_true(peak > 100000);
}

static enum iso_status use_memory(void *context, double *numbers, struct iso_error *error)
{
    size_t size = *(size_t *)context;
    volatile char *block = malloc(size + 1);
    (void)error;
    for (size_t i = 0; i <= size; i += 1024)
        block[i] = 1;
    numbers[0] = block[0];
    free((void *)block);
    return ISO_OK;
}

static void memory_is_the_childs_own(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    size_t much = 64 << 20, little = 0;
    uint64_t first, second;
    double number;
    (void)state;
    assert_int_equal(iso_child_measure(use_memory, &much, &number, 1, &first, &error), ISO_OK);
    assert_int_equal(iso_child_measure(use_memory, &little, &number, 1, &second, &error), ISO_OK);
    assert_true(first > second + (48 << 20));
}

static enum iso_status refuse(void *context, double *numbers, struct iso_error *error)
{
    (void)context, (void)numbers;
    return iso_error_set(error, ISO_BAD_INPUT, "file.jsonl:3: no good");
}

static enum iso_status kill_itself(void *context, double *numbers, struct iso_error *error)
{
    (void)numbers, (void)error;
    kill(getpid(), *(int *)context);
    return ISO_OK;
}

static enum iso_status leave(void *context, double *numbers, struct iso_error *error)
{
    (void)context, (void)numbers, (void)error;
    _exit(4);
}

static void errors_and_deaths_are_told(void **state)
{
    double number = 7;
    int killed = SIGKILL, ended = SIGTERM;
    struct {
        iso_child_run *run;
        void *context;
        enum iso_status status;
        const char *text;
    } cases[] = {
        {refuse, NULL, ISO_BAD_INPUT, "file.jsonl:3: no good"},
        {kill_itself, &killed, ISO_FAILED, "killed by signal 9 (Killed): too little memory"},
        {kill_itself, &ended, ISO_FAILED, "killed by signal 15 (Terminated)"},
        {leave, NULL, ISO_FAILED, "ended with status 4 and without figures"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_error error = {.status = ISO_OK};
        assert_int_equal(
            iso_child_measure(cases[i].run, cases[i].context, &number, 1, NULL, &error),
            cases[i].status);
        assert_non_null(strstr(error.text, cases[i].text));
        assert_true(number == 7);
    }
}

static void medians(void **state)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 2, 100}, holes[] = {NAN, 8, NAN, 2, 5},
           none[] = {NAN, NAN}, one[] = {6};
    (void)state;
    assert_true(iso_median(odd, 3) == 3);
    assert_true(iso_median(even, 4) == 3);
    assert_true(iso_median(holes, 5) == 5);
    assert_true(isnan(iso_median(none, 2)) && isnan(iso_median(none, 0)));
    assert_true(iso_median(one, 1) == 6);
}

enum { ARRIVALS = 20000 };

static void arrivals_without_delay_are_in_order(void **state)
{
    struct iso_arrival *arrivals = calloc(ARRIVALS, sizeof *arrivals);
    (void)state;
    iso_arrivals_draw(&(struct iso_arrival_options){.rate = 1000, .seed = 1}, arrivals, ARRIVALS);
    for (uint32_t i = 0; i < ARRIVALS; i++) {
        assert_int_equal(arrivals[i].number, i);
        assert_int_equal(arrivals[i].microseconds, i * 1000u);
    }
    free(arrivals);
}

static void delays_are_normal_and_repeatable(void **state)
{
    struct iso_arrival_options options = {.rate = 1000, .delay = 100, .deviation = 10, .seed = 3};
    struct iso_arrival *arrivals = calloc(ARRIVALS, sizeof *arrivals),
                       *again = calloc(ARRIVALS, sizeof *again);
    uint8_t *seen = calloc(ARRIVALS, 1);
    double sum = 0, squares = 0;
    uint32_t displaced = 0;
    (void)state;
    iso_arrivals_draw(&options, arrivals, ARRIVALS);
    iso_arrivals_draw(&options, again, ARRIVALS);
    assert_memory_equal(arrivals, again, ARRIVALS * sizeof *arrivals);
    for (uint32_t i = 0; i < ARRIVALS; i++) {
        double delay = (double)arrivals[i].microseconds / 1000 - arrivals[i].number;
        assert_true(i == 0 || arrivals[i - 1].microseconds <= arrivals[i].microseconds);
        assert_false(seen[arrivals[i].number]++);
        displaced += arrivals[i].number != i;
        sum += delay;
        squares += delay * delay;
    }
    double mean = sum / ARRIVALS, deviation = sqrt(squares / ARRIVALS - mean * mean);
    assert_true(fabs(mean - 100) < 0.5);
    assert_true(fabs(deviation - 10) < 0.3);
    assert_true(displaced > ARRIVALS / 2);
    free(arrivals), free(again), free(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(memory_is_the_childs_own),
        cmocka_unit_test(errors_and_deaths_are_told),
        cmocka_unit_test(medians),
        cmocka_unit_test(arrivals_without_delay_are_in_order),
        cmocka_unit_test(delays_are_normal_and_repeatable),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("measure/child", tests, NULL, NULL);
}
