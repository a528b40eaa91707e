/* What is said of whole tables: that they were altered, that all they held was said, how their keys
 * are ordered; and large ones. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/test.h"

#include "rowsets/rowsets.h"
#include "tests/support/history.h"

enum { TEXT = 1024 };

static void on_finding(void *context, const struct iso_rowsets_finding *finding)
{
    char *text = context;
    size_t used = strlen(text);
    snprintf(text + used, TEXT - used, "%s %.*s\n", iso_violation_kind_name(finding->kind),
             (int)finding->key.length, finding->key.at);
}

static void on_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    char *text = context;
    size_t used = strlen(text);
    snprintf(text + used, TEXT - used, "%s\n", iso_unjudged_name(unjudged->reason));
}

static void key_of(void *context, struct iso_json_text table, struct iso_rowsets_key *key)
{
    (void)context;
    (void)table;
    *key = (struct iso_rowsets_key){.parts = 1, .columns = {{"id", 2}}};
    key->types[0] =
        (struct iso_scalar_type){.value = {.kind = ISO_VALUE_TEXT}, .text = ISO_TEXT_ORDERED};
}

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
    iso_history_set_sts(history, (struct iso_stamp){sts, 0});
    if (cts)
        iso_history_set_cts(history, (struct iso_stamp){cts, 0});
}

static void put_row(struct iso_history *history, const char *key, uint32_t number)
{
    char cell[64];
    snprintf(cell, sizeof cell, "t/%s", key);
    iso_history_operation(history, ISO_WRITE, test_atom(history, cell), test_atom(history, "true"));
    snprintf(cell, sizeof cell, "t/%s#n", key);
    iso_history_operation(history, ISO_WRITE, test_atom(history, cell), number);
}

/* A query that returned nothing. */
static void ask(struct iso_history *history, const char *from, const char *to, const char *where,
                const char *returned)
{
    struct iso_range range = {.form = ISO_SET_QUERY, .table = test_atom(history, "t")};
    range.from = from ? test_atom(history, from) : ISO_ABSENT;
    range.to = to ? test_atom(history, to) : ISO_ABSENT;
    range.where = where ? test_atom(history, where) : ISO_ABSENT;
    range.returned = returned ? test_atom(history, returned) : ISO_ABSENT;
    iso_history_operation(history, ISO_READ, test_atom(history, "t#"), ISO_ABSENT);
    iso_history_range(history, &range, 1);
}

struct asked {
    struct iso_history history;
    struct iso_rowsets *engine;
    char text[TEXT];
};

static void start(struct asked *asked, struct iso_rowsets_options options)
{
    *asked->text = 0;
    iso_history_init(&asked->history);
    options.type_of = type_of;
    options.on_finding = on_finding;
    options.on_unjudged = on_unjudged;
    options.context = asked->text;
    asked->engine = iso_rowsets_new(&options);
}

static void expect(struct asked *asked, const char *text)
{
    iso_rowsets_block(asked->engine, &asked->history);
    for (uint32_t t = 0; t < asked->history.txns.count; t++)
        iso_rowsets_add(asked->engine, t);
    iso_rowsets_validate(asked->engine);
    iso_rowsets_end(asked->engine);
    iso_rowsets_validate(asked->engine);
    assert_string_equal(asked->text, text);
    iso_rowsets_free(asked->engine);
    iso_history_release(&asked->history);
}

static struct iso_rowsets_options plain(void)
{
    struct iso_rowsets_options options;
    iso_rowsets_options_init(&options);
    return options;
}

/* Who looks at an older moment may have read the new table, which was empty. */
static void altered(void **state)
{
    struct asked asked;
    (void)state;
    start(&asked, plain());
    begin(&asked.history, 1, 1, 2);
    put_row(&asked.history, "a", 1);
    begin(&asked.history, 2, 5, 0);
    ask(&asked.history, NULL, NULL, NULL, NULL);
    begin(&asked.history, 3, 9, 0);
    ask(&asked.history, NULL, NULL, NULL, NULL);
    iso_rowsets_altered(asked.engine, (struct iso_json_text){"t", 1}, 7);
    expect(&asked, "ddl\nmissing-row t/a\n");
}

/* What nobody said was there may have been: aggregates need all of it, rows that are known to be
 * there do not. */
static void whole(void **state)
{
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        struct iso_rowsets_options options = plain();
        struct asked asked;
        (void)state;
        options.initial_is_known = false;
        start(&asked, options);
        begin(&asked.history, 1, 1, 2);
        put_row(&asked.history, "a", 1);
        begin(&asked.history, 2, 5, 0);
        ask(&asked.history, NULL, NULL, NULL, NULL);
        begin(&asked.history, 3, 6, 0);
        ask(&asked.history, NULL, NULL, NULL, "{\"count\":2}");
        if (is_whole)
            iso_rowsets_whole(asked.engine);
        expect(&asked,
               is_whole ? "missing-row t/a\naggregate t#\n" : "missing-row t/a\nbefore-start\n");
    }
}

/* 10 is behind 1 and before 9, as texts; and the key is a column. */
static void keys(void **state)
{
    struct iso_rowsets_options options = plain();
    struct asked asked;
    (void)state;
    options.key_of = key_of;
    start(&asked, options);
    begin(&asked.history, 1, 1, 2);
    put_row(&asked.history, "10", 1);
    put_row(&asked.history, "9", 1);
    begin(&asked.history, 2, 5, 0);
    ask(&asked.history, "1", "2", NULL, NULL);
    begin(&asked.history, 3, 6, 0);
    ask(&asked.history, NULL, NULL, "id = '9'", NULL);
    expect(&asked, "missing-row t/10\nmissing-row t/9\n");
}

static uint64_t looked_at(uint32_t limit, const char *where, const char *text)
{
    enum { ROWS = 5000 };
    struct iso_rowsets_options options = plain();
    struct iso_rowsets_stats stats;
    struct asked asked;
    char key[16];
    options.scan_limit = limit;
    start(&asked, options);
    begin(&asked.history, 1, 1, 2);
    for (uint32_t i = 0; i < ROWS; i++) {
        snprintf(key, sizeof key, "%u", (unsigned)(i * 7919u % ROWS));
        put_row(&asked.history, key, i * 7919u % ROWS);
    }
    begin(&asked.history, 2, 5, 0);
    ask(&asked.history, NULL, NULL, where, NULL);
    iso_rowsets_block(asked.engine, &asked.history);
    iso_rowsets_add(asked.engine, 0);
    iso_rowsets_validate(asked.engine);
    iso_rowsets_add(asked.engine, 1);
    iso_rowsets_end(asked.engine);
    iso_rowsets_stats(asked.engine, &stats);
    assert_string_equal(asked.text, text);
    iso_rowsets_free(asked.engine);
    iso_history_release(&asked.history);
    return stats.looked_at;
}

/* More rows than the limit, unless an equality finds them. */
static void large(void **state)
{
    (void)state;
    assert_int_equal(looked_at(1000, "n > 4998", "scan-limit\n"), 0);
    assert_int_equal(looked_at(5000, "n > 4998", "missing-row t/4999\n"), 5000);
    assert_int_equal(looked_at(1000, "n = 4999", "missing-row t/4999\n"), 1);
    assert_int_equal(looked_at(1000, "n = 5000", ""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(altered),
        cmocka_unit_test(whole),
        cmocka_unit_test(keys),
        cmocka_unit_test(large),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
