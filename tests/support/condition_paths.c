#include "tests/support/condition_paths.h"

#include <assert.h>

#include "base/memory.h"
#include "predicate/place.h"

static bool finds(const struct iso_condition *condition, const struct iso_condition_path *path,
                  const struct iso_scalar_type *types, const struct iso_scalar *cells)
{
    struct iso_scalar_place value, seek;
    const struct iso_scalar *cell = &cells[path->column];
    if (cell->kind == ISO_SCALAR_NULL)
        return false;
    for (uint32_t i = 0; i < path->count; i++)
        if (!iso_scalar_seek(types[path->column], &condition->constants[path->constant + i],
                             &seek) ||
            !iso_scalar_place(cell, &value) || iso_places_meet(&value, &seek))
            return true;
    return false;
}

bool condition_paths_find(const struct iso_condition *condition,
                          const struct iso_scalar_type *types, const struct iso_scalar *cells)
{
    bool *stack = iso_allocate(condition->path_count + 1), found = true;
    uint32_t used = 0;
    for (uint32_t i = 0; i < condition->path_count; i++) {
        const struct iso_condition_path *path = &condition->paths[i];
        if (path->kind == ISO_PATH_EQUAL) {
            stack[used++] = finds(condition, path, types, cells);
            continue;
        }
        assert(used >= 2);
        used--;
        stack[used - 1] = path->kind == ISO_PATH_BOTH ? stack[used - 1] || stack[used]
                                                      : stack[used - 1] && stack[used];
    }
    assert(used == (condition->path_count != 0));
    found = !used || stack[0];
    iso_free(stack);
    return found;
}

void condition_paths_put(struct iso_text *text, const struct iso_condition *condition)
{
    for (uint32_t i = 0; i < condition->path_count; i++) {
        const struct iso_condition_path *path = &condition->paths[i];
        iso_text_put(text, i ? " " : "");
        if (path->kind != ISO_PATH_EQUAL) {
            iso_text_put(text, path->kind == ISO_PATH_BOTH ? "both" : "either");
            continue;
        }
        struct iso_json_text name = condition->columns[path->column].name;
        iso_text_put_bytes(text, name.at, name.length);
        for (uint32_t c = 0; c < path->count; c++) {
            const struct iso_scalar *constant = &condition->constants[path->constant + c];
            iso_text_put(text, c ? "|" : "=");
            if (constant->kind > ISO_SCALAR_OPAQUE)
                iso_scalar_put(text, constant);
            else
                iso_text_put(text, constant->kind == ISO_SCALAR_NULL ? "null" : "?");
        }
    }
}
