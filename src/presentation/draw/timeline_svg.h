/* A time line as a picture (explain/timeline.h): sessions as lanes, transactions as bars, and what
 * happened to the key as points on a track of its own, in the order of time.
 *
 * The picture takes colours from its page, light or dark; marks differ in shape, too. Its title and
 * its description say the same in words. Texts of others are cut and escaped. Threads: one at a
 * time.
 */
#pragma once

#include "explain/timeline.h"

/* An <svg> element, which stands in a page that has the style below; `number` is unique there. */
void iso_timeline_svg(const struct iso_timeline *timeline, uint32_t number, struct iso_text *text);

/* Its rules as CSS, in terms of the page's variables. */
extern const char iso_timeline_style[];
