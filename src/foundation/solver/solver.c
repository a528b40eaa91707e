#include "solver/solver.h"

#include <assert.h>
#include <ccadical.h>

#include <limits.h>

#include "base/memory.h"

struct iso_solver {
    CCaDiCaL *cadical;
    bool (*stop)(void *context);
    void *stop_context;
    void (*learn)(void *context, const int *clause, uint32_t count);
    void *learn_context;
    uint64_t clause_count;
    enum iso_solver_answer answer; /* the last one, until a clause is added */
};

struct iso_solver *iso_solver_new(void)
{
    struct iso_solver *solver = iso_allocate_zeroed(1, sizeof *solver);
    solver->cadical = ccadical_init();
    ccadical_set_option(solver->cadical, "quiet", 1); /* it would write to stdout */
    return solver;
}

void iso_solver_free(struct iso_solver *solver)
{
    if (!solver)
        return;
    ccadical_release(solver->cadical);
    iso_free(solver);
}

static int ask_stop(void *context)
{
    struct iso_solver *solver = context;
    return solver->stop(solver->stop_context);
}

void iso_solver_set_stop(struct iso_solver *solver, bool (*stop)(void *context), void *context)
{
    solver->stop = stop;
    solver->stop_context = context;
    ccadical_set_terminate(solver->cadical, solver, ask_stop);
}

static void report_learned(void *context, int *clause)
{
    struct iso_solver *solver = context;
    uint32_t count = 0;
    while (clause[count])
        count++;
    solver->learn(solver->learn_context, clause, count);
}

void iso_solver_set_learn(struct iso_solver *solver,
                          void (*learn)(void *context, const int *clause, uint32_t count),
                          void *context)
{
    assert(!solver->clause_count);
    solver->learn = learn;
    solver->learn_context = context;
    ccadical_set_option(solver->cadical, "inprocessing", 0);
    ccadical_set_learn(solver->cadical, solver, INT_MAX, report_learned);
}

void iso_solver_clause(struct iso_solver *solver, const int *literals, uint32_t count)
{
    assert(!count || literals);
    for (uint32_t i = 0; i < count; i++) {
        assert(literals[i]); /* 0 would end the clause */
        ccadical_add(solver->cadical, literals[i]);
    }
    solver->clause_count++;
    /* no model, and no failed assumption, of the clauses as they are now */
    solver->answer = ISO_SOLVER_STOPPED;
    ccadical_add(solver->cadical, 0);
}

enum iso_solver_answer iso_solver_solve(struct iso_solver *solver, const int *assumptions,
                                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ccadical_assume(solver->cadical, assumptions[i]);
    int answer = ccadical_solve(solver->cadical);
    solver->answer = answer == 10   ? ISO_SOLVER_TRUE
                     : answer == 20 ? ISO_SOLVER_FALSE
                                    : ISO_SOLVER_STOPPED;
    return solver->answer;
}

bool iso_solver_value(struct iso_solver *solver, int variable)
{
    assert(solver->answer == ISO_SOLVER_TRUE && variable > 0);
    return ccadical_val(solver->cadical, variable) > 0;
}

bool iso_solver_failed(struct iso_solver *solver, int assumption)
{
    assert(solver->answer == ISO_SOLVER_FALSE && assumption);
    return ccadical_failed(solver->cadical, assumption);
}
