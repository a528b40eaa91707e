/* PL/pgSQL: a function's body, block by block. PostgreSQL's own compiler has looked at it before,
 * so that what is left are forms that are known or refused. */
#include "lower/body_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { DEEPEST = 100 }; /* statements within each other */

/* ---- other statements ---- */

static void return_inlined(struct body_reader *reader, struct value value, bool given)
{
    struct lowering *lowering = reader->lowering;
    struct inlined *call = reader->call;
    assert(call);
    if (given)
        lower_put_assignment(lowering, call->result, reader->first, reader->last);
    lower_assign(lowering, call->result, value, lowering->at.span.begin);
    lower_let(lowering, lowering->body.variables.list[call->returned].local,
              lower_number(lowering, 1));
    const struct state *state = &lowering->body.states.list[call->result];
    if (!call->any)
        call->gathered = *state;
    lower_widen(&call->gathered.interval, state->interval.low, state->interval.high);
    call->gathered.may_be_null = call->gathered.may_be_null || state->may_be_null;
    call->any = call->left = reader->dead = true;
}

static void read_return(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct value value = lower_null(lowering);
    lower_begin_statement(reader, lower_find_word(reader, reader->at, WORDS(";")));
    reader->at++;
    bool given = !lower_is_word(reader, ";");
    if (lower_is_word(reader, "query") || lower_is_word(reader, "next"))
        lower_refuse_statement(reader, "RETURN QUERY or NEXT");
    if (given)
        value = lower_take_expression(reader, WORDS(";"));
    if (failed(lowering))
        return;
    if (given && !lower_types_meet(value.type, reader->function->result))
        lower_refuse(lowering, lowering->at.span.begin, "the function returns %s, and this is %s",
                     lower_type_name(reader->function->result), lower_type_name(value.type));
    if (given && reader->function->result == TYPE_INT && value.type == TYPE_BIGINT)
        lower_fit(lowering, &value, TYPE_INT);
    if (reader->call) {
        return_inlined(reader, value, given);
        return;
    }
    if (given)
        lower_put_condition(lowering, reader->first, reader->last, "returns");
    lower_abort_if(lowering, value.fails);
    uint32_t step = lower_add_step(lowering, ISO_PROVE_RETURN);
    if (given)
        lowering->program->steps.list[step].value = value.at;
    reader->dead = true;
}

/* The values of a RAISE that only says something: what fails in them, fails. */
static void read_said(struct body_reader *reader, uint32_t end)
{
    const char *const *const ends = WORDS(",", "using", ";");
    bool named = false;
    for (reader->at = lower_find_word(reader, reader->at, ends);
         reader->at < end && !failed(reader->lowering);) {
        named = named || lower_is_word(reader, "using");
        reader->at += named ? 3 : 1; /* USING or a comma; a name, and = */
        struct value value = lower_take_expression(reader, ends);
        if (!failed(reader->lowering))
            lower_abort_if(reader->lowering, value.fails);
        lower_put_condition(reader->lowering, reader->first, reader->last, "said");
    }
}

static void read_raise(struct body_reader *reader)
{
    static const char *const quiet[] = {"debug", "log", "info", "notice", "warning", NULL};
    struct lowering *lowering = reader->lowering;
    uint32_t end = lower_find_word(reader, reader->at, WORDS(";"));
    lower_begin_statement(reader, end);
    reader->at++;
    bool only_said = false;
    for (uint32_t i = 0; quiet[i]; i++)
        only_said = only_said || lower_is_word(reader, quiet[i]);
    if (lower_is_word(reader, ";"))
        lower_refuse_statement(reader, "RAISE without a message");
    if (only_said)
        read_said(reader, end);
    reader->at = end;
    if (only_said || failed(lowering))
        return;
    lower_abort_if(lowering, lower_number(lowering, 1));
    reader->dead = true;
}

static void read_diagnostics(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    lower_begin_statement(reader, lower_find_word(reader, reader->at, WORDS(";")));
    reader->at++;
    lower_take_word(reader, "current");
    lower_need_word(reader, "diagnostics");
    do {
        uint32_t at = lower_word_location(reader), variable = lower_take_variable(reader);
        if (!lower_take_word(reader, ":="))
            lower_need_word(reader, "=");
        if (!lower_take_word(reader, "row_count"))
            lower_refuse_statement(reader, "GET DIAGNOSTICS of something else than ROW_COUNT");
        if (failed(lowering))
            return;
        const struct state *state = &lowering->body.states.list[lowering->body.row_count];
        struct value value = {TYPE_BIGINT,         NONE, NONE, NONE, state->interval.low,
                              state->interval.high};
        value.at =
            lower_make(lowering, ISO_PROVE_LOCAL,
                       lowering->body.variables.list[lowering->body.row_count].local, NONE, NONE);
        if (value.low == value.high)
            value = lower_constant(lowering, TYPE_BIGINT, value.low);
        lower_put_number(lowering, variable, ":row_count");
        lower_assign(lowering, variable, value, at);
    } while (lower_take_word(reader, ","));
}

static void read_assignment(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t at = lower_word_location(reader);
    lower_begin_statement(reader, lower_find_word(reader, reader->at, WORDS(";")));
    uint32_t variable = lower_take_variable(reader);
    reader->at++; /* := or = */
    struct value value = lower_take_expression(reader, WORDS(";"));
    if (!failed(lowering)) {
        lower_put_assignment(lowering, variable, reader->first, reader->last);
        lower_assign(lowering, variable, value, at);
    }
}

/* A statement that looks at no row before it has all its values. */
static bool has_only_values(const PgQuery__Node *node)
{
    if (node->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
        return !node->select_stmt->n_from_clause && !node->select_stmt->where_clause;
    const PgQuery__Node *source =
        node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT ? node->insert_stmt->select_stmt : NULL;
    return source && source->select_stmt->n_values_lists == 1 &&
           !node->insert_stmt->n_returning_list;
}

/* INTO's variables, from the token behind INTO on; gives the token behind them. */
static uint32_t read_into(struct body_reader *reader, uint32_t at, struct target *target)
{
    uint32_t statement = reader->at;
    reader->at = at;
    target->given = true;
    target->location = lower_word_location(reader);
    target->strict = lower_take_word(reader, "strict");
    do {
        if (target->count == MOST_COLUMNS)
            lower_refuse(reader->lowering, lower_word_location(reader),
                         "more than %d variables behind INTO", MOST_COLUMNS);
        uint32_t variable = lower_take_variable(reader);
        if (!failed(reader->lowering))
            target->variables[target->count++] = variable;
    } while (!failed(reader->lowering) && lower_take_word(reader, ","));
    at = reader->at;
    reader->at = statement;
    return at;
}

static void read_sql(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct target target = {0};
    uint32_t end = lower_find_word(reader, reader->at, WORDS(";")), blank_begin = 0, blank_end = 0,
             first, last;
    bool perform = lower_is_word(reader, "perform"), select = lower_is_word(reader, "select");
    lower_begin_statement(reader, end);
    for (uint32_t at = reader->at + 1; at < end && !failed(lowering); at++) {
        at = lower_find_word(reader, at, WORDS("into", ";"));
        if (at >= end || lower_is_word_at(reader, at - 1, "insert"))
            continue;
        if (target.given) {
            lower_refuse(lowering, reader->list[at].begin, "a second INTO");
            break;
        }
        uint32_t behind = read_into(reader, at + 1, &target);
        if (!failed(lowering))
            lower_bytes_of(reader, at, behind, &blank_begin, &blank_end);
    }
    if (select && !target.given)
        lower_refuse_statement(reader, "SELECT without INTO (PERFORM has none)");
    lower_bytes_of(reader, perform ? reader->at + 1 : reader->at, end, &first, &last);
    const PgQuery__Node *node = NULL;
    if (!failed(lowering))
        node = lower_parse_part(lowering, first, last, perform ? "SELECT " : "", blank_begin,
                                blank_end);
    if (node && has_only_values(node))
        lower_inline_calls(reader, node, false);
    if (node && !failed(lowering))
        lower_statement(lowering, node, &target);
    lower_put_sql(lowering, first, last, &target, perform ? "SELECT " : "", blank_begin, blank_end,
                  select);
    reader->at = end;
}

static void read_statement(struct body_reader *reader)
{
    static const struct {
        const char *word, *what;
    } unknown[] = {{"while", "WHILE"},
                   {"loop", "LOOP"},
                   {"foreach", "FOREACH"},
                   {"exit", "EXIT"},
                   {"continue", "CONTINUE"},
                   {"execute", "EXECUTE (dynamic SQL)"},
                   {"open", "a cursor (OPEN)"},
                   {"fetch", "a cursor (FETCH)"},
                   {"move", "a cursor (MOVE)"},
                   {"close", "a cursor (CLOSE)"},
                   {"commit", "COMMIT"},
                   {"rollback", "ROLLBACK"},
                   {"call", "CALL"},
                   {"assert", "ASSERT"},
                   {"with", "WITH"},
                   {"merge", "MERGE"},
                   {"<<", "a label"},
                   {"do", "DO"}};
    struct lowering *lowering = reader->lowering;
    if (lower_is_word_at(reader, reader->at + 1, ":=") ||
        lower_is_word_at(reader, reader->at + 1, "=")) {
        read_assignment(reader);
        if (!failed(lowering))
            lower_need_word(reader, ";");
        return;
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (lower_is_word(reader, unknown[i].word)) {
            lower_refuse_statement(reader, unknown[i].what);
            return;
        }
    if (lower_is_word(reader, "if") || lower_is_word(reader, "case") ||
        lower_is_word(reader, "for")) {
        bool condition = lower_is_word(reader, "if"), choice = lower_is_word(reader, "case");
        if (condition)
            lower_read_if(reader);
        else if (choice)
            lower_read_case(reader);
        else
            lower_read_for(reader);
        lower_need_word(reader, "end");
        if (!failed(lowering))
            lower_need_word(reader, condition ? "if" : choice ? "case" : "loop");
    } else if (lower_is_word(reader, "begin") || lower_is_word(reader, "declare")) {
        lower_read_block(reader);
    } else if (lower_is_word(reader, "return")) {
        read_return(reader);
    } else if (lower_is_word(reader, "raise")) {
        read_raise(reader);
    } else if (lower_is_word(reader, "get")) {
        read_diagnostics(reader);
    } else if (lower_is_word(reader, "null") && lower_is_word_at(reader, reader->at + 1, ";")) {
        reader->at++;
    } else if (lower_is_word(reader, "select") || lower_is_word(reader, "insert") ||
               lower_is_word(reader, "update") || lower_is_word(reader, "delete") ||
               lower_is_word(reader, "perform")) {
        read_sql(reader);
    } else {
        lower_refuse_statement(reader, "this statement");
    }
    if (!failed(lowering))
        lower_need_word(reader, ";");
}

/* What stands behind a RETURN of an inlined function runs unless it has returned. */
static void read_rest(struct body_reader *reader, const char *const *ends)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    lowering->at.span = (struct iso_prove_span){0, 0};
    reader->call->left = false;
    lower_open_branch(reader, &branch);
    uint32_t inside = lower_not_returned(reader);
    lower_read_statements(reader, ends);
    struct iso_prove_block rest = lower_turn_branch(reader, &branch);
    lowering->at.tag = NONE;
    lower_close_branch(reader, &branch, &rest, inside, false);
    reader->call->left = true;
}

void lower_read_statements(struct body_reader *reader, const char *const *ends)
{
    struct lowering *lowering = reader->lowering;
    if (++reader->depth > DEEPEST)
        lower_refuse(lowering, lower_word_location(reader), "statements nested more than %d deep",
                     DEEPEST);
    while (!failed(lowering)) {
        bool over = reader->at >= reader->count;
        if (lower_is_word(reader, "exception"))
            lower_refuse_statement(reader, "an EXCEPTION block");
        for (uint32_t i = 0; ends[i]; i++)
            over = over || lower_is_word(reader, ends[i]);
        if (over)
            break;
        if (reader->call && reader->call->left) {
            read_rest(reader, ends);
            break;
        }
        read_statement(reader);
    }
    reader->depth--;
}

void lower_read_block(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t outer = lowering->body.variables.count;
    if (lower_is_word(reader, "<<"))
        lower_refuse_statement(reader, "a label");
    if (lower_take_word(reader, "declare"))
        while (!failed(lowering) && !lower_is_word(reader, "begin") && reader->at < reader->count)
            if (!lower_take_word(reader, "declare"))
                lower_read_declaration(reader);
    lower_need_word(reader, "begin");
    lower_read_statements(reader, WORDS("end"));
    lower_need_word(reader, "end");
    for (uint32_t i = outer; i < lowering->body.variables.count; i++)
        lowering->body.variables.list[i].hidden = true;
}

/* ---- functions ---- */

bool lower_prepare_body(struct lowering *lowering, struct function *function)
{
    assert(function->body_begin <= function->body_end && !function->tokens.count);
    struct iso_sql_fault fault;
    const char *text = lowering->file.text + function->span.begin;
    if (!iso_sql_check_functions(text, function->span.end - function->span.begin, &fault))
        lower_refuse(lowering, function->span.begin + fault.byte, "function \"%s\": %s",
                     function->name, fault.text);
    else if (!iso_sql_scan(&function->tokens, lowering->file.text + function->body_begin,
                           function->body_end - function->body_begin, &fault))
        lower_refuse(lowering, function->body_begin + fault.byte, "%s", fault.text);
    for (uint32_t i = 0; i < function->tokens.count; i++) {
        function->tokens.list[i].begin += function->body_begin;
        function->tokens.list[i].end += function->body_begin;
    }
    return !failed(lowering);
}

static void begin_function(struct lowering *lowering, struct function *function)
{
    struct iso_prove_program *program = lowering->program;
    uint32_t slots = function->slots.count,
             template = iso_prove_template(program, function->name, function->span);
    function->template = template;
    for (uint32_t i = 0; i < function->parameters.count; i++) {
        uint32_t local = iso_prove_local(program, template, function->parameters.list[i].name);
        char *name = iso_copy_text(function->parameters.list[i].name,
                                   strlen(function->parameters.list[i].name));
        uint32_t variable = lower_add_variable(lowering, name, function->parameters.list[i].type);
        lowering->body.variables.list[variable].local = local;
        lowering->body.states.list[variable] =
            (struct state){function->parameters.list[i].null, function->parameters.list[i].range};
    }
    uint32_t parameters = function->parameters.count;
    for (uint32_t i = 0; i < function->parameters.count; i++)
        if (function->parameters.list[i].null) {
            lower_add_null(lowering, i);
            parameters++;
        }
    function->first_slot = parameters;
    for (uint32_t i = 0; i < slots; i++) {
        char name[32];
        snprintf(name, sizeof name, "$slot%u", i);
        iso_prove_local(program, template, name);
    }
    function->known_slots = slots;
    function->slots.count = 0;
    for (uint32_t i = 0; i < function->parameters.count; i++)
        if (!function->parameters.list[i].null)
            lower_add_null(lowering, i);
    program->templates.list[template].parameters = parameters + slots;
}

void lower_declare_found(struct lowering *lowering)
{
    lowering->body.found = lower_declare(lowering, iso_copy_text("found", 5), TYPE_BOOLEAN);
    lowering->body.row_count =
        lower_declare(lowering, iso_copy_text("$row_count", 10), TYPE_BIGINT);
}

void lower_end_function(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    lower_take_word(reader, ";");
    if (reader->at < reader->count && !failed(lowering))
        lower_refuse_statement(reader, "what follows the end of the function");
    if (failed(lowering) || !reader->function->returns || reader->dead)
        return;
    lowering->at.span =
        (struct iso_prove_span){reader->function->body_begin, reader->function->body_end};
    if (reader->call) /* shown by the statement that calls it */
        lowering->at.span = (struct iso_prove_span){0, 0};
    lowering->at.continued = false;
    lower_abort_if(lowering, reader->call ? lower_not_returned(reader) : lower_number(lowering, 1));
}

static void clear_variables(struct lowering *lowering)
{
    struct function *function = lowering->body.function;
    struct iso_text names = {0};
    for (uint32_t i = function->parameters.count; i < lowering->body.variables.count; i++)
        iso_text_put_bytes(&names, lowering->body.variables.list[i].told,
                           strlen(lowering->body.variables.list[i].told) + 1);
    iso_text_put_bytes(&names, "", 1);
    iso_free(function->names);
    function->names = names.bytes;
    for (uint32_t i = 0; i < lowering->body.variables.count; i++)
        ISO_FREE_ALL(lowering->body.variables.list[i].name, lowering->body.variables.list[i].told);
    lowering->body.variables.count = 0;
}

void lower_function(struct lowering *lowering, struct function *function)
{
    assert(function->called && !lowering->body.variables.count && !lowering->body.block);
    struct iso_prove_block block = ISO_PROVE_BLOCK;
    struct body_reader reader = {.lowering = lowering,
                                 .function = function,
                                 .list = function->tokens.list,
                                 .count = function->tokens.count};
    lowering->body.function = function;
    lowering->body.block = &block;
    lowering->body.name = function->name;
    lowering->body.temporaries = lowering->body.first = lowering->body.calls = 0;
    lowering->body.inside = 0;
    lowering->at.span = function->span;
    begin_function(lowering, function);
    lower_declare_found(lowering);
    lowering->at.continued = false;
    lower_read_block(&reader);
    lower_end_function(&reader);
    lowering->program->templates.list[function->template].block = block.first;
    assert(lowering->body.block == &block && !reader.depth);
    clear_variables(lowering);
    lowering->body.function = NULL;
    lowering->body.block = NULL;
}
