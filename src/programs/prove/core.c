/* The core language:
 *
 *     file  = { var N [= e | in n..n] | table N[n] [= e | in n..n] | input N in n..n | txn N(N,..)
 *           block
 *             | run call,.. | session N: call,.. | assume e | assert e | invariant e }
 *     block = { { let N = e | cell := e | if e block [else block] | for N in e..e block | abort [if
 *       e] | lock cell } }
 *     e     = ?: || && == != < <= > >= + - * ! -, cell, (sum|count|max|forall|exists)(N in e..e :
 *           e)
 *     cell  = N | N[e]
 *
 * A let of a name that is known already gives it a new value; the name ends with its block.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "prove/core_private.h"

enum {
    DEPTH = 200,       /* of nested parentheses and blocks */
    OPERATORS = 10000, /* of a statement */
    ROWS = 4096,       /* of a table */
    CALLS = 1000       /* of a file, repeats included */
};

static bool enter(struct prove_core *core)
{
    if (++core->depth > DEPTH && fine(core))
        refuse(core, here(core), "nested more than %d deep", DEPTH);
    return fine(core);
}

/* Defines the search of a name in one of the program's lists. */
#define FIND(function, member)                                                                     \
    static uint32_t function(const struct prove_core *core, const char *name)                      \
    {                                                                                              \
        for (uint32_t i = 0; i < core->program->member.count; i++)                                 \
            if (!strcmp(core->program->member.list[i].name, name))                                 \
                return i;                                                                          \
        return ISO_NONE;                                                                           \
    }
FIND(find_table, tables)
FIND(find_input, inputs)
FIND(find_template, templates)

static uint32_t find_local(const struct prove_core *core, const char *name)
{
    for (uint32_t i = core->scope.count; i-- > 0;)
        if (!strcmp(core->scope.list[i].text, name))
            return core->scope.list[i].local;
    return ISO_NONE;
}

static uint32_t new_local(struct prove_core *core, const char *name)
{
    uint32_t local = core->template == ISO_NONE
                         ? core->bound++
                         : iso_prove_local(core->program, core->template, name);
    struct name known = {.local = local};
    snprintf(known.text, sizeof known.text, "%s", name);
    ISO_APPEND(core->scope, known);
    return local;
}

static void count_operator(struct prove_core *core, uint32_t begin)
{
    if (++core->operators > OPERATORS)
        refuse(core, since(core, begin), "more than %d operators", OPERATORS);
}

static uint32_t read_expression(struct prove_core *core);

static uint32_t zero(struct prove_core *core)
{
    return iso_prove_constant(core->program, 0);
}

static uint32_t number_here(struct prove_core *core, int64_t number, struct iso_prove_span span)
{
    uint32_t made = iso_prove_constant(core->program, number);
    core->program->expressions.list[made].span = span;
    return made;
}

/* The index of a cell whose name has been read, or 0 of a var. */
static uint32_t read_index(struct prove_core *core, uint32_t table, const char *name)
{
    bool indexed = core->program->tables.list[table].indexed;
    uint32_t index;
    if (!indexed) {
        if (fine(core) && prove_core_is(core, "["))
            refuse(core, here(core), "'%s' is a var and has no index", name);
        return zero(core);
    }
    if (!prove_core_expect(core, "["))
        return zero(core);
    index = read_expression(core);
    prove_core_expect(core, "]");
    return index;
}

static uint32_t read_quantifier(struct prove_core *core, enum iso_prove_op op)
{
    char name[NAME + 1] = "";
    uint32_t begin = core->token.begin, from, to, body, local;
    prove_core_next(core);
    prove_core_expect(core, "(");
    prove_core_take_name(core, name, "the name of a bound variable");
    prove_core_expect(core, "in");
    from = read_expression(core);
    prove_core_expect(core, "..");
    to = read_expression(core);
    prove_core_expect(core, ":");
    if (!fine(core))
        return zero(core);
    local = new_local(core, name);
    body = read_expression(core);
    core->scope.count--;
    prove_core_expect(core, ")");
    return iso_prove_quantifier(core->program, op, local, from, to, body, since(core, begin));
}

static uint32_t read_named(struct prove_core *core)
{
    char name[NAME + 1];
    uint32_t begin = core->token.begin, local, table, input;
    struct iso_prove_span span = here(core);
    if (!prove_core_take_name(core, name, "an expression"))
        return zero(core);
    if ((local = find_local(core, name)) != ISO_NONE)
        return iso_prove_expression(core->program, ISO_PROVE_LOCAL, local, ISO_NONE, ISO_NONE,
                                    span);
    table = find_table(core, name);
    input = find_input(core, name);
    if (table != ISO_NONE && core->cells) {
        uint32_t index = read_index(core, table, name);
        return iso_prove_expression(core->program, ISO_PROVE_READ, table, index, 0,
                                    since(core, begin));
    }
    if (input != ISO_NONE && core->inputs)
        return iso_prove_expression(core->program, ISO_PROVE_INPUT, input, ISO_NONE, ISO_NONE,
                                    span);
    if (table != ISO_NONE)
        refuse(core, span, "'%s' is a cell, and %s", name, core->without);
    else if (input != ISO_NONE)
        refuse(core, span,
               "'%s' is an input, and inputs are not visible in bodies: make it a parameter", name);
    else
        refuse(core, span, "unknown name '%s'", name);
    return zero(core);
}

static uint32_t read_simple(struct prove_core *core)
{
    static const struct {
        const char *word;
        enum iso_prove_op op;
    } quantifiers[] = {{"sum", ISO_PROVE_SUM},
                       {"count", ISO_PROVE_COUNT},
                       {"max", ISO_PROVE_MAXIMUM},
                       {"forall", ISO_PROVE_FORALL},
                       {"exists", ISO_PROVE_EXISTS}};
    if (core->token.kind == NUMBER) {
        uint32_t made = number_here(core, core->token.number, here(core));
        prove_core_next(core);
        return made;
    }
    if (prove_core_take(core, "(")) {
        uint32_t inside = read_expression(core);
        prove_core_expect(core, ")");
        return inside;
    }
    for (size_t i = 0; i < sizeof quantifiers / sizeof *quantifiers; i++)
        if (prove_core_is(core, quantifiers[i].word))
            return read_quantifier(core, quantifiers[i].op);
    if (core->token.kind == NAMED)
        return read_named(core);
    prove_core_refuse_token(core, "an expression");
    return zero(core);
}

static uint32_t read_unary(struct prove_core *core)
{
    uint32_t begin = core->token.begin, made;
    bool not = prove_core_is(core, "!"), minus = prove_core_is(core, "-");
    if (!fine(core) || !enter(core)) {
        made = zero(core);
    } else if (not || minus) {
        prove_core_next(core);
        uint32_t inside = read_unary(core);
        made = iso_prove_expression(core->program, not ? ISO_PROVE_NOT : ISO_PROVE_NEGATE, inside,
                                    ISO_NONE, ISO_NONE, since(core, begin));
    } else {
        made = read_simple(core);
    }
    core->depth--;
    return made;
}

static const struct operator
{
    const char *word;
    unsigned level; /* 0 binds loosest */
    enum iso_prove_op op;
}
operators[] = {
    {"||", 0, ISO_PROVE_OR},      {"&&", 1, ISO_PROVE_AND},
    {"==", 2, ISO_PROVE_EQUAL},   {"!=", 2, ISO_PROVE_UNEQUAL},
    {"<", 2, ISO_PROVE_LESS},     {"<=", 2, ISO_PROVE_LESS_EQUAL},
    {">", 2, ISO_PROVE_GREATER},  {">=", 2, ISO_PROVE_GREATER_EQUAL},
    {"+", 3, ISO_PROVE_ADD},      {"-", 3, ISO_PROVE_SUBTRACT},
    {"*", 4, ISO_PROVE_MULTIPLY},
};

static const struct operator* operator_here(const struct prove_core *core)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (prove_core_is(core, operators[i].word))
            return &operators[i];
    return NULL;
}

/* Operators of at least this level, from the left. */
static uint32_t read_level(struct prove_core *core, unsigned level)
{
    uint32_t begin = core->token.begin, left = read_unary(core);
    const struct operator* operator;
    while (fine(core) && (operator= operator_here(core)) && operator->level >= level) {
        prove_core_next(core);
        count_operator(core, begin);
        uint32_t right = read_level(core, operator->level + 1);
        left = iso_prove_expression(core->program, operator->op, left, right, ISO_NONE,
                                    since(core, begin));
    }
    return left;
}

static uint32_t read_expression(struct prove_core *core)
{
    uint32_t begin = core->token.begin, rounds = 0, made;
    if (!enter(core)) {
        core->depth--;
        return zero(core);
    }
    made = read_level(core, 0);
    while (prove_core_take(core, "?")) {
        count_operator(core, begin);
        if (rounds++ == 1)
            iso_prove_warn(
                core->program, since(core, begin),
                "?: groups from the left, (a ? b : c) ? d : e: write parentheses to say what you mean");
        uint32_t yes = read_expression(core);
        prove_core_expect(core, ":");
        uint32_t no = read_level(core, 0);
        made = iso_prove_expression(core->program, ISO_PROVE_CHOOSE, made, yes, no,
                                    since(core, begin));
    }
    core->depth--;
    return made;
}

static uint32_t read_block(struct prove_core *core);

static void read_let(struct prove_core *core, struct iso_prove_step *step)
{
    char name[NAME + 1] = "";
    prove_core_next(core);
    prove_core_take_name(core, name, "a name");
    prove_core_expect(core, "=");
    step->value = read_expression(core);
    step->local = find_local(core, name);
    if (step->local == ISO_NONE && fine(core))
        step->local = new_local(core, name);
}

/* A cell that is written or locked. */
static void read_cell(struct prove_core *core, struct iso_prove_step *step)
{
    char name[NAME + 1] = "";
    struct iso_prove_span span = here(core);
    step->index = zero(core);
    step->table = 0;
    if (!prove_core_take_name(core, name, "a statement or '}'"))
        return;
    step->table = find_table(core, name);
    if (find_local(core, name) != ISO_NONE)
        refuse(core, span, "'%s' is no cell: a let gives a name a new value", name);
    else if (step->table == ISO_NONE)
        refuse(core, span, "unknown cell '%s'", name);
    else
        step->index = read_index(core, step->table, name);
}

static void read_for(struct prove_core *core, struct iso_prove_step *step)
{
    char name[NAME + 1] = "";
    prove_core_next(core);
    prove_core_take_name(core, name, "the name of a bound variable");
    prove_core_expect(core, "in");
    step->value = read_expression(core);
    prove_core_expect(core, "..");
    step->bound = read_expression(core);
    if (!fine(core))
        return;
    step->local = new_local(core, name);
    step->span.end = core->last;
    step->block = read_block(core);
    core->scope.count--;
}

static uint32_t read_step(struct prove_core *core)
{
    uint32_t begin = core->token.begin, made;
    struct iso_prove_span span = here(core);
    enum iso_prove_step_kind kind = prove_core_is(core, "let")     ? ISO_PROVE_LET
                                    : prove_core_is(core, "if")    ? ISO_PROVE_IF
                                    : prove_core_is(core, "for")   ? ISO_PROVE_FOR
                                    : prove_core_is(core, "abort") ? ISO_PROVE_ABORT
                                    : prove_core_is(core, "lock")  ? ISO_PROVE_LOCK
                                                                   : ISO_PROVE_WRITE;
    made = iso_prove_step(core->program, kind, span);
    struct iso_prove_step step = core->program->steps.list[made];
    core->operators = 0;
    if (kind == ISO_PROVE_LET) {
        read_let(core, &step);
    } else if (kind == ISO_PROVE_IF) {
        prove_core_next(core);
        step.value = read_expression(core);
        step.span.end = core->last;
        step.block = read_block(core);
        if (prove_core_take(core, "else"))
            step.otherwise = read_block(core);
    } else if (kind == ISO_PROVE_FOR) {
        read_for(core, &step);
    } else if (kind == ISO_PROVE_ABORT) {
        prove_core_next(core);
        if (prove_core_take(core, "if"))
            step.value = read_expression(core);
    } else if (kind == ISO_PROVE_LOCK) {
        prove_core_next(core);
        read_cell(core, &step);
    } else {
        read_cell(core, &step);
        prove_core_expect(core, ":=");
        uint32_t value = fine(core) ? read_expression(core) : zero(core);
        step.first_value = iso_prove_values(core->program, &value, 1);
    }
    if (kind != ISO_PROVE_IF && kind != ISO_PROVE_FOR)
        step.span = since(core, begin);
    core->program->steps.list[made] = step;
    prove_core_take(core, ";");
    return made;
}

/* The first step. */
static uint32_t read_block(struct prove_core *core)
{
    struct iso_prove_block block = ISO_PROVE_BLOCK;
    uint32_t known = core->scope.count;
    if (enter(core) && prove_core_expect(core, "{")) {
        while (fine(core) && !prove_core_is(core, "}") && core->token.kind != END)
            iso_prove_append(core->program, &block, read_step(core));
        prove_core_expect(core, "}");
    }
    core->depth--;
    core->scope.count = known;
    return block.first;
}

/* "in n..n" behind its "in". */
static void read_range(struct prove_core *core, int64_t *least, int64_t *most)
{
    int64_t *ends[] = {least, most};
    struct iso_prove_span span = here(core);
    *least = *most = 0;
    for (int i = 0; i < 2; i++) {
        bool minus = prove_core_take(core, "-");
        if (!fine(core))
            return;
        if (core->token.kind != NUMBER) {
            prove_core_refuse_token(core, "a number");
            return;
        }
        *ends[i] = minus ? -core->token.number : core->token.number;
        prove_core_next(core);
        if (!i)
            prove_core_expect(core, "..");
    }
    if (fine(core) && *least > *most) {
        span.end = core->last;
        refuse(core, span, "a range without a number: %lld is more than %lld", (long long)*least,
               (long long)*most);
        *most = *least;
    }
}

static bool name_is_free(struct prove_core *core, const char *name, struct iso_prove_span span)
{
    if (fine(core) && (find_table(core, name) != ISO_NONE || find_input(core, name) != ISO_NONE))
        refuse(core, span, "'%s' is declared twice", name);
    return fine(core);
}

static void initialise_by_range(struct prove_core *core, uint32_t table, int64_t least,
                                int64_t most)
{
    struct iso_prove_table *made = &core->program->tables.list[table];
    for (uint32_t i = 0; i < made->rows; i++) {
        char input[NAME + 16];
        snprintf(input, sizeof input, made->indexed ? "%s[%u]" : "%s", made->name, i);
        uint32_t number = iso_prove_input(core->program, input, least, most, made->span);
        made->initial[i] = iso_prove_expression(core->program, ISO_PROVE_INPUT, number, ISO_NONE,
                                                ISO_NONE, made->span);
    }
}

static void read_table(struct prove_core *core, bool indexed)
{
    char name[NAME + 1] = "";
    uint32_t begin = core->token.begin, rows = 1, initial = ISO_NONE;
    int64_t least = 0, most = 0;
    bool range = false;
    prove_core_next(core);
    struct iso_prove_span span = here(core);
    prove_core_take_name(core, name, indexed ? "a table's name" : "a var's name");
    name_is_free(core, name, span);
    if (indexed && prove_core_expect(core, "[")) {
        if (core->token.kind != NUMBER)
            prove_core_refuse_token(core, "how many cells the table has");
        else if (core->token.number < 1 || core->token.number > ROWS)
            refuse(core, here(core), "a table has from 1 to %d cells", ROWS);
        else
            rows = (uint32_t)core->token.number;
        if (fine(core))
            prove_core_next(core);
        prove_core_expect(core, "]");
    }
    if (prove_core_take(core, "=")) {
        core->cells = false;
        core->inputs = true;
        core->without = "an initial value is made of constants and inputs";
        initial = read_expression(core);
    } else if (prove_core_take(core, "in")) {
        range = true;
        read_range(core, &least, &most);
    }
    if (!fine(core))
        return;
    uint32_t table = iso_prove_table(core->program, name, rows, 1, since(core, begin));
    core->program->tables.list[table].indexed = indexed;
    for (uint32_t i = 0; initial != ISO_NONE && i < rows; i++)
        core->program->tables.list[table].initial[i] = initial;
    if (range)
        initialise_by_range(core, table, least, most);
}

static void read_input(struct prove_core *core)
{
    char name[NAME + 1] = "";
    uint32_t begin = core->token.begin;
    int64_t least = 0, most = 0;
    prove_core_next(core);
    struct iso_prove_span span = here(core);
    prove_core_take_name(core, name, "an input's name");
    name_is_free(core, name, span);
    if (prove_core_expect(core, "in"))
        read_range(core, &least, &most);
    if (fine(core))
        iso_prove_input(core->program, name, least, most, since(core, begin));
}

static void read_transaction(struct prove_core *core)
{
    char name[NAME + 1] = "";
    uint32_t begin = core->token.begin, block;
    prove_core_next(core);
    struct iso_prove_span span = here(core);
    prove_core_take_name(core, name, "a transaction's name");
    if (fine(core) && find_template(core, name) != ISO_NONE)
        refuse(core, span, "the transaction '%s' is declared twice", name);
    if (!prove_core_expect(core, "("))
        return;
    core->template = iso_prove_template(core->program, name, span);
    while (fine(core) && !prove_core_is(core, ")")) {
        span = here(core);
        if (prove_core_take_name(core, name, "a parameter or ')'")) {
            if (find_local(core, name) != ISO_NONE)
                refuse(core, span, "the parameter '%s' is declared twice", name);
            new_local(core, name);
            core->program->templates.list[core->template].parameters++;
        }
        if (fine(core) && !prove_core_is(core, ")"))
            prove_core_expect(core, ",");
    }
    prove_core_expect(core, ")");
    core->cells = true;
    core->inputs = false;
    block = fine(core) ? read_block(core) : ISO_NONE;
    core->program->templates.list[core->template].block = block;
    core->program->templates.list[core->template].span = since(core, begin);
    core->template = ISO_NONE;
    core->scope.count = 0;
}

enum { ARGUMENTS = 64 };

static void read_call(struct prove_core *core, uint32_t session)
{
    char name[NAME + 1] = "";
    uint32_t arguments[ARGUMENTS], count = 0, begin = core->token.begin, wanted;
    struct iso_prove_span span = here(core);
    prove_core_take_name(core, name, "the call of a transaction");
    uint32_t template = fine(core) ? find_template(core, name) : 0;
    if (fine(core) && template == ISO_NONE)
        refuse(core, span, "unknown transaction '%s'", name);
    prove_core_expect(core, "(");
    while (fine(core) && !prove_core_is(core, ")") && count < ARGUMENTS) {
        arguments[count++] = read_expression(core);
        if (fine(core) && !prove_core_is(core, ")"))
            prove_core_expect(core, ",");
    }
    prove_core_expect(core, ")");
    if (!fine(core))
        return;
    wanted = core->program->templates.list[template].parameters;
    if (count != wanted) {
        refuse(core, since(core, begin), "%s takes %u arguments, not %u", name, wanted, count);
        return;
    }
    ISO_APPEND(core->calls, (struct call){
                                .template = template,
                                .first_argument = iso_prove_values(core->program, arguments, count),
                                .session = session,
                                .span = since(core, begin),
                            });
}

static void read_calls(struct prove_core *core, uint32_t session)
{
    core->cells = false;
    core->inputs = true;
    core->without = "arguments are made of constants and inputs";
    do
        read_call(core, session);
    while (prove_core_take(core, ","));
}

static void read_session(struct prove_core *core)
{
    char name[NAME + 1] = "";
    uint32_t session = 0;
    prove_core_next(core);
    prove_core_take_name(core, name, "a session's name");
    prove_core_expect(core, ":");
    if (!fine(core))
        return;
    while (session < core->sessions.count && strcmp(core->sessions.list[session], name))
        session++;
    if (session == core->sessions.count)
        ISO_APPEND(core->sessions, iso_copy_text(name, strlen(name)));
    read_calls(core, session);
}

static void read_rule(struct prove_core *core, enum iso_prove_rule_kind kind)
{
    uint32_t expression, made;
    prove_core_next(core);
    core->cells = core->inputs = true;
    core->bound = 0;
    uint32_t begin = core->token.begin;
    expression = read_expression(core);
    if (!fine(core))
        return;
    made = iso_prove_rule(core->program, kind, NULL, expression, since(core, begin));
    core->program->rules.list[made].locals = core->bound;
}

static void read_file(struct prove_core *core)
{
    while (fine(core) && core->token.kind != END) {
        if (prove_core_is(core, "var"))
            read_table(core, false);
        else if (prove_core_is(core, "table"))
            read_table(core, true);
        else if (prove_core_is(core, "input"))
            read_input(core);
        else if (prove_core_is(core, "txn"))
            read_transaction(core);
        else if (prove_core_take(core, "run"))
            read_calls(core, ISO_NONE);
        else if (prove_core_is(core, "session"))
            read_session(core);
        else if (prove_core_is(core, "assume"))
            read_rule(core, ISO_PROVE_ASSUME);
        else if (prove_core_is(core, "assert"))
            read_rule(core, ISO_PROVE_ASSERT);
        else if (prove_core_is(core, "invariant"))
            read_rule(core, ISO_PROVE_INVARIANT);
        else if (fine(core))
            prove_core_refuse_token(
                core, "var, table, input, txn, run, session, assume, assert or invariant");
        prove_core_take(core, ";");
        core->operators = 0;
    }
}

/* The calls of the file, as often as they are to run. */
static void make_instances(struct prove_core *core, uint32_t repeats)
{
    struct iso_prove_program *program = core->program;
    if ((uint64_t)core->calls.count * repeats > CALLS) {
        iso_prove_refuse(program, core->error, core->calls.list[0].span, "more than %d calls",
                         CALLS);
        return;
    }
    for (uint32_t round = 0; round < repeats; round++)
        for (uint32_t i = 0; i < core->calls.count; i++) {
            const struct call *call = &core->calls.list[i];
            struct iso_text name = {0};
            iso_prove_put_span(program, &name, call->span);
            iso_text_put_bytes(&name, "", 1);
            uint32_t session =
                call->session == ISO_NONE ? ISO_NONE : round * core->sessions.count + call->session;
            iso_prove_instance(program, call->template, call->first_argument, session, name.bytes,
                               call->span);
            iso_text_release(&name);
        }
    program->sessions = repeats * core->sessions.count;
    program->repeats = repeats;
}

static void check_whole(struct prove_core *core)
{
    struct iso_prove_program *program = core->program;
    uint32_t rules = 0;
    for (uint32_t i = 0; i < program->rules.count; i++)
        rules += program->rules.list[i].kind != ISO_PROVE_ASSUME;
    if (!fine(core))
        return;
    if (!core->calls.count)
        iso_prove_refuse(program, core->error, here(core),
                         "no run: expected run NAME(..) or session NAME: NAME(..)");
    else if (!rules)
        iso_prove_refuse(program, core->error, here(core),
                         "nothing to prove: expected assert or invariant");
}

enum iso_status iso_prove_read_core(struct iso_prove_program *program, const char *file,
                                    const char *source, size_t length, uint32_t repeats,
                                    struct iso_error *error)
{
    struct prove_core core = {.program = program, .template = ISO_NONE, .error = error};
    assert(repeats);
    program->file = iso_copy_text(file, strlen(file));
    program->source = iso_copy_text(source, length);
    program->source_length = length;
    if (length > UINT32_MAX / 4)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: more than 1 GiB", file);
    core.text = program->source;
    core.length = (uint32_t)length;
    prove_core_next(&core);
    read_file(&core);
    check_whole(&core);
    if (fine(&core))
        make_instances(&core, repeats);
    if (fine(&core))
        iso_prove_program_finish(program);
    for (uint32_t i = 0; i < core.sessions.count; i++)
        iso_free(core.sessions.list[i]);
    ISO_FREE_ALL(core.sessions.list, core.calls.list, core.scope.list);
    return error->status;
}
