#include "values/row.h"

#include <string.h>

#include "base/bytes.h"
#include "base/cell_key.h"
#include "base/memory.h"
#include "values/spelling.h"

void iso_row_init(struct iso_row *row)
{
    *row = (struct iso_row){0};
}

void iso_row_release(struct iso_row *row)
{
    ISO_FREE_ALL(row->cells, row->order);
    iso_text_release(&row->text);
    iso_text_release(&row->spelt);
    iso_row_init(row);
}

/* Texts that are put together, and what is remembered, stay: they are not of the cells. */
void iso_row_swap(struct iso_row *left, struct iso_row *right)
{
    struct iso_cell *cells = left->cells;
    uint32_t *order = left->order, count = left->count, capacity = left->capacity,
             order_count = left->order_count;
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

void iso_row_grow(struct iso_row *row)
{
    ISO_GROW(row->cells, row->count, row->capacity);
    row->order = iso_reallocate(row->order, row->capacity * sizeof *row->order);
}

static bool is_named(const struct iso_cell *cell, const char *name, size_t length)
{
    return cell->name_length == length && iso_bytes_equal(cell->name, name, length);
}

bool iso_row_has_values(const struct iso_row *row)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (!row->cells[i].is_key)
            return true;
    return false;
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

static const char *special_of(bool marks)
{
    return marks ? "%/,#" : "%/,";
}

/* Whether one of the bytes stands for something in identities. */
static bool has_special(const char *at, size_t length)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t found = 0;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = iso_bytes_load_short(at + i, length - i);
        uint64_t percent = word ^ ones * '%', slash = word ^ ones * '/', comma = word ^ ones * ',';
        found |=
            ((percent - ones) & ~percent) | ((slash - ones) & ~slash) | ((comma - ones) & ~comma);
    }
    return found & ones << 7;
}

static bool is_special(char byte, const char *special)
{
    return byte && strchr(special, byte);
}

/* Encodes what stands in the text from `start` on. */
static __attribute__((noinline)) void encode(struct iso_text *text, size_t start,
                                             const char *special)
{
    size_t count = 0;
    for (size_t i = start; i < text->used; i++)
        count += is_special(text->bytes[i], special);
    iso_text_reserve(text, 2 * count);
    char *from = text->bytes + text->used, *to = from + 2 * count;
    text->used += 2 * count;
    while (to > from) {
        char byte = *--from;
        *--to = byte;
        if (is_special(byte, special)) {
            to[0] = "0123456789ABCDEF"[byte & 15];
            *--to = (char)('0' + (byte >> 4));
            *--to = '%';
        }
    }
}

static bool has_mark(const char *at, size_t length)
{
    return length && memchr(at, ISO_CELL_MARK, length);
}

static void put_name(struct iso_text *text, struct iso_json_text name, bool marks)
{
    size_t start = text->used;
    iso_text_put_bytes(text, name.at, name.length);
    if (has_special(name.at, name.length) || (marks && has_mark(name.at, name.length)))
        encode(text, start, special_of(marks));
}

/* The first point of a name ends the schema. */
static void put_schema(struct iso_text *text, struct iso_json_text schema, bool marks)
{
    size_t start = text->used;
    put_name(text, schema, marks);
    if (memchr(schema.at, '.', schema.length))
        encode(text, start, ".");
    iso_text_put_bytes(text, ".", 1);
}

void iso_row_names_release(struct iso_row_names *names)
{
    for (int i = 0; i < ISO_ROW_NAMES; i++)
        iso_text_release(&names->list[i].text);
    *names = (struct iso_row_names){0};
}

static void put_together(struct iso_row_name *known, struct iso_json_text schema,
                         struct iso_json_text table, bool marks)
{
    struct iso_text *text = &known->text;
    text->used = 0;
    known->schema_length = (uint32_t)schema.length;
    known->table_length = (uint32_t)table.length;
    iso_text_put_bytes(text, schema.at, schema.length);
    iso_text_put_bytes(text, table.at, table.length);
    size_t start = text->used;
    if (schema.length)
        put_schema(text, schema, marks);
    put_name(text, table, marks);
    known->name = (struct iso_json_text){start ? text->bytes + start : "", text->used - start};
    known->atom = ISO_ABSENT;
    known->marks = marks;
}

const struct iso_row_name *iso_row_names_find(struct iso_row_names *names, struct iso_atoms *atoms,
                                              struct iso_json_text schema,
                                              struct iso_json_text table)
{
    unsigned last = table.length ? (unsigned char)table.at[table.length - 1] : 0;
    struct iso_row_name *known = &names->list[(last ^ table.length) % ISO_ROW_NAMES];
    if (known->schema_length != schema.length || known->table_length != table.length ||
        !known->name.length || !iso_bytes_equal(known->text.bytes, schema.at, schema.length) ||
        !iso_bytes_equal(known->text.bytes + schema.length, table.at, table.length))
        put_together(known, schema, table, names->marks);
    if (!iso_atom_is_still(atoms, known->atom, known->name.at, known->name.length))
        known->atom = iso_atoms_text(atoms, known->name.at, known->name.length);
    return known;
}

static bool has_keys(const struct iso_row *row)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (row->cells[i].is_key)
            return true;
    return false;
}

iso_atom iso_row_key(struct iso_row *keys, struct iso_atoms *atoms,
                     const struct iso_row_name *table)
{
    struct iso_text *text = &keys->text;
    bool all = !has_keys(keys), first = true;
    text->used = 0;
    iso_text_put_bytes(text, table->name.at, table->name.length);
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct iso_cell *cell = &keys->cells[i];
        if (!all && !cell->is_key)
            continue;
        if (cell->kind == ISO_CELL_NULL || cell->kind == ISO_CELL_UNKNOWN)
            return ISO_ABSENT;
        *iso_text_reserve(text, 1) = first ? '/' : ',';
        size_t start = ++text->used;
        first = false;
        if (cell->kind == ISO_CELL_TEXT)
            iso_text_put_bytes(text, cell->text, cell->length);
        else
            iso_cell_put(text, cell);
        if (cell->kind == ISO_CELL_INTEGER)
            continue;
        if (has_special(text->bytes + start, text->used - start) ||
            (table->marks && has_mark(text->bytes + start, text->used - start)))
            encode(text, start, special_of(table->marks));
    }
    return first ? ISO_ABSENT : iso_atoms_add_string(atoms, text->bytes, text->used);
}

/* ---- value ---- */

/* <0, 0, >0. */
static int compare_names(const struct iso_cell *left, const struct iso_cell *right)
{
    uint32_t common =
        left->name_length < right->name_length ? left->name_length : right->name_length;
    int order = memcmp(left->name, right->name, common);
    return order                                    ? order
           : left->name_length < right->name_length ? -1
                                                    : left->name_length > right->name_length;
}

/* Sorts by insertion, from the order of the row before, which mostly is the order of this one.
 * False: a name twice. */
static bool sort(struct iso_row *row)
{
    bool distinct = true;
    if (row->order_count != row->count)
        for (uint32_t i = 0; i < row->count; i++)
            row->order[i] = i;
    row->order_count = row->count;
    for (uint32_t i = 1; i < row->count; i++) {
        uint32_t cell = row->order[i], at = i;
        int order = 1;
        while (at &&
               (order = compare_names(&row->cells[row->order[at - 1]], &row->cells[cell])) > 0) {
            row->order[at] = row->order[at - 1];
            at--;
        }
        distinct &= !at || order != 0;
        row->order[at] = cell;
    }
    return distinct;
}

/* A value of which its sender has several spellings, as the canonical one; what none could be made
 * of stays. */
static struct iso_cell respell(struct iso_row *row, const struct iso_cell *cell)
{
    struct iso_text other = {0};
    struct iso_json_text text = {cell->text, cell->length};
    struct iso_cell spelt = *cell;
    if (cell->kind != ISO_CELL_TEXT) {
        iso_cell_put(&other, cell);
        text = (struct iso_json_text){other.bytes, other.used};
    }
    row->spelt.used = 0;
    spelt.value.is_respelt = false;
    if (iso_value_spell(cell->value, text, &row->spelt)) {
        spelt.kind = ISO_CELL_TEXT;
        spelt.text = row->spelt.bytes;
        spelt.length = (uint32_t)row->spelt.used;
        spelt.is_plain = cell->value.kind != ISO_VALUE_JSON;
    }
    iso_text_release(&other);
    return spelt;
}

/* Most columns have one spelling: those that do not are out of the others' way. */
static bool is_respelt(const struct iso_cell *cell)
{
    return __builtin_expect(cell->value.is_respelt, 0) && cell->kind != ISO_CELL_NULL;
}

static iso_atom respelt_atom(struct iso_row *row, struct iso_atoms *atoms,
                             const struct iso_cell *cell);

iso_atom iso_row_cell(struct iso_row *row, struct iso_atoms *atoms, const struct iso_cell *cell)
{
    if (is_respelt(cell))
        return respelt_atom(row, atoms, cell);
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

static __attribute__((noinline)) iso_atom respelt_atom(struct iso_row *row, struct iso_atoms *atoms,
                                                       const struct iso_cell *cell)
{
    struct iso_cell spelt = respell(row, cell);
    return iso_row_cell(row, atoms, &spelt);
}

static __attribute__((noinline)) void put_respelt(struct iso_row *row, const struct iso_cell *cell)
{
    struct iso_cell spelt = respell(row, cell);
    iso_cell_put_json(&row->text, &spelt);
}

static enum iso_row_value column_value(struct iso_row *row, struct iso_atoms *atoms,
                                       const char *column, iso_atom *value)
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
    *value = iso_row_cell(row, atoms, found);
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

enum iso_row_value iso_row_value(struct iso_row *row, struct iso_atoms *atoms, const char *column,
                                 iso_atom *value)
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
        if (is_respelt(cell))
            put_respelt(row, cell);
        else
            iso_cell_put_json(text, cell);
    }
    iso_text_put(text, text->used ? "}" : "{}");
    *value = iso_atoms_add_string(atoms, text->bytes, text->used);
    return ISO_ROW_KNOWN;
}
