/* Helpers of values/spelling.h's parts. */
#pragma once

#include "values/spelling.h"

enum { SPELLING_DIGITS = 512 };

/* The relation of two texts of one type. */
enum relation {
    RELATION_SAME,
    RELATION_SIMILAR,   /* the same or not: what neither says decides */
    RELATION_OTHER,     /* two values */
    RELATION_UNREADABLE /* one of them is no value of the type, as far as is known */
};

static inline bool spelling_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static inline bool spelling_equal(struct iso_json_text one, struct iso_json_text other)
{
    return one.length == other.length && (!one.length || !memcmp(one.at, other.at, one.length));
}

bool spelling_is_integer(struct iso_json_text text);
bool spelling_is_word(struct iso_json_text text, const char *word); /* whatever its case */

/* The text inside NAME('...'), as Python prints it; otherwise the whole text. */
struct iso_json_text spelling_unwrap(struct iso_json_text text, const char *name);

/* ---- numbers: 0.DIGITS * 10^point ---- */

struct spelling_number {
    char digits[SPELLING_DIGITS]; /* without zeros at either end */
    int count, point;
    bool negative;
    bool has_fraction; /* it was spelt with a point, or an exponent */
    bool is_code;      /* it was spelt with zeros before it, as numbers that are names are */
};

bool spelling_read_number(struct iso_json_text text, struct spelling_number *number);
void spelling_put_number(struct iso_text *out, const struct spelling_number *number, int places);
bool spelling_spell_number(struct iso_value_type type, struct iso_json_text text,
                           struct iso_text *out);
enum relation spelling_relate_numbers(struct iso_value_type type, struct iso_json_text one,
                                      struct iso_json_text other, bool rounds);
/* Whether two numbers of unknown type may be equal: they differ in zeros only, or one was cut to
 * a FLOAT's six digits. */
bool spelling_are_like_numbers(struct iso_json_text one, struct iso_json_text other);

/* ---- times ---- */

bool spelling_spell_time(struct iso_value_type type, struct iso_json_text text,
                         struct iso_text *out);
enum relation spelling_relate_times(struct iso_value_type type, struct iso_json_text one,
                                    struct iso_json_text other, bool rounds);

/* ---- bytes ---- */

bool spelling_spell_bytes(struct iso_value_type type, struct iso_json_text text,
                          struct iso_text *out);
enum relation spelling_relate_bytes(struct iso_value_type type, struct iso_json_text one,
                                    struct iso_json_text other);
/* Whether one is the other's digits as big-endian bytes: in base64 a decimal whose scale is not
 * known, else bits. */
bool spelling_is_unscaled(struct iso_json_text one, struct iso_json_text other);

/* ---- JSON ---- */

/* Members by name, no white space, numbers without needless zeros; `rounds`: as doubles have
 * them. */
bool spelling_spell_json(struct iso_json_text text, bool rounds, struct iso_text *out);
enum relation spelling_relate_json(struct iso_value_type type, struct iso_json_text one,
                                   struct iso_json_text other);
/* Without white space, else as it is. */
bool spelling_compact_json(struct iso_json_text text, struct iso_text *out);

/* ---- labels ---- */

enum relation spelling_relate_labels(const struct iso_labels *labels, struct iso_value_type type,
                                     struct iso_json_text one, struct iso_json_text other);

/* ---- arrays ---- */

/* An array as PostgreSQL prints it, and as JSON; `plain`: its values have one spelling. Else
 * unreadable. */
enum relation spelling_relate_lists(bool plain, struct iso_json_text one,
                                    struct iso_json_text other);
