/* What Kafka Connect's schemas say of a column, as the type of its values.
 *
 * Debezium's names of meanings and Connect's own are known; a type without a name is what it is
 * called. A plain string may be anything that the connector was configured to write as text
 * (decimal.handling.mode=string, binary.handling.mode=hex): only the database's own type says more,
 * which Debezium adds with column.propagate.source.type. Threads: any; no state.
 */
#pragma once

#include "base/json.h"
#include "values/type.h"

struct iso_connect_type {
    struct iso_json_text type;   /* "int64" */
    struct iso_json_text name;   /* "io.debezium.time.MicroTimestamp" */
    struct iso_json_text source; /* "DECIMAL": the database's type */
    int32_t scale, source_scale, length;
    bool is_scaled, is_source_scaled, has_length;
    struct iso_value_type items; /* of an array */
};

struct iso_value_type iso_value_type_of(const struct iso_connect_type *said);

/* Takes a schema's parameter: the column's scale, length or database type; others are passed
 * over. */
void iso_connect_parameter(struct iso_connect_type *said, struct iso_json_text name,
                           struct iso_json_text value);

/* All of them, an object of texts that the cursor stands before. */
void iso_connect_parameters(struct iso_connect_type *said, struct iso_json *json);
