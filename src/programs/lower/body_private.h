/* What those share that read a body (body.c): where they are in it. */
#pragma once

#include "lower/lower_private.h"

/* A function that is called by another one: its statements stand where the call stands. */
struct inlined {
    uint32_t result, returned; /* variables */
    bool left;                 /* some way through it has ended before here */
    struct state gathered;     /* of the result, by all RETURNs */
    bool any;
};

struct body_reader {
    struct lowering *lowering;
    const struct function *function;
    struct inlined *call; /* or NULL: the transaction */
    const struct iso_sql_token *list;
    uint32_t at, count, depth;
    bool dead;            /* what follows is not reached */
    uint32_t first, last; /* bytes of the last expression */
};

/* ---- tokens (body_reader.c) ---- */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

bool lower_is_word_at(const struct body_reader *reader, uint32_t at, const char *word);
bool lower_is_word(const struct body_reader *reader, const char *word);
bool lower_take_word(struct body_reader *reader, const char *word);
uint32_t lower_word_location(const struct body_reader *reader);
void lower_need_word(struct body_reader *reader, const char *word);
/* A name as PostgreSQL folds it; NULL: none stands here. */
char *lower_take_name(struct body_reader *reader);
/* The token outside of brackets that is one of the words; the count if there is none. */
uint32_t lower_find_word(const struct body_reader *reader, uint32_t at, const char *const *words);
/* Bytes of the tokens from `at` up to the one before `end`. */
void lower_bytes_of(const struct body_reader *reader, uint32_t at, uint32_t end, uint32_t *first,
                    uint32_t *last);
/* An expression up to one of the words, which is not taken. */
struct value lower_take_expression(struct body_reader *reader, const char *const *words);
/* The span of a statement is up to the token before `end`. */
void lower_begin_statement(struct body_reader *reader, uint32_t end);
void lower_refuse_statement(struct body_reader *reader, const char *what);

/* ---- variables (body_reader.c) ---- */

/* The variable whose name stands here; NONE, and refused: there is none. */
uint32_t lower_take_variable(struct body_reader *reader);
/* Each takes the name. */
uint32_t lower_add_variable(struct lowering *lowering, char *name, enum type type);
uint32_t lower_declare(struct lowering *lowering, char *name, enum type type);
/* The local that says whether the variable is NULL. */
void lower_add_null(struct lowering *lowering, uint32_t number);
void lower_read_declaration(struct body_reader *reader);

/* ---- branches and loops (flow.c) ---- */

struct branch {
    struct iso_prove_block block, *outer;
    struct state *before, *after;
    uint32_t count;
    bool dead_before, dead;
    struct iso_prove_span span;
};

void lower_open_branch(struct body_reader *reader, struct branch *branch);
/* The first branch ends, the other begins, where all is as before. */
struct iso_prove_block lower_turn_branch(struct body_reader *reader, struct branch *branch);
void lower_close_branch(struct body_reader *reader, struct branch *branch,
                        const struct iso_prove_block *first, uint32_t condition, bool continued);
/* From the word on to its END, which is not taken. */
void lower_read_if(struct body_reader *reader);
void lower_read_case(struct body_reader *reader);
void lower_read_for(struct body_reader *reader);
/* The inlined function has not come to a RETURN. */
uint32_t lower_not_returned(const struct body_reader *reader);

/* ---- statements (body.c) ---- */

/* Up to one of the words. */
void lower_read_statements(struct body_reader *reader, const char *const *ends);
void lower_read_block(struct body_reader *reader);
/* FOUND and ROW_COUNT, which every function has of its own. */
void lower_declare_found(struct lowering *lowering);
/* PostgreSQL: without RETURN no value. */
void lower_end_function(struct body_reader *reader);

/* ---- calls (inline.c) ---- */

/* The calls in an expression, or in a statement that has only values (not `simple`), from left to
 * right: their statements come first, and their results stand for them. */
void lower_inline_calls(struct body_reader *reader, const PgQuery__Node *node, bool simple);
