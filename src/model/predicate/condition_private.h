/* Shared by parsing, binding and judging of a condition: its program. */
#pragma once

#include "predicate/condition.h"
#include "predicate/function.h"

/* Most push one truth; AND and OR take two and push one, those behind them take one and push
 * one. */
enum condition_code {
    CONDITION_COMPARE, /* operands `left` and `right`: the order is one of `set`; `count`: 1 + its
                          number among those that stand several times, or 0 */
    CONDITION_IN,      /* operand `left`: of one of `count` constants from `right` on the order is
                          one of `set` */
    CONDITION_IS_NULL, /* operand `left` */
    CONDITION_BEGINS,  /* operand `left`, with constant `right` */
    CONDITION_LIKE,    /* operand `left` has the form of constant `right` */
    CONDITION_SAME,    /* operands `left` and `right` are equal, or both null */
    CONDITION_IS,      /* operand `left` is true */
    CONDITION_AND,     /* pops two */
    CONDITION_OR,
    CONDITION_NOT,      /* pops one */
    CONDITION_OUTCOME,  /* pops one: it is the outcome `set` */
    CONDITION_SKIP_ALL, /* what is on top stays, and `right` steps are skipped, if it is nothing but
                           `set` */
};

/* An operand with the first bit is a constant, else one with the second is derived, else a
 * column. */
enum { CONDITION_CONSTANT = 0x8000, CONDITION_DERIVED = 0x4000 };

struct condition_step {
    uint8_t code;
    uint8_t set;
    uint16_t left, right, count;
};

enum condition_literal_kind {
    CONDITION_NULL,
    CONDITION_BOOLEAN, /* `text` is true or false */
    CONDITION_NUMBER,  /* with its sign */
    CONDITION_STRING,
    CONDITION_BYTES /* base64 */
};

/* What a function makes of an operand that stands before it in its list. */
struct condition_derived {
    struct predicate_call call;
    uint16_t operand;
    struct iso_scalar_type type; /* once it is bound */
};

enum { CONDITION_NO_COLUMN = 0xffff };

struct condition_literal {
    uint8_t kind;
    uint16_t column;            /* or derived, with which it is compared; or CONDITION_NO_COLUMN */
    struct predicate_call call; /* that it is given to; its function may be none */
    uint32_t location;
    uint32_t start, length; /* of its text, in the condition's names */
};

/* Comparisons that stand several times; more are made each time. */
enum { CONDITION_REPEATED = 512 };

/* Truths that wait for others: two a level, and those of a BETWEEN. */
enum { CONDITION_STACK = 2 * ISO_CONDITION_DEPTH + 8 };
