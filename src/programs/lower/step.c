/* Steps of the program. Each statement's first step begins it, all others continue. */
#include <assert.h>
#include <stdio.h>

#include "lower/lower_private.h"

uint32_t lower_add_step(struct lowering *lowering, enum iso_prove_step_kind kind)
{
    assert(lowering->body.block && lowering->body.function);
    uint32_t step = iso_prove_step(lowering->program, kind, lowering->at.span);
    lowering->program->steps.list[step].continued = lowering->at.continued;
    lowering->program->steps.list[step].tag = lowering->at.tag;
    lowering->at.continued = true;
    iso_prove_append(lowering->program, lowering->body.block, step);
    return step;
}

void lower_let(struct lowering *lowering, uint32_t local, uint32_t value)
{
    assert(local != NONE && value != NONE);
    uint32_t step = lower_add_step(lowering, ISO_PROVE_LET);
    lowering->program->steps.list[step].local = local;
    lowering->program->steps.list[step].value = value;
}

static uint32_t new_local(struct lowering *lowering, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "$%s%u", what, lowering->body.temporaries++);
    return iso_prove_local(lowering->program, lowering->body.function->template, name);
}

static uint32_t local_value(struct lowering *lowering, uint32_t local)
{
    return lower_make(lowering, ISO_PROVE_LOCAL, local, NONE, NONE);
}

uint32_t lower_unknown(struct lowering *lowering)
{
    return local_value(lowering, new_local(lowering, "u"));
}

uint32_t lower_keep(struct lowering *lowering, uint32_t value)
{
    int64_t number;
    if (value == NONE || lower_constant_of(lowering, value, &number))
        return value;
    uint32_t local = new_local(lowering, "t");
    lower_let(lowering, local, value);
    return local_value(lowering, local);
}

void lower_abort_if(struct lowering *lowering, uint32_t condition)
{
    int64_t number;
    if (condition == NONE || (lower_constant_of(lowering, condition, &number) && !number))
        return;
    uint32_t step = lower_add_step(lowering, ISO_PROVE_ABORT);
    if (!lower_constant_of(lowering, condition, &number))
        lowering->program->steps.list[step].value = condition;
}

struct iso_prove_block *lower_enter(struct lowering *lowering, struct iso_prove_block *block)
{
    struct iso_prove_block *outer = lowering->body.block;
    *block = ISO_PROVE_BLOCK;
    lowering->body.block = block;
    return outer;
}

void lower_leave(struct lowering *lowering, struct iso_prove_block *outer, uint32_t condition,
                 const struct iso_prove_block *block, const struct iso_prove_block *otherwise)
{
    assert(outer && outer != lowering->body.block);
    bool continued = lowering->at.continued;
    lowering->body.block = outer;
    uint32_t step = lower_add_step(lowering, ISO_PROVE_IF);
    struct iso_prove_step *made = &lowering->program->steps.list[step];
    made->value = condition == NONE ? lower_number(lowering, 0) : condition;
    made->block = block->first;
    made->otherwise = otherwise ? otherwise->first : NONE;
    lowering->at.continued = continued;
}

void lower_begin_guard(struct lowering *lowering, struct guard *guard, uint32_t condition)
{
    int64_t number;
    *guard = (struct guard){.condition = condition};
    if (!lower_constant_of(lowering, condition, &number))
        guard->outer = lower_enter(lowering, &guard->block);
}

void lower_end_guard(struct lowering *lowering, const struct guard *guard)
{
    if (guard->outer)
        lower_leave(lowering, guard->outer, guard->condition, &guard->block, NULL);
}

uint32_t lower_add_access(struct lowering *lowering, enum iso_prove_step_kind kind, uint32_t table,
                          uint32_t index, uint32_t where, const uint32_t *values)
{
    assert(kind == ISO_PROVE_WRITE ? values != NULL : kind == ISO_PROVE_LOCK);
    assert(table < lowering->program->tables.count && index != NONE);
    int64_t number;
    uint32_t step = lower_add_step(lowering, kind);
    struct iso_prove_step *made = &lowering->program->steps.list[step];
    made->table = table;
    made->index = index;
    made->where = lower_constant_of(lowering, where, &number) && number ? NONE : where;
    if (kind == ISO_PROVE_WRITE)
        made->first_value = iso_prove_values(lowering->program, values,
                                             lowering->program->tables.list[table].columns);
    return step;
}

/* Adds an access with a local that says whether it was done; 0 until then. */
uint32_t lower_add_told_access(struct lowering *lowering, enum iso_prove_step_kind kind,
                               uint32_t table, uint32_t index, uint32_t where,
                               const uint32_t *values)
{
    uint32_t local = new_local(lowering, "done");
    uint32_t step = lower_add_access(lowering, kind, table, index, where, values);
    lowering->program->steps.list[step].local = local;
    return local_value(lowering, local);
}
