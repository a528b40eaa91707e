#include "prove/execution.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "prove/system.h"

void iso_prove_execution_init(struct iso_prove_execution *execution,
                              const struct iso_prove_program *program, enum iso_prove_level level)
{
    uint32_t count = program->instances.count;
    *execution = (struct iso_prove_execution){
        .program = program, .level = level, .count = count, .rule = ISO_NONE};
    execution->inputs = iso_allocate_zeroed(program->inputs.count + 1, sizeof *execution->inputs);
    execution->order = iso_allocate_zeroed(count + 1, sizeof *execution->order);
    execution->visible = iso_allocate_zeroed((size_t)count * count + 1, sizeof *execution->visible);
    execution->moment = iso_allocate_zeroed(count + 1, sizeof *execution->moment);
    execution->aborted = iso_allocate_zeroed(count + 1, sizeof *execution->aborted);
    execution->slot = iso_allocate_zeroed(program->cells + 1, sizeof *execution->slot);
    for (uint32_t cell = 0; cell < program->cells; cell++) {
        execution->slot[cell] = execution->slots;
        execution->slots += iso_prove_table_of(program, cell)->columns;
    }
    execution->initial = iso_allocate_zeroed(execution->slots + 1, sizeof *execution->initial);
    execution->found = iso_allocate_zeroed(execution->slots + 1, sizeof *execution->found);
}

void iso_prove_execution_release(struct iso_prove_execution *execution)
{
    for (uint32_t i = 0; i < execution->snapshots.count; i++)
        iso_free(execution->snapshots.list[i].seen);
    ISO_FREE_ALL(execution->snapshots.list, execution->events.list, execution->inputs,
                 execution->order, execution->visible, execution->moment, execution->aborted,
                 execution->slot, execution->initial, execution->found);
    *execution = (struct iso_prove_execution){0};
}

void iso_prove_execution_copy(struct iso_prove_execution *execution,
                              const struct iso_prove_execution *other)
{
    size_t count = execution->count;
    assert(execution->program == other->program && execution->level != ISO_PROVE_RC);
    memcpy(execution->inputs, other->inputs,
           execution->program->inputs.count * sizeof *execution->inputs);
    memcpy(execution->order, other->order, count * sizeof *execution->order);
    memcpy(execution->visible, other->visible, count * count * sizeof *execution->visible);
    memcpy(execution->moment, other->moment, count * sizeof *execution->moment);
}

static const bool *snapshot_of(const struct iso_prove_execution *execution, uint32_t instance,
                               uint32_t step, uint64_t round)
{
    for (uint32_t i = 0; i < execution->snapshots.count; i++) {
        const struct iso_prove_snapshot *snapshot = &execution->snapshots.list[i];
        if (snapshot->instance == instance && snapshot->step == step && snapshot->round == round)
            return snapshot->seen;
    }
    return NULL;
}

/* The effects of one instance, kept until all have run. */
struct outcome {
    bool *wrote, *claimed; /* by cell */
    int64_t *values;       /* by slot */
};

enum reader { A_BODY, THE_START, A_STATE };

struct replay {
    struct iso_prove_execution *execution;
    const struct iso_prove_program *program;
    struct outcome *outcomes; /* by instance */
    uint32_t *position;       /* by instance: where in the order */
    const char *wrong;
    enum reader reader;
    uint32_t instance;
    int64_t *locals;
    bool *seen, *sees; /* rc: what this statement sees, and what the next one must */
    bool aborted, returned;
    uint32_t statement, step;
    bool any; /* some statement has begun */
    uint64_t round;
};

static void event(struct replay *replay, struct iso_prove_event what)
{
    struct iso_prove_execution *execution = replay->execution;
    what.instance = replay->instance;
    what.statement = replay->statement;
    what.step = replay->step;
    ISO_APPEND(execution->events, what);
}

/* ---- reads ---- */

static bool is_seen(const struct replay *replay, uint32_t writer, bool newest)
{
    const struct iso_prove_execution *execution = replay->execution;
    if (newest)
        return replay->position[writer] < replay->position[replay->instance];
    if (execution->level == ISO_PROVE_RC)
        return replay->seen[writer];
    return execution->visible[writer * execution->count + replay->instance];
}

/* The last writer of a cell among those that a reader sees, or ISO_NONE. */
static uint32_t last_writer(const struct replay *replay, uint32_t cell, bool newest)
{
    const struct iso_prove_execution *execution = replay->execution;
    for (uint32_t i = replay->position[replay->instance]; i-- > 0;) {
        uint32_t writer = execution->order[i];
        if (replay->outcomes[writer].wrote[cell] && is_seen(replay, writer, newest))
            return writer;
    }
    return ISO_NONE;
}

static int64_t read_slot(struct replay *replay, uint32_t cell, uint32_t column)
{
    const struct iso_prove_execution *execution = replay->execution;
    uint32_t slot = execution->slot[cell] + column, from = replay->instance;
    struct outcome *own;
    bool newest = false;
    int64_t value;
    if (replay->reader != A_BODY)
        return replay->reader == THE_START ? execution->initial[slot] : execution->found[slot];
    own = &replay->outcomes[replay->instance];
    if (own->wrote[cell]) {
        value = own->values[slot];
    } else {
        newest = execution->level == ISO_PROVE_RC && own->claimed[cell];
        from = last_writer(replay, cell, newest);
        value = from == ISO_NONE ? execution->initial[slot] : replay->outcomes[from].values[slot];
    }
    event(replay, (struct iso_prove_event){.kind = ISO_PROVE_READS,
                                           .cell = cell,
                                           .column = column,
                                           .from = from,
                                           .value = value,
                                           .newest = newest});
    return value;
}

/* ---- expressions ---- */

static int64_t evaluate(struct replay *replay, uint32_t expression);

static int64_t evaluate_read(struct replay *replay, const struct iso_prove_expression *node)
{
    const struct iso_prove_table *table = &replay->program->tables.list[node->a];
    int64_t index = evaluate(replay, node->b);
    return index < 0 || index >= table->rows
               ? 0
               : read_slot(replay, table->first_cell + (uint32_t)index, node->c);
}

static int64_t evaluate_quantifier(struct replay *replay, const struct iso_prove_expression *node)
{
    int64_t first = evaluate(replay, node->b), last = evaluate(replay, node->c);
    int64_t value = node->op == ISO_PROVE_FORALL;
    for (int64_t i = first; i <= last; i++) {
        replay->locals[node->a] = i;
        int64_t body = evaluate(replay, node->d);
        switch (node->op) {
        case ISO_PROVE_SUM:
            value += body;
            break;
        case ISO_PROVE_COUNT:
            value += body != 0;
            break;
        case ISO_PROVE_MAXIMUM:
            value = i == first || body > value ? body : value;
            break;
        default:
            if ((body != 0) != (node->op == ISO_PROVE_FORALL))
                return body != 0;
        }
    }
    return value;
}

static int64_t evaluate_numbers(struct replay *replay, const struct iso_prove_expression *node)
{
    int64_t a = evaluate(replay, node->a), b = evaluate(replay, node->b), value = 0;
    bool over = false;
    switch (node->op) {
    case ISO_PROVE_ADD:
        over = __builtin_add_overflow(a, b, &value);
        break;
    case ISO_PROVE_SUBTRACT:
        over = __builtin_sub_overflow(a, b, &value);
        break;
    case ISO_PROVE_MULTIPLY:
        over = __builtin_mul_overflow(a, b, &value);
        break;
    case ISO_PROVE_EQUAL:
        return a == b;
    case ISO_PROVE_UNEQUAL:
        return a != b;
    case ISO_PROVE_LESS:
        return a < b;
    case ISO_PROVE_LESS_EQUAL:
        return a <= b;
    case ISO_PROVE_GREATER:
        return a > b;
    default:
        return a >= b;
    }
    if (over)
        replay->wrong = "a number beyond 64 bits";
    return value;
}

static int64_t evaluate(struct replay *replay, uint32_t expression)
{
    const struct iso_prove_expression *node = &replay->program->expressions.list[expression];
    switch (node->op) {
    case ISO_PROVE_CONSTANT:
        return node->value;
    case ISO_PROVE_LOCAL:
        return replay->locals[node->a];
    case ISO_PROVE_INPUT:
        return replay->execution->inputs[node->a];
    case ISO_PROVE_READ:
        return evaluate_read(replay, node);
    case ISO_PROVE_NOT:
        return !evaluate(replay, node->a);
    case ISO_PROVE_NEGATE:
        return -evaluate(replay, node->a);
    case ISO_PROVE_AND:
        return evaluate(replay, node->a) && evaluate(replay, node->b);
    case ISO_PROVE_OR:
        return evaluate(replay, node->a) || evaluate(replay, node->b);
    case ISO_PROVE_CHOOSE:
        return evaluate(replay, evaluate(replay, node->a) ? node->b : node->c);
    default:
        return node->op >= ISO_PROVE_SUM ? evaluate_quantifier(replay, node)
                                         : evaluate_numbers(replay, node);
    }
}

/* ---- steps ---- */

static void run_block(struct replay *replay, uint32_t step);

static void run_claim(struct replay *replay, const struct iso_prove_step *step)
{
    const struct iso_prove_table *table = &replay->program->tables.list[step->table];
    struct iso_prove_execution *execution = replay->execution;
    struct outcome *own = &replay->outcomes[replay->instance];
    int64_t index = evaluate(replay, step->index);
    bool inside = index >= 0 && index < table->rows, done;
    uint32_t cell = inside ? table->first_cell + (uint32_t)index : ISO_NONE;
    if (inside) {
        own->claimed[cell] = true;
        uint32_t from = ISO_NONE;
        for (uint32_t i = 0; i < execution->count; i++)
            if (replay->position[i] < replay->position[replay->instance] &&
                replay->outcomes[i].claimed[cell]) {
                replay->sees[i] = true;
                from = from == ISO_NONE || replay->position[i] > replay->position[from] ? i : from;
            }
        event(replay,
              (struct iso_prove_event){.kind = ISO_PROVE_CLAIMS, .cell = cell, .from = from});
    }
    done = inside && (step->where == ISO_NONE || evaluate(replay, step->where));
    if (!inside && step->where != ISO_NONE)
        evaluate(replay, step->where);
    if (step->kind == ISO_PROVE_WRITE && done) {
        int64_t *values = iso_allocate((table->columns + 1) * sizeof *values);
        uint32_t slot = execution->slot[cell];
        for (uint32_t i = 0; i < table->columns; i++) {
            uint32_t value = replay->program->values.list[step->first_value + i];
            values[i] = value == ISO_NONE ? read_slot(replay, cell, i) : evaluate(replay, value);
        }
        for (uint32_t i = 0; i < table->columns; i++) {
            own->values[slot + i] = values[i];
            event(replay, (struct iso_prove_event){.kind = ISO_PROVE_WRITES,
                                                   .cell = cell,
                                                   .column = i,
                                                   .from = replay->instance,
                                                   .value = values[i]});
        }
        own->wrote[cell] = true;
        iso_free(values);
    }
    if (step->local != ISO_NONE)
        replay->locals[step->local] = done;
}

static void run_for(struct replay *replay, const struct iso_prove_step *step)
{
    int64_t first = evaluate(replay, step->value), last = evaluate(replay, step->bound);
    uint64_t outer = replay->round;
    for (int64_t i = first; i <= last && !replay->aborted && !replay->returned; i++) {
        replay->locals[step->local] = i;
        replay->round = prove_round(outer, (uint64_t)(i - first));
        run_block(replay, step->block);
    }
    replay->round = outer;
}

/* A statement that reads others has a snapshot of its own; another one goes on with what is
 * known. */
static void begin_statement(struct replay *replay, uint32_t number)
{
    const struct iso_prove_execution *execution = replay->execution;
    replay->step = number;
    if (replay->program->steps.list[number].continued && replay->any)
        return;
    const bool *seen = snapshot_of(execution, replay->instance, number, replay->round);
    replay->statement += replay->any;
    replay->any = true;
    event(replay, (struct iso_prove_event){
                      .kind = ISO_PROVE_BEGINS, .cell = ISO_NONE, .from = ISO_NONE, .seen = seen});
    for (uint32_t i = 0; i < execution->count; i++)
        if (seen && !seen[i] && replay->sees[i] && !execution->aborted[i])
            replay->wrong =
                "a statement does not see what an earlier one saw, or whom its claims waited for";
    if (seen)
        memcpy(replay->seen, seen, execution->count * sizeof *seen);
    else
        memcpy(replay->seen, replay->sees, execution->count * sizeof *seen);
    for (uint32_t i = 0; i < execution->count; i++)
        replay->sees[i] = replay->sees[i] || replay->seen[i];
}

static void run_step(struct replay *replay, uint32_t number)
{
    const struct iso_prove_step *step = &replay->program->steps.list[number];
    int64_t value;
    begin_statement(replay, number);
    switch (step->kind) {
    case ISO_PROVE_LET:
        value = evaluate(replay, step->value);
        replay->locals[step->local] = value;
        break;
    case ISO_PROVE_WRITE:
    case ISO_PROVE_LOCK:
        run_claim(replay, step);
        break;
    case ISO_PROVE_IF:
        run_block(replay, evaluate(replay, step->value) ? step->block : step->otherwise);
        break;
    case ISO_PROVE_FOR:
        run_for(replay, step);
        break;
    case ISO_PROVE_ABORT:
        replay->aborted = step->value == ISO_NONE || evaluate(replay, step->value);
        if (replay->aborted)
            event(replay, (struct iso_prove_event){
                              .kind = ISO_PROVE_ABORTS, .cell = ISO_NONE, .from = ISO_NONE});
        break;
    case ISO_PROVE_RETURN:
        value = step->value == ISO_NONE ? 0 : evaluate(replay, step->value);
        replay->returned = true;
        event(replay,
              (struct iso_prove_event){
                  .kind = ISO_PROVE_RETURNS, .cell = ISO_NONE, .from = ISO_NONE, .value = value});
        break;
    }
}

static void run_block(struct replay *replay, uint32_t step)
{
    while (step != ISO_NONE && !replay->aborted && !replay->returned) {
        run_step(replay, step);
        step = replay->program->steps.list[step].next;
    }
}

/* Session predecessors, and at rc all that come before them. */
static void start_seeing(struct replay *replay)
{
    const struct iso_prove_execution *execution = replay->execution;
    uint32_t last = 0, count = execution->count;
    memset(replay->sees, 0, count * sizeof *replay->sees);
    for (uint32_t i = 0; i < count; i++)
        if (prove_before(replay->program, i, replay->instance) && !execution->aborted[i] &&
            replay->position[i] + 1 > last)
            last = replay->position[i] + 1;
    for (uint32_t i = 0; i < count; i++)
        replay->sees[i] =
            replay->position[i] < last || prove_before(replay->program, i, replay->instance);
}

static void run_instance(struct replay *replay, uint32_t number)
{
    const struct iso_prove_program *program = replay->program;
    const struct iso_prove_instance *instance = &program->instances.list[number];
    const struct iso_prove_template *template = &program->templates.list[instance->template];
    struct outcome *own = &replay->outcomes[number];
    replay->instance = number;
    replay->statement = 0;
    replay->round = 0;
    replay->any = replay->aborted = replay->returned = false;
    replay->locals = iso_allocate_zeroed(template->locals + 1, sizeof *replay->locals);
    replay->reader = THE_START;
    for (uint32_t i = 0; i < template->parameters; i++)
        replay->locals[i] = evaluate(replay, program->values.list[instance->first_argument + i]);
    replay->reader = A_BODY;
    start_seeing(replay);
    run_block(replay, template->block);
    replay->execution->aborted[number] = replay->aborted;
    if (replay->aborted) {
        memset(own->wrote, 0, program->cells * sizeof *own->wrote);
        memset(own->claimed, 0, program->cells * sizeof *own->claimed);
        replay->wrong = NULL; /* no axiom holds for what it saw */
    }
    iso_free(replay->locals);
    replay->locals = NULL;
}

/* ---- the axioms ---- */

static bool comes_before(const struct replay *replay, uint32_t i, uint32_t j)
{
    return replay->position[i] < replay->position[j];
}

static const char *check_order(struct replay *replay)
{
    const struct iso_prove_execution *execution = replay->execution;
    uint32_t count = execution->count;
    for (uint32_t i = 0; i < count; i++)
        replay->position[i] = ISO_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (execution->order[i] >= count || replay->position[execution->order[i]] != ISO_NONE)
            return "the order is none";
        replay->position[execution->order[i]] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            if (prove_before(replay->program, i, j) && !comes_before(replay, i, j))
                return "the order is against a session";
            if (execution->level == ISO_PROVE_RC)
                continue;
            if (execution->visible[i * count + j] && !comes_before(replay, i, j))
                return "somebody sees who comes later";
            if (prove_before(replay->program, i, j) && !execution->visible[i * count + j])
                return "somebody does not see its session";
        }
    return NULL;
}

static bool conflicts(const struct replay *replay, uint32_t claimer, uint32_t writer)
{
    for (uint32_t cell = 0; cell < replay->program->cells; cell++)
        if (replay->outcomes[claimer].claimed[cell] && replay->outcomes[writer].wrote[cell])
            return true;
    return false;
}

static const char *check_visible(const struct replay *replay)
{
    const struct iso_prove_execution *execution = replay->execution;
    enum iso_prove_level level = execution->level;
    uint32_t count = execution->count;
    const bool *visible = execution->visible;
    bool prefix = level == ISO_PROVE_PC || level == ISO_PROVE_SI, total = level == ISO_PROVE_SER;
    bool causal = level == ISO_PROVE_CC || level == ISO_PROVE_PSI,
         apart = level == ISO_PROVE_SI || level == ISO_PROVE_PSI;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            if (i == j || execution->aborted[i] || execution->aborted[j])
                continue;
            bool before = comes_before(replay, i, j), sees = visible[i * count + j];
            if (total && before != sees)
                return "TotalVis is broken";
            if (apart && before && !sees && conflicts(replay, j, i))
                return "NoConflict is broken";
            for (uint32_t k = 0; k < count; k++)
                if (!execution->aborted[k] && visible[j * count + k] && !visible[i * count + k] &&
                    ((prefix && before) || (causal && sees)))
                    return prefix ? "Prefix is broken" : "TransVis is broken";
        }
    return NULL;
}

/* A list of who is seen by a committed reader is a prefix of the order. */
static bool is_prefix(const struct replay *replay, const bool *seen)
{
    const struct iso_prove_execution *execution = replay->execution;
    bool missed = false;
    for (uint32_t i = 0; i < execution->count; i++) {
        uint32_t at = execution->order[i];
        if (execution->aborted[at])
            continue;
        if (seen[at] && missed)
            return false;
        missed = missed || !seen[at];
    }
    return true;
}

static const char *check_snapshots(const struct replay *replay)
{
    const struct iso_prove_execution *execution = replay->execution;
    for (uint32_t i = 0; i < execution->snapshots.count; i++) {
        const struct iso_prove_snapshot *snapshot = &execution->snapshots.list[i];
        if (execution->aborted[snapshot->instance])
            continue;
        if (!is_prefix(replay, snapshot->seen))
            return "a snapshot is no prefix";
        for (uint32_t j = 0; j < execution->count; j++)
            if (snapshot->seen[j] ? !comes_before(replay, j, snapshot->instance)
                                  : prove_before(replay->program, j, snapshot->instance))
                return "a snapshot sees who comes later, or does not see its session";
    }
    return NULL;
}

static const char *check_moment(const struct replay *replay)
{
    const struct iso_prove_execution *execution = replay->execution;
    enum iso_prove_level level = execution->level;
    uint32_t count = execution->count;
    if (level == ISO_PROVE_RA)
        return NULL;
    if (level != ISO_PROVE_CC && level != ISO_PROVE_PSI)
        return is_prefix(replay, execution->moment) ? NULL : "the moment is no prefix";
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            if (!execution->aborted[i] && !execution->aborted[j] && execution->moment[j] &&
                !execution->moment[i] && execution->visible[i * count + j])
                return "the moment is not closed";
    return NULL;
}

/* ---- rules ---- */

/* The state that a reader of these instances finds, into `found`; NULL: of all instances. */
static void find_state(struct replay *replay, const bool *seen)
{
    struct iso_prove_execution *execution = replay->execution;
    memcpy(execution->found, execution->initial, execution->slots * sizeof *execution->found);
    for (uint32_t i = 0; i < execution->count; i++) {
        uint32_t at = execution->order[i];
        for (uint32_t cell = 0; cell < replay->program->cells; cell++) {
            uint32_t slot = execution->slot[cell];
            uint32_t columns = iso_prove_table_of(replay->program, cell)->columns;
            if (replay->outcomes[at].wrote[cell] && (!seen || seen[at]))
                memcpy(execution->found + slot, replay->outcomes[at].values + slot,
                       columns * sizeof(int64_t));
        }
    }
}

static bool holds(struct replay *replay, const struct iso_prove_rule *rule)
{
    replay->locals = iso_allocate_zeroed(rule->locals + 1, sizeof *replay->locals);
    bool value = evaluate(replay, rule->expression) != 0;
    iso_free(replay->locals);
    replay->locals = NULL;
    return value;
}

static void check_rules(struct replay *replay)
{
    struct iso_prove_execution *execution = replay->execution;
    for (uint32_t i = 0; i < replay->program->rules.count; i++) {
        const struct iso_prove_rule *rule = &replay->program->rules.list[i];
        replay->reader = rule->kind == ISO_PROVE_ASSUME ? THE_START : A_STATE;
        find_state(replay, rule->kind == ISO_PROVE_INVARIANT ? execution->moment : NULL);
        bool fine = holds(replay, rule);
        if (!fine && rule->kind == ISO_PROVE_ASSUME)
            replay->wrong = "an assumption is false";
        if (!fine && rule->kind != ISO_PROVE_ASSUME && execution->rule == ISO_NONE)
            execution->rule = i;
    }
    if (execution->rule != ISO_NONE)
        find_state(replay, replay->program->rules.list[execution->rule].kind == ISO_PROVE_INVARIANT
                               ? execution->moment
                               : NULL);
}

static void initial_values(struct replay *replay)
{
    struct iso_prove_execution *execution = replay->execution;
    uint32_t slot = 0;
    replay->reader = THE_START;
    for (uint32_t i = 0; i < replay->program->inputs.count; i++)
        if (execution->inputs[i] < replay->program->inputs.list[i].least ||
            execution->inputs[i] > replay->program->inputs.list[i].most)
            replay->wrong = "an input is out of its range";
    for (uint32_t i = 0; i < replay->program->tables.count; i++) {
        const struct iso_prove_table *table = &replay->program->tables.list[i];
        for (uint32_t j = 0; j < table->rows * table->columns; j++)
            execution->initial[slot++] = evaluate(replay, table->initial[j]);
    }
}

/* At rc a transaction as a whole sees what its last statement saw. */
static void note_seen(struct replay *replay, uint32_t number)
{
    struct iso_prove_execution *execution = replay->execution;
    for (uint32_t i = 0; execution->level == ISO_PROVE_RC && i < execution->count; i++)
        execution->visible[i * execution->count + number] = replay->sees[i];
}

const char *iso_prove_replay(struct iso_prove_execution *execution)
{
    struct replay replay = {.execution = execution, .program = execution->program};
    uint32_t count = execution->count, cells = execution->program->cells;
    execution->events.count = 0;
    execution->rule = ISO_NONE;
    replay.position = iso_allocate_zeroed(count + 1, sizeof *replay.position);
    replay.outcomes = iso_allocate_zeroed(count + 1, sizeof *replay.outcomes);
    replay.seen = iso_allocate_zeroed(count + 1, sizeof *replay.seen);
    replay.sees = iso_allocate_zeroed(count + 1, sizeof *replay.sees);
    for (uint32_t i = 0; i < count; i++) {
        replay.outcomes[i].wrote = iso_allocate_zeroed(cells + 1, sizeof(bool));
        replay.outcomes[i].claimed = iso_allocate_zeroed(cells + 1, sizeof(bool));
        replay.outcomes[i].values = iso_allocate_zeroed(execution->slots + 1, sizeof(int64_t));
    }
    initial_values(&replay);
    const char *wrong = replay.wrong ? replay.wrong : check_order(&replay);
    for (uint32_t i = 0; i < count && !wrong; i++) {
        run_instance(&replay, execution->order[i]);
        note_seen(&replay, execution->order[i]);
        wrong = replay.wrong;
    }
    if (!wrong)
        wrong =
            execution->level == ISO_PROVE_RC ? check_snapshots(&replay) : check_visible(&replay);
    if (!wrong)
        check_rules(&replay);
    wrong = wrong ? wrong : replay.wrong;
    bool moment = execution->rule != ISO_NONE &&
                  execution->program->rules.list[execution->rule].kind == ISO_PROVE_INVARIANT;
    if (!wrong && moment)
        wrong = check_moment(&replay);
    for (uint32_t i = 0; i < count; i++)
        ISO_FREE_ALL(replay.outcomes[i].wrote, replay.outcomes[i].claimed,
                     replay.outcomes[i].values);
    ISO_FREE_ALL(replay.outcomes, replay.position, replay.seen, replay.sees);
    return wrong;
}
