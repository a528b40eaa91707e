/* PostgreSQL's snapshots and commits in place of timestamps, at the end and online. */
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>

#include "join/join_private.h"
#include "tests/support/join_bench.h"

static const struct iso_join_options file = {
    .kind = "debezium", .initial_known = true, .clients = true, .records_first = true};
static const struct iso_join_options live = {
    .kind = "debezium", .initial_known = true, .clients = true};

/* A whole transaction of one row, committed at `lsn`, the one before at `previous`. */
static void deliver(struct join_bench *bench, uint32_t xid, uint64_t previous, uint64_t lsn,
                    const char *key, const char *after)
{
    join_bench_by_xid(bench, xid, previous, lsn - 1, key, "-", after);
    join_bench_end(bench, xid, 1, lsn);
}

static void commits_stand_below_the_first_snapshot_that_sees_them(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    /* 701 commits before 700 by LSN; a snapshot sees 701 and not 700, the next both. */
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(
        &bench,
        "{'tid':2,'sid':2,'xid':701,'snapshot':'700:701:700','ops':[{'t':'w','k':'t/2','v':2}]}");
    join_bench_record(
        &bench, "{'tid':3,'sid':3,'snapshot':'700:702:700','ops':[{'t':'r','k':'t/2','v':2}]}");
    join_bench_record(&bench,
                      "{'tid':4,'sid':4,'snapshot':'702:702:','ops':[{'t':'r','k':'t/1','v':1}]}");
    STEPS(&bench, "");
    deliver(&bench, 700, 10, 20, "t/1",
            "1"); /* its commit is first in the log: no substitute for what is seen */
    deliver(&bench, 701, 20, 30, "t/2", "2");
    END(&bench);
    STEPS(&bench, "add 2[2,3]{w:t/2=2} add 3[4,]{r:t/2=2} add 1[2,5]{w:t/1=1} add 4[6,]{r:t/1=1}");
    join_bench_close(&bench);
}

/* A writer without a snapshot, in the midst of such as have one, stands where the log has it. */
static void who_has_no_snapshot_is_counted_among_the_others(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(&bench, "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w',"
                              "'k':'t/1','v':1}]}");
    join_bench_record(&bench, "{'tid':2,'sid':2,'xid':701,'ops':[{'t':'w','k':'t/1','v':2}]}");
    join_bench_record(&bench, "{'tid':3,'sid':3,'xid':702,'status':'unknown','ops':[{'t':'w',"
                              "'k':'t/2','v':3}]}");
    join_bench_record(&bench,
                      "{'tid':4,'sid':4,'snapshot':'702:702:','ops':[{'t':'r','k':'t/1','v':2}]}");
    STEPS(&bench, "add unknown 3[,]{w:t/2=3}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/1", "2");
    deliver(&bench, 702, 30, 40, "t/2", "3");
    END(&bench);
    STEPS(&bench, "add 1[2,3]{w:t/1=1} add 2[,5]{w:t/1=2} add 4[6,]{r:t/1=2} resolve 3 7");
    join_bench_close(&bench);
}

/* Until the first snapshot comes commits stand at their LSN; those behind are counted on from
 * there, and who may not see one of the former is not judged. */
static void counting_begins_behind_commits_at_their_lsn(void **state)
{
    struct join_bench bench;
    struct iso_join_stats stats;
    (void)state;
    join_bench_open(&bench, &live);
    join_bench_record(&bench, "{'tid':1,'sid':1,'xid':700,'ops':[{'t':'w','k':'t/1','v':1}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    STEPS(&bench, "add 1[,20]{w:t/1=1}");
    join_bench_record(&bench, "{'tid':2,'sid':2,'xid':701,'snapshot':'700:701:700','ops':[{'t':'r',"
                              "'k':'t/1','v':null},{'t':'w','k':'t/2','v':2}]}");
    join_bench_record(&bench, "{'tid':3,'sid':3,'xid':702,'snapshot':'701:702:701','ops':[{'t':'r',"
                              "'k':'t/1','v':1},{'t':'w','k':'t/3','v':3}]}");
    deliver(&bench, 701, 20, 30, "t/2", "2");
    deliver(&bench, 702, 30, 40, "t/3", "3");
    END(&bench);
    STEPS(&bench, "add 2[,23]{w:t/2=2} add 3[22,25]{r:t/1=1,w:t/3=3}");
    iso_join_stats(bench.join, &stats);
    assert_int_equal(stats.unplaced, 1);
    assert_int_equal(stats.reads_gone[ISO_RECORDS_UNPLACED], 1);
    join_bench_close(&bench);
}

/* Also that of a commit whose snapshot comes behind a later one. */
static void commit_stays_at_its_lsn_when_its_snapshot_comes(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    join_bench_record(&bench, "{'tid':1,'sid':1,'xid':701,'ops':[{'t':'w','k':'t/1','v':2}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/1", "2");
    STEPS(&bench, "add 1[,30]{w:t/1=2}");
    join_bench_record(&bench, "{'tid':2,'sid':2,'xid':700,'snapshot':'700:700:','ops':[{'t':'w',"
                              "'k':'t/1','v':1}]}");
    END(&bench);
    STEPS(&bench, "add 2[,20]{w:t/1=1}");
    join_bench_close(&bench);
}

/* A run that never gets a snapshot keeps no more xids than one that does. */
static void xids_kept_for_the_first_snapshot_are_bounded(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    for (uint32_t i = 0; i < 600000; i++) {
        struct join_transaction one = {.identity = {700 + i, JOIN_BY_XID},
                                       .flags = JOIN_HAS_POSITION,
                                       .position = 10 + 2 * (uint64_t)i};
        join_note_uncounted(bench.join, &one);
    }
    assert_in_range(bench.join->positions.placed.used, 1, 1 << 18);
    join_bench_close(&bench);
}

/* The stream gives 32 bits of an xid: the first snapshot tells the others. */
static void first_snapshot_tells_the_epoch_of_commits_before_it(void **state)
{
    struct join_bench bench;
    struct iso_join_stats stats;
    (void)state;
    join_bench_open(&bench, &live);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'xid':4294968096,'ops':[{'t':'w','k':'t/1','v':1}]}");
    deliver(&bench, 800, 10, 20, "t/1", "1");
    STEPS(&bench, "add 1[,20]{w:t/1=1}");
    join_bench_record(&bench, "{'tid':2,'sid':2,'xid':4294968097,'snapshot':'4294968096:4294968097:"
                              "4294968096','ops':[{'t':'r','k':'t/1','v':null},{'t':'w','k':'t/2',"
                              "'v':2}]}");
    deliver(&bench, 801, 20, 30, "t/2", "2");
    END(&bench);
    STEPS(&bench, "add 2[,23]{w:t/2=2}");
    iso_join_stats(bench.join, &stats);
    assert_int_equal(stats.reads_gone[ISO_RECORDS_UNPLACED], 1);
    join_bench_close(&bench);
}

/* The joined history keeps what its places follow from, for who seeks another order. */
static void xids_and_snapshots_stay_in_the_joined_history(void **state)
{
    static const struct iso_join_options kept = {
        .kind = "debezium", .clients = true, .records_first = true, .keep_joined = true};
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &kept);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'690:700:695','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(&bench, "{'tid':2,'sid':2,'xid':701,'snapshot':'700:701:','status':'unknown',"
                              "'ops':[{'t':'w','k':'t/2','v':2}]}");
    join_bench_record(
        &bench,
        "{'tid':3,'sid':3,'xid':702,'snapshot':'702:702:','ops':[{'t':'w','k':'t/3','v':3}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 702, 20, 30, "t/3", "3"); /* which saw that 701 had ended */
    END(&bench);
    const struct iso_join_output *out = iso_join_output(bench.join);
    const struct iso_history *joined = &out->joined, *block = &out->block;
    assert_int_equal(joined->txns.count, 3);
    for (uint32_t t = 0; t < 3; t++) {
        if (joined->txns.tid[t] == 3)
            continue;
        const struct iso_snapshot *snapshot = &joined->snapshots.list[joined->txns.snapshot[t]];
        bool first = joined->txns.tid[t] == 1;
        assert_int_equal(joined->txns.xid[t], first ? 700 : 701);
        assert_int_equal(snapshot->xmin, first ? 690 : 700);
        assert_int_equal(snapshot->xmax, first ? 700 : 701);
        assert_int_equal(snapshot->xip_count, first);
        assert_int_equal(iso_status_of(joined, t), first ? ISO_COMMITTED : ISO_ABORTED);
        assert_int_equal(joined->txns.flags[t] & ISO_HAS_STS,
                         first ? ISO_HAS_STS : 0); /* an aborted one needs no place */
    }
    assert_int_equal(block->txns.count, 3);
    assert_null(block->txns.xid);
    assert_null(block->txns.snapshot);
    join_bench_close(&bench);
}

/* Nobody knows when they read: the engine does not get them, and who seeks an order does. Those
 * that read nothing of covered tables are nothing to judge. */
static void readers_without_a_snapshot_are_in_the_joined_history_alone(void **state)
{
    static const struct iso_join_options kept = {
        .kind = "debezium", .clients = true, .keep_joined = true};
    struct join_bench bench;
    struct iso_join_stats stats;
    (void)state;
    join_bench_open(&bench, &kept);
    join_bench_record(
        &bench, "{'tid':1,'sid':1,'ops':[{'t':'r','k':'t/1','v':1},{'t':'r','k':'t/2','v':2}]}");
    join_bench_record(&bench, "{'tid':2,'sid':1,'ops':[]}");
    join_bench_record(&bench,
                      "{'tid':3,'sid':1,'status':'aborted','ops':[{'t':'r','k':'t/1','v':1}]}");
    const struct iso_history *joined = &iso_join_output(bench.join)->joined;
    assert_int_equal(joined->txns.count, 3);
    assert_int_equal(joined->ops.count, 3);
    assert_int_equal(joined->txns.flags[0] & (ISO_HAS_STS | ISO_HAS_CTS), 0);
    iso_join_stats(bench.join, &stats);
    assert_int_equal(stats.records, 3);
    assert_int_equal(stats.readers_without_start, 1);
    assert_int_equal(stats.reads_without_start, 2);
    assert_int_equal(stats.without_start, 0);
    assert_int_equal(stats.records_gone[ISO_RECORDS_UNPLACED], 1);
    assert_int_equal(stats.records_gone[ISO_RECORDS_GIVEN], 1);
    assert_int_equal(stats.records_gone[ISO_RECORDS_ABORTED], 1);
    assert_int_equal(stats.reads_gone[ISO_RECORDS_UNPLACED], 2);
    assert_int_equal(stats.waiting_records, 0);
    join_bench_close(&bench);
}

/* By its xid one might have written, what the stream knows: an update that met no row did not. */
static void a_writer_without_a_snapshot_that_wrote_nothing_is_a_reader(void **state)
{
    static const struct iso_join_options kept = {
        .kind = "debezium", .clients = true, .keep_joined = true};
    struct join_bench bench;
    struct iso_join_stats stats;
    (void)state;
    join_bench_open(&bench, &kept);
    join_bench_record(
        &bench, "{'tid':1,'sid':1,'xid':700,'writes':'cdc','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(
        &bench, "{'tid':2,'sid':1,'xid':701,'writes':'cdc','ops':[{'t':'r','k':'t/1','v':1}]}");
    deliver(&bench, 701, 10, 20, "t/1", "2");
    join_bench_end(&bench, 700, 0, 30);
    END(&bench);
    iso_join_stats(bench.join, &stats);
    assert_int_equal(stats.unplaced, 0);
    assert_int_equal(stats.readers_without_start, 1);
    assert_int_equal(stats.without_start, 1);
    assert_int_equal(stats.records_gone[ISO_RECORDS_UNPLACED], 1);
    assert_int_equal(stats.records_gone[ISO_RECORDS_GIVEN], 1);
    assert_int_equal(iso_join_output(bench.join)->joined.txns.count,
                     3); /* what was there at first, and these */
    join_bench_close(&bench);
}

static void ties_go_by_the_log(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(
        &bench,
        "{'tid':2,'sid':2,'xid':701,'snapshot':'700:700:','ops':[{'t':'w','k':'t/2','v':2}]}");
    join_bench_record(
        &bench,
        "{'tid':3,'sid':3,'xid':702,'snapshot':'700:700:','ops':[{'t':'w','k':'t/3','v':3}]}");
    deliver(&bench, 701, 10, 20, "t/2", "2");
    deliver(&bench, 702, 20, 30, "t/3", "3");
    deliver(&bench, 700, 30, 40, "t/1", "1");
    END(&bench); /* no snapshot sees them */
    STEPS(&bench, "add 2[2,3]{w:t/2=2} add 3[2,5]{w:t/3=3} add 1[2,7]{w:t/1=1}");
    join_bench_close(&bench);
}

static void transactions_without_record_have_places(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/1", "2");
    END(&bench);
    STEPS(&bench, "add cdc:700[,3]{w:t/1=1} add 1[4,]{r:t/1=1} add cdc:701[,5]{w:t/1=2}");
    join_bench_close(&bench);
}

static void snapshots_of_operations_are_their_times(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'snapshot':'700:700:','ops':[{'t':'r','k':'t/1','v':null},"
                      "{'t':'r','k':'t/1','v':1,'snapshot':'701:701:'}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    END(&bench);
    STEPS(&bench, "beyond 1 add cdc:700[,3]{w:t/1=1} add 1[2,]{r:t/1=-,r:t/1=1}");
    join_bench_close(&bench);
}

static void snapshot_that_lacks_what_came_before_is_a_violation(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'snapshot':'700:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(
        &bench, "{'tid':2,'sid':2,'snapshot':'700:703:700','ops':[{'t':'r','k':'t/1','v':null}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/2", "1");
    deliver(&bench, 702, 30, 40, "t/3", "1");
    END(&bench);
    STEPS(&bench, "add cdc:700[,3]{w:t/1=1} add 1[4,]{r:t/1=1} snapshot-order 2 add 2[4,]{r:t/1=-} "
                  "add cdc:701[,5]{w:t/2=1} add cdc:702[,7]{w:t/3=1}");
    join_bench_close(&bench);
}

/* Of two that see equally much the later one is wrong; a third that sees the first one's commits and
 * not the second one's is not. */
static void who_contradicts_one_that_is_wrong_is_not(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'snapshot':'700:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(
        &bench, "{'tid':2,'sid':2,'snapshot':'700:702:700','ops':[{'t':'r','k':'t/1','v':null}]}");
    join_bench_record(
        &bench, "{'tid':3,'sid':3,'snapshot':'700:702:701','ops':[{'t':'r','k':'t/1','v':1}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/2", "1");
    END(&bench);
    STEPS(
        &bench,
        "add cdc:700[,3]{w:t/1=1} add 1[4,]{r:t/1=1} snapshot-order 2 add 2[4,]{r:t/1=-} add 3[4,]{r:t/1=1} add cdc:701[,5]{w:t/2=1}");
    join_bench_close(&bench);
}

/* A client may say anything: the numbers between what it claims and what committed are not walked
 * one by one. */
static void snapshot_of_all_numbers_costs_no_more_than_others(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'snapshot':'1:18446744073709551615:700','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':2,'sid':2,'snapshot':'1:1:','ops':[{'t':'r','k':'t/1','v':null}]}");
    join_bench_record(
        &bench,
        "{'tid':3,'sid':3,'snapshot':'5000000000:5000000000:','ops':[{'t':'r','k':'t/1','v':null}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/2", "1");
    END(&bench);
    STEPS(&bench,
          "beyond 3 beyond 1 add 2[2,]{r:t/1=-} add cdc:701[,3]{w:t/2=1} add 1[4,]{r:t/1=1} "
          "add cdc:700[,5]{w:t/1=1} add 3[6,]{r:t/1=-}");
    join_bench_close(&bench);
}

static void places_are_final_below_the_horizon(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':2,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    STEPS(&bench, "");
    iso_join_advance(bench.join, 701,
                     0); /* clients promise; but what has been delivered says nothing of 700 yet */
    STEPS(&bench, "watermark 1"); /* the first snapshot has its place */
    join_bench_record(
        &bench,
        "{'tid':3,'sid':1,'xid':701,'snapshot':'701:701:','ops':[{'t':'w','k':'t/1','v':2}]}");
    deliver(&bench, 701, 20, 30, "t/1", "2");
    STEPS(&bench, "add 1[2,3]{w:t/1=1} add 2[4,]{r:t/1=1} watermark 3");
    assert_int_equal(stats_of(&bench).waiting_records, 1); /* its commit: who will see it? */
    END(&bench);
    STEPS(&bench, "add 3[4,5]{w:t/1=2}");
    join_bench_close(&bench);
}

/* 701 stands in the log, is not over yet, and 700 commits and is seen: nothing says yet that all came
 * which the reader saw. */
static void who_is_seen_first_may_stand_later_in_the_log(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':2,'sid':2,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    deliver(&bench, 701, 10, 20, "t/2", "1");
    iso_join_advance(bench.join, 702, 0);
    iso_join_recheck(bench.join);
    STEPS(&bench, "");
    deliver(&bench, 700, 20, 30, "t/1", "1");
    END(&bench);
    STEPS(&bench, "add 1[2,3]{w:t/1=1} add 2[4,]{r:t/1=1} add cdc:701[,5]{w:t/2=1}");
    join_bench_close(&bench);
}

/* Others' commits say so by their times, once a transaction would have ended that had not then. */
static void readers_alone_have_places_behind_the_grace(void **state)
{
    enum { GRACE = 1000 };
    struct join_bench bench;
    struct iso_join_options options = live;
    (void)state;
    options.grace_ms = GRACE;
    join_bench_open(&bench, &options);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    iso_join_advance(bench.join, 701, 0);
    bench.time = 5000;
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/2", "1");
    bench.time += GRACE;
    deliver(&bench, 702, 30, 40, "t/3", "1");
    iso_join_recheck(bench.join);
    STEPS(&bench, "");
    bench.time += GRACE / 10;
    deliver(&bench, 703, 40, 50, "t/4", "1");
    iso_join_recheck(bench.join);
    STEPS(&bench, "add cdc:700[,3]{w:t/1=1} add 1[4,]{r:t/1=1} watermark 3");
    join_bench_close(&bench);
}

/* Of a snapshot or of an operation's: clients promised that there would be none below. */
static void snapshots_below_the_promise_are_late(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    iso_join_advance(bench.join, 701, 0);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1},"
                      "{'t':'r','k':'t/2','v':1,'snapshot':'701:702:'}]}");
    assert_int_equal(stats_of(&bench).late_records, 0);
    join_bench_record(&bench,
                      "{'tid':2,'sid':2,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1},"
                      "{'t':'r','k':'t/2','v':1,'snapshot':'700:701:700'}]}");
    assert_int_equal(stats_of(&bench).late_records, 1);
    join_bench_record(
        &bench, "{'tid':3,'sid':3,'snapshot':'700:701:700','ops':[{'t':'r','k':'t/1','v':1}]}");
    assert_int_equal(stats_of(&bench).late_records, 2);
    join_bench_close(&bench);
}

/* 701, 703, 700, 705, 702, 707, 704 commit, and readers look before and after: at each moment
 * something runs, whose xid is below some that have ended. `fifth` is what the fifth reader says it
 * saw; whose record arrives as the `place`th. */
static void overlap(struct join_bench *bench, const char *fifth, unsigned place)
{
    static const char *const snapshots[] = {"700:704:700,702", "702:704:702", "702:706:702,704",
                                            "704:706:704", NULL};
    static const uint32_t commits[] = {701, 703, 700, 705, 702, 707, 704};
    char record[160], key[16];
    join_bench_open(bench, &live);
    for (unsigned arrived = 0; arrived < 5; arrived++) {
        unsigned i = arrived == place ? 4 : arrived - (arrived > place);
        snprintf(record, sizeof record,
                 "{'tid':%u,'sid':%u,'snapshot':'%s','ops':[{'t':'r','k':'t/9','v':null}]}", i + 1,
                 i + 1, snapshots[i] ? snapshots[i] : fifth);
        join_bench_record(bench, record);
    }
    join_bench_record(
        bench,
        "{'tid':6,'sid':6,'xid':708,'snapshot':'706:708:706','ops':[{'t':'w','k':'t/708','v':1}]}");
    for (unsigned i = 0; i < sizeof commits / sizeof *commits; i++) {
        snprintf(key, sizeof key, "t/%" PRIu32, commits[i]);
        deliver(bench, commits[i], 10 + 10 * i, 20 + 10 * i, key, "1");
    }
    deliver(bench, 708, 80, 90, "t/708", "1");
    iso_join_advance(bench->join, 706, 0);
}

static void transactions_that_always_overlap_have_places_while_they_run(void **state)
{
    struct join_bench bench;
    (void)state;
    overlap(&bench, "704:708:704,706", 4);
    STEPS(
        &bench,
        "add cdc:701[,3]{w:t/701=1} add cdc:703[,5]{w:t/703=1} add 1[6,]{r:t/9=-} add cdc:700[,7]{w:t/700=1} add 2[8,]{r:t/9=-} add cdc:705[,9]{w:t/705=1} add 3[10,]{r:t/9=-} add cdc:702[,11]{w:t/702=1} add 4[12,]{r:t/9=-} watermark 11");
    join_bench_close(&bench);
}

/* The fifth does not see 700, as the second does: which of the two is older is open. */
static void snapshot_that_waits_and_lacks_what_others_see_keeps_those(void **state)
{
    (void)state;
    for (unsigned place = 0; place < 5; place++) {
        struct join_bench bench;
        overlap(&bench, "700:708:700,704,706", place);
        STEPS(&bench, "");
        END(&bench);
        STEPS(
            &bench,
            "add cdc:701[,3]{w:t/701=1} add cdc:703[,5]{w:t/703=1} add 1[6,]{r:t/9=-} add cdc:700[,7]{w:t/700=1} add 2[8,]{r:t/9=-} add cdc:705[,9]{w:t/705=1} add 3[10,]{r:t/9=-} add cdc:702[,11]{w:t/702=1} add 4[12,]{r:t/9=-} snapshot-order 5 add 5[12,]{r:t/9=-} add cdc:707[,13]{w:t/707=1} add cdc:704[,15]{w:t/704=1} add 6[16,17]{w:t/708=1}");
        join_bench_close(&bench);
    }
}

/* Commits are remembered for snapshots that arrive later, and not for ever. */
static void placed_commits_are_bounded(void **state)
{
    enum { COMMITS = 300000, LEAST = 1 << 17, FIRST = 1000 };
    struct join_bench bench;
    char record[160];
    (void)state;
    join_bench_open(&bench, &live);
    for (uint32_t i = 0; i < COMMITS; i++) {
        deliver(&bench, FIRST + i, 10 * i, 10 * i + 10, "t/1", "1");
    }
    snprintf(record, sizeof record,
             "{'tid':1,'sid':1,'xid':%u,'snapshot':'%u:%u:','ops':[{'t':'r','k':'t/9','v':null},"
             "{'t':'w','k':'t/2','v':1}]}",
             FIRST + COMMITS, FIRST + COMMITS, FIRST + COMMITS);
    join_bench_record(&bench, record);
    deliver(&bench, FIRST + COMMITS, 10 * COMMITS, 10 * COMMITS + 10, "t/2", "1");
    iso_join_advance(bench.join, FIRST + COMMITS, 0);
    iso_join_end_batch(bench.join);
    assert_int_equal(stats_of(&bench).foreign, COMMITS);
    assert_in_range(bench.join->positions.placed.used, LEAST, 2 * LEAST);
    join_bench_close(&bench);
}

static void transaction_delivered_in_part_holds_the_horizon(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    join_bench_record(&bench,
                      "{'tid':1,'sid':1,'snapshot':'702:702:','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_by_xid(&bench, 701, 10, 19, "t/1", "-", "1");
    join_bench_record(
        &bench,
        "{'tid':2,'sid':1,'xid':705,'snapshot':'705:705:','ops':[{'t':'w','k':'t/2','v':2}]}");
    deliver(&bench, 705, 20, 30, "t/2", "2");
    join_bench_record(
        &bench,
        "{'tid':3,'sid':1,'xid':701,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    iso_join_advance(bench.join, 705, 0);
    STEPS(&bench, "watermark 1"); /* 701 may have committed: its END is on the way */
    join_bench_end(&bench, 701, 1, 20);
    STEPS(&bench, "add 3[2,3]{w:t/1=1} add 1[4,]{r:t/1=1} watermark 3");
    join_bench_close(&bench);
}

static void transaction_of_somebody_else_holds_nothing_up(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    deliver(&bench, 699, 5, 10, "t/9", "9"); /* there will never be a record */
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(
        &bench,
        "{'tid':2,'sid':1,'xid':701,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1},{'t':'w','k':'t/1','v':2}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    deliver(&bench, 701, 20, 30, "t/1", "2");
    iso_join_advance(bench.join, 699, 0);
    STEPS(&bench, ""); /* its record may still come */
    iso_join_advance(bench.join, 702, 0);
    STEPS(&bench, "add cdc:699[,3]{w:t/9=9} add 1[4,5]{w:t/1=1} watermark 5");
    assert_int_equal(stats_of(&bench).foreign, 1);
    join_bench_close(&bench);
}

static void outcome_shows_below_the_horizon(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &live);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','status':'unknown','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(
        &bench,
        "{'tid':2,'sid':2,'xid':701,'snapshot':'700:700:','status':'unknown','ops':[{'t':'w','k':'t/2','v':2}]}");
    join_bench_record(
        &bench,
        "{'tid':3,'sid':3,'xid':702,'snapshot':'702:702:','ops':[{'t':'w','k':'t/3','v':3}]}");
    deliver(&bench, 701, 10, 20, "t/2", "2");
    deliver(&bench, 702, 20, 30, "t/3", "3");
    STEPS(&bench, "");
    iso_join_advance(bench.join, 702, 0);
    STEPS(&bench, "add aborted 1[,]{w:t/1=1} add 2[2,3]{w:t/2=2} watermark 3");
    assert_int_equal(stats_of(&bench).resolved_committed, 1);
    assert_int_equal(stats_of(&bench).resolved_aborted, 1);
    join_bench_close(&bench);
}

/* It has no row and no xid: nothing will ever tell. */
static void unknown_reader_leaves_no_place_behind(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'snapshot':'701:701:','status':'unknown','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':2,'sid':2,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    END(&bench);
    STEPS(&bench, "add aborted 1[,]{r:t/1=1} beyond 2 add cdc:700[,3]{w:t/1=1} add 2[4,]{r:t/1=1}");
    join_bench_close(&bench);
}

/* Its record, made before it had an xid, has none; the transaction that it travels in has. */
static void in_band_reader_has_one_place(void **state)
{
    static const struct iso_join_options in_band = {.kind = "debezium", .initial_known = true};
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &in_band);
    join_bench_in_band(
        &bench, 701, 10, 18,
        "{'tid':1,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':null}]}");
    join_bench_end(&bench, 701, 1, 20);
    join_bench_by_xid(&bench, 702, 20, 27, "t/1", "-", "1");
    join_bench_in_band(
        &bench, 702, 20, 28,
        "{'tid':2,'sid':2,'xid':702,'snapshot':'702:702:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_end(&bench, 702, 2, 30);
    join_bench_in_band(
        &bench, 703, 30, 38,
        "{'tid':3,'sid':1,'xid':703,'snapshot':'703:703:','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_end(&bench, 703, 1, 40);
    END(&bench);
    STEPS(&bench, "add 1[2,3]{r:t/1=-} add 2[4,5]{w:t/1=1} add 3[6,7]{r:t/1=1}");
    assert_int_equal(stats_of(&bench).waiting_records, 0);
    assert_int_equal(stats_of(&bench).waiting_transactions, 0);
    join_bench_close(&bench);
}

/* A stream that ends early says nothing of what commits behind its end, and of who sees that. */
static void undelivered_transaction_waits_beyond_the_extent(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':2,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':0}]}");
    join_bench_record(
        &bench, "{'tid':3,'sid':2,'snapshot':'700:701:700','ops':[{'t':'r','k':'t/1','v':0}]}");
    END(&bench);
    STEPS(&bench, "beyond 3 add 3[2,]{r:t/1=0}");
    assert_int_equal(stats_of(&bench).waiting_records, 2);
    join_bench_close(&bench);
}

/* Somebody was delivered who saw it end: it was lost, and what it wrote is not known from there
 * on. */
static void undelivered_transaction_is_lost_behind_the_extent(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':2,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(
        &bench,
        "{'tid':3,'sid':2,'xid':701,'snapshot':'701:701:','ops':[{'t':'w','k':'t/2','v':1}]}");
    deliver(&bench, 701, 10, 20, "t/2", "1");
    END(&bench);
    STEPS(
        &bench,
        "add cdc:table:4:t/1[,4]{w:t/1=\x02incomplete} lost t add 1[2,3]{w:t/1=1} add 2[4,]{r:t/1=1} "
        "add 3[4,5]{w:t/2=1}");
    assert_int_equal(stats_of(&bench).incomplete, 1);
    join_bench_close(&bench);
}

/* A snapshot that sees an xid of which nobody knows whether it committed is beyond what surely
 * came; later ones are, too. */
static void snapshot_that_sees_an_unknown_xid_is_beyond(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &file);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'xid':700,'snapshot':'700:700:','ops':[{'t':'w','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':2,'sid':1,'snapshot':'701:701:','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':3,'sid':2,'snapshot':'702:702:','ops':[{'t':'r','k':'t/1','v':2}]}");
    deliver(&bench, 700, 10, 20, "t/1", "1");
    END(&bench);
    STEPS(&bench, "beyond 3 add 1[2,3]{w:t/1=1} add 2[4,]{r:t/1=1} add 3[4,]{r:t/1=2}");
    join_bench_close(&bench);
}

/* 32 bits of an xid, around the end of an epoch. */
static void xids_wrap_around(void **state)
{
    struct join_bench bench;
    const uint64_t epoch = (uint64_t)3 << 32;
    char json[256];
    (void)state;
    join_bench_open(&bench, &file);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t xid = epoch - 2 + i;
        snprintf(json, sizeof json,
                 "{'tid':%u,'sid':%u,'xid':'%" PRIu64 "','snapshot':'%" PRIu64 ":%" PRIu64
                 ":','ops':[{'t':'w','k':'t/%u','v':%u}]}",
                 i, i, xid, xid, xid, i, i);
        join_bench_record(&bench, json);
    }
    snprintf(json, sizeof json,
             "{'tid':9,'sid':9,'snapshot':'%" PRIu64 ":%" PRIu64
             ":','ops':[{'t':'r','k':'u/1','v':5}]}",
             epoch + 3, epoch + 3);
    join_bench_record(&bench, json);
    deliver(&bench, 0xfffffffe, 10, 20, "t/0", "0");
    deliver(&bench, 0xffffffff, 20, 30, "t/1", "1");
    deliver(&bench, 0, 30, 40, "t/2", "2");
    deliver(&bench, 1, 40, 50, "t/3", "3");
    deliver(&bench, 2, 50, 60, "u/1", "5"); /* nobody's: the epoch is the nearest */
    deliver(&bench, 0xfffffffd, 60, 70, "u/1", "4");
    END(&bench);
    STEPS(
        &bench,
        "add cdc:4294967293[,3]{w:u/1=4} add 0[4,5]{w:t/0=0} add 1[6,7]{w:t/1=1} add 2[8,9]{w:t/2=2} "
        "add 3[10,11]{w:t/3=3} add cdc:2[,13]{w:u/1=5} add 9[14,]{r:u/1=5}");
    join_bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_stand_below_the_first_snapshot_that_sees_them),
        cmocka_unit_test(who_has_no_snapshot_is_counted_among_the_others),
        cmocka_unit_test(counting_begins_behind_commits_at_their_lsn),
        cmocka_unit_test(commit_stays_at_its_lsn_when_its_snapshot_comes),
        cmocka_unit_test(xids_kept_for_the_first_snapshot_are_bounded),
        cmocka_unit_test(first_snapshot_tells_the_epoch_of_commits_before_it),
        cmocka_unit_test(xids_and_snapshots_stay_in_the_joined_history),
        cmocka_unit_test(readers_without_a_snapshot_are_in_the_joined_history_alone),
        cmocka_unit_test(a_writer_without_a_snapshot_that_wrote_nothing_is_a_reader),
        cmocka_unit_test(ties_go_by_the_log),
        cmocka_unit_test(transactions_without_record_have_places),
        cmocka_unit_test(snapshots_of_operations_are_their_times),
        cmocka_unit_test(snapshot_that_lacks_what_came_before_is_a_violation),
        cmocka_unit_test(who_contradicts_one_that_is_wrong_is_not),
        cmocka_unit_test(snapshot_of_all_numbers_costs_no_more_than_others),
        cmocka_unit_test(places_are_final_below_the_horizon),
        cmocka_unit_test(who_is_seen_first_may_stand_later_in_the_log),
        cmocka_unit_test(readers_alone_have_places_behind_the_grace),
        cmocka_unit_test(snapshots_below_the_promise_are_late),
        cmocka_unit_test(transactions_that_always_overlap_have_places_while_they_run),
        cmocka_unit_test(snapshot_that_waits_and_lacks_what_others_see_keeps_those),
        cmocka_unit_test(placed_commits_are_bounded),
        cmocka_unit_test(transaction_delivered_in_part_holds_the_horizon),
        cmocka_unit_test(transaction_of_somebody_else_holds_nothing_up),
        cmocka_unit_test(outcome_shows_below_the_horizon),
        cmocka_unit_test(unknown_reader_leaves_no_place_behind),
        cmocka_unit_test(in_band_reader_has_one_place),
        cmocka_unit_test(undelivered_transaction_waits_beyond_the_extent),
        cmocka_unit_test(undelivered_transaction_is_lost_behind_the_extent),
        cmocka_unit_test(snapshot_that_sees_an_unknown_xid_is_beyond),
        cmocka_unit_test(xids_wrap_around),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
