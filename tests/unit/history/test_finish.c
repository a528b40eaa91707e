/* The end of building: repeated tids, lists and registers, points, sessions, ranks, snapshots. */
#include "tests/support/test.h"

#include <stdio.h>
#include <time.h>

#include "history/snapshot.h"
#include "tests/support/history.h"

static struct iso_history empty(void)
{
    struct iso_history history;
    iso_history_init(&history);
    iso_history_input(&history, "h");
    return history;
}

static uint32_t begin(struct iso_history *history, const char *tid, const char *session,
                      uint64_t line)
{
    return iso_history_begin(history, test_atom(history, tid), test_atom(history, session),
                             ISO_COMMITTED, line);
}

static void scalar(struct iso_history *history, uint64_t sts, uint64_t cts)
{
    history->clock = ISO_CLOCK_SCALAR;
    iso_history_set_sts(history, (struct iso_stamp){sts, 0});
    iso_history_set_cts(history, (struct iso_stamp){cts, 0});
}

static void finishes(struct iso_history *history)
{
    struct iso_error error = {.status = ISO_OK};
    if (iso_history_finish(history, &error) != ISO_OK)
        fail_msg("%s", error.text);
    assert_true(history->finished);
}

static void refuses(struct iso_history *history, const char *message)
{
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_history_finish(history, &error), ISO_BAD_INPUT);
    assert_string_equal(error.text, message);
    iso_history_release(history);
}

static void a_tid_is_one_transaction(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"7", "7"}, {"4000000000", "4000000000"}, {"x", "x"}, {"2000000000", "2000000000"}};
    static const char *const messages[] = {
        "h:9: tid 7 occurs here and at h:4; a tid must be unique",
        "h:9: tid 4000000000 occurs here and at h:4; a tid must be unique",
        "h:9: tid x occurs here and at h:4; a tid must be unique",
        "h:9: tid 2000000000 occurs here and at h:4; a tid must be unique"};
    for (size_t i = 0; i < 4; i++) {
        struct iso_history history = empty();
        begin(&history, "1", "s", 3);
        begin(&history, pairs[i][0], "s", 4);
        begin(&history, "2", "s", 5);
        begin(&history, pairs[i][1], "t", 9);
        refuses(&history, messages[i]);
    }
    struct iso_history history = empty();
    begin(&history, "7", "s", 1);
    begin(&history, "007", "s", 2);
    begin(&history, "-7", "s", 3);
    finishes(&history);
    iso_history_release(&history);
}

static void a_key_is_list_or_register(void **state)
{
    (void)state;
    struct iso_history history = empty();
    begin(&history, "1", "s", 1);
    iso_history_operation(&history, ISO_WRITE, 5, 1);
    begin(&history, "2", "s", 2);
    iso_history_operation(&history, ISO_READ, 5, ISO_ABSENT);
    iso_history_operation(&history, ISO_APPEND, 5, 2);
    refuses(
        &history,
        "h:2: key 5 is used as a list here and as a single value at h:1; a key is one or the other");

    history = empty();
    iso_history_initial(&history, 5, 1, false);
    begin(&history, "2", "s", 2);
    iso_history_operation(&history, ISO_READ_LIST, 5, iso_history_list(&history));
    refuses(&history,
            "h:2: key 5 is used as a list here and as a single value at the initial transaction; a "
            "key is one or the other");

    /* a null read of a list is a read of the empty list, one of a register stays */
    history = empty();
    begin(&history, "1", "s", 1);
    iso_history_operation(&history, ISO_READ, 5, ISO_ABSENT);
    iso_history_operation(&history, ISO_READ, 6, ISO_ABSENT);
    iso_history_operation(&history, ISO_APPEND, 5, 9);
    finishes(&history);
    assert_int_equal(history.ops.kind[0], ISO_READ_LIST);
    assert_int_equal(history.lists.first[history.ops.value[0]],
                     history.lists.first[history.ops.value[0] + 1]);
    assert_int_equal(history.ops.kind[1], ISO_READ);
    assert_true(iso_key_is_list(&history, history.ops.key[0]));
    iso_history_release(&history);
}

static void points_and_what_is_missing(void **state)
{
    (void)state;
    struct iso_history history = empty();
    begin(&history, "0", "s", 1); /* a reader without cts */
    history.clock = ISO_CLOCK_SCALAR;
    iso_history_set_sts(&history, (struct iso_stamp){10, 0});
    iso_history_operation(&history, ISO_READ, 1, 1);
    iso_history_set_ots(&history, (struct iso_stamp){17, 0});
    begin(&history, "1", "s", 2); /* cts = sts */
    scalar(&history, 20, 20);
    begin(&history, "2", "s", 3); /* a writer */
    scalar(&history, 20, 20);
    iso_history_operation(&history, ISO_WRITE, 1, 1);
    begin(&history, "3", "s", 4); /* a reader with an interval */
    scalar(&history, 20, 21);
    begin(&history, "4", "s", 5); /* nothing at all */
    begin(&history, "5", "s", 6); /* a writer without cts */
    iso_history_operation(&history, ISO_DELETE, 1, ISO_ABSENT);
    iso_history_begin(&history, 6, 1, ISO_ABORTED, 7);
    iso_history_begin(&history, 7, 1, ISO_UNKNOWN, 8);
    finishes(&history);
    assert_int_equal(history.txns.cts[0], 17);
    assert_int_equal(history.txns.flags[0] & (ISO_POINT | ISO_HAS_CTS), ISO_POINT | ISO_HAS_CTS);
    assert_true(history.txns.flags[1] & ISO_POINT);
    assert_false(history.txns.flags[2] & ISO_POINT);
    assert_false(history.txns.flags[3] & ISO_POINT);
    assert_int_equal(history.totals.without_sts, 4);
    assert_int_equal(history.totals.without_cts, 5);
    assert_int_equal(history.totals.committed, 6);
    assert_int_equal(history.totals.aborted, 1);
    assert_int_equal(history.totals.unknown, 1);
    iso_history_release(&history);
}

static void sessions_are_ordered_by_sno(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        int sno; /* -1: none */
    } given[] = {{"a", 5}, {"b", -1}, {"a", 3}, {"b", -1}, {"a", 4}, {"a", 3}, {"b", -1}};
    static const uint32_t order[] = {2, 5, 4, 0,
                                     1, 3, 6}; /* equal ones stay in the input's order */
    struct iso_history history = empty();
    for (uint32_t i = 0; i < 7; i++) {
        char tid[2] = {(char)('0' + i), 0};
        begin(&history, tid, given[i].session, i);
        if (given[i].sno >= 0)
            iso_history_set_sno(&history, (uint64_t)given[i].sno);
    }
    finishes(&history);
    assert_memory_equal(history.sessions.order, order, sizeof order);
    assert_int_equal(history.sessions.first[1], 4);
    assert_int_equal(history.sessions.first[2], 7);
    assert_int_equal(history.txns.sno[6], 2);
    iso_history_release(&history);
}

static void stamp_is(const struct iso_history *history, uint64_t rank, const char *expected)
{
    char text[ISO_STAMP_TEXT];
    iso_history_stamp_text(history, rank, text);
    assert_string_equal(text, expected);
}

static void pairs_become_ranks(void **state)
{
    (void)state;
    struct iso_history history = empty();
    history.clock = ISO_CLOCK_PAIR;
    begin(&history, "1", "s", 1);
    iso_history_set_sts(&history, (struct iso_stamp){5, 9});
    iso_history_set_cts(&history, (struct iso_stamp){6, 0});
    iso_history_operation(&history, ISO_WRITE, 1, 1);
    iso_history_set_ots(&history, (struct iso_stamp){5, UINT64_MAX});
    begin(&history, "2", "s", 2);
    iso_history_set_sts(&history, (struct iso_stamp){5, 10});
    iso_history_set_cts(&history, (struct iso_stamp){UINT64_MAX, 0});
    begin(&history, "3", "s", 3);
    iso_history_set_sts(&history, (struct iso_stamp){6, 0});
    finishes(&history);
    assert_int_equal(history.ranks.count, 5);
    assert_int_equal(history.txns.sts[0], 1);
    assert_int_equal(history.txns.sts[1], 2);
    assert_int_equal(history.ops.ots[0], 3);
    assert_int_equal(history.txns.cts[0], 4);
    assert_int_equal(history.txns.sts[2], 4);
    assert_int_equal(history.txns.cts[1], 5);
    assert_int_equal(history.txns.cts[2], 4); /* filled in: a point */
    stamp_is(&history, 1, "{5,9}");
    stamp_is(&history, 3, "{5,18446744073709551615}");
    stamp_is(&history, 5, "{18446744073709551615,0}");
    iso_history_release(&history);
}

/* Scalars stay, unless the largest number is one of them. */
static void scalars_stay(void **state)
{
    (void)state;
    for (int largest = 0; largest < 2; largest++) {
        struct iso_history history = empty();
        begin(&history, "1", "s", 1);
        scalar(&history, 0, UINT64_MAX - !largest);
        begin(&history, "2", "s", 2);
        scalar(&history, 7, 7);
        finishes(&history);
        assert_int_equal(history.ranks.count, largest ? 3 : 0);
        assert_true(history.txns.cts[0] == (largest ? 3 : UINT64_MAX - 1));
        assert_true(history.txns.sts[0] < history.txns.sts[1] &&
                    history.txns.sts[1] < history.txns.cts[0] && history.txns.cts[0] < UINT64_MAX);
        stamp_is(&history, history.txns.sts[1], "7");
        stamp_is(&history, history.txns.cts[0],
                 largest ? "18446744073709551615" : "18446744073709551614");
        iso_history_release(&history);
    }
}

static void with_snapshot(struct iso_history *history, const char *tid, uint64_t xid,
                          const char *text)
{
    uint32_t snapshot;
    begin(history, tid, tid, 1);
    if (xid)
        iso_history_set_xid(history, xid);
    assert_true(iso_history_snapshot(history, text, strlen(text), &snapshot));
    iso_history_set_snapshot(history, snapshot);
    iso_history_operation(history, xid ? ISO_WRITE : ISO_READ, 1, 1);
}

/* 10 commits, then 11, both while 12 runs; then a reader sees 10 and 11, a last one all. */
static void snapshots_give_positions(void **state)
{
    (void)state;
    struct iso_history history = empty();
    with_snapshot(&history, "10", 10, "10:10:");
    with_snapshot(&history, "12", 12, "10:12:10,11");
    with_snapshot(&history, "11", 11, "11:11:");
    with_snapshot(&history, "20", 0, "12:13:12");
    with_snapshot(&history, "21", 0, "13:13:");
    finishes(&history);
    assert_int_equal(history.clock, ISO_CLOCK_SNAPSHOT);
    assert_int_equal(history.snapshots.violation_count, 0);
    assert_int_equal(history.txns.sts[0], history.txns.sts[1]); /* both see nothing */
    assert_true(history.txns.sts[0] < history.txns.cts[0] &&
                history.txns.cts[0] < history.txns.sts[2]);
    assert_true(history.txns.sts[2] < history.txns.cts[2] &&
                history.txns.cts[2] < history.txns.sts[3]);
    assert_true(history.txns.sts[3] < history.txns.cts[1] &&
                history.txns.cts[1] < history.txns.sts[4]);
    assert_true(history.txns.flags[3] & ISO_POINT);
    iso_history_release(&history);
}

static void operation_with_snapshot(struct iso_history *history, enum iso_operation_kind kind,
                                    const char *text)
{
    uint32_t snapshot;
    iso_history_operation(history, kind, 1, 1);
    assert_true(iso_history_snapshot(history, text, strlen(text), &snapshot));
    iso_history_set_operation_snapshot(history, snapshot);
}

/* 12 wrote and then asked for snapshots, which count 12 itself as finished; 13 sees it in progress
 * all the while. */
static void a_snapshot_does_not_see_its_own(void **state)
{
    (void)state;
    struct iso_history history = empty();
    with_snapshot(&history, "12", 12, "12:12:");
    operation_with_snapshot(&history, ISO_READ, "12:14:13");    /* 12 missing */
    operation_with_snapshot(&history, ISO_READ, "13:15:13,14"); /* xmin above it */
    operation_with_snapshot(&history, ISO_READ, "12:15:12,13"); /* as others see it */
    iso_history_close(&history);
    with_snapshot(&history, "13", 13, "12:13:12");
    operation_with_snapshot(&history, ISO_READ, "12:14:12");
    iso_history_close(&history);
    const uint64_t *xips = history.snapshots.xips;
    for (int i = 1; i < 4; i++) {
        const struct iso_snapshot *one = &history.snapshots.list[i];
        assert_false(iso_snapshot_sees(&history, one, 12));
        assert_false(iso_snapshot_sees(&history, one, 13));
        assert_true(iso_snapshot_sees(&history, one, 11));
        assert_int_equal(one->xmin, 12);
        for (uint32_t x = 1; x < one->xip_count; x++)
            assert_true(xips[one->first_xip + x - 1] < xips[one->first_xip + x]);
    }
    assert_false(iso_snapshot_sees(&history, &history.snapshots.list[2], 14));
    assert_false(iso_snapshot_sees(&history, &history.snapshots.list[5], 13));
    finishes(&history);
    assert_int_equal(history.snapshots.violation_count, 0);
    iso_history_release(&history);
}

/* One sees 10 and not 11, another 11 and not 10: no order contains both. */
static void a_broken_chain_is_a_breach(void **state)
{
    (void)state;
    struct iso_history history = empty();
    with_snapshot(&history, "10", 10, "10:10:");
    with_snapshot(&history, "11", 11, "10:10:");
    with_snapshot(&history, "20", 0, "11:12:11");
    with_snapshot(&history, "21", 0, "10:12:10");
    finishes(&history);
    assert_int_equal(history.snapshots.violation_count, 1);
    const struct iso_snapshot_violation *snapshot_violation = &history.snapshots.violations[0];
    assert_true(snapshot_violation->only_right + snapshot_violation->only_wrong == 21);
    assert_true(iso_snapshot_sees(&history, &history.snapshots.list[snapshot_violation->right],
                                  snapshot_violation->only_right));
    assert_false(iso_snapshot_sees(&history, &history.snapshots.list[snapshot_violation->wrong],
                                   snapshot_violation->only_right));
    assert_true(snapshot_violation->transaction == 2 || snapshot_violation->transaction == 3);
    assert_int_equal(history.txns.snapshot[snapshot_violation->transaction],
                     snapshot_violation->wrong);
    iso_history_release(&history);
}

static void explicit_timestamps_win_over_snapshots(void **state)
{
    (void)state;
    struct iso_history history = empty();
    with_snapshot(&history, "1", 10, "10:10:");
    scalar(&history, 41, 44);
    finishes(&history);
    assert_int_equal(history.clock, ISO_CLOCK_SCALAR);
    assert_int_equal(history.txns.sts[0], 41);
    assert_int_equal(history.txns.cts[0], 44);
    iso_history_release(&history);
}

static void an_xid_is_one_transaction(void **state)
{
    (void)state;
    struct iso_history history = empty();
    with_snapshot(&history, "1", 10, "10:10:");
    with_snapshot(&history, "2", 10, "10:10:");
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_history_finish(&history, &error), ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, "xid 10 occurs here and at h:1"));
    iso_history_release(&history);
}

static void what_is_a_snapshot(void **state)
{
    (void)state;
    static const char *const good[] = {"1:1:", "5:9:6,8", "0:18446744073709551615:", "5:9:8,6,6"};
    static const char *const bad[] = {"",
                                      "5",
                                      "5:",
                                      "5:9",
                                      "9:5:",
                                      "5:9:6,",
                                      "5:9:,6",
                                      "5:9:6 ",
                                      "a:9:",
                                      "5:9:x",
                                      ":9:",
                                      "-1:9:",
                                      "5:18446744073709551616:",
                                      "5:9:6,,8"};
    struct iso_history history = empty();
    uint32_t snapshot;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(iso_history_snapshot(&history, good[i], strlen(good[i]), &snapshot));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(iso_history_snapshot(&history, bad[i], strlen(bad[i]), &snapshot));
    assert_int_equal(history.snapshots.count, 4);
    assert_int_equal(history.snapshots.xip_count, 5);
    assert_true(iso_snapshot_sees(&history, &history.snapshots.list[1], 4));
    assert_true(iso_snapshot_sees(&history, &history.snapshots.list[1], 7));
    assert_false(iso_snapshot_sees(&history, &history.snapshots.list[1], 8));
    assert_false(iso_snapshot_sees(&history, &history.snapshots.list[1], 9));
    iso_history_release(&history);
}

/* Between two snapshots that see the same commits one of unknown outcome may have committed: it
 * began before the second of them. */
static void unknown_owners_began_before_their_equals(void **state)
{
    static const char *const snapshots[] = {"9:9:", "10:10:", "11:11:"};
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    iso_history_init(&history);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t snapshot;
        iso_history_begin(&history, i, i, i == 1 ? ISO_UNKNOWN : ISO_COMMITTED, 0);
        iso_history_set_xid(&history, 9 + i);
        assert_true(iso_history_snapshot(&history, snapshots[i], strlen(snapshots[i]), &snapshot));
        iso_history_set_snapshot(&history, snapshot);
    }
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    assert_true(history.txns.cts[0] <= history.txns.sts[1]);
    assert_true(history.txns.sts[1] < history.txns.sts[2]);
    iso_history_release(&history);
}

/* A transaction that runs all the time keeps every xmin low, and owners of unknown outcome have to
 * be placed too. What that costs is counted in tests/property/growth.c. */
static void snapshots_beside_a_long_transaction_are_placed(void **state)
{
    enum { SNAPSHOTS = 2000 };
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    iso_history_init(&history);
    for (uint32_t i = 0; i < SNAPSHOTS; i++) {
        char text[64];
        uint32_t snapshot;
        iso_history_begin(&history, i, i % 50, i % 4 == 3 ? ISO_UNKNOWN : ISO_COMMITTED, 0);
        iso_history_set_xid(&history, 1000 + i);
        snprintf(text, sizeof text, "500:%u:500", 1000 + i);
        assert_true(iso_history_snapshot(&history, text, strlen(text), &snapshot));
        iso_history_set_snapshot(&history, snapshot);
    }
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    assert_int_equal(history.snapshots.violation_count, 0);
    for (uint32_t i = 1; i < SNAPSHOTS - 1; i++)
        /* the fourth's xid is not known to have committed, so the next sees the same; and it stands
         * below that */
        assert_true(history.txns.sts[i] - history.txns.sts[i - 1] ==
                    (i % 4 == 3 || i % 4 == 0 ? 1 : 2));
    iso_history_release(&history);
}

static void read_list(struct iso_history *history, const char *key, const char *element)
{
    uint32_t list = iso_history_list(history);
    iso_history_element(history, test_atom(history, element));
    iso_history_operation(history, ISO_READ_LIST, test_atom(history, key), list);
}

/* A transaction that uses every column; `change` picks one to differ in. */
static void add_full(struct iso_history *history, const char *tid, int change)
{
    uint32_t snapshot;
    begin(history, tid, change == 1 ? "t" : "s", history->txns.count + 1);
    history->clock = ISO_CLOCK_PAIR;
    iso_history_set_sts(history, (struct iso_stamp){10, change == 2});
    iso_history_set_cts(history, (struct iso_stamp){20 + (change == 3), 0});
    iso_history_set_sno(history, 4 + (change == 4));
    iso_history_set_xid(history, 700 + (change == 5));
    assert_true(iso_history_snapshot(history, change == 6 ? "5:9:6" : "5:9:7", 5, &snapshot));
    iso_history_set_snapshot(history, snapshot);
    read_list(history, "l", change == 7 ? "2" : "1");
    iso_history_operation(history, change == 8 ? ISO_APPEND : ISO_READ, test_atom(history, "l"),
                          ISO_ABSENT);
    iso_history_operation(history, ISO_WRITE, test_atom(history, change == 9 ? "k" : "j"),
                          test_atom(history, "v"));
    iso_history_set_ots(history, (struct iso_stamp){15, change == 10});
    if (change == 11)
        iso_history_operation(history, ISO_DELETE, test_atom(history, "j"), ISO_ABSENT);
    if (change == 12)
        iso_history_set_marks(history, ISO_MARK_CDC_WRITES);
}

static void test_repeats_are_dropped(void **state)
{
    enum { CHANGES = 12 };
    (void)state;
    struct iso_history history = empty();
    assert_int_equal(iso_history_drop_repeats(&history), 0);
    add_full(&history, "1", 0);
    add_full(&history, "1", 0);
    for (int change = 1; change <= CHANGES; change++)
        add_full(&history, "1", change);
    add_full(&history, "2", 0);
    add_full(&history, "1", 0);
    add_full(&history, "2", 0);
    add_full(&history, "3", 11);
    assert_int_equal(iso_history_drop_repeats(&history), 3);
    assert_int_equal(history.txns.count, 1 + CHANGES + 2);
    assert_int_equal(history.ops.count, 3 * (1 + CHANGES + 2) + 2);
    assert_int_equal(history.txns.origin[1], 3); /* the first that differs moved up, whole */
    assert_int_equal(history.txns.origin[1 + CHANGES], 2 + CHANGES + 1);
    assert_int_equal(iso_marks_of(&history, CHANGES), ISO_MARK_CDC_WRITES);
    uint32_t last = history.txns.count - 1;
    assert_int_equal(iso_marks_of(&history, last), 0);
    assert_int_equal(history.txns.tid[last], test_atom(&history, "3"));
    assert_int_equal(history.txns.first_op[last + 1] - history.txns.first_op[last], 4);
    assert_int_equal(iso_kind_of(&history, history.ops.count - 1), ISO_DELETE);
    assert_int_equal(history.ops.ots[history.ops.count - 2], 15);
    iso_history_release(&history);
}

/* Defaults of sno count what is left. */
static void test_dropped_repeats_leave_no_place(void **state)
{
    (void)state;
    struct iso_history history = empty();
    for (uint64_t line = 1; line <= 3; line++) {
        begin(&history, line < 3 ? "1" : "2", "s", line);
        scalar(&history, line < 3 ? 1 : 3, line < 3 ? 2 : 4);
    }
    assert_int_equal(iso_history_drop_repeats(&history), 1);
    finishes(&history);
    assert_int_equal(history.txns.count, 2);
    assert_int_equal(history.sessions.first[1], 2);
    assert_int_equal(history.sessions.order[1], 1);
    assert_int_equal(history.txns.origin[1], 3);
    iso_history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tid_is_one_transaction),
        cmocka_unit_test(a_key_is_list_or_register),
        cmocka_unit_test(points_and_what_is_missing),
        cmocka_unit_test(sessions_are_ordered_by_sno),
        cmocka_unit_test(pairs_become_ranks),
        cmocka_unit_test(scalars_stay),
        cmocka_unit_test(snapshots_give_positions),
        cmocka_unit_test(a_snapshot_does_not_see_its_own),
        cmocka_unit_test(a_broken_chain_is_a_breach),
        cmocka_unit_test(explicit_timestamps_win_over_snapshots),
        cmocka_unit_test(an_xid_is_one_transaction),
        cmocka_unit_test(what_is_a_snapshot),
        cmocka_unit_test(test_repeats_are_dropped),
        cmocka_unit_test(test_dropped_repeats_leave_no_place),
        cmocka_unit_test(unknown_owners_began_before_their_equals),
        cmocka_unit_test(snapshots_beside_a_long_transaction_are_placed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("finish", tests, NULL, NULL);
}
