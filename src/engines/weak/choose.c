/* Reads whose value several transactions wrote: which of them is meant is a choice, made lazily.
 *
 * First the constraints of all other reads are judged: what they violate no choice mends. Then each
 * read is taken to have seen the last of its candidates before it in the order; where that closes a
 * cycle, the choices that the cycle rests on are a clause (not all of them), and the solver makes
 * others. No choice left: the clauses are the proof, with what the solver learned from them, each
 * line of which unit propagation confirms.
 */
#include <assert.h>

#include "weak/choices.h"

/* A round costs a sweep and a sorting of all: how many there are before it is undecided follows
 * from the size, so that the answer is the same on each machine.
 */
enum { MOST_ROUNDS = 20000, LEAST_ROUNDS = 64, MOST_STEPS = 1000000 };

static uint32_t set_size(const struct weak *weak, uint32_t read)
{
    uint32_t set = weak->problem.reads.set[read];
    return weak->problem.writer_sets.first[set + 1] - weak->problem.writer_sets.first[set];
}

static uint32_t candidate(const struct weak *weak, uint32_t read, uint32_t index)
{
    return weak->problem.writer_sets
        .member[weak->problem.writer_sets.first[weak->problem.reads.set[read]] + index];
}

static bool is_own(const struct weak *weak, uint32_t read, uint32_t write)
{
    assert(read < weak->problem.reads.count);
    if (write == INITIAL)
        return false;
    const uint32_t *range = &weak->history->txns.first_op[weak->problem.writes.transaction[write]];
    return weak->problem.reads.operation[read] >= range[0] &&
           weak->problem.reads.operation[read] < range[1];
}

void weak_choices_add(const struct weak_choices *choices, struct iso_solver *solver)
{
    const struct weak *weak = choices->weak;
    int *clause = NULL;
    uint32_t capacity = 0;
    for (uint32_t read = 0; choices->first && read < weak->problem.reads.count; read++) {
        uint32_t count = 0;
        if (choices->first[read] == ISO_NONE)
            continue;
        ISO_RESERVE(clause, set_size(weak, read), capacity);
        for (uint32_t i = 0; i < set_size(weak, read); i++) {
            if (!is_own(weak, read, candidate(weak, read, i)))
                clause[count++] = (int)(choices->first[read] + i);
        }
        iso_solver_clause(solver, clause, count);
    }
    iso_free(clause);
}

void weak_choices_init(struct weak_choices *choices, struct weak *weak)
{
    uint64_t next = 1;
    *choices = (struct weak_choices){.weak = weak, .variables = 1};
    if (!weak->problem.reads.open)
        return;
    choices->first = iso_numbers_none(weak->problem.reads.count);
    for (uint32_t read = 0; read < weak->problem.reads.count; read++) {
        if (weak->problem.reads.set[read] == ISO_NONE)
            continue;
        choices->first[read] = (uint32_t)next;
        next += set_size(weak, read);
        if (next >= INT32_MAX / 2) {
            weak->budget.stop_reason = "memory";
            return;
        }
    }
    choices->variables = (uint32_t)next;
    choices->read_of = iso_numbers((size_t)next);
    for (uint32_t read = 0; read < weak->problem.reads.count; read++) {
        for (uint32_t i = 0; choices->first[read] != ISO_NONE && i < set_size(weak, read); i++)
            choices->read_of[choices->first[read] + i] = read;
    }
}

void weak_choices_release(struct weak_choices *choices)
{
    ISO_FREE_ALL(choices->first, choices->read_of);
}

void weak_choices_open(const struct weak_choices *choices)
{
    for (uint32_t read = 0; choices->first && read < choices->weak->problem.reads.count; read++) {
        if (choices->first[read] != ISO_NONE)
            choices->weak->problem.reads.writer[read] = OPEN;
    }
}

void weak_choices_make(const struct weak_choices *choices, struct iso_solver *asked)
{
    struct weak *weak = choices->weak;
    for (uint32_t t = 0; choices->first && t < weak->history->txns.count; t++) {
        ISO_EACH(read, weak->problem.reads.first, t) {
            uint32_t best = OPEN;
            uint64_t best_rank = 0;
            if (choices->first[read] == ISO_NONE)
                continue;
            for (uint32_t i = 0; i < set_size(weak, read); i++) {
                uint32_t write = candidate(weak, read, i);
                if (is_own(weak, read, write) ||
                    (asked && !iso_solver_value(asked, (int)(choices->first[read] + i))))
                    continue;
                uint32_t position =
                    write == INITIAL
                        ? 0
                        : weak->order.position[weak->problem.writes.transaction[write]] + 1;
                /* before the reader: the later the better; behind it: the earlier the better, and
                 * none is good */
                uint64_t rank = position <= weak->order.position[t] ? (uint64_t)position + ISO_NONE
                                                                    : ISO_NONE - 1u - position;
                if (best == OPEN || rank > best_rank) {
                    best = write;
                    best_rank = rank;
                }
            }
            weak->problem.reads.writer[read] = best;
        }
    }
}

int weak_choices_variable(const struct weak_choices *choices, uint32_t read, uint32_t write)
{
    const struct weak *weak = choices->weak;
    for (uint32_t i = 0;; i++) {
        if (candidate(weak, read, i) == write)
            return (int)(choices->first[read] + i);
    }
}

/* Forbids the choices that the cycle rested on: the literals of the last lemma. */
static void forbid(const struct weak_choices *choices, struct iso_solver *solver)
{
    const struct weak *weak = choices->weak;
    int *clause = iso_allocate(((size_t)weak->found.used_count + 1) * sizeof *clause);
    for (uint32_t i = 0; i < weak->found.used_count; i++)
        clause[i] = -weak_choices_variable(choices, weak->found.used[i],
                                           weak->problem.reads.writer[weak->found.used[i]]);
    iso_solver_clause(solver, clause, weak->found.used_count);
    iso_free(clause);
}

struct iso_literal weak_choices_literal(const struct weak_choices *choices, int literal)
{
    uint32_t variable = (uint32_t)(literal < 0 ? -literal : literal),
             read = choices->read_of[variable];
    uint32_t write = candidate(choices->weak, read, variable - choices->first[read]);
    return weak_literal_reads(choices->weak, read, write, literal > 0);
}

/* ---- the proof that no choice is left ---- */

static void learn(void *context, const int *clause, uint32_t count)
{
    const struct weak_choices *choices = context;
    struct weak *weak = choices->weak;
    struct iso_evidence *evidence = &weak->result->evidence;
    if (!count) /* the last lemma says it */
        return;
    iso_evidence_lemma(evidence, ISO_LEMMA_PROPAGATION, ISO_NONE);
    for (uint32_t i = 0; i < count; i++) {
        iso_evidence_literal(evidence, weak_choices_literal(choices, clause[i]));
    }
}

/* The clauses of cycles are lemmas already: those without an order among their literals. */
static void prove(struct weak_choices *choices, const int *clauses, const uint32_t *ends,
                  uint32_t count)
{
    struct iso_solver *solver = iso_solver_new();
    iso_solver_set_learn(solver, learn, choices);
    weak_choices_add(choices, solver);
    for (uint32_t i = 0; i < count; i++)
        iso_solver_clause(solver, clauses + (i ? ends[i - 1] : 0), ends[i] - (i ? ends[i - 1] : 0));
    iso_solver_solve(solver, NULL, 0);
    iso_solver_free(solver);
    iso_evidence_lemma(&choices->weak->result->evidence, ISO_LEMMA_PROPAGATION, ISO_NONE);
}

uint32_t weak_choices_rounds(const struct weak *weak)
{
    uint64_t steps = (uint64_t)weak->chains.part_count + weak->problem.reads.count +
                     weak->problem.writes.count + 1;
    uint64_t rounds = MOST_STEPS / steps;
    return rounds > MOST_ROUNDS    ? MOST_ROUNDS
           : rounds < LEAST_ROUNDS ? LEAST_ROUNDS
                                   : (uint32_t)rounds;
}

enum weak_answer weak_choose(struct weak *weak)
{
    struct weak_choices choices;
    struct iso_solver *solver = iso_solver_new();
    enum weak_answer answer = WEAK_STOPPED;
    int *clauses = NULL;
    uint32_t *ends = NULL, used = 0, capacity = 0, count = 0, end_capacity = 0,
             most = weak_choices_rounds(weak);
    weak_choices_init(&choices, weak);
    if (!weak->budget.stop_reason)
        weak_choices_add(&choices, solver);
    for (uint32_t round = 0; !weak->budget.stop_reason; round++) {
        if (round == most || budget_is_spent(&weak->budget)) {
            weak->budget.stop_reason =
                weak->budget.stop_reason ? weak->budget.stop_reason : "repeated-values";
            break;
        }
        weak_choices_make(&choices, round > 0 ? solver : NULL);
        answer = weak_judge_order(weak);
        if (answer != WEAK_BROKEN)
            break;
        weak_explain_broken(weak);
        weak->found.broken_read = ISO_NONE;
        if (!weak->found.used_count) /* it rests on no choice */
            break;
        forbid(&choices, solver);
        ISO_RESERVE(clauses, (size_t)used + weak->found.used_count, capacity);
        for (uint32_t i = 0; i < weak->found.used_count; i++)
            clauses[used++] = -weak_choices_variable(
                &choices, weak->found.used[i], weak->problem.reads.writer[weak->found.used[i]]);
        ISO_PUSH(ends, count, end_capacity, used);
        weak->result->counters.solver_calls++;
        weak_order_forget(weak);
        if (iso_solver_solve(solver, NULL, 0) == ISO_SOLVER_FALSE) {
            prove(&choices, clauses, ends, count);
            break;
        }
    }
    iso_solver_free(solver);
    weak_choices_release(&choices);
    ISO_FREE_ALL(clauses, ends);
    return weak->budget.stop_reason ? WEAK_STOPPED : answer;
}
