/* Names are resolved to tables, columns of the rows of a scope, variables, types. A name that is a
 * column and a variable is refused, as PostgreSQL does; columns of an inner query come before those
 * of the outer ones. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "lower/lower_private.h"

void lower_refuse_both(struct lowering *lowering, size_t location, const char *name)
{
    lower_refuse(lowering, location,
                 "\"%s\" is a column and a variable: PostgreSQL refuses that, too (42702)", name);
}

struct table *lower_find_table(struct lowering *lowering, const PgQuery__RangeVar *range)
{
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        if (!strcmp(lowering->tables.list[i].name, range->relname) && !*range->catalogname &&
            (!*range->schemaname || !strcmp(range->schemaname, "public"))) {
            if (lowering->tables.list[i].refused)
                iso_error_set(lowering->error, ISO_BAD_INPUT, "%s",
                              lowering->tables.list[i].refused);
            return failed(lowering) ? NULL : &lowering->tables.list[i];
        }
    lower_refuse(lowering, location_of(lowering, range->location),
                 "there is no table \"%s\" before this", range->relname);
    return NULL;
}

uint32_t lower_find_column(const struct table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, name))
            return i;
    return NONE;
}

uint32_t lower_find_insert_columns(struct lowering *lowering, const PgQuery__InsertStmt *insert,
                                   const struct table *table, uint32_t *columns)
{
    uint32_t column_count = 0;
    for (size_t i = 0; i < insert->n_cols && i < MOST_COLUMNS; i++) {
        const PgQuery__ResTarget *column = insert->cols[i]->res_target;
        columns[column_count] = lower_find_column(table, column->name);
        if (columns[column_count++] == NONE)
            lower_refuse(lowering, location_of(lowering, column->location),
                         "table \"%s\" has no column \"%s\"", table->name, column->name);
    }
    for (; !insert->n_cols && column_count < table->column_count; column_count++)
        columns[column_count] = column_count;
    return column_count;
}

uint32_t lower_rows_of(const struct table *table)
{
    return table->initial_count + table->slots;
}

uint32_t lower_presence(struct lowering *lowering, const struct table *table, uint32_t row)
{
    assert(row < lower_rows_of(table));
    if (row < table->initial_count && !table->deletes)
        return lower_number(lowering, 1);
    return lower_make(lowering, ISO_PROVE_READ, table->ir, lower_number(lowering, row), 0);
}

struct value lower_read_column(struct lowering *lowering, const struct entry *entry,
                               uint32_t column)
{
    assert(column < entry->table->column_count);
    assert(entry->values || entry->row < lower_rows_of(entry->table));
    const struct table *table = entry->table;
    const struct column *read = &table->columns[column];
    if (entry->values)
        return entry->values[column];
    if (!read->changes && read->serial)
        return lower_constant(lowering, read->type, (int64_t)entry->row + 1);
    if (!read->changes && entry->row < table->initial_count) {
        int64_t number = table->initial[entry->row * table->column_count + column];
        if (number != INT64_MIN)
            return lower_constant(lowering, read->type, number);
        struct value null = lower_null(lowering);
        null.type = read->type;
        return null;
    }
    bool known = read->known.low <= read->known.high;
    struct value value = {.type = read->type,
                          .null = NONE,
                          .fails = NONE,
                          .low = known ? read->known.low : 0,
                          .high = known ? read->known.high : 0};
    uint32_t row = lower_number(lowering, entry->row);
    value.at = lower_make(lowering, ISO_PROVE_READ, table->ir, row, 1 + column);
    if (read->flag != NONE)
        value.null = lower_make(lowering, ISO_PROVE_READ, table->ir, row, read->flag);
    return value;
}

void lower_find_named(struct named *named, const struct from *from, const char *alias,
                      const char *name)
{
    for (uint32_t i = 0; from && i < from->entries.count; i++) {
        uint32_t column = lower_find_column(from->entries.list[i].table, name);
        if (column == NONE || (alias && strcmp(alias, from->entries.list[i].alias)))
            continue;
        named->entry = &from->entries.list[i];
        named->column = column;
        named->found++;
    }
}

bool lower_names_of(const PgQuery__ColumnRef *reference, const char **alias, const char **name)
{
    if (reference->n_fields < 1 || reference->n_fields > 2)
        return false;
    for (size_t i = 0; i < reference->n_fields; i++)
        if (reference->fields[i]->node_case != PG_QUERY__NODE__NODE_STRING)
            return false;
    *alias = reference->n_fields == 2 ? lower_name_of(reference->fields[0]) : NULL;
    *name = lower_name_of(reference->fields[reference->n_fields - 1]);
    return true;
}

struct value lower_variable_value(struct lowering *lowering, uint32_t variable)
{
    assert(variable < lowering->body.variables.count);
    assert(lowering->body.states.count == lowering->body.variables.count);
    const struct variable *read = &lowering->body.variables.list[variable];
    const struct state *state = &lowering->body.states.list[variable];
    struct value value = {.type = read->type,
                          .null = NONE,
                          .fails = NONE,
                          .low = state->interval.low,
                          .high = state->interval.high};
    if (!state->may_be_null && value.low == value.high)
        return lower_constant(lowering, read->type, value.low);
    value.at = lower_make(lowering, ISO_PROVE_LOCAL, read->local, NONE, NONE);
    if (state->may_be_null)
        value.null = lower_make(lowering, ISO_PROVE_LOCAL, read->null, NONE, NONE);
    return value;
}

/* A table of the query has this name: where no column has it, its row is meant, or (42702) a
 * variable just as well. */
static bool is_row(const struct scope *scope, const char *name)
{
    for (; scope; scope = scope->outer)
        for (uint32_t i = 0; scope->from && i < scope->from->entries.count; i++)
            if (!strcmp(scope->from->entries.list[i].alias, name))
                return true;
    return false;
}

struct value lower_reference(struct lowering *lowering, const struct scope *scope,
                             const PgQuery__ColumnRef *reference)
{
    const char *alias, *name;
    size_t location = location_of(lowering, reference->location);
    if (!lower_names_of(reference, &alias, &name)) {
        lower_refuse_form(lowering, location, "a name of this form (* or three parts)");
        return lower_null(lowering);
    }
    struct named named = {0};
    const struct scope *found = scope;
    for (; found && !named.found; found = named.found ? found : found->outer)
        lower_find_named(&named, found->from, alias, name);
    if (!named.found && !alias && is_row(scope, name)) {
        lower_refuse_form(lowering, location, "the whole row of \"%s\" as a value", name);
        return lower_null(lowering);
    }
    uint32_t variable = NONE;
    if (lowering->body.function && (!alias || !strcmp(alias, lowering->body.name)))
        variable = lower_find_variable(lowering, name);
    if (named.found > 1) {
        lower_refuse(lowering, location, "column \"%s\" is ambiguous: name its table", name);
    } else if (named.found && variable != NONE) {
        lower_refuse_both(lowering, location, name);
    } else if (named.found) {
        if (found && found->combos)
            lower_refuse(
                lowering, location,
                "column \"%s\" beside an aggregate: GROUP BY is not in the subset that can be proved",
                name);
        else
            return lower_read_column(lowering, named.entry, named.column);
    } else if (variable != NONE) {
        lower_note_use(lowering, location, variable);
        return lower_variable_value(lowering, variable);
    } else {
        lower_refuse(lowering, location, "there is no column or variable \"%s%s%s\"",
                     alias ? alias : "", alias ? "." : "", name);
    }
    return lower_null(lowering);
}

uint32_t lower_limit_of(const PgQuery__TypeName *name)
{
    const char *last = name && name->n_names ? lower_name_of(name->names[name->n_names - 1]) : "";
    bool text = !strcmp(last, "varchar") || !strcmp(last, "bpchar");
    if (!text || name->n_typmods != 1 ||
        name->typmods[0]->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        name->typmods[0]->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL)
        return 0;
    return (uint32_t)name->typmods[0]->a_const->ival->ival;
}

enum type lower_type_of(struct lowering *lowering, const PgQuery__TypeName *name, bool *serial)
{
    static const struct {
        const char *name;
        enum type type;
        bool serial;
    } types[] = {{"int4", TYPE_INT, false},        {"int8", TYPE_BIGINT, false},
                 {"bool", TYPE_BOOLEAN, false},    {"text", TYPE_TEXT, false},
                 {"varchar", TYPE_TEXT, false},    {"serial", TYPE_INT, true},
                 {"bpchar", TYPE_TEXT, false},     {"serial4", TYPE_INT, true},
                 {"bigserial", TYPE_BIGINT, true}, {"serial8", TYPE_BIGINT, true},
                 {"integer", TYPE_INT, false},     {"int", TYPE_INT, false},
                 {"bigint", TYPE_BIGINT, false},   {"boolean", TYPE_BOOLEAN, false}};
    const char *last = name && name->n_names ? lower_name_of(name->names[name->n_names - 1]) : "";
    if (name && !name->setof && !name->pct_type && !name->n_array_bounds)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (!strcmp(types[i].name, last) && (serial || !types[i].serial)) {
                lowering->pads = lowering->pads || !strcmp(last, "bpchar");
                if (serial)
                    *serial = types[i].serial;
                return types[i].type;
            }
    lower_refuse(lowering, location_of(lowering, name ? name->location : -1),
                 "the type %s%s: int, bigint, boolean and text are those that can be proved", last,
                 name && name->n_array_bounds ? "[]" : "");
    return TYPE_INT;
}
