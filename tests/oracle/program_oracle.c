#include "tests/oracle/program_oracle.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS = 400, READS = 64, LOCALS = 64, ALL_BUT_RC = (1u << ISO_PROVE_RC) - 1 };

/* What a statement of rc chose to see, and what came of it. */
struct statement {
    unsigned seen;   /* transactions, as bits */
    unsigned behind; /* what earlier statements saw, and who claimed before us what we claimed */
};

struct transaction {
    bool aborted;
    bool wrote[PROGRAM_ORACLE_CELLS], claimed[PROGRAM_ORACLE_CELLS];
    int64_t values[PROGRAM_ORACLE_CELLS];
    struct statement statements[READS];
    unsigned statement_count;
};

struct run {
    const struct iso_prove_program *program;
    struct program_oracle *oracle;
    unsigned digits[DIGITS], bases[DIGITS], count, at;
    bool rc, keep;
    unsigned n, order[PROGRAM_ORACLE_MOST], place[PROGRAM_ORACLE_MOST];
    unsigned sees[PROGRAM_ORACLE_MOST]; /* bits */
    int64_t inputs[PROGRAM_ORACLE_CELLS * 4], initial[PROGRAM_ORACLE_CELLS],
        state[PROGRAM_ORACLE_CELLS];
    struct transaction transactions[PROGRAM_ORACLE_MOST];
    int mode; /* 0: a body, 1: initial values, 2: the state */
    unsigned self;
    int64_t locals[LOCALS];
    bool chosen, started, aborted, returned;
    bool aborts,
        impossible; /* something in the program can abort; this is no execution, whatever comes */
    unsigned seen, behind, must; /* `must`: what was behind us when this statement began */
};

/* The next digit of this execution, below `base`. */
static unsigned choose(struct run *run, unsigned base)
{
    if (run->at == run->count) {
        if (run->count == DIGITS)
            abort();
        run->digits[run->count] = 0;
        run->bases[run->count++] = base;
    }
    return run->digits[run->at++];
}

/* To the next execution; false: that was the last one. */
static bool advance(struct run *run)
{
    while (run->count && run->digits[run->count - 1] + 1 == run->bases[run->count - 1])
        run->count--;
    if (run->count)
        run->digits[run->count - 1]++;
    return run->count > 0;
}

static bool in_session(const struct run *run, unsigned a, unsigned b)
{
    const struct iso_prove_instance *list = run->program->instances.list;
    return a < b && list[a].session != ISO_NONE && list[a].session == list[b].session;
}

/* All that come before, and all of the session that come before. */
static unsigned before(const struct run *run, unsigned t)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < run->n; i++)
        bits |= run->place[i] < run->place[t] ? 1u << i : 0;
    return bits;
}

static unsigned session_of(const struct run *run, unsigned t)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < run->n; i++)
        bits |= in_session(run, i, t) ? 1u << i : 0;
    return bits;
}

/* Any set between `must` and `may`. */
static unsigned choose_set(struct run *run, unsigned must, unsigned may)
{
    unsigned set = must;
    for (unsigned i = 0; i < run->n; i++)
        if ((may & ~must) >> i & 1 && choose(run, 2))
            set |= 1u << i;
    return set;
}

static unsigned committed(const struct run *run)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < run->n; i++)
        bits |= run->transactions[i].aborted ? 0 : 1u << i;
    return bits;
}

/* Whoever is in the set has with it all that come before. */
static bool prefix(const struct run *run, unsigned set)
{
    unsigned there = committed(run);
    for (unsigned i = 0; i < run->n; i++)
        if ((set & there) >> i & 1 && before(run, i) & there & ~set)
            return false;
    return true;
}

/* rc's axiom, of who does not abort. */
static bool allowed(const struct run *run, const struct statement *statement)
{
    return prefix(run, statement->seen) && !(statement->behind & committed(run) & ~statement->seen);
}

static int64_t visible(const struct run *run, unsigned cell, unsigned set)
{
    int64_t value = run->initial[cell];
    for (unsigned i = 0; i < run->n; i++)
        if (set >> run->order[i] & 1 && run->transactions[run->order[i]].wrote[cell])
            value = run->transactions[run->order[i]].values[cell];
    return value;
}

static int64_t read_cell(struct run *run, unsigned cell)
{
    struct transaction *own = &run->transactions[run->self];
    if (run->mode)
        return run->mode == 1 ? run->initial[cell] : run->state[cell];
    if (own->wrote[cell])
        return own->values[cell];
    if (!run->rc)
        return visible(run, cell, run->sees[run->self]);
    if (own->claimed[cell])
        return visible(run, cell, before(run, run->self));
    if (!run->chosen) {
        run->seen = choose_set(run, session_of(run, run->self), before(run, run->self));
        own->statements[own->statement_count] = (struct statement){run->seen, run->must};
        run->impossible = run->impossible ||
                          (!run->aborts && !allowed(run, &own->statements[own->statement_count]));
        own->statement_count++;
        run->chosen = true;
    }
    return visible(run, cell, run->seen);
}

static int64_t value_of(struct run *run, uint32_t number)
{
    const struct iso_prove_expression *e = &run->program->expressions.list[number];
    int64_t a, b, all = 0;
    switch (e->op) {
    case ISO_PROVE_CONSTANT:
        return e->value;
    case ISO_PROVE_LOCAL:
        return run->locals[e->a];
    case ISO_PROVE_INPUT:
        return run->inputs[e->a];
    case ISO_PROVE_READ:
        a = value_of(run, e->b);
        return a < 0 || a >= run->program->tables.list[e->a].rows
                   ? 0
                   : read_cell(run, run->program->tables.list[e->a].first_cell + (unsigned)a);
    case ISO_PROVE_NOT:
        return !value_of(run, e->a);
    case ISO_PROVE_NEGATE:
        return -value_of(run, e->a);
    case ISO_PROVE_AND:
        return value_of(run, e->a) ? value_of(run, e->b) != 0 : 0;
    case ISO_PROVE_OR:
        return value_of(run, e->a) ? 1 : value_of(run, e->b) != 0;
    case ISO_PROVE_CHOOSE:
        return value_of(run, value_of(run, e->a) ? e->b : e->c);
    default:
        break;
    }
    if (e->op < ISO_PROVE_SUM) {
        a = value_of(run, e->a);
        b = value_of(run, e->b);
        return e->op == ISO_PROVE_ADD             ? a + b
               : e->op == ISO_PROVE_SUBTRACT      ? a - b
               : e->op == ISO_PROVE_MULTIPLY      ? a * b
               : e->op == ISO_PROVE_EQUAL         ? a == b
               : e->op == ISO_PROVE_UNEQUAL       ? a != b
               : e->op == ISO_PROVE_LESS          ? a < b
               : e->op == ISO_PROVE_LESS_EQUAL    ? a <= b
               : e->op == ISO_PROVE_GREATER       ? a > b
               : e->op == ISO_PROVE_GREATER_EQUAL ? a >= b
                                                  : 0;
    }
    a = value_of(run, e->b);
    b = value_of(run, e->c);
    all = e->op == ISO_PROVE_FORALL;
    for (int64_t i = a; i <= b; i++) {
        run->locals[e->a] = i;
        int64_t body = value_of(run, e->d);
        all = e->op == ISO_PROVE_SUM       ? all + body
              : e->op == ISO_PROVE_COUNT   ? all + (body != 0)
              : e->op == ISO_PROVE_MAXIMUM ? (i == a || body > all ? body : all)
              : e->op == ISO_PROVE_FORALL  ? all && body
                                           : all || body;
    }
    return all;
}

static void run_steps(struct run *run, uint32_t number);

static void run_step(struct run *run, const struct iso_prove_step *step)
{
    struct transaction *own = &run->transactions[run->self];
    int64_t a, b, done = 0;
    if (!step->continued || !run->started) {
        if (run->chosen)
            run->behind |= run->seen;
        run->must = run->behind;
        run->chosen = false;
        run->started = true;
    }
    switch (step->kind) {
    case ISO_PROVE_LET:
        a = value_of(run, step->value);
        run->locals[step->local] = a;
        return;
    case ISO_PROVE_IF:
        run_steps(run, value_of(run, step->value) ? step->block : step->otherwise);
        return;
    case ISO_PROVE_FOR:
        a = value_of(run, step->value);
        b = value_of(run, step->bound);
        for (; a <= b && !run->aborted && !run->returned; a++) {
            run->locals[step->local] = a;
            run_steps(run, step->block);
        }
        return;
    case ISO_PROVE_ABORT:
        run->aborted = step->value == ISO_NONE || value_of(run, step->value);
        return;
    case ISO_PROVE_RETURN:
        run->returned = true;
        return;
    case ISO_PROVE_WRITE:
    case ISO_PROVE_LOCK:
        break;
    }
    a = value_of(run, step->index);
    if (a >= 0 && a < run->program->tables.list[step->table].rows) {
        unsigned cell = run->program->tables.list[step->table].first_cell + (unsigned)a;
        own->claimed[cell] = true;
        for (unsigned i = 0; i < run->n; i++)
            if (run->place[i] < run->place[run->self] && run->transactions[i].claimed[cell])
                run->behind |= 1u << i;
        done = step->where == ISO_NONE || value_of(run, step->where);
        if (done && step->kind == ISO_PROVE_WRITE) {
            int64_t value = value_of(run, run->program->values.list[step->first_value]);
            own->values[cell] = value;
            own->wrote[cell] = true;
        }
    } else if (step->kind == ISO_PROVE_WRITE) {
        value_of(run, run->program->values.list[step->first_value]);
    }
    if (step->local != ISO_NONE)
        run->locals[step->local] = done;
}

static void run_steps(struct run *run, uint32_t number)
{
    for (; number != ISO_NONE && !run->aborted && !run->returned && !run->impossible;
         number = run->program->steps.list[number].next)
        run_step(run, &run->program->steps.list[number]);
}

static void run_transaction(struct run *run, unsigned t)
{
    const struct iso_prove_instance *instance = &run->program->instances.list[t];
    const struct iso_prove_template *template = &run->program->templates.list[instance->template];
    struct transaction *own = &run->transactions[t];
    memset(own, 0, sizeof *own);
    run->self = t;
    run->chosen = run->started = run->aborted = run->returned = false;
    run->behind = session_of(run, t);
    for (uint32_t i = 0; i < template->parameters; i++)
        run->locals[i] = value_of(run, run->program->values.list[instance->first_argument + i]);
    run_steps(run, template->block);
    own->aborted = run->aborted;
    if (run->aborted) {
        memset(own->wrote, 0, sizeof own->wrote);
        memset(own->claimed, 0, sizeof own->claimed);
    }
}

/* ---- axioms, of committed transactions ---- */

static bool closed(const struct run *run, unsigned set)
{
    for (unsigned i = 0; i < run->n; i++)
        if ((set & committed(run)) >> i & 1 && run->sees[i] & committed(run) & ~set)
            return false;
    return true;
}

static bool apart(const struct run *run, unsigned t)
{
    for (unsigned u = 0; u < run->n; u++)
        for (unsigned cell = 0; cell < run->program->cells; cell++)
            if (run->place[u] < run->place[t] && !(run->sees[t] >> u & 1) &&
                run->transactions[t].claimed[cell] && run->transactions[u].wrote[cell])
                return false;
    return true;
}

/* What the axioms of `t` leave, which are about it and those that come before it: none needs one
 * that comes behind. */
static unsigned levels_of(const struct run *run, unsigned t)
{
    unsigned levels = run->rc ? 1u << ISO_PROVE_RC : ALL_BUT_RC;
    const struct transaction *own = &run->transactions[t];
    if (own->aborted)
        return levels;
    for (unsigned i = 0; run->rc && i < own->statement_count; i++)
        if (!allowed(run, &own->statements[i]))
            return 0;
    if (run->rc)
        return levels;
    if (!closed(run, run->sees[t]))
        levels &= ~(1u << ISO_PROVE_CC | 1u << ISO_PROVE_PSI);
    if (!prefix(run, run->sees[t]))
        levels &= ~(1u << ISO_PROVE_PC | 1u << ISO_PROVE_SI);
    if (!apart(run, t))
        levels &= ~(1u << ISO_PROVE_PSI | 1u << ISO_PROVE_SI);
    if (before(run, t) & committed(run) & ~run->sees[t])
        levels &= ~(1u << ISO_PROVE_SER);
    return levels;
}

static bool broken(struct run *run, enum iso_prove_rule_kind kind)
{
    for (uint32_t i = 0; i < run->program->rules.count; i++)
        if (run->program->rules.list[i].kind == kind &&
            !value_of(run, run->program->rules.list[i].expression))
            return true;
    return false;
}

static void find_state(struct run *run, unsigned set)
{
    for (unsigned cell = 0; cell < run->program->cells; cell++)
        run->state[cell] = visible(run, cell, set);
    run->mode = 2;
}

static void keep_state(struct run *run, unsigned levels)
{
    struct program_oracle *oracle = run->oracle;
    uint32_t cells = run->program->cells;
    for (uint32_t i = 0; i < oracle->state_count; i++)
        if (!memcmp(oracle->states[i].values, run->state, cells * sizeof *run->state)) {
            oracle->states[i].levels |= levels;
            return;
        }
    if (oracle->state_count == oracle->state_capacity) {
        oracle->state_capacity = 2 * oracle->state_capacity + 16;
        oracle->states = realloc(oracle->states, oracle->state_capacity * sizeof *oracle->states);
        if (!oracle->states)
            abort();
    }
    struct program_oracle_state *made = &oracle->states[oracle->state_count++];
    memset(made, 0, sizeof *made);
    memcpy(made->values, run->state, cells * sizeof *run->state);
    made->levels = levels;
}

static void look_at_moments(struct run *run, unsigned levels)
{
    for (unsigned set = 0; set < 1u << run->n; set++) {
        unsigned there = levels & 1u << ISO_PROVE_RA;
        if (!run->rc && closed(run, set))
            there |= levels & (1u << ISO_PROVE_CC | 1u << ISO_PROVE_PSI);
        if (prefix(run, set))
            there |= levels & (1u << ISO_PROVE_PC | 1u << ISO_PROVE_SI | 1u << ISO_PROVE_SER |
                               1u << ISO_PROVE_RC);
        find_state(run, set);
        if (there && broken(run, ISO_PROVE_INVARIANT))
            run->oracle->violated |= there;
    }
}

/* One execution by the digits. False: they are none. */
static void execute(struct run *run, unsigned wanted)
{
    const struct iso_prove_program *program = run->program;
    unsigned left = 0, slot = 0, levels = wanted;
    run->at = 0;
    run->impossible = false;
    run->mode = 1;
    for (uint32_t i = 0; i < program->inputs.count; i++)
        run->inputs[i] =
            program->inputs.list[i].least +
            choose(run,
                   (unsigned)(program->inputs.list[i].most - program->inputs.list[i].least) + 1);
    for (uint32_t i = 0; i < program->tables.count; i++)
        for (uint32_t j = 0; j < program->tables.list[i].rows; j++)
            run->initial[slot++] = value_of(run, program->tables.list[i].initial[j]);
    if (broken(run, ISO_PROVE_ASSUME))
        return;
    for (unsigned i = 0; i < run->n;
         i++) { /* a permutation: the i-th is one of those that are left */
        unsigned skip = choose(run, run->n - i), t = 0;
        while (left >> t & 1 || skip)
            skip -= !(left >> t++ & 1);
        left |= 1u << t;
        run->order[i] = t;
        run->place[t] = i;
    }
    for (unsigned i = 0; i < run->n; i++)
        for (unsigned j = 0; j < run->n; j++)
            if (in_session(run, i, j) && run->place[i] > run->place[j])
                return;
    for (unsigned i = 0; i < run->n; i++) {
        unsigned t = run->order[i];
        run->mode = 0;
        if (!run->rc)
            run->sees[t] = choose_set(run, session_of(run, t), before(run, t));
        run_transaction(run, t);
        levels &= levels_of(run, t);
        if (!levels || run->impossible) /* whatever comes behind it, this is no execution */
            return;
    }
    run->oracle->executions++;
    find_state(run, (1u << run->n) - 1);
    if (broken(run, ISO_PROVE_ASSERT))
        run->oracle->violated |= levels;
    if (run->keep)
        keep_state(run, levels);
    for (uint32_t i = 0; i < program->rules.count; i++)
        if (program->rules.list[i].kind == ISO_PROVE_INVARIANT) {
            look_at_moments(run, levels);
            break;
        }
}

void program_oracle_run(struct program_oracle *oracle, const struct iso_prove_program *program,
                        unsigned levels, uint64_t most, bool states)
{
    *oracle = (struct program_oracle){.violated = 0};
    for (int rc = 0; rc < 2; rc++) {
        unsigned wanted = levels & (rc ? 1u << ISO_PROVE_RC : ALL_BUT_RC);
        struct run *run = calloc(1, sizeof *run);
        if (!run)
            abort();
        run->program = program;
        run->oracle = oracle;
        run->rc = rc;
        run->keep = states;
        for (uint32_t i = 0; i < program->steps.count; i++)
            run->aborts = run->aborts || program->steps.list[i].kind == ISO_PROVE_ABORT;
        run->n = program->instances.count;
        uint64_t rounds = 0;
        if (run->n > PROGRAM_ORACLE_MOST || program->cells > PROGRAM_ORACLE_CELLS)
            abort();
        if (wanted)
            do
                execute(run, wanted);
            while (++rounds < most && advance(run));
        oracle->too_many = oracle->too_many || rounds == most;
        free(run);
    }
}

void program_oracle_release(struct program_oracle *oracle)
{
    free(oracle->states);
    *oracle = (struct program_oracle){.violated = 0};
}
