/* Texts as trees and tokens; places of errors; texts that nest without end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/test.h"

#include "sql/sql.h"

static struct iso_sql_fault refused(const char *text)
{
    struct iso_sql_tree tree;
    struct iso_sql_fault fault;
    assert_false(iso_sql_parse(&tree, text, strlen(text), &fault));
    assert_int_equal(tree.count, 0);
    return fault;
}

static void test_tree(void **state)
{
    static const char text[] =
        "-- one\n /* and /* more */ */ SELECT a FROM t WHERE b = 1;\n\nCOMMIT";
    struct iso_sql_tree tree;
    struct iso_sql_fault fault;
    size_t begin, end;
    (void)state;
    assert_true(iso_sql_parse(&tree, text, strlen(text), &fault));
    assert_int_equal(tree.count, 2);
    assert_int_equal(tree.statements[0]->stmt->node_case, PG_QUERY__NODE__NODE_SELECT_STMT);
    const PgQuery__SelectStmt *select = tree.statements[0]->stmt->select_stmt;
    assert_string_equal(select->from_clause[0]->range_var->relname, "t");
    assert_int_equal(text[select->where_clause->a_expr->location], '=');
    iso_sql_statement(text, strlen(text), tree.statements[0], &begin, &end);
    assert_int_equal(begin, strstr(text, "SELECT") - text);
    assert_int_equal(text[end], ';');
    iso_sql_statement(text, strlen(text), tree.statements[1], &begin, &end);
    assert_int_equal(begin, strstr(text, "COMMIT") - text);
    assert_int_equal(end, strlen(text));
    iso_sql_tree_release(&tree);
    assert_true(iso_sql_parse(&tree, "", 0, &fault));
    assert_int_equal(tree.count, 0);
    iso_sql_tree_release(&tree);
}

static void test_places(void **state)
{
    (void)state;
    struct iso_sql_fault fault = refused("SELECT 1;\n  SELEC 2");
    assert_int_equal(fault.line, 2);
    assert_int_equal(fault.column, 3);
    assert_string_equal(fault.text, "syntax error at or near \"SELEC\"");
    fault = refused("SELECT 'é', 'é'\nX'"); /* PostgreSQL counts characters, we bytes */
    assert_int_equal(fault.line, 2);
    assert_int_equal(fault.column, 1);
    fault = refused("SELECT 'é' é é");
    assert_int_equal(fault.column, 16);
    fault = refused("SELECT (1");
    assert_int_equal(fault.column, 10);
    fault = refused("SELECT 'a\nb\nc");
    assert_int_equal(fault.line, 1);
    assert_int_equal(fault.column, 8);
    assert_null(strchr(fault.text, '\n'));
    fault = refused("SELECT '\xc3\xa9\xff'");
    assert_string_equal(fault.text, "not UTF-8");
    assert_int_equal(fault.byte, 10);
    struct iso_sql_tree tree;
    assert_false(iso_sql_parse(&tree, "SELECT\0 1", 9, &fault));
    assert_int_equal(fault.byte, 6);
    char *large = malloc(ISO_SQL_LARGEST + 1);
    memset(large, ' ', ISO_SQL_LARGEST + 1);
    assert_true(iso_sql_parse(&tree, large, ISO_SQL_LARGEST, &fault));
    iso_sql_tree_release(&tree);
    assert_false(iso_sql_parse(&tree, large, ISO_SQL_LARGEST + 1, &fault));
    free(large);
}

static char *put(char *at, const char *text)
{
    strcpy(at, text);
    return at + strlen(text);
}

/* `before`, then `piece` many times, then `middle`, then `after` as often. */
static char *repeated(const char *before, const char *piece, const char *middle, const char *after,
                      uint32_t times)
{
    char *text =
        malloc(strlen(before) + strlen(middle) + (strlen(piece) + strlen(after)) * times + 1);
    char *at = put(text, before);
    for (uint32_t i = 0; i < times; i++)
        at = put(at, piece);
    at = put(at, middle);
    for (uint32_t i = 0; i < times; i++)
        at = put(at, after);
    return text;
}

static bool parses(char *text)
{
    struct iso_sql_tree tree;
    struct iso_sql_fault fault;
    bool fine = iso_sql_parse(&tree, text, strlen(text), &fault);
    if (!fine && strstr(fault.text, "nested") == NULL)
        print_message("%s\n", fault.text);
    iso_sql_tree_release(&tree);
    free(text);
    return fine;
}

static void test_deep(void **state)
{
    static const struct {
        const char *before, *piece, *middle, *after;
    } shapes[] = {{"SELECT ", "1+", "1", ""},
                  {"SELECT ", "(", "1", ")"},
                  {"SELECT ", "not ", "a", ""},
                  {"SELECT 1", "::int", "", ""},
                  {"SELECT 1", " is null", "", ""},
                  {"SELECT a", "[1]", "", ""},
                  {"SELECT 1", " COLLATE c", "", ""},
                  {"SELECT ", "f(1,", "1", ")"},
                  {"SELECT ", "CASE WHEN a THEN ", "1", " END"},
                  {"SELECT ", "(SELECT ", "1", ")"},
                  {"SELECT 1,1 ", "UNION SELECT 1,1 ", "", ""},
                  {"SELECT 1 FROM a ", "JOIN b ON c ", "", ""},
                  {"SELECT 1 FROM ", "a JOIN ", "b ", "ON c "},
                  {"SELECT 1, ", "- ", "1", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_true(parses(
            repeated(shapes[i].before, shapes[i].piece, shapes[i].middle, shapes[i].after, 150)));
        assert_false(parses(
            repeated(shapes[i].before, shapes[i].piece, shapes[i].middle, shapes[i].after, 1100)));
        assert_false(parses(
            repeated(shapes[i].before, shapes[i].piece, shapes[i].middle, shapes[i].after, 20000)));
    }
    /* What is long and not deep is fine. */
    assert_true(parses(repeated("INSERT INTO t VALUES (1, 'a', NULL, -1)", ", (1, 'a', NULL, -1)",
                                "", "", 20000)));
    assert_true(parses(repeated("SELECT a = 1", " OR a = 1 AND b IS NULL", "", "", 300)));
    assert_true(parses(repeated("", "SELECT 1 + (2 + 3);", "", "", 20000)));
}

static void test_functions(void **state)
{
    static const char fine[] =
        "CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$\nBEGIN\n  RETURN a;\nEND $$;";
    static const char wrong[] =
        "\nCREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$\nDECLARE x int;\nBEGIN\n  x := a +;\nEND $$;";
    struct iso_sql_fault fault;
    (void)state;
    assert_true(iso_sql_check_functions(fine, strlen(fine), &fault));
    assert_false(iso_sql_check_functions(wrong, strlen(wrong), &fault));
    assert_int_equal(fault.line, 5);
    char *deep = repeated("CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN ",
                          "IF true THEN ", "RETURN 1; ", "END IF; ", 20000);
    char *body = realloc(deep, strlen(deep) + 20);
    strcat(body, " END $$;");
    assert_false(iso_sql_check_functions(body, strlen(body), &fault));
    assert_non_null(strstr(fault.text, "memory exhausted"));
    free(body);
}

static void test_tokens(void **state)
{
    static const char text[] = "SELECT /* 1 */ a := 1..10 -- x\n, \"Any\" $$b;$$";
    static const char *expected[] = {"SELECT", "a", ":=",      "1",     "..",
                                     "10",     ",", "\"Any\"", "$$b;$$"};
    struct iso_sql_tokens tokens;
    struct iso_sql_fault fault;
    (void)state;
    assert_true(iso_sql_scan(&tokens, text, strlen(text), &fault));
    assert_int_equal(tokens.count, sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < tokens.count; i++) {
        assert_int_equal(tokens.list[i].end - tokens.list[i].begin, strlen(expected[i]));
        assert_memory_equal(text + tokens.list[i].begin, expected[i], strlen(expected[i]));
    }
    assert_true(tokens.list[0].keyword && tokens.list[0].reserved && !tokens.list[1].keyword);
    iso_sql_tokens_release(&tokens);
    assert_false(iso_sql_scan(&tokens, "SELECT '", 8, &fault));
    assert_int_equal(fault.byte, 7);
}

static void *parse_often(void *wrong)
{
    for (uint32_t i = 0; i < 300; i++) {
        static const char text[] =
            "SELECT a, b FROM t JOIN u USING (c) WHERE a = (SELECT max(b) FROM u); SELEC";
        struct iso_sql_tree tree;
        struct iso_sql_fault fault;
        if (!iso_sql_parse(&tree, text, sizeof text - 8, &fault) || tree.count != 1)
            *(bool *)wrong = true;
        iso_sql_tree_release(&tree);
        if (iso_sql_parse(&tree, text, sizeof text - 1, &fault) || fault.byte != sizeof text - 6)
            *(bool *)wrong = true;
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    bool wrong[4] = {false};
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, parse_often, &wrong[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),   cmocka_unit_test(test_places),
        cmocka_unit_test(test_deep),   cmocka_unit_test(test_functions),
        cmocka_unit_test(test_tokens), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
