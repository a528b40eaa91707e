/* Connect's schemas as JSON messages carry them: which columns there are, of which type, and which
 * are decimals.
 *
 * All but decimals are in JSON what they look like. Schemas are kept by their text, so that a
 * message whose schema is known costs one comparison. Memory: at most JSON_SCHEMAS schemas; the
 * oldest makes room. Threads: one at a time.
 */
#pragma once

#include "values/row.h"

enum { JSON_SCHEMAS = 16 };

enum json_meaning {
    JSON_PLAIN,
    JSON_DECIMAL,          /* base64 of the unscaled number, or a number */
    JSON_VARIABLE_DECIMAL, /* {"scale":..,"value":base64} */
};

struct json_column {
    char *name;
    size_t length;
    enum json_meaning meaning;
    int32_t scale;
    uint32_t type; /* values/row.h */
    struct iso_value_type value;
    bool is_nullable; /* and has no default */
};

struct json_schema {
    char *text;
    size_t length;
    bool is_key;
    uint32_t count, capacity;
    struct json_column *columns;
};

struct json_schemas {
    struct json_schema list[JSON_SCHEMAS];
    uint32_t count, oldest;
};

void json_schemas_release(struct json_schemas *schemas); /* zeroed ones are empty */

/* The schema that the cursor stands before; passes over it. `is_key`: of a key, whose fields are
 * the columns; else of an envelope, whose `after` has them. NULL: it is null, or the scanner has an
 * error. */
const struct json_schema *json_schemas_take(struct json_schemas *schemas, struct iso_json *json,
                                            bool is_key);
