/* Markers (connectors/cdc_common/marker.h): what each decoder takes for one. */
#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/decoder_case.h"

#define DEBEZIUM(op, before, after, table, snapshot)                                               \
    "{\"before\":" before ",\"after\":" after                                                      \
    ",\"source\":{\"connector\":\"postgresql\",\"name\":\"dbz\","                                  \
    "\"snapshot\":\"" snapshot                                                                     \
    "\",\"sequence\":\"[\\\"10\\\",\\\"12\\\"]\",\"schema\":\"public\",\"table\":\"" table         \
    "\",\"txId\":7,\"lsn\":12},\"op\":\"" op "\"}"

/* The column says whose row it is and is no part of its value; a row that is gone, or was there
 * before, says nothing.
 */
static void debezium_column(void **state)
{
    struct decoder_case test;
    (void)state;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.marker = "m", .identity = ISO_IDENTITY_FULL});
    assert_string_equal(
        case_decode(&test, "{\"k\":1}",
                    DEBEZIUM("u", "{\"k\":1,\"m\":\"c1-1\",\"v\":5}",
                             "{\"k\":1,\"m\":\"c1-2\",\"v\":6}", "kv", "false")),
        "row u dbz public.kv public.kv/1 before {\"v\":5} after {\"v\":6} of c1-2 id 7 at 10,12");
    assert_string_equal(
        case_decode(&test, "{\"k\":1}",
                    DEBEZIUM("d", "{\"k\":1,\"m\":\"c1-2\",\"v\":6}", "null", "kv", "false")),
        "row d dbz public.kv public.kv/1 before {\"v\":6} after - id 7 at 10,12");
    assert_string_equal(
        case_decode(&test, "{\"k\":1}",
                    DEBEZIUM("c", "null", "{\"k\":1,\"m\":null,\"v\":6}", "kv", "false")),
        "row c dbz public.kv public.kv/1 before - after {\"v\":6} id 7 at 10,12"); /* nobody set it
                                                                                    */
    assert_string_equal(
        case_decode(&test, "{\"k\":1}",
                    DEBEZIUM("c", "null", "{\"k\":1,\"v\":6}", "other", "false")),
        "row c dbz public.other public.other/1 before - after {\"v\":6} id 7 at 10,12");
    case_close(&test);
}

/* Rows of the table are markers and nothing else, whatever tables= says. */
static void debezium_table(void **state)
{
    struct decoder_case test;
    (void)state;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.marker = "public.tx.tid", .tables = "public.kv"});
    assert_string_equal(case_decode(&test, "{\"tid\":\"c1-2\"}",
                                    DEBEZIUM("c", "null", "{\"tid\":\"c1-2\"}", "tx", "false")),
                        "ignored: a row that says whose transaction it is of c1-2 id 7 at 10,12");
    assert_string_equal(
        case_decode(&test, "{\"id\":1}",
                    DEBEZIUM("u", "{\"id\":1,\"tid\":3}", "{\"id\":1,\"tid\":4}", "tx", "false")),
        "ignored: a row that says whose transaction it is of 4 id 7 at 10,12");
    assert_string_equal(case_decode(&test, "{\"tid\":\"c1-2\"}",
                                    DEBEZIUM("d", "{\"tid\":\"c1-2\"}", "null", "tx", "false")),
                        "ignored: a row that says whose transaction it is id 7 at 10,12");
    assert_string_equal(case_decode(&test, "{\"tid\":\"c1-2\"}",
                                    DEBEZIUM("r", "null", "{\"tid\":\"c1-2\"}", "tx", "true")),
                        "ignored: a row that says whose transaction it is at 10,12");
    assert_string_equal(case_decode(&test, "{\"k\":1}",
                                    DEBEZIUM("c", "null", "{\"k\":1,\"tid\":9}", "kv", "false")),
                        "row c dbz public.kv public.kv/1 before - after {\"tid\":9} id 7 at 10,12");
    case_close(&test);
}

#define YUGABYTE(table, after)                                                                     \
    "{\"before\":null,\"after\":" after                                                            \
    ",\"source\":{\"connector\":\"yugabytedb\",\"name\":\"s\","                                    \
    "\"snapshot\":\"false\",\"schema\":\"public\",\"table\":\"" table                              \
    "\",\"txId\":\"\",\"lsn\":\"1:6:a:2:9\","                                                      \
    "\"commit_time\":6963200000505675781,\"record_time\":6963200000505600000},\"op\":\"c\"}"
#define YUGABYTE_AT " cts 6963200000505675781 at 6963200000505675781,6963200000505600000 #3"

static void yugabyte_column_and_table(void **state)
{
    struct decoder_case test;
    (void)state;
    case_open(&test, &iso_yugabyte_decoder, (struct iso_decoder_options){.marker = "m"});
    assert_string_equal(
        case_decode(&test, "{\"id\":{\"value\":1,\"set\":true}}",
                    YUGABYTE("t",
                             "{\"id\":{\"value\":1,\"set\":true},\"v\":{\"value\":5,\"set\":true},"
                             "\"m\":{\"value\":\"c1\",\"set\":true}}")),
        "row c s public.t public.t/1 after {\"v\":5} of c1" YUGABYTE_AT);
    case_close(&test);
    case_open(&test, &iso_yugabyte_decoder,
              (struct iso_decoder_options){.marker = "public.tx.tid"});
    assert_string_equal(case_decode(&test, "{\"tid\":{\"value\":\"c1\",\"set\":true}}",
                                    YUGABYTE("tx", "{\"tid\":{\"value\":\"c1\",\"set\":true}}")),
                        "ignored: a row that says whose transaction it is of c1" YUGABYTE_AT);
    case_close(&test);
}

#define CANAL(table, data, old)                                                                                     \
    "{\"id\":0,\"database\":\"db\",\"table\":\"" table                                                              \
    "\",\"pkNames\":[\"id\"],\"isDdl\":false,\"type\":\"UPDATE\","                                                  \
    "\"es\":1,\"ts\":2,\"sql\":\"\",\"mysqlType\":{\"id\":\"int\",\"v\":\"int\",\"m\":\"varchar\"},\"data\":[" data \
    "],\"old\":[" old "],\"_tidb\":{\"commitTs\":9}}"

static void ticdc_column_and_table(void **state)
{
    struct decoder_case test;
    (void)state;
    case_open(&test, &iso_ticdc_decoder, (struct iso_decoder_options){.marker = "m"});
    assert_string_equal(case_decode(&test, NULL,
                                    CANAL("t", "{\"id\":\"1\",\"v\":\"6\",\"m\":\"b\"}",
                                          "{\"id\":\"1\",\"v\":\"5\",\"m\":\"a\"}")),
                        "row u - db.t db.t/1 before {\"v\":5} after {\"v\":6} of b cts 9");
    case_close(&test);
    case_open(&test, &iso_ticdc_decoder,
              (struct iso_decoder_options){.marker = "db.tx.m", .tables = "db.t"});
    assert_string_equal(
        case_decode(&test, NULL,
                    CANAL("tx", "{\"id\":\"1\",\"m\":\"b\"}", "{\"id\":\"1\",\"m\":\"a\"}")),
        "ignored: a row that says whose transaction it is of b cts 9");
    case_close(&test);
}

#define DGRAPH(operation, attr, value, type)                                                       \
    "{\"meta\":{\"commit_ts\":9},\"type\":\"mutation\",\"event\":{\"operation\":\"" operation      \
    "\",\"uid\":31,"                                                                               \
    "\"attr\":\"" attr "\",\"value\":" value ",\"value_type\":\"" type "\"}}"

static void dgraph_predicate(void **state)
{
    struct decoder_case test;
    (void)state;
    case_open(&test, &iso_dgraph_decoder,
              (struct iso_decoder_options){.marker = "tx", .tables = "p"});
    assert_string_equal(case_decode(&test, NULL, DGRAPH("set", "tx", "\"c1-2\"", "string")),
                        "ignored: a value that says whose transaction it is of c1-2 cts 9");
    assert_string_equal(case_decode(&test, NULL, DGRAPH("set", "tx", "42", "int")),
                        "ignored: a value that says whose transaction it is of 42 cts 9");
    assert_string_equal(case_decode(&test, NULL, DGRAPH("del", "tx", "\"_STAR_ALL\"", "default")),
                        "ignored: a value that says whose transaction it is cts 9");
    assert_string_equal(case_decode(&test, NULL, DGRAPH("set", "p", "1", "int")),
                        "row u - p p/0x1f after 1 cts 9");
    assert_string_equal(case_decode(&test, NULL, DGRAPH("set", "tx", "true", "bool")),
                        "event.value of the marker \"true\": expected a string or an integer");
    case_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debezium_column),           cmocka_unit_test(debezium_table),
        cmocka_unit_test(yugabyte_column_and_table), cmocka_unit_test(ticdc_column_and_table),
        cmocka_unit_test(dgraph_predicate),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
