/* Avro's values as cells, rows and nested JSON. */
#pragma once

#include "base/text.h"
#include "connectors/avro/cursor.h"
#include "connectors/envelope/envelope.h"

/* Roles of an Avro type in an envelope, kept in its `use`. */
enum {
    AVRO_PLAIN,
    AVRO_VARIABLE_DECIMAL, /* a record of scale and value */
    AVRO_CELL,             /* a record of value and set, and nothing else */
    AVRO_CELL_OR_NULL      /* a union with such a record */
};

/* A message being read. */
struct avro_reading {
    struct iso_avro_cursor cursor;
    struct iso_text *nested; /* JSON of nested values */
};

/* An iso_schema_parse and its iso_schema_forget: the uses of types and, in each scope, of fields
 * are set. */
void *avro_value_parse(const char *text, size_t length, struct iso_error *error);

/* Sets the roles of a schema that the caller has read by other means. */
void avro_value_prepare(struct iso_avro_schema *schema);

/* One value. What is wrong stays in the cursor. */
void avro_value_read(struct avro_reading *reading, const struct iso_avro_type *type,
                     struct iso_cell *cell);

/* The columns of a record; `cells`: they are {value, set}. `*is_null`: there is no row. */
void avro_value_row(struct avro_reading *reading, const struct iso_avro_type *type, bool cells,
                    struct iso_row *row, bool *is_null);
