/* Calls of the file's own functions: their statements stand where the call stands. */
#include "lower/body_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { MOST_CALLS = 8 }; /* within each other */

struct found_call {
    struct body_reader *reader;
    uint32_t calls, links; /* links: queries outside of calls */
    bool nested;           /* a call below what may not be computed */
    bool reads;            /* a query below a call */
    bool operand, null;    /* a call below an operator; a NULL beside it */
    ISO_LIST(struct hoisted) hoisted;
    ISO_LIST(struct use) uses;
};

static struct function *called(const struct lowering *lowering, const PgQuery__Node *node)
{
    if (node->node_case != PG_QUERY__NODE__NODE_FUNC_CALL || !node->func_call->n_funcname)
        return NULL;
    const char *name = lower_name_of(node->func_call->funcname[node->func_call->n_funcname - 1]);
    for (uint32_t i = 0; i < lowering->functions.count; i++)
        if (!strcmp(lowering->functions.list[i].name, name))
            return &lowering->functions.list[i];
    return NULL;
}

static bool is_condition(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_CASE_EXPR ||
           node->node_case == PG_QUERY__NODE__NODE_COALESCE_EXPR ||
           node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR ||
           node->node_case == PG_QUERY__NODE__NODE_SUB_LINK;
}

struct operands {
    struct found_call *found;
    bool call, null;
};

static bool find_operands(void *with, const PgQuery__Node *node)
{
    struct operands *operands = with;
    bool null = node->node_case == PG_QUERY__NODE__NODE_A_CONST && node->a_const->isnull;
    operands->call = operands->call || called(operands->found->reader->lowering, node);
    operands->null = operands->null || null;
    return true;
}

/* A call below an operator: PostgreSQL does not call it where the other operand is NULL when it
 * plans, be it a literal or, in a query, a variable. */
static void find_strict(struct found_call *found, const PgQuery__Node *node)
{
    struct operands operands = {found, false, false};
    if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR ||
        (node->node_case == PG_QUERY__NODE__NODE_FUNC_CALL &&
         !called(found->reader->lowering, node)))
        lower_each_node(&node->base, find_operands, &operands);
    found->operand = found->operand || operands.call;
    found->null = found->null || (operands.call && operands.null);
}

/* Below a condition. */
static bool find_nested(void *with, const PgQuery__Node *node)
{
    struct found_call *found = with;
    found->nested = found->nested || called(found->reader->lowering, node);
    return true;
}

/* Below a call. */
static bool find_reading(void *with, const PgQuery__Node *node)
{
    struct found_call *found = with;
    found->reads = found->reads || node->node_case == PG_QUERY__NODE__NODE_SUB_LINK;
    find_strict(found, node);
    found->calls += called(found->reader->lowering, node) != NULL;
    if (is_condition(node))
        lower_each_node(&node->base, find_nested, found);
    return true;
}

static bool find_called(void *with, const PgQuery__Node *node)
{
    struct found_call *found = with;
    find_strict(found, node);
    found->links += node->node_case == PG_QUERY__NODE__NODE_SUB_LINK;
    if (is_condition(node))
        lower_each_node(&node->base, find_nested, found);
    bool is_call = called(found->reader->lowering, node);
    if (is_call)
        lower_each_node(&node->base, find_reading, found);
    return !is_call;
}

/* Behind a call's (: its arguments are assigned to the parameters, as they are told to psql. */
static void assign_arguments(struct body_reader *reader, const struct function *function,
                             const struct value *values, uint32_t token)
{
    struct lowering *lowering = reader->lowering;
    for (uint32_t i = 0; i < function->parameters.count && !failed(lowering); i++) {
        const struct parameter *parameter = &function->parameters.list[i];
        uint32_t end = lower_find_word(reader, token, WORDS(",", ")")), first, last;
        uint32_t variable = lower_declare(
            lowering, iso_copy_text(parameter->name, strlen(parameter->name)), parameter->type);
        lower_bytes_of(reader, token, end, &first, &last);
        if (parameter->type == TYPE_INT && values[i].type == TYPE_BIGINT)
            lower_refuse(lowering, first, "this parameter is int, and this is bigint");
        lower_put_assignment(lowering, variable, first, last);
        lower_assign(lowering, variable, values[i], first);
        token = end + 1;
    }
}

/* The statements of a function, between its parameters and its result. */
static void read_inlined(struct body_reader *outer, const struct function *function,
                         struct inlined *call, const struct value *values, uint32_t token)
{
    struct lowering *lowering = outer->lowering;
    struct body *body = &lowering->body;
    struct body_reader reader = {.lowering = lowering,
                                 .function = function,
                                 .call = call,
                                 .list = function->tokens.list,
                                 .count = function->tokens.count,
                                 .depth = outer->depth};
    uint32_t found = body->found, row_count = body->row_count, outer_first = body->first;
    uint32_t first = body->variables.count;
    const char *name = body->name;
    assign_arguments(outer, function, values, token);
    body->first = first;
    body->name = function->name;
    lower_declare_found(lowering);
    lower_read_block(&reader);
    lower_end_function(&reader);
    for (uint32_t i = first; i < body->variables.count; i++)
        body->variables.list[i].hidden = true;
    body->first = outer_first;
    body->name = name;
    body->found = found;
    body->row_count = row_count;
}

static struct value inline_call(struct body_reader *reader, const PgQuery__FuncCall *node,
                                const struct function *function, struct use *use)
{
    struct lowering *lowering = reader->lowering;
    struct inlined call = {0};
    struct value values[MOST_COLUMNS];
    assert(lowering->body.inside <= MOST_CALLS);
    uint32_t location = (uint32_t)location_of(lowering, node->location), token = reader->at;
    while (token < reader->count && reader->list[token].begin < location)
        token++;
    token = lower_find_word(reader, token, WORDS("(")) + 1;
    if (function->refused)
        iso_error_set(lowering->error, ISO_BAD_INPUT, "%s", function->refused);
    if (lowering->body.inside >= MOST_CALLS || node->n_args != function->parameters.count ||
        node->n_args > MOST_COLUMNS)
        lower_refuse_form(lowering, location, "this call of \"%s\"", function->name);
    for (size_t i = 0; i < node->n_args && !failed(lowering); i++) {
        values[i] = lower_keep_value(lowering, lower_expression(lowering, NULL, node->args[i]));
        lower_abort_if(lowering, values[i].fails);
        values[i].fails = NONE;
    }
    if (failed(lowering))
        return lower_null(lowering);
    lowering->body.calls++;
    lowering->body.inside++;
    call.result = lower_declare(lowering, iso_copy_text("$result", 7),
                                function->returns ? function->result : TYPE_INT);
    call.returned = lower_declare(lowering, iso_copy_text("$returned", 9), TYPE_BOOLEAN);
    lower_let(lowering, lowering->body.variables.list[call.returned].local,
              lower_number(lowering, 0));
    lower_put_number(lowering, call.returned, ":found"); /* psql has one FOUND */
    lower_put_number(lowering, lowering->body.found, "false");
    read_inlined(reader, function, &call, values, token);
    lowering->body.inside--;
    uint32_t end = lower_find_word(reader, token, WORDS(")"));
    *use =
        (struct use){location, end < reader->count ? reader->list[end].end : location, call.result};
    lowering->body.states.list[call.result] =
        call.any ? call.gathered : (struct state){.may_be_null = true};
    return lower_variable_value(lowering, call.result);
}

static bool inline_node(void *with, const PgQuery__Node *node)
{
    struct found_call *found = with;
    struct lowering *lowering = found->reader->lowering;
    const struct function *function = called(lowering, node);
    if (!function || failed(lowering))
        return !failed(lowering);
    for (size_t i = 0; i < node->func_call->n_args; i++)
        lower_each_node(&node->func_call->args[i]->base, inline_node, found);
    struct use use = {0};
    lowering->at.hoisted.count = 0;
    for (uint32_t i = 0; i < found->hoisted.count; i++)
        ISO_APPEND(lowering->at.hoisted, found->hoisted.list[i]);
    struct iso_prove_span span = lowering->at.span;
    int64_t delta = lowering->at.delta;
    struct value value = inline_call(found->reader, node->func_call, function, &use);
    lowering->at.span = span;
    lowering->at.delta = delta;
    ISO_APPEND(found->hoisted, (struct hoisted){node, value});
    ISO_APPEND(found->uses, use);
    return false;
}

void lower_inline_calls(struct body_reader *reader, const PgQuery__Node *node, bool simple)
{
    struct lowering *lowering = reader->lowering;
    struct found_call found = {.reader = reader};
    lower_each_node(&node->base, find_called, &found);
    /* What a query reads is as it was before any of the calls. Else refused, where it is read. */
    if (!found.calls || found.nested || found.links || (found.reads && found.calls > 1) ||
        (found.operand && (found.null || found.reads || !simple)))
        return;
    lower_each_node(&node->base, inline_node, &found);
    lowering->at.continued = false;
    lowering->at.hoisted.count = 0;
    lower_begin_script(lowering);
    for (uint32_t i = 0; i < found.hoisted.count; i++)
        ISO_APPEND(lowering->at.hoisted, found.hoisted.list[i]);
    for (uint32_t i = 0; i < found.uses.count && !failed(lowering); i++) {
        char before[80];
        snprintf(before, sizeof before, ":%.70s",
                 lowering->body.variables.list[found.uses.list[i].variable + 1].told);
        lower_put_number(lowering, lowering->body.found, before);
        ISO_APPEND(lowering->at.uses, found.uses.list[i]);
    }
    ISO_FREE_ALL(found.hoisted.list, found.uses.list);
}
