#include "draw/timeline_layout.h"

#include <string.h>

#include "draw/escape.h"

enum {
    EDGE = 8, /* around the whole, and between labels */
    BAR_HEIGHT = 12,
    BAR_LEAST = 8, /* a bar's width, where it begins and ends at once */
    ROW = ISO_TIMELINE_LINE + BAR_HEIGHT + 6,
    POINT = 14, /* room of a point */
    NEAR = 36,  /* between two instants, at least; and at most, where there are few of them */
    FAR = 130,
    WIDE = 620,   /* what few instants fill */
    STRETCH = 14, /* more for each doubling of the time between them, three times at most */
    BREAK = 8     /* so many times the shortest time is not shown any more */
};
static const double letter = 7.5; /* pixels, of a font of 12 */

static double width_of(const struct iso_timeline *timeline, uint32_t words, size_t most)
{
    const char *bytes = iso_timeline_text(timeline, words);
    return letter * (double)iso_escape_width(bytes, strlen(bytes), most);
}

static double point_width(const struct iso_timeline *timeline, uint32_t point)
{
    const char *mark = iso_mark_word(timeline->points[point].mark);
    return width_of(timeline, timeline->points[point].name, ISO_TIMELINE_POINT_SHOWN) +
           (mark ? letter * (double)(strlen(mark) + sizeof " ()" - 1) : 0);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- from left to right ---- */

static double gutter(const struct iso_timeline *timeline)
{
    double width = width_of(timeline, timeline->track, ISO_TIMELINE_LANE_SHOWN);
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        width = larger(width, width_of(timeline, timeline->lanes[i], ISO_TIMELINE_LANE_SHOWN));
    return EDGE + width + 2 * EDGE;
}

/* The time between an instant and the one before it; 0: not known. */
static uint64_t time_before(const struct iso_timeline *timeline, uint32_t i)
{
    const struct iso_timeline_instant *at = &timeline->instants[i];
    return i && at->is_timed && at[-1].is_timed ? at->when - at[-1].when : 0;
}

static uint64_t shortest_time(const struct iso_timeline *timeline)
{
    uint64_t shortest = UINT64_MAX;
    for (uint32_t i = 0; i < timeline->instant_count; i++)
        if (time_before(timeline, i) && time_before(timeline, i) < shortest)
            shortest = time_before(timeline, i);
    return shortest;
}

static uint32_t points_at(const struct iso_timeline *timeline, uint32_t instant)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < timeline->point_count; i++)
        count += timeline->points[i].instant == instant;
    return count;
}

/* Those of them that stand to its left. */
static uint32_t points_before(const struct iso_timeline *timeline, uint32_t instant)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < timeline->point_count; i++) {
        if (timeline->points[i].instant != instant)
            continue;
        if (!timeline->points[i].side)
            return count;
        count++;
    }
    return 0;
}

static void place_instants(const struct iso_timeline *timeline, struct iso_timeline_layout *layout)
{
    uint32_t count = timeline->instant_count;
    uint64_t shortest = shortest_time(timeline);
    double base = count > 1 ? WIDE / (double)(count - 1) : 0;
    base = base < NEAR ? NEAR : base > FAR ? FAR : base;
    double x = layout->left + EDGE + POINT;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t time = time_before(timeline, i);
        uint32_t crowd = (i ? points_at(timeline, i - 1) : 0) + points_at(timeline, i);
        double step = larger(base, (double)(POINT * (crowd + 1)));
        for (uint64_t more = 2; time && more <= BREAK; more *= 2)
            step += time / more < shortest ? 0 : base / 5 < STRETCH ? base / 5 : STRETCH;
        x += i ? step
               : larger((double)(POINT * crowd) / 2, (double)(POINT * points_before(timeline, i)));
        layout->breaks[i] = time && time / BREAK > shortest;
        layout->instants[i] = x;
    }
    layout->right = x + EDGE + POINT * (1 + points_at(timeline, count - 1));
}

/* Points of one instant stand side by side: the first one that is at it in the middle, what comes
 * just before it to the left. */
static void place_points(const struct iso_timeline *timeline, struct iso_timeline_layout *layout)
{
    for (uint32_t i = 0; i < timeline->point_count;) {
        uint32_t end = i, middle = ISO_NONE;
        for (; end < timeline->point_count &&
               timeline->points[end].instant == timeline->points[i].instant;
             end++)
            if (!timeline->points[end].side && middle == ISO_NONE)
                middle = end;
        double x = layout->instants[timeline->points[i].instant];
        if (middle == ISO_NONE) {
            x -= timeline->points[i].side < 0 ? POINT / 2.0 : 0;
            middle = i;
        }
        for (uint32_t p = i; p < end; p++)
            layout->points[p] = x + POINT * ((double)p - (double)middle);
        i = end;
    }
}

/* A label at x, or as near to it as it fits. */
static struct iso_timeline_box label_at(const struct iso_timeline_layout *layout, double x,
                                        double width)
{
    double left = x < layout->left ? layout->left : x;
    left = left + width > layout->right ? layout->right - width : left;
    return (struct iso_timeline_box){left, 0, width, ISO_TIMELINE_LINE};
}

static void place_bars(const struct iso_timeline *timeline, struct iso_timeline_layout *layout)
{
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        const struct iso_timeline_bar *bar = &timeline->bars[i];
        double from = bar->from == ISO_NONE ? layout->left : layout->instants[bar->from];
        double to = bar->to == ISO_NONE ? layout->right : layout->instants[bar->to];
        double left = from < to ? from : to,
               width = larger(from < to ? to - from : from - to, BAR_LEAST);
        layout->bars[i] = (struct iso_timeline_box){left, 0, width, BAR_HEIGHT};
        layout->bar_labels[i] =
            label_at(layout, left, width_of(timeline, bar->name, ISO_TIMELINE_BAR_SHOWN));
    }
}

/* ---- from top to bottom ---- */

struct span {
    double left, right;
};

static struct span span_of(const struct iso_timeline_layout *layout, uint32_t bar)
{
    const struct iso_timeline_box *box = &layout->bars[bar], *label = &layout->bar_labels[bar];
    double box_right = box->left + box->width, label_right = label->left + label->width;
    return (struct span){box->left < label->left ? box->left : label->left,
                         larger(box_right, label_right)};
}

static bool is_free(const struct iso_timeline *timeline, const struct iso_timeline_layout *layout,
                    uint32_t bar, double top)
{
    struct span mine = span_of(layout, bar);
    for (uint32_t i = 0; i < bar; i++) {
        struct span other = span_of(layout, i);
        if (timeline->bars[i].lane == timeline->bars[bar].lane &&
            layout->bar_labels[i].top == top && mine.left < other.right + EDGE &&
            other.left < mine.right + EDGE)
            return false;
    }
    return true;
}

/* Each bar into the first row of its lane where it has room. Returns where the lane ends. */
static double fill_lane(const struct iso_timeline *timeline, struct iso_timeline_layout *layout,
                        uint32_t lane, double top)
{
    double bottom = top;
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        double row = top;
        if (timeline->bars[i].lane != lane)
            continue;
        while (!is_free(timeline, layout, i, row))
            row += ROW;
        layout->bar_labels[i].top = row;
        layout->bars[i].top = row + ISO_TIMELINE_LINE;
        bottom = larger(bottom, row + ROW);
    }
    return bottom;
}

static double place_lanes(const struct iso_timeline *timeline, struct iso_timeline_layout *layout)
{
    double top = EDGE;
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        double width = width_of(timeline, timeline->lanes[i], ISO_TIMELINE_LANE_SHOWN);
        layout->lane_labels[i] =
            (struct iso_timeline_box){EDGE, top + BAR_HEIGHT, width, ISO_TIMELINE_LINE};
        top = layout->lane_bottom[i] = fill_lane(timeline, layout, i, top) + EDGE / 2.0;
    }
    return top;
}

/* Labels one behind the other on shelves, each on the first one where it has room; their left sides
 * may come in any order, since a shelf only grows. Returns where the last shelf ends. */
static double fill_shelves(struct iso_timeline_box *labels, uint32_t count, double top)
{
    double ends[ISO_TIMELINE_INSTANTS], bottom = top;
    uint32_t shelves = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t shelf = 0;
        while (shelf < shelves && labels[i].left < ends[shelf] + EDGE)
            shelf++;
        shelves += shelf == shelves;
        ends[shelf] = labels[i].left + labels[i].width;
        labels[i].top = top + shelf * ISO_TIMELINE_LINE;
        bottom = larger(bottom, labels[i].top + ISO_TIMELINE_LINE);
    }
    return bottom;
}

static double place_track(const struct iso_timeline *timeline, struct iso_timeline_layout *layout,
                          double top)
{
    if (!timeline->point_count)
        return top;
    layout->track = top + POINT;
    layout->track_label = (struct iso_timeline_box){
        EDGE, layout->track - ISO_TIMELINE_LINE / 2.0,
        width_of(timeline, timeline->track, ISO_TIMELINE_LANE_SHOWN), ISO_TIMELINE_LINE};
    for (uint32_t i = 0; i < timeline->point_count; i++) {
        double width = point_width(timeline, i);
        layout->point_labels[i] = label_at(layout, layout->points[i] - width / 2, width);
    }
    return fill_shelves(layout->point_labels, timeline->point_count, layout->track + POINT / 2.0) +
           EDGE / 2.0;
}

static double place_axis(const struct iso_timeline *timeline, struct iso_timeline_layout *layout,
                         double top)
{
    layout->axis = top;
    for (uint32_t i = 0; i < timeline->instant_count; i++) {
        double width = width_of(timeline, timeline->instants[i].label, ISO_TIMELINE_INSTANT_SHOWN);
        layout->instant_labels[i] = label_at(layout, layout->instants[i] - width / 2, width);
    }
    return fill_shelves(layout->instant_labels, timeline->instant_count, top + EDGE / 2.0);
}

/* The widest label fits between left and right. */
static void make_room(const struct iso_timeline *timeline, struct iso_timeline_layout *layout)
{
    double widest = width_of(timeline, timeline->note, ISO_TIMELINE_NOTE_SHOWN);
    for (uint32_t i = 0; i < timeline->bar_count; i++)
        widest = larger(widest, width_of(timeline, timeline->bars[i].name, ISO_TIMELINE_BAR_SHOWN));
    for (uint32_t i = 0; i < timeline->point_count; i++)
        widest = larger(widest, point_width(timeline, i));
    for (uint32_t i = 0; i < timeline->instant_count; i++)
        widest = larger(
            widest, width_of(timeline, timeline->instants[i].label, ISO_TIMELINE_INSTANT_SHOWN));
    layout->right = larger(layout->right, layout->left + widest);
}

void iso_timeline_lay_out(const struct iso_timeline *timeline, struct iso_timeline_layout *layout)
{
    *layout = (struct iso_timeline_layout){.left = gutter(timeline)};
    place_instants(timeline, layout);
    make_room(timeline, layout);
    place_points(timeline, layout);
    place_bars(timeline, layout);
    double bottom =
        place_axis(timeline, layout, place_track(timeline, layout, place_lanes(timeline, layout)));
    layout->note = (struct iso_timeline_box){
        layout->left, bottom, width_of(timeline, timeline->note, ISO_TIMELINE_NOTE_SHOWN),
        ISO_TIMELINE_LINE};
    layout->height = bottom + ISO_TIMELINE_LINE + EDGE;
    layout->width = layout->right + EDGE;
}
