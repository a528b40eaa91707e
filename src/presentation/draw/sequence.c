/* Letters are counted, not measured: the fonts are of one width. */
#include "draw/sequence.h"

#include <assert.h>
#include <stdio.h>

#include "draw/escape.h"

enum {
    LEFT = 44, /* row numbers */
    TOP = 34,  /* names of lanes */
    ROW = 34,
    BOX = 24,
    GAP = 28, /* between two lanes, for arrows */
    SHOWN = 44,
    NARROW = 12, /* letters, at least */
    WORDS_SHOWN = 600
};
static const double letter = 7.3; /* pixels, of a font of 12 */

const char iso_sequence_style[] =
    ".sq{font:12px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}.sq text{fill:var(--ink)}"
    ".sq .q text{fill:var(--dim)}.sq path{fill:none;stroke:var(--line)}.sq .t{stroke:var(--blue);stroke-width:3;opacity:.5}"
    ".sq rect{fill:var(--card);stroke:var(--dim)}.sq .e path{stroke:var(--good);stroke-width:2}.sq .e text{fill:var(--good)}"
    ".sq .x path{stroke:var(--dim);stroke-dasharray:4 3}.sq .x text{fill:var(--dim)}.sq .v rect{stroke:var(--bad)}"
    ".sq .v text{fill:var(--bad)}.sq .r path{stroke:var(--blue);stroke-width:1.5}.sq .r .h{fill:var(--blue);stroke:none}";

void iso_sequence_init(struct iso_sequence *sequence)
{
    sequence->text = (struct iso_text){0};
    sequence->lane_count = sequence->row_count = sequence->arrow_count = 0;
    sequence->too_large = false;
}

void iso_sequence_release(struct iso_sequence *sequence)
{
    iso_text_release(&sequence->text);
    iso_sequence_init(sequence);
}

static uint32_t put_text(struct iso_sequence *sequence, const char *words)
{
    uint32_t at = (uint32_t)sequence->text.used;
    iso_text_put_bytes(&sequence->text, words, strlen(words) + 1);
    return at;
}

void iso_sequence_lane(struct iso_sequence *sequence, const char *name)
{
    if (sequence->lane_count == ISO_SEQUENCE_LANES)
        sequence->too_large = true;
    else
        sequence->lanes[sequence->lane_count++] = put_text(sequence, name);
}

void iso_sequence_row(struct iso_sequence *sequence, enum iso_sequence_kind kind, uint32_t lane,
                      uint32_t owner, const char *name, const char *words)
{
    if (sequence->row_count == ISO_SEQUENCE_ROWS ||
        (kind != ISO_SEQUENCE_VERDICT && lane >= sequence->lane_count)) {
        sequence->too_large = true;
        return;
    }
    uint32_t first = put_text(sequence, name);
    sequence->rows[sequence->row_count++] =
        (struct iso_sequence_row){.kind = kind,
                                  .lane = lane,
                                  .owner = owner,
                                  .name = first,
                                  .words = put_text(sequence, words)};
}

void iso_sequence_arrow(struct iso_sequence *sequence, uint32_t from, uint32_t to,
                        const char *words)
{
    if (sequence->arrow_count == ISO_SEQUENCE_ARROWS || from >= sequence->row_count ||
        to >= sequence->row_count)
        sequence->too_large = true;
    else
        sequence->arrows[sequence->arrow_count++] =
            (struct iso_sequence_arrow){.from = from, .to = to, .words = put_text(sequence, words)};
}

/* ---- the picture ---- */

struct picture {
    const struct iso_sequence *sequence;
    struct iso_text *text;
    double left[ISO_SEQUENCE_LANES + 1]; /* of each lane; the last one is where the lanes end */
    double right;                        /* of what goes across them */
};

static const char *words_at(const struct iso_sequence *sequence, uint32_t at)
{
    return sequence->text.bytes + at;
}

static double width_of(const struct picture *picture, uint32_t lane)
{
    return picture->left[lane + 1] - picture->left[lane] - GAP;
}

static double middle_of(uint32_t row)
{
    return TOP + ROW * (double)row + ROW / 2.0;
}

static void lay_out(struct picture *picture)
{
    const struct iso_sequence *sequence = picture->sequence;
    picture->left[0] = LEFT;
    for (uint32_t lane = 0; lane < sequence->lane_count; lane++) {
        const char *name = words_at(sequence, sequence->lanes[lane]);
        size_t letters = iso_escape_width(name, strlen(name), SHOWN);
        letters = letters < NARROW ? NARROW : letters;
        for (uint32_t i = 0; i < sequence->row_count; i++) {
            name = words_at(sequence, sequence->rows[i].name);
            size_t width = iso_escape_width(name, strlen(name), SHOWN);
            if (sequence->rows[i].kind != ISO_SEQUENCE_VERDICT && sequence->rows[i].lane == lane &&
                width > letters)
                letters = width;
        }
        picture->left[lane + 1] = picture->left[lane] + letter * (double)letters + 16 + GAP;
    }
    double end = picture->left[sequence->lane_count];
    picture->right = end < LEFT + 500 ? LEFT + 500 : end;
}

static void put_lines(const struct picture *picture)
{
    const struct iso_sequence *sequence = picture->sequence;
    iso_text_put(picture->text, "<g class=\"q\">");
    for (uint32_t lane = 0; lane < sequence->lane_count; lane++)
        svg_put_words(picture->text, words_at(sequence, sequence->lanes[lane]),
                      picture->left[lane] + 8, TOP / 2.0, SHOWN);
    iso_text_format(picture->text, "<path d=\"M0 %dH%.1f\"/>", TOP - 4, picture->right);
    for (uint32_t i = 0; i < sequence->row_count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%3u", i + 1);
        if (sequence->rows[i].kind != ISO_SEQUENCE_VERDICT)
            svg_put_words(picture->text, number, 8, middle_of(i), sizeof number);
    }
    iso_text_put(picture->text, "</g>\n");
    for (uint32_t i = 0; i < sequence->row_count;
         i++) { /* from a transaction's first row to its last one */
        const struct iso_sequence_row *row = &sequence->rows[i];
        uint32_t last = i;
        bool first = row->kind != ISO_SEQUENCE_VERDICT;
        for (uint32_t j = 0; j < sequence->row_count; j++) {
            bool same = sequence->rows[j].owner == row->owner &&
                        sequence->rows[j].kind != ISO_SEQUENCE_VERDICT;
            first = first && (!same || j >= i);
            last = same && j > last ? j : last;
        }
        if (first && last > i)
            iso_text_format(picture->text, "<path class=\"t\" d=\"M%.1f %.1fV%.1f\"/>",
                            picture->left[row->lane] - 4, middle_of(i) - BOX / 2.0,
                            middle_of(last) + BOX / 2.0);
    }
}

static void put_row(const struct picture *picture, uint32_t i)
{
    static const char *const classes[] = {"s", "e", "x", "v"};
    const struct iso_sequence *sequence = picture->sequence;
    const struct iso_sequence_row *row = &sequence->rows[i];
    bool wide = row->kind == ISO_SEQUENCE_VERDICT;
    double left = wide ? LEFT : picture->left[row->lane], middle = middle_of(i);
    double width = wide ? picture->right - LEFT : width_of(picture, row->lane);
    iso_text_format(picture->text, "<g class=\"%s\"><title>", classes[row->kind]);
    iso_escape_xml_short(picture->text, words_at(sequence, row->words),
                         strlen(words_at(sequence, row->words)), WORDS_SHOWN);
    iso_text_put(picture->text, "</title>");
    if (row->kind == ISO_SEQUENCE_END || row->kind == ISO_SEQUENCE_FAILS)
        iso_text_format(picture->text, "<path d=\"M%.1f %.1fh%.1f\"/>", left, middle + BOX / 2.0,
                        width);
    else
        iso_text_format(picture->text,
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\"/>", left,
                        middle - BOX / 2.0, width, BOX);
    svg_put_words(picture->text, words_at(sequence, row->name), left + 8, middle,
                  wide ? (size_t)((width - 16) / letter) : SHOWN);
    iso_text_put(picture->text, "</g>\n");
}

/* Down beside its lane, then across in the row of its end, where nothing else stands. */
static void put_arrow(const struct picture *picture, const struct iso_sequence_arrow *arrow)
{
    const struct iso_sequence *sequence = picture->sequence;
    const struct iso_sequence_row *from = &sequence->rows[arrow->from],
                                  *to = &sequence->rows[arrow->to];
    bool verdict = to->kind == ISO_SEQUENCE_VERDICT, right = verdict || to->lane > from->lane;
    double side = right ? 1 : -1,
           start = picture->left[from->lane] + (right ? width_of(picture, from->lane) : 0);
    double y = middle_of(arrow->from), tip = middle_of(arrow->to), turn = start + side * GAP / 2;
    iso_text_put(picture->text, "<g class=\"r\">");
    svg_put_title(picture->text, words_at(sequence, arrow->words), NULL);
    iso_text_format(picture->text, "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f", start, y, turn, y,
                    turn, y + (tip > y ? ROW : -ROW) / 2.0);
    if (verdict) {
        tip -= BOX / 2.0;
        iso_text_format(picture->text, "V%.1f\"/><path class=\"h\" d=\"M%.1f %.1fl-4-8h8z\"/>", tip,
                        turn, tip);
    } else {
        bool same = to->lane == from->lane;
        double end = picture->left[to->lane] + (right || same ? 0 : width_of(picture, to->lane));
        iso_text_format(picture->text, "V%.1fH%.1f\"/><path class=\"h\" d=\"M%.1f %.1fl%d-4v8z\"/>",
                        tip, end, end, tip, right || same ? -8 : 8);
    }
    iso_text_put(picture->text, "</g>\n");
}

/* For who cannot see it: the rows as a list has them. */
static void put_description(const struct iso_sequence *sequence, uint32_t number,
                            struct iso_text *text)
{
    iso_text_format(text,
                    "<title id=\"rows%u\">statements in order</title><desc id=\"rowwords%u\">",
                    number, number);
    for (uint32_t i = 0; i < sequence->row_count; i++) {
        const char *words = words_at(sequence, sequence->rows[i].words);
        iso_escape_xml_short(text, words, strlen(words), 2 * SHOWN);
        iso_text_put(text, "; ");
    }
    iso_text_put(text, "</desc>\n");
}

void iso_sequence_svg(const struct iso_sequence *sequence, uint32_t number, struct iso_text *text)
{
    struct picture picture = {.sequence = sequence, .text = text};
    assert(!sequence->too_large);
    lay_out(&picture);
    double width = picture.right + 2, height = TOP + ROW * (double)sequence->row_count + 4;
    iso_text_format(text, "<svg class=\"sq\" role=\"img\" aria-labelledby=\"rows%u rowwords%u\" ",
                    number, number);
    iso_text_format(text, "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n", width,
                    height, width, height);
    put_description(sequence, number, text);
    put_lines(&picture);
    for (uint32_t i = 0; i < sequence->row_count; i++)
        put_row(&picture, i);
    for (uint32_t i = 0; i < sequence->arrow_count; i++)
        put_arrow(&picture, &sequence->arrows[i]);
    iso_text_put(text, "</svg>\n");
}
