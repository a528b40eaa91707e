/* What a condition may make of a value before it compares it: a text in small or large letters, a
 * value as another type. Each is a row of a table (function.c), by its name:
 *
 *     lower(name)   upper(name)   CAST(price AS bigint)   price::numeric(9,2)   DATE '2024-02-29'
 *
 * Letters are changed where texts are in the order of their bytes and have ASCII letters only; else
 * nothing is known but that there is a text (ISO_PREDICATE_COLLATION). Numbers become integers as
 * in PostgreSQL: numerics half away from zero, doubles half to even; numerics of doubles have 15
 * digits, of those of single precision 6. numeric(5,2) rounds as integers are, varchar(3) is the
 * first three letters. A timestamp is cut to its day or to its time of day. What needs a zone, or
 * does not fit, is opaque. Threads: any; no state.
 */
#pragma once

#include "predicate/scalar.h"

enum { PREDICATE_NO_FUNCTION, PREDICATE_LOWER };

/* A function or a type, and what stands in brackets behind the type: numeric(5,2), varchar(3). */
struct predicate_call {
    uint8_t function; /* by predicate_function_named */
    int16_t scale;
    uint32_t precision; /* digits, or letters; 0: it has no brackets */
};

/* By its name, in any case of letters: of a type if `is_type`, else of a function;
 * PREDICATE_NO_FUNCTION: there is none. Numbers are of one version of the program. */
uint8_t predicate_function_named(struct iso_json_text name, bool is_type);

/* Whether the type takes these brackets, with a precision and perhaps a scale in them. */
bool predicate_call_fits(struct predicate_call call);

static inline bool predicate_call_same(struct predicate_call one, struct predicate_call other)
{
    return one.function == other.function && one.precision == other.precision &&
           one.scale == other.scale;
}

/* It changes letters; says that a text is a text; makes another type of a value. */
enum predicate_function_sort { PREDICATE_FOLDS, PREDICATE_IS_TEXT, PREDICATE_CASTS };
enum predicate_function_sort predicate_function_sort(uint8_t function);

/* It makes integers or numerics. */
bool predicate_function_is_number(uint8_t function);

/* The type of what it makes of values of a type. */
struct iso_scalar_type predicate_function_type(uint8_t function, struct iso_scalar_type type);

/* What it makes of the value. `room` is empty, and gets the text of the result if that is another
 * one. */
struct iso_scalar predicate_apply(struct predicate_call call, const struct iso_scalar *value,
                                  struct iso_text *room);

/* Rounds a number half away from zero to the scale; opaque where it has too many digits then. */
struct iso_scalar predicate_limit_number(struct predicate_call call, struct iso_scalar number,
                                         struct iso_text *room);
/* Cuts a text behind so many letters. */
struct iso_scalar predicate_limit_text(struct predicate_call call, struct iso_scalar text);
