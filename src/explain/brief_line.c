/* The time line of what one verdict line names: its versions and the moment of the read, or two transactions' begins
 * and commits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/brief_private.h"

/* Rows as they are put together, with what orders them. */
struct line {
    struct iso_brief *brief;
    const struct told *told;
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
    return left->logical != right->logical ? left->logical < right->logical : left->tie < right->tie;
}

/* A row at a moment of the line, where that is known, behind all that come no later. */
static void add(struct line *line, uint32_t when, int tie, enum iso_mark mark, uint32_t what)
{
    struct iso_brief *brief = line->brief;
    struct moment moment = {.tie = tie};
    const char *text = told_at(line->told, when);
    if (!when || brief->row_count == ISO_BRIEF_ROWS || !read_moment(text, &moment))
        return;
    uint32_t at = brief->row_count++;
    for (; at && is_before(&moment, &line->moments[at - 1]); at--) {
        brief->rows[at] = brief->rows[at - 1];
        line->moments[at] = line->moments[at - 1];
    }
    line->moments[at] = moment;
    brief->rows[at] = (struct iso_brief_row){brief_say(brief, "%s", text), what, mark};
}

static bool is_serial(const struct told *told)
{
    return strstr(told->level, "ser");
}

static bool is_kind(const struct told *told, const char *kind)
{
    return !strcmp(told->kind, kind);
}

/* "transaction 5 commits x = 3"; of a list, which others wrote too, without its elements. */
static uint32_t say_version(struct line *line, uint32_t writer, uint32_t value)
{
    const struct told *told = line->told;
    bool is_list = *told_at(told, value) == '[';
    return brief_say(line->brief,
                     is_list ? "transaction %s commits what it appended to %s" : "transaction %s commits %s = %s",
                     told_at(told, writer), told_at(told, told->key), told_at(told, value));
}

static void add_read(struct line *line)
{
    const struct told *told = line->told;
    if (told->writer_expected)
        add(line, told->of_expected.cts, 0, ISO_MARK_EXPECTED,
            say_version(line, told->writer_expected, told->expected));
    if (told->writer_actual && (is_kind(told, "stale") || is_kind(told, "future")))
        add(line, told->of_actual.cts, 0, ISO_MARK_ACTUAL, say_version(line, told->writer_actual, told->actual));
    else if (told->writer_actual && is_kind(told, "intermediate"))
        add(line, told->of_actual.cts, 0, ISO_MARK_NONE,
            brief_say(line->brief, "transaction %s commits, with another %s by then",
                      told_at(told, told->writer_actual), told_at(told, told->key)));
    add(line, told->look, told->inclusive ? 1 : -1, ISO_MARK_LOOK,
        brief_say(line->brief, is_serial(told) ? "transaction %s commits; it found %s" : "transaction %s reads %s",
                  told_at(told, told->tid), told_at(told, told->actual)));
    line->brief->line_title = brief_say(line->brief, "key %s over time", told_at(told, told->key));
}

static void add_interval(struct line *line, uint32_t tid, const struct told_times *times)
{
    const char *name = told_at(line->told, tid);
    add(line, times->sts, 0, ISO_MARK_NONE, brief_say(line->brief, "transaction %s begins", name));
    add(line, times->cts, 1, ISO_MARK_NONE, brief_say(line->brief, "transaction %s commits", name));
}

static void add_conflict(struct line *line)
{
    const struct told *told = line->told;
    add_interval(line, told->other, &told->of_other);
    add_interval(line, told->tid, &told->own);
    line->brief->line_title = brief_say(line->brief, "the two writers of %s over time", told_at(told, told->key));
}

static void add_session(struct line *line)
{
    const struct told *told = line->told;
    bool serial = is_serial(told);
    add(line, serial ? told->own.cts : told->own.sts, -1, ISO_MARK_LOOK,
        brief_say(line->brief, serial ? "transaction %s commits" : "transaction %s takes its snapshot",
                  told_at(told, told->tid)));
    add(line, told->of_other.cts, 0, ISO_MARK_NONE,
        brief_say(line->brief, "transaction %s commits, which came before it", told_at(told, told->other)));
    line->brief->line_title = brief_say(line->brief, "the session over time");
}

void brief_draw_line(struct iso_brief *brief, const struct told *told)
{
    struct line line = {.brief = brief, .told = told};
    if (!strcmp(told->axiom, "EXT"))
        add_read(&line);
    else if (!strcmp(told->axiom, "NOCONFLICT") && told->of_other.cts)
        add_conflict(&line);
    else if (!strcmp(told->axiom, "SESSION"))
        add_session(&line);
    if (brief->row_count < 2) /* a moment alone is no line */
        brief->row_count = 0;
}
