/* Debezium in JSON: decimals as the schema says, the two ways of wrapping, and what is refused,
 * with what it says. */
#include "connectors/debezium/debezium.h"
#include "tests/support/decoder_case.h"

#define SOURCE                                                                                     \
    "\"source\":{\"connector\":\"postgresql\",\"name\":\"dbz\",\"schema\":\"public\",\"table\":\"kv\"}"
#define CREATE(row) "{\"op\":\"c\",\"after\":" row "," SOURCE "}"

#define COLUMN(type, name, parameters)                                                             \
    "{\"type\":\"" type "\",\"optional\":true,\"name\":\"" name "\",\"version\":1," parameters     \
    "\"field\":\"n\"}"
#define SCHEMA(column)                                                                             \
    "{\"type\":\"struct\",\"fields\":[{\"type\":\"struct\",\"fields\":[" column                    \
    "],\"field\":\"before\"},"                                                                     \
    "{\"type\":\"struct\",\"fields\":[{\"type\":\"int32\",\"field\":\"k\"}," column                \
    "],\"field\":\"after\"}],"                                                                     \
    "\"optional\":false,\"name\":\"Envelope\"}"
#define DECIMAL                                                                                    \
    SCHEMA(COLUMN("bytes", "org.apache.kafka.connect.data.Decimal",                                \
                  "\"parameters\":{\"scale\":\"2\"},"))
#define VARIABLE                                                                                   \
    SCHEMA(COLUMN(                                                                                 \
        "struct", "io.debezium.data.VariableScaleDecimal",                                         \
        "\"fields\":[{\"type\":\"int32\",\"field\":\"scale\"},{\"type\":\"bytes\",\"field\":\"value\"}],"))
#define STRING SCHEMA("{\"type\":\"string\",\"optional\":true,\"field\":\"n\"}")
#define WRAPPED(schema, n) "{\"schema\":" schema ",\"payload\":" CREATE("{\"k\":1,\"n\":" n "}") "}"

static const char *value_of(const char *payload)
{
    static char text[4096];
    static const char before[] = "row c dbz public.kv public.kv/1 before - after ";
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "n"});
    snprintf(text, sizeof text, "%s", case_decode(&test, "{\"k\":1}", payload));
    case_close(&test);
    return strncmp(text, before, sizeof before - 1) ? text : text + sizeof before - 1;
}

static void decimals_are_what_the_schema_says(void **state)
{
    (void)state;
    assert_string_equal(value_of(WRAPPED(DECIMAL, "\"AJY=\"")), "1.50");
    assert_string_equal(value_of(WRAPPED(DECIMAL, "\"/w==\"")), "-0.01");
    assert_string_equal(value_of(WRAPPED(DECIMAL, "1.50")), "1.50"); /* decimal.format=NUMERIC */
    assert_string_equal(value_of(WRAPPED(DECIMAL, "null")), "-");
    assert_string_equal(value_of(WRAPPED(STRING, "\"AJY=\"")),
                        "AJY="); /* decimal.handling.mode=string: it only looks so */
    assert_string_equal(value_of(WRAPPED(VARIABLE, "{\"scale\":1,\"value\":\"MDk=\"}")), "1234.5");
    assert_string_equal(value_of(WRAPPED(VARIABLE, "{\"value\":\"MDk=\",\"scale\":-2}")),
                        "1234500");
    assert_string_equal(value_of(CREATE("{\"k\":1,\"n\":\"AJY=\"}")), "AJY=");
    assert_string_equal(value_of(CREATE("{\"k\":1,\"n\":1.5}")), "1.5");
    static const char refused[] = "after.n: expected a decimal, as the schema says";
    assert_string_equal(value_of(WRAPPED(DECIMAL, "\"AJY\"")), refused);
    assert_string_equal(value_of(WRAPPED(DECIMAL, "\"\"")), refused);
    assert_string_equal(value_of(WRAPPED(DECIMAL, "true")), refused);
    assert_string_equal(value_of(WRAPPED(DECIMAL, "{}")), refused);
    assert_string_equal(value_of(WRAPPED(VARIABLE, "\"AJY=\"")), refused);
    assert_string_equal(value_of(WRAPPED(VARIABLE, "{\"value\":\"MDk=\"}")), refused);
    assert_string_equal(value_of(WRAPPED(VARIABLE, "{\"scale\":1001,\"value\":\"MDk=\"}")),
                        refused);
}

/* More schemas than are kept, each of them again. */
static void many_schemas_are_told_apart(void **state)
{
    (void)state;
    char payload[2048];
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "n"});
    for (int round = 0; round < 3; round++)
        for (int scale = 1; scale <= 40; scale++) {
            snprintf(
                payload, sizeof payload,
                "{\"schema\":" SCHEMA(COLUMN(
                    "bytes", "org.apache.kafka.connect.data.Decimal",
                    "\"parameters\":{\"scale\":\"%d\"},")) ",\"payload\":" CREATE("{\"k\":1,\"n\":\"AQ==\"}") "}",
                scale, scale);
            const char *text = case_decode(&test, "{\"k\":1}", payload);
            char expected[128];
            snprintf(expected, sizeof expected,
                     "row c dbz public.kv public.kv/1 before - after 0.%0*d", scale, 1);
            assert_string_equal(strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text, expected);
        }
    case_close(&test);
}

static void takes_both_ways_of_wrapping(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "n"});
    const char *row = "row c dbz public.kv public.kv/1 before - after 5",
               *plain = CREATE("{\"k\":1,\"n\":5}");
    assert_string_equal(
        case_decode(&test, "{\"schema\":{\"type\":\"struct\",\"fields\":[]},\"payload\":{\"k\":1}}",
                    plain),
        row);
    assert_string_equal(case_decode(&test, "{\"payload\":{\"k\":1},\"schema\":null}", plain), row);
    assert_string_equal(
        case_decode(&test, "{\"payload\":{\"k\":1}}",
                    "{\"payload\":" CREATE("{\"k\":1,\"n\":5}") ",\"schema\":" STRING "}"),
        row);
    assert_string_equal(case_decode(&test, "{\"k\":1}", "{\"schema\":null,\"payload\":null}"),
                        "ignored: tombstone");
    /* columns may have these names */
    assert_string_equal(case_decode(&test, "{\"payload\":7}", CREATE("{\"payload\":7,\"n\":5}")),
                        "schema public.kv epoch\nrow c dbz public.kv public.kv/7 before - after 5");
    assert_string_equal(
        case_decode(&test, "{\"schema\":\"x\",\"k\":1}",
                    CREATE("{\"schema\":\"x\",\"k\":1,\"n\":5}")),
        "schema public.kv epoch\nrow c dbz public.kv public.kv/x,1 before - after 5");
    case_close(&test);
}

static void refuses_bad_messages(void **state)
{
    (void)state;
    static const struct {
        const char *payload, *says;
    } cases[] = {
        {"", "byte 1: the text ends here, expected '{'"},
        {"[]", "byte 1: found '[', expected '{'"},
        {"null", "byte 1: found 'n', expected '{'"},
        {"{}", "not a message of Debezium: expected op, status, ddl, or ts_ms alone"},
        {"{\"ts_ms\":1,\"id\":2}",
         "not a message of Debezium: expected op, status, ddl, or ts_ms alone"},
        {"{\"op\":\"c\"}", "no source, expected one beside op"},
        {"{\"op\":\"c\",\"source\":null}", "no source, expected one beside op"},
        {"{\"op\":\"c\",\"source\":7}", "byte 20: found '7', expected '{'"},
        {"{\"op\":\"x\"," SOURCE "}", "op: \"x\", expected c, u, d, r, t or m"},
        {"{\"op\":\"create\"," SOURCE "}", "op: \"create\", expected c, u, d, r, t or m"},
        {"{\"op\":null," SOURCE "}", "op: \"\", expected c, u, d, r, t or m"},
        {"{\"op\":1," SOURCE "}", "op: expected a string"},
        {"{\"op\":\"c\",\"op\":\"d\"," SOURCE "}", "op occurs twice, expected it once"},
        {"{\"op\":\"c\",\"source\":{\"lsn\":1,\"lsn\":1}}",
         "source.lsn occurs twice, expected it once"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"oracle\"}}",
         "source.connector: \"oracle\", expected postgresql, mysql or mariadb"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"TiCDC\"}}",
         "source.connector: \"TiCDC\", expected postgresql, mysql or mariadb (TiCDC: a source of kind ticdc)"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"yugabytedb\"}}",
         "source.connector: \"yugabytedb\", expected postgresql, mysql or mariadb (YugabyteDB: a source of kind yugabyte)"},
        {"{\"op\":\"c\",\"source\":{\"connector\":null}}",
         "source.connector: \"\", expected postgresql, mysql or mariadb"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"postgresql\"}}",
         "source.table: expected the table's name"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"postgresql\",\"table\":[]}}",
         "source.table: expected a string"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"postgresql\",\"table\":\"t\",\"txId\":-1}}",
         "source.txId: expected an unsigned integer"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"postgresql\",\"table\":\"t\",\"lsn\":1.5}}",
         "source.lsn: expected an unsigned integer"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"postgresql\",\"table\":\"t\",\"lsn\":18446744073709551616}}",
         "source.lsn: expected an unsigned integer"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"postgresql\",\"table\":\"t\",\"sequence\":\"[1]\"}}",
         "source.sequence: expected [\"LSN\",\"LSN\"], either of them maybe null"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"postgresql\",\"table\":\"t\",\"snapshot\":7}}",
         "source.snapshot: expected a string"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"mysql\",\"table\":\"t\",\"file\":\"binlog\",\"pos\":1}}",
         "source.file: expected a name that ends in a number, like binlog.000003"},
        {"{\"op\":\"c\",\"source\":{\"connector\":\"mysql\",\"table\":\"t\",\"file\":\"b.1\",\"pos\":1099511627776}}",
         "source.pos or source.row: too large"},
        {"{\"op\":\"c\"," SOURCE "}", "op c without after, expected a row"},
        {"{\"op\":\"u\",\"after\":null," SOURCE "}", "op u without after, expected a row"},
        {"{\"op\":\"d\",\"after\":{\"k\":1}," SOURCE "}", "op d with after, expected null"},
        {"{\"op\":\"c\",\"before\":{\"k\":1},\"after\":{\"k\":1}," SOURCE "}",
         "op c with before, expected null"},
        {CREATE("7"), "byte 19: found '7', expected '{'"},
        {CREATE("{\"k\":1}"), "after: no column \"n\", expected it because of value=n"},
        {CREATE("{\"n\":1}"), "after: lacks a column of the key"},
        {CREATE("{\"k\":1,\"n\":1,\"n\":2}"), "after: two columns of one name"},
        {CREATE("{\"k\":1,\"n\":01}"),
         "byte 31: found '1' in a number, expected no digit after a leading zero"},
        {CREATE("{\"k\":1,\"n\":\"\xff\"}"),
         "byte 31: found byte 0xff in a string, expected UTF-8"},
        {CREATE("{\"k\":1,\"n\":1}") "x", "byte 113: found 'x', expected nothing more"},
        {"{\"schema\":7,\"payload\":{}}",
         "not a message of Debezium: expected op, status, ddl, or ts_ms alone"},
        {"{\"schema\":{},\"payload\":{},\"more\":1}",
         "member \"more\" beside schema and payload, expected only those"},
        {"{\"schema\":{}}", "a schema without a payload, expected both"},
    };
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "n"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(case_decode(&test, "{\"k\":1}", cases[i].payload), cases[i].says);
        assert_int_equal(test.error.status, ISO_BAD_INPUT);
    }
    case_close(&test);
}

static void refuses_bad_keys(void **state)
{
    (void)state;
    struct decoder_case test;
    const char *plain = CREATE("{\"k\":1,\"n\":5}");
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "n"});
    assert_string_equal(case_decode(&test, "Struct{k=1}", plain),
                        "key, byte 1: found 'S', expected '{'");
    assert_string_equal(case_decode(&test, "{\"k\":1", plain),
                        "key, byte 7: the text ends here, expected ',' or '}'");
    assert_string_equal(case_decode(&test, "{\"k\":null}", plain), "key: a column of it is null");
    assert_string_equal(case_decode(&test, "{\"k\":1}x", plain),
                        "key, byte 8: found 'x', expected nothing more");
    case_close(&test);
}

/* A megabyte of brackets, a long column, a long name: bounded in memory and stack, and taken where
 * they are legal. */
static void large_messages_are_bounded(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    struct decoder_case test;
    char *payload = malloc(SIZE + 1000);
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "n"});
    memset(payload, '[', SIZE);
    payload[SIZE] = 0;
    memcpy(payload, "{\"x\":", 5);
    assert_non_null(strstr(case_decode(&test, "{\"k\":1}", payload), "nested too deep"));
    char *at = payload +
               sprintf(payload, "{\"op\":\"c\"," SOURCE ",\"after\":{\"k\":1,\"n\":5,\"long\":\"");
    memset(at, 'a', SIZE);
    strcpy(at + SIZE, "\"}}");
    assert_string_equal(case_decode(&test, "{\"k\":1}", payload),
                        "row c dbz public.kv public.kv/1 before - after 5");
    case_close(&test);
    free(payload);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_what_the_schema_says),
        cmocka_unit_test(many_schemas_are_told_apart),
        cmocka_unit_test(takes_both_ways_of_wrapping),
        cmocka_unit_test(refuses_bad_messages),
        cmocka_unit_test(refuses_bad_keys),
        cmocka_unit_test(large_messages_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
