/* Rows whose columns are registers of their own: events made by hand, table `t` with the columns a,
 * b, c; `n` is never shown. */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/join_bench.h"

static bool covers(void *context, const char *table, size_t length)
{
    (void)context;
    return length == 1 && *table == 't';
}

static enum iso_column_coverage covers_column(void *context, const char *table, size_t length,
                                              const char *column, size_t column_length)
{
    (void)context;
    (void)table;
    (void)length;
    return column_length == 1 && *column <= 'c' ? ISO_COLUMN_SHOWN : ISO_COLUMN_NOT_SHOWN;
}

static struct iso_join_options options_of(const char *kind)
{
    return (struct iso_join_options){.kind = kind,
                                     .initial_known = true,
                                     .clients = true,
                                     .records_first = true,
                                     .covers = covers,
                                     .has_cells = covers,
                                     .covers_column = covers_column};
}

static void open_bench(struct join_bench *bench, const char *kind)
{
    struct iso_join_options options = options_of(kind);
    join_bench_open(bench, &options);
}

/* Of transaction 700, at position `lsn`. */
static void by_xid(struct join_bench *bench, uint64_t lsn, const char *key, char operation,
                   const char *cells)
{
    struct iso_event row = join_bench_row(bench, key, "-", "-");
    row.transaction_id = 700;
    row.flags |= ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION;
    row.position[0] = 10;
    row.position[1] = lsn;
    join_bench_row_of_cells(bench, row, operation, cells);
}

static void by_times(struct join_bench *bench, uint64_t sts, uint64_t cts, const char *key,
                     char operation, const char *cells)
{
    struct iso_event row = join_bench_row(bench, key, "-", "-");
    row.flags |= ISO_EVENT_HAS_STS | ISO_EVENT_HAS_CTS;
    row.sts.physical = sts;
    row.cts.physical = cts;
    join_bench_row_of_cells(bench, row, operation, cells);
}

#define RECORD(operations) "{'tid':1,'sid':1,'xid':700,'sts':5,'cts':30,'ops':[" operations "]}"

/* ---- counting ---- */

static void cells_are_no_messages(void **state)
{
    struct join_bench bench;
    struct iso_join_stats stats;
    (void)state;
    open_bench(&bench, "debezium");
    by_xid(&bench, 20, "t/1", 'c', "a:?>1 b:?>2 c:?>-");
    join_bench_end(&bench, 700, 2, 30);
    STEPS(&bench, ""); /* one of two */
    by_xid(&bench, 21, "t/2", 'u', "a:1>2");
    STEPS(&bench, "add cdc:700[,30]{w:t/1=true,w:t/1#a=1,w:t/1#b=2,d:t/1#c,w:t/2=true,w:t/2#a=2}");
    stats = stats_of(&bench);
    assert_int_equal(stats.rows, 2);
    assert_int_equal(stats.row_events, 2);
    assert_int_equal(stats.rows_gone[ISO_ROWS_FOREIGN], 2);
    assert_int_equal(stats.hints_wrong, 0);
    join_bench_close(&bench);
}

/* END came before: the transaction is whole with the row's last cell. */
static void row_is_whole_with_its_cells(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "debezium");
    join_bench_record(&bench, RECORD("{'t':'w','row':'t/1','cells':{'a':1,'b':2}}"));
    join_bench_end(&bench, 700, 1, 30);
    STEPS(&bench, "");
    by_xid(&bench, 20, "t/1", 'c', "a:?>1 b:?>2 c:?>3");
    STEPS(&bench,
          "add 1[5,30]{w:t/1#c=3,w:t/1=true,w:t/1#a=1,w:t/1#b=2} probe before-image 1 t/1=-@29");
    END(&bench);
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).rows_gone[ISO_ROWS_JUDGED], 1);
    join_bench_close(&bench);
}

static void repeated_row_drops_its_cells(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "debezium");
    by_xid(&bench, 20, "t/1", 'u', "a:1>2 b:3>4");
    by_xid(&bench, 21, "t/1", 'u', "a:2>1");
    by_xid(&bench, 20, "t/1", 'u', "a:1>2 b:3>4");
    by_xid(&bench, 21, "t/1", 'u', "a:2>1");
    join_bench_end(&bench, 700, 2, 30);
    STEPS(&bench, "add cdc:700[,30]{w:t/1=true,w:t/1#a=2,w:t/1#b=4,w:t/1=true,w:t/1#a=1}");
    by_xid(&bench, 20, "t/1", 'u', "a:1>2 b:3>4"); /* and once more, when all is over */
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).repeats, 3);
    assert_int_equal(stats_of(&bench).rows_gone[ISO_ROWS_REPEATED], 3);
    by_xid(&bench, 20, "t/1", 'u', "a:1>2 b:3>5");
    STEPS(&bench, "other-content cdc:700 t/1 ->true");
    join_bench_close(&bench);
}

/* ---- what is compared ---- */

static void unlisted_cells_are_left_to_the_stream(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "debezium");
    join_bench_record(
        &bench,
        RECORD("{'t':'w','row':'t/1','cells':{'a':1}},{'t':'r','row':'t/1','cells':{'c':9}}"));
    by_xid(&bench, 20, "t/1", 'u', "a:0>1 c:8>9"); /* a trigger's */
    by_xid(&bench, 21, "t/2", 'u', "a:0>1");       /* a row that it does not say it wrote */
    join_bench_end(&bench, 700, 2, 30);
    STEPS(&bench,
          "add 1[5,30]{w:t/1#c=9,w:t/1=true,w:t/1#a=1,r:t/1=true,r:t/1#c=9} unwritten 1 t/2#a ->1 "
          "probe before-image 1 t/1=true@29 probe before-image 1 t/1#a=0@29 "
          "probe before-image 1 t/1#c=8@29 probe before-image 1 t/2=true@29 "
          "probe before-image 1 t/2#a=0@29");
    assert_int_equal(stats_of(&bench).adopted, 1);
    join_bench_close(&bench);
}

static void values_of_cells_are_compared(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "ticdc");
    join_bench_record(&bench, RECORD("{'t':'w','row':'t/1','cells':{'a':1,'b':2}}"));
    by_times(&bench, 5, 30, "t/1", 'u', "a:0>7");
    iso_join_advance(bench.join, 30, 0);
    STEPS(&bench, "add 1[5,30]{w:t/1=true,w:t/1#a=1,w:t/1#b=2} value 1 t/1#a 1>7 "
                  "probe missing 1 t/1#b=2@29 probe before-image 1 t/1=true@29 "
                  "probe before-image 1 t/1#a=0@29 watermark 30");
    join_bench_close(&bench);
}

/* What it inserted and nobody recorded is one row. */
static void unwritten_row_is_reported_once(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "ticdc");
    join_bench_record(&bench, RECORD("{'t':'w','row':'t/1','cells':{'a':1}}"));
    by_times(&bench, 5, 30, "t/1", 'c', "a:?>1 b:?>-");
    by_times(&bench, 5, 30, "t/2", 'c', "a:?>1 b:?>-");
    iso_join_advance(bench.join, 30, 0);
    STEPS(&bench, "add 1[5,30]{d:t/1#b,w:t/1=true,w:t/1#a=1} unwritten 1 t/2 ->true "
                  "probe before-image 1 t/1=-@29 probe before-image 1 t/2=-@29 watermark 30");
    join_bench_close(&bench);
}

/* An update that changed nothing has no row: it was not written, and conflicts with nobody. */
static void touch_without_a_row_is_no_write(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "ticdc");
    join_bench_record(
        &bench,
        RECORD("{'t':'w','row':'t/1','cells':{'a':1}},{'t':'w','row':'t/2','cells':{'a':2}}"));
    STEPS(&bench, ""); /* what it wrote is not known yet */
    by_times(&bench, 5, 30, "t/2", 'u', "a:0>2");
    iso_join_advance(bench.join, 30, 0);
    STEPS(
        &bench,
        "add 1[5,30]{w:t/2=true,w:t/2#a=2} probe missing 1 t/1=true@29 probe missing 1 t/1#a=1@29 "
        "probe before-image 1 t/2=true@29 probe before-image 1 t/2#a=0@29 watermark 30");
    join_bench_record(
        &bench, "{'tid':2,'sid':1,'xid':701,'sts':35,'cts':40,'ops':[{'t':'r','row':'t/1','cells':{"
                "'a':1}},{'t':'w','row':'t/1','cells':{'a':1}}]}");
    iso_join_advance(bench.join, 40, 0); /* nothing at all */
    STEPS(
        &bench,
        "add 2[35,40]{r:t/1=true,r:t/1#a=1} probe missing 2 t/1=true@39 probe missing 2 t/1#a=1@39 "
        "watermark 40");
    join_bench_close(&bench);
}

/* Cells of a row that is gone in the end are nobody's, whoever saw them last. */
static void cells_of_deleted_rows_are_not_compared(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "ticdc");
    join_bench_record(&bench,
                      RECORD("{'t':'w','row':'t/1','cells':{'a':1}},{'t':'d','row':'t/1'}"));
    by_times(&bench, 5, 30, "t/1", 'd', "");
    iso_join_advance(bench.join, 30, 0);
    STEPS(&bench,
          "add 1[5,30]{w:t/1=true,w:t/1#a=1,d:t/1} probe before-image 1 t/1=true@29 watermark 30");
    join_bench_close(&bench);
}

/* The row was written once more behind what it lists, and the cell has in the end what it had. */
static void listed_cells_that_were_set_back_are_not_written(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "ticdc");
    join_bench_record(&bench, RECORD("{'t':'d','row':'t/1'},{'t':'w','row':'t/1','cells':{'a':1}},"
                                     "{'t':'w','row':'t/1'}"));
    by_times(&bench, 5, 30, "t/1", 'u', "b:1>2");
    iso_join_advance(bench.join, 30, 0);
    STEPS(&bench, "add 1[5,30]{d:t/1,w:t/1=true,w:t/1=true,w:t/1#b=2} "
                  "probe before-image 1 t/1=true@29 probe before-image 1 t/1#b=1@29 watermark 30");
    join_bench_close(&bench);
}

/* An update without the row before may have been of the row that the client deleted. */
static void deleted_rows_may_have_moved(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "ticdc");
    join_bench_record(&bench, RECORD("{'t':'d','row':'t/1'},{'t':'r','row':'t/1','v':null},"
                                     "{'t':'w','row':'t/2','cells':{'a':2}}"));
    by_times(&bench, 5, 30, "t/2", 'U', "a:?>2");
    iso_join_advance(bench.join, 30, 0);
    STEPS(
        &bench,
        "add 1[5,30]{w:t/2=true,w:t/2#a=2} add cdc:table:30:t/1[,30]{w:t/1=\x02lossy} watermark 30");
    assert_int_equal(stats_of(&bench).reads_gone[ISO_READS_OWN_ORDER], 1);
    assert_int_equal(stats_of(&bench).lost, 1);
    join_bench_close(&bench);
}

/* ---- the order of own writes ---- */

static void writes_stand_where_the_record_wrote_the_row(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "debezium");
    join_bench_record(
        &bench,
        RECORD("{'t':'w','row':'t/1'},{'t':'r','row':'t/1','cells':{'a':1}},{'t':'w','row':'t/1'},"
               "{'t':'r','row':'t/1','cells':{'a':2}}"));
    by_xid(&bench, 20, "t/1", 'u', "a:0>1 b:0>1");
    by_xid(&bench, 21, "t/1", 'u', "a:1>2");
    join_bench_end(&bench, 700, 2, 30);
    STEPS(
        &bench,
        "add 1[5,30]{w:t/1#a=1,w:t/1#b=1,w:t/1=true,r:t/1=true,r:t/1#a=1,w:t/1#a=2,w:t/1=true,r:t/1=true,"
        "r:t/1#a=2} probe before-image 1 t/1=true@29 probe before-image 1 t/1#a=0@29 "
        "probe before-image 1 t/1#b=0@29");
    assert_int_equal(stats_of(&bench).reads_gone[ISO_READS_OWN_ORDER], 0);
    join_bench_close(&bench);
}

/* Where counts do not agree, a read behind a write of the row may be of an own value, and one
 * before it may not. */
static void reads_of_own_values_without_an_order(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "ticdc");
    join_bench_record(
        &bench,
        RECORD("{'t':'r','row':'t/1','cells':{'a':2}},{'t':'w','row':'t/1'},{'t':'w','row':'t/1'},"
               "{'t':'r','row':'t/1','cells':{'a':2}},{'t':'r','row':'t/1','cells':{'a':3}}"));
    by_times(&bench, 5, 30, "t/1", 'u', "a:0>2");
    iso_join_advance(bench.join, 30, 0);
    STEPS(
        &bench,
        "add 1[5,30]{r:t/1=true,r:t/1#a=2,w:t/1=true,w:t/1=true,r:t/1=true,r:t/1=true,r:t/1#a=3,w:t/1#a=2} "
        "probe before-image 1 t/1=true@29 probe before-image 1 t/1#a=0@29 watermark 30");
    assert_int_equal(stats_of(&bench).reads_gone[ISO_READS_OWN_ORDER], 1);
    join_bench_close(&bench);
}

/* Of unknown outcome: the engine has it before the stream says what else it wrote, and that it
 * committed. */
static void unknown_outcomes_leave_cells_beside(void **state)
{
    struct join_bench bench;
    struct iso_join_options options = options_of("ticdc");
    (void)state;
    options.records_first = false;
    join_bench_open(&bench, &options);
    join_bench_record(
        &bench,
        "{'tid':1,'sid':1,'sts':5,'status':'unknown','ops':[{'t':'r','row':'t/1','cells':{'b':0}},"
        "{'t':'w','row':'t/1','cells':{'a':1}},{'t':'r','row':'t/1','cells':{'a':1,'b':7}}]}");
    STEPS(&bench,
          "add unknown 1[5,]{r:t/1=true,r:t/1#b=0,w:t/1=true,w:t/1#a=1,r:t/1=true,r:t/1#a=1}");
    by_times(&bench, 5, 30, "t/1", 'u', "a:0>1 b:0>7");
    iso_join_advance(bench.join, 30, 0);
    STEPS(&bench, "resolve 1 30 probe before-image 1 t/1=true@29 probe before-image 1 t/1#a=0@29 "
                  "probe before-image 1 t/1#b=0@29 add cdc:5[,30]{w:t/1#b=7} watermark 30");
    assert_int_equal(stats_of(&bench).reads_gone[ISO_READS_OWN_ORDER], 1);
    join_bench_close(&bench);
}

/* ---- coverage ---- */

static void columns_that_never_come_are_uncovered(void **state)
{
    struct join_bench bench;
    struct iso_join_left_out left_out;
    (void)state;
    open_bench(&bench, "debezium");
    join_bench_record(
        &bench,
        RECORD("{'t':'r','row':'t/1','cells':{'a':1,'n':5}},{'t':'r','row':'t/2','cells':{'n':5}},"
               "{'t':'w','row':'t/1','cells':{'n':6}}"));
    by_xid(&bench, 20, "t/1", 'u', "");
    join_bench_end(&bench, 700, 1, 30);
    STEPS(
        &bench,
        "add 1[5,30]{r:t/1=true,r:t/1#a=1,r:t/2=true,w:t/1=true} probe before-image 1 t/1=true@29");
    assert_true(iso_join_left_out(bench.join, 0, &left_out));
    assert_int_equal(left_out.operations, 3);
    assert_true(left_out.is_column && !left_out.is_unknown);
    assert_memory_equal(left_out.name, "t#n", left_out.length);
    assert_false(iso_join_left_out(bench.join, left_out.number + 1, &left_out));
    join_bench_close(&bench);
}

static bool covers_more;

static bool covers_later(void *context, const char *table, size_t length)
{
    return covers(context, table, length) || (covers_more && length == 1 && *table == 'u');
}

/* A table that gets a source while its stream is read. A record of before lists nothing of it:
 * nobody is told that its rows are unwritten. What comes later is judged, cells, too. */
static void sources_grow(void **state)
{
    struct join_bench bench;
    struct iso_join_options options = options_of("debezium");
    (void)state;
    covers_more = false;
    options.covers = options.has_cells = covers_later;
    join_bench_open(&bench, &options);
    iso_join_sources_may_grow(bench.join);
    join_bench_record(
        &bench,
        RECORD("{'t':'w','row':'t/1','cells':{'a':1}},{'t':'w','row':'u/1','cells':{'a':1}}"));
    STEPS(&bench, "");
    covers_more = true;
    iso_join_sources_grew(bench.join);
    by_xid(&bench, 20, "t/1", 'u', "a:0>1");
    by_xid(&bench, 21, "u/1", 'c', "a:?>1");
    join_bench_end(&bench, 700, 2, 30);
    STEPS(
        &bench,
        "add 1[5,30]{w:t/1=true,w:t/1#a=1} probe before-image 1 t/1=true@29 probe before-image 1 t/1#a=0@29 "
        "probe before-image 1 u/1=-@29 add cdc:700[,30]{w:u/1=true,w:u/1#a=1}");
    join_bench_record(&bench,
                      "{'tid':3,'sid':1,'sts':50,'ops':[{'t':'r','row':'u/1','cells':{'a':2}}]}");
    STEPS(&bench, "add 3[50,]{r:u/1=true,r:u/1#a=2}");
    join_bench_close(&bench);
}

/* What stood in a column before all rows had it, nobody says. */
static void column_that_varies_is_unknown_at_first(void **state)
{
    struct join_bench bench;
    struct iso_event column;
    (void)state;
    open_bench(&bench, "debezium");
    join_bench_record(&bench,
                      "{'tid':2,'sid':1,'sts':5,'ops':[{'t':'r','row':'t/1','cells':{'a':1}}]}");
    STEPS(&bench, "add 2[5,]{r:t/1=true,r:t/1#a=1}");
    column = join_bench_row(&bench, "t#a", NULL, NULL);
    column.type = ISO_EVENT_COLUMN;
    column.table = iso_atoms_text(&bench.block.atoms, "t", 1);
    column.flags = 0;
    join_bench_take(&bench, &column);
    STEPS(&bench, "initial t/1#a \x02schema");
    join_bench_record(
        &bench, "{'tid':3,'sid':1,'sts':5,'ops':[{'t':'r','row':'t/2','cells':{'a':1,'b':2}}]}");
    STEPS(&bench, "initial t/2#a \x02schema add 3[5,]{r:t/2=true,r:t/2#a=1,r:t/2#b=2}");
    join_bench_close(&bench);
}

/* ---- rows that are gone with their table ---- */

static void drop_takes_rows_and_no_cells(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "debezium");
    by_xid(&bench, 20, "t/1", 'c', "a:?>1");
    join_bench_end(&bench, 700, 1, 30);
    STEPS(&bench, "add cdc:700[,30]{w:t/1=true,w:t/1#a=1}");
    struct iso_event drop = join_bench_row(&bench, "t/1", NULL, NULL);
    drop.type = ISO_EVENT_DROP;
    drop.key = ISO_ABSENT;
    drop.transaction_id = 701;
    drop.position[0] = 30;
    drop.position[1] = 40;
    drop.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION;
    join_bench_take(&bench, &drop);
    join_bench_end(&bench, 701, 1, 50);
    STEPS(&bench, "add cdc:701[,50]{d:t/1} altered t");
    join_bench_close(&bench);
}

/* ---- columns that are locked ---- */

static void by_id(struct join_bench *bench, uint64_t order, const char *key, char operation,
                  const char *cells)
{
    struct iso_event row = join_bench_row(bench, key, "-", "-");
    row.transaction_id = iso_atoms_text(&bench->block.atoms, "x", 1);
    row.flags |= ISO_EVENT_HAS_ID | ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_POSITION;
    row.cts.physical = row.position[0] = 30;
    row.position[1] = row.order = (uint32_t)order;
    join_bench_row_of_cells(bench, row, operation, cells);
}

/* An update writes its columns and not the row; one that says all columns may have left them as
 * they were. */
static void update_of_columns_leaves_the_row(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "yugabyte");
    join_bench_record(
        &bench,
        "{'tid':'x','sid':1,'sts':5,'cts':30,'ops':[{'t':'w','row':'t/1','cells':{'a':1,'b':7}},"
        "{'t':'w','row':'t/2','cells':{'a':1}}]}");
    by_id(&bench, 1, "t/1", 'u', "a:0>1 c:?>5");
    STEPS(&bench, "");
    by_id(&bench, 2, "t/2", 'c', "a:?>1 b:?>2"); /* b of t/1 did not change: nothing is missing */
    STEPS(
        &bench,
        "add x[5,30]{w:t/1#a=1,w:t/1#b=7,w:t/2#b=2,w:t/2=true,w:t/2#a=1} probe missing x t/1#b=7@29 "
        "probe before-image x t/1=true@29 probe before-image x t/1#a=0@29 probe before-image x t/2=-@29 "
        "add cdc:x[,30]{w:t/1#c=5}");
    join_bench_close(&bench);
}

/* The last update may have set `a` back to what the transaction found, whose image it shows: of
 * whichever order they arrive in. */
static void images_are_weighed_in_the_order_of_writes(void **state)
{
    static const uint32_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const cells[] = {"a:0>1", "a:0>2", "b:0>5"};
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct join_bench bench;
        open_bench(&bench, "yugabyte");
        for (int j = 0; j < 3; j++)
            by_id(&bench, orders[i][j] + 1, "t/1", 'u', cells[orders[i][j]]);
        join_bench_record(
            &bench, "{'tid':'x','sid':1,'sts':5,'cts':30,'ops':["
                    "{'t':'w','row':'t/1','cells':{'a':1}},{'t':'w','row':'t/1','cells':{'a':2}},"
                    "{'t':'w','row':'t/1','cells':{'a':0,'b':5}}]}");
        END(&bench);
        const char *steps = join_bench_steps(&bench);
        assert_true(!strncmp(steps, "add x[5,30]", 11) && !strstr(steps, "value "));
        join_bench_close(&bench);
    }
}

/* What the second write left the record does not say: it may be on its way. */
static void row_written_twice_waits_for_both(void **state)
{
    struct join_bench bench;
    (void)state;
    open_bench(&bench, "yugabyte");
    join_bench_record(&bench, "{'tid':'x','sid':1,'sts':5,'cts':30,'ops':["
                              "{'t':'w','row':'t/1'},{'t':'w','row':'t/1'}]}");
    by_id(&bench, 1, "t/1", 'c', "a:?>1");
    END(&bench);
    assert_int_equal(stats_of(&bench).waiting_records, 1);
    join_bench_close(&bench);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_no_messages),
        cmocka_unit_test(row_is_whole_with_its_cells),
        cmocka_unit_test(repeated_row_drops_its_cells),
        cmocka_unit_test(unlisted_cells_are_left_to_the_stream),
        cmocka_unit_test(values_of_cells_are_compared),
        cmocka_unit_test(unwritten_row_is_reported_once),
        cmocka_unit_test(touch_without_a_row_is_no_write),
        cmocka_unit_test(cells_of_deleted_rows_are_not_compared),
        cmocka_unit_test(listed_cells_that_were_set_back_are_not_written),
        cmocka_unit_test(deleted_rows_may_have_moved),
        cmocka_unit_test(writes_stand_where_the_record_wrote_the_row),
        cmocka_unit_test(reads_of_own_values_without_an_order),
        cmocka_unit_test(unknown_outcomes_leave_cells_beside),
        cmocka_unit_test(columns_that_never_come_are_uncovered),
        cmocka_unit_test(sources_grow),
        cmocka_unit_test(column_that_varies_is_unknown_at_first),
        cmocka_unit_test(drop_takes_rows_and_no_cells),
        cmocka_unit_test(row_written_twice_waits_for_both),
        cmocka_unit_test(update_of_columns_leaves_the_row),
        cmocka_unit_test(images_are_weighed_in_the_order_of_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
