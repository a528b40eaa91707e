/* What the values of a column are, as far as it matters to how they are spelt.
 *
 * A change stream, a database's own client and each driver write one value in several ways. What a
 * schema says of a column says which spellings are one value. Plain; threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum iso_value_kind {
    ISO_VALUE_UNKNOWN,    /* no schema was seen */
    ISO_VALUE_ANY,        /* text that may spell anything, or schemas disagree */
    ISO_VALUE_ROW,        /* a whole row: an object of columns with types of their own */
    ISO_VALUE_TEXT,       /* another byte is another value */
    ISO_VALUE_INTEGER,    /* signed */
    ISO_VALUE_INTEGER_64, /* of 64 bits, which may be meant without a sign: above 2^63 the stream
                             has it negative */
    ISO_VALUE_BOOLEAN,
    ISO_VALUE_DECIMAL,    /* with `detail` places */
    ISO_VALUE_NUMERIC,    /* with any */
    ISO_VALUE_DOUBLE,     /* the next two: the shortest text that reads as the same */
    ISO_VALUE_FLOAT,      /* servers and connectors print it with six digits, or with all */
    ISO_VALUE_DATE,       /* days since 1970 */
    ISO_VALUE_TIMESTAMP,  /* without a zone: since 1970, in 10^-detail s */
    ISO_VALUE_INSTANT,    /* with one: text, in UTC */
    ISO_VALUE_TIME,       /* of day, or between two: in 10^-detail s */
    ISO_VALUE_ZONED_TIME, /* text, in UTC */
    ISO_VALUE_BYTES,      /* base64 */
    ISO_VALUE_BITS,       /* `detail` bits, little-endian, as base64 */
    ISO_VALUE_UUID,
    ISO_VALUE_LABEL,  /* of a list in the schema (values/labels.h): its number, or its name */
    ISO_VALUE_JSON,   /* text that is JSON */
    ISO_VALUE_LIST,   /* JSON of texts, integers, booleans */
    ISO_VALUE_NESTED, /* JSON of which only its sender knows what it means */
    ISO_VALUE_KINDS
};

struct iso_value_type {
    uint8_t kind;    /* enum iso_value_kind */
    bool is_respelt; /* also the stream spells one value in several ways */
    int16_t detail;
};

static inline bool iso_value_type_equal(struct iso_value_type one, struct iso_value_type other)
{
    return one.kind == other.kind && one.detail == other.detail;
}
