#define _GNU_SOURCE
#include "observe/template.h"

#include <string.h>

#include "base/memory.h"

struct scan {
    const char *at, *end;
    const char *plain; /* from here on nothing was put into the template yet */
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

/* A statement is looked at byte by byte, each time that it runs: what a byte may begin is in a
 * table. */
enum { PLAIN, LETTER, DIGIT, SPACE, MARK }; /* MARK: one of - / . ' " $ */

static const uint8_t classes[256] = {
    ['a' ... 'z'] = LETTER,
    ['A' ... 'Z'] = LETTER,
    ['_'] = LETTER,
    [0x80 ... 0xff] = LETTER,
    ['0' ... '9'] = DIGIT,
    [' '] = SPACE,
    ['\t' ... '\r'] = SPACE,
    ['-'] = MARK,
    ['/'] = MARK,
    ['.'] = MARK,
    ['\''] = MARK,
    ['"'] = MARK,
    ['$'] = MARK,
};

static uint8_t class_of(char c)
{
    return classes[(unsigned char)c];
}

static bool is_letter(char c)
{
    return class_of(c) == LETTER;
}

static bool is_digit(char c)
{
    return class_of(c) == DIGIT;
}

static char next(const struct scan *scan, size_t ahead)
{
    return (size_t)(scan->end - scan->at) > ahead ? scan->at[ahead] : 0;
}

/* Copies the text passed over since `plain` into the template as it is. */
static void put_plain(struct scan *scan, const char *end)
{
    iso_text_put_bytes(scan->template, scan->plain, (size_t)(end - scan->plain));
}

/* In place of what was passed over. */
static void put_constant(struct scan *scan, enum constant_kind kind, size_t position)
{
    struct constants *constants = scan->constants;
    ISO_GROW(constants->list, constants->count, constants->capacity);
    constants->list[constants->count++] =
        (struct constant){kind, (uint32_t)position, (uint32_t)(constants->values.used - position)};
    iso_text_put_bytes(&constants->values, "", 1);
    iso_text_put(scan->template, "$");
    iso_text_put_unsigned(scan->template, TEMPLATE_FIRST - 1 + constants->count);
    scan->plain = scan->at;
}

/* A string, which begins at `begin`, from its first quote on; `escapes`: a backslash takes what
 * follows it along. */
static void take_string(struct scan *scan, const char *begin, bool escapes, enum constant_kind kind)
{
    put_plain(scan, begin);
    size_t position = scan->constants->values.used;
    const char *from = ++scan->at; /* what is not copied yet */
    while (scan->at < scan->end) {
        char c = *scan->at++;
        if (c != '\'' && !(escapes && c == '\\'))
            continue;
        bool is_end = c == '\'' && next(scan, 0) != '\'';
        bool is_pair = !is_end && scan->at < scan->end;
        if (kind == CONSTANT_TEXT)
            iso_text_put_bytes(&scan->constants->values, from,
                               (size_t)(scan->at - from) - (is_end || is_pair));
        from = scan->at;
        if (is_end)
            break;
        scan->at += is_pair;
    }
    if (kind == CONSTANT_TEXT)
        iso_text_put_bytes(&scan->constants->values, from, (size_t)(scan->at - from));
    put_constant(scan, kind, position);
}

static void take_number(struct scan *scan)
{
    const char *from = scan->at;
    size_t position = scan->constants->values.used;
    put_plain(scan, from);
    while (is_digit(next(scan, 0)) || (next(scan, 0) == '.' && next(scan, 1) != '.'))
        scan->at++;
    if ((next(scan, 0) | 0x20) == 'e') {
        size_t sign = next(scan, 1) == '+' || next(scan, 1) == '-';
        if (is_digit(next(scan, 1 + sign)))
            for (scan->at += 1 + sign; is_digit(next(scan, 0));)
                scan->at++;
    }
    iso_text_put_bytes(&scan->constants->values, from, (size_t)(scan->at - from));
    put_constant(scan, CONSTANT_NUMBER, position);
}

/* A word, or one that begins a string. */
static void take_word(struct scan *scan)
{
    const char *from = scan->at;
    while (is_letter(next(scan, 0)) || is_digit(next(scan, 0)) ||
           (next(scan, 0) == '$' && scan->at > from))
        scan->at++;
    size_t length = (size_t)(scan->at - from);
    if (length > 1 || (next(scan, 0) != '\'' && next(scan, 0) != '&'))
        return;
    char first = (char)(*from | 0x20);
    if (next(scan, 0) == '\'' && strchr("ebxn", first)) {
        take_string(scan, from, first == 'e' || scan->backslashes, CONSTANT_OPAQUE);
    } else if (first == 'u' && next(scan, 0) == '&' && next(scan, 1) == '\'') {
        scan->at++;
        take_string(scan, from, scan->backslashes, CONSTANT_OPAQUE);
    }
}

static void take_quoted_name(struct scan *scan)
{
    scan->at++;
    while (scan->at < scan->end && *scan->at++ != '"')
        ;
}

static void skip_comment(struct scan *scan)
{
    int depth = 0;
    if (*scan->at == '-') {
        while (scan->at < scan->end && *scan->at != '\n' && *scan->at != '\r')
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
    if (scan->at > from + 1)
        return;
    while (is_letter(next(scan, 0)) || is_digit(next(scan, 0)))
        scan->at++;
    if (next(scan, 0) != '$')
        return;
    put_plain(scan, from);
    size_t tag = (size_t)(++scan->at - from);
    const char *close = memmem(scan->at, (size_t)(scan->end - scan->at), from, tag);
    scan->at = close ? close + tag : scan->end;
    put_constant(scan, CONSTANT_OPAQUE, scan->constants->values.used);
}

/* Spaces and comments are one space. */
static void take_space(struct scan *scan, bool is_comment)
{
    if (*scan->at == ' ' && scan->at > scan->plain && scan->at[-1] != ' ') {
        scan->at++;
        return;
    }
    put_plain(scan, scan->at);
    if (is_comment)
        skip_comment(scan);
    else
        scan->at++;
    struct iso_text *template = scan->template;
    if (template->used && template->bytes[template->used - 1] != ' ')
        iso_text_put_bytes(template, " ", 1);
    scan->plain = scan->at;
}

static void take_mark(struct scan *scan)
{
    char c = *scan->at, following = next(scan, 1);
    if ((c == '-' && following == '-') || (c == '/' && following == '*')) {
        take_space(scan, true);
    } else if (c == '.' && is_digit(following)) {
        take_number(scan);
    } else if (c == '\'') {
        take_string(scan, scan->at, scan->backslashes,
                    scan->backslashes ? CONSTANT_OPAQUE : CONSTANT_TEXT);
    } else if (c == '"') {
        take_quoted_name(scan);
    } else if (c == '$') {
        take_dollar(scan);
    } else {
        scan->at++;
    }
}

void template_make(const char *text, size_t length, bool backslashes, struct iso_text *template,
                   struct constants *constants)
{
    struct scan scan = {text, text + length, text, template, constants, backslashes};
    template->used = 0;
    constants->count = 0;
    constants->values.used = 0;
    while (scan.at < scan.end) {
        switch (class_of(*scan.at)) {
        case LETTER:
            take_word(&scan);
            break;
        case DIGIT:
            take_number(&scan);
            break;
        case SPACE:
            take_space(&scan, false);
            break;
        case MARK:
            take_mark(&scan);
            break;
        default:
            scan.at++;
        }
    }
    put_plain(&scan, scan.at);
    while (template->used && template->bytes[template->used - 1] == ' ')
        template->used--;
}
