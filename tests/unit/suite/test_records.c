/* Records on their way into a capture: those that rolled back become ones that only read. */
#include "suite/records.h"

#include "tests/support/test.h"

#include "base/memory.h"

/* What becomes of a line; the records that were noted are added to. */
static void assert_becomes(struct suite_records *records, const char *line, const char *expected)
{
    size_t length = strlen(line);
    char *padded = iso_allocate_zeroed(length + ISO_JSON_PADDING, 1);
    struct iso_text put = {0};
    memcpy(padded, line, length);
    suite_records_take(records, NULL, padded, length, &put);
    *iso_text_reserve(&put, 1) = 0;
    assert_string_equal(put.bytes, expected);
    iso_text_release(&put);
    iso_free(padded);
}

static void what_committed_stays(void **state)
{
    (void)state;
    struct suite_records records = {.count = 0};
    static const char line[] =
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"a/1\",\"v\":null,"
        "\"sent\":5,\"answered\":6},{\"t\":\"w\",\"row\":\"a/2\"}],\"level\":\"SERIALIZABLE\","
        "\"sent\":7,\"answered\":8,\"status\":\"committed\"}";
    assert_becomes(&records, line, line);
    assert_int_equal(records.count, 1);
    assert_int_equal(records.list[0].level, SUITE_SERIALIZABLE);
    assert_true(records.list[0].is_known && !records.list[0].has_rolled_back);
    assert_int_equal(records.list[0].sent, 7);
    assert_int_equal(records.list[0].answered, 8);
    assert_int_equal(records.read_count, 1);
    assert_int_equal(records.reads[0].sent, 5);
    assert_int_equal(records.reads[0].answered, 6);
    static const char count[] = "{\"recorder\":\"r\",\"records\":3,\"ended\":true}";
    assert_becomes(&records, count, count);
    assert_int_equal(records.count, 1);
    suite_records_release(&records);
}

static void what_rolled_back_only_reads(void **state)
{
    (void)state;
    struct suite_records records = {.count = 0};
    assert_becomes(
        &records,
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"w\",\"row\":\"a/2\"},"
        "{\"t\":\"r\",\"row\":\"b/1\",\"cells\":{\"v\":\"],}\"}},{\"t\":\"d\",\"row\":\"a/1\"},"
        "{\"t\":\"q\",\"table\":\"a\",\"rows\":{},\"own\":true},"
        "{\"t\":\"q\",\"table\":\"b\",\"rows\":{}}],\"xid\":\"7\",\"snapshot\":\"1:1:\","
        "\"writes\":\"cdc\",\"status\":\"aborted\"}",
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"b/1\","
        "\"cells\":{\"v\":\"],}\"}},{\"t\":\"q\",\"table\":\"b\",\"rows\":{}}],"
        "\"snapshot\":\"1:1:\"}");
    assert_true(records.list[0].has_rolled_back && !records.list[0].is_known);
    assert_int_equal(records.list[0].count, 2);
    suite_records_release(&records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_committed_stays),
        cmocka_unit_test(what_rolled_back_only_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
