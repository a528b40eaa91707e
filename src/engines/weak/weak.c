/* The route: an order, a sweep, what broke as constraints, and again. */

#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "weak/weak_private.h"

/* Rows of clocks, at most one for each transaction, and what session_chains.c makes. */
static bool fits(struct weak *weak)
{
    enum { BYTES_AN_OPERATION = 40, BYTES_A_TRANSACTION = 80, BYTES_A_KEY = 40 };
    const struct iso_history *history = weak->history;
    return budget_may_take(&weak->budget, BYTES_AN_OPERATION * (uint64_t)history->ops.count +
                                              BYTES_A_TRANSACTION * (uint64_t)history->txns.count +
                                              BYTES_A_KEY * (uint64_t)history->keys.count);
}

static void conclude_undecided(struct weak *weak, const char *reason)
{
    problem_undecided(weak->result, weak->options, reason);
}

enum weak_answer weak_judge_order(struct weak *weak)
{
    weak_order_readers(weak);
    bool ordered = weak_order_propose(weak);
    while (ordered && !weak->budget.stop_reason && weak_sweep(weak)) {
        weak->rounds++;
        ISO_LOG_ALL(weak, "round %" PRIu32 ": %" PRIu32 " constraints", weak->rounds,
                    weak->order.bond_count);
        if (weak->found.broken_read != ISO_NONE)
            break;
        ordered = weak_order_sort(weak);
    }
    if (weak->budget.stop_reason)
        return WEAK_STOPPED;
    return ordered && weak->found.broken_read == ISO_NONE ? WEAK_HOLDS : WEAK_BROKEN;
}

static void judge_graph(struct weak *weak)
{
    enum weak_answer answer =
        weak->level == ISO_PSI ? weak_psi_judge(weak) : weak_judge_order(weak);
    if (answer == WEAK_BROKEN && weak->level != ISO_PSI)
        weak_explain_broken(weak);
    else if (answer == WEAK_HOLDS && weak->problem.reads.open && weak->level != ISO_PSI)
        answer = weak_choose(weak);
    if (answer == WEAK_STOPPED) {
        conclude_undecided(weak, weak->budget.stop_reason);
    } else if (answer == WEAK_BROKEN) {
        weak->result->outcome = ISO_IS_VIOLATED;
        weak->result->cycles = 1;
    } else {
        iso_evidence_release(&weak->result->evidence); /* lemmas of choices that were given up */
        weak->result->evidence.level = weak->options->level;
        weak->result->cycle_lemma = ISO_NONE;
        weak->result->outcome = ISO_HOLDS;
        weak_explain_accept(weak);
    }
}

static void judge_history(struct weak *weak)
{
    struct iso_polygraph_counters *counters = &weak->result->counters;
    double start = iso_clock_seconds();
    bool clean = fits(weak) && weak_problem_build(weak);
    counters->transactions = weak->chains.part_count;
    counters->reads = weak->problem.reads.count;
    counters->writes = weak->problem.writes.count;
    counters->chains = weak->chains.count;
    counters->open_reads_first = weak->problem.reads.open;
    counters->seconds_prepare = iso_clock_seconds() - start;
    if (!clean && !weak->budget.stop_reason) {
        weak->result->outcome = ISO_IS_VIOLATED;
        weak->result->evidence.finding = weak->result->findings[0];
    } else if (weak->budget.stop_reason) {
        conclude_undecided(weak, weak->budget.stop_reason);
    } else {
        judge_graph(weak);
    }
    counters->passes = weak->rounds;
    counters->edges_version = weak->order.bond_count;
}

enum iso_status iso_weak_check(const struct iso_history *history,
                               const struct iso_polygraph_options *options,
                               struct iso_polygraph_result *result, struct iso_error *error)
{
    assert(history->finished);
    double start = iso_clock_seconds();
    enum iso_level level = options->level;
    struct weak weak = {.history = history,
                        .options = options,
                        .result = result,
                        .level = level,
                        .each_read = iso_level_has_each_read(options->level),
                        .sessions = iso_level_keeps_sessions(options->level),
                        .budget = budget_from(options, start),
                        .found.broken_read = ISO_NONE,
                        .found.broken_by = ISO_NONE};
    if (iso_level_check(level, ISO_BY_WEAK, "the weak engine", "level", error) != ISO_OK)
        return error->status;
    result->evidence.level = options->level;
    if (history->totals.committed == 0)
        conclude_undecided(&weak, "nothing-judged");
    else
        judge_history(&weak);
    weak_sweep_release(&weak);
    weak_problem_release(&weak);
    result->counters.seconds_total = iso_clock_seconds() - start;
    return ISO_OK;
}

bool iso_weak_findings(const struct iso_history *history,
                       const struct iso_polygraph_options *options,
                       struct iso_polygraph_result *result)
{
    assert(history->finished);
    struct weak weak = {.history = history,
                        .options = options,
                        .budget = budget_from(options, 0),
                        .result = result,
                        .level = options->level,
                        .each_read = iso_level_has_each_read(options->level),
                        .sessions = iso_level_keeps_sessions(options->level)};
    result->evidence.level = options->level;
    if (history->totals.committed == 0) {
        conclude_undecided(&weak, "nothing-judged");
        return true;
    }
    bool clean = weak_problem_build(&weak);
    if (!clean) {
        result->outcome = ISO_IS_VIOLATED;
        result->evidence.finding = result->findings[0];
    }
    weak_problem_release(&weak);
    return !clean;
}
