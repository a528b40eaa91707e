/* csv: quotes, escapes, NULL, halves of updates, and what is refused. */
#include <stdio.h>
#include <stdlib.h>

#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

#define COLUMN(name, type, more) "{\"ColumnName\":\"" name "\",\"ColumnType\":\"" type "\"" more "}"
#define VERSION(version, columns, count)                                                           \
    "{\"Table\":\"t\",\"Schema\":\"test\",\"Version\":1,\"TableVersion\":" #version                \
    ",\"Query\":\"\",\"Type\":0,\"TableColumns\":[" columns "],\"TableColumnsTotal\":" #count      \
    "}\n"
#define TABLE(columns, count) VERSION(0, columns, count)

static const char schema[] =
    TABLE(COLUMN("id", "INT", ",\"ColumnIsPk\":\"true\",\"ColumnNullable\":\"false\"") "," COLUMN(
              "v", "VARCHAR", "") "," COLUMN("n", "BIGINT UNSIGNED", ""),
          3);

static void start(struct decoding *decoding, struct iso_decoder_options options)
{
    options.format = "csv";
    options.schema = schema;
    decoding_start(decoding, &iso_ticdc_decoder, &options);
}

static void rows(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "\"I\",\"t\",\"test\",435661838416609281,1,\"hello,\"\"world\"\"\n\",18446744073709551615\n"
            "\"U\",\"t\",\"test\",7,1,\"\\N\",\\N\r\n\"D\",\"t\",\"test\",8,1,\\N,5"),
        "ROW insert test.t/1: - -> {\"n\":18446744073709551615,\"v\":\"hello,\\\"world\\\"\\n\"} cts 435661838416609281\n"
        "ROW update test.t/1: ? -> {\"n\":null,\"v\":\"\\\\N\"} cts 7\n"
        "ROW delete test.t/1: {\"n\":5,\"v\":null} -> - cts 8\n");
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "\"ticdc-meta$operation\",\"ticdc-meta$table\",\"ticdc-meta$schema\",\"ticdc-meta$commit-ts\",\"id\",\"v\",\"n\"\n"
            "\"D\",\"t\",\"test\",9,true,1,\"a\",5\n\"I\",\"t\",\"test\",9,true,1,\"b\",5\n"),
        "IGNORED a header\n"
        "ROW delete test.t/1: {\"n\":5,\"v\":\"a\"} -> - cts 9\n"
        "ROW update test.t/1: ? -> {\"n\":5,\"v\":\"b\"} cts 9\n");
    assert_string_equal(decoding_of_text(&decoding, "{\"checkpoint-ts\":447984124732375041}"),
                        "WATERMARK 447984124732375041\n");
    decoding_end(&decoding);
}

static void other_characters(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){
                         .delimiter = "[*]", .quote = "", .null = "NULL", .value = "v"});
    assert_string_equal(
        decoding_of_text(&decoding, "U[*]t[*]test[*]7[*]1[*]a\\[\\*\\]b\\n\\\\n[*]2\n"),
        "ROW update test.t/1: ? -> a[*]b\n\\n cts 7\n");
    assert_string_equal(decoding_of_text(&decoding, "U[*]t[*]test[*]7[*]1[*]NULL[*]2\n"),
                        "ROW update test.t/1: ? -> - cts 7\n");
    assert_string_equal(decoding_of_text(&decoding, "U[*]t[*]test[*]7[*]1[*]a\\"),
                        "ERROR line 1: an escape that is cut off\n");
    decoding_end(&decoding);
    start(&decoding, (struct iso_decoder_options){.delimiter = "\t", .quote = "'", .value = "v"});
    assert_string_equal(decoding_of_text(&decoding, "'U'\t't'\t'test'\t7\t1\t'\\''\t'\t2\n"),
                        "ROW update test.t/1: ? -> \\'\t cts 7\n");
    decoding_end(&decoding);
}

static void wrong_messages(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "ERROR line 1: no fields\n"},
        {"{}", "ERROR expected the member checkpoint-ts\n"},
        {"{\"checkpoint-ts\":-1}", "ERROR byte 18: found '-', expected an unsigned integer\n"},
        {"\n",
         "ERROR line 1: expected operation, table, database, commit timestamp (include-commit-ts=true) and columns\n"},
        {"I,t,test,1,\"a\",2\nI,t,test,1\n",
         "ERROR line 1: 6 fields, expected 4, maybe is-update, and the 3 columns of the table's schema: set include-commit-ts=true and output-handle-key=false in [sink.csv], or give schema= the table's file of that time\n"},
        {"I,t,test,7,1,a,2\nI,t,test,x,1,a,2\n",
         "ERROR line 2: expected operation, table, database, commit timestamp (include-commit-ts=true) and columns\n"},
        {"I,t,test,7,maybe,1,a,2\n",
         "ERROR line 1: 8 fields, expected 4, maybe is-update, and the 3 columns of the table's schema: set include-commit-ts=true and output-handle-key=false in [sink.csv], or give schema= the table's file of that time\n"},
        {"X,t,test,7,1,a,2\n", "ERROR line 1: operation \"X\": expected I, U or D\n"},
        {"I,u,test,7,1,a,2\n",
         "ERROR line 1: table \"u\": expected one whose schema schema=FILE has\n"},
        {"I,t,test,7,1,\"a,2\n", "ERROR line 1: a quote that is not closed\n"},
        {"I,t,test,7,1,\"a\"b,2\n", "ERROR line 1: something behind a closing quote\n"},
        {"I,t,test,7,1,\xff,2\n", "ERROR line 1: column \"v\": expected UTF-8\n"},
        {"I,t,test,7,\\N,a,2\n", "ERROR line 1: test.t: NULL in the key's column \"id\"\n"},
    };
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(decoding_of_text(&decoding, cases[i][0]), cases[i][1]);
    decoding_end(&decoding);
    assert_memory_equal(
        decoding_refused(&iso_ticdc_decoder, &(struct iso_decoder_options){.format = "csv"}),
        "format=csv of a ticdc source: expected schema=FILE", 50);
    assert_memory_equal(decoding_refused(&iso_ticdc_decoder,
                                         &(struct iso_decoder_options){
                                             .format = "csv", .schema = schema, .delimiter = ""}),
                        "delimiter of csv", 16);
    assert_memory_equal(decoding_refused(&iso_ticdc_decoder,
                                         &(struct iso_decoder_options){
                                             .format = "csv", .schema = "{\"Table\":\"t\"}"}),
                        "a table's schema, byte 1", 24);
}

/* No message says what became of a table: a new version of its schema does, as far as it can. Rows
 * have that of their time. */
static void versions(void **state)
{
    (void)state;
    struct decoding decoding;
#define ID COLUMN("id", "INT", ",\"ColumnIsPk\":\"true\"")
    decoding_start(
        &decoding, &iso_ticdc_decoder,
        &(struct iso_decoder_options){
            .format = "csv",
            .value = "v",
            .schema = VERSION(5, ID "," COLUMN("v", "INT", ""), 2)
                VERSION(9, COLUMN("x", "INT", "") "," ID "," COLUMN("v", "INT", ""), 3)
                    VERSION(12, COLUMN("x", "INT", "") "," ID "," COLUMN("v", "INT", ""), 3)});
    assert_string_equal(
        decoding_of_text(&decoding, "\"I\",\"t\",\"test\",7,1,2\n\"I\",\"t\",\"test\",10,0,3,4\n"),
        "SCHEMA test.t cts 5\n"  /* it came into being, or has another name */
        "SCHEMA test.t cts 12\n" /* the columns are the same: emptied, or nothing happened */
        "ROW insert test.t/1: - -> 2 cts 7\nROW insert test.t/3: - -> 4 cts 10\n");
    assert_string_equal(decoding_of_text(&decoding, "\"I\",\"t\",\"test\",7,5,2\n"),
                        "ROW insert test.t/5: - -> 2 cts 7\n");
    decoding_end(&decoding);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(other_characters),
                                       cmocka_unit_test(wrong_messages),
                                       cmocka_unit_test(versions)};
    return cmocka_run_group_tests_name("ticdc csv", tests, NULL, NULL);
}
