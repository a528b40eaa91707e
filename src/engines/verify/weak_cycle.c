/* The rule of the weak levels: which cycles are impossible where an order of the transactions is no
 * order of what they saw.
 *
 * Sessions, reads and orders of versions all go with the one order: a cycle of these alone is none.
 * With one rw, from a reader to a writer, it counts if the way back makes that writer visible to
 * the reader: then the version that was read is not the last of those it could see.
 */
#include <string.h>

#include "verify/verify_private.h"

/* The kinds of edges of the way, one letter each: s a session, r a read, w an order of versions; 0:
 * another one. */
static char letter_of(enum iso_edge_kind kind)
{
    return kind == ISO_EDGE_SESSION ? 's'
           : kind == ISO_EDGE_WR    ? 'r'
           : kind == ISO_EDGE_WW    ? 'w'
                                    : 0;
}

static bool is_one_of(const char *way, const char *const *ways)
{
    for (; *ways; ways++) {
        if (!strcmp(way, *ways))
            return true;
    }
    return false;
}

/* Sessions are transitive, so that a row of their edges is one. */
static bool makes_visible(enum iso_level level, const char *way)
{
    static const char *const ra[] = {"s", "r", NULL}, *const ryw[] = {"s", NULL},
                             *const mr[] = {"rs", NULL}, *const mw[] = {"sr", NULL},
                             *const wfr[] = {"rsr", "rr", NULL},
                             *const pram[] = {"s", "rs", "sr", "srs", NULL},
                             *const rc[] = {"r", NULL};
    switch (level) {
    case ISO_RC:
        return is_one_of(way, rc);
    case ISO_RA:
        return is_one_of(way, ra);
    case ISO_RYW:
        return is_one_of(way, ryw);
    case ISO_MR:
        return is_one_of(way, mr);
    case ISO_MW:
        return is_one_of(way, mw);
    case ISO_WFR:
        return is_one_of(way, wfr);
    case ISO_PRAM:
        return is_one_of(way, pram);
    default:
        return false;
    }
}

bool verify_weak_cycle(enum iso_level level, const struct iso_edge *edges, uint32_t count)
{
    enum { LONGEST = 8 }; /* of those that a level names */
    char way[LONGEST] = "";
    uint32_t rw = ISO_NONE, length = 0;
    bool orders = false;
    for (uint32_t i = 0; i < count; i++) {
        if (edges[i].kind != ISO_EDGE_RW && !letter_of(edges[i].kind))
            return false;
        if (edges[i].kind == ISO_EDGE_RW && rw != ISO_NONE)
            return false;
        rw = edges[i].kind == ISO_EDGE_RW ? i : rw;
        orders |= edges[i].kind == ISO_EDGE_WW;
    }
    if (rw == ISO_NONE)
        return true;
    if (count == 1) /* a writer that is the reader itself */
        return false;
    if (level == ISO_CC)
        return !orders;
    if (level == ISO_PSI)
        return true;
    for (uint32_t i = 1; i < count; i++) {
        char letter = letter_of(edges[(rw + i) % count].kind);
        if (letter == 's' && length && way[length - 1] == 's')
            continue;
        if (length + 1 == LONGEST)
            return false;
        way[length++] = letter;
        way[length] = 0;
    }
    /* at rc what was read before: by an operation of the same transaction that stands earlier */
    const struct iso_edge *other = &edges[(rw + 1) % count];
    return makes_visible(level, way) &&
           (level != ISO_RC || (other->read && other->read < edges[rw].read));
}
