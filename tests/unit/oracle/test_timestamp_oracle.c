/* The oracle, and chronos beside it, on hand-written histories whose verdicts follow from
 * docs/semantics.md, sentence by sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/oracle/timestamp_oracle.h"
#include "tests/support/brief_history.h"
#include "tests/unit/chronos_case.h"

static struct chronos_counts si(const char *history, const char *wanted)
{
    return chronos_expect(ISO_SI, history, wanted);
}

static struct chronos_counts ser(const char *history, const char *wanted)
{
    return chronos_expect(ISO_SER, history, wanted);
}

static void both_hold(const char *history)
{
    si(history, "");
    ser(history, "");
}

/* ---- TIMESTAMP ---- */

static void times_lie_within_a_transaction(void **state)
{
    static const char *const good[] = {"1 a 10 20 | w x 1 @10\n", "1 a 10 20 | r x null @20\n",
                                       "1 a 10 10 | r x null @10\n"},
                             *const broken[] = {
                                 "1 a 10 20 | r x null @21\n", "1 a 10 20 | r x null @9\n",
                                 "1 a 10 10 | w x 1 @10\n", "1 a 11 10 | r x null @10\n"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        both_hold(good[i]);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        si(broken[i], "TIMESTAMP interval 1\n");
        ser(broken[i], "");
    }
}

static void a_shared_cts_names_the_smallest_other_tid(void **state)
{
    (void)state;
    ser("9 a 10 20 | w x 1\n"
        "10 b 20 20 | w y 1\n"
        "a c 20 20 | w x 2\n"
        "3 d 20 20 | w x 3\n",
        "TIMESTAMP shared-cts 3 9\n"
        "TIMESTAMP shared-cts 9 3\n"
        "TIMESTAMP shared-cts a 3\n");
}

/* Each reads what the other writes, at one cts: no order. One way only: an order. */
static void reads_at_one_cts_have_an_order(void **state)
{
    static const char both[] = "1 a 10 20 | r x null | w y 1\n2 b 10 20 | w x 1 | r y null\n";
    (void)state;
    ser(both, "TIMESTAMP cts-cycle 1\nTIMESTAMP cts-cycle 2\n");
    si(both, "");
    both_hold("1 a 10 20 | r x null | w y 1\n2 b 10 20 | w x 1\n");
}

/* 7 and 8 run side by side. One reader sees 7 only, another 8 only: no chain; who sees more, or
 * later, is blamed. */
static void snapshots_are_a_chain(void **state)
{
#define WRITERS                                                                                    \
    "1 a - - xid=7 snapshot=7:7: | w x 1\n"                                                        \
    "2 b - - xid=8 snapshot=7:7: | w y 1\n"                                                        \
    "3 c - - snapshot=7:8: | r x 1 | r y null\n"
    (void)state;
    both_hold(WRITERS "4 d - - snapshot=7:9: | r y 1\n");
    /* sees 8, not 7: as many as the third, a larger xmax; 8 does not commit by that */
    si(WRITERS "4 d - - snapshot=7:9:7 | r y null\n", "TIMESTAMP snapshot-order 4\n");
    ser(WRITERS "4 d - - snapshot=7:9:7 | r y null\n", "TIMESTAMP snapshot-order 4\n");
    /* sees 7, and reads what 8 wrote */
    si(WRITERS "4 d - - snapshot=7:9:8 | r y 1\n", "EXT future 4 y: 1 of 2, not null of -\n");
#undef WRITERS
}

/* ---- SESSION ---- */

static void a_session_is_compared_with_all_before(void **state)
{
    static const char history[] = "1 s 10 50 | w x 1\n2 s 20 30 | w y 1\n3 s 40 60 | w z 1\n";
    struct plain_history plain;
    struct instances found;
    bool refused[PLAIN_TRANSACTIONS];
    (void)state;
    si(history, "SESSION 2 1\nSESSION 3 1\n");
    ser(history, "SESSION 2 1\n");
    assert_true(brief_plain(&plain, history));
    assert_true(timestamp_oracle(&plain, ISO_SI, false, &found, refused));
    assert_int_equal(found.count, 0);
    /* the first comes last: 0, 1, 2 are the places in the file */
    both_hold("1 s 60 70 sno=3 | w x 1\n2 s 20 30 | w y 1\n3 s 40 60 | w z 1\n");
    si("1 s 5 5 sno=3 aborted | w x 1\n2 s 20 30 | w y 1\n3 s 40 60 | w z 1\n", "");
}

/* Two points tie, a writer at their timestamp stands before them. */
static void a_writer_stands_before_the_points_of_its_session(void **state)
{
    (void)state;
    ser("1 s 20 20 | r x null\n2 s 20 20 | r x null\n3 s 10 20 | w x 1\n",
        "EXT absent 1 x: null of -, not 1 of 3\n"
        "EXT absent 2 x: null of -, not 1 of 3\n"
        "SESSION 3 1\n");
}

/* ---- INT ---- */

/* What was read goes on, although it is not what was written. */
static void a_transaction_reads_its_own_writes(void **state)
{
    static const char history[] = "1 a 10 20 | w x 1 | r x 2 | r x 2\n";
    (void)state;
    assert_int_equal(si(history, "INT 1 x: 2, not 1\n").judged, 2);
    ser(history, "INT 1 x: 2, not 1\n");
}

#define TWO_VERSIONS "1 a 10 20 | w x 1\n2 b 30 40 | w x 2\n"

/* After a read, one at another ots is external as long as T has not written the key. */
static void a_read_at_its_own_time_is_external_again(void **state)
{
    (void)state;
    assert_true(si(TWO_VERSIONS "3 c 20 60 | r x 1 | r x 2 @40\n", "").per_operation);
    assert_false(
        si(TWO_VERSIONS "3 c 20 60 | r x 1 | r x 2\n", "INT 3 x: 2, not 1\n").per_operation);
}

/* ---- EXT ---- */

static void a_read_has_the_newest_version_of_its_start(void **state)
{
    (void)state;
    si(TWO_VERSIONS "3 c 40 60 | r x 2\n", ""); /* a tie is visible */
    si(TWO_VERSIONS "3 c 40 60 | r x 1\n", "EXT stale 3 x: 1 of 1, not 2 of 2\n");
    si(TWO_VERSIONS "3 c 40 60 | r x null\n", "EXT absent 3 x: null of -, not 2 of 2\n");
    si(TWO_VERSIONS "3 c 40 60 | r x 7\n", "EXT uncommitted 3 x: 7 of -, not 2 of 2\n");
    si("initially 7\n" TWO_VERSIONS "3 c 40 60 | r x 7\n", "EXT stale 3 x: 7 of -, not 2 of 2\n");
    si(TWO_VERSIONS "3 c 39 60 | r x 2\n", "EXT future 3 x: 2 of 2, not 1 of 1\n");
    ser(TWO_VERSIONS "3 c 39 60 | r x 2\n", ""); /* SER looks below the commit */
}

static void intermediate_and_aborted_writes_are_not_seen(void **state)
{
#define WRITERS "1 a 10 20 | w x 1 | w x 2\n2 b 10 20 aborted | w x 3"
    (void)state;
    si(WRITERS "\n3 c 20 20 | r x 1\n", "EXT intermediate 3 x: 1 of 1, not 2 of 1\n");
    si(WRITERS "\n3 c 20 20 | r x 3\n", "EXT uncommitted 3 x: 3 of 2, not 2 of 1\n");
    /* both fit: uncommitted comes first */
    si(WRITERS " | w x 1\n3 c 20 20 | r x 1\n", "EXT uncommitted 3 x: 1 of 2, not 2 of 1\n");
#undef WRITERS
}

static void deletes_hide_initial_values(void **state)
{
#define BEFORE "initially 5\ninitial | w y 6\n1 a 10 20 | d x\n2 b 15 15 | r x 5 | r y 6\n"
    (void)state;
    /* a point stands just after all commits at its timestamp */
    both_hold(BEFORE "3 c 20 20 | r x null\n");
    si(BEFORE "3 c 20 20 | r x 5\n", "EXT stale 3 x: 5 of -, not null of 1\n");
#undef BEFORE
}

/* 7 and "7" are one value, "null" is not null. */
static void texts_are_compared_as_texts(void **state)
{
    struct plain_history plain;
    struct instances found;
    bool refused[PLAIN_TRANSACTIONS];
    (void)state;
    assert_true(brief_plain(&plain, "1 a 10 20 | w x 7\n2 b 20 20 | r x 7 | r y null\n"));
    plain.transactions[1].operations[0].value.quoted = true;
    plain.transactions[1].operations[1].value = plain_text("null");
    assert_true(timestamp_oracle(&plain, ISO_SI, true, &found, refused));
    assert_int_equal(found.count, 1);
    assert_int_equal(found.rows[0].kind, ISO_UNCOMMITTED);
    assert_string_equal(found.rows[0].key, "y");
    assert_string_equal(found.rows[0].actual, "null");
}

static void an_unknown_writer_may_be_read_and_hides_nothing(void **state)
{
    struct chronos_counts counts;
    (void)state;
    counts = si("1 a 10 20 unknown | w x 1\n2 b 11 30 | r x 1\n", "");
    assert_int_equal(counts.unjudged, 1);
    assert_int_equal(counts.judged, 0);
    /* it started no earlier than the snapshot */
    si("1 a 10 20 unknown | w x 1\n2 b 10 30 | r x 1\n",
       "EXT uncommitted 2 x: 1 of 1, not null of -\n");
    counts = ser("1 a 10 20 unknown | w x 1\n2 b 10 30 | r x 1\n", "");
    assert_int_equal(counts.unjudged, 1);
    counts = si("1 a 10 20 unknown | w x 1\n2 b 11 30 | r x null\n", "");
    assert_int_equal(counts.unjudged, 0);
}

/* Equal cts: the order of versions is that of the first writes' ots, then of the tids. */
static void versions_of_one_cts_have_an_order(void **state)
{
    (void)state;
    si("9 a 10 20 | w x 1\n10 b 10 20 | w x 2\n3 c 20 20 | r x 2\n", "NOCONFLICT 10 9 x\n");
    si("9 a 10 20 | w x 1 @11\n10 b 10 20 | w x 2\n3 c 20 20 | r x 2\n",
       "EXT stale 3 x: 2 of 10, not 1 of 9\n"
       "NOCONFLICT 9 10 x\n"); /* the later one now */
}

/* ---- NOCONFLICT ---- */

static void writers_of_a_key_do_not_overlap(void **state)
{
    (void)state;
    si("1 a 10 20 | w x 1\n2 b 20 30 | d x\n", ""); /* they touch */
    si("1 a 10 20 | w x 1\n2 b 19 30 | d x\n", "NOCONFLICT 2 1 x\n");
    ser("1 a 10 20 | w x 1\n2 b 19 30 | d x\n", "");
    si("1 a 10 20 | w x 1\n2 b 19 30 | d x @20\n", ""); /* held only from then on */
    struct chronos_counts counts = si("1 a 10 20 | w x 1\n2 b 19 30 | d x lock\n", "");
    assert_int_equal(counts.writes_unjudged, 1);
    assert_true(counts.per_operation);
}

static void a_locking_read_is_just_below_the_commit(void **state)
{
    (void)state;
    si(TWO_VERSIONS "3 c 20 41 | w y 1 | r x 2\n", "EXT future 3 x: 2 of 2, not 1 of 1\n");
    si(TWO_VERSIONS "3 c 20 41 | w y 1 | r x 2 lock\n", "");
    si(TWO_VERSIONS "3 c 20 40 | w y 1 | r x 2 lock\n", "EXT future 3 x: 2 of 2, not 1 of 1\n");
}

/* ---- lists ---- */

static void a_list_ends_with_its_own_appends(void **state)
{
#define APPENDS "initial | a x a\n1 a 10 20 | a x b | a x c\n2 b 20 30 | r x [a,b,c] | a x d"
#define READER "\n3 c 30 30 | r x [a,b,c,d]\n"
    (void)state;
    both_hold(APPENDS " | r x [a,b,c,d]" READER);
    si(APPENDS " | r x [a,b,c,c]" READER, "INT 2 x: [a,b,c,c], not [d]\n");
    /* and sees the same before them */
    si(APPENDS " | r x [b,b,c,d]" READER, "INT 2 x: [b,b,c,d], not [a,b,c,d]\n");
#undef APPENDS
#undef READER
}

static void kinds_of_wrong_lists(void **state)
{
#define READ(list)                                                                                 \
    "initial | a x a\n1 a 10 20 | a x b | a x c\n2 b 20 30 | a x d\n"                              \
    "3 c 10 20 aborted | a x e\n4 d 29 29 | r x [" list "]\n"
    (void)state;
    si(READ("a,z"), "EXT uncommitted 4 x: [a,z] of -, not [a,b,c] of 1\n");
    si(READ("a,e"), "EXT uncommitted 4 x: [a,e] of 3, not [a,b,c] of 1\n");
    si(READ("a,b"), "EXT intermediate 4 x: [a,b] of 1, not [a,b,c] of 1\n");
    si(READ("a,b,c,d"), "EXT future 4 x: [a,b,c,d] of 2, not [a,b,c] of 1\n");
    si(READ(""), "EXT absent 4 x: [] of -, not [a,b,c] of 1\n");
    si(READ("a"), "EXT stale 4 x: [a] of -, not [a,b,c] of 1\n");
    si(READ("a,c,b"), "EXT stale 4 x: [a,c,b] of 1, not [a,b,c] of 1\n");
#undef READ
}

/* ---- what cannot be judged, and what numbers mean ---- */

/* Who lacks a timestamp that the level needs. */
static void refuses(enum iso_level level, const char *history, uint32_t whom)
{
    struct plain_history plain;
    struct instances found;
    bool refused[PLAIN_TRANSACTIONS] = {false};
    assert_true(brief_plain(&plain, history));
    assert_false(timestamp_oracle(&plain, level, true, &found, refused));
    for (uint32_t t = 0; t < plain.transaction_count; t++)
        assert_int_equal(refused[t], t == whom);
}

static void who_lacks_a_time_is_refused(void **state)
{
    (void)state;
    both_hold("1 a 10 20 | w x 1\n2 b 20 - | r x 1\n"); /* a point */
    refuses(ISO_SI, "1 a - 20 | w x 1\n2 b 20 - | r x 1\n", 0);
    ser("1 a - 20 | w x 1\n2 b 20 - | r x 1\n", "");
    refuses(ISO_SER, "1 a - 20 | w x 1\n2 b - - | r x 1\n", 1);
    refuses(ISO_SER, "1 a - - | w x 1\n2 b - - aborted | r x 1\n", 0);
}

static void pairs_and_the_largest_number_are_ordered(void **state)
{
    (void)state;
    /* (2,5) comes after (2,4) */
    si("1 a 1.0 2.5 | w x 1\n2 b 2.4 2.4 | r x 1\n", "EXT future 2 x: 1 of 1, not null of -\n");
    si("1 a 1.0 2.5 | w x 1\n2 b 2.5 2.5 | r x 1\n", "");
#define LARGEST "18446744073709551615"
    si("1 a 1 " LARGEST " | w x 1\n2 b " LARGEST " " LARGEST " | r x 1\n", "");
    si("1 a " LARGEST " " LARGEST " | w x 1\n2 b " LARGEST " " LARGEST " | r x 1\n",
       "TIMESTAMP interval 1\n");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_lie_within_a_transaction),
        cmocka_unit_test(a_shared_cts_names_the_smallest_other_tid),
        cmocka_unit_test(reads_at_one_cts_have_an_order),
        cmocka_unit_test(snapshots_are_a_chain),
        cmocka_unit_test(a_session_is_compared_with_all_before),
        cmocka_unit_test(a_writer_stands_before_the_points_of_its_session),
        cmocka_unit_test(a_transaction_reads_its_own_writes),
        cmocka_unit_test(a_read_at_its_own_time_is_external_again),
        cmocka_unit_test(a_read_has_the_newest_version_of_its_start),
        cmocka_unit_test(intermediate_and_aborted_writes_are_not_seen),
        cmocka_unit_test(deletes_hide_initial_values),
        cmocka_unit_test(texts_are_compared_as_texts),
        cmocka_unit_test(an_unknown_writer_may_be_read_and_hides_nothing),
        cmocka_unit_test(versions_of_one_cts_have_an_order),
        cmocka_unit_test(writers_of_a_key_do_not_overlap),
        cmocka_unit_test(a_locking_read_is_just_below_the_commit),
        cmocka_unit_test(a_list_ends_with_its_own_appends),
        cmocka_unit_test(kinds_of_wrong_lists),
        cmocka_unit_test(who_lacks_a_time_is_refused),
        cmocka_unit_test(pairs_and_the_largest_number_are_ordered),
    };
    return cmocka_run_group_tests_name("timestamp oracle", tests, NULL, NULL);
}
