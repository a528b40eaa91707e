/* Row sets of the native format: bounds, and the rows that were found between them. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "native/native_private.h"

bool native_read_bound(struct iso_native *native, const char *what, iso_atom *bound)
{
    return native_is_null(native) || native_read_atom(native, what, bound);
}

bool native_read_rows(struct iso_native *native, struct native_operation *operation)
{
    struct iso_json_text name;
    if (iso_json_peek(&native->json) != ISO_JSON_OBJECT)
        return native_wrong_type(native, "rows", "an object, key by key: {\"7\":\"value\"}");
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name)) {
        struct native_operation row = {.value = ISO_ABSENT};
        iso_atom key = iso_atoms_text(&native->history->atoms, name.at, name.length);
        iso_json_space(&native->json);
        const char *at = native->json.at;
        bool has_cells = iso_json_peek(&native->json) == ISO_JSON_OBJECT;
        if (operation->rows && has_cells != native_has_query_rows(native->history, operation->rows))
            return native_refuse(native, at, "a row with cells beside one that is a value");
        if (has_cells) {
            if (!native_read_query_row(native, operation, key))
                return false;
            continue;
        }
        if (!native_read_value(native, &row))
            return false;
        if (!row.has_value)
            return native_refuse(
                native, at, "a row that is null, expected a value: what is not there is left out");
        iso_history_reserve_operations(native->history, 1);
        uint32_t o = native->history->ops.count++;
        native->history->ops.kind[o] = row.is_list ? ISO_READ_LIST : ISO_READ;
        native->history->ops.key[o] = iso_history_key(native->history, key);
        native->history->ops.value[o] = row.value;
        operation->rows++;
    }
    return native->json.code == ISO_JSON_FINE || native_scanner_fault(native);
}

/* A key of the last `rows` operations that stands there twice, or ISO_NONE. */
static uint32_t repeated_key(const struct iso_history *history, uint32_t rows)
{
    const uint32_t *keys = history->ops.key + history->ops.count - rows;
    uint32_t found = ISO_NONE, ascending = 1;
    while (ascending < rows && keys[ascending - 1] < keys[ascending])
        ascending++;
    if (ascending >= rows)
        return ISO_NONE;
    uint32_t *sorted = iso_allocate(rows * sizeof *sorted);
    memcpy(sorted, keys, rows * sizeof *sorted);
    qsort(sorted, rows, sizeof *sorted, iso_order_u32);
    for (uint32_t i = 1; i < rows; i++)
        found = sorted[i] == sorted[i - 1] ? sorted[i] : found;
    iso_free(sorted);
    return found;
}

static bool refuse_row(struct iso_native *native, const char *at, uint32_t key, const char *why)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text =
        iso_atom_text(&native->history->atoms, native->history->keys.atom[key], buffer, &length);
    return native_refuse(native, at, "row %.*s %s", (int)(length < 60 ? length : 60), text, why);
}

static bool check_bounds(struct iso_native *native, const char *at,
                         const struct native_operation *operation)
{
    const struct iso_range *range = &operation->range;
    const struct iso_atoms *atoms = &native->history->atoms;
    if (range->from != ISO_ABSENT && range->to != ISO_ABSENT &&
        iso_atom_compare(atoms, range->from, range->to) > 0)
        return native_refuse(
            native, at,
            "a row set from above its end, expected \"from\" at or below \"to\": integers "
            "by size, then texts by bytes");
    for (uint32_t o = native->history->ops.count - operation->rows; o < native->history->ops.count;
         o++) {
        iso_atom key = native->history->keys.atom[native->history->ops.key[o]];
        if ((range->from == ISO_ABSENT || iso_atom_compare(atoms, range->from, key) <= 0) &&
            (range->to == ISO_ABSENT || iso_atom_compare(atoms, key, range->to) <= 0))
            continue;
        return refuse_row(native, at, native->history->ops.key[o],
                          "lies outside of the bounds of its set");
    }
    return true;
}

/* Bounds of a table's keys are compared by the types of its columns, which are not known here. */
bool native_check_set(struct iso_native *native, const char *at,
                      const struct native_operation *operation)
{
    if (operation->range.form == ISO_SET_RANGE && !check_bounds(native, at, operation))
        return false;
    uint32_t twice = repeated_key(native->history, operation->rows);
    return twice == ISO_NONE || refuse_row(native, at, twice, "stands there twice");
}
