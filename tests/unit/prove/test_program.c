/* The representation of a program: places, cells' names, blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "prove/program.h"

static void test_places_and_names(void **state)
{
    (void)state;
    static const char source[] = "var a\n  table  t[2] -- two\n  = 1";
    struct iso_prove_program program;
    struct iso_prove_block block = ISO_PROVE_BLOCK;
    struct iso_text text = {0};
    uint32_t line, column;
    iso_prove_program_init(&program);
    program.source = iso_copy_text(source, sizeof source - 1);
    program.source_length = sizeof source - 1;
    iso_prove_table(&program, "a", 1, 1, (struct iso_prove_span){0, 5});
    uint32_t table = iso_prove_table(&program, "t", 2, 1, (struct iso_prove_span){8, 35});
    program.tables.list[table].indexed = true;
    uint32_t template = iso_prove_template(&program, "f", (struct iso_prove_span){0, 0});
    for (int i = 0; i < 3; i++)
        iso_prove_append(&program, &block,
                         iso_prove_step(&program, ISO_PROVE_ABORT, (struct iso_prove_span){0, 0}));
    program.templates.list[template].block = block.first;
    iso_prove_instance(&program, template, 0, ISO_NONE, "f()", (struct iso_prove_span){0, 0});
    iso_prove_program_finish(&program);
    assert_int_equal(program.cells, 3);
    assert_int_equal(program.steps.list[block.first].next, 1);
    assert_int_equal(program.steps.list[block.last].next, ISO_NONE);
    iso_prove_location(&program, 8, &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 3);
    iso_prove_put_cell(&program, &text, 0);
    iso_prove_put_column(&program, &text, 2, 0);
    iso_text_put(&text, " ");
    iso_prove_put_span(&program, &text, program.tables.list[table].span);
    assert_int_equal(text.used, strlen("at[1] table t[2] = 1"));
    assert_memory_equal(text.bytes, "at[1] table t[2] = 1", text.used);
    iso_text_release(&text);
    iso_prove_program_release(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places_and_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
