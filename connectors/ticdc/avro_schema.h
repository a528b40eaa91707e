/* A writer's schema as TiCDC's Avro protocol makes them: a record of columns, each of a primitive
 * type, a decimal, or a union of those with null; and maybe the record of the row before.
 */
#pragma once

#include "base/text.h"
#include "connectors/avro/schema.h"

/* Roles of a column: the first `use` of a field. */
enum { AVRO_COLUMN, AVRO_OPERATION, AVRO_COMMIT, AVRO_BEFORE, AVRO_EXTENSION };

/* MySQL types that Avro's do not tell apart: the `use` of a type. */
enum { AVRO_AS_IT_IS, AVRO_UNSIGNED, AVRO_BIT };

/* A schema, its uses set, and the table that its root names. */
struct ticdc_avro {
    struct iso_avro_schema *schema;
    struct iso_text labels; /* "a,b,c\\,d" of enums and sets, a NUL behind each; the `digest` of a
                               type: where, + 1 */
    struct iso_json_text database, table;
};

/* An iso_schema_parse and its iso_schema_forget. */
void *ticdc_avro_parse(const char *text, size_t length, struct iso_error *error);
void ticdc_avro_forget(void *avro); /* NULL is none */

/* Reads the schema that the cursor stands before. */
struct ticdc_avro *ticdc_avro_read(struct iso_json *json, struct iso_error *error);
