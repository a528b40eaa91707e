/* SELECT: INTO variables, of rows or of aggregates, and FOR UPDATE. */
#include "lower/lower_private.h"

const PgQuery__Node *lower_target_of(struct lowering *lowering, const PgQuery__Node *node)
{
    if (node->node_case == PG_QUERY__NODE__NODE_RES_TARGET && !node->res_target->n_indirection)
        return node->res_target->val;
    lower_refuse_node(lowering, node, "this target");
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
            lowering->ignored.locks) {
            lowering->passed.locks = true;
            continue;
        }
        if (clause->strength != PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORUPDATE)
            lower_refuse(
                lowering, lowering->at.span.begin,
                "a lock other than FOR UPDATE: not in the subset that can be proved; `--@ ignore locks` passes over it");
        else if (clause->wait_policy != PG_QUERY__LOCK_WAIT_POLICY__LockWaitBlock)
            lower_refuse_form(lowering, lowering->at.span.begin, "NOWAIT or SKIP LOCKED");
        locks = true;
    }
    return locks;
}

/* Locks the rows of the only table that match; the conditions become those behind the claims. */
static void lock_rows(struct lowering *lowering, struct from *from, struct combos *combos)
{
    struct scope scope = {NULL, from, NULL};
    if (from->entries.count != 1) {
        lower_refuse_form(lowering, lowering->at.span.begin, "FOR UPDATE of a join");
        return;
    }
    uint32_t *candidates = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    for (uint32_t i = 0; i < combos->count; i++)
        candidates[i] = lower_keep(lowering, combos->matches[i]);
    for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
        struct guard guard;
        lower_begin_guard(lowering, &guard, candidates[i]);
        lower_choose_rows(from, combos, i);
        uint32_t fails = NONE, where = lower_presence(lowering, from->entries.list[0].table,
                                                      from->entries.list[0].row);
        for (uint32_t j = 0; j < from->conditions.count; j++)
            where = lower_and(lowering, where,
                              lower_condition(lowering, &scope, from->conditions.list[j], &fails));
        uint32_t done =
            lower_add_told_access(lowering, ISO_PROVE_LOCK, from->entries.list[0].table->ir,
                                  lower_number(lowering, from->entries.list[0].row), where, NULL);
        lower_end_guard(lowering, &guard);
        combos->matches[i] = lower_and(lowering, candidates[i], done);
    }
    iso_free(candidates);
}

/* PERFORM: the values are for nobody, but what fails in them, fails. */
static void perform_rows(struct lowering *lowering, const PgQuery__SelectStmt *select,
                         const struct scope *scope, const struct combos *combos)
{
    for (size_t t = 0; t < select->n_target_list && !failed(lowering); t++) {
        const PgQuery__Node *node = lower_target_of(lowering, select->target_list[t]);
        if (!node || is_star(node) ||
            (!scope->from->entries.count && lower_advisory_lock(lowering, node)))
            continue;
        if (!combos->count)
            lower_read_of_nothing(lowering, scope, node);
        for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
            lower_choose_rows(scope->from, combos, i);
            struct value value = lower_expression(lowering, scope, node);
            lower_abort_if(lowering, lower_and(lowering, combos->matches[i], value.fails));
        }
    }
}

static void select_rows(struct lowering *lowering, const PgQuery__SelectStmt *select,
                        struct from *from, struct combos *combos, const struct target *target)
{
    struct scope scope = {NULL, from, NULL};
    struct value values[MOST_COLUMNS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < combos->count; i++)
        combos->matches[i] = lower_keep(lowering, combos->matches[i]);
    if (!target->given)
        perform_rows(lowering, select, &scope, combos);
    for (size_t t = 0; t < select->n_target_list && target->given && !failed(lowering); t++) {
        const PgQuery__Node *node = lower_target_of(lowering, select->target_list[t]);
        if (!node || count == MOST_COLUMNS)
            break;
        if (!combos->count && !is_star(node))
            lower_read_of_nothing(lowering, &scope, node);
        uint32_t columns = is_star(node) && from->entries.count == 1
                               ? from->entries.list[0].table->column_count
                               : 1;
        for (uint32_t c = 0; c < columns && count < MOST_COLUMNS; c++) {
            struct value value = lower_null(lowering);
            for (uint32_t i = combos->count; i-- > 0 && !failed(lowering);) {
                lower_choose_rows(from, combos, i);
                struct value one = columns > 1 || is_star(node)
                                       ? lower_read_column(lowering, &from->entries.list[0], c)
                                       : lower_expression(lowering, &scope, node);
                value = lower_value_choose(lowering, combos->matches[i], one, value);
            }
            values[count++] = value;
        }
    }
    uint32_t found = lower_any(lowering, combos->matches, combos->count);
    uint32_t many = lower_count_of(lowering, combos->matches, combos->count);
    if (target->given) {
        if (target->strict) {
            many = lower_keep(lowering, many);
            lower_abort_if(lowering, lower_make(lowering, ISO_PROVE_UNEQUAL, many,
                                                lower_number(lowering, 1), NONE));
            found = lower_number(lowering, 1);
        }
        found = lower_keep(lowering, found);
        lower_assign_all(lowering, target, values, count);
        many = lower_choose(lowering, found, lower_number(lowering, 1), lower_number(lowering, 0));
    }
    lower_set_found(lowering, found, many);
}

static void select_aggregate(struct lowering *lowering, const PgQuery__SelectStmt *select,
                             struct from *from, const struct combos *combos,
                             const struct target *target)
{
    struct scope scope = {NULL, from, combos};
    struct value values[MOST_COLUMNS];
    uint32_t count = 0;
    for (size_t t = 0; t < select->n_target_list && t < MOST_COLUMNS && !failed(lowering); t++) {
        const PgQuery__Node *node = lower_target_of(lowering, select->target_list[t]);
        if (node)
            values[count++] = lower_expression(lowering, &scope, node);
        if (node && !target->given)
            lower_abort_if(lowering, values[count - 1].fails);
    }
    if (!failed(lowering))
        lower_assign_all(lowering, target, values, count);
    lower_set_found(lowering, lower_number(lowering, 1), lower_number(lowering, 1));
}

static void select_from(struct lowering *lowering, const PgQuery__SelectStmt *select,
                        struct from *from, const struct target *target)
{
    struct combos combos;
    bool locks = wants_lock(lowering, select), aggregated = lower_is_aggregated(select);
    if (select->where_clause)
        ISO_APPEND(from->conditions, select->where_clause);
    if (target->given && !target->strict && !aggregated && from->entries.count &&
        !lower_finds_one_row(lowering, from))
        lower_refuse(
            lowering, target->location,
            "INTO of a query that may find several rows, of which one is taken in no order: "
            "a condition that fixes a key, an aggregate or STRICT is needed");
    if (aggregated && locks)
        lower_refuse(lowering, lowering->at.span.begin,
                     "FOR UPDATE with an aggregate: PostgreSQL refuses that, too");
    lower_find_combos(lowering, NULL, from, &combos);
    if (!failed(lowering))
        lower_abort_if(lowering, combos.fails);
    if (locks && !failed(lowering))
        lock_rows(lowering, from, &combos);
    if (!failed(lowering) && aggregated)
        select_aggregate(lowering, select, from, &combos, target);
    else if (!failed(lowering))
        select_rows(lowering, select, from, &combos, target);
    lower_release_combos(&combos);
}

void lower_select(struct lowering *lowering, const PgQuery__SelectStmt *select,
                  const struct target *target)
{
    struct from from = {0};
    if (lower_is_plain_select(lowering, select) &&
        lower_open_from(lowering, &from, select->from_clause, select->n_from_clause))
        select_from(lowering, select, &from, target);
    lower_close_from(&from);
}
