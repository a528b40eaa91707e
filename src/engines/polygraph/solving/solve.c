/* What saturation leaves open, for the solver: pairs of writers of a key, and reads with several
 * possible writers.
 *
 * A variable is a pair (true: the order that the last topological order proposes) or a read's
 * candidate. Each answer implies edges. The solver knows nothing of graphs: its model's edges join
 * the facts, and where that closes cycles, each becomes a clause "not all of these". No cycle: the
 * topological order explains the history. No model: the clauses that this rests on become lemmas,
 * and a second proof from only those gives the proof.
 */
#include <assert.h>
#include <stdlib.h>

#include "polygraph/solving/solve.h"

enum { LOOK_UP = 64 }; /* steps between looks at the clock on the wall */

/* ---- a model's graph ---- */

static bool literal_is_true(const struct open *open, int literal)
{
    return iso_solver_value(open->solver, literal < 0 ? -literal : literal) == (literal > 0);
}

static void activate_edges(struct open *open)
{
    struct engine *engine = open->engine;
    bool *value = iso_allocate(((size_t)open->variable_count + 1) * sizeof *value);
    for (uint32_t i = 1; i <= open->variable_count; i++)
        value[i] = literal_is_true(open, (int)i);
    memset(open->first_active, 0xff,
           ((size_t)engine->graph.node_count + 1) * sizeof *open->first_active);
    for (uint32_t i = 0; i < open->edge_count; i++) {
        struct implied *edge = &open->edges[i];
        assert(edge->first && (uint32_t)abs(edge->first) <= open->variable_count);
        bool first = edge->first > 0 ? value[edge->first] : !value[-edge->first];
        if (!first || (edge->second && !value[edge->second]))
            continue;
        edge->next = open->first_active[edge->from];
        open->first_active[edge->from] = i;
    }
    iso_free(value);
}

static void count_degrees(struct open *open)
{
    const struct engine *engine = open->engine;
    memset(open->degree, 0, ((size_t)engine->graph.node_count + 1) * sizeof *open->degree);
    graph_count_degrees(engine, engine->graph.fact_count, open->degree);
    for (uint32_t node = 0; node < engine->graph.node_count; node++) {
        for (uint32_t i = open->first_active[node]; i != ISO_NONE; i = open->edges[i].next)
            open->degree[open->edges[i].to]++;
    }
}

/* Facts and active edges in a topological order, as far as there is one. */
static bool sort_model(struct open *open)
{
    struct engine *engine = open->engine;
    uint32_t *queue = open->deque, end = 0;
    count_degrees(open);
    memset(open->sorted, 0, (size_t)engine->graph.node_count * sizeof *open->sorted);
    for (uint32_t node = 0; node < engine->graph.node_count; node++) {
        if (!open->degree[node])
            queue[end++] = node;
    }
    for (uint32_t head = 0; head < end; head++) {
        uint32_t node = queue[head];
        open->sorted[node] = true;
        if (node_goes_on(engine, node) && --open->degree[node + 1] == 0)
            queue[end++] = node + 1;
        for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE;
             i = engine->graph.facts[i].next_out) {
            if (--open->degree[engine->graph.facts[i].to] == 0)
                queue[end++] = engine->graph.facts[i].to;
        }
        for (uint32_t i = open->first_active[node]; i != ISO_NONE; i = open->edges[i].next) {
            if (--open->degree[open->edges[i].to] == 0)
                queue[end++] = open->edges[i].to;
        }
    }
    assert(end <= engine->graph.node_count); /* each node once */
    if (end == engine->graph.node_count)
        memcpy(engine->graph.order, queue, (size_t)end * sizeof *queue);
    return end == engine->graph.node_count;
}

/* ---- cycles ---- */

#define BY_FACT 0xffffffffu

static void visit_node(struct open *open, uint32_t node, uint32_t distance, uint32_t by,
                       uint32_t *head, uint32_t *end, bool front)
{
    if (open->sorted[node] ||
        (open->visited[node] == open->round && open->distance[node] <= distance))
        return;
    open->visited[node] = open->round;
    open->distance[node] = distance;
    open->by[node] = by;
    assert(front ? *head > 0 : *end < 4 * (open->engine->graph.node_count + 1));
    if (front)
        open->deque[--*head] = node;
    else
        open->deque[(*end)++] = node;
}

/* The last implied edge before each node is kept in `by`; facts pass it on. Finds the path with the
 * fewest implied edges; false if there is none (the start is on no cycle). */
static bool find_path(struct open *open, uint32_t from, uint32_t to)
{
    const struct engine *engine = open->engine;
    uint32_t middle = 2 * (engine->graph.node_count + 1), head = middle, end = middle;
    open->round++;
    visit_node(open, from, 0, BY_FACT, &head, &end, false);
    while (head < end) {
        if (head < engine->graph.node_count ||
            end > 3 * engine->graph.node_count) { /* keep room at both sides */
            uint32_t count = end - head;
            memmove(open->deque + middle - count / 2, open->deque + head,
                    count * sizeof *open->deque);
            head = middle - count / 2;
            end = head + count;
            if (count > engine->graph.node_count)
                return false;
        }
        uint32_t node = open->deque[head++], distance = open->distance[node];
        if (node == to)
            return true;
        if (node_goes_on(engine, node))
            visit_node(open, node + 1, distance, open->by[node], &head, &end, true);
        for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE;
             i = engine->graph.facts[i].next_out)
            visit_node(open, engine->graph.facts[i].to, distance, open->by[node], &head, &end,
                       true);
        for (uint32_t i = open->first_active[node]; i != ISO_NONE; i = open->edges[i].next)
            visit_node(open, open->edges[i].to, distance + 1, i, &head, &end, false);
    }
    return false;
}

static void add_cycle_edge(struct open *open, uint32_t edge)
{
    ISO_PUSH(open->cycle_edges, open->cycle_edge_count, open->cycle_edge_capacity, edge);
}

static void start_cycle(struct open *open)
{
    if (open->cycle_count + 1 >= open->cycle_capacity) {
        open->cycle_capacity =
            (uint32_t)iso_column_capacity(open->cycle_capacity, open->cycle_count + 2u);
        open->cycle_first =
            iso_reallocate(open->cycle_first, open->cycle_capacity * sizeof *open->cycle_first);
    }
    open->cycle_first[open->cycle_count++] = open->cycle_edge_count;
}

/* Keeps the cycle of active edge `start` and the path that was found; edges in the order of the
 * cycle. */
static void keep_cycle(struct open *open, uint32_t start)
{
    start_cycle(open);
    uint32_t first = open->cycle_edge_count;
    for (uint32_t i = open->by[open->edges[start].from]; i != BY_FACT;
         i = open->by[open->edges[i].from])
        add_cycle_edge(open, i);
    add_cycle_edge(open, start);
    for (uint32_t i = first, j = open->cycle_edge_count - 1; i < j; i++, j--) {
        uint32_t other = open->cycle_edges[i];
        open->cycle_edges[i] = open->cycle_edges[j];
        open->cycle_edges[j] = other;
    }
}

enum { CYCLES_A_ROUND = 200 };

/* Every cycle has an edge that goes back in the order of the facts. */
static void add_cycles(struct open *open)
{
    const struct engine *engine = open->engine;
    uint32_t found = 0;
    for (uint32_t node = 0; node < engine->graph.node_count; node++) {
        for (uint32_t i = open->first_active[node]; i != ISO_NONE; i = open->edges[i].next) {
            uint32_t to = open->edges[i].to;
            if (found >= CYCLES_A_ROUND ||
                (found % LOOK_UP == LOOK_UP - 1 && engine_must_stop(open->engine)))
                return;
            if (open->sorted[node] || open->sorted[to] ||
                engine->graph.rank[node] < engine->graph.rank[to] || !find_path(open, to, node))
                continue;
            keep_cycle(open, i);
            open_clause_of_cycle(open, open->cycle_count - 1);
            iso_solver_clause(open->solver, open->clause, open->clause_count);
            found++;
        }
    }
}

/* ---- rounds ---- */

static enum step_result solve_rounds(struct open *open)
{
    struct engine *engine = open->engine;
    struct iso_polygraph_counters *counters = &engine->result->counters;
    for (;;) {
        counters->solver_calls++;
        enum iso_solver_answer answer = iso_solver_solve(open->solver, NULL, 0);
        counters->solver_cycles = open->cycle_count;
        if (answer == ISO_SOLVER_FALSE)
            return open_prove(open);
        if (answer == ISO_SOLVER_STOPPED || engine_must_stop(engine))
            return STEP_STOPPED;
        activate_edges(open);
        bool agree = placement_clauses_agree(open->clauses_of_lists), sorted = sort_model(open);
        if (agree && sorted)
            return STEP_DONE;
        placement_clauses_emit(open->clauses_of_lists);
        if (!sorted)
            add_cycles(open);
    }
}

enum step_result solve_everything(struct engine *engine)
{
    struct open open = {.engine = engine};
    if (!open_build(&open)) {
        open_release(&open);
        return STEP_STOPPED;
    }
    enum step_result status = STEP_DONE;
    engine->result->counters.solver_variables = open.variable_count;
    if (open.variable_count && engine->options->no_solver) {
        status = STEP_STOPPED;
        engine->result->reason = "steps-switched-off";
    } else if (open.variable_count) {
        open.solver = iso_solver_new();
        iso_solver_set_stop(open.solver, engine_ask_stop, engine);
        open_add_choices(&open, open.solver);
        /* every variable must be known to the solver */
        for (uint32_t i = 1; i <= open.variable_count; i++)
            iso_solver_clause(open.solver, (int[]){(int)i, -(int)i}, 2);
        status = solve_rounds(&open);
    }
    open_release(&open);
    return status;
}
