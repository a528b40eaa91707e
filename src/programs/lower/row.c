/* Rows that INSERT, UPDATE and DELETE write: the values of a row as they are written, what breaks
 * its table's constraints, the cells of its keys, RETURNING. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "lower/lower_private.h"

/* A key of a unique index as the number of its cell; `null`: it has none. */
uint32_t lower_cell_of_key(struct lowering *lowering, const struct unique *unique,
                           const struct value *values, uint32_t *null)
{
    assert(unique->count && unique->table != NONE);
    uint32_t cell = lower_number(lowering, 0);
    *null = NONE;
    for (uint32_t i = 0; i < unique->count; i++) {
        const struct value *value = &values[unique->columns[i]];
        const struct interval *domain = &unique->domain[i];
        int64_t size = domain->high - domain->low + 1;
        assert(size > 0); /* lower_rounds ends only when the domains hold all values */
        *null = lower_or(lowering, *null, value->null);
        uint32_t part = lower_make(lowering, ISO_PROVE_SUBTRACT, value->at,
                                   lower_number(lowering, domain->low), NONE);
        if (i)
            cell =
                lower_make(lowering, ISO_PROVE_MULTIPLY, cell, lower_number(lowering, size), NONE);
        cell = i ? lower_make(lowering, ISO_PROVE_ADD, cell, part, NONE) : part;
    }
    return cell;
}

uint32_t lower_is_free(struct lowering *lowering, const struct unique *unique, uint32_t cell)
{
    assert(unique->table != NONE && !unique->generated);
    return lower_not(lowering, lower_make(lowering, ISO_PROVE_READ, unique->table, cell, 0));
}

/* The condition under which a row of these values breaks NOT NULL or a CHECK, or could not be
 * computed. */
uint32_t lower_broken(struct lowering *lowering, struct table *table, const struct value *values,
                      const bool *set)
{
    uint32_t bad = NONE;
    struct entry entry = {table->name, table, NONE, values};
    struct from from = {.entries = {&entry, 1, 1}};
    struct scope scope = {NULL, &from, NULL};
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (!set[i])
            continue;
        bad = lower_or(lowering, bad, values[i].fails);
        if (table->columns[i].not_null)
            bad = lower_or(lowering, bad, values[i].null);
    }
    struct value *sound = iso_allocate(sizeof *sound * MOST_COLUMNS);
    memcpy(sound, values, table->column_count * sizeof *sound);
    for (uint32_t i = 0; i < table->column_count; i++)
        sound[i].fails = NONE;
    entry.values = sound;
    struct function *function = lowering->body.function;
    int64_t delta = lowering->at.delta;
    lowering->body.function = NULL; /* a CHECK knows no variables */
    lowering->at.delta = 0;
    for (uint32_t i = 0; i < table->checks.count && !failed(lowering); i++) {
        struct value value = lower_expression(lowering, &scope, table->checks.list[i]);
        uint32_t holds = lower_or(lowering, lower_truth(lowering, &value), value.null);
        bad = lower_or(lowering, bad, lower_or(lowering, value.fails, lower_not(lowering, holds)));
    }
    lowering->body.function = function;
    lowering->at.delta = delta;
    iso_free(sound);
    return lower_and(lowering, bad, lower_number(lowering, 1));
}

/* Nothing but --@ ignore passes over what is refused in it. */
struct value lower_default(struct lowering *lowering, const struct column *column)
{
    struct value value = lower_null(lowering);
    struct function *function = lowering->body.function;
    int64_t delta = lowering->at.delta;
    bool fine = !failed(lowering);
    lowering->body.function = NULL; /* a DEFAULT knows no variables */
    lowering->at.delta = 0;
    if (column->fallback)
        value = lower_expression(lowering, NULL, column->fallback);
    if (column->fallback)
        lower_convert(lowering, column, &value, lowering->at.span.begin);
    lowering->body.function = function;
    lowering->at.delta = delta;
    if (fine && lowering->error->status == ISO_BAD_INPUT && lowering->ignored.defaults) {
        *lowering->error = (struct iso_error)ISO_NO_ERROR;
        lowering->passed.defaults = true;
        value = lower_null(lowering);
    }
    value.type = column->type;
    return value;
}

/* Also for reads, but in the last round: see rounds in read.c. */
void lower_note_growth(const struct lowering *lowering, struct table *table, uint32_t column,
                       const struct value *value)
{
    assert(column < table->column_count && value->low <= value->high);
    lower_widen(&table->columns[column].grown, value->low, value->high);
    if (!lowering->final)
        lower_widen(&table->columns[column].known, value->low, value->high);
}

/* A row's columns as a WRITE takes them; NONE stays. */
void lower_row_values(struct lowering *lowering, const struct table *table,
                      const struct value *values, const bool *set, uint32_t *list)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        list[1 + i] = NONE;
        assert(column->flag == NONE || column->flag > table->column_count);
        if (column->flag != NONE)
            list[column->flag] = NONE;
        if (!set[i])
            continue;
        uint32_t null = values[i].null;
        list[1 + i] = null == NONE
                          ? values[i].at
                          : lower_choose(lowering, null, lower_number(lowering, 0), values[i].at);
        if (column->flag != NONE)
            list[column->flag] = null == NONE ? lower_number(lowering, 0) : null;
    }
}

bool lower_convert(struct lowering *lowering, const struct column *column, struct value *value,
                   size_t location)
{
    if (!lower_types_meet(value->type, column->type)) {
        lower_refuse(lowering, location, "column \"%s\" is %s, and this is %s", column->name,
                     lower_type_name(column->type), lower_type_name(value->type));
        return false;
    }
    if (column->type == TYPE_INT && value->type == TYPE_BIGINT)
        lower_fit(lowering, value, TYPE_INT);
    lower_limit_text(lowering, value, column->limit);
    value->type = column->type;
    return true;
}

bool lower_limit_returning(struct lowering *lowering, const struct target *target, size_t count)
{
    if (target->given && count > MOST_COLUMNS)
        lower_refuse(lowering, target->location, "RETURNING of more than %d values", MOST_COLUMNS);
    return !failed(lowering);
}

const struct value *lower_returned(struct lowering *lowering, struct table *table,
                                   PgQuery__Node *const *list, size_t count,
                                   const struct value *row, struct value *values)
{
    assert(count <= MOST_COLUMNS); /* lower_limit_returning */
    struct entry entry = {table->name, table, NONE, row};
    struct from from = {.entries = {&entry, 1, 1}};
    struct scope scope = {NULL, &from, NULL};
    for (size_t i = 0; i < count && i < MOST_COLUMNS && !failed(lowering); i++) {
        const PgQuery__Node *node = lower_target_of(lowering, list[i]);
        if (node)
            values[i] = lower_expression(lowering, &scope, node);
    }
    return values;
}
