/* Drawings: golden for every cycle (tests/data/explain/CYCLE-*), bounded, and safe whatever keys
 * and values hold. */
#include "tests/support/test.h"

#include <stdlib.h>

#include "draw/drawing.h"
#include "draw/escape.h"
#include "tests/support/explained.h"

static char *end_text(struct iso_text *text)
{
    char *copy = calloc(text->used + 1, 1);
    memcpy(copy, text->bytes, text->used);
    iso_text_release(text);
    return copy;
}

static bool draw_case(const char *name)
{
    struct explained explained;
    struct iso_drawing *drawing = malloc(sizeof *drawing);
    struct iso_text dot = {0}, svg = {0};
    bool open = explained_open(&explained, name);
    iso_drawing_init(drawing);
    iso_drawing_add_all(drawing, &explained.facts, ISO_WALL_COUNTER);
    iso_drawing_dot(drawing, &dot);
    iso_drawing_svg(drawing, true, &svg);
    char *dot_text = end_text(&dot), *svg_text = end_text(&svg);
    bool same = open && explained_same(name, "graph.dot", dot_text) &&
                explained_same(name, "graph.svg", svg_text);
    free(dot_text);
    free(svg_text);
    iso_drawing_release(drawing);
    free(drawing);
    explained_release(&explained);
    return same;
}

static void cycles_are_golden(void **state)
{
    (void)state;
    size_t count, drawn = 0, differ = 0;
    char **names = explained_cases(&count);
    for (size_t i = 0; i < count; i++) {
        bool is_cycle = !strncmp(names[i], "CYCLE-", 6) || !strcmp(names[i], "EXT-stale");
        drawn += is_cycle;
        differ += is_cycle && !draw_case(names[i]);
        free(names[i]);
    }
    free(names);
    assert_true(drawn >= 9);
    assert_int_equal(differ, 0);
}

static void assert_escapes(void (*escape)(struct iso_text *, const char *, size_t),
                           const char *from, const char *to)
{
    struct iso_text text = {0};
    escape(&text, from, strlen(from));
    char *escaped = end_text(&text);
    assert_string_equal(escaped, to);
    free(escaped);
}

static void hostile_text_is_escaped(void **state)
{
    (void)state;
    assert_escapes(iso_escape_xml, "<b>\"&'", "&lt;b&gt;&quot;&amp;&#39;");
    assert_escapes(
        iso_escape_xml, "\x01 \xff \xc3\xa4 \xed\xa0\x80 \xef\xbf\xbf",
        "\xef\xbf\xbd \xef\xbf\xbd \xc3\xa4 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
    assert_escapes(iso_escape_xml, "a\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa6",
                   "a\xef\xbf\xbd\xef\xbf\xbd\xe2\x80\xa6");
    assert_escapes(iso_escape_dot, "a\"\\\n", "a\\\"\\\\\\n");
}

static void long_text_is_cut(void **state)
{
    (void)state;
    struct iso_text text = {0};
    iso_escape_xml_short(&text, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 10, 5);
    iso_escape_xml_short(&text, "<23456", 6, 5);
    char *cut = end_text(&text);
    assert_string_equal(cut, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4&lt;2...");
    free(cut);
    assert_int_equal(iso_escape_width("abcdef", 6, 4), 4);
    assert_int_equal(iso_escape_width("\xc3\xa4", 2, 4), 1);
}

/* A hundred disjoint conflicts are 200 nodes: the next one is left out and counted. */
static void the_graph_is_bounded(void **state)
{
    (void)state;
    struct explained explained;
    struct iso_drawing *drawing = malloc(sizeof *drawing);
    struct iso_text dot = {0};
    assert_true(explained_open(&explained, "NOCONFLICT"));
    iso_drawing_init(drawing);
    struct iso_argument argument;
    iso_argument_init(&argument, &explained.facts, &explained.claims.list[0], ISO_WALL_COUNTER);
    for (iso_atom i = 0; i < ISO_DRAWING_NODES / 2; i++) {
        argument.parties[0].tid = 2 * i;
        argument.parties[1].tid = 2 * i + 1;
        assert_true(iso_drawing_add(drawing, &argument));
    }
    argument.parties[0].tid = 2 * ISO_DRAWING_NODES;
    assert_false(iso_drawing_add(drawing, &argument));
    iso_argument_release(&argument);
    assert_int_equal(drawing->node_count, ISO_DRAWING_NODES);
    iso_drawing_add_all(drawing, &explained.facts, ISO_WALL_COUNTER);
    drawing->left_out++;
    iso_drawing_dot(drawing, &dot);
    char *text = end_text(&dot);
    assert_non_null(strstr(text, "1 more not drawn"));
    free(text);
    iso_drawing_release(drawing);
    free(drawing);
    explained_release(&explained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_golden),
        cmocka_unit_test(hostile_text_is_escaped),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(the_graph_is_bounded),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
