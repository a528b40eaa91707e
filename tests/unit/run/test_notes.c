/* What happened and what lasts, in words: when it is told, and when no longer. */
#include "run/shown/notes.h"

#include <string.h>

#include "tests/support/test.h"

enum { SECOND = 1000, HOUR = 3600 * SECOND, BEGIN = 1000 * SECOND };

static struct run_notes_facts quiet(void)
{
    struct run_notes_facts facts = {.clients_time = -1, .changes_time = -1};
    for (int news = 0; news < ISO_TABLE_NEWS; news++)
        facts.latest[news] = "public.kv";
    return facts;
}

static const char *look(struct run_notes *notes, const struct run_notes_facts *facts, uint64_t now)
{
    run_notes_look(notes, facts, now);
    return notes->text.bytes;
}

static void test_what_happens(void **state)
{
    struct run_notes notes;
    struct run_notes_facts facts = quiet();
    (void)state;
    facts.count[RUN_BAD_RECORDS] = 7; /* before a restart */
    run_notes_init(&notes, &facts, BEGIN);
    assert_string_equal(look(&notes, &facts, BEGIN), "");
    facts.count[ISO_NEWS_EMPTIED] = 1;
    look(&notes, &facts, BEGIN + SECOND);
    assert_string_equal(
        look(&notes, &facts, BEGIN + 3 * SECOND),
        "1 table was truncated, dropped or renamed away (public.kv, 2 s ago): if nobody meant to, restore "
        "it; reads by snapshots from before are not judged (reason ddl).\n");
    facts.count[ISO_NEWS_EMPTIED] = 3;
    assert_non_null(strstr(look(&notes, &facts, BEGIN + 9 * SECOND),
                           "3 tables were truncated, dropped or renamed away "
                           "(public.kv, the last 0 s ago)"));
    facts.count[RUN_SNAPSHOTS_AGAIN] = 1;
    assert_non_null(strstr(look(&notes, &facts, BEGIN + 10 * SECOND),
                           "1 time a snapshot arrived behind changes (0 s ago)"));
    assert_null(strstr(look(&notes, &facts, BEGIN + 9 * SECOND + HOUR + 1), "truncated"));
    assert_non_null(strstr(notes.text.bytes, "snapshot"));
    assert_string_equal(look(&notes, &facts, BEGIN + 11 * SECOND + HOUR), "");
    run_notes_release(&notes);
}

/* Only beside a database that is written to. */
static void test_silent_clients(void **state)
{
    struct run_notes notes;
    struct run_notes_facts facts = quiet();
    (void)state;
    run_notes_init(&notes, &facts, BEGIN);
    facts.clients_time = 1000;
    assert_string_equal(look(&notes, &facts, BEGIN + 40 * SECOND), "");
    facts.changes_time = 1005;
    assert_string_equal(look(&notes, &facts, BEGIN + 40 * SECOND), "");
    facts.changes_time = 1039;
    assert_string_equal(look(&notes, &facts, BEGIN + 29 * SECOND), "");
    assert_non_null(
        strstr(look(&notes, &facts, BEGIN + 40 * SECOND), "No client has sent a record for 40 s"));
    run_notes_release(&notes);
}

/* Ten seconds of work, and more of it than before. */
static void test_behind(void **state)
{
    struct run_notes notes;
    struct run_notes_facts facts = quiet();
    (void)state;
    run_notes_init(&notes, &facts, BEGIN);
    facts.messages = 5000, facts.behind = 9000;
    assert_string_equal(look(&notes, &facts, BEGIN + 5 * SECOND), ""); /* 9 s */
    facts.messages = 10000, facts.behind = 20000;
    assert_non_null(strstr(look(&notes, &facts, BEGIN + 10 * SECOND),
                           "Behind: 20000 messages wait in Kafka, 20 s of work at 1000 a second"));
    facts.messages = 12000, facts.behind = 18000;
    assert_non_null(
        strstr(look(&notes, &facts, BEGIN + 12 * SECOND), "Behind: 18000")); /* until it is known */
    facts.messages = 15000, facts.behind = 19000;
    assert_string_equal(look(&notes, &facts, BEGIN + 15 * SECOND), "");
    facts.messages = 15000, facts.behind = 19001; /* it stands */
    assert_non_null(
        strstr(look(&notes, &facts, BEGIN + 20 * SECOND), "19001 s of work at 0 a second"));
    run_notes_release(&notes);
}

static void test_memory(void **state)
{
    struct run_notes notes;
    struct run_notes_facts facts = quiet();
    (void)state;
    run_notes_init(&notes, &facts, BEGIN);
    facts.in_use = 900, facts.limit = 1000;
    assert_string_equal(look(&notes, &facts, BEGIN), "");
    facts.in_use = 1100;
    assert_string_equal(look(&notes, &facts, BEGIN), "");
    facts.needed = 1200;
    assert_non_null(strstr(look(&notes, &facts, BEGIN),
                           "--memory 1000 is not enough, the process has 1100 bytes"));
    assert_non_null(strstr(notes.text.bytes, "needs 1200 at least"));
    run_notes_release(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_happens),
        cmocka_unit_test(test_silent_clients),
        cmocka_unit_test(test_behind),
        cmocka_unit_test(test_memory),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
