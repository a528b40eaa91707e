/* UPDATE and DELETE: the candidates of the statement's snapshot, each claimed, asked again and
 * changed. */
#include <assert.h>
#include <string.h>

#include "lower/lower_private.h"

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
    lower_each_node(&node->base, find_range, &mentions);
    if (!mentions.found)
        return false;
    struct value value = lower_keep_value(lowering, lower_expression(lowering, NULL, node));
    ISO_APPEND(lowering->at.hoisted, (struct hoisted){node, value});
    return false;
}

void lower_hoist(struct lowering *lowering, const PgQuery__Node *node, const struct table *table)
{
    struct hoisting hoisting = {lowering, table};
    if (node)
        lower_each_node(&node->base, hoist_link, &hoisting);
}

/* SET a = a: the row is written, and its keys are what they were. */
static bool stays(const struct lowering *lowering, const struct change *change,
                  const PgQuery__ResTarget *target)
{
    if (target->n_indirection || target->val->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
        return false;
    const PgQuery__ColumnRef *reference = target->val->column_ref;
    const PgQuery__Node *last = reference->fields[reference->n_fields - 1],
                        *first = reference->fields[0];
    if (last->node_case != PG_QUERY__NODE__NODE_STRING ||
        strcmp(last->string->sval, target->name) || reference->n_fields > 2 ||
        lower_find_column(change->table, target->name) == NONE)
        return false;
    if (reference->n_fields == 1 && lower_find_variable(lowering, target->name) != NONE)
        return false; /* refused, where it is read */
    return reference->n_fields == 1 || (first->node_case == PG_QUERY__NODE__NODE_STRING &&
                                        !strcmp(first->string->sval, change->alias));
}

/* The new values of a row; `set` says which. */
static void new_values(struct lowering *lowering, const struct change *change,
                       const struct scope *scope, struct value *values, bool *set)
{
    struct entry *entry = &scope->from->entries.list[0];
    for (uint32_t i = 0; i < change->table->column_count; i++) {
        values[i] = lower_read_column(lowering, entry, i);
        set[i] = false;
    }
    for (size_t i = 0; i < change->set_count && !failed(lowering); i++) {
        const PgQuery__ResTarget *target = change->sets[i]->res_target;
        uint32_t column = lower_find_column(change->table, target->name);
        if (stays(lowering, change, target))
            continue;
        size_t location = location_of(lowering, target->location);
        if (column == NONE || target->n_indirection ||
            target->val->node_case == PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF ||
            target->val->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT) {
            if (column == NONE)
                lower_refuse(lowering, location, "table \"%s\" has no column \"%s\"",
                             change->table->name, target->name);
            else
                lower_refuse_form(lowering, location, "this SET of table \"%s\", column \"%s\"",
                                  change->table->name, target->name);
            return;
        }
        if (change->table->columns[column].serial)
            lower_refuse_form(lowering, location, "UPDATE of the serial column \"%s\"",
                              target->name);
        struct value value = lower_expression(lowering, scope, target->val);
        if (failed(lowering) ||
            !lower_convert(lowering, &change->table->columns[column], &value, location))
            return;
        if (value.fails != NONE)
            lower_check_planned(lowering, target->val, value.fails);
        values[column] = value;
        set[column] = true;
        lower_note_growth(lowering, change->table, column, &value);
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
    assert(unique->table != NONE);
    struct guard guard;
    uint32_t nothing[1] = {lower_number(lowering, 0)};
    lower_begin_guard(lowering, &guard, lower_not(lowering, null));
    lower_add_access(lowering, ISO_PROVE_WRITE, unique->table, cell, NONE, nothing);
    lower_end_guard(lowering, &guard);
}

static void take_key(struct lowering *lowering, const struct unique *unique, uint32_t cell,
                     uint32_t null)
{
    assert(unique->table != NONE);
    struct guard guard;
    uint32_t taken[1] = {lower_number(lowering, 1)};
    lower_begin_guard(lowering, &guard, lower_not(lowering, null));
    uint32_t done = lower_add_told_access(lowering, ISO_PROVE_WRITE, unique->table, cell,
                                          lower_is_free(lowering, unique, cell), taken);
    lower_abort_if(lowering, lower_not(lowering, done));
    lower_end_guard(lowering, &guard);
}

/* One row that matches in the statement's snapshot: claimed, asked again, changed. Gives
 * whether. */
static uint32_t change_row(struct lowering *lowering, const struct change *change,
                           const struct scope *scope)
{
    struct table *table = change->table;
    struct value *values = iso_allocate(sizeof *values * MOST_COLUMNS);
    bool set[MOST_COLUMNS] = {false}, keys = false;
    uint32_t row[1 + 2 * MOST_COLUMNS], fails = NONE, number = scope->from->entries.list[0].row;
    uint32_t index = lower_number(lowering, number),
             width = lowering->program->tables.list[table->ir].columns;
    assert(scope->from->entries.count == 1 && width <= 1 + 2 * MOST_COLUMNS);
    for (uint32_t i = 0; i < width; i++)
        row[i] = NONE;
    uint32_t where = lower_and(lowering, lower_presence(lowering, table, number),
                               lower_condition(lowering, scope, change->where, &fails)),
             done = NONE;
    if (!failed(lowering))
        new_values(lowering, change, scope, values, set);
    for (uint32_t i = 0; i < table->uniques.count; i++)
        keys = keys || (!table->uniques.list[i].generated && table->uniques.list[i].table != NONE &&
                        (change->deletes || changes_key(&table->uniques.list[i], set)));
    lower_check_referred(lowering, table, change->deletes ? NULL : set);
    if (!failed(lowering)) {
        uint32_t bad = change->deletes
                           ? fails
                           : lower_or(lowering, fails,
                                      lower_or(lowering, lower_broken(lowering, table, values, set),
                                               lower_is_orphan(lowering, table, values, set)));
        if (bad != NONE || keys) { /* claims, and writes nothing */
            done = lower_add_told_access(lowering, ISO_PROVE_WRITE, table->ir, index, where, row);
            lower_abort_if(lowering, lower_and(lowering, done, bad));
        }
        if (keys && !failed(lowering)) {
            struct guard guard;
            lower_begin_guard(lowering, &guard, done);
            struct value old[MOST_COLUMNS];
            for (uint32_t i = 0; i < table->column_count; i++)
                old[i] = lower_read_column(lowering, &scope->from->entries.list[0], i);
            for (uint32_t i = 0; i < table->uniques.count; i++) {
                const struct unique *unique = &table->uniques.list[i];
                uint32_t before_null, after_null;
                if (unique->generated || unique->table == NONE ||
                    !(change->deletes || changes_key(unique, set)))
                    continue;
                table->frees = true;
                table->inserts = table->inserts || !change->deletes;
                uint32_t before =
                    lower_keep(lowering, lower_cell_of_key(lowering, unique, old, &before_null));
                uint32_t after = NONE;
                if (!change->deletes)
                    after = lower_keep(lowering,
                                       lower_cell_of_key(lowering, unique, values, &after_null));
                free_key(lowering, unique, before, lower_keep(lowering, before_null));
                if (!change->deletes)
                    take_key(lowering, unique, after, lower_keep(lowering, after_null));
            }
            lower_end_guard(lowering, &guard);
        }
        if (change->deletes)
            row[0] = lower_number(lowering, 0);
        else
            lower_row_values(lowering, table, values, set, row);
        if (change->given) { /* RETURNING: what is written, seen behind the claim */
            if (done == NONE) {
                uint32_t nothing[1 + 2 * MOST_COLUMNS];
                for (uint32_t i = 0; i < width; i++)
                    nothing[i] = NONE;
                done = lower_add_told_access(lowering, ISO_PROVE_WRITE, table->ir, index, where,
                                             nothing);
            }
            struct value given[MOST_COLUMNS];
            lower_returned(lowering, table, change->returning, change->returning_count, values,
                           given);
            for (size_t i = 0; i < change->returning_count && !failed(lowering); i++)
                change->given[i] = lower_value_choose(
                    lowering, done, lower_keep_value(lowering, given[i]), change->given[i]);
        }
        if (done == NONE)
            done = lower_add_told_access(lowering, ISO_PROVE_WRITE, table->ir, index, where, row);
        else
            lower_add_access(lowering, ISO_PROVE_WRITE, table->ir, index, done, row);
    }
    iso_free(values);
    return done;
}

/* The values of SET where no row is changed: for what is refused in them. */
static void set_nothing(struct lowering *lowering, const struct change *change,
                        const struct scope *scope)
{
    for (size_t i = 0; i < change->set_count && !failed(lowering); i++) {
        const PgQuery__ResTarget *target = change->sets[i]->res_target;
        uint32_t column = lower_find_column(change->table, target->name);
        struct value value = lower_read_of_nothing(lowering, scope, target->val);
        if (column == NONE || failed(lowering))
            continue;
        if (lower_convert(lowering, &change->table->columns[column], &value,
                          location_of(lowering, target->location)) &&
            value.fails != NONE)
            lower_check_planned(lowering, target->val, value.fails);
    }
}

static void change_rows(struct lowering *lowering, const struct change *change, struct from *from)
{
    struct scope scope = {NULL, from, NULL};
    struct combos combos;
    lower_hoist(lowering, change->where, change->table);
    for (size_t i = 0; i < change->set_count; i++)
        lower_hoist(lowering, change->sets[i], change->table);
    for (size_t i = 0; i < change->returning_count && change->given; i++)
        lower_hoist(lowering, change->returning[i], change->table);
    if (!failed(lowering))
        lower_find_combos(lowering, NULL, from, &combos);
    else
        return;
    if (!combos.count)
        set_nothing(lowering, change, &scope);
    lower_abort_if(lowering, combos.fails);
    uint32_t *candidates = iso_allocate(iso_list_bytes(combos.count + 1, sizeof(uint32_t)));
    for (uint32_t i = 0; i < combos.count; i++)
        candidates[i] = lower_keep(lowering, combos.matches[i]);
    for (uint32_t i = 0; i < combos.count && !failed(lowering); i++) {
        lower_choose_rows(from, &combos, i);
        struct guard guard;
        lower_begin_guard(lowering, &guard, candidates[i]);
        uint32_t done = change_row(lowering, change, &scope);
        lower_end_guard(lowering, &guard);
        candidates[i] = lower_and(lowering, candidates[i], done);
    }
    if (!failed(lowering)) {
        uint32_t found = lower_keep(lowering, lower_any(lowering, candidates, combos.count));
        uint32_t many = lower_keep(lowering, lower_count_of(lowering, candidates, combos.count));
        if (change->given) {
            for (size_t i = 0; i < change->returning_count; i++)
                change->given[i] =
                    lower_value_choose(lowering, found, change->given[i], lower_null(lowering));
            lower_assign_all(lowering, change->target, change->given,
                             (uint32_t)change->returning_count);
        }
        lower_set_found(lowering, found, many);
    }
    iso_free(candidates);
    lower_release_combos(&combos);
}

void lower_change(struct lowering *lowering, struct change *change,
                  const PgQuery__RangeVar *relation, bool other)
{
    struct from from = {0};
    struct value given[MOST_COLUMNS];
    change->table = lower_find_table(lowering, relation);
    if (!change->table)
        return;
    change->alias = relation->alias ? relation->alias->aliasname : change->table->name;
    size_t location = location_of(lowering, relation->location);
    if (other)
        lower_refuse_form(lowering, location, "%s",
                          change->deletes ? "DELETE with USING or WITH"
                                          : "UPDATE with FROM or WITH");
    if (change->deletes)
        change->table->deletes = true;
    for (size_t i = 0; i < change->set_count; i++) {
        uint32_t column = lower_find_column(change->table, change->sets[i]->res_target->name);
        if (column != NONE && !stays(lowering, change, change->sets[i]->res_target))
            change->table->columns[column].changes = true;
    }
    ISO_APPEND(from.entries, (struct entry){change->alias, change->table, NONE, NULL});
    if (change->where)
        ISO_APPEND(from.conditions, change->where);
    bool one = lower_finds_one_row(lowering, &from);
    for (uint32_t i = 0; i < change->table->uniques.count && !change->deletes && !one; i++)
        for (size_t j = 0; j < change->set_count; j++)
            for (uint32_t k = 0; k < change->table->uniques.list[i].count; k++)
                if (!strcmp(change->table->columns[change->table->uniques.list[i].columns[k]].name,
                            change->sets[j]->res_target->name) &&
                    !stays(lowering, change, change->sets[j]->res_target))
                    lower_refuse_form(lowering,
                                      location_of(lowering, change->sets[j]->res_target->location),
                                      "UPDATE of a unique column of several rows");
    if (change->target->given && !one)
        lower_refuse(lowering, change->target->location,
                     "RETURNING of several rows INTO variables");
    if (change->target->given &&
        lower_limit_returning(lowering, change->target, change->returning_count)) {
        for (size_t i = 0; i < change->returning_count; i++)
            given[i] = lower_null(lowering);
        change->given = given;
    }
    if (!failed(lowering))
        change_rows(lowering, change, &from);
    lower_close_from(&from);
}
