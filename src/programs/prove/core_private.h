/* The core language's reader, for its two files: the scanner (core_token.c), one token ahead, for
 * its grammar (core.c). */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "prove/program.h"

enum { NAME = 64 };

enum token_kind { END, NAMED, NUMBER, SIGN };

struct name {
    char text[NAME + 1];
    uint32_t local;
};

struct call {
    uint32_t template, first_argument;
    uint32_t session; /* of the file; ISO_NONE */
    struct iso_prove_span span;
};

struct prove_core {
    struct iso_prove_program *program;
    const char *text;
    uint32_t length, at, last; /* `last`: where the token before ended */
    struct {
        enum token_kind kind;
        uint32_t begin, end;
        int64_t number;
    } token;
    ISO_LIST(struct name) scope; /* locals that can be seen, the innermost last */
    ISO_LIST(struct call) calls;
    ISO_LIST(char *) sessions;
    uint32_t template;   /* whose body is read; ISO_NONE */
    uint32_t bound;      /* outside of bodies: locals of the rule so far */
    bool cells, inputs;  /* what an expression may name here */
    const char *without; /* why not, for a message */
    unsigned depth, operators;
    uint32_t tokens; /* read: now and then the program's `stop` is asked */
    struct iso_error *error;
};

static inline bool fine(const struct prove_core *core)
{
    return core->error->status == ISO_OK;
}

static inline struct iso_prove_span here(const struct prove_core *core)
{
    return (struct iso_prove_span){core->token.begin, core->token.end};
}

static inline struct iso_prove_span since(const struct prove_core *core, uint32_t begin)
{
    return (struct iso_prove_span){begin, core->last};
}

/* Bad input at a span of the file. */
#define refuse(core, span, ...) iso_prove_refuse((core)->program, (core)->error, span, __VA_ARGS__)

/* ---- core_token.c ---- */

void prove_core_next(struct prove_core *core);
/* The token is this word or sign. */
bool prove_core_is(const struct prove_core *core, const char *word);
/* It is, and is passed over. */
bool prove_core_take(struct prove_core *core, const char *word);
bool prove_core_expect(struct prove_core *core, const char *word); /* else it is refused */
void prove_core_refuse_token(struct prove_core *core, const char *expected);
/* A name that is no word of the language, into `name`. */
bool prove_core_take_name(struct prove_core *core, char name[NAME + 1], const char *what);
