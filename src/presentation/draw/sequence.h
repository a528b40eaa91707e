/* Statements of several transactions one below another, as a picture: a lane for each session, a
 * row for each step, arrows from who wrote to who read it.
 *
 *           session s          T3 buy(1, 3)
 *       1   [T1 let left = stock]
 *       2                      [T3 let left = stock]
 *       3   --- T1 commits ---
 *       4                      [T3 stock := left - q]
 *       5                      --- T3 commits ---
 *       6   [      assert stock + took[0] + took[1] == 5      ]
 *
 * Bounded: what has more lanes or rows is not drawn, and the caller has words for it. Texts are
 * hostile: cut and escaped. Colours are the page's, in light and dark. Ownership: a sequence owns
 * its texts. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"

enum { ISO_SEQUENCE_LANES = 24, ISO_SEQUENCE_ROWS = 200, ISO_SEQUENCE_ARROWS = 400 };

enum iso_sequence_kind {
    ISO_SEQUENCE_STEP,
    ISO_SEQUENCE_END,    /* the owner commits */
    ISO_SEQUENCE_FAILS,  /* or does not */
    ISO_SEQUENCE_VERDICT /* what is broken, across all lanes */
};

struct iso_sequence_row {
    enum iso_sequence_kind kind;
    uint32_t lane, owner; /* the transaction: its rows are joined by a line */
    uint32_t name, words; /* what stands there; everything that is known of it */
};

struct iso_sequence_arrow {
    uint32_t from, to; /* rows */
    uint32_t words;
};

struct iso_sequence {
    struct iso_text text; /* NUL-terminated pieces */
    uint32_t lane_count, row_count, arrow_count;
    uint32_t lanes[ISO_SEQUENCE_LANES]; /* names */
    struct iso_sequence_row rows[ISO_SEQUENCE_ROWS];
    struct iso_sequence_arrow arrows[ISO_SEQUENCE_ARROWS];
    bool too_large; /* something did not fit */
};

void iso_sequence_init(struct iso_sequence *sequence);
void iso_sequence_release(struct iso_sequence *sequence);

void iso_sequence_lane(struct iso_sequence *sequence, const char *name);
void iso_sequence_row(struct iso_sequence *sequence, enum iso_sequence_kind kind, uint32_t lane,
                      uint32_t owner, const char *name, const char *words);
void iso_sequence_arrow(struct iso_sequence *sequence, uint32_t from, uint32_t to,
                        const char *words);

/* An <svg> element of a page with the style below; `number` is unique there. Not of one that is too
 * large. */
void iso_sequence_svg(const struct iso_sequence *sequence, uint32_t number, struct iso_text *text);

/* Its rules as CSS, in terms of the page's variables. */
extern const char iso_sequence_style[];
