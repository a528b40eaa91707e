/* What a statement that changes a schema does to rows. Threads: any; no state. */
#pragma once

#include "base/json.h"
#include "values/source.h"

/* The effect of a statement on the rows of one table. Names are the statement's, without quotes;
 * an empty one is not given. */
struct iso_ddl_effect { /* without a table: all of the schema's */
    enum iso_table_change change;
    struct iso_json_text schema, table;
    bool is_all; /* of all tables that there are (FLASHBACK CLUSTER) */
    struct iso_json_text from_schema, from_table; /* REPLACED by a rename: whose rows it has now */
};

enum { ISO_DDL_EFFECTS_MAX = 16 };

/* MySQL's, MariaDB's and TiDB's TRUNCATE, DROP TABLE, CREATE OR REPLACE TABLE, RENAME TABLE, ALTER
 * TABLE, RECOVER and FLASHBACK TABLE; returns how many tables it does something to. A table that a
 * name moves away from is emptied, one that it moves to holds what nobody reported. */
uint32_t iso_ddl_effects(struct iso_json_text sql,
                         struct iso_ddl_effect effects[ISO_DDL_EFFECTS_MAX]);
