/* No model: the cycles that this rests on become lemmas, then what the solver learns from them in a
 * second proof. */
#include <assert.h>

#include "polygraph/solving/solve.h"

static void clause_to_literals(struct open *open, const int *clause, uint32_t count)
{
    const struct engine *engine = open->engine;
    struct iso_evidence *evidence = &engine->result->evidence;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = (uint32_t)(clause[i] < 0 ? -clause[i] : clause[i]);
        assert(number && number <= open->variable_count);
        const struct variable *variable = &open->variables[number];
        if (variable->read == PLACED)
            iso_evidence_literal(evidence, literal_placed(engine, number - open->first_placed,
                                                          placement_clauses_is_placed(
                                                              open->clauses_of_lists, clause[i])));
        else if (variable->read != ISO_NONE)
            iso_evidence_literal(
                evidence, literal_reads(engine, variable->read, variable->version, clause[i] > 0));
        else if (clause[i] > 0)
            iso_evidence_literal(evidence,
                                 literal_order(engine, variable->version, variable->later));
        else
            iso_evidence_literal(evidence,
                                 literal_order(engine, variable->later, variable->version));
    }
}

static void emit_learned(void *context, const int *clause, uint32_t count)
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
    iso_solver_set_stop(solver, engine_ask_stop, open->engine);
    int *selectors = iso_allocate(((size_t)open->cycle_count + 1) * sizeof *selectors);
    open_add_choices(open, solver);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        selectors[i] = (int)(open->variable_count + 1 + i);
        open_clause_of_cycle(open, i);
        open_add_literal(open, -selectors[i]);
        iso_solver_clause(solver, open->clause, open->clause_count);
    }
    enum iso_solver_answer answer = iso_solver_solve(solver, selectors, open->cycle_count);
    assert(answer != ISO_SOLVER_TRUE); /* without the cycles that are left out it had none */
    for (uint32_t i = 0; i < open->cycle_count; i++)
        core[i] = answer == ISO_SOLVER_FALSE && iso_solver_failed(solver, selectors[i]);
    iso_free(selectors);
    iso_solver_free(solver);
    return answer == ISO_SOLVER_FALSE;
}

/* Marks what a cycle's lemma rests on, or writes it. An order that is known without a literal has
 * its own lemma. */
static void cycle_to_lemma(struct open *open, struct explanation *explanation, uint32_t cycle,
                           bool write)
{
    const struct engine *engine = open->engine;
    struct iso_evidence *evidence = &engine->result->evidence;
    uint32_t first = open->cycle_first[cycle];
    uint32_t end =
        cycle + 1 < open->cycle_count ? open->cycle_first[cycle + 1] : open->cycle_edge_count;
    for (uint32_t i = first; i < end; i++) {
        const struct implied *edge = &open->edges[open->cycle_edges[i]];
        bool known_order =
            edge->kind == ISO_EDGE_RW && edge->version != INITIAL &&
            open->variables[edge->first < 0 ? -edge->first : edge->first].read != ISO_NONE;
        if (known_order && write)
            explanation_order(explanation, edge->version, edge->later);
        else if (known_order)
            explanation_need_order(explanation, edge->version, edge->later);
        if (!write && edge->kind != ISO_EDGE_WW)
            explanation_need_read(explanation, edge->read);
    }
    assert(first < end && end <= open->cycle_edge_count);
    if (write) {
        open_clause_of_cycle(open, cycle);
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
        iso_evidence_edge(evidence, edge->kind == ISO_EDGE_WR
                                        ? edge_wr(engine, edge->read, edge->version)
                                    : edge->kind == ISO_EDGE_WW
                                        ? edge_ww(engine, edge->version, edge->later)
                                        : edge_rw(engine, edge->read, edge->version, edge->later));
        explanation_edges(explanation, edge->to, next->from);
    }
}

enum step_result open_prove(struct open *open)
{
    struct engine *engine = open->engine;
    bool *core = iso_allocate_zeroed((size_t)open->cycle_count + 1, sizeof *core);
    if (!find_core(open, core)) {
        iso_free(core);
        return STEP_STOPPED;
    }
    struct explanation *explanation = explanation_new(engine);
    struct iso_solver *solver = iso_solver_new();
    iso_solver_set_learn(solver, emit_learned, open);
    iso_solver_set_stop(solver, engine_ask_stop, engine);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        if (core[i])
            cycle_to_lemma(open, explanation, i, false);
    }
    placement_clauses_need(open->clauses_of_lists, explanation);
    explanation_write(explanation);
    placement_clauses_write(open->clauses_of_lists, explanation);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        if (!core[i])
            continue;
        cycle_to_lemma(open, explanation, i, true);
        engine->result->cycle_lemma = engine->result->evidence.lemma_count - 1;
    }
    open_add_choices(open, solver);
    for (uint32_t i = 0; i < open->cycle_count; i++) {
        open_clause_of_cycle(open, i);
        if (core[i])
            iso_solver_clause(solver, open->clause, open->clause_count);
    }
    enum iso_solver_answer answer = iso_solver_solve(solver, NULL, 0);
    iso_evidence_lemma(&engine->result->evidence, ISO_LEMMA_PROPAGATION, ISO_NONE);
    iso_solver_free(solver);
    explanation_free(explanation);
    iso_free(core);
    return answer == ISO_SOLVER_FALSE ? STEP_CONTRADICTION : STEP_STOPPED;
}
