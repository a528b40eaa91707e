/* Rows with their cells, and what a query returned, as operations.
 *
 *     {"t":"r","row":"public.acct/7","cells":{"balance":150}}     r public.acct/7 = true, r
 *                                                                 public.acct/7#balance = 150
 *     {"t":"q","table":"public.acct","rows":{"7":{..}}}           r public.acct# = null, and of
 *                                                                 each row the same
 *
 * Members come in any order, and keys are made of several. So what is read first waits as
 * operations whose `key` is the atom of a part of it (MARK_ROW: of the row's key; MARK_CELL: a
 * column's name), and native_take_row and native_take_set make keys of them.
 */
#include <string.h>

#include "base/cell_key.h"
#include "native/native_private.h"
#include "predicate/aggregate.h"

/* A `kind` while it waits. */
enum { MARK_CELL = 0x80 | ISO_READ, MARK_ROW = 0x80 | ISO_WRITE };

static iso_atom true_atom(struct iso_history *history)
{
    return iso_atoms_text(&history->atoms, "true", 4);
}

static void add_waiting(struct iso_history *history, struct native_operation *operation,
                        uint8_t mark, iso_atom part, iso_atom value)
{
    iso_history_reserve_operations(history, 1);
    uint32_t o = history->ops.count++;
    history->ops.kind[o] = mark;
    history->ops.key[o] = part;
    history->ops.value[o] = value;
    operation->rows++;
}

bool native_read_cells(struct iso_native *native, struct native_operation *operation)
{
    struct iso_json_text name;
    if (iso_json_peek(&native->json) != ISO_JSON_OBJECT)
        return native_wrong_type(native, "cells", "an object, column by column: {\"balance\":150}");
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name)) {
        struct native_operation cell = {.value = ISO_ABSENT};
        iso_atom column = iso_atoms_text(&native->history->atoms, name.at, name.length);
        iso_json_space(&native->json);
        const char *at = native->json.at;
        if (!name.length)
            return native_refuse(native, at, "a cell of a column without a name");
        if (!native_read_value(native, &cell))
            return false;
        if (cell.is_list)
            return native_refuse(
                native, at,
                "a cell that is a list, expected an integer, a string, a boolean or null");
        add_waiting(native->history, operation, MARK_CELL, column, cell.value);
    }
    return native->json.code == ISO_JSON_FINE || native_scanner_fault(native);
}

bool native_read_query_row(struct iso_native *native, struct native_operation *operation,
                           iso_atom key)
{
    add_waiting(native->history, operation, MARK_ROW, key, true_atom(native->history));
    return native_read_cells(native, operation);
}

/* ---- keys ---- */

static void put_atom(struct iso_text *text, const struct iso_history *history, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *at = iso_atom_text(&history->atoms, atom, buffer, &length);
    iso_text_put_bytes(text, at, length);
}

static void put_column(struct iso_text *text, const struct iso_history *history, iso_atom column)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *at = iso_atom_text(&history->atoms, column, buffer, &length);
    iso_cell_key_put(text, at, length);
}

static uint32_t key_of(struct iso_history *history, const struct iso_text *text)
{
    return iso_history_key(history, iso_atoms_text(&history->atoms, text->bytes, text->used));
}

/* Makes keys of what waits from operation `first` on; `text` is what a row's key begins with, and
 * `row` its length. */
static void make_keys(struct iso_history *history, uint32_t first, uint8_t kind,
                      struct iso_text *text, size_t row)
{
    size_t table = text->used;
    for (uint32_t o = first; o < history->ops.count; o++) {
        bool is_row = history->ops.kind[o] == MARK_ROW;
        text->used = is_row ? table : row;
        if (is_row)
            put_atom(text, history, history->ops.key[o]);
        else
            put_column(text, history, history->ops.key[o]);
        row = is_row ? text->used : row;
        history->ops.key[o] = key_of(history, text);
        history->ops.kind[o] = kind;
    }
}

/* Room for one operation before the last `rows`. */
static uint32_t insert_operation(struct iso_history *history, uint32_t rows)
{
    iso_history_reserve_operations(history, 1);
    uint32_t at = history->ops.count++ - rows;
    memmove(history->ops.kind + at + 1, history->ops.kind + at, rows * sizeof *history->ops.kind);
    memmove(history->ops.key + at + 1, history->ops.key + at, rows * sizeof *history->ops.key);
    memmove(history->ops.value + at + 1, history->ops.value + at,
            rows * sizeof *history->ops.value);
    return at;
}

void native_take_row(struct iso_history *history, struct native_operation *operation)
{
    struct iso_text text = {0};
    bool is_there = operation->kind == ISO_WRITE || operation->has_cells;
    uint32_t at = insert_operation(history, operation->rows);
    put_atom(&text, history, operation->row);
    history->ops.kind[at] = (uint8_t)operation->kind;
    history->ops.key[at] = key_of(history, &text);
    history->ops.value[at] = is_there ? true_atom(history) : ISO_ABSENT;
    make_keys(history, at + 1, (uint8_t)operation->kind, &text, text.used);
    iso_text_release(&text);
    operation->rows++;
    operation->is_set = true;
    operation->range.form = ISO_SET_ROW;
}

void native_take_query(struct iso_history *history, struct native_operation *operation)
{
    struct iso_text text = {0};
    uint32_t at = insert_operation(history, operation->rows);
    put_atom(&text, history, operation->range.table);
    size_t table = text.used;
    iso_text_put(&text, "#");
    history->ops.kind[at] = ISO_READ;
    history->ops.key[at] = key_of(history, &text);
    history->ops.value[at] = ISO_ABSENT;
    text.used = table;
    iso_text_put(&text, "/");
    make_keys(history, at + 1, ISO_READ, &text, text.used);
    iso_text_release(&text);
    operation->rows++;
    operation->range.form = ISO_SET_QUERY;
}

bool native_has_query_rows(const struct iso_history *history, uint32_t rows)
{
    return rows && history->ops.kind[history->ops.count - rows] == MARK_ROW;
}

/* ---- what else a query says ---- */

bool native_read_where(struct iso_native *native, iso_atom *where)
{
    struct iso_json_text text;
    struct iso_condition condition = {0};
    struct iso_error error = {0};
    const char *at =
        native_read_word(native, "where", "a condition, \"account_id = 7 and amount > 10\"", &text);
    if (!at)
        return false;
    bool fine = iso_condition_parse(&condition, text.at, text.length, &error) == ISO_OK;
    iso_condition_release(&condition);
    if (!fine)
        return native_refuse(native, at, "where: %s", error.text);
    *where = iso_atoms_text(&native->history->atoms, text.at, text.length);
    return true;
}

/* The JSON from `at` to the cursor, without white space. */
static iso_atom compact(struct iso_native *native, const char *at)
{
    struct iso_text text = {0};
    iso_text_put_compact(&text, at, (size_t)(native->json.at - at));
    iso_atom atom = iso_atoms_add_string(&native->history->atoms, text.bytes, text.used);
    iso_text_release(&text);
    return atom;
}

static bool skip_scalar(struct iso_native *native, const char *what)
{
    enum iso_json_type type = iso_json_peek(&native->json);
    if (type == ISO_JSON_OBJECT || type == ISO_JSON_ARRAY)
        return native_wrong_type(native, what, "a number, a string, a boolean or null");
    return iso_json_skip(&native->json) || native_scanner_fault(native);
}

static bool read_aggregate_name(struct iso_native *native, const char *at,
                                struct iso_json_text name)
{
    struct iso_aggregate aggregate = {0};
    struct iso_error error = {0};
    bool fine = iso_aggregate_parse(&aggregate, name.at, name.length, &error) == ISO_OK;
    iso_aggregate_release(&aggregate);
    return fine ||
           native_refuse(native, at, "agg: \"%.*s\": %s", native_shown(&name), name.at, error.text);
}

bool native_read_aggregates(struct iso_native *native, struct native_operation *operation)
{
    struct iso_json_text name;
    if (iso_json_peek(&native->json) != ISO_JSON_OBJECT)
        return native_wrong_type(native, "agg",
                                 "an object: {\"count\":3,\"sum(amount)\":\"28.50\"}");
    iso_json_space(&native->json);
    const char *at = native->json.at;
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name))
        if (!read_aggregate_name(native, native->json.at, name) ||
            !skip_scalar(native, "an aggregate"))
            return false;
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    operation->range.returned = compact(native, at);
    return true;
}

bool native_read_columns(struct iso_native *native, iso_atom *columns, uint32_t *count)
{
    struct iso_json_text name;
    if (iso_json_peek(&native->json) != ISO_JSON_ARRAY)
        return native_wrong_type(native, "columns", "a list of names: [\"c\"]");
    iso_json_space(&native->json);
    const char *at = native->json.at;
    iso_json_enter_array(&native->json);
    for (*count = 0; iso_json_element(&native->json); ++*count)
        if (!native_read_word(native, "a column", "its name", &name))
            return false;
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    *columns = compact(native, at);
    return true;
}

static bool read_bag_row(struct iso_native *native, uint32_t *width)
{
    uint32_t count = 0;
    const char *at = native->json.at;
    if (iso_json_peek(&native->json) != ISO_JSON_ARRAY)
        return native_wrong_type(native, "a row of bag",
                                 "a list with a value for each of \"columns\"");
    for (iso_json_enter_array(&native->json); iso_json_element(&native->json); count++)
        if (!skip_scalar(native, "a value of bag"))
            return false;
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    if (*width && count != *width)
        return native_refuse(native, at, "bag: a row of %u values, and others of %u",
                             (unsigned)count, (unsigned)*width);
    *width = count;
    return true;
}

bool native_read_bag(struct iso_native *native, iso_atom *bag, uint32_t *width)
{
    if (iso_json_peek(&native->json) != ISO_JSON_ARRAY)
        return native_wrong_type(native, "bag", "a list of rows: [[\"x\"],[\"y\"]]");
    iso_json_space(&native->json);
    const char *at = native->json.at;
    *width = 0;
    for (iso_json_enter_array(&native->json); iso_json_element(&native->json);) {
        iso_json_space(&native->json);
        if (!read_bag_row(native, width))
            return false;
    }
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    *bag = compact(native, at);
    return true;
}

/* {"columns":[..],"bag":[..]} */
void native_take_bag(struct iso_history *history, struct native_operation *operation)
{
    struct iso_text text = {0};
    iso_text_put(&text, "{\"columns\":");
    put_atom(&text, history, operation->columns);
    iso_text_put(&text, ",\"bag\":");
    put_atom(&text, history, operation->bag);
    iso_text_put(&text, "}");
    operation->range.returned = iso_atoms_add_string(&history->atoms, text.bytes, text.used);
    iso_text_release(&text);
}
