/* Conditions by their texts: of what is asked again and again the text is read once. */
#include <string.h>

#include "rowsets/rowsets_private.h"

static void empty(struct rowsets_condition *kept)
{
    iso_condition_release(&kept->condition);
    iso_free(kept->types);
    *kept = (struct rowsets_condition){.text = ISO_ABSENT};
}

void rowsets_forget_conditions(struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < ROWSETS_CONDITIONS; i++)
        empty(&engine->conditions[i]);
}

struct rowsets_condition *rowsets_condition(struct iso_rowsets *engine, iso_atom where)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_error error = ISO_NO_ERROR;
    struct rowsets_condition *kept = &engine->conditions[where % ROWSETS_CONDITIONS];
    if (kept->text == where)
        return kept;
    struct iso_json_text text = rowsets_text(&engine->atoms, where, buffer);
    empty(kept);
    kept->text = where;
    kept->is_wrong = iso_condition_parse(&kept->condition, text.at, text.length, &error) != ISO_OK;
    return kept;
}

void rowsets_bind_condition(struct rowsets_condition *kept, const struct iso_scalar_type *types)
{
    uint32_t count = kept->condition.column_count, same = 0;
    while (kept->types && same < count && rowsets_is_type(kept->types[same], types[same]))
        same++;
    if (kept->types && same == count)
        return;
    kept->types = iso_reallocate(kept->types, (count + 1) * sizeof *types);
    memcpy(kept->types, types, count * sizeof *types);
    iso_condition_bind(&kept->condition, types);
}
