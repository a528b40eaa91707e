/* INSERT: a slot for each row, its keys claimed, ON CONFLICT DO NOTHING. */
#include <assert.h>
#include <string.h>

#include "lower/lower_private.h"

/* Slot parameters come in the order in which statements are lowered. */
static uint32_t take_slot(struct lowering *lowering, struct table *table)
{
    struct function *function = lowering->body.function;
    uint32_t number = (uint32_t)(table - lowering->tables.list);
    assert(number < lowering->tables.count);
    ISO_APPEND(function->slots, number);
    uint32_t slot = function->slots.count - 1;
    if (slot >= function->known_slots) /* an early round */
        return lower_number(lowering, 0);
    return lower_make(lowering, ISO_PROVE_LOCAL, function->first_slot + slot, NONE, NONE);
}

/* Claims the keys of a new row. Gives the condition under which it is inserted; NONE: never. */
static uint32_t claim_keys(struct lowering *lowering, struct table *table,
                           const struct value *values, const PgQuery__OnConflictClause *conflict,
                           const bool *arbiters)
{
    uint32_t inserted = lower_number(lowering, 1), taken[1];
    assert(table->uniques.count <= MOST_COLUMNS); /* `arbiters` has as many */
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < table->uniques.count && !failed(lowering); i++) {
            const struct unique *unique = &table->uniques.list[i];
            bool quiet = conflict && arbiters[i];
            if (unique->generated || quiet != (pass == 0))
                continue;
            if (unique->table == NONE) { /* an early round: both ways are followed */
                if (quiet)
                    inserted = lower_and(lowering, inserted, lower_unknown(lowering));
                continue;
            }
            struct guard guard;
            uint32_t null,
                cell = lower_keep(lowering, lower_cell_of_key(lowering, unique, values, &null));
            uint32_t has = lower_and(lowering, inserted, lower_not(lowering, null));
            int64_t number;
            bool always = lower_constant_of(lowering, has, &number);
            if (has == NONE)
                continue;
            table->inserts = true;
            lower_begin_guard(lowering, &guard, has);
            *taken = lower_number(lowering, 1);
            uint32_t done = lower_add_told_access(lowering, ISO_PROVE_WRITE, unique->table, cell,
                                                  lower_is_free(lowering, unique, cell), taken);
            if (!quiet)
                lower_abort_if(lowering, lower_not(lowering, done));
            lower_end_guard(lowering, &guard);
            if (quiet)
                inserted =
                    lower_keep(lowering, lower_and(lowering, inserted,
                                                   always ? done : lower_or(lowering, null, done)));
        }
    return inserted;
}

static bool find_arbiters(struct lowering *lowering, const struct table *table,
                          const PgQuery__OnConflictClause *conflict, bool *arbiters)
{
    const PgQuery__InferClause *infer = conflict->infer;
    uint32_t quiet = 0;
    if (conflict->action != PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_NOTHING) {
        lower_refuse_form(lowering, location_of(lowering, conflict->location),
                          "ON CONFLICT DO UPDATE");
        return false;
    }
    for (uint32_t i = 0; i < table->uniques.count; i++) {
        const struct unique *unique = &table->uniques.list[i];
        arbiters[i] = !infer || (*infer->conname && !strcmp(infer->conname, unique->name)) ||
                      (!*infer->conname && infer->n_index_elems == unique->count);
        for (size_t j = 0; infer && !*infer->conname && j < infer->n_index_elems && arbiters[i];
             j++) {
            const PgQuery__Node *element = infer->index_elems[j];
            bool named = false;
            for (uint32_t k = 0; k < unique->count; k++)
                named = named || (element->node_case == PG_QUERY__NODE__NODE_INDEX_ELEM &&
                                  !strcmp(element->index_elem->name,
                                          table->columns[unique->columns[k]].name));
            arbiters[i] = named;
            if (named && lower_find_variable(lowering, element->index_elem->name) != NONE)
                lower_refuse_both(lowering, location_of(lowering, infer->location),
                                  element->index_elem->name);
        }
        quiet += arbiters[i] && !unique->generated;
    }
    if (infer && infer->where_clause)
        lower_refuse_form(lowering, location_of(lowering, infer->location),
                          "ON CONFLICT with WHERE");
    if (quiet > 1)
        lower_refuse(lowering, location_of(lowering, conflict->location),
                     "ON CONFLICT DO NOTHING with several unique indexes: name the columns of one");
    return !failed(lowering);
}

static uint32_t insert_row(struct lowering *lowering, struct table *table,
                           const PgQuery__InsertStmt *insert, const uint32_t *columns,
                           uint32_t column_count, const PgQuery__List *list, struct value *values)
{
    bool set[MOST_COLUMNS], arbiters[MOST_COLUMNS] = {false};
    uint32_t row[1 + 2 * MOST_COLUMNS], slot = take_slot(lowering, table);
    for (uint32_t i = 0; i < table->column_count; i++) {
        set[i] = true;
        bool given = false;
        for (uint32_t j = 0; j < column_count && j < list->n_items; j++)
            given = given || (columns[j] == i &&
                              list->items[j]->node_case != PG_QUERY__NODE__NODE_SET_TO_DEFAULT);
        values[i] = lower_null(lowering);
        values[i].type = table->columns[i].type;
        if (!given)
            values[i] = lower_default(lowering, &table->columns[i]);
        if (table->columns[i].serial) {
            values[i] = lower_constant(lowering, table->columns[i].type, 0);
            values[i].at =
                lower_make(lowering, ISO_PROVE_ADD, slot, lower_number(lowering, 1), NONE);
            values[i].low = 1;
            values[i].high = lower_rows_of(table) ? lower_rows_of(table) : 1;
        }
    }
    if (list->n_items > column_count)
        lower_refuse(lowering, lowering->at.span.begin, "INSERT has more values than columns");
    for (size_t i = 0; i < list->n_items && i < column_count && !failed(lowering); i++) {
        struct column *column = &table->columns[columns[i]];
        if (list->items[i]->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT)
            continue;
        size_t location = location_of(lowering, lower_location_of(list->items[i]));
        if (column->serial)
            lower_refuse_form(lowering, location, "a value for the serial column \"%s\"",
                              column->name);
        struct value value = lower_expression(lowering, NULL, list->items[i]);
        if (!failed(lowering) && lower_convert(lowering, column, &value, location))
            values[columns[i]] = value;
    }
    if (failed(lowering))
        return NONE;
    for (uint32_t i = 0; i < table->column_count;
         i++) { /* computed once, before anything is claimed */
        values[i] = lower_keep_value(lowering, values[i]);
        lower_note_growth(lowering, table, i, &values[i]);
    }
    lower_abort_if(lowering, lower_broken(lowering, table, values, set));
    const PgQuery__OnConflictClause *conflict = insert->on_conflict_clause;
    if (conflict && !find_arbiters(lowering, table, conflict, arbiters))
        return NONE;
    uint32_t inserted = claim_keys(lowering, table, values, conflict, arbiters);
    if (failed(lowering) || inserted == NONE)
        return NONE;
    struct guard guard;
    lower_begin_guard(lowering, &guard, inserted);
    row[0] = lower_number(lowering, 1);
    lower_row_values(lowering, table, values, set, row);
    lower_add_access(lowering, ISO_PROVE_WRITE, table->ir, slot, NONE, row);
    lower_abort_if(lowering, lower_is_orphan(lowering, table, values, set));
    lower_end_guard(lowering, &guard);
    return inserted;
}

void lower_insert(struct lowering *lowering, const PgQuery__InsertStmt *insert,
                  const struct target *target)
{
    struct table *table = lower_find_table(lowering, insert->relation);
    uint32_t columns[MOST_COLUMNS];
    if (!table)
        return;
    if (insert->with_clause || insert->override != PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET)
        lower_refuse_form(lowering, location_of(lowering, insert->relation->location),
                          "INSERT with WITH or OVERRIDING");
    uint32_t column_count = lower_find_insert_columns(lowering, insert, table, columns);
    const PgQuery__SelectStmt *select =
        insert->select_stmt ? insert->select_stmt->select_stmt : NULL;
    if (!select || !select->n_values_lists)
        lower_refuse_form(lowering, location_of(lowering, insert->relation->location),
                          "INSERT without VALUES");
    if (failed(lowering))
        return;
    if (!lower_limit_returning(lowering, target, insert->n_returning_list))
        return;
    if (target->given && select->n_values_lists != 1)
        lower_refuse(lowering, target->location, "RETURNING of several rows INTO variables");
    for (size_t i = 0; i < select->n_values_lists; i++)
        for (size_t j = 0; j < select->values_lists[i]->list->n_items; j++)
            lower_hoist(lowering, select->values_lists[i]->list->items[j], table);
    for (size_t i = 0; i < insert->n_returning_list && target->given; i++)
        lower_hoist(lowering, insert->returning_list[i], table);
    struct value *values = iso_allocate(sizeof *values * MOST_COLUMNS);
    uint32_t *done = iso_allocate(iso_list_bytes(select->n_values_lists, sizeof *done)), count = 0;
    for (size_t i = 0; i < select->n_values_lists && !failed(lowering); i++)
        done[count++] = insert_row(lowering, table, insert, columns, column_count,
                                   select->values_lists[i]->list, values);
    if (!failed(lowering) && target->given) {
        struct value given[MOST_COLUMNS];
        lower_returned(lowering, table, insert->returning_list, insert->n_returning_list, values,
                       given);
        for (size_t i = 0; i < insert->n_returning_list && !failed(lowering); i++)
            given[i] = lower_value_choose(lowering, done[0], given[i], lower_null(lowering));
        if (!failed(lowering))
            lower_assign_all(lowering, target, given, (uint32_t)insert->n_returning_list);
    }
    if (!failed(lowering)) {
        uint32_t found = lower_keep(lowering, lower_any(lowering, done, count));
        lower_set_found(lowering, found, lower_count_of(lowering, done, count));
    }
    ISO_FREE_ALL(values, done);
}
