/* The route, cheapest step first. */
#define _GNU_SOURCE
#include "iso/polygraph.h"

#include <time.h>

#include "polygraph/placements.h"
#include "polygraph/windows.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool is_too_much(const struct engine *engine, uint64_t more)
{
    uint64_t limit = engine->options->memory ? engine->options->memory : (uint64_t)1 << 34;
    uint64_t used = engine->options->memory_in_use ? engine->options->memory_in_use() : 0;
    return used + more > limit;
}

/* Memory is asked for seldom: it takes a call into the system. */
bool engine_must_stop(struct engine *engine)
{
    const double between_looks = 0.002;
    double time = engine->stop_reason ? 0 : now();
    if (!engine->stop_reason && engine->deadline != 0 && time >= engine->deadline)
        engine->stop_reason = "timeout";
    if (!engine->stop_reason && time >= engine->next_look) {
        engine->next_look = time + between_looks;
        if (is_too_much(engine, 0))
            engine->stop_reason = "memory";
    }
    return engine->stop_reason;
}

bool engine_may_take(struct engine *engine, uint64_t bytes)
{
    if (is_too_much(engine, bytes))
        engine->stop_reason = "memory";
    return !engine->stop_reason;
}

void iso_polygraph_options_init(struct iso_polygraph_options *options)
{
    *options = (struct iso_polygraph_options){.model = ISO_MODEL_SI, .max_findings = 1000};
}

void iso_polygraph_result_init(struct iso_polygraph_result *result)
{
    memset(result, 0, sizeof *result);
    result->cycle_lemma = ISO_NONE;
    iso_evidence_init(&result->evidence);
}

void iso_polygraph_result_release(struct iso_polygraph_result *result)
{
    iso_free(result->findings);
    iso_evidence_release(&result->evidence);
    memset(result, 0, sizeof *result);
}

static void undecided(struct engine *engine, const char *reason)
{
    struct iso_evidence *evidence = &engine->result->evidence;
    engine->result->outcome = ISO_IS_UNDECIDED;
    engine->result->reason = reason;
    iso_evidence_release(evidence); /* half a proof is none */
    evidence->model = engine->options->model;
    evidence->drift = engine->options->drift;
    engine->result->cycle_lemma = ISO_NONE;
}

/* The topological order of a graph in which nothing is open explains the history. */
static void accept(struct engine *engine)
{
    for (uint32_t i = 0, left = engine->event_count; left; i++) {
        if (engine->order[i] >= engine->event_count)
            continue; /* a node of time */
        iso_evidence_event(&engine->result->evidence, event_of(engine, engine->order[i]));
        left--;
    }
    engine->result->evidence.accepts = true;
    engine->result->outcome = ISO_HOLDS;
}

static void reject_by_facts(struct engine *engine)
{
    double start = now();
    engine->result->outcome = ISO_IS_VIOLATED;
    engine->result->cycles = 1;
    graph_link(engine);
    if (engine->empty_read != ISO_NONE)
        explain_empty_read(engine);
    else
        explain_cycle(engine);
    engine->result->counters.seconds_explain += now() - start;
}

static void reject_by_findings(struct engine *engine)
{
    engine->result->outcome = ISO_IS_VIOLATED;
    engine->result->evidence.finding = engine->result->findings[0];
}

/* Clocks, as the rules and as the nodes have them, are the largest part. */
static bool clocks_fit(struct engine *engine)
{
    return engine_may_take(engine,
                           2 * sizeof(stamp) * (uint64_t)engine->node_count * (engine->chain_count + STAMPS_A_VECTOR));
}

/* What problem.c, chains.c and graph.c make of the history before clocks: columns by operation and
 * transaction. */
static bool problem_fits(struct engine *engine)
{
    enum { BYTES_AN_OPERATION = 80, BYTES_A_TRANSACTION = 120, BYTES_A_KEY = 40 };
    const struct iso_history *history = engine->history;
    return engine_may_take(engine, BYTES_AN_OPERATION * (uint64_t)history->operation_count +
                                       BYTES_A_TRANSACTION * (uint64_t)history->transaction_count +
                                       BYTES_A_KEY * (uint64_t)history->key_count);
}

static bool search(struct engine *engine, uint64_t dead_ends, uint32_t *run_count)
{
    double start = now();
    bool found = search_order(engine, dead_ends, run_count);
    engine->result->counters.seconds_search += now() - start;
    return found;
}

static bool mend(struct engine *engine, uint32_t run_count, uint32_t most_knot, uint32_t most_nodes)
{
    double start = now();
    bool found = windows_order(engine, run_count, most_knot, most_nodes);
    engine->result->counters.seconds_windows += now() - start;
    return found;
}

/* Nodes, of knots and of windows around them. */
enum { SMALL = 512, MIDDLE = 2048 };

/* A schedule with foresight, mended where its knots are small. */
static bool mend_foreseen(struct engine *engine, uint32_t most_knot)
{
    double start = now();
    uint32_t run_count = foresee_nodes(engine, engine->order);
    engine->result->counters.seconds_windows += now() - start;
    return !engine_must_stop(engine) && mend(engine, run_count, most_knot, MIDDLE);
}

/* The plain schedule if its knots are few dozen nodes as they should be, else one with foresight. */
static bool mend_schedules(struct engine *engine)
{
    if (mend(engine, 0, SMALL, MIDDLE))
        return true;
    if (engine_must_stop(engine))
        return false;
    return mend_foreseen(engine, MIDDLE) || (!engine_must_stop(engine) && mend(engine, 0, MIDDLE, MIDDLE));
}

/* Mends a schedule where small windows do. Else, as where many sessions share values, searches while that is easy,
 * mends what it leaves in windows of any size, and searches on. */
static bool find_order(struct engine *engine)
{
    enum { FEW = 100, A_FEW_OF = 500, MANY = 1000, MANY_OF = 2 };
    const struct iso_polygraph_options *options = engine->options;
    bool windows = !options->no_windows, searches = !options->no_search, found = false;
    uint32_t run_count = 0;
    if (windows)
        found = mend_schedules(engine) || (!searches && mend(engine, 0, engine->node_count, engine->node_count));
    if (!found && windows && searches && !engine_must_stop(engine) && graph_sort(engine)) {
        found = search(engine, FEW + engine->count / A_FEW_OF, &run_count);
        found = found || mend(engine, run_count, engine->node_count, engine->node_count);
    }
    if (!found && searches && !engine_must_stop(engine) && graph_sort(engine))
        found = search(engine, MANY + engine->count / MANY_OF, &run_count);
    return found;
}

/* Where there are hundreds of chains a round of the rules costs more than a schedule, and one with foresight mostly
 * needs no more than the first two. */
static enum iso_status saturate_unless_found(struct engine *engine, bool *found)
{
    enum { MANY_CHAINS = 256 };
    const struct iso_polygraph_options *options = engine->options;
    enum iso_status status = saturate_start(engine);
    if (status == ISO_OK && engine->chain_count >= MANY_CHAINS && !engine->open_reads && !engine->placements &&
        !options->no_saturation && !options->no_windows) {
        size_t nodes = (size_t)engine->node_count * sizeof *engine->order; /* the agenda is by places in it */
        status = saturate_round(engine);
        uint32_t *sorted = memcpy(iso_allocate(nodes), engine->order, nodes);
        *found = status == ISO_OK && mend_foreseen(engine, SMALL);
        if (!*found)
            memcpy(engine->order, sorted, nodes);
        iso_free(sorted);
    }
    return status == ISO_OK && !*found ? saturate(engine) : status;
}

static void judge_graph(struct engine *engine)
{
    struct iso_polygraph_counters *counters = &engine->result->counters;
    double start = now();
    bool found = false;
    graph_clocks_init(engine);
    enum iso_status status = saturate_unless_found(engine, &found);
    counters->seconds_saturate = now() - start - counters->seconds_windows;
    counters->open_reads_after = engine->open_reads;
    if (status == ISO_VIOLATED) {
        reject_by_facts(engine);
        return;
    }
    /* the orders that these find need not put lists together as they were read */
    found = found || (status == ISO_OK && !engine->placements && find_order(engine));
    if (status == ISO_OK && !found && engine_must_stop(engine)) {
        status = ISO_UNDECIDED;
    } else if (status == ISO_OK && !found) {
        start = now();
        status = solve_everything(engine);
        counters->seconds_solve = now() - start;
    }
    if (status == ISO_OK) {
        accept(engine);
    } else if (status == ISO_VIOLATED) {
        engine->result->outcome = ISO_IS_VIOLATED;
        engine->result->cycles = 1;
    } else {
        undecided(engine, engine->result->reason ? engine->result->reason : engine->stop_reason);
    }
}

static void run(struct engine *engine)
{
    struct iso_polygraph_counters *counters = &engine->result->counters;
    double start = now();
    enum iso_status status = problem_fits(engine) ? problem_build(engine) : ISO_UNDECIDED;
    counters->transactions = engine->count;
    counters->reads = engine->read_count;
    counters->writes = engine->write_count;
    if (status == ISO_VIOLATED) {
        reject_by_findings(engine);
        return;
    }
    if (status == ISO_UNDECIDED) {
        undecided(engine, engine->stop_reason);
        return;
    }
    if (advice_decides(engine)) {
        counters->seconds_prepare = now() - start;
        return;
    }
    bool ordered = chains_build(engine);
    versions_sort(engine);
    graph_init(engine);
    graph_add_known(engine);
    counters->open_reads_first = engine->open_reads;
    counters->seconds_prepare = now() - start;
    if (!ordered)
        reject_by_facts(engine);
    else if (!clocks_fit(engine))
        undecided(engine, "memory");
    else
        judge_graph(engine);
}

/* All that is counted as the time to explain. */
static void trim(struct engine *engine)
{
    double start = now();
    if (engine->result->evidence.lemma_count)
        trim_proof(engine);
    engine->result->counters.seconds_explain += now() - start;
}

static void release(struct engine *engine)
{
    graph_release(engine);
    versions_release(engine);
    chains_release(engine);
    origins_release(engine);
    candidates_release(engine);
    problem_release(engine);
    iso_free(engine->list_pairs);
    placements_release(engine);
}

enum iso_status iso_polygraph_check(const struct iso_history *history, const struct iso_polygraph_options *options,
                                    struct iso_polygraph_result *result, struct iso_error *error)
{
    double start = now();
    struct engine engine = {.history = history,
                            .options = options,
                            .result = result,
                            .empty_read = ISO_NONE,
                            .listed_at = ISO_NONE,
                            .serial = iso_model_is_serial(options->model)};
    engine.deadline = options->timeout > 0 ? start + options->timeout : 0;
    result->evidence.model = options->model;
    result->evidence.drift = iso_model_needs_times(options->model) ? options->drift : 0;
    if (iso_model_needs_times(options->model) && (!history->begun || !history->ended))
        return iso_error_set(error, ISO_BAD_INPUT, "level %s needs the clients' clocks (begin and end of transactions)",
                             iso_model_name(options->model));
    if (history->committed_count == 0)
        undecided(&engine, "nothing-judged");
    else
        run(&engine);
    trim(&engine);
    release(&engine);
    result->counters.seconds_total = now() - start;
    return ISO_OK;
}
