/* Schemas of tables from JSON: what the simple protocol sends, and the files of storage sinks. */
#include "connectors/ticdc/tables.h"

static void read_elements(struct iso_json *json, struct iso_text *elements)
{
    struct iso_json_text element;
    if (iso_json_take_null(json))
        return;
    iso_json_enter_array(json);
    while (json->code == ISO_JSON_FINE && iso_json_element(json))
        if (iso_json_string(json, &element))
            ticdc_put_element(elements, element);
}

/* Out of {"mysqlType":"enum","charset":"utf8mb4","collate":"utf8mb4_bin","elements":["a"],..}. */
static void read_data_type(struct iso_json *json, struct iso_json_text *type,
                           struct iso_json_text *collation, struct iso_text *elements,
                           bool *is_padded)
{
    struct iso_json_text name;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "mysqlType"))
            ticdc_read_text(json, type);
        else if (ISO_PAYLOAD_IS(name, "collate"))
            ticdc_read_text(json, collation);
        else if (ISO_PAYLOAD_IS(name, "elements"))
            read_elements(json, elements);
        else if (ISO_PAYLOAD_IS(name, "zerofill") && iso_json_peek(json) == ISO_JSON_TRUE)
            iso_json_boolean(json, is_padded);
        else
            iso_json_skip(json);
    }
}

static void read_simple_column(struct iso_json *json, struct ticdc_table *table)
{
    struct iso_json_text name, column = {"", 0}, type = {"", 0}, collation = {"", 0};
    struct iso_text elements = {0};
    const char *start = json->at;
    bool nullable = true, is_padded = false;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "name"))
            ticdc_read_text(json, &column);
        else if (ISO_PAYLOAD_IS(name, "nullable"))
            iso_json_boolean(json, &nullable);
        else if (ISO_PAYLOAD_IS(name, "dataType"))
            read_data_type(json, &type, &collation, &elements, &is_padded);
        else
            iso_json_skip(json);
    }
    if (json->code == ISO_JSON_FINE && !column.length)
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "a column with a name");
    if (json->code == ISO_JSON_FINE) {
        struct ticdc_column *added = ticdc_table_add_column(table, column, type);
        added->nullable = nullable;
        ticdc_column_define(added, &elements, is_padded);
        ticdc_column_collate(added, collation);
    }
    iso_text_release(&elements);
}

/* An index, read twice: first what it is, then its columns. */
static void read_simple_index(struct iso_json *json, struct ticdc_table *table)
{
    struct iso_json_text name, column;
    bool primary = false, unique = false, nullable = false;
    const char *columns = NULL;
    unsigned depth = json->depth;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "primary"))
            iso_json_boolean(json, &primary);
        else if (ISO_PAYLOAD_IS(name, "unique"))
            iso_json_boolean(json, &unique);
        else if (ISO_PAYLOAD_IS(name, "nullable"))
            iso_json_boolean(json, &nullable);
        else if (ISO_PAYLOAD_IS(name, "columns")) {
            iso_json_space(json);
            columns = json->at;
            iso_json_skip(json);
        } else
            iso_json_skip(json);
    }
    if (json->code != ISO_JSON_FINE || !columns || !(primary || unique))
        return;
    ticdc_table_add_index(table, primary, nullable);
    const char *end = json->at;
    json->at = columns;
    iso_json_enter_array(json);
    while (json->code == ISO_JSON_FINE && iso_json_element(json))
        if (iso_json_string(json, &column))
            ticdc_table_add_key(table, column);
    if (json->code == ISO_JSON_FINE) {
        json->at = end;
        json->depth = depth;
    }
}

static void read_list(struct iso_json *json, struct ticdc_table *table,
                      void read(struct iso_json *json, struct ticdc_table *table))
{
    if (iso_json_take_null(json))
        return;
    iso_json_enter_array(json);
    while (json->code == ISO_JSON_FINE && iso_json_element(json))
        read(json, table);
}

/* Names it, or says that there is no name. */
static struct ticdc_table *finish(struct iso_json *json, struct ticdc_table *table,
                                  const char *start, struct iso_json_text database,
                                  struct iso_json_text name)
{
    ticdc_table_name(table, database, name);
    if (json->code == ISO_JSON_FINE && (!name.length || !table->column_count))
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start,
                      "a table's schema with the table's name and columns");
    return table;
}

struct ticdc_table *ticdc_table_read_simple(struct iso_json *json)
{
    struct ticdc_table *table = ticdc_table_new();
    struct iso_json_text name, database = {"", 0}, own = {"", 0};
    iso_json_space(json);
    const char *start = json->at;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "schema") || ISO_PAYLOAD_IS(name, "database"))
            ticdc_read_text(json, &database);
        else if (ISO_PAYLOAD_IS(name, "table"))
            ticdc_read_text(json, &own);
        else if (ISO_PAYLOAD_IS(name, "version"))
            ticdc_read_unsigned(json, &table->version);
        else if (ISO_PAYLOAD_IS(name, "tableID"))
            ticdc_read_unsigned(json, &table->id);
        else if (ISO_PAYLOAD_IS(name, "columns"))
            read_list(json, table, read_simple_column);
        else if (ISO_PAYLOAD_IS(name, "indexes"))
            read_list(json, table, read_simple_index);
        else
            iso_json_skip(json);
    }
    return finish(json, table, start, database, own);
}

/* {"ColumnName":"id","ColumnType":"INT","ColumnIsPk":"true",..} */
static void read_storage_column(struct iso_json *json, struct ticdc_table *table)
{
    struct iso_json_text name, column = {"", 0}, type = {"", 0}, key = {"", 0}, nullable = {"", 0};
    const char *start = json->at;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "ColumnName"))
            ticdc_read_text(json, &column);
        else if (ISO_PAYLOAD_IS(name, "ColumnType"))
            ticdc_read_text(json, &type);
        else if (ISO_PAYLOAD_IS(name, "ColumnIsPk"))
            ticdc_read_text(json, &key);
        else if (ISO_PAYLOAD_IS(name, "ColumnNullable"))
            ticdc_read_text(json, &nullable);
        else
            iso_json_skip(json);
    }
    if (json->code == ISO_JSON_FINE && !column.length)
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "a column with a name");
    if (json->code != ISO_JSON_FINE)
        return;
    ticdc_table_add_column(table, column, type)->nullable = !ISO_PAYLOAD_IS(nullable, "false");
    if (!ISO_PAYLOAD_IS(key, "true"))
        return;
    if (!table->index_count)
        ticdc_table_add_index(table, true, false)->unordered = true;
    ticdc_table_add_key(table, column);
}

struct ticdc_table *ticdc_table_read_storage(struct iso_json *json)
{
    struct ticdc_table *table = ticdc_table_new();
    struct iso_json_text name, database = {"", 0}, own = {"", 0};
    iso_json_space(json);
    const char *start = json->at;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "Schema"))
            ticdc_read_text(json, &database);
        else if (ISO_PAYLOAD_IS(name, "Table"))
            ticdc_read_text(json, &own);
        else if (ISO_PAYLOAD_IS(name, "TableVersion"))
            ticdc_read_unsigned(json, &table->version);
        else if (ISO_PAYLOAD_IS(name, "TableColumns"))
            read_list(json, table, read_storage_column);
        else
            iso_json_skip(json);
    }
    if (database.length && !own.length && !table->column_count) /* a database's */
        return table;
    return finish(json, table, start, database, own);
}
