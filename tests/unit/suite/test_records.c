/* Records on their way into a capture, and what is told from there: those that rolled back become
 * ones that only read. */
#include "suite/records.h"
#include "suite/told.h"

#include "tests/support/test.h"

#include "base/memory.h"

/* What becomes of a line, which then is told. */
static void assert_becomes_of(struct suite_tables *tables, struct suite_told *told,
                              const char *line, const char *expected)
{
    struct suite_records records = {.left_out = 0};
    size_t length = strlen(line);
    char *padded = iso_allocate_zeroed(length + ISO_JSON_PADDING, 1);
    struct iso_text put = {0};
    memcpy(padded, line, length);
    suite_records_take(&records, tables, padded, length, &put);
    *iso_text_reserve(&put, ISO_JSON_PADDING) = 0;
    assert_string_equal(put.bytes, expected);
    suite_told_take(told, put.bytes, put.used);
    suite_records_release(&records);
    iso_text_release(&put);
    iso_free(padded);
}

static void assert_becomes(struct suite_told *told, const char *line, const char *expected)
{
    assert_becomes_of(NULL, told, line, expected);
}

static void what_committed_stays(void **state)
{
    (void)state;
    struct suite_told told = {.count = 0};
    static const char line[] =
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"a/1\",\"v\":null,"
        "\"sent\":5,\"answered\":6},{\"t\":\"w\",\"row\":\"a/2\"}],\"level\":\"SERIALIZABLE\","
        "\"sent\":7,\"answered\":8,\"status\":\"committed\"}";
    assert_becomes(&told, line, line);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.list[0].level, SUITE_SERIALIZABLE);
    assert_true(told.list[0].is_known && !told.list[0].has_rolled_back);
    assert_int_equal(told.list[0].sent, 7);
    assert_int_equal(told.list[0].answered, 8);
    assert_int_equal(told.read_count, 1);
    assert_int_equal(told.reads[0].sent, 5);
    assert_int_equal(told.reads[0].answered, 6);
    static const char count[] = "{\"recorder\":\"r\",\"records\":3,\"ended\":true}";
    assert_becomes(&told, count, count);
    assert_int_equal(told.count, 1);
    suite_told_release(&told);
}

static void what_rolled_back_only_reads(void **state)
{
    (void)state;
    struct suite_told told = {.count = 0};
    assert_becomes(
        &told,
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"w\",\"row\":\"a/2\"},"
        "{\"t\":\"r\",\"row\":\"b/1\",\"cells\":{\"v\":\"],}\"}},{\"t\":\"d\",\"row\":\"a/1\"},"
        "{\"t\":\"q\",\"table\":\"a\",\"rows\":{},\"own\":true},"
        "{\"t\":\"q\",\"table\":\"b\",\"rows\":{}}],\"xid\":\"7\",\"snapshot\":\"1:1:\","
        "\"writes\":\"cdc\",\"status\":\"aborted\"}",
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"b/1\","
        "\"cells\":{\"v\":\"],}\"}},{\"t\":\"q\",\"table\":\"b\",\"rows\":{}}],"
        "\"snapshot\":\"1:1:\",\"rolled_back\":true}");
    assert_true(told.list[0].has_rolled_back && !told.list[0].is_known);
    assert_int_equal(told.list[0].count, 2);
    suite_told_release(&told);
}

/* A table that had its name until 100. A statement of before is of it, but in a transaction that
 * wrote and was over later: what that changed may be another one's. */
static void who_wrote_is_sure_of_tables_until_its_end(void **state)
{
    (void)state;
    struct suite_told told = {.count = 0};
    struct suite_table table = {.oid = 5,
                                .identity = (char[]){"a"},
                                .columns = (char[]){"id"},
                                .until = 100,
                                .of_name = ISO_NUMBER_NONE,
                                .of_oid = ISO_NUMBER_NONE};
    struct suite_tables tables = {.list = &table, .count = 1};
    iso_number_map_put(&tables.by_oid, 5, 0);
#define HEAD "{\"sid\":\"s\",\"tid\":\"s.0\",\"ops\":["
#define READ(row) "{\"t\":\"r\",\"row\":\"" row "/1\",\"sent\":50,\"answered\":60}"
#define WRITE(row) "{\"t\":\"w\",\"row\":\"" row "/2\",\"sent\":70,\"answered\":80}"
#define DELETE(row) "{\"t\":\"d\",\"k\":\"" row "/3\",\"sent\":70,\"answered\":80}"
#define END(at) "],\"xid\":\"7\",\"sent\":90,\"answered\":" at ",\"status\":\"committed\"}"
    assert_becomes_of(&tables, &told, HEAD READ("a~5") "," WRITE("a~5") "," DELETE("a~5") END("99"),
                      HEAD READ("a") "," WRITE("a") "," DELETE("a") END("99"));
    assert_becomes_of(&tables, &told, HEAD WRITE("a\\\"b~5") END("99"),
                      HEAD WRITE("a\\\"b") END("99"));
    assert_becomes_of(
        &tables, &told, HEAD READ("a~5") "," WRITE("a~5") END("101"),
        HEAD
        "],\"writes\":\"cdc\",\"xid\":\"7\",\"sent\":90,\"answered\":101,\"status\":\"committed\"}");
    assert_int_equal(table.left_out, 1);
    assert_becomes_of(&tables, &told,
                      HEAD READ("a~5") "],\"sent\":90,\"answered\":101,\"status\":\"committed\"}",
                      HEAD READ("a") "],\"sent\":90,\"answered\":101,\"status\":\"committed\"}");
    iso_number_map_release(&tables.by_oid);
    suite_told_release(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_committed_stays),
        cmocka_unit_test(what_rolled_back_only_reads),
        cmocka_unit_test(who_wrote_is_sure_of_tables_until_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
