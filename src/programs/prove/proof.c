#include "prove/proof.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/error.h"
#include "prove/solve.h"

enum { FALSE_TERM, TRUE_TERM };

/* A system of its own for each level: the numbers of its terms are the clauses' numbers. */
static enum iso_status encode(struct prove_system *system, struct prove_encoding *encoding,
                              uint32_t *goal, const struct iso_prove_program *program,
                              enum iso_prove_level level, uint32_t unroll,
                              struct iso_prove_stop stop, struct iso_error *error)
{
    enum iso_status status =
        prove_system_build(system, program, level == ISO_PROVE_RC, unroll, stop, error);
    *encoding = (struct prove_encoding){.system = NULL};
    if (status != ISO_OK)
        return status;
    prove_encode(encoding, system, level);
    *goal = prove_or(&system->terms, encoding->wrong, system->unrolled);
    if (encoding->stopped)
        return iso_error_set(error, ISO_UNDECIDED, "%s: %s", program->file,
                             iso_prove_stop_asked(&stop) ? "the time is up"
                                                         : "the program is too large");
    return ISO_OK;
}

enum iso_status iso_prove_clauses_make(struct iso_prove_clauses *clauses,
                                       const struct iso_prove_program *program,
                                       enum iso_prove_level level, uint32_t unroll,
                                       struct iso_prove_stop stop, struct iso_error *error)
{
    struct prove_system system;
    struct prove_encoding encoding;
    struct prove_bits bits;
    uint32_t goal;
    *clauses = (struct iso_prove_clauses){.list = NULL};
    enum iso_status status = encode(&system, &encoding, &goal, program, level, unroll, stop, error);
    if (status == ISO_OK) {
        prove_bits_init(&bits, &system.terms);
        bits.stop = stop;
        prove_bits_encode(&bits, &encoding, &goal, 1);
    }
    if (status == ISO_OK && bits.stopped) {
        status = iso_error_set(error, ISO_UNDECIDED, "%s: %s", program->file,
                               iso_prove_stop_asked(&stop) ? "the time is up"
                                                           : "the program is too large");
        prove_bits_release(&bits);
    } else if (status == ISO_OK) {
        clauses->count = bits.clauses.count + 2;
        clauses->clauses = bits.clause_count + 1;
        clauses->variables = bits.variables;
        clauses->list = iso_allocate(clauses->count * sizeof *clauses->list);
        memcpy(clauses->list, bits.clauses.list, bits.clauses.count * sizeof *clauses->list);
        clauses->list[bits.clauses.count] = prove_bits_literal(&bits, goal);
        clauses->list[bits.clauses.count + 1] = 0;
        prove_bits_release(&bits);
    }
    if (encoding.system)
        prove_encoding_release(&encoding);
    prove_system_release(&system);
    return status;
}

void iso_prove_clauses_release(struct iso_prove_clauses *clauses)
{
    iso_free(clauses->list);
    *clauses = (struct iso_prove_clauses){.list = NULL};
}

static void put_clause(void *context, const int *clause, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        iso_text_put_signed(context, clause[i]);
        iso_text_put(context, " ");
    }
    iso_text_put(context, "0\n");
}

static enum iso_status put_proof(const struct iso_prove_program *program,
                                 enum iso_prove_level level, uint32_t unroll,
                                 struct iso_prove_stop stop, struct iso_text *text,
                                 struct iso_error *error)
{
    struct iso_prove_clauses clauses;
    enum iso_status status = iso_prove_clauses_make(&clauses, program, level, unroll, stop, error);
    if (status != ISO_OK)
        return status;
    struct iso_solver *solver = iso_solver_new();
    iso_solver_set_learn(solver, put_clause, text);
    iso_solver_set_stop(solver, stop.ask, stop.context);
    iso_text_format(text, "level %s variables %d clauses %u\n", iso_prove_level_name(level),
                    clauses.variables, clauses.clauses);
    size_t first = 0;
    bool late = false;
    for (size_t i = 0; i < clauses.count && !late; i++) {
        late = !(i & 8191) && iso_prove_stop_asked(&stop);
        if (!clauses.list[i]) {
            iso_solver_clause(solver, clauses.list + first, (uint32_t)(i - first));
            first = i + 1;
        }
    }
    enum iso_solver_answer answer = late ? ISO_SOLVER_STOPPED : iso_solver_solve(solver, NULL, 0);
    if (answer == ISO_SOLVER_STOPPED)
        status = iso_error_set(error, ISO_UNDECIDED, "the proof of %s takes longer than --timeout",
                               iso_prove_level_name(level));
    else if (answer == ISO_SOLVER_TRUE)
        status = iso_error_set(error, ISO_FAILED,
                               "%s holds, but its proof failed: this is a fault of isochron",
                               iso_prove_level_name(level));
    iso_text_put(text, "0\nend\n");
    iso_solver_free(solver);
    iso_prove_clauses_release(&clauses);
    return status;
}

enum iso_status iso_prove_put_proofs(const struct iso_prove_program *program,
                                     const struct iso_prove_options *options,
                                     const struct iso_prove_result *result, struct iso_text *text,
                                     struct iso_error *error)
{
    enum iso_status status = ISO_OK;
    double deadline = options->seconds > 0 ? iso_clock_seconds() + options->seconds : 0;
    iso_text_format(text, "isochron-proof %d\ntransactions %u unroll %u file %s\n",
                    ISO_PROVE_PROOF_VERSION, program->instances.count, options->unroll,
                    program->file);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && status == ISO_OK; i++)
        if (result->asked[i] && result->answers[i].outcome == ISO_HOLDS)
            status =
                put_proof(program, i, options->unroll, iso_prove_stop_at(&deadline), text, error);
    return status;
}

/* ---- SMT-LIB ---- */

static void put_number(struct iso_text *text, int64_t number)
{
    if (number < 0)
        iso_text_format(text, "(- %lld)", -(long long)number);
    else
        iso_text_format(text, "%lld", (long long)number);
}

/* Booleans are Bool; where a boolean stands as a number, it is a choice. */
static void put_term(struct iso_text *text, const struct prove_terms *terms, uint32_t number,
                     bool as_boolean)
{
    const struct prove_term *term = &terms->list[number];
    bool boolean = prove_boolean(terms, number);
    if (term->op == PROVE_CONSTANT && as_boolean)
        iso_text_put(text, term->low ? "true" : "false");
    else if (term->op == PROVE_CONSTANT)
        put_number(text, term->low);
    else if (boolean && !as_boolean)
        iso_text_format(text, "(ite t%u 1 0)", number);
    else
        iso_text_format(text, "t%u", number);
}

static void put_definition(struct iso_text *text, const struct prove_terms *terms, uint32_t number)
{
    static const char *const words[] = {
        [PROVE_ADD] = "+",  [PROVE_SUBTRACT] = "-", [PROVE_MULTIPLY] = "*", [PROVE_EQUAL] = "=",
        [PROVE_LESS] = "<", [PROVE_NOT] = "not",    [PROVE_AND] = "and",    [PROVE_CHOOSE] = "ite"};
    const struct prove_term *term = &terms->list[number];
    bool boolean = prove_boolean(terms, number),
         logic = term->op == PROVE_NOT || term->op == PROVE_AND;
    bool wraps = boolean && term->op >= PROVE_ADD && term->op <= PROVE_MULTIPLY;
    iso_text_format(text, "(define-fun t%u () %s (%s%s ", number, boolean ? "Bool" : "Int",
                    wraps ? "not (= 0 (" : "", words[term->op]);
    put_term(text, terms, term->a, logic || term->op == PROVE_CHOOSE);
    if (term->op != PROVE_NOT) {
        iso_text_put(text, " ");
        put_term(text, terms, term->b, logic || (term->op == PROVE_CHOOSE && boolean));
    }
    if (term->op == PROVE_CHOOSE) {
        iso_text_put(text, " ");
        put_term(text, terms, term->c, boolean);
    }
    iso_text_put(text, wraps ? "))))\n" : "))\n");
}

static void put_constraint(struct iso_text *text, const struct prove_encoding *encoding,
                           const struct prove_constraint *constraint)
{
    const struct prove_terms *terms = &encoding->system->terms;
    iso_text_put(text, "(assert (or false");
    for (uint32_t i = 0; i < constraint->count; i++) {
        iso_text_put(text, " ");
        put_term(text, terms, encoding->terms.list[constraint->first + i], true);
    }
    if (constraint->equal_a != ISO_NONE) {
        iso_text_put(text, " (= ");
        put_term(text, terms, constraint->equal_a, false);
        iso_text_put(text, " ");
        put_term(text, terms, constraint->equal_b, false);
        iso_text_put(text, ")");
    }
    iso_text_put(text, "))\n");
}

enum iso_status iso_prove_put_smt2(const struct iso_prove_program *program,
                                   enum iso_prove_level level, uint32_t unroll,
                                   struct iso_prove_stop stop, struct iso_text *text,
                                   struct iso_error *error)
{
    struct prove_system system;
    struct prove_encoding encoding;
    uint32_t goal;
    enum iso_status status = encode(&system, &encoding, &goal, program, level, unroll, stop, error);
    const struct prove_terms *terms = &system.terms;
    iso_text_format(
        text,
        "; can a rule of this program be broken at %s? unsat: it holds for these %u transactions\n",
        iso_prove_level_name(level), program->instances.count);
    iso_text_put(text, "(set-logic ALL)\n");
    for (uint32_t i = 0; status == ISO_OK && i < terms->count; i++) {
        const struct prove_term *term = &terms->list[i];
        if (term->op == PROVE_VARIABLE)
            iso_text_format(text, "(declare-fun t%u () %s)\n", i,
                            prove_boolean(terms, i) ? "Bool" : "Int");
        else if (term->op != PROVE_CONSTANT)
            put_definition(text, terms, i);
    }
    for (uint32_t i = 0; status == ISO_OK && i < program->inputs.count; i++) {
        uint32_t input = system.inputs[i];
        if (prove_boolean(terms, input) || prove_known(terms, input))
            continue;
        iso_text_format(text, "(assert (and (<= ");
        put_number(text, program->inputs.list[i].least);
        iso_text_format(text, " t%u) (<= t%u ", input, input);
        put_number(text, program->inputs.list[i].most);
        iso_text_put(text, ")))\n");
    }
    for (uint32_t i = 0; status == ISO_OK && i < encoding.constraints.count; i++)
        put_constraint(text, &encoding, &encoding.constraints.list[i]);
    if (status == ISO_OK) {
        iso_text_put(text, "(assert ");
        put_term(text, terms, goal, true);
        iso_text_put(text, ")\n(check-sat)\n");
    }
    if (encoding.system)
        prove_encoding_release(&encoding);
    prove_system_release(&system);
    return status;
}
