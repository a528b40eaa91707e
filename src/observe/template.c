#define _GNU_SOURCE
#include "observe/template.h"

#include <string.h>

#include "base/memory.h"

struct scan {
    const char *at, *end;
    struct iso_text *template;
    struct constants *constants;
    bool backslashes;
};

void constants_release(struct constants *constants)
{
    iso_free(constants->list);
    iso_text_release(&constants->values);
    *constants = (struct constants){0};
}

void constants_copy(struct constants *to, const struct constants *from)
{
    ISO_RESERVE(to->list, from->count, to->capacity);
    if (from->count)
        memcpy(to->list, from->list, from->count * sizeof *from->list);
    to->count = from->count;
    to->values.used = 0;
    iso_text_put_bytes(&to->values, from->values.bytes, from->values.used);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char next(const struct scan *scan, size_t ahead)
{
    return (size_t)(scan->end - scan->at) > ahead ? scan->at[ahead] : 0;
}

static void put_constant(struct scan *scan, enum constant_kind kind, size_t place)
{
    struct constants *constants = scan->constants;
    ISO_GROW(constants->list, constants->count, constants->capacity);
    constants->list[constants->count++] =
        (struct constant){kind, (uint32_t)place, (uint32_t)(constants->values.used - place)};
    iso_text_put_bytes(&constants->values, "", 1);
    iso_text_put(scan->template, "$");
    iso_text_put_unsigned(scan->template, TEMPLATE_FIRST - 1 + constants->count);
}

/* A string from its first quote on; `escapes`: a backslash takes what follows it along. */
static void take_string(struct scan *scan, bool escapes, enum constant_kind kind)
{
    size_t place = scan->constants->values.used;
    scan->at++;
    while (scan->at < scan->end) {
        char c = *scan->at++;
        if (c == '\'' && next(scan, 0) != '\'')
            break;
        if (c == '\'' || (escapes && c == '\\' && scan->at < scan->end))
            c = *scan->at++;
        if (kind == CONSTANT_TEXT)
            iso_text_put_bytes(&scan->constants->values, &c, 1);
    }
    put_constant(scan, kind, place);
}

static void take_number(struct scan *scan)
{
    const char *from = scan->at;
    size_t place = scan->constants->values.used;
    while (is_digit(next(scan, 0)) || (next(scan, 0) == '.' && next(scan, 1) != '.'))
        scan->at++;
    if ((next(scan, 0) | 0x20) == 'e') {
        size_t sign = next(scan, 1) == '+' || next(scan, 1) == '-';
        if (is_digit(next(scan, 1 + sign)))
            for (scan->at += 1 + sign; is_digit(next(scan, 0));)
                scan->at++;
    }
    iso_text_put_bytes(&scan->constants->values, from, (size_t)(scan->at - from));
    put_constant(scan, CONSTANT_NUMBER, place);
}

/* A word, or one that begins a string. */
static void take_word(struct scan *scan)
{
    const char *from = scan->at;
    while (is_letter(next(scan, 0)) || is_digit(next(scan, 0)) || (next(scan, 0) == '$' && scan->at > from))
        scan->at++;
    size_t length = (size_t)(scan->at - from);
    char first = (char)(*from | 0x20);
    if (next(scan, 0) == '\'' && length == 1 && strchr("ebxn", first)) {
        take_string(scan, first == 'e' || scan->backslashes, CONSTANT_OPAQUE);
    } else if (length == 1 && first == 'u' && next(scan, 0) == '&' && next(scan, 1) == '\'') {
        scan->at++;
        take_string(scan, scan->backslashes, CONSTANT_OPAQUE);
    } else {
        iso_text_put_bytes(scan->template, from, length);
    }
}

static void take_quoted_name(struct scan *scan)
{
    const char *from = scan->at++;
    while (scan->at < scan->end && *scan->at++ != '"')
        ;
    iso_text_put_bytes(scan->template, from, (size_t)(scan->at - from));
}

static void skip_comment(struct scan *scan)
{
    int depth = 0;
    if (*scan->at == '-') {
        while (scan->at < scan->end && *scan->at != '\n')
            scan->at++;
        return;
    }
    while (scan->at < scan->end) {
        bool opens = next(scan, 0) == '/' && next(scan, 1) == '*',
             closes = next(scan, 0) == '*' && next(scan, 1) == '/';
        scan->at += opens || closes ? 2 : 1;
        depth += opens - closes;
        if (!depth)
            return;
    }
}

/* $1, or $tag$ text $tag$ */
static void take_dollar(struct scan *scan)
{
    const char *from = scan->at++;
    while (is_digit(next(scan, 0)))
        scan->at++;
    if (scan->at > from + 1) {
        iso_text_put_bytes(scan->template, from, (size_t)(scan->at - from));
        return;
    }
    while (is_letter(next(scan, 0)) || is_digit(next(scan, 0)))
        scan->at++;
    if (next(scan, 0) != '$') {
        iso_text_put_bytes(scan->template, from, (size_t)(scan->at - from));
        return;
    }
    size_t tag = (size_t)(++scan->at - from);
    const char *close = memmem(scan->at, (size_t)(scan->end - scan->at), from, tag);
    scan->at = close ? close + tag : scan->end;
    put_constant(scan, CONSTANT_OPAQUE, scan->constants->values.used);
}

void template_make(const char *text, size_t length, bool backslashes, struct iso_text *template,
                   struct constants *constants)
{
    struct scan scan = {text, text + length, template, constants, backslashes};
    template->used = 0;
    constants->count = 0;
    constants->values.used = 0;
    while (scan.at < scan.end) {
        char c = *scan.at;
        bool is_comment = (c == '-' && next(&scan, 1) == '-') || (c == '/' && next(&scan, 1) == '*');
        if (is_space(c) || is_comment) {
            if (is_comment)
                skip_comment(&scan);
            else
                scan.at++;
            if (template->used && template->bytes[template->used - 1] != ' ')
                iso_text_put(template, " ");
        } else if (is_letter(c)) {
            take_word(&scan);
        } else if (is_digit(c) || (c == '.' && is_digit(next(&scan, 1)))) {
            take_number(&scan);
        } else if (c == '\'') {
            take_string(&scan, backslashes, backslashes ? CONSTANT_OPAQUE : CONSTANT_TEXT);
        } else if (c == '"') {
            take_quoted_name(&scan);
        } else if (c == '$') {
            take_dollar(&scan);
        } else {
            iso_text_put_bytes(template, scan.at++, 1);
        }
    }
    while (template->used && template->bytes[template->used - 1] == ' ')
        template->used--;
}
