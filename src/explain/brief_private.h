/* A verdict line taken apart. Private to explain. */
#ifndef ISO_EXPLAIN_BRIEF_PRIVATE_H
#define ISO_EXPLAIN_BRIEF_PRIVATE_H

#include "base/json.h"
#include "explain/brief.h"

struct told_times {
    uint32_t sts, cts;
};

/* What the line says, as texts in `text` that end in NUL; 0: not said, or null. */
struct told {
    struct iso_json json;
    struct iso_text text;
    char axiom[16], kind[20], by[12], doubtful[20], level[12];
    uint32_t tids, tid, other; /* all of them with commas, the first, the second */
    uint32_t key, expected, actual, writer_expected, writer_actual, cause, note, places;
    struct told_times own, of_expected, of_actual, of_other;
    uint32_t look; /* the moment of a read */
    bool inclusive, has_operation;
    uint64_t operation; /* of the first place */
};

/* False if the line is no violation's. */
bool brief_read(struct told *told, struct iso_brief *brief, const char *line, size_t length);

static inline const char *told_at(const struct told *told, uint32_t place)
{
    return told->text.bytes + place;
}

/* A text of its own, from printf's format. */
uint32_t brief_say(struct iso_brief *brief, const char *format, ...);

/* The time line, where the line says enough for one. */
void brief_draw_line(struct iso_brief *brief, const struct told *told);

#endif
