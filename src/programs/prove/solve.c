#include "prove/solve.h"

#include <assert.h>

#include "base/memory.h"

enum { FALSE_TERM, TRUE_TERM };

static const char time_is_up[] = "the time is up";

/* Everything to the solver. False: the time is up meanwhile. */
static bool feed(struct prove_question *question)
{
    const struct prove_bits *bits = &question->bits;
    size_t first = 0;
    for (size_t i = 0; i < bits->clauses.count; i++) {
        if (!(i & 8191) && iso_prove_stop_asked(&bits->stop))
            return false;
        if (!bits->clauses.list[i]) {
            iso_solver_clause(question->solver, bits->clauses.list + first, (uint32_t)(i - first));
            first = i + 1;
        }
    }
    return true;
}

void prove_question_init(struct prove_question *question, struct prove_system *system,
                         enum iso_prove_level level, const uint32_t *more, uint32_t count)
{
    *question = (struct prove_question){.stopped = NULL};
    prove_encode(&question->encoding, system, level);
    prove_bits_init(&question->bits, &system->terms);
    question->bits.stop = system->stop;
    question->solver = iso_solver_new();
    if (system->stop.ask)
        iso_solver_set_stop(question->solver, system->stop.ask, system->stop.context);
    uint32_t *all = iso_allocate((count + 3) * sizeof *all);
    for (uint32_t i = 0; i < count; i++)
        all[i] = more[i];
    all[count] = question->encoding.wrong;
    all[count + 1] = question->encoding.strict;
    all[count + 2] = system->unrolled;
    if (!question->encoding.stopped)
        prove_bits_encode(&question->bits, &question->encoding, all, count + 3);
    iso_free(all);
    if (iso_prove_stop_asked(&system->stop))
        question->stopped = time_is_up;
    else if (question->encoding.stopped || question->bits.stopped)
        question->stopped = "the program is too large";
    else if (!feed(question))
        question->stopped = time_is_up;
}

void prove_question_release(struct prove_question *question)
{
    iso_solver_free(question->solver);
    prove_bits_release(&question->bits);
    prove_encoding_release(&question->encoding);
}

enum iso_solver_answer prove_question_ask(struct prove_question *question, const uint32_t *terms,
                                          uint32_t count)
{
    int *literals = iso_allocate((count + 1) * sizeof *literals);
    enum iso_solver_answer answer = ISO_SOLVER_STOPPED;
    bool impossible = false;
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct prove_term *term = &question->encoding.system->terms.list[terms[i]];
        impossible = impossible || terms[i] == FALSE_TERM;
        if (terms[i] > TRUE_TERM && !question->stopped)
            literals[used++] = term->op == PROVE_NOT && !prove_bits_has(&question->bits, terms[i])
                                   ? -prove_bits_literal(&question->bits, term->a)
                                   : prove_bits_literal(&question->bits, terms[i]);
    }
    if (!question->stopped)
        answer = impossible ? ISO_SOLVER_FALSE : iso_solver_solve(question->solver, literals, used);
    if (answer == ISO_SOLVER_STOPPED && !question->stopped)
        question->stopped = time_is_up;
    iso_free(literals);
    return answer;
}

static bool variable_is_true(void *context, int variable)
{
    return iso_solver_value(context, variable);
}

static int64_t value_of(const struct prove_question *question, uint32_t term)
{
    return prove_bits_value(&question->bits, term, variable_is_true, question->solver);
}

/* A relation that nothing needed has no literal: then it is as free as false. */
static bool is_true(const struct prove_question *question, uint32_t term)
{
    const struct prove_terms *terms = &question->encoding.system->terms;
    if (terms->list[term].op == PROVE_NOT)
        return !is_true(question, terms->list[term].a);
    return value_of(question, term) != 0;
}

/* Instances by how many come before them. */
static void read_order(const struct prove_question *question, struct iso_prove_execution *execution)
{
    uint32_t count = execution->count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = 0;
        for (uint32_t j = 0; j < count; j++)
            before += j != i && is_true(question, question->encoding.order[j * count + i]);
        assert(before < count);
        execution->order[before] = i;
    }
}

static void read_snapshots(const struct prove_question *question,
                           struct iso_prove_execution *execution)
{
    const struct prove_system *system = question->encoding.system;
    uint32_t count = execution->count;
    for (uint32_t t = 0; t < count; t++)
        for (uint32_t s = 0; s < system->transactions[t].statements.count; s++) {
            const struct prove_statement *statement = &system->transactions[t].statements.list[s];
            if (!statement->reads)
                continue;
            ISO_GROW(execution->snapshots.list, execution->snapshots.count,
                     execution->snapshots.capacity);
            struct iso_prove_snapshot *made =
                &execution->snapshots.list[execution->snapshots.count++];
            *made =
                (struct iso_prove_snapshot){.instance = t,
                                            .step = statement->step,
                                            .round = statement->round,
                                            .seen = iso_allocate_zeroed(count + 1, sizeof(bool))};
            for (uint32_t u = 0; u < count; u++)
                made->seen[u] = is_true(question, question->encoding.statement[t][s * count + u]);
        }
}

static void question_inputs(const struct prove_question *question,
                            struct iso_prove_execution *execution)
{
    const struct prove_system *system = question->encoding.system;
    for (uint32_t i = 0; i < system->program->inputs.count; i++)
        execution->inputs[i] = value_of(question, system->inputs[i]);
}

static void question_execution(const struct prove_question *question,
                               struct iso_prove_execution *execution)
{
    const struct prove_system *system = question->encoding.system;
    uint32_t count = system->count;
    iso_prove_execution_init(execution, system->program, question->encoding.level);
    question_inputs(question, execution);
    read_order(question, execution);
    for (uint32_t i = 0; i < count; i++)
        execution->moment[i] = is_true(question, question->encoding.moment[i]);
    if (question->encoding.level == ISO_PROVE_RC)
        read_snapshots(question, execution);
    for (uint32_t i = 0; question->encoding.level != ISO_PROVE_RC && i < count * count; i++)
        execution->visible[i] = is_true(question, question->encoding.visible[i]);
}

enum iso_solver_answer prove_ask_terms(struct prove_system *system, const uint32_t *terms,
                                       uint32_t count, struct iso_prove_execution *execution)
{
    struct prove_question question = {.encoding = {.system = system}};
    enum iso_solver_answer answer = ISO_SOLVER_STOPPED;
    prove_bits_init(&question.bits, &system->terms);
    question.bits.all_bounded = true;
    question.bits.stop = system->stop;
    prove_bits_encode(&question.bits, &question.encoding, terms, count);
    question.solver = iso_solver_new();
    if (system->stop.ask)
        iso_solver_set_stop(question.solver, system->stop.ask, system->stop.context);
    if (!question.bits.stopped && feed(&question))
        answer = prove_question_ask(&question, terms, count);
    if (answer == ISO_SOLVER_TRUE && execution) {
        iso_prove_execution_init(execution, system->program, ISO_PROVE_SER);
        question_inputs(&question, execution);
    }
    iso_solver_free(question.solver);
    prove_bits_release(&question.bits);
    return answer;
}

static enum iso_outcome show(struct prove_question *question, struct iso_prove_execution *execution,
                             const char **reason)
{
    question_execution(question, execution);
    const char *wrong = iso_prove_replay(execution);
    if (!wrong && execution->rule != ISO_NONE)
        return ISO_IS_VIOLATED;
    /* Only a fault of ours comes here. It must not become a verdict. */
    *reason = wrong ? wrong : "a counterexample was found that breaks nothing when it is run";
    iso_prove_execution_release(execution);
    return ISO_IS_UNDECIDED;
}

enum iso_outcome prove_solve(struct prove_system *system, enum iso_prove_level level,
                             struct iso_prove_execution *execution, const char **reason)
{
    struct prove_question question;
    enum iso_outcome outcome = ISO_IS_UNDECIDED;
    prove_question_init(&question, system, level, NULL, 0);
    uint32_t wrong = question.encoding.wrong, strict = question.encoding.strict;
    uint32_t rolled = prove_not(&system->terms, system->unrolled);
    enum iso_solver_answer answer = ISO_SOLVER_FALSE;
    if (question.stopped)
        answer = ISO_SOLVER_STOPPED;
    else if (wrong != FALSE_TERM)
        answer = prove_question_ask(&question, (uint32_t[]){wrong, rolled, strict}, 3);
    if (answer == ISO_SOLVER_FALSE && strict != TRUE_TERM && wrong != FALSE_TERM)
        answer = prove_question_ask(&question, (uint32_t[]){wrong, rolled}, 2);
    if (answer == ISO_SOLVER_TRUE) {
        outcome = show(&question, execution, reason);
    } else if (answer == ISO_SOLVER_FALSE) {
        outcome = ISO_HOLDS;
        if (system->unrolled != FALSE_TERM)
            answer = prove_question_ask(&question, &system->unrolled, 1);
        if (answer == ISO_SOLVER_TRUE)
            *reason = "a loop can have more rounds than --unroll allows";
        if (answer != ISO_SOLVER_FALSE)
            outcome = ISO_IS_UNDECIDED;
    }
    if (answer == ISO_SOLVER_STOPPED)
        *reason = question.stopped;
    prove_question_release(&question);
    return outcome;
}
