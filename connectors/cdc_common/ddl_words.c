#define _GNU_SOURCE
#include "connectors/cdc_common/ddl_words.h"

#include <string.h>
#include <strings.h>

static bool is_name(char byte)
{
    return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') ||
           byte == '_' || byte == '$' || (byte & 0x80);
}

/* Passes over a comment that begins with `open`, up to `close`, or to the end of the text. */
static bool skip_comment(struct iso_ddl_words *words, const char *open, const char *close)
{
    size_t left = (size_t)(words->end - words->at), length = strlen(open);
    if (left < length || memcmp(words->at, open, length) != 0)
        return false;
    const char *found = memmem(words->at + length, left - length, close, strlen(close));
    words->at = found ? found + strlen(close) : words->end;
    return true;
}

static void skip_blanks(struct iso_ddl_words *words)
{
    while (words->at < words->end) {
        if (*words->at && strchr(" \t\r\n", *words->at))
            words->at++;
        else if (!skip_comment(words, "/*", "*/") && !skip_comment(words, "-- ", "\n") &&
                 !skip_comment(words, "#", "\n"))
            return;
    }
}

/* Texts may have escapes, names have none. */
static const char *find_close(const struct iso_ddl_words *words, char quote)
{
    const char *at = words->at + 1;
    while (at < words->end && *at != quote)
        at += *at == '\\' && quote != '`' && words->end - at > 1 ? 2 : 1;
    return at;
}

bool iso_ddl_next(struct iso_ddl_words *words)
{
    skip_blanks(words);
    const char *from = words->at;
    if (from == words->end)
        return false;
    words->quote = *from && strchr("`\"'", *from) ? *from : 0;
    if (words->quote) {
        const char *close = find_close(words, *from);
        words->token = (struct iso_json_text){from + 1, (size_t)(close - from - 1)};
        words->at = close < words->end ? close + 1 : close;
        return true;
    }
    do
        words->at++;
    while (is_name(*from) && words->at < words->end && is_name(*words->at));
    words->token = (struct iso_json_text){from, (size_t)(words->at - from)};
    return true;
}

bool iso_ddl_is(const struct iso_ddl_words *words, const char *word)
{
    return !words->quote && words->token.length == strlen(word) &&
           !strncasecmp(words->token.at, word, words->token.length);
}

bool iso_ddl_pass(struct iso_ddl_words *words, const char *word)
{
    struct iso_ddl_words before = *words;
    if (iso_ddl_next(words) && iso_ddl_is(words, word))
        return true;
    *words = before;
    return false;
}

bool iso_ddl_same_name(struct iso_json_text one, struct iso_json_text other)
{
    return one.length == other.length && !strncasecmp(one.at, other.at, one.length);
}

bool iso_ddl_take_name(struct iso_ddl_words *words, struct iso_json_text *schema,
                       struct iso_json_text *table)
{
    *schema = *table = (struct iso_json_text){"", 0};
    if (!iso_ddl_next(words))
        return false;
    *table = words->token;
    if (iso_ddl_pass(words, ".") && iso_ddl_next(words)) {
        *schema = *table;
        *table = words->token;
    }
    return true;
}
