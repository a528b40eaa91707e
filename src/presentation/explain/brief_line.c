/* The time line of what one verdict line names: its versions and the moment of the read, or two
 * transactions' begins and commits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/brief_private.h"

/* Rows as they are put together, with what orders them. */
struct line {
    struct iso_brief *brief;
    const struct line_parts *parts;
    struct moment {
        uint64_t physical, logical;
        int tie; /* order at one moment */
    } moments[ISO_BRIEF_ROWS];
};

/* "17" or "{17,3}"; false: neither. */
static bool read_moment(const char *text, struct moment *moment)
{
    bool is_pair = *text == '{';
    char *end;
    errno = 0;
    moment->physical = strtoull(text + is_pair, &end, 10);
    moment->logical = is_pair && *end == ',' ? strtoull(end + 1, &end, 10) : 0;
    return !errno && end > text + is_pair && !strcmp(end, is_pair ? "}" : "");
}

static bool is_before(const struct moment *left, const struct moment *right)
{
    if (left->physical != right->physical)
        return left->physical < right->physical;
    return left->logical != right->logical ? left->logical < right->logical
                                           : left->tie < right->tie;
}

/* A row at a moment of the line, where that is known, behind all that come no later. */
static void add_row(struct line *line, uint32_t when, int tie, enum iso_mark mark, uint32_t what)
{
    struct iso_brief *brief = line->brief;
    struct moment moment = {.tie = tie};
    const char *text = line_text(line->parts, when);
    if (!when || brief->row_count == ISO_BRIEF_ROWS || !read_moment(text, &moment))
        return;
    uint32_t at = brief->row_count++;
    for (; at && is_before(&moment, &line->moments[at - 1]); at--) {
        brief->rows[at] = brief->rows[at - 1];
        line->moments[at] = line->moments[at - 1];
    }
    line->moments[at] = moment;
    brief->rows[at] = (struct iso_brief_row){brief_text(brief, "%s", text), what, mark};
}

static bool is_serial(const struct line_parts *parts)
{
    return strstr(parts->level, "ser");
}

static bool is_kind(const struct line_parts *parts, const char *kind)
{
    return !strcmp(parts->kind, kind);
}

/* "transaction 5 commits x = 3"; of a list, which others wrote too, without its elements. */
static uint32_t put_version(struct line *line, uint32_t writer, uint32_t value)
{
    const struct line_parts *parts = line->parts;
    bool is_list = *line_text(parts, value) == '[';
    return brief_text(line->brief,
                      is_list ? "transaction %s commits what it appended to %s"
                              : "transaction %s commits %s = %s",
                      line_text(parts, writer), line_text(parts, parts->key),
                      line_text(parts, value));
}

static void add_read(struct line *line)
{
    const struct line_parts *parts = line->parts;
    if (parts->writer_expected)
        add_row(line, parts->of_expected.cts, 0, ISO_MARK_EXPECTED,
                put_version(line, parts->writer_expected, parts->expected));
    if (parts->writer_actual && (is_kind(parts, "stale") || is_kind(parts, "future")))
        add_row(line, parts->of_actual.cts, 0, ISO_MARK_ACTUAL,
                put_version(line, parts->writer_actual, parts->actual));
    else if (parts->writer_actual && is_kind(parts, "intermediate"))
        add_row(line, parts->of_actual.cts, 0, ISO_MARK_NONE,
                brief_text(line->brief, "transaction %s commits, with another %s by then",
                           line_text(parts, parts->writer_actual), line_text(parts, parts->key)));
    add_row(line, parts->moment.first, parts->moment.inclusive ? 1 : -1, ISO_MARK_READ,
            brief_text(line->brief,
                       is_serial(parts) ? "transaction %s commits; it found %s"
                                        : "transaction %s reads %s",
                       line_text(parts, parts->tid), line_text(parts, parts->actual)));
    line->brief->line_title =
        brief_text(line->brief, "key %s over time", line_text(parts, parts->key));
}

static void add_interval(struct line *line, uint32_t tid, const struct line_times *times)
{
    const char *name = line_text(line->parts, tid);
    add_row(line, times->sts, 0, ISO_MARK_NONE,
            brief_text(line->brief, "transaction %s begins", name));
    add_row(line, times->cts, 1, ISO_MARK_NONE,
            brief_text(line->brief, "transaction %s commits", name));
}

static void add_conflict(struct line *line)
{
    const struct line_parts *parts = line->parts;
    add_interval(line, parts->other, &parts->of_other);
    add_interval(line, parts->tid, &parts->own);
    line->brief->line_title =
        brief_text(line->brief, "the two writers of %s over time", line_text(parts, parts->key));
}

static void add_session(struct line *line)
{
    const struct line_parts *parts = line->parts;
    bool serial = is_serial(parts);
    add_row(line, serial ? parts->own.cts : parts->own.sts, -1, ISO_MARK_READ,
            brief_text(line->brief,
                       serial ? "transaction %s commits" : "transaction %s takes its snapshot",
                       line_text(parts, parts->tid)));
    add_row(line, parts->of_other.cts, 0, ISO_MARK_NONE,
            brief_text(line->brief, "transaction %s commits, which came before it",
                       line_text(parts, parts->other)));
    line->brief->line_title = brief_text(line->brief, "the session over time");
}

void brief_draw_line(struct iso_brief *brief, const struct line_parts *parts)
{
    struct line line = {.brief = brief, .parts = parts};
    if (!strcmp(parts->axiom, "EXT"))
        add_read(&line);
    else if (!strcmp(parts->axiom, "NOCONFLICT") && parts->of_other.cts)
        add_conflict(&line);
    else if (!strcmp(parts->axiom, "SESSION"))
        add_session(&line);
    if (brief->row_count < 2) /* a moment alone is no line */
        brief->row_count = 0;
}
