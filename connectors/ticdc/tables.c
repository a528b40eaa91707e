#include "connectors/ticdc/tables.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "connectors/cdc_common/ddl_words.h"

struct ticdc_table *ticdc_table_new(void)
{
    return iso_allocate_zeroed(1, sizeof(struct ticdc_table));
}

static void release_index(struct ticdc_index *index)
{
    for (uint32_t i = 0; i < index->count; i++)
        iso_free(index->columns[i]);
    iso_free(index->columns);
    iso_free(index->name);
}

void ticdc_table_free(struct ticdc_table *table)
{
    if (!table)
        return;
    for (uint32_t i = 0; i < table->index_count; i++)
        release_index(&table->indexes[i]);
    for (uint32_t i = 0; i < table->column_count; i++)
        ISO_FREE_ALL(table->columns[i].name, table->columns[i].type, table->columns[i].fallback);
    ISO_FREE_ALL(table->columns, table->indexes, table->database, table->table, table);
}

void ticdc_tables_release(struct ticdc_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++)
        ticdc_table_free(tables->list[i]);
    iso_free(tables->list);
    *tables = (struct ticdc_tables){0};
}

void ticdc_table_name(struct ticdc_table *table, struct iso_json_text database,
                      struct iso_json_text name)
{
    iso_free(table->database);
    iso_free(table->table);
    table->database = iso_copy_text(database.at, database.length);
    table->table = iso_copy_text(name.at, name.length);
}

struct ticdc_column *ticdc_table_add_column(struct ticdc_table *table, struct iso_json_text name,
                                            struct iso_json_text mysql_type)
{
    table->columns =
        iso_reallocate(table->columns, (table->column_count + 1) * sizeof *table->columns);
    struct ticdc_column *column = &table->columns[table->column_count++];
    *column = (struct ticdc_column){.name = iso_copy_text(name.at, name.length),
                                    .length = (uint32_t)name.length,
                                    .type = iso_copy_text(mysql_type.at, mysql_type.length),
                                    .nullable = true,
                                    .class = ticdc_class_of(mysql_type)};
    return column;
}

void ticdc_put_element(struct iso_text *elements, struct iso_json_text element)
{
    iso_text_put(elements, elements->used ? ",'" : "('");
    for (size_t i = 0; i < element.length; i++) {
        if (element.at[i] == '\'' || element.at[i] == '\\')
            iso_text_put(elements, "\\");
        iso_text_put_bytes(elements, element.at + i, 1);
    }
    iso_text_put(elements, "'");
}

/* Adds to a type. */
static void extend_type(struct ticdc_column *column, const char *bytes, size_t length)
{
    size_t own = strlen(column->type);
    column->type = iso_reallocate(column->type, own + length + 1);
    memcpy(column->type + own, bytes, length);
    column->type[own + length] = 0;
}

void ticdc_column_define(struct ticdc_column *column, const struct iso_text *elements,
                         bool is_padded)
{
    static const char zeros[] = " zerofill";
    if (elements->used && !strchr(column->type, '(')) {
        extend_type(column, elements->bytes, elements->used);
        extend_type(column, ")", 1);
    }
    if (is_padded)
        extend_type(column, zeros, sizeof zeros - 1);
}

static const char collate[] = " COLLATE";

bool ticdc_column_is_caseless(const struct ticdc_column *column)
{
    return strstr(column->type, collate);
}

void ticdc_column_collate(struct ticdc_column *column, struct iso_json_text collation)
{
    static const char *const texts[] = {"char",       "varchar",  "text", "tinytext",
                                        "mediumtext", "longtext", "enum", "set"};
    struct iso_ddl_words words =
        iso_ddl_words_of((struct iso_json_text){column->type, strlen(column->type)});
    bool is_text = false,
         ends = collation.length > 3 && !strncasecmp(collation.at + collation.length - 3, "_ci", 3);
    if (!ends || ticdc_column_is_caseless(column) || !iso_ddl_next(&words))
        return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        is_text |= iso_ddl_is(&words, texts[i]);
    if (!is_text)
        return;
    extend_type(column, collate, sizeof collate - 1);
}

struct ticdc_index *ticdc_table_add_index(struct ticdc_table *table, bool primary, bool nullable)
{
    table->indexes =
        iso_reallocate(table->indexes, (table->index_count + 1) * sizeof *table->indexes);
    struct ticdc_index *index = &table->indexes[table->index_count++];
    *index = (struct ticdc_index){.primary = primary, .nullable = nullable};
    return index;
}

void ticdc_table_add_key(struct ticdc_table *table, struct iso_json_text name)
{
    struct ticdc_index *index = &table->indexes[table->index_count - 1];
    index->columns = iso_reallocate(index->columns, (index->count + 1) * sizeof *index->columns);
    index->columns[index->count++] = iso_copy_text(name.at, name.length);
}

void ticdc_table_drop_index(struct ticdc_table *table, uint32_t index)
{
    release_index(&table->indexes[index]);
    memmove(&table->indexes[index], &table->indexes[index + 1],
            (table->index_count - index - 1) * sizeof *table->indexes);
    table->index_count--;
}

static bool has_columns(const struct iso_row *row, const struct ticdc_index *index)
{
    bool has = true;
    for (uint32_t i = 0; row && has && i < index->count; i++)
        has = iso_row_find(row, index->columns[i], strlen(index->columns[i]));
    return has;
}

const struct ticdc_index *ticdc_table_key(const struct ticdc_table *table,
                                          const struct iso_row *row)
{
    const struct ticdc_index *found = NULL;
    for (uint32_t i = 0; i < table->index_count; i++) {
        const struct ticdc_index *index = &table->indexes[i];
        if (!index->count || !has_columns(row, index))
            continue;
        if (index->primary)
            return index;
        if (!index->nullable && (!found || index->count < found->count))
            found = index;
    }
    return found;
}

static const struct ticdc_column *column_of(const struct ticdc_table *table, const char *name)
{
    struct iso_cell cell = {.name = name, .name_length = (uint32_t)strlen(name)};
    return ticdc_table_column(table, &cell, 0);
}

bool ticdc_table_has_other_key(const struct ticdc_table *before, const struct ticdc_table *after)
{
    const struct ticdc_index *one = ticdc_table_key(before, NULL),
                             *other = ticdc_table_key(after, NULL);
    if (!one || !other || one->count != other->count)
        return one || other;
    for (uint32_t i = 0; i < one->count; i++) {
        const struct ticdc_column *old = column_of(before, one->columns[i]),
                                  *now = column_of(after, other->columns[i]);
        if (strcasecmp(one->columns[i], other->columns[i]) || !old || !now ||
            strcasecmp(old->type, now->type))
            return true;
    }
    return false;
}

/* Names of tables do not tell large letters from small ones. */
static bool is_same(struct iso_json_text name, const char *text)
{
    size_t length = strlen(text);
    return iso_payload_is(name, text, length) ||
           iso_ddl_same_name(name, (struct iso_json_text){text, length});
}

static bool is_named(const struct ticdc_table *table, struct iso_json_text database,
                     struct iso_json_text name)
{
    return is_same(database, table->database) && is_same(name, table->table);
}

/* Where the table goes: in the place of the same version, or of the lowest one if there are too
 * many. */
static uint32_t find_place(const struct ticdc_tables *tables, const struct ticdc_table *table)
{
    struct iso_json_text database = {table->database, strlen(table->database)},
                         name = {table->table, strlen(table->table)};
    uint32_t lowest = tables->count, versions = 0;
    for (uint32_t i = 0; i < tables->count; i++) {
        const struct ticdc_table *other = tables->list[i];
        if (!is_named(other, database, name) || other->any_version != table->any_version ||
            other->from_file != table->from_file)
            continue;
        if (other->version == table->version)
            return i;
        versions++;
        if (lowest == tables->count || other->version < tables->list[lowest]->version)
            lowest = i;
    }
    return versions < TICDC_VERSIONS || table->from_file ? tables->count : lowest;
}

void ticdc_tables_put(struct ticdc_tables *tables, struct ticdc_table *table)
{
    assert(table->database && table->table); /* it has its name */
    for (uint32_t i = 0; i < table->column_count; i++)
        tables->has_caseless |= ticdc_column_is_caseless(&table->columns[i]);
    uint32_t place = find_place(tables, table);
    assert(place <= tables->count);
    if (place == tables->count) {
        tables->list = iso_reallocate(tables->list, (tables->count + 1) * sizeof *tables->list);
        tables->list[tables->count++] = NULL;
    }
    ticdc_table_free(tables->list[place]);
    tables->list[place] = table;
}

const struct ticdc_table *ticdc_tables_find(struct ticdc_tables *tables,
                                            struct iso_json_text database,
                                            struct iso_json_text name, uint64_t version)
{
    const struct ticdc_table *found = NULL;
    if (tables->latest < tables->count) {
        found = tables->list[tables->latest];
        if (!found->any_version && found->version == version && is_named(found, database, name))
            return found;
    }
    found = NULL;
    for (uint32_t i = 0; i < tables->count; i++) {
        const struct ticdc_table *table = tables->list[i];
        if (!is_named(table, database, name))
            continue;
        if (!table->any_version && table->version == version) {
            tables->latest = i;
            return table;
        }
        if (table->any_version)
            found = table;
    }
    return found;
}

const struct ticdc_table *ticdc_tables_at(const struct ticdc_tables *tables,
                                          struct iso_json_text database, struct iso_json_text name,
                                          uint64_t commit_ts)
{
    const struct ticdc_table *found = NULL, *first = NULL;
    for (uint32_t i = 0; i < tables->count; i++) {
        const struct ticdc_table *table = tables->list[i];
        if (!is_named(table, database, name))
            continue;
        if (table->version <= commit_ts && (!found || table->version >= found->version))
            found = table;
        if (table->from_file && (!first || table->version < first->version))
            first = table;
    }
    return found ? found : first;
}

const struct ticdc_column *ticdc_table_column(const struct ticdc_table *table,
                                              const struct iso_cell *cell, uint32_t guess)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct ticdc_column *column = &table->columns[(guess + i) % table->column_count];
        if (column->length == cell->name_length &&
            !memcmp(column->name, cell->name, cell->name_length))
            return column;
    }
    return NULL;
}

enum iso_status ticdc_tables_read(struct ticdc *ticdc, struct ticdc_tables *tables,
                                  const char *text, ticdc_table_reader *read,
                                  struct iso_error *error)
{
    struct iso_json *json = &ticdc->json;
    size_t length = strlen(text);
    iso_json_start(json, iso_payload_copy(&ticdc->payload, text, length), length);
    while (json->code == ISO_JSON_FINE && iso_json_space(json)) {
        struct ticdc_table *table = read(json);
        if (json->code == ISO_JSON_FINE && table->table) {
            table->from_file = true;
            table->any_version = read == ticdc_table_read_simple;
            ticdc_tables_put(tables, table);
        } else {
            ticdc_table_free(table);
        }
    }
    if (json->code == ISO_JSON_FINE)
        return ISO_OK;
    char described[256];
    iso_json_describe(json, described, sizeof described);
    return iso_error_set(error, ISO_BAD_INPUT, "a table's schema, byte %zu: %s", json->position + 1,
                         described);
}
