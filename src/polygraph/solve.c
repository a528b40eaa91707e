/* What saturation leaves open, for the solver: pairs of writers of a key, and reads with several possible
 * writers.
 *
 * A variable is a pair (true: the order that the last topological order proposes) or a read's candidate. Each
 * answer implies edges. The solver knows nothing of graphs: its model's edges join the facts, and where that
 * closes cycles, each becomes a clause "not all of these". No cycle: the topological order explains the
 * history. No model: the clauses that this rests on become lemmas, and a second run over only those gives the
 * proof.
 */
#include "polygraph/polygraph_private.h"
#include "solver/solver.h"

enum { LOOK_UP = 64 }; /* steps between looks at the clock on the wall */

/* An edge under one or two literals. `second` 0: one. */
struct implied {
    uint32_t from, to;
    int first, second;
    uint32_t read, version, later; /* WR: read, version; WW: version before later; RW: read of version, later */
    uint32_t next;                 /* with the same `from`, among those that are active */
    uint32_t kind;                 /* enum iso_edge_kind */
};

struct variable {
    uint32_t read;           /* ISO_NONE: a pair */
    uint32_t version, later; /* a pair: true is version before later; a read: it reads version */
};

struct open {
    struct engine *engine;
    struct iso_solver *solver;
    struct variable *variables; /* from 1 */
    uint32_t variable_count, variable_capacity;
    struct implied *edges;
    uint32_t edge_count, edge_capacity;
    uint32_t *pair_slots; /* variables of pairs of transactions, by hash */
    uint64_t pair_mask;
    uint32_t *first_open_read, *next_open_read; /* by version; by candidate: candidates of open reads */
    int *candidate_variable;                    /* by candidate */
    uint32_t *candidate_read;
    /* a model's graph */
    uint32_t *first_active, *degree;
    bool *sorted;
    /* searches for cycles */
    uint32_t *distance, *by, *deque, *visited, round;
    /* cycles found, as the implied edges on them */
    uint32_t *cycle_edges, cycle_edge_count, cycle_edge_capacity;
    uint32_t *cycle_first, cycle_count, cycle_capacity;
    int *clause;
    uint32_t clause_count, clause_capacity;
};

static uint32_t begin_of(const struct engine *engine, uint32_t version)
{
    return node_begin(engine, engine->version_transaction[version]);
}

static uint32_t commit_of(const struct engine *engine, uint32_t version)
{
    return node_commit(engine, engine->version_transaction[version]);
}

/* ---- variables ---- */

static uint32_t *find_pair(const struct open *open, uint32_t a, uint32_t b)
{
    const struct engine *engine = open->engine;
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    uint64_t slot = (((uint64_t)low << 32 | high) * 0x9e3779b97f4a7c15u >> 20) & open->pair_mask;
    for (;; slot = (slot + 1) & open->pair_mask) {
        uint32_t variable = open->pair_slots[slot];
        if (!variable)
            return &open->pair_slots[slot];
        uint32_t x = engine->version_transaction[open->variables[variable].version];
        uint32_t y = engine->version_transaction[open->variables[variable].later];
        if ((x == low && y == high) || (x == high && y == low))
            return &open->pair_slots[slot];
    }
}

static uint32_t add_variable(struct open *open, struct variable variable)
{
    if (open->variable_count + 1 >= open->variable_capacity) {
        size_t old = open->variable_capacity, next = iso_column_capacity(old, (size_t)open->variable_count + 2);
        open->variables = iso_column_grow(open->variables, old * sizeof variable, next * sizeof variable);
        open->variable_capacity = (uint32_t)next;
    }
    open->variables[++open->variable_count] = variable;
    return open->variable_count;
}

static void grow_pairs(struct open *open)
{
    if (open->pair_slots && open->variable_count * 2 < open->pair_mask)
        return;
    uint64_t slots = open->pair_slots ? (open->pair_mask + 1) * 2 : 1024;
    iso_free(open->pair_slots);
    open->pair_slots = iso_allocate_zeroed(slots, sizeof *open->pair_slots);
    open->pair_mask = slots - 1;
    for (uint32_t i = 1; i <= open->variable_count; i++) {
        const struct variable *variable = &open->variables[i];
        if (variable->read == ISO_NONE)
            *find_pair(open, open->engine->version_transaction[variable->version],
                       open->engine->version_transaction[variable->later]) = i;
    }
}

/* The literal "version before later". */
static int literal_of_pair(struct open *open, uint32_t version, uint32_t later)
{
    const struct engine *engine = open->engine;
    uint32_t x = engine->version_transaction[version], y = engine->version_transaction[later];
    grow_pairs(open);
    uint32_t *slot = find_pair(open, x, y);
    if (!*slot) {
        bool forward = engine->rank[node_begin(engine, x)] < engine->rank[node_begin(engine, y)];
        *slot = add_variable(open, (struct variable){ISO_NONE, forward ? version : later, forward ? later : version});
    }
    return engine->version_transaction[open->variables[*slot].version] == x ? (int)*slot : -(int)*slot;
}

static void add_reads(struct open *open)
{
    struct engine *engine = open->engine;
    open->first_open_read = iso_allocate(((size_t)engine->version_count + 1) * sizeof *open->first_open_read);
    memset(open->first_open_read, 0xff, ((size_t)engine->version_count + 1) * sizeof *open->first_open_read);
    open->next_open_read = iso_allocate(((size_t)engine->candidate_total + 1) * sizeof *open->next_open_read);
    open->candidate_variable = iso_allocate(((size_t)engine->candidate_total + 1) * sizeof(int));
    open->candidate_read = iso_allocate(((size_t)engine->candidate_total + 1) * sizeof(uint32_t));
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t first = engine->first_candidate[read];
        if (engine->read_writer[read] != OPEN)
            continue;
        for (uint32_t i = first; i < first + engine->candidate_count[read]; i++) {
            uint32_t version = engine->candidates[i];
            open->candidate_variable[i] = (int)add_variable(open, (struct variable){read, version, ISO_NONE});
            open->candidate_read[i] = read;
            if (version == INITIAL)
                continue;
            open->next_open_read[i] = open->first_open_read[version];
            open->first_open_read[version] = i;
        }
    }
}

/* ---- implied edges ---- */

static void add_implied(struct open *open, struct implied edge)
{
    if (reaches(open->engine, edge.from, edge.to))
        return;
    if (open->edge_count == open->edge_capacity) {
        size_t old = open->edge_capacity, next = iso_column_capacity(old, old + 1);
        open->edges = iso_column_grow(open->edges, old * sizeof edge, next * sizeof edge);
        open->edge_capacity = (uint32_t)next;
    }
    open->edges[open->edge_count++] = edge;
}

static void add_rw(struct open *open, uint32_t read, uint32_t version, uint32_t later, int first, int second)
{
    const struct engine *engine = open->engine;
    if (engine->read_transaction[read] != engine->version_transaction[later])
        add_implied(open, (struct implied){.kind = ISO_EDGE_RW,
                                           .first = first,
                                           .second = second,
                                           .read = read,
                                           .from = node_begin(engine, engine->read_transaction[read]),
                                           .to = commit_of(engine, later),
                                           .version = version,
                                           .later = later});
}

/* What follows if `version` comes before `later`. */
static void add_order(struct open *open, uint32_t version, uint32_t later, int literal)
{
    const struct engine *engine = open->engine;
    add_implied(open, (struct implied){.kind = ISO_EDGE_WW,
                                       .first = literal,
                                       .from = commit_of(engine, version),
                                       .to = begin_of(engine, later),
                                       .version = version,
                                       .later = later});
    for (uint32_t read = engine->version_reader[version]; read != ISO_NONE; read = engine->read_next[read])
        add_rw(open, read, version, later, literal, 0);
    for (uint32_t i = open->first_open_read[version]; i != ISO_NONE; i = open->next_open_read[i])
        add_rw(open, open->candidate_read[i], version, later, literal, open->candidate_variable[i]);
}

/* The versions of a run, after v in the numbering, whose order with v is open. Without saturation all are:
 * what the clocks say has not been drawn into edges. */
static void open_span(const struct open *open, uint32_t v, uint32_t run, uint32_t span[2])
{
    const struct engine *engine = open->engine;
    uint32_t chain = engine->run_chain[run];
    span[0] = engine->run_version[run];
    span[1] = engine->run_version[run + 1];
    if (engine->options->no_saturation) {
        span[0] = span[0] > v ? span[0] : v + 1;
    } else if (chain <= engine->chain[engine->version_transaction[v]]) {
        span[1] = span[0];
    } else {
        uint32_t latest = run_latest_begin(engine, run, clock_of(engine, commit_of(engine, v))[chain]);
        span[0] = latest == ISO_NONE ? span[0] : latest + 1;
        span[1] = run_first_after(engine, run, v);
    }
}

/* False: out of time or memory. */
static bool add_pairs_of_key(struct open *open, uint32_t key)
{
    struct engine *engine = open->engine;
    for (uint32_t v = engine->first_version[key]; v < engine->first_version[key + 1]; v++) {
        if (v % LOOK_UP == 0 && engine_must_stop(engine))
            return false;
        for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
            uint32_t span[2];
            open_span(open, v, run, span);
            for (uint32_t u = span[0]; u < span[1]; u++) {
                int literal = literal_of_pair(open, v, u);
                add_order(open, v, u, literal);
                add_order(open, u, v, -literal);
                engine->result->counters.open_pairs_after++;
            }
        }
    }
    return true;
}

static void add_candidate(struct open *open, uint32_t read, uint32_t candidate)
{
    const struct engine *engine = open->engine;
    uint32_t version = engine->candidates[candidate], key = engine->read_key[read];
    int literal = open->candidate_variable[candidate];
    if (version != INITIAL)
        add_implied(open, (struct implied){.kind = ISO_EDGE_WR,
                                           .first = literal,
                                           .from = commit_of(engine, version),
                                           .to = node_begin(engine, engine->read_transaction[read]),
                                           .read = read,
                                           .version = version});
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t later = version == INITIAL ? engine->run_version[run] : run_first_after(engine, run, version);
        later += later == version;
        if (later < engine->run_version[run + 1])
            add_rw(open, read, version, later, literal, 0);
    }
}

static void add_choices(struct open *open, struct iso_solver *solver)
{
    const struct engine *engine = open->engine;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t first = engine->first_candidate[read];
        if (engine->read_writer[read] == OPEN)
            iso_solver_clause(solver, open->candidate_variable + first, engine->candidate_count[read]);
    }
}

static bool build(struct open *open)
{
    const struct engine *engine = open->engine;
    add_reads(open);
    for (uint32_t key = 0; key < engine->history->key_count; key++) {
        if (!add_pairs_of_key(open, key))
            return false;
    }
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t first = engine->first_candidate[read];
        for (uint32_t i = first; engine->read_writer[read] == OPEN && i < first + engine->candidate_count[read]; i++)
            add_candidate(open, read, i);
    }
    size_t nodes = (size_t)engine->node_count + 1;
    open->first_active = iso_allocate(nodes * sizeof *open->first_active);
    open->degree = iso_allocate(nodes * sizeof *open->degree);
    open->sorted = iso_allocate(nodes * sizeof *open->sorted);
    open->distance = iso_allocate(nodes * sizeof *open->distance);
    open->by = iso_allocate(nodes * sizeof *open->by);
    open->visited = iso_allocate_zeroed(nodes, sizeof *open->visited);
    open->deque = iso_allocate(4 * nodes * sizeof *open->deque);
    return true;
}

static void release(struct open *open)
{
    iso_solver_free(open->solver);
    iso_column_free(open->variables, open->variable_capacity * sizeof *open->variables);
    iso_column_free(open->edges, open->edge_capacity * sizeof *open->edges);
    iso_free(open->pair_slots);
    iso_free(open->first_open_read);
    iso_free(open->next_open_read);
    iso_free(open->candidate_variable);
    iso_free(open->candidate_read);
    iso_free(open->first_active);
    iso_free(open->degree);
    iso_free(open->sorted);
    iso_free(open->distance);
    iso_free(open->by);
    iso_free(open->visited);
    iso_free(open->deque);
    iso_free(open->cycle_edges);
    iso_free(open->cycle_first);
    iso_free(open->clause);
}

/* ---- a model's graph ---- */

static bool holds(const struct open *open, int literal)
{
    return iso_solver_value(open->solver, literal < 0 ? -literal : literal) == (literal > 0);
}

static void activate(struct open *open)
{
    struct engine *engine = open->engine;
    bool *value = iso_allocate(((size_t)open->variable_count + 1) * sizeof *value);
    for (uint32_t i = 1; i <= open->variable_count; i++)
        value[i] = holds(open, (int)i);
    memset(open->first_active, 0xff, ((size_t)engine->node_count + 1) * sizeof *open->first_active);
    for (uint32_t i = 0; i < open->edge_count; i++) {
        struct implied *edge = &open->edges[i];
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
    memset(open->degree, 0, ((size_t)engine->node_count + 1) * sizeof *open->degree);
    for (uint32_t i = 0; i < engine->fact_count; i++)
        open->degree[engine->facts[i].to == ISO_NONE ? engine->node_count : engine->facts[i].to]++;
    for (uint32_t t = 0; !engine->serial && t < engine->count; t++)
        open->degree[node_commit(engine, t)]++;
    for (uint32_t node = 0; node < engine->node_count; node++) {
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
    memset(open->sorted, 0, (size_t)engine->node_count * sizeof *open->sorted);
    for (uint32_t node = 0; node < engine->node_count; node++) {
        if (!open->degree[node])
            queue[end++] = node;
    }
    for (uint32_t head = 0; head < end; head++) {
        uint32_t node = queue[head];
        open->sorted[node] = true;
        if (node_goes_on(engine, node) && --open->degree[node + 1] == 0)
            queue[end++] = node + 1;
        for (uint32_t i = engine->first_out[node]; i != ISO_NONE; i = engine->facts[i].next_out) {
            if (--open->degree[engine->facts[i].to] == 0)
                queue[end++] = engine->facts[i].to;
        }
        for (uint32_t i = open->first_active[node]; i != ISO_NONE; i = open->edges[i].next) {
            if (--open->degree[open->edges[i].to] == 0)
                queue[end++] = open->edges[i].to;
        }
    }
    if (end == engine->node_count)
        memcpy(engine->order, queue, (size_t)end * sizeof *queue);
    return end == engine->node_count;
}

/* ---- cycles ---- */

#define BY_FACT 0xffffffffu

static void visit(struct open *open, uint32_t node, uint32_t distance, uint32_t by, uint32_t *head, uint32_t *end,
                  bool front)
{
    if (open->sorted[node] || (open->visited[node] == open->round && open->distance[node] <= distance))
        return;
    open->visited[node] = open->round;
    open->distance[node] = distance;
    open->by[node] = by;
    if (front)
        open->deque[--*head] = node;
    else
        open->deque[(*end)++] = node;
}

/* The last implied edge before each node is kept in `by`; facts pass it on. Finds the path with the fewest
 * implied edges; false if there is none (the start is on no cycle). */
static bool find_path(struct open *open, uint32_t from, uint32_t to)
{
    const struct engine *engine = open->engine;
    uint32_t middle = 2 * (engine->node_count + 1), head = middle, end = middle;
    open->round++;
    visit(open, from, 0, BY_FACT, &head, &end, false);
    while (head < end) {
        if (head < engine->node_count || end > 3 * engine->node_count) { /* keep room at both sides */
            uint32_t count = end - head;
            memmove(open->deque + middle - count / 2, open->deque + head, count * sizeof *open->deque);
            head = middle - count / 2;
            end = head + count;
            if (count > engine->node_count)
                return false;
        }
        uint32_t node = open->deque[head++], distance = open->distance[node];
        if (node == to)
            return true;
        if (node_goes_on(engine, node))
            visit(open, node + 1, distance, open->by[node], &head, &end, true);
        for (uint32_t i = engine->first_out[node]; i != ISO_NONE; i = engine->facts[i].next_out)
            visit(open, engine->facts[i].to, distance, open->by[node], &head, &end, true);
        for (uint32_t i = open->first_active[node]; i != ISO_NONE; i = open->edges[i].next)
            visit(open, open->edges[i].to, distance + 1, i, &head, &end, false);
    }
    return false;
}

static void add_literal(struct open *open, int literal)
{
    for (uint32_t i = 0; i < open->clause_count; i++) {
        if (open->clause[i] == literal)
            return;
    }
    if (open->clause_count == open->clause_capacity) {
        open->clause_capacity = (uint32_t)iso_column_capacity(open->clause_capacity, open->clause_count + 1u);
        open->clause = iso_reallocate(open->clause, open->clause_capacity * sizeof *open->clause);
    }
    open->clause[open->clause_count++] = literal;
}

static void add_cycle_edge(struct open *open, uint32_t edge)
{
    if (open->cycle_edge_count == open->cycle_edge_capacity) {
        open->cycle_edge_capacity =
            (uint32_t)iso_column_capacity(open->cycle_edge_capacity, open->cycle_edge_count + 1u);
        open->cycle_edges = iso_reallocate(open->cycle_edges, open->cycle_edge_capacity * sizeof *open->cycle_edges);
    }
    open->cycle_edges[open->cycle_edge_count++] = edge;
}

static void start_cycle(struct open *open)
{
    if (open->cycle_count + 1 >= open->cycle_capacity) {
        open->cycle_capacity = (uint32_t)iso_column_capacity(open->cycle_capacity, open->cycle_count + 2u);
        open->cycle_first = iso_reallocate(open->cycle_first, open->cycle_capacity * sizeof *open->cycle_first);
    }
    open->cycle_first[open->cycle_count++] = open->cycle_edge_count;
}

/* The clause "not all edges of cycle i". */
static void clause_of_cycle(struct open *open, uint32_t cycle)
{
    open->clause_count = 0;
    uint32_t end = cycle + 1 < open->cycle_count ? open->cycle_first[cycle + 1] : open->cycle_edge_count;
    for (uint32_t i = open->cycle_first[cycle]; i < end; i++) {
        const struct implied *edge = &open->edges[open->cycle_edges[i]];
        add_literal(open, -edge->first);
        if (edge->second)
            add_literal(open, -edge->second);
    }
}

/* Keeps the cycle of active edge `start` and the path that was found; edges in the order of the cycle. */
static void keep_cycle(struct open *open, uint32_t start)
{
    start_cycle(open);
    uint32_t first = open->cycle_edge_count;
    for (uint32_t i = open->by[open->edges[start].from]; i != BY_FACT; i = open->by[open->edges[i].from])
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
    for (uint32_t node = 0; node < engine->node_count; node++) {
        for (uint32_t i = open->first_active[node]; i != ISO_NONE; i = open->edges[i].next) {
            uint32_t to = open->edges[i].to;
            if (found >= CYCLES_A_ROUND || (found % LOOK_UP == LOOK_UP - 1 && engine_must_stop(open->engine)))
                return;
            if (open->sorted[node] || open->sorted[to] || engine->rank[node] < engine->rank[to] ||
                !find_path(open, to, node))
                continue;
            keep_cycle(open, i);
            clause_of_cycle(open, open->cycle_count - 1);
            iso_solver_clause(open->solver, open->clause, open->clause_count);
            found++;
        }
    }
}

/* ---- proof ---- */

static bool ask_stop(void *context)
{
    return engine_must_stop(context);
}

static void clause_to_literals(struct open *open, const int *clause, uint32_t count)
{
    const struct engine *engine = open->engine;
    struct iso_evidence *evidence = &engine->result->evidence;
    for (uint32_t i = 0; i < count; i++) {
        const struct variable *variable = &open->variables[clause[i] < 0 ? -clause[i] : clause[i]];
        if (variable->read != ISO_NONE)
            iso_evidence_literal(evidence, literal_reads(engine, variable->read, variable->version, clause[i] > 0));
        else if (clause[i] > 0)
            iso_evidence_literal(evidence, literal_order(engine, variable->version, variable->later));
        else
            iso_evidence_literal(evidence, literal_order(engine, variable->later, variable->version));
    }
}

static void tell_learned(void *context, const int *clause, uint32_t count)
{
    struct open *open = context;
    if (!count)
        return;
    iso_evidence_lemma(&open->engine->result->evidence, ISO_LEMMA_PROPAGATION, ISO_NONE);
    clause_to_literals(open, clause, count);
}

/* The cycles whose clauses, with the reads' choices, have no model; false if the time is up. */
static bool find_core(struct open *open, bool *core)
{
    struct iso_solver *solver = iso_solver_new();
    iso_solver_set_stop(solver, ask_stop, open->engine);
    int *selectors = iso_allocate(((size_t)open->cycle_count + 1) * sizeof *selectors);
    add_choices(open, solver);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        selectors[i] = (int)(open->variable_count + 1 + i);
        clause_of_cycle(open, i);
        add_literal(open, -selectors[i]);
        iso_solver_clause(solver, open->clause, open->clause_count);
    }
    enum iso_solver_answer answer = iso_solver_solve(solver, selectors, open->cycle_count);
    for (uint32_t i = 0; i < open->cycle_count; i++)
        core[i] = answer == ISO_SOLVER_FALSE && iso_solver_failed(solver, selectors[i]);
    iso_free(selectors);
    iso_solver_free(solver);
    return answer == ISO_SOLVER_FALSE;
}

/* Marks what a cycle's lemma rests on, or writes it. An order that is known without a literal has its own
 * lemma. */
static void cycle_to_lemma(struct open *open, struct explanation *explanation, uint32_t cycle, bool write)
{
    const struct engine *engine = open->engine;
    struct iso_evidence *evidence = &engine->result->evidence;
    uint32_t first = open->cycle_first[cycle];
    uint32_t end = cycle + 1 < open->cycle_count ? open->cycle_first[cycle + 1] : open->cycle_edge_count;
    for (uint32_t i = first; i < end; i++) {
        const struct implied *edge = &open->edges[open->cycle_edges[i]];
        bool known_order = edge->kind == ISO_EDGE_RW && edge->version != INITIAL &&
                           open->variables[edge->first < 0 ? -edge->first : edge->first].read != ISO_NONE;
        if (known_order && write)
            explanation_order(explanation, edge->version, edge->later);
        else if (known_order)
            explanation_need_order(explanation, edge->version, edge->later);
        if (!write && edge->kind != ISO_EDGE_WW)
            explanation_need_read(explanation, edge->read);
    }
    if (write) {
        clause_of_cycle(open, cycle);
        iso_evidence_lemma(evidence, ISO_LEMMA_CYCLE, ISO_NONE);
        clause_to_literals(open, open->clause, open->clause_count);
    }
    for (uint32_t i = first; i < end; i++) {
        const struct implied *edge = &open->edges[open->cycle_edges[i]];
        const struct implied *next = &open->edges[open->cycle_edges[i + 1 < end ? i + 1 : first]];
        if (!write) {
            explanation_need_path(explanation, edge->to, next->from);
            continue;
        }
        iso_evidence_edge(evidence, edge->kind == ISO_EDGE_WR ? edge_wr(engine, edge->read, edge->version)
                                    : edge->kind == ISO_EDGE_WW
                                        ? edge_ww(engine, edge->version, edge->later)
                                        : edge_rw(engine, edge->read, edge->version, edge->later));
        explanation_edges(explanation, edge->to, next->from);
    }
}

static enum iso_status prove(struct open *open)
{
    struct engine *engine = open->engine;
    bool *core = iso_allocate_zeroed((size_t)open->cycle_count + 1, sizeof *core);
    if (!find_core(open, core)) {
        iso_free(core);
        return ISO_UNDECIDED;
    }
    struct explanation *explanation = explanation_new(engine);
    struct iso_solver *solver = iso_solver_new();
    iso_solver_set_learn(solver, tell_learned, open);
    iso_solver_set_stop(solver, ask_stop, engine);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        if (core[i])
            cycle_to_lemma(open, explanation, i, false);
    }
    explanation_write(explanation);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        if (!core[i])
            continue;
        cycle_to_lemma(open, explanation, i, true);
        engine->result->cycle_lemma = engine->result->evidence.lemma_count - 1;
    }
    add_choices(open, solver);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        clause_of_cycle(open, i);
        if (core[i])
            iso_solver_clause(solver, open->clause, open->clause_count);
    }
    enum iso_solver_answer answer = iso_solver_solve(solver, NULL, 0);
    iso_evidence_lemma(&engine->result->evidence, ISO_LEMMA_PROPAGATION, ISO_NONE);
    iso_solver_free(solver);
    explanation_free(explanation);
    iso_free(core);
    return answer == ISO_SOLVER_FALSE ? ISO_VIOLATED : ISO_UNDECIDED;
}

/* ---- rounds ---- */

static enum iso_status run_rounds(struct open *open)
{
    struct engine *engine = open->engine;
    struct iso_polygraph_counters *counters = &engine->result->counters;
    for (;;) {
        counters->solver_calls++;
        enum iso_solver_answer answer = iso_solver_solve(open->solver, NULL, 0);
        counters->solver_cycles = open->cycle_count;
        if (answer == ISO_SOLVER_FALSE)
            return prove(open);
        if (answer == ISO_SOLVER_STOPPED || engine_must_stop(engine))
            return ISO_UNDECIDED;
        activate(open);
        if (sort_model(open))
            return ISO_OK;
        add_cycles(open);
    }
}

enum iso_status solve_everything(struct engine *engine)
{
    struct open open = {.engine = engine};
    if (!build(&open)) {
        release(&open);
        return ISO_UNDECIDED;
    }
    enum iso_status status = ISO_OK;
    engine->result->counters.solver_variables = open.variable_count;
    if (open.variable_count && engine->options->no_solver) {
        status = ISO_UNDECIDED;
        engine->result->reason = "steps-switched-off";
    } else if (open.variable_count) {
        open.solver = iso_solver_new();
        iso_solver_set_stop(open.solver, ask_stop, engine);
        add_choices(&open, open.solver);
        /* every variable must be known to the solver */
        for (uint32_t i = 1; i <= open.variable_count; i++)
            iso_solver_clause(open.solver, (int[]){(int)i, -(int)i}, 2);
        status = run_rounds(&open);
    }
    release(&open);
    return status;
}
