/* A writer's Avro schema as flat tables that a reader walks beside the bytes: types by number,
 * fields and branches by range.
 *
 * libavro 1.11 forgets what Kafka Connect says in a schema beside its types (logicalType,
 * connect.name), without which a decimal is but bytes; its values are trees, filled by some ten
 * calls for each number in a message, and it trusts lengths in messages. So schemas are read here,
 * and bytes by cursor.h. Specification: Avro 1.11, "Schema Declaration". Defaults, aliases and
 * orders do not matter to one who reads by the writer's schema.
 *
 * What a field or a type means to a decoder is worked out once a schema, and kept in `use`.
 * Ownership: a schema owns its tables and names. Threads: a schema that does not change may be read
 * by many.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "base/error.h"
#include "values/type.h"

enum { ISO_AVRO_DEPTH_MAX = 64, ISO_AVRO_SCALE_MAX = 1000, ISO_AVRO_USES = 4 };

enum iso_avro_shape {
    ISO_AVRO_NULL,
    ISO_AVRO_BOOLEAN,
    ISO_AVRO_INT,
    ISO_AVRO_LONG,
    ISO_AVRO_FLOAT,
    ISO_AVRO_DOUBLE,
    ISO_AVRO_BYTES,
    ISO_AVRO_STRING,
    ISO_AVRO_FIXED,
    ISO_AVRO_ENUM,
    ISO_AVRO_RECORD,
    ISO_AVRO_ARRAY,
    ISO_AVRO_MAP,
    ISO_AVRO_UNION
};

/* A record's field, or an enumeration's symbol. */
struct iso_avro_field {
    char *name;
    uint32_t length;
    uint32_t number;                  /* of its type, while the schema is put together */
    const struct iso_avro_type *type; /* NULL: a symbol */
    uint8_t use[ISO_AVRO_USES];       /* the decoder's; zeros at first */
};

struct iso_avro_type {
    uint8_t shape;                 /* enum iso_avro_shape */
    uint8_t use;                   /* the decoder's; 0 at first */
    uint32_t digest;               /* the same */
    struct iso_value_type value;   /* the same */
    bool is_decimal;               /* bytes or fixed: big-endian two's complement with `scale` */
    int32_t scale;                 /* 0 to ISO_AVRO_SCALE_MAX */
    uint32_t count;                /* of fields, symbols or branches; fixed: of bytes */
    uint32_t first, item;          /* numbers, while the schema is put together */
    struct iso_avro_field *fields; /* record: its fields, enumeration: its symbols */
    const struct iso_avro_type *const *branches; /* union */
    const struct iso_avro_type *items;           /* array, map */
    char *name;                                  /* full; NULL for those without one */
    char *connect_name;                          /* what Connect calls it, or NULL */
    char *parameters;                            /* Connect's, an object in JSON, or NULL */
};

struct iso_avro_schema {
    const struct iso_avro_type *root;
    uint32_t type_count, type_capacity;
    struct iso_avro_type *types;
    uint32_t field_count, field_capacity;
    struct iso_avro_field *fields; /* of all records and enumerations */
    uint32_t branch_count, branch_capacity;
    uint32_t *branches; /* numbers of types */
    const struct iso_avro_type **branch_types;
};

/* NULL: the error says what is wrong. */
struct iso_avro_schema *iso_avro_schema_parse(const char *text, size_t length,
                                              struct iso_error *error);

/* Reads a schema inside a larger text: the cursor stands before it, and behind it afterwards. */
struct iso_avro_schema *iso_avro_schema_read(struct iso_json *json, struct iso_error *error);

void iso_avro_schema_free(void *schema); /* a struct iso_avro_schema; NULL is none */
