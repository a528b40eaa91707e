/* Where the parts of a time line go in its picture (explain/timeline.h). All in pixels, from the
 * left upper corner.
 *
 * From left to right: the lanes' names, then the instants. Two instants stand as far apart as their
 * labels and points need, and somewhat more where much time passes between them; `breaks` are where
 * it is too much to be shown. From top to bottom: a lane for each session, with as many rows as
 * keep bars and their names apart; the track of the points, with shelves of labels below it; the
 * axis, with shelves again; the note. No two labels overlap.
 *
 * Letters are counted, not measured: the fonts are of one width. Cost: that of some hundred boxes.
 * Ownership: a layout owns nothing. Threads: any.
 */
#pragma once

#include "explain/timeline.h"

/* Letters of a label that are shown; of a point before the word for its mark. */
enum {
    ISO_TIMELINE_LANE_SHOWN = 18,
    ISO_TIMELINE_BAR_SHOWN = 28,
    ISO_TIMELINE_POINT_SHOWN = 38,
    ISO_TIMELINE_INSTANT_SHOWN = 30,
    ISO_TIMELINE_NOTE_SHOWN = 120,
    ISO_TIMELINE_LINE = 17 /* a label's height */
};

struct iso_timeline_box {
    double left, top, width, height;
};

struct iso_timeline_layout {
    double width, height, left, right; /* the whole; where bars may be */
    double lane_bottom[ISO_TIMELINE_BARS], track, axis;
    double instants[ISO_TIMELINE_INSTANTS]; /* x */
    bool breaks[ISO_TIMELINE_INSTANTS];     /* between the instant before and this one */
    double points[ISO_TIMELINE_POINTS];     /* x; all are on the track */
    struct iso_timeline_box bars[ISO_TIMELINE_BARS];
    struct iso_timeline_box lane_labels[ISO_TIMELINE_BARS], bar_labels[ISO_TIMELINE_BARS];
    struct iso_timeline_box point_labels[ISO_TIMELINE_POINTS],
        instant_labels[ISO_TIMELINE_INSTANTS];
    struct iso_timeline_box track_label, note;
};

void iso_timeline_lay_out(const struct iso_timeline *timeline, struct iso_timeline_layout *layout);
