#include "formats/edn.h"

#include <string.h>

#include "base/utf8.h"

void edn_start(struct edn *edn, const char *text, size_t length)
{
    memset(edn, 0, sizeof *edn);
    edn->at = edn->token = text;
    edn->end = text + length;
}

bool edn_fail(struct edn *edn, const char *expected)
{
    if (!edn->expected)
        edn->expected = expected;
    edn->type = EDN_ERROR;
    return false;
}

bool edn_is(const struct edn *edn, enum edn_type type, const char *text)
{
    return edn->type == type && edn->length == strlen(text) &&
           !memcmp(edn->text, text, edn->length);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\f' ||
           byte == ',';
}

/* Bytes that end a number, a keyword, a symbol. */
static bool is_delimiter(char byte)
{
    return is_space(byte) || strchr("()[]{}\";", byte); /* also the zero byte at the end */
}

static void skip_space(struct edn *edn)
{
    for (; edn->at < edn->end; edn->at++) {
        if (*edn->at == ';') {
            const char *newline = memchr(edn->at, '\n', (size_t)(edn->end - edn->at));
            edn->at = newline ? newline : edn->end - 1;
        } else if (!is_space(*edn->at)) {
            return;
        }
    }
}

static enum edn_type open_bracket(struct edn *edn, char closing)
{
    if (edn->depth == EDN_DEPTH) {
        edn_fail(edn, "less than 256 brackets inside each other");
        return EDN_ERROR;
    }
    edn->opened[edn->depth++] = closing;
    return edn->type = EDN_OPEN;
}

static enum edn_type close_bracket(struct edn *edn)
{
    if (!edn->depth || edn->opened[edn->depth - 1] != *edn->token) {
        edn_fail(edn, edn->depth ? "the bracket that matches the last open one" : "a value");
        return EDN_ERROR;
    }
    edn->depth--;
    return edn->type = EDN_CLOSE;
}

static enum edn_type read_string(struct edn *edn)
{
    const char *at = edn->at;
    edn->text = at;
    while (at < edn->end && *at != '"')
        at += *at == '\\' ? 2 : 1;
    if (at >= edn->end) {
        edn_fail(edn, "a string that ends");
        return EDN_ERROR;
    }
    edn->length = (size_t)(at - edn->text);
    edn->at = at + 1;
    return edn->type = EDN_STRING;
}

static void take_word(struct edn *edn)
{
    edn->text = edn->at;
    while (edn->at < edn->end && !is_delimiter(*edn->at))
        edn->at++;
    edn->length = (size_t)(edn->at - edn->text);
}

/* An integer, perhaps with N behind it; anything else that starts like a number is EDN_OTHER. */
static enum edn_type read_number(struct edn *edn)
{
    edn->at = edn->token;
    take_word(edn);
    const char *at = edn->text, *end = at + edn->length;
    end -= end[-1] == 'N';
    edn->negative = *at == '-';
    at += *at == '-' || *at == '+';
    edn->bits = 0;
    edn->type = at < end ? EDN_INTEGER : EDN_OTHER;
    for (; at < end && edn->type == EDN_INTEGER; at++) {
        if (*at < '0' || *at > '9') {
            edn->type = EDN_OTHER;
        } else if (__builtin_mul_overflow(edn->bits, 10u, &edn->bits) ||
                   __builtin_add_overflow(edn->bits, (unsigned)(*at - '0'), &edn->bits)) {
            edn_fail(edn, "an integer of 64 bits");
            return EDN_ERROR;
        }
    }
    if (edn->type == EDN_INTEGER && edn->negative) {
        if (edn->bits > (uint64_t)1 << 63) {
            edn_fail(edn, "an integer of 64 bits");
            return EDN_ERROR;
        }
        edn->bits = -edn->bits;
        edn->negative = edn->bits != 0;
    }
    return edn->type;
}

/* Reads a form that starts with '#': a set, a dropped form, or a tag, which is passed over.
 * False: it gave no value, go on. */
static bool read_dispatch(struct edn *edn, unsigned *dropped)
{
    if (edn->at < edn->end && *edn->at == '{') {
        edn->at++;
        open_bracket(edn, '}');
        return true;
    }
    if (edn->at < edn->end && *edn->at == '_') {
        edn->at++;
        ++*dropped;
        return false;
    }
    take_word(edn);
    if (edn->length)
        return false;
    edn_fail(edn, "a tag, a set or #_");
    return true;
}

static bool starts_number(const struct edn *edn)
{
    char first = *edn->token, second = edn->at < edn->end ? *edn->at : 0;
    return (first >= '0' && first <= '9') ||
           ((first == '-' || first == '+') && second >= '0' && second <= '9');
}

static enum edn_type read_form(struct edn *edn, unsigned *dropped)
{
    for (;;) {
        skip_space(edn);
        edn->token = edn->at;
        if (edn->at >= edn->end)
            return edn->depth
                       ? (edn_fail(edn, "the brackets that are open to be closed"), EDN_ERROR)
                       : (edn->type = EDN_END);
        char byte = *edn->at++;
        switch (byte) {
        case '(':
            return open_bracket(edn, ')');
        case '[':
            return open_bracket(edn, ']');
        case '{':
            return open_bracket(edn, '}');
        case ')':
        case ']':
        case '}':
            return close_bracket(edn);
        case '"':
            return read_string(edn);
        case '#':
            if (read_dispatch(edn, dropped))
                return edn->type;
            continue;
        case '\\':
            edn->at += edn->at < edn->end;
            take_word(edn);
            return edn->type = EDN_OTHER;
        default:
            if (starts_number(edn))
                return read_number(edn);
            edn->at -= byte != ':';
            take_word(edn);
            if (!edn->length)
                return edn_fail(edn, "a value"), EDN_ERROR;
            return edn->type = byte == ':' ? EDN_KEYWORD : EDN_SYMBOL;
        }
    }
}

/* A token whose text is UTF-8, as everything is that a history keeps. */
static enum edn_type read_token(struct edn *edn, unsigned *dropped)
{
    enum edn_type type = read_form(edn, dropped);
    bool text = type == EDN_STRING || type == EDN_KEYWORD || type == EDN_SYMBOL;
    if (text && !iso_utf8_valid((const uint8_t *)edn->text, edn->length))
        return edn_fail(edn, "UTF-8"), EDN_ERROR;
    return type;
}

enum edn_type edn_next(struct edn *edn)
{
    if (edn->expected)
        return edn->type = EDN_ERROR;
    unsigned dropped = 0;
    for (;;) {
        enum edn_type type = read_token(edn, &dropped);
        if (!dropped || type == EDN_ERROR)
            return type;
        if (type == EDN_CLOSE || type == EDN_END)
            return edn_fail(edn, "a form behind #_"), EDN_ERROR;
        if (!edn_skip(edn))
            return EDN_ERROR;
        dropped--;
    }
}

bool edn_skip(struct edn *edn)
{
    if (edn->type != EDN_OPEN)
        return edn->type != EDN_ERROR;
    for (unsigned depth = edn->depth; edn->depth >= depth;) {
        unsigned dropped = 0; /* a dropped form is one like others here */
        if (read_token(edn, &dropped) == EDN_ERROR)
            return false;
    }
    return true;
}
