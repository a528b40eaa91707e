/* SQL with known verdicts (tests/data/prove): those of the same program in the core language, or
 * their own. What is not in the subset is refused, with its place and its name. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/test.h"

#include "prove/prove.h"
#include "lower/read.h"
#include "lower/remedy.h"

static void judge(const char *name, const char *text, size_t length, uint32_t repeats,
                  const char *expected)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    struct iso_prove_result result;
    struct iso_prove_options options = {.apart = false};
    iso_prove_program_init(&program);
    iso_prove_result_init(&result);
    if (iso_prove_read_sql(&program, name, text, length, repeats, 0, &error) != ISO_OK)
        fail_msg("%s", error.text);
    iso_prove_program_validate(&program);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = true;
    if (iso_prove(&program, &options, &result, &error) != ISO_OK)
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        if (result.answers[i].outcome != (expected[i] == '+'   ? ISO_HOLDS
                                          : expected[i] == '-' ? ISO_IS_VIOLATED
                                                               : ISO_IS_UNDECIDED))
            fail_msg("%s at %s: %d %s", name, iso_prove_level_name(i), result.answers[i].outcome,
                     result.answers[i].reason ? result.answers[i].reason : "");
    assert_int_equal(result.warnings.count, 0);
    iso_prove_result_release(&result);
    iso_prove_program_release(&program);
}

/* The row of a program of the core language. */
static void known(const char *name, char *verdicts)
{
    char line[200], other[100];
    FILE *file = fopen("tests/data/prove/verdicts.txt", "r");
    assert_non_null(file);
    *verdicts = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%99s %19s", other, verdicts) == 2 && !strcmp(other, name))
            break;
    fclose(file);
}

static void test_files(void **state)
{
    static const struct {
        const char *name, *verdicts;
    } files[] = {{"booking", NULL},
                 {"booking_locked", NULL},
                 {"doctors", NULL},
                 {"doctors_locked", NULL},
                 {"oversell", NULL},
                 {"transfer_sum", NULL},
                 {"gift_card", NULL},
                 {"fk_orphan", NULL},
                 {"tpcc_payment", NULL},
                 {"unique_name", "+++---+"},
                 {"no_unique_name", "+------"},
                 {"seat", "+------"},
                 {"advisory", "+++++++"},
                 {"coalesce_conflict", "-------"},
                 {"defaults", "-------"},
                 {"found_for", "-------"},
                 {"perform_call", "++++++-"},
                 {"perform_if", "+++++++"},
                 {"raise_in_perform", "+++++++"},
                 {"references", "+++++++"},
                 {"varchar_len", "+++++++"}};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[TEST_PATH], verdicts[20];
        size_t length;
        snprintf(path, sizeof path, "tests/data/prove/%s.sql", files[i].name);
        char *text = test_read_file(path, &length);
        assert_non_null(text);
        assert_true(iso_prove_is_sql(text, length));
        known(files[i].name, verdicts);
        judge(path, text, length, 1, files[i].verdicts ? files[i].verdicts : verdicts);
        free(text);
    }
}

/* What is passed over makes no verdict, where it matters. */
static void test_ignored(void **state)
{
    static const char text[] =
        "CREATE TABLE p (id int PRIMARY KEY, a int);\n"
        "CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE);\n"
        "INSERT INTO p VALUES (1, 0); INSERT INTO c VALUES (1, 1);\n"
        "CREATE FUNCTION del() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM p; END $$;\n"
        "CREATE FUNCTION set() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE p SET a = 1; "
        "END $$;\n"
        "--@ ignore references\n--@ assert EXISTS (SELECT 1 FROM c)\n--@ run ";
    char all[sizeof text + 10];
    (void)state;
    snprintf(all, sizeof all, "%sset()", text);
    judge("set", all, strlen(all), 1, "+++++++");
    snprintf(all, sizeof all, "%sdel()", text);
    judge("del", all, strlen(all), 1, "uuuuuuu");
}

static void test_told_apart(void **state)
{
    static const char *const sql[] = {"CREATE TABLE t (a int);", "\n-- a\n--@ run f()",
                                      "  insert\ninto t", "/* a */"};
    static const char *const core[] = {"var create = 1", "-- one\nvar x", "", "create_x := 1",
                                       "insert"};
    (void)state;
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++)
        assert_true(iso_prove_is_sql(sql[i], strlen(sql[i])));
    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        assert_false(iso_prove_is_sql(core[i], strlen(core[i])));
}

/* ---- small programs: one body over t(id, a, b), and what must hold at the end ---- */

static char *small(const char *body, const char *rule, const char *run)
{
    static const char format[] =
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b int);\n"
        "CREATE TABLE log (id serial PRIMARY KEY, n int, s text);\n"
        "INSERT INTO t VALUES (1, 10, NULL), (2, 20, 5);\n"
        "CREATE FUNCTION f(x int, y int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE v int; w "
        "int := 3; q text; r boolean; BEGIN\n%s\nRETURN 0; END $$;\n--@ run %s\n--@ assert %s\n";
    size_t size = sizeof format + strlen(body) + strlen(rule) + strlen(run);
    char *text = malloc(size);
    assert_non_null(text);
    snprintf(text, size, format, body, run, rule);
    return text;
}

/* One transaction alone, so that all levels agree: what a body does. */
static void test_bodies(void **state)
{
    static const struct {
        const char *body, *rule;
    } cases[] = {
        {"UPDATE t SET a = a + x WHERE id = 1;", "(SELECT a FROM t WHERE id = 1) = 13"},
        {"UPDATE t SET a = a + 1;", "(SELECT sum(a) FROM t) = 32"},
        {"UPDATE t SET a = (SELECT sum(a) FROM t);",
         "(SELECT min(a) FROM t) = 30 AND (SELECT max(a) FROM t) = 30"},
        {"UPDATE t SET b = b + 1;", "(SELECT sum(b) FROM t) = 6 AND (SELECT count(b) FROM t) = 1"},
        {"DELETE FROM t WHERE b = 5;",
         "(SELECT count(*) FROM t) = 1 AND NOT EXISTS (SELECT 1 FROM t WHERE id = 2)"},
        {"DELETE FROM t WHERE b <> 5;", "(SELECT count(*) FROM t) = 2"},
        {"DELETE FROM t WHERE b IS NULL OR b = 7;", "(SELECT count(*) FROM t) = 1"},
        {"DELETE FROM t WHERE NOT (b = 7 AND a > 100);", "(SELECT count(*) FROM t) = 0"},
        {"DELETE FROM t WHERE b NOT IN (7, 8);", "(SELECT count(*) FROM t) = 1"},
        {"DELETE FROM t WHERE b NOT IN (7, NULL);", "(SELECT count(*) FROM t) = 2"},
        {"DELETE FROM t WHERE a BETWEEN 5 AND 15;", "(SELECT count(*) FROM t) = 1"},
        {"SELECT a, b INTO v, w FROM t WHERE id = 2; INSERT INTO log (n) VALUES (v + w);",
         "(SELECT n FROM log) = 25"},
        {"SELECT a INTO v FROM t WHERE id = 9; INSERT INTO log (n) VALUES (v);",
         "(SELECT count(*) FROM log) = 1 AND (SELECT n FROM log) IS NULL"},
        {"SELECT a INTO v FROM t WHERE id = 9; IF FOUND THEN w := 1; ELSE w := 2; END IF; INSERT INTO log (n) VALUES "
         "(w);",
         "(SELECT n FROM log) = 2"},
        {"UPDATE t SET a = 0; GET DIAGNOSTICS v = ROW_COUNT; INSERT INTO log (n) VALUES (v);",
         "(SELECT n FROM log) = 2"},
        {"SELECT a INTO STRICT v FROM t WHERE id = 9; UPDATE t SET a = 0;",
         "(SELECT sum(a) FROM t) = 30"},
        {"SELECT a INTO STRICT v FROM t; UPDATE t SET a = 0;", "(SELECT sum(a) FROM t) = 30"},
        {"INSERT INTO t VALUES (2, 1, 1);", "(SELECT count(*) FROM t) = 2"},
        {"INSERT INTO t VALUES (3, 1, 1);", "(SELECT count(*) FROM t) = 3"},
        {"INSERT INTO t VALUES (2, 1, 1) ON CONFLICT DO NOTHING; IF NOT FOUND THEN UPDATE t SET a = 0; END IF;",
         "(SELECT count(*) FROM t) = 2 AND (SELECT sum(a) FROM t) = 0"},
        {"DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (2, 1, 1);",
         "(SELECT a FROM t WHERE id = 2) = 1"},
        {"UPDATE t SET id = 2 WHERE id = 1; UPDATE t SET a = 0;", "(SELECT sum(a) FROM t) = 30"},
        {"UPDATE t SET id = 3 WHERE id = 1; INSERT INTO t VALUES (1, 1, 1);",
         "(SELECT count(*) FROM t) = 3"},
        {"UPDATE t SET a = NULL WHERE id = 1;", "(SELECT a FROM t WHERE id = 1) = 10"},
        {"UPDATE t SET a = a + w WHERE id = 1; RAISE EXCEPTION 'no';",
         "(SELECT a FROM t WHERE id = 1) = 10"},
        {"RAISE NOTICE 'fine'; UPDATE t SET a = 0;", "(SELECT sum(a) FROM t) = 0"},
        {"UPDATE t SET a = 2147483647 WHERE id = 1; UPDATE t SET a = a + 1 WHERE id = 1;",
         "(SELECT a FROM t WHERE id = 1) = 10"},
        {"UPDATE t SET a = 2147483646 WHERE id = 1; UPDATE t SET a = a + 1 WHERE id = 1;",
         "(SELECT a FROM t WHERE id = 1) = 2147483647"},
        {"FOR i IN 1..3 LOOP INSERT INTO log (n) VALUES (i * i); END LOOP;",
         "(SELECT sum(n) FROM log) = 14 AND (SELECT count(*) FROM log) = 3"},
        {"FOR i IN REVERSE 3..2 LOOP v := i; END LOOP; INSERT INTO log (n) VALUES (v);",
         "(SELECT n FROM log) = 2"},
        {"FOR i IN 1..x LOOP w := w + i; END LOOP; INSERT INTO log (n) VALUES (w);",
         "(SELECT n FROM log) = 9"},
        {"FOR i IN 2..1 LOOP w := 0; END LOOP; INSERT INTO log (n) VALUES (w);",
         "(SELECT n FROM log) = 3"},
        {"CASE w WHEN 1, 2 THEN v := 1; WHEN 3 THEN v := 2; END CASE; INSERT INTO log (n) VALUES (v);",
         "(SELECT n FROM log) = 2"},
        {"UPDATE t SET a = 0; CASE WHEN w > 3 THEN v := 1; END CASE;",
         "(SELECT sum(a) FROM t) = 30"},
        {"v := CASE WHEN x > 2 THEN w END; INSERT INTO log (n) VALUES (coalesce(v, 7));",
         "(SELECT n FROM log) = 3"},
        {"IF v > 1 THEN w := 1; ELSIF v IS NULL THEN w := 2; ELSE w := 3; END IF; INSERT INTO log (n) VALUES (w);",
         "(SELECT n FROM log) = 2"},
        {"q := 'a'; IF q = 'a' THEN q := 'b'; END IF; INSERT INTO log (s) VALUES (q);",
         "(SELECT s FROM log) = 'b'"},
        {"SELECT max(a), min(a), count(*) INTO v, w, x FROM t; INSERT INTO log (n) VALUES (v - w + x);",
         "(SELECT n FROM log) = 12"},
        {"SELECT sum(b) INTO v FROM t WHERE id = 1; INSERT INTO log (n) VALUES (v);",
         "(SELECT n FROM log) IS NULL"},
        {"INSERT INTO log (n) VALUES (1), (2) ; UPDATE log SET n = n + id;",
         "(SELECT sum(n) FROM log) = 6"},
        {"INSERT INTO log (n) VALUES (5) RETURNING n INTO v; UPDATE t SET a = v WHERE id = 1;",
         "(SELECT a FROM t WHERE id = 1) = 5"},
        {"UPDATE t SET a = a + 1 WHERE id = 2 RETURNING a INTO v; INSERT INTO log (n) VALUES (v);",
         "(SELECT n FROM log) = 21"},
        {"SELECT l.n INTO v FROM t JOIN log l ON l.id = t.id WHERE t.id = 1; IF v IS NULL THEN UPDATE t SET a = 0; END "
         "IF;",
         "(SELECT sum(a) FROM t) = 0"},
        {"IF x IN (SELECT id FROM t) THEN UPDATE t SET a = 0; END IF;",
         "(SELECT sum(a) FROM t) = 30"},
        {"r := (x = 3) IS TRUE AND greatest(x, 9) = 9 AND least(x, NULL, 2) = 2 AND abs(-x) = 3; IF r THEN UPDATE t "
         "SET a = 0; END IF;",
         "(SELECT sum(a) FROM t) = 0"},
        {"PERFORM 1 FROM t WHERE id = 2 FOR UPDATE; IF FOUND THEN UPDATE t SET a = 0; END IF;",
         "(SELECT sum(a) FROM t) = 0"},
        {"SELECT a INTO v FROM t WHERE id = 2 FOR UPDATE; UPDATE t SET a = v WHERE id = 1;",
         "(SELECT sum(a) FROM t) = 40"},
        {"RETURN 1; UPDATE t SET a = 0;", "(SELECT sum(a) FROM t) = 30"},
        {"IF y = 0 THEN RETURN 1; END IF; UPDATE t SET a = 0;", "(SELECT sum(a) FROM t) = 30"},
        {"q := 'b'; q := NULL; q := coalesce(CASE WHEN r THEN 'a' ELSE q END, 'b'); UPDATE t SET a = 0 WHERE q = 'b';",
         "(SELECT sum(a) FROM t) = 0"},
        {"INSERT INTO log (n) VALUES (1), ((SELECT count(*) FROM log)) ;",
         "(SELECT sum(n) FROM log) = 1"},
        {"INSERT INTO t VALUES (3, 1) RETURNING (SELECT max(id) FROM t) INTO v; UPDATE t SET a = v WHERE id = 3;",
         "(SELECT a FROM t WHERE id = 3) = 2"},
        {"DECLARE z bigint; BEGIN z := coalesce(w, z) + 2147483647; UPDATE t SET a = 0; END;",
         "(SELECT sum(a) FROM t) = 0"},
        {"UPDATE t SET a = 0; IF EXISTS (SELECT 1 FROM t) THEN GET DIAGNOSTICS v = ROW_COUNT; END IF; INSERT INTO log (n) "
         "VALUES (v);",
         "(SELECT n FROM log) = 1"},
        {"IF (x * 2147483647 > NULL) IS NULL THEN UPDATE t SET a = 0; END IF;",
         "(SELECT sum(a) FROM t) = 0"},
        {"v := NULL; IF x * 2147483647 > v THEN NULL; END IF; UPDATE t SET a = 0;",
         "(SELECT sum(a) FROM t) = 30"},
        {"PERFORM x * 2147483647; UPDATE t SET a = 0;", "(SELECT sum(a) FROM t) = 30"},
        {"RAISE NOTICE '%', x * 2147483647; UPDATE t SET a = 0;", "(SELECT sum(a) FROM t) = 30"},
        {"RAISE NOTICE '%', x USING HINT = 'a', DETAIL = q; UPDATE t SET a = 0;",
         "(SELECT sum(a) FROM t) = 0"},
        {"IF x > 3 AND x * 2147483647 > 0 OR true THEN UPDATE t SET a = 0; END IF;",
         "(SELECT sum(a) FROM t) = 0"},
        {"PERFORM 1 FROM t; FOR i IN 1..y LOOP NULL; END LOOP; IF NOT FOUND THEN UPDATE t SET a = 0; END IF;",
         "(SELECT sum(a) FROM t) = 0"},
        {"DECLARE k varchar(2); BEGIN k := 'ab  '; UPDATE t SET a = 0 WHERE k = 'ab'; k := 'abc'; "
         "END;",
         "(SELECT sum(a) FROM t) = 30"},
        {"DECLARE k varchar(2); BEGIN k := 'ab  '; UPDATE t SET a = 0 WHERE k = 'ab'; END;",
         "(SELECT sum(a) FROM t) = 0"},
        {"BEGIN DECLARE w int := 8; BEGIN v := w; END; END; INSERT INTO log (n) VALUES (v + w);",
         "(SELECT n FROM log) = 11"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = small(cases[i].body, cases[i].rule, "f(3, 0)");
        judge(cases[i].body, text, strlen(text), 1, "+++++++");
        free(text);
        char *wrong = malloc(strlen(cases[i].rule) + 20);
        sprintf(wrong, "NOT (%s)", cases[i].rule);
        text = small(cases[i].body, wrong, "f(3, 0)");
        judge(cases[i].body, text, strlen(text), 1, "-------");
        free(text);
        free(wrong);
    }
}

static void test_many(void **state)
{
    static const struct {
        const char *body, *rule, *verdicts;
    } cases[] = {
        /* A read and an update of its own value. */
        {"SELECT a INTO v FROM t WHERE id = 1; UPDATE t SET a = v + 1 WHERE id = 1;",
         "(SELECT a FROM t WHERE id = 1) = 12", "+++----"},
        {"UPDATE t SET a = a + 1 WHERE id = 1;", "(SELECT a FROM t WHERE id = 1) = 12", "+++---+"},
        /* WHERE is asked again behind the claim. */
        {"UPDATE t SET a = a - 6 WHERE id = 1 AND a >= 6;", "(SELECT a FROM t WHERE id = 1) = 4",
         "+++++++"},
        /* One key, two rows. */
        {"INSERT INTO t VALUES (7, x, 0);", "(SELECT count(*) FROM t WHERE id = 7) = 1", "+++---+"},
        {"PERFORM 1 FROM t WHERE id = 7 FOR UPDATE; IF NOT FOUND THEN INSERT INTO log (n) VALUES (7); END IF;",
         "(SELECT count(*) FROM log) = 2", "+++++++"},
        /* A key that is freed: PostgreSQL lets a transaction take it that does not see that. */
        {"DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (2, x, 0) ON CONFLICT DO NOTHING;",
         "(SELECT count(*) FROM t) = 2", "+uu---+"},
        {"IF NOT EXISTS (SELECT 1 FROM log) THEN INSERT INTO log (n) VALUES (7); END IF;",
         "(SELECT count(*) FROM log) = 1", "+------"},
        {"PERFORM 1 FROM t WHERE id = 1 FOR UPDATE; IF NOT EXISTS (SELECT 1 FROM log) THEN INSERT INTO log (n) VALUES "
         "(7); END IF;",
         "(SELECT count(*) FROM log) = 1", "+-----+"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = small(cases[i].body, cases[i].rule, "f(3, 0), f(4, 0)");
        judge(cases[i].body, text, strlen(text), 1, cases[i].verdicts);
        free(text);
        text = small(cases[i].body, cases[i].rule, "f(3..4, 0)"); /* the list twice */
        judge(cases[i].body, text, strlen(text), 2, cases[i].verdicts);
        free(text);
    }
}

/* ---- what is refused ---- */

static void refused(const char *text, const char *expected)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    iso_prove_program_init(&program);
    if (iso_prove_read_sql(&program, "f", text, strlen(text), 1, 0, &error) != ISO_BAD_INPUT)
        fail_msg("not refused: %s", text);
    if (strncmp(error.text, expected, strlen(expected)) != 0)
        fail_msg("%s\nexpected %s\nof %s", error.text, expected, text);
    iso_prove_program_release(&program);
}

static void test_refused_bodies(void **state)
{
    static const struct {
        const char *body, *expected; /* the body begins at line 5 */
    } cases[] = {
        {"  WHILE true LOOP v := 1; END LOOP;", "f:5:3: WHILE: "},
        {"EXECUTE 'SELECT 1';", "f:5:1: EXECUTE (dynamic SQL): "},
        {"v := 1;\n BEGIN v := 1; EXCEPTION WHEN OTHERS THEN v := 2; END;",
         "f:6:16: an EXCEPTION block: "},
        {"q := 'a';\n\n  IF q LIKE 'a%' THEN v := 1; END IF;", "f:7:8: LIKE: "},
        {"v := extract(year from now());", "f:5:6: the function "},
        {"v := 1.5;", "f:5:6: the number 1.5: "},
        {"v := x / 2;", "f:5:8: the operator /: "},
        {"v := 'a';", "f:5:1: \"v\" is int, and this is text"},
        {"v := nothing;", "f:5:6: there is no column or variable \"nothing\""},
        {"SELECT a INTO v FROM t;", "f:5:15: INTO of a query that may find several rows"},
        {"SELECT a INTO v FROM t WHERE b = 1;",
         "f:5:15: INTO of a query that may find several rows"},
        {"SELECT a INTO v FROM t ORDER BY a LIMIT 1;", "f:5:33: ORDER BY: "},
        {"SELECT count(*) INTO v FROM t GROUP BY a;", "f:5:40: GROUP BY: "},
        {"SELECT a INTO v FROM t WHERE id = 1 FOR SHARE;", "f:5:1: a lock other than FOR UPDATE: "},
        {"PERFORM 1 FROM t FOR UPDATE SKIP LOCKED;", "f:5:1: NOWAIT or SKIP LOCKED: "},
        {"SELECT 1 FROM nowhere INTO v;", "f:5:15: there is no table \"nowhere\""},
        {"UPDATE t SET c = 1;", "f:5:14: table \"t\" has no column \"c\""},
        {"UPDATE t SET id = id + 1;", "f:5:14: UPDATE of a unique column of several rows: "},
        {"UPDATE t SET a = (SELECT max(u.a) FROM t u WHERE u.id < t.id);",
         "f:5:57: there is no column or variable"},
        {"INSERT INTO t SELECT 3, 4, 5;", "f:5:13: INSERT without VALUES: "},
        {"INSERT INTO log (id) VALUES (3);", "f:5:30: a value for the serial column"},
        {"INSERT INTO t VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET a = 1;",
         "f:5:32: ON CONFLICT DO UPDATE: "},
        {"FOR i IN SELECT id FROM t LOOP v := 1; END LOOP;", "f:5:"},
        {"FOR i IN 1..1000 LOOP v := 1; END LOOP;",
         "f:5:1: a FOR that may have more than 100 rounds"},
        {"COMMIT;", "f:5:1: COMMIT: "},
        {"DELETE FROM t USING log WHERE t.id = log.id;", "f:5:13: DELETE with USING or WITH: "},
        {"SELECT t.a INTO v FROM t LEFT JOIN log ON true WHERE t.id = 1;",
         "f:5:24: an outer or natural JOIN"},
        {"IF true AND f(x, 1) > 0 THEN NULL; END IF;", "f:5:13: the function f: "},
        {"IF f(x, 1) > NULL THEN NULL; END IF;", "f:5:4: the function f: "},
        {"PERFORM f(x, 1) + w;", "f:5:9: the function f: "},
        {"PERFORM f(x);", "f:5:9: this call of \"f\": "},
        {"PERFORM f(x, y);", "f:5:9: this call of \"f\": "}, /* without end */
        {"PERFORM g(x);", "f:5:9: the function g: "},
        {"PERFORM 1 FROM log WHERE g(n) = 1;", "f:5:26: the function g: "},
        {"RAISE NOTICE '%', g(x);", "f:5:19: the function g: "},
        {"DECLARE t int; BEGIN PERFORM 1 FROM t WHERE t = 1; END;", "f:5:45: the whole row of "},
        {"DECLARE a int; BEGIN UPDATE t SET a = a; END;",
         "f:5:39: \"a\" is a column and a variable"},
        {"DECLARE id int; BEGIN INSERT INTO t VALUES (1, 1) ON CONFLICT (id) DO NOTHING; END;",
         "f:5:63: \"id\" is a column and a variable"},
        {"v := 2147483647 + 1;", "f:5:6: what names no column and can be out of range"},
        {"UPDATE t SET a = CASE WHEN b > 5 THEN x * 2147483647 ELSE 1 END;",
         "f:5:39: what names no column and can be out of range"},
        {"v := x +;", "f:5:"},
        {"SELEC a INTO v FROM t;", "f:5:"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = small(cases[i].body, "true", "f(3, 0)");
        refused(text, cases[i].expected);
        free(text);
    }
}

static void test_refused_files(void **state)
{
#define F "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;\n"
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"CREATE TABLE t (a float);", "f:1:19: the type float8: "},
        {"CREATE TABLE t (a int REFERENCES u);", "f:1:34: there is no table \"u\""},
        {"CREATE TABLE t (a int[]);", "f:1:19: the type int4[]: "},
        {"CREATE TABLE t (a int); CREATE TABLE t (a int);", "f:1:38: table \"t\" stands twice"},
        {"CREATE TABLE t (a int CHECK (a > 0)); INSERT INTO t VALUES (0);",
         "f:1:61: this row breaks a CHECK"},
        {"CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (1);",
         "f:1:64: this row has a key of \"t_pkey\""},
        {"CREATE TABLE t (a int NOT NULL); INSERT INTO t VALUES (NULL);",
         "f:1:56: column \"a\" is NULL"},
        {"CREATE VIEW v AS SELECT 1;", "f:1:1: CREATE VIEW: "},
        {"CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();",
         "f:1:1: CREATE TRIGGER: "},
        {"CREATE TABLE t (a int;", "f:1:22: syntax error"},
        {F, "f:2:1: nothing runs: "},
        {F "--@ run g()", "f:2:9: there is no function \"g\""},
        {F "--@ run f(1)", "f:2:11: function \"f\" has 0 parameters"},
        {F "--@ run f(), f", "f:2:15: ( was expected here"},
        {F "--@ runs f()", "f:2:5: run, session, invariant, assert or ignore was expected here"},
        {F "--@ run f()\n--@ invariant x: 1 +", "f:3:"},
        {F "--@ run f()\n--@ invariant x: 1 + 1",
         "f:3:18: a condition is needed here, this is int"},
        {F "--@ run f()\n--@ assert a = 1", "f:3:12: there is no column or variable \"a\""},
        {"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ SELECT 1 $$;",
         "f:1:1: function \"f\" is not in LANGUAGE"},
        {"CREATE FUNCTION f(x numeric) RETURNS void LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;",
         "f:1:21: the type "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(cases[i].text, cases[i].expected);
}

/* ---- advice ---- */

static void advise(const char *path, const char *const *expected, size_t count)
{
    size_t length;
    char *text = test_read_file(path, &length);
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    struct iso_prove_result result;
    struct iso_prove_options options = {.apart = false};
    struct iso_text words = {0};
    iso_prove_program_init(&program);
    iso_prove_result_init(&result);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = true;
    assert_int_equal(iso_prove_read_sql(&program, path, text, length, 1, 0, &error), ISO_OK);
    assert_int_equal(iso_prove(&program, &options, &result, &error), ISO_OK);
    iso_prove_sql_advise(&program, &options, &result, false, &words);
    iso_text_put_bytes(&words, "", 1);
    for (size_t i = 0; i < count; i++)
        if (!strstr(words.bytes, expected[i]))
            fail_msg("%s: not '%s' in%s", path, expected[i], words.bytes);
    iso_text_release(&words);
    iso_prove_result_release(&result);
    iso_prove_program_release(&program);
    free(text);
}

/* A read to lock; the parent of rows that are absent, which a lock protects at rc and only an
 * update at si; an index. A unique index on a booking's room would hold, too, by refusing the
 * second booking: it is not advised. */
static void test_advice(void **state)
{
    (void)state;
    advise(
        "tests/data/prove/booking.sql",
        (const char *[]){
            "  at rc: line 8, in book: SELECT seats INTO cap FROM room WHERE id = r FOR UPDATE\n",
            "  at si: line 7, in book: UPDATE room SET seats = seats WHERE id = r behind BEGIN\n"},
        2);
    advise("tests/data/prove/no_unique_name.sql",
           (const char *[]){
               "  at rc: line 2: CREATE UNIQUE INDEX ON person (name) behind CREATE TABLE\n",
               "  at si: line 2: CREATE UNIQUE INDEX ON person (name) behind CREATE TABLE\n"},
           2);
    advise("tests/data/prove/doctors.sql",
           (const char *[]){
               "  at si: line 6, in leave: PERFORM 1 FROM doctor FOR UPDATE behind BEGIN\n"},
           1);
    /* The calls give s and c the same value; the text says that c is the key. SET id = id frees no
     * key. */
    advise(
        "tests/data/prove/fk_orphan.sql",
        (const char *[]){
            "  at rc: line 6, in enrol: PERFORM 1 FROM course WHERE id = c FOR UPDATE behind BEGIN; and "
            "line 13, in drop_course: PERFORM 1 FROM course WHERE id = c FOR UPDATE behind BEGIN\n",
            "  at si: line 6, in enrol: UPDATE course SET id = id WHERE id = c behind BEGIN\n"},
        2);
    advise(
        "tests/data/prove/seat.sql", /* a key of two columns, the parameters the other way round */
        (const char *[]){
            "  at rc: line 7, in buy: PERFORM 1 FROM seat WHERE flight = f AND number = s FOR UPDATE behind BEGIN\n",
            "  or at rc: line 3: CREATE UNIQUE INDEX ON ticket (flight, seat) behind CREATE TABLE\n",
            "  at si: line 7, in buy: UPDATE seat SET class = class WHERE flight = f AND number = s behind BEGIN\n"},
        3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),         cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_told_apart),    cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_many),          cmocka_unit_test(test_refused_bodies),
        cmocka_unit_test(test_refused_files), cmocka_unit_test(test_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
