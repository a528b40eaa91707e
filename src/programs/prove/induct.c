#include "prove/induct.h"

#include <assert.h>

#include "base/memory.h"
#include "base/text.h"

enum { FALSE_TERM, TRUE_TERM };

enum { ANY_VALUE = INT32_MAX };

static int64_t end_of(const struct iso_prove_program *program, uint32_t expression, bool most)
{
    const struct iso_prove_expression *node = &program->expressions.list[expression];
    if (node->op == ISO_PROVE_CONSTANT)
        return node->value;
    if (node->op == ISO_PROVE_INPUT)
        return most ? program->inputs.list[node->a].most : program->inputs.list[node->a].least;
    if (node->op == ISO_PROVE_NEGATE)
        return -end_of(program, node->a, !most);
    return most ? ANY_VALUE : -ANY_VALUE; /* what the calls compute: anything */
}

/* The ranges that the calls of a template give its parameters. False: it is not called. */
static bool parameter_ranges(const struct iso_prove_program *program, uint32_t template,
                             int64_t *least, int64_t *most)
{
    bool called = false;
    for (uint32_t i = 0; i < program->instances.count; i++) {
        const struct iso_prove_instance *instance = &program->instances.list[i];
        if (instance->template != template)
            continue;
        for (uint32_t j = 0; j < program->templates.list[template].parameters; j++) {
            uint32_t argument = program->values.list[instance->first_argument + j];
            int64_t low = end_of(program, argument, false), high = end_of(program, argument, true);
            least[j] = !called || low < least[j] ? low : least[j];
            most[j] = !called || high > most[j] ? high : most[j];
        }
        called = true;
    }
    return called;
}

/* "Both satisfy the rules, they agree, and what comes of it does not", as one term. */
static uint32_t step(struct prove_system *system, enum iso_prove_level level,
                     struct iso_error *error)
{
    const struct iso_prove_program *program = system->program;
    const struct prove_transaction *transaction = &system->transactions[0];
    struct prove_terms *terms = &system->terms;
    uint32_t goal = TRUE_TERM;
    for (uint32_t cell = 0; cell < program->cells; cell++)
        for (uint32_t i = 0; i < iso_prove_table_of(program, cell)->columns; i++) {
            uint32_t slot = system->first_slot[cell] + i, agree;
            if (level == ISO_PROVE_SER)
                system->ended[slot] = system->seen[slot];
            agree = prove_equal(terms, system->ended[slot], system->seen[slot]);
            if (level == ISO_PROVE_SI)
                goal =
                    prove_and(terms, goal,
                              prove_or(terms, prove_not(terms, transaction->claimed[cell]), agree));
        }
    for (uint32_t i = 0; i < program->rules.count; i++)
        if (program->rules.list[i].kind != ISO_PROVE_ASSUME)
            goal = prove_and(terms, goal, system->rules[i]);
    goal = prove_and(terms, goal, prove_system_rules(system, true, error));
    for (uint32_t cell = 0; cell < program->cells; cell++)
        for (uint32_t i = 0; i < iso_prove_table_of(program, cell)->columns; i++) {
            uint32_t slot = system->first_slot[cell] + i;
            system->ended[slot] = prove_choose(terms, transaction->writes[cell],
                                               transaction->values[slot], system->ended[slot]);
        }
    goal = prove_and(terms, goal, prove_not(terms, prove_system_rules(system, true, error)));
    return prove_or(terms, goal, system->unrolled);
}

static char *say(const char *what, const char *name)
{
    struct iso_text text = {0};
    iso_text_format(&text, "%s%s", what, name);
    char *said = iso_copy_text(text.bytes, text.used);
    iso_text_release(&text);
    return said;
}

static enum iso_outcome induct_template(const struct iso_prove_program *program, uint32_t template,
                                        enum iso_prove_level level, uint32_t unroll,
                                        struct iso_prove_stop stop, char **reason,
                                        struct iso_error *error)
{
    const struct iso_prove_template *of = &program->templates.list[template];
    int64_t *least = iso_allocate_zeroed(of->parameters + 1, sizeof *least);
    int64_t *most = iso_allocate_zeroed(of->parameters + 1, sizeof *most);
    struct prove_system system = {.program = NULL};
    enum iso_outcome outcome = ISO_HOLDS;
    if (parameter_ranges(program, template, least, most) &&
        prove_system_build_template(&system, program, template, least, most, unroll, stop, error) ==
            ISO_OK) {
        uint32_t goal = step(&system, level, error);
        enum iso_solver_answer answer = ISO_SOLVER_FALSE;
        if (error->status == ISO_OK && goal != FALSE_TERM)
            answer = prove_ask_terms(&system, &goal, 1, NULL);
        outcome = answer == ISO_SOLVER_FALSE ? ISO_HOLDS : ISO_IS_UNDECIDED;
        if (answer == ISO_SOLVER_TRUE)
            *reason = say("not inductive: ", of->name);
        else if (answer == ISO_SOLVER_STOPPED)
            *reason = say("the time is up at ", of->name);
    }
    if (error->status == ISO_UNDECIDED && !*reason)
        *reason = say("the time is up at ", of->name);
    if (error->status != ISO_OK)
        outcome = ISO_IS_UNDECIDED;
    if (system.program)
        prove_system_release(&system);
    ISO_FREE_ALL(least, most);
    return outcome;
}

enum iso_outcome prove_induct(const struct iso_prove_program *program, enum iso_prove_level level,
                              uint32_t unroll, struct iso_prove_stop stop, char **reason,
                              struct iso_error *error)
{
    assert(level == ISO_PROVE_SER || level == ISO_PROVE_SI || level == ISO_PROVE_PC);
    struct prove_system start;
    enum iso_outcome outcome = ISO_HOLDS;
    *reason = NULL;
    for (uint32_t i = 0; i < program->templates.count;
         i++) /* a row for each INSERT: there are only so many */
        for (uint32_t j = 0; j < program->templates.list[i].parameters; j++)
            if (*program->templates.list[i].local_names[j] == '$') {
                *reason = say("rows are inserted by ", program->templates.list[i].name);
                return ISO_IS_UNDECIDED;
            }
    if (prove_system_build(&start, program, false, unroll, stop, error) == ISO_OK) {
        uint32_t wrong = prove_not(&start.terms, prove_system_rules(&start, false, error));
        wrong = prove_and(&start.terms, wrong, start.assumed);
        if (wrong != FALSE_TERM && prove_ask_terms(&start, &wrong, 1, NULL) != ISO_SOLVER_FALSE) {
            *reason = say("not inductive: ", "it is false at the start");
            outcome = ISO_IS_UNDECIDED;
        }
    }
    if (error->status == ISO_UNDECIDED)
        *reason = say("the time is up", "");
    prove_system_release(&start);
    for (uint32_t i = 0;
         i < program->templates.count && outcome == ISO_HOLDS && error->status == ISO_OK; i++)
        outcome = induct_template(program, i, level, unroll, stop, reason, error);
    return error->status == ISO_OK ? outcome : ISO_IS_UNDECIDED;
}
