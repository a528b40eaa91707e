#include "draw/page.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "draw/drawing.h"
#include "draw/escape.h"
#include "draw/frame.h"
#include "draw/timeline_svg.h"
#include "explain/record.h"
#include "explain/row_set.h"
#include "explain/text.h"
#include "iso/version.h"

enum {
    END_BYTES = 16384,       /* kept free for what follows the list */
    PICTURE_BYTES = 3500000, /* behind so many there are no pictures and no tables of row sets */
    RECORD_BYTES = 20000,    /* of one record */
    CELL_LETTERS = 100
};

static void put_escaped(struct iso_text *text, const char *string)
{
    iso_escape_xml(text, string, strlen(string));
}

static void put_element(struct iso_text *text, const char *begin, const char *content,
                        const char *end)
{
    iso_text_put(text, begin);
    put_escaped(text, content);
    iso_text_put(text, end);
}

/* ---- the time line as a list: downwards, so that it fits a phone, and with words that wrap; what
 * counts is the order, so rows are not spread by their times ---- */

static const char *const classes[] = {[ISO_MARK_NONE] = "plain",
                                      [ISO_MARK_EXPECTED] = "expected",
                                      [ISO_MARK_ACTUAL] = "actual",
                                      [ISO_MARK_READ] = "look",
                                      [ISO_MARK_MORE] = "more"};

static void put_item(const struct iso_argument *argument, const struct iso_argument_row *row,
                     struct iso_text *text)
{
    const char *mark = iso_mark_word(row->mark);
    iso_text_format(text, "<li class=\"%s\"><code class=\"when\">", classes[row->mark]);
    put_escaped(text, iso_argument_text(argument, row->when_text));
    if (mark)
        iso_text_format(text, " (%s)", mark);
    put_element(text, "</code><span class=\"what\">", iso_argument_text(argument, row->what_text),
                "</span></li>\n");
}

static void put_list(const struct iso_argument *argument, struct iso_text *text)
{
    iso_text_put(text, "<ol class=\"t\">\n");
    for (uint32_t i = 0; i < argument->row_count; i++)
        if (!argument->rows[i].only_drawn)
            put_item(argument, &argument->rows[i], text);
    iso_text_put(text, "</ol>\n");
}

/* ---- one violation ---- */

static void put_steps(const struct iso_argument *argument, struct iso_text *text)
{
    iso_text_put(text, "<ol>\n");
    for (uint32_t i = 0; i < argument->step_count; i++)
        put_element(text, "<li>", iso_argument_text(argument, argument->steps[i]), "</li>\n");
    iso_text_put(text, "</ol>\n");
}

static void put_parties(const struct iso_argument *argument, struct iso_text *text)
{
    struct iso_text words = {0};
    if (!argument->party_count)
        return;
    iso_text_put(text, "<table>\n");
    for (uint32_t i = 0; i < argument->party_count; i++) {
        words.used = 0;
        iso_argument_put_party(argument, i, &words);
        iso_text_format(text, "<tr><th>T%" PRIu32 "</th><td>", i + 1u);
        iso_escape_xml(text, words.bytes, words.used);
        iso_text_put(text, "</td></tr>\n");
    }
    iso_text_put(text, "</table>\n");
    iso_text_release(&words);
}

static bool is_cycle(const struct iso_wrong *wrong)
{
    return wrong->argument == ISO_ARGUE_ORDER || (wrong->kind && !strcmp(wrong->kind, "cts-cycle"));
}

static void put_graph(const struct iso_argument *argument, struct iso_text *text)
{
    if (!argument->edge_count || !is_cycle(argument->claim->wrong))
        return;
    struct iso_drawing *drawing = iso_allocate(sizeof *drawing);
    iso_drawing_init(drawing);
    iso_text_put(text, "<h2>The cycle</h2>\n");
    if (iso_drawing_add(drawing, argument)) {
        iso_text_put(text, "<div class=\"picture\">");
        iso_drawing_svg(drawing, false, text);
        iso_text_put(text, "</div>\n");
    } else {
        iso_text_put(text, "<p class=\"dim\">It has too many transactions to be drawn.</p>\n");
    }
    iso_drawing_release(drawing);
    iso_free(drawing);
}

/* Pictures take most of a page's room: when there is little left, the list alone has to do. */
static void put_picture(const struct iso_timeline *timeline, uint32_t number, struct iso_text *text)
{
    if (text->used > PICTURE_BYTES) {
        iso_text_put(text,
                     "<p class=\"dim\">There is no picture of it, as the page is large.</p>\n");
        return;
    }
    iso_text_put(text, "<div class=\"picture\">");
    iso_timeline_svg(timeline, number, text);
    iso_text_put(text, "</div>\n");
}

static void put_row(const struct iso_row_set *set, const struct iso_row_set_row *row,
                    struct iso_text *text)
{
    const uint32_t cells[] = {row->key, row->expected, row->actual};
    iso_text_put(text, row->differs ? "<tr class=\"differs\">" : "<tr>");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const char *words = iso_row_set_text(set, cells[i]);
        iso_text_put(text, "<td><code>");
        iso_escape_xml_short(text, words, strlen(words), CELL_LETTERS);
        iso_text_put(text, "</code></td>");
    }
    iso_text_put(text, row->is_claimed ? "<td>this violation</td></tr>\n"
                       : row->differs  ? "<td>differs</td></tr>\n"
                                       : "<td></td></tr>\n");
}

/* The range beside what was found there, for one of its keys. */
static void put_row_set(const struct iso_argument *argument, struct iso_text *text)
{
    struct iso_row_set set;
    if (text->used > PICTURE_BYTES || !iso_row_set_init(&set, argument))
        return;
    put_element(text, "<h2>", iso_row_set_text(&set, set.title),
                "</h2>\n<div class=\"picture\"><table class=\"rows\">\n");
    iso_text_put(text, "<tr><th>key</th><th>was there</th><th>was found</th><th></th></tr>\n");
    for (uint32_t i = 0; i < set.row_count; i++)
        put_row(&set, &set.rows[i], text);
    iso_text_put(text, "</table></div>\n");
    if (set.left)
        iso_text_format(text,
                        "<p class=\"dim\">And %" PRIu64 " more, of which %" PRIu64 " differ.</p>\n",
                        set.left, set.left_differing);
    iso_row_set_release(&set);
}

static void put_line(const struct iso_argument *argument, uint32_t number, struct iso_text *text)
{
    struct iso_timeline timeline;
    bool is_drawn = iso_timeline_init(&timeline, argument);
    const char *title =
        argument->row_count ? iso_argument_text(argument, argument->line_title) : "over time";
    if (is_drawn || argument->row_count)
        put_element(text, "<h2>", title, "</h2>\n");
    if (is_drawn)
        put_picture(&timeline, number, text);
    if (argument->row_count)
        put_list(argument, text);
    iso_timeline_release(&timeline);
}

static void put_records(const struct iso_argument *argument, struct iso_text *text)
{
    struct iso_text record = {0};
    iso_text_put(text, "<details><summary>Raw records</summary>\n");
    for (uint32_t i = 0; i < argument->party_count; i++) {
        uint32_t transaction = argument->parties[i].transaction;
        if (transaction == ISO_NONE)
            continue;
        record.used = 0;
        iso_explain_record(argument->facts->history, transaction, &record);
        iso_text_put(text, "<pre>");
        iso_escape_xml_short(text, record.bytes, record.used, RECORD_BYTES);
        iso_text_put(text, "</pre>\n");
    }
    iso_text_put(text, "</details>\n");
    iso_text_release(&record);
}

static void put_violation(const struct iso_argument *argument, uint32_t number,
                          struct iso_text *text)
{
    const struct iso_claim *claim = argument->claim;
    char id[ISO_WRONG_ID];
    iso_wrong_id(claim->wrong, id);
    put_element(text, "<details class=\"violation\" data-kind=\"", id,
                number == 1 ? "\" open>" : "\">");
    put_element(text, "<summary><span class=\"kind\">", id, "</span>");
    iso_text_put_unsigned(text, number);
    put_element(text, ". ", iso_argument_text(argument, argument->title),
                claim->is_tentative ? " (tentative)" : "");
    iso_text_put(text, "</summary>\n");
    put_parties(argument, text);
    put_steps(argument, text);
    put_line(argument, number, text);
    put_row_set(argument, text);
    put_graph(argument, text);
    put_element(text, "<h2>For an application</h2>\n<p>", claim->wrong->meaning, "</p>\n");
    put_records(argument, text);
    iso_text_put(text, "</details>\n");
}

/* ---- the frame ---- */

static void put_summary(const struct iso_claims *claims, struct iso_text *text)
{
    struct iso_text headline = {0};
    char id[ISO_WRONG_ID];
    iso_explain_headline(claims, &headline);
    iso_text_put(text, "<h1>Isochron: ");
    iso_escape_xml(text, headline.bytes, headline.used);
    put_element(text, "</h1>\n<p class=\"dim\">Isochron " ISO_VERSION ", engine ",
                claims->engine[0] ? claims->engine : "aion", "</p>\n");
    iso_text_release(&headline);
    iso_text_put(text, claims->count ? "<table>\n" : "<p>There is nothing to explain.</p>\n");
    for (size_t row = 0; iso_wrong_row(row); row++) {
        const struct iso_wrong *wrong = iso_wrong_row(row);
        uint32_t count = iso_claims_count_of(claims, wrong);
        if (!count)
            continue;
        iso_wrong_id(wrong, id);
        iso_text_format(text, "<tr><td class=\"number\">%" PRIu32, count);
        put_element(text, "</td><td><code>", id, "</code></td>");
        put_element(text, "<td>", wrong->name, "</td></tr>\n");
    }
    iso_text_put(text, claims->count ? "</table>\n" : "");
}

static void put_filters(const struct iso_claims *claims, struct iso_text *text)
{
    char id[ISO_WRONG_ID];
    if (!claims->count)
        return;
    iso_text_put(
        text,
        "<div id=\"filters\" hidden><input id=\"text\" type=\"search\" placeholder=\"find\" aria-label=\"Find\"><select id=\"kind\" aria-label=\"Kind\"><option value=\"\">all kinds</option>");
    for (size_t row = 0; iso_wrong_row(row); row++) {
        if (!iso_claims_count_of(claims, iso_wrong_row(row)))
            continue;
        iso_wrong_id(iso_wrong_row(row), id);
        put_element(text, "<option>", id, "</option>");
    }
    iso_text_put(text, "</select><span id=\"shown\" class=\"dim\"></span></div>\n");
}

/* As many as there is room for; returns how many. */
static uint32_t put_violations(const struct iso_facts *facts, enum iso_wall wall,
                               struct iso_text *text)
{
    uint32_t i = 0;
    for (; i < facts->claims->count; i++) {
        struct iso_argument argument;
        size_t before = text->used;
        iso_argument_init(&argument, facts, &facts->claims->list[i], wall);
        put_violation(&argument, i + 1, text);
        iso_argument_release(&argument);
        if (text->used > ISO_PAGE_BYTES - END_BYTES) {
            text->used = before;
            break;
        }
    }
    return i;
}

void iso_page_write(const struct iso_facts *facts, enum iso_wall wall, struct iso_text *text)
{
    const struct iso_claims *claims = facts->claims;
    const char *rest = iso_frame_begin(text);
    put_summary(claims, text);
    put_filters(claims, text);
    uint64_t left =
        claims->count - put_violations(facts, wall, text) + iso_explain_unlisted(claims);
    if (left) {
        iso_text_format(text, "<p class=\"dim\">%" PRIu64 "%s", left,
                        left == 1 ? " more is not shown.</p>\n" : " more are not shown.</p>\n");
    }
    iso_text_put(text, rest);
}
