/* Values of columns as texts: what a result or a parameter carries, in PostgreSQL's text or its
 * binary form. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum pg_type {
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_NAME = 19,
    PG_INT8 = 20,
    PG_INT2 = 21,
    PG_INT4 = 23,
    PG_TEXT = 25,
    PG_OID = 26,
    PG_JSON = 114,
    PG_FLOAT4 = 700,
    PG_FLOAT8 = 701,
    PG_BPCHAR = 1042,
    PG_VARCHAR = 1043,
    PG_DATE = 1082,
    PG_TIME = 1083,
    PG_TIMESTAMP = 1114,
    PG_TIMESTAMPTZ = 1184,
    PG_NUMERIC = 1700,
    PG_UUID = 2950,
    PG_JSONB = 3802
};

/* The session's settings that decide how values are spelt. */
struct spelling {
    bool is_utf8;      /* client_encoding */
    bool is_iso;       /* DateStyle */
    bool is_utc;       /* TimeZone */
    bool keeps_floats; /* nobody changed how many digits they have, or how bytes are written */
};

static inline bool pg_is_integer(uint32_t type)
{
    return type == PG_INT2 || type == PG_INT4 || type == PG_INT8;
}

static inline bool pg_is_text(uint32_t type)
{
    return type == PG_TEXT || type == PG_VARCHAR;
}

/* Adds the value and a zero byte; false: it is not understood, and nothing is added. */
bool pg_value_text(uint32_t type, bool is_binary, const uint8_t *bytes, uint32_t size,
                   const struct spelling *spelling, struct iso_text *text);

/* Is `value` an integer in digits, and in no other way than the database would write it? */
bool pg_is_plain_integer(const char *value);

/* A key's part, as the change stream spells it: false if that is not certain. */
bool pg_key_part(uint32_t type, const char *value);
