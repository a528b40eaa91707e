/* What min and max mean for the order of transactions: a row beyond the value that was found was
 * not seen, the one row that has it was, and of several that have it one that keeps it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

#include "rowsets/rowsets.h"
#include "tests/support/history.h"

enum { TEXT = 512, READER = 100, SOUGHT = 101 };

static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    (void)context;
    (void)table;
    (void)column;
    return (struct iso_scalar_type){.value = {.kind = ISO_VALUE_INTEGER}};
}

static void begin(struct iso_history *history, uint32_t tid, uint64_t sts, uint64_t cts)
{
    iso_history_begin(history, tid, tid, ISO_COMMITTED, 0);
    if (sts)
        iso_history_set_sts(history, (struct iso_stamp){sts, 0});
    iso_history_set_cts(history, (struct iso_stamp){cts, 0});
}

/* A transaction that commits at `cts`, as long as one that starts just before it. */
static void put(struct iso_history *history, uint64_t cts, const char *row, int value)
{
    char key[64];
    begin(history, (uint32_t)cts, cts - 1, cts);
    snprintf(key, sizeof key, "t/%s", row);
    iso_history_operation(history, ISO_WRITE, test_atom(history, key), test_atom(history, "true"));
    snprintf(key, sizeof key, "t/%s#v", row);
    iso_history_operation(history, ISO_WRITE, test_atom(history, key), (iso_atom)value);
}

/* At 10, of all rows. */
static void ask(struct iso_history *history, const char *returned)
{
    struct iso_range range = {.form = ISO_SET_QUERY,
                              .table = test_atom(history, "t"),
                              .from = ISO_ABSENT,
                              .to = ISO_ABSENT};
    range.where = ISO_ABSENT;
    range.returned = test_atom(history, returned);
    begin(history, READER, 10, 10);
    iso_history_operation(history, ISO_READ, test_atom(history, "t#"), ISO_ABSENT);
    iso_history_range(history, &range, 1);
}

/* What is implied of the reader, "seen t/a#?4, not t/b#?12", and whether that is all. */
static void expect(struct iso_history *history, const char *text)
{
    struct iso_rowsets_options known;
    struct iso_error error = ISO_NO_ERROR;
    char found[TEXT] = "", buffer[ISO_ATOM_TEXT_MAX];
    history->clock = ISO_CLOCK_SCALAR;
    begin(history, SOUGHT, 0, 90); /* of a log: an order is sought */
    iso_history_operation(history, ISO_WRITE, test_atom(history, "other"), 1);
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    iso_rowsets_options_init(&known);
    known.type_of = type_of;
    iso_rowsets_imply(history, &known);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
            size_t length, used = strlen(found);
            const char *key = iso_atom_text(
                &history->atoms, history->keys.atom[history->ops.key[o]], buffer, &length);
            if (history->txns.tid[t] == READER && length > 2 && memchr(key, '?', length))
                snprintf(found + used, TEXT - used, "%s%s %.*s", used ? ", " : "",
                         history->ops.value[o] == ISO_ABSENT ? "not" : "seen", (int)length, key);
        }
    }
    assert_string_equal(found, text);
    assert_int_equal(iso_history_leaves_queries(history), !*text);
    iso_history_release(history);
}

/* Later 7 is beyond, 3 is not; and it was seen that the greatest came. */
static void greatest(void **state)
{
    struct iso_history history;
    (void)state;
    iso_history_init(&history);
    put(&history, 2, "a", 5);
    put(&history, 4, "b", 1);
    ask(&history, "{\"max(v)\":5}");
    put(&history, 12, "b", 3);
    put(&history, 14, "b", 7);
    put(&history, 16, "a", 6);
    expect(&history, "not t/a#?16, seen t/a#?2, not t/b#?14");
}

/* What went away before would have been less. */
static void least(void **state)
{
    struct iso_history history;
    (void)state;
    iso_history_init(&history);
    put(&history, 2, "a", 5);
    put(&history, 4, "b", 1);
    put(&history, 6, "b", 8);
    ask(&history, "{\"min(v)\":5}");
    put(&history, 12, "b", 9);
    expect(&history, "seen t/a#?2, seen t/b#?6");
}

/* Of two that have it the one that keeps it is enough; where none does it is not known. */
static void several(void **state)
{
    struct iso_history history;
    (void)state;
    iso_history_init(&history);
    put(&history, 2, "a", 5);
    put(&history, 4, "b", 5);
    ask(&history, "{\"max(v)\":5}");
    put(&history, 12, "b", 1);
    expect(&history, "seen t/a#?2");
    iso_history_init(&history);
    put(&history, 2, "a", 5);
    put(&history, 4, "b", 5);
    ask(&history, "{\"max(v)\":5}");
    put(&history, 12, "b", 1);
    put(&history, 14, "a", 1);
    expect(&history, "");
}

/* Nothing had a value: any would have been found. */
static void nothing(void **state)
{
    struct iso_history history;
    (void)state;
    iso_history_init(&history);
    ask(&history, "{\"min(v)\":null}");
    put(&history, 12, "a", 1);
    expect(&history, "not t/a#?12");
}

/* A sum changes with each value, a count with each row. */
static void counts(void **state)
{
    struct iso_history history;
    (void)state;
    iso_history_init(&history);
    put(&history, 2, "a", 5);
    ask(&history, "{\"sum(v)\":5}");
    put(&history, 12, "a", 6);
    expect(&history, "not t/a#?12, seen t/a#?2");
    iso_history_init(&history);
    put(&history, 2, "a", 5);
    ask(&history, "{\"count\":1}");
    put(&history, 12, "a", 6);
    put(&history, 14, "b", 6);
    expect(&history, "seen t/a#?2, not t/b#?14");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(greatest), cmocka_unit_test(least),
                                       cmocka_unit_test(several), cmocka_unit_test(nothing),
                                       cmocka_unit_test(counts)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
