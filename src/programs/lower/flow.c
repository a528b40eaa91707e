/* Branches and loops: both ways are followed with what is known of each variable, and FORs are
 * unrolled. */
#include "lower/body_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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

void lower_open_branch(struct body_reader *reader, struct branch *branch)
{
    *branch = (struct branch){.span = reader->lowering->at.span,
                              .dead_before = reader->dead,
                              .count = reader->lowering->body.variables.count};
    branch->before = save(reader->lowering);
    branch->outer = lower_enter(reader->lowering, &branch->block);
}

struct iso_prove_block lower_turn_branch(struct body_reader *reader, struct branch *branch)
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

void lower_close_branch(struct body_reader *reader, struct branch *branch,
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

void lower_read_if(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    uint32_t then = lower_find_word(reader, reader->at, WORDS("then"));
    lower_begin_statement(reader, then);
    reader->at++; /* IF or ELSIF */
    uint32_t at = lower_word_location(reader);
    uint32_t condition =
        settle_condition(lowering, lower_take_expression(reader, WORDS("then")), at);
    bool continued = lowering->at.continued;
    uint32_t tag = lowering->at.tag;
    lower_put_condition(lowering, reader->first, reader->last, "condition");
    lower_need_word(reader, "then");
    if (failed(lowering))
        return;
    lower_open_branch(reader, &branch);
    lower_read_statements(reader, WORDS("elsif", "elseif", "else", "end"));
    struct iso_prove_block first = lower_turn_branch(reader, &branch);
    if (lower_is_word(reader, "elsif") || lower_is_word(reader, "elseif"))
        lower_read_if(reader);
    else if (lower_take_word(reader, "else"))
        lower_read_statements(reader, WORDS("end"));
    lowering->at.tag = tag;
    lower_close_branch(reader, &branch, &first, condition, continued);
}

/* WHENs from here to END. `asked`: of a CASE with an expression. */
static void read_whens(struct body_reader *reader, const struct value *asked)
{
    struct lowering *lowering = reader->lowering;
    struct branch branch;
    uint32_t then = lower_find_word(reader, reader->at, WORDS("then")), condition = NONE;
    if (failed(lowering))
        return;
    if (lower_take_word(reader, "else")) {
        lower_read_statements(reader, WORDS("end"));
        return;
    }
    if (!lower_is_word(reader, "when")) { /* CASE_NOT_FOUND */
        lowering->at.continued = false;
        lower_abort_if(lowering, lower_number(lowering, 1));
        reader->dead = true;
        return;
    }
    lower_begin_statement(reader, then);
    uint32_t at;
    do {
        reader->at++; /* WHEN or a comma */
        at = lower_word_location(reader);
        struct value value = lower_take_expression(reader, WORDS("then", ","));
        if (asked && !failed(lowering))
            value = lower_compare(lowering, ISO_PROVE_EQUAL, *asked, value, at);
        condition = lower_or(lowering, condition, settle_condition(lowering, value, at));
    } while (asked && lower_is_word(reader, ",") && !failed(lowering));
    bool continued = lowering->at.continued;
    uint32_t tag = lowering->at.tag;
    if (!asked)
        lower_put_condition(lowering, reader->first, reader->last, "condition");
    lower_need_word(reader, "then");
    if (failed(lowering))
        return;
    lower_open_branch(reader, &branch);
    lower_read_statements(reader, WORDS("when", "else", "end"));
    struct iso_prove_block first = lower_turn_branch(reader, &branch);
    read_whens(reader, asked);
    lowering->at.tag = tag;
    lower_close_branch(reader, &branch, &first, condition, continued);
}

void lower_read_case(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    struct value asked = {0};
    lower_begin_statement(reader, lower_find_word(reader, reader->at, WORDS("then")));
    reader->at++;
    bool simple = !lower_is_word(reader, "when");
    if (simple) {
        asked = lower_take_expression(reader, WORDS("when"));
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
    lower_read_statements(reader, WORDS("end"));
}

uint32_t lower_not_returned(const struct body_reader *reader)
{
    assert(reader->call);
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
    lower_open_branch(reader, &branch);
    find_some(lowering, "true", 1);
    struct iso_prove_block first = lower_turn_branch(reader, &branch);
    find_some(lowering, "false", 0);
    lower_close_branch(reader, &branch, &first, some, true);
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
        lower_open_branch(reader, &branch);
        read_round(reader, variable, least, first);
        struct iso_prove_block body = lower_turn_branch(reader, &branch);
        lowering->at.tag = NONE;
        lower_close_branch(reader, &branch, &body, NONE, false);
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
            inside = lower_and(lowering, inside, lower_not_returned(reader));
        struct branch branch;
        lower_open_branch(reader, &branch);
        read_round(reader, variable, number, first);
        struct iso_prove_block body = lower_turn_branch(reader, &branch);
        lowering->at.tag = NONE;
        lower_close_branch(reader, &branch, &body, inside == NONE ? zero : inside, false);
    }
    lowering->at.span = span;
    find_rounds(reader, some.at);
}

void lower_read_for(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    lower_begin_statement(reader, lower_find_word(reader, reader->at, WORDS("loop")));
    struct iso_prove_span span = lowering->at.span;
    reader->at++;
    char *name = lower_take_name(reader);
    uint32_t loop = lower_find_word(reader, reader->at, WORDS("loop")),
             dots = lower_find_word(reader, reader->at, WORDS("..", "loop"));
    if (!name || !lower_is_word(reader, "in") || dots >= loop) {
        lower_refuse_form(lowering, span.begin, "a FOR over a query");
        iso_free(name);
        return;
    }
    reader->at++;
    bool reverse = lower_take_word(reader, "reverse");
    uint32_t at = lower_word_location(reader);
    struct value from = lower_take_expression(reader, WORDS(".."));
    lower_need_word(reader, "..");
    struct value to = lower_take_expression(reader, WORDS("by", "loop"));
    if (lower_is_word(reader, "by"))
        lower_refuse_statement(reader, "FOR with BY");
    lower_need_word(reader, "loop");
    if (!lower_types_meet(from.type, TYPE_INT) || !lower_types_meet(to.type, TYPE_INT))
        lower_refuse(lowering, at, "the bounds of a FOR are integers");
    if (!failed(lowering)) {
        lower_abort_if(lowering, lower_or(lowering, from.fails, to.fails));
        lower_abort_if(lowering, lower_or(lowering, from.null, to.null)); /* as PostgreSQL does */
        from.at = lower_keep(lowering, from.at);
        to.at = lower_keep(lowering, to.at);
        uint32_t variable = lower_declare(lowering, name, TYPE_INT);
        name = NULL;
        read_rounds(reader, variable, from, to, reverse);
        for (uint32_t i = variable; i < lowering->body.variables.count; i++)
            lowering->body.variables.list[i].hidden = true;
    }
    iso_free(name);
}
