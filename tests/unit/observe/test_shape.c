/* The list of shapes: of each an example that it takes, and counterexamples that it keeps out. And
 * what a catalog has to agree with. */
#include <stdio.h>

#include "base/memory.h"
#include "observe/catalog.h"
#include "observe/shape.h"
#include "observe/world.h"
#include "tests/support/test.h"
#include "wire/put.h"

static void add(struct catalog *catalog, const char *const *fields)
{
    struct iso_text row = {0};
    wire_put_u16(&row, 16);
    for (int i = 0; i < 16; i++) {
        wire_put_u32(&row, (uint32_t)strlen(fields[i]));
        iso_text_put(&row, fields[i]);
    }
    assert_true(
        catalog_add(catalog, wire_cursor((const uint8_t *)row.bytes, (uint32_t)row.used), NULL, 0));
    iso_text_release(&row);
}

static void shadow(struct catalog *catalog, const char *kind, const char *name, const char *any)
{
    add(catalog, (const char *const[]){"0", kind, name, any, "f", "0", "", "0", "", "f", "f", "f",
                                       "", "0", "f", "7"});
}

static void column(struct catalog *catalog, const char *oid, const char *schema, const char *table,
                   const char *plain, const char *number, const char *name, const char *class)
{
    add(catalog, (const char *const[]){oid, schema, table, "t", "f", number, name, "23", "1", "t",
                                       "t", plain, class, "0", "t", "1"});
}

/* kv and other, item of two schemas, a view v that may do anything, m with a column of a user's
 * type; users' objects of some names. */
static struct catalog *some_catalog(void)
{
    struct catalog *catalog = catalog_new();
    shadow(catalog, "f", "lower", "t");
    shadow(catalog, "f", "abs", "f"); /* of a user's type */
    shadow(catalog, "f", "wide", "t");
    shadow(catalog, "o", "@>", "t");
    shadow(catalog, "t", "date", "t");
    shadow(catalog, "g", "one", "f");
    column(catalog, "1259", "pg_catalog", "pg_class", "t", "1", "oid", "");
    column(catalog, "20000", "public", "kv", "t", "1", "k", "");
    column(catalog, "20000", "public", "kv", "t", "2", "v", "");
    column(catalog, "20001", "public", "other", "t", "1", "k", "");
    column(catalog, "20002", "public", "item", "t", "1", "k", "");
    column(catalog, "20003", "app", "item", "t", "1", "k", "");
    column(catalog, "20004", "public", "v", "f", "1", "k", "");
    column(catalog, "20005", "public", "m", "t", "1", "k", "u");
    column(catalog, "20006", "a.b", "c.d/e", "t", "1", "k", "");
    catalog_end(catalog);
    return catalog;
}

static const char *name_of(const char *sql, struct catalog *catalog, char *text, size_t size)
{
    _Atomic size_t account = 0;
    struct plan *plan = plan_new(sql, strlen(sql), false, &account);
    assert_int_equal(plan->count, 1);
    struct plan_statement *statement = &plan->statements[0];
    enum plan_reason agreed = plan_agrees(statement, catalog);
    snprintf(text, size, "%s %s %s", shape_name(statement), plan_reason_names[statement->reason],
             plan_reason_names[agreed]);
    if (statement->is_pure && agreed == REASON_NONE)
        strncat(text, " pure", size - strlen(text) - 1);
    plan_release(plan);
    return text;
}

static void each_shape_takes_what_is_true_and_keeps_out_what_is_not(void **state)
{
    static const char *const cases[][2] = {
        /* one table: a point, points, a set, a bag */
        {"SELECT * FROM kv WHERE k = 1", "set recorded recorded pure"},
        {"SELECT k, lead(v) OVER (ORDER BY k) FROM kv ORDER BY v DESC LIMIT 2",
         "set recorded recorded pure"},
        {"SELECT DISTINCT ON (v) k, v FROM kv", "rows recorded recorded pure"},
        {"SELECT k, unnest('{}'::int4[]) FROM kv", "opaque function recorded"},
        {"SELECT k FROM kv ORDER BY generate_series(1, v)", "opaque function recorded"},
        {"SELECT k FROM kv TABLESAMPLE BERNOULLI (1)", "opaque table recorded"},
        {"SELECT k FROM ONLY kv", "opaque table recorded"},
        {"SELECT * FROM kv AS x(b, a)", "opaque table recorded"},
        {"SELECT k INTO x FROM kv", "opaque writes recorded"},
        {"SELECT k FROM kv UNION SELECT k FROM other", "opaque twice recorded pure"},
        {"SELECT k FROM kv ORDER BY k USING <", "opaque shape recorded"},
        {"SELECT (kv).f FROM kv", "opaque shape recorded"},
        {"SELECT kv.wide FROM kv", "set recorded function"}, /* a call */
        {"SELECT kv.count FROM kv", "set recorded function"},
        {"SELECT kv.k, kv.ctid FROM kv", "set recorded recorded pure"},
        /* aggregates */
        {"SELECT count(*), max(v) FROM kv", "set recorded recorded pure"},
        {"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM kv",
         "opaque function recorded"},
        /* some */
        {"SELECT 1 AS a FROM kv WHERE v = 3 LIMIT 1", "some recorded recorded pure"},
        {"SELECT EXISTS (SELECT FROM kv WHERE v = 3)", "some recorded recorded pure"},
        {"SELECT 1 FROM kv OFFSET 3", "set recorded recorded pure"},
        {"SELECT DISTINCT 1 FROM kv", "set recorded recorded pure"},
        {"SELECT 1 FROM kv HAVING true", "rows recorded recorded pure"},
        {"SELECT EXISTS (SELECT FROM kv a, kv b)", "opaque twice recorded pure"},
        {"SELECT NOT EXISTS (SELECT FROM kv)", "opaque twice recorded pure"},
        /* rows */
        {"SELECT * FROM kv LEFT JOIN other o ON o.k = kv.k", "rows recorded recorded pure"},
        {"SELECT * FROM kv JOIN other USING (k)", "rows recorded recorded pure"},
        {"SELECT * FROM kv LEFT JOIN other USING (k)", "opaque shape recorded"},
        {"SELECT * FROM kv NATURAL JOIN other", "opaque shape recorded"},
        {"SELECT a.k FROM kv a, kv b", "opaque twice recorded pure"},
        {"SELECT z.k FROM (SELECT k FROM kv) z", "opaque twice recorded pure"},
        {"WITH c AS (SELECT * FROM kv) SELECT x.k FROM c x, c y", "opaque twice recorded pure"},
        {"WITH c AS (UPDATE kv SET v = 1 RETURNING *) SELECT * FROM c", "opaque writes table"},
        {"WITH kv AS (SELECT 1 AS k) SELECT k FROM kv",
         "nothing no-table table"}, /* which of them, its place says */
        {"SELECT k, v FROM kv GROUP BY ROLLUP (k, v)", "opaque grouped recorded pure"},
        {"SELECT k FROM kv, generate_series(1, 2)", "opaque table recorded"},
        /* functions, operators, types, relations */
        {"SELECT upper('x'), k FROM kv", "set recorded recorded pure"},
        {"SELECT lower('x'), k FROM kv", "set recorded function"},
        {"SELECT pg_catalog.lower('x'), k FROM kv", "set recorded recorded pure"},
        {"SELECT app.upper('x'), k FROM kv", "opaque function recorded"},
        {"SELECT abs(k) FROM kv", "set recorded recorded pure"},
        {"SELECT abs(k) FROM m", "set recorded function"},
        {"SELECT k @> 1 FROM kv", "set recorded operator"},
        {"SELECT k <+> 1 FROM kv", "opaque operator recorded"},
        {"SELECT v::date FROM kv", "set recorded type"},
        {"SELECT v::mood FROM kv", "opaque type recorded"},
        {"SELECT nextval('x')", "opaque function recorded"},
        {"SELECT 1", "nothing no-table recorded pure"},
        {"SELECT relname FROM pg_catalog.pg_class", "set recorded recorded pure"},
        {"SELECT k FROM v", "set recorded table"},
        {"SELECT k FROM kv WHERE EXISTS (SELECT FROM v)", "rows recorded table"},
        {"SELECT k FROM nowhere", "set recorded table"},
        {"SELECT k FROM pg_temp.kv", "set recorded table"},
        {"SELECT k FROM item", "set recorded recorded pure"}, /* RowDescription says which */
        /* writes */
        {"INSERT INTO kv VALUES (1, 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v RETURNING k",
         "write recorded recorded"},
        {"INSERT INTO kv OVERRIDING USER VALUE VALUES (1, 2)", "opaque writes recorded"},
        {"UPDATE kv SET v = 1 FROM other WHERE kv.k = other.k", "write recorded recorded"},
        {"UPDATE kv SET v = wide(1) WHERE k = 1", "opaque function recorded"},
        {"WITH x AS (SELECT 1) DELETE FROM kv WHERE k = 1", "opaque writes recorded"},
        {"MERGE INTO kv USING other ON kv.k = other.k WHEN MATCHED THEN DELETE",
         "opaque recorded recorded"},
        /* control */
        {"BEGIN", "control recorded recorded pure"},
        {"SET search_path = x", "control recorded recorded pure"},
        {"LOCK TABLE kv", "control recorded recorded pure"},
        {"DO $$ BEGIN END $$", "opaque recorded recorded"},
        {"PREPARE q AS SELECT 1", "opaque recorded recorded"},
        {"CREATE TEMP TABLE kv ()", "opaque recorded recorded"},
        {"COPY kv FROM STDIN", "opaque recorded recorded"},
        {"EXPLAIN ANALYZE SELECT wide(1)", "opaque recorded recorded"},
    };
    struct catalog *catalog = some_catalog();
    char text[128], said[4096];
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strcmp(name_of(cases[i][0], catalog, text, sizeof text), cases[i][1]))
            continue;
        snprintf(said, sizeof said, "%s: %s, expected %s", cases[i][0], text, cases[i][1]);
        print_message("%s\n", said);
        wrong++;
    }
    catalog_release(catalog);
    assert_int_equal(wrong, 0);
}

static void a_cast_of_a_users_makes_everything_opaque(void **state)
{
    (void)state;
    struct catalog *catalog = some_catalog();
    shadow(catalog, "c", "", "t");
    iso_free(catalog->by_name);
    catalog_end(catalog);
    char text[128];
    assert_string_equal(name_of("SELECT k FROM kv", catalog, text, sizeof text),
                        "set recorded type");
    assert_string_equal(name_of("COMMIT", catalog, text, sizeof text),
                        "control recorded recorded pure");
    catalog_release(catalog);
}

static void without_a_catalog_nothing_is_known(void **state)
{
    (void)state;
    char text[128];
    assert_string_equal(name_of("SELECT k FROM kv", NULL, text, sizeof text), "set recorded table");
    assert_string_equal(name_of("SELECT now()", NULL, text, sizeof text), "nothing no-table table");
    assert_string_equal(name_of("SELECT 1", NULL, text, sizeof text),
                        "nothing no-table recorded pure");
}

/* What is looked through for each part of a statement has a bound, so that the work grows with its text. */
static void what_is_large_is_opaque(void **state)
{
    static const struct {
        const char *begin, *format, *end, *said;
        int many;
    } cases[] = {{"SELECT 1 FROM t0", ", t%d", "", "opaque table table", SHAPE_TABLES_MOST},
                 {"SELECT 1", ", a.c%d", " FROM kv a", "opaque shape table", PLAN_USES_MOST + 1},
                 {"SELECT k FROM kv WHERE v = 1", "+(%d", "", "opaque shape table", 201},
                 {"WITH a AS (SELECT 1)", ", a%d AS (SELECT 1)", " SELECT k FROM kv",
                  "opaque shape table", 32}};
    char text[128];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_text sql = {0};
        iso_text_put(&sql, cases[i].begin);
        for (int j = 1; j <= cases[i].many; j++)
            iso_text_format(&sql, cases[i].format, j);
        for (int j = 1; j <= cases[i].many && strchr(cases[i].format, '('); j++)
            iso_text_put(&sql, strchr(cases[i].format, ')') ? "" : ")");
        iso_text_put(&sql, cases[i].end);
        iso_text_put_bytes(&sql, "", 1);
        assert_string_equal(name_of(sql.bytes, NULL, text, sizeof text), cases[i].said);
        iso_text_release(&sql);
    }
}

/* Also while prepared statements keep them: what has no room is not parsed. */
static void plans_have_room_for_so_many_bytes(void **state)
{
    enum { STATEMENTS = 40 };
    struct observe_shared shared;
    struct plan *plans[STATEMENTS];
    struct observe_shape *shape;
    size_t most = 0;
    (void)state;
    observe_shared_init(&shared, NULL, "t");
    struct observe_world *world = observe_world_new(&shared);
    for (int i = 0; i < STATEMENTS; i++) {
        struct iso_text sql = {0};
        struct constants constants = {0};
        iso_text_format(&sql, "SELECT a%d FROM kv", i);
        for (int j = 0; j < 8000; j++)
            iso_text_put(&sql, ", a");
        plans[i] = observe_plan(world, sql.bytes, sql.used, false, &constants, &shape);
        most = i ? most : world->plan_bytes;
        constants_release(&constants);
        iso_text_release(&sql);
    }
    assert_true(most * STATEMENTS > WORLD_PLAN_BYTES + 2 * most);
    assert_true(world->plan_bytes < WORLD_PLAN_BYTES + most);
    assert_true(world->counts.plans_refused > 0);
    for (int i = 0; i < STATEMENTS; i++)
        plan_release(plans[i]);
    observe_world_free(world);
    observe_shared_release(&shared);
}

/* One line each, and no word that may be a secret. */
static void shapes_for_people_say_no_secrets(void **state)
{
    static const char *const cases[][2] = {
        {"SET app.token TO hunter2", "SET .."},
        {"alter role a password 'hunter2'", "ALTER .."},
        {"NOTIFY hunter2", "NOTIFY .."},
        {"SELECT k AS \"a\nb\x7f\" FROM kv", "SELECT k AS \"a b \" FROM kv"},
        {"hunter2 is no statement", ".."}};
    _Atomic size_t account = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *plan = plan_new(cases[i][0], strlen(cases[i][0]), false, &account);
        assert_string_equal(plan->shape, cases[i][1]);
        plan_release(plan);
    }
    assert_int_equal(account, 0);
}

static void rows_are_named_as_change_streams_name_them(void **state)
{
    (void)state;
    struct catalog *catalog = some_catalog();
    assert_string_equal(catalog_find(catalog, 20000)->full, "public.kv");
    assert_string_equal(catalog_find(catalog, 20006)->full, "a%2Eb.c.d%2Fe");
    catalog_release(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_takes_what_is_true_and_keeps_out_what_is_not),
        cmocka_unit_test(a_cast_of_a_users_makes_everything_opaque),
        cmocka_unit_test(without_a_catalog_nothing_is_known),
        cmocka_unit_test(what_is_large_is_opaque),
        cmocka_unit_test(plans_have_room_for_so_many_bytes),
        cmocka_unit_test(shapes_for_people_say_no_secrets),
        cmocka_unit_test(rows_are_named_as_change_streams_name_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
