/* A reported violation as texts. Private to explain. */
#pragma once

#include "explain/brief.h"
#include "base/atom.h"

struct line_times {
    uint32_t sts, cts;
};

/* What is said of a transaction beside its times. */
struct line_commit {
    uint32_t tid, words;
};

/* One edge of a cycle; `key`: its name with its kind, "key x". */
struct line_edge {
    uint32_t from, to, key;
    char type[8];
};

/* The members of a violation, as texts in `text` that end in NUL; 0: not said, or null. */
/* When a read saw what it found; where several moments are possible, the first and the last. */
struct line_moment {
    uint32_t first, last;
    bool inclusive, has_last;
};

struct line_parts {
    struct iso_text text;
    char axiom[20], kind[20], doubtful[20], level[12];
    bool by_deadline;
    uint32_t difference;       /* of what was expected and what was found, where they are long */
    uint32_t tids, tid, other; /* all of them with commas, the first, the second */
    uint32_t session;          /* of what is not listed */
    uint64_t count;            /* how many these are; 0: it is no line of that kind */
    uint32_t key, expected, actual, writer_expected, writer_actual, cause, note, locations;
    uint32_t guarantee;
    struct line_times own, of_expected, of_actual, of_other;
    struct line_moment moment;
    bool has_operation;
    uint64_t operation; /* of the first location */
    struct {
        struct line_commit *list;
        uint32_t count, capacity;
    } commits;
    struct {
        struct line_edge *list;
        uint32_t count, capacity;
    } edges;
    uint64_t lemmas;
};

void brief_read_release(struct line_parts *parts);

/* Takes the violation apart; false: it says nothing that has a name. Release in any case. */
bool brief_take(struct line_parts *parts, struct iso_brief *brief,
                const struct iso_reported *reported);

/* Calls `take` with the violation that the line says; false if it says none. */
bool brief_read_line(const char *line, size_t length,
                     bool (*take)(void *context, const struct iso_reported *reported),
                     void *context);

static inline const char *line_text(const struct line_parts *parts, uint32_t offset)
{
    return parts->text.bytes + offset;
}

/* " (session 3, h.jsonl:7, xid 748, LSN 0/19282C0, 2026-01-02T03:04:05.678Z)" of the transaction of
 * that name, as far as it is known; or nothing. */
const char *line_commit(const struct line_parts *parts, uint32_t tid);

/* A text of its own, from printf's format. */
uint32_t brief_text(struct iso_brief *brief, const char *format, ...);

/* The time line, where the line says enough for one. */
void brief_draw_line(struct iso_brief *brief, const struct line_parts *parts);
