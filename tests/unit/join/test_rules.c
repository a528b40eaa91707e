/* The rules of the join (docs/semantics.md), each with events made by hand. */
#include "tests/support/test.h"

#include "tests/support/join_bench.h"

static const struct iso_join_options dgraph = {.kind = "dgraph", .clients = true};
static const struct iso_join_options dgraph_file = {
    .kind = "dgraph", .clients = true, .records_first = true};
static const struct iso_join_options ticdc = {.kind = "ticdc", .clients = true};
static const struct iso_join_options debezium = {
    .kind = "debezium", .initial_known = true, .clients = true};
static const struct iso_join_options debezium_file = {
    .kind = "debezium", .initial_known = true, .clients = true, .records_first = true};
static const struct iso_join_options debezium_alone = {.kind = "debezium", .initial_known = true};

/* ---- what is compared ---- */

static void record_and_rows_agree(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'r','k':'p/1','v':0},{'t':'w','k':'p/1','v':7}]}");
    STEPS(&bench, "add 1[3,5]{r:p/1=0,w:p/1=7}"); /* the engine has it at once */
    join_bench_by_cts(&bench, 5, "p/1", "7");
    assert_int_equal(stats_of(&bench).waiting_transactions, 1);
    join_bench_by_cts(&bench, 6, "p/2", "8"); /* a larger timestamp closes it */
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).joined, 1);
    assert_int_equal(stats_of(&bench).waiting_records, 0);
    join_bench_close(&bench);
}

static void only_final_writes_are_compared(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'p/1','v':1},{'t':'w','k':'p/1','v':2}]}");
    join_bench_by_cts(&bench, 5, "p/1",
                      "9"); /* statements of the client's own may have been others */
    join_bench_by_cts(&bench, 5, "p/1", "2");
    STEPS(&bench, "add 1[3,5]{w:p/1=1,w:p/1=2}");
    END(&bench);
    STEPS(&bench, "");
    join_bench_close(&bench);
}

static void differences_wait_until_nothing_can_be_added(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'p/1','v':1},{'t':'w','k':'p/2','v':2},"
        "{'t':'w','k':'p/3','v':3}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    join_bench_by_cts(&bench, 5, "p/2", "22");
    join_bench_by_cts(&bench, 5, "p/4", "4");
    join_bench_by_cts(&bench, 6, "p/5", "5");
    STEPS(&bench, "");
    END(&bench);
    STEPS(&bench, "value 1 p/2 2>22 missing 1 p/3 3>- unwritten 1 p/4 ->4 add cdc:6[,6]{w:p/5=5}");
    join_bench_close(&bench);
}

static void write_without_row_is_asked_for(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc); /* net changes: none where nothing changed */
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'a','v':1},{'t':'d','k':'b'}]}");
    join_bench_steps(&bench);
    iso_join_advance(bench.join, 5, 0);
    STEPS(&bench, "probe missing 1 a=1@4 probe missing 1 b=-@4 watermark 5");
    join_bench_close(&bench);
    join_bench_open(&bench, &dgraph_file); /* sends everything, but for deletes of nothing */
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'a','v':1},{'t':'d','k':'a/b'}]}");
    join_bench_by_cts(&bench, 6, "a/c", "2"); /* the predicate was sent that far */
    join_bench_steps(&bench);
    END(&bench);
    STEPS(&bench, "add cdc:6[,6]{w:a/c=2} missing 1 a 1>- probe missing 1 a/b=-@4");
    join_bench_close(&bench);
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'a/b','v':1}]}");
    join_bench_by_cts(&bench, 5, "a/c", "2"); /* and perhaps not more of it */
    join_bench_steps(&bench);
    END(&bench);
    STEPS(&bench, "add cdc:5[,5]{w:a/c=2}");
    join_bench_close(&bench);
}

static void aborted_record_has_no_rows(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(
        &bench, "{'tid':1,'sid':1,'sts':3,'status':'aborted','ops':[{'t':'w','k':'a','v':1}]}");
    struct iso_event row = join_bench_row(&bench, "a", "-", "1");
    row.flags |= ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_STS;
    row.sts.physical = 3;
    row.cts.physical = 5;
    join_bench_take(&bench, &row);
    iso_join_advance(bench.join, 5, 0);
    STEPS(&bench, "add aborted 1[3,]{w:a=1} aborted 1 a ->1 watermark 5");
    join_bench_close(&bench);
}

/* ---- without a record ---- */

static void transaction_without_record_is_a_version(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_end(&bench, 700, 1, 30);
    STEPS(&bench, ""); /* its record may come */
    assert_int_equal(stats_of(&bench).waiting_transactions, 1);
    END(&bench);
    STEPS(&bench, "add cdc:700[,30]{w:t/1=1}"); /* not unwritten: nobody spoke for it */
    assert_int_equal(stats_of(&bench).foreign, 1);
    join_bench_close(&bench);
    join_bench_open(&bench, &debezium_file);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_end(&bench, 700, 1, 30);
    STEPS(&bench, "add cdc:700[,30]{w:t/1=1}"); /* all records were there before */
    join_bench_close(&bench);
}

static void patience_ends_only_where_it_is_given(void **state)
{
    struct join_bench bench;
    struct iso_join_options options = dgraph;
    (void)state;
    join_bench_open(&bench, &options);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    iso_join_tick(bench.join, UINT64_MAX / 2);
    STEPS(&bench, "");
    join_bench_close(&bench);
    options.patience_ms = 100;
    join_bench_open(&bench, &options);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    iso_join_tick(bench.join, 99);
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).oldest_ms, 99);
    iso_join_tick(bench.join, 100);
    STEPS(&bench, "add cdc:5[,5]{w:p/1=1}");
    assert_int_equal(stats_of(&bench).forced, 1);
    join_bench_close(&bench);
}

static void age_of_the_oldest_record(void **state)
{
    struct join_bench bench;
    struct iso_join_stats stats;
    (void)state;
    join_bench_open(&bench, &dgraph);
    join_bench_record(&bench,
                      "{'tid':2,'sid':1,'sts':6,'cts':7,'ops':[{'t':'w','k':'p/1','v':2}]}");
    iso_join_tick(bench.join, 50);
    stats = stats_of(&bench);
    iso_join_count_waiting(bench.join, &stats);
    assert_int_equal(stats.waiting_records, 1);
    assert_int_equal(stats.oldest_record_ms, 50);
    join_bench_close(&bench);
}

static void what_waits_is_bounded(void **state)
{
    struct join_bench bench;
    struct iso_join_options options = dgraph;
    (void)state;
    options.waiting_limit = 2;
    join_bench_open(&bench, &options);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    join_bench_by_cts(&bench, 6, "p/1", "2");
    STEPS(&bench, "");
    join_bench_by_cts(&bench, 7, "p/1", "3");
    STEPS(&bench, "add cdc:5[,5]{w:p/1=1}");
    assert_int_equal(stats_of(&bench).forced, 1);
    assert_int_equal(stats_of(&bench).waiting_rows, 2);
    join_bench_close(&bench);
}

/* ---- Dgraph's repeats ---- */

static void restart_repeats_runs(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'p/1','v':'a'}]}");
    join_bench_record(
        &bench,
        "{'tid':2,'sid':1,'sts':6,'cts':8,'ops':[{'t':'w','k':'p/2','v':'c'},{'t':'w','k':'p/3','v':'d'}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "p/1", "a"); /* a, b, a are three writes, not one and repeats */
    join_bench_by_cts(&bench, 5, "p/1", "b");
    join_bench_by_cts(&bench, 5, "p/1", "a");
    join_bench_by_cts(&bench, 8, "p/2", "c"); /* cut off here */
    assert_int_equal(stats_of(&bench).repeats, 0);
    join_bench_by_cts(&bench, 5, "p/1", "a");
    join_bench_by_cts(&bench, 5, "p/1", "b");
    join_bench_by_cts(&bench, 5, "p/1", "a");
    join_bench_by_cts(&bench, 8, "p/2", "c");
    join_bench_by_cts(&bench, 8, "p/3", "d");
    join_bench_by_cts(&bench, 9, "p/1", "e");
    assert_int_equal(stats_of(&bench).repeats, 4);
    assert_int_equal(stats_of(&bench).rows, 6);
    assert_int_equal(stats_of(&bench).joined, 2);
    END(&bench);
    STEPS(&bench, "add cdc:9[,9]{w:p/1=e}");
    join_bench_close(&bench);
}

static void cut_transaction_is_not_judged_as_whole(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'p/1','v':1},{'t':'w','k':'p/2','v':2}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    join_bench_by_cts(&bench, 4, "p/9", "9"); /* back: the sender restarted */
    join_bench_by_cts(&bench, 5, "p/1", "1");
    join_bench_by_cts(&bench, 5, "p/2", "2");
    join_bench_by_cts(&bench, 6, "p/3", "3");
    END(&bench);
    STEPS(&bench, "add cdc:4[,4]{w:p/9=9} add cdc:6[,6]{w:p/3=3}");
    assert_int_equal(stats_of(&bench).repeats, 1);
    join_bench_close(&bench);
}

static void two_groups_interleave(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'p/1','v':1},{'t':'w','k':'q/1','v':2}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    join_bench_by_cts(&bench, 7, "p/1", "3");
    join_bench_by_cts(&bench, 5, "q/1", "2"); /* the other group's share */
    join_bench_by_cts(&bench, 8, "q/1", "4");
    assert_int_equal(stats_of(&bench).joined, 1);
    END(&bench);
    STEPS(&bench, "add cdc:7[,7]{w:p/1=3} add cdc:8[,8]{w:q/1=4}");
    join_bench_close(&bench);
}

static void drops_and_conditional_deletes(void **state)
{
    struct join_bench bench;
    struct iso_event event;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    join_bench_by_cts(&bench, 5, "q/1", "2");
    for (int i = 0; i < 2; i++) {
        event = join_bench_row(&bench, "p/1", i ? "1" : "777", NULL);
        event.type = ISO_EVENT_DELETE_IF;
        event.flags = ISO_EVENT_HAS_CTS;
        event.cts.physical = 6 + (uint64_t)i;
        join_bench_take(&bench, &event);
    }
    event = join_bench_row(&bench, "q/1", "-", NULL);
    event.type = ISO_EVENT_DROP;
    event.flags = ISO_EVENT_HAS_CTS;
    event.cts.physical = 8;
    join_bench_take(&bench, &event);
    END(&bench);
    STEPS(&bench, "add cdc:5[,5]{w:p/1=1,w:q/1=2} add cdc:7[,7]{d:p/1} add cdc:8[,8]{d:q/1}");
    join_bench_close(&bench);
}

/* ---- unknown outcomes ---- */

static void unknown_is_resolved_by_an_id(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(
        &bench, "{'tid':1,'sid':1,'sts':3,'status':'unknown','ops':[{'t':'w','k':'a','v':1}]}");
    join_bench_record(
        &bench, "{'tid':2,'sid':2,'sts':4,'status':'unknown','ops':[{'t':'w','k':'b','v':1}]}");
    STEPS(&bench, "add unknown 1[3,]{w:a=1} add unknown 2[4,]{w:b=1}");
    struct iso_event row = join_bench_row(&bench, "a", "-", "1");
    row.flags |= ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_STS;
    row.sts.physical = 3;
    row.cts.physical = 9;
    join_bench_take(&bench, &row);
    iso_join_advance(bench.join, 9, 0);
    STEPS(&bench, "resolve 1 9 resolve 2 aborted watermark 9");
    join_bench_close(&bench);
}

static void unknown_is_resolved_by_its_write_set(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':6,'status':'unknown','ops':[{'t':'w','k':'p/1','v':1},{'t':'w','k':'p/2','v':2}]}");
    join_bench_record(
        &bench, "{'tid':2,'sid':2,'sts':6,'status':'unknown','ops':[{'t':'w','k':'p/3','v':1}]}");
    join_bench_record(
        &bench, "{'tid':3,'sid':3,'sts':6,'status':'unknown','ops':[{'t':'w','k':'p/5','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':4,'sid':4,'sts':7,'cts':12,'ops':[{'t':'w','k':'p/3','v':1}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "p/1", "1"); /* too early */
    join_bench_by_cts(&bench, 5, "p/2", "2");
    join_bench_by_cts(&bench, 8, "p/1", "1"); /* not its whole write set */
    join_bench_by_cts(&bench, 9, "p/1", "1");
    join_bench_by_cts(&bench, 9, "p/2", "2");  /* this one */
    join_bench_by_cts(&bench, 12, "p/3", "1"); /* another client's */
    STEPS(&bench, "");
    END(&bench);
    STEPS(
        &bench,
        "add cdc:5[,5]{w:p/1=1,w:p/2=2} add cdc:8[,8]{w:p/1=1} resolve 1 9 resolve 2 aborted resolve 3 aborted");
    join_bench_close(&bench);
}

static void unknown_that_several_fit_stays_unknown(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &dgraph_file);
    join_bench_record(
        &bench, "{'tid':1,'sid':1,'sts':3,'status':'unknown','ops':[{'t':'w','k':'p/1','v':1}]}");
    join_bench_record(
        &bench, "{'tid':2,'sid':2,'sts':3,'status':'unknown','ops':[{'t':'w','k':'p/2','v':1}]}");
    join_bench_record(
        &bench, "{'tid':3,'sid':3,'sts':3,'status':'unknown','ops':[{'t':'w','k':'p/2','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':4,'sid':4,'sts':3,'status':'unknown','ops':[{'t':'d','k':'p/4'}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    join_bench_by_cts(&bench, 6, "p/1", "1"); /* one record, two transactions */
    join_bench_by_cts(&bench, 7, "p/2", "1"); /* two records, one transaction */
    END(&bench);
    STEPS(&bench, "add cdc:5[,5]{w:p/1=1} add cdc:6[,6]{w:p/1=1} add cdc:7[,7]{w:p/2=1}");
    assert_int_equal(stats_of(&bench).unresolved, 4);
    join_bench_close(&bench);
}

/* ---- TiDB ---- */

static void start_timestamp_joins_and_gives_the_commit_timestamp(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(&bench, "{'tid':1,'sid':1,'sts':3,'ops':[{'t':'w','k':'a','v':1}]}");
    STEPS(&bench, ""); /* committed, but when? */
    struct iso_event row = join_bench_row(&bench, "a", "0", "1");
    row.flags |= ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_STS;
    row.sts.physical = 3;
    row.cts.physical = 5;
    join_bench_take(&bench, &row);
    iso_join_advance(bench.join, 4, 0);
    STEPS(&bench, "watermark 4");
    iso_join_advance(bench.join, 5, 0);
    STEPS(&bench, "add 1[3,5]{w:a=1} probe before-image 1 a=0@4 watermark 5");
    join_bench_close(&bench);
}

static void shared_commit_timestamp_joins_by_key(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &ticdc);
    join_bench_record(&bench, "{'tid':1,'sid':1,'sts':2,'cts':5,'ops':[{'t':'w','k':'a','v':1}]}");
    join_bench_record(&bench, "{'tid':2,'sid':2,'sts':3,'cts':5,'ops':[{'t':'w','k':'b','v':2}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "a", "1");
    join_bench_by_cts(&bench, 5, "b", "22");
    join_bench_by_cts(&bench, 5, "c", "3"); /* of a third transaction */
    iso_join_advance(bench.join, 5, 0);
    STEPS(&bench, "value 2 b 2>22 add cdc:5[,5]{w:c=3} watermark 5");
    assert_int_equal(stats_of(&bench).foreign, 1);
    assert_int_equal(stats_of(&bench).joined, 2);
    join_bench_close(&bench);
}

/* ---- END and its count ---- */

static void count_is_a_hint(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_file);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_end(&bench, 700, 2, 30);
    STEPS(&bench, ""); /* one is missing, it may be in another topic */
    join_bench_by_xid(&bench, 700, 10, 21, "t/2", NULL, "2");
    STEPS(&bench, "add cdc:700[,30]{w:t/1=1,w:t/2=2}");
    join_bench_by_xid(&bench, 701, 30, 40, "t/1", "-", "3");
    join_bench_end(&bench, 701, 2, 50);
    END(&bench);
    STEPS(&bench, "add cdc:701[,50]{w:t/1=3} add cdc:table:51:t/1[,51]{w:t/1=\x02incomplete} "
                  "add cdc:table:51:t/2[,51]{w:t/2=\x02incomplete} lost t");
    assert_int_equal(stats_of(&bench).incomplete,
                     1); /* said to have more: the verdict is undecided */
    join_bench_close(&bench);
    join_bench_open(&bench, &debezium_file);
    join_bench_end(&bench, 702, 1,
                   60); /* after a restart of the connector: counts what it saw itself */
    join_bench_by_xid(&bench, 702, 50, 51, "t/1", "-", "4");
    join_bench_by_xid(&bench, 702, 50, 51, "t/1", "-", "4");
    join_bench_end(&bench, 702, 1, 60);
    END(&bench);
    STEPS(&bench, "add cdc:702[,60]{w:t/1=4}");
    assert_int_equal(stats_of(&bench).incomplete, 0);
    assert_int_equal(stats_of(&bench).repeats, 1);
    join_bench_close(&bench);
}

static void end_of_a_transaction_from_before_the_stream(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_file);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_end(&bench, 700, 2, 30); /* its BEGIN and a row came before */
    join_bench_by_xid(&bench, 701, 30, 40, "t/1", "1", "2");
    join_bench_end(&bench, 701, 1, 50);
    END(&bench);
    STEPS(&bench, "add cdc:701[,50]{w:t/1=2} add cdc:700[,30]{w:t/1=1} "
                  "add cdc:table:31:t/1[,31]{w:t/1=\x02incomplete} lost t");
    assert_int_equal(stats_of(&bench).incomplete, 1);
    join_bench_close(&bench);
}

static void same_row_with_other_content(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_file);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", "-", "1");
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", "-", "2"); /* while it is open */
    join_bench_end(&bench, 700, 1, 30);
    STEPS(&bench, "other-content cdc:700 t/1 1>2 add cdc:700[,30]{w:t/1=1}");
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", "-", "1");
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).repeats, 1);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", "-", "3"); /* after it was settled */
    STEPS(&bench, "other-content cdc:700 t/1 ->3");
    join_bench_close(&bench);
}

static void later_positions_close_without_end(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_file);
    iso_join_declare(bench.join, 0, true);
    iso_join_declare(bench.join, 1, true);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_by_xid(&bench, 701, 30, 40, "t/1", "-", "2");
    STEPS(&bench, ""); /* the other topic may have more of it */
    bench.input = 1;
    join_bench_by_xid(&bench, 700, 10, 21, "u/1", NULL, "1");
    STEPS(&bench, "");
    join_bench_by_xid(&bench, 701, 30, 41, "u/1", "-", "2");
    STEPS(&bench, "add cdc:700[,11]{w:t/1=1,w:u/1=1}");
    join_bench_close(&bench);
}

/* ---- before images ---- */

static void before_images_are_checked_where_they_are_known(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'sts':3,'cts':30,'ops':[{'t':'w','k':'t/1','v':2},{'t':'w','k':'t/2','v':2},"
        "{'t':'w','k':'t/3','v':2}]}");
    join_bench_steps(&bench);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", "0", "1");
    join_bench_by_xid(&bench, 700, 10, 21, "t/1", "1", "2");
    join_bench_by_xid(&bench, 700, 10, 22, "t/2", "-",
                      "2"); /* default identity: not known, not absent */
    join_bench_by_xid(&bench, 700, 10, 23, "t/3", NULL, "1");
    join_bench_by_xid(&bench, 700, 10, 24, "t/3", "9", "2"); /* not what its own transaction left */
    join_bench_end(&bench, 700, 5, 30);
    STEPS(&bench,
          "probe before-image 1 t/1=0@29 probe before-image 1 t/3=-@29 before-image 1 t/3 1>9");
    join_bench_close(&bench);
}

static void without_clients_before_images_are_reads(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_alone);
    struct iso_event snapshot = join_bench_row(&bench, "t/1", "-", "0");
    snapshot.operation = ISO_ROW_SNAPSHOT;
    join_bench_take(&bench, &snapshot);
    join_bench_take(&bench, &snapshot); /* read again */
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", "0", "1");
    join_bench_by_xid(&bench, 700, 10, 21, "t/2", "-", NULL);
    join_bench_end(&bench, 700, 2, 30);
    STEPS(
        &bench,
        "add cdc:snapshot:t/1[,1]{w:t/1=0} add cdc:700[,30]{r:t/1=0^,w:t/1=1,d:t/2} watermark 30");
    assert_int_equal(stats_of(&bench).snapshot_rows, 1);
    join_bench_close(&bench);
}

/* Connect was killed between the rows and its note of them: it says again that the transaction
 * ended, with no row. */
static void second_end_takes_nothing_back(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_alone);
    join_bench_end(&bench, 700, 2, 30);
    join_bench_end(&bench, 700, 0, 30);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_by_xid(&bench, 700, 10, 21, "t/2", NULL, "2");
    join_bench_end(&bench, 700, 0, 30);
    STEPS(&bench, "add cdc:700[,30]{r:t/1=-^,w:t/1=1,r:t/2=-^,w:t/2=2} watermark 30");
    join_bench_close(&bench);
}

static void positions_are_watermarks_without_clients(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_alone);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    join_bench_end(&bench, 701, 1, 40); /* its row is on the way */
    STEPS(&bench, "watermark 10");      /* 700 commits after that */
    join_bench_end(&bench, 700, 1, 30);
    STEPS(&bench, "add cdc:700[,30]{r:t/1=-^,w:t/1=1} watermark 39");
    join_bench_by_xid(&bench, 701, 30, 35, "t/1", "1", "2");
    STEPS(&bench, "add cdc:701[,40]{r:t/1=1^,w:t/1=2} watermark 40");
    struct iso_event snapshot =
        join_bench_row(&bench, "t/9", "-", "0"); /* of a table that nobody has changed so far */
    snapshot.operation = ISO_ROW_SNAPSHOT;
    join_bench_take(&bench, &snapshot);
    join_bench_by_xid(&bench, 702, 40, 45, "t/9", "0", "1");
    join_bench_end(&bench, 702, 1, 48);
    STEPS(&bench,
          "add cdc:snapshot:t/9[,1]{w:t/9=0} add cdc:702[,48]{r:t/9=0^,w:t/9=1} watermark 48");
    join_bench_close(&bench);
}

/* Where ids are texts, a client knows its transaction by that name. */
static void text_ids_join_by_tid(void **state)
{
    static const struct iso_join_options yugabyte = {.kind = "yugabyte", .clients = true};
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &yugabyte);
    join_bench_record(
        &bench,
        "{'tid':'7b1f-0d0e','sid':1,'sts':3,'cts':9,'ops':[{'t':'w','k':'t/1','v':1},{'t':'w','k':'t/2','v':2}]}");
    join_bench_record(
        &bench, "{'tid':'7b1f-0d0f','sid':2,'sts':3,'cts':12,'ops':[{'t':'w','k':'t/3','v':3}]}");
    join_bench_steps(&bench);
    for (int i = 0; i < 3; i++) {
        struct iso_event row = join_bench_row(&bench,
                                              i == 0   ? "t/1"
                                              : i == 1 ? "t/2"
                                                       : "t/3",
                                              "-",
                                              i == 0   ? "1"
                                              : i == 1 ? "2"
                                                       : "3");
        row.flags |= ISO_EVENT_HAS_CTS;
        row.cts.physical = i < 2 ? 9 : 12;
        if (i < 2) { /* a single-row write has no id: its commit time joins */
            row.flags |= ISO_EVENT_HAS_ID;
            row.transaction_id = iso_atoms_text(&bench.block.atoms, "7b1f-0d0e", 9);
        }
        join_bench_take(&bench, &row);
        assert_int_equal(stats_of(&bench).joined,
                         i > 0); /* complete where all that the client wrote is there */
    }
    END(&bench); /* others may share the commit time of what has no id */
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).joined, 2);
    assert_int_equal(stats_of(&bench).waiting_records, 0);
    join_bench_close(&bench);
}

static void record_inside_its_transaction(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &debezium_alone);
    join_bench_by_xid(&bench, 700, 10, 20, "t/1", NULL, "1");
    struct iso_native_fault fault = {.kind = ISO_FAULT_NONE};
    char json[256] =
        "{\"tid\":5,\"sid\":1,\"sts\":12,\"cts\":30,\"ops\":[{\"t\":\"w\",\"k\":\"t/1\",\"v\":1}]}";
    assert_int_equal(
        iso_native_read_transaction(&bench.native, json, strlen(json), 0, &bench.block, &fault),
        ISO_OK);
    struct iso_event event = {.type = ISO_EVENT_TRANSACTIONS,
                              .first = 0,
                              .count = 1,
                              .order = 2,
                              .flags = ISO_EVENT_IN_BAND | ISO_EVENT_HAS_ID,
                              .transaction_id = 700};
    join_bench_take(&bench, &event);
    join_bench_end(&bench, 700, 2, 30); /* the message counts */
    STEPS(&bench, "add 5[12,30]{w:t/1=1} probe before-image 5 t/1=-@29");
    assert_int_equal(stats_of(&bench).joined, 1);
    join_bench_by_xid(&bench, 701, 30, 40, "t/1", "1", "2");
    join_bench_end(&bench, 701, 1, 50);
    STEPS(&bench, "add cdc:701[,50]{w:t/1=2}"); /* no record inside: a version, no reads */
    join_bench_close(&bench);
}

static bool covers(void *context, const char *table, size_t length)
{
    const char *uncovered = *(const char **)context;
    return !uncovered || strlen(uncovered) != length || memcmp(uncovered, table, length);
}

/* A predicate shows that it cannot be judged when records that write it have come. */
static void table_is_uncovered_later(void **state)
{
    struct join_bench bench;
    struct iso_join_left_out left_out;
    const char *uncovered = NULL;
    struct iso_join_options options = dgraph_file;
    (void)state;
    options.covers = covers;
    options.context = &uncovered;
    join_bench_open(&bench, &options);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':3,'cts':5,'ops':[{'t':'w','k':'p/1','v':1},{'t':'w','k':'e/1','v':2}]}");
    join_bench_steps(&bench);
    join_bench_by_cts(&bench, 5, "p/1", "1");
    struct iso_event ignored = join_bench_row(&bench, "e/1", NULL, "2");
    ignored.type = ISO_EVENT_IGNORED;
    ignored.table = iso_atoms_text(&bench.block.atoms, "e", 1);
    ignored.flags = ISO_EVENT_HAS_CTS;
    ignored.cts.physical = 5;
    uncovered = "e";
    assert_true(iso_join_ask_coverage_again(bench.join, &bench.block.atoms, ignored.table));
    assert_false(iso_join_ask_coverage_again(bench.join, &bench.block.atoms, ignored.table));
    join_bench_take(&bench, &ignored);
    join_bench_record(
        &bench,
        "{'tid':2,'sid':1,'sts':6,'ops':[{'t':'r','k':'e/1','v':9},{'t':'r','k':'p/1','v':1}]}");
    END(&bench);
    STEPS(&bench, "add 2[6,]{r:p/1=1}");
    assert_true(iso_join_left_out(bench.join, 0, &left_out));
    assert_int_equal(left_out.length, 1);
    assert_memory_equal(left_out.name, "e", 1);
    assert_int_equal(left_out.operations, 2);
    join_bench_close(&bench);
}

/* A stream that counts its transactions' events by table says which tables there are. */
static void table_that_no_end_names_is_unknown(void **state)
{
    struct join_bench bench;
    struct iso_join_left_out left_out;
    const char *uncovered = "u";
    struct iso_join_options options = debezium_file;
    (void)state;
    options.covers = covers;
    options.context = &uncovered;
    for (int named = 0; named < 2; named++) {
        join_bench_open(&bench, &options);
        struct iso_event collection = {.type = ISO_EVENT_COLLECTION,
                                       .flags = ISO_EVENT_HAS_ID,
                                       .count = 1,
                                       .source = ISO_ABSENT,
                                       .key = ISO_ABSENT,
                                       .transaction_id = 700};
        collection.table = iso_atoms_text(&bench.block.atoms, named ? "u" : "t", 1);
        join_bench_take(&bench, &collection);
        join_bench_record(&bench,
                          "{'tid':1,'sid':1,'sts':3,'cts':3,'ops':[{'t':'r','k':'u/1','v':1}]}");
        END(&bench);
        assert_true(iso_join_left_out(bench.join, 0, &left_out));
        assert_int_equal(left_out.is_unknown, !named);
        join_bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_and_rows_agree),
        cmocka_unit_test(only_final_writes_are_compared),
        cmocka_unit_test(differences_wait_until_nothing_can_be_added),
        cmocka_unit_test(write_without_row_is_asked_for),
        cmocka_unit_test(aborted_record_has_no_rows),
        cmocka_unit_test(transaction_without_record_is_a_version),
        cmocka_unit_test(patience_ends_only_where_it_is_given),
        cmocka_unit_test(age_of_the_oldest_record),
        cmocka_unit_test(what_waits_is_bounded),
        cmocka_unit_test(restart_repeats_runs),
        cmocka_unit_test(cut_transaction_is_not_judged_as_whole),
        cmocka_unit_test(two_groups_interleave),
        cmocka_unit_test(drops_and_conditional_deletes),
        cmocka_unit_test(unknown_is_resolved_by_an_id),
        cmocka_unit_test(unknown_is_resolved_by_its_write_set),
        cmocka_unit_test(unknown_that_several_fit_stays_unknown),
        cmocka_unit_test(start_timestamp_joins_and_gives_the_commit_timestamp),
        cmocka_unit_test(shared_commit_timestamp_joins_by_key),
        cmocka_unit_test(count_is_a_hint),
        cmocka_unit_test(end_of_a_transaction_from_before_the_stream),
        cmocka_unit_test(same_row_with_other_content),
        cmocka_unit_test(later_positions_close_without_end),
        cmocka_unit_test(before_images_are_checked_where_they_are_known),
        cmocka_unit_test(without_clients_before_images_are_reads),
        cmocka_unit_test(second_end_takes_nothing_back),
        cmocka_unit_test(positions_are_watermarks_without_clients),
        cmocka_unit_test(text_ids_join_by_tid),
        cmocka_unit_test(record_inside_its_transaction),
        cmocka_unit_test(table_is_uncovered_later),
        cmocka_unit_test(table_that_no_end_names_is_unknown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
