/* A set that is taken round and round in the order of ranks, against a bit a rank. */
#include <string.h>

#include "base/memory.h"
#include "history/history.h"
#include "polygraph/saturation/agenda.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

/* What is taken next: the first from `cursor` on, or from 0. */
static uint32_t next_of(const bool *has, uint32_t count, uint32_t cursor)
{
    for (uint32_t i = 0; i < count; i++)
        if (has[(cursor + i) % count])
            return (cursor + i) % count;
    return ISO_NONE;
}

/* Sets of few, so that what is next is in another word or group of words. */
static void run_round(uint32_t count, struct random *random)
{
    struct agenda agenda;
    bool *has = iso_allocate_zeroed(count, sizeof *has);
    uint32_t cursor = 0, left = 0;
    agenda_init(&agenda, count);
    for (int step = 0; step < 300; step++) {
        if (random_percent(random, left < 6 ? 60 : 40)) {
            uint32_t rank = random_below(random, count);
            left += !has[rank];
            has[rank] = true;
            agenda_add(&agenda, rank);
        } else {
            uint32_t wanted = next_of(has, count, cursor);
            assert_int_equal(agenda_take(&agenda), wanted);
            if (wanted == ISO_NONE)
                continue;
            has[wanted] = false;
            left--;
            cursor = wanted + 1 < count ? wanted + 1 : 0;
        }
        assert_int_equal(agenda.count, left);
    }
    agenda_clear(&agenda);
    assert_int_equal(agenda_take(&agenda), ISO_NONE);
    agenda_add(&agenda, count - 1);
    agenda_add(&agenda, 0);
    assert_int_equal(agenda_take(&agenda), 0); /* cleared, it begins again */
    agenda_release(&agenda);
    iso_free(has);
}

static void test_ranks_are_taken_in_order(void **state)
{
    static const uint32_t counts[] = {2,    63,   64,   65,   127,   4095,
                                      4096, 4097, 8191, 9000, 20000, 300000};
    struct random random = {1};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int round = 0; round < 4; round++)
            run_round(counts[i], &random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks_are_taken_in_order)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("polygraph_agenda", tests, NULL, NULL);
}
