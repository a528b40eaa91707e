/* The route, cheapest step first. */
#include "polygraph/polygraph.h"

#include "base/clock.h"
#include "base/log.h"
#include "polygraph/graph/commit_order.h"
#include "polygraph/validate.h"
#include "polygraph/order/windows.h"
#include "problem/placements.h"

static void conclude_undecided(struct engine *engine, const char *reason)
{
    problem_undecided(engine->result, engine->options, reason);
}

/* The topological order of a graph in which nothing is open explains the history. */
static void accept_order(struct engine *engine)
{
    for (uint32_t i = 0, left = engine->graph.event_count; left; i++) {
        if (engine->graph.order[i] >= engine->graph.event_count)
            continue; /* a node of time */
        iso_evidence_event(&engine->result->evidence, event_of(engine, engine->graph.order[i]));
        left--;
    }
    engine->result->evidence.accepts = true;
    engine->result->outcome = ISO_HOLDS;
}

static void reject_by_facts(struct engine *engine)
{
    double start = iso_clock_seconds();
    engine->result->outcome = ISO_IS_VIOLATED;
    engine->result->cycles = 1;
    graph_link(engine);
    if (engine->saturation.empty_read != ISO_NONE)
        explain_empty_read(engine);
    else
        explain_cycle(engine);
    engine->result->counters.seconds_explain += iso_clock_seconds() - start;
}

static void reject_by_findings(struct engine *engine)
{
    engine->result->outcome = ISO_IS_VIOLATED;
    engine->result->evidence.finding = engine->result->findings[0];
}

/* Clocks, as the rules and as the nodes have them, are the largest part. */
static bool clocks_fit(struct engine *engine)
{
    return budget_may_take(&engine->budget, 2 * sizeof(stamp) * (uint64_t)engine->graph.node_count *
                                                (engine->chains.count + STAMPS_A_VECTOR));
}

/* Whether the columns by operation and transaction, which problem.c, chains.c and graph.c make
 * before clocks, fit into memory. */
static bool problem_fits(struct engine *engine)
{
    enum { BYTES_AN_OPERATION = 80, BYTES_A_TRANSACTION = 120, BYTES_A_KEY = 40 };
    const struct iso_history *history = engine->history;
    return budget_may_take(&engine->budget,
                           BYTES_AN_OPERATION * (uint64_t)history->ops.count +
                               BYTES_A_TRANSACTION * (uint64_t)history->txns.count +
                               BYTES_A_KEY * (uint64_t)history->keys.count);
}

static bool search_timed(struct engine *engine, uint64_t dead_ends, uint32_t *scheduled_count)
{
    double start = iso_clock_seconds();
    bool found = search_order(engine, dead_ends, scheduled_count);
    engine->result->counters.seconds_search += iso_clock_seconds() - start;
    return found;
}

static bool mend_timed(struct engine *engine, uint32_t scheduled_count, uint32_t most_scc,
                       uint32_t most_nodes)
{
    double start = iso_clock_seconds();
    bool found = windows_order(engine, scheduled_count, most_scc, most_nodes);
    engine->result->counters.seconds_windows += iso_clock_seconds() - start;
    return found;
}

/* Nodes, of SCCs and of windows around them. */
enum { SMALL = 512, MIDDLE = 2048 };

/* A lookahead schedule, mended where its SCCs are small. */
static bool mend_lookahead(struct engine *engine, uint32_t most_scc)
{
    double start = iso_clock_seconds();
    uint32_t scheduled_count = lookahead_nodes(engine, engine->graph.order);
    engine->result->counters.seconds_windows += iso_clock_seconds() - start;
    return !engine_must_stop(engine) && mend_timed(engine, scheduled_count, most_scc, MIDDLE);
}

/* The plain schedule if its SCCs are few dozen nodes as they should be, else a lookahead one. */
static bool mend_schedules(struct engine *engine)
{
    const struct iso_polygraph_options *options = engine->options;
    if (!options->no_schedule && mend_timed(engine, 0, SMALL, MIDDLE))
        return true;
    if (!options->no_lookahead && !engine_must_stop(engine) && mend_lookahead(engine, MIDDLE))
        return true;
    return !options->no_schedule && !engine_must_stop(engine) &&
           mend_timed(engine, 0, MIDDLE, MIDDLE);
}

/* Mends a schedule where small windows do. Else, as where many sessions share values, searches
 * while that is easy, mends what it leaves in windows of any size, and searches on. */
static bool find_order(struct engine *engine)
{
    enum { FEW = 100, A_FEW_OF = 500, MANY = 1000, MANY_OF = 2 };
    const struct iso_polygraph_options *options = engine->options;
    bool windows = !options->no_windows, searches = !options->no_search, found = false;
    uint32_t scheduled_count = 0;
    if (windows)
        found = mend_schedules(engine) ||
                (!searches && !options->no_schedule &&
                 mend_timed(engine, 0, engine->graph.node_count, engine->graph.node_count));
    if (!found && windows && searches && !engine_must_stop(engine) && graph_sort(engine)) {
        found = search_timed(engine, FEW + engine->transactions.count / A_FEW_OF, &scheduled_count);
        found = found || mend_timed(engine, scheduled_count, engine->graph.node_count,
                                    engine->graph.node_count);
    }
    if (!found && searches && !engine_must_stop(engine) && graph_sort(engine))
        found = search_timed(engine, MANY + engine->transactions.count / MANY_OF, &scheduled_count);
    return found;
}

/* Where there are hundreds of chains a round of the rules costs more than a schedule, and a
 * lookahead one mostly needs no more than the first two. */
static enum step_result saturate_unless_found(struct engine *engine, bool *found)
{
    enum { MANY_CHAINS = 256 };
    const struct iso_polygraph_options *options = engine->options;
    enum step_result status = saturate_start(engine);
    if (status == STEP_DONE && engine->chains.count >= MANY_CHAINS && !engine->reads.open &&
        !engine->placements && !options->no_saturation && !options->no_windows &&
        !options->no_lookahead) {
        size_t nodes = (size_t)engine->graph.node_count *
                       sizeof *engine->graph.order; /* the agenda is by ranks */
        status = saturate_round(engine);
        uint32_t *sorted = memcpy(iso_allocate(nodes), engine->graph.order, nodes);
        *found = status == STEP_DONE && mend_lookahead(engine, SMALL);
        if (!*found)
            memcpy(engine->graph.order, sorted, nodes);
        iso_free(sorted);
    }
    return status == STEP_DONE && !*found ? saturate(engine) : status;
}

static void judge_graph(struct engine *engine)
{
    struct iso_polygraph_counters *counters = &engine->result->counters;
    double start = iso_clock_seconds();
    bool found = false;
    versions_validate(engine);
    graph_clocks_init(engine);
    enum step_result status = saturate_unless_found(engine, &found);
    counters->seconds_saturate = iso_clock_seconds() - start - counters->seconds_windows;
    counters->open_reads_after = engine->reads.open;
    ISO_LOG_ALL(polygraph, "saturated: step result %d, %" PRIu32 " reads are open", status,
                engine->reads.open);
    if (status == STEP_CONTRADICTION) {
        reject_by_facts(engine);
        return;
    }
    /* the orders that these find need not put lists together as they were read */
    found = found || (status == STEP_DONE && !engine->placements && find_order(engine));
    if (status == STEP_DONE && !found && engine_must_stop(engine)) {
        status = STEP_STOPPED;
    } else if (status == STEP_DONE && !found) {
        start = iso_clock_seconds();
        status = solve_everything(engine);
        counters->seconds_solve = iso_clock_seconds() - start;
    }
    if (status == STEP_DONE) {
        accept_order(engine);
    } else if (status == STEP_CONTRADICTION) {
        engine->result->outcome = ISO_IS_VIOLATED;
        engine->result->cycles = 1;
    } else {
        conclude_undecided(engine, engine->result->reason ? engine->result->reason
                                                          : engine->budget.stop_reason);
    }
}

/* ---- what the history says ---- */

bool engine_ask_stop(void *engine)
{
    return engine_must_stop(engine);
}

/* The engine goes on with the problem's parts. */
static void take_problem(struct engine *engine)
{
    const struct problem *problem = &engine->problem;
    engine->transactions = problem->transactions;
    engine->writes = problem->writes;
    engine->reads = problem->reads;
    engine->writer_sets = problem->writer_sets;
    engine->list_orders = problem->list_orders;
    engine->placements = problem->placements;
}

static enum step_result read_history(struct engine *engine)
{
    struct problem *problem = &engine->problem;
    *problem = (struct problem){.history = engine->history,
                                .options = engine->options,
                                .result = engine->result,
                                .rules = {.must_stop = engine_ask_stop, .context = engine}};
    problem_scan(problem);
    take_problem(engine);
    if (engine->options->versions_by_commit) {
        commit_order_build(engine);
        problem->reads = engine->reads;
        problem->seen = engine->commit_order->seen;
    }
    problem_find_writers(problem);
    take_problem(engine);
    if (engine->budget.stop_reason)
        return STEP_STOPPED;
    if (!engine->commit_order) /* else the graph decides: a read's version is known by more than its
                                  value */
        problem_find_lost_updates(problem);
    if (engine->options->keys_by_commit && !problem_has_findings(problem))
        problem_find_overwritten(problem);
    if (problem_has_findings(problem))
        return STEP_CONTRADICTION;
    problem_validate(engine);
    return STEP_DONE;
}

static void judge_history(struct engine *engine)
{
    struct iso_polygraph_counters *counters = &engine->result->counters;
    double start = iso_clock_seconds();
    enum step_result status = problem_fits(engine) ? read_history(engine) : STEP_STOPPED;
    counters->transactions = engine->transactions.count;
    counters->reads = engine->reads.count;
    counters->writes = engine->writes.count;
    if (status == STEP_CONTRADICTION) {
        reject_by_findings(engine);
        return;
    }
    if (status == STEP_STOPPED) {
        conclude_undecided(engine, engine->budget.stop_reason);
        return;
    }
    if (engine->commit_order ? commit_order_decides(engine) : suggestion_decides(engine)) {
        counters->seconds_prepare = iso_clock_seconds() - start;
        return;
    }
    bool ordered = chains_build(engine);
    versions_sort(engine);
    graph_init(engine);
    if (!budget_may_take(&engine->budget, graph_count_known(engine) * sizeof(struct fact))) {
        conclude_undecided(engine, engine->budget.stop_reason);
        return;
    }
    graph_add_known(engine);
    counters->open_reads_first = engine->reads.open;
    counters->seconds_prepare = iso_clock_seconds() - start;
    if (!ordered)
        reject_by_facts(engine);
    else if (!clocks_fit(engine))
        conclude_undecided(engine, "memory");
    else
        judge_graph(engine);
}

/* All that is counted as the time to explain. */
static void trim_evidence(struct engine *engine)
{
    double start = iso_clock_seconds();
    if (engine->result->evidence.lemma_count &&
        engine->chains.count) /* what commit_order_graph.c says is short */
        trim_proof(engine);
    if (engine->commit_order && engine->result->outcome == ISO_IS_VIOLATED &&
        engine->result->cycles && commit_order_is_doubtful(engine))
        conclude_undecided(engine, "foreign-cycle");
    engine->result->counters.seconds_explain += iso_clock_seconds() - start;
}

static void release_engine(struct engine *engine)
{
    graph_release(engine);
    versions_release(engine);
    chains_release(engine);
    candidates_release(engine);
    problem_release(&engine->problem);
    commit_order_release(engine);
}

enum iso_status iso_polygraph_check(const struct iso_history *history,
                                    const struct iso_polygraph_options *options,
                                    struct iso_polygraph_result *result, struct iso_error *error)
{
    double start = iso_clock_seconds();
    struct engine engine = {.history = history,
                            .options = options,
                            .result = result,
                            .saturation = {.empty_read = ISO_NONE},
                            .candidates = {.listed_at = ISO_NONE},
                            .budget = budget_from(options, start),
                            .serial = iso_level_is_serial(options->level)};
    result->evidence.level = options->level;
    result->evidence.versions_by_commit = options->versions_by_commit;
    result->evidence.drift = iso_level_needs_times(options->level) ? options->drift : 0;
    if (iso_level_needs_times(options->level) && (!history->txns.begun || !history->txns.ended))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "level %s needs the clients' clocks (begin and end of transactions)",
                             iso_level_name(options->level));
    if (history->totals.committed == 0)
        conclude_undecided(&engine, "nothing-judged");
    else
        judge_history(&engine);
    trim_evidence(&engine);
    release_engine(&engine);
    result->counters.seconds_total = iso_clock_seconds() - start;
    return ISO_OK;
}
