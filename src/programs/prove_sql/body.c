/* PL/pgSQL: a function's body, block by block. PostgreSQL's own compiler has looked at it before,
 * so that what is left are forms that are known or refused. Branches are followed with what is
 * known of each variable; FORs are unrolled. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "prove_sql/lower_private.h"

enum { DEEPEST = 100 };

struct reader {
    struct lowering *lowering;
    const struct iso_sql_token *list;
    uint32_t at, count, depth;
    bool dead;            /* what follows is not reached */
    uint32_t first, last; /* bytes of the last expression */
};

static void read_statements(struct reader *reader, const char *const *ends);
static void read_block(struct reader *reader);

/* ---- tokens ---- */

static bool is_at(const struct reader *reader, uint32_t at, const char *word)
{
    if (at >= reader->count)
        return false;
    size_t length = reader->list[at].end - reader->list[at].begin;
    return length == strlen(word) &&
           !strncasecmp(reader->lowering->source + reader->list[at].begin, word, length);
}

static bool is(const struct reader *reader, const char *word)
{
    return is_at(reader, reader->at, word);
}

static bool take(struct reader *reader, const char *word)
{
    bool there = is(reader, word);
    reader->at += there;
    return there;
}

static uint32_t place(const struct reader *reader)
{
    if (reader->at < reader->count)
        return reader->list[reader->at].begin;
    return reader->lowering->function->body_end;
}

static void need(struct reader *reader, const char *word)
{
    if (!take(reader, word))
        refuse(reader->lowering, place(reader), "%s was expected here", word);
}

/* A name as PostgreSQL folds it; NULL: none stands here. */
static char *take_name(struct reader *reader)
{
    if (reader->at >= reader->count)
        return NULL;
    const struct iso_sql_token *token = &reader->list[reader->at];
    const char *text = reader->lowering->source + token->begin;
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
static uint32_t find_word(const struct reader *reader, uint32_t at, const char *const *words)
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
static void bytes_of(const struct reader *reader, uint32_t at, uint32_t end, uint32_t *first,
                     uint32_t *last)
{
    *first = *last =
        at < reader->count ? reader->list[at].begin : reader->lowering->function->body_end;
    if (end > at)
        *last = reader->list[end - 1].end;
}

/* An expression up to one of the words, which is not taken. */
static struct value take_expression(struct reader *reader, const char *const *words)
{
    uint32_t end = find_word(reader, reader->at, words), first, last;
    bytes_of(reader, reader->at, end, &first, &last);
    struct value value = value_null(reader->lowering);
    reader->first = first;
    reader->last = last;
    if (end == reader->at || end == reader->count)
        refuse(reader->lowering, first, "an expression was expected here");
    const PgQuery__Node *node = parse_expression(reader->lowering, first, last);
    if (node)
        value = lower(reader->lowering, NULL, node);
    reader->at = end;
    return value;
}

/* ---- statements begin ---- */

/* The span of a statement is up to the token before `end`. */
static void begin(struct reader *reader, uint32_t end)
{
    uint32_t first, last;
    bytes_of(reader, reader->at, end, &first, &last);
    reader->lowering->span = (struct iso_prove_span){first, last};
    reader->lowering->continued = false;
    begin_script(reader->lowering);
}

static void refuse_statement(struct reader *reader, const char *what)
{
    refuse(reader->lowering, place(reader), "%s: not in the subset that can be proved", what);
}

/* ---- variables ---- */

uint32_t find_variable(const struct lowering *lowering, const char *name)
{
    for (uint32_t i = lowering->variable_count; i-- > 0;)
        if (!lowering->variables[i].hidden && !strcmp(lowering->variables[i].name, name))
            return i;
    return NONE;
}

static uint32_t add_variable(struct lowering *lowering, char *name, enum type type)
{
    uint32_t number = lowering->variable_count;
    lowering->program->has_odd_names |=
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_$")] != 0;
    ISO_GROW(lowering->variables, lowering->variable_count, lowering->variable_capacity);
    ISO_RESERVE(lowering->states, number + 1, lowering->state_capacity);
    lowering->variables[lowering->variable_count++] = (struct variable){.name = name, .type = type};
    lowering->states[number] = (struct state){false, {0, 0}};
    return number;
}

static uint32_t declare(struct lowering *lowering, char *name, enum type type)
{
    char null[80];
    uint32_t number = add_variable(lowering, name, type), template = lowering->function->template;
    snprintf(null, sizeof null, "$%.60s.null", name);
    lowering->variables[number].local = iso_prove_local(lowering->program, template, name);
    lowering->variables[number].null = iso_prove_local(lowering->program, template, null);
    return number;
}

static void read_declaration(struct reader *reader)
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
            refuse(lowering, reader->list[i].begin,
                   "a declaration with %%TYPE, %%ROWTYPE, RECORD, CURSOR or ALIAS: not in "
                   "the subset that can be proved");
    const PgQuery__Node *cast =
        failed(lowering) ? NULL : parse_part(lowering, first, last, "SELECT NULL::", 0, 0);
    const PgQuery__SelectStmt *select = cast ? cast->select_stmt : NULL;
    if (!select || select->n_target_list != 1 ||
        select->target_list[0]->res_target->val->node_case != PG_QUERY__NODE__NODE_TYPE_CAST) {
        refuse(lowering, first, "this declaration: not in the subset that can be proved");
        iso_free(name);
        return;
    }
    enum type type =
        type_of(lowering, select->target_list[0]->res_target->val->type_cast->type_name, NULL);
    reader->at = type_end;
    bool not_null = take(reader, "not");
    if (not_null)
        need(reader, "null");
    struct value value = value_null(lowering);
    if (is(reader, ";"))
        lowering->span = (struct iso_prove_span){0, 0}; /* nothing to show */
    if (take(reader, "default") || take(reader, ":=") || take(reader, "="))
        value = take_expression(reader, WORDS(";"));
    uint32_t number = declare(lowering, name, type);
    lowering->variables[number].not_null = not_null;
    if (reader->at > type_end + 2u * not_null)
        put_assignment(lowering, number, reader->first, reader->last);
    assign(lowering, number, value, first);
    lowering->variables[number].constant = constant;
    need(reader, ";");
}

/* ---- branches ---- */

static struct state *save(const struct lowering *lowering)
{
    struct state *saved = iso_allocate(iso_list_bytes(lowering->variable_count + 1, sizeof *saved));
    memcpy(saved, lowering->states, lowering->variable_count * sizeof *saved);
    return saved;
}

static void restore(struct lowering *lowering, const struct state *saved, uint32_t count)
{
    memcpy(lowering->states, saved, count * sizeof *saved);
}

/* What is known after one branch or the other. */
static void join(struct lowering *lowering, const struct state *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        lowering->states[i].may_be_null |= other[i].may_be_null;
        hull(&lowering->states[i].interval, other[i].interval.low, other[i].interval.high);
    }
}

struct branch {
    struct iso_prove_block block, *outer;
    struct state *before, *after;
    uint32_t count;
    bool dead_before, dead;
    struct iso_prove_span span;
};

static void open_branch(struct reader *reader, struct branch *branch)
{
    *branch = (struct branch){.span = reader->lowering->span,
                              .dead_before = reader->dead,
                              .count = reader->lowering->variable_count};
    branch->before = save(reader->lowering);
    branch->outer = enter(reader->lowering, &branch->block);
}

/* The first branch ends, the other begins, where all is as before. */
static struct iso_prove_block turn_branch(struct reader *reader, struct branch *branch)
{
    struct iso_prove_block first = branch->block;
    branch->after = save(reader->lowering);
    branch->dead = reader->dead;
    restore(reader->lowering, branch->before, branch->count);
    reader->dead = branch->dead_before;
    branch->block = ISO_PROVE_BLOCK;
    return first;
}

static void close_branch(struct reader *reader, struct branch *branch,
                         const struct iso_prove_block *first, uint32_t condition, bool continued)
{
    struct lowering *lowering = reader->lowering;
    struct iso_prove_block other = branch->block;
    int64_t number;
    lowering->span = branch->span;
    lowering->continued = continued;
    leave_if(lowering, branch->outer, condition == NONE ? make_constant(lowering, 0) : condition,
             first, &other);
    lowering->continued = false;
    bool always = constant_of(lowering, condition, &number) && number;
    if (condition != NONE && (always || reader->dead))
        restore(lowering, branch->after, branch->count);
    else if (condition != NONE && !branch->dead)
        join(lowering, branch->after, branch->count);
    reader->dead = condition == NONE ? reader->dead
                   : always          ? branch->dead
                                     : reader->dead && branch->dead;
    iso_free(branch->before);
    iso_free(branch->after);
}

/* A condition of IF or CASE: evaluated here, as a statement. */
static uint32_t settle_condition(struct lowering *lowering, struct value value, uint32_t at)
{
    if (value.type != TYPE_BOOLEAN && value.type != TYPE_NULL)
        refuse(lowering, at, "a condition is needed here, this is %s", type_name(value.type));
    if (failed(lowering))
        return NONE;
    abort_if(lowering, value.fails);
    return truth_of(lowering, &value);
}

static void read_if(struct reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    uint32_t then = find_word(reader, reader->at, WORDS("then"));
    begin(reader, then);
    reader->at++; /* IF or ELSIF */
    uint32_t at = place(reader);
    uint32_t condition = settle_condition(lowering, take_expression(reader, WORDS("then")), at);
    bool continued = lowering->continued;
    uint32_t tag = lowering->tag;
    put_condition(lowering, reader->first, reader->last, "condition");
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
    lowering->tag = tag;
    close_branch(reader, &branch, &first, condition, continued);
}

/* WHENs from here to END. `asked`: of a CASE with an expression. */
static void read_whens(struct reader *reader, const struct value *asked)
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
        lowering->continued = false;
        abort_if(lowering, make_constant(lowering, 1));
        reader->dead = true;
        return;
    }
    begin(reader, then);
    uint32_t at;
    do {
        reader->at++; /* WHEN or a comma */
        at = place(reader);
        struct value value = take_expression(reader, WORDS("then", ","));
        if (asked && !failed(lowering))
            value = compare_equal(lowering, *asked, value, at);
        condition = either(lowering, condition, settle_condition(lowering, value, at));
    } while (asked && is(reader, ",") && !failed(lowering));
    bool continued = lowering->continued;
    uint32_t tag = lowering->tag;
    if (!asked)
        put_condition(lowering, reader->first, reader->last, "condition");
    need(reader, "then");
    if (failed(lowering))
        return;
    open_branch(reader, &branch);
    read_statements(reader, WORDS("when", "else", "end"));
    struct iso_prove_block first = turn_branch(reader, &branch);
    read_whens(reader, asked);
    lowering->tag = tag;
    close_branch(reader, &branch, &first, condition, continued);
}

static void read_case(struct reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct value asked = {0};
    begin(reader, find_word(reader, reader->at, WORDS("then")));
    reader->at++;
    bool simple = !is(reader, "when");
    if (simple) {
        asked = take_expression(reader, WORDS("when"));
        if (!failed(lowering))
            abort_if(lowering, asked.fails);
        asked.fails = NONE;
        asked.at = settle(lowering, asked.at);
        asked.null = settle(lowering, asked.null);
    }
    read_whens(reader, simple ? &asked : NULL);
}

/* ---- loops ---- */

static void read_round(struct reader *reader, uint32_t variable, int64_t number, uint32_t first)
{
    struct lowering *lowering = reader->lowering;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    reader->at = first;
    lowering->continued = false;
    begin_script(lowering);
    put_number(lowering, variable, text);
    assign(lowering, variable, value_constant(lowering, TYPE_INT, number), lowering->span.begin);
    lowering->continued = false;
    read_statements(reader, WORDS("end"));
}

static void read_rounds(struct reader *reader, uint32_t variable, struct value from,
                        struct value to, bool reverse)
{
    struct lowering *lowering = reader->lowering;
    uint32_t first = reader->at, zero = make_constant(lowering, 0);
    int64_t least = reverse ? to.low : from.low, most = reverse ? from.high : to.high;
    struct value lower_end = reverse ? to : from, upper_end = reverse ? from : to;
    if (least > most) { /* no round: its statements are read all the same, and not kept */
        struct branch branch;
        open_branch(reader, &branch);
        read_round(reader, variable, least, first);
        struct iso_prove_block body = turn_branch(reader, &branch);
        close_branch(reader, &branch, &body, NONE, false);
        return;
    }
    if ((uint64_t)most - (uint64_t)least >= lowering->unroll) {
        refuse(lowering, lowering->span.begin,
               "a FOR that may have more than %u rounds: not in the subset that can be proved",
               lowering->unroll);
        return;
    }
    struct iso_prove_span span = lowering->span;
    for (int64_t i = 0; i <= most - least && !failed(lowering); i++) {
        int64_t number = reverse ? most - i : least + i;
        uint32_t here = make_constant(lowering, number), inside = make_constant(lowering, 1);
        lowering->span = span;
        if (lower_end.high > number)
            inside = both(lowering, inside,
                          make(lowering, ISO_PROVE_LESS_EQUAL, lower_end.at, here, NONE));
        if (upper_end.low < number)
            inside = both(lowering, inside,
                          make(lowering, ISO_PROVE_GREATER_EQUAL, upper_end.at, here, NONE));
        struct branch branch;
        open_branch(reader, &branch);
        read_round(reader, variable, number, first);
        struct iso_prove_block body = turn_branch(reader, &branch);
        close_branch(reader, &branch, &body, inside == NONE ? zero : inside, false);
    }
}

static void read_for(struct reader *reader)
{
    struct lowering *lowering = reader->lowering;
    begin(reader, find_word(reader, reader->at, WORDS("loop")));
    struct iso_prove_span span = lowering->span;
    reader->at++;
    char *name = take_name(reader);
    uint32_t loop = find_word(reader, reader->at, WORDS("loop")),
             dots = find_word(reader, reader->at, WORDS("..", "loop"));
    if (!name || !is(reader, "in") || dots >= loop) {
        refuse(lowering, span.begin, "a FOR over a query: not in the subset that can be proved");
        iso_free(name);
        return;
    }
    reader->at++;
    bool reverse = take(reader, "reverse");
    uint32_t at = place(reader);
    struct value from = take_expression(reader, WORDS(".."));
    need(reader, "..");
    struct value to = take_expression(reader, WORDS("by", "loop"));
    if (is(reader, "by"))
        refuse_statement(reader, "FOR with BY");
    need(reader, "loop");
    if (!types_meet(from.type, TYPE_INT) || !types_meet(to.type, TYPE_INT))
        refuse(lowering, at, "the bounds of a FOR are integers");
    if (!failed(lowering)) {
        abort_if(lowering, either(lowering, from.fails, to.fails));
        abort_if(lowering, either(lowering, from.null, to.null)); /* as PostgreSQL does */
        from.at = settle(lowering, from.at);
        to.at = settle(lowering, to.at);
        uint32_t variable = declare(lowering, name, TYPE_INT);
        name = NULL;
        read_rounds(reader, variable, from, to, reverse);
        for (uint32_t i = variable; i < lowering->variable_count; i++)
            lowering->variables[i].hidden = true;
    }
    iso_free(name);
}

/* ---- other statements ---- */

static void read_return(struct reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct value value = value_null(lowering);
    begin(reader, find_word(reader, reader->at, WORDS(";")));
    reader->at++;
    bool given = !is(reader, ";");
    if (is(reader, "query") || is(reader, "next"))
        refuse_statement(reader, "RETURN QUERY or NEXT");
    if (given)
        value = take_expression(reader, WORDS(";"));
    if (failed(lowering))
        return;
    if (given && !types_meet(value.type, lowering->function->result))
        refuse(lowering, lowering->span.begin, "the function returns %s, and this is %s",
               type_name(lowering->function->result), type_name(value.type));
    if (given && lowering->function->result == TYPE_INT && value.type == TYPE_BIGINT)
        fit(lowering, &value, TYPE_INT);
    if (given)
        put_condition(lowering, reader->first, reader->last, "returns");
    abort_if(lowering, value.fails);
    uint32_t step = add_step(lowering, ISO_PROVE_RETURN);
    if (given)
        lowering->program->steps.list[step].value = value.at;
    reader->dead = true;
}

static void read_raise(struct reader *reader)
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
    reader->at = end;
    if (only_said || failed(lowering))
        return;
    abort_if(lowering, make_constant(lowering, 1));
    reader->dead = true;
}

static void read_diagnostics(struct reader *reader)
{
    struct lowering *lowering = reader->lowering;
    begin(reader, find_word(reader, reader->at, WORDS(";")));
    reader->at++;
    take(reader, "current");
    need(reader, "diagnostics");
    do {
        uint32_t at = place(reader);
        char *name = take_name(reader);
        uint32_t variable = name ? find_variable(lowering, name) : NONE;
        iso_free(name);
        if (variable == NONE)
            refuse(lowering, at, "a variable was expected here");
        if (!take(reader, ":="))
            need(reader, "=");
        if (!take(reader, "row_count"))
            refuse_statement(reader, "GET DIAGNOSTICS of something else than ROW_COUNT");
        if (failed(lowering))
            return;
        const struct state *state = &lowering->states[lowering->row_count];
        struct value value = {TYPE_BIGINT,         NONE, NONE, NONE, state->interval.low,
                              state->interval.high};
        value.at = make(lowering, ISO_PROVE_LOCAL, lowering->variables[lowering->row_count].local,
                        NONE, NONE);
        if (value.low == value.high)
            value = value_constant(lowering, TYPE_BIGINT, value.low);
        put_number(lowering, variable, ":row_count");
        assign(lowering, variable, value, at);
    } while (take(reader, ","));
}

static void read_assignment(struct reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t at = place(reader);
    begin(reader, find_word(reader, reader->at, WORDS(";")));
    char *name = take_name(reader);
    uint32_t variable = name ? find_variable(lowering, name) : NONE;
    if (variable == NONE)
        refuse(lowering, at, "there is no variable \"%s\"", name ? name : "");
    iso_free(name);
    reader->at++; /* := or = */
    struct value value = take_expression(reader, WORDS(";"));
    if (!failed(lowering)) {
        put_assignment(lowering, variable, reader->first, reader->last);
        assign(lowering, variable, value, at);
    }
}

/* INTO's variables, from the token behind INTO on; gives the token behind them. */
static uint32_t read_into(struct reader *reader, uint32_t at, struct target *target)
{
    uint32_t statement = reader->at;
    reader->at = at;
    target->given = true;
    target->place = place(reader);
    target->strict = take(reader, "strict");
    do {
        uint32_t where = place(reader);
        char *name = take_name(reader);
        uint32_t variable = name ? find_variable(reader->lowering, name) : NONE;
        if (variable == NONE || target->count == MOST_COLUMNS)
            refuse(reader->lowering, where,
                   "INTO needs variables here: there is none of the name \"%s\"", name ? name : "");
        else
            target->variables[target->count++] = variable;
        iso_free(name);
    } while (!failed(reader->lowering) && take(reader, ","));
    at = reader->at;
    reader->at = statement;
    return at;
}

static void read_sql(struct reader *reader)
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
            refuse(lowering, reader->list[at].begin, "a second INTO");
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
        node = parse_part(lowering, first, last, perform ? "SELECT " : "", blank_begin, blank_end);
    if (node)
        lower_statement(lowering, node, &target);
    put_sql(lowering, first, last, &target, perform ? "SELECT " : "", blank_begin, blank_end,
            select);
    reader->at = end;
}

static void read_statement(struct reader *reader)
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

static void read_statements(struct reader *reader, const char *const *ends)
{
    struct lowering *lowering = reader->lowering;
    if (++reader->depth > DEEPEST)
        refuse(lowering, place(reader), "statements nested more than %d deep", DEEPEST);
    while (!failed(lowering)) {
        bool over = reader->at >= reader->count;
        if (is(reader, "exception"))
            refuse_statement(reader, "an EXCEPTION block");
        for (uint32_t i = 0; ends[i]; i++)
            over = over || is(reader, ends[i]);
        if (over)
            break;
        read_statement(reader);
    }
    reader->depth--;
}

static void read_block(struct reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t outer = lowering->variable_count;
    if (is(reader, "<<"))
        refuse_statement(reader, "a label");
    if (take(reader, "declare"))
        while (!failed(lowering) && !is(reader, "begin") && reader->at < reader->count)
            if (!take(reader, "declare"))
                read_declaration(reader);
    need(reader, "begin");
    read_statements(reader, WORDS("end"));
    need(reader, "end");
    for (uint32_t i = outer; i < lowering->variable_count; i++)
        lowering->variables[i].hidden = true;
}

/* ---- functions ---- */

bool prepare_body(struct lowering *lowering, struct function *function)
{
    struct iso_sql_fault fault;
    const char *text = lowering->source + function->span.begin;
    if (!iso_sql_check_functions(text, function->span.end - function->span.begin, &fault))
        refuse(lowering, function->span.begin + fault.byte, "function \"%s\": %s", function->name,
               fault.text);
    else if (!iso_sql_scan(&function->tokens, lowering->source + function->body_begin,
                           function->body_end - function->body_begin, &fault))
        refuse(lowering, function->body_begin + fault.byte, "%s", fault.text);
    for (uint32_t i = 0; i < function->tokens.count; i++) {
        function->tokens.list[i].begin += function->body_begin;
        function->tokens.list[i].end += function->body_begin;
    }
    return !failed(lowering);
}

static void begin_function(struct lowering *lowering, struct function *function)
{
    struct iso_prove_program *program = lowering->program;
    uint32_t slots = function->slot_count,
             template = iso_prove_template(program, function->name, function->span);
    function->template = template;
    for (uint32_t i = 0; i < function->parameters; i++) {
        uint32_t local = iso_prove_local(program, template, function->parameter_names[i]);
        char *name =
            iso_copy_text(function->parameter_names[i], strlen(function->parameter_names[i]));
        uint32_t variable = add_variable(lowering, name, function->parameter_types[i]);
        lowering->variables[variable].local = local;
        lowering->states[variable] =
            (struct state){function->null_arguments[i], function->arguments[i]};
    }
    uint32_t parameters = function->parameters;
    for (uint32_t i = 0; i < function->parameters; i++)
        if (function->null_arguments[i]) {
            char name[80];
            snprintf(name, sizeof name, "$%.60s.null", function->parameter_names[i]);
            lowering->variables[i].null = iso_prove_local(program, template, name);
            parameters++;
        }
    function->first_slot = parameters;
    for (uint32_t i = 0; i < slots; i++) {
        char name[32];
        snprintf(name, sizeof name, "$slot%u", i);
        iso_prove_local(program, template, name);
    }
    function->known_slots = slots;
    function->slot_count = 0;
    for (uint32_t i = 0; i < function->parameters; i++)
        if (!function->null_arguments[i]) {
            char name[80];
            snprintf(name, sizeof name, "$%.60s.null", function->parameter_names[i]);
            lowering->variables[i].null = iso_prove_local(program, template, name);
        }
    program->templates.list[template].parameters = parameters + slots;
}

static void clear_variables(struct lowering *lowering)
{
    struct function *function = lowering->function;
    struct iso_text names = {0};
    for (uint32_t i = function->parameters; i < lowering->variable_count; i++)
        iso_text_put_bytes(&names, lowering->variables[i].name,
                           strlen(lowering->variables[i].name) + 1);
    iso_text_put_bytes(&names, "", 1);
    iso_free(function->names);
    function->names = names.bytes;
    function->names_size = names.used;
    for (uint32_t i = 0; i < lowering->variable_count; i++)
        iso_free(lowering->variables[i].name);
    lowering->variable_count = 0;
}

void lower_function(struct lowering *lowering, struct function *function)
{
    struct iso_prove_block block = ISO_PROVE_BLOCK;
    struct reader reader = {
        .lowering = lowering, .list = function->tokens.list, .count = function->tokens.count};
    lowering->function = function;
    lowering->block = &block;
    lowering->temporaries = 0;
    lowering->span = function->span;
    begin_function(lowering, function);
    lowering->found = declare(lowering, iso_copy_text("found", 5), TYPE_BOOLEAN);
    lowering->row_count = declare(lowering, iso_copy_text("$row_count", 10), TYPE_BIGINT);
    lowering->continued = false;
    read_block(&reader);
    take(&reader, ";");
    if (reader.at < reader.count && !failed(lowering))
        refuse_statement(&reader, "what follows the end of the function");
    if (!failed(lowering) && function->returns &&
        !reader.dead) { /* PostgreSQL: no RETURN, no value */
        lowering->span = (struct iso_prove_span){function->body_begin, function->body_end};
        lowering->continued = false;
        abort_if(lowering, make_constant(lowering, 1));
    }
    lowering->program->templates.list[function->template].block = block.first;
    clear_variables(lowering);
    lowering->function = NULL;
    lowering->block = NULL;
}
