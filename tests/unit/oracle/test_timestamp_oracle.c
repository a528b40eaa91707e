/* The oracle on hand-written histories whose verdicts follow from docs/semantics.md, sentence by
 * sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/oracle/timestamp_oracle.h"

/* One history and what the oracle says of it; the group's state. */
struct bench {
    struct plain_history history;
    struct instances found;
    bool refused[PLAIN_TRANSACTIONS];
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct bench));
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static struct bench *fresh(void **state)
{
    struct bench *bench = *state;
    plain_history_clear(&bench->history);
    return bench;
}

/* Session = tid unless said otherwise. */
static struct plain_transaction *begin(struct bench *bench, const char *tid, uint64_t sts,
                                       uint64_t cts)
{
    struct plain_transaction *transaction = plain_history_begin(&bench->history, tid, tid);
    transaction->sts = plain_stamp(sts);
    transaction->cts = plain_stamp(cts);
    return transaction;
}

static struct plain_operation *operate(struct plain_transaction *transaction,
                                       enum iso_operation_kind kind, const char *key,
                                       const char *value)
{
    return plain_history_operation(transaction, kind, key, value);
}

/* A list read of single-letter elements: "abc" is [a,b,c]. */
static struct plain_operation *read_list(struct plain_transaction *transaction, const char *key,
                                         const char *elements)
{
    struct plain_operation *read = operate(transaction, ISO_READ_LIST, key, NULL);
    for (; *elements; elements++)
        read->list[read->list_count++] = plain_text((char[]){*elements, 0});
    return read;
}

static void judge(struct bench *bench, enum iso_level level)
{
    assert_true(timestamp_oracle(&bench->history, level, true, &bench->found, bench->refused));
}

static void assert_holds(struct bench *bench, enum iso_level level)
{
    judge(bench, level);
    assert_int_equal(bench->found.count, 0);
}

/* Exactly one violation; returns it. */
static const struct instance *only(struct bench *bench, enum iso_level level, enum iso_axiom axiom,
                                   enum iso_violation_kind kind, uint32_t transaction)
{
    judge(bench, level);
    assert_int_equal(bench->found.count, 1);
    const struct instance *row = &bench->found.rows[0];
    assert_int_equal(row->axiom, axiom);
    assert_int_equal(row->kind, kind);
    assert_int_equal(row->transaction, transaction);
    return row;
}

static void assert_values(const struct instance *row, const char *expected,
                          uint32_t writer_expected, const char *actual, uint32_t writer_actual)
{
    assert_string_equal(row->expected, expected);
    assert_string_equal(row->actual, actual);
    assert_int_equal(row->writer_expected, writer_expected);
    assert_int_equal(row->writer_actual, writer_actual);
}

/* Transactions 0 and 1 write x: 1 at 10-20, 2 at 30-40. */
static void two_versions(struct bench *bench)
{
    operate(begin(bench, "1", 10, 20), ISO_WRITE, "x", "1");
    operate(begin(bench, "2", 30, 40), ISO_WRITE, "x", "2");
}

/* ---- TIMESTAMP ---- */

static void interval(void **state)
{
    static const struct {
        uint64_t sts, cts, ots;
        bool writes, broken;
    } cases[] = {{10, 20, 10, true, false}, {10, 20, 20, false, false}, {10, 20, 21, false, true},
                 {10, 20, 9, false, true},  {10, 10, 10, true, true},   {10, 10, 10, false, false},
                 {11, 10, 10, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench *bench = fresh(state);
        struct plain_operation *operation =
            operate(begin(bench, "1", cases[i].sts, cases[i].cts),
                    cases[i].writes ? ISO_WRITE : ISO_READ, "x", cases[i].writes ? "1" : NULL);
        operation->ots = plain_stamp(cases[i].ots);
        if (cases[i].broken)
            only(bench, ISO_SI, ISO_TIMESTAMP, ISO_INTERVAL, 0);
        else
            assert_holds(bench, ISO_SI);
        assert_holds(bench, ISO_SER);
    }
}

static void shared_cts(void **state)
{
    struct bench *bench = fresh(state);
    operate(begin(bench, "9", 10, 20), ISO_WRITE, "x", "1");
    operate(begin(bench, "10", 20, 20), ISO_WRITE, "y", "1");
    operate(begin(bench, "a", 20, 20), ISO_WRITE, "x", "2");
    operate(begin(bench, "3", 20, 20), ISO_WRITE, "x", "3");
    judge(bench, ISO_SER);
    assert_int_equal(bench->found.count, 3);
    assert_int_equal(bench->found.rows[0].kind, ISO_SHARED_CTS);
    assert_int_equal(bench->found.rows[0].other, 3); /* the smallest tid of the others */
    assert_int_equal(bench->found.rows[1].transaction, 2);
    assert_int_equal(bench->found.rows[1].other, 3);
    assert_int_equal(bench->found.rows[2].other, 0);
}

/* Each reads what the other writes, at one cts: no order. One way only: an order. */
static void cts_cycle(void **state)
{
    for (int both = 0; both < 2; both++) {
        struct bench *bench = fresh(state);
        struct plain_transaction *one = begin(bench, "1", 10, 20), *two = begin(bench, "2", 10, 20);
        operate(one, ISO_READ, "x", NULL);
        operate(one, ISO_WRITE, "y", "1");
        operate(two, ISO_WRITE, "x", "1");
        if (both)
            operate(two, ISO_READ, "y", NULL);
        judge(bench, ISO_SER);
        assert_int_equal(bench->found.count, both ? 2 : 0);
        for (uint32_t i = 0; i < bench->found.count; i++)
            assert_int_equal(bench->found.rows[i].kind, ISO_CTS_CYCLE);
        assert_holds(bench, ISO_SI);
    }
}

static struct plain_snapshot snapshot(uint64_t xmin, uint64_t xmax, uint64_t xip)
{
    return (struct plain_snapshot){
        .given = true, .xmin = xmin, .xmax = xmax, .xip_count = xip != 0, .xip = {xip}};
}

/* 7 and 8 run side by side. One reader sees 7 only, another 8 only: no chain; who sees more, or
 * later, is blamed. */
static void snapshots(void **state)
{
    struct bench *bench = fresh(state);
    const char *tids[] = {"1", "2", "3", "4"};
    struct plain_transaction *t[4];
    for (int i = 0; i < 4; i++)
        t[i] = plain_history_begin(&bench->history, tids[i], tids[i]);
    t[0]->xid = 7;
    t[1]->xid = 8;
    t[0]->snapshot = t[1]->snapshot = snapshot(7, 7, 0);
    t[2]->snapshot = snapshot(7, 8, 0);
    t[3]->snapshot = snapshot(7, 9, 0);
    operate(t[0], ISO_WRITE, "x", "1");
    operate(t[1], ISO_WRITE, "y", "1");
    operate(t[2], ISO_READ, "x", "1");
    operate(t[2], ISO_READ, "y", NULL);
    operate(t[3], ISO_READ, "y", "1");
    assert_holds(bench, ISO_SI);
    assert_holds(bench, ISO_SER);

    t[3]->snapshot = snapshot(7, 9, 7); /* sees 8, not 7: as many as t[2], a larger xmax */
    only(bench, ISO_SI, ISO_TIMESTAMP, ISO_SNAPSHOT_ORDER, 3);
    only(bench, ISO_SER, ISO_TIMESTAMP, ISO_SNAPSHOT_ORDER, 3);

    t[3]->snapshot = snapshot(7, 9, 8); /* sees 7, and reads what 8 wrote */
    const struct instance *row = only(bench, ISO_SI, ISO_EXT, ISO_FUTURE, 3);
    assert_values(row, "null", ISO_NONE, "1", 1);
}

/* ---- SESSION ---- */

static void session(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *transactions[] = {
        begin(bench, "1", 10, 50), begin(bench, "2", 20, 30), begin(bench, "3", 40, 60)};
    for (int i = 0; i < 3; i++) {
        transactions[i]->session = plain_text("s");
        operate(transactions[i], ISO_WRITE, (const char *[]){"x", "y", "z"}[i], "1");
    }
    judge(bench, ISO_SI); /* against every earlier one, not only the one before */
    assert_int_equal(bench->found.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(bench->found.rows[i].axiom, ISO_SESSION);
        assert_int_equal(bench->found.rows[i].transaction, i + 1);
        assert_int_equal(bench->found.rows[i].other, 0);
    }
    only(bench, ISO_SER, ISO_SESSION, ISO_KIND_NONE, 1);
    assert_true(timestamp_oracle(&bench->history, ISO_SI, false, &bench->found, bench->refused));
    assert_int_equal(bench->found.count, 0);

    transactions[0]->has_sno = true; /* comes last now: 0, 1, 2 are the places in the file */
    transactions[0]->sno = 3;
    transactions[0]->sts = plain_stamp(60);
    transactions[0]->cts = plain_stamp(70);
    assert_holds(bench, ISO_SI);
    assert_holds(bench, ISO_SER);
    transactions[0]->status = ISO_ABORTED;
    transactions[0]->sts = transactions[0]->cts = plain_stamp(5);
    assert_holds(bench, ISO_SI);
}

static void session_points(void **state)
{
    struct bench *bench = fresh(state);
    for (int i = 0; i < 3; i++) {
        struct plain_transaction *point = begin(bench, (const char *[]){"1", "2", "3"}[i], 20, 20);
        point->session = plain_text("s");
        operate(point, i == 2 ? ISO_WRITE : ISO_READ, "x", i == 2 ? "1" : NULL);
    }
    bench->history.transactions[2].sts = plain_stamp(10);
    judge(bench, ISO_SER); /* two points tie, a writer at their timestamp stands before them */
    assert_int_equal(bench->found.counts[ISO_SESSION], 1);
    assert_int_equal(bench->found.rows[bench->found.count - 1].transaction, 2);
    assert_int_equal(bench->found.rows[bench->found.count - 1].other, 0);
}

/* ---- INT ---- */

static void internal(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *one = begin(bench, "1", 10, 20);
    operate(one, ISO_WRITE, "x", "1");
    operate(one, ISO_READ, "x", "2"); /* not what was written */
    operate(one, ISO_READ, "x", "2"); /* goes on with the value that was read */
    const struct instance *row = only(bench, ISO_SI, ISO_INT, ISO_KIND_NONE, 0);
    assert_values(row, "1", ISO_NONE, "2", ISO_NONE);
    assert_int_equal(row->operation, 1);
    assert_int_equal(bench->found.reads_judged, 2);
    only(bench, ISO_SER, ISO_INT, ISO_KIND_NONE, 0);
}

/* After a read, one at another ots is external as long as T has not written the key. */
static void external_again(void **state)
{
    struct bench *bench = fresh(state);
    two_versions(bench);
    struct plain_transaction *reader = begin(bench, "3", 20, 60);
    operate(reader, ISO_READ, "x", "1");
    operate(reader, ISO_READ, "x", "2")->ots = plain_stamp(40);
    assert_holds(bench, ISO_SI);
    assert_true(bench->found.per_operation);
    reader->operations[1].ots.given = false;
    only(bench, ISO_SI, ISO_INT, ISO_KIND_NONE, 2);
    assert_false(bench->found.per_operation);
}

/* ---- EXT ---- */

static void external(void **state)
{
    struct bench *bench = fresh(state);
    two_versions(bench);
    struct plain_transaction *reader = begin(bench, "3", 40, 60); /* a tie is visible */
    struct plain_operation *read = operate(reader, ISO_READ, "x", "2");
    assert_holds(bench, ISO_SI);
    read->value = plain_text("1");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_STALE, 2), "2", 1, "1", 0);
    read->value = plain_text(NULL);
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_ABSENT_READ, 2), "2", 1, "null", ISO_NONE);
    read->value = plain_text("7");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_UNCOMMITTED, 2), "2", 1, "7", ISO_NONE);
    bench->history.initial_value = plain_text("7");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_STALE, 2), "2", 1, "7", ISO_NONE);
    reader->sts = plain_stamp(39);
    read->value = plain_text("2");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_FUTURE, 2), "1", 0, "2", 1);
    assert_holds(bench, ISO_SER); /* SER looks below the commit */
}

static void intermediate_and_aborted(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *writer = begin(bench, "1", 10, 20),
                             *aborted = begin(bench, "2", 10, 20);
    operate(writer, ISO_WRITE, "x", "1");
    operate(writer, ISO_WRITE, "x", "2");
    aborted->status = ISO_ABORTED;
    operate(aborted, ISO_WRITE, "x", "3");
    struct plain_operation *read = operate(begin(bench, "3", 20, 20), ISO_READ, "x", "1");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_INTERMEDIATE, 2), "2", 0, "1", 0);
    read->value = plain_text("3");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_UNCOMMITTED, 2), "2", 0, "3", 1);
    operate(aborted, ISO_WRITE, "x", "1"); /* both fit: uncommitted comes first */
    read->value = plain_text("1");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_UNCOMMITTED, 2), "2", 0, "1", 1);
}

static void deletes_and_initials(void **state)
{
    struct bench *bench = fresh(state);
    bench->history.initial_value = plain_text("5");
    bench->history.initials[bench->history.initial_count++] =
        (struct plain_initial){plain_text("y"), plain_text("6"), false};
    operate(begin(bench, "1", 10, 20), ISO_DELETE, "x", NULL);
    struct plain_transaction *before = begin(bench, "2", 15, 15),
                             *after = begin(bench, "3", 20, 20);
    operate(before, ISO_READ, "x", "5");
    operate(before, ISO_READ, "y", "6");
    operate(after, ISO_READ, "x", NULL);
    assert_holds(bench, ISO_SI);
    assert_holds(bench, ISO_SER); /* a point stands just after all commits at its timestamp */
    after->operations[0].value = plain_text("5");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_STALE, 2), "null", 0, "5", ISO_NONE);
}

/* 7 and "7" are one value, "null" is not null. */
static void texts(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *writer = begin(bench, "1", 10, 20),
                             *reader = begin(bench, "2", 20, 20);
    operate(writer, ISO_WRITE, "x", "7");
    operate(reader, ISO_READ, "x", "7")->value.quoted = true;
    operate(reader, ISO_READ, "y", "null");
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_UNCOMMITTED, 1), "null", ISO_NONE, "null",
                  ISO_NONE);
    assert_string_equal(bench->found.rows[0].key, "y");
}

static void unknown_writer(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *unknown = begin(bench, "1", 10, 20);
    unknown->status = ISO_UNKNOWN;
    operate(unknown, ISO_WRITE, "x", "1");
    struct plain_transaction *reader = begin(bench, "2", 11, 30);
    struct plain_operation *read = operate(reader, ISO_READ, "x", "1");
    assert_holds(bench, ISO_SI);
    assert_int_equal(bench->found.reads_unjudged, 1);
    assert_int_equal(bench->found.reads_judged, 0);
    reader->sts = plain_stamp(10); /* it started no earlier than the snapshot */
    assert_values(only(bench, ISO_SI, ISO_EXT, ISO_UNCOMMITTED, 1), "null", ISO_NONE, "1", 0);
    assert_holds(bench, ISO_SER);
    assert_int_equal(bench->found.reads_unjudged, 1);
    reader->sts = plain_stamp(11);
    read->value = plain_text(NULL); /* hides nothing */
    assert_holds(bench, ISO_SI);
    assert_int_equal(bench->found.reads_unjudged, 0);
}

/* Equal cts: the order of versions is that of the first writes' ots, then of the tids. */
static void version_order(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *one = begin(bench, "9", 10, 20), *two = begin(bench, "10", 10, 20);
    operate(one, ISO_WRITE, "x", "1");
    operate(two, ISO_WRITE, "x", "2");
    operate(begin(bench, "3", 20, 20), ISO_READ, "x", "2");
    only(bench, ISO_SI, ISO_NOCONFLICT, ISO_KIND_NONE, 1);
    one->operations[0].ots = plain_stamp(11);
    judge(bench, ISO_SI);
    assert_int_equal(bench->found.counts[ISO_EXT], 1);
    assert_int_equal(bench->found.rows[0].transaction, 0); /* the later one now */
}

/* ---- NOCONFLICT ---- */

static void conflicts(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *one = begin(bench, "1", 10, 20), *two = begin(bench, "2", 20, 30);
    operate(one, ISO_WRITE, "x", "1");
    struct plain_operation *write = operate(two, ISO_DELETE, "x", NULL);
    assert_holds(bench, ISO_SI); /* they touch */
    two->sts = plain_stamp(19);
    const struct instance *row = only(bench, ISO_SI, ISO_NOCONFLICT, ISO_KIND_NONE, 1);
    assert_int_equal(row->other, 0);
    assert_string_equal(row->key, "x");
    assert_holds(bench, ISO_SER);
    write->ots = plain_stamp(20); /* held only from then on */
    assert_holds(bench, ISO_SI);
    write->ots.given = false;
    write->lock = true;
    assert_holds(bench, ISO_SI);
    assert_int_equal(bench->found.writes_unjudged, 1);
    assert_true(bench->found.per_operation);
}

static void locked_read(void **state)
{
    struct bench *bench = fresh(state);
    two_versions(bench);
    struct plain_transaction *reader = begin(bench, "3", 20, 41);
    operate(reader, ISO_WRITE, "y", "1");
    struct plain_operation *read = operate(reader, ISO_READ, "x", "2");
    only(bench, ISO_SI, ISO_EXT, ISO_FUTURE, 2);
    read->lock = true; /* just below cts */
    assert_holds(bench, ISO_SI);
    reader->cts = plain_stamp(40);
    only(bench, ISO_SI, ISO_EXT, ISO_FUTURE, 2);
}

/* ---- lists ---- */

static void lists(void **state)
{
    struct bench *bench = fresh(state);
    bench->history.initials[bench->history.initial_count++] =
        (struct plain_initial){plain_text("x"), plain_text("a"), true};
    struct plain_transaction *one = begin(bench, "1", 10, 20), *two = begin(bench, "2", 20, 30);
    operate(one, ISO_APPEND, "x", "b");
    operate(one, ISO_APPEND, "x", "c");
    read_list(two, "x", "abc");
    operate(two, ISO_APPEND, "x", "d");
    struct plain_operation *own = read_list(two, "x", "abcd");
    struct plain_transaction *reader = begin(bench, "3", 30, 30);
    read_list(reader, "x", "abcd");
    assert_holds(bench, ISO_SI);
    assert_holds(bench, ISO_SER);

    own->list[3] = plain_text("c"); /* must end with its own appends */
    assert_values(only(bench, ISO_SI, ISO_INT, ISO_KIND_NONE, 1), "[d]", ISO_NONE, "[a,b,c,c]",
                  ISO_NONE);
    own->list[3] = plain_text("d");
    own->list[0] = plain_text("b"); /* and see the same before them */
    assert_values(only(bench, ISO_SI, ISO_INT, ISO_KIND_NONE, 1), "[a,b,c,d]", ISO_NONE,
                  "[b,b,c,d]", ISO_NONE);
}

static void list_kinds(void **state)
{
    static const struct {
        const char *read;
        enum iso_violation_kind kind;
        uint32_t writer;
    } cases[] = {{"az", ISO_UNCOMMITTED, ISO_NONE},
                 {"ae", ISO_UNCOMMITTED, 2},
                 {"ab", ISO_INTERMEDIATE, 0},
                 {"abcd", ISO_FUTURE, 1},
                 {"", ISO_ABSENT_READ, ISO_NONE},
                 {"a", ISO_STALE, ISO_NONE},
                 {"acb", ISO_STALE, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench *bench = fresh(state);
        bench->history.initials[bench->history.initial_count++] =
            (struct plain_initial){plain_text("x"), plain_text("a"), true};
        struct plain_transaction *one = begin(bench, "1", 10, 20), *aborted;
        operate(one, ISO_APPEND, "x", "b");
        operate(one, ISO_APPEND, "x", "c");
        operate(begin(bench, "2", 20, 30), ISO_APPEND, "x", "d");
        aborted = begin(bench, "3", 10, 20);
        aborted->status = ISO_ABORTED;
        operate(aborted, ISO_APPEND, "x", "e");
        read_list(begin(bench, "4", 29, 29), "x", cases[i].read);
        const struct instance *row = only(bench, ISO_SI, ISO_EXT, cases[i].kind, 3);
        assert_string_equal(row->expected, "[a,b,c]");
        assert_int_equal(row->writer_expected, 0);
        assert_int_equal(row->writer_actual, cases[i].writer);
    }
}

/* ---- what cannot be judged, and what numbers mean ---- */

static void refusals(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *writer = begin(bench, "1", 10, 20),
                             *reader = begin(bench, "2", 20, 0);
    operate(writer, ISO_WRITE, "x", "1");
    operate(reader, ISO_READ, "x", "1");
    reader->cts.given = false; /* a point */
    assert_holds(bench, ISO_SI);
    assert_holds(bench, ISO_SER);
    writer->sts.given = false;
    assert_false(timestamp_oracle(&bench->history, ISO_SI, true, &bench->found, bench->refused));
    assert_true(bench->refused[0] && !bench->refused[1]);
    assert_holds(bench, ISO_SER);
    reader->sts.given = false;
    assert_false(timestamp_oracle(&bench->history, ISO_SER, true, &bench->found, bench->refused));
    assert_true(!bench->refused[0] && bench->refused[1]);
    reader->status = ISO_ABORTED;
    writer->cts.given = false;
    assert_false(timestamp_oracle(&bench->history, ISO_SER, true, &bench->found, bench->refused));
    assert_true(bench->refused[0] && !bench->refused[1]);
}

static void pairs_and_largest(void **state)
{
    struct bench *bench = fresh(state);
    struct plain_transaction *writer = begin(bench, "1", 1, 2), *reader = begin(bench, "2", 2, 2);
    bench->history.pairs = true;
    operate(writer, ISO_WRITE, "x", "1");
    operate(reader, ISO_READ, "x", "1");
    writer->cts.logical = 5; /* (2,5) comes after (2,4) */
    reader->sts.logical = reader->cts.logical = 4;
    only(bench, ISO_SI, ISO_EXT, ISO_FUTURE, 1);
    reader->sts.logical = reader->cts.logical = 5;
    assert_holds(bench, ISO_SI);
    bench->history.pairs = false;
    writer->cts = reader->sts = reader->cts = plain_stamp(UINT64_MAX);
    assert_holds(bench, ISO_SI);
    writer->sts = plain_stamp(UINT64_MAX);
    only(bench, ISO_SI, ISO_TIMESTAMP, ISO_INTERVAL, 0);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval),
        cmocka_unit_test(shared_cts),
        cmocka_unit_test(cts_cycle),
        cmocka_unit_test(snapshots),
        cmocka_unit_test(session),
        cmocka_unit_test(session_points),
        cmocka_unit_test(internal),
        cmocka_unit_test(external_again),
        cmocka_unit_test(external),
        cmocka_unit_test(intermediate_and_aborted),
        cmocka_unit_test(deletes_and_initials),
        cmocka_unit_test(texts),
        cmocka_unit_test(unknown_writer),
        cmocka_unit_test(version_order),
        cmocka_unit_test(conflicts),
        cmocka_unit_test(locked_read),
        cmocka_unit_test(lists),
        cmocka_unit_test(list_kinds),
        cmocka_unit_test(refusals),
        cmocka_unit_test(pairs_and_largest),
    };
    return cmocka_run_group_tests_name("timestamp oracle", tests, set_up, tear_down);
}
