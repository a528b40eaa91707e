/* Statements: what they claim, write and leave in variables. Each statement's first step begins it, all others continue. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "prove_sql/lower_private.h"

/* ---- steps ---- */

uint32_t add_step(struct lowering *lowering, enum iso_prove_step_kind kind)
{
    uint32_t step = iso_prove_step(lowering->program, kind, lowering->span);
    lowering->program->steps.list[step].continued = lowering->continued;
    lowering->program->steps.list[step].tag = lowering->tag;
    lowering->continued = true;
    iso_prove_append(lowering->program, lowering->block, step);
    return step;
}

void let(struct lowering *lowering, uint32_t local, uint32_t value)
{
    uint32_t step = add_step(lowering, ISO_PROVE_LET);
    lowering->program->steps.list[step].local = local;
    lowering->program->steps.list[step].value = value;
}

uint32_t new_local(struct lowering *lowering, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "$%s%u", what, lowering->temporaries++);
    return iso_prove_local(lowering->program, lowering->function->template, name);
}

static uint32_t local_value(struct lowering *lowering, uint32_t local)
{
    return make(lowering, ISO_PROVE_LOCAL, local, NONE, NONE);
}

uint32_t settle(struct lowering *lowering, uint32_t value)
{
    int64_t number;
    if (value == NONE || constant_of(lowering, value, &number))
        return value;
    uint32_t local = new_local(lowering, "t");
    let(lowering, local, value);
    return local_value(lowering, local);
}

void abort_if(struct lowering *lowering, uint32_t condition)
{
    int64_t number;
    if (condition == NONE || (constant_of(lowering, condition, &number) && !number))
        return;
    uint32_t step = add_step(lowering, ISO_PROVE_ABORT);
    if (!constant_of(lowering, condition, &number))
        lowering->program->steps.list[step].value = condition;
}

struct iso_prove_block *enter(struct lowering *lowering, struct iso_prove_block *block)
{
    struct iso_prove_block *outer = lowering->block;
    *block = ISO_PROVE_BLOCK;
    lowering->block = block;
    return outer;
}

void leave_if(struct lowering *lowering, struct iso_prove_block *outer, uint32_t condition,
              const struct iso_prove_block *block, const struct iso_prove_block *otherwise)
{
    bool continued = lowering->continued;
    lowering->block = outer;
    uint32_t step = add_step(lowering, ISO_PROVE_IF);
    struct iso_prove_step *made = &lowering->program->steps.list[step];
    made->value = condition == NONE ? make_constant(lowering, 0) : condition;
    made->block = block->first;
    made->otherwise = otherwise ? otherwise->first : NONE;
    lowering->continued = continued;
}

static uint32_t add_access(struct lowering *lowering, enum iso_prove_step_kind kind, uint32_t table, uint32_t index,
                           uint32_t where, const uint32_t *values)
{
    int64_t number;
    uint32_t step = add_step(lowering, kind);
    struct iso_prove_step *made = &lowering->program->steps.list[step];
    made->table = table;
    made->index = index;
    made->where = constant_of(lowering, where, &number) && number ? NONE : where;
    if (kind == ISO_PROVE_WRITE)
        made->first_value = iso_prove_values(lowering->program, values, lowering->program->tables.list[table].columns);
    return step;
}

/* The same with a local that says whether it was done; 0 until then. */
static uint32_t access_told(struct lowering *lowering, enum iso_prove_step_kind kind, uint32_t table, uint32_t index,
                            uint32_t where, const uint32_t *values)
{
    uint32_t local = new_local(lowering, "done");
    uint32_t step = add_access(lowering, kind, table, index, where, values);
    lowering->program->steps.list[step].local = local;
    return local_value(lowering, local);
}

/* ---- variables ---- */

void assign(struct lowering *lowering, uint32_t number, struct value value, uint32_t place)
{
    struct variable *variable = &lowering->variables[number];
    int64_t known;
    if (failed(lowering))
        return;
    if (variable->constant)
        refuse(lowering, place, "\"%s\" is a constant", variable->name);
    if (!types_meet(value.type, variable->type)) {
        refuse(lowering, place, "\"%s\" is %s, and this is %s", variable->name, type_name(variable->type),
               type_name(value.type));
        return;
    }
    if (variable->type == TYPE_INT && value.type == TYPE_BIGINT)
        fit(lowering, &value, TYPE_INT);
    abort_if(lowering, value.fails);
    if (variable->not_null)
        abort_if(lowering, value.null);
    uint32_t null = value.null == NONE ? make_constant(lowering, 0) : value.null;
    /* Either may be about the variable itself. */
    uint32_t at = constant_of(lowering, null, &known) ? value.at : settle(lowering, value.at);
    let(lowering, variable->null, null);
    let(lowering, variable->local, at);
    lowering->states[number].may_be_null = value.null != NONE;
    lowering->states[number].interval = (struct interval){value.low, value.high};
}

/* FOUND and ROW_COUNT after a statement. */
void set_found(struct lowering *lowering, uint32_t found, uint32_t count)
{
    struct value value = value_condition(lowering, found);
    assign(lowering, lowering->found, value, lowering->span.begin);
    value = value_constant(lowering, TYPE_BIGINT, 0);
    value.at = count;
    value.high = MOST_ROWS;
    int64_t number;
    if (constant_of(lowering, count, &number))
        value.low = value.high = number;
    assign(lowering, lowering->row_count, value, lowering->span.begin);
}

static uint32_t count_of(struct lowering *lowering, uint32_t *conditions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        conditions[i] = choose(lowering, conditions[i], make_constant(lowering, 1), make_constant(lowering, 0));
    return sum_of(lowering, conditions, count);
}

static struct value settled(struct lowering *lowering, struct value value)
{
    value.at = settle(lowering, value.at);
    value.null = settle(lowering, value.null);
    value.fails = settle(lowering, value.fails);
    return value;
}

/* All values first, then all variables. */
static void assign_all(struct lowering *lowering, const struct target *target, struct value *values, uint32_t count)
{
    for (uint32_t i = 0; i < target->count && i < count && target->count > 1; i++)
        values[i] = settled(lowering, values[i]);
    for (uint32_t i = 0; i < target->count; i++)
        assign(lowering, target->variables[i], i < count ? values[i] : value_null(lowering), target->place);
}

/* ---- SELECT ---- */

static const PgQuery__Node *target_of(struct lowering *lowering, const PgQuery__Node *node)
{
    if (node->node_case == PG_QUERY__NODE__NODE_RES_TARGET && !node->res_target->n_indirection)
        return node->res_target->val;
    refuse_node(lowering, node, "this target");
    return NULL;
}

static bool is_star(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_COLUMN_REF && node->column_ref->n_fields == 1 &&
           node->column_ref->fields[0]->node_case == PG_QUERY__NODE__NODE_A_STAR;
}

static bool wants_lock(struct lowering *lowering, const PgQuery__SelectStmt *select)
{
    bool locks = false;
    for (size_t i = 0; i < select->n_locking_clause && !failed(lowering); i++) {
        const PgQuery__LockingClause *clause = select->locking_clause[i]->locking_clause;
        if (clause->strength != PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORUPDATE && lowering->ignore_locks)
            continue;
        if (clause->strength != PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORUPDATE)
            refuse(
                lowering, lowering->span.begin,
                "a lock other than FOR UPDATE: not in the subset that can be proved; `--@ ignore locks` passes over it");
        else if (clause->wait_policy != PG_QUERY__LOCK_WAIT_POLICY__LockWaitBlock)
            refuse(lowering, lowering->span.begin, "NOWAIT or SKIP LOCKED: not in the subset that can be proved");
        locks = true;
    }
    return locks;
}

/* Locks the rows of the only table that match; the conditions become those behind the claims. */
static void lock_rows(struct lowering *lowering, struct from *from, struct combos *combos)
{
    struct scope scope = {NULL, from, NULL};
    if (from->count != 1) {
        refuse(lowering, lowering->span.begin, "FOR UPDATE of a join: not in the subset that can be proved");
        return;
    }
    uint32_t *candidates = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    for (uint32_t i = 0; i < combos->count; i++)
        candidates[i] = settle(lowering, combos->matches[i]);
    for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
        struct iso_prove_block block, *outer = enter(lowering, &block);
        choose_rows(from, combos, i);
        uint32_t fails = NONE, where = presence(lowering, from->entries[0].table, from->entries[0].row);
        for (uint32_t j = 0; j < from->condition_count; j++)
            where = both(lowering, where, lower_condition(lowering, &scope, from->conditions[j], &fails));
        uint32_t done = access_told(lowering, ISO_PROVE_LOCK, from->entries[0].table->ir,
                                    make_constant(lowering, from->entries[0].row), where, NULL);
        leave_if(lowering, outer, candidates[i], &block, NULL);
        combos->matches[i] = both(lowering, candidates[i], done);
    }
    iso_free(candidates);
}

static void select_rows(struct lowering *lowering, const PgQuery__SelectStmt *select, struct from *from,
                        struct combos *combos, const struct target *target)
{
    struct scope scope = {NULL, from, NULL};
    struct value values[MOST_COLUMNS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < combos->count; i++)
        combos->matches[i] = settle(lowering, combos->matches[i]);
    for (size_t t = 0; t < select->n_target_list && target->given && !failed(lowering); t++) {
        const PgQuery__Node *node = target_of(lowering, select->target_list[t]);
        if (!node || count == MOST_COLUMNS)
            break;
        uint32_t columns = is_star(node) && from->count == 1 ? from->entries[0].table->column_count : 1;
        for (uint32_t c = 0; c < columns && count < MOST_COLUMNS; c++) {
            struct value value = value_null(lowering);
            for (uint32_t i = combos->count; i-- > 0 && !failed(lowering);) {
                choose_rows(from, combos, i);
                struct value one = columns > 1 || is_star(node) ? read_column(lowering, &from->entries[0], c)
                                                                : lower(lowering, &scope, node);
                value = value_choose(lowering, combos->matches[i], one, value);
            }
            values[count++] = value;
        }
    }
    uint32_t found = any_of(lowering, combos->matches, combos->count);
    uint32_t many = count_of(lowering, combos->matches, combos->count);
    if (target->given) {
        if (target->strict) {
            many = settle(lowering, many);
            abort_if(lowering, make(lowering, ISO_PROVE_UNEQUAL, many, make_constant(lowering, 1), NONE));
            found = make_constant(lowering, 1);
        }
        found = settle(lowering, found);
        assign_all(lowering, target, values, count);
        many = choose(lowering, found, make_constant(lowering, 1), make_constant(lowering, 0));
    }
    set_found(lowering, found, many);
}

static void select_aggregate(struct lowering *lowering, const PgQuery__SelectStmt *select, struct from *from,
                             const struct combos *combos, const struct target *target)
{
    struct scope scope = {NULL, from, combos};
    struct value values[MOST_COLUMNS];
    uint32_t count = 0;
    for (size_t t = 0; t < select->n_target_list && t < MOST_COLUMNS && !failed(lowering); t++) {
        const PgQuery__Node *node = target_of(lowering, select->target_list[t]);
        if (node)
            values[count++] = lower(lowering, &scope, node);
        if (node && !target->given)
            abort_if(lowering, values[count - 1].fails);
    }
    if (!failed(lowering))
        assign_all(lowering, target, values, count);
    set_found(lowering, make_constant(lowering, 1), make_constant(lowering, 1));
}

static void select_from(struct lowering *lowering, const PgQuery__SelectStmt *select, struct from *from,
                        const struct target *target)
{
    struct combos combos;
    bool locks = wants_lock(lowering, select), aggregated = is_aggregated(select);
    if (select->where_clause) {
        ISO_GROW(from->conditions, from->condition_count, from->condition_capacity);
        from->conditions[from->condition_count++] = select->where_clause;
    }
    if (target->given && !target->strict && !aggregated && from->count && !at_most_one(lowering, from))
        refuse(lowering, target->place,
               "INTO of a query that may find several rows, of which one is taken in no order: "
               "a condition that fixes a key, an aggregate or STRICT is needed");
    if (aggregated && locks)
        refuse(lowering, lowering->span.begin, "FOR UPDATE with an aggregate: PostgreSQL refuses that, too");
    find_combos(lowering, NULL, from, &combos);
    if (!failed(lowering))
        abort_if(lowering, combos.fails);
    if (locks && !failed(lowering))
        lock_rows(lowering, from, &combos);
    if (!failed(lowering) && aggregated)
        select_aggregate(lowering, select, from, &combos, target);
    else if (!failed(lowering))
        select_rows(lowering, select, from, &combos, target);
    release_combos(&combos);
}

static void lower_select(struct lowering *lowering, const PgQuery__SelectStmt *select, const struct target *target)
{
    struct from from = {0};
    if (plain_select(lowering, select) && open_from(lowering, &from, select->from_clause, select->n_from_clause))
        select_from(lowering, select, &from, target);
    close_from(&from);
}

/* ---- what INSERT, UPDATE and DELETE share ---- */

struct mentions {
    const char *name;
    bool found;
};

static bool find_range(void *with, const PgQuery__Node *node)
{
    struct mentions *mentions = with;
    if (node->node_case == PG_QUERY__NODE__NODE_RANGE_VAR && !strcmp(node->range_var->relname, mentions->name))
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
    struct value value = settled(lowering, lower(lowering, NULL, node));
    ISO_GROW(lowering->hoisted, lowering->hoisted_count, lowering->hoisted_capacity);
    lowering->hoisted[lowering->hoisted_count++] = (struct hoisted){node, value};
    return false;
}

/* Sub-selects of the table that is about to change see it as it was. They may name no column of the row. */
static void hoist(struct lowering *lowering, const PgQuery__Node *node, const struct table *table)
{
    struct hoisting hoisting = {lowering, table};
    if (node)
        each_node(&node->base, hoist_link, &hoisting);
}

/* A key of a unique index as the number of its cell; `null`: it has none. */
static uint32_t cell_of_key(struct lowering *lowering, const struct unique *unique, const struct value *values,
                            uint32_t *null)
{
    uint32_t cell = make_constant(lowering, 0);
    *null = NONE;
    for (uint32_t i = 0; i < unique->count; i++) {
        const struct value *value = &values[unique->columns[i]];
        const struct interval *domain = &unique->domain[i];
        int64_t size = domain->high - domain->low + 1;
        *null = either(lowering, *null, value->null);
        uint32_t part = make(lowering, ISO_PROVE_SUBTRACT, value->at, make_constant(lowering, domain->low), NONE);
        if (i)
            cell = make(lowering, ISO_PROVE_MULTIPLY, cell, make_constant(lowering, size), NONE);
        cell = i ? make(lowering, ISO_PROVE_ADD, cell, part, NONE) : part;
    }
    return cell;
}

static uint32_t is_free(struct lowering *lowering, const struct unique *unique, uint32_t cell)
{
    return inverse(lowering, make(lowering, ISO_PROVE_READ, unique->table, cell, 0));
}

/* The condition under which a row of these values breaks NOT NULL or a CHECK, or could not be computed. */
static uint32_t broken(struct lowering *lowering, struct table *table, const struct value *values, const bool *set)
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
static void note_growth(const struct lowering *lowering, struct table *table, uint32_t column,
                        const struct value *value)
{
    hull(&table->columns[column].grown, value->low, value->high);
    if (!lowering->final)
        hull(&table->columns[column].known, value->low, value->high);
}

/* A row's columns as a WRITE takes them; NONE stays. */
static void row_values(struct lowering *lowering, const struct table *table, const struct value *values,
                       const bool *set, uint32_t *list)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        list[1 + i] = NONE;
        if (column->flag != NONE)
            list[column->flag] = NONE;
        if (!set[i])
            continue;
        uint32_t null = values[i].null;
        list[1 + i] = null == NONE ? values[i].at : choose(lowering, null, make_constant(lowering, 0), values[i].at);
        if (column->flag != NONE)
            list[column->flag] = null == NONE ? make_constant(lowering, 0) : null;
    }
}

static bool convert(struct lowering *lowering, const struct column *column, struct value *value, size_t place)
{
    if (!types_meet(value->type, column->type)) {
        refuse(lowering, place, "column \"%s\" is %s, and this is %s", column->name, type_name(column->type),
               type_name(value->type));
        return false;
    }
    if (column->type == TYPE_INT && value->type == TYPE_BIGINT)
        fit(lowering, value, TYPE_INT);
    value->type = column->type;
    return true;
}

static const struct value *returned(struct lowering *lowering, struct table *table, PgQuery__Node *const *list,
                                    size_t count, const struct value *row, struct value *values)
{
    struct entry entry = {table->name, table, NONE, row};
    struct from from = {.entries = &entry, .count = 1};
    struct scope scope = {NULL, &from, NULL};
    for (size_t i = 0; i < count && i < MOST_COLUMNS && !failed(lowering); i++) {
        const PgQuery__Node *node = target_of(lowering, list[i]);
        if (node)
            values[i] = lower(lowering, &scope, node);
    }
    return values;
}

/* ---- INSERT ---- */

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
static uint32_t claim_keys(struct lowering *lowering, struct table *table, const struct value *values,
                           const PgQuery__OnConflictClause *conflict, const bool *arbiters)
{
    uint32_t inserted = make_constant(lowering, 1), taken[1];
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < table->unique_count && !failed(lowering); i++) {
            const struct unique *unique = &table->uniques[i];
            bool quiet = conflict && arbiters[i];
            if (unique->generated || unique->table == NONE || quiet != (pass == 0))
                continue;
            struct iso_prove_block block, *outer = NULL;
            uint32_t null, cell = settle(lowering, cell_of_key(lowering, unique, values, &null));
            uint32_t has = both(lowering, inserted, inverse(lowering, null));
            int64_t number;
            bool always = constant_of(lowering, has, &number);
            if (has == NONE)
                continue;
            table->inserts = true;
            if (!always)
                outer = enter(lowering, &block);
            *taken = make_constant(lowering, 1);
            uint32_t done =
                access_told(lowering, ISO_PROVE_WRITE, unique->table, cell, is_free(lowering, unique, cell), taken);
            if (!quiet)
                abort_if(lowering, inverse(lowering, done));
            if (!always)
                leave_if(lowering, outer, has, &block, NULL);
            if (quiet)
                inserted = settle(lowering, both(lowering, inserted, always ? done : either(lowering, null, done)));
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
        for (size_t j = 0; infer && !*infer->conname && j < infer->n_index_elems && arbiters[i]; j++) {
            const PgQuery__Node *element = infer->index_elems[j];
            bool named = false;
            for (uint32_t k = 0; k < unique->count; k++)
                named = named || (element->node_case == PG_QUERY__NODE__NODE_INDEX_ELEM &&
                                  !strcmp(element->index_elem->name, table->columns[unique->columns[k]].name));
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

static uint32_t insert_row(struct lowering *lowering, struct table *table, const PgQuery__InsertStmt *insert,
                           const uint32_t *columns, uint32_t column_count, const PgQuery__List *list,
                           struct value *values)
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
            refuse(lowering, place, "a value for the serial column \"%s\": not in the subset that can be proved",
                   column->name);
        struct value value = lower(lowering, NULL, list->items[i]);
        if (!failed(lowering) && convert(lowering, column, &value, place))
            values[columns[i]] = value;
    }
    if (failed(lowering))
        return NONE;
    for (uint32_t i = 0; i < table->column_count; i++) { /* computed once, before anything is claimed */
        values[i] = settled(lowering, values[i]);
        note_growth(lowering, table, i, &values[i]);
    }
    abort_if(lowering, broken(lowering, table, values, set));
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
    row_values(lowering, table, values, set, row);
    add_access(lowering, ISO_PROVE_WRITE, table->ir, slot, NONE, row);
    if (!always)
        leave_if(lowering, outer, inserted, &block, NULL);
    return inserted;
}

static void lower_insert(struct lowering *lowering, const PgQuery__InsertStmt *insert, const struct target *target)
{
    struct table *table = find_table(lowering, insert->relation);
    uint32_t columns[MOST_COLUMNS], column_count = 0;
    if (!table)
        return;
    if (insert->with_clause || insert->override != PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET)
        refuse(lowering, place_of(lowering, insert->relation->location),
               "INSERT with WITH or OVERRIDING: not in the subset that can be proved");
    for (size_t i = 0; i < insert->n_cols && i < MOST_COLUMNS; i++) {
        const PgQuery__ResTarget *column = insert->cols[i]->res_target;
        columns[column_count] = find_column(table, column->name);
        if (columns[column_count++] == NONE)
            refuse(lowering, place_of(lowering, column->location), "table \"%s\" has no column \"%s\"", table->name,
                   column->name);
    }
    for (; !insert->n_cols && column_count < table->column_count; column_count++)
        columns[column_count] = column_count;
    const PgQuery__SelectStmt *select = insert->select_stmt ? insert->select_stmt->select_stmt : NULL;
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
        done[count++] =
            insert_row(lowering, table, insert, columns, column_count, select->values_lists[i]->list, values);
    if (!failed(lowering) && target->given) {
        struct value given[MOST_COLUMNS];
        returned(lowering, table, insert->returning_list, insert->n_returning_list, values, given);
        for (size_t i = 0; i < insert->n_returning_list && !failed(lowering); i++)
            given[i] = value_choose(lowering, done[0], given[i], value_null(lowering));
        if (!failed(lowering))
            assign_all(lowering, target, given, (uint32_t)insert->n_returning_list);
    }
    if (!failed(lowering)) {
        uint32_t found = settle(lowering, any_of(lowering, done, count));
        set_found(lowering, found, count_of(lowering, done, count));
    }
    iso_free(values);
    iso_free(done);
}

/* ---- UPDATE and DELETE ---- */

struct change {
    struct table *table;
    const char *alias;
    const PgQuery__Node *where;
    PgQuery__Node *const *sets; /* of UPDATE */
    size_t set_count;
    bool deletes;
    const struct target *target;
    PgQuery__Node *const *returning;
    size_t returning_count;
    struct value *given;
};

/* SET a = a: the row is written, and its keys are what they were. */
static bool stays(const struct change *change, const PgQuery__ResTarget *target)
{
    if (target->n_indirection || target->val->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
        return false;
    const PgQuery__ColumnRef *reference = target->val->column_ref;
    const PgQuery__Node *last = reference->fields[reference->n_fields - 1], *first = reference->fields[0];
    if (last->node_case != PG_QUERY__NODE__NODE_STRING || strcmp(last->string->sval, target->name) ||
        reference->n_fields > 2 || find_column(change->table, target->name) == NONE)
        return false;
    return reference->n_fields == 1 ||
           (first->node_case == PG_QUERY__NODE__NODE_STRING && !strcmp(first->string->sval, change->alias));
}

/* The new values of a row; `set` says which. */
static void new_values(struct lowering *lowering, const struct change *change, const struct scope *scope,
                       struct value *values, bool *set)
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
            refuse(lowering, place,
                   column == NONE ? "table \"%s\" has no column \"%s\""
                                  : "this SET of table \"%s\", column \"%s\": not in the subset that can be proved",
                   change->table->name, target->name);
            return;
        }
        if (change->table->columns[column].serial)
            refuse(lowering, place, "UPDATE of the serial column \"%s\": not in the subset that can be proved",
                   target->name);
        struct value value = lower(lowering, scope, target->val);
        if (failed(lowering) || !convert(lowering, &change->table->columns[column], &value, place))
            return;
        values[column] = value;
        set[column] = true;
        note_growth(lowering, change->table, column, &value);
    }
}

static bool changes_key(const struct unique *unique, const bool *set)
{
    for (uint32_t i = 0; i < unique->count; i++)
        if (set[unique->columns[i]])
            return true;
    return false;
}

static void free_key(struct lowering *lowering, const struct unique *unique, uint32_t cell, uint32_t null)
{
    struct iso_prove_block block, *outer = NULL;
    uint32_t nothing[1] = {make_constant(lowering, 0)};
    if (null != NONE)
        outer = enter(lowering, &block);
    add_access(lowering, ISO_PROVE_WRITE, unique->table, cell, NONE, nothing);
    if (null != NONE)
        leave_if(lowering, outer, inverse(lowering, null), &block, NULL);
}

static void take_key(struct lowering *lowering, const struct unique *unique, uint32_t cell, uint32_t null)
{
    struct iso_prove_block block, *outer = NULL;
    uint32_t taken[1] = {make_constant(lowering, 1)};
    if (null != NONE)
        outer = enter(lowering, &block);
    uint32_t done = access_told(lowering, ISO_PROVE_WRITE, unique->table, cell, is_free(lowering, unique, cell), taken);
    abort_if(lowering, inverse(lowering, done));
    if (null != NONE)
        leave_if(lowering, outer, inverse(lowering, null), &block, NULL);
}

/* One row that matches in the statement's snapshot: claimed, asked again, changed. Gives whether. */
static uint32_t change_row(struct lowering *lowering, const struct change *change, const struct scope *scope)
{
    struct table *table = change->table;
    struct value *values = iso_allocate(sizeof *values * MOST_COLUMNS);
    bool set[MOST_COLUMNS] = {false}, keys = false;
    uint32_t row[1 + 2 * MOST_COLUMNS], fails = NONE, number = scope->from->entries[0].row;
    uint32_t index = make_constant(lowering, number), width = lowering->program->tables.list[table->ir].columns;
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
        uint32_t bad = change->deletes ? fails : either(lowering, fails, broken(lowering, table, values, set));
        if (bad != NONE || keys) { /* claims, and writes nothing */
            done = access_told(lowering, ISO_PROVE_WRITE, table->ir, index, where, row);
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
                if (unique->generated || unique->table == NONE || !(change->deletes || changes_key(unique, set)))
                    continue;
                table->frees = true;
                table->inserts = table->inserts || !change->deletes;
                uint32_t before = settle(lowering, cell_of_key(lowering, unique, old, &before_null));
                uint32_t after = NONE;
                if (!change->deletes)
                    after = settle(lowering, cell_of_key(lowering, unique, values, &after_null));
                free_key(lowering, unique, before, settle(lowering, before_null));
                if (!change->deletes)
                    take_key(lowering, unique, after, settle(lowering, after_null));
            }
            leave_if(lowering, outer, done, &block, NULL);
        }
        if (change->deletes)
            row[0] = make_constant(lowering, 0);
        else
            row_values(lowering, table, values, set, row);
        if (change->given) { /* RETURNING: what is written, seen behind the claim */
            if (done == NONE) {
                uint32_t nothing[1 + 2 * MOST_COLUMNS];
                for (uint32_t i = 0; i < width; i++)
                    nothing[i] = NONE;
                done = access_told(lowering, ISO_PROVE_WRITE, table->ir, index, where, nothing);
            }
            struct value given[MOST_COLUMNS];
            returned(lowering, table, change->returning, change->returning_count, values, given);
            for (size_t i = 0; i < change->returning_count && !failed(lowering); i++)
                change->given[i] = value_choose(lowering, done, settled(lowering, given[i]), change->given[i]);
        }
        if (done == NONE)
            done = access_told(lowering, ISO_PROVE_WRITE, table->ir, index, where, row);
        else
            add_access(lowering, ISO_PROVE_WRITE, table->ir, index, done, row);
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
        uint32_t many = settle(lowering, count_of(lowering, candidates, combos.count));
        if (change->given) {
            for (size_t i = 0; i < change->returning_count; i++)
                change->given[i] = value_choose(lowering, found, change->given[i], value_null(lowering));
            assign_all(lowering, change->target, change->given, (uint32_t)change->returning_count);
        }
        set_found(lowering, found, many);
    }
    iso_free(candidates);
    release_combos(&combos);
    lowering->hoisted_count = 0;
}

static void lower_change(struct lowering *lowering, struct change *change, const PgQuery__RangeVar *relation,
                         bool other)
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
                    refuse(lowering, place_of(lowering, change->sets[j]->res_target->location),
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

void lower_statement(struct lowering *lowering, const PgQuery__Node *node, const struct target *target)
{
    struct change change = {.target = target};
    lowering->hoisted_count = 0;
    switch ((int)node->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        lower_select(lowering, node->select_stmt, target);
        return;
    case PG_QUERY__NODE__NODE_INSERT_STMT:
        lower_insert(lowering, node->insert_stmt, target);
        return;
    case PG_QUERY__NODE__NODE_UPDATE_STMT: {
        const PgQuery__UpdateStmt *update = node->update_stmt;
        change.where = update->where_clause;
        change.sets = update->target_list;
        change.set_count = update->n_target_list;
        change.returning = update->returning_list;
        change.returning_count = update->n_returning_list;
        lower_change(lowering, &change, update->relation, update->n_from_clause || update->with_clause);
        return;
    }
    case PG_QUERY__NODE__NODE_DELETE_STMT: {
        const PgQuery__DeleteStmt *delete = node->delete_stmt;
        change.deletes = true;
        change.where = delete->where_clause;
        change.returning = delete->returning_list;
        change.returning_count = delete->n_returning_list;
        lower_change(lowering, &change, delete->relation, delete->n_using_clause || delete->with_clause);
        return;
    }
    default:
        refuse(lowering, lowering->span.begin,
               "this statement: SELECT, INSERT, UPDATE and DELETE are those that can be proved");
    }
}
