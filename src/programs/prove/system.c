#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "prove/system_private.h"

enum { MANY_UNROLLED = 10000 };

bool prove_before(const struct iso_prove_program *program, uint32_t a, uint32_t b)
{
    assert(a < program->instances.count && b < program->instances.count);
    uint32_t session = program->instances.list[a].session;
    return session != ISO_NONE && a < b && program->instances.list[b].session == session;
}

/* ---- a round ---- */

static void clear_transaction(struct prove_transaction *transaction)
{
    ISO_FREE_ALL(transaction->statements.list, transaction->reads.list, transaction->claims.list,
                 transaction->writes, transaction->claimed, transaction->values);
    *transaction = (struct prove_transaction){0};
}

static void begin_instance(struct machine *machine, uint32_t number,
                           const struct iso_prove_template *template)
{
    struct prove_transaction *transaction = &machine->system->transactions[number];
    clear_transaction(transaction);
    memset(machine->cached, 0, machine->system->slots * sizeof *machine->cached);
    memset(machine->newest, 0, machine->system->slots * sizeof *machine->newest);
    machine->instance = number;
    machine->locals = template->locals;
    machine->state = prove_state_new(machine);
    machine->path = TRUE_TERM;
    machine->statement = 0;
    machine->round = 0;
    machine->reader = THE_START;
    iso_free(machine->varies);
    machine->varies = iso_allocate_zeroed(template->locals + 1, sizeof *machine->varies);
}

static void end_instance(struct machine *machine, uint32_t number,
                         const struct iso_prove_template *template)
{
    assert(machine->instance == number && machine->state.locals);
    const struct iso_prove_program *program = machine->program;
    struct prove_transaction *transaction = &machine->system->transactions[number];
    struct prove_terms *terms = machine->terms;
    machine->reader = A_BODY;
    prove_run_block(machine, template->block);
    transaction->committed = prove_not(terms, machine->state.aborted);
    for (uint32_t i = 0; i < program->cells; i++)
        machine->state.written[i] =
            prove_and(terms, machine->state.written[i], transaction->committed);
    for (uint32_t i = 0; i < transaction->claims.count; i++) {
        uint32_t cell = transaction->claims.list[i].cell;
        transaction->claimed = transaction->claimed
                                   ? transaction->claimed
                                   : iso_allocate_zeroed(program->cells + 1, sizeof(uint32_t));
        transaction->claimed[cell] =
            prove_or(terms, transaction->claimed[cell],
                     prove_and(terms, transaction->claims.list[i].guard, transaction->committed));
    }
    if (!transaction->claimed)
        transaction->claimed = iso_allocate_zeroed(program->cells + 1, sizeof(uint32_t));
    transaction->writes = machine->state.written;
    transaction->values = machine->state.values;
    ISO_FREE_ALL(machine->state.locals, machine->state.claimed);
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
        machine->state.locals[i] = prove_evaluate(machine, argument);
        machine->varies[i] = !prove_is_fixed(machine, argument);
    }
    end_instance(machine, number, template);
}

static void run_round_of_all(struct machine *machine)
{
    machine->system->unrolled = FALSE_TERM;
    for (uint32_t i = 0; i < machine->system->count && prove_fine(machine); i++)
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
            const struct iso_prove_table *table = iso_prove_table_of(system->program, cell);
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
        system->inputs[i] = prove_variable(&system->terms, program->inputs.list[i].least,
                                           program->inputs.list[i].most);
}

static void initial_values(struct machine *machine)
{
    struct prove_system *system = machine->system;
    uint32_t slot = 0;
    machine->reader = THE_START;
    machine->locals = 0;
    iso_free(machine->varies);
    machine->varies = iso_allocate_zeroed(1, sizeof *machine->varies);
    machine->state = prove_state_new(machine);
    for (uint32_t i = 0; i < machine->program->tables.count; i++) {
        const struct iso_prove_table *table = &machine->program->tables.list[i];
        for (uint32_t j = 0; j < table->rows * table->columns; j++)
            system->initial[slot++] = prove_evaluate(machine, table->initial[j]);
    }
    prove_state_free(&machine->state);
    machine->state = (struct state){0};
}

/* A variable for each slot that anybody writes: what a reader of everything finds. */
static void read_all(struct prove_system *system, const struct guess *guess, uint32_t *list)
{
    uint32_t cells = system->program->cells;
    for (uint32_t cell = 0; cell < cells; cell++) {
        const struct iso_prove_table *table = iso_prove_table_of(system->program, cell);
        bool written = false;
        for (uint32_t i = 0; i < system->count; i++)
            written = written || guess->writers[(size_t)i * cells + cell];
        for (uint32_t column = 0; column < table->columns; column++) {
            uint32_t slot = system->first_slot[cell] + column;
            struct range range = guess->ranges[slot];
            list[slot] = written ? prove_variable(&system->terms, range.low, range.high)
                                 : system->initial[slot];
        }
    }
}

static uint32_t rule(struct machine *machine, const struct iso_prove_rule *rule, enum reader reader)
{
    assert(reader != A_BODY);
    machine->reader = reader;
    machine->locals = rule->locals;
    iso_free(machine->varies);
    machine->varies = iso_allocate_zeroed(rule->locals + 1, sizeof *machine->varies);
    machine->state = prove_state_new(machine);
    machine->path = TRUE_TERM;
    uint32_t value = prove_evaluate_truth(machine, rule->expression);
    prove_state_free(&machine->state);
    machine->state = (struct state){0};
    return value;
}

static void evaluate_rules(struct machine *machine)
{
    static const enum reader readers[] = {THE_START, THE_END, A_MOMENT};
    struct prove_system *system = machine->system;
    const struct iso_prove_program *program = machine->program;
    system->assumed = TRUE_TERM;
    for (uint32_t i = 0; i < program->rules.count && prove_fine(machine); i++) {
        const struct iso_prove_rule *at = &program->rules.list[i];
        system->rules[i] = rule(machine, at, readers[at->kind]);
        system->at_start[i] =
            at->kind == ISO_PROVE_INVARIANT ? rule(machine, at, THE_START) : TRUE_TERM;
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
        system->slots += iso_prove_table_of(program, cell)->columns;
    }
    system->inputs = iso_allocate_zeroed(program->inputs.count + 1, sizeof *system->inputs);
    system->initial = iso_allocate_zeroed(system->slots + 1, sizeof *system->initial);
    system->ended = iso_allocate_zeroed(system->slots + 1, sizeof *system->ended);
    system->seen = iso_allocate_zeroed(system->slots + 1, sizeof *system->seen);
    system->rules = iso_allocate_zeroed(program->rules.count + 1, sizeof *system->rules);
    system->at_start = iso_allocate_zeroed(program->rules.count + 1, sizeof *system->at_start);
    system->transactions = iso_allocate_zeroed(system->count + 1, sizeof *system->transactions);
}

/* A machine for a system that is empty yet, with its slots and its initial values; nothing is
 * guessed. */
static struct machine open_machine(struct prove_system *system, struct guess *guess,
                                   uint32_t unroll, struct iso_error *error)
{
    number_slots(system);
    guess->ranges = iso_allocate_zeroed(system->slots + 1, sizeof *guess->ranges);
    guess->writers = iso_allocate_zeroed((size_t)system->count * system->program->cells + 1,
                                         sizeof *guess->writers);
    struct machine machine = {.system = system,
                              .program = system->program,
                              .terms = &system->terms,
                              .guess = guess,
                              .unroll = unroll,
                              .error = error,
                              .cached = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t)),
                              .cached_statement =
                                  iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t)),
                              .newest = iso_allocate_zeroed(system->slots + 1, sizeof(uint32_t))};
    restart_terms(system);
    initial_values(&machine);
    return machine;
}

static void close_machine(struct machine *machine, struct guess *guess)
{
    ISO_FREE_ALL(guess->ranges, guess->writers, machine->varies, machine->cached,
                 machine->cached_statement, machine->newest);
}

enum iso_status prove_system_build(struct prove_system *system,
                                   const struct iso_prove_program *program, bool statements,
                                   uint32_t unroll, struct iso_prove_stop stop,
                                   struct iso_error *error)
{
    struct guess guess;
    *system = (struct prove_system){.program = program,
                                    .statements = statements,
                                    .count = program->instances.count,
                                    .stop = stop};
    assert(unroll <= MANY_UNROLLED);
    struct machine machine = open_machine(system, &guess, unroll, error);
    for (uint32_t i = 0; i < system->slots; i++)
        guess.ranges[i] = (struct range){system->terms.list[system->initial[i]].low,
                                         system->terms.list[system->initial[i]].high};
    bool changed = prove_fine(&machine);
    /* A chain of reads has at most each of the others; one round more tells who writes by the last
     * ranges. */
    for (uint32_t round = 0; changed && round < system->count; round++) {
        run_round_of_all(&machine);
        changed = prove_fine(&machine) && widen(system, &guess);
        restart_terms(system);
        initial_values(&machine);
    }
    machine.last = true;
    if (prove_fine(&machine))
        run_round_of_all(&machine);
    if (prove_fine(&machine)) {
        read_all(system, &guess, system->ended);
        read_all(system, &guess, system->seen);
        evaluate_rules(&machine);
    }
    close_machine(&machine, &guess);
    return error->status;
}

enum { ANY_VALUE = INT32_MAX };

enum iso_status prove_system_build_template(struct prove_system *system,
                                            const struct iso_prove_program *program,
                                            uint32_t template, const int64_t *least,
                                            const int64_t *most, uint32_t unroll,
                                            struct iso_prove_stop stop, struct iso_error *error)
{
    const struct iso_prove_template *of = &program->templates.list[template];
    struct guess guess;
    *system = (struct prove_system){
        .program = program, .count = 2, .stop = stop}; /* the other one may write everything */
    struct machine machine = open_machine(system, &guess, unroll, error);
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
        for (uint32_t i = 0; i < iso_prove_table_of(program, cell)->columns; i++) {
            system->seen[system->first_slot[cell] + i] = prove_read_others(&machine, cell, i);
            system->ended[system->first_slot[cell] + i] =
                prove_variable(&system->terms, -(int64_t)ANY_VALUE - 1, ANY_VALUE);
        }
    end_instance(&machine, 0, of);
    for (uint32_t i = 0; i < program->rules.count && prove_fine(&machine); i++) {
        const struct iso_prove_rule *at = &program->rules.list[i];
        system->rules[i] = at->kind == ISO_PROVE_ASSUME ? TRUE_TERM : rule(&machine, at, A_MOMENT);
    }
    close_machine(&machine, &guess);
    return error->status;
}

uint32_t prove_system_rules(struct prove_system *system, bool at_end, struct iso_error *error)
{
    struct machine machine = {.system = system,
                              .program = system->program,
                              .terms = &system->terms,
                              .error = error,
                              .path = TRUE_TERM};
    uint32_t all = TRUE_TERM;
    for (uint32_t i = 0; i < system->program->rules.count && prove_fine(&machine); i++)
        if (system->program->rules.list[i].kind != ISO_PROVE_ASSUME)
            all = prove_and(
                &system->terms, all,
                rule(&machine, &system->program->rules.list[i], at_end ? THE_END : THE_START));
    iso_free(machine.varies);
    return all;
}

void prove_system_release(struct prove_system *system)
{
    for (uint32_t i = 0; i < system->count; i++)
        clear_transaction(&system->transactions[i]);
    ISO_FREE_ALL(system->transactions, system->first_slot, system->inputs, system->initial,
                 system->ended, system->seen, system->rules, system->at_start,
                 system->outside.list);
    prove_terms_release(&system->terms);
    *system = (struct prove_system){0};
}
