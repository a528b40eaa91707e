/* The words of a statement of MySQL's family, one after the other. Threads: any; no state but the
 * caller's. */
#pragma once

#include "base/json.h"

struct iso_ddl_words {
    const char *at, *end;
    /* a name or a text without its quotes, or one other character; in the statement */
    struct iso_json_text token;
    char quote; /* what it stood in; 0: in none */
};

static inline struct iso_ddl_words iso_ddl_words_of(struct iso_json_text sql)
{
    return (struct iso_ddl_words){.at = sql.at, .end = sql.at + sql.length};
}

/* False: there are no more. Comments are passed over. */
bool iso_ddl_next(struct iso_ddl_words *words);

/* Whether the token is this keyword or sign, not quoted, whatever its case. */
bool iso_ddl_is(const struct iso_ddl_words *words, const char *word);

/* Passes over the keyword or sign if it is next. */
bool iso_ddl_pass(struct iso_ddl_words *words, const char *word);

/* Names are the same whatever their case. */
bool iso_ddl_same_name(struct iso_json_text one, struct iso_json_text other);

/* "a" or "s.a", in `schema` (empty: it does not say) and `table`. */
bool iso_ddl_take_name(struct iso_ddl_words *words, struct iso_json_text *schema,
                       struct iso_json_text *table);
