/* The words of conditions and aggregates. Ownership: the text is the caller's, as is what words
 * refer to. Threads: one at a time for each lexer. */
#pragma once

#include "base/json.h"
#include "base/text.h"
#include "base/error.h"

enum predicate_word_kind {
    PREDICATE_END,
    PREDICATE_NAME,   /* a plain word that is no keyword */
    PREDICATE_QUOTED, /* "name" */
    PREDICATE_TICKED, /* `name` */
    PREDICATE_NUMBER, /* without a sign */
    PREDICATE_STRING,
    PREDICATE_BYTES, /* X'00ff' */
    PREDICATE_EQUAL,
    PREDICATE_UNEQUAL,
    PREDICATE_LESS,
    PREDICATE_LESS_EQUAL,
    PREDICATE_GREATER,
    PREDICATE_GREATER_EQUAL,
    PREDICATE_OPEN,
    PREDICATE_CLOSE,
    PREDICATE_LEFT, /* [ */
    PREDICATE_RIGHT,
    PREDICATE_COMMA,
    PREDICATE_PLUS,
    PREDICATE_MINUS,
    PREDICATE_STAR,
    PREDICATE_CAST, /* :: */
    PREDICATE_AND,  /* from here on keywords */
    PREDICATE_OR,
    PREDICATE_NOT,
    PREDICATE_IN,
    PREDICATE_IS,
    PREDICATE_BETWEEN,
    PREDICATE_LIKE,
    PREDICATE_NULL,
    PREDICATE_TRUE,
    PREDICATE_FALSE
};

struct predicate_word {
    enum predicate_word_kind kind;
    struct iso_json_text text; /* as it stands there, quotes included */
};

struct predicate_lexer {
    const char *start, *at, *end; /* `at`: behind the word at hand */
    struct predicate_word word;   /* the word at hand */
    struct iso_error *error;
};

/* Goes to the first word. False, here and below: there is none, and the error says why. */
bool predicate_lexer_start(struct predicate_lexer *lexer, const char *text, size_t length,
                           struct iso_error *error);
bool predicate_lexer_next(struct predicate_lexer *lexer);

/* The location of the word at hand, from 1. */
uint32_t predicate_lexer_location(const struct predicate_lexer *lexer);

/* Says that the word at hand is not what was expected. Returns false. */
bool predicate_lexer_refuse(struct predicate_lexer *lexer, const char *expected);

/* The word is the keyword or name, in any case of letters. */
bool predicate_word_is(const struct predicate_word *word, const char *name);

/* Adds what is between the quotes of the word, each two of which are one. */
void predicate_word_unquote(const struct predicate_word *word, struct iso_text *out);
