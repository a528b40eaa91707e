/* MariaDB's GTIDs as they are written. */
#include <string.h>

#include "tests/support/test.h"

#include "history/gtid.h"
#include "history/history.h"

static bool reads(const char *text)
{
    struct iso_gtid gtid;
    return iso_gtid_read(text, strlen(text), &gtid);
}

static void parts_are_read(void **state)
{
    struct iso_gtid gtid;
    (void)state;
    assert_true(iso_gtid_read("3-12-6110938", 12, &gtid));
    assert_int_equal(gtid.domain, 3);
    assert_int_equal(gtid.server, 12);
    assert_int_equal(gtid.number, 6110938);
    assert_true(reads("0-1-1152921504606846974"));
    assert_false(reads("0-1-1152921504606846975")); /* no room for it among timestamps */
    assert_false(reads("0-1-18446744073709551616"));
    assert_false(reads("4294967296-1-1"));
    assert_false(reads("0-1"));
    assert_false(reads("0-1-"));
    assert_false(reads("0-1-2,1-1-3")); /* of two domains */
    assert_false(reads("742:750:744"));
    assert_false(reads(""));
    assert_true(iso_gtid_commit(7) < iso_gtid_snapshot(7) &&
                iso_gtid_snapshot(7) < iso_gtid_commit(8));
}

static bool starts(const char *text, uint64_t expected, uint8_t expected_marks)
{
    uint64_t start;
    uint8_t marks;
    return iso_gtid_snapshot_read(text, strlen(text), &start, &marks) && start == expected &&
           marks == expected_marks;
}

static bool is_snapshot(const char *text)
{
    uint64_t start;
    uint8_t marks;
    return iso_gtid_snapshot_read(text, strlen(text), &start, &marks);
}

static void snapshots_are_gtids_or_places(void **state)
{
    char text[ISO_BINLOG_POSITION_MAX];
    (void)state;
    assert_true(starts("0-1-7", iso_gtid_snapshot(7), ISO_MARK_GTID_START));
    assert_true(
        starts("mariadb-bin.000012:4711", iso_binlog_position(12, 4711), ISO_MARK_LOG_START));
    assert_true(starts("db:1.eu.1234567:0", iso_binlog_position(1234567, 0), ISO_MARK_LOG_START));
    assert_true(starts("b.8388607:1099511627775", INT64_MAX, ISO_MARK_LOG_START));
    assert_false(is_snapshot("b.8388608:1"));
    assert_false(is_snapshot("b.1:1099511627776"));
    assert_false(is_snapshot("b.1:18446744073709551617"));
    assert_false(is_snapshot("mariadb-bin.000012"));
    assert_false(is_snapshot("mariadb-bin.000012:"));
    assert_false(is_snapshot("mariadb-bin.:4711"));
    assert_false(is_snapshot("mariadb-bin:4711"));
    assert_false(is_snapshot(".000012:4711"));
    assert_false(is_snapshot("742:750:744")); /* PostgreSQL's */
    assert_false(is_snapshot("742:750:"));
    assert_false(is_snapshot(""));
    assert_int_equal(iso_binlog_position_text(iso_binlog_position(12, 4711), text),
                     strlen("binlog.000012:4711"));
    assert_string_equal(text, "binlog.000012:4711");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_are_read),
                                       cmocka_unit_test(snapshots_are_gtids_or_places)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
