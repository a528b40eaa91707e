/* PL/pgSQL: a function's body, block by block. PostgreSQL's own compiler has looked at it before,
 * so that what is left are forms that are known or refused. Branches are followed with what is
 * known of each variable; FORs are unrolled. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"
#include "lower/lower_private.h"

enum { DEEPEST = 100, MOST_CALLS = 8 }; /* within each other */

/* A function that is called by another one: its statements stand where the call stands. */
struct inlined {
    uint32_t result, returned; /* variables */
    bool left;                 /* some way through it has ended before here */
    struct state gathered;     /* of the result, by all RETURNs */
    bool any;
};

struct body_reader {
    struct lowering *lowering;
    const struct function *function;
    struct inlined *call; /* or NULL: the transaction */
    const struct iso_sql_token *list;
    uint32_t at, count, depth;
    bool dead;            /* what follows is not reached */
    uint32_t first, last; /* bytes of the last expression */
};

static void read_statements(struct body_reader *reader, const char *const *ends);
static void inline_calls(struct body_reader *reader, const PgQuery__Node *node, bool simple);
static void read_block(struct body_reader *reader);

/* ---- tokens ---- */

static bool is_at(const struct body_reader *reader, uint32_t at, const char *word)
{
    if (at >= reader->count)
        return false;
    size_t length = reader->list[at].end - reader->list[at].begin;
    return length == strlen(word) &&
           !strncasecmp(reader->lowering->file.text + reader->list[at].begin, word, length);
}

static bool is(const struct body_reader *reader, const char *word)
{
    return is_at(reader, reader->at, word);
}

static bool take(struct body_reader *reader, const char *word)
{
    bool there = is(reader, word);
    reader->at += there;
    return there;
}

static uint32_t location(const struct body_reader *reader)
{
    if (reader->at < reader->count)
        return reader->list[reader->at].begin;
    return reader->function->body_end;
}

static void need(struct body_reader *reader, const char *word)
{
    if (!take(reader, word))
        lower_refuse(reader->lowering, location(reader), "%s was expected here", word);
}

/* A name as PostgreSQL folds it; NULL: none stands here. */
static char *take_name(struct body_reader *reader)
{
    if (reader->at >= reader->count)
        return NULL;
    const struct iso_sql_token *token = &reader->list[reader->at];
    const char *text = reader->lowering->file.text + token->begin;
    size_t length = token->end - token->begin;
    if ((token->token != PG_QUERY__TOKEN__IDENT && !token->keyword) || token->reserved)
        return NULL;
    reader->at++;
    bool quoted = *text == '"';
    char *name = iso_copy_text(text + quoted, length - 2 * quoted);
    for (char *at = name; *at && !quoted; at++)
        *at += *at >= 'A' && *at <= 'Z' ? 'a' - 'A' : 0;
    return name;
}

/* The token outside of brackets that is one of the words; the count if there is none. */
static uint32_t find_word(const struct body_reader *reader, uint32_t at, const char *const *words)
{
    uint32_t open = 0;
    for (; at < reader->count; at++) {
        if (!open)
            for (uint32_t i = 0; words[i]; i++)
                if (is_at(reader, at, words[i]))
                    return at;
        open += is_at(reader, at, "(") || is_at(reader, at, "[");
        open -= open && (is_at(reader, at, ")") || is_at(reader, at, "]"));
    }
    return at;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Bytes of the tokens from `at` up to the one before `end`. */
static void bytes_of(const struct body_reader *reader, uint32_t at, uint32_t end, uint32_t *first,
                     uint32_t *last)
{
    assert(end <= reader->count);
    *first = *last = at < reader->count ? reader->list[at].begin : reader->function->body_end;
    if (end > at)
        *last = reader->list[end - 1].end;
}

/* An expression up to one of the words, which is not taken. */
static struct value take_expression(struct body_reader *reader, const char *const *words)
{
    uint32_t end = find_word(reader, reader->at, words), first, last;
    bytes_of(reader, reader->at, end, &first, &last);
    struct value value = lower_null(reader->lowering);
    reader->first = first;
    reader->last = last;
    if (end == reader->at || end == reader->count)
        lower_refuse(reader->lowering, first, "an expression was expected here");
    const PgQuery__Node *node = lower_parse_expression(reader->lowering, first, last);
    if (node) {
        inline_calls(reader, node, true);
        reader->lowering->at.planned = lower_is_planned(node);
        value = lower_expression(reader->lowering, NULL, node);
        if (reader->lowering->at.planned && !failed(reader->lowering)) /* one row, as a query has */
            lower_assign(reader->lowering, reader->lowering->body.row_count,
                         lower_constant(reader->lowering, TYPE_BIGINT, 1), first);
    }
    reader->at = end;
    return value;
}

/* ---- statements begin ---- */

/* The span of a statement is up to the token before `end`. */
static void begin(struct body_reader *reader, uint32_t end)
{
    uint32_t first, last;
    bytes_of(reader, reader->at, end, &first, &last);
    reader->lowering->at.span = (struct iso_prove_span){first, last};
    reader->lowering->at.continued = false;
    reader->lowering->at.hoisted.count = 0;
    lower_begin_script(reader->lowering);
}

static void refuse_statement(struct body_reader *reader, const char *what)
{
    lower_refuse_form(reader->lowering, location(reader), "%s", what);
}

/* ---- variables ---- */

uint32_t lower_find_variable(const struct lowering *lowering, const char *name)
{
    for (uint32_t i = lowering->body.variables.count; i-- > lowering->body.first;)
        if (!lowering->body.variables.list[i].hidden &&
            !strcmp(lowering->body.variables.list[i].name, name))
            return i;
    return NONE;
}

/* The variable whose name stands here; NONE, and refused: there is none. */
static uint32_t take_variable(struct body_reader *reader)
{
    uint32_t at = location(reader);
    char *name = take_name(reader);
    uint32_t variable = name ? lower_find_variable(reader->lowering, name) : NONE;
    if (variable == NONE)
        lower_refuse(reader->lowering, at, "there is no variable \"%s\"", name ? name : "");
    iso_free(name);
    return variable;
}

static uint32_t add_variable(struct lowering *lowering, char *name, enum type type)
{
    uint32_t number = lowering->body.variables.count;
    lowering->program->has_odd_names |=
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_$")] != 0;
    struct iso_text told = {0};
    if (lowering->body.inside && strcmp(name, "found") != 0)
        iso_text_format(&told, "%s__%u", name + (*name == '$'), lowering->body.calls);
    else
        iso_text_put(&told, name);
    lowering->body.states.count = number;
    ISO_APPEND(lowering->body.variables,
               (struct variable){
                   .name = name, .told = iso_copy_text(told.bytes, told.used), .type = type});
    iso_text_release(&told);
    ISO_APPEND(lowering->body.states, (struct state){false, {0, 0}});
    return number;
}

/* The local that says whether the variable is NULL. */
static void add_null(struct lowering *lowering, uint32_t number)
{
    struct variable *variable = &lowering->body.variables.list[number];
    char name[80];
    snprintf(name, sizeof name, "$%.60s.null", variable->name);
    variable->null = iso_prove_local(lowering->program, lowering->body.function->template, name);
}

static uint32_t declare(struct lowering *lowering, char *name, enum type type)
{
    assert(lowering->body.function && *name);
    uint32_t number = add_variable(lowering, name, type);
    lowering->body.variables.list[number].local =
        iso_prove_local(lowering->program, lowering->body.function->template, name);
    add_null(lowering, number);
    return number;
}

static void read_declaration(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t end = find_word(reader, reader->at, WORDS(";")), first, last;
    begin(reader, end);
    char *name = take_name(reader);
    if (!name) {
        refuse_statement(reader, "this declaration");
        return;
    }
    bool constant = take(reader, "constant");
    uint32_t type_end = find_word(reader, reader->at, WORDS("not", "default", ":=", "=", ";"));
    bytes_of(reader, reader->at, type_end, &first, &last);
    for (uint32_t i = reader->at; i < type_end; i++)
        if (is_at(reader, i, "%") || is_at(reader, i, "cursor") || is_at(reader, i, "alias") ||
            is_at(reader, i, "record"))
            lower_refuse_form(lowering, reader->list[i].begin,
                              "a declaration with %%TYPE, %%ROWTYPE, RECORD, CURSOR or ALIAS");
    const PgQuery__Node *cast =
        failed(lowering) ? NULL : lower_parse_part(lowering, first, last, "SELECT NULL::", 0, 0);
    const PgQuery__SelectStmt *select = cast ? cast->select_stmt : NULL;
    if (!select || select->n_target_list != 1 ||
        select->target_list[0]->res_target->val->node_case != PG_QUERY__NODE__NODE_TYPE_CAST) {
        lower_refuse_form(lowering, first, "this declaration");
        iso_free(name);
        return;
    }
    const PgQuery__TypeName *type_name =
        select->target_list[0]->res_target->val->type_cast->type_name;
    enum type type = lower_type_of(lowering, type_name, NULL);
    reader->at = type_end;
    bool not_null = take(reader, "not");
    if (not_null)
        need(reader, "null");
    struct value value = lower_null(lowering);
    if (is(reader, ";"))
        lowering->at.span = (struct iso_prove_span){0, 0}; /* nothing to show */
    if (take(reader, "default") || take(reader, ":=") || take(reader, "="))
        value = take_expression(reader, WORDS(";"));
    uint32_t number = declare(lowering, name, type);
    lowering->body.variables.list[number].not_null = not_null;
    lowering->body.variables.list[number].limit = lower_limit_of(type_name);
    if (reader->at > type_end + 2u * not_null)
        lower_put_assignment(lowering, number, reader->first, reader->last);
    lower_assign(lowering, number, value, first);
    lowering->body.variables.list[number].constant = constant;
    need(reader, ";");
}

/* ---- branches ---- */

static struct state *save(const struct lowering *lowering)
{
    assert(lowering->body.states.count == lowering->body.variables.count);
    struct state *saved =
        iso_allocate(iso_list_bytes(lowering->body.variables.count + 1, sizeof *saved));
    memcpy(saved, lowering->body.states.list, lowering->body.variables.count * sizeof *saved);
    return saved;
}

static void restore(struct lowering *lowering, const struct state *saved, uint32_t count)
{
    assert(count <= lowering->body.states.count);
    memcpy(lowering->body.states.list, saved, count * sizeof *saved);
}

/* Merges what is known of variables after one branch or the other. */
static void join(struct lowering *lowering, const struct state *other, uint32_t count)
{
    assert(count <= lowering->body.states.count);
    for (uint32_t i = 0; i < count; i++) {
        lowering->body.states.list[i].may_be_null |= other[i].may_be_null;
        lower_widen(&lowering->body.states.list[i].interval, other[i].interval.low,
                    other[i].interval.high);
    }
}

struct branch {
    struct iso_prove_block block, *outer;
    struct state *before, *after;
    uint32_t count;
    bool dead_before, dead;
    struct iso_prove_span span;
};

static void open_branch(struct body_reader *reader, struct branch *branch)
{
    *branch = (struct branch){.span = reader->lowering->at.span,
                              .dead_before = reader->dead,
                              .count = reader->lowering->body.variables.count};
    branch->before = save(reader->lowering);
    branch->outer = lower_enter(reader->lowering, &branch->block);
}

/* The first branch ends, the other begins, where all is as before. */
static struct iso_prove_block turn_branch(struct body_reader *reader, struct branch *branch)
{
    assert(reader->lowering->body.block == &branch->block && !branch->after);
    struct iso_prove_block first = branch->block;
    branch->after = save(reader->lowering);
    branch->dead = reader->dead;
    restore(reader->lowering, branch->before, branch->count);
    reader->dead = branch->dead_before;
    branch->block = ISO_PROVE_BLOCK;
    return first;
}

static void close_branch(struct body_reader *reader, struct branch *branch,
                         const struct iso_prove_block *first, uint32_t condition, bool continued)
{
    struct lowering *lowering = reader->lowering;
    struct iso_prove_block other = branch->block;
    assert(branch->before && branch->after);
    int64_t number;
    lowering->at.span = branch->span;
    lowering->at.continued = continued;
    lower_leave(lowering, branch->outer, condition == NONE ? lower_number(lowering, 0) : condition,
                first, &other);
    lowering->at.continued = false;
    bool always = lower_constant_of(lowering, condition, &number) && number;
    if (condition != NONE && (always || reader->dead))
        restore(lowering, branch->after, branch->count);
    else if (condition != NONE && !branch->dead)
        join(lowering, branch->after, branch->count);
    reader->dead = condition == NONE ? reader->dead
                   : always          ? branch->dead
                                     : reader->dead && branch->dead;
    ISO_FREE_ALL(branch->before, branch->after);
}

/* A condition of IF or CASE: evaluated here, as a statement. */
static uint32_t settle_condition(struct lowering *lowering, struct value value, uint32_t at)
{
    if (value.type != TYPE_BOOLEAN && value.type != TYPE_NULL)
        lower_refuse(lowering, at, "a condition is needed here, this is %s",
                     lower_type_name(value.type));
    if (failed(lowering))
        return NONE;
    lower_abort_if(lowering, value.fails);
    return lower_truth(lowering, &value);
}

static void read_if(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    uint32_t then = find_word(reader, reader->at, WORDS("then"));
    begin(reader, then);
    reader->at++; /* IF or ELSIF */
    uint32_t at = location(reader);
    uint32_t condition = settle_condition(lowering, take_expression(reader, WORDS("then")), at);
    bool continued = lowering->at.continued;
    uint32_t tag = lowering->at.tag;
    lower_put_condition(lowering, reader->first, reader->last, "condition");
    need(reader, "then");
    if (failed(lowering))
        return;
    open_branch(reader, &branch);
    read_statements(reader, WORDS("elsif", "elseif", "else", "end"));
    struct iso_prove_block first = turn_branch(reader, &branch);
    if (is(reader, "elsif") || is(reader, "elseif"))
        read_if(reader);
    else if (take(reader, "else"))
        read_statements(reader, WORDS("end"));
    lowering->at.tag = tag;
    close_branch(reader, &branch, &first, condition, continued);
}

/* WHENs from here to END. `asked`: of a CASE with an expression. */
static void read_whens(struct body_reader *reader, const struct value *asked)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    uint32_t then = find_word(reader, reader->at, WORDS("then")), condition = NONE;
    if (failed(lowering))
        return;
    if (take(reader, "else")) {
        read_statements(reader, WORDS("end"));
        return;
    }
    if (!is(reader, "when")) { /* CASE_NOT_FOUND */
        lowering->at.continued = false;
        lower_abort_if(lowering, lower_number(lowering, 1));
        reader->dead = true;
        return;
    }
    begin(reader, then);
    uint32_t at;
    do {
        reader->at++; /* WHEN or a comma */
        at = location(reader);
        struct value value = take_expression(reader, WORDS("then", ","));
        if (asked && !failed(lowering))
            value = lower_compare(lowering, ISO_PROVE_EQUAL, *asked, value, at);
        condition = lower_or(lowering, condition, settle_condition(lowering, value, at));
    } while (asked && is(reader, ",") && !failed(lowering));
    bool continued = lowering->at.continued;
    uint32_t tag = lowering->at.tag;
    if (!asked)
        lower_put_condition(lowering, reader->first, reader->last, "condition");
    need(reader, "then");
    if (failed(lowering))
        return;
    open_branch(reader, &branch);
    read_statements(reader, WORDS("when", "else", "end"));
    struct iso_prove_block first = turn_branch(reader, &branch);
    read_whens(reader, asked);
    lowering->at.tag = tag;
    close_branch(reader, &branch, &first, condition, continued);
}

static void read_case(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct value asked = {0};
    begin(reader, find_word(reader, reader->at, WORDS("then")));
    reader->at++;
    bool simple = !is(reader, "when");
    if (simple) {
        asked = take_expression(reader, WORDS("when"));
        if (!failed(lowering))
            lower_abort_if(lowering, asked.fails);
        asked.fails = NONE;
        asked.at = lower_keep(lowering, asked.at);
        asked.null = lower_keep(lowering, asked.null);
    }
    read_whens(reader, simple ? &asked : NULL);
}

/* ---- loops ---- */

static void read_round(struct body_reader *reader, uint32_t variable, int64_t number,
                       uint32_t first)
{
    struct lowering *lowering = reader->lowering;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    reader->at = first;
    lowering->at.continued = false;
    lower_begin_script(lowering);
    lower_put_number(lowering, variable, text);
    lower_assign(lowering, variable, lower_constant(lowering, TYPE_INT, number),
                 lowering->at.span.begin);
    lowering->at.continued = false;
    read_statements(reader, WORDS("end"));
}

/* The inlined function has not come to a RETURN. */
static uint32_t not_returned(const struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t local = lowering->body.variables.list[reader->call->returned].local;
    return lower_not(lowering, lower_make(lowering, ISO_PROVE_LOCAL, local, NONE, NONE));
}

static void find_some(struct lowering *lowering, const char *text, int64_t found)
{
    lowering->at.continued = false;
    lower_begin_script(lowering);
    lower_put_number(lowering, lowering->body.found, text);
    lower_assign(lowering, lowering->body.found, lower_constant(lowering, TYPE_BOOLEAN, found), 0);
}

/* FOUND behind a FOR: whether it had a round. */
static void find_rounds(struct body_reader *reader, uint32_t some)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    if (failed(lowering) || reader->dead)
        return;
    open_branch(reader, &branch);
    find_some(lowering, "true", 1);
    struct iso_prove_block first = turn_branch(reader, &branch);
    find_some(lowering, "false", 0);
    close_branch(reader, &branch, &first, some, true);
}

static void read_rounds(struct body_reader *reader, uint32_t variable, struct value from,
                        struct value to, bool reverse)
{
    struct lowering *lowering = reader->lowering;
    uint32_t first = reader->at, zero = lower_number(lowering, 0);
    int64_t least = reverse ? to.low : from.low, most = reverse ? from.high : to.high;
    struct value lower_end = reverse ? to : from, upper_end = reverse ? from : to;
    struct value some = lower_compare(lowering, ISO_PROVE_LESS_EQUAL, lower_end, upper_end, 0);
    if (least > most) { /* no round: its statements are read all the same, and not kept */
        struct branch branch;
        open_branch(reader, &branch);
        read_round(reader, variable, least, first);
        struct iso_prove_block body = turn_branch(reader, &branch);
        lowering->at.tag = NONE;
        close_branch(reader, &branch, &body, NONE, false);
        find_rounds(reader, some.at);
        return;
    }
    if ((uint64_t)most - (uint64_t)least >= lowering->limits.unroll) {
        lower_refuse_form(lowering, lowering->at.span.begin,
                          "a FOR that may have more than %u rounds", lowering->limits.unroll);
        return;
    }
    struct iso_prove_span span = lowering->at.span;
    for (int64_t i = 0; i <= most - least && !failed(lowering); i++) {
        int64_t number = reverse ? most - i : least + i;
        uint32_t here = lower_number(lowering, number), inside = lower_number(lowering, 1);
        lowering->at.span = span;
        if (lower_end.high > number)
            inside =
                lower_and(lowering, inside,
                          lower_make(lowering, ISO_PROVE_LESS_EQUAL, lower_end.at, here, NONE));
        if (upper_end.low < number)
            inside =
                lower_and(lowering, inside,
                          lower_make(lowering, ISO_PROVE_GREATER_EQUAL, upper_end.at, here, NONE));
        if (reader->call && reader->call->left)
            inside = lower_and(lowering, inside, not_returned(reader));
        struct branch branch;
        open_branch(reader, &branch);
        read_round(reader, variable, number, first);
        struct iso_prove_block body = turn_branch(reader, &branch);
        lowering->at.tag = NONE;
        close_branch(reader, &branch, &body, inside == NONE ? zero : inside, false);
    }
    lowering->at.span = span;
    find_rounds(reader, some.at);
}

static void read_for(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    begin(reader, find_word(reader, reader->at, WORDS("loop")));
    struct iso_prove_span span = lowering->at.span;
    reader->at++;
    char *name = take_name(reader);
    uint32_t loop = find_word(reader, reader->at, WORDS("loop")),
             dots = find_word(reader, reader->at, WORDS("..", "loop"));
    if (!name || !is(reader, "in") || dots >= loop) {
        lower_refuse_form(lowering, span.begin, "a FOR over a query");
        iso_free(name);
        return;
    }
    reader->at++;
    bool reverse = take(reader, "reverse");
    uint32_t at = location(reader);
    struct value from = take_expression(reader, WORDS(".."));
    need(reader, "..");
    struct value to = take_expression(reader, WORDS("by", "loop"));
    if (is(reader, "by"))
        refuse_statement(reader, "FOR with BY");
    need(reader, "loop");
    if (!lower_types_meet(from.type, TYPE_INT) || !lower_types_meet(to.type, TYPE_INT))
        lower_refuse(lowering, at, "the bounds of a FOR are integers");
    if (!failed(lowering)) {
        lower_abort_if(lowering, lower_or(lowering, from.fails, to.fails));
        lower_abort_if(lowering, lower_or(lowering, from.null, to.null)); /* as PostgreSQL does */
        from.at = lower_keep(lowering, from.at);
        to.at = lower_keep(lowering, to.at);
        uint32_t variable = declare(lowering, name, TYPE_INT);
        name = NULL;
        read_rounds(reader, variable, from, to, reverse);
        for (uint32_t i = variable; i < lowering->body.variables.count; i++)
            lowering->body.variables.list[i].hidden = true;
    }
    iso_free(name);
}

/* ---- other statements ---- */

static void return_inlined(struct body_reader *reader, struct value value, bool given)
{
    struct lowering *lowering = reader->lowering;
    struct inlined *call = reader->call;
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
    begin(reader, find_word(reader, reader->at, WORDS(";")));
    reader->at++;
    bool given = !is(reader, ";");
    if (is(reader, "query") || is(reader, "next"))
        refuse_statement(reader, "RETURN QUERY or NEXT");
    if (given)
        value = take_expression(reader, WORDS(";"));
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
    for (reader->at = find_word(reader, reader->at, ends);
         reader->at < end && !failed(reader->lowering);) {
        named = named || is(reader, "using");
        reader->at += named ? 3 : 1; /* USING or a comma; a name, and = */
        struct value value = take_expression(reader, ends);
        if (!failed(reader->lowering))
            lower_abort_if(reader->lowering, value.fails);
        lower_put_condition(reader->lowering, reader->first, reader->last, "said");
    }
}

static void read_raise(struct body_reader *reader)
{
    static const char *const quiet[] = {"debug", "log", "info", "notice", "warning", NULL};
    struct lowering *lowering = reader->lowering;
    uint32_t end = find_word(reader, reader->at, WORDS(";"));
    begin(reader, end);
    reader->at++;
    bool only_said = false;
    for (uint32_t i = 0; quiet[i]; i++)
        only_said = only_said || is(reader, quiet[i]);
    if (is(reader, ";"))
        refuse_statement(reader, "RAISE without a message");
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
    begin(reader, find_word(reader, reader->at, WORDS(";")));
    reader->at++;
    take(reader, "current");
    need(reader, "diagnostics");
    do {
        uint32_t at = location(reader), variable = take_variable(reader);
        if (!take(reader, ":="))
            need(reader, "=");
        if (!take(reader, "row_count"))
            refuse_statement(reader, "GET DIAGNOSTICS of something else than ROW_COUNT");
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
    } while (take(reader, ","));
}

static void read_assignment(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t at = location(reader);
    begin(reader, find_word(reader, reader->at, WORDS(";")));
    uint32_t variable = take_variable(reader);
    reader->at++; /* := or = */
    struct value value = take_expression(reader, WORDS(";"));
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
    target->location = location(reader);
    target->strict = take(reader, "strict");
    do {
        if (target->count == MOST_COLUMNS)
            lower_refuse(reader->lowering, location(reader), "more than %d variables behind INTO",
                         MOST_COLUMNS);
        uint32_t variable = take_variable(reader);
        if (!failed(reader->lowering))
            target->variables[target->count++] = variable;
    } while (!failed(reader->lowering) && take(reader, ","));
    at = reader->at;
    reader->at = statement;
    return at;
}

static void read_sql(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct target target = {0};
    uint32_t end = find_word(reader, reader->at, WORDS(";")), blank_begin = 0, blank_end = 0, first,
             last;
    bool perform = is(reader, "perform"), select = is(reader, "select");
    begin(reader, end);
    for (uint32_t at = reader->at + 1; at < end && !failed(lowering); at++) {
        at = find_word(reader, at, WORDS("into", ";"));
        if (at >= end || is_at(reader, at - 1, "insert"))
            continue;
        if (target.given) {
            lower_refuse(lowering, reader->list[at].begin, "a second INTO");
            break;
        }
        uint32_t behind = read_into(reader, at + 1, &target);
        if (!failed(lowering))
            bytes_of(reader, at, behind, &blank_begin, &blank_end);
    }
    if (select && !target.given)
        refuse_statement(reader, "SELECT without INTO (PERFORM has none)");
    bytes_of(reader, perform ? reader->at + 1 : reader->at, end, &first, &last);
    const PgQuery__Node *node = NULL;
    if (!failed(lowering))
        node = lower_parse_part(lowering, first, last, perform ? "SELECT " : "", blank_begin,
                                blank_end);
    if (node && has_only_values(node))
        inline_calls(reader, node, false);
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
    if (is_at(reader, reader->at + 1, ":=") || is_at(reader, reader->at + 1, "=")) {
        read_assignment(reader);
        if (!failed(lowering))
            need(reader, ";");
        return;
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (is(reader, unknown[i].word)) {
            refuse_statement(reader, unknown[i].what);
            return;
        }
    if (is(reader, "if") || is(reader, "case") || is(reader, "for")) {
        bool condition = is(reader, "if"), choice = is(reader, "case");
        if (condition)
            read_if(reader);
        else if (choice)
            read_case(reader);
        else
            read_for(reader);
        need(reader, "end");
        if (!failed(lowering))
            need(reader, condition ? "if" : choice ? "case" : "loop");
    } else if (is(reader, "begin") || is(reader, "declare")) {
        read_block(reader);
    } else if (is(reader, "return")) {
        read_return(reader);
    } else if (is(reader, "raise")) {
        read_raise(reader);
    } else if (is(reader, "get")) {
        read_diagnostics(reader);
    } else if (is(reader, "null") && is_at(reader, reader->at + 1, ";")) {
        reader->at++;
    } else if (is(reader, "select") || is(reader, "insert") || is(reader, "update") ||
               is(reader, "delete") || is(reader, "perform")) {
        read_sql(reader);
    } else {
        refuse_statement(reader, "this statement");
    }
    if (!failed(lowering))
        need(reader, ";");
}

/* What stands behind a RETURN of an inlined function runs unless it has returned. */
static void read_rest(struct body_reader *reader, const char *const *ends)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    lowering->at.span = (struct iso_prove_span){0, 0};
    reader->call->left = false;
    open_branch(reader, &branch);
    uint32_t inside = not_returned(reader);
    read_statements(reader, ends);
    struct iso_prove_block rest = turn_branch(reader, &branch);
    lowering->at.tag = NONE;
    close_branch(reader, &branch, &rest, inside, false);
    reader->call->left = true;
}

static void read_statements(struct body_reader *reader, const char *const *ends)
{
    struct lowering *lowering = reader->lowering;
    if (++reader->depth > DEEPEST)
        lower_refuse(lowering, location(reader), "statements nested more than %d deep", DEEPEST);
    while (!failed(lowering)) {
        bool over = reader->at >= reader->count;
        if (is(reader, "exception"))
            refuse_statement(reader, "an EXCEPTION block");
        for (uint32_t i = 0; ends[i]; i++)
            over = over || is(reader, ends[i]);
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

static void read_block(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t outer = lowering->body.variables.count;
    if (is(reader, "<<"))
        refuse_statement(reader, "a label");
    if (take(reader, "declare"))
        while (!failed(lowering) && !is(reader, "begin") && reader->at < reader->count)
            if (!take(reader, "declare"))
                read_declaration(reader);
    need(reader, "begin");
    read_statements(reader, WORDS("end"));
    need(reader, "end");
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
        uint32_t variable = add_variable(lowering, name, function->parameters.list[i].type);
        lowering->body.variables.list[variable].local = local;
        lowering->body.states.list[variable] =
            (struct state){function->parameters.list[i].null, function->parameters.list[i].range};
    }
    uint32_t parameters = function->parameters.count;
    for (uint32_t i = 0; i < function->parameters.count; i++)
        if (function->parameters.list[i].null) {
            add_null(lowering, i);
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
            add_null(lowering, i);
    program->templates.list[template].parameters = parameters + slots;
}

/* FOUND and ROW_COUNT, which every function has of its own. */
static void declare_found(struct lowering *lowering)
{
    lowering->body.found = declare(lowering, iso_copy_text("found", 5), TYPE_BOOLEAN);
    lowering->body.row_count = declare(lowering, iso_copy_text("$row_count", 10), TYPE_BIGINT);
}

/* PostgreSQL: without RETURN no value. */
static void end_function(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    take(reader, ";");
    if (reader->at < reader->count && !failed(lowering))
        refuse_statement(reader, "what follows the end of the function");
    if (failed(lowering) || !reader->function->returns || reader->dead)
        return;
    lowering->at.span =
        (struct iso_prove_span){reader->function->body_begin, reader->function->body_end};
    if (reader->call) /* shown by the statement that calls it */
        lowering->at.span = (struct iso_prove_span){0, 0};
    lowering->at.continued = false;
    lower_abort_if(lowering, reader->call ? not_returned(reader) : lower_number(lowering, 1));
}

/* ---- calls ---- */

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
        uint32_t end = find_word(reader, token, WORDS(",", ")")), first, last;
        uint32_t variable = declare(
            lowering, iso_copy_text(parameter->name, strlen(parameter->name)), parameter->type);
        bytes_of(reader, token, end, &first, &last);
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
    declare_found(lowering);
    read_block(&reader);
    end_function(&reader);
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
    uint32_t location = (uint32_t)location_of(lowering, node->location), token = reader->at;
    while (token < reader->count && reader->list[token].begin < location)
        token++;
    token = find_word(reader, token, WORDS("(")) + 1;
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
    call.result = declare(lowering, iso_copy_text("$result", 7),
                          function->returns ? function->result : TYPE_INT);
    call.returned = declare(lowering, iso_copy_text("$returned", 9), TYPE_BOOLEAN);
    lower_let(lowering, lowering->body.variables.list[call.returned].local,
              lower_number(lowering, 0));
    lower_put_number(lowering, call.returned, ":found"); /* psql has one FOUND */
    lower_put_number(lowering, lowering->body.found, "false");
    read_inlined(reader, function, &call, values, token);
    lowering->body.inside--;
    uint32_t end = find_word(reader, token, WORDS(")"));
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

/* The calls in an expression, or in a statement that has only values (not `simple`), from left to
 * right: their statements come first, and their results stand for them. */
static void inline_calls(struct body_reader *reader, const PgQuery__Node *node, bool simple)
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
    declare_found(lowering);
    lowering->at.continued = false;
    read_block(&reader);
    end_function(&reader);
    lowering->program->templates.list[function->template].block = block.first;
    assert(lowering->body.block == &block && !reader.depth);
    clear_variables(lowering);
    lowering->body.function = NULL;
    lowering->body.block = NULL;
}
