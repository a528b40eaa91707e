/* A scalar: the value of one cell, or a constant, ready to be compared with others by what its
 * column's type means.
 *
 *     struct iso_scalar cell = iso_scalar_read(type, text)       the canonical text of values/row.h
 *     iso_scalar_compare(&cell, &other)                          {less}, {equal}, {greater}, or
 *                                                                several of them
 *
 * Reading makes one form of each value, so that comparing is cheap: 1.50, 1.5 and 01.5 are the
 * digits `1.5`, 2.00 is the integer 2. What there is, and how it compares:
 *
 *     numbers     integers of any size and numerics by value, exactly; with a double both as
 *                 doubles, as databases do
 *     booleans    false before true
 *     DATE, TIMESTAMP    by their moment, in whatever unit; TIME by its time of day; INSTANT by its
 *                        moment in UTC
 *     texts       equal by bytes; unequal and in order as the column's collation allows (enum
 *                 iso_text_order)
 *     bytes       by bytes
 *     bits, UUIDs, JSON        equal or not: canonical texts. No order: databases differ
 *     untyped     (no schema, or one that says "string")  equal where values/spelling.h says so;
 *                 integers by size where both are; in order of bytes where both begin with a letter
 *                 and texts are in that order
 *     all else    (FLOAT, zoned times, lists, other pairs of types, a text that is no value of its
 *                 type) does not compare
 *
 * An order is a set, as a truth is: of several it is not known which, and a reason says why. `=` is
 * false where {less, greater}, and `<` is then not known.
 *
 * Ownership: a scalar refers to the text that it was read from, which stays the caller's. Nothing
 * is allocated, but where two unequal texts without a type, or of JSON, are compared whose
 * beginnings do not tell that they are two values. Threads: any; no state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "values/type.h"
#include "predicate/truth.h"

/* The promise about the order of a column's texts. */
enum iso_text_order {
    ISO_TEXT_COLLATED, /* nothing: another text may be equal */
    ISO_TEXT_DISTINCT, /* another byte is another text */
    ISO_TEXT_ORDERED   /* and they are in the order of their bytes: collation=C, and no enum's */
};

/* The type of a column, as far as it is known; zeroed: it is not. */
struct iso_scalar_type {
    struct iso_value_type value;
    uint8_t text;   /* enum iso_text_order */
    bool is_signed; /* its database has no integers without a sign (values/spelling.h) */
};

enum iso_scalar_kind {
    ISO_SCALAR_UNKNOWN, /* nobody said what is in the cell, not even whether it is NULL */
    ISO_SCALAR_NULL,
    ISO_SCALAR_OPAQUE, /* there is something that does not compare; `type`: the reason, or 0 */
    ISO_SCALAR_BOOLEAN,
    ISO_SCALAR_INTEGER, /* of 64 bits */
    ISO_SCALAR_WRAPPED, /* the same below 0, where it may be meant without a sign: 2^64 more */
    ISO_SCALAR_DECIMAL, /* any other number: digits without needless zeros at either end, `.5` */
    ISO_SCALAR_DOUBLE,  /* also NaN and infinities of numerics */
    ISO_SCALAR_COUNT,   /* of days or parts of a second: `type` and `length` say which */
    ISO_SCALAR_INSTANT,
    ISO_SCALAR_TEXT,
    ISO_SCALAR_BYTES, /* base64 */
    ISO_SCALAR_TOKEN, /* a canonical text that is equal or not; `type` says of what */
    ISO_SCALAR_JSON,
    ISO_SCALAR_UNTYPED
};

struct iso_scalar {
    uint8_t kind;         /* enum iso_scalar_kind */
    uint8_t type;         /* enum iso_value_kind, where `kind` says so */
    uint8_t text_order;   /* enum iso_text_order */
    bool is_negative : 1; /* of ISO_SCALAR_DECIMAL */
    bool is_signed : 1;   /* of texts: as their type has it */
    bool is_single : 1;   /* of ISO_SCALAR_DOUBLE: of single precision */
    uint32_t length;      /* of `text` */
    union {
        int64_t number; /* of ISO_SCALAR_BOOLEAN: 0 or 1 */
        double real;
        const char *text;
    };
};

/* Whether `text` is what it has. */
static inline bool iso_scalar_has_text(const struct iso_scalar *scalar)
{
    return scalar->kind == ISO_SCALAR_DECIMAL || scalar->kind >= ISO_SCALAR_INSTANT;
}

static inline struct iso_scalar iso_scalar_of_kind(enum iso_scalar_kind kind)
{
    return (struct iso_scalar){.kind = (uint8_t)kind};
}

/* An integer of a column of integers, without its text; not for one below 0 that may be meant
 * without a sign. */
static inline struct iso_scalar iso_scalar_integer(int64_t number)
{
    return (struct iso_scalar){.kind = ISO_SCALAR_INTEGER, .number = number};
}

/* A canonical text, as decoders make it, of a cell that is not NULL. */
struct iso_scalar iso_scalar_read(struct iso_scalar_type type, struct iso_json_text text);

/* As iso_scalar_read, of a text as clients spell it: made canonical at the end of `out` where its
 * type knows how. The scalar may refer to `text` or to `out`, until that grows. */
struct iso_scalar iso_scalar_spell(struct iso_scalar_type type, struct iso_json_text text,
                                   struct iso_text *out);

/* ---- comparing ---- */

/* Orders in the low three bits, a reason above them where there are several. */
typedef uint8_t iso_order;
enum {
    ISO_ORDER_LESS = 1,
    ISO_ORDER_EQUAL = 2,
    ISO_ORDER_GREATER = 4,
    ISO_ORDER_ANY = 7,
    ISO_ORDER_REASON = 3
};

static inline unsigned iso_order_outcomes(iso_order order)
{
    return order & ISO_ORDER_ANY;
}

static inline enum iso_predicate_reason iso_order_reason(iso_order order)
{
    return (enum iso_predicate_reason)(order >> ISO_ORDER_REASON);
}

static inline iso_order iso_order_make(unsigned outcomes, unsigned reason)
{
    return (iso_order)(outcomes & (outcomes - 1) ? outcomes | reason << ISO_ORDER_REASON
                                                 : outcomes);
}

/* Whether it is one of `accepted`: ISO_ORDER_LESS | ISO_ORDER_EQUAL for <=. */
static inline iso_truth iso_order_test(iso_order order, unsigned accepted)
{
    unsigned outcomes = iso_order_outcomes(order);
    return iso_truth_make((outcomes & accepted ? ISO_TRUTH_TRUE : 0u) |
                              (outcomes & ~accepted ? ISO_TRUTH_FALSE : 0u),
                          iso_order_reason(order));
}

static inline iso_order iso_order_of(int order) /* <0, 0, >0 */
{
    return order < 0 ? ISO_ORDER_LESS : order > 0 ? ISO_ORDER_GREATER : ISO_ORDER_EQUAL;
}

iso_order iso_scalar_compare_slow(const struct iso_scalar *left, const struct iso_scalar *right);

/* Compares two scalars that are neither NULL nor unknown. */
static inline iso_order iso_scalar_compare(const struct iso_scalar *left,
                                           const struct iso_scalar *right)
{
    if (left->kind != ISO_SCALAR_INTEGER || right->kind != ISO_SCALAR_INTEGER)
        return iso_scalar_compare_slow(left, right);
    return iso_order_of((left->number > right->number) - (left->number < right->number));
}

/* Compares any two scalars: null if one is NULL. */
static inline iso_truth iso_scalar_test(const struct iso_scalar *left,
                                        const struct iso_scalar *right, unsigned accepted)
{
    if (left->kind == ISO_SCALAR_NULL || right->kind == ISO_SCALAR_NULL)
        return ISO_TRUTH_NULL;
    if (left->kind == ISO_SCALAR_UNKNOWN || right->kind == ISO_SCALAR_UNKNOWN)
        return iso_truth_make(ISO_TRUTH_ANY, ISO_PREDICATE_UNKNOWN);
    return iso_order_test(iso_scalar_compare(left, right), accepted);
}

/* Whether the text begins with `prefix` (both of one column): by bytes, and only if its texts are
 * in their order. */
iso_truth iso_scalar_begins(const struct iso_scalar *text, const struct iso_scalar *prefix);

/* Whether the text has the form of LIKE's pattern, likewise: % is any text, _ a letter, and what
 * stands behind a backslash is itself. */
iso_truth iso_scalar_like(const struct iso_scalar *text, const struct iso_scalar *pattern);

/* Of a number: finite where it is; one beyond all doubles is the largest of them. */
double iso_scalar_real(const struct iso_scalar *number);

/* Of an ISO_SCALAR_COUNT: nanoseconds, since 1970 but for a TIME. False: of no known unit. */
bool iso_scalar_nanos(const struct iso_scalar *count, __int128 *nanos);

/* Whether an untyped one is an integer, as atoms have them. */
bool iso_scalar_is_integer(const struct iso_scalar *untyped, struct iso_scalar *integer);

/* Its canonical text: numbers as above with their sign. Not of NULL, unknown and opaque ones. */
void iso_scalar_put(struct iso_text *text, const struct iso_scalar *scalar);
