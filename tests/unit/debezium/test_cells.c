/* Rows whose columns are values of their own (cells=), as each connector's messages tell them. */
#include "connectors/debezium/debezium.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/archived.h"
#include "tests/support/decoder_case.h"

#define SOURCE                                                                                          \
    "\"source\":{\"connector\":\"postgresql\",\"name\":\"dbz\",\"snapshot\":\"false\",\"db\":\"bank\"," \
    "\"sequence\":\"[\\\"20\\\",\\\"30\\\"]\",\"schema\":\"public\",\"table\":\"kv\",\"txId\":749,\"lsn\":30}"
#define ENVELOPE(op, before, after)                                                                \
    "{\"before\":" before ",\"after\":" after "," SOURCE ",\"op\":\"" op "\",\"ts_ms\":1}"
#define AT " id 749 at 20,30"
#define ROW(op) "row " op " dbz public.kv public.kv/2 "
#define CELL(op, column) "\ncell " op " dbz public.kv public.kv/2#" column " "

static const struct iso_decoder_options all = {.cells = "true"},
                                        full = {.cells = "true", .identity = ISO_IDENTITY_FULL};

static void tells_each_column(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, full);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7,\"n\":null}")),
        ROW("c") "before - after true" AT CELL("c", "v") "after 7" AT CELL("c", "n") "after -" AT);
    assert_int_equal(test.events.list[0].count, 2);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}",
                    ENVELOPE("u", "{\"k\":2,\"v\":7,\"n\":null}", "{\"k\":2,\"v\":8,\"n\":null}")),
        ROW("u") "before true after true" AT CELL("u", "v") "before 7 after 8" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}",
                    ENVELOPE("u", "{\"k\":2,\"v\":8,\"n\":null}", "{\"k\":2,\"v\":8,\"n\":null}")),
        ROW("u") "before true after true" AT); /* it is touched all the same */
    assert_int_equal(test.events.list[0].count, 0);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("d", "{\"k\":2,\"v\":8,\"n\":null}", "null")),
        ROW("d") "before true after -" AT);
    case_close(&test);
}

/* Another spelling of one value is no change. */
static void compares_values(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, full);
    assert_string_equal(case_decode(&test, "{\"k\":2}",
                                    ENVELOPE("u", "{\"k\":2,\"v\":1.50,\"w\":[1, 2]}",
                                             "{\"k\":2,\"v\":1.5,\"w\":[1,2]}")),
                        ROW("u") "before true after true" AT);
    case_close(&test);
}

static void tells_all_where_nothing_is_known(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, all);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("u", "null", "{\"k\":2,\"v\":8,\"w\":1}")),
        ROW("u") "before true after true" AT CELL("u", "v") "after 8" AT CELL("u",
                                                                              "w") "after 1" AT);
    /* what the log does not have did not change; of a row that came into being it is not known */
    assert_string_equal(
        case_decode(
            &test, "{\"k\":2}",
            ENVELOPE("u", "null", "{\"k\":2,\"v\":9,\"w\":\"__debezium_unavailable_value\"}")),
        ROW("u") "before true after true" AT CELL("u", "v") "after 9" AT);
    assert_string_equal(
        case_decode(
            &test, "{\"k\":2}",
            ENVELOPE("c", "null", "{\"k\":2,\"v\":9,\"w\":\"__debezium_unavailable_value\"}")),
        ROW("c") "before - after true" AT CELL("c", "v") "after 9" AT CELL("c", "w") "after ?" AT);
    case_close(&test);
}

static void tells_listed_columns(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.cells = "w;x"});
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7,\"w\":1}")),
        ROW("c") "before - after true" AT CELL("c", "w") "after 1" AT);
    const struct iso_decoder_class *class = test.decoder->class;
    assert_int_equal(class->covers_column(test.decoder, "public.kv", 9, "w", 1), ISO_COLUMN_SHOWN);
    assert_int_equal(class->covers_column(test.decoder, "public.kv", 9, "x", 1),
                     ISO_COLUMN_NOT_SHOWN);
    assert_int_equal(class->covers_column(test.decoder, "public.kv", 9, "v", 1),
                     ISO_COLUMN_UNLISTED);
    assert_int_equal(class->covers_column(test.decoder, "public.t", 8, "w", 1), ISO_COLUMN_UNSEEN);
    case_close(&test);
}

/* A `#` in a part of a key, or in a column, is no mark. */
static void encodes_marks(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, all);
    assert_string_equal(case_decode(&test, "{\"k\":\"a#b/c\"}",
                                    ENVELOPE("c", "null", "{\"k\":\"a#b/c\",\"v#1\":7}")),
                        "row c dbz public.kv public.kv/a%23b%2Fc before - after true" AT
                        "\ncell c dbz public.kv public.kv/a%23b%2Fc#v%231 after 7" AT);
    case_close(&test);
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(
        case_decode(&test, "{\"k\":\"a#b/c\"}", ENVELOPE("c", "null", "{\"k\":\"a#b/c\",\"v\":7}")),
        "row c dbz public.kv public.kv/a#b%2Fc before - after 7" AT);
    case_close(&test);
}

static void refuses_two_columns_of_one_name(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, all);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7,\"v\":8}")),
        "two columns of one name");
    case_close(&test);
}

/* A column that not all rows have is told once, also across a restart. */
static void tells_columns_that_vary(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, all);
    case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7}"));
    test.decoder = decoder_archived(test.decoder, &all);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("u", "null", "{\"k\":2,\"v\":7,\"w\":1}")),
        "schema public.kv epoch id 749 at 20,30\ncolumn public.kv#w\n" ROW(
            "u") "before true after true" AT CELL("u", "v") "after 7" AT CELL("u",
                                                                              "w") "after 1" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"w\":1,\"x\":2}")),
        "schema public.kv epoch of public.kv#v id 749 at 20,30\n"
        "schema public.kv epoch id 749 at 20,30\ncolumn public.kv#x\ncolumn public.kv#v\n" ROW(
            "c") "before - after true" AT CELL("c", "w") "after 1" AT CELL("c", "x") "after 2" AT);
    assert_string_equal(case_decode(&test, "{\"k\":2}", ENVELOPE("d", "null", "null")),
                        ROW("d") "before true after -" AT);
    case_close(&test);
}

/* ---- YugabyteDB ---- */

#define YUGABYTE(op, before, after)                                                                       \
    "{\"before\":" before ",\"after\":" after                                                             \
    ",\"source\":{\"connector\":\"yugabytedb\",\"name\":\"yb\","                                          \
    "\"snapshot\":\"false\",\"schema\":\"public\",\"table\":\"kv\",\"txId\":\"a\",\"lsn\":\"1:4:k:0:7\"," \
    "\"commit_time\":6837500000000000000,\"record_time\":6837500000000000000},\"op\":\"" op "\"}"
#define YB_AT " id a cts 6837500000000000000 at 6837500000000000000,6837500000000000000 #1"

static void takes_cells_of_yugabyte(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_yugabyte_decoder, all);
    assert_string_equal(
        case_decode(
            &test, "{\"k\":{\"value\":2,\"set\":true}}",
            YUGABYTE("u", "null",
                     "{\"k\":{\"value\":2,\"set\":true},\"v\":{\"value\":null,\"set\":true},"
                     "\"w\":null}")),
        "row u yb public.kv public.kv/2 before true after true" YB_AT
        "\ncell u yb public.kv public.kv/2#v after -" YB_AT); /* w did not change */
    /* where something took the cells away, a null may be either */
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", YUGABYTE("u", "null", "{\"k\":2,\"v\":7,\"w\":null}")),
        "row u yb public.kv public.kv/2 before true after true" YB_AT
        "\ncell u yb public.kv public.kv/2#v after 7" YB_AT
        "\ncell u yb public.kv public.kv/2#w after ?" YB_AT);
    /* a whole new row, which need not be the first */
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", YUGABYTE("c", "null", "{\"k\":2,\"v\":7,\"w\":1}")),
        "row c yb public.kv public.kv/2 after true" YB_AT
        "\ncell c yb public.kv public.kv/2#v after 7" YB_AT
        "\ncell c yb public.kv public.kv/2#w after 1" YB_AT);
    case_close(&test);
}

/* ---- TiCDC ---- */

#define CANAL(type, data, old)                                                                     \
    "{\"database\":\"test\",\"table\":\"t\",\"pkNames\":[\"id\"],\"isDdl\":false,\"type\":\"" type \
    "\","                                                                                          \
    "\"mysqlType\":{\"id\":\"int\",\"v\":\"int\",\"w\":\"varchar\"},\"data\":[" data               \
    "],\"old\":" old ","                                                                           \
    "\"_tidb\":{\"commitTs\":5}}"

static void takes_cells_of_ticdc(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_ticdc_decoder, all);
    assert_string_equal(
        case_decode(&test, NULL, CANAL("INSERT", "{\"id\":\"1\",\"v\":\"7\",\"w\":null}", "null")),
        "row c - test.t test.t/1 before - after true cts 5\ncell c - test.t test.t/1#v after 7 cts 5\n"
        "cell c - test.t test.t/1#w after - cts 5");
    assert_string_equal(
        case_decode(&test, NULL,
                    CANAL("UPDATE", "{\"id\":\"1\",\"v\":\"8\",\"w\":null}", "[{\"v\":\"7\"}]")),
        "row u - test.t test.t/1 before true after true cts 5\ncell u - test.t test.t/1#v before 7 after 8 cts 5");
    assert_string_equal(
        case_decode(&test, NULL, CANAL("DELETE", "{\"id\":\"1\",\"v\":\"8\",\"w\":null}", "null")),
        "row d - test.t test.t/1 before true after - cts 5");
    /* another key is another row, with all columns */
    assert_string_equal(
        case_decode(&test, NULL,
                    CANAL("UPDATE", "{\"id\":\"2\",\"v\":\"8\",\"w\":\"x\"}", "[{\"id\":\"1\"}]")),
        "row d - test.t test.t/1 before true after - cts 5\nrow c - test.t test.t/2 after true cts 5\n"
        "cell c - test.t test.t/2#v after 8 cts 5\ncell c - test.t test.t/2#w after x cts 5");
    case_close(&test);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_each_column),
        cmocka_unit_test(compares_values),
        cmocka_unit_test(tells_all_where_nothing_is_known),
        cmocka_unit_test(tells_listed_columns),
        cmocka_unit_test(encodes_marks),
        cmocka_unit_test(refuses_two_columns_of_one_name),
        cmocka_unit_test(tells_columns_that_vary),
        cmocka_unit_test(takes_cells_of_yugabyte),
        cmocka_unit_test(takes_cells_of_ticdc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
