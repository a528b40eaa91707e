/* A writer's schema as TiCDC's Avro protocol makes them: a record of columns, each of a primitive type, a decimal, or a
 * union of one with null; and maybe the record of the row before.
 *
 * Read by our own scanner: libavro drops what an attribute says that it does not know, and without "logicalType" and
 * "tidb_type" decimals, bits and unsigned numbers are not what they were.
 */
#ifndef ISO_TICDC_AVRO_SCHEMA_H
#define ISO_TICDC_AVRO_SCHEMA_H

#include "connectors/ticdc/avro_bytes.h"
#include "connectors/ticdc/ticdc_private.h"

enum { AVRO_BRANCHES_MAX = 4 };

enum avro_kind {
    AVRO_NULL,
    AVRO_BOOLEAN,
    AVRO_LONG,
    AVRO_FLOAT,
    AVRO_DOUBLE,
    AVRO_STRING,
    AVRO_BYTES,
    AVRO_DECIMAL,
    AVRO_ROW
};

/* What a column is for. */
enum avro_role { AVRO_COLUMN, AVRO_OPERATION, AVRO_COMMIT, AVRO_BEFORE, AVRO_EXTENSION };

struct avro_type {
    enum avro_kind kind;
    int32_t scale;
    bool is_unsigned, is_bit;
};

struct avro_field {
    char *name;
    uint32_t length;
    enum avro_role role;
    bool is_union;
    uint32_t branch_count;
    struct avro_type branches[AVRO_BRANCHES_MAX];
    struct avro_record *record; /* AVRO_ROW's */
};

struct avro_record {
    char *name, *space; /* the table; its namespace, whose last part is the database */
    uint32_t count;
    struct avro_field *fields;
};

/* The schema that the cursor stands before; NULL: the scanner's error. */
struct avro_record *ticdc_avro_record_read(struct iso_json *json);
void ticdc_avro_record_free(struct avro_record *record); /* NULL is none */

#endif
