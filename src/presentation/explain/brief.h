/* A violation in brief: what it says by itself, as it was reported, in words.
 *
 * A live run keeps no history to look things up in, and `check` lists many violations, so their
 * words are made of what is reported (verdict/reported.h) alone: title, steps, the time line of
 * those that it names, what it means for an application, and how final it is. The whole argument is
 * `explain` on a recording or a history (argument.h). Texts are UTF-8, end in NUL and belong to the
 * brief; keys and values in them are as hostile as they arrived, but for control characters, which
 * are escaped. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "explain/argument.h"
#include "verdict/reported.h"

enum { ISO_BRIEF_ROWS = 4 };

/* A row of the time line, in the order of time. */
struct iso_brief_row {
    uint32_t when, what; /* offsets in `text` */
    enum iso_mark mark;
};

struct iso_brief {
    const struct iso_wrong *wrong;
    char id[20], state[12]; /* of the line; empty: not said */
    struct iso_text text;
    uint32_t title; /* an offset in `text`, as all that follow */
    uint32_t step_count, step_capacity, *steps;
    uint32_t line_title,
        row_count; /* of the time line; no rows: the line does not say enough for one */
    struct iso_brief_row rows[ISO_BRIEF_ROWS];
};

/* Of a reported violation, or of a line that says one. False if that is none. Release in any
 * case. */
bool iso_brief_of(struct iso_brief *brief, const struct iso_reported *reported);
bool iso_brief_init(struct iso_brief *brief, const char *line, size_t length);
void iso_brief_release(struct iso_brief *brief);

/* {"title":"...","steps":["...",...],"timeline":{"of":"...","rows":[{"at":"...","what":"...","mark":""},...]},
 * "meaning":"..."}; a row's mark is expected, found, look or empty. */
void iso_brief_json(const struct iso_brief *brief, struct iso_text *text);

/* The line that says how many violations of a key or a session are not listed, as a sentence; false
 * if it is none. */
bool iso_brief_unlisted(const char *line, size_t length, struct iso_text *text);

/* A paragraph that ends with an empty line. */
void iso_brief_text(const struct iso_brief *brief, struct iso_text *text);
