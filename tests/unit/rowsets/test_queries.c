/* What queries did not find, by small histories in the native format: as a finished history, and
 * online in several orders. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/test.h"

#include "native/native.h"
#include "rowsets/rowsets.h"

enum { LINES = 12, TEXT = 4096 };

struct expectation {
    const char *name;
    enum iso_level level;
    const char *lines[LINES];
    const char *findings; /* a line each */
};

static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    (void)context;
    (void)table;
    if (iso_json_is(&column, "amount"))
        return (struct iso_scalar_type){.value = {.kind = ISO_VALUE_DECIMAL, .detail = 2}};
    if (iso_json_is(&column, "status"))
        return (struct iso_scalar_type){.value = {.kind = ISO_VALUE_TEXT},
                                        .text = ISO_TEXT_DISTINCT};
    return (struct iso_scalar_type){.value = {.kind = ISO_VALUE_INTEGER}};
}

static void put(char *text, const char *before, struct iso_json_text added)
{
    size_t used = strlen(text);
    snprintf(text + used, TEXT - used, "%s%.*s", before, added.at ? (int)added.length : 1,
             added.at ? added.at : "-");
}

static void on_finding(void *context, const struct iso_rowsets_finding *finding)
{
    char *text = context;
    put(text, "", finding->transaction.tid);
    snprintf(text + strlen(text), TEXT - strlen(text), " %u %s %s", (unsigned)finding->operation,
             iso_axiom_name(finding->axiom), iso_violation_kind_name(finding->kind));
    put(text, " ", finding->key);
    put(text, " ", finding->expected);
    put(text, " ", finding->actual);
    put(text, " ", finding->writer);
    put(text, "\n", (struct iso_json_text){"", 0});
}

static void on_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    char *text = context;
    put(text, "", unjudged->transaction.tid);
    snprintf(text + strlen(text), TEXT - strlen(text), " %u unjudged %s\n",
             (unsigned)unjudged->operation, iso_unjudged_name(unjudged->reason));
}

static void read_lines(struct iso_history *history, const char *const *lines)
{
    struct iso_native native;
    struct iso_native_fault fault = {0};
    iso_native_init(&native);
    for (uint32_t i = 0; i < LINES && lines[i]; i++) {
        char *text = test_padded(lines[i], strlen(lines[i]), ' ');
        assert_int_equal(
            iso_native_read_transaction(&native, text, strlen(lines[i]), i + 1, history, &fault),
            ISO_OK);
        free(text);
    }
    iso_native_release(&native);
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Equal moments have no order. */
static void sort_lines(char *text)
{
    char copy[TEXT], *lines[TEXT / 8];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        lines[count++] = line;
    qsort(lines, count, sizeof *lines, compare_lines);
    *text = 0;
    for (size_t i = 0; i < count; i++) {
        strcat(text, lines[i]);
        strcat(text, "\n");
    }
}

static struct iso_rowsets_options options_of(const struct expectation *expected, char *text)
{
    struct iso_rowsets_options options;
    iso_rowsets_options_init(&options);
    options.level = expected->level;
    options.type_of = type_of;
    options.on_finding = on_finding;
    options.on_unjudged = on_unjudged;
    options.context = text;
    *text = 0;
    return options;
}

static void check_finished(const struct expectation *expected)
{
    char text[TEXT];
    struct iso_history history;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_rowsets_options options = options_of(expected, text);
    struct iso_rowsets_stats stats;
    iso_history_init(&history);
    read_lines(&history, expected->lines);
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    iso_rowsets_check(&history, &options, &stats);
    sort_lines(text);
    if (strcmp(text, expected->findings))
        print_message("%s, finished:\n", expected->name);
    assert_string_equal(text, expected->findings);
    iso_history_release(&history);
}

/* Backwards, then all is final at once. */
static void check_online(const struct expectation *expected, bool backwards)
{
    char text[TEXT];
    struct iso_history history;
    struct iso_rowsets_options options = options_of(expected, text);
    struct iso_rowsets *engine = iso_rowsets_new(&options);
    iso_history_init(&history);
    read_lines(&history, expected->lines);
    iso_rowsets_block(engine, &history);
    for (uint32_t i = 0; i < history.txns.count; i++) {
        iso_rowsets_add(engine, backwards ? history.txns.count - 1 - i : i);
        iso_rowsets_validate(engine);
    }
    iso_rowsets_watermark(engine, 1000);
    iso_rowsets_validate(engine);
    iso_rowsets_end(engine);
    iso_rowsets_validate(engine);
    sort_lines(text);
    if (strcmp(text, expected->findings))
        print_message("%s, online:\n", expected->name);
    assert_string_equal(text, expected->findings);
    iso_rowsets_free(engine);
    iso_history_release(&history);
}

#define WRITER(tid, sts, cts, ops)                                                                 \
    "{\"tid\":\"" tid "\",\"sid\":\"s" tid "\",\"sts\":" #sts ",\"cts\":" #cts ",\"ops\":[" ops "]}"
#define READER(tid, sts, ops)                                                                      \
    "{\"tid\":\"" tid "\",\"sid\":\"s" tid "\",\"sts\":" #sts ",\"ops\":[" ops "]}"
#define UNKNOWN(tid, sts, ops)                                                                     \
    "{\"tid\":\"" tid "\",\"sid\":\"s" tid "\",\"status\":\"unknown\",\"sts\":" #sts               \
    ",\"ops\":[" ops "]}"
#define PUT(key, cells) "{\"t\":\"w\",\"row\":\"o/" key "\",\"cells\":{" cells "}}"
#define DELETE(key) "{\"t\":\"d\",\"row\":\"o/" key "\"}"
#define QUERY(rest) "{\"t\":\"q\",\"table\":\"o\"," rest "}"
#define ROW(key, cells) "\"" key "\":{" cells "}"
#define TWO_ROWS                                                                                   \
    WRITER("1", 1, 2,                                                                              \
           PUT("7", "\"amount\":\"5.00\",\"c\":1") "," PUT("8", "\"amount\":\"15.50\",\"c\":2"))

static const struct expectation list[] = {
    {"all is well",
     ISO_SI,
     {TWO_ROWS, READER("2", 5, QUERY("\"rows\":{" ROW("7", "") "," ROW("8", "") "}"))},
     ""},
    {"a phantom",
     ISO_SI,
     {TWO_ROWS, READER("2", 5, QUERY("\"where\":\"amount > 10\",\"rows\":{}"))},
     "2 0 EXT missing-row o/8 {\"amount\":\"15.50\",\"c\":2} - 1\n"},
    {"not yet there", ISO_SI, {TWO_ROWS, READER("2", 1, QUERY("\"rows\":{}"))}, ""},
    {"gone",
     ISO_SI,
     {TWO_ROWS, WRITER("3", 3, 4, DELETE("8")),
      READER("2", 5, QUERY("\"from\":\"8\",\"rows\":{}"))},
     ""},
    {"not yet gone",
     ISO_SI,
     {TWO_ROWS, WRITER("3", 3, 9, DELETE("8")),
      READER("2", 5, QUERY("\"from\":\"8\",\"rows\":{}"))},
     "2 0 EXT missing-row o/8 {\"amount\":\"15.50\",\"c\":2} - 1\n"},
    {"extra by the condition, and by the bounds",
     ISO_SI,
     {TWO_ROWS,
      READER("2", 5,
             QUERY("\"where\":\"amount > 10\",\"rows\":{" ROW("7", "") "," ROW("8", "") "}")),
      READER("3", 5,
             QUERY("\"from\":\"8\",\"to\":\"9\",\"rows\":{" ROW("7", "") "," ROW("8", "") "}"))},
     "2 0 EXT extra-row o/7 {\"amount\":\"5.00\",\"c\":1} true 1\n"
     "3 0 EXT extra-row o/7 {\"amount\":\"5.00\",\"c\":1} true 1\n"},
    {"returned and not there: not ours",
     ISO_SI,
     {READER("2", 5, QUERY("\"rows\":{" ROW("7", "") "}"))},
     ""},
    {"partial", ISO_SI, {TWO_ROWS, READER("2", 5, QUERY("\"partial\":true,\"rows\":{}"))}, ""},
    {"some row, or so many",
     ISO_SI,
     {TWO_ROWS,
      READER("2", 5, QUERY("\"where\":\"c = 2\",\"partial\":true,\"columns\":[],\"bag\":[[]]")),
      READER("3", 5, QUERY("\"partial\":true,\"columns\":[],\"bag\":[[]]")),
      READER("4", 5, QUERY("\"columns\":[],\"bag\":[[],[]]")),
      READER("5", 5, QUERY("\"where\":\"c = 3\",\"partial\":true,\"columns\":[],\"bag\":[[]]"))},
     "5 0 EXT extra-row o# - [] -\n"},
    {"null matches nothing",
     ISO_SI,
     {WRITER("1", 1, 2, PUT("7", "\"amount\":null,\"c\":1")),
      READER("2", 5, QUERY("\"where\":\"not amount > 10\",\"rows\":{}"))},
     ""},
    {"aggregates",
     ISO_SI,
     {TWO_ROWS,
      READER("2", 5,
             QUERY("\"agg\":{\"count\":2,\"sum(amount)\":\"20.5\",\"min(c)\":1,\"max(c)\":2}")),
      READER("3", 5, QUERY("\"agg\":{\"count\":1,\"sum(amount)\":\"20.50\",\"max(c)\":null}"))},
     "3 0 EXT aggregate o# {\"count\":2,\"max(c)\":\"2\"} {\"count\":1,\"max(c)\":null} -\n"},
    {"rows without keys",
     ISO_SI,
     {TWO_ROWS,
      READER("2", 5, QUERY("\"columns\":[\"amount\",\"c\"],\"bag\":[[\"15.5\",2],[5,1]]")),
      READER("3", 5, QUERY("\"columns\":[\"c\"],\"bag\":[[2],[2]]"))},
     "3 0 EXT extra-row o# - [\"2\"] -\n3 0 EXT missing-row o# [\"1\"] - -\n"},
    {"own writes lie over it",
     ISO_SI,
     {TWO_ROWS,
      WRITER(
          "2", 5, 6,
          PUT("8", "\"amount\":\"1.00\"") "," DELETE("7") "," PUT(
              "9",
              "\"amount\":\"99.00\",\"c\":5") "," QUERY("\"where\":\"amount > 10\",\"rows\":{}"))},
     "2 6 INT missing-row o/9 {\"amount\":\"99.00\",\"c\":5} - -\n"},
    {"a writer of unknown outcome",
     ISO_SI,
     {TWO_ROWS, UNKNOWN("3", 1, PUT("8", "\"amount\":\"1.00\"")),
      READER("2", 5, QUERY("\"where\":\"amount > 10\",\"rows\":{}"))},
     "2 0 unjudged unknown-writer\n"},
    {"which changes nothing",
     ISO_SI,
     {TWO_ROWS, UNKNOWN("3", 1, PUT("8", "\"amount\":\"11.00\"")),
      READER("2", 5, QUERY("\"where\":\"amount > 10\",\"rows\":{}"))},
     "2 0 EXT missing-row o/8 {\"amount\":\"15.50\",\"c\":2} - 1\n"},
    {"or started later",
     ISO_SI,
     {TWO_ROWS, UNKNOWN("3", 5, PUT("8", "\"amount\":\"1.00\"")),
      READER("2", 5, QUERY("\"where\":\"amount > 10\",\"rows\":{}"))},
     "2 0 EXT missing-row o/8 {\"amount\":\"15.50\",\"c\":2} - 1\n"},
    {"a column that nobody wrote",
     ISO_SI,
     {TWO_ROWS, READER("2", 5, QUERY("\"where\":\"other = 1\",\"rows\":{}"))},
     "2 0 unjudged unknown-column\n"},
    {"no order of texts",
     ISO_SI,
     {WRITER("1", 1, 2, PUT("7", "\"status\":\"a\"")),
      READER("2", 5, QUERY("\"where\":\"status > 'b'\",\"rows\":{}"))},
     "2 0 unjudged collation\n"},
    {"just before the commit",
     ISO_SER,
     {TWO_ROWS, WRITER("2", 1, 2, QUERY("\"rows\":{}") "," PUT("9", "\"c\":1")),
      READER("3", 2, QUERY("\"rows\":{}"))},
     "3 0 EXT missing-row o/7 {\"amount\":\"5.00\",\"c\":1} - 1\n"
     "3 0 EXT missing-row o/8 {\"amount\":\"15.50\",\"c\":2} - 1\n"
     "3 0 EXT missing-row o/9 {\"c\":1} - 2\n"},
    {"keys of two parts",
     ISO_SI,
     {WRITER("1", 1, 2, PUT("1,9", "\"c\":1") "," PUT("1,10", "\"c\":1") "," PUT("2,1", "\"c\":1")),
      READER("2", 5, QUERY("\"from\":\"1,10\",\"to\":\"1\",\"rows\":{}"))},
     "2 0 EXT missing-row o/1,10 {\"c\":1} - 1\n"},
};

static void judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        check_finished(&list[i]);
        check_online(&list[i], false);
        check_online(&list[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judged),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
