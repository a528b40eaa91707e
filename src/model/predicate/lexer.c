#include "predicate/lexer.h"

#include <strings.h>

#include "base/shown.h"
#include "base/utf8.h"

enum { SHOWN = 24 };

static const struct {
    const char *word;
    enum predicate_word_kind kind;
} keywords[] = {
    {"and", PREDICATE_AND},     {"or", PREDICATE_OR},     {"not", PREDICATE_NOT},
    {"in", PREDICATE_IN},       {"is", PREDICATE_IS},     {"between", PREDICATE_BETWEEN},
    {"like", PREDICATE_LIKE},   {"null", PREDICATE_NULL}, {"true", PREDICATE_TRUE},
    {"false", PREDICATE_FALSE},
};

/* Signs of SQL that are refused, each with what to do instead; longer ones before their
 * beginnings, also a cast, which is taken. */
static const struct {
    const char *sign, *advice;
} refused[] = {
    {"--", "comments are not taken: leave it out"},
    {"/*", "comments are not taken: leave it out"},
    {"#", "comments are not taken: leave it out"},
    {"==", "write ="},
    {"<=>", "write a = b OR (a IS NULL AND b IS NULL)"},
    {"&&", "write AND"},
    {"||", "write OR; texts are not joined here"},
    {".", "write the column without its table"},
    {"::", NULL},
    {"?", "write the parameter's value"},
    {"$", "write the parameter's value"},
    {":", "write the parameter's value"},
    {";", "one condition, without a semicolon"},
};

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Puts the beginning of what was found between quotes. */
static void put_found(struct iso_text *text, struct iso_json_text found)
{
    if (!found.length) {
        iso_text_put(text, "the end");
        return;
    }
    size_t length = found.length < SHOWN ? found.length : SHOWN;
    length -= length < found.length ? iso_shown_rest(found.at, length) : 0;
    iso_text_put_bytes(text, "'", 1);
    iso_text_put_shown(text, found.at, length);
    for (size_t i = 0; i < text->used; i++) /* messages are one line */
        text->bytes[i] = is_space(text->bytes[i]) ? ' ' : text->bytes[i];
    iso_text_put(text, length < found.length ? "...'" : "'");
}

static bool refuse(struct predicate_lexer *lexer, struct iso_json_text found, const char *joint,
                   const char *advice)
{
    struct iso_text text = {0};
    put_found(&text, found);
    iso_error_set(lexer->error, ISO_BAD_INPUT, "byte %zu: found %.*s%s%s",
                  (size_t)(found.at - lexer->start) + 1, (int)text.used, text.bytes, joint, advice);
    iso_text_release(&text);
    return false;
}

bool predicate_lexer_refuse(struct predicate_lexer *lexer, const char *expected)
{
    return refuse(lexer, lexer->word.text, ", expected ", expected);
}

uint32_t predicate_lexer_location(const struct predicate_lexer *lexer)
{
    return (uint32_t)(lexer->word.text.at - lexer->start) + 1;
}

bool predicate_word_is(const struct predicate_word *word, const char *name)
{
    return word->kind != PREDICATE_QUOTED && word->kind != PREDICATE_TICKED &&
           word->text.length == strlen(name) &&
           !strncasecmp(word->text.at, name, word->text.length);
}

void predicate_word_unquote(const struct predicate_word *word, struct iso_text *out)
{
    char quote = word->text.at[word->text.length - 1];
    const char *at = memchr(word->text.at, quote, word->text.length),
               *end = word->text.at + word->text.length - 1;
    for (at++; at < end; at++) {
        iso_text_put_bytes(out, at, 1);
        at += *at == quote;
    }
}

/* ---- kinds of bytes ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool begins_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (unsigned char)byte > 127;
}

static bool is_of_name(char byte)
{
    return begins_name(byte) || is_digit(byte) || byte == '$';
}

static char byte_at(const struct predicate_lexer *lexer, const char *at)
{
    return at < lexer->end ? *at : 0;
}

/* ---- words ---- */

static bool take_word(struct predicate_lexer *lexer, enum predicate_word_kind kind, const char *end)
{
    lexer->word.kind = kind;
    lexer->word.text.length = (size_t)(end - lexer->word.text.at);
    lexer->at = end;
    return true;
}

/* From an opening quote to its end; NULL: there is none. */
static const char *end_of_quoted(const struct predicate_lexer *lexer, const char *at)
{
    char quote = *at++;
    for (; at < lexer->end; at++)
        if (*at == quote) {
            if (byte_at(lexer, at + 1) != quote)
                return at + 1;
            at++;
        }
    return NULL;
}

static bool take_quoted(struct predicate_lexer *lexer, enum predicate_word_kind kind,
                        const char *from, const char *what)
{
    const char *end = end_of_quoted(lexer, from);
    struct iso_json_text found = {lexer->at, (size_t)(lexer->end - lexer->at)};
    if (!end)
        return refuse(lexer, found, ", expected the end of ", what);
    if (is_of_name(byte_at(lexer, end)) || byte_at(lexer, end) == '\'')
        return refuse(lexer, (struct iso_json_text){end, (size_t)(lexer->end - end)},
                      ", expected a space behind ", what);
    if (kind != PREDICATE_STRING && kind != PREDICATE_BYTES && end - from == 2)
        return refuse(lexer, (struct iso_json_text){from, 2}, ", expected ",
                      "a name between the quotes");
    return take_word(lexer, kind, end);
}

static bool take_name(struct predicate_lexer *lexer)
{
    const char *end = lexer->at;
    while (is_of_name(byte_at(lexer, end)))
        end++;
    struct iso_json_text name = {lexer->at, (size_t)(end - lexer->at)};
    if (byte_at(lexer, end) == '\'' && name.length == 1 && (*name.at | 0x20) == 'x')
        return take_quoted(lexer, PREDICATE_BYTES, end,
                           "these bytes: an even number of hex digits in quotes");
    if (byte_at(lexer, end) == '\'')
        return refuse(lexer, name, " before a string: ", "write a plain 'string'");
    take_word(lexer, PREDICATE_NAME, end);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (predicate_word_is(&lexer->word, keywords[i].word))
            lexer->word.kind = keywords[i].kind;
    return true;
}

static const char *skip_digits(const struct predicate_lexer *lexer, const char *at)
{
    while (is_digit(byte_at(lexer, at)))
        at++;
    return at;
}

static bool take_number(struct predicate_lexer *lexer)
{
    const char *end = skip_digits(lexer, lexer->at);
    if (byte_at(lexer, end) == '.')
        end = skip_digits(lexer, end + 1);
    if ((byte_at(lexer, end) | 0x20) == 'e') {
        const char *digits = end + 1;
        digits += byte_at(lexer, digits) == '+' || byte_at(lexer, digits) == '-';
        end = skip_digits(lexer, digits) > digits ? skip_digits(lexer, digits) : end;
    }
    char next = byte_at(lexer, end);
    if (is_of_name(next) || next == '.' || next == '\'')
        return refuse(lexer, (struct iso_json_text){lexer->at, (size_t)(end + 1 - lexer->at)},
                      ", expected ", "a decimal number");
    return take_word(lexer, PREDICATE_NUMBER, end);
}

static bool take_sign(struct predicate_lexer *lexer)
{
    static const struct {
        const char *sign;
        enum predicate_word_kind kind;
    } signs[] = {
        {"<>", PREDICATE_UNEQUAL},       {"!=", PREDICATE_UNEQUAL}, {"<=", PREDICATE_LESS_EQUAL},
        {">=", PREDICATE_GREATER_EQUAL}, {"=", PREDICATE_EQUAL},    {"<", PREDICATE_LESS},
        {">", PREDICATE_GREATER},        {"(", PREDICATE_OPEN},     {")", PREDICATE_CLOSE},
        {",", PREDICATE_COMMA},          {"+", PREDICATE_PLUS},     {"-", PREDICATE_MINUS},
        {"*", PREDICATE_STAR},           {"[", PREDICATE_LEFT},     {"]", PREDICATE_RIGHT}};
    size_t left = (size_t)(lexer->end - lexer->at);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        size_t length = strlen(refused[i].sign);
        if (length <= left && !memcmp(lexer->at, refused[i].sign, length))
            return refused[i].advice ? refuse(lexer, (struct iso_json_text){lexer->at, length},
                                              ": ", refused[i].advice)
                                     : take_word(lexer, PREDICATE_CAST, lexer->at + length);
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i].sign);
        if (length <= left && !memcmp(lexer->at, signs[i].sign, length))
            return take_word(lexer, signs[i].kind, lexer->at + length);
    }
    return refuse(lexer, (struct iso_json_text){lexer->at, 1}, ", expected ",
                  "a column, a constant or an operator");
}

bool predicate_lexer_next(struct predicate_lexer *lexer)
{
    while (lexer->at < lexer->end && is_space(*lexer->at))
        lexer->at++;
    lexer->word.text = (struct iso_json_text){lexer->at, 0};
    char byte = byte_at(lexer, lexer->at);
    if (lexer->at == lexer->end)
        return take_word(lexer, PREDICATE_END, lexer->at);
    if (begins_name(byte))
        return take_name(lexer);
    if (is_digit(byte) || (byte == '.' && is_digit(byte_at(lexer, lexer->at + 1))))
        return take_number(lexer);
    if (byte == '\'')
        return take_quoted(lexer, PREDICATE_STRING, lexer->at, "the string");
    if (byte == '"' || byte == '`')
        return take_quoted(lexer, byte == '"' ? PREDICATE_QUOTED : PREDICATE_TICKED, lexer->at,
                           "the name");
    return take_sign(lexer);
}

/* Where the text stops being UTF-8 without zero bytes. */
static size_t valid_length(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && text[at]) {
        unsigned char first = (unsigned char)text[at];
        size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        if (size > length - at || !iso_utf8_valid((const uint8_t *)text + at, size))
            break;
        at += size;
    }
    return at;
}

bool predicate_lexer_start(struct predicate_lexer *lexer, const char *text, size_t length,
                           struct iso_error *error)
{
    size_t valid = valid_length(text, length);
    *lexer =
        (struct predicate_lexer){.start = text, .at = text, .end = text + length, .error = error};
    if (valid == length)
        return predicate_lexer_next(lexer);
    iso_error_set(error, ISO_BAD_INPUT, "byte %zu: expected UTF-8 without zero bytes", valid + 1);
    return false;
}
