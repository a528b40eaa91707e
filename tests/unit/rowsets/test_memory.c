/* What is kept, and what goes: with the floor, by deadlines, and where memory is short. */
#include <stdio.h>

#include "tests/support/test.h"

#include "rowsets/rowsets_private.h"
#include "tests/support/history.h"

enum { TEXT = 512, ROWS = 200 };

struct kept {
    struct iso_history history;
    struct iso_rowsets *engine;
    char text[TEXT];
};

static void on_finding(void *context, const struct iso_rowsets_finding *finding)
{
    static const char *const states[] = {"final", "early", "retracted"};
    struct kept *kept = context;
    size_t used = strlen(kept->text);
    snprintf(kept->text + used, TEXT - used, "%s %s %.*s\n", states[finding->state],
             iso_violation_kind_name(finding->kind), (int)finding->key.length, finding->key.at);
}

static void on_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    struct kept *kept = context;
    size_t used = strlen(kept->text);
    snprintf(kept->text + used, TEXT - used, "%s %.*s\n", iso_unjudged_name(unjudged->reason),
             (int)unjudged->table.length, unjudged->table.at);
}

static void start(struct kept *kept, bool ranges)
{
    struct iso_rowsets_options options;
    iso_rowsets_options_init(&options);
    options.ranges = ranges;
    options.on_finding = on_finding;
    options.on_unjudged = on_unjudged;
    options.context = kept;
    *kept->text = 0;
    iso_history_init(&kept->history);
    kept->engine = iso_rowsets_new(&options);
}

static void end(struct kept *kept)
{
    iso_rowsets_free(kept->engine);
    iso_history_release(&kept->history);
}

/* One transaction, which is given at once. */
static void begin(struct kept *kept, uint64_t sts, uint64_t cts)
{
    uint32_t tid = kept->history.txns.count + 1;
    iso_history_begin(&kept->history, tid, tid, ISO_COMMITTED, 0);
    iso_history_set_sts(&kept->history, (struct iso_stamp){sts, 0});
    if (cts)
        iso_history_set_cts(&kept->history, (struct iso_stamp){cts, 0});
}

static void give(struct kept *kept)
{
    if (kept->history.txns.count == 1)
        iso_rowsets_block(kept->engine, &kept->history);
    iso_rowsets_add(kept->engine, kept->history.txns.count - 1);
    iso_rowsets_validate(kept->engine);
}

static void put_row(struct kept *kept, const char *table, uint32_t row, const char *value)
{
    char key[64];
    snprintf(key, sizeof key, "%s/%u", table, row);
    iso_history_operation(&kept->history, value ? ISO_WRITE : ISO_DELETE,
                          test_atom(&kept->history, key),
                          value ? test_atom(&kept->history, value) : ISO_ABSENT);
}

static void ask_where(struct kept *kept, const char *table, const char *where, uint64_t sts)
{
    char header[64];
    struct iso_range range = {.form = ISO_SET_QUERY,
                              .table = test_atom(&kept->history, table),
                              .from = ISO_ABSENT,
                              .to = ISO_ABSENT,
                              .where = where ? test_atom(&kept->history, where) : ISO_ABSENT,
                              .returned = ISO_ABSENT};
    begin(kept, sts, 0);
    snprintf(header, sizeof header, "%s#", table);
    iso_history_operation(&kept->history, ISO_READ, test_atom(&kept->history, header), ISO_ABSENT);
    iso_history_range(&kept->history, &range, 1);
    give(kept);
}

static void ask(struct kept *kept, const char *table, uint64_t sts)
{
    ask_where(kept, table, NULL, sts);
}

/* A query whose deadline passed is judged with what there is; what comes late retracts it. */
static void deadlines(void **state)
{
    struct kept kept;
    (void)state;
    start(&kept, false);
    iso_rowsets_clock(kept.engine, 100, 0);
    begin(&kept, 1, 2);
    put_row(&kept, "t", 1, "true");
    give(&kept);
    ask(&kept, "t", 9);
    iso_rowsets_clock(kept.engine, 104, 5);
    assert_string_equal(kept.text, "");
    iso_rowsets_clock(kept.engine, 105, 5);
    assert_string_equal(kept.text, "early missing-row t/1\n");
    begin(&kept, 20, 21);
    put_row(&kept, "t", 2, "true");
    give(&kept);
    iso_rowsets_clock(kept.engine, 106, 5);
    assert_string_equal(kept.text, "early missing-row t/1\n");
    begin(&kept, 3, 4);
    put_row(&kept, "t", 1, NULL);
    put_row(&kept, "t", 3, "true");
    give(&kept);
    iso_rowsets_clock(kept.engine, 107, 5);
    assert_string_equal(
        kept.text, "early missing-row t/1\nearly missing-row t/3\nretracted missing-row t/1\n");
    iso_rowsets_watermark(kept.engine, 30);
    iso_rowsets_end(kept.engine);
    iso_rowsets_validate(kept.engine);
    assert_string_equal(
        kept.text, "early missing-row t/1\nearly missing-row t/3\nretracted missing-row t/1\n");
    end(&kept);
}

/* Without a watermark the floor makes queries final, and those that ask below it are not judged. */
static void floors(void **state)
{
    struct kept kept;
    (void)state;
    start(&kept, false);
    begin(&kept, 1, 2);
    put_row(&kept, "t", 1, "true");
    give(&kept);
    ask(&kept, "t", 9);
    ask(&kept, "t", 12);
    iso_rowsets_forget(kept.engine, 10);
    assert_string_equal(kept.text, "final missing-row t/1\n");
    ask(&kept, "t", 8);
    iso_rowsets_end(kept.engine);
    assert_string_equal(kept.text,
                        "final missing-row t/1\nbefore-start t\nfinal missing-row t/1\n");
    end(&kept);
}

/* Versions that newer ones hide, and deleted rows, do not stay. */
static void hot_rows(void **state)
{
    struct kept kept;
    (void)state;
    start(&kept, true);
    for (uint32_t i = 1; i < 4000; i++) {
        begin(&kept, 2 * i, 2 * i + 1);
        put_row(&kept, "t", i % 7, i % 14 < 7 ? "true" : NULL);
        put_row(&kept, "u", i, "true");
        if (i > 5)
            put_row(&kept, "u", i - 5, NULL);
        give(&kept);
        iso_rowsets_watermark(kept.engine, 2 * i);
        iso_rowsets_forget(kept.engine, i > 5 ? 2 * i - 10 : 0);
        struct iso_rowsets_stats stats;
        iso_rowsets_stats(kept.engine, &stats);
        assert_true(stats.rows < 60);
        assert_true(stats.versions < 300);
    }
    end(&kept);
}

static void put_cell(struct kept *kept, uint32_t row, iso_atom value)
{
    char key[32];
    snprintf(key, sizeof key, "t/%u#a", row);
    iso_history_operation(&kept->history, ISO_WRITE, test_atom(&kept->history, key), value);
}

/* ROWS rows of which column `a` is their number, at 2. */
static void put_rows(struct kept *kept)
{
    begin(kept, 1, 2);
    for (uint32_t row = 0; row < ROWS; row++) {
        put_row(kept, "t", row, "true");
        put_cell(kept, row, row);
    }
    give(kept);
}

/* Changes of other columns, in whatever order they come, leave an index as good as it was. */
static void late_changes(void **state)
{
    struct iso_rowsets_stats before, after;
    struct kept kept;
    (void)state;
    start(&kept, false);
    put_rows(&kept);
    iso_rowsets_watermark(kept.engine, 4);
    ask_where(&kept, "t", "a = 7", 3);
    iso_rowsets_stats(kept.engine, &before);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint64_t late = 0; late < 2; late++) {
            begin(&kept, 5, 1000 - 10 * late - row % 5);
            put_row(&kept, "t", row, "true");
            give(&kept);
        }
    iso_rowsets_watermark(kept.engine, 1001);
    ask_where(&kept, "t", "a = 7", 1000);
    iso_rowsets_stats(kept.engine, &after);
    assert_string_equal(kept.text, "final missing-row t/7\nfinal missing-row t/7\n");
    assert_int_equal(before.looked_at, 1);
    assert_int_equal(after.looked_at, 2);
    end(&kept);
}

/* Indexes are counted, and go before a table does: verdicts stay the same. One that nobody asks
 * goes by itself. */
static void indexes(void **state)
{
    enum { UNASKED = 1500 };
    struct kept kept;
    (void)state;
    start(&kept, false);
    put_rows(&kept);
    iso_rowsets_watermark(kept.engine, 9);
    uint64_t bytes = rowsets_needed(kept.engine);
    for (uint64_t round = 0; round < 2; round++) {
        *kept.text = 0;
        ask_where(&kept, "t", "a = 7", 5);
        assert_string_equal(kept.text, "final missing-row t/7\n");
        assert_true(rowsets_needed(kept.engine) >= bytes + ROWS * 36);
        if (!round)
            rowsets_tidy(kept.engine);
        assert_true(round || rowsets_needed(kept.engine) <= bytes);
    }
    for (uint64_t i = 0; i < UNASKED; i++) {
        begin(&kept, 10 + 2 * i, 11 + 2 * i);
        put_cell(&kept, 1, (iso_atom)i);
        give(&kept);
        iso_rowsets_watermark(kept.engine, 11 + 2 * i);
        iso_rowsets_forget(kept.engine, 11 + 2 * i);
    }
    assert_int_equal(kept.engine->store.tables[0].index_count, 0);
    end(&kept);
}

static void shortage(void **state)
{
    struct kept kept;
    (void)state;
    start(&kept, false);
    begin(&kept, 1, 2);
    for (uint32_t row = 0; row < ROWS; row++)
        put_row(&kept, "large", row, "true");
    put_row(&kept, "small", 1, "true");
    give(&kept);
    ask(&kept, "large", 9);
    ask(&kept, "small", 9);
    uint64_t bytes = rowsets_needed(kept.engine);
    rowsets_tidy(kept.engine);
    rowsets_give_up_largest(kept.engine);
    iso_rowsets_validate(kept.engine);
    assert_true(rowsets_needed(kept.engine) < bytes / 2);
    assert_string_equal(kept.text, "memory large\n");
    begin(&kept, 3, 4);
    put_row(&kept, "large", 3, "true");
    give(&kept);
    ask(&kept, "large", 9);
    iso_rowsets_end(kept.engine);
    assert_string_equal(kept.text, "memory large\nmemory large\nfinal missing-row small/1\n");
    end(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines),    cmocka_unit_test(floors),  cmocka_unit_test(hot_rows),
        cmocka_unit_test(late_changes), cmocka_unit_test(indexes), cmocka_unit_test(shortage),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
