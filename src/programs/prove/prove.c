#include "prove/prove.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "prove/induct.h"
#include "prove/solve.h"

enum { FALSE_TERM, TRUE_TERM };

struct prover {
    const struct iso_prove_program *program;
    const struct iso_prove_options *options;
    struct iso_prove_result *result;
    struct iso_error *error;
    double deadline, end;           /* 0: none; `end`: of all, `deadline`: of what is asked now */
    struct prove_system systems[2]; /* [1]: with statements, for rc */
    bool built[2];
};

void iso_prove_result_init(struct iso_prove_result *result)
{
    *result = (struct iso_prove_result){.alone = ISO_NONE};
}

void iso_prove_result_release(struct iso_prove_result *result)
{
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        if (result->answers[i].shown)
            iso_prove_execution_release(&result->answers[i].execution);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        iso_free(result->answers[i].not_any);
    for (uint32_t i = 0; i < result->warnings.count; i++)
        iso_free(result->warnings.list[i]);
    iso_free(result->warnings.list);
    iso_prove_result_init(result);
}

static bool time_is_up(void *context)
{
    const struct prover *prover = context;
    return prover->deadline > 0 && iso_clock_seconds() > prover->deadline;
}

static struct prove_system *system_for(struct prover *prover, enum iso_prove_level level)
{
    bool rc = level == ISO_PROVE_RC;
    struct prove_system *system = &prover->systems[rc];
    if (!prover->built[rc]) {
        prover->built[rc] = true;
        prove_system_build(system, prover->program, rc, prover->options->unroll,
                           (struct iso_prove_stop){time_is_up, prover}, prover->error);
        prover->result->locks = prover->result->locks || system->locks;
    }
    return prover->error->status == ISO_OK ? system : NULL;
}

/* The weakest of the levels that were asked, if it is not rc: whatever happens, happens there. */
static enum iso_prove_level weakest(const struct iso_prove_options *options)
{
    static const enum iso_prove_level order[] = {ISO_PROVE_RA, ISO_PROVE_CC, ISO_PROVE_PC,
                                                 ISO_PROVE_PSI, ISO_PROVE_SI};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (options->levels[order[i]])
            return order[i];
    return options->levels[ISO_PROVE_SER] ? ISO_PROVE_SER : ISO_PROVE_RC;
}

/* ---- what makes the question senseless ---- */

static void put_inputs(const struct iso_prove_execution *execution, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    for (uint32_t i = 0; i < program->inputs.count && i < 8; i++)
        iso_text_format(text, "%s%s = %lld", i ? ", " : ", with ", program->inputs.list[i].name,
                        (long long)execution->inputs[i]);
    iso_text_put_bytes(text, "", 1);
}

static void check_start(struct prover *prover, struct prove_system *system)
{
    const struct iso_prove_program *program = prover->program;
    struct iso_prove_execution execution;
    struct iso_prove_span first = {0, 0};
    enum iso_solver_answer answer = ISO_SOLVER_TRUE;
    for (uint32_t i = program->rules.count; i-- > 0;)
        if (program->rules.list[i].kind == ISO_PROVE_ASSUME)
            first = program->rules.list[i].span;
    if (system->assumed != TRUE_TERM)
        answer = prove_ask_terms(system, &system->assumed, 1, &execution);
    if (system->assumed != TRUE_TERM && answer == ISO_SOLVER_TRUE)
        iso_prove_execution_release(&execution);
    if (answer == ISO_SOLVER_FALSE) {
        iso_prove_refuse(program, prover->error, first,
                         "no values satisfy what is assumed, so that anything would hold");
        return;
    }
    for (uint32_t i = 0; i < program->rules.count && answer != ISO_SOLVER_STOPPED; i++) {
        uint32_t wrong[] = {prove_not(&system->terms, system->at_start[i]), system->assumed};
        if (wrong[0] == FALSE_TERM)
            continue;
        answer = prove_ask_terms(system, wrong, 2, &execution);
        if (answer != ISO_SOLVER_TRUE)
            continue;
        struct iso_text text = {0};
        put_inputs(&execution, &text);
        iso_prove_refuse(program, prover->error, program->rules.list[i].span,
                         "this invariant is false at the start%s", text.bytes);
        iso_text_release(&text);
        iso_prove_execution_release(&execution);
        return;
    }
}

/* Indices that can really be out of range, at the weakest level that was asked. */
static void warn_outside(struct prover *prover, struct prove_system *system,
                         enum iso_prove_level level)
{
    struct prove_question question;
    uint32_t count = system->outside.count, *terms = iso_allocate((count + 1) * sizeof *terms);
    struct iso_prove_result *result = prover->result;
    for (uint32_t i = 0; i < count; i++)
        terms[i] = system->outside.list[i].term;
    if (count) {
        prove_question_init(&question, system, level, terms, count);
        for (uint32_t i = 0; i < count; i++) {
            const struct prove_outside *outside = &system->outside.list[i];
            struct iso_text text = {0};
            bool known = false;
            uint32_t line, column;
            if (outside->term == FALSE_TERM ||
                prove_question_ask(&question, &outside->term, 1) != ISO_SOLVER_TRUE)
                continue;
            iso_prove_location(prover->program, outside->span.begin, &line, &column);
            iso_text_format(&text, "%s:%u:%u: the index of ", prover->program->file, line, column);
            iso_prove_put_span(prover->program, &text, outside->span);
            iso_text_put(&text, " can be out of range: it then reads 0 and writes nothing");
            for (uint32_t j = 0; j < result->warnings.count; j++)
                known = known || (strlen(result->warnings.list[j]) == text.used &&
                                  !memcmp(result->warnings.list[j], text.bytes, text.used));
            if (!known)
                ISO_APPEND(result->warnings, iso_copy_text(text.bytes, text.used));
            iso_text_release(&text);
        }
        prove_question_release(&question);
    }
    iso_free(terms);
}

/* ---- levels ---- */

/* Whether another level's answer decides this one. */
static bool follows(struct prover *prover, enum iso_prove_level level)
{
    struct iso_prove_result *result = prover->result;
    struct iso_prove_answer *answer = &result->answers[level];
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        const struct iso_prove_answer *other = &result->answers[i];
        if (i == level || !result->asked[i])
            continue;
        if (other->outcome == ISO_HOLDS && iso_prove_level_implies(level, i)) {
            answer->outcome = ISO_HOLDS;
            return true;
        }
        if (other->shown && level != ISO_PROVE_RC && iso_prove_level_implies(i, level)) {
            iso_prove_execution_init(&answer->execution, prover->program, level);
            iso_prove_execution_copy(&answer->execution, &other->execution);
            if (!iso_prove_replay(&answer->execution) && answer->execution.rule != ISO_NONE) {
                answer->outcome = ISO_IS_VIOLATED;
                answer->shown = true;
                return true;
            }
            iso_prove_execution_release(&answer->execution);
        }
    }
    return false;
}

/* Each level that is still to be asked has an equal part of what is left. */
static void share_time(struct prover *prover)
{
    double now = iso_clock_seconds();
    uint32_t left = 0;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        left += prover->options->levels[i] && !prover->result->asked[i];
    if (prover->end > 0 && left)
        prover->deadline = now + (prover->end - now) / left;
}

static void decide(struct prover *prover, enum iso_prove_level level)
{
    struct iso_prove_result *result = prover->result;
    struct iso_prove_answer *answer = &result->answers[level];
    if (!prover->options->levels[level])
        return;
    if (prover->options->apart || !follows(prover, level)) {
        struct prove_system *system = system_for(prover, level);
        answer->outcome = prove_solve(system, level, &answer->execution, &answer->reason);
        answer->shown = answer->outcome == ISO_IS_VIOLATED;
    }
    result->asked[level] = true;
}

/* A level that holds for these instances may hold for any number of them. */
static void decide_any(struct prover *prover, enum iso_prove_level level)
{
    struct iso_prove_answer *answer = &prover->result->answers[level];
    bool can = level == ISO_PROVE_SER || level == ISO_PROVE_SI || level == ISO_PROVE_PC;
    if (!prover->options->any_number || !can || !prover->result->asked[level] ||
        answer->outcome != ISO_HOLDS)
        return;
    answer->any_number = prove_induct(prover->program, level, prover->options->unroll,
                                      (struct iso_prove_stop){time_is_up, prover}, &answer->not_any,
                                      prover->error) == ISO_HOLDS;
    if (prover->error->status == ISO_UNDECIDED)
        *prover->error = (struct iso_error)ISO_NO_ERROR;
}

/* Whether one transaction breaks a rule without any other. */
static void find_alone(struct prover *prover)
{
    for (uint32_t i = 0; i < prover->program->instances.count; i++) {
        struct iso_prove_program one = *prover->program;
        struct prove_system system;
        struct iso_prove_execution execution;
        struct iso_error error = ISO_NO_ERROR;
        const char *reason = NULL;
        one.instances.list += i;
        one.instances.count = 1;
        prove_system_build(&system, &one, false, prover->options->unroll,
                           (struct iso_prove_stop){time_is_up, prover}, &error);
        bool breaks = error.status == ISO_OK &&
                      prove_solve(&system, ISO_PROVE_SER, &execution, &reason) == ISO_IS_VIOLATED;
        prove_system_release(&system);
        if (!breaks)
            continue;
        iso_prove_execution_release(&execution);
        prover->result->alone = i;
        return;
    }
}

static void summarise(struct iso_prove_result *result)
{
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        result->sufficient[i] = result->asked[i] && result->answers[i].outcome == ISO_HOLDS;
        for (uint32_t j = 0; j < ISO_PROVE_LEVELS; j++)
            if (i != j && result->asked[j] && result->answers[j].outcome == ISO_HOLDS &&
                iso_prove_level_implies(i, j))
                result->sufficient[i] = false;
    }
    result->breaks_above[ISO_PROVE_SI] = result->asked[ISO_PROVE_SI] &&
                                         result->asked[ISO_PROVE_RC] &&
                                         result->answers[ISO_PROVE_SI].outcome == ISO_IS_VIOLATED &&
                                         result->answers[ISO_PROVE_RC].outcome == ISO_HOLDS;
}

/* A unique key that a concurrent transaction has freed: PostgreSQL's REPEATABLE READ lets it be
 * inserted again, by rows that no snapshot has. Here that counts as a conflict, so that "holds"
 * would be too much. */
static void doubt_freed_keys(const struct iso_prove_program *program,
                             struct iso_prove_result *result)
{
    static const enum iso_prove_level levels[] = {ISO_PROVE_SI, ISO_PROVE_PSI};
    for (size_t i = 0; i < sizeof levels / sizeof *levels && program->frees_keys; i++) {
        struct iso_prove_answer *answer = &result->answers[levels[i]];
        if (!result->asked[levels[i]] || answer->outcome != ISO_HOLDS)
            continue;
        answer->outcome = ISO_IS_UNDECIDED;
        answer->reason = "a unique key that one transaction frees is inserted by another";
    }
}

/* What was passed over may forbid what breaks a rule, or break one. */
static void doubt_ignored(const struct iso_prove_program *program, struct iso_prove_result *result)
{
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && program->ignored; i++) {
        if (!result->asked[i] || result->answers[i].outcome == ISO_IS_UNDECIDED)
            continue;
        result->answers[i].outcome = ISO_IS_UNDECIDED;
        result->answers[i].reason = program->ignored;
    }
}

void iso_prove_result_undecided(struct iso_prove_result *result,
                                const struct iso_prove_options *options, const char *reason)
{
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (!options->levels[i] || result->asked[i])
            continue;
        result->answers[i].outcome = ISO_IS_UNDECIDED;
        result->answers[i].reason = reason;
        result->asked[i] = true;
    }
}

enum iso_status iso_prove(const struct iso_prove_program *program,
                          const struct iso_prove_options *options, struct iso_prove_result *result,
                          struct iso_error *error)
{
    /* READ COMMITTED, which most use; strongest, then weakest, then between: most programs break,
     * or hold, everywhere but at a few. */
    static const enum iso_prove_level order[] = {ISO_PROVE_RC, ISO_PROVE_SER, ISO_PROVE_RA,
                                                 ISO_PROVE_SI, ISO_PROVE_CC,  ISO_PROVE_PSI,
                                                 ISO_PROVE_PC};
    struct prover prover = {
        .program = program, .options = options, .result = result, .error = error};
    enum iso_prove_level least = weakest(options);
    if (options->seconds > 0)
        prover.end = prover.deadline = iso_clock_seconds() + options->seconds;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && error->status == ISO_OK; i++)
        if (options->levels[i])
            system_for(&prover, i);
    if (error->status == ISO_OK)
        check_start(&prover, &prover.systems[least == ISO_PROVE_RC]);
    for (size_t i = 0; i < sizeof order / sizeof *order && error->status == ISO_OK; i++) {
        share_time(&prover);
        decide(&prover, order[i]);
    }
    prover.deadline = prover.end;
    bool late = error->status == ISO_UNDECIDED;
    if (late) {
        *error = (struct iso_error)ISO_NO_ERROR;
        iso_prove_result_undecided(result, options, "the time is up");
    }
    if (error->status == ISO_OK && result->asked[ISO_PROVE_SER] &&
        result->answers[ISO_PROVE_SER].outcome == ISO_IS_VIOLATED)
        find_alone(&prover);
    doubt_freed_keys(program, result);
    doubt_ignored(program, result);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && error->status == ISO_OK && !late; i++)
        decide_any(&prover, i);
    if (error->status == ISO_OK) {
        if (!late)
            warn_outside(&prover, &prover.systems[least == ISO_PROVE_RC], least);
        summarise(result);
    }
    for (int i = 0; i < 2; i++)
        if (prover.built[i])
            prove_system_release(&prover.systems[i]);
    return error->status;
}
