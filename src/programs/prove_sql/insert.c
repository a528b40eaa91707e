/* INSERT: a slot for each row, its keys claimed, ON CONFLICT DO NOTHING. */
#include <string.h>

#include "prove_sql/lower_private.h"

/* Slot parameters come in the order in which statements are lowered. */
static uint32_t take_slot(struct lowering *lowering, struct table *table)
{
    struct function *function = lowering->function;
    uint32_t number = (uint32_t)(table - lowering->tables);
    ISO_GROW(function->slots, function->slot_count, function->slot_capacity);
    function->slots[function->slot_count++] = (struct slot){number};
    uint32_t slot = function->slot_count - 1;
    if (slot >= function->known_slots) /* an early round */
        return make_constant(lowering, 0);
    return make(lowering, ISO_PROVE_LOCAL, function->first_slot + slot, NONE, NONE);
}

/* Claims the keys of a new row. Gives the condition under which it is inserted; NONE: never. */
static uint32_t claim_keys(struct lowering *lowering, struct table *table,
                           const struct value *values, const PgQuery__OnConflictClause *conflict,
                           const bool *arbiters)
{
    uint32_t inserted = make_constant(lowering, 1), taken[1];
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < table->unique_count && !failed(lowering); i++) {
            const struct unique *unique = &table->uniques[i];
            bool quiet = conflict && arbiters[i];
            if (unique->generated || unique->table == NONE || quiet != (pass == 0))
                continue;
            struct iso_prove_block block, *outer = NULL;
            uint32_t null,
                cell = settle(lowering, prove_sql_cell_of_key(lowering, unique, values, &null));
            uint32_t has = both(lowering, inserted, inverse(lowering, null));
            int64_t number;
            bool always = constant_of(lowering, has, &number);
            if (has == NONE)
                continue;
            table->inserts = true;
            if (!always)
                outer = enter(lowering, &block);
            *taken = make_constant(lowering, 1);
            uint32_t done = prove_sql_access_told(lowering, ISO_PROVE_WRITE, unique->table, cell,
                                                  prove_sql_is_free(lowering, unique, cell), taken);
            if (!quiet)
                abort_if(lowering, inverse(lowering, done));
            if (!always)
                leave_if(lowering, outer, has, &block, NULL);
            if (quiet)
                inserted = settle(lowering, both(lowering, inserted,
                                                 always ? done : either(lowering, null, done)));
        }
    return inserted;
}

static bool find_arbiters(struct lowering *lowering, const struct table *table,
                          const PgQuery__OnConflictClause *conflict, bool *arbiters)
{
    const PgQuery__InferClause *infer = conflict->infer;
    uint32_t quiet = 0;
    if (conflict->action != PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_NOTHING) {
        refuse(lowering, place_of(lowering, conflict->location),
               "ON CONFLICT DO UPDATE: not in the subset that can be proved");
        return false;
    }
    for (uint32_t i = 0; i < table->unique_count; i++) {
        const struct unique *unique = &table->uniques[i];
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
        }
        quiet += arbiters[i] && !unique->generated;
    }
    if (infer && infer->where_clause)
        refuse(lowering, place_of(lowering, infer->location),
               "ON CONFLICT with WHERE: not in the subset that can be proved");
    if (quiet > 1)
        refuse(lowering, place_of(lowering, conflict->location),
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
        values[i] = value_null(lowering);
        values[i].type = table->columns[i].type;
        if (table->columns[i].serial) {
            values[i] = value_constant(lowering, table->columns[i].type, 0);
            values[i].at = make(lowering, ISO_PROVE_ADD, slot, make_constant(lowering, 1), NONE);
            values[i].low = 1;
            values[i].high = rows_of(table) ? rows_of(table) : 1;
        }
    }
    if (list->n_items > column_count)
        refuse(lowering, lowering->span.begin, "INSERT has more values than columns");
    for (size_t i = 0; i < list->n_items && i < column_count && !failed(lowering); i++) {
        struct column *column = &table->columns[columns[i]];
        if (list->items[i]->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT)
            continue;
        size_t place = place_of(lowering, location_of(list->items[i]));
        if (column->serial)
            refuse(lowering, place,
                   "a value for the serial column \"%s\": not in the subset that can be proved",
                   column->name);
        struct value value = lower(lowering, NULL, list->items[i]);
        if (!failed(lowering) && prove_sql_convert(lowering, column, &value, place))
            values[columns[i]] = value;
    }
    if (failed(lowering))
        return NONE;
    for (uint32_t i = 0; i < table->column_count;
         i++) { /* computed once, before anything is claimed */
        values[i] = prove_sql_settled(lowering, values[i]);
        prove_sql_note_growth(lowering, table, i, &values[i]);
    }
    abort_if(lowering, prove_sql_broken(lowering, table, values, set));
    const PgQuery__OnConflictClause *conflict = insert->on_conflict_clause;
    if (conflict && !find_arbiters(lowering, table, conflict, arbiters))
        return NONE;
    uint32_t inserted = claim_keys(lowering, table, values, conflict, arbiters);
    if (failed(lowering) || inserted == NONE)
        return NONE;
    struct iso_prove_block block, *outer = NULL;
    int64_t number;
    bool always = constant_of(lowering, inserted, &number);
    if (!always)
        outer = enter(lowering, &block);
    row[0] = make_constant(lowering, 1);
    prove_sql_row_values(lowering, table, values, set, row);
    prove_sql_add_access(lowering, ISO_PROVE_WRITE, table->ir, slot, NONE, row);
    if (!always)
        leave_if(lowering, outer, inserted, &block, NULL);
    return inserted;
}

void prove_sql_lower_insert(struct lowering *lowering, const PgQuery__InsertStmt *insert,
                            const struct target *target)
{
    struct table *table = find_table(lowering, insert->relation);
    uint32_t columns[MOST_COLUMNS];
    if (!table)
        return;
    if (insert->with_clause || insert->override != PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET)
        refuse(lowering, place_of(lowering, insert->relation->location),
               "INSERT with WITH or OVERRIDING: not in the subset that can be proved");
    uint32_t column_count = find_insert_columns(lowering, insert, table, columns);
    const PgQuery__SelectStmt *select =
        insert->select_stmt ? insert->select_stmt->select_stmt : NULL;
    if (!select || !select->n_values_lists)
        refuse(lowering, place_of(lowering, insert->relation->location),
               "INSERT without VALUES: not in the subset that can be proved");
    if (failed(lowering))
        return;
    if (target->given && select->n_values_lists != 1)
        refuse(lowering, target->place, "RETURNING of several rows INTO variables");
    struct value *values = iso_allocate(sizeof *values * MOST_COLUMNS);
    uint32_t *done = iso_allocate(iso_list_bytes(select->n_values_lists, sizeof *done)), count = 0;
    for (size_t i = 0; i < select->n_values_lists && !failed(lowering); i++)
        done[count++] = insert_row(lowering, table, insert, columns, column_count,
                                   select->values_lists[i]->list, values);
    if (!failed(lowering) && target->given) {
        struct value given[MOST_COLUMNS];
        prove_sql_returned(lowering, table, insert->returning_list, insert->n_returning_list,
                           values, given);
        for (size_t i = 0; i < insert->n_returning_list && !failed(lowering); i++)
            given[i] = value_choose(lowering, done[0], given[i], value_null(lowering));
        if (!failed(lowering))
            prove_sql_assign_all(lowering, target, given, (uint32_t)insert->n_returning_list);
    }
    if (!failed(lowering)) {
        uint32_t found = settle(lowering, any_of(lowering, done, count));
        set_found(lowering, found, prove_sql_count_of(lowering, done, count));
    }
    iso_free(values);
    iso_free(done);
}
