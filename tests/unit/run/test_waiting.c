/* What waits: since when nothing of it was settled, and whether input came all the while. */
#include "run/shown/waiting.h"

#include "tests/support/test.h"

enum { SECOND = 1000 };

/* `rows` of so many wait, the oldest for `age`. */
static struct iso_accounting books_of(uint64_t rows, uint64_t came, uint64_t age)
{
    struct iso_accounting books = {.waiting = {.rows = rows, .row.ms = age}};
    books.came[ISO_UNIT_ROWS] = came;
    books.of[ISO_UNIT_ROWS][ISO_ACCOUNTED_WAITING] = rows;
    return books;
}

static uint64_t look(struct run_waiting *waiting, const struct iso_accounting *books,
                     uint64_t messages, uint64_t now)
{
    run_waiting_look(waiting, books, 0, messages, now);
    return waiting->unsettled;
}

static void test_input_in_vain(void **state)
{
    struct run_waiting waiting;
    struct iso_accounting books = books_of(3, 3, 0);
    (void)state;
    run_waiting_init(&waiting, 0);
    assert_int_equal(look(&waiting, &books, 3, SECOND), 0);
    for (uint64_t now = 2; now <= 60; now++) {
        books = books_of(2 + now, 2 + now, (now - 1) * SECOND);
        look(&waiting, &books, 2 + now, now * SECOND);
    }
    assert_int_equal(waiting.unsettled, 59 * SECOND);
    /* one is settled */
    books = books_of(61, 62, 60 * SECOND);
    assert_int_equal(look(&waiting, &books, 62, 61 * SECOND), 0);
    /* and the rest goes */
    books = books_of(0, 62, 0);
    assert_int_equal(look(&waiting, &books, 63, 99 * SECOND), 0);
}

static void test_silence_explains_it(void **state)
{
    struct run_waiting waiting;
    struct iso_accounting books;
    (void)state;
    run_waiting_init(&waiting, SECOND);
    for (uint64_t now = 1; now <= 600; now++) {
        books = books_of(3, 3, (now - 1) * SECOND);
        assert_int_equal(look(&waiting, &books, 3, now * SECOND), 0);
    }
}

/* What came just now has not waited, however long nothing did. */
static void test_waits_from_its_arrival_on(void **state)
{
    struct run_waiting waiting;
    struct iso_accounting books = books_of(0, 3, 0);
    (void)state;
    run_waiting_init(&waiting, 0);
    look(&waiting, &books, 3, SECOND);
    books = books_of(1, 4, 5 * SECOND);
    look(&waiting, &books, 4, 500 * SECOND);
    assert_int_equal(look(&waiting, &books, 5, 590 * SECOND), 5 * SECOND);
}

static void test_reads_wait_for_the_watermark(void **state)
{
    struct run_waiting waiting;
    struct iso_accounting books = {.waiting = {.reads = 9, .read.ms = 90 * SECOND}};
    (void)state;
    run_waiting_init(&waiting, 0);
    run_waiting_look(&waiting, &books, 5, 1, SECOND);
    run_waiting_look(&waiting, &books, 5, 2, 41 * SECOND);
    assert_int_equal(waiting.unsettled, 40 * SECOND);
    run_waiting_look(&waiting, &books, 6, 3, 42 * SECOND);
    assert_int_equal(waiting.unsettled, 0);
}

static void test_change_streams_are_heard(void **state)
{
    struct run_waiting waiting;
    (void)state;
    run_waiting_init(&waiting, 7);
    run_waiting_note_changes(&waiting, 0, 50);
    assert_int_equal(waiting.changed_at, 7);
    run_waiting_note_changes(&waiting, 4, 60);
    run_waiting_note_changes(&waiting, 4, 70);
    assert_int_equal(waiting.changed_at, 60);
}

static void test_classes(void **state)
{
    struct iso_accounting books = {.waiting = {.records = 1,
                                               .rows = 2,
                                               .reads = 3,
                                               .overtaken = 4,
                                               .for_outcome = 5,
                                               .for_snapshot = 6,
                                               .for_order = 7,
                                               .for_schema = 8,
                                               .queries = 9,
                                               .tables = 10,
                                               .beyond = 11,
                                               .total = 66,
                                               .row.ms = 9}};
    struct run_waiting_class class;
    uint64_t sum = 0;
    unsigned i;
    (void)state;
    for (i = 0; run_waiting_class(&books, i, &class); i++) {
        sum += class.count;
        assert_true(*class.what && *class.final);
    }
    assert_int_equal(i, 11);
    assert_int_equal(sum, books.waiting.total);
    assert_int_equal(run_waiting_on_inputs(&books), 6);
    assert_int_equal(run_waiting_oldest(&books), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_in_vain),
        cmocka_unit_test(test_silence_explains_it),
        cmocka_unit_test(test_waits_from_its_arrival_on),
        cmocka_unit_test(test_reads_wait_for_the_watermark),
        cmocka_unit_test(test_change_streams_are_heard),
        cmocka_unit_test(test_classes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
