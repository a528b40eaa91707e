/* What INSERT, UPDATE and DELETE share: the values of a row as they are written, what breaks its
 * table's constraints, the cells of its keys, RETURNING. */
#include <string.h>

#include "prove_sql/lower_private.h"

/* A key of a unique index as the number of its cell; `null`: it has none. */
uint32_t prove_sql_cell_of_key(struct lowering *lowering, const struct unique *unique,
                               const struct value *values, uint32_t *null)
{
    uint32_t cell = make_constant(lowering, 0);
    *null = NONE;
    for (uint32_t i = 0; i < unique->count; i++) {
        const struct value *value = &values[unique->columns[i]];
        const struct interval *domain = &unique->domain[i];
        int64_t size = domain->high - domain->low + 1;
        *null = either(lowering, *null, value->null);
        uint32_t part = make(lowering, ISO_PROVE_SUBTRACT, value->at,
                             make_constant(lowering, domain->low), NONE);
        if (i)
            cell = make(lowering, ISO_PROVE_MULTIPLY, cell, make_constant(lowering, size), NONE);
        cell = i ? make(lowering, ISO_PROVE_ADD, cell, part, NONE) : part;
    }
    return cell;
}

uint32_t prove_sql_is_free(struct lowering *lowering, const struct unique *unique, uint32_t cell)
{
    return inverse(lowering, make(lowering, ISO_PROVE_READ, unique->table, cell, 0));
}

/* The condition under which a row of these values breaks NOT NULL or a CHECK, or could not be
 * computed. */
uint32_t prove_sql_broken(struct lowering *lowering, struct table *table,
                          const struct value *values, const bool *set)
{
    uint32_t bad = NONE;
    struct entry entry = {table->name, table, NONE, values};
    struct from from = {.entries = &entry, .count = 1};
    struct scope scope = {NULL, &from, NULL};
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (!set[i])
            continue;
        bad = either(lowering, bad, values[i].fails);
        if (table->columns[i].not_null)
            bad = either(lowering, bad, values[i].null);
    }
    struct value *sound = iso_allocate(sizeof *sound * MOST_COLUMNS);
    memcpy(sound, values, table->column_count * sizeof *sound);
    for (uint32_t i = 0; i < table->column_count; i++)
        sound[i].fails = NONE;
    entry.values = sound;
    struct function *function = lowering->function;
    int64_t delta = lowering->delta;
    lowering->function = NULL; /* a CHECK knows no variables */
    lowering->delta = 0;
    for (uint32_t i = 0; i < table->check_count && !failed(lowering); i++) {
        struct value value = lower(lowering, &scope, table->checks[i].node);
        uint32_t holds = either(lowering, truth_of(lowering, &value), value.null);
        bad = either(lowering, bad, either(lowering, value.fails, inverse(lowering, holds)));
    }
    lowering->function = function;
    lowering->delta = delta;
    iso_free(sound);
    return both(lowering, bad, make_constant(lowering, 1));
}

/* Also for reads, but in the last round: see rounds in read.c. */
void prove_sql_note_growth(const struct lowering *lowering, struct table *table, uint32_t column,
                           const struct value *value)
{
    hull(&table->columns[column].grown, value->low, value->high);
    if (!lowering->final)
        hull(&table->columns[column].known, value->low, value->high);
}

/* A row's columns as a WRITE takes them; NONE stays. */
void prove_sql_row_values(struct lowering *lowering, const struct table *table,
                          const struct value *values, const bool *set, uint32_t *list)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        list[1 + i] = NONE;
        if (column->flag != NONE)
            list[column->flag] = NONE;
        if (!set[i])
            continue;
        uint32_t null = values[i].null;
        list[1 + i] = null == NONE
                          ? values[i].at
                          : choose(lowering, null, make_constant(lowering, 0), values[i].at);
        if (column->flag != NONE)
            list[column->flag] = null == NONE ? make_constant(lowering, 0) : null;
    }
}

bool prove_sql_convert(struct lowering *lowering, const struct column *column, struct value *value,
                       size_t place)
{
    if (!types_meet(value->type, column->type)) {
        refuse(lowering, place, "column \"%s\" is %s, and this is %s", column->name,
               type_name(column->type), type_name(value->type));
        return false;
    }
    if (column->type == TYPE_INT && value->type == TYPE_BIGINT)
        fit(lowering, value, TYPE_INT);
    value->type = column->type;
    return true;
}

const struct value *prove_sql_returned(struct lowering *lowering, struct table *table,
                                       PgQuery__Node *const *list, size_t count,
                                       const struct value *row, struct value *values)
{
    struct entry entry = {table->name, table, NONE, row};
    struct from from = {.entries = &entry, .count = 1};
    struct scope scope = {NULL, &from, NULL};
    for (size_t i = 0; i < count && i < MOST_COLUMNS && !failed(lowering); i++) {
        const PgQuery__Node *node = prove_sql_target_of(lowering, list[i]);
        if (node)
            values[i] = lower(lowering, &scope, node);
    }
    return values;
}
