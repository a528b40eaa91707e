#include "io/ddl.h"

#include <string.h>

#include "io/payload.h"

enum { WORD_MAX = 16 };

/* The word that stands at `*at`, in small letters; passes over it. */
static struct iso_json_text take_word(struct iso_json_text sql, size_t *at, char word[WORD_MAX])
{
    size_t length = 0;
    while (*at < sql.length && sql.at[*at] && strchr(" \t\r\n", sql.at[*at]))
        ++*at;
    for (; *at < sql.length && length < WORD_MAX && (sql.at[*at] | 0x20) >= 'a' && (sql.at[*at] | 0x20) <= 'z'; ++*at)
        word[length++] = (char)(sql.at[*at] | 0x20);
    return (struct iso_json_text){word, length};
}

bool iso_ddl_drops_rows(struct iso_json_text sql)
{
    char first[WORD_MAX], second[WORD_MAX];
    size_t at = 0;
    struct iso_json_text verb = take_word(sql, &at, first), object = take_word(sql, &at, second);
    return ISO_PAYLOAD_IS(verb, "truncate") || (ISO_PAYLOAD_IS(verb, "drop") && ISO_PAYLOAD_IS(object, "table"));
}
