#include "observe/template.h"
#include "observe/values.h"
#include "tests/support/test.h"

static void check(const char *text, const char *template, const char *const *values)
{
    struct iso_text made = {0};
    struct constants constants = {0};
    template_make(text, strlen(text), false, &made, &constants);
    assert_int_equal(made.used, strlen(template));
    assert_memory_equal(made.bytes, template, made.used);
    for (uint32_t i = 0; i < constants.count; i++) {
        assert_non_null(values[i]);
        if (constants.list[i].kind == CONSTANT_OPAQUE)
            assert_string_equal(values[i], "?");
        else
            assert_string_equal(constants.values.bytes + constants.list[i].position, values[i]);
    }
    assert_null(values[constants.count]);
    constants_release(&constants);
    iso_text_release(&made);
}

static void constants_are_cut_out(void **state)
{
    (void)state;
    check("SELECT 1", "SELECT $30001", (const char *const[]){"1", NULL});
    check("UPDATE t SET v = 'it''s' , w=-1.5e-3 WHERE k=12",
          "UPDATE t SET v = $30001 , w=-$30002 WHERE k=$30003",
          (const char *const[]){"it's", "1.5e-3", "12", NULL});
    check("SELECT t1.c2, $1 FROM t1", "SELECT t1.c2, $1 FROM t1", (const char *const[]){NULL});
    check("SELECT E'a\\'b', $$x'y$$, $t$ $$ $t$, U&'z' ;",
          "SELECT $30001, $30002, $30003, $30004 ;",
          (const char *const[]){"?", "?", "?", "?", NULL});
    check("SELECT \"a'1\" -- 'no' 1\n, /* 2 /* 3 */ 4 */ 5", "SELECT \"a'1\" , $30001",
          (const char *const[]){"5", NULL});
    check("  SELECT\n\t1  ", "SELECT $30001", (const char *const[]){"1", NULL});
    check("SELECT 'open", "SELECT $30001", (const char *const[]){"open", NULL});
    check("SELECT a.b", "SELECT a.b", (const char *const[]){NULL});
    check("", "", (const char *const[]){NULL});
}

static void value_is(uint32_t type, const void *bytes, uint32_t size, const char *expected)
{
    const struct spelling spelling = {true, true, true, true};
    struct iso_text text = {0};
    bool known = pg_value_text(type, true, bytes, size, &spelling, &text);
    assert_int_equal(known, expected != NULL);
    if (expected)
        assert_string_equal(text.bytes, expected);
    iso_text_release(&text);
}

/* Taken from what PostgreSQL 15 sends for these values. */
static void binary_values_are_spelt_as_texts(void **state)
{
    (void)state;
    value_is(PG_INT4, "\xff\xff\xff\xfe", 4, "-2");
    value_is(PG_INT8, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8, "9223372036854775807");
    value_is(PG_INT2, "\0\7", 2, "7");
    value_is(PG_INT4, "\0\0\1", 3, NULL);
    value_is(PG_BOOL, "\1", 1, "t");
    value_is(PG_TEXT, "a\xc3\xa9", 3, "a\xc3\xa9");
    value_is(PG_TEXT, "a\xe9", 2, NULL);
    value_is(PG_NUMERIC, "\0\2\0\0\0\0\0\2\0\1\x13\x88", 12, "1.50");
    value_is(PG_NUMERIC, "\0\3\0\1\x40\0\0\3\0\x0c\x0d\x80\x1a\x2c", 14, "-123456.670");
    value_is(PG_NUMERIC, "\0\0\0\0\0\0\0\0", 8, "0");
    value_is(PG_NUMERIC, "\0\1\xff\xff\0\0\0\3\0\x0a", 10, "0.001");
    value_is(PG_DATE, "\0\0\x22\x79", 4, "2024-02-29");
    value_is(PG_TIMESTAMP, "\0\2\xb5\x82\xc4\x78\x10\0", 8, "2024-02-29 12:00:00");
    value_is(PG_FLOAT8, "\0\0\0\0\0\0\0\0", 8, NULL);
}

static void keys_are_certain_or_none(void **state)
{
    (void)state;
    assert_true(pg_key_part(PG_INT4, "-12"));
    assert_true(pg_key_part(PG_INT4, "0"));
    assert_false(pg_key_part(PG_INT4, "-0"));
    assert_false(pg_key_part(PG_INT4, "007"));
    assert_false(pg_key_part(PG_INT4, " 7"));
    assert_false(pg_key_part(PG_INT4, ""));
    assert_true(pg_key_part(PG_TEXT, " any "));
    assert_false(pg_key_part(PG_BPCHAR, "a"));
    assert_false(pg_key_part(PG_NUMERIC, "1"));
    assert_true(pg_key_part(PG_UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"));
    assert_false(pg_key_part(PG_UUID, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_cut_out),
        cmocka_unit_test(binary_values_are_spelt_as_texts),
        cmocka_unit_test(keys_are_certain_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
