/* What is open, as the solver sees it, shared by choices.c (variables, and the edges that they
 * imply), solve.c (models and their cycles) and prove.c (no model). The idea stands at the top of
 * solve.c.
 */
#pragma once

#include "base/number_map.h"
#include "polygraph/engine_private.h"
#include "solver/solver.h"

/* An edge under one or two literals. `second` 0: one. */
struct implied {
    uint32_t from, to;
    int first, second;
    uint32_t read, version,
        later;     /* WR: read, version; WW: version before later; RW: read of version, later */
    uint32_t next; /* with the same `from`, among those that are active */
    uint32_t kind; /* enum iso_edge_kind */
};

struct variable {
    uint32_t read;           /* ISO_NONE: a pair; PLACED: a placement */
    uint32_t version, later; /* a pair: true is version before later; a read: it reads version */
};

#define PLACED 0xfffffffeu

struct open {
    struct engine *engine;
    struct iso_solver *solver;
    struct variable *variables; /* from 1 */
    uint32_t variable_count, variable_capacity;
    struct implied *edges;
    uint32_t edge_count, edge_capacity;
    struct iso_number_map pairs; /* of transactions: the variable of their order */
    struct placement_clauses *clauses_of_lists;
    uint32_t first_placed; /* the variable of the first placement; the others follow */
    uint32_t *first_open_read,
        *next_open_read;     /* by version; by candidate: candidates of open reads */
    int *candidate_variable; /* by candidate */
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

/* choices.c */
bool open_build(struct open *open); /* false: out of time or memory */
void open_release(struct open *open);
uint32_t open_add_variable(struct open *open, struct variable variable);
int open_literal_of_order(const struct open *open, uint32_t version,
                          uint32_t later); /* 0: that is known */
/* Each open read sees something, and lists are put together somehow. */
void open_add_choices(const struct open *open, struct iso_solver *solver);
void open_add_literal(struct open *open, int literal); /* to `clause` */
void open_clause_of_cycle(struct open *open,
                          uint32_t cycle); /* `clause`: not all edges of a cycle */

/* placement_clauses.c: how lists whose elements repeat may be put together */
/* with its variables; NULL where no elements repeat, also below */
void placement_clauses_new(struct open *open);
void placement_clauses_free(struct placement_clauses *clauses_of_lists);
void placement_clauses_add_clauses(const struct open *open,
                                   struct iso_solver *solver); /* all so far */
bool placement_clauses_is_placed(const struct placement_clauses *clauses_of_lists,
                                 int literal); /* what a literal of a placement says */
bool placement_clauses_agree(
    struct placement_clauses
        *clauses_of_lists); /* the model keeps to them; false: there are more clauses now, ... */
/* ... which this gives the solver */
void placement_clauses_emit(struct placement_clauses *clauses_of_lists);
void placement_clauses_need(const struct placement_clauses *clauses_of_lists,
                            struct explanation *explanation); /* what their lemmas rest on */
void placement_clauses_write(const struct placement_clauses *clauses_of_lists,
                             struct explanation *explanation); /* their lemmas */

/* prove.c: the clauses of the cycles so far have no model: fills in the evidence.
 * STEP_CONTRADICTION; STEP_STOPPED: out of time */
enum step_result open_prove(struct open *open);
