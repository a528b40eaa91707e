/* Markers in the join: the client's own id of a transaction, told by the stream. */
#include "tests/support/test.h"

#include "tests/support/join_bench.h"

static const struct iso_join_options dgraph = {
    .kind = "dgraph", .clients = true, .markers = ISO_JOIN_MARKER_ROWS};
static const struct iso_join_options debezium = {
    .kind = "debezium", .initial_known = true, .clients = true, .markers = ISO_JOIN_MARKER_COLUMN};
static const struct iso_join_options ticdc = {
    .kind = "ticdc", .clients = true, .markers = ISO_JOIN_MARKER_COLUMN};
static const struct iso_join_options yugabyte = {
    .kind = "yugabyte", .clients = true, .markers = ISO_JOIN_MARKER_ROWS};

static void set_marker(struct join_bench *bench, struct iso_event *event, const char *tid)
{
    event->flags |= ISO_EVENT_HAS_MARKER;
    event->marker = iso_atoms_text(&bench->block.atoms, tid, strlen(tid));
}

/* A row, or a marker alone if `key` is NULL, of the transaction that commits at `cts`. */
static void take_marked(struct join_bench *bench, uint64_t cts, const char *key, const char *after,
                        const char *tid)
{
    struct iso_event event = join_bench_row(bench, key ? key : "-", "-", after);
    if (!key)
        event.type = ISO_EVENT_IGNORED;
    event.flags |= ISO_EVENT_HAS_CTS;
    event.cts.physical = cts;
    if (tid)
        set_marker(bench, &event, tid);
    join_bench_take(bench, &event);
}

static void take_by_id(struct join_bench *bench, uint32_t id, const char *key, const char *after,
                       const char *tid)
{
    struct iso_event event = join_bench_row(bench, key ? key : "-", "-", after);
    if (!key)
        event.type = ISO_EVENT_IGNORED;
    event.flags |= ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_ID;
    event.cts.physical = 9;
    event.transaction_id = id;
    if (tid)
        set_marker(bench, &event, tid);
    join_bench_take(bench, &event);
}

static void tells_the_commit_timestamp(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph);
    join_bench_record(&bench, "{'tid':'a','sid':1,'sts':3,'ops':[{'t':'w','k':'p/1','v':7}]}");
    STEPS(&bench, ""); /* nobody knows when it committed */
    take_marked(&bench, 5, "p/1", "7", NULL);
    take_marked(&bench, 5, NULL, NULL, "a");
    take_marked(&bench, 6, NULL, NULL,
                "b"); /* the record comes later; a larger timestamp closes the one before */
    take_marked(&bench, 6, "p/1", "8", NULL);
    STEPS(&bench, "add a[3,5]{w:p/1=7}");
    join_bench_record(&bench, "{'tid':'b','sid':1,'sts':4,'ops':[{'t':'w','k':'p/1','v':8}]}");
    END(&bench);
    STEPS(&bench, "add b[4,6]{w:p/1=8}");
    assert_int_equal(stats_of(&bench).markers, 2);
    assert_int_equal(stats_of(&bench).joined, 2);
    assert_int_equal(stats_of(&bench).waiting_records + stats_of(&bench).waiting_rows, 0);
    join_bench_close(&bench);
}

static void resolves_unknown_outcomes(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(
        &bench, "{'tid':'a','sid':1,'sts':3,'status':'unknown','ops':[{'t':'w','k':'p/1','v':7}]}");
    join_bench_record(
        &bench, "{'tid':'b','sid':2,'sts':3,'status':'unknown','ops':[{'t':'w','k':'p/2','v':7}]}");
    join_bench_record(&bench,
                      "{'tid':'c','sid':3,'sts':3,'status':'unknown','ops':[{'t':'d','k':'q/3'}]}");
    join_bench_steps(&bench);
    take_marked(&bench, 5, "p/1", "7", "a");
    END(&bench);
    /* what only deletes leaves no marker in a column */
    STEPS(&bench, "resolve a 5 resolve b aborted");
    assert_int_equal(stats_of(&bench).unresolved, 1);
    join_bench_close(&bench);
}

static void stream_without_any_marker_tells_nothing(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(
        &bench, "{'tid':'a','sid':1,'sts':3,'status':'unknown','ops':[{'t':'w','k':'p/1','v':7}]}");
    join_bench_steps(&bench);
    take_marked(&bench, 5, "p/1", "7", NULL); /* the connector leaves the column out */
    END(&bench);
    STEPS(&bench, "add cdc:5[,5]{w:p/1=7}");
    assert_int_equal(stats_of(&bench).unresolved, 1);
    join_bench_close(&bench);
}

/* Rows of one commit timestamp are several transactions: each marker is one. */
static void tells_transactions_of_one_timestamp_apart(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(&bench, "{'tid':'a','sid':1,'sts':3,'ops':[{'t':'w','k':'p/1','v':7}]}");
    take_marked(&bench, 5, "p/1", "7", "a");
    take_marked(&bench, 5, "p/2", "8", "b");
    join_bench_record(
        &bench,
        "{'tid':'b','sid':2,'sts':3,'ops':[{'t':'w','k':'p/2','v':9},{'t':'d','k':'q/3'}]}");
    iso_join_advance(bench.join, 5, 0);
    STEPS(
        &bench,
        "add b[3,5]{w:p/2=9,d:q/3} value b p/2 9>8 probe missing b q/3=-@4 add a[3,5]{w:p/1=7} watermark 5");
    join_bench_record(&bench, "{'tid':'a','sid':1,'sts':3,'ops':[{'t':'w','k':'p/1','v':7}]}");
    join_bench_record(
        &bench,
        "{'tid':'b','sid':2,'sts':3,'ops':[{'t':'w','k':'p/2','v':9},{'t':'d','k':'q/3'}]}");
    END(&bench);
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).record_repeats, 2);
    join_bench_close(&bench);
}

/* YugabyteDB's logical connector gives all transactions of one commit time one id. */
static void tells_transactions_of_one_id_apart(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &yugabyte);
    join_bench_record(&bench, "{'tid':'a','sid':1,'sts':3,'ops':[{'t':'w','k':'t/1','v':7}]}");
    take_by_id(&bench, 70, NULL, NULL, "a");
    take_by_id(&bench, 70, "t/1", "7", NULL);
    STEPS(&bench, ""); /* another marker may come */
    take_by_id(&bench, 70, NULL, NULL, "b");
    take_by_id(&bench, 70, "t/2", "8", NULL);
    STEPS(&bench, "");
    join_bench_record(&bench, "{'tid':'b','sid':2,'sts':4,'ops':[{'t':'w','k':'t/2','v':8}]}");
    END(&bench);
    STEPS(&bench, "add b[4,9]{w:t/2=8} add a[3,9]{w:t/1=7}");
    join_bench_close(&bench);
}

/* A change that does not set the column keeps the marker of the change before. */
static void stray_marker_says_nothing(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(&bench,
                      "{'tid':'a','sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'p/1','v':7}]}");
    join_bench_record(&bench, "{'tid':'b','sid':1,'sts':6,'ops':[{'t':'w','k':'p/1','v':8}]}");
    join_bench_steps(&bench);
    take_marked(&bench, 5, "p/1", "7", "a");
    iso_join_advance(bench.join, 5, 0);
    STEPS(&bench, "watermark 5");
    take_marked(&bench, 9, "p/1", "8", "a");
    take_marked(&bench, 9, "p/1", "8", "a"); /* told again: once */
    END(&bench);
    STEPS(&bench, "add cdc:9[,9]{w:p/1=8}"); /* and b is not said to be missing */
    assert_int_equal(stats_of(&bench).unplaced, 2);
    assert_true(stats_of(&bench).stray_markers);
    join_bench_close(&bench);
}

static void repeated_record_is_known(void **state)
{
    struct join_bench bench;
    static const char record[] = "{'tid':'a','sid':1,'sts':3,'ops':[{'t':'w','k':'p/1','v':7}]}";
    (void)state;
    join_bench_open(&bench, &dgraph);
    join_bench_record(&bench, record);
    join_bench_record(&bench, record);
    take_marked(&bench, 5, NULL, NULL, "a");
    join_bench_record(&bench, record);
    take_marked(&bench, 5, "p/1", "7", NULL);
    take_marked(&bench, 6, "p/1", "7", NULL);
    join_bench_record(&bench, record);
    STEPS(&bench, "add a[3,5]{w:p/1=7}");
    assert_int_equal(stats_of(&bench).record_repeats, 3);
    join_bench_close(&bench);
}

/* Its transaction was settled without it: what it wrote is there, under no client's name. */
static void late_record_is_counted(void **state)
{
    struct join_bench bench;
    struct iso_join_options options = dgraph;
    (void)state;
    options.patience_ms = 100;
    join_bench_open(&bench, &options);
    take_marked(&bench, 5, NULL, NULL, "a");
    take_marked(&bench, 5, "p/1", "7", NULL);
    take_marked(&bench, 6, "p/1", "8", NULL);
    iso_join_tick(bench.join, 100);
    STEPS(&bench, "add cdc:5[,5]{w:p/1=7} add cdc:6[,6]{w:p/1=8}");
    join_bench_record(
        &bench,
        "{'tid':'a','sid':1,'sts':3,'ops':[{'t':'w','k':'p/1','v':7}]}"); /* by its marker */
    join_bench_record(
        &bench,
        "{'tid':'b','sid':1,'sts':3,'cts':6,'ops':[{'t':'w','k':'p/1','v':8}]}"); /* by its cts */
    END(&bench);
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).late_records, 2);
    join_bench_close(&bench);
}

/* Rows that are not looked at count in END's count, in whichever topic they come first. */
static void others_are_counted_by_partition(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium);
    for (uint32_t i = 0; i < 4; i++) {
        struct iso_event event = join_bench_row(&bench, "-", "-", "-");
        event.type = ISO_EVENT_IGNORED;
        event.flags = ISO_EVENT_HAS_ID;
        event.transaction_id = 700;
        event.order = i == 0 ? 3 : i == 1 ? 1 : 2;
        /* 3 in one topic; 1, 2 and 2 again in the other */
        event.origin = iso_origin(i == 0 ? 5 : 6, i);
        if (i == 0)
            set_marker(&bench, &event, "a");
        join_bench_take(&bench, &event);
    }
    join_bench_end(&bench, 700, 4, 30);
    join_bench_record(&bench, "{'tid':'a','sid':1,'ops':[{'t':'w','k':'t/1','v':1}]}");
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).waiting_transactions, 1);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    STEPS(&bench, "add a[,30]{w:t/1=1} probe before-image a t/1=-@29");
    assert_int_equal(stats_of(&bench).waiting_transactions, 0);
    assert_int_equal(stats_of(&bench).hints_wrong, 0);
    join_bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_the_commit_timestamp),
        cmocka_unit_test(resolves_unknown_outcomes),
        cmocka_unit_test(stream_without_any_marker_tells_nothing),
        cmocka_unit_test(tells_transactions_of_one_timestamp_apart),
        cmocka_unit_test(tells_transactions_of_one_id_apart),
        cmocka_unit_test(stray_marker_says_nothing),
        cmocka_unit_test(repeated_record_is_known),
        cmocka_unit_test(late_record_is_counted),
        cmocka_unit_test(others_are_counted_by_partition),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
