/* SELECT: INTO variables, of rows or of aggregates, and FOR UPDATE. */
#include "prove_sql/lower_private.h"

const PgQuery__Node *prove_sql_target_of(struct lowering *lowering, const PgQuery__Node *node)
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
        if (clause->strength != PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORUPDATE &&
            lowering->ignore_locks)
            continue;
        if (clause->strength != PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORUPDATE)
            refuse(
                lowering, lowering->span.begin,
                "a lock other than FOR UPDATE: not in the subset that can be proved; `--@ ignore locks` passes over it");
        else if (clause->wait_policy != PG_QUERY__LOCK_WAIT_POLICY__LockWaitBlock)
            refuse(lowering, lowering->span.begin,
                   "NOWAIT or SKIP LOCKED: not in the subset that can be proved");
        locks = true;
    }
    return locks;
}

/* Locks the rows of the only table that match; the conditions become those behind the claims. */
static void lock_rows(struct lowering *lowering, struct from *from, struct combos *combos)
{
    struct scope scope = {NULL, from, NULL};
    if (from->count != 1) {
        refuse(lowering, lowering->span.begin,
               "FOR UPDATE of a join: not in the subset that can be proved");
        return;
    }
    uint32_t *candidates = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    for (uint32_t i = 0; i < combos->count; i++)
        candidates[i] = settle(lowering, combos->matches[i]);
    for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
        struct iso_prove_block block, *outer = enter(lowering, &block);
        choose_rows(from, combos, i);
        uint32_t fails = NONE,
                 where = presence(lowering, from->entries[0].table, from->entries[0].row);
        for (uint32_t j = 0; j < from->condition_count; j++)
            where = both(lowering, where,
                         lower_condition(lowering, &scope, from->conditions[j], &fails));
        uint32_t done =
            prove_sql_access_told(lowering, ISO_PROVE_LOCK, from->entries[0].table->ir,
                                  make_constant(lowering, from->entries[0].row), where, NULL);
        leave_if(lowering, outer, candidates[i], &block, NULL);
        combos->matches[i] = both(lowering, candidates[i], done);
    }
    iso_free(candidates);
}

static void select_rows(struct lowering *lowering, const PgQuery__SelectStmt *select,
                        struct from *from, struct combos *combos, const struct target *target)
{
    struct scope scope = {NULL, from, NULL};
    struct value values[MOST_COLUMNS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < combos->count; i++)
        combos->matches[i] = settle(lowering, combos->matches[i]);
    for (size_t t = 0; t < select->n_target_list && target->given && !failed(lowering); t++) {
        const PgQuery__Node *node = prove_sql_target_of(lowering, select->target_list[t]);
        if (!node || count == MOST_COLUMNS)
            break;
        uint32_t columns =
            is_star(node) && from->count == 1 ? from->entries[0].table->column_count : 1;
        for (uint32_t c = 0; c < columns && count < MOST_COLUMNS; c++) {
            struct value value = value_null(lowering);
            for (uint32_t i = combos->count; i-- > 0 && !failed(lowering);) {
                choose_rows(from, combos, i);
                struct value one = columns > 1 || is_star(node)
                                       ? read_column(lowering, &from->entries[0], c)
                                       : lower(lowering, &scope, node);
                value = value_choose(lowering, combos->matches[i], one, value);
            }
            values[count++] = value;
        }
    }
    uint32_t found = any_of(lowering, combos->matches, combos->count);
    uint32_t many = prove_sql_count_of(lowering, combos->matches, combos->count);
    if (target->given) {
        if (target->strict) {
            many = settle(lowering, many);
            abort_if(lowering,
                     make(lowering, ISO_PROVE_UNEQUAL, many, make_constant(lowering, 1), NONE));
            found = make_constant(lowering, 1);
        }
        found = settle(lowering, found);
        prove_sql_assign_all(lowering, target, values, count);
        many = choose(lowering, found, make_constant(lowering, 1), make_constant(lowering, 0));
    }
    set_found(lowering, found, many);
}

static void select_aggregate(struct lowering *lowering, const PgQuery__SelectStmt *select,
                             struct from *from, const struct combos *combos,
                             const struct target *target)
{
    struct scope scope = {NULL, from, combos};
    struct value values[MOST_COLUMNS];
    uint32_t count = 0;
    for (size_t t = 0; t < select->n_target_list && t < MOST_COLUMNS && !failed(lowering); t++) {
        const PgQuery__Node *node = prove_sql_target_of(lowering, select->target_list[t]);
        if (node)
            values[count++] = lower(lowering, &scope, node);
        if (node && !target->given)
            abort_if(lowering, values[count - 1].fails);
    }
    if (!failed(lowering))
        prove_sql_assign_all(lowering, target, values, count);
    set_found(lowering, make_constant(lowering, 1), make_constant(lowering, 1));
}

static void select_from(struct lowering *lowering, const PgQuery__SelectStmt *select,
                        struct from *from, const struct target *target)
{
    struct combos combos;
    bool locks = wants_lock(lowering, select), aggregated = is_aggregated(select);
    if (select->where_clause) {
        ISO_GROW(from->conditions, from->condition_count, from->condition_capacity);
        from->conditions[from->condition_count++] = select->where_clause;
    }
    if (target->given && !target->strict && !aggregated && from->count &&
        !at_most_one(lowering, from))
        refuse(lowering, target->place,
               "INTO of a query that may find several rows, of which one is taken in no order: "
               "a condition that fixes a key, an aggregate or STRICT is needed");
    if (aggregated && locks)
        refuse(lowering, lowering->span.begin,
               "FOR UPDATE with an aggregate: PostgreSQL refuses that, too");
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

void prove_sql_lower_select(struct lowering *lowering, const PgQuery__SelectStmt *select,
                            const struct target *target)
{
    struct from from = {0};
    if (plain_select(lowering, select) &&
        open_from(lowering, &from, select->from_clause, select->n_from_clause))
        select_from(lowering, select, &from, target);
    close_from(&from);
}
