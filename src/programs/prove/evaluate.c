/* Reads of a transaction, and expressions over them, as terms. A read of what others can have
 * written is a variable. */
#include <assert.h>

#include "base/memory.h"
#include "prove/system_private.h"

enum {
    WORK = 5000000, /* expressions evaluated in all rounds */
    TERMS = 2000000
};

/* ---- reads ---- */

static uint32_t find_read(struct machine *machine, struct prove_transaction *transaction,
                          uint32_t statement, uint32_t cell, uint32_t column)
{
    uint32_t slot = machine->system->first_slot[cell] + column;
    bool newest = statement == PROVE_NEWEST;
    assert(column < iso_prove_table_of(machine->program, cell)->columns);
    assert(!machine->system->statements || newest || statement < transaction->statements.count);
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
    ISO_APPEND(transaction->reads,
               (struct prove_read){
                   .statement = statement, .cell = cell, .column = column, .variable = variable});
    if (!newest && machine->system->statements)
        transaction->statements.list[statement].reads = true;
    return variable;
}

static bool others_write(const struct machine *machine, uint32_t cell)
{
    for (uint32_t i = 0; i < machine->system->count; i++)
        if (i != machine->instance &&
            machine->guess->writers[(size_t)i * machine->program->cells + cell])
            return true;
    return false;
}

/* The value that other transactions left in a cell's column. */
uint32_t prove_read_others(struct machine *machine, uint32_t cell, uint32_t column)
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
    return prove_choose(machine->terms, claimed,
                        find_read(machine, transaction, PROVE_NEWEST, cell, column), old);
}

uint32_t prove_read_slot(struct machine *machine, uint32_t cell, uint32_t column)
{
    const struct prove_system *system = machine->system;
    uint32_t slot = system->first_slot[cell] + column, written;
    assert(slot < system->slots);
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
    return prove_choose(machine->terms, written, machine->state.values[slot],
                        prove_read_others(machine, cell, column));
}

/* ---- expressions ---- */

/* In this branch, and not ended. */
uint32_t prove_live(struct machine *machine)
{
    return prove_not(machine->terms,
                     prove_or(machine->terms, machine->state.returned, machine->state.aborted));
}

void prove_count_work(struct machine *machine)
{
    if (!(++machine->work & 255) && prove_fine(machine) &&
        iso_prove_stop_asked(&machine->system->stop))
        iso_error_set(machine->error, ISO_UNDECIDED, "%s: the time is up", machine->program->file);
}

void prove_refuse_wide(struct machine *machine, struct iso_prove_span span)
{
    if (machine->terms->wide && prove_fine(machine))
        iso_prove_refuse(machine->program, machine->error, span, "this can take more than 62 bits");
    if ((machine->work > WORK || machine->terms->count > TERMS) && prove_fine(machine))
        iso_prove_refuse(machine->program, machine->error, span,
                         "too large: more than %d steps or %d terms", WORK, TERMS);
}

/* The expression is known before anything has run: no read and no input is in it. */
bool prove_is_fixed(const struct machine *machine, uint32_t expression)
{
    assert(expression < machine->program->expressions.count);
    const struct iso_prove_expression *node = &machine->program->expressions.list[expression];
    uint32_t operands[3], count = iso_prove_operands(node, operands);
    bool fixed = node->op != ISO_PROVE_INPUT && node->op != ISO_PROVE_READ &&
                 (node->op != ISO_PROVE_LOCAL || !machine->varies[node->a]);
    for (uint32_t i = 0; i < count && fixed; i++)
        fixed = prove_is_fixed(machine, operands[i]);
    return fixed;
}

/* The condition that an index is of this table; a constant one that is not is refused, another one
 * noted. */
uint32_t prove_in_range(struct machine *machine, uint32_t table, uint32_t index, bool fixed,
                        struct iso_prove_span span)
{
    assert(table < machine->program->tables.count && index < machine->terms->count);
    struct prove_terms *terms = machine->terms;
    const struct iso_prove_table *of = &machine->program->tables.list[table];
    struct prove_term term = terms->list[index];
    if (term.low >= 0 && term.high < of->rows)
        return TRUE_TERM;
    if (machine->last && fixed && prove_known(terms, index) && prove_fine(machine))
        iso_prove_refuse(machine->program, machine->error, span,
                         "the index %lld is out of range: %s has the cells 0..%u",
                         (long long)term.low, of->name, of->rows - 1);
    uint32_t low = prove_not(terms, prove_less(terms, index, prove_constant(terms, 0)));
    uint32_t inside =
        prove_and(terms, low, prove_less(terms, index, prove_constant(terms, of->rows)));
    if (machine->last && prove_fine(machine)) {
        struct prove_system *system = machine->system;
        uint32_t outside = prove_and(terms, prove_and(terms, machine->path, prove_live(machine)),
                                     prove_not(terms, inside));
        ISO_APPEND(
            system->outside,
            (struct prove_outside){.term = outside, .instance = machine->instance, .span = span});
    }
    return inside;
}

static uint32_t evaluate_read(struct machine *machine, const struct iso_prove_expression *node)
{
    struct prove_terms *terms = machine->terms;
    const struct iso_prove_table *table = &machine->program->tables.list[node->a];
    uint32_t index = prove_evaluate(machine, node->b), value = FALSE_TERM;
    if (!prove_fine(machine))
        return FALSE_TERM;
    prove_in_range(machine, node->a, index, prove_is_fixed(machine, node->b), node->span);
    struct prove_term term = terms->list[index];
    int64_t from = term.low < 0 ? 0 : term.low,
            to = term.high >= table->rows ? table->rows - 1 : term.high;
    if (prove_known(terms, index))
        return from <= to ? prove_read_slot(machine, table->first_cell + (uint32_t)from, node->c)
                          : FALSE_TERM;
    bool whole = term.low >= 0 && term.high < table->rows;
    for (int64_t row = to; row >= from; row--) {
        uint32_t here = prove_read_slot(machine, table->first_cell + (uint32_t)row, node->c);
        uint32_t is = prove_equal(terms, index, prove_constant(terms, row));
        value = whole && row == to ? here : prove_choose(terms, is, here, value);
    }
    return value;
}

static uint32_t evaluate_quantifier(struct machine *machine,
                                    const struct iso_prove_expression *node)
{
    assert(node->op >= ISO_PROVE_SUM && node->a < machine->locals);
    struct prove_terms *terms = machine->terms;
    uint32_t from = prove_evaluate(machine, node->b), to = prove_evaluate(machine, node->c);
    uint32_t value = node->op == ISO_PROVE_FORALL ? TRUE_TERM : FALSE_TERM;
    if (!prove_fine(machine))
        return FALSE_TERM;
    if (!prove_known(terms, from) || !prove_known(terms, to)) {
        iso_prove_refuse(machine->program, machine->error, node->span,
                         "the bounds of a quantifier must be constant");
        return FALSE_TERM;
    }
    int64_t first = terms->list[from].low, last = terms->list[to].low;
    if (node->op == ISO_PROVE_MAXIMUM && first > last)
        iso_prove_refuse(machine->program, machine->error, node->span,
                         "max of nothing: %lld is more than %lld", (long long)first,
                         (long long)last);
    for (int64_t i = first; i <= last && prove_fine(machine); i++) {
        machine->state.locals[node->a] = prove_constant(terms, i);
        machine->varies[node->a] = false;
        uint32_t body = prove_evaluate(machine, node->d);
        switch (node->op) {
        case ISO_PROVE_SUM:
            value = prove_add(terms, value, body);
            break;
        case ISO_PROVE_COUNT:
            value = prove_add(terms, value, prove_truth(terms, body));
            break;
        case ISO_PROVE_MAXIMUM:
            value = i == first ? body
                               : prove_choose(terms, prove_less(terms, value, body), body, value);
            break;
        case ISO_PROVE_FORALL:
            value = prove_and(terms, value, prove_truth(terms, body));
            break;
        default:
            value = prove_or(terms, value, prove_truth(terms, body));
        }
        prove_refuse_wide(machine, node->span);
        if (node->op == ISO_PROVE_FORALL ? value == FALSE_TERM
                                         : node->op == ISO_PROVE_EXISTS && value == TRUE_TERM)
            break;
    }
    return value;
}

uint32_t prove_evaluate_truth(struct machine *machine, uint32_t expression)
{
    return prove_truth(machine->terms, prove_evaluate(machine, expression));
}

/* An expression that counts only if `condition`: what is out of range otherwise is not told. */
static uint32_t evaluate_if(struct machine *machine, uint32_t condition, uint32_t expression)
{
    uint32_t path = machine->path, value;
    machine->path = prove_and(machine->terms, path, condition);
    value = prove_evaluate(machine, expression);
    machine->path = path;
    return value;
}

static uint32_t evaluate_logic(struct machine *machine, const struct iso_prove_expression *node)
{
    assert(node->op == ISO_PROVE_AND || node->op == ISO_PROVE_OR || node->op == ISO_PROVE_CHOOSE);
    struct prove_terms *terms = machine->terms;
    uint32_t a = prove_evaluate_truth(machine, node->a), not = prove_not(terms, a);
    if (node->op == ISO_PROVE_CHOOSE) {
        if (prove_known(terms, a))
            return prove_evaluate(machine, a == TRUE_TERM ? node->b : node->c);
        uint32_t yes = evaluate_if(machine, a, node->b), no = evaluate_if(machine, not, node->c);
        return prove_choose(terms, a, yes, no);
    }
    if (a == (node->op == ISO_PROVE_AND ? FALSE_TERM : TRUE_TERM))
        return a;
    uint32_t b =
        prove_truth(terms, evaluate_if(machine, node->op == ISO_PROVE_AND ? a : not, node->b));
    return node->op == ISO_PROVE_AND ? prove_and(terms, a, b) : prove_or(terms, a, b);
}

static uint32_t evaluate_numbers(struct machine *machine, const struct iso_prove_expression *node)
{
    struct prove_terms *terms = machine->terms;
    uint32_t a = prove_evaluate(machine, node->a), b = prove_evaluate(machine, node->b);
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

uint32_t prove_evaluate(struct machine *machine, uint32_t expression)
{
    const struct iso_prove_expression *node = &machine->program->expressions.list[expression];
    struct prove_terms *terms = machine->terms;
    uint32_t value;
    if (!prove_fine(machine))
        return FALSE_TERM;
    prove_count_work(machine);
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
        value = prove_not(terms, prove_evaluate_truth(machine, node->a));
        break;
    case ISO_PROVE_NEGATE:
        value = prove_subtract(terms, prove_constant(terms, 0), prove_evaluate(machine, node->a));
        break;
    case ISO_PROVE_AND:
    case ISO_PROVE_OR:
    case ISO_PROVE_CHOOSE:
        value = evaluate_logic(machine, node);
        break;
    default:
        value = node->op >= ISO_PROVE_SUM ? evaluate_quantifier(machine, node)
                                          : evaluate_numbers(machine, node);
    }
    prove_refuse_wide(machine, node->span);
    return value;
}
