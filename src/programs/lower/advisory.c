/* Advisory locks that end with their transaction: the keys are cells of a table that nobody writes,
 * so that who takes one waits for all who had it, and at READ COMMITTED sees them then. */
#include <string.h>

#include "lower/lower_private.h"

void lower_make_advisory(struct lowering *lowering)
{
    struct advisory *advisory = &lowering->advisory;
    const struct interval *keys = &advisory->grown;
    advisory->ir = NONE;
    advisory->domain = *keys;
    if (!lowering->final || keys->low > keys->high)
        return;
    if ((uint64_t)keys->high - (uint64_t)keys->low >= MOST_UNIQUE_CELLS) {
        lower_refuse(
            lowering, 0,
            "advisory locks of more than %d keys (%lld to %lld): smaller ranges are needed",
            MOST_UNIQUE_CELLS, (long long)keys->low, (long long)keys->high);
        return;
    }
    advisory->ir =
        iso_prove_table(lowering->program, "pg_advisory_xact_lock",
                        (uint32_t)(keys->high - keys->low + 1), 1, (struct iso_prove_span){0, 0});
    struct iso_prove_table *made = &lowering->program->tables.list[advisory->ir];
    made->indexed = made->hidden = true;
}

bool lower_advisory_lock(struct lowering *lowering, const PgQuery__Node *node)
{
    const PgQuery__FuncCall *call =
        node->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ? node->func_call : NULL;
    struct advisory *advisory = &lowering->advisory;
    if (!call || call->n_args != 1 || !call->n_funcname ||
        strcmp(lower_name_of(call->funcname[call->n_funcname - 1]), "pg_advisory_xact_lock") != 0)
        return false;
    struct value key = lower_expression(lowering, NULL, call->args[0]);
    if (key.type != TYPE_INT && key.type != TYPE_BIGINT && key.type != TYPE_NULL)
        lower_refuse_form(lowering, location_of(lowering, call->location), "an advisory lock of %s",
                          lower_type_name(key.type));
    if (failed(lowering))
        return true;
    lower_abort_if(lowering, key.fails);
    lower_widen(&advisory->grown, key.low, key.high);
    if (advisory->ir == NONE)
        return true;
    struct guard guard;
    lower_begin_guard(lowering, &guard, lower_not(lowering, key.null)); /* NULL locks nothing */
    uint32_t cell = lower_make(lowering, ISO_PROVE_SUBTRACT, key.at,
                               lower_number(lowering, advisory->domain.low), NONE);
    lower_add_access(lowering, ISO_PROVE_LOCK, advisory->ir, cell, NONE, NULL);
    lower_end_guard(lowering, &guard);
    return true;
}
