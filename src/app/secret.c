/* Values that are shown, without what is for nobody else. */
#include <ctype.h>
#include <string.h>

#include "app/value.h"

#define REDACTED "[redacted]"

/* Does a property's name say that its value is for nobody else? Rather once too often. */
static bool is_secret(const char *name, size_t length)
{
    static const char *const parts[] = {"password",     "secret", "token",     "ssl.key",
                                        "ssl.keystore", "jaas",   "user.info", "oauthbearer.config",
                                        "credential"};
    char lower[64];
    if (memchr(name, ':', length) || memchr(name, ',', length))
        return false; /* no property: a source and its options */
    length = length < sizeof lower ? length : sizeof lower - 1;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[length] = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(lower, parts[i]))
            return true;
    return false;
}

/* Where user and password of the URL at `text` begin and end; false: it has none. */
static bool find_user(const char *text, const char **from, const char **to)
{
    const char *scheme = strstr(text, "://");
    if (!scheme)
        return false;
    *from = scheme + 3;
    *to = *from + strcspn(*from, "/?# ");
    while (*to > *from && **to != '@')
        --*to;
    return *to > *from;
}

char *app_value_redact(const char *text)
{
    const char *equals = strchr(text, '='), *from, *to;
    struct iso_text copy = {0};
    if (equals && is_secret(text, (size_t)(equals - text))) {
        iso_text_put_bytes(&copy, text, (size_t)(equals + 1 - text));
        iso_text_put(&copy, REDACTED);
    } else {
        while (find_user(text, &from, &to)) {
            iso_text_put_bytes(&copy, text, (size_t)(from - text));
            iso_text_put(&copy, REDACTED);
            text = to;
        }
        iso_text_put(&copy, text);
    }
    iso_text_put_bytes(&copy, "", 1);
    return copy.bytes;
}
