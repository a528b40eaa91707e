/* The time line of what one verdict line names: its versions and the moment of the read, or two
 * transactions' begins and commits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/brief_private.h"

/* Rows as they are put together, with what orders them. */
struct line {
    struct briefing *briefing;
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
static void add_row(struct line *line, const char *when, int tie, enum iso_mark mark, uint32_t what)
{
    struct iso_brief *brief = line->briefing->brief;
    struct moment moment = {.tie = tie};
    if (brief->row_count == ISO_BRIEF_ROWS || !read_moment(when, &moment))
        return;
    uint32_t at = brief->row_count++;
    for (; at && is_before(&moment, &line->moments[at - 1]); at--) {
        brief->rows[at] = brief->rows[at - 1];
        line->moments[at] = line->moments[at - 1];
    }
    line->moments[at] = moment;
    brief->rows[at] = (struct iso_brief_row){brief_text(line->briefing, "%t", when), what, mark};
}

static bool is_serial(const struct iso_reported *reported)
{
    return reported->head.level && strstr(reported->head.level, "ser");
}

static bool is_kind(const struct iso_reported *reported, const char *kind)
{
    return reported->kind && !strcmp(reported->kind, kind);
}

/* "transaction 5 commits x = 3"; of a list, which others wrote too, without its elements. */
static uint32_t put_version(struct line *line, const struct iso_reported_atom *writer,
                            const struct iso_reported_value *value)
{
    return brief_text(line->briefing,
                      value->is_list ? "transaction %a commits what it appended to %N"
                                     : "transaction %a commits %N = %v",
                      writer, value);
}

static void add_read(struct line *line)
{
    const struct iso_reported *reported = line->briefing->reported;
    const struct iso_reported_moments *moments = &reported->moments;
    bool has_writer = brief_is_named(&reported->writer_actual);
    if (brief_is_named(&reported->writer_expected))
        add_row(line, moments->expected.cts, 0, ISO_MARK_EXPECTED,
                put_version(line, &reported->writer_expected, &reported->expected));
    if (has_writer && (is_kind(reported, "stale") || is_kind(reported, "future")))
        add_row(line, moments->actual.cts, 0, ISO_MARK_ACTUAL,
                put_version(line, &reported->writer_actual, &reported->actual));
    else if (has_writer && is_kind(reported, "intermediate"))
        add_row(line, moments->actual.cts, 0, ISO_MARK_NONE,
                brief_text(line->briefing, "transaction %a commits, with another %N by then",
                           &reported->writer_actual));
    add_row(line, moments->read_at, moments->inclusive ? 1 : -1, ISO_MARK_READ,
            brief_text(line->briefing,
                       is_serial(reported) ? "%B commits; it found %F" : "%B reads %F"));
    line->briefing->brief->line_title = brief_text(line->briefing, "key %N over time");
}

static void add_interval(struct line *line, const struct iso_reported_atom *tid,
                         const struct iso_reported_times *times)
{
    add_row(line, times->sts, 0, ISO_MARK_NONE,
            brief_text(line->briefing, "transaction %a begins", tid));
    add_row(line, times->cts, 1, ISO_MARK_NONE,
            brief_text(line->briefing, "transaction %a commits", tid));
}

static void add_conflict(struct line *line)
{
    const struct iso_reported *reported = line->briefing->reported;
    add_interval(line, &reported->tids[1], &reported->moments.other);
    add_interval(line, &reported->tids[0], &reported->own);
    line->briefing->brief->line_title =
        brief_text(line->briefing, "the two writers of %N over time");
}

static void add_session(struct line *line)
{
    const struct iso_reported *reported = line->briefing->reported;
    bool serial = is_serial(reported);
    add_row(line, serial ? reported->own.cts : reported->own.sts, -1, ISO_MARK_READ,
            brief_text(line->briefing, serial ? "%B commits" : "%B takes its snapshot"));
    if (reported->tid_count > 1)
        add_row(line, reported->moments.other.cts, 0, ISO_MARK_NONE,
                brief_text(line->briefing, "transaction %O commits, which came before it"));
    line->briefing->brief->line_title = brief_text(line->briefing, "the session over time");
}

void brief_draw_line(struct briefing *briefing)
{
    struct line line = {.briefing = briefing};
    const struct iso_reported *reported = briefing->reported;
    if (!strcmp(reported->axiom, "EXT"))
        add_read(&line);
    else if (!strcmp(reported->axiom, "NOCONFLICT") && reported->tid_count > 1 &&
             *reported->moments.other.cts)
        add_conflict(&line);
    else if (!strcmp(reported->axiom, "SESSION"))
        add_session(&line);
    if (briefing->brief->row_count < 2) /* a moment alone is no line */
        briefing->brief->row_count = 0;
}
