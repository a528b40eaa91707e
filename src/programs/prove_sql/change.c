/* UPDATE and DELETE: the candidates of the statement's snapshot, each claimed, asked again and
 * changed. */
#include <string.h>

#include "prove_sql/lower_private.h"

struct mentions {
    const char *name;
    bool found;
};

static bool find_range(void *with, const PgQuery__Node *node)
{
    struct mentions *mentions = with;
    if (node->node_case == PG_QUERY__NODE__NODE_RANGE_VAR &&
        !strcmp(node->range_var->relname, mentions->name))
        mentions->found = true;
    return true;
}

struct hoisting {
    struct lowering *lowering;
    const struct table *table;
};

static bool hoist_link(void *with, const PgQuery__Node *node)
{
    struct hoisting *hoisting = with;
    struct lowering *lowering = hoisting->lowering;
    struct mentions mentions = {hoisting->table->name, false};
    if (node->node_case != PG_QUERY__NODE__NODE_SUB_LINK || failed(lowering))
        return true;
    each_node(&node->base, find_range, &mentions);
    if (!mentions.found)
        return false;
    struct value value = prove_sql_settled(lowering, lower(lowering, NULL, node));
    ISO_GROW(lowering->hoisted, lowering->hoisted_count, lowering->hoisted_capacity);
    lowering->hoisted[lowering->hoisted_count++] = (struct hoisted){node, value};
    return false;
}

/* Sub-selects of the table that is about to change see it as it was. They may name no column of the
 * row. */
static void hoist(struct lowering *lowering, const PgQuery__Node *node, const struct table *table)
{
    struct hoisting hoisting = {lowering, table};
    if (node)
        each_node(&node->base, hoist_link, &hoisting);
}

/* SET a = a: the row is written, and its keys are what they were. */
static bool stays(const struct change *change, const PgQuery__ResTarget *target)
{
    if (target->n_indirection || target->val->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
        return false;
    const PgQuery__ColumnRef *reference = target->val->column_ref;
    const PgQuery__Node *last = reference->fields[reference->n_fields - 1],
                        *first = reference->fields[0];
    if (last->node_case != PG_QUERY__NODE__NODE_STRING ||
        strcmp(last->string->sval, target->name) || reference->n_fields > 2 ||
        find_column(change->table, target->name) == NONE)
        return false;
    return reference->n_fields == 1 || (first->node_case == PG_QUERY__NODE__NODE_STRING &&
                                        !strcmp(first->string->sval, change->alias));
}

/* The new values of a row; `set` says which. */
static void new_values(struct lowering *lowering, const struct change *change,
                       const struct scope *scope, struct value *values, bool *set)
{
    struct entry *entry = &scope->from->entries[0];
    for (uint32_t i = 0; i < change->table->column_count; i++) {
        values[i] = read_column(lowering, entry, i);
        set[i] = false;
    }
    for (size_t i = 0; i < change->set_count && !failed(lowering); i++) {
        const PgQuery__ResTarget *target = change->sets[i]->res_target;
        uint32_t column = find_column(change->table, target->name);
        if (stays(change, target))
            continue;
        size_t place = place_of(lowering, target->location);
        if (column == NONE || target->n_indirection ||
            target->val->node_case == PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF ||
            target->val->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT) {
            refuse(
                lowering, place,
                column == NONE
                    ? "table \"%s\" has no column \"%s\""
                    : "this SET of table \"%s\", column \"%s\": not in the subset that can be proved",
                change->table->name, target->name);
            return;
        }
        if (change->table->columns[column].serial)
            refuse(lowering, place,
                   "UPDATE of the serial column \"%s\": not in the subset that can be proved",
                   target->name);
        struct value value = lower(lowering, scope, target->val);
        if (failed(lowering) ||
            !prove_sql_convert(lowering, &change->table->columns[column], &value, place))
            return;
        values[column] = value;
        set[column] = true;
        prove_sql_note_growth(lowering, change->table, column, &value);
    }
}

static bool changes_key(const struct unique *unique, const bool *set)
{
    for (uint32_t i = 0; i < unique->count; i++)
        if (set[unique->columns[i]])
            return true;
    return false;
}

static void free_key(struct lowering *lowering, const struct unique *unique, uint32_t cell,
                     uint32_t null)
{
    struct iso_prove_block block, *outer = NULL;
    uint32_t nothing[1] = {make_constant(lowering, 0)};
    if (null != NONE)
        outer = enter(lowering, &block);
    prove_sql_add_access(lowering, ISO_PROVE_WRITE, unique->table, cell, NONE, nothing);
    if (null != NONE)
        leave_if(lowering, outer, inverse(lowering, null), &block, NULL);
}

static void take_key(struct lowering *lowering, const struct unique *unique, uint32_t cell,
                     uint32_t null)
{
    struct iso_prove_block block, *outer = NULL;
    uint32_t taken[1] = {make_constant(lowering, 1)};
    if (null != NONE)
        outer = enter(lowering, &block);
    uint32_t done = prove_sql_access_told(lowering, ISO_PROVE_WRITE, unique->table, cell,
                                          prove_sql_is_free(lowering, unique, cell), taken);
    abort_if(lowering, inverse(lowering, done));
    if (null != NONE)
        leave_if(lowering, outer, inverse(lowering, null), &block, NULL);
}

/* One row that matches in the statement's snapshot: claimed, asked again, changed. Gives
 * whether. */
static uint32_t change_row(struct lowering *lowering, const struct change *change,
                           const struct scope *scope)
{
    struct table *table = change->table;
    struct value *values = iso_allocate(sizeof *values * MOST_COLUMNS);
    bool set[MOST_COLUMNS] = {false}, keys = false;
    uint32_t row[1 + 2 * MOST_COLUMNS], fails = NONE, number = scope->from->entries[0].row;
    uint32_t index = make_constant(lowering, number),
             width = lowering->program->tables.list[table->ir].columns;
    for (uint32_t i = 0; i < width; i++)
        row[i] = NONE;
    uint32_t where = both(lowering, presence(lowering, table, number),
                          lower_condition(lowering, scope, change->where, &fails)),
             done = NONE;
    if (!failed(lowering))
        new_values(lowering, change, scope, values, set);
    for (uint32_t i = 0; i < table->unique_count; i++)
        keys = keys || (!table->uniques[i].generated && table->uniques[i].table != NONE &&
                        (change->deletes || changes_key(&table->uniques[i], set)));
    if (!failed(lowering)) {
        uint32_t bad = change->deletes ? fails
                                       : either(lowering, fails,
                                                prove_sql_broken(lowering, table, values, set));
        if (bad != NONE || keys) { /* claims, and writes nothing */
            done = prove_sql_access_told(lowering, ISO_PROVE_WRITE, table->ir, index, where, row);
            abort_if(lowering, both(lowering, done, bad));
        }
        if (keys && !failed(lowering)) {
            struct iso_prove_block block, *outer = enter(lowering, &block);
            struct value old[MOST_COLUMNS];
            for (uint32_t i = 0; i < table->column_count; i++)
                old[i] = read_column(lowering, &scope->from->entries[0], i);
            for (uint32_t i = 0; i < table->unique_count; i++) {
                const struct unique *unique = &table->uniques[i];
                uint32_t before_null, after_null;
                if (unique->generated || unique->table == NONE ||
                    !(change->deletes || changes_key(unique, set)))
                    continue;
                table->frees = true;
                table->inserts = table->inserts || !change->deletes;
                uint32_t before =
                    settle(lowering, prove_sql_cell_of_key(lowering, unique, old, &before_null));
                uint32_t after = NONE;
                if (!change->deletes)
                    after = settle(lowering,
                                   prove_sql_cell_of_key(lowering, unique, values, &after_null));
                free_key(lowering, unique, before, settle(lowering, before_null));
                if (!change->deletes)
                    take_key(lowering, unique, after, settle(lowering, after_null));
            }
            leave_if(lowering, outer, done, &block, NULL);
        }
        if (change->deletes)
            row[0] = make_constant(lowering, 0);
        else
            prove_sql_row_values(lowering, table, values, set, row);
        if (change->given) { /* RETURNING: what is written, seen behind the claim */
            if (done == NONE) {
                uint32_t nothing[1 + 2 * MOST_COLUMNS];
                for (uint32_t i = 0; i < width; i++)
                    nothing[i] = NONE;
                done = prove_sql_access_told(lowering, ISO_PROVE_WRITE, table->ir, index, where,
                                             nothing);
            }
            struct value given[MOST_COLUMNS];
            prove_sql_returned(lowering, table, change->returning, change->returning_count, values,
                               given);
            for (size_t i = 0; i < change->returning_count && !failed(lowering); i++)
                change->given[i] = value_choose(
                    lowering, done, prove_sql_settled(lowering, given[i]), change->given[i]);
        }
        if (done == NONE)
            done = prove_sql_access_told(lowering, ISO_PROVE_WRITE, table->ir, index, where, row);
        else
            prove_sql_add_access(lowering, ISO_PROVE_WRITE, table->ir, index, done, row);
    }
    iso_free(values);
    return done;
}

static void change_rows(struct lowering *lowering, const struct change *change, struct from *from)
{
    struct scope scope = {NULL, from, NULL};
    struct combos combos;
    hoist(lowering, change->where, change->table);
    for (size_t i = 0; i < change->set_count; i++)
        hoist(lowering, change->sets[i], change->table);
    if (!failed(lowering))
        find_combos(lowering, NULL, from, &combos);
    else
        return;
    abort_if(lowering, combos.fails);
    uint32_t *candidates = iso_allocate(iso_list_bytes(combos.count + 1, sizeof(uint32_t)));
    for (uint32_t i = 0; i < combos.count; i++)
        candidates[i] = settle(lowering, combos.matches[i]);
    for (uint32_t i = 0; i < combos.count && !failed(lowering); i++) {
        choose_rows(from, &combos, i);
        struct iso_prove_block block, *outer = NULL;
        int64_t number;
        bool always = constant_of(lowering, candidates[i], &number);
        if (!always)
            outer = enter(lowering, &block);
        uint32_t done = change_row(lowering, change, &scope);
        if (!always)
            leave_if(lowering, outer, candidates[i], &block, NULL);
        candidates[i] = both(lowering, candidates[i], done);
    }
    if (!failed(lowering)) {
        uint32_t found = settle(lowering, any_of(lowering, candidates, combos.count));
        uint32_t many = settle(lowering, prove_sql_count_of(lowering, candidates, combos.count));
        if (change->given) {
            for (size_t i = 0; i < change->returning_count; i++)
                change->given[i] =
                    value_choose(lowering, found, change->given[i], value_null(lowering));
            prove_sql_assign_all(lowering, change->target, change->given,
                                 (uint32_t)change->returning_count);
        }
        set_found(lowering, found, many);
    }
    iso_free(candidates);
    release_combos(&combos);
    lowering->hoisted_count = 0;
}

void prove_sql_lower_change(struct lowering *lowering, struct change *change,
                            const PgQuery__RangeVar *relation, bool other)
{
    struct from from = {0};
    struct value given[MOST_COLUMNS];
    change->table = find_table(lowering, relation);
    if (!change->table)
        return;
    change->alias = relation->alias ? relation->alias->aliasname : change->table->name;
    size_t place = place_of(lowering, relation->location);
    if (other)
        refuse(lowering, place, "%s: not in the subset that can be proved",
               change->deletes ? "DELETE with USING or WITH" : "UPDATE with FROM or WITH");
    if (change->deletes)
        change->table->deletes = true;
    for (size_t i = 0; i < change->set_count; i++) {
        uint32_t column = find_column(change->table, change->sets[i]->res_target->name);
        if (column != NONE && !stays(change, change->sets[i]->res_target))
            change->table->columns[column].changes = true;
    }
    ISO_GROW(from.entries, from.count, from.capacity);
    from.entries[from.count++] = (struct entry){change->alias, change->table, NONE, NULL};
    if (change->where) {
        ISO_GROW(from.conditions, from.condition_count, from.condition_capacity);
        from.conditions[from.condition_count++] = change->where;
    }
    bool one = at_most_one(lowering, &from);
    for (uint32_t i = 0; i < change->table->unique_count && !change->deletes && !one; i++)
        for (size_t j = 0; j < change->set_count; j++)
            for (uint32_t k = 0; k < change->table->uniques[i].count; k++)
                if (!strcmp(change->table->columns[change->table->uniques[i].columns[k]].name,
                            change->sets[j]->res_target->name) &&
                    !stays(change, change->sets[j]->res_target))
                    refuse(
                        lowering, place_of(lowering, change->sets[j]->res_target->location),
                        "UPDATE of a unique column of several rows: not in the subset that can be proved");
    if (change->target->given && !one)
        refuse(lowering, change->target->place, "RETURNING of several rows INTO variables");
    if (change->target->given) {
        for (size_t i = 0; i < change->returning_count && i < MOST_COLUMNS; i++)
            given[i] = value_null(lowering);
        change->given = given;
    }
    if (!failed(lowering))
        change_rows(lowering, change, &from);
    close_from(&from);
}
