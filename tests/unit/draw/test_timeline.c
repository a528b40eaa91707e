/* Time lines as pictures: golden for every way to be wrong by timestamps, bounded, and safe
 * whatever keys and values hold; and on random time lines no two labels overlap, bars of one row
 * stand apart, and points at their instants. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "draw/timeline_layout.h"
#include "draw/timeline_svg.h"
#include "explain/row_set.h"
#include "tests/support/explained.h"

enum {
    TIMELINES = 2000,
    MOST_BOXES = 2 * ISO_TIMELINE_BARS + ISO_TIMELINE_POINTS + ISO_TIMELINE_INSTANTS + 2
};

/* ---- the layout ---- */

struct boxes {
    uint32_t count;
    struct iso_timeline_box list[MOST_BOXES];
};

static void add_boxes(struct boxes *boxes, const struct iso_timeline_box *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        boxes->list[boxes->count++] = from[i];
}

static bool overlap(const struct iso_timeline_box *a, const struct iso_timeline_box *b)
{
    return a->left < b->left + b->width && b->left < a->left + a->width &&
           a->top < b->top + b->height && b->top < a->top + a->height;
}

static void assert_inside(const struct iso_timeline_layout *layout,
                          const struct iso_timeline_box *box)
{
    assert_true(box->left >= 0 && box->top >= 0);
    assert_true(box->left + box->width <= layout->width + 0.01 &&
                box->top + box->height <= layout->height + 0.01);
}

static void assert_labels(const struct iso_timeline *timeline,
                          const struct iso_timeline_layout *layout)
{
    struct boxes boxes = {0};
    add_boxes(&boxes, layout->lane_labels, timeline->lane_count);
    add_boxes(&boxes, layout->bar_labels, timeline->bar_count);
    add_boxes(&boxes, layout->point_labels, timeline->point_count);
    add_boxes(&boxes, layout->instant_labels, timeline->instant_count);
    add_boxes(&boxes, &layout->note, 1);
    add_boxes(&boxes, &layout->track_label, timeline->point_count > 0);
    for (uint32_t i = 0; i < boxes.count; i++) {
        assert_inside(layout, &boxes.list[i]);
        for (uint32_t j = i + 1; j < boxes.count; j++)
            assert_false(overlap(&boxes.list[i], &boxes.list[j]));
    }
}

static void assert_bars(const struct iso_timeline *timeline,
                        const struct iso_timeline_layout *layout)
{
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        const struct iso_timeline_bar *bar = &timeline->bars[i];
        assert_inside(layout, &layout->bars[i]);
        assert_true(layout->bars[i].top < layout->lane_bottom[bar->lane]);
        assert_true(!bar->lane || layout->bars[i].top > layout->lane_bottom[bar->lane - 1]);
        if (bar->from != ISO_NONE && (bar->to == ISO_NONE || bar->from <= bar->to))
            assert_true(layout->bars[i].left == layout->instants[bar->from]);
        for (uint32_t j = i + 1; j < timeline->bar_count; j++) {
            assert_false(overlap(&layout->bars[i], &layout->bars[j]));
            assert_false(overlap(&layout->bars[i], &layout->bar_labels[j]));
            assert_false(overlap(&layout->bars[j], &layout->bar_labels[i]));
        }
    }
}

/* In order, and nearer to their own instant than to its neighbours. */
static void assert_points(const struct iso_timeline *timeline,
                          const struct iso_timeline_layout *layout)
{
    for (uint32_t i = 0; i + 1 < timeline->instant_count; i++)
        assert_true(layout->instants[i] + 14 <= layout->instants[i + 1]);
    for (uint32_t i = 0; i < timeline->point_count; i++) {
        uint32_t at = timeline->points[i].instant;
        assert_true(layout->points[i] > layout->left && layout->points[i] < layout->right);
        assert_true(!i || layout->points[i] >= layout->points[i - 1] + 14);
        assert_true(!at || layout->points[i] > layout->instants[at - 1]);
        assert_true(at + 1 == timeline->instant_count ||
                    layout->points[i] < layout->instants[at + 1]);
    }
}

static void assert_laid_out(const struct iso_timeline *timeline)
{
    struct iso_timeline_layout layout;
    iso_timeline_lay_out(timeline, &layout);
    assert_labels(timeline, &layout);
    assert_bars(timeline, &layout);
    assert_points(timeline, &layout);
}

static uint32_t add_words(struct iso_timeline *timeline, uint64_t *seed)
{
    uint32_t start = (uint32_t)timeline->text.used;
    for (uint64_t letters = 1 + test_random(seed) % (test_random(seed) % 4 ? 8 : 60); letters;
         letters--)
        iso_text_put(&timeline->text, test_random(seed) % 9 ? "a" : "\xc3\xa4");
    iso_text_put_bytes(&timeline->text, "", 1);
    return start;
}

static uint32_t any_instant(const struct iso_timeline *timeline, uint64_t *seed)
{
    return test_random(seed) % 8 ? (uint32_t)(test_random(seed) % timeline->instant_count)
                                 : ISO_NONE;
}

static void fill_random(struct iso_timeline *timeline, uint64_t *seed)
{
    *timeline = (struct iso_timeline){
        .instant_count = 1 + (uint32_t)(test_random(seed) % ISO_TIMELINE_INSTANTS)};
    timeline->note = add_words(timeline, seed);
    timeline->track = add_words(timeline, seed);
    timeline->bar_count = (uint32_t)(test_random(seed) % (ISO_TIMELINE_BARS + 1));
    timeline->point_count = (uint32_t)(test_random(seed) % (ISO_TIMELINE_POINTS + 1));
    for (uint32_t i = 0; i < timeline->instant_count; i++) {
        uint64_t before = i ? timeline->instants[i - 1].when : 0, shift = test_random(seed) % 50;
        timeline->instants[i] =
            (struct iso_timeline_instant){.when = before + 1 + (test_random(seed) % 100 << shift),
                                          .is_timed = test_random(seed) % 10};
        timeline->instants[i].label = add_words(timeline, seed);
    }
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        bool is_new = !timeline->lane_count || !(test_random(seed) % 3);
        timeline->lane_count += is_new;
        timeline->bars[i] = (struct iso_timeline_bar){
            .lane = is_new ? timeline->lane_count - 1
                           : (uint32_t)(test_random(seed) % timeline->lane_count),
            .from = any_instant(timeline, seed),
            .to = any_instant(timeline, seed),
            .name = add_words(timeline, seed)};
        timeline->lanes[timeline->bars[i].lane] = add_words(timeline, seed);
    }
    for (uint32_t i = 0; i < timeline->point_count; i++) {
        uint32_t least = i ? timeline->points[i - 1].instant : 0;
        bool is_on = least + 1 < timeline->instant_count && test_random(seed) % 2;
        timeline->points[i] =
            (struct iso_timeline_point){.instant = least + is_on,
                                        .side = (int)(test_random(seed) % 3) - 1,
                                        .mark = (enum iso_mark)(test_random(seed) % ISO_MARK_MORE),
                                        .name = add_words(timeline, seed)};
    }
}

static void random_timelines_are_laid_out(void **state)
{
    (void)state;
    uint64_t seed = 20261123;
    for (int i = 0; i < TIMELINES; i++) {
        struct iso_timeline timeline;
        fill_random(&timeline, &seed);
        assert_laid_out(&timeline);
        iso_timeline_release(&timeline);
    }
}

/* ---- the picture ---- */

/* As strict as XML is, in what pictures use: tags that end in their order, quoted attributes, five
 * entities. */
static const char *pass_entity(const char *at)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (!strncmp(at, entities[i], strlen(entities[i])))
            return at + strlen(entities[i]);
    fail_msg("no entity: %.20s", at);
    return NULL;
}

static const char *pass_text(const char *at, char end)
{
    while (*at && *at != end) {
        assert_true((unsigned char)*at >= 0x20 || *at == '\n' || *at == '\t');
        assert_true(*at != '<' && (end != '<' || *at != '>'));
        at = *at == '&' ? pass_entity(at) : at + 1;
    }
    return at;
}

static const char *pass_tag(const char *at, char names[][16], uint32_t *depth)
{
    bool is_end = at[1] == '/';
    const char *name = at + 1 + is_end;
    int length = (int)strcspn(name, " >/");
    at = name + length;
    assert_true(length > 0 && length < 16);
    while (*at == ' ') {
        at += 1 + strcspn(at + 1, "=");
        assert_true(at[0] == '=' && at[1] == '"');
        at = pass_text(at + 2, '"');
        assert_int_equal(*at++, '"');
    }
    if (is_end) {
        assert_true(*depth > 0 && !strncmp(names[*depth - 1], name, (size_t)length) &&
                    !names[*depth - 1][length]);
        --*depth;
    } else if (*at != '/') {
        assert_true(*depth < 8);
        snprintf(names[(*depth)++], 16, "%.*s", length, name);
    }
    at += *at == '/';
    assert_int_equal(*at, '>');
    return at + 1;
}

static void assert_xml(const char *at)
{
    char names[8][16];
    uint32_t depth = 0;
    while (*at)
        at = *at == '<' ? pass_tag(at, names, &depth) : pass_text(at, '<');
    assert_int_equal(depth, 0);
}

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static char *draw(const struct iso_timeline *timeline)
{
    struct iso_text text = {0};
    iso_timeline_svg(timeline, 1, &text);
    iso_text_put_bytes(&text, "", 1);
    return text.bytes;
}

/* Parts that were said to be there are drawn, each once. */
static bool draw_case(const char *name, const struct iso_timeline *timeline)
{
    char *svg = draw(timeline);
    assert_xml(svg);
    assert_int_equal(count_of(svg, "<g class=\"b"), timeline->bar_count);
    assert_int_equal(count_of(svg, "<g class=\"p"), timeline->point_count);
    assert_int_equal(count_of(svg, "<title id="), 1);
    assert_int_equal(count_of(svg, "<desc id="), 1);
    assert_int_equal(count_of(svg, "<img"), 0);
    assert_int_equal(count_of(svg, "</svg>"), 1);
    bool same = explained_same(name, "timeline.svg", svg);
    free(svg);
    return same;
}

static bool is_cycle(const char *name)
{
    return !strncmp(name, "CYCLE", 5);
}

/* What is judged without timestamps. */
static bool is_timeless(const char *name)
{
    return is_cycle(name) || !strncmp(name, "G1", 2) || !strcmp(name, "THINAIR") ||
           !strcmp(name, "INCOMPATIBLE") || !strcmp(name, "LOSTUPDATE");
}

static void every_case_is_drawn(void **state)
{
    (void)state;
    size_t count, drawn = 0, differ = 0;
    char **names = explained_cases(&count);
    for (size_t i = 0; i < count; i++) {
        struct explained explained;
        struct iso_argument argument;
        struct iso_timeline timeline;
        assert_true(explained_open(&explained, names[i]));
        iso_argument_init(&argument, &explained.facts, &explained.claims.list[0], ISO_WALL_COUNTER);
        bool is_drawn = iso_timeline_init(&timeline, &argument);
        assert_int_equal(is_drawn, !is_timeless(names[i]));
        if (is_drawn) {
            assert_laid_out(&timeline);
            differ += !draw_case(names[i], &timeline);
        }
        drawn += is_drawn;
        iso_timeline_release(&timeline);
        iso_argument_release(&argument);
        explained_release(&explained);
        free(names[i]);
    }
    free(names);
    assert_true(drawn >= 30);
    assert_int_equal(differ, 0);
}

/* ---- what stands where ---- */

struct drawn {
    struct explained explained;
    struct iso_argument argument;
    struct iso_timeline timeline;
};

static void open_case_at(struct drawn *drawn, const char *name, enum iso_wall wall)
{
    assert_true(explained_open(&drawn->explained, name));
    iso_argument_init(&drawn->argument, &drawn->explained.facts, &drawn->explained.claims.list[0],
                      wall);
    assert_true(iso_timeline_init(&drawn->timeline, &drawn->argument));
}

static void open_case(struct drawn *drawn, const char *name)
{
    open_case_at(drawn, name, ISO_WALL_COUNTER);
}

static void close_case(struct drawn *drawn)
{
    iso_timeline_release(&drawn->timeline);
    iso_argument_release(&drawn->argument);
    explained_release(&drawn->explained);
}

static const char *words(const struct drawn *drawn, uint32_t offset)
{
    return iso_timeline_text(&drawn->timeline, offset);
}

static void assert_instant(const struct drawn *drawn, uint32_t instant, const char *label)
{
    assert_true(instant < drawn->timeline.instant_count);
    assert_string_equal(words(drawn, drawn->timeline.instants[instant].label), label);
}

static const struct iso_timeline_point *point_named(const struct drawn *drawn, const char *name)
{
    for (uint32_t i = 0; i < drawn->timeline.point_count; i++)
        if (!strcmp(words(drawn, drawn->timeline.points[i].name), name))
            return &drawn->timeline.points[i];
    fail_msg("no point says %s", name);
    return NULL;
}

/* A reader under a lock looks just before its commit, which is after its snapshot. */
static void a_look_stands_at_its_moment(void **state)
{
    (void)state;
    struct drawn drawn;
    open_case(&drawn, "EXT-stale-lock");
    const struct iso_timeline_point *look = point_named(&drawn, "T1: found 1, expected 2");
    const struct iso_timeline_bar *reader = &drawn.timeline.bars[look->bar];
    assert_true(reader->is_blamed);
    assert_int_equal(look->mark, ISO_MARK_READ);
    assert_int_equal(look->side, -1);
    assert_int_equal(look->instant, reader->to);
    assert_instant(&drawn, reader->from, "4");
    assert_instant(&drawn, reader->to, "10");
    const struct iso_timeline_point *expected = point_named(&drawn, "T2: 2");
    assert_int_equal(expected->mark, ISO_MARK_EXPECTED);
    assert_int_equal(expected->instant, drawn.timeline.bars[expected->bar].to);
    assert_string_equal(words(&drawn, drawn.timeline.lanes[reader->lane]), "session 3");
    close_case(&drawn);
}

static void an_aborted_writer_has_no_end(void **state)
{
    (void)state;
    struct drawn drawn;
    open_case(&drawn, "EXT-uncommitted");
    const struct iso_timeline_bar *writer = &drawn.timeline.bars[2];
    assert_string_equal(words(&drawn, writer->name), "T3 = 2, aborted, wrote 9");
    assert_int_equal(writer->status, ISO_ABORTED);
    assert_true(writer->is_found && writer->to == ISO_NONE);
    assert_instant(&drawn, writer->from, "3");
    close_case(&drawn);
}

static void overlapping_writers_overlap(void **state)
{
    (void)state;
    struct drawn drawn;
    open_case(&drawn, "NOCONFLICT");
    assert_instant(&drawn, drawn.timeline.overlap_from, "4");
    assert_instant(&drawn, drawn.timeline.overlap_to, "5");
    assert_int_equal(drawn.timeline.lane_count, 2);
    close_case(&drawn);
}

/* What a transaction did stands between its beginning and its end. */
static void operations_stand_within(void **state)
{
    (void)state;
    struct drawn drawn;
    open_case(&drawn, "INT");
    assert_int_equal(drawn.timeline.instant_count, 4);
    assert_instant(&drawn, 0, "1");
    assert_instant(&drawn, point_named(&drawn, "T1: 2")->instant, "operation 2");
    assert_instant(&drawn, 2, "operation 3");
    assert_instant(&drawn, 3, "2");
    close_case(&drawn);
}

/* Of 27 versions in between the newest are drawn, of the two that matter both; of a cycle as many
 * as there is room for. */
static void a_picture_is_bounded(void **state)
{
    (void)state;
    struct drawn drawn;
    open_case(&drawn, "EXT-stale-many");
    assert_int_equal(drawn.timeline.bar_count, 9);
    assert_int_equal(drawn.argument.versions_left, 22);
    point_named(&drawn, "T3: 2");
    point_named(&drawn, "1"); /* the one before it */
    point_named(&drawn, "25");
    assert_non_null(strstr(words(&drawn, drawn.timeline.note), "and 22 more versions; "));
    close_case(&drawn);
    open_case(&drawn, "TIMESTAMP-cts-cycle-many");
    assert_int_equal(drawn.timeline.bar_count, ISO_TIMELINE_BARS);
    assert_non_null(strstr(words(&drawn, drawn.timeline.note), "and 3 more transactions; "));
    close_case(&drawn);
}

/* What all times begin with stands once, up to a mark between numbers. */
static void long_times_are_shortened(void **state)
{
    (void)state;
    struct drawn drawn;
    open_case_at(&drawn, "EXT-stale", ISO_WALL_SECONDS);
    assert_instant(&drawn, 0, "...04Z");
    assert_instant(&drawn, drawn.timeline.instant_count - 1, "...21Z");
    assert_non_null(
        strstr(words(&drawn, drawn.timeline.note), "times begin with 1970-01-01T00:00:; "));
    assert_non_null(
        strstr(words(&drawn, drawn.timeline.points[0].words), "1970-01-01T00:00:05Z: "));
    assert_laid_out(&drawn.timeline);
    close_case(&drawn);
}

/* ---- row sets ---- */

static const struct iso_row_set_row *row_of(const struct iso_row_set *set, const char *key)
{
    for (uint32_t i = 0; i < set->row_count; i++)
        if (!strcmp(iso_row_set_text(set, set->rows[i].key), key))
            return &set->rows[i];
    return NULL;
}

/* 70 keys with rows, of which one was not found; what was deleted before is no row, what the reader
 * wrote is its own. */
static void a_row_set_is_shown_beside_its_range(void **state)
{
    (void)state;
    struct drawn drawn;
    struct iso_row_set set;
    open_case(&drawn, "EXT-missing-row-many");
    assert_true(iso_row_set_init(&set, &drawn.argument));
    assert_string_equal(iso_row_set_text(&set, set.title), "keys from 105 to 175 at 5");
    assert_int_equal(set.row_count, ISO_ROW_SET_SHOWN);
    assert_int_equal(set.left, 70 - ISO_ROW_SET_SHOWN);
    assert_int_equal(set.left_differing, 0);
    const struct iso_row_set_row *missing = row_of(&set, "140"), *own = row_of(&set, "130");
    assert_true(missing && missing->differs && missing->is_claimed);
    assert_string_equal(iso_row_set_text(&set, missing->expected), "280");
    assert_string_equal(iso_row_set_text(&set, missing->actual), "nothing");
    assert_true(own && !own->differs);
    assert_string_equal(iso_row_set_text(&set, own->expected), "own");
    assert_null(row_of(&set, "110"));
    for (uint32_t i = 0; i < set.row_count; i++)
        assert_int_equal(set.rows[i].differs, &set.rows[i] == missing);
    iso_row_set_release(&set);
    close_case(&drawn);
    open_case(&drawn, "EXT-stale");
    assert_false(iso_row_set_init(&set, &drawn.argument));
    iso_row_set_release(&set);
    close_case(&drawn);
}

/* Of a query: its rows and cells, and the one that it lacks, which no operation of it is. */
static void a_query_is_shown_with_what_it_lacks(void **state)
{
    (void)state;
    struct drawn drawn;
    struct iso_row_set set;
    open_case(&drawn, "EXT-missing-row-query");
    assert_true(iso_row_set_init(&set, &drawn.argument));
    assert_string_equal(iso_row_set_text(&set, set.title),
                        "rows of acct where \"owner = 'ann'\" at 5");
    assert_int_equal(set.row_count, 4);
    const struct iso_row_set_row *missing = row_of(&set, "acct/8"),
                                 *cell = row_of(&set, "acct/7#balance");
    assert_true(missing && missing->is_claimed && missing->operation == ISO_NONE);
    assert_string_equal(iso_row_set_text(&set, missing->actual), "nothing");
    assert_true(cell && !cell->differs);
    assert_string_equal(iso_row_set_text(&set, cell->expected), "40");
    iso_row_set_release(&set);
    close_case(&drawn);
    open_case(&drawn, "EXT-stale-query");
    assert_true(iso_row_set_init(&set, &drawn.argument));
    cell = row_of(&set, "acct/7#balance");
    assert_true(cell && cell->is_claimed && cell->differs);
    assert_int_equal(set.row_count, 3);
    iso_row_set_release(&set);
    close_case(&drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_timelines_are_laid_out),
        cmocka_unit_test(every_case_is_drawn),
        cmocka_unit_test(a_look_stands_at_its_moment),
        cmocka_unit_test(an_aborted_writer_has_no_end),
        cmocka_unit_test(overlapping_writers_overlap),
        cmocka_unit_test(operations_stand_within),
        cmocka_unit_test(a_picture_is_bounded),
        cmocka_unit_test(long_times_are_shortened),
        cmocka_unit_test(a_row_set_is_shown_beside_its_range),
        cmocka_unit_test(a_query_is_shown_with_what_it_lacks),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
