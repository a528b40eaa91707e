/* Reads that may have seen one of several writers, as the solver's variables: one for each read and
 * candidate, "it saw this one". Variables are numbered from 1.
 */
#pragma once

#include "solver/solver.h"
#include "weak/weak_private.h"

struct weak_choices {
    struct weak *weak;
    uint32_t *first; /* by read: its first variable; ISO_NONE: it has no choice. NULL: none has */
    uint32_t variables; /* behind the last one */
    uint32_t *read_of;  /* by variable */
};

/* Too many of them: `weak->budget.stop_reason`. */
void weak_choices_init(struct weak_choices *choices, struct weak *weak);
void weak_choices_release(struct weak_choices *choices);

/* Each open read has one of its candidates. */
void weak_choices_add(const struct weak_choices *choices, struct iso_solver *solver);

/* Fills `read_writer`: of the candidates that the solver's model allows (NULL: all), the last one
 * before the reader in the order. */
void weak_choices_make(const struct weak_choices *choices, struct iso_solver *asked);

/* Nothing is chosen. */
void weak_choices_open(const struct weak_choices *choices);

int weak_choices_variable(const struct weak_choices *choices, uint32_t read, uint32_t write);
struct iso_literal weak_choices_literal(const struct weak_choices *choices, int literal);

/* How many rounds there are before it is undecided. */
uint32_t weak_choices_rounds(const struct weak *weak);
