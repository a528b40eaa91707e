/* One message of each kind that Debezium's connectors send beside plain rows: what is used, what is
 * passed over and why, and what is refused. */
#include "connectors/debezium/debezium.h"
#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/decoder_case.h"

#define KEY "{\"id\":1}"
#define ATTRIBUTES(op, snapshot)                                                                                 \
    "\"id\":\"name:srv;lsn:29274832;txId:565\",\"source\":\"/debezium/postgresql/srv\",\"specversion\":\"1.0\"," \
    "\"type\":\"io.debezium.connector.postgresql.DataChangeEvent\",\"time\":\"2020-01-13T13:55:39.738Z\","       \
    "\"datacontenttype\":\"application/json\",\"iodebeziumop\":\"" op                                            \
    "\",\"iodebeziumversion\":\"3.7.0.Final\","                                                                  \
    "\"iodebeziumconnector\":\"postgresql\",\"iodebeziumname\":\"srv\",\"iodebeziumtsms\":\"1578307595958\","    \
    "\"iodebeziumsnapshot\":\"" snapshot "\",\"iodebeziumdb\":\"postgres\","                                     \
    "\"iodebeziumsequence\":\"[\\\"29274000\\\",\\\"29274832\\\"]\",\"iodebeziumschema\":\"s1\","                \
    "\"iodebeziumtable\":\"a\",\"iodebeziumlsn\":\"29274832\",\"iodebeziumxmin\":null"
#define CLOUD(op, data)                                                                            \
    "{" ATTRIBUTES(                                                                                \
        op, "false") ",\"iodebeziumtxid\":\"565\",\"iodebeziumtxtotalorder\":\"3\",\"data\":" data \
                     "}"
#define AT " id 565 at 29274000,29274832 #3"

static void takes_cloud_events(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.identity = ISO_IDENTITY_FULL, .value = "v"});
    assert_string_equal(
        case_decode(&test, KEY, CLOUD("c", "{\"before\":null,\"after\":{\"id\":1,\"v\":10}}")),
        "row c srv s1.a s1.a/1 before - after 10" AT);
    assert_string_equal(
        case_decode(&test, KEY,
                    CLOUD("u", "{\"before\":{\"id\":1,\"v\":10},\"after\":{\"id\":1,\"v\":11}}")),
        "row u srv s1.a s1.a/1 before 10 after 11" AT);
    assert_string_equal(
        case_decode(&test, KEY, CLOUD("d", "{\"before\":{\"id\":1,\"v\":11},\"after\":null}")),
        "row d srv s1.a s1.a/1 before 11 after -" AT);
    assert_string_equal(case_decode(&test, KEY, NULL), "ignored: tombstone");
    assert_string_equal(
        case_decode(&test, KEY,
                    "{" ATTRIBUTES(
                        "r", "true") ",\"data\":{\"before\":null,\"after\":{\"id\":1,\"v\":2}}}"),
        "row r srv s1.a s1.a/1 after 2 at 29274000,29274832");
    /* with transaction metadata the id is that of the metadata */
    assert_string_equal(
        case_decode(&test, KEY,
                    "{" ATTRIBUTES("c", "false") ",\"iodebeziumtxid\":\"565:29274832\",\"data\":"
                                                 "{\"after\":{\"id\":1,\"v\":10}}}"),
        "row c srv s1.a s1.a/1 before - after 10 id 565 at 29274000,29274832");
    case_close(&test);
}

static void refuses_cloud_events_that_are_none(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){0});
    assert_string_equal(case_decode(&test, KEY, CLOUD("c", "null")),
                        "byte 629: found 'n', expected '{'");
    assert_string_equal(case_decode(&test, KEY, CLOUD("c", "{\"data\":{\"after\":{\"id\":1}}}")),
                        "data occurs twice, expected it once");
    assert_string_equal(case_decode(&test, KEY, CLOUD("x", "{\"after\":{\"id\":1}}")),
                        "op: \"x\", expected c, u, d, r, t or m");
    assert_string_equal(
        case_decode(&test, KEY, CLOUD("c", "{\"schema\":{},\"payload\":{\"after\":{\"id\":1}}}")),
        "op c without after, expected a row");
    assert_string_equal(
        case_decode(&test, KEY, "{\"source\":\"/x\",\"specversion\":\"1.0\",\"data\":{}}"),
        "not a message of Debezium: expected op, status, ddl, or ts_ms alone");
    assert_string_equal(
        case_decode(&test, KEY, "{\"source\":\"x\",\"op\":\"c\",\"after\":{\"id\":1}}"),
        "source.connector: \"\", expected postgresql, mysql or mariadb");
    case_close(&test);
}

#define PLAIN(op, snapshot, table, after)                                                          \
    "{\"before\":null,\"after\":" after                                                            \
    ",\"source\":{\"connector\":\"postgresql\",\"name\":\"srv\",\"snapshot\":\"" snapshot          \
    "\",\"sequence\":\"[null,\\\"9\\\"]\",\"schema\":\"s1\",\"table\":\"" table                    \
    "\",\"txId\":7,\"lsn\":9},"                                                                    \
    "\"op\":\"" op "\",\"ts_ms\":1,\"transaction\":null}"

/* Rows of an incremental snapshot are snapshot rows; the signals that bound its windows are rows of
 * a table like any other, which tables= may leave out. */
static void takes_incremental_snapshots_and_their_signals(void **state)
{
    (void)state;
    static const char signal[] =
        PLAIN("c", "false", "debezium_signal",
              "{\"id\":\"5f1c-open\",\"type\":\"snapshot-window-open\",\"data\":null}");
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){0});
    assert_string_equal(case_decode(&test, KEY, PLAIN("r", "incremental", "a", "{\"id\":1}")),
                        "row r srv s1.a s1.a/1 after {} incremental at 0,9");
    assert_string_equal(case_decode(&test, "{\"id\":\"5f1c-open\"}", signal),
                        "row c srv s1.debezium_signal s1.debezium_signal/5f1c-open before - after "
                        "{\"data\":null,\"type\":\"snapshot-window-open\"} id 7 at 0,9");
    case_close(&test);
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.tables = "s1.a"});
    assert_string_equal(case_decode(&test, "{\"id\":\"5f1c-open\"}", signal),
                        "ignored: a table that is not in tables= id 7 at 0,9");
    case_close(&test);
}

/* The same for both decoders of the envelope. */
static void takes_messages_that_are_no_rows(void **state)
{
    static const struct iso_decoder_class *const classes[] = {&iso_debezium_decoder,
                                                              &iso_yugabyte_decoder};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct decoder_case test;
        case_open(&test, classes[i], (struct iso_decoder_options){0});
        assert_string_equal(
            case_decode(&test, "{\"serverName\":\"srv\"}", "{\"ts_ms\":1700000000000}"),
            "heartbeat");
        assert_string_equal(
            case_decode(&test, NULL, "{\"ts_ms\":1700000000000,\"data\":{\"x\":1},\"note\":[1]}"),
            "heartbeat");
        assert_string_equal(
            case_decode(&test, NULL,
                        "{\"status\":\"BEGIN\",\"id\":\"571:9\",\"event_count\":null}"),
            "begin id 571 at 0,9");
        assert_string_equal(
            case_decode(&test, NULL, "{\"status\":\"END\",\"id\":\"571:9\",\"event_count\":2}"),
            "end id 571 count 2 at 0,9");
        assert_string_equal(case_decode(&test, NULL, "{\"status\":\"STOP\",\"id\":\"571:9\"}"),
                            "status: \"STOP\", expected BEGIN or END");
        assert_string_equal(case_decode(&test, KEY, NULL), "ignored: tombstone");
        assert_string_equal(case_decode(&test, KEY, "{\"schema\":null,\"payload\":null}"),
                            "ignored: tombstone");
        assert_string_equal(case_decode(&test, NULL, PLAIN("t", "false", "a", "null")),
                            "drop s1.a id 7 at 0,9");
        assert_string_equal(case_decode(&test, NULL, PLAIN("c", "false", "a", "{\"id\":1}")),
                            "ignored: row without a key id 7 at 0,9");
        assert_memory_equal(case_decode(&test, KEY, PLAIN("q", "false", "a", "{\"id\":1}")),
                            "op: \"q\", expected c, u", 22);
        assert_memory_equal(case_decode(&test, KEY, PLAIN("", "false", "a", "{\"id\":1}")),
                            "op: \"\", expected c, u", 21);
        assert_memory_equal(case_decode(&test, KEY, "{\"op\":\"c\",\"after\":{\"id\":1}}"),
                            "no source, expected", 19);
        case_close(&test);
    }
}

static bool covers(struct decoder_case *test, const char *topic, const char *table)
{
    return test->decoder->class->covers(test->decoder, topic, table, strlen(table));
}

static void covers_what_the_topic_is_named_after(void **state)
{
    static const struct iso_decoder_class *const classes[] = {&iso_debezium_decoder,
                                                              &iso_yugabyte_decoder};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct decoder_case test;
        case_open(&test, classes[i], (struct iso_decoder_options){.marker = "public.tx.tid"});
        assert_true(covers(&test, "shop.public.kv", "public.kv"));
        assert_true(covers(&test, "eu.shop.public.kv", "public.kv"));
        assert_true(covers(&test, "shop_public_kv", "public.kv"));
        assert_true(covers(&test, "shop.public.my_t_", "public.my t\xc3\xa4"));
        assert_true(covers(&test, "shop.public.my__", "public.my\xf0\x9f\x98\x80"));
        assert_true(covers(&test, "shop.public.a_b_", "public.a%2Fb%25"));
        assert_true(covers(&test, "shop.a.b.c", "a%2Eb.c"));
        assert_true(covers(&test, "shop_a.b_c", "a%2Eb.c"));
        assert_false(covers(&test, "shop_a_b.c", "a%2Eb.c"));
        assert_true(covers(&test, "shop.public.transaction", "public.transaction"));
        assert_false(covers(&test, "shop.public.kv", "public.v"));
        assert_false(covers(&test, "shop.public.kv", "kv"));
        assert_false(covers(&test, "public.kv", "public.kv"));
        assert_false(covers(&test, "shop.public.kv2", "public.kv"));
        assert_false(covers(&test, "shop.s.order_items", "order.items"));
        assert_false(covers(&test, "shop.public.tx", "public.tx"));
        assert_false(covers(&test, "shop.transaction", "public.kv"));
        assert_false(covers(&test, "shop", "public.kv"));
        assert_false(covers(&test, "all", "public.kv"));
        assert_false(covers(&test, "", ""));
        case_close(&test);
    }
}

/* Where topics were routed elsewhere, `tables=` says what is in them. */
static void covers_what_tables_say(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.tables = "public.a;public.b"});
    assert_true(covers(&test, "shop.public.a", "public.a"));
    assert_false(covers(&test, "shop.public.a", "public.b"));
    assert_false(covers(&test, "shop.public.c", "public.c"));
    assert_true(covers(&test, "shop.all", "public.b"));
    assert_false(covers(&test, "shop.all", "public.c"));
    assert_false(covers(&test, "shop.transaction", "public.a"));
    assert_false(covers(&test, "shop.message", "public.a"));
    assert_false(covers(&test, "__debezium-heartbeat.shop", "public.a"));
    case_close(&test);
}

static void covers_no_endless_names(void **state)
{
    (void)state;
    struct decoder_case test;
    char table[400];
    memset(table, 'a', sizeof table);
    table[1] = '.';
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){0});
    assert_false(iso_debezium_decoder.covers(test.decoder, "p.a.aaa", table, sizeof table));
    case_close(&test);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_cloud_events),
        cmocka_unit_test(refuses_cloud_events_that_are_none),
        cmocka_unit_test(takes_incremental_snapshots_and_their_signals),
        cmocka_unit_test(takes_messages_that_are_no_rows),
        cmocka_unit_test(covers_what_the_topic_is_named_after),
        cmocka_unit_test(covers_what_tables_say),
        cmocka_unit_test(covers_no_endless_names),
    };
    return cmocka_run_group_tests_name("debezium kinds", tests, NULL, NULL);
}
