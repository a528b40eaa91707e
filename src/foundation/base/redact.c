#include "base/redact.h"

#include <ctype.h>

static const char blanks[] = " \t\r\n";

bool iso_is_secret_name(const char *name, size_t length)
{
    static const char *const parts[] = {
        "password",  "passwd",     "passphrase",         "secret",  "token",  "ssl.key",     "jaas",
        "user.info", "credential", "oauthbearer.config", "api.key", "apikey", "ssl.keystore"};
    char lower[64];
    length = length < sizeof lower ? length : sizeof lower - 1;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[length] = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(lower, parts[i]))
            return true;
    return false;
}

static const char *last_at(const char *from, const char *end)
{
    const char *at = NULL;
    for (; from < end; from++)
        at = *from == '@' ? from : at;
    return at;
}

/* http://HOST/PATH with an @ in its path, and no colon before that: no password ends there. */
static bool is_in_path(const char *text, const char *scheme, const char *at)
{
    const char *host = scheme + 3,
               *slash =
                   host +
                   strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
    bool is_web = (scheme - text >= 4 && !memcmp(scheme - 4, "http", 4)) ||
                  (scheme - text >= 5 && !memcmp(scheme - 5, "https", 5));
    return is_web && slash > host && *slash == '/' && !memchr(slash, ':', (size_t)(at - slash));
}

/* Where the user of the URL ends whose :// is at `scheme`, in `text`. */
static const char *user_end(const char *text, const char *scheme)
{
    const char *from = scheme + 3, *at = last_at(from, from + strcspn(from, blanks));
    return at && !is_in_path(text, scheme, at) ? at : NULL;
}

const char *iso_url_user_end(const char *url)
{
    const char *scheme = strstr(url, "://");
    return scheme ? user_end(url, scheme) : NULL;
}

static void put_redacted(struct iso_text *text, const char *from, const char *until)
{
    iso_text_put_bytes(text, from, (size_t)(until - from));
    iso_text_put(text, ISO_REDACTED);
}

/* NAME:PASSWORD@HOST. Where it begins is not certain: what stands behind a = may be all of it. */
static void put_bare_word(struct iso_text *text, const char *word, const char *end)
{
    const char *at = last_at(word, end),
               *colon = at ? memchr(word, ':', (size_t)(at - word)) : NULL, *from = word;
    if (!colon || at[-1] == '[') { /* [@PLACE] */
        iso_text_put_bytes(text, word, (size_t)(end - word));
        return;
    }
    for (const char *letter = word; letter < colon; letter++)
        from = *letter == '=' ? letter + 1 : from;
    put_redacted(text, word, from);
    iso_text_put_bytes(text, at, (size_t)(end - at));
}

/* Redacts up to the last @: a password may hold anything, also what looks like the next URL. */
static void put_word(struct iso_text *text, const char *word, const char *end)
{
    const char *scheme = strstr(word, "://"), *at;
    if (!scheme || scheme >= end) {
        put_bare_word(text, word, end);
        return;
    }
    at = user_end(word, scheme);
    if (at)
        put_redacted(text, word, scheme + 3);
    else
        at = word;
    iso_text_put_bytes(text, at, (size_t)(end - at));
}

/* The = behind a secret's name; NULL: there is none. */
static const char *find_secret(const char *string)
{
    for (const char *equals = strchr(string, '='); equals; equals = strchr(equals + 1, '=')) {
        const char *name = equals;
        while (name > string && (isalnum((unsigned char)name[-1]) || strchr("._-", name[-1])))
            name--;
        if (iso_is_secret_name(name, (size_t)(equals - name)))
            return equals;
    }
    return NULL;
}

static void put_words(struct iso_text *text, const char *string)
{
    while (*string) {
        size_t between = strspn(string, blanks), length = strcspn(string + between, blanks);
        iso_text_put_bytes(text, string, between);
        put_word(text, string + between, string + between + length);
        string += between + length;
    }
}

void iso_redact(struct iso_text *text, const char *string)
{
    struct iso_text words = {0};
    put_words(&words, string);
    iso_text_put_bytes(&words, "", 1);
    const char *secret = find_secret(words.bytes);
    if (secret)
        put_redacted(text, words.bytes, secret + 1);
    else
        iso_text_put(text, words.bytes);
    iso_text_release(&words);
}

char *iso_redacted(const char *string)
{
    struct iso_text text = {0};
    iso_redact(&text, string);
    iso_text_put_bytes(&text, "", 1);
    return text.bytes;
}
