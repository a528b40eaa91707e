/* What a condition may be of a row: SQL's three truths, and how much is known of which.
 *
 * A truth is a set of outcomes: one of them is a fact; of several it is not known which, and a
 * reason says why. So an unknown cell is {true, false, null}, and what is known absorbs it by
 * itself:
 *
 *     false AND {true, false, null}   false null AND {true, false} {null, false}: no row matches
 *     true  OR  {true, false, null}   true             NOT {null, false}        {null, true}
 *
 * Both sides of AND and OR are taken for independent: a set may be larger than it has to be, never
 * smaller. Plain; threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Outcomes in the low three bits, enum iso_predicate_reason above them where there are several. */
typedef uint8_t iso_truth;

enum {
    ISO_TRUTH_TRUE = 1,
    ISO_TRUTH_FALSE = 2,
    ISO_TRUTH_NULL = 4,
    ISO_TRUTH_ANY = 7,
    ISO_TRUTH_REASON = 3
};

/* Why something is not known. */
enum iso_predicate_reason {
    ISO_PREDICATE_JUDGED,
    ISO_PREDICATE_UNKNOWN,   /* nobody said what is in the cell */
    ISO_PREDICATE_TYPE,      /* the types do not compare, or a text is no value of its type */
    ISO_PREDICATE_COLLATION, /* texts differ, and only their collation knows how */
    ISO_PREDICATE_SPELLING,  /* texts differ, and may be one value */
    ISO_PREDICATE_SIGN,      /* an integer of 64 bits below 0 may be one above 2^63 */
    ISO_PREDICATE_REASONS
};

/* "unknown-value", "type", "collation", "spelling", "sign"; "" of ISO_PREDICATE_JUDGED. */
const char *iso_predicate_reason_name(enum iso_predicate_reason reason);

static inline iso_truth iso_truth_of(bool value)
{
    return value ? ISO_TRUTH_TRUE : ISO_TRUTH_FALSE;
}

static inline uint8_t iso_truth_outcomes(iso_truth truth)
{
    return truth & ISO_TRUTH_ANY;
}

/* A set of outcomes as a truth: one that is a fact has no reason. */
static inline iso_truth iso_truth_make(unsigned outcomes, unsigned reason)
{
    return (iso_truth)(outcomes & (outcomes - 1) ? outcomes | reason << ISO_TRUTH_REASON
                                                 : outcomes);
}

static inline enum iso_predicate_reason iso_truth_reason(iso_truth truth)
{
    return (enum iso_predicate_reason)(truth >> ISO_TRUTH_REASON);
}

/* Whether a row is one of a WHERE's. ISO_TRUTH_TRUE: it is; ISO_TRUTH_FALSE: it is not (false or
 * null); both, with the reason: not judged. */
static inline iso_truth iso_truth_matches(iso_truth truth)
{
    unsigned outcomes = iso_truth_outcomes(truth),
             others = outcomes & (ISO_TRUTH_FALSE | ISO_TRUTH_NULL);
    return iso_truth_make((outcomes & ISO_TRUTH_TRUE) | (others ? ISO_TRUTH_FALSE : 0u),
                          iso_truth_reason(truth));
}

static inline iso_truth iso_truth_not(iso_truth truth)
{
    unsigned kept = truth & ~(unsigned)(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE);
    return (iso_truth)(kept | (truth & ISO_TRUTH_TRUE) << 1 | (truth & ISO_TRUTH_FALSE) >> 1);
}

/* The reason of the first that has one. */
static inline unsigned iso_truth_first_reason(iso_truth left, iso_truth right)
{
    return iso_truth_reason(left) ? iso_truth_reason(left) : iso_truth_reason(right);
}

static inline iso_truth iso_truth_and(iso_truth left, iso_truth right)
{
    enum { NOT_FALSE = ISO_TRUTH_TRUE | ISO_TRUTH_NULL };
    unsigned outcomes = (left & right & ISO_TRUTH_TRUE) | ((left | right) & ISO_TRUTH_FALSE);
    if ((left & ISO_TRUTH_NULL && right & NOT_FALSE) ||
        (right & ISO_TRUTH_NULL && left & NOT_FALSE))
        outcomes |= ISO_TRUTH_NULL;
    if (iso_truth_outcomes(left) == ISO_TRUTH_FALSE || iso_truth_outcomes(right) == ISO_TRUTH_FALSE)
        outcomes = ISO_TRUTH_FALSE;
    return iso_truth_make(outcomes, iso_truth_first_reason(left, right));
}

static inline iso_truth iso_truth_or(iso_truth left, iso_truth right)
{
    return iso_truth_not(iso_truth_and(iso_truth_not(left), iso_truth_not(right)));
}

/* IS TRUE, IS FALSE, IS UNKNOWN: whether it is that outcome, never null. */
static inline iso_truth iso_truth_is(iso_truth truth, unsigned outcome)
{
    unsigned outcomes = iso_truth_outcomes(truth);
    unsigned found =
        (outcomes & outcome ? ISO_TRUTH_TRUE : 0u) | (outcomes & ~outcome ? ISO_TRUTH_FALSE : 0u);
    return iso_truth_make(found, iso_truth_reason(truth));
}
