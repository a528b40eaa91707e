/* Tables from one reading of the catalog to the next: whose a name was when. */
#include <stdio.h>

#include "suite/tables.h"
#include "tests/support/test.h"

/* A table as the catalog has it, in the order of the question's columns. */
struct row {
    const char *name, *columns, *looks, *oid, *made, *named, *place;
};

static void read_again(struct suite_tables *tables, const char *snapshot, int64_t at,
                       const struct row *list, uint32_t count)
{
    const char *rows[4 * SUITE_TABLES_COLUMNS];
    const struct suite_reading reading = {at, at + 1, !tables->readings};
    assert_true(count <= 4);
    for (uint32_t i = 0; i < count; i++) {
        const struct row *row = &list[i];
        const char *const fields[] = {row->name,   row->columns, row->looks, row->oid,
                                      row->made,   "t",          row->name,  row->named,
                                      "public.\"", row->place,   row->oid};
        memcpy(rows + i * (size_t)SUITE_TABLES_COLUMNS, fields, sizeof fields);
    }
    suite_snapshots_take(&tables->snapshots, snapshot, (uint64_t)at, (uint64_t)at + 1);
    suite_tables_take(tables, &reading, rows, count);
}

static const struct suite_table *find(const struct suite_tables *tables, uint32_t xid,
                                      uint64_t place)
{
    return suite_tables_find(tables, "public.a", 8, xid, place);
}

#define A(oid, looks, made, named, place)                                                          \
    {                                                                                              \
        "public.a", "id", looks, oid, made, named, place                                           \
    }

static void what_was_there_is_the_table_while_readings_have_it(void **state)
{
    (void)state;
    struct suite_tables tables = {.count = 0};
    const struct row a = A("5", "1 id;9", "9", "9", "100");
    read_again(&tables, "20:20:", 10, &a, 1);
    read_again(&tables, "30:30:", 20, &a, 1);
    assert_int_equal(tables.count, 1);
    assert_ptr_equal(find(&tables, 25, 50), &tables.list[0]);
    assert_null(find(&tables, 30, 50)); /* it may still put another in its place */
    assert_ptr_equal(suite_tables_meant(&tables, 5, 1, 20), &tables.list[0]);
    assert_null(suite_tables_meant(&tables, 5, 1, 21)); /* nobody has looked since */
    assert_null(suite_tables_meant(&tables, 6, 1, 20));
    assert_null(suite_tables_find(&tables, "public.b", 8, 25, 50));
    read_again(&tables, "40:40:", 30, NULL, 0);
    assert_true(tables.list[0].is_gone);
    assert_null(find(&tables, 35, 150));
    suite_tables_release(&tables);
}

static void one_that_is_made_meanwhile_is_its_makers_from_the_start(void **state)
{
    (void)state;
    struct suite_tables tables = {.count = 0};
    const struct row a = A("5", "1 id;25", "25", "25", "200");
    read_again(&tables, "20:20:", 10, NULL, 0);
    read_again(&tables, "30:30:", 20, &a, 1);
    read_again(&tables, "40:40:", 30, &a, 1);
    assert_true(tables.list[0].is_new && !tables.list[0].has_begun);
    assert_int_equal(tables.beginning, 1);
    assert_ptr_equal(find(&tables, 25, 150), &tables.list[0]);
    assert_null(find(&tables, 26, 150)); /* before the first reading that has it */
    assert_ptr_equal(find(&tables, 26, 200), &tables.list[0]);
    assert_null(suite_tables_meant(&tables, 5, 15, 25));
    assert_ptr_equal(suite_tables_meant(&tables, 5, 21, 30), &tables.list[0]);
    tables.list[0].has_begun = true; /* empty: by its OID it is known before that */
    assert_ptr_equal(suite_tables_meant(&tables, 5, 15, 25), &tables.list[0]);
    suite_tables_release(&tables);
}

static void the_next_of_a_name_is_another_table(void **state)
{
    (void)state;
    struct suite_tables tables = {.count = 0};
    const struct row first = A("5", "1 id;9", "9", "9", "100"),
                     second = A("6", "1 id;31", "31", "31", "300");
    read_again(&tables, "20:20:", 10, &first, 1);
    read_again(&tables, "30:30:", 20, &first, 1);
    read_again(&tables, "40:40:", 30, &second, 1);
    assert_int_equal(tables.count, 2);
    assert_string_equal(tables.list[0].label, "public.a");
    assert_string_equal(tables.list[1].label, "public.\"~1\"");
    assert_string_equal(tables.list[1].identity, "public.a~1");
    assert_ptr_equal(find(&tables, 31, 250), &tables.list[1]);
    assert_ptr_equal(find(&tables, 25, 250), &tables.list[0]);
    assert_null(find(&tables, 33, 250)); /* which of both nobody knows */
    assert_ptr_equal(find(&tables, 33, 300), &tables.list[1]);
    suite_tables_release(&tables);
}

/* Another column, or another name and back: nobody knows what it holds. */
static void one_that_is_altered_or_renamed_is_another_table_that_is_not_new(void **state)
{
    (void)state;
    static const struct row others[] = {A("5", "1 id,2 v;9,31", "9", "9", "300"),
                                        A("5", "1 id;9", "9", "31", "300")};
    for (int i = 0; i < 2; i++) {
        struct suite_tables tables = {.count = 0};
        const struct row a = A("5", "1 id;9", "9", "9", "100");
        read_again(&tables, "20:20:", 10, &a, 1);
        read_again(&tables, "40:40:", 20, &others[i], 1);
        assert_int_equal(tables.count, 2);
        assert_true(tables.list[0].is_gone && !tables.list[1].is_new);
        assert_int_equal(tables.list[1].of_oid, 0);
        assert_null(suite_tables_meant(&tables, 5, 5, 15)); /* it may be either */
        suite_tables_release(&tables);
    }
}

/* As pgbench makes its tables: filled, and then given a key. */
static void one_that_gets_a_key_knows_what_it_was(void **state)
{
    (void)state;
    struct suite_tables tables = {.count = 0};
    const struct row keyless = {"public.a", NULL, "1 id;25", "5", "25", "25", "200"},
                     keyed = A("5", "1 id;35", "25", "25", "300"),
                     wider = A("5", "1 id,2 v;35,36", "25", "25", "400");
    read_again(&tables, "20:20:", 10, NULL, 0);
    read_again(&tables, "30:30:", 20, &keyless, 1);
    assert_true(suite_table_may_be_judged(&tables.list[0]));
    assert_false(suite_table_is_judged(&tables.list[0]));
    read_again(&tables, "40:40:", 30, &keyed, 1);
    assert_int_equal(tables.list[1].keyless, 0);
    assert_true(suite_table_is_judged(&tables.list[1]));
    read_again(&tables, "50:50:", 40, &wider, 1);
    assert_int_equal(tables.list[2].keyless, ISO_NUMBER_NONE);
    suite_tables_release(&tables);
}

static void is_told(struct suite_tables *tables, int what, const char *name, uint64_t place)
{
    tables->place = place;
    suite_tables_define(tables, &(struct suite_definition){what, &name, name != NULL, false});
}

/* From where on what its maker did to its name is surely of the table: from the statement on that
 * gave it the name, if that was told, and nothing behind it that may have given any. */
static void a_table_has_its_name_from_the_statement_on_that_gave_it(void **state)
{
    (void)state;
    static const struct {
        const char *catalog, *told;
        int then; /* told at 150, of nothing */
        uint64_t defined;
    } cases[] = {{"public.a", "a", SUITE_DEFINES, 100},
                 {"public.a", "a", SUITE_DEFINES_NEXT, 100},
                 {"public.a", "b", SUITE_DEFINES, UINT64_MAX},
                 {"public.a", NULL, SUITE_DEFINES, UINT64_MAX},
                 {"public.a", "a", SUITE_DEFINES_ANY, UINT64_MAX},
                 {"\"s.\"\"1\".\"A\"\"b\"", "A\"b", SUITE_DEFINES_NOTHING, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suite_tables tables = {.count = 0};
        const struct row made = {cases[i].catalog, "id", "1 id;25", "5", "25", "25", "200"},
                         again = {cases[i].catalog, "id", "1 id;35", "6", "35", "35", "300"};
        read_again(&tables, "20:20:", 10, NULL, 0);
        is_told(&tables, SUITE_DEFINES, cases[i].told, 100);
        is_told(&tables, cases[i].then, NULL, 150);
        read_again(&tables, "30:30:", 20, &made, 1);
        assert_int_equal(tables.list[0].defined, cases[i].defined);
        read_again(&tables, "40:40:", 30, &again, 1); /* what made that was not told */
        assert_int_equal(tables.list[1].defined, UINT64_MAX);
        suite_tables_release(&tables);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_there_is_the_table_while_readings_have_it),
        cmocka_unit_test(one_that_is_made_meanwhile_is_its_makers_from_the_start),
        cmocka_unit_test(the_next_of_a_name_is_another_table),
        cmocka_unit_test(one_that_is_altered_or_renamed_is_another_table_that_is_not_new),
        cmocka_unit_test(one_that_gets_a_key_knows_what_it_was),
        cmocka_unit_test(a_table_has_its_name_from_the_statement_on_that_gave_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
