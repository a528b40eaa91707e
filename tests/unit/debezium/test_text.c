/* Lines of test_decoding: rows as PostgreSQL's plugin prints them, and what is refused. */
#include "connectors/debezium/debezium.h"
#include "tests/support/decoder_case.h"

static const char *decode(struct decoder_case *test, const char *key, const char *payload)
{
    struct iso_bytes none = {NULL, 0};
    struct iso_bytes bytes = {(const uint8_t *)key, key ? (uint32_t)strlen(key) : 0};
    return case_bytes(test, "run.changes", key ? bytes : none,
                      (struct iso_bytes){(const uint8_t *)payload, (uint32_t)strlen(payload)});
}

static struct decoder_case opened(void)
{
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.format = "test_decoding"});
    return test;
}

static void takes_rows_as_they_are_printed(void **state)
{
    (void)state;
    struct decoder_case test = opened();
    assert_string_equal(
        decode(&test, "id[integer]:-1",
               "c 700 1000 900 1 public.a id[integer]:-1 v[text]:'it''s' n[numeric]:1.50 "
               "d[date]:'2024-02-29' r[integer[]]:'{1,2}' x[text]:null b[boolean]:true"),
        "row c run public.a public.a/-1 before - after "
        "{\"b\":\"true\",\"d\":\"19782\",\"n\":\"1.5\",\"r\":\"{1,2}\",\"v\":\"it's\",\"x\":null}"
        " id 700 at 900,1000 #1");
    assert_string_equal(decode(&test, "\"K\"\"1\"[text]:'a/b'",
                               "d 701 1000 900 2 \"S.x\".\"T\"\"y\" \"K\"\"1\"[text]:'a/b'"),
                        "row d run S%2Ex.T\"y S%2Ex.T\"y/a%2Fb after - id 701 at 900,1000 #2");
    assert_string_equal(
        decode(&test, "id[integer]:1",
               "u 702 1000 900 1 public.b id[integer]:1 v[text]:unchanged-toast-datum"),
        "row u run public.b public.b/1 after ? id 702 at 900,1000 #1");
    assert_string_equal(decode(&test, NULL, "t 703 1000 900 1 public.a"),
                        "drop public.a id 703 at 900,1000 #1");
    assert_string_equal(decode(&test, NULL, "c 703 1000 900 1 public.a v[bit]:B'101'"),
                        "ignored: row without a key id 703 at 900,1000 #1");
    assert_string_equal(decode(&test, NULL, "B 704 2000"), "begin id 704 at 0,2000");
    case_close(&test);
}

static void refuses_what_is_none(void **state)
{
    (void)state;
    static const char *const rows[] = {"id",           "id[integer]",    "id[integer]:",
                                       "[integer]:1",  "id[text]:'a",    "id[text]:'a'b",
                                       "\"id[text]:1", "i d[integer]:1", ""};
    struct decoder_case test = opened();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char payload[100];
        snprintf(payload, sizeof payload, "c 700 1000 900 1 public.a %s", rows[i]);
        assert_string_equal(decode(&test, "id[integer]:1", payload),
                            "a row of test_decoding: expected NAME[TYPE]:VALUE for each column");
    }
    assert_string_equal(decode(&test, NULL, "c x 1000 900 1 public.a id[integer]:1"),
                        "a line of test_decoding: expected OP XID LSN PREVIOUS ORDER SCHEMA.TABLE");
    assert_string_equal(decode(&test, NULL, "E 700 1000 2"),
                        "a line of test_decoding: expected B XID LSN, or E XID LSN COUNT "
                        "MILLISECONDS");
    assert_string_equal(decode(&test, "id", "c 700 1000 900 1 public.a id[integer]:1"),
                        "key: expected NAME[TYPE]:VALUE for each of its columns");
    case_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_rows_as_they_are_printed),
        cmocka_unit_test(refuses_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
