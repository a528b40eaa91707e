#include "prove/system.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "iso/error.h"

enum {
    FALSE_TERM,
    TRUE_TERM,
    WORK = 5000000, /* expressions evaluated in all rounds */
    TERMS = 2000000,
    MANY_UNROLLED = 10000
};

struct range {
    int64_t low, high;
};

/* What a round starts from: how wide reads are, and who may write what. */
struct guess {
    struct range *ranges; /* by slot */
    bool *writers;        /* by transaction and cell */
};

/* Where an execution stands; what branches copy and merge. */
struct state {
    uint32_t *locals, *written, *values, *claimed;
    uint32_t returned, aborted;
};

enum reader { A_BODY, THE_START, THE_END, A_MOMENT };

struct machine {
    struct prove_system *system;
    const struct iso_prove_program *program;
    struct prove_terms *terms;
    const struct guess *guess;
    struct iso_error *error;
    uint32_t unroll;
    uint64_t work;
    bool last; /* the round that counts: what is refused, and what may be out of range, shows here */
    enum reader reader;
    uint32_t instance, locals;
    struct state state;
    uint32_t path; /* the branches taken, as one condition */
    uint32_t statement;
    uint64_t round;
    bool *varies;                                 /* by local: something that was read, or an input, is in it */
    uint32_t *cached, *cached_statement, *newest; /* by slot: variables + 1 of this instance's reads */
};

bool prove_before(const struct iso_prove_program *program, uint32_t a, uint32_t b)
{
    uint32_t session = program->instances.list[a].session;
    return session != ISO_NONE && a < b && program->instances.list[b].session == session;
}

static bool fine(const struct machine *machine)
{
    return machine->error->status == ISO_OK;
}

static uint32_t *copy_terms(const uint32_t *list, uint32_t count)
{
    uint32_t *copied = iso_allocate((count + 1) * sizeof *copied);
    memcpy(copied, list, count * sizeof *copied);
    return copied;
}

static struct state state_copy(const struct machine *machine)
{
    const struct state *state = &machine->state;
    uint32_t cells = machine->program->cells;
    return (struct state){.locals = copy_terms(state->locals, machine->locals),
                          .written = copy_terms(state->written, cells),
                          .values = copy_terms(state->values, machine->system->slots),
                          .claimed = copy_terms(state->claimed, cells),
                          .returned = state->returned,
                          .aborted = state->aborted};
}

static struct state state_new(const struct machine *machine)
{
    uint32_t cells = machine->program->cells;
    return (struct state){.locals = iso_allocate_zeroed(machine->locals + 1, sizeof(uint32_t)),
                          .written = iso_allocate_zeroed(cells + 1, sizeof(uint32_t)),
                          .values = iso_allocate_zeroed(machine->system->slots + 1, sizeof(uint32_t)),
                          .claimed = iso_allocate_zeroed(cells + 1, sizeof(uint32_t))};
}

static void state_free(struct state *state)
{
    iso_free(state->locals);
    iso_free(state->written);
    iso_free(state->values);
    iso_free(state->claimed);
}

/* ---- reads ---- */

static uint32_t find_read(struct machine *machine, struct prove_transaction *transaction, uint32_t statement,
                          uint32_t cell, uint32_t column)
{
    uint32_t slot = machine->system->first_slot[cell] + column;
    bool newest = statement == PROVE_NEWEST;
    if (newest && machine->newest[slot])
        return machine->newest[slot] - 1;
    if (!newest && machine->cached[slot] && machine->cached_statement[slot] == statement)
        return machine->cached[slot] - 1;
    struct range range = machine->guess->ranges[slot];
    uint32_t variable = prove_variable(machine->terms, range.low, range.high);
    *(newest ? &machine->newest[slot] : &machine->cached[slot]) = variable + 1;
    if (!newest)
        machine->cached_statement[slot] = statement;
    if (prove_known(machine->terms, variable))
        return variable;
    ISO_GROW(transaction->reads.list, transaction->reads.count, transaction->reads.capacity);
    transaction->reads.list[transaction->reads.count++] =
        (struct prove_read){.statement = statement, .cell = cell, .column = column, .variable = variable};
    if (!newest && machine->system->statements)
        transaction->statements.list[statement].reads = true;
    return variable;
}

static bool others_write(const struct machine *machine, uint32_t cell)
{
    for (uint32_t i = 0; i < machine->system->count; i++)
        if (i != machine->instance && machine->guess->writers[(size_t)i * machine->program->cells + cell])
            return true;
    return false;
}

/* What the others left there. */
static uint32_t read_others(struct machine *machine, uint32_t cell, uint32_t column)
{
    struct prove_system *system = machine->system;
    struct prove_transaction *transaction = &system->transactions[machine->instance];
    uint32_t claimed = machine->state.claimed[cell];
    if (!others_write(machine, cell))
        return system->initial[system->first_slot[cell] + column];
    if (!system->statements)
        return find_read(machine, transaction, 0, cell, column);
    if (claimed == TRUE_TERM)
        return find_read(machine, transaction, PROVE_NEWEST, cell, column);
    uint32_t old = find_read(machine, transaction, machine->statement, cell, column);
    if (claimed == FALSE_TERM)
        return old;
    return prove_choose(machine->terms, claimed, find_read(machine, transaction, PROVE_NEWEST, cell, column), old);
}

static uint32_t read_slot(struct machine *machine, uint32_t cell, uint32_t column)
{
    const struct prove_system *system = machine->system;
    uint32_t slot = system->first_slot[cell] + column, written;
    switch (machine->reader) {
    case THE_START:
        return system->initial[slot];
    case THE_END:
        return system->ended[slot];
    case A_MOMENT:
        return system->seen[slot];
    case A_BODY:
        break;
    }
    written = machine->state.written[cell];
    if (written == TRUE_TERM)
        return machine->state.values[slot];
    return prove_choose(machine->terms, written, machine->state.values[slot], read_others(machine, cell, column));
}

/* ---- expressions ---- */

static uint32_t evaluate(struct machine *machine, uint32_t expression);

/* In this branch, and not ended. */
static uint32_t live(struct machine *machine)
{
    return prove_not(machine->terms, prove_or(machine->terms, machine->state.returned, machine->state.aborted));
}

static void count_work(struct machine *machine)
{
    if (!(++machine->work & 255) && fine(machine) && iso_prove_stop_asked(&machine->system->stop))
        iso_error_set(machine->error, ISO_UNDECIDED, "%s: the time is up", machine->program->file);
}

static void refuse_wide(struct machine *machine, struct iso_prove_span span)
{
    if (machine->terms->wide && fine(machine))
        iso_prove_refuse(machine->program, machine->error, span, "this can take more than 62 bits");
    if ((machine->work > WORK || machine->terms->count > TERMS) && fine(machine))
        iso_prove_refuse(machine->program, machine->error, span, "too large: more than %d steps or %d terms", WORK,
                         TERMS);
}

/* What stands there before anything has run: no read and no input is in it. */
static bool is_fixed(const struct machine *machine, uint32_t expression)
{
    const struct iso_prove_expression *node = &machine->program->expressions.list[expression];
    switch (node->op) {
    case ISO_PROVE_CONSTANT:
        return true;
    case ISO_PROVE_LOCAL:
        return !machine->varies[node->a];
    case ISO_PROVE_INPUT:
    case ISO_PROVE_READ:
        return false;
    case ISO_PROVE_NOT:
    case ISO_PROVE_NEGATE:
        return is_fixed(machine, node->a);
    case ISO_PROVE_CHOOSE:
        return is_fixed(machine, node->a) && is_fixed(machine, node->b) && is_fixed(machine, node->c);
    default:
        if (node->op >= ISO_PROVE_SUM)
            return is_fixed(machine, node->b) && is_fixed(machine, node->c) && is_fixed(machine, node->d);
        return is_fixed(machine, node->a) && is_fixed(machine, node->b);
    }
}

/* The condition that an index is of this table; a constant one that is not is refused, another one noted. */
static uint32_t in_range(struct machine *machine, uint32_t table, uint32_t index, bool fixed,
                         struct iso_prove_span span)
{
    struct prove_terms *terms = machine->terms;
    const struct iso_prove_table *of = &machine->program->tables.list[table];
    struct prove_term term = terms->list[index];
    if (term.low >= 0 && term.high < of->rows)
        return TRUE_TERM;
    if (machine->last && fixed && prove_known(terms, index) && fine(machine))
        iso_prove_refuse(machine->program, machine->error, span,
                         "the index %lld is out of range: %s has the cells 0..%u", (long long)term.low, of->name,
                         of->rows - 1);
    uint32_t low = prove_not(terms, prove_less(terms, index, prove_constant(terms, 0)));
    uint32_t inside = prove_and(terms, low, prove_less(terms, index, prove_constant(terms, of->rows)));
    if (machine->last && fine(machine)) {
        struct prove_system *system = machine->system;
        uint32_t outside = prove_and(terms, prove_and(terms, machine->path, live(machine)), prove_not(terms, inside));
        ISO_GROW(system->outside.list, system->outside.count, system->outside.capacity);
        system->outside.list[system->outside.count++] =
            (struct prove_outside){.term = outside, .instance = machine->instance, .span = span};
    }
    return inside;
}

static uint32_t evaluate_read(struct machine *machine, const struct iso_prove_expression *node)
{
    struct prove_terms *terms = machine->terms;
    const struct iso_prove_table *table = &machine->program->tables.list[node->a];
    uint32_t index = evaluate(machine, node->b), value = FALSE_TERM;
    if (!fine(machine))
        return FALSE_TERM;
    in_range(machine, node->a, index, is_fixed(machine, node->b), node->span);
    struct prove_term term = terms->list[index];
    int64_t from = term.low < 0 ? 0 : term.low, to = term.high >= table->rows ? table->rows - 1 : term.high;
    if (prove_known(terms, index))
        return from <= to ? read_slot(machine, table->first_cell + (uint32_t)from, node->c) : FALSE_TERM;
    bool whole = term.low >= 0 && term.high < table->rows;
    for (int64_t row = to; row >= from; row--) {
        uint32_t here = read_slot(machine, table->first_cell + (uint32_t)row, node->c);
        uint32_t is = prove_equal(terms, index, prove_constant(terms, row));
        value = whole && row == to ? here : prove_choose(terms, is, here, value);
    }
    return value;
}

static uint32_t evaluate_quantifier(struct machine *machine, const struct iso_prove_expression *node)
{
    struct prove_terms *terms = machine->terms;
    uint32_t from = evaluate(machine, node->b), to = evaluate(machine, node->c);
    uint32_t value = node->op == ISO_PROVE_FORALL ? TRUE_TERM : FALSE_TERM;
    if (!fine(machine))
        return FALSE_TERM;
    if (!prove_known(terms, from) || !prove_known(terms, to)) {
        iso_prove_refuse(machine->program, machine->error, node->span, "the bounds of a quantifier must be constant");
        return FALSE_TERM;
    }
    int64_t first = terms->list[from].low, last = terms->list[to].low;
    if (node->op == ISO_PROVE_MAXIMUM && first > last)
        iso_prove_refuse(machine->program, machine->error, node->span, "max of nothing: %lld is more than %lld",
                         (long long)first, (long long)last);
    for (int64_t i = first; i <= last && fine(machine); i++) {
        machine->state.locals[node->a] = prove_constant(terms, i);
        machine->varies[node->a] = false;
        uint32_t body = evaluate(machine, node->d);
        switch (node->op) {
        case ISO_PROVE_SUM:
            value = prove_add(terms, value, body);
            break;
        case ISO_PROVE_COUNT:
            value = prove_add(terms, value, prove_truth(terms, body));
            break;
        case ISO_PROVE_MAXIMUM:
            value = i == first ? body : prove_choose(terms, prove_less(terms, value, body), body, value);
            break;
        case ISO_PROVE_FORALL:
            value = prove_and(terms, value, prove_truth(terms, body));
            break;
        default:
            value = prove_or(terms, value, prove_truth(terms, body));
        }
        refuse_wide(machine, node->span);
        if (node->op == ISO_PROVE_FORALL ? value == FALSE_TERM : node->op == ISO_PROVE_EXISTS && value == TRUE_TERM)
            break;
    }
    return value;
}

static uint32_t truth(struct machine *machine, uint32_t expression)
{
    return prove_truth(machine->terms, evaluate(machine, expression));
}

/* An expression that counts only if `condition`: what is out of range otherwise is not told. */
static uint32_t evaluate_if(struct machine *machine, uint32_t condition, uint32_t expression)
{
    uint32_t path = machine->path, value;
    machine->path = prove_and(machine->terms, path, condition);
    value = evaluate(machine, expression);
    machine->path = path;
    return value;
}

static uint32_t evaluate_logic(struct machine *machine, const struct iso_prove_expression *node)
{
    struct prove_terms *terms = machine->terms;
    uint32_t a = truth(machine, node->a), not = prove_not(terms, a);
    if (node->op == ISO_PROVE_CHOOSE) {
        if (prove_known(terms, a))
            return evaluate(machine, a == TRUE_TERM ? node->b : node->c);
        uint32_t yes = evaluate_if(machine, a, node->b), no = evaluate_if(machine, not, node->c);
        return prove_choose(terms, a, yes, no);
    }
    if (a == (node->op == ISO_PROVE_AND ? FALSE_TERM : TRUE_TERM))
        return a;
    uint32_t b = prove_truth(terms, evaluate_if(machine, node->op == ISO_PROVE_AND ? a : not, node->b));
    return node->op == ISO_PROVE_AND ? prove_and(terms, a, b) : prove_or(terms, a, b);
}

static uint32_t evaluate_numbers(struct machine *machine, const struct iso_prove_expression *node)
{
    struct prove_terms *terms = machine->terms;
    uint32_t a = evaluate(machine, node->a), b = evaluate(machine, node->b);
    switch (node->op) {
    case ISO_PROVE_ADD:
        return prove_add(terms, a, b);
    case ISO_PROVE_SUBTRACT:
        return prove_subtract(terms, a, b);
    case ISO_PROVE_MULTIPLY:
        return prove_multiply(terms, a, b);
    case ISO_PROVE_EQUAL:
        return prove_equal(terms, a, b);
    case ISO_PROVE_UNEQUAL:
        return prove_not(terms, prove_equal(terms, a, b));
    case ISO_PROVE_LESS:
        return prove_less(terms, a, b);
    case ISO_PROVE_LESS_EQUAL:
        return prove_not(terms, prove_less(terms, b, a));
    case ISO_PROVE_GREATER:
        return prove_less(terms, b, a);
    default:
        return prove_not(terms, prove_less(terms, a, b));
    }
}

static uint32_t evaluate(struct machine *machine, uint32_t expression)
{
    const struct iso_prove_expression *node = &machine->program->expressions.list[expression];
    struct prove_terms *terms = machine->terms;
    uint32_t value;
    if (!fine(machine))
        return FALSE_TERM;
    count_work(machine);
    switch (node->op) {
    case ISO_PROVE_CONSTANT:
        value = prove_constant(terms, node->value);
        break;
    case ISO_PROVE_LOCAL:
        value = machine->state.locals[node->a];
        break;
    case ISO_PROVE_INPUT:
        value = machine->system->inputs[node->a];
        break;
    case ISO_PROVE_READ:
        value = evaluate_read(machine, node);
        break;
    case ISO_PROVE_NOT:
        value = prove_not(terms, truth(machine, node->a));
        break;
    case ISO_PROVE_NEGATE:
        value = prove_subtract(terms, prove_constant(terms, 0), evaluate(machine, node->a));
        break;
    case ISO_PROVE_AND:
    case ISO_PROVE_OR:
    case ISO_PROVE_CHOOSE:
        value = evaluate_logic(machine, node);
        break;
    default:
        value = node->op >= ISO_PROVE_SUM ? evaluate_quantifier(machine, node) : evaluate_numbers(machine, node);
    }
    refuse_wide(machine, node->span);
    return value;
}

/* ---- steps ---- */

static void run_block(struct machine *machine, uint32_t step);

static void run_claim(struct machine *machine, const struct iso_prove_step *step)
{
    struct prove_terms *terms = machine->terms;
    struct prove_transaction *transaction = &machine->system->transactions[machine->instance];
    const struct iso_prove_table *table = &machine->program->tables.list[step->table];
    uint32_t index = evaluate(machine, step->index), alive = prove_not(terms, machine->state.returned);
    uint32_t reached = prove_and(terms, machine->path, live(machine));
    if (!fine(machine))
        return;
    uint32_t where, done = prove_and(terms, alive,
                                     in_range(machine, step->table, index, is_fixed(machine, step->index), step->span));
    int64_t from = terms->list[index].low < 0 ? 0 : terms->list[index].low;
    int64_t to = terms->list[index].high >= table->rows ? table->rows - 1 : terms->list[index].high;
    if (!fine(machine))
        return;
    for (int64_t row = from; row <= to; row++) {
        uint32_t cell = table->first_cell + (uint32_t)row;
        uint32_t here = prove_and(terms, alive, prove_equal(terms, index, prove_constant(terms, row)));
        uint32_t guard = prove_and(terms, reached, here);
        if (guard == FALSE_TERM)
            continue;
        machine->state.claimed[cell] = prove_or(terms, machine->state.claimed[cell], here);
        ISO_GROW(transaction->claims.list, transaction->claims.count, transaction->claims.capacity);
        transaction->claims.list[transaction->claims.count++] =
            (struct prove_claim){.cell = cell, .statement = machine->statement, .guard = guard};
    }
    where = step->where == ISO_NONE ? TRUE_TERM : truth(machine, step->where);
    if (step->kind == ISO_PROVE_WRITE && where != FALSE_TERM) {
        uint32_t columns = table->columns, *values = iso_allocate((columns + 1) * sizeof *values);
        for (uint32_t i = 0; i < columns; i++) {
            uint32_t value = machine->program->values.list[step->first_value + i];
            values[i] = value == ISO_NONE ? ISO_NONE : evaluate(machine, value);
        }
        for (int64_t row = from; row <= to && fine(machine); row++) {
            uint32_t cell = table->first_cell + (uint32_t)row, slot = machine->system->first_slot[cell];
            uint32_t here = prove_and(terms, alive, prove_equal(terms, index, prove_constant(terms, row)));
            uint32_t writes = prove_and(terms, here, where);
            if (writes == FALSE_TERM)
                continue;
            for (uint32_t i = 0; i < columns; i++) {
                uint32_t value = values[i] == ISO_NONE ? read_slot(machine, cell, i) : values[i];
                machine->state.values[slot + i] = prove_choose(terms, writes, value, machine->state.values[slot + i]);
            }
            machine->state.written[cell] = prove_or(terms, machine->state.written[cell], writes);
        }
        iso_free(values);
    } else if (step->kind == ISO_PROVE_LOCK) {
        machine->system->locks = true;
    }
    if (step->local != ISO_NONE) {
        machine->state.locals[step->local] = prove_and(terms, done, where);
        machine->varies[step->local] = true;
    }
    refuse_wide(machine, step->span);
}

static void merge_lists(struct machine *machine, uint32_t condition, uint32_t *into, const uint32_t *other,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (into[i] != other[i])
            into[i] = prove_choose(machine->terms, condition, into[i], other[i]);
}

/* The state is that of the branch taken if `condition`; the other one is merged into it, and freed. */
static void merge(struct machine *machine, uint32_t condition, struct state *other)
{
    struct state *state = &machine->state;
    uint32_t cells = machine->program->cells, slots = machine->system->slots;
    uint32_t aborted = prove_choose(machine->terms, condition, state->aborted, other->aborted);
    if (state->aborted == TRUE_TERM || other->aborted == TRUE_TERM) {
        /* What is written on a way that aborts never shows. */
        if (state->aborted == TRUE_TERM) {
            struct state swapped = *state;
            *state = *other;
            *other = swapped;
        }
    } else {
        merge_lists(machine, condition, state->locals, other->locals, machine->locals);
        merge_lists(machine, condition, state->values, other->values, slots);
        merge_lists(machine, condition, state->written, other->written, cells);
        merge_lists(machine, condition, state->claimed, other->claimed, cells);
        state->returned = prove_choose(machine->terms, condition, state->returned, other->returned);
    }
    state->aborted = aborted;
    state_free(other);
}

static void run_if(struct machine *machine, const struct iso_prove_step *step)
{
    uint32_t condition = truth(machine, step->value), path = machine->path;
    if (!fine(machine))
        return;
    if (prove_known(machine->terms, condition)) {
        run_block(machine, condition == TRUE_TERM ? step->block : step->otherwise);
        return;
    }
    struct state before = state_copy(machine);
    machine->path = prove_and(machine->terms, path, prove_not(machine->terms, condition));
    run_block(machine, step->otherwise);
    struct state other = machine->state;
    machine->state = before;
    machine->path = prove_and(machine->terms, path, condition);
    run_block(machine, step->block);
    machine->path = path;
    merge(machine, condition, &other);
}

/* One round of a loop, if `condition`; the rest of the rounds stand inside of it. */
static void run_round(struct machine *machine, const struct iso_prove_step *step, uint64_t number)
{
    uint64_t outer = machine->round;
    machine->round = prove_round(outer, number);
    run_block(machine, step->block);
    machine->round = outer;
}

static void run_unrolled(struct machine *machine, const struct iso_prove_step *step, uint32_t from, uint32_t to,
                         uint32_t number)
{
    struct prove_terms *terms = machine->terms;
    uint32_t i = prove_add(terms, from, prove_constant(terms, number));
    uint32_t condition = prove_not(terms, prove_less(terms, to, i)), path = machine->path;
    refuse_wide(machine, step->span);
    if (!fine(machine) || condition == FALSE_TERM)
        return;
    uint32_t inside = prove_and(terms, prove_and(terms, path, condition), live(machine));
    if (number == machine->unroll) {
        machine->system->unrolled = prove_or(terms, machine->system->unrolled, inside);
        return;
    }
    struct state before = state_copy(machine);
    machine->path = prove_and(terms, path, condition);
    machine->state.locals[step->local] = i;
    machine->varies[step->local] = true;
    run_round(machine, step, number);
    run_unrolled(machine, step, from, to, number + 1);
    machine->path = path;
    merge(machine, condition, &before);
}

static void run_for(struct machine *machine, const struct iso_prove_step *step)
{
    struct prove_terms *terms = machine->terms;
    uint32_t from = evaluate(machine, step->value), to = evaluate(machine, step->bound);
    if (!fine(machine))
        return;
    if (!prove_known(terms, from) || !prove_known(terms, to)) {
        if (!machine->unroll)
            iso_prove_refuse(machine->program, machine->error, step->span,
                             "the bounds of this loop are not constant: --unroll K makes K rounds of it");
        else
            run_unrolled(machine, step, from, to, 0);
        return;
    }
    int64_t first = terms->list[from].low, last = terms->list[to].low;
    for (int64_t i = first; i <= last && fine(machine); i++) {
        machine->state.locals[step->local] = prove_constant(terms, i);
        machine->varies[step->local] = false;
        run_round(machine, step, (uint64_t)(i - first));
        count_work(machine);
        refuse_wide(machine, step->span);
    }
}

static void begin_statement(struct machine *machine, uint32_t step)
{
    struct prove_transaction *transaction = &machine->system->transactions[machine->instance];
    if (machine->program->steps.list[step].continued && transaction->statements.count)
        return;
    machine->statement = transaction->statements.count;
    ISO_GROW(transaction->statements.list, transaction->statements.count, transaction->statements.capacity);
    transaction->statements.list[transaction->statements.count++] =
        (struct prove_statement){.step = step, .round = machine->round};
}

static void run_step(struct machine *machine, uint32_t number)
{
    const struct iso_prove_step *step = &machine->program->steps.list[number];
    struct prove_terms *terms = machine->terms;
    uint32_t condition;
    count_work(machine);
    begin_statement(machine, number);
    switch (step->kind) {
    case ISO_PROVE_LET:
        condition = evaluate(machine, step->value);
        machine->state.locals[step->local] = condition;
        machine->varies[step->local] = machine->varies[step->local] || !is_fixed(machine, step->value);
        break;
    case ISO_PROVE_WRITE:
    case ISO_PROVE_LOCK:
        run_claim(machine, step);
        break;
    case ISO_PROVE_IF:
        run_if(machine, step);
        break;
    case ISO_PROVE_FOR:
        run_for(machine, step);
        break;
    case ISO_PROVE_ABORT:
        condition = step->value == ISO_NONE ? TRUE_TERM : truth(machine, step->value);
        condition = prove_and(terms, condition, prove_not(terms, machine->state.returned));
        machine->state.aborted = prove_or(terms, machine->state.aborted, condition);
        break;
    case ISO_PROVE_RETURN:
        if (step->value != ISO_NONE)
            evaluate(machine, step->value);
        machine->state.returned = TRUE_TERM;
        break;
    }
}

static void run_block(struct machine *machine, uint32_t step)
{
    while (step != ISO_NONE && fine(machine) && machine->state.aborted != TRUE_TERM &&
           machine->state.returned != TRUE_TERM) {
        run_step(machine, step);
        step = machine->program->steps.list[step].next;
    }
}

/* ---- a round ---- */

static void clear_transaction(struct prove_transaction *transaction)
{
    iso_free(transaction->statements.list);
    iso_free(transaction->reads.list);
    iso_free(transaction->claims.list);
    iso_free(transaction->writes);
    iso_free(transaction->claimed);
    iso_free(transaction->values);
    *transaction = (struct prove_transaction){0};
}

static void begin_instance(struct machine *machine, uint32_t number, const struct iso_prove_template *template)
{
    struct prove_transaction *transaction = &machine->system->transactions[number];
    clear_transaction(transaction);
    memset(machine->cached, 0, machine->system->slots * sizeof *machine->cached);
    memset(machine->newest, 0, machine->system->slots * sizeof *machine->newest);
    machine->instance = number;
    machine->locals = template->locals;
    machine->state = state_new(machine);
    machine->path = TRUE_TERM;
    machine->statement = 0;
    machine->round = 0;
    machine->reader = THE_START;
    iso_free(machine->varies);
    machine->varies = iso_allocate_zeroed(template->locals + 1, sizeof *machine->varies);
}

static void end_instance(struct machine *machine, uint32_t number, const struct iso_prove_template *template)
{
    const struct iso_prove_program *program = machine->program;
    struct prove_transaction *transaction = &machine->system->transactions[number];
    struct prove_terms *terms = machine->terms;
    machine->reader = A_BODY;
    run_block(machine, template->block);
    transaction->committed = prove_not(terms, machine->state.aborted);
    for (uint32_t i = 0; i < program->cells; i++)
        machine->state.written[i] = prove_and(terms, machine->state.written[i], transaction->committed);
    for (uint32_t i = 0; i < transaction->claims.count; i++) {
        uint32_t cell = transaction->claims.list[i].cell;
        transaction->claimed =
            transaction->claimed ? transaction->claimed : iso_allocate_zeroed(program->cells + 1, sizeof(uint32_t));
        transaction->claimed[cell] =
            prove_or(terms, transaction->claimed[cell],
                     prove_and(terms, transaction->claims.list[i].guard, transaction->committed));
    }
    if (!transaction->claimed)
        transaction->claimed = iso_allocate_zeroed(program->cells + 1, sizeof(uint32_t));
    transaction->writes = machine->state.written;
    transaction->values = machine->state.values;
    iso_free(machine->state.locals);
    iso_free(machine->state.claimed);
    machine->state = (struct state){0};
}

static void run_instance(struct machine *machine, uint32_t number)
{
    const struct iso_prove_program *program = machine->program;
    const struct iso_prove_instance *instance = &program->instances.list[number];
    const struct iso_prove_template *template = &program->templates.list[instance->template];
    begin_instance(machine, number, template);
    for (uint32_t i = 0; i < template->parameters; i++) {
        uint32_t argument = program->values.list[instance->first_argument + i];
        machine->state.locals[i] = evaluate(machine, argument);
        machine->varies[i] = !is_fixed(machine, argument);
    }
    end_instance(machine, number, template);
}

static void run_round_of_all(struct machine *machine)
{
    machine->system->unrolled = FALSE_TERM;
    for (uint32_t i = 0; i < machine->system->count && fine(machine); i++)
        run_instance(machine, i);
}

/* Widens the guess by what the round wrote. True: it changed. */
static bool widen(const struct prove_system *system, struct guess *guess)
{
    uint32_t cells = system->program->cells;
    bool changed = false;
    for (uint32_t i = 0; i < system->count; i++)
        for (uint32_t cell = 0; cell < cells; cell++) {
            const struct prove_transaction *transaction = &system->transactions[i];
            const struct iso_prove_table *table = &system->program->tables.list[system->program->cell_tables[cell]];
            if (transaction->writes[cell] == FALSE_TERM)
                continue;
            changed = changed || !guess->writers[(size_t)i * cells + cell];
            guess->writers[(size_t)i * cells + cell] = true;
            for (uint32_t column = 0; column < table->columns; column++) {
                uint32_t slot = system->first_slot[cell] + column;
                struct range *range = &guess->ranges[slot];
                const struct prove_term *value = &system->terms.list[transaction->values[slot]];
                changed = changed || value->low < range->low || value->high > range->high;
                range->low = value->low < range->low ? value->low : range->low;
                range->high = value->high > range->high ? value->high : range->high;
            }
        }
    return changed;
}

static void restart_terms(struct prove_system *system)
{
    const struct iso_prove_program *program = system->program;
    prove_terms_release(&system->terms);
    prove_terms_init(&system->terms);
    for (uint32_t i = 0; i < program->inputs.count; i++)
        system->inputs[i] = prove_variable(&system->terms, program->inputs.list[i].least, program->inputs.list[i].most);
}

static void initial_values(struct machine *machine)
{
    struct prove_system *system = machine->system;
    uint32_t slot = 0;
    machine->reader = THE_START;
    machine->locals = 0;
    iso_free(machine->varies);
    machine->varies = iso_allocate_zeroed(1, sizeof *machine->varies);
    machine->state = state_new(machine);
    for (uint32_t i = 0; i < machine->program->tables.count; i++) {
        const struct iso_prove_table *table = &machine->program->tables.list[i];
        for (uint32_t j = 0; j < table->rows * table->columns; j++)
            system->initial[slot++] = evaluate(machine, table->initial[j]);
    }
    state_free(&machine->state);
    machine->state = (struct state){0};
}

/* A variable for each slot that anybody writes: what a reader of everything finds. */
static void read_all(struct prove_system *system, const struct guess *guess, uint32_t *list)
{
    uint32_t cells = system->program->cells;
    for (uint32_t cell = 0; cell < cells; cell++) {
        const struct iso_prove_table *table = &system->program->tables.list[system->program->cell_tables[cell]];
        bool written = false;
        for (uint32_t i = 0; i < system->count; i++)
            written = written || guess->writers[(size_t)i * cells + cell];
        for (uint32_t column = 0; column < table->columns; column++) {
            uint32_t slot = system->first_slot[cell] + column;
            struct range range = guess->ranges[slot];
            list[slot] = written ? prove_variable(&system->terms, range.low, range.high) : system->initial[slot];
        }
    }
}

static uint32_t rule(struct machine *machine, const struct iso_prove_rule *rule, enum reader reader)
{
    machine->reader = reader;
    machine->locals = rule->locals;
    iso_free(machine->varies);
    machine->varies = iso_allocate_zeroed(rule->locals + 1, sizeof *machine->varies);
    machine->state = state_new(machine);
    machine->path = TRUE_TERM;
    uint32_t value = truth(machine, rule->expression);
    state_free(&machine->state);
    machine->state = (struct state){0};
    return value;
}

static void evaluate_rules(struct machine *machine)
{
    static const enum reader readers[] = {THE_START, THE_END, A_MOMENT};
    struct prove_system *system = machine->system;
    const struct iso_prove_program *program = machine->program;
    system->assumed = TRUE_TERM;
    for (uint32_t i = 0; i < program->rules.count && fine(machine); i++) {
        const struct iso_prove_rule *at = &program->rules.list[i];
        system->rules[i] = rule(machine, at, readers[at->kind]);
        system->at_start[i] = at->kind == ISO_PROVE_INVARIANT ? rule(machine, at, THE_START) : TRUE_TERM;
        if (at->kind == ISO_PROVE_ASSUME)
            system->assumed = prove_and(machine->terms, system->assumed, system->rules[i]);
    }
}

static void number_slots(struct prove_system *system)
{
    const struct iso_prove_program *program = system->program;
    system->first_slot = iso_allocate_zeroed(program->cells + 1, sizeof *system->first_slot);
    for (uint32_t cell = 0; cell < program->cells; cell++) {
        system->first_slot[cell] = system->slots;
        system->slots += program->tables.list[program->cell_tables[cell]].columns;
    }
    system->inputs = iso_allocate_zeroed(program->inputs.count + 1, sizeof *system->inputs);
    system->initial = iso_allocate_zeroed(system->slots + 1, sizeof *system->initial);
    system->ended = iso_allocate_zeroed(system->slots + 1, sizeof *system->ended);
    system->seen = iso_allocate_zeroed(system->slots + 1, sizeof *system->seen);
    system->rules = iso_allocate_zeroed(program->rules.count + 1, sizeof *system->rules);
    system->at_start = iso_allocate_zeroed(program->rules.count + 1, sizeof *system->at_start);
    system->transactions = iso_allocate_zeroed(system->count + 1, sizeof *system->transactions);
}

enum iso_status prove_system_build(struct prove_system *system, const struct iso_prove_program *program,
                                   bool statements, uint32_t unroll, struct iso_prove_stop stop,
                                   struct iso_error *error)
{
    struct guess guess;
    *system = (struct prove_system){
        .program = program, .statements = statements, .count = program->instances.count, .stop = stop};
    assert(unroll <= MANY_UNROLLED);
    number_slots(system);
    guess.ranges = iso_allocate_zeroed(system->slots + 1, sizeof *guess.ranges);
    guess.writers = iso_allocate_zeroed((size_t)system->count * program->cells + 1, sizeof *guess.writers);
    struct machine machine = {.system = system,
                              .program = program,
                              .terms = &system->terms,
                              .guess = &guess,
                              .unroll = unroll,
                              .error = error,
                              .cached = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t)),
                              .cached_statement = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t)),
                              .newest = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t))};
    restart_terms(system);
    initial_values(&machine);
    for (uint32_t i = 0; i < system->slots; i++)
        guess.ranges[i] =
            (struct range){system->terms.list[system->initial[i]].low, system->terms.list[system->initial[i]].high};
    bool changed = fine(&machine);
    /* A chain of reads has at most each of the others; one round more tells who writes by the last ranges. */
    for (uint32_t round = 0; changed && round < system->count; round++) {
        run_round_of_all(&machine);
        changed = fine(&machine) && widen(system, &guess);
        restart_terms(system);
        initial_values(&machine);
    }
    machine.last = true;
    if (fine(&machine))
        run_round_of_all(&machine);
    if (fine(&machine)) {
        read_all(system, &guess, system->ended);
        read_all(system, &guess, system->seen);
        evaluate_rules(&machine);
    }
    iso_free(guess.ranges);
    iso_free(guess.writers);
    iso_free(machine.varies);
    iso_free(machine.cached);
    iso_free(machine.cached_statement);
    iso_free(machine.newest);
    return error->status;
}

enum { ANY_VALUE = INT32_MAX };

enum iso_status prove_system_build_template(struct prove_system *system, const struct iso_prove_program *program,
                                            uint32_t template, const int64_t *least, const int64_t *most,
                                            uint32_t unroll, struct iso_prove_stop stop, struct iso_error *error)
{
    const struct iso_prove_template *of = &program->templates.list[template];
    struct guess guess;
    *system =
        (struct prove_system){.program = program, .count = 2, .stop = stop}; /* the other one may write everything */
    number_slots(system);
    guess.ranges = iso_allocate_zeroed(system->slots + 1, sizeof *guess.ranges);
    guess.writers = iso_allocate_zeroed((size_t)system->count * program->cells + 1, sizeof *guess.writers);
    struct machine machine = {.system = system,
                              .program = program,
                              .terms = &system->terms,
                              .guess = &guess,
                              .unroll = unroll,
                              .error = error,
                              .cached = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t)),
                              .cached_statement = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t)),
                              .newest = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t))};
    restart_terms(system);
    initial_values(&machine);
    for (uint32_t i = 0; i < system->slots; i++)
        guess.ranges[i] = (struct range){-(int64_t)ANY_VALUE - 1, ANY_VALUE};
    memset(guess.writers + program->cells, true, program->cells * sizeof *guess.writers);
    begin_instance(&machine, 0, of);
    for (uint32_t i = 0; i < of->parameters; i++) {
        machine.state.locals[i] = prove_variable(&system->terms, least[i], most[i]);
        machine.varies[i] = true;
    }
    machine.reader = A_BODY;
    for (uint32_t cell = 0; cell < program->cells; cell++)
        for (uint32_t i = 0; i < program->tables.list[program->cell_tables[cell]].columns; i++) {
            system->seen[system->first_slot[cell] + i] = read_others(&machine, cell, i);
            system->ended[system->first_slot[cell] + i] =
                prove_variable(&system->terms, -(int64_t)ANY_VALUE - 1, ANY_VALUE);
        }
    end_instance(&machine, 0, of);
    for (uint32_t i = 0; i < program->rules.count && fine(&machine); i++) {
        const struct iso_prove_rule *at = &program->rules.list[i];
        system->rules[i] = at->kind == ISO_PROVE_ASSUME ? TRUE_TERM : rule(&machine, at, A_MOMENT);
    }
    iso_free(guess.ranges);
    iso_free(guess.writers);
    iso_free(machine.varies);
    iso_free(machine.cached);
    iso_free(machine.cached_statement);
    iso_free(machine.newest);
    return error->status;
}

static uint32_t all_rules(struct prove_system *system, enum reader reader, struct iso_error *error)
{
    struct machine machine = {
        .system = system, .program = system->program, .terms = &system->terms, .error = error, .path = TRUE_TERM};
    uint32_t all = TRUE_TERM;
    for (uint32_t i = 0; i < system->program->rules.count && fine(&machine); i++)
        if (system->program->rules.list[i].kind != ISO_PROVE_ASSUME)
            all = prove_and(&system->terms, all, rule(&machine, &system->program->rules.list[i], reader));
    iso_free(machine.varies);
    return all;
}

uint32_t prove_system_rules_at_end(struct prove_system *system, struct iso_error *error)
{
    return all_rules(system, THE_END, error);
}

uint32_t prove_system_rules_at_start(struct prove_system *system, struct iso_error *error)
{
    return all_rules(system, THE_START, error);
}

void prove_system_release(struct prove_system *system)
{
    for (uint32_t i = 0; i < system->count; i++)
        clear_transaction(&system->transactions[i]);
    iso_free(system->transactions);
    iso_free(system->first_slot);
    iso_free(system->inputs);
    iso_free(system->initial);
    iso_free(system->ended);
    iso_free(system->seen);
    iso_free(system->rules);
    iso_free(system->at_start);
    iso_free(system->outside.list);
    prove_terms_release(&system->terms);
    *system = (struct prove_system){0};
}
