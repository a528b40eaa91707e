/* Dgraph's schema: which predicates hold one value. */
#include "connectors/dgraph/schema.h"
#include "tests/support/test.h"

static enum cardinality cardinality(const char *text, const char *predicate)
{
    struct schema schema;
    struct iso_error error = {0};
    assert_int_equal(dgraph_schema_read(&schema, text, &error), ISO_OK);
    enum cardinality found = dgraph_schema_cardinality(&schema, predicate, strlen(predicate));
    dgraph_schema_release(&schema);
    return found;
}

static void definitions(void **state)
{
    (void)state;
    static const char text[] =
        "# name: [string] .\n"
        "name: string @index(exact, term) @upsert . tags :[int] .\n"
        "<http://a.b/c.d>: [uid] @reverse @count .\n"
        "title: string @lang @index(fulltext) . # nick: [string] .\n"
        "vector: float32vector @index(hnsw(metric:\"cosine\", efSearch:\"4.0\")) .\n"
        "type Person {\n  name\n  nick # }\n  <~friend>\n}\n"
        "[0x0] <age>:int @noconflict . [0x5] <kids>:[uid] .\n"
        "type: string .";
    assert_int_equal(cardinality(text, "name"), SCHEMA_SINGLE);
    assert_int_equal(cardinality(text, "tags"), SCHEMA_SEVERAL);
    assert_int_equal(cardinality(text, "http://a.b/c.d"), SCHEMA_SEVERAL);
    assert_int_equal(cardinality(text, "title"), SCHEMA_SEVERAL);
    assert_int_equal(cardinality(text, "vector"), SCHEMA_SINGLE);
    assert_int_equal(cardinality(text, "nick"), SCHEMA_NOT_NAMED);
    assert_int_equal(cardinality(text, "age"), SCHEMA_SINGLE);
    assert_int_equal(cardinality(text, "kids"), SCHEMA_SEVERAL);
    assert_int_equal(cardinality(text, "type"), SCHEMA_SINGLE);
    assert_int_equal(cardinality(text, "7"), SCHEMA_NOT_NAMED);
    assert_int_equal(cardinality(" \n", "name"), SCHEMA_NOT_NAMED);
    assert_int_equal(cardinality(NULL, "name"), SCHEMA_NOT_NAMED);
}

static void faults(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\n\nname string .", "Dgraph schema, line 3: expected \"predicate: type @directives .\""},
        {"name: string", "Dgraph schema, line 1: expected \"predicate: type @directives .\""},
        {"name: string @index(exact .",
         "Dgraph schema, line 1: expected \"predicate: type @directives .\""},
        {"name: string ) .", "Dgraph schema, line 1: expected \"predicate: type @directives .\""},
        {"a: int .\n: int .", "Dgraph schema, line 2: expected a predicate's name"},
        {"<a: int .", "Dgraph schema, line 1: expected a predicate's name"},
        {"[0x0 <a>: int .", "Dgraph schema, line 1: expected ']' behind a namespace"},
        {"type Person { name", "Dgraph schema, line 1: expected '}' at the end of a type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schema schema;
        struct iso_error error = {0};
        assert_int_equal(dgraph_schema_read(&schema, cases[i][0], &error), ISO_BAD_INPUT);
        assert_string_equal(error.text, cases[i][1]);
        dgraph_schema_release(&schema);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(definitions), cmocka_unit_test(faults)};
    return cmocka_run_group_tests_name("dgraph schema", tests, NULL, NULL);
}
