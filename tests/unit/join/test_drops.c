/* Tables that are truncated inside of transactions that clients speak for. */
#include "tests/support/test.h"

#include "tests/support/join_bench.h"

static const struct iso_join_options debezium = {.kind = "debezium", .clients = true, .records_first = true};

static void take_drop(struct join_bench *bench, uint32_t xid, uint64_t order, uint64_t lsn)
{
    struct iso_event event = join_bench_row(bench, "t/0", "-", "-");
    event.type = ISO_EVENT_DROP;
    event.key = ISO_ABSENT;
    event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION;
    event.transaction_id = xid;
    event.order = order;
    event.position[0] = 10;
    event.position[1] = lsn;
    join_bench_take(bench, &event);
}

static void truncate_is_one_event_and_nobody_lists_its_keys(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium);
    join_bench_record(&bench, "{'tid':'a','sid':1,'sts':45,'xid':701,'ops':[{'t':'w','k':'t/1','v':3}]}");
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_by_xid(&bench, 700, 10, 21, "t/2", NULL, "1");
    join_bench_by_xid(&bench, 700, 10, 22, "u/1", NULL, "1");
    join_bench_end(&bench, 700, 3, 30);
    STEPS(&bench, "add cdc:700[,30]{w:t/1=1,w:t/2=1,w:u/1=1}");
    take_drop(&bench, 701, 1, 40);
    take_drop(&bench, 701, 1, 40); /* sent again */
    join_bench_end(&bench, 701, 2, 50);
    STEPS(&bench, "");
    join_bench_by_xid(&bench, 701, 30, 41, "t/1", NULL, "3"); /* after it: written again */
    STEPS(&bench, "add a[45,50]{w:t/1=3} add cdc:701[,50]{d:t/2}");
    assert_int_equal(stats_of(&bench).hints_wrong, 0);
    assert_int_equal(stats_of(&bench).repeats, 1);
    take_drop(&bench, 701, 1, 40); /* and once more, when all was settled */
    END(&bench);
    STEPS(&bench, "");
    join_bench_close(&bench);
}

/* By a statement that no END ends: what it deletes is whole when it comes, and is told when a repeat of it does not. */
static void a_drop_alone_is_whole(void **state)
{
    static const struct iso_join_options without_clients = {.kind = "debezium"};
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &without_clients);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_by_xid(&bench, 700, 10, 21, "t/2", NULL, "1");
    join_bench_by_xid(&bench, 700, 10, 22, "u/1", NULL, "1");
    join_bench_end(&bench, 700, 3, 30);
    join_bench_steps(&bench);
    struct iso_event event = join_bench_row(&bench, "t/0", "-", "-");
    event.type = ISO_EVENT_DROP;
    event.key = ISO_ABSENT;
    event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION | ISO_EVENT_ALONE;
    event.transaction_id = iso_atoms_add_string(&bench.block.atoms, "b.1:4 t", 7);
    event.position[1] = (uint64_t)40 << 24;
    join_bench_take(&bench, &event);
    assert_string_equal(join_bench_steps(&bench), "add cdc:b.1:4 t[,41]{d:t/1,d:t/2}");
    join_bench_take(&bench, &event);
    assert_string_equal(join_bench_steps(&bench), "");
    assert_int_equal(stats_of(&bench).repeats, 1);
    join_bench_by_xid(&bench, 702, 50, 60, "t/1", NULL, "2"); /* a new table of that name */
    join_bench_end(&bench, 702, 1, 70);
    END(&bench);
    assert_string_equal(join_bench_steps(&bench), "add cdc:702[,70]{r:t/1=-^,w:t/1=2} watermark 69");
    assert_int_equal(stats_of(&bench).incomplete, 0);
    join_bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(truncate_is_one_event_and_nobody_lists_its_keys),
                                       cmocka_unit_test(a_drop_alone_is_whole)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
