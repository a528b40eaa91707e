/* Tables that are truncated inside of transactions that clients speak for. */
#include "tests/support/test.h"

#include <string.h>

#include "tests/support/join_bench.h"

static const struct iso_join_options debezium = {
    .kind = "debezium", .initial_known = true, .clients = true, .records_first = true};

static void take_drop(struct join_bench *bench, uint32_t xid, uint64_t order, uint64_t lsn)
{
    struct iso_event event = join_bench_row(bench, "t/0", "-", "-");
    event.type = ISO_EVENT_DROP;
    event.key = ISO_ABSENT;
    event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION;
    event.transaction_id = xid;
    event.order = order;
    event.position[0] = lsn - 5;
    event.position[1] = lsn;
    join_bench_take(bench, &event);
}

static void truncate_is_one_event_and_nobody_lists_its_keys(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium);
    join_bench_record(&bench,
                      "{'tid':'a','sid':1,'sts':45,'xid':701,'ops':[{'t':'w','k':'t/1','v':3}]}");
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
    STEPS(&bench, "add a[45,50]{w:t/1=3} add cdc:701[,50]{d:t/2} altered t");
    assert_int_equal(stats_of(&bench).hints_wrong, 0);
    assert_int_equal(stats_of(&bench).repeats, 1);
    take_drop(&bench, 701, 1, 40); /* and once more, when all was settled */
    END(&bench);
    STEPS(&bench, "");
    join_bench_close(&bench);
}

/* Its END may not come: it emptied the table all the same, for snapshots that are older. */
static void truncate_without_end_empties_the_table(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_end(&bench, 700, 1, 30);
    take_drop(&bench, 701, 1, 40);
    END(&bench);
    STEPS(&bench, "add cdc:700[,30]{w:t/1=1} altered t");
    join_bench_close(&bench);
}

/* Names of namespace 0 have no number before them. */
static void namespace_is_dropped_alone(void **state)
{
    static const char *const names[] = {"0.", "5."}, *const steps[] = {"{d:n/1}", "{d:5.n/1}"};
    static const struct iso_join_options dgraph = {
        .kind = "dgraph", .initial_known = true, .clients = true, .records_first = true};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct join_bench bench;
        join_bench_open(&bench, &dgraph);
        join_bench_by_cts(&bench, 10, "n/1", "1");
        join_bench_by_cts(&bench, 11, "5.n/1", "1");
        join_bench_by_cts(&bench, 12, "55.n/1", "1");
        struct iso_event event = join_bench_row(&bench, "n/0", "-", "-");
        event.type = ISO_EVENT_DROP;
        event.key = ISO_ABSENT;
        event.flags = ISO_EVENT_HAS_CTS;
        event.cts.physical = 20;
        event.table = iso_atoms_text(&bench.block.atoms, names[i], strlen(names[i]));
        join_bench_take(&bench, &event);
        END(&bench);
        assert_non_null(strstr(join_bench_steps(&bench), steps[i]));
        join_bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncate_is_one_event_and_nobody_lists_its_keys),
        cmocka_unit_test(truncate_without_end_empties_the_table),
        cmocka_unit_test(namespace_is_dropped_alone)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
