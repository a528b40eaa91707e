/* Comments that begin with `--@`: what runs, what must hold, what is passed over. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "lower/lower_private.h"

struct line {
    struct lowering *lowering;
    const char *at, *end;
};

static uint32_t byte_of(const struct line *line)
{
    assert(line->at <= line->end);
    return (uint32_t)(line->at - line->lowering->file.text);
}

static void skip(struct line *line)
{
    while (line->at < line->end && strchr(" \t\r", *line->at))
        line->at++;
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static size_t word_length(const struct line *line)
{
    size_t length = 0;
    while (line->at + length < line->end &&
           (is_letter(line->at[length]) ||
            (length && line->at[length] >= '0' && line->at[length] <= '9')))
        length++;
    return length;
}

static bool take_word(struct line *line, const char *word)
{
    skip(line);
    size_t length = word_length(line);
    if (length != strlen(word) || memcmp(line->at, word, length) != 0)
        return false;
    line->at += length;
    return true;
}

static bool take_sign(struct line *line, const char *sign)
{
    skip(line);
    size_t length = strlen(sign);
    if ((size_t)(line->end - line->at) < length || memcmp(line->at, sign, length) != 0)
        return false;
    line->at += length;
    return true;
}

/* ---- run and session ---- */

static bool take_number(struct line *line, int64_t *number)
{
    bool negative = take_sign(line, "-");
    skip(line);
    const char *first = line->at;
    *number = 0;
    for (; line->at < line->end && *line->at >= '0' && *line->at <= '9'; line->at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, *line->at - '0', number) || *number >> 61) {
            lower_refuse(line->lowering, byte_of(line), "a number of more than 62 bits");
            return false;
        }
    *number = negative ? -*number : *number;
    return line->at > first;
}

static bool take_text(struct line *line, int64_t *number)
{
    char text[256];
    size_t used = 0;
    if (!take_sign(line, "'"))
        return false;
    for (; line->at < line->end && used < sizeof text - 1; line->at++) {
        if (*line->at == '\'' && (line->at + 1 == line->end || line->at[1] != '\''))
            break;
        line->at += *line->at == '\'';
        text[used++] = *line->at;
    }
    text[used] = 0;
    if (!take_sign(line, "'"))
        lower_refuse(line->lowering, byte_of(line), "the end of a text (') was expected here");
    *number = lower_text_number(line->lowering, text);
    return true;
}

static bool take_argument(struct line *line, enum type type)
{
    struct lowering *lowering = line->lowering;
    struct argument argument = {TYPE_INT, false, 0, 0};
    skip(line);
    uint32_t location = byte_of(line);
    if (take_word(line, "true") || take_word(line, "false")) {
        argument.type = TYPE_BOOLEAN;
        argument.low = argument.high = line->at[-2] == 'u';
        if (take_sign(line, "..") && take_word(line, "true"))
            argument.high = 1;
    } else if (take_word(line, "null") || take_word(line, "NULL")) {
        argument.type = TYPE_NULL;
        argument.null = true;
    } else if (take_text(line, &argument.low)) {
        argument.type = TYPE_TEXT;
        argument.high = argument.low;
    } else if (take_number(line, &argument.low)) {
        argument.high = argument.low;
        if (take_sign(line, "..") && !take_number(line, &argument.high))
            lower_refuse(lowering, byte_of(line), "the range's end was expected here");
        if (argument.high < argument.low)
            lower_refuse(lowering, location, "an empty range");
        if (type == TYPE_INT && (argument.low < INT32_MIN || argument.high > INT32_MAX))
            lower_refuse(lowering, location, "out of the range of int");
    } else {
        lower_refuse(lowering, location,
                     "a number, a range (1..10), a text, true, false or null was expected here");
    }
    if (!failed(lowering) && !lower_types_meet(argument.type, type))
        lower_refuse(lowering, location, "this parameter is %s, and this is %s",
                     lower_type_name(type), lower_type_name(argument.type));
    ISO_APPEND(lowering->runs.arguments, argument);
    return !failed(lowering);
}

static void note_arguments(struct lowering *lowering, struct function *function,
                           const struct call *call)
{
    assert(call->first_argument + function->parameters.count == lowering->runs.arguments.count);
    function->called = true;
    for (uint32_t i = 0; i < function->parameters.count; i++) {
        const struct argument *argument = &lowering->runs.arguments.list[call->first_argument + i];
        if (argument->null)
            function->parameters.list[i].null = true;
        lower_widen(&function->parameters.list[i].range, argument->low, argument->high);
    }
}

static void read_call(struct line *line, uint32_t session)
{
    struct lowering *lowering = line->lowering;
    skip(line);
    uint32_t first = byte_of(line), found = NONE;
    size_t length = word_length(line);
    for (uint32_t i = 0; i < lowering->functions.count; i++)
        if (strlen(lowering->functions.list[i].name) == length &&
            !memcmp(lowering->functions.list[i].name, line->at, length))
            found = i;
    if (found == NONE) {
        lower_refuse(lowering, first, "there is no function \"%.*s\"", (int)length, line->at);
        return;
    }
    line->at += length;
    struct function *function = &lowering->functions.list[found];
    if (function->refused)
        iso_error_set(lowering->error, ISO_BAD_INPUT, "%s", function->refused);
    struct call call = {found, lowering->runs.arguments.count, session, {first, first}};
    if (!take_sign(line, "("))
        lower_refuse(lowering, byte_of(line), "( was expected here");
    uint32_t given = 0;
    while (!failed(lowering) && !take_sign(line, ")")) {
        if (given && !take_sign(line, ","))
            lower_refuse(lowering, byte_of(line), ", or ) was expected here");
        else if (given == function->parameters.count)
            lower_refuse(lowering, byte_of(line), "function \"%s\" has %u parameters",
                         function->name, function->parameters.count);
        else
            take_argument(line, function->parameters.list[given++].type);
    }
    call.span.end = byte_of(line);
    if (!failed(lowering) && given != function->parameters.count)
        lower_refuse(lowering, first, "function \"%s\" has %u parameters", function->name,
                     function->parameters.count);
    if (failed(lowering))
        return;
    ISO_APPEND(lowering->runs.calls, call);
    note_arguments(lowering, function, &call);
}

static void read_calls(struct line *line, uint32_t session)
{
    do {
        read_call(line, session);
    } while (!failed(line->lowering) && take_sign(line, ","));
    skip(line);
    if (!failed(line->lowering) && line->at < line->end)
        lower_refuse(line->lowering, byte_of(line), ", or the end of the line was expected here");
}

/* A name and a colon, which may be missing. */
static char *take_label(struct line *line)
{
    struct line ahead = *line;
    skip(&ahead);
    const char *first = ahead.at;
    size_t length = word_length(&ahead);
    if (!length) { /* the core language numbers its sessions */
        while (ahead.at + length < ahead.end && ahead.at[length] >= '0' && ahead.at[length] <= '9')
            length++;
    }
    ahead.at += length;
    if (!length || !take_sign(&ahead, ":") || (ahead.at < ahead.end && *ahead.at == ':'))
        return NULL;
    *line = ahead;
    return iso_copy_text(first, length);
}

/* ---- rules ---- */

static void read_rule(struct line *line, enum iso_prove_rule_kind kind, uint32_t begin)
{
    struct lowering *lowering = line->lowering;
    struct rule rule = {.kind = kind, .name = take_label(line)};
    const char *end = line->end;
    if (!rule.name)
        take_sign(line, ":");
    skip(line);
    while (end > line->at && strchr(" \t\r;", end[-1]))
        end--;
    rule.expression = (struct iso_prove_span){byte_of(line), (uint32_t)(end - lowering->file.text)};
    rule.span = (struct iso_prove_span){begin, rule.expression.end};
    if (rule.expression.begin == rule.expression.end)
        lower_refuse(lowering, begin, "a condition was expected here");
    ISO_APPEND(lowering->runs.rules, rule);
}

static void read_ignore(struct line *line)
{
    struct lowering *lowering = line->lowering;
    skip(line);
    if (line->at == line->end)
        lowering->ignored.references = lowering->ignored.defaults = lowering->ignored.locks = true;
    while (line->at < line->end && !failed(lowering)) {
        if (take_word(line, "references"))
            lowering->ignored.references = true;
        else if (take_word(line, "defaults"))
            lowering->ignored.defaults = true;
        else if (take_word(line, "locks"))
            lowering->ignored.locks = true;
        else
            lower_refuse(lowering, byte_of(line),
                         "references, defaults or locks was expected here");
        take_sign(line, ",");
        skip(line);
    }
}

/* `early`: what the schema needs to know. */
static void read_line(struct lowering *lowering, uint32_t begin, const char *end, bool early)
{
    struct line line = {lowering, lowering->file.text + begin + 3, end};
    if (take_word(&line, "ignore")) {
        if (early)
            read_ignore(&line);
    } else if (early) {
        return;
    } else if (take_word(&line, "run")) {
        read_calls(&line, NONE);
    } else if (take_word(&line, "session")) {
        iso_free(take_label(&line));
        read_calls(&line, lowering->runs.sessions++);
    } else if (take_word(&line, "invariant")) {
        read_rule(&line, ISO_PROVE_INVARIANT, begin);
    } else if (take_word(&line, "assert")) {
        read_rule(&line, ISO_PROVE_ASSERT, begin);
    } else {
        lower_refuse(lowering, byte_of(&line),
                     "run, session, invariant, assert or ignore was expected here");
    }
}

/* The comments between two tokens. */
static void read_gap(struct lowering *lowering, uint32_t at, uint32_t end, bool early)
{
    const char *text = lowering->file.text;
    for (uint32_t open = 0; at < end && !failed(lowering);) {
        bool pair = at + 1 < end;
        if (pair && text[at] == '/' && text[at + 1] == '*') {
            open++;
            at += 2;
        } else if (open && pair && text[at] == '*' && text[at + 1] == '/') {
            open--;
            at += 2;
        } else if (!open && pair && text[at] == '-' && text[at + 1] == '-') {
            uint32_t begin = at;
            while (at < end && text[at] != '\n' && text[at] != '\r')
                at++;
            if (begin + 2 < at && text[begin + 2] == '@')
                read_line(lowering, begin, text + at, early);
        } else {
            at++;
        }
    }
}

static bool read_all(struct lowering *lowering, const struct iso_sql_tokens *tokens, bool early)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i <= tokens->count && !failed(lowering); i++) {
        uint32_t next = i < tokens->count ? tokens->list[i].begin : (uint32_t)lowering->file.length;
        read_gap(lowering, at, next, early);
        at = i < tokens->count ? tokens->list[i].end : at;
    }
    return !failed(lowering);
}

bool lower_read_directives(struct lowering *lowering, bool early)
{
    struct iso_sql_tokens tokens;
    struct iso_sql_fault fault;
    if (!iso_sql_scan(&tokens, lowering->file.text, lowering->file.length, &fault)) {
        lower_refuse(lowering, fault.byte, "%s", fault.text);
        return false;
    }
    bool fine = read_all(lowering, &tokens, early);
    iso_sql_tokens_release(&tokens);
    return fine;
}
