/* What the binlog of MariaDB asks of the join: GTIDs, groups that did not commit, markers that are
 * all of a transaction. */
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#include "join/join_private.h"
#include "tests/support/join_bench.h"

static const struct iso_join_options alone = {.kind = "debezium", .initial_known = true};
static const struct iso_join_options with_markers = {.kind = "debezium",
                                                     .initial_known = true,
                                                     .clients = true,
                                                     .records_first = true,
                                                     .markers = ISO_JOIN_MARKER_ROWS};
static const struct iso_join_options with_xa = {.kind = "debezium",
                                                .initial_known = true,
                                                .clients = true,
                                                .records_first = true,
                                                .markers = ISO_JOIN_MARKER_ROWS,
                                                .xa = true};

static void set_gtid(struct join_bench *bench, struct iso_event *event, unsigned number)
{
    char text[32];
    int length = snprintf(text, sizeof text, "0-1-%u", number);
    event->transaction_id = iso_atoms_add_string(&bench->block.atoms, text, (size_t)length);
    event->flags |= ISO_EVENT_HAS_ID;
    event->commit = number;
}

static struct iso_event row_of(struct join_bench *bench, unsigned gtid, uint64_t file,
                               uint64_t offset, const char *key, const char *before,
                               const char *after)
{
    struct iso_event event = join_bench_row(bench, key, before, after);
    set_gtid(bench, &event, gtid);
    event.flags |= ISO_EVENT_HAS_POSITION;
    event.position[0] = file;
    event.position[1] = offset << 24;
    return event;
}

static void take_row(struct join_bench *bench, unsigned gtid, uint64_t file, uint64_t offset,
                     const char *key, const char *before, const char *after)
{
    struct iso_event event = row_of(bench, gtid, file, offset, key, before, after);
    join_bench_take(bench, &event);
}

static void take_marker(struct join_bench *bench, unsigned gtid, const char *tid)
{
    struct iso_event event = row_of(bench, gtid, 1, 0, "m/1", "-", "-");
    event.type = ISO_EVENT_IGNORED;
    event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_MARKER;
    event.key = ISO_ABSENT;
    event.marker = iso_atoms_add_string(&bench->block.atoms, tid, strlen(tid));
    join_bench_take(bench, &event);
}

static void take_edge(struct join_bench *bench, enum iso_event_type type, unsigned gtid,
                      uint32_t count)
{
    struct iso_event event = join_bench_row(bench, "m/1", "-", "-");
    event.type = (uint8_t)type;
    event.key = event.table = ISO_ABSENT;
    event.flags = type == ISO_EVENT_END ? ISO_EVENT_HAS_COUNT : 0;
    event.count = count;
    set_gtid(bench, &event, gtid);
    join_bench_take(bench, &event);
}

static void numbers_order_commits_of_two_servers(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &alone);
    take_row(&bench, 8, 1, 50, "t/1", "1",
             "2"); /* the file's number is smaller, and it is the later one */
    take_row(&bench, 7, 12, 900, "t/1", NULL, "1");
    take_edge(&bench, ISO_EVENT_END, 7, 1);
    take_edge(&bench, ISO_EVENT_END, 8, 1);
    STEPS(&bench, "add cdc:0-1-7[,112]{r:t/1=-^,w:t/1=1} add cdc:0-1-8[,128]{r:t/1=1^,w:t/1=2}");
    join_bench_close(&bench);
}

/* A connector that goes on at another server tells again what it had told, and it stands elsewhere
 * there. */
static void rows_told_again_from_another_log(void **state)
{
    (void)state;
    for (int settled = 0; settled < 2; settled++) {
        struct join_bench bench;
        join_bench_open(&bench, &alone);
        take_row(&bench, 6, 12, 800, "t/1", NULL, "0");
        take_edge(&bench, ISO_EVENT_END, 6, 1);
        take_row(&bench, 7, 12, 900, "t/1", "0", "1");
        take_row(&bench, 7, 12, 901, "t/1", "1", "0");
        take_row(&bench, 7, 12, 902, "t/1", "0", "1"); /* as the first one, and another one */
        if (settled)
            take_edge(&bench, ISO_EVENT_END, 7, 4);
        take_row(&bench, 6, 1, 40, "t/1", NULL, "0");
        take_row(&bench, 7, 1, 950, "t/1", "0", "1");
        take_row(&bench, 7, 1, 951, "t/1", "1", "0");
        take_row(&bench, 7, 1, 952, "t/1", "0", "1");
        take_row(&bench, 7, 1, 953, "t/2", NULL, "5");
        if (!settled)
            take_edge(&bench, ISO_EVENT_END, 7, 4);
        take_row(&bench, 7, 1, 953, "t/2", NULL, "5");
        take_row(&bench, 7, 2, 953, "t/2", NULL, "5");
        const char *steps = join_bench_steps(&bench);
        assert_null(strstr(steps, "unwritten"));
        assert_null(strstr(steps, "content"));
        assert_non_null(strstr(steps, "w:t/2=5"));
        assert_int_equal(stats_of(&bench).repeats, 6);
        assert_int_equal(stats_of(&bench).hints_wrong, 0);
        assert_int_equal(stats_of(&bench).rows, 5);
        END(&bench);
        assert_int_equal(stats_of(&bench).incomplete, 0);
        join_bench_close(&bench);
    }
}

static void domains_have_no_common_order(void **state)
{
    struct join_bench bench;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    join_bench_open(&bench, &alone);
    take_row(&bench, 8, 1, 50, "t/1", "1", "2");
    struct iso_event event = row_of(&bench, 9, 1, 60, "t/1", "2", "3");
    event.domain = 1;
    assert_int_equal(iso_join_take(bench.join, &bench.block, &event, 0, &error), ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, "two domains"));
    assert_int_equal(stats_of(&bench).rows_gone[ISO_ROWS_BAD], 1);
    join_bench_close(&bench);
}

static void begin_without_end_was_rolled_back(void **state)
{
    (void)state;
    for (int way = 0; way < 4;
         way++) { /* its row comes before, or behind; the next BEGIN was lost */
        struct join_bench bench;
        join_bench_open(&bench, &alone);
        take_edge(&bench, ISO_EVENT_BEGIN, 7, 0);
        if (way % 2)
            take_row(&bench, 7, 1, 50, "t/1", "1", "666");
        if (way < 2)
            take_edge(&bench, ISO_EVENT_BEGIN, 8, 0);
        if (way % 2 == 0)
            take_row(&bench, 7, 1, 50, "t/1", "1", "666");
        take_row(&bench, 8, 1, 60, "t/1", "1", "2");
        take_edge(&bench, ISO_EVENT_END, 8, 1);
        STEPS(
            &bench,
            "add unknown cdc:0-1-7/0/838860800[111,]{w:t/1=666} add cdc:0-1-8[,128]{r:t/1=1^,w:t/1=2}");
        END(&bench);
        STEPS(&bench, "");
        assert_int_equal(stats_of(&bench).rows_gone[ISO_ROWS_ABORTED], 1);
        assert_int_equal(stats_of(&bench).waiting_transactions, 0);
        join_bench_close(&bench);
    }
}

/* A connector that starts over tells again what came before. */
static void begin_of_an_earlier_one_undoes_nothing(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &alone);
    take_edge(&bench, ISO_EVENT_BEGIN, 8, 0);
    take_edge(&bench, ISO_EVENT_BEGIN, 7, 0);
    take_edge(&bench, ISO_EVENT_END, 7, 0);
    take_edge(&bench, ISO_EVENT_BEGIN, 8, 0);
    take_row(&bench, 8, 1, 60, "t/1", "1", "2");
    take_edge(&bench, ISO_EVENT_END, 8, 1);
    take_edge(&bench, ISO_EVENT_BEGIN, 9, 0);
    STEPS(&bench, "add cdc:0-1-8[,128]{r:t/1=1^,w:t/1=2}");
    assert_int_equal(stats_of(&bench).rows_gone[ISO_ROWS_ABORTED], 0);
    join_bench_close(&bench);
}

/* What clients say of it; a commit can only be of XA, and has no place. */
static void records_of_what_was_undone(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) { /* the log stands before or after the records */
        struct join_bench bench;
        join_bench_open(&bench, &with_markers);
        for (int i = 0; i < 2; i++) {
            if (i == late) {
                join_bench_record(&bench,
                                  "{'tid':'a','sid':1,'ops':[{'t':'w','k':'t/1','v':666}]}");
                join_bench_record(
                    &bench,
                    "{'tid':'b','sid':1,'status':'aborted','ops':[{'t':'w','k':'t/2','v':6}]}");
                join_bench_record(
                    &bench,
                    "{'tid':'c','sid':1,'status':'unknown','ops':[{'t':'w','k':'t/3','v':6}]}");
                continue;
            }
            static const char *const tids[] = {"a", "b", "c"};
            for (unsigned t = 0; t < 3; t++) {
                take_edge(&bench, ISO_EVENT_BEGIN, 7 + t, 0);
                take_row(&bench, 7 + t, 1, 50 + t, t ? t == 1 ? "t/2" : "t/3" : "t/1", "1", "6");
                take_marker(&bench, 7 + t, tids[t]);
            }
            take_edge(&bench, ISO_EVENT_BEGIN, 10, 0);
        }
        END(&bench);
        const char *steps = join_bench_steps(&bench);
        assert_null(strstr(steps, "missing"));
        assert_null(strstr(steps, "add a["));
        assert_non_null(strstr(steps, "resolve c aborted"));
        struct iso_join_stats stats = stats_of(&bench);
        assert_int_equal(stats.unplaced + stats.late_records, 1);
        assert_int_equal(stats.waiting_records, 0);
        join_bench_close(&bench);
    }
}

static void rows_of_xa_have_an_unknown_outcome(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct join_bench bench;
        join_bench_open(&bench, &with_xa);
        take_edge(&bench, ISO_EVENT_BEGIN, 7, 0);
        if (!late)
            take_row(&bench, 7, 1, 50, "t/1", "1", "666");
        take_edge(&bench, ISO_EVENT_BEGIN, 8, 0);
        if (late)
            take_row(&bench, 7, 1, 50, "t/1", "1", "666");
        const char *steps = join_bench_steps(&bench);
        assert_non_null(strstr(steps, "add unknown cdc:0-1-7/"));
        assert_non_null(strstr(steps, "w:t/1=666"));
        join_bench_close(&bench);
    }
}

/* What it says that it committed is not judged, and so counted. */
static void records_of_xa_are_unjudged(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct join_bench bench;
        join_bench_open(&bench, &with_xa);
        for (int i = 0; i < 2; i++) {
            if (i == late) {
                join_bench_record(
                    &bench,
                    "{'tid':'a','sid':1,'ops':[{'t':'r','k':'t/1','v':1},{'t':'w','k':'t/1','v':666}]}");
                continue;
            }
            take_edge(&bench, ISO_EVENT_BEGIN, 7, 0);
            take_row(&bench, 7, 1, 50, "t/1", "1", "666");
            take_marker(&bench, 7, "a");
            take_edge(&bench, ISO_EVENT_BEGIN, 8, 0);
        }
        END(&bench);
        struct iso_join_stats stats = stats_of(&bench);
        assert_null(strstr(join_bench_steps(&bench), "add a["));
        assert_int_equal(stats.records_gone[ISO_RECORDS_XA], 1);
        assert_int_equal(stats.reads_gone[ISO_RECORDS_XA], 1);
        assert_int_equal(stats.rows_gone[ISO_ROWS_XA], 1);
        assert_int_equal(stats.xa_unknown, 1);
        assert_int_equal(stats.unplaced, 0);
        assert_true(iso_join_has_xa(&stats));
        join_bench_close(&bench);
    }
}

/* One that changed nothing, and one that only read, have their place by their marker. */
static void a_marker_is_a_place(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    join_bench_record(
        &bench, "{'tid':'a','sid':1,'ops':[{'t':'r','k':'t/1','v':6},{'t':'w','k':'t/1','v':6}]}");
    join_bench_record(&bench, "{'tid':'b','sid':1,'ops':[{'t':'r','k':'t/1','v':6}]}");
    STEPS(&bench, "");
    take_marker(&bench, 7, "a");
    take_edge(&bench, ISO_EVENT_END, 7, 1);
    take_marker(&bench, 8, "b");
    take_edge(&bench, ISO_EVENT_END, 8, 1);
    STEPS(&bench, "add a[,112]{r:t/1=6,w:t/1=6} probe missing a t/1=6@111 add b[,128]{r:t/1=6}");
    join_bench_record(
        &bench,
        "{'tid':'c','sid':1,'ops':[{'t':'r','k':'t/1','v':6}]}"); /* its marker never comes */
    END(&bench);
    STEPS(&bench, "");
    assert_int_equal(stats_of(&bench).unplaced, 1);
    join_bench_close(&bench);
}

/* MariaDB tells a snapshot by the last commit that it sees. */
static void a_gtid_is_a_snapshot(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    join_bench_record(&bench,
                      "{'tid':'b','sid':1,'snapshot':'0-1-7','ops':[{'t':'r','k':'t/1','v':2}]}");
    STEPS(&bench, "add b[120,]{r:t/1=2}");
    join_bench_record(&bench,
                      "{'tid':'a','sid':1,'snapshot':'0-2-7','ops':[{'t':'w','k':'t/1','v':3}]}");
    take_marker(&bench, 8, "a");
    take_row(&bench, 8, 1, 50, "t/1", "2", "3");
    take_edge(&bench, ISO_EVENT_END, 8, 2);
    STEPS(&bench, "add a[120,128]{w:t/1=3} probe before-image a t/1=2@127");
    join_bench_close(&bench);
}

/* A statement that commits by itself, in the middle of file 2: its BEGIN, and what the schema topic
 * tells of it. */
static void take_statement(struct join_bench *bench, unsigned gtid, uint64_t offset)
{
    struct iso_event event = row_of(bench, gtid, 2, offset, "t/1", "-", "-");
    event.type = ISO_EVENT_DROP;
    event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION | ISO_EVENT_ALONE;
    event.key = ISO_ABSENT;
    join_bench_take(bench, &event);
}

static void take_whole(struct join_bench *bench, unsigned gtid, uint64_t file, uint64_t offset)
{
    take_edge(bench, ISO_EVENT_BEGIN, gtid, 0);
    take_row(bench, gtid, file, offset, "t/9", NULL, "9");
    take_edge(bench, ISO_EVENT_END, gtid, 1);
}

/* And by a place in its binlog: which commits stand in front of it is known once the next one has
 * come. */
static void a_place_in_the_log_is_a_snapshot(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    join_bench_record(&bench,
                      "{'tid':'b','sid':1,'snapshot':'m.2:300','ops':[{'t':'r','k':'t/1','v':2}]}");
    take_whole(&bench, 7, 1, 900);
    take_whole(&bench, 8, 2, 290);
    iso_join_recheck(bench.join);
    assert_null(strstr(join_bench_steps(&bench), "add b"));
    assert_int_equal(stats_of(&bench).waiting_records, 1);
    take_edge(&bench, ISO_EVENT_BEGIN, 9, 0); /* at 300, or later: nobody knows yet */
    iso_join_recheck(bench.join);
    assert_null(strstr(join_bench_steps(&bench), "add b"));
    take_row(&bench, 9, 2, 310, "t/1", "2", "3");
    take_edge(&bench, ISO_EVENT_END, 9, 1);
    take_edge(&bench, ISO_EVENT_BEGIN, 10, 0);
    iso_join_recheck(bench.join);
    assert_non_null(
        strstr(join_bench_steps(&bench), "add b[136,]{r:t/1=2}")); /* behind 8, before 9 */
    assert_int_equal(stats_of(&bench).waiting_records, 0);
    join_bench_close(&bench);
}

static void a_statement_may_stand_before_the_place(void **state)
{
    (void)state;
    for (unsigned told = 0; told < 3; told++) { /* not before the end; at 295; at 305 */
        struct join_bench bench;
        join_bench_open(&bench, &with_markers);
        join_bench_record(&bench,
                          "{'tid':'b','sid':1,'snapshot':'m.2:300','ops':[{'t':'r','k':'t/1'}]}");
        take_whole(&bench, 8, 2, 290);
        take_edge(&bench, ISO_EVENT_BEGIN, 9, 0);
        take_whole(&bench, 10, 2, 310);
        take_edge(&bench, ISO_EVENT_BEGIN, 11, 0);
        iso_join_recheck(bench.join);
        assert_null(strstr(join_bench_steps(&bench), "add b"));
        if (told) {
            take_statement(&bench, 9, told == 1 ? 295 : 305);
            iso_join_recheck(bench.join);
        } else {
            END(&bench);
        }
        assert_non_null(
            strstr(join_bench_steps(&bench), told == 1 ? "add b[152,]" : "add b[136,]"));
        join_bench_close(&bench);
    }
}

/* A long run forgets the texts of what is over, and not those by which it knows what is
 * repeated. */
static void what_is_repeated_is_known_when_texts_were_forgotten(void **state)
{
    enum { GROUPS = 40000, REPEATED = 39000 };
    struct join_bench bench;
    char value[32];
    (void)state;
    join_bench_open(&bench, &alone);
    for (int repeats = 0; repeats < 2; repeats++)
        for (unsigned i = repeats ? REPEATED : 1; i <= (repeats ? REPEATED + 10 : GROUPS); i++) {
            snprintf(value, sizeof value, "value %u", i);
            take_row(&bench, i, 1, 100 + i, "t/1", i > 1 ? "-" : NULL, value);
            take_edge(&bench, ISO_EVENT_END, i, 1);
            iso_join_end_batch(bench.join);
            iso_join_drained(bench.join);
            if (i == GROUPS)
                assert_true(bench.join->texts.atoms.count < 2 * GROUPS);
        }
    assert_int_equal(stats_of(&bench).rows, GROUPS);
    assert_int_equal(stats_of(&bench).repeats, 11);
    join_bench_close(&bench);
}

/* A group whose END says that it had no row stands nowhere, and nobody waits for it. */
static void a_group_without_rows_is_not_waited_for(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    join_bench_record(&bench,
                      "{'tid':'b','sid':1,'snapshot':'m.2:300','ops':[{'t':'r','k':'t/1'}]}");
    take_whole(&bench, 8, 2, 290);
    take_edge(&bench, ISO_EVENT_BEGIN, 9, 0);
    take_edge(&bench, ISO_EVENT_END, 9, 0);
    take_whole(&bench, 10, 2, 310);
    take_edge(&bench, ISO_EVENT_BEGIN, 11, 0);
    iso_join_recheck(bench.join);
    assert_non_null(strstr(join_bench_steps(&bench), "add b[136,]"));
    assert_int_equal(stats_of(&bench).empty_ends, 1);
    join_bench_close(&bench);
}

/* Of a million places the older half goes, and with it the snapshots that stand there. */
static void old_places_in_the_log_are_forgotten(void **state)
{
    enum { PLACES = 1 << 20 };
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    for (uint32_t i = 1; i <= PLACES; i++)
        join_log_note(bench.join, &(struct iso_event){.type = ISO_EVENT_ROW,
                                                      .commit = i,
                                                      .position = {1, (uint64_t)(10 * i) << 24}});
    assert_int_equal(bench.join->log.count, PLACES / 2);
    join_bench_record(&bench,
                      "{'tid':'a','sid':1,'snapshot':'m.1:105','ops':[{'t':'r','k':'t/1'}]}");
    join_bench_record(&bench,
                      "{'tid':'b','sid':1,'snapshot':'m.1:10000005','ops':[{'t':'r','k':'t/1'}]}");
    END(&bench);
    const char *steps = join_bench_steps(&bench);
    assert_null(strstr(steps, "add a"));
    assert_non_null(strstr(steps, "add b[16000008,]")); /* behind 1000000 */
    assert_int_equal(stats_of(&bench).records_gone[ISO_RECORDS_UNPLACED], 1);
    join_bench_close(&bench);
}

/* After a failover a place is one in two logs. */
static void places_of_two_logs_are_none(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    take_whole(&bench, 7, 12, 900);
    take_whole(&bench, 8, 1, 290);
    join_bench_record(&bench,
                      "{'tid':'b','sid':1,'snapshot':'m.1:300','ops':[{'t':'r','k':'t/1','v':2}]}");
    END(&bench);
    struct iso_join_stats stats = stats_of(&bench);
    assert_null(strstr(join_bench_steps(&bench), "add b"));
    assert_int_equal(stats.unplaced, 1);
    assert_int_equal(stats.records_gone[ISO_RECORDS_UNPLACED], 1);
    assert_int_equal(stats.reads_gone[ISO_RECORDS_UNPLACED], 1);
    assert_int_equal(stats.records, 1);
    join_bench_close(&bench);
}

static void places_before_the_connectors_snapshot(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    struct iso_event event = row_of(&bench, 0, 2, 100, "t/1", NULL, "2");
    event.operation = ISO_ROW_SNAPSHOT;
    event.flags = ISO_EVENT_HAS_AFTER | ISO_EVENT_HAS_POSITION;
    join_bench_take(&bench, &event);
    join_bench_record(&bench,
                      "{'tid':'a','sid':1,'snapshot':'m.2:99','ops':[{'t':'r','k':'t/1','v':1}]}");
    join_bench_record(&bench,
                      "{'tid':'b','sid':1,'snapshot':'m.2:100','ops':[{'t':'r','k':'t/1','v':2}]}");
    take_whole(&bench, 7, 2, 120);
    END(&bench);
    const char *steps = join_bench_steps(&bench);
    assert_null(strstr(steps, "add a"));
    assert_non_null(strstr(steps, "add b[104,]")); /* right below 7 */
    assert_int_equal(stats_of(&bench).records_gone[ISO_RECORDS_BEFORE], 1);
    join_bench_close(&bench);
}

static bool is_table_i(void *context, const char *key, size_t length)
{
    (void)context;
    return length > 1 && !memcmp(key, "i/", 2);
}

static void keys_without_case_are_one(void **state)
{
    struct join_bench bench;
    struct iso_join_options options = with_markers;
    (void)state;
    options.is_caseless = is_table_i;
    join_bench_open(&bench, &options);
    join_bench_record(
        &bench,
        "{'tid':'a','sid':1,'ops':[{'t':'r','k':'i/APPLE ,B ','v':1},{'t':'w','k':'i/apple,b','v':2},"
        "{'t':'w','k':'T/A','v':2}]}");
    take_row(&bench, 7, 1, 50, "i/Apple,B", "1", "2");
    take_row(&bench, 7, 1, 51, "T/A", "1", "2");
    take_marker(&bench, 7, "a");
    take_edge(&bench, ISO_EVENT_END, 7, 3);
    STEPS(&bench,
          "add a[,112]{r:i/apple,b=1,w:i/apple,b=2,w:T/A=2} probe before-image a i/apple,b=1@111 "
          "probe before-image a T/A=1@111");
    join_bench_close(&bench);
}

/* A statement that no END ends, at GTID 8, in the middle of what happens to three keys: t/1 is
 * there before and after it, t/2 only before, t/3 only after. */
static const char *change_among_rows(struct join_bench *bench, uint8_t type, uint8_t operation,
                                     int place)
{
    static const unsigned gtids[] = {6, 7, 9, 10};
    static const char *const keys[] = {"t/1", "t/2", "t/3", "t/1"}, *const before[] = {NULL, NULL,
                                                                                       NULL, "1"};
    join_bench_open(bench, &alone);
    for (int i = 0; i <= 4; i++) {
        if (i == place) {
            struct iso_event event = row_of(bench, 8, 1, 55, "t/1", "-", "-");
            event.type = type;
            event.operation = operation;
            event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION | ISO_EVENT_ALONE;
            event.key = ISO_ABSENT;
            join_bench_take(bench, &event);
            join_bench_take(bench, &event); /* in its table's topic and in that of schemas */
        }
        if (i == 4)
            break;
        take_row(bench, gtids[i], 1, 50 + (unsigned)i, keys[i], before[i], "2");
        take_edge(bench, ISO_EVENT_END, gtids[i], 1);
    }
    END(bench);
    return join_bench_steps(bench);
}

static void a_changed_table_has_its_place_in_the_log(void **state)
{
    (void)state;
    for (int place = 0; place <= 4; place++) {
        struct join_bench bench;
        const char *steps = change_among_rows(&bench, ISO_EVENT_DROP, 0, place);
        assert_non_null(strstr(steps, "add cdc:table:128:t/1[,128]{d:t/1}"));
        assert_non_null(strstr(steps, "add cdc:table:128:t/2[,128]{d:t/2}"));
        assert_null(strstr(steps, "table:128:t/3"));
        assert_int_equal(stats_of(&bench).repeats, 1);
        assert_int_equal(stats_of(&bench).initial_versions, 2);
        join_bench_close(&bench);
        steps = change_among_rows(&bench, ISO_EVENT_SCHEMA, ISO_TABLE_RESPELT, place);
        assert_non_null(strstr(steps, "add cdc:table:128:t/1[,128]{w:t/1=\x02schema}"));
        assert_non_null(strstr(steps, "add cdc:table:128:t/2[,128]{w:t/2=\x02schema}"));
        assert_null(strstr(steps, "table:128:t/3"));
        join_bench_close(&bench);
    }
}

static void take_change(struct join_bench *bench, uint8_t operation)
{
    struct iso_event event = row_of(bench, 8, 1, 55, "t/1", "-", "-");
    event.type = operation == ISO_TABLE_EMPTIED ? ISO_EVENT_DROP : ISO_EVENT_SCHEMA;
    event.operation = operation;
    event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION | ISO_EVENT_ALONE;
    event.key = ISO_ABSENT;
    join_bench_take(bench, &event);
}

/* RENAME TABLE t TO u, v TO t: t goes, and is another; told again it is nothing new. */
static void two_changes_at_one_place_have_an_order(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &alone);
    take_row(&bench, 7, 1, 50, "t/1", NULL, "1");
    take_edge(&bench, ISO_EVENT_END, 7, 1);
    for (int time = 0; time < 2; time++) {
        take_change(&bench, ISO_TABLE_EMPTIED);
        take_change(&bench, ISO_TABLE_REPLACED);
    }
    END(&bench);
    const char *steps = join_bench_steps(&bench);
    assert_non_null(strstr(steps, "add cdc:table:128:t/1[,128]{d:t/1}"));
    assert_non_null(strstr(steps, "add cdc:table:129:t/1[,129]{w:t/1=\x02schema}"));
    assert_int_equal(stats_of(&bench).repeats, 2);
    join_bench_close(&bench);
}

/* What another table's rows are, nobody told: not of keys that a client asks for, nor of those that
 * change first. */
static void rows_of_another_table_are_unknown(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &with_markers);
    take_change(&bench, ISO_TABLE_REPLACED);
    join_bench_record(
        &bench,
        "{'tid':'a','sid':1,'snapshot':'0-1-8','ops':[{'t':'r','k':'t/5','v':9},{'t':'r','k':'u/5','v':9}]}");
    take_row(&bench, 9, 1, 60, "t/6", "1", "2");
    take_row(&bench, 9, 1, 61, "t/7", NULL, "2");
    take_edge(&bench, ISO_EVENT_END, 9, 2);
    END(&bench);
    const char *steps = join_bench_steps(&bench);
    assert_non_null(strstr(steps, "add cdc:table:128:t/5[,128]{w:t/5=\x02schema}"));
    assert_non_null(strstr(steps, "add a[136,]{r:t/5=9,r:u/5=9}"));
    assert_non_null(strstr(steps, "add cdc:table:128:t/6[,128]{w:t/6=\x02schema}"));
    assert_null(strstr(steps, "table:128:t/7"));
    assert_null(strstr(steps, "table:128:u/5"));
    join_bench_close(&bench);
}

static void a_database_is_all_of_its_tables(void **state)
{
    struct join_bench bench;
    (void)state;
    join_bench_open(&bench, &alone);
    take_row(&bench, 7, 1, 50, "d.t/1", NULL, "1");
    take_row(&bench, 7, 1, 51, "dd.t/1", NULL, "1");
    take_edge(&bench, ISO_EVENT_END, 7, 2);
    struct iso_event event = row_of(&bench, 8, 1, 55, "t/1", "-", "-");
    event.type = ISO_EVENT_DROP;
    event.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION | ISO_EVENT_ALONE;
    event.key = ISO_ABSENT;
    event.table = iso_atoms_add_string(&bench.block.atoms, "d.", 2);
    join_bench_take(&bench, &event);
    take_row(&bench, 6, 1, 40, "d.u/1", NULL, "1"); /* its partition is read later */
    take_edge(&bench, ISO_EVENT_END, 6, 1);
    END(&bench);
    const char *steps = join_bench_steps(&bench);
    assert_non_null(strstr(steps, "add cdc:table:128:d.t/1[,128]{d:d.t/1}"));
    assert_non_null(strstr(steps, "add cdc:table:128:d.u/1[,128]{d:d.u/1}"));
    assert_null(strstr(steps, "table:128:dd"));
    join_bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gtid_is_a_snapshot),
        cmocka_unit_test(a_place_in_the_log_is_a_snapshot),
        cmocka_unit_test(a_statement_may_stand_before_the_place),
        cmocka_unit_test(what_is_repeated_is_known_when_texts_were_forgotten),
        cmocka_unit_test(a_group_without_rows_is_not_waited_for),
        cmocka_unit_test(old_places_in_the_log_are_forgotten),
        cmocka_unit_test(places_of_two_logs_are_none),
        cmocka_unit_test(places_before_the_connectors_snapshot),
        cmocka_unit_test(keys_without_case_are_one),
        cmocka_unit_test(a_changed_table_has_its_place_in_the_log),
        cmocka_unit_test(two_changes_at_one_place_have_an_order),
        cmocka_unit_test(rows_of_another_table_are_unknown),
        cmocka_unit_test(a_database_is_all_of_its_tables),
        cmocka_unit_test(numbers_order_commits_of_two_servers),
        cmocka_unit_test(rows_told_again_from_another_log),
        cmocka_unit_test(domains_have_no_common_order),
        cmocka_unit_test(begin_without_end_was_rolled_back),
        cmocka_unit_test(begin_of_an_earlier_one_undoes_nothing),
        cmocka_unit_test(records_of_what_was_undone),
        cmocka_unit_test(rows_of_xa_have_an_unknown_outcome),
        cmocka_unit_test(records_of_xa_are_unjudged),
        cmocka_unit_test(a_marker_is_a_place),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
