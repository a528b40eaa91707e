/* URLs of databases, and what is refused of them without a server. */
#include "tests/support/test.h"

#include "base/memory.h"
#include "database/database_private.h"

struct address {
    const char *url;
    const char *host, *user, *password, *name, *socket;
    unsigned port;
};

static void assert_text(const char *actual, const char *expected)
{
    if (!expected)
        assert_null(actual);
    else
        assert_string_equal(actual ? actual : "(none)", expected);
}

static void test_parts(void **state)
{
    (void)state;
    static const struct address cases[] = {
        {"mysql://root@localhost:4000/test", "localhost", "root", NULL, "test", NULL, 4000},
        {"mariadb://h/d", "h", NULL, NULL, "d", NULL, 0},
        {"tidb://u:p@h", "h", "u", "p", NULL, NULL, 0},
        {"mysql://u:p%40%3a%2F@h:1/d%20e", "h", "u", "p@:/", "d e", NULL, 1},
        {"mysql://u:a@b@h/d", "h", "u", "a@b", "d", NULL, 0},
        {"mysql://[::1]:3306/d", "::1", NULL, NULL, "d", NULL, 3306},
        {"mysql://[fe80::2]/d", "fe80::2", NULL, NULL, "d", NULL, 0},
        {"mysql://u@/d?socket=/run/my.sock", NULL, "u", NULL, "d", "/run/my.sock", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct database_address address = {0};
        const struct database_driver *driver;
        struct iso_error error = {0};
        assert_int_equal(database_parse(cases[i].url, &address, &driver, &error), ISO_OK);
        assert_ptr_equal(driver, &database_mysql);
        assert_text(address.host, cases[i].host);
        assert_text(address.user, cases[i].user);
        assert_text(address.password, cases[i].password);
        assert_text(address.name, cases[i].name);
        assert_text(address.socket, cases[i].socket);
        assert_int_equal(address.port, cases[i].port);
        database_address_release(&address);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "localhost",
                                        "http://h/d",
                                        "mysql:/h",
                                        "mysql://h:0/d",
                                        "mysql://h:70000/d",
                                        "mysql://h:12x/d",
                                        "mysql://h:/d",
                                        "mysql://u:secret@h:x/d",
                                        "mysql://h/%4",
                                        "mysql://h/%zz",
                                        "mysql://h/%00",
                                        "mysql://[::1/d",
                                        "mysql://[::1]x/d",
                                        "mysql://h/d?tls=1",
                                        "mysql://h/d?socket=/a&b=c"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct database_address address = {0};
        const struct database_driver *driver;
        struct iso_error error = {0};
        assert_int_equal(database_parse(wrong[i], &address, &driver, &error), ISO_BAD_INPUT);
        assert_null(strstr(error.text, "secret"));
        assert_non_null(strstr(error.text, "expected"));
        database_address_release(&address);
    }
}

static void test_protocols(void **state)
{
    (void)state;
    enum iso_database_protocol protocol;
    assert_true(iso_database_is_url("postgres://x", &protocol));
    assert_int_equal(protocol, ISO_PROTOCOL_POSTGRES);
    assert_true(iso_database_is_url("tidb://x", &protocol));
    assert_int_equal(protocol, ISO_PROTOCOL_MYSQL);
    assert_false(iso_database_is_url("history.jsonl", &protocol));
}

static void test_one_line(void **state)
{
    (void)state;
    char text[] = "\nERROR:  a\n\tb  c \n\n";
    database_one_line(text);
    assert_string_equal(text, "ERROR: a b c");
    char empty[] = " \n";
    database_one_line(empty);
    assert_string_equal(empty, "");
}

static void test_rows(void **state)
{
    (void)state;
    struct database_rows rows = {0};
    database_rows_clear(&rows, 2);
    database_rows_add(&rows, "k", 1);
    database_rows_add(&rows, "v", 1);
    database_rows_add(&rows, "17", 2);
    database_rows_add(&rows, NULL, 0);
    assert_int_equal(rows.offset_count, 4);
    assert_string_equal(rows.bytes.bytes + rows.offsets[2], "17");
    assert_true(rows.offsets[3] == SIZE_MAX);
    database_rows_clear(&rows, 0);
    assert_int_equal(rows.offset_count, 0);
    iso_text_release(&rows.bytes);
    iso_free(rows.offsets);
}

/* Nobody listens there: an error with the place, without the password. */
static void test_no_connection(void **state)
{
    (void)state;
    static const char *const urls[] = {"mysql://u:secret@127.0.0.1:1/d",
                                       "postgresql://u:secret@127.0.0.1:1/d"};
    for (size_t i = 0; i < 2; i++) {
        struct iso_error error = {0};
        assert_null(iso_database_connect(urls[i], &error));
        assert_int_equal(error.status, ISO_FAILED);
        assert_non_null(strstr(error.text, "127.0.0.1:1"));
        assert_null(strstr(error.text, "secret"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_protocols), cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_rows),      cmocka_unit_test(test_no_connection),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
