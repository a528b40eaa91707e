/* What waits in timestamp order, against a list that is searched. */
#include <string.h>

#include "aion/reorder/reorder_queue.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { MOST = 4000, STEPS = 3000 };

/* In the order of times, equal ones as they came. */
struct twin {
    struct aion_turn turns[MOST];
    uint32_t count, most;
};

static void add(struct aion_reorder_queue *queue, struct twin *twin, struct aion_turn turn)
{
    uint32_t at = twin->count++;
    for (; at && twin->turns[at - 1].time > turn.time; at--)
        twin->turns[at] = twin->turns[at - 1];
    twin->turns[at] = turn;
    twin->most = twin->count > twin->most ? twin->count : twin->most;
    aion_reorder_queue_add(queue, &turn);
}

/* Those whose time, or start, is not above the limit leave the twin, and are what was taken. */
static void expect(struct twin *twin, uint64_t limit, bool by_start, const struct aion_turn *taken,
                   uint32_t count)
{
    uint32_t found = 0, kept = 0;
    for (uint32_t i = 0; i < twin->count; i++) {
        const struct aion_turn turn = twin->turns[i];
        if ((by_start ? turn.start : turn.time) > limit) {
            twin->turns[kept++] = turn;
            continue;
        }
        assert_true(found < count);
        assert_true(taken[found].time == turn.time && taken[found].start == turn.start);
        assert_int_equal(taken[found++].subject, turn.subject);
    }
    assert_int_equal(found, count);
    twin->count = kept;
}

/* `stays`: what came in the last so many units of time, so that the queue is never empty. */
static void take(struct aion_reorder_queue *queue, struct twin *twin, struct random *random,
                 uint64_t now, uint32_t stays)
{
    uint64_t limit = now > 400 ? now - stays - random_below(random, 300) : random_below(random, 20);
    uint32_t count;
    const struct aion_turn *taken = aion_reorder_queue_take(queue, limit, &count);
    expect(twin, limit, false, taken, count);
    limit = !stays && random_percent(random, 5)
                ? UINT64_MAX
                : limit - (stays ? 60 : 0) + random_below(random, 60);
    taken = aion_reorder_queue_take_started(queue, limit, &count);
    expect(twin, limit, true, taken, count);
    assert_int_equal(aion_reorder_queue_count(queue), twin->count);
}

static void run_round(uint64_t seed, uint32_t lateness, uint32_t longest)
{
    static struct twin twin;
    struct random random = {seed};
    struct aion_reorder_queue queue = {0};
    uint64_t now = random_percent(&random, 20) ? UINT64_MAX - STEPS * 8 : 0;
    uint32_t number = 0, least = 256;
    twin.count = twin.most = 0;
    for (int step = 0; step < STEPS; step++) {
        for (uint32_t some = random_below(&random, 4); some-- > 0 && twin.count < MOST;) {
            uint64_t late = random_below(&random, lateness),
                     length = random_below(&random, longest);
            now += random_below(&random, 3);
            uint64_t time = now > late ? now - late : 0;
            add(&queue, &twin,
                (struct aion_turn){time, time > length ? time - length : 0, number++});
        }
        aion_reorder_queue_merge(&queue);
        if (random_percent(&random, 30))
            take(&queue, &twin, &random, now, seed % 2 ? 0 : 100);
    }
    while (least < 2 * twin.most)
        least *= 2;
    assert_true(queue.capacity <= least); /* what is gone made room */
    uint32_t count;
    const struct aion_turn *taken = aion_reorder_queue_take(&queue, UINT64_MAX, &count);
    expect(&twin, UINT64_MAX, false, taken, count);
    aion_reorder_queue_release(&queue);
}

static void test_turns_come_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run_round(seed, seed % 3 ? 1 + (uint32_t)seed * 4 : 1, 1 + (uint32_t)(seed % 5) * 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns_come_in_order)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("aion_reorder_queue", tests, NULL, NULL);
}
