/* Schemas of tables from statements: CREATE TABLE, and what changes one that is known.
 *
 * Columns, their defaults and whether they may be null; unique indexes with their columns in order.
 * What a statement says that is not understood leaves the schema as it was, so that keys are not
 * taken from it: they are compared with those that a row names (identity.c).
 */
#include <string.h>

#include "base/memory.h"
#include "connectors/cdc_common/ddl_words.h"
#include "connectors/ticdc/tables.h"

typedef struct iso_ddl_words words;

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text ? text : "", text ? strlen(text) : 0};
}

static struct ticdc_column *find_column(const struct ticdc_table *table, struct iso_json_text name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (iso_ddl_same_name(text_of(table->columns[i].name), name))
            return &table->columns[i];
    return NULL;
}

/* ---- parts of definitions ---- */

/* Passes over a bracketed list whose opening bracket was read, with its closing one. */
static void skip_brackets(words *at)
{
    int depth = 1;
    while (depth && iso_ddl_next(at))
        depth += iso_ddl_is(at, "(") ? 1 : iso_ddl_is(at, ")") ? -1 : 0;
}

/* "(a, b(10) DESC)" to the last index's columns, as the columns are spelt. False: an expression. */
static bool take_key_columns(words *at, struct ticdc_table *table)
{
    if (!iso_ddl_pass(at, "("))
        return false;
    for (;;) {
        if (!iso_ddl_next(at))
            return false;
        if (iso_ddl_is(at, "(")) {
            skip_brackets(at);
            skip_brackets(at);
            return false;
        }
        const struct ticdc_column *column = find_column(table, at->token);
        ticdc_table_add_key(table, column ? text_of(column->name) : at->token);
        if (iso_ddl_pass(at, "("))
            skip_brackets(at);
        if (!iso_ddl_pass(at, "asc"))
            iso_ddl_pass(at, "desc");
        if (iso_ddl_pass(at, ")"))
            return true;
        if (!iso_ddl_pass(at, ","))
            return false;
    }
}

/* A unique index's name and columns. */
static void take_index(words *at, struct ticdc_table *table, bool primary,
                       struct iso_json_text name)
{
    struct ticdc_index *index = ticdc_table_add_index(table, primary, false);
    index->name = name.length ? iso_copy_text(name.at, name.length) : NULL;
    if (!take_key_columns(at, table))
        ticdc_table_drop_index(table, table->index_count - 1);
}

/* "PRIMARY KEY [USING ..] (..)", or "UNIQUE [KEY|INDEX] [name] [USING ..] (..)", whose first word
 * was passed over. */
static void take_unique(words *at, struct ticdc_table *table, bool primary)
{
    struct iso_json_text name = {"", 0};
    if (!iso_ddl_pass(at, "key"))
        iso_ddl_pass(at, "index");
    words before = *at;
    if (iso_ddl_next(at) && !iso_ddl_is(at, "(") && !iso_ddl_is(at, "using"))
        name = at->token;
    else
        *at = before;
    if (iso_ddl_pass(at, "using"))
        iso_ddl_next(at);
    take_index(at, table, primary, name);
}

/* The type of a column, up to what may stand behind it. */
static struct iso_json_text take_type(words *at)
{
    struct iso_json_text type = {"", 0};
    if (!iso_ddl_next(at))
        return type;
    type = at->token;
    if (iso_ddl_pass(at, "("))
        skip_brackets(at);
    if (!iso_ddl_pass(at, "unsigned"))
        iso_ddl_pass(at, "precision");
    iso_ddl_pass(at, "zerofill");
    type.length = (size_t)(at->at - type.at);
    return type;
}

/* A literal default; what is computed is not known, and told apart by its brackets. */
static void take_default(words *at, struct ticdc_column *column)
{
    bool negative = iso_ddl_pass(at, "-");
    if (!iso_ddl_next(at) || iso_ddl_is(at, "null"))
        return;
    struct iso_json_text text = at->token;
    while (!at->quote && at->at < at->end && *at->at == '.' && iso_ddl_next(at) && iso_ddl_next(at))
        text.length = (size_t)(at->at - text.at);
    if (negative)
        text = (struct iso_json_text){text.at - 1, text.length + 1};
    iso_free(column->fallback);
    column->fallback = iso_copy_text(text.at, text.length);
    if (!at->quote && iso_ddl_pass(at, "("))
        skip_brackets(at);
}

/* Reads a column's attributes, behind its type, up to the next definition. A column that is
 * computed when it is read identifies no row. */
static void take_attributes(words *at, struct ticdc_table *table, uint32_t number)
{
    struct ticdc_column *column = &table->columns[number];
    words before = *at;
    bool is_virtual = false;
    while (iso_ddl_next(at)) {
        if (iso_ddl_is(at, ",") || iso_ddl_is(at, ")")) {
            *at = before;
            break;
        }
        is_virtual = (is_virtual || iso_ddl_is(at, "as")) && !iso_ddl_is(at, "stored");
        if (iso_ddl_is(at, "not"))
            column->nullable &= !iso_ddl_pass(at, "null");
        else if (iso_ddl_is(at, "default"))
            take_default(at, column);
        else if (iso_ddl_is(at, "collate") && iso_ddl_next(at))
            ticdc_column_collate(column, at->token);
        else if (iso_ddl_is(at, "("))
            skip_brackets(at);
        else if (iso_ddl_is(at, "primary") || iso_ddl_is(at, "unique")) {
            bool primary = iso_ddl_is(at, "primary");
            iso_ddl_pass(at, "key");
            ticdc_table_add_index(table, primary, false)->name =
                primary ? NULL : iso_copy_text(column->name, column->length);
            ticdc_table_add_key(table, text_of(column->name));
        }
        before = *at;
    }
    column->nullable |= is_virtual;
}

static void take_column(words *at, struct ticdc_table *table, struct iso_json_text name)
{
    struct iso_json_text type = take_type(at);
    ticdc_table_add_column(table, name, type);
    take_attributes(at, table, table->column_count - 1);
}

/* Up to the end of a definition. */
static void skip_definition(words *at)
{
    words before = *at;
    while (iso_ddl_next(at)) {
        if (iso_ddl_is(at, ",") || iso_ddl_is(at, ")")) {
            *at = before;
            return;
        }
        if (iso_ddl_is(at, "("))
            skip_brackets(at);
        before = *at;
    }
}

static void take_definition(words *at, struct ticdc_table *table)
{
    static const char *const others[] = {"key", "index", "fulltext", "spatial", "check", "foreign"};
    if (iso_ddl_pass(at, "constraint")) {
        words before = *at;
        bool unnamed = iso_ddl_next(at) && (iso_ddl_is(at, "primary") || iso_ddl_is(at, "unique") ||
                                            iso_ddl_is(at, "check") || iso_ddl_is(at, "foreign"));
        if (unnamed)
            *at = before;
    }
    bool primary = iso_ddl_pass(at, "primary");
    if (primary || iso_ddl_pass(at, "unique")) {
        take_unique(at, table, primary);
        skip_definition(at);
        return;
    }
    if (!iso_ddl_next(at))
        return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (iso_ddl_is(at, others[i])) {
            skip_definition(at);
            return;
        }
    take_column(at, table, at->token);
}

/* Columns of a primary key are never null; of others their columns say it. */
static void settle_nulls(struct ticdc_table *table)
{
    for (uint32_t i = 0; i < table->index_count; i++) {
        struct ticdc_index *index = &table->indexes[i];
        index->nullable = false;
        for (uint32_t c = 0; c < index->count && !index->primary; c++) {
            const struct ticdc_column *column = find_column(table, text_of(index->columns[c]));
            index->nullable |= !column || column->nullable;
        }
    }
}

/* ---- statements ---- */

static struct ticdc_table *copy_table(const struct ticdc_table *from, uint64_t version)
{
    struct ticdc_table *table = ticdc_table_new();
    ticdc_table_name(table, text_of(from->database), text_of(from->table));
    table->version = version;
    for (uint32_t i = 0; i < from->column_count; i++) {
        const struct ticdc_column *column = &from->columns[i];
        struct ticdc_column *copy =
            ticdc_table_add_column(table, text_of(column->name), text_of(column->type));
        copy->nullable = column->nullable;
        copy->fallback =
            column->fallback ? iso_copy_text(column->fallback, strlen(column->fallback)) : NULL;
    }
    for (uint32_t i = 0; i < from->index_count; i++) {
        const struct ticdc_index *index = &from->indexes[i];
        struct ticdc_index *copy = ticdc_table_add_index(table, index->primary, index->nullable);
        copy->unordered = index->unordered;
        copy->name = index->name ? iso_copy_text(index->name, strlen(index->name)) : NULL;
        for (uint32_t c = 0; c < index->count; c++)
            ticdc_table_add_key(table, text_of(index->columns[c]));
    }
    return table;
}

/* As it was right before the statement, so that a statement that is sent again does the same. */
static struct ticdc_table *copy_before(const struct ticdc_tables *tables,
                                       struct iso_json_text database, struct iso_json_text name,
                                       uint64_t commit_ts)
{
    const struct ticdc_table *before =
        commit_ts ? ticdc_tables_at(tables, database, name, commit_ts - 1) : NULL;
    return before ? copy_table(before, commit_ts) : NULL;
}

/* Of a table's options. */
static void take_collation(words *at, struct ticdc_table *table)
{
    while (iso_ddl_next(at)) {
        if (!iso_ddl_is(at, "collate"))
            continue;
        iso_ddl_pass(at, "=");
        if (!iso_ddl_next(at))
            return;
        for (uint32_t i = 0; i < table->column_count; i++)
            ticdc_column_collate(&table->columns[i], at->token);
    }
}

static void take_create(struct ticdc_tables *tables, words *at, struct iso_json_text database,
                        uint64_t commit_ts)
{
    struct iso_json_text schema, name, like_schema, like;
    if (iso_ddl_pass(at, "if")) {
        iso_ddl_pass(at, "not");
        iso_ddl_pass(at, "exists");
    }
    if (!iso_ddl_take_name(at, &schema, &name))
        return;
    schema = schema.length ? schema : database;
    bool bracket = iso_ddl_pass(at, "(");
    if (iso_ddl_pass(at, "like")) {
        if (!iso_ddl_take_name(at, &like_schema, &like))
            return;
        struct ticdc_table *copy =
            copy_before(tables, like_schema.length ? like_schema : database, like, commit_ts);
        if (!copy)
            return;
        ticdc_table_name(copy, schema, name);
        ticdc_tables_put(tables, copy);
        return;
    }
    if (!bracket)
        return;
    struct ticdc_table *table = ticdc_table_new();
    ticdc_table_name(table, schema, name);
    table->version = commit_ts;
    do
        take_definition(at, table);
    while (iso_ddl_pass(at, ","));
    settle_nulls(table);
    take_collation(at, table);
    ticdc_tables_put(tables, table);
}

static void rename_column(struct ticdc_table *table, struct iso_json_text from,
                          struct iso_json_text to)
{
    struct ticdc_column *column = find_column(table, from);
    for (uint32_t i = 0; i < table->index_count; i++)
        for (uint32_t c = 0; c < table->indexes[i].count; c++) {
            char **name = &table->indexes[i].columns[c];
            if (!iso_ddl_same_name(text_of(*name), from))
                continue;
            iso_free(*name);
            *name = iso_copy_text(to.at, to.length);
        }
    if (!column)
        return;
    iso_free(column->name);
    column->name = iso_copy_text(to.at, to.length);
    column->length = (uint32_t)to.length;
}

static void drop_named_index(struct ticdc_table *table, struct iso_json_text name)
{
    for (uint32_t i = table->index_count; i-- > 0;)
        if (table->indexes[i].name && iso_ddl_same_name(text_of(table->indexes[i].name), name))
            ticdc_table_drop_index(table, i);
}

static void drop_primary(struct ticdc_table *table)
{
    for (uint32_t i = table->index_count; i-- > 0;)
        if (table->indexes[i].primary)
            ticdc_table_drop_index(table, i);
}

static void drop_column(struct ticdc_table *table, struct iso_json_text name)
{
    struct ticdc_column *column = find_column(table, name);
    if (!column)
        return;
    ISO_FREE_ALL(column->name, column->type, column->fallback);
    uint32_t number = (uint32_t)(column - table->columns);
    memmove(column, column + 1, (table->column_count - number - 1) * sizeof *column);
    table->column_count--;
}

/* Another definition of a column: in its place. */
static void redefine(words *at, struct ticdc_table *table, struct iso_json_text name)
{
    struct ticdc_column *column = find_column(table, name);
    take_column(at, table, name);
    if (!column)
        return;
    column = find_column(table, name); /* the list may have moved; this is the first of that name */
    struct ticdc_column last = table->columns[--table->column_count];
    ISO_FREE_ALL(column->name, column->type, column->fallback);
    *column = last;
}

static void take_add(words *at, struct ticdc_table *table)
{
    bool is_column = iso_ddl_pass(at, "column");
    if (is_column && iso_ddl_pass(at, "if")) {
        iso_ddl_pass(at, "not");
        iso_ddl_pass(at, "exists");
    }
    if (!iso_ddl_pass(at, "(")) {
        if (!is_column && iso_ddl_pass(at, "partition"))
            skip_definition(at);
        else
            take_definition(at, table);
        return;
    }
    do
        take_definition(at, table);
    while (iso_ddl_pass(at, ","));
    iso_ddl_pass(at, ")");
}

static void take_drop(words *at, struct ticdc_table *table)
{
    if (iso_ddl_pass(at, "primary")) {
        drop_primary(table);
        return;
    }
    bool index = iso_ddl_pass(at, "index") || iso_ddl_pass(at, "key");
    if (!index)
        iso_ddl_pass(at, "column");
    if (iso_ddl_pass(at, "if"))
        iso_ddl_pass(at, "exists");
    if (!index && iso_ddl_pass(at, "partition"))
        return;
    if (!iso_ddl_next(at))
        return;
    if (index)
        drop_named_index(table, at->token);
    else
        drop_column(table, at->token);
}

static void take_column_rename(words *at, struct ticdc_table *table)
{
    if (!iso_ddl_pass(at, "column") || !iso_ddl_next(at))
        return;
    struct iso_json_text from = at->token;
    if (iso_ddl_pass(at, "to") && iso_ddl_next(at))
        rename_column(table, from, at->token);
}

static void take_alteration(words *at, struct ticdc_table *table)
{
    if (iso_ddl_pass(at, "add")) {
        take_add(at, table);
    } else if (iso_ddl_pass(at, "drop")) {
        take_drop(at, table);
    } else if (iso_ddl_pass(at, "rename")) {
        take_column_rename(at, table);
    } else if (iso_ddl_pass(at, "modify")) {
        iso_ddl_pass(at, "column");
        if (iso_ddl_next(at))
            redefine(at, table, at->token);
    } else if (iso_ddl_pass(at, "change")) {
        iso_ddl_pass(at, "column");
        if (!iso_ddl_next(at))
            return;
        struct iso_json_text from = at->token;
        if (!iso_ddl_next(at))
            return;
        rename_column(table, from, at->token);
        redefine(at, table, at->token);
    } else if (iso_ddl_pass(at, "alter")) {
        iso_ddl_pass(at, "column");
        struct ticdc_column *column = iso_ddl_next(at) ? find_column(table, at->token) : NULL;
        if (column && iso_ddl_pass(at, "set") && iso_ddl_pass(at, "default"))
            take_default(at, column);
    }
    skip_definition(at);
}

static void take_alter(struct ticdc_tables *tables, words *at, struct iso_json_text database,
                       uint64_t commit_ts)
{
    struct iso_json_text schema, name;
    if (!iso_ddl_take_name(at, &schema, &name))
        return;
    struct ticdc_table *table =
        copy_before(tables, schema.length ? schema : database, name, commit_ts);
    if (!table)
        return;
    do
        take_alteration(at, table);
    while (iso_ddl_pass(at, ","));
    settle_nulls(table);
    ticdc_tables_put(tables, table);
}

/* "UNIQUE INDEX name ON t (..)", or of a DROP "INDEX name ON t". */
static void take_index_statement(struct ticdc_tables *tables, words *at,
                                 struct iso_json_text database, uint64_t commit_ts, bool creates)
{
    struct iso_json_text schema, name, index;
    if (iso_ddl_pass(at, "if")) {
        iso_ddl_pass(at, "not");
        iso_ddl_pass(at, "exists");
    }
    if (!iso_ddl_next(at))
        return;
    index = at->token;
    if (!iso_ddl_pass(at, "on") || !iso_ddl_take_name(at, &schema, &name))
        return;
    struct ticdc_table *table =
        copy_before(tables, schema.length ? schema : database, name, commit_ts);
    if (!table)
        return;
    if (creates)
        take_index(at, table, false, index);
    else
        drop_named_index(table, index);
    settle_nulls(table);
    ticdc_tables_put(tables, table);
}

/* The names that tables have behind it, with the schemas that they had before. */
static void take_renames(struct ticdc_tables *tables, struct iso_json_text sql,
                         struct iso_json_text database, uint64_t commit_ts)
{
    struct iso_ddl_effect effects[ISO_DDL_EFFECTS_MAX];
    struct ticdc_table *renamed[ISO_DDL_EFFECTS_MAX];
    uint32_t count = iso_ddl_effects(sql, effects), some = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct iso_ddl_effect *effect = &effects[i];
        if (!effect->from_table.length)
            continue;
        struct ticdc_table *table =
            copy_before(tables, effect->from_schema.length ? effect->from_schema : database,
                        effect->from_table, commit_ts);
        if (!table)
            continue;
        ticdc_table_name(table, effect->schema.length ? effect->schema : database, effect->table);
        renamed[some++] = table;
    }
    for (uint32_t i = 0; i < some; i++)
        ticdc_tables_put(tables, renamed[i]);
}

void ticdc_tables_take_ddl(struct ticdc_tables *tables, struct iso_json_text sql,
                           struct iso_json_text database, uint64_t commit_ts)
{
    words at = iso_ddl_words_of(sql);
    take_renames(tables, sql, database, commit_ts);
    if (iso_ddl_pass(&at, "create")) {
        if (iso_ddl_pass(&at, "or"))
            iso_ddl_pass(&at, "replace");
        if (iso_ddl_pass(&at, "table"))
            take_create(tables, &at, database, commit_ts);
        else if (iso_ddl_pass(&at, "unique") && iso_ddl_pass(&at, "index"))
            take_index_statement(tables, &at, database, commit_ts, true);
    } else if (iso_ddl_pass(&at, "drop")) {
        if (iso_ddl_pass(&at, "index"))
            take_index_statement(tables, &at, database, commit_ts, false);
    } else if (iso_ddl_pass(&at, "alter")) {
        if (iso_ddl_pass(&at, "table"))
            take_alter(tables, &at, database, commit_ts);
    }
}
