/* Row sets: what is read, and each mistake with its message. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/history.h"
#include "tests/support/native_case.h"

static int set_up_file(void **state)
{
    set_up(state);
    struct fixture *fixture = *state;
    fixture->native.of_file = true;
    return 0;
}

/* A transaction with these operations, ' for ". */
static enum iso_status read_operations(struct fixture *fixture, const char *tid,
                                       const char *operations)
{
    char text[600];
    int length =
        snprintf(text, sizeof text, "{\"tid\":\"%s\",\"sid\":1,\"sts\":5,\"cts\":9,\"ops\":[%s]}",
                 tid, operations);
    for (int at = 0; at < length; at++)
        text[at] = text[at] == '\'' ? '"' : text[at];
    return read_bytes(fixture, text, (size_t)length);
}

static void assert_key(const struct iso_history *history, uint32_t operation, const char *key,
                       bool absent)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(
        &history->atoms, history->keys.atom[history->ops.key[operation]], buffer, &length);
    assert_int_equal(length, strlen(key));
    assert_memory_equal(text, key, length);
    assert_int_equal(history->ops.value[operation] == ISO_ABSENT, absent);
}

static void rows_and_what_is_missing(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    struct iso_error error = ISO_NO_ERROR;
    bool is_row;
    assert_int_equal(
        read_operations(fixture, "a",
                        "{'t':'w','k':10,'v':1},{'t':'w','k':9,'v':1},{'t':'w','k':'b','v':1},"
                        "{'t':'w','k':'a','v':1},{'t':'w','k':-3,'v':1}"),
        ISO_OK);
    assert_int_equal(
        read_operations(fixture, "b",
                        "{'t':'r','k':9,'v':1},{'rows':{'10':1},'from':9,'to':'a','ots':7,'t':'Q'},"
                        "{'t':'query','rows':{},'to':9},{'t':'d','k':'b'}"),
        ISO_OK);
    assert_int_equal(history->ranges.count, 2);
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    assert_int_equal(history->ops.count, 5 + 1 + 3 + 2 + 1);
    assert_key(history, 6, "10", false);
    assert_key(history, 7, "9", true);
    assert_key(history, 8, "a", true);
    assert_key(history, 9, "-3", true);
    assert_key(history, 10, "9", true);
    assert_key(history, 11, "b", true);
    assert_int_equal(history->ops.kind[11], ISO_DELETE);
    for (uint32_t o = 6; o < 9; o++) {
        assert_int_equal(history->ops.kind[o], ISO_READ | ISO_OPERATION_OTS);
        assert_int_equal(history->ops.ots[o], 7);
        assert_true(iso_history_in_range(history, o, &is_row));
        assert_int_equal(is_row, o == 6);
        assert_int_equal(iso_history_step(history, 1, o), 1);
    }
    assert_int_equal(history->ops.kind[9], ISO_READ);
    assert_false(iso_history_in_range(history, 5, &is_row));
    assert_false(iso_history_in_range(history, 11, &is_row));
    assert_int_equal(iso_history_step(history, 1, 5), 0);
    assert_int_equal(iso_history_step(history, 1, 10), 2);
    assert_int_equal(iso_history_step(history, 1, 11), 3);
    assert_int_equal(iso_history_step(history, 0, 4), 4);
}

static void an_empty_set_is_a_step(void **state)
{
    struct fixture *fixture = *state;
    struct iso_error error = ISO_NO_ERROR;
    assert_int_equal(
        read_operations(fixture, "a", "{'t':'q','from':1,'to':2,'rows':{}},{'t':'w','k':3,'v':1}"),
        ISO_OK);
    assert_int_equal(iso_history_finish(&fixture->history, &error), ISO_OK);
    assert_int_equal(fixture->history.ops.count, 1);
    assert_int_equal(iso_history_step(&fixture->history, 0, 0), 1);
}

static void beyond_the_limit(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    struct iso_error error = ISO_NO_ERROR;
    history->ranges.limit = 2;
    assert_int_equal(
        read_operations(fixture, "a",
                        "{'t':'w','k':1,'v':1},{'t':'w','k':2,'v':1},{'t':'w','k':3,'v':1},"
                        "{'t':'q','rows':{'1':1}},{'t':'q','from':2,'rows':{}},"
                        "{'t':'q','rows':{},'partial':true}"),
        ISO_OK);
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    assert_int_equal(history->ranges.skipped, 1);
    assert_true(history->ranges.list[0].is_skipped);
    assert_int_equal(history->ops.count, 3 + 1 + 2);
}

/* Word for word the same record is a repeat; other bounds make it another one. */
static void repeats(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    const char *operations =
        "{'t':'q','from':1,'to':5,'rows':{'2':1}},{'t':'q','from':7,'rows':{}}";
    struct iso_error error = ISO_NO_ERROR;
    assert_int_equal(read_operations(fixture, "a", operations), ISO_OK);
    assert_int_equal(read_operations(fixture, "a", operations), ISO_OK);
    assert_int_equal(read_operations(fixture, "b", operations), ISO_OK);
    assert_int_equal(iso_history_drop_repeats(history), 1);
    assert_int_equal(history->ranges.count, 4);
    assert_int_equal(history->ranges.list[2].transaction, 1);
    assert_int_equal(
        read_operations(fixture, "b",
                        "{'t':'q','from':1,'to':4,'rows':{'2':1}},{'t':'q','from':7,'rows':{}}"),
        ISO_OK);
    assert_int_equal(iso_history_drop_repeats(history), 0);
    assert_int_equal(iso_history_finish(history, &error), ISO_BAD_INPUT);
}

static void mistakes(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *operation, *message;
    } wrong[] = {
        {"{'t':'q'}",
         "a row set lacks \"rows\", expected {\"t\":\"q\",\"from\":..,\"to\":..,\"rows\":{..}}"},
        {"{'t':'q','rows':{},'k':1}",
         "a row set with \"k\", expected {\"t\":\"q\",\"from\":..,\"to\":..,\"rows\":{..}}"},
        {"{'t':'q','rows':{},'v':1}",
         "a row set with \"v\", expected {\"t\":\"q\",\"from\":..,\"to\":..,\"rows\":{..}}"},
        {"{'t':'r','k':1,'rows':{}}",
         "an operation on one key with members of a row set, expected \"t\":\"q\""},
        {"{'t':'w','k':1,'v':1,'from':1}",
         "an operation on one key with members of a row set, expected \"t\":\"q\""},
        {"{'t':'q','rows':{'9':1,'8':1,'9':2}}", "row 9 stands there twice"},
        {"{'t':'q','rows':[1]}",
         "rows is a list, expected an object, key by key: {\"7\":\"value\"}"},
        {"{'t':'q','rows':{'1':null}}",
         "a row that is null, expected a value: what is not there is left out"},
        {"{'t':'q','rows':{},'from':'a','to':7}",
         "a row set from above its end, expected \"from\" at or below \"to\": integers by size, then texts by bytes"},
        {"{'t':'q','rows':{'9':1},'to':8}", "row 9 lies outside of the bounds of its set"},
        {"{'t':'q','rows':{'9':1},'from':'a'}", "row 9 lies outside of the bounds of its set"},
        {"{'t':'q','rows':{},'partial':1}", "partial is a number, expected true or false"},
        {"{'t':'q','rows':{'9':{'c':1}}}", "a row set of rows with cells lacks \"table\""},
        {"{'t':'q','rows':{},'where':'c = 1'}",
         "a row set with a condition, aggregates or a bag lacks \"table\""},
        {"{'t':'q','rows':{'9':{'c':1},'8':1}}", "a row with cells beside one that is a value"},
        {"{'t':'q','rows':{'9':1,'8':{'c':1}}}", "a row with cells beside one that is a value"},
        {"{'t':'q','table':'T'}",
         "a query with none of \"rows\", \"agg\" and \"bag\", expected one, as in "
         "{\"t\":\"q\",\"table\":..,\"where\":..,\"rows\":{..}}"},
        {"{'t':'q','table':'T','rows':{},'agg':{'count':1}}",
         "a query with several of \"rows\", \"agg\" and \"bag\", expected one, as in "
         "{\"t\":\"q\",\"table\":..,\"where\":..,\"rows\":{..}}"},
        {"{'t':'q','table':'T','rows':{'1':2}}",
         "a query of a table whose rows are values, expected cells: {\"7\":{\"c\":1}}"},
        {"{'t':'q','table':'T','rows':{'1':{'c':2,'c':3}}}", "row T/1#c stands there twice"},
        {"{'t':'q','table':'T','rows':{'1':{'c':[2]}}}",
         "a cell that is a list, expected an integer, a string, a boolean or null"},
        {"{'t':'q','table':'T','bag':[]}",
         "a query with \"bag\" alone, expected \"columns\" and \"bag\""},
        {"{'t':'q','table':'T','rows':{},'columns':['c']}",
         "a query with \"columns\" alone, expected \"columns\" and \"bag\""},
        {"{'t':'q','table':'T','columns':[],'bag':[['x']]}",
         "a bag whose rows have 1 values, of 0 columns"},
        {"{'t':'q','table':'T','columns':['c'],'bag':[[1,2]]}",
         "a bag whose rows have 2 values, of 1 columns"},
        {"{'t':'q','table':'T','columns':['c'],'bag':[[1],[1,2]]}",
         "bag: a row of 2 values, and others of 1"},
        {"{'t':'q','table':'T','columns':['c'],'bag':[1]}",
         "a row of bag is a number, expected a list with a value for each of \"columns\""},
        {"{'t':'q','table':'T','agg':{'count':[1]}}",
         "an aggregate is a list, expected a number, a string, a boolean or null"},
        {"{'t':'r','row':'T/1'}",
         "a read of a row lacks \"cells\", or \"v\":null where there was no row"},
        {"{'t':'r','row':'T/1','v':1}",
         "a row with \"v\", expected \"cells\", or \"v\":null of a row that was not there"},
        {"{'t':'a','row':'T/1','cells':{}}",
         "an append of a row, expected {\"t\":\"r\",\"row\":..,\"cells\":{..}}"},
        {"{'t':'d','row':'T/1','cells':{}}", "a delete of a row with what it had"},
        {"{'t':'r','row':'T/1','k':1}",
         "k or unknown of a row, expected {\"t\":\"r\",\"row\":..,\"cells\":{..}}"},
        {"{'t':'r','k':1,'cells':{}}",
         "an operation lacks \"row\", expected {\"t\":\"r\",\"row\":..,\"cells\":{..}}"},
        {"{'t':'r','row':'T/1','cells':{'':1}}", "a cell of a column without a name"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_operations(fixture, "a", wrong[i].operation), ISO_BAD_INPUT);
        assert_string_equal(fixture->fault.text, wrong[i].message);
        assert_int_equal(fixture->history.ranges.count, 0);
        assert_int_equal(fixture->history.ops.count, 0);
    }
    fixture->native.of_file = false;
    assert_int_equal(read_operations(fixture, "a", "{'t':'q','rows':{}}"), ISO_BAD_INPUT);
    assert_string_equal(
        fixture->fault.text,
        "a row set without \"table\", expected ranges=true on its source, which keeps all keys from the "
        "start");
    fixture->native.takes_ranges = true;
    assert_int_equal(read_operations(fixture, "a", "{'t':'q','rows':{}}"), ISO_OK);
}

/* Members in any order; `#` and other marks in a column's name are encoded. */
static void rows_with_cells(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    fixture->native.of_file = false;
    assert_int_equal(
        read_operations(
            fixture, "a",
            "{'t':'w','cells':{'b':1,'a#/%':null},'row':'T/7'},{'t':'w','row':'T/8'},"
            "{'t':'r','row':'T/7','cells':{},'lock':true},{'t':'r','row':'T/9','v':null},"
            "{'t':'d','row':'T/8'}"),
        ISO_OK);
    assert_int_equal(history->ops.count, 7);
    assert_key(history, 0, "T/7", false);
    assert_key(history, 1, "T/7#b", false);
    assert_key(history, 2, "T/7#a%23%2F%25", true);
    assert_key(history, 3, "T/8", false);
    assert_key(history, 4, "T/7", false);
    assert_key(history, 5, "T/9", true);
    assert_key(history, 6, "T/8", true);
    assert_int_equal(iso_kind_of(history, 2), ISO_WRITE);
    assert_true(history->ops.kind[4] & ISO_OPERATION_LOCK);
    assert_int_equal(iso_kind_of(history, 6), ISO_DELETE);
    assert_int_equal(history->ranges.count,
                     2); /* writes alone are noted, too: they say that it is a row */
    assert_int_equal(iso_history_step(history, 0, 2), 0);
    assert_int_equal(iso_history_step(history, 0, 3), 1);
    assert_int_equal(iso_history_step(history, 0, 6), 4);
}

static void queries(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    assert_int_equal(
        read_operations(
            fixture, "a",
            "{'t':'q','where':'b > 1','rows':{'7':{'b':2},'8':{}},'table':'T','ots':6},"
            "{'t':'q','table':'T','columns':['b', 'c'],'bag':[[1, null]],'from':'1','to':'9'},"
            "{'t':'q','table':'T','agg':{'count': 3},'partial':true,'rows':null}"),
        ISO_OK);
    assert_int_equal(history->ops.count, 6);
    assert_key(history, 0, "T#", true);
    assert_key(history, 1, "T/7", false);
    assert_key(history, 2, "T/7#b", false);
    assert_key(history, 3, "T/8", false);
    assert_key(history, 4, "T#", true);
    assert_int_equal(history->ops.ots[3], 6);
    assert_int_equal(history->ranges.count, 3);
    assert_int_equal(history->ranges.list[0].count, 4);
    assert_int_equal(history->ranges.list[0].form, ISO_SET_QUERY);
    const char *bag =
        iso_atom_text(&history->atoms, history->ranges.list[1].returned, buffer, &length);
    assert_int_equal(length, strlen("{\"columns\":[\"b\",\"c\"],\"bag\":[[1,null]]}"));
    assert_memory_equal(bag, "{\"columns\":[\"b\",\"c\"],\"bag\":[[1,null]]}", length);
    assert_int_equal(history->ranges.list[2].is_partial, true);
    assert_int_equal(iso_history_step(history, 0, 5), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_and_what_is_missing, set_up_file, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_set_is_a_step, set_up_file, tear_down),
        cmocka_unit_test_setup_teardown(beyond_the_limit, set_up_file, tear_down),
        cmocka_unit_test_setup_teardown(repeats, set_up_file, tear_down),
        cmocka_unit_test_setup_teardown(mistakes, set_up_file, tear_down),
        cmocka_unit_test_setup_teardown(rows_with_cells, set_up_file, tear_down),
        cmocka_unit_test_setup_teardown(queries, set_up_file, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("native rows", tests, NULL, NULL);
}
