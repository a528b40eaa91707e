/* YugabyteDB's connectors in JSON: the gRPC one's cells, transactions and times; logical
 * replication with and without cells; what is refused. */
#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/decoder_case.h"

#define GRPC(op, before, after, xid, snapshot)                                                                      \
    "{\"before\":" before ",\"after\":" after                                                                       \
    ",\"source\":{\"version\":\"dz.1.9.5.yb.grpc\",\"connector\":\"yugabytedb\","                                   \
    "\"name\":\"s\",\"ts_ms\":1700000000123,\"snapshot\":\"" snapshot "\",\"db\":\"yugabyte\","                     \
    "\"sequence\":\"[\\\"1:4::0:0\\\",\\\"1:6::0:6963200000505675780\\\"]\",\"schema\":\"public\",\"table\":\"t\"," \
    "\"txId\":\"" xid                                                                                               \
    "\",\"lsn\":\"1:6:a2V5:2:6963200000505675780\",\"commit_time\":6963200000505675781,"                            \
    "\"record_time\":6963200000505600000,\"tablet_id\":\"ab12\",\"partition_id\":\"00004000.ab12\"},\"op\":\"" op   \
    "\","                                                                                                           \
    "\"ts_ms\":1700000000200,\"transaction\":null}"
#define UUID "7b1f0d0e-0c35-4a3c-9d7a-0f5f7f6d9a11"
#define CELL(value) "{\"value\":" value ",\"set\":true}"
#define KEY "{\"id\":" CELL("1") "}"
#define AT " id " UUID " cts 6963200000505675781 at 6963200000505675781,6963200000505600000 #3"

static void takes_grpc_rows(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_yugabyte_decoder, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(case_decode(&test, KEY,
                                    GRPC("c", "null", "{\"id\":" CELL("1") ",\"v\":" CELL("10") "}",
                                         UUID, "false")),
                        "row c s public.t public.t/1 after 10" AT);
    assert_string_equal(
        case_decode(&test, KEY,
                    GRPC("u", "{\"id\":" CELL("1") ",\"v\":" CELL("10") "}",
                         "{\"id\":" CELL("1") ",\"v\":" CELL("null") "}", UUID, "false")),
        "row u s public.t public.t/1 before 10 after -" AT);
    /* a null cell is a column that did not change, or is not said */
    assert_string_equal(
        case_decode(&test, KEY,
                    GRPC("u", "null", "{\"id\":" CELL("1") ",\"v\":null}", UUID, "false")),
        "row u s public.t public.t/1 after ?" AT);
    assert_string_equal(
        case_decode(&test, KEY,
                    GRPC("d", "{\"id\":" CELL("1") ",\"v\":null}", "null", UUID, "false")),
        "row d s public.t public.t/1 after -" AT);
    assert_string_equal(
        case_decode(&test, KEY,
                    GRPC("u", "null", "{\"id\":" CELL("1") ",\"v\":{\"value\":5,\"set\":false}}",
                         UUID, "false")),
        "row u s public.t public.t/1 after ?" AT);
    /* outside of a distributed transaction */
    assert_string_equal(
        case_decode(&test, KEY,
                    GRPC("d", "{\"id\":" CELL("1") ",\"v\":" CELL("10") "}", "null", "", "false")),
        "row d s public.t public.t/1 before 10 after - cts 6963200000505675781 at "
        "6963200000505675781,6963200000505600000 #3");
    assert_string_equal(
        case_decode(&test, KEY,
                    GRPC("r", "null", "{\"id\":" CELL("1") ",\"v\":" CELL("10") "}", "", "true")),
        "row r s public.t public.t/1 after 10");
    assert_string_equal(case_decode(&test, KEY, NULL), "ignored: tombstone");
    assert_string_equal(case_decode(&test, NULL, GRPC("t", "null", "null", UUID, "false")),
                        "drop public.t" AT);
    case_close(&test);
}

static void takes_whole_grpc_rows(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_yugabyte_decoder,
              (struct iso_decoder_options){.identity = ISO_IDENTITY_FULL});
    assert_string_equal(case_decode(&test, KEY,
                                    GRPC("c", "null",
                                         "{\"w\":" CELL("null") ",\"id\":" CELL("1") ",\"v\":" CELL(
                                             "{\"value\":1}") "}",
                                         UUID, "false")),
                        "row c s public.t public.t/1 after {\"v\":{\"value\":1},\"w\":null}" AT);
    assert_string_equal(case_decode(&test, KEY,
                                    GRPC("u", "null",
                                         "{\"w\":" CELL("null") ",\"id\":" CELL("1") ",\"v\":" CELL(
                                             "{\"value\":2}") "}",
                                         UUID, "false")),
                        "row u s public.t public.t/1 after {\"v\":{\"value\":2},\"w\":null}" AT);
    /* without cells, as the connector's transforms leave it */
    assert_string_equal(
        case_decode(&test, "{\"id\":1}",
                    GRPC("u", "{\"id\":1,\"v\":2}", "{\"id\":1,\"v\":null}", UUID, "false")),
        "schema public.t epoch of public.t#w id " UUID
        " cts 6963200000505675781 at 6963200000505675781,6963200000505600000\n"
        "schema public.t epoch id " UUID
        " cts 6963200000505675781 at 6963200000505675781,6963200000505600000\n"
        "row u s public.t public.t/1 before {\"v\":2} after {\"v\":null}" AT);
    case_close(&test);
    case_open(&test, &iso_yugabyte_decoder, (struct iso_decoder_options){0});
    assert_string_equal(
        case_decode(&test, "{\"id\":1}",
                    GRPC("u", "{\"id\":1,\"v\":2}", "{\"id\":1,\"v\":null}", UUID, "false")),
        "row u s public.t public.t/1 before {\"v\":2} after ?" AT);
    case_close(&test);
}

#define LOGICAL(op, before, after, lsn)                                                            \
    "{\"before\":" before ",\"after\":" after                                                      \
    ",\"source\":{\"version\":\"2.5.2\",\"connector\":\"postgresql\",\"name\":\"s\","              \
    "\"snapshot\":\"false\",\"db\":\"yugabyte\",\"sequence\":\"[\\\"7\\\",\\\"" lsn                \
    "\\\"]\",\"schema\":\"public\","                                                               \
    "\"table\":\"t\",\"txId\":3,\"lsn\":" lsn ",\"xmin\":null},\"transaction\":{\"id\":\"3:" lsn   \
    "\",\"total_order\":2,"                                                                        \
    "\"data_collection_order\":1},\"op\":\"" op "\",\"ts_ms\":1}"

static void takes_logical_rows(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_yugabyte_decoder, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(
        case_decode(&test, KEY,
                    LOGICAL("c", "null", "{\"id\":" CELL("1") ",\"v\":" CELL("10") "}", "9")),
        "row c s public.t public.t/1 after 10 id 3 at 7,9 #2");
    assert_string_equal(
        case_decode(&test, KEY, LOGICAL("u", "null", "{\"id\":" CELL("1") ",\"v\":null}", "9")),
        "row u s public.t public.t/1 after ? id 3 at 7,9 #2");
    assert_string_equal(
        case_decode(&test, "{\"id\":1}", LOGICAL("u", "null", "{\"id\":1,\"v\":null}", "9")),
        "row u s public.t public.t/1 after - id 3 at 7,9 #2");
    assert_string_equal(
        case_decode(
            &test, "{\"id\":1}",
            LOGICAL("u", "{\"id\":1,\"v\":4}", "{\"id\":1,\"v\":5}", "7016203829923512320")),
        "row u s public.t public.t/1 before 4 after 5 id 3 cts 7016203829923512320 at 7,7016203829923512320 #2");
    assert_string_equal(
        case_decode(&test, "{\"id\":1}",
                    LOGICAL("d", "{\"id\":1,\"v\":null}", "null", "7016203829923512321")),
        "row d s public.t public.t/1 before - after - id 3 cts 7016203829923512321 at 7,7016203829923512321 #2");
    /* the update showed a whole row, and what came before it says what it said */
    assert_string_equal(
        case_decode(&test, "{\"id\":1}", LOGICAL("d", "{\"id\":1,\"v\":null}", "null", "9")),
        "row d s public.t public.t/1 after - id 3 at 7,9 #2");
    case_close(&test);
}

static void takes_metadata(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_yugabyte_decoder, (struct iso_decoder_options){0});
    assert_string_equal(case_decode(&test, NULL,
                                    "{\"status\":\"BEGIN\",\"id\":\"" UUID
                                    "\",\"event_count\":null,\"partition_id\":\"a.b\"}"),
                        "begin id " UUID);
    assert_string_equal(case_decode(&test, NULL,
                                    "{\"status\":\"END\",\"id\":\"" UUID
                                    "\",\"event_count\":2,\"partition_id\":\"a.b\"}"),
                        "end id " UUID); /* of one tablet */
    assert_string_equal(
        case_decode(&test, NULL,
                    "{\"status\":\"END\",\"id\":\"3:9\",\"event_count\":2,\"ts_ms\":1}"),
        "end id 3 count 2 at 0,9");
    assert_string_equal(
        case_decode(&test, NULL,
                    "{\"status\":\"END\",\"id\":\"3:7016203829923512320\",\"event_count\":2}"),
        "end id 3 count 2 cts 7016203829923512320 at 0,7016203829923512320");
    assert_string_equal(case_decode(&test, NULL, "{\"ts_ms\":1}"), "heartbeat");
    assert_string_equal(
        case_decode(&test, NULL,
                    "{\"source\":{},\"ts_ms\":1,\"databaseName\":\"d\",\"ddl\":\"x\"}"),
        "schema -");
    case_close(&test);
}

/* Avro, with schemas from a file: cells, nulls in their place, and what a union may hold beside a
 * cell. */
static void takes_cells_in_avro(void **state)
{
    (void)state;
    static const char key[] =
        "{\"type\":\"record\",\"name\":\"Key\",\"fields\":[{\"name\":\"id\",\"type\":{\"type\":\"record\","
        "\"name\":\"IdCell\",\"fields\":[{\"name\":\"value\",\"type\":\"int\"},{\"name\":\"set\","
        "\"type\":\"boolean\"}]}}]}";
    static const char payload[] =
        "{\"type\":\"record\",\"name\":\"Envelope\",\"fields\":[{\"name\":\"after\",\"type\":{\"type\":\"record\","
        "\"name\":\"Value\",\"fields\":[{\"name\":\"id\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"IdCell\","
        "\"fields\":[{\"name\":\"value\",\"type\":\"int\"},{\"name\":\"set\",\"type\":\"boolean\"}]}]},"
        "{\"name\":\"v\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"Cell\",\"fields\":[{\"name\":\"set\","
        "\"type\":\"boolean\"},{\"name\":\"value\",\"type\":[\"null\",\"string\"]}]},{\"type\":\"enum\",\"name\":\"E\","
        "\"symbols\":[\"X\",\"Y\"]},{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}]}]}},"
        "{\"name\":\"op\",\"type\":\"string\"},{\"name\":\"note\",\"type\":\"string\"},{\"name\":\"source\",\"type\":"
        "{\"type\":\"record\",\"name\":\"S\",\"fields\":[{\"name\":\"connector\",\"type\":\"string\"},"
        "{\"name\":\"snapshot\",\"type\":\"string\"},{\"name\":\"table\",\"type\":\"string\"}]}}]}";
    static const struct {
        const char *bytes, *after;
        size_t size;
    } values[] = {{"\2\1\2\2w", "w", 5}, {"\2\1\0", "-", 3}, {"\2\0\2\2w", "?", 5},
                  {"\0", "?", 1},        {"\4\2", "Y", 2},   {"\6ab", "YWI=", 3}};
    struct decoder_case test;
    char file[4096];
    snprintf(file, sizeof file, "{\"key\":%s,\"payload\":%s}", key, payload);
    case_open(&test, &iso_yugabyte_decoder,
              (struct iso_decoder_options){.format = "avro", .schema = file, .value = "v"});
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        static const char tail[] = "\2r\2n\x14yugabytedb\10true\2t";
        char bytes[64] = "\2\2\1", expected[64]; /* id: a cell of 1 */
        memcpy(bytes + 3, values[i].bytes, values[i].size);
        memcpy(bytes + 3 + values[i].size, tail, sizeof tail - 1);
        snprintf(expected, sizeof expected, "row r  t t/1 after %s", values[i].after);
        size_t size = 3 + values[i].size + sizeof tail - 1;
        assert_string_equal(case_bytes(&test, "x", (struct iso_bytes){(const uint8_t *)"\2\1", 2},
                                       (struct iso_bytes){(const uint8_t *)bytes, (uint32_t)size}),
                            expected);
        bytes[3 + values[i].size + 3] = (char)0xff; /* the note, which nobody looks at */
        assert_non_null(
            strstr(case_bytes(&test, "x", (struct iso_bytes){(const uint8_t *)"\2\1", 2},
                              (struct iso_bytes){(const uint8_t *)bytes, (uint32_t)size}),
                   "expected UTF-8"));
    }
    case_close(&test);
}

static void refuses_bad_messages(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_yugabyte_decoder, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(case_decode(&test, KEY, GRPC("m", "null", "null", UUID, "false")),
                        "op: \"m\", expected c, u, d, r or t");
    assert_string_equal(case_decode(&test, KEY, GRPC("c", "null", "null", UUID, "false")),
                        "op c without after, expected a row");
    assert_string_equal(case_decode(&test, KEY, GRPC("c", "null", "{\"id\":1}", UUID, "false")),
                        "after: no column \"v\", expected it because of value=v");
    assert_string_equal(case_decode(&test, KEY, GRPC("c", "null", "{\"v\":1}", UUID, "false")),
                        "after: lacks a column of the key");
    assert_string_equal(
        case_decode(
            &test, KEY,
            "{\"op\":\"c\",\"after\":{\"id\":1,\"v\":2},\"source\":{\"connector\":\"yugabytedb\","
            "\"table\":\"t\",\"commit_time\":17}}"),
        "source.commit_time: expected a HybridTime, microseconds << 12");
    assert_string_equal(
        case_decode(
            &test, KEY,
            "{\"op\":\"c\",\"after\":{\"id\":1,\"v\":2},\"source\":{\"connector\":\"yugabytedb\","
            "\"table\":\"t\",\"commit_time\":18446744073709551615}}"),
        "source.commit_time: expected a HybridTime, microseconds << 12");
    assert_string_equal(
        case_decode(&test, KEY,
                    "{\"op\":\"c\",\"after\":{\"id\":1},\"source\":{\"connector\":\"mysql\"}}"),
        "source.connector: \"mysql\", expected yugabytedb or postgresql");
    assert_string_equal(
        case_decode(&test, KEY,
                    "{\"op\":\"c\",\"after\":{\"id\":1,\"v\":{\"value\":1,\"set\":tru}}}"),
        "byte 51: found '}', expected true");
    assert_string_equal(
        case_decode(&test, KEY, "{}"),
        "not a message of YugabyteDB's connectors: expected op, status, ddl, or ts_ms alone");
    case_close(&test);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_grpc_rows),     cmocka_unit_test(takes_whole_grpc_rows),
        cmocka_unit_test(takes_logical_rows),  cmocka_unit_test(takes_metadata),
        cmocka_unit_test(takes_cells_in_avro), cmocka_unit_test(refuses_bad_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
