/* Variables of what is open, and the edges that follow from them. */
#include "polygraph/solving/solve.h"

#include <assert.h>

enum { LOOK_UP = 64 }; /* steps between looks at the clock on the wall */

static uint64_t pair_of(uint32_t a, uint32_t b)
{
    return a < b ? iso_number_pair(a, b) : iso_number_pair(b, a);
}

uint32_t open_add_variable(struct open *open, struct variable variable)
{
    ISO_RESERVE_COLUMN(open->variables, open->variable_count + 2, open->variable_capacity);
    open->variables[++open->variable_count] = variable;
    return open->variable_count;
}

/* The literal "version before later". */
static int literal_of_pair(struct open *open, uint32_t version, uint32_t later)
{
    const struct engine *engine = open->engine;
    uint32_t x = engine->versions.transaction[version], y = engine->versions.transaction[later];
    assert(x != y);
    uint32_t variable = iso_number_map_get(&open->pairs, pair_of(x, y));
    if (variable == ISO_NONE) {
        bool forward =
            engine->graph.rank[node_begin(engine, x)] < engine->graph.rank[node_begin(engine, y)];
        variable = open_add_variable(open, (struct variable){ISO_NONE, forward ? version : later,
                                                             forward ? later : version});
        iso_number_map_put(&open->pairs, pair_of(x, y), variable);
    }
    return engine->versions.transaction[open->variables[variable].version] == x ? (int)variable
                                                                                : -(int)variable;
}

int open_literal_of_order(const struct open *open, uint32_t version, uint32_t later)
{
    const struct engine *engine = open->engine;
    uint32_t x = engine->versions.transaction[version], y = engine->versions.transaction[later];
    uint32_t variable = iso_number_map_get(&open->pairs, pair_of(x, y));
    if (variable == ISO_NONE)
        return 0;
    return engine->versions.transaction[open->variables[variable].version] == x ? (int)variable
                                                                                : -(int)variable;
}

static void add_reads(struct open *open)
{
    struct engine *engine = open->engine;
    open->first_open_read = iso_numbers_none(engine->versions.count);
    open->next_open_read = iso_numbers(engine->candidates.total);
    open->candidate_variable = iso_allocate(((size_t)engine->candidates.total + 1) * sizeof(int));
    open->candidate_read = iso_allocate(((size_t)engine->candidates.total + 1) * sizeof(uint32_t));
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t first = engine->candidates.first[read];
        if (engine->reads.writer[read] != OPEN)
            continue;
        for (uint32_t i = first; i < first + engine->candidates.count[read]; i++) {
            uint32_t version = engine->candidates.version[i];
            open->candidate_variable[i] =
                (int)open_add_variable(open, (struct variable){read, version, ISO_NONE});
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
    assert(edge.first && edge.from != edge.to);
    if (reaches(open->engine, edge.from, edge.to))
        return;
    if (open->edge_count == open->edge_capacity) {
        size_t old = open->edge_capacity, next = iso_column_capacity(old, old + 1);
        open->edges = iso_column_grow(open->edges, old * sizeof edge, next * sizeof edge);
        open->edge_capacity = (uint32_t)next;
    }
    open->edges[open->edge_count++] = edge;
}

static void add_rw(struct open *open, uint32_t read, uint32_t version, uint32_t later, int first,
                   int second)
{
    const struct engine *engine = open->engine;
    if (engine->reads.transaction[read] != engine->versions.transaction[later])
        add_implied(open,
                    (struct implied){.kind = ISO_EDGE_RW,
                                     .first = first,
                                     .second = second,
                                     .read = read,
                                     .from = node_begin(engine, engine->reads.transaction[read]),
                                     .to = version_commit(engine, later),
                                     .version = version,
                                     .later = later});
}

/* Adds the edges that follow if `version` comes before `later`. */
static void add_order(struct open *open, uint32_t version, uint32_t later, int literal)
{
    const struct engine *engine = open->engine;
    add_implied(open, (struct implied){.kind = ISO_EDGE_WW,
                                       .first = literal,
                                       .from = version_commit(engine, version),
                                       .to = version_begin(engine, later),
                                       .version = version,
                                       .later = later});
    for (uint32_t read = engine->versions.reader[version]; read != ISO_NONE;
         read = engine->reads.next[read])
        add_rw(open, read, version, later, literal, 0);
    for (uint32_t i = open->first_open_read[version]; i != ISO_NONE; i = open->next_open_read[i])
        add_rw(open, open->candidate_read[i], version, later, literal, open->candidate_variable[i]);
}

/* The versions of a span, after v in the numbering, whose order with v is open. Without saturation
 * all are: what the clocks say has not been drawn into edges. */
static void open_span(const struct open *open, uint32_t v, uint32_t span, uint32_t range[2])
{
    const struct engine *engine = open->engine;
    uint32_t chain = engine->spans.chain[span];
    range[0] = engine->spans.version[span];
    range[1] = engine->spans.version[span + 1];
    if (engine->options->no_saturation) {
        range[0] = range[0] > v ? range[0] : v + 1;
    } else if (chain <= engine->chains.of[engine->versions.transaction[v]]) {
        range[1] = range[0];
    } else {
        uint32_t latest =
            span_latest_begin(engine, span, clock_of(engine, version_commit(engine, v))[chain]);
        range[0] = latest == ISO_NONE ? range[0] : latest + 1;
        range[1] = span_first_after(engine, span, v);
    }
}

/* False: out of time or memory. */
static bool add_pairs_of_key(struct open *open, uint32_t key)
{
    struct engine *engine = open->engine;
    ISO_EACH(v, engine->versions.first, key) {
        if (v % LOOK_UP == 0 && engine_must_stop(engine))
            return false;
        ISO_EACH(span, engine->spans.first, key) {
            uint32_t range[2];
            open_span(open, v, span, range);
            for (uint32_t u = range[0]; u < range[1]; u++) {
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
    uint32_t version = engine->candidates.version[candidate], key = engine->reads.key[read];
    int literal = open->candidate_variable[candidate];
    if (version != INITIAL)
        add_implied(open,
                    (struct implied){.kind = ISO_EDGE_WR,
                                     .first = literal,
                                     .from = version_commit(engine, version),
                                     .to = node_begin(engine, engine->reads.transaction[read]),
                                     .read = read,
                                     .version = version});
    ISO_EACH(span, engine->spans.first, key) {
        uint32_t later = version == INITIAL ? engine->spans.version[span]
                                            : span_first_after(engine, span, version);
        later += later == version;
        if (later < engine->spans.version[span + 1])
            add_rw(open, read, version, later, literal, 0);
    }
}

void open_add_choices(const struct open *open, struct iso_solver *solver)
{
    const struct engine *engine = open->engine;
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t first = engine->candidates.first[read];
        if (engine->reads.writer[read] == OPEN)
            iso_solver_clause(solver, open->candidate_variable + first,
                              engine->candidates.count[read]);
    }
    placement_clauses_add_clauses(open, solver);
}

bool open_build(struct open *open)
{
    const struct engine *engine = open->engine;
    add_reads(open);
    for (uint32_t key = 0; key < engine->history->keys.count; key++) {
        if (!add_pairs_of_key(open, key))
            return false;
    }
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t first = engine->candidates.first[read];
        for (uint32_t i = first;
             engine->reads.writer[read] == OPEN && i < first + engine->candidates.count[read]; i++)
            add_candidate(open, read, i);
    }
    placement_clauses_new(open);
    size_t nodes = (size_t)engine->graph.node_count + 1;
    open->first_active = iso_allocate(nodes * sizeof *open->first_active);
    open->degree = iso_allocate(nodes * sizeof *open->degree);
    open->sorted = iso_allocate(nodes * sizeof *open->sorted);
    open->distance = iso_allocate(nodes * sizeof *open->distance);
    open->by = iso_allocate(nodes * sizeof *open->by);
    open->visited = iso_allocate_zeroed(nodes, sizeof *open->visited);
    open->deque = iso_allocate(4 * nodes * sizeof *open->deque);
    return true;
}

void open_release(struct open *open)
{
    iso_solver_free(open->solver);
    placement_clauses_free(open->clauses_of_lists);
    ISO_FREE_COLUMN(open->variables, open->variable_capacity);
    ISO_FREE_COLUMN(open->edges, open->edge_capacity);
    iso_number_map_release(&open->pairs);
    ISO_FREE_ALL(open->first_open_read, open->next_open_read, open->candidate_variable,
                 open->candidate_read, open->first_active, open->degree, open->sorted,
                 open->distance, open->by, open->visited, open->deque, open->cycle_edges,
                 open->cycle_first, open->clause);
}

/* ---- clauses ---- */

void open_add_literal(struct open *open, int literal)
{
    assert(literal);
    for (uint32_t i = 0; i < open->clause_count; i++) {
        if (open->clause[i] == literal)
            return;
    }
    ISO_PUSH(open->clause, open->clause_count, open->clause_capacity, literal);
}

void open_clause_of_cycle(struct open *open, uint32_t cycle)
{
    assert(cycle < open->cycle_count);
    open->clause_count = 0;
    uint32_t end =
        cycle + 1 < open->cycle_count ? open->cycle_first[cycle + 1] : open->cycle_edge_count;
    for (uint32_t i = open->cycle_first[cycle]; i < end; i++) {
        const struct implied *edge = &open->edges[open->cycle_edges[i]];
        open_add_literal(open, -edge->first);
        if (edge->second)
            open_add_literal(open, -edge->second);
    }
}
