#include "io/tokens.h"

#include <string.h>

void tokens_start(struct tokens *tokens, const char *text, size_t length, bool json)
{
    *tokens = (struct tokens){.at = text, .end = text + length, .json = json, .line = 1};
}

static void skip_space(struct tokens *tokens)
{
    for (; tokens->at < tokens->end; tokens->at++) {
        char byte = *tokens->at;
        if (byte == ';' && !tokens->json) {
            while (tokens->at + 1 < tokens->end && tokens->at[1] != '\n')
                tokens->at++;
        } else if (byte == '\n') {
            tokens->line++;
        } else if (byte != ' ' && byte != '\t' && byte != '\r' && byte != ',' &&
                   !(byte == ':' && tokens->json)) {
            return;
        }
    }
}

static bool is_word(char byte)
{
    return byte && !strchr(" \t\r\n,;{}[]()\"", byte);
}

static enum token_kind take_string(struct tokens *tokens)
{
    tokens->text = ++tokens->at;
    while (tokens->at < tokens->end && *tokens->at != '"' && *tokens->at != '\\')
        tokens->at++;
    tokens->length = (size_t)(tokens->at - tokens->text);
    if (tokens->at == tokens->end || *tokens->at == '\\')
        return TOKEN_BAD;
    tokens->at++;
    return TOKEN_TEXT;
}

static enum token_kind take_word(struct tokens *tokens)
{
    bool keyword = *tokens->at == ':' && !tokens->json;
    tokens->text = tokens->at += keyword;
    while (tokens->at < tokens->end && is_word(*tokens->at) && !(tokens->json && *tokens->at == ':'))
        tokens->at++;
    tokens->length = (size_t)(tokens->at - tokens->text);
    if (!tokens->length)
        return TOKEN_BAD;
    if (keyword)
        return TOKEN_TEXT;
    size_t sign = tokens->length > 1 && *tokens->text == '-', i = sign;
    while (i < tokens->length && tokens->text[i] >= '0' && tokens->text[i] <= '9')
        i++;
    if (i == tokens->length)
        return TOKEN_NUMBER;
    tokens->kind = TOKEN_SYMBOL;
    return tokens_is(tokens, "nil") || tokens_is(tokens, "null") ? TOKEN_NIL : TOKEN_SYMBOL;
}

enum token_kind tokens_next(struct tokens *tokens)
{
    for (;;) {
        skip_space(tokens);
        if (tokens->at >= tokens->end)
            return tokens->kind = TOKEN_END;
        if (*tokens->at != '#' || tokens->json)
            break;
        tokens->at++; /* a tag, or a set: its braces are read as a map's */
        while (tokens->at < tokens->end && is_word(*tokens->at))
            tokens->at++;
    }
    tokens->text = tokens->at;
    tokens->length = 1;
    switch (*tokens->at) {
    case '{':
        tokens->at++;
        return tokens->kind = TOKEN_OPEN_MAP;
    case '}':
        tokens->at++;
        return tokens->kind = TOKEN_CLOSE_MAP;
    case '[':
    case '(':
        tokens->at++;
        return tokens->kind = TOKEN_OPEN_LIST;
    case ']':
    case ')':
        tokens->at++;
        return tokens->kind = TOKEN_CLOSE_LIST;
    case '"':
        return tokens->kind = take_string(tokens);
    default:
        return tokens->kind = take_word(tokens);
    }
}

bool tokens_skip(struct tokens *tokens)
{
    uint32_t depth = 0;
    do {
        if (tokens->kind == TOKEN_OPEN_MAP || tokens->kind == TOKEN_OPEN_LIST)
            depth++;
        else if (tokens->kind == TOKEN_CLOSE_MAP || tokens->kind == TOKEN_CLOSE_LIST)
            depth -= depth > 0;
        else if (tokens->kind == TOKEN_END || tokens->kind == TOKEN_BAD)
            return false;
        tokens_next(tokens);
    } while (depth);
    return true;
}

bool tokens_is(const struct tokens *tokens, const char *text)
{
    return (tokens->kind == TOKEN_TEXT || tokens->kind == TOKEN_SYMBOL) && strlen(text) == tokens->length &&
           memcmp(text, tokens->text, tokens->length) == 0;
}
