/* What a body is read by: its tokens, the names and expressions that stand among them, and the
 * variables that it declares. */
#include "lower/body_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* ---- tokens ---- */

bool lower_is_word_at(const struct body_reader *reader, uint32_t at, const char *word)
{
    if (at >= reader->count)
        return false;
    size_t length = reader->list[at].end - reader->list[at].begin;
    return length == strlen(word) &&
           !strncasecmp(reader->lowering->file.text + reader->list[at].begin, word, length);
}

bool lower_is_word(const struct body_reader *reader, const char *word)
{
    return lower_is_word_at(reader, reader->at, word);
}

bool lower_take_word(struct body_reader *reader, const char *word)
{
    bool there = lower_is_word(reader, word);
    reader->at += there;
    return there;
}

uint32_t lower_word_location(const struct body_reader *reader)
{
    if (reader->at < reader->count)
        return reader->list[reader->at].begin;
    return reader->function->body_end;
}

void lower_need_word(struct body_reader *reader, const char *word)
{
    if (!lower_take_word(reader, word))
        lower_refuse(reader->lowering, lower_word_location(reader), "%s was expected here", word);
}

char *lower_take_name(struct body_reader *reader)
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

uint32_t lower_find_word(const struct body_reader *reader, uint32_t at, const char *const *words)
{
    uint32_t open = 0;
    assert(words[0] && at <= reader->count);
    for (; at < reader->count; at++) {
        if (!open)
            for (uint32_t i = 0; words[i]; i++)
                if (lower_is_word_at(reader, at, words[i]))
                    return at;
        open += lower_is_word_at(reader, at, "(") || lower_is_word_at(reader, at, "[");
        open -= open && (lower_is_word_at(reader, at, ")") || lower_is_word_at(reader, at, "]"));
    }
    return at;
}

void lower_bytes_of(const struct body_reader *reader, uint32_t at, uint32_t end, uint32_t *first,
                    uint32_t *last)
{
    assert(end <= reader->count);
    *first = *last = at < reader->count ? reader->list[at].begin : reader->function->body_end;
    if (end > at)
        *last = reader->list[end - 1].end;
}

struct value lower_take_expression(struct body_reader *reader, const char *const *words)
{
    uint32_t end = lower_find_word(reader, reader->at, words), first, last;
    lower_bytes_of(reader, reader->at, end, &first, &last);
    struct value value = lower_null(reader->lowering);
    reader->first = first;
    reader->last = last;
    if (end == reader->at || end == reader->count)
        lower_refuse(reader->lowering, first, "an expression was expected here");
    const PgQuery__Node *node = lower_parse_expression(reader->lowering, first, last);
    if (node) {
        lower_inline_calls(reader, node, true);
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

void lower_begin_statement(struct body_reader *reader, uint32_t end)
{
    uint32_t first, last;
    lower_bytes_of(reader, reader->at, end, &first, &last);
    reader->lowering->at.span = (struct iso_prove_span){first, last};
    reader->lowering->at.continued = false;
    reader->lowering->at.hoisted.count = 0;
    lower_begin_script(reader->lowering);
}

void lower_refuse_statement(struct body_reader *reader, const char *what)
{
    lower_refuse_form(reader->lowering, lower_word_location(reader), "%s", what);
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

uint32_t lower_take_variable(struct body_reader *reader)
{
    uint32_t at = lower_word_location(reader);
    char *name = lower_take_name(reader);
    uint32_t variable = name ? lower_find_variable(reader->lowering, name) : NONE;
    if (variable == NONE)
        lower_refuse(reader->lowering, at, "there is no variable \"%s\"", name ? name : "");
    iso_free(name);
    return variable;
}

uint32_t lower_add_variable(struct lowering *lowering, char *name, enum type type)
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

void lower_add_null(struct lowering *lowering, uint32_t number)
{
    assert(number < lowering->body.variables.count);
    struct variable *variable = &lowering->body.variables.list[number];
    char name[80];
    snprintf(name, sizeof name, "$%.60s.null", variable->name);
    variable->null = iso_prove_local(lowering->program, lowering->body.function->template, name);
}

uint32_t lower_declare(struct lowering *lowering, char *name, enum type type)
{
    assert(lowering->body.function && *name);
    uint32_t number = lower_add_variable(lowering, name, type);
    lowering->body.variables.list[number].local =
        iso_prove_local(lowering->program, lowering->body.function->template, name);
    lower_add_null(lowering, number);
    return number;
}

void lower_read_declaration(struct body_reader *reader)
{
    struct lowering *lowering = reader->lowering;
    uint32_t end = lower_find_word(reader, reader->at, WORDS(";")), first, last;
    lower_begin_statement(reader, end);
    char *name = lower_take_name(reader);
    if (!name) {
        lower_refuse_statement(reader, "this declaration");
        return;
    }
    bool constant = lower_take_word(reader, "constant");
    uint32_t type_end =
        lower_find_word(reader, reader->at, WORDS("not", "default", ":=", "=", ";"));
    lower_bytes_of(reader, reader->at, type_end, &first, &last);
    for (uint32_t i = reader->at; i < type_end; i++)
        if (lower_is_word_at(reader, i, "%") || lower_is_word_at(reader, i, "cursor") ||
            lower_is_word_at(reader, i, "alias") || lower_is_word_at(reader, i, "record"))
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
    bool not_null = lower_take_word(reader, "not");
    if (not_null)
        lower_need_word(reader, "null");
    struct value value = lower_null(lowering);
    if (lower_is_word(reader, ";"))
        lowering->at.span = (struct iso_prove_span){0, 0}; /* nothing to show */
    if (lower_take_word(reader, "default") || lower_take_word(reader, ":=") ||
        lower_take_word(reader, "="))
        value = lower_take_expression(reader, WORDS(";"));
    uint32_t number = lower_declare(lowering, name, type);
    lowering->body.variables.list[number].not_null = not_null;
    lowering->body.variables.list[number].limit = lower_limit_of(type_name);
    if (reader->at > type_end + 2u * not_null)
        lower_put_assignment(lowering, number, reader->first, reader->last);
    lower_assign(lowering, number, value, first);
    lowering->body.variables.list[number].constant = constant;
    lower_need_word(reader, ";");
}
