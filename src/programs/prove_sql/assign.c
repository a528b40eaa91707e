/* What statements leave in variables: values, FOUND and ROW_COUNT. */
#include "prove_sql/lower_private.h"

void assign(struct lowering *lowering, uint32_t number, struct value value, uint32_t place)
{
    struct variable *variable = &lowering->variables[number];
    int64_t known;
    if (failed(lowering))
        return;
    if (variable->constant)
        refuse(lowering, place, "\"%s\" is a constant", variable->name);
    if (!types_meet(value.type, variable->type)) {
        refuse(lowering, place, "\"%s\" is %s, and this is %s", variable->name,
               type_name(variable->type), type_name(value.type));
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

uint32_t prove_sql_count_of(struct lowering *lowering, uint32_t *conditions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        conditions[i] =
            choose(lowering, conditions[i], make_constant(lowering, 1), make_constant(lowering, 0));
    return sum_of(lowering, conditions, count);
}

struct value prove_sql_settled(struct lowering *lowering, struct value value)
{
    value.at = settle(lowering, value.at);
    value.null = settle(lowering, value.null);
    value.fails = settle(lowering, value.fails);
    return value;
}

/* All values first, then all variables. */
void prove_sql_assign_all(struct lowering *lowering, const struct target *target,
                          struct value *values, uint32_t count)
{
    for (uint32_t i = 0; i < target->count && i < count && target->count > 1; i++)
        values[i] = prove_sql_settled(lowering, values[i]);
    for (uint32_t i = 0; i < target->count; i++)
        assign(lowering, target->variables[i], i < count ? values[i] : value_null(lowering),
               target->place);
}
