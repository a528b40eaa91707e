/* Steps of the program. Each statement's first step begins it, all others continue. */
#include <stdio.h>

#include "prove_sql/lower_private.h"

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

uint32_t prove_sql_add_access(struct lowering *lowering, enum iso_prove_step_kind kind,
                              uint32_t table, uint32_t index, uint32_t where,
                              const uint32_t *values)
{
    int64_t number;
    uint32_t step = add_step(lowering, kind);
    struct iso_prove_step *made = &lowering->program->steps.list[step];
    made->table = table;
    made->index = index;
    made->where = constant_of(lowering, where, &number) && number ? NONE : where;
    if (kind == ISO_PROVE_WRITE)
        made->first_value = iso_prove_values(lowering->program, values,
                                             lowering->program->tables.list[table].columns);
    return step;
}

/* The same with a local that says whether it was done; 0 until then. */
uint32_t prove_sql_access_told(struct lowering *lowering, enum iso_prove_step_kind kind,
                               uint32_t table, uint32_t index, uint32_t where,
                               const uint32_t *values)
{
    uint32_t local = new_local(lowering, "done");
    uint32_t step = prove_sql_add_access(lowering, kind, table, index, where, values);
    lowering->program->steps.list[step].local = local;
    return local_value(lowering, local);
}
