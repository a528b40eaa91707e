/* Steps of a transaction by symbols: claims, branches and loops. Where branches meet, their states
 * are merged. */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "prove/system_private.h"

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

struct state prove_state_new(const struct machine *machine)
{
    uint32_t cells = machine->program->cells;
    return (struct state){.locals = iso_allocate_zeroed(machine->locals + 1, sizeof(uint32_t)),
                          .written = iso_allocate_zeroed(cells + 1, sizeof(uint32_t)),
                          .values =
                              iso_allocate_zeroed(machine->system->slots + 1, sizeof(uint32_t)),
                          .claimed = iso_allocate_zeroed(cells + 1, sizeof(uint32_t))};
}

void prove_state_free(struct state *state)
{
    ISO_FREE_ALL(state->locals, state->written, state->values, state->claimed);
}

static void run_claim(struct machine *machine, const struct iso_prove_step *step)
{
    assert(step->kind == ISO_PROVE_WRITE || step->kind == ISO_PROVE_LOCK);
    struct prove_terms *terms = machine->terms;
    struct prove_transaction *transaction = &machine->system->transactions[machine->instance];
    const struct iso_prove_table *table = &machine->program->tables.list[step->table];
    uint32_t index = prove_evaluate(machine, step->index),
             alive = prove_not(terms, machine->state.returned);
    uint32_t reached = prove_and(terms, machine->path, prove_live(machine));
    if (!prove_fine(machine))
        return;
    uint32_t where,
        done = prove_and(terms, alive,
                         prove_in_range(machine, step->table, index,
                                        prove_is_fixed(machine, step->index), step->span));
    int64_t from = terms->list[index].low < 0 ? 0 : terms->list[index].low;
    int64_t to = terms->list[index].high >= table->rows ? table->rows - 1 : terms->list[index].high;
    if (!prove_fine(machine))
        return;
    for (int64_t row = from; row <= to; row++) {
        uint32_t cell = table->first_cell + (uint32_t)row;
        uint32_t here =
            prove_and(terms, alive, prove_equal(terms, index, prove_constant(terms, row)));
        uint32_t guard = prove_and(terms, reached, here);
        if (guard == FALSE_TERM)
            continue;
        machine->state.claimed[cell] = prove_or(terms, machine->state.claimed[cell], here);
        ISO_APPEND(
            transaction->claims,
            (struct prove_claim){.cell = cell, .statement = machine->statement, .guard = guard});
    }
    where = step->where == ISO_NONE ? TRUE_TERM : prove_evaluate_truth(machine, step->where);
    if (step->kind == ISO_PROVE_WRITE && where != FALSE_TERM) {
        uint32_t columns = table->columns, *values = iso_allocate((columns + 1) * sizeof *values);
        for (uint32_t i = 0; i < columns; i++) {
            uint32_t value = machine->program->values.list[step->first_value + i];
            values[i] = value == ISO_NONE ? ISO_NONE : prove_evaluate(machine, value);
        }
        for (int64_t row = from; row <= to && prove_fine(machine); row++) {
            uint32_t cell = table->first_cell + (uint32_t)row,
                     slot = machine->system->first_slot[cell];
            uint32_t here =
                prove_and(terms, alive, prove_equal(terms, index, prove_constant(terms, row)));
            uint32_t writes = prove_and(terms, here, where);
            if (writes == FALSE_TERM)
                continue;
            for (uint32_t i = 0; i < columns; i++) {
                uint32_t value =
                    values[i] == ISO_NONE ? prove_read_slot(machine, cell, i) : values[i];
                machine->state.values[slot + i] =
                    prove_choose(terms, writes, value, machine->state.values[slot + i]);
            }
            machine->state.written[cell] = prove_or(terms, machine->state.written[cell], writes);
        }
        iso_free(values);
    } else if (step->kind == ISO_PROVE_LOCK) {
        machine->system->locks = true;
    }
    if (step->local != ISO_NONE) {
        assert(step->local < machine->locals);
        machine->state.locals[step->local] = prove_and(terms, done, where);
        machine->varies[step->local] = true;
    }
    prove_refuse_wide(machine, step->span);
}

static void merge_lists(struct machine *machine, uint32_t condition, uint32_t *into,
                        const uint32_t *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (into[i] != other[i])
            into[i] = prove_choose(machine->terms, condition, into[i], other[i]);
}

/* The state is that of the branch taken if `condition`; the other one is merged into it, and
 * freed. */
static void merge(struct machine *machine, uint32_t condition, struct state *other)
{
    struct state *state = &machine->state;
    uint32_t cells = machine->program->cells, slots = machine->system->slots;
    uint32_t aborted = prove_choose(machine->terms, condition, state->aborted, other->aborted);
    if (state->aborted == TRUE_TERM || other->aborted == TRUE_TERM) {
        /* Writes of a branch that aborts never show. */
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
    prove_state_free(other);
}

static void run_if(struct machine *machine, const struct iso_prove_step *step)
{
    assert(step->kind == ISO_PROVE_IF);
    uint32_t condition = prove_evaluate_truth(machine, step->value), path = machine->path;
    if (!prove_fine(machine))
        return;
    if (prove_known(machine->terms, condition)) {
        prove_run_block(machine, condition == TRUE_TERM ? step->block : step->otherwise);
        return;
    }
    struct state before = state_copy(machine);
    machine->path = prove_and(machine->terms, path, prove_not(machine->terms, condition));
    prove_run_block(machine, step->otherwise);
    struct state other = machine->state;
    machine->state = before;
    machine->path = prove_and(machine->terms, path, condition);
    prove_run_block(machine, step->block);
    machine->path = path;
    merge(machine, condition, &other);
}

/* One round of a loop, if `condition`; the rest of the rounds stand inside of it. */
static void run_round(struct machine *machine, const struct iso_prove_step *step, uint64_t number)
{
    uint64_t outer = machine->round;
    machine->round = prove_round(outer, number);
    prove_run_block(machine, step->block);
    machine->round = outer;
}

static void run_unrolled(struct machine *machine, const struct iso_prove_step *step, uint32_t from,
                         uint32_t to, uint32_t number)
{
    assert(number <= machine->unroll && step->local < machine->locals);
    struct prove_terms *terms = machine->terms;
    uint32_t i = prove_add(terms, from, prove_constant(terms, number));
    uint32_t condition = prove_not(terms, prove_less(terms, to, i)), path = machine->path;
    prove_refuse_wide(machine, step->span);
    if (!prove_fine(machine) || condition == FALSE_TERM)
        return;
    uint32_t inside = prove_and(terms, prove_and(terms, path, condition), prove_live(machine));
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
    uint32_t from = prove_evaluate(machine, step->value), to = prove_evaluate(machine, step->bound);
    if (!prove_fine(machine))
        return;
    if (!prove_known(terms, from) || !prove_known(terms, to)) {
        if (!machine->unroll)
            iso_prove_refuse(
                machine->program, machine->error, step->span,
                "the bounds of this loop are not constant: --unroll K makes K rounds of it");
        else
            run_unrolled(machine, step, from, to, 0);
        return;
    }
    int64_t first = terms->list[from].low, last = terms->list[to].low;
    for (int64_t i = first; i <= last && prove_fine(machine); i++) {
        machine->state.locals[step->local] = prove_constant(terms, i);
        machine->varies[step->local] = false;
        run_round(machine, step, (uint64_t)(i - first));
        prove_count_work(machine);
        prove_refuse_wide(machine, step->span);
    }
}

static void begin_statement(struct machine *machine, uint32_t step)
{
    assert(step < machine->program->steps.count);
    struct prove_transaction *transaction = &machine->system->transactions[machine->instance];
    if (machine->program->steps.list[step].continued && transaction->statements.count)
        return;
    machine->statement = transaction->statements.count;
    ISO_APPEND(transaction->statements,
               (struct prove_statement){.step = step, .round = machine->round});
}

static void run_step(struct machine *machine, uint32_t number)
{
    const struct iso_prove_step *step = &machine->program->steps.list[number];
    struct prove_terms *terms = machine->terms;
    uint32_t condition;
    prove_count_work(machine);
    begin_statement(machine, number);
    switch (step->kind) {
    case ISO_PROVE_LET:
        condition = prove_evaluate(machine, step->value);
        assert(step->local < machine->locals);
        machine->state.locals[step->local] = condition;
        machine->varies[step->local] =
            machine->varies[step->local] || !prove_is_fixed(machine, step->value);
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
        condition =
            step->value == ISO_NONE ? TRUE_TERM : prove_evaluate_truth(machine, step->value);
        condition = prove_and(terms, condition, prove_not(terms, machine->state.returned));
        machine->state.aborted = prove_or(terms, machine->state.aborted, condition);
        break;
    case ISO_PROVE_RETURN:
        if (step->value != ISO_NONE)
            prove_evaluate(machine, step->value);
        machine->state.returned = TRUE_TERM;
        break;
    }
}

void prove_run_block(struct machine *machine, uint32_t step)
{
    while (step != ISO_NONE && prove_fine(machine) && machine->state.aborted != TRUE_TERM &&
           machine->state.returned != TRUE_TERM) {
        run_step(machine, step);
        step = machine->program->steps.list[step].next;
    }
}
