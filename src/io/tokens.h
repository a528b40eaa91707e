/* Tokens of EDN and JSON, for readers of small formats that come in both.
 *
 * Commas are white space, and so is JSON's colon; `;` comments run to the end of the line; a tag (`#name`) is
 * dropped. A keyword's, a string's and a symbol's text is what stands there without its mark; escapes are not
 * undone, so a text with a backslash is an error. The text must be followed by a NUL.
 */
#ifndef ISO_IO_TOKENS_H
#define ISO_IO_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
    TOKEN_END,
    TOKEN_OPEN_MAP,
    TOKEN_CLOSE_MAP,
    TOKEN_OPEN_LIST,
    TOKEN_CLOSE_LIST,
    TOKEN_TEXT,
    TOKEN_NUMBER,
    TOKEN_NIL,
    TOKEN_SYMBOL,
    TOKEN_BAD
};

struct tokens {
    const char *at, *end;
    bool json;
    uint32_t line;
    enum token_kind kind; /* of the token at hand */
    const char *text;     /* TEXT, NUMBER (as written), SYMBOL */
    size_t length;
};

void tokens_start(struct tokens *tokens, const char *text, size_t length, bool json);
enum token_kind tokens_next(struct tokens *tokens);
/* Passes over the value that starts with the token at hand; false if it is none. The next token is at hand
 * then. */
bool tokens_skip(struct tokens *tokens);
bool tokens_is(const struct tokens *tokens, const char *text); /* TEXT or SYMBOL */

#endif
