/* What the debezium protocol's messages say of their columns, and what their values have lost on
 * the way.
 *
 * The encoder writes a column's default where the row has NULL, null for dates of zeros and 1970
 * for such a timestamp, decimals as doubles, and large unsigned numbers with a sign. A value that
 * may stand for another is ISO_CELL_UNKNOWN; one that says the same in other words becomes what
 * other protocols have: bits numbers, labels the numbers of their lists. What columns are, and
 * which of them may be null, say the message's schema and the stream's CREATE TABLE; of a column
 * that neither has nobody knows it.
 */
#pragma once

#include "connectors/ticdc/tables.h"

struct debezium_column {
    struct iso_json_text name;
    struct iso_json_text type; /* "bigint unsigned", or what Connect's type shows of it */
    struct iso_json_text labels;
    struct iso_value_type value;
    struct iso_cell fallback; /* its default; ISO_CELL_UNKNOWN: it has none */
    bool nullable;
};

struct debezium_schema {
    struct iso_payload text;
    size_t length;
    struct iso_json json; /* whose texts the columns' are */
    uint32_t count, capacity;
    struct debezium_column *columns;
};

void debezium_schema_release(struct debezium_schema *schema);

/* Takes the schema that the cursor stands before, unless it is the last one again. */
void debezium_schema_take(struct debezium_schema *schema, struct iso_json *json);

/* Makes the row's values what they say. `table`: what statements said of it, or NULL. True: some
 * are not known. A column of the key whose words are not those that clients have is doubted. */
bool debezium_schema_apply(const struct debezium_schema *schema, const struct ticdc_table *table,
                           struct ticdc *ticdc, struct iso_row *row);
