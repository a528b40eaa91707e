/* What `isochron run` recorded, judged: each transaction at the level at which it ran, against what
 * all others wrote.
 *
 *     READ COMMITTED     rc, and by when its messages went (engines/chronos/messages.c)
 *     REPEATABLE READ    si
 *     SERIALIZABLE       si, and whether an order of those that committed explains them
 *                        (`neighbours`: weaker ones write versions, and no edge leads past these)
 *     --level L          whether any order explains all of them at L: said, and no more
 *     --fail-level L     the same, and it counts
 *
 * A transaction that rolled back is judged by what it read, and is part of no order.
 */
#pragma once

#include "app/commands.h"
#include "app/explanation.h"
#include "run/stream.h"
#include "suite/facts.h"
#include "suite/told.h"

struct levels {
    const struct suite_facts *facts;
    struct suite_told told;
    const struct app_explanation *explanation;
    int asked, required; /* --level, --fail-level; below 0: not given */
    bool json, quiet, allow_unjudged;
    uint32_t
        pages; /* so far, of files that were asked for: each level with violations has its own */
    bool has_page;
    /* what is found */
    bool is_violated;
    const char *reason;        /* of undecided; NULL: of none */
    uint64_t judged, unjudged; /* reads, at all levels */
};

/* Of a capture without changes (suite/alone.h). */
enum iso_status levels_judge_alone(struct app *app, struct levels *levels);
/* What the stream itself has found, which no level asks: that clients were told of other writes
 * than the changes have. */
enum iso_status levels_take_stream(struct app *app, struct levels *levels,
                                   struct run_stream *stream);
/* Of a stream that has concluded, with all its transactions kept, as they came. */
enum iso_status levels_judge(struct app *app, struct levels *levels,
                             const struct run_stream *stream);
