/* canal-json: rows, watermarks, DDLs; what columns hold; what is refused. */
#include <stdio.h>
#include <stdlib.h>

#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

static void start(struct decoding *decoding, struct iso_decoder_options options)
{
    decoding_start(decoding, &iso_ticdc_decoder, &options);
}

/* A row of db.t with key id; the other members as given. */
static const char *row(struct decoding *decoding, const char *type, const char *members)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"id\":0,\"database\":\"db\",\"table\":\"t\",\"pkNames\":[\"id\"],\"isDdl\":false,\"type\":\"%s\","
        "\"es\":1,\"ts\":2,\"sql\":\"\",%s}",
        type, members);
    return decoding_of_text(decoding, text);
}

#define TYPES "\"sqlType\":{\"id\":4,\"v\":4},\"mysqlType\":{\"id\":\"int\",\"v\":\"int\"},"
#define COMMIT ",\"_tidb\":{\"commitTs\":447984099186180098}"

static void rows(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.format = "canal-json"});
    assert_string_equal(row(&decoding, "INSERT",
                            TYPES "\"data\":[{\"id\":\"1\",\"v\":\"10\"}],\"old\":null" COMMIT),
                        "ROW insert db.t/1: - -> {\"v\":10} cts 447984099186180098\n");
    assert_string_equal(
        row(&decoding, "UPDATE",
            TYPES
            "\"old\":[{\"id\":\"1\",\"v\":\"10\"}],\"data\":[{\"id\":\"1\",\"v\":\"11\"}]" COMMIT),
        "ROW update db.t/1: {\"v\":10} -> {\"v\":11} cts 447984099186180098\n");
    assert_string_equal(
        row(&decoding, "DELETE",
            "\"_tidb\":{\"commitTs\":\"5\",\"x\":1},\"data\":[{\"id\":\"1\",\"v\":null}],\"old\":null,"
            "\"mysqlType\":{\"id\":\"int\",\"v\":\"int\"}"),
        "ROW delete db.t/1: {\"v\":null} -> - cts 5\n");
    decoding_end(&decoding);
    start(&decoding, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(
        row(&decoding, "UPDATE",
            TYPES
            "\"old\":[{\"id\":\"1\",\"v\":\"10\"}],\"data\":[{\"id\":\"1\",\"v\":null}]" COMMIT),
        "ROW update db.t/1: 10 -> - cts 447984099186180098\n");
    assert_string_equal(
        row(&decoding, "INSERT", TYPES "\"data\":[{\"id\":\"1\",\"w\":\"10\"}]" COMMIT),
        "IGNORED its rows do not have the column of value=COLUMN of its source\n");
    decoding_end(&decoding);
}

/* Without the extension there is no timestamp; the rows are rows all the same. */
static void without_the_extension(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        row(&decoding, "INSERT", TYPES "\"data\":[{\"id\":\"1\",\"v\":\"10\"}],\"old\":null"),
        "ROW insert db.t/1: - -> {\"v\":10}\n");
    assert_string_equal(
        decoding_of_text(
            &decoding, "{\"database\":\"db\",\"table\":\"t\",\"isDdl\":true,\"type\":\"CREATE\"}"),
        "IGNORED a DDL at an unknown time\n");
    assert_string_equal(
        decoding_of_text(&decoding,
                         "{\"database\":\"db\",\"table\":\"t\",\"isDdl\":true,\"type\":\"ERASE\"}"),
        "ERROR rows dropped at an unknown time: expected _tidb.commitTs (enable-tidb-extension=true)\n");
    assert_string_equal(decoding_of_text(&decoding, "{\"type\":\"TIDB_WATERMARK\"}"),
                        "ERROR a watermark: expected _tidb.watermarkTs\n");
    decoding_end(&decoding);
}

static void only_what_changed(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        row(&decoding, "UPDATE",
            "\"mysqlType\":{\"id\":\"int\",\"v\":\"int\",\"w\":\"text\"},\"old\":[{\"v\":\"10\"}],"
            "\"data\":[{\"id\":\"1\",\"v\":\"11\",\"w\":\"a\"}]" COMMIT),
        "ROW update db.t/1: {\"v\":10,\"w\":\"a\"} -> {\"v\":11,\"w\":\"a\"} cts 447984099186180098\n");
    assert_string_equal(row(&decoding, "UPDATE",
                            TYPES "\"old\":null,\"data\":[{\"id\":\"1\",\"v\":\"11\"}]" COMMIT),
                        "ROW update db.t/1: ? -> {\"v\":11} cts 447984099186180098\n");
    assert_string_equal(row(&decoding, "DELETE", TYPES "\"data\":[{\"id\":\"1\"}]" COMMIT),
                        "ROW delete db.t/1: ? -> - cts 447984099186180098\n");
    decoding_end(&decoding);
    start(&decoding, (struct iso_decoder_options){.identity = ISO_IDENTITY_DEFAULT});
    assert_string_equal(
        row(&decoding, "UPDATE",
            TYPES
            "\"old\":[{\"id\":\"1\",\"v\":\"10\"}],\"data\":[{\"id\":\"1\",\"v\":\"11\"}]" COMMIT),
        "ROW update db.t/1: ? -> {\"v\":11} cts 447984099186180098\n");
    decoding_end(&decoding);
}

static void a_key_that_changes(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(
        row(&decoding, "UPDATE",
            TYPES "\"old\":[{\"id\":\"1\"}],\"data\":[{\"id\":\"2\",\"v\":\"11\"}]" COMMIT),
        "ROW delete db.t/1: 11 -> - cts 447984099186180098\n"
        "ROW insert db.t/2: ? -> 11 cts 447984099186180098\n");
    decoding_end(&decoding);
}

/* An update of a unique key that TiCDC split: two rows with one commit timestamp, of one key or of
 * two. */
static void a_split_update(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(
        row(&decoding, "DELETE", TYPES "\"data\":[{\"id\":\"1\",\"v\":\"10\"}]" COMMIT),
        "ROW delete db.t/1: 10 -> - cts 447984099186180098\n");
    assert_string_equal(
        row(&decoding, "INSERT", TYPES "\"data\":[{\"id\":\"1\",\"v\":\"11\"}]" COMMIT),
        "ROW insert db.t/1: - -> 11 cts 447984099186180098\n");
    decoding_end(&decoding);
}

static void identities(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.value = "v", .key = "k2;k1|d.u:y;x"});
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"database\":\"a.b\",\"table\":\"t/1\",\"pkNames\":[\"k1\",\"k2\"],\"type\":\"INSERT\","
            "\"data\":[{\"k1\":\"x,y\",\"k2\":\"50%\",\"v\":\"1\"}],\"_tidb\":{\"commitTs\":7}}"),
        "ROW insert a%2Eb.t%2F1/50%25,x%2Cy: - -> 1 cts 7\n");
    assert_string_equal(
        decoding_of_text(&decoding,
                         "{\"database\":\"d\",\"table\":\"t\",\"pkNames\":null,\"type\":\"INSERT\","
                         "\"data\":[{\"v\":\"1\"}],\"_tidb\":{\"commitTs\":7}}"),
        "IGNORED its rows have no key that their messages name: if it has one that is unique and never null, "
        "set key=COLUMN;COLUMN of its source\n");
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"database\":\"d\",\"table\":\"t\",\"pkNames\":[\"a\"],\"type\":\"INSERT\","
            "\"data\":[{\"v\":\"1\"}],\"_tidb\":{\"commitTs\":7}}"),
        "ERROR d.t: the row lacks its key's column \"a\"\n");
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"database\":\"d\",\"table\":\"t\",\"pkNames\":[\"a\"],\"type\":\"INSERT\","
            "\"data\":[{\"a\":null,\"v\":\"1\"}],\"_tidb\":{\"commitTs\":7}}"),
        "ERROR d.t: NULL in the key's column \"a\"\n");
    decoding_end(&decoding);
}

static const char *column(struct decoding *decoding, const char *mysql_type, const char *value)
{
    char members[512];
    snprintf(
        members, sizeof members,
        "\"mysqlType\":{\"id\":\"int\",\"v\":\"%s\"},\"data\":[{\"id\":\"1\",\"v\":%s}],\"_tidb\":{\"commitTs\":9}",
        mysql_type, value);
    return row(decoding, "INSERT", members);
}

static void columns(void **state)
{
    (void)state;
    static const struct {
        const char *type, *value, *expected;
    } cases[] = {
        {"bigint unsigned", "\"18446744073709551615\"", "18446744073709551615"},
        {"bigint(20)", "\"-9223372036854775808\"", "-9223372036854775808"},
        {"int(5) unsigned zerofill", "\"00007\"", "\"00007\""},
        {"int", "\"-0\"", "\"-0\""},
        {"year", "\"2024\"", "2024"},
        {"bit", "\"81\"", "81"},
        {"enum", "\"2\"", "2"},
        {"set", "\"3\"", "3"},
        {"float", "\"1.5\"", "1.5"},
        {"double", "\"1e+06\"", "1000000"},
        {"double", "\"2.50\"", "2.5"},
        {"double", "\"nan\"", "\"nan\""},
        {"decimal", "\"1.50\"", "\"1.50\""},
        {"varchar", "\"\"", "\"\""},
        {"varchar", "\"7\"", "\"7\""},
        {"text", "\"\\u00e9\\n\"", "\"\xc3\xa9\\n\""},
        {"datetime", "\"2024-01-01 00:00:00\"", "\"2024-01-01 00:00:00\""},
        {"json", "\"{\\\"a\\\": 1}\"", "\"{\\\"a\\\": 1}\""},
        {"int", "null", "null"},
        /* bytes 5 7 10 15 36 50 43 99 120 60 38 255 254 45 55 70 */
        {"varbinary", "\"\\u0005\\u0007\\n\\u000f$2+cx<&\xc3\xbf\xc3\xbe-7F\"",
         "\"BQcKDyQyK2N4PCb//i03Rg==\""},
        {"BLOB", "\"\\u0000\xc2\x80\"", "\"AIA=\""},
    };
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[256];
        snprintf(expected, sizeof expected, "ROW insert db.t/1: - -> {\"v\":%s} cts 9\n",
                 cases[i].expected);
        assert_string_equal(column(&decoding, cases[i].type, cases[i].value), expected);
    }
    assert_string_equal(column(&decoding, "blob", "\"\xe4\xbd\xa0\""),
                        "ERROR binary column \"v\": expected characters up to U+00FF\n");
    assert_string_equal(column(&decoding, "int", "7"),
                        "ERROR column \"v\": expected a string or null\n");
    decoding_end(&decoding);
}

static void java_types_where_there_are_no_others(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        row(&decoding, "INSERT",
            "\"data\":[{\"id\":\"1\",\"a\":\"7\",\"b\":\"7\",\"c\":\"\xc3\xbf\",\"d\":\"7.50\"}],"
            "\"sqlType\":{\"id\":-5,\"a\":-6,\"b\":12,\"c\":2004,\"d\":8},\"mysqlType\":null" COMMIT),
        "ROW insert db.t/1: - -> {\"a\":7,\"b\":\"7\",\"c\":\"/w==\",\"d\":7.5} cts 447984099186180098\n");
    decoding_end(&decoding);
}

static void values_that_were_left_out(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(
        row(&decoding, "INSERT",
            "\"data\":[{\"id\":\"1\"}],\"_tidb\":{\"commitTs\":9,\"onlyHandleKey\":true}"),
        "ROW insert db.t/1: - -> ? cts 9\n");
    assert_string_equal(row(&decoding, "UPDATE",
                            "\"old\":[{\"id\":\"1\"}],\"data\":[{\"id\":\"1\"}],"
                            "\"_tidb\":{\"commitTs\":9,\"claimCheckLocation\":\"file:///x\"}"),
                        "ROW update db.t/1: ? -> ? cts 9\n");
    assert_string_equal(
        row(&decoding, "DELETE",
            "\"data\":[{\"id\":\"1\"}],\"_tidb\":{\"commitTs\":9,\"onlyHandleKey\":true}"),
        "ROW delete db.t/1: ? -> - cts 9\n");
    decoding_end(&decoding);
}

static void watermarks_and_ddls(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.tables = "db.t;db."});
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"id\":0,\"database\":\"\",\"table\":\"\",\"pkNames\":null,\"isDdl\":false,"
            "\"type\":\"TIDB_WATERMARK\",\"es\":1,\"ts\":1,\"sql\":\"\",\"sqlType\":null,\"mysqlType\":null,"
            "\"data\":null,\"old\":null,\"_tidb\":{\"watermarkTs\":447984124732375041}}"),
        "WATERMARK 447984124732375041\n");
#define DDL(type, table)                                                                           \
    "{\"database\":\"db\",\"table\":\"" table "\",\"isDdl\":true,\"type\":\"" type                 \
    "\",\"sql\":\"x\","                                                                            \
    "\"data\":null,\"_tidb\":{\"commitTs\":8}}"
    assert_string_equal(decoding_of_text(&decoding, DDL("TRUNCATE", "t")), "DROP db.t cts 8\n");
    assert_string_equal(decoding_of_text(&decoding, DDL("ERASE", "t")), "DROP db.t cts 8\n");
    assert_string_equal(decoding_of_text(&decoding, DDL("CREATE", "t")), "SCHEMA db.t cts 8\n");
    assert_string_equal(decoding_of_text(&decoding, DDL("QUERY", "")), "SCHEMA db. cts 8\n");
    assert_string_equal(decoding_of_text(&decoding, DDL("ERASE", "u")),
                        "IGNORED a table that is not in tables=\n");
    assert_string_equal(
        decoding_of_text(&decoding, DDL("DROP", "t")),
        "ERROR type of a DDL \"DROP\": expected CREATE, RENAME, CINDEX, DINDEX, ALTER, ERASE, TRUNCATE or QUERY\n");
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"database\":\"db\",\"table\":\"u\",\"pkNames\":[\"id\"],\"type\":\"INSERT\"}"),
        "IGNORED a table that is not in tables=\n");
    assert_string_equal(decoding_of_text(&decoding, NULL), "IGNORED tombstone\n");
    decoding_end(&decoding);
}

static const char whole[] =
    "{\"database\":\"db\",\"table\":\"t\",\"pkNames\":[\"id\"],\"isDdl\":false,\"type\":\"UPDATE\","
    "\"mysqlType\":{\"id\":\"int\",\"v\":\"blob\"},\"old\":[{\"id\":\"1\",\"v\":\"\xc3\xbf\"}],"
    "\"data\":[{\"id\":\"1\",\"v\":\"1\"}],\"_tidb\":{\"commitTs\":447984099186180098}}";

static void every_truncation(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        decoding_of_text(&decoding, whole),
        "ROW update db.t/1: {\"v\":\"/w==\"} -> {\"v\":\"MQ==\"} cts 447984099186180098\n");
    for (size_t length = 0; length < strlen(whole); length++)
        assert_memory_equal(decoding_of(&decoding, NULL, 0, whole, length), "ERROR byte ", 11);
    decoding_end(&decoding);
}

static void wrong_messages(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{}", "ERROR expected the member \"type\"\n"},
        {"{\"type\":\"REPLACE\"}",
         "ERROR type \"REPLACE\": expected INSERT, UPDATE, DELETE, TIDB_WATERMARK or a DDL's\n"},
        {"{\"type\":\"INSERT\",\"database\":\"d\",\"table\":\"t\"}",
         "ERROR type \"INSERT\": expected a row in data\n"},
        {"{\"type\":7}", "ERROR byte 9: found '7', expected a string\n"},
        {"{\"type\":\"INSERT\",\"data\":{}}", "ERROR byte 25: found '{', expected '['\n"},
        {"{\"type\":\"INSERT\",\"data\":[]}", "ERROR byte 26: found ']', expected one row\n"},
        {"{\"type\":\"INSERT\",\"data\":[{},{}]}",
         "ERROR byte 29: found '{', expected one row, ']'\n"},
        {"{\"type\":\"INSERT\",\"data\":[7]}", "ERROR byte 26: found '7', expected '{'\n"},
        {"{\"type\":\"INSERT\",\"pkNames\":[7]}", "ERROR byte 29: found '7', expected a string\n"},
        {"{\"type\":\"INSERT\",\"type\":\"INSERT\"}",
         "ERROR byte 25: found '\"', expected each member once\n"},
        {"{\"_tidb\":{\"commitTs\":-1}}",
         "ERROR byte 22: found '-', expected an unsigned integer\n"},
        {"{\"_tidb\":{\"commitTs\":\"1.5\"}}",
         "ERROR byte 22: found '\"', expected an unsigned integer\n"},
        {"{\"_tidb\":{\"commitTs\":18446744073709551616}}",
         "ERROR byte 22: a number beyond 64 bits, expected an integer from -2^63 to 2^64-1\n"},
        {"{\"_tidb\":{\"commitTs\":1.5}}",
         "ERROR byte 22: a number with a fraction or exponent, expected an integer\n"},
        {"{\"isDdl\":1}", "ERROR byte 10: found '1', expected true or false\n"},
    };
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(decoding_of_text(&decoding, cases[i][0]), cases[i][1]);
    static uint8_t large[(64 << 20) + 1];
    assert_string_equal(decoding_of(&decoding, NULL, 0, large, sizeof large),
                        "ERROR a message of more than 67108864 bytes\n");
    assert_string_equal(
        row(&decoding, "INSERT", "\"data\":[{\"id\":\"1\",\"v\":\"1\",\"v\":\"2\"}]" COMMIT),
        "ERROR db.t: a column occurs twice in the row \"\"\n");
    decoding_end(&decoding);
}

static void options(void **state)
{
    (void)state;
    assert_string_equal(
        decoding_refused(&iso_ticdc_decoder, &(struct iso_decoder_options){.format = "maxwell"}),
        "format=maxwell of a ticdc source: expected canal-json, open-protocol, simple, simple-avro, avro, "
        "debezium or csv");
    assert_string_equal(
        decoding_refused(&iso_ticdc_decoder, &(struct iso_decoder_options){.compression = "gzip"}),
        "compression=gzip of a ticdc source: expected none, lz4 or snappy");
    assert_string_equal(
        decoding_refused(&iso_ticdc_decoder, &(struct iso_decoder_options){.framed = true}),
        "framing or a registry with format=canal-json of a ticdc source: expected neither");
}

/* A row that moves to another key is gone from the one, and new under the other, with all of its
 * cells. */
static void rows_that_move(void **state)
{
    struct decoding decoding;
    (void)state;
    decoding_start(
        &decoding, &iso_ticdc_decoder,
        &(struct iso_decoder_options){.format = "canal-json", .cells = "true", .key = "a;b"});
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"database\":\"s\",\"table\":\"t\",\"pkNames\":[\"a\",\"b\"],\"isDdl\":false,\"type\":"
            "\"UPDATE\",\"mysqlType\":{\"a\":\"int\",\"v\":\"int\"},\"old\":[{\"a\":\"1\",\"b\":\"2\",\"v\":"
            "\"7\"}],\"data\":[{\"a\":\"1\",\"b\":\"3\",\"v\":\"7\"}],\"_tidb\":{\"commitTs\":20}}"),
        "ROW delete s.t/1,2: true -> - cts 20\nROW insert s.t/1,3: ? -> true cts 20\nCELL insert s.t/1,3#v: ? -> 7 cts 20\n");
    decoding_end(&decoding);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(without_the_extension),
        cmocka_unit_test(only_what_changed),
        cmocka_unit_test(a_key_that_changes),
        cmocka_unit_test(a_split_update),
        cmocka_unit_test(identities),
        cmocka_unit_test(columns),
        cmocka_unit_test(java_types_where_there_are_no_others),
        cmocka_unit_test(values_that_were_left_out),
        cmocka_unit_test(watermarks_and_ddls),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(wrong_messages),
        cmocka_unit_test(rows_that_move),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests_name("ticdc canal-json", tests, NULL, NULL);
}
