/* Schemas of tables: from bootstraps and DDLs of the stream, or from files.
 *
 * A schema is found by database, table and version; one from a file of the simple protocol answers
 * for every version that is not known. Where a version is a commit timestamp, of DDLs and of
 * storage sinks' files, it holds from there on. Memory: at most TICDC_VERSIONS versions of a table
 * that came in the stream; the lowest makes room.
 */
#pragma once

#include "connectors/ticdc/decoder_private.h"

enum { TICDC_VERSIONS = 8 };

struct ticdc_column {
    char *name;
    uint32_t length;
    enum ticdc_class class;
    bool nullable;
    char *type;     /* "decimal(10,2)", as the schema has it; of texts that are equal whatever their
                       case, with " COLLATE" and more behind it */
    char *fallback; /* its default; NULL: it has none, or null */
};

struct ticdc_index {
    char *name; /* may be NULL */
    bool primary, nullable;
    bool unordered; /* its columns are known, their order is not */
    uint32_t count;
    char **columns;
};

struct ticdc_table {
    char *database, *table;
    uint64_t version;
    uint64_t id; /* by which a table is told from another of its name; 0: not said, or not kept */
    bool any_version, from_file;
    uint32_t column_count, index_count;
    struct ticdc_column *columns; /* in the table's order */
    struct ticdc_index *indexes;  /* that are unique */
};

void ticdc_tables_archive(struct iso_archive *archive,
                          struct ticdc_tables *tables); /* restoring: in place of these */
void ticdc_tables_release(struct ticdc_tables *tables); /* zeroed ones are empty */

struct ticdc_table *ticdc_table_new(void);
void ticdc_table_free(struct ticdc_table *table); /* NULL is none */
void ticdc_table_name(struct ticdc_table *table, struct iso_json_text database,
                      struct iso_json_text name);
struct ticdc_column *ticdc_table_add_column(struct ticdc_table *table, struct iso_json_text name,
                                            struct iso_json_text mysql_type);
/* A label of an ENUM or SET joins those of the list, which are then said by the column's type as in
 * a definition. */
void ticdc_put_element(struct iso_text *elements, struct iso_json_text element);
void ticdc_column_define(struct ticdc_column *column, const struct iso_text *elements,
                         bool is_padded);
/* The collation of a column that has texts; only one that ends in _ci makes a difference. */
void ticdc_column_collate(struct ticdc_column *column, struct iso_json_text collation);
bool ticdc_column_is_caseless(const struct ticdc_column *column);
/* A unique index, the last one, to which columns are to be added. */
struct ticdc_index *ticdc_table_add_index(struct ticdc_table *table, bool primary, bool nullable);
void ticdc_table_add_key(struct ticdc_table *table, struct iso_json_text name);
void ticdc_table_drop_index(struct ticdc_table *table, uint32_t index);

/* The index that identifies rows, as TiCDC chooses its handle: the primary key, else of those that
 * are unique and never null the first one with the fewest columns. NULL: there is none. `row`: one
 * that its rows have all columns of, as they have none that is computed; or NULL. */
const struct ticdc_index *ticdc_table_key(const struct ticdc_table *table,
                                          const struct iso_row *row);

/* Whether rows may have other names by the second than by the first: another key, or a column of it
 * that is of another type. */
bool ticdc_table_has_other_key(const struct ticdc_table *before, const struct ticdc_table *after);

/* Takes ownership. */
void ticdc_tables_put(struct ticdc_tables *tables, struct ticdc_table *table);
const struct ticdc_table *ticdc_tables_find(struct ticdc_tables *tables,
                                            struct iso_json_text database,
                                            struct iso_json_text name, uint64_t version);
/* The schema at a commit timestamp: the newest from before it, else the first one of files, or
 * NULL. */
const struct ticdc_table *ticdc_tables_at(const struct ticdc_tables *tables,
                                          struct iso_json_text database, struct iso_json_text name,
                                          uint64_t commit_ts);
/* Applies a DDL at its commit timestamp to the schemas; `database` is that of names without one. */
void ticdc_tables_take_ddl(struct ticdc_tables *tables, struct iso_json_text sql,
                           struct iso_json_text database, uint64_t commit_ts);
const struct ticdc_column *ticdc_table_column(const struct ticdc_table *table,
                                              const struct iso_cell *cell, uint32_t guess);

/* The object that the cursor stands before: a tableSchema of the simple protocol, or a schema file
 * of storage sinks; that of a database has no name. */
typedef struct ticdc_table *ticdc_table_reader(struct iso_json *json);
struct ticdc_table *ticdc_table_read_simple(struct iso_json *json);
struct ticdc_table *ticdc_table_read_storage(struct iso_json *json);

/* Any number of them, one after the other. */
enum iso_status ticdc_tables_read(struct ticdc *ticdc, struct ticdc_tables *tables,
                                  const char *text, ticdc_table_reader *read,
                                  struct iso_error *error);
