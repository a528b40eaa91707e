/* How long transactions wait for each other, and the queue that they wait in, against a plain
 * twin. */
#include "aion/reorder/reorder_queue.h"
#include "aion/reorder/reorder_window.h"
#include "tests/support/test.h"

#include <stdlib.h>

/* ---- the queue ---- */

enum { MOST = 4000, STEPS = 20000 };

struct twin {
    struct aion_turn turns[MOST];
    uint32_t count;
};

static void insert(struct twin *twin, struct aion_turn turn)
{
    uint32_t at = twin->count++;
    for (; at && twin->turns[at - 1].time > turn.time; at--)
        twin->turns[at] = twin->turns[at - 1];
    twin->turns[at] = turn;
}

/* Those that go must be what the twin lets go, in its order. */
static void take(struct twin *twin, const struct aion_turn *turns, uint32_t count, uint64_t until,
                 uint64_t start)
{
    uint32_t kept = 0, gone = 0;
    for (uint32_t i = 0; i < twin->count; i++) {
        if (twin->turns[i].time > until && twin->turns[i].start > start) {
            twin->turns[kept++] = twin->turns[i];
            continue;
        }
        assert_true(gone < count);
        assert_int_equal(turns[gone++].subject, twin->turns[i].subject);
    }
    assert_int_equal(gone, count);
    twin->count = kept;
}

static void test_queue_is_a_sorted_list(void **state)
{
    static struct twin twin;
    struct aion_reorder_queue queue = {0};
    uint64_t random = 7, time = 1000;
    uint32_t subject = 0, count, started = 0;
    (void)state;
    for (int step = 0; step < STEPS; step++) {
        for (uint64_t add = test_random(&random) % (step % 50 ? 4 : 400); add && twin.count < MOST;
             add--) {
            struct aion_turn turn = {.time = time + test_random(&random) % 300,
                                     .subject = subject++};
            turn.start = turn.time - test_random(&random) % (test_random(&random) % 20 ? 40 : 900);
            aion_reorder_queue_add(&queue, &turn);
            insert(&twin, turn);
        }
        aion_reorder_queue_merge(&queue);
        assert_int_equal(aion_reorder_queue_count(&queue), twin.count);
        time += test_random(&random) % 10;
        uint64_t until = time + test_random(&random) % 100,
                 start = time - test_random(&random) % 200;
        const struct aion_turn *turns = aion_reorder_queue_take(&queue, until, &count);
        take(&twin, turns, count, until, 0);
        if (test_random(&random) % 4)
            continue;
        turns = aion_reorder_queue_take_started(&queue, start, &count);
        take(&twin, turns, count, 0, start);
        started += count;
    }
    assert_in_range(started, 1000, subject);
    aion_reorder_queue_release(&queue);
}

/* ---- how long ---- */

enum { MS_ARRIVALS = 25 };

static void check_frontier(const struct aion_reorder_window *window)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < window->span_count; i++) {
        uint64_t of_span = window->spans[(window->first_span + i) % AION_SPANS].highest;
        highest = of_span > highest ? of_span : highest;
    }
    assert_true(window->frontier == highest);
}

/* `count` arrivals, 25 a millisecond, of which each second one is `behind`; returns the
 * distance. */
static uint64_t arrive(struct aion_reorder_window *window, uint64_t *at, uint32_t count,
                       uint64_t behind)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t now = ++*at / MS_ARRIVALS;
        aion_reorder_window_begin(window, now);
        check_frontier(window);
        aion_reorder_window_note(window, 1000000 + 10 * *at - (i % 2 ? behind : 0));
        aion_reorder_window_until(window, now);
        check_frontier(window);
    }
    return window->distance;
}

static void test_distance_follows_the_disorder(void **state)
{
    struct aion_reorder_window window;
    uint64_t at = 0;
    (void)state;
    aion_reorder_window_init(&window, 100, 0, false);
    assert_int_equal(arrive(&window, &at, 5000, 0), 0);
    assert_int_equal(aion_reorder_window_until(&window, at / MS_ARRIVALS), 1000000 + 10 * at);
    assert_in_range(arrive(&window, &at, 2000, 500), 490, 650);
    assert_in_range(arrive(&window, &at, 30000, 4000), 3990, 5000);
    assert_in_range(arrive(&window, &at, 100000, 100), 90, 130);
    assert_int_equal(arrive(&window, &at, 200000, 0), 0);
}

/* Up to the least of a power of two and its quarters, on every scale. */
static void test_distance_covers_what_it_has_seen(void **state)
{
    (void)state;
    for (unsigned power = 0; power < 63; power++) {
        for (uint64_t quarter = 4; quarter < 8; quarter++) {
            struct aion_reorder_window window;
            uint64_t behind = ((uint64_t)1 << power) / 4 * quarter;
            behind = behind ? behind : (uint64_t)1 << power;
            aion_reorder_window_init(&window, 100, 0, false);
            aion_reorder_window_begin(&window, 0);
            for (int i = 0; i < 300; i++)
                aion_reorder_window_note(&window, i % 2 ? UINT64_MAX - 1 - behind : UINT64_MAX - 1);
            aion_reorder_window_until(&window, 0);
            assert_true(window.distance >= behind);
            assert_true(window.distance - behind <= behind / 4);
        }
    }
}

static void test_a_leap_is_forgotten(void **state)
{
    struct aion_reorder_window window;
    uint64_t at = 0;
    (void)state;
    aion_reorder_window_init(&window, 100, 0, false);
    arrive(&window, &at, 5000, 0);
    aion_reorder_window_note(&window, UINT64_MAX / 2);
    assert_true(aion_reorder_window_until(&window, at / MS_ARRIVALS) == UINT64_MAX / 2);
    arrive(&window, &at, 5000, 0); /* 200 ms later */
    assert_int_equal(window.frontier, 1000000 + 10 * at);
    assert_true(aion_reorder_window_until(&window, at / MS_ARRIVALS) <= 1000000 + 10 * at);
}

static void test_beyond_reach_teaches_nothing(void **state)
{
    struct aion_reorder_window window;
    uint64_t at = 0;
    (void)state;
    aion_reorder_window_init(&window, 20, 0, false); /* 500 arrivals, 5,000 units */
    assert_int_equal(arrive(&window, &at, 20000, 50000), 0);
    assert_in_range(arrive(&window, &at, 20000, 3000), 2990, 3800);
}

/* Without a clock, what may go after the same arrivals is the same, however often it was asked in
 * between. */
static void test_untimed_follows_from_arrivals(void **state)
{
    struct aion_reorder_window often, seldom;
    uint64_t random = 3;
    (void)state;
    aion_reorder_window_init(&often, 50, 0, true);
    aion_reorder_window_init(&seldom, 50, 0, true);
    aion_reorder_window_begin(&often, 0);
    aion_reorder_window_begin(&seldom, 0);
    for (uint32_t i = 1; i <= 60000; i++) {
        uint64_t behind = test_random(&random) % (i / 20000 * 1000 + 1),
                 leap = test_random(&random) % 20000 ? 0 : 90000;
        aion_reorder_window_note(&often, 100000 + 10 * i - behind + leap);
        aion_reorder_window_note(&seldom, 100000 + 10 * i - behind + leap);
        for (uint64_t times = test_random(&random) % 3; times; times--) {
            aion_reorder_window_until(&often, i);
            aion_reorder_window_begin(&often, i);
        }
        if (i % 1000)
            continue;
        uint64_t once = aion_reorder_window_until(&often, i);
        assert_true(aion_reorder_window_until(&seldom, 7 * i) >= once);
        assert_true(often.distance == seldom.distance && often.frontier == seldom.frontier);
    }
    assert_true(often.distance > 1000);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_is_a_sorted_list),
        cmocka_unit_test(test_distance_follows_the_disorder),
        cmocka_unit_test(test_distance_covers_what_it_has_seen),
        cmocka_unit_test(test_a_leap_is_forgotten),
        cmocka_unit_test(test_beyond_reach_teaches_nothing),
        cmocka_unit_test(test_untimed_follows_from_arrivals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
