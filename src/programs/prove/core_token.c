/* The scanner of the core language: a token is looked at ahead, and its text is compared, since
 * files are small. */
#include <stdio.h>
#include <string.h>

#include "prove/core_private.h"

static bool letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static void skip_space(struct prove_core *core)
{
    const char *text = core->text;
    while (core->at < core->length) {
        if (text[core->at] == '-' && core->at + 1 < core->length && text[core->at + 1] == '-') {
            while (core->at < core->length && text[core->at] != '\n')
                core->at++;
        } else if (text[core->at] == ' ' || (text[core->at] >= '\t' && text[core->at] <= '\r')) {
            core->at++;
        } else {
            return;
        }
    }
}

static void take_number(struct prove_core *core)
{
    int64_t number = 0;
    bool large = false;
    while (core->at < core->length && digit(core->text[core->at])) {
        large = large || number > (INT64_MAX >> 2) / 10;
        number = large ? 0 : number * 10 + (core->text[core->at] - '0');
        core->at++;
    }
    core->token.kind = NUMBER;
    core->token.number = number;
    core->token.end = core->at;
    bool dot = core->at < core->length && core->text[core->at] == '.';
    if (large || number > INT64_MAX >> 2)
        refuse(core, here(core), "a number of more than 62 bits");
    else if (dot && !(core->at + 1 < core->length && core->text[core->at + 1] == '.'))
        refuse(core, here(core), "numbers are integers, without a decimal point");
    else if (core->at < core->length && letter(core->text[core->at]))
        refuse(core, here(core), "a letter right behind a number");
}

void prove_core_next(struct prove_core *core)
{
    static const char *const pairs[] = {":=", "..", "||", "&&", "==", "!=", "<=", ">="};
    core->last = core->token.end;
    if (!(++core->tokens & 4095) && fine(core) && iso_prove_stop_asked(&core->program->stop))
        iso_error_set(core->error, ISO_UNDECIDED, "%s: the time is up", core->program->file);
    skip_space(core);
    core->token.begin = core->token.end = core->at;
    core->token.kind = END;
    if (core->at == core->length)
        return;
    char byte = core->text[core->at];
    if (letter(byte)) {
        while (core->at < core->length &&
               (letter(core->text[core->at]) || digit(core->text[core->at])))
            core->at++;
        core->token.kind = NAMED;
    } else if (digit(byte)) {
        take_number(core);
        return;
    } else {
        core->token.kind = SIGN;
        core->at++;
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (core->at < core->length && byte == pairs[i][0] &&
                core->text[core->at] == pairs[i][1]) {
                core->at++;
                break;
            }
    }
    core->token.end = core->at;
}

bool prove_core_is(const struct prove_core *core, const char *word)
{
    size_t length = strlen(word);
    return (core->token.kind == NAMED || core->token.kind == SIGN) &&
           core->token.end - core->token.begin == length &&
           !memcmp(core->text + core->token.begin, word, length);
}

void prove_core_refuse_token(struct prove_core *core, const char *expected)
{
    uint32_t length = core->token.end - core->token.begin;
    unsigned char first = length ? (unsigned char)core->text[core->token.begin] : 0;
    if (core->token.kind == END)
        refuse(core, here(core), "the file ends, expected %s", expected);
    else if (first < ' ' || first >= 0x7f)
        refuse(core, here(core), "found the byte %u, expected %s", first, expected);
    else
        refuse(core, here(core), "found '%.*s', expected %s", (int)(length < NAME ? length : NAME),
               core->text + core->token.begin, expected);
}

bool prove_core_take(struct prove_core *core, const char *word)
{
    if (!fine(core) || !prove_core_is(core, word))
        return false;
    prove_core_next(core);
    return true;
}

bool prove_core_expect(struct prove_core *core, const char *word)
{
    char expected[NAME];
    if (prove_core_take(core, word))
        return true;
    snprintf(expected, sizeof expected, "'%s'", word);
    if (fine(core))
        prove_core_refuse_token(core, expected);
    return false;
}

static const char *const words[] = {"var",    "table",  "input",     "txn",  "run", "session",
                                    "assume", "assert", "invariant", "let",  "if",  "else",
                                    "for",    "in",     "abort",     "lock", "sum", "count",
                                    "max",    "forall", "exists"};

static bool reserved(const char *name)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

bool prove_core_take_name(struct prove_core *core, char name[NAME + 1], const char *what)
{
    uint32_t length = core->token.end - core->token.begin;
    if (!fine(core))
        return false;
    if (core->token.kind != NAMED) {
        prove_core_refuse_token(core, what);
        return false;
    }
    if (length > NAME) {
        refuse(core, here(core), "a name of more than %d letters", NAME);
        return false;
    }
    memcpy(name, core->text + core->token.begin, length);
    name[length] = '\0';
    if (reserved(name)) {
        refuse(core, here(core), "'%s' is a word of the language, expected %s", name, what);
        return false;
    }
    prove_core_next(core);
    return true;
}
