#include "polygraph/polygraph.h"
#include "judge/judge_private.h"

#include <assert.h>
#include <string.h>

#include "aion/aion.h"
#include "base/memory.h"
#include "base/team.h"
#include "chronos/chronos.h"
#include "judge/split.h"
#include "weak/weak.h"
#include "rowsets/rowsets.h"

void iso_judge_options_init(struct iso_judge_options *options)
{
    *options = (struct iso_judge_options){
        .times = {
            .session_order = true, .threads = 1, .max_violations = 1000, .max_per_key = 1000}};
    iso_polygraph_options_init(&options->order);
    options->order.level = ISO_SI;
}

/* Without the binlog's order such a snapshot stands nowhere. */
static enum iso_status need_no_log(const struct iso_history *history, struct iso_error *error)
{
    char location[512];
    for (uint32_t t = 0; history->txns.marks && t < history->txns.count; t++) {
        if (!(history->txns.marks[t] & ISO_MARK_LOG_START))
            continue;
        iso_history_location_text(history, t, location, sizeof location);
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: the record says of its snapshot where the binlog was: only its change stream knows "
            "what that is; replay it with that stream: isochron replay --source ... --history FILE",
            location);
    }
    return ISO_OK;
}

enum iso_status iso_judge_finish(struct iso_history *history, uint64_t *repeats,
                                 struct iso_error *error)
{
    assert(!history->finished);
    struct iso_rowsets_options known;
    enum iso_status status = need_no_log(history, error);
    judge_know_columns(&known);
    if (status == ISO_OK && repeats)
        *repeats = iso_history_drop_repeats(history);
    if (status == ISO_OK)
        judge_leave_to_stream(history);
    if (status == ISO_OK)
        status = iso_history_finish(history, error);
    if (status == ISO_OK)
        iso_rowsets_imply(history, &known);
    return status;
}

/* ---- which engine ---- */

/* Snapshots and xids are PostgreSQL's. Writers that have a position and did not say where they
 * started come from a binlog.
 */
static bool seeks_order(const struct iso_judge_options *options, const struct iso_history *history)
{
    bool placed = history->clock != ISO_CLOCK_NONE && history->totals.without_cts == ISO_NONE;
    return options->engine == ISO_JUDGE_AUTO && options->order.level == ISO_SER && placed &&
           (history->txns.snapshot || history->txns.xid || history->totals.without_sts != ISO_NONE);
}

/* auto: chronos if every committed transaction has timestamps (or snapshots). */
static bool timestamps_judge(const struct iso_judge_options *options,
                             const struct iso_history *history)
{
    if (options->engine != ISO_JUDGE_AUTO)
        return options->engine != ISO_JUDGE_POLYGRAPH;
    /* For a guarantee any order is sought: start timestamps say nothing of it. */
    enum iso_level level = options->order.level;
    bool by_order = level != ISO_RC && iso_level_judged_by(level, ISO_BY_WEAK);
    return iso_level_judged_by(level, ISO_BY_CHRONOS) && !by_order &&
           history->totals.without_sts == ISO_NONE && history->totals.without_cts == ISO_NONE;
}

enum iso_judge_route iso_judge_route(const struct iso_judge_options *options,
                                     const struct iso_history *finished)
{
    if (seeks_order(options, finished))
        return ISO_JUDGE_BOTH;
    return timestamps_judge(options, finished) ? ISO_JUDGE_TIMES : ISO_JUDGE_ORDER;
}

enum iso_status iso_judge_check_options(const struct iso_judge_options *options,
                                        struct iso_error *error)
{
    static const struct {
        unsigned engines;
        const char *name;
    } by[] = {[ISO_JUDGE_AUTO] = {ISO_BY_CHRONOS | ISO_BY_ANY_ORDER, "a finished history"},
              [ISO_JUDGE_CHRONOS] = {ISO_BY_CHRONOS, "chronos"},
              [ISO_JUDGE_AION] = {ISO_BY_AION, "aion"},
              [ISO_JUDGE_POLYGRAPH] = {ISO_BY_ANY_ORDER, "polygraph"}};
    enum iso_level level = options->order.level;
    assert((size_t)options->engine < sizeof by / sizeof *by);
    if (iso_level_check(level, by[options->engine].engines, by[options->engine].name, "--level",
                        error) != ISO_OK)
        return error->status;
    return options->any_order
               ? iso_level_check(level, ISO_BY_ANY_ORDER, "--any-order", "--level", error)
               : ISO_OK;
}

/* ---- by timestamps ---- */

/* The engine, and beside it what queries did not find: each has a verdict of its own. */
struct beside {
    const struct iso_history *history;
    const struct iso_judge_options *options;
    const struct iso_check_options *times;
    bool is_aion;
    struct iso_verdict *verdict, asked;
    enum iso_status status;
    struct iso_error *error;
};

static void judge_part(void *context, unsigned part)
{
    struct beside *beside = context;
    if (part)
        judge_queries(beside->options, beside->times, &beside->asked);
    else
        beside->status = (beside->is_aion ? iso_aion_check : iso_chronos_check)(
            beside->history, beside->times, beside->verdict, beside->error);
}

static enum iso_status judge_times(const struct iso_judge_options *options,
                                   struct iso_check_options times, struct iso_judgement *judgement,
                                   struct iso_error *error)
{
    assert(!judgement->has_verdict);
    struct iso_verdict *verdict = &judgement->verdict;
    bool is_aion = options->engine == ISO_JUDGE_AION;
    iso_verdict_init(verdict, judgement->history, times.level, times.max_violations);
    judgement->has_verdict = true;
    verdict->versions_by_commit = times.overlaps;
    struct beside beside = {.history = judgement->history,
                            .options = options,
                            .times = &times,
                            .is_aion = is_aion,
                            .verdict = verdict,
                            .error = error};
    bool has_queries = iso_history_has_queries(judgement->history);
    iso_verdict_init(&beside.asked, judgement->history, times.level, times.max_violations);
    if (has_queries && times.threads > 1)
        iso_parallel(2, judge_part, &beside);
    else
        for (unsigned part = 0; part < 1u + has_queries; part++)
            judge_part(&beside, part);
    judge_count_queries(verdict, &beside.asked);
    iso_verdict_merge(verdict, &beside.asked);
    if (beside.status != ISO_OK)
        return beside.status;
    iso_verdict_conclude(verdict, options->allow_unjudged);
    iso_verdict_cut(verdict, times.max_per_key);
    judgement->outcome = verdict->outcome;
    judgement->reason = verdict->reason;
    return ISO_OK;
}

/* ---- by any order ---- */

enum iso_status iso_judge_any_order(const struct iso_history *finished,
                                    const struct iso_polygraph_options *options,
                                    struct iso_polygraph_result *result, struct iso_error *error)
{
    assert(finished->finished);
    if (iso_level_judged_by(options->level, ISO_BY_WEAK))
        return iso_weak_check(finished, options, result, error);
    return options->level == ISO_PC ? iso_split_check(finished, options, result, error)
                                    : iso_polygraph_check(finished, options, result, error);
}

/* An order of the transactions says nothing of reads that were left out of it. */
static void leave_reads(bool allow_unjudged, struct iso_polygraph_result *result)
{
    if (result->outcome != ISO_HOLDS || !result->reads_left_out || allow_unjudged)
        return;
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = "reads-left-out";
}

static void not_more_than(const struct iso_verdict *as_si, bool allow_unjudged,
                          struct iso_polygraph_result *result)
{
    assert(as_si->outcome != ISO_IS_VIOLATED);
    if (result->outcome != ISO_HOLDS ||
        (as_si->outcome == ISO_HOLDS && (!result->reads_left_out || allow_unjudged)))
        return;
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = as_si->reason ? as_si->reason : "reads-left-out";
}

/* A history is only read: its operations' kinds and values are a copy. */
static enum iso_status ask_without_touches(struct iso_judgement *judgement, struct iso_error *error)
{
    struct iso_history history = *judgement->history;
    history.ops.kind = iso_allocate(history.ops.count + 1u);
    memcpy(history.ops.kind, judgement->history->ops.kind, history.ops.count);
    history.ops.value = iso_allocate((history.ops.count + (size_t)1) * sizeof *history.ops.value);
    memcpy(history.ops.value, judgement->history->ops.value,
           history.ops.count * sizeof *history.ops.value);
    iso_history_read_touches(&history);
    iso_polygraph_check(&history, &judgement->order, &judgement->result, error);
    ISO_FREE_ALL(history.ops.kind, history.ops.value);
    return error->status;
}

static enum iso_status ask_polygraph(const struct iso_judge_options *options,
                                     bool versions_by_commit, struct iso_judgement *judgement,
                                     struct iso_error *error)
{
    assert(!judgement->has_result);
    struct iso_polygraph_options *order = &judgement->order;
    bool sessions = options->times.session_order;
    *order = options->order;
    order->versions_by_commit = versions_by_commit;
    if (!sessions && order->level == ISO_SI)
        order->level = ISO_ADYA_SI;
    if (!sessions && order->level != ISO_ADYA_SI)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--no-session-order: polygraph has snapshot isolation without it (--level adya-si), not %s",
            iso_level_name(order->level));
    judgement->has_result = true;
    iso_polygraph_result_init(&judgement->result);
    if (judgement->history->streamed.writer != ISO_NONE) {
        judgement->result.evidence.level = order->level;
        judgement->result.outcome = ISO_IS_UNDECIDED;
        judgement->result.reason = iso_unjudged_name(ISO_UNJUDGED_NO_STREAM);
        return ISO_OK;
    }
    return versions_by_commit
               ? ask_without_touches(judgement, error)
               : iso_judge_any_order(judgement->history, order, &judgement->result, error);
}

static enum iso_status judge_order(const struct iso_judge_options *options, bool versions_by_commit,
                                   struct iso_judgement *judgement, struct iso_error *error)
{
    judgement->is_of_order = true;
    if (ask_polygraph(options, versions_by_commit, judgement, error) != ISO_OK)
        return error->status;
    if (judgement->has_verdict)
        not_more_than(&judgement->verdict, options->allow_unjudged, &judgement->result);
    else if (!versions_by_commit)
        leave_reads(options->allow_unjudged, &judgement->result);
    if (judgement->history->ranges.skipped && judgement->result.outcome == ISO_HOLDS &&
        !options->allow_unjudged) {
        judgement->result.outcome = ISO_IS_UNDECIDED;
        judgement->result.reason = iso_unjudged_name(ISO_UNJUDGED_SCAN_LIMIT);
    }
    judge_leave_queries(judgement->history, options->allow_unjudged, &judgement->result);
    bool leaves_reads = judgement->result.reads_left_out || judgement->history->ranges.skipped ||
                        iso_history_leaves_queries(judgement->history);
    if (judgement->result.outcome == ISO_HOLDS && leaves_reads &&
        !judgement->result.counters.reads) {
        judgement->result.outcome = ISO_IS_UNDECIDED;
        judgement->result.reason = "nothing-judged";
    }
    if (iso_history_lacks(judgement->history))
        iso_polygraph_leave_to_lost(&judgement->result);
    judgement->outcome = judgement->result.outcome;
    judgement->reason = judgement->result.reason;
    return ISO_OK;
}

static enum iso_status report_any_order(const struct iso_judge_options *options,
                                        struct iso_judgement *judgement, struct iso_error *error)
{
    if (!options->any_order || judgement->outcome != ISO_IS_VIOLATED)
        return ISO_OK;
    if (ask_polygraph(options, false, judgement, error) != ISO_OK)
        return error->status;
    leave_reads(options->allow_unjudged, &judgement->result);
    judgement->verdict.any_order = iso_outcome_name(judgement->result.outcome);
    return error->status;
}

/* In a history without start timestamps polygraph finds all that there is to find. */
static enum iso_status seek_order(const struct iso_judge_options *options,
                                  struct iso_judgement *judgement, struct iso_error *error)
{
    struct iso_check_options as_si = options->times;
    as_si.level = ISO_SI;
    as_si.overlaps = true;
    if (!options->times.session_order)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--no-session-order: where an order of the transactions is sought, ser has sessions");
    if (judgement->history->totals.without_sts != ISO_NONE)
        return judge_order(options, true, judgement, error);
    if (judge_times(options, as_si, judgement, error) != ISO_OK)
        return error->status;
    return judgement->outcome == ISO_IS_VIOLATED ? report_any_order(options, judgement, error)
                                                 : judge_order(options, true, judgement, error);
}

enum iso_status iso_judge(const struct iso_history *finished,
                          const struct iso_judge_options *options, struct iso_judgement *judgement,
                          struct iso_error *error)
{
    assert(finished->finished);
    struct iso_check_options times = options->times;
    *judgement = (struct iso_judgement){.history = finished};
    if (iso_judge_check_options(options, error) != ISO_OK)
        return error->status;
    if (options->order.neighbours)
        return judge_order(options, true, judgement, error);
    switch (iso_judge_route(options, finished)) {
    case ISO_JUDGE_BOTH:
        return seek_order(options, judgement, error);
    case ISO_JUDGE_ORDER:
        if (iso_level_check(options->order.level, ISO_BY_ANY_ORDER, "a history without timestamps",
                            "--level", error) != ISO_OK)
            return error->status;
        return judge_order(options, false, judgement, error);
    case ISO_JUDGE_TIMES:
        break;
    }
    times.level = options->order.level;
    times.overlaps = false;
    return judge_times(options, times, judgement, error) == ISO_OK
               ? report_any_order(options, judgement, error)
               : error->status;
}

void iso_judgement_release(struct iso_judgement *judgement)
{
    if (judgement->has_verdict)
        iso_verdict_release(&judgement->verdict);
    if (judgement->has_result)
        iso_polygraph_result_release(&judgement->result);
    *judgement = (struct iso_judgement){0};
}

uint64_t iso_judgement_violations(const struct iso_judgement *judgement)
{
    uint64_t found = judgement->is_of_order ? judgement->result.cycles : 0;
    for (int kind = 0; judgement->is_of_order && kind < ISO_FINDINGS; kind++)
        found += judgement->result.counts[kind];
    for (int axiom = 0; !judgement->is_of_order && axiom < ISO_AXIOMS; axiom++)
        found += judgement->verdict.counts[axiom];
    return found;
}
