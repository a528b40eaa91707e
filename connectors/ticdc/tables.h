/* Schemas of tables, where rows do not say what their columns are: from bootstraps and DDLs, or from files.
 *
 * A schema is found by database, table and version; one from a file answers for every version that is not known.
 * Memory: at most TICDC_VERSIONS versions of a table; the lowest makes room.
 */
#ifndef ISO_TICDC_TABLES_H
#define ISO_TICDC_TABLES_H

#include "connectors/ticdc/ticdc_private.h"

enum { TICDC_VERSIONS = 8 };

struct ticdc_column {
    char *name;
    uint32_t length;
    enum ticdc_class class;
};

struct ticdc_table {
    char *database, *table;
    uint64_t version;
    bool any_version;
    bool has_primary;
    uint32_t column_count, key_count;
    struct ticdc_column *columns; /* in the table's order */
    char **keys;                  /* names of the key's columns, in its order */
};

struct ticdc_tables {
    uint32_t count, latest;
    struct ticdc_table **list;
};

void ticdc_tables_archive(struct iso_archive *archive, struct ticdc_tables *tables); /* restoring: in place of these */
void ticdc_tables_release(struct ticdc_tables *tables);                              /* zeroed ones are empty */

struct ticdc_table *ticdc_table_new(void);
void ticdc_table_free(struct ticdc_table *table); /* NULL is none */
void ticdc_table_name(struct ticdc_table *table, struct iso_json_text database, struct iso_json_text name);
void ticdc_table_add_column(struct ticdc_table *table, struct iso_json_text name, struct iso_json_text mysql_type);
void ticdc_table_add_key(struct ticdc_table *table, struct iso_json_text name);

/* An index, whose columns are to be added as the key's; false: the key known so far is better. */
bool ticdc_table_start_index(struct ticdc_table *table, bool primary, bool unique, bool nullable);

/* Takes ownership. */
void ticdc_tables_put(struct ticdc_tables *tables, struct ticdc_table *table);
const struct ticdc_table *ticdc_tables_find(struct ticdc_tables *tables, struct iso_json_text database,
                                            struct iso_json_text name, uint64_t version);
const struct ticdc_column *ticdc_table_column(const struct ticdc_table *table, const struct iso_cell *cell,
                                              uint32_t guess);

/* What a row of this table is identified by; false: too many columns. */
bool ticdc_table_take_keys(struct ticdc *ticdc, const struct ticdc_table *table);

/* The object that the cursor stands before: a tableSchema of the simple protocol, or a schema file of storage sinks. */
typedef struct ticdc_table *ticdc_table_reader(struct iso_json *json);
struct ticdc_table *ticdc_table_read_simple(struct iso_json *json);
struct ticdc_table *ticdc_table_read_storage(struct iso_json *json);

/* Any number of them, one after the other; they answer for every version. */
enum iso_status ticdc_tables_read(struct ticdc *ticdc, struct ticdc_tables *tables, const char *text,
                                  ticdc_table_reader *read, struct iso_error *error);

#endif
