/* An EDN scanner, as far as Jepsen's histories need: a cursor over a text in memory, pulled by the
 * caller.
 *
 * Commas are white space, `;` starts a comment, `#_` drops the next form, `#tag` in front of a
 * value is passed over. A number is an integer of 64 bits; others (1.5, 2/3) are EDN_OTHER, as are
 * characters. The first error stays: from then on every call fails. The text must be followed by a
 * zero byte. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum edn_type {
    EDN_END,   /* the text's */
    EDN_OPEN,  /* ( [ { or #{, in `opened` */
    EDN_CLOSE, /* the matching bracket */
    EDN_INTEGER,
    EDN_KEYWORD, /* text without the colon */
    EDN_SYMBOL,  /* nil, true, false and others */
    EDN_STRING,  /* text between the quotes, escapes as they stand */
    EDN_OTHER,
    EDN_ERROR
};

enum { EDN_DEPTH = 256 };

struct edn {
    const char *at, *end;
    char opened[EDN_DEPTH]; /* closing brackets that are due */
    unsigned depth;
    const char *expected; /* of an error; NULL: none */

    /* the token read last */
    enum edn_type type;
    const char *token, *text;
    size_t length;
    uint64_t bits;
    bool negative;
};

void edn_start(struct edn *edn, const char *text, size_t length);

/* The next token. */
enum edn_type edn_next(struct edn *edn);

/* Passes over the rest of the value whose first token was read last. False: an error. */
bool edn_skip(struct edn *edn);

/* Sets the error at the token read last, unless there is one. Returns false. */
bool edn_fail(struct edn *edn, const char *expected);

bool edn_is(const struct edn *edn, enum edn_type type, const char *text);

/* True if a '[' or '{' was opened by the token read last. */
static inline bool edn_opens(const struct edn *edn, char bracket)
{
    return edn->type == EDN_OPEN && *edn->token == bracket;
}
