/* Numbers of any size as digits: what is behind scalars that are no integers of 64 bits, and behind
 * sums.
 *
 * Digits are a number's magnitude without needless zeros: `12.5`, `.5`, `123456789012345678901`; 0
 * is empty. Ownership: they refer to the caller's text. Threads: any; no state.
 */
#pragma once

#include "base/json.h"

struct predicate_digits {
    struct iso_json_text whole, fraction;
};

/* Reads `12.50`, `012.5`, without a sign. False: it is something else. */
bool predicate_digits_read(struct predicate_digits *digits, struct iso_json_text text);

/* The digits of a scalar's text, which has no needless zeros. */
struct predicate_digits predicate_digits_of(struct iso_json_text text);

enum { PREDICATE_INTEGER_DIGITS = 20 };
struct predicate_digits predicate_digits_of_integer(uint64_t number,
                                                    char room[PREDICATE_INTEGER_DIGITS]);

/* <0, 0, >0. */
int predicate_digits_compare(const struct predicate_digits *left,
                             const struct predicate_digits *right);
