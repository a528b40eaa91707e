/* Avro schemas as tables that a reader walks through: types by number, fields and branches by range.
 *
 * libavro 1.11 forgets what Kafka Connect says in a schema beside its types (logicalType, connect.name), without which
 * a decimal is but bytes, and trusts lengths in messages; so schemas and values are read here. Specification:
 * Avro 1.11, "Schema Declaration". Defaults, aliases and orders do not matter to one who reads by the writer's schema.
 */
#ifndef ISO_ENVELOPE_AVRO_SCHEMA_H
#define ISO_ENVELOPE_AVRO_SCHEMA_H

#include "connectors/envelope/envelope.h"

enum { AVRO_DEPTH_MAX = 64, AVRO_SCOPES = 4 };

enum avro_shape {
    SHAPE_NULL,
    SHAPE_BOOLEAN,
    SHAPE_INT,
    SHAPE_LONG,
    SHAPE_FLOAT,
    SHAPE_DOUBLE,
    SHAPE_BYTES,
    SHAPE_STRING,
    SHAPE_FIXED,
    SHAPE_ENUM,
    SHAPE_RECORD,
    SHAPE_ARRAY,
    SHAPE_MAP,
    SHAPE_UNION
};

enum avro_meaning {
    AVRO_PLAIN,
    AVRO_DECIMAL,          /* bytes or fixed, with `scale` */
    AVRO_VARIABLE_DECIMAL, /* a record of scale and value */
    AVRO_CELL              /* a record of value and set, and nothing else */
};

struct avro_field {
    char *name; /* of a field or an enumeration's symbol */
    uint32_t length;
    uint32_t type;
    uint8_t member[AVRO_SCOPES]; /* enum iso_member, in each scope */
};

struct avro_type {
    uint8_t shape, meaning;
    int32_t scale;
    uint32_t first, count; /* record, enumeration: of `fields`; union: of `branches` */
    uint32_t item;         /* array, map: the type inside; fixed: its size */
    char *name;            /* full; NULL for those without one */
};

struct avro_schema {
    uint32_t type_count, type_capacity;
    struct avro_type *types;
    uint32_t field_count, field_capacity;
    struct avro_field *fields;
    uint32_t branch_count, branch_capacity;
    uint32_t *branches;
    uint32_t root;
};

/* An envelope_parse and its envelope_forget. */
void *avro_schema_parse(const char *text, size_t length, struct iso_error *error);
void avro_schema_forget(void *schema);

#endif
