/* Variables after a statement: assigned values, FOUND and ROW_COUNT. */
#include <assert.h>

#include "lower/lower_private.h"

void lower_assign(struct lowering *lowering, uint32_t number, struct value value, uint32_t location)
{
    assert(number < lowering->body.variables.count);
    struct variable *variable = &lowering->body.variables.list[number];
    int64_t known;
    if (failed(lowering))
        return;
    if (variable->constant)
        lower_refuse(lowering, location, "\"%s\" is a constant", variable->name);
    if (!lower_types_meet(value.type, variable->type)) {
        lower_refuse(lowering, location, "\"%s\" is %s, and this is %s", variable->name,
                     lower_type_name(variable->type), lower_type_name(value.type));
        return;
    }
    if (variable->type == TYPE_INT && value.type == TYPE_BIGINT)
        lower_fit(lowering, &value, TYPE_INT);
    lower_limit_text(lowering, &value, variable->limit);
    lower_abort_if(lowering, value.fails);
    if (variable->not_null)
        lower_abort_if(lowering, value.null);
    uint32_t null = value.null == NONE ? lower_number(lowering, 0) : value.null;
    /* Either may be about the variable itself. */
    bool certain = lower_constant_of(lowering, null, &known);
    uint32_t at = certain ? value.at : lower_keep(lowering, value.at);
    lower_let(lowering, certain ? variable->local : variable->null, certain ? at : null);
    lower_let(lowering, certain ? variable->null : variable->local, certain ? null : at);
    lowering->body.states.list[number].may_be_null = value.null != NONE;
    lowering->body.states.list[number].interval = (struct interval){value.low, value.high};
}

/* FOUND and ROW_COUNT after a statement. */
void lower_set_found(struct lowering *lowering, uint32_t found, uint32_t count)
{
    assert(lowering->body.function);
    struct value value = lower_boolean(lowering, found);
    lower_assign(lowering, lowering->body.found, value, lowering->at.span.begin);
    value = lower_constant(lowering, TYPE_BIGINT, 0);
    value.at = count;
    value.high = MOST_ROWS;
    int64_t number;
    if (lower_constant_of(lowering, count, &number))
        value.low = value.high = number;
    lower_assign(lowering, lowering->body.row_count, value, lowering->at.span.begin);
}

uint32_t lower_count_of(struct lowering *lowering, uint32_t *conditions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        conditions[i] = lower_choose(lowering, conditions[i], lower_number(lowering, 1),
                                     lower_number(lowering, 0));
    return lower_sum(lowering, conditions, count);
}

struct value lower_keep_value(struct lowering *lowering, struct value value)
{
    value.at = lower_keep(lowering, value.at);
    value.null = lower_keep(lowering, value.null);
    value.fails = lower_keep(lowering, value.fails);
    return value;
}

/* All values first, then all variables. */
void lower_assign_all(struct lowering *lowering, const struct target *target, struct value *values,
                      uint32_t count)
{
    assert(count <= MOST_COLUMNS && target->count <= MOST_COLUMNS);
    for (uint32_t i = 0; i < target->count && i < count && target->count > 1; i++)
        values[i] = lower_keep_value(lowering, values[i]);
    for (uint32_t i = target->count; i < count; i++)
        lower_abort_if(lowering, values[i].fails);
    for (uint32_t i = 0; i < target->count; i++)
        lower_assign(lowering, target->variables[i], i < count ? values[i] : lower_null(lowering),
                     target->location);
}
