/* Values in several spellings, where an order of all transactions is sought: what a read may have
 * seen, and which columns are reported. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "native/native.h"
#include "pipeline/pipeline.h"
#include "tests/support/history.h"

/* ---- a source whose columns are FLOATs ---- */

static void destroy(struct iso_decoder *decoder)
{
    iso_free(decoder);
}

static bool covers(const struct iso_decoder *decoder, const char *topic, const char *table,
                   size_t length)
{
    (void)decoder, (void)topic, (void)table, (void)length;
    return true;
}

static struct iso_value_type value_type(const struct iso_decoder *decoder, const char *table,
                                        size_t length, const char *column, size_t column_length)
{
    (void)decoder, (void)table, (void)length, (void)column, (void)column_length;
    return (struct iso_value_type){.kind = ISO_VALUE_FLOAT};
}

static const struct iso_decoder_class floats = {
    .kind = "floats", .destroy = destroy, .covers = covers, .value_type = value_type};

struct bench {
    struct iso_pipeline *pipeline;
    struct iso_history history;
    uint64_t reported;
};

static void on_spelling(void *context, const struct iso_pipeline_spelling *spelling)
{
    struct bench *bench = context;
    assert_int_equal(spelling->kind, ISO_VALUE_FLOAT);
    bench->reported++;
}

/* `value`: the column that is a row's value, or NULL. */
static void open_bench(struct bench *bench, const char *value)
{
    struct iso_pipeline_options options;
    struct iso_decoder *decoder = iso_allocate_zeroed(1, sizeof *decoder);
    *bench = (struct bench){.pipeline = NULL};
    iso_pipeline_options_init(&options);
    options.on_spelling = on_spelling;
    options.context = bench;
    bench->pipeline = iso_pipeline_new(&options);
    decoder->class = &floats;
    decoder->value = value;
    iso_pipeline_route(bench->pipeline, "floats", decoder, false);
    iso_history_init(&bench->history);
}

static void close_bench(struct bench *bench)
{
    iso_pipeline_free(bench->pipeline);
    iso_history_release(&bench->history);
}

/* A transaction of one operation. */
static void add(struct bench *bench, enum iso_operation_kind kind, const char *key,
                const char *value)
{
    struct iso_history *history = &bench->history;
    iso_history_begin(history, (iso_atom)history->txns.count, 0, ISO_COMMITTED, 0);
    iso_history_operation(history, kind, test_atom(history, key), test_atom(history, value));
}

/* All operations, as text. */
static void show(const struct iso_history *history, char *text, size_t size)
{
    char key[ISO_ATOM_TEXT_MAX], value[ISO_ATOM_TEXT_MAX];
    size_t used = 0, key_length, value_length;
    text[0] = 0;
    for (uint32_t o = 0; o < history->ops.count; o++) {
        const char *name = iso_atom_text(&history->atoms, history->keys.atom[history->ops.key[o]],
                                         key, &key_length);
        const char *of =
            iso_atom_text(&history->atoms, history->ops.value[o], value, &value_length);
        used += (size_t)snprintf(text + used, size - used, "%s%c %.*s=%.*s", o ? ", " : "",
                                 iso_kind_of(history, o) == ISO_READ ? 'r' : 'w', (int)key_length,
                                 name, (int)value_length, of);
    }
}

/* FLOATs have six digits in one place and all of them in another: 123457 may be 123456.8. */
static void a_read_that_may_be_a_version_is_no_edge(void **state)
{
    struct bench bench;
    char text[400];
    uint32_t count;
    (void)state;
    open_bench(&bench, "c");
    add(&bench, ISO_WRITE, "t/1", "7");
    add(&bench, ISO_WRITE, "t/2", "123456.8");
    add(&bench, ISO_WRITE, "t/2", "8");
    add(&bench, ISO_WRITE, "t/3", "0.5");
    add(&bench, ISO_READ, "t/1", "123457"); /* another key's version is none of its own */
    add(&bench, ISO_READ, "t/2", "123457"); /* may be */
    add(&bench, ISO_READ, "t/2", "8.0");    /* is */
    add(&bench, ISO_READ, "t/3", "5e-1");   /* is */
    add(&bench, ISO_READ, "t/4", "9");      /* nobody wrote it */
    assert_int_equal(iso_pipeline_drop_unclear(bench.pipeline, &bench.history), 1);
    show(&bench.history, text, sizeof text);
    assert_string_equal(
        text,
        "w t/1=7, w t/2=123456.8, w t/2=8, w t/3=0.5, r t/1=123457, r t/2=8, r t/3=0.5, r t/4=9");
    const struct iso_pipeline_spelling *spellings = iso_pipeline_spellings(bench.pipeline, &count);
    assert_int_equal(count, 1);
    assert_string_equal(spellings->column, "t.c");
    assert_string_equal(spellings->stream, "123456.8");
    assert_string_equal(spellings->other, "123457");
    assert_int_equal(spellings->count, 1);
    close_bench(&bench);
}

/* A column is reported once, by its table's name and its own, as far as there is room for both;
 * beyond a number of them they are only counted. */
static void columns_are_reported_by_name(void **state)
{
    enum { TABLES = ISO_SPELLINGS_MAX + 10 };
    static const char *const columns[] = {"c", NULL};
    char name[ISO_SPELLING_NAME + 10], key[ISO_SPELLING_NAME + 20];
    uint32_t count;
    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        struct bench bench;
        open_bench(&bench, columns[i]);
        for (int t = 0; t < TABLES; t++) {
            /* The first tables' names leave room for three bytes and the NUL, for two, for one, for
             * the NUL alone, and not for themselves. */
            snprintf(name, sizeof name, "%d%0*d", t, t < 5 ? ISO_SPELLING_NAME - 5 + t : 1, 0);
            for (int k = 0; k < 2; k++) {
                snprintf(key, sizeof key, "%s/%d", name, k);
                add(&bench, ISO_WRITE, key, "123456.8");
                add(&bench, ISO_READ, key, "123457");
            }
        }
        assert_int_equal(iso_pipeline_drop_unclear(bench.pipeline, &bench.history), 2 * TABLES);
        const struct iso_pipeline_spelling *spellings =
            iso_pipeline_spellings(bench.pipeline, &count);
        assert_int_equal(count, ISO_SPELLINGS_MAX);
        assert_int_equal(bench.reported, ISO_SPELLINGS_MAX);
        for (int t = 0; t < 5; t++) {
            bool has_room = columns[i] && t < 2;
            size_t length = strlen(spellings[t].column);
            assert_int_equal(spellings[t].column[length - 1], has_room ? 'c' : '0');
            assert_int_equal(length, t < 4 ? ISO_SPELLING_NAME - 4 + t + 2 * has_room
                                           : ISO_SPELLING_NAME - 1);
        }
        assert_string_equal(spellings[5].column, columns[i] ? "50.c" : "50");
        close_bench(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_that_may_be_a_version_is_no_edge),
        cmocka_unit_test(columns_are_reported_by_name),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
