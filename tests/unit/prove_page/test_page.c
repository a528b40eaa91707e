/* The page of a counterexample: each known violation has a cycle, or is one of transactions that
 * run one after another; why a stronger level forbids it is said; texts of others are escaped; what
 * is too large is a list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "bytes/whole_file.h"
#include "prove_page/cycle.h"
#include "prove_page/page.h"

struct proved {
    struct iso_prove_program program;
    struct iso_prove_result result;
};

static void prove(struct proved *proved, const char *name, const char *text, size_t length,
                  uint32_t repeats)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_options options = {.seconds = 60};
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = true;
    iso_prove_program_init(&proved->program);
    iso_prove_result_init(&proved->result);
    assert_int_equal(iso_prove_read_core(&proved->program, name, text, length, repeats, &error),
                     ISO_OK);
    assert_int_equal(iso_prove(&proved->program, &options, &proved->result, &error), ISO_OK);
}

static void release(struct proved *proved)
{
    iso_prove_result_release(&proved->result);
    iso_prove_program_release(&proved->program);
}

static char *page_of(struct proved *proved)
{
    struct iso_text text = {0};
    iso_prove_put_page(&proved->program, &proved->result, "", 0, &text);
    iso_text_put_bytes(&text, "", 1);
    return text.bytes;
}

static uint32_t times(const char *text, const char *part)
{
    uint32_t count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

/* The edges one behind the other, from where the first one begins to there again. */
static void assert_round(const struct prove_page_cycle *cycle, uint32_t nodes)
{
    for (uint32_t i = 0; i < cycle->count; i++) {
        assert_true(cycle->list[i].from < nodes && cycle->list[i].to < nodes);
        assert_int_equal(cycle->list[i].to, cycle->list[(i + 1) % cycle->count].from);
    }
}

static uint32_t look_at_one(const struct proved *proved, enum iso_prove_level level)
{
    const struct iso_prove_answer *answers = proved->result.answers;
    const struct iso_prove_execution *execution = &answers[level].execution;
    struct prove_page_cycle cycle;
    struct iso_text words = {0};
    prove_page_cycle_init(&cycle, execution);
    assert_round(&cycle, execution->count + 1);
    assert_true(cycle.count || answers[ISO_PROVE_SER].outcome == ISO_IS_VIOLATED);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        if (i != level && answers[i].outcome == ISO_HOLDS && iso_prove_level_implies(i, level))
            assert_true(prove_page_put_axiom(execution, i, &words));
    uint32_t count = cycle.count;
    prove_page_cycle_release(&cycle);
    iso_text_release(&words);
    return count;
}

static void test_known_programs(void **state)
{
    (void)state;
    char line[200], name[100], path[200];
    uint32_t violations = 0, cycles = 0;
    FILE *list = fopen("tests/data/prove/verdicts.txt", "r");
    assert_non_null(list);
    while (fgets(line, sizeof line, list)) {
        struct iso_whole_file file = {0};
        struct iso_error error = ISO_NO_ERROR;
        struct proved proved;
        if (*line == '#' || sscanf(line, "%99s", name) != 1)
            continue;
        snprintf(path, sizeof path, "tests/data/prove/%s.iso", name);
        assert_int_equal(iso_whole_file_read(&file, path, &error), ISO_OK);
        prove(&proved, path, file.bytes, file.length, 1);
        for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
            if (!proved.result.answers[i].shown)
                continue;
            violations++;
            cycles += look_at_one(&proved, i) > 0;
        }
        char *page = page_of(&proved);
        assert_true(times(page, "<svg class=\"sq\"") ==
                    times(page, "<details class=\"violation\""));
        assert_non_null(strstr(page, "</html>"));
        iso_free(page);
        release(&proved);
        iso_whole_file_release(&file);
    }
    fclose(list);
    assert_true(violations >= 100 && cycles >= 80);
}

static void test_a_long_fork(void **state)
{
    (void)state;
    static const char text[] =
        "var x = 0 var y = 0 table saw[2] = 0\n"
        "txn a() { x := 1 }  txn b() { y := 1 }  txn look(i) { saw[i] := x + 2 * y }\n"
        "run a(), b(), look(0), look(1)\n"
        "assert !(saw[0] == 1 && saw[1] == 2)\n";
    struct proved proved;
    prove(&proved, "fork", text, sizeof text - 1, 1);
    struct prove_page_cycle cycle;
    struct iso_text words = {0};
    prove_page_cycle_init(&cycle, &proved.result.answers[ISO_PROVE_PSI].execution);
    assert_int_equal(cycle.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(cycle.list[i].kind, i % 2 ? PROVE_PAGE_RW : PROVE_PAGE_WR);
        prove_page_put_edge(&proved.result.answers[ISO_PROVE_PSI].execution, &cycle.list[i],
                            &words);
        iso_text_put(&words, "; ");
    }
    iso_text_put_bytes(&words, "", 1);
    assert_string_equal(
        words.bytes, "T3 reads x of T1; T3 reads y without what T2 writes there; T4 reads y of T2; "
                     "T4 reads x without what T1 writes there; ");
    prove_page_cycle_release(&cycle);
    iso_text_release(&words);
    release(&proved);
}

/* A file's name is anything; a comparison is in the text. */
static void test_texts_are_escaped(void **state)
{
    (void)state;
    static const char text[] =
        "var x = 0\ntxn a(p) { if x < 1 && p > 0 { x := x + 1 } }\nrun a(1), a(2)\nassert x < 1\n";
    struct proved proved;
    prove(&proved, "<script>alert(\"1\")</script>.iso", text, sizeof text - 1, 1);
    char *page = page_of(&proved);
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "x < 1"));
    assert_non_null(strstr(page, "x &lt; 1 &amp;&amp; p &gt; 0"));
    assert_non_null(strstr(page, "run one after another"));
    iso_free(page);
    release(&proved);
}

static void test_too_many_lanes(void **state)
{
    (void)state;
    static const char text[] = "var x = 0\ntxn a() { x := x + 1 }\nrun a()\nassert x == 0\n";
    struct proved proved;
    prove(&proved, "many", text, sizeof text - 1, 30);
    char *page = page_of(&proved);
    assert_int_equal(times(page, "<svg class=\"sq\""), 0);
    assert_non_null(strstr(page, "too many for a picture"));
    assert_true(times(page, "<li>") >= 60);
    iso_free(page);
    release(&proved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_programs), cmocka_unit_test(test_a_long_fork),
        cmocka_unit_test(test_texts_are_escaped), cmocka_unit_test(test_too_many_lanes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
