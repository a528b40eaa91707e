#include "io/row_private.h"

#include <string.h>

#include "base/memory.h"

void iso_row_init(struct iso_row *row)
{
    *row = (struct iso_row){0};
}

void iso_row_release(struct iso_row *row)
{
    iso_free(row->cells);
    iso_free(row->order);
    iso_text_release(&row->text);
    for (int i = 0; i < ISO_ROW_TABLES; i++)
        iso_text_release(&row->tables[i].text);
    iso_row_init(row);
}

/* What is put together, and what is remembered, is not of the cells. */
void iso_row_swap(struct iso_row *left, struct iso_row *right)
{
    struct iso_cell *cells = left->cells;
    uint32_t *order = left->order, count = left->count, capacity = left->capacity, order_count = left->order_count;
    left->cells = right->cells;
    left->order = right->order;
    left->count = right->count;
    left->capacity = right->capacity;
    left->order_count = right->order_count;
    right->cells = cells;
    right->order = order;
    right->count = count;
    right->capacity = capacity;
    right->order_count = order_count;
}

static void grow(struct iso_row *row)
{
    row->capacity = (uint32_t)iso_column_capacity(row->capacity, row->count + 1u);
    row->cells = iso_reallocate(row->cells, row->capacity * sizeof *row->cells);
    row->order = iso_reallocate(row->order, row->capacity * sizeof *row->order);
}

struct iso_cell *iso_row_add(struct iso_row *row, const char *name, size_t length)
{
    if (row->count == row->capacity)
        grow(row);
    struct iso_cell *cell = &row->cells[row->count++];
    *cell = (struct iso_cell){.name = name, .name_length = (uint32_t)length, .kind = ISO_CELL_NULL};
    return cell;
}

static bool is_named(const struct iso_cell *cell, const char *name, size_t length)
{
    return cell->name_length == length && !memcmp(cell->name, name, length);
}

const struct iso_cell *iso_row_find(const struct iso_row *row, const char *name, size_t length)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (is_named(&row->cells[i], name, length))
            return &row->cells[i];
    return NULL;
}

bool iso_row_set_keys(struct iso_row *row, const struct iso_row *keys)
{
    bool complete = true;
    for (uint32_t i = 0; i < row->count; i++)
        row->cells[i].is_key = false;
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct iso_cell *key = &keys->cells[i];
        bool found = false;
        for (uint32_t c = 0; c < row->count && !found; c++)
            if (is_named(&row->cells[c], key->name, key->name_length))
                row->cells[c].is_key = found = true;
        complete &= found;
    }
    return complete;
}

/* ---- identity ---- */

/* Encodes what stands in the text from `start` on. */
static void encode(struct iso_text *text, size_t start)
{
    size_t special = 0;
    for (size_t i = start; i < text->used; i++)
        special += text->bytes[i] == '%' || text->bytes[i] == '/' || text->bytes[i] == ',';
    if (!special)
        return;
    iso_text_reserve(text, 2 * special);
    char *from = text->bytes + text->used, *to = from + 2 * special;
    text->used += 2 * special;
    while (to > from) {
        char byte = *--from;
        if (byte == '%' || byte == '/' || byte == ',') {
            to -= 3;
            memcpy(to, byte == '%' ? "%25" : byte == '/' ? "%2F" : "%2C", 3);
        } else {
            *--to = byte;
        }
    }
}

static void put_name(struct iso_text *text, struct iso_json_text name)
{
    size_t start = text->used;
    iso_text_put_bytes(text, name.at, name.length);
    encode(text, start);
}

static void name_table(struct iso_row_table *known, struct iso_json_text schema, struct iso_json_text table)
{
    struct iso_text *text = &known->text;
    text->used = 0;
    known->schema_length = (uint32_t)schema.length;
    known->table_length = (uint32_t)table.length;
    iso_text_put_bytes(text, schema.at, schema.length);
    iso_text_put_bytes(text, table.at, table.length);
    if (schema.length) {
        put_name(text, schema);
        iso_text_put_bytes(text, ".", 1);
    }
    put_name(text, table);
}

/* The text becomes the table's name. Most rows are of a table that was there before. */
static void put_table(struct iso_row *row, struct iso_json_text schema, struct iso_json_text table)
{
    unsigned last = table.length ? (unsigned char)table.at[table.length - 1] : 0;
    struct iso_row_table *known = &row->tables[(last ^ table.length) % ISO_ROW_TABLES];
    const struct iso_text *text = &known->text;
    if (!text->used || known->schema_length != schema.length || known->table_length != table.length ||
        memcmp(text->bytes, schema.at, schema.length) || memcmp(text->bytes + schema.length, table.at, table.length))
        name_table(known, schema, table);
    size_t given = schema.length + table.length;
    row->text.used = 0;
    if (text->used)
        iso_text_put_bytes(&row->text, text->bytes + given, text->used - given);
}

iso_atom iso_row_table(struct iso_row *row, struct iso_atoms *atoms, struct iso_json_text schema,
                       struct iso_json_text table)
{
    put_table(row, schema, table);
    return iso_atoms_text(atoms, row->text.bytes, row->text.used);
}

static bool has_keys(const struct iso_row *row)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (row->cells[i].is_key)
            return true;
    return false;
}

iso_atom iso_row_key(struct iso_row *keys, struct iso_atoms *atoms, struct iso_json_text schema,
                     struct iso_json_text table)
{
    struct iso_text *text = &keys->text;
    bool all = !has_keys(keys), first = true;
    put_table(keys, schema, table);
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct iso_cell *cell = &keys->cells[i];
        if (!all && !cell->is_key)
            continue;
        if (cell->kind == ISO_CELL_NULL || cell->kind == ISO_CELL_UNKNOWN)
            return ISO_ABSENT;
        iso_text_put_bytes(text, first ? "/" : ",", 1);
        first = false;
        size_t start = text->used;
        iso_cell_put(text, cell);
        if (cell->kind != ISO_CELL_INTEGER)
            encode(text, start);
    }
    return first ? ISO_ABSENT : iso_atoms_add_string(atoms, text->bytes, text->used);
}

/* ---- value ---- */

/* <0, 0, >0. */
static int compare_names(const struct iso_cell *left, const struct iso_cell *right)
{
    uint32_t common = left->name_length < right->name_length ? left->name_length : right->name_length;
    int order = memcmp(left->name, right->name, common);
    return order ? order : left->name_length < right->name_length ? -1 : left->name_length > right->name_length;
}

/* Sorts by insertion, from the order of the row before, which mostly is the order of this one. False: a name twice. */
static bool sort(struct iso_row *row)
{
    bool distinct = true;
    if (row->order_count != row->count)
        for (uint32_t i = 0; i < row->count; i++)
            row->order[i] = i;
    row->order_count = row->count;
    for (uint32_t i = 1; i < row->count; i++) {
        uint32_t cell = row->order[i], place = i;
        int order = 1;
        while (place && (order = compare_names(&row->cells[row->order[place - 1]], &row->cells[cell])) > 0) {
            row->order[place] = row->order[place - 1];
            place--;
        }
        distinct &= !place || order != 0;
        row->order[place] = cell;
    }
    return distinct;
}

static iso_atom cell_atom(struct iso_row *row, struct iso_atoms *atoms, const struct iso_cell *cell)
{
    switch (cell->kind) {
    case ISO_CELL_NULL:
        return ISO_ABSENT;
    case ISO_CELL_INTEGER:
        return iso_atoms_add_integer(atoms, cell->bits, cell->negative);
    case ISO_CELL_TEXT:
        return iso_atoms_text(atoms, cell->length ? cell->text : "", cell->length);
    default:
        row->text.used = 0;
        iso_cell_put(&row->text, cell);
        return iso_atoms_text(atoms, row->text.bytes, row->text.used);
    }
}

static enum iso_row_value column_value(struct iso_row *row, struct iso_atoms *atoms, const char *column,
                                       iso_atom *value)
{
    size_t length = strlen(column);
    const struct iso_cell *found = NULL;
    for (uint32_t i = 0; i < row->count; i++)
        if (is_named(&row->cells[i], column, length)) {
            if (found)
                return ISO_ROW_TWICE;
            found = &row->cells[i];
        }
    if (!found)
        return ISO_ROW_NO_COLUMN;
    if (found->kind == ISO_CELL_UNKNOWN)
        return ISO_ROW_UNKNOWN;
    *value = cell_atom(row, atoms, found);
    return ISO_ROW_KNOWN;
}

/* The brace or comma, the name, and the colon. */
static void put_name_of(struct iso_text *text, const struct iso_cell *cell)
{
    char *to = iso_text_reserve(text, cell->name_length + 4u);
    *to = text->used ? ',' : '{';
    if (cell->is_plain_name) {
        to[1] = '"';
        memcpy(to + 2, cell->name, cell->name_length);
        memcpy(to + 2 + cell->name_length, "\":", 2);
        text->used += cell->name_length + 4u;
        return;
    }
    text->used++;
    iso_text_put_string(text, cell->name, cell->name_length);
    iso_text_put_bytes(text, ":", 1);
}

enum iso_row_value iso_row_value(struct iso_row *row, struct iso_atoms *atoms, const char *column, iso_atom *value)
{
    struct iso_text *text = &row->text;
    if (column)
        return column_value(row, atoms, column, value);
    if (!sort(row))
        return ISO_ROW_TWICE;
    text->used = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        const struct iso_cell *cell = &row->cells[row->order[i]];
        if (cell->is_key)
            continue;
        if (cell->kind == ISO_CELL_UNKNOWN)
            return ISO_ROW_UNKNOWN;
        put_name_of(text, cell);
        iso_cell_put_json(text, cell);
    }
    iso_text_put(text, text->used ? "}" : "{}");
    *value = iso_atoms_add_string(atoms, text->bytes, text->used);
    return ISO_ROW_KNOWN;
}
