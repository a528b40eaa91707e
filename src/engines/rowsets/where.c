/* Conditions by their texts: of what is asked again and again, with
 * whatever constants, the text is read once. */
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

/* Texts that differ in numbers and strings only have the same one, as a rule. */
static uint32_t shape_of(struct iso_json_text text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    bool is_quoted = false;
    for (size_t i = 0; i < text.length; i++) {
        bool is_number =
            (text.at[i] >= '0' && text.at[i] <= '9') || text.at[i] == '.' || text.at[i] == '-';
        is_quoted ^= text.at[i] == '\'';
        if (!is_quoted && !is_number)
            hash = (hash ^ (unsigned char)text.at[i]) * 16777619u;
    }
    return hash;
}

/* False: it is another one's, or empty. */
static bool restate(struct iso_rowsets *engine, struct rowsets_condition *kept,
                    struct iso_json_text text)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    if (kept->text == ISO_ABSENT || kept->is_wrong || kept->condition.is_fixed)
        return false;
    bool fine = iso_condition_restate(&kept->condition,
                                      rowsets_text(&engine->atoms, kept->text, buffer), text);
    if (!fine) {
        empty(kept);
        return false;
    }
    iso_free(kept->types);
    kept->types = NULL;
    return true;
}

/* By its atom, and by its shape where another one of that shape can be made of it. */
struct rowsets_condition *rowsets_condition(struct iso_rowsets *engine, iso_atom where)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_error error = ISO_NO_ERROR;
    struct rowsets_condition *kept = &engine->conditions[where % ROWSETS_CONDITIONS];
    if (kept->text == where)
        return kept;
    struct iso_json_text text = rowsets_text(&engine->atoms, where, buffer);
    struct rowsets_condition *alike = &engine->conditions[shape_of(text) % ROWSETS_CONDITIONS];
    if (alike->text != where && !restate(engine, alike, text)) {
        struct rowsets_condition read = {.text = where};
        read.is_wrong =
            iso_condition_parse(&read.condition, text.at, text.length, &error) != ISO_OK;
        alike = read.is_wrong || read.condition.is_fixed ? kept : alike;
        empty(alike);
        *alike = read;
    }
    alike->text = where;
    return alike;
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
