/* An index of a column by value: rows of which some version of the cell has it. Made when a query
 * first asks for one.
 *
 *     hash of 7 -> row 12 -> row 3           a class -> row 12 -> row 9        (predicate/place.h)
 *                                            unindexed: rows that are always looked at
 *
 * It finds too many rows rather than too few: what versions are forgotten leaves its rows here,
 * until the index is thrown away for having been added more than rows eight times over, or more
 * than rows since somebody asked. Unindexed are
 * rows whose cell may be unknown while the row is there, and those with values that have no place.
 * A NULL equals nothing. */

#include <assert.h>

#include "base/radix.h"
#include "rowsets/rowsets_private.h"

enum { SPARE = 1024 };

static void add_entry(struct rowsets_index *index, uint32_t *head, uint32_t row)
{
    index->of.added++;
    if (*head != ISO_NONE && index->entries[*head].row == row)
        return;
    ISO_GROW_COLUMN(index->entries, index->count, index->capacity);
    uint32_t length = *head == ISO_NONE ? 1 : index->entries[*head].length + 1;
    index->entries[index->count] = (struct rowsets_entry){row, *head, length};
    *head = index->count++;
}

bool rowsets_index_place(const struct iso_rowsets *engine, const struct rowsets_index *index,
                         iso_atom value, struct iso_scalar_place *place)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    if (value == ISO_ABSENT)
        return false;
    struct iso_scalar scalar =
        iso_atom_is_unknown(&engine->atoms, value)
            ? iso_scalar_of_kind(ISO_SCALAR_UNKNOWN)
            : iso_scalar_read(index->of.type, rowsets_text(&engine->atoms, value, buffer));
    return iso_scalar_place(&scalar, place);
}

static void add_value(const struct iso_rowsets *engine, struct rowsets_index *index, uint32_t row,
                      iso_atom value)
{
    struct iso_scalar_place place;
    if (value == ISO_ABSENT)
        return;
    if (!rowsets_index_place(engine, index, value, &place)) {
        add_entry(index, &index->unindexed, row);
        return;
    }
    uint32_t head = iso_number_map_get(&index->heads, place.hash);
    index->of.placed++;
    add_entry(index, &head, row);
    iso_number_map_put(&index->heads, place.hash, head);
    if (place.classes)
        add_entry(index, &index->classes[__builtin_ctz(place.classes)], row);
}

uint64_t rowsets_index_bytes(const struct rowsets_table *table)
{
    enum {
        IN_MAP = 24
    }; /* of a hash, in a map that is between three eighths and three quarters full */
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < table->index_count; i++)
        bytes += sizeof table->indexes[i] +
                 table->indexes[i].of.added * sizeof *table->indexes[i].entries +
                 table->indexes[i].of.placed * IN_MAP;
    return bytes;
}

uint32_t rowsets_index_seek(const struct rowsets_index *index, struct iso_scalar_place seek,
                            uint32_t heads[ROWSETS_HEADS])
{
    uint32_t count = 0;
    heads[count] = iso_number_map_get(&index->heads, seek.hash);
    count += heads[count] != ISO_NONE;
    heads[count] = index->unindexed;
    count += heads[count] != ISO_NONE;
    for (; seek.classes; seek.classes &= seek.classes - 1) {
        heads[count] = index->classes[__builtin_ctz(seek.classes)];
        count += heads[count] != ISO_NONE;
    }
    return count;
}

static void release_index(struct rowsets_index *index)
{
    iso_number_map_release(&index->heads);
    ISO_FREE_COLUMN(index->entries, index->capacity);
}

void rowsets_release_indexes(struct rowsets_table *table)
{
    for (uint32_t i = 0; i < table->index_count; i++)
        release_index(&table->indexes[i]);
    iso_free(table->indexes);
    table->indexes = NULL;
    table->index_count = table->index_capacity = 0;
}

/* ---- making ---- */

static bool has_writer(const struct iso_rowsets *engine, const struct rowsets_cell *cell,
                       iso_atom tid)
{
    for (uint32_t v = cell->first; v < cell->first + cell->count; v++)
        if (engine->store.versions[v].tid == tid)
            return true;
    return false;
}

/* Whether the cell is known whenever the row is there. */
static bool is_regular(const struct iso_rowsets *engine, const struct rowsets_cell *own,
                       const struct rowsets_cell *cell)
{
    const struct rowsets_version *rows = engine->store.versions + own->first;
    if (!cell || (own->has_initial && !cell->has_initial))
        return false;
    for (uint32_t i = 0; i < own->count; i++) {
        bool is_birth = rows[i].value != ISO_ABSENT && (!i || rows[i - 1].value == ISO_ABSENT);
        uint64_t known = cell->count ? engine->store.versions[cell->first].cts : UINT64_MAX;
        if (is_birth && !i &&
            (cell->has_initial || known < rows[i].cts || known < engine->time.floor))
            continue; /* what came before was forgotten, and nobody sees it any more */
        if (is_birth && !has_writer(engine, cell, rows[i].tid))
            return false;
    }
    return true;
}

static void add_row(const struct iso_rowsets *engine, struct rowsets_index *index, uint32_t row)
{
    assert(row < engine->store.row_count);
    const struct rowsets_cell *own = &engine->store.cells[engine->store.rows[row].cells];
    const struct rowsets_cell *cell = rowsets_find_cell(engine, row, index->of.column);
    if (!is_regular(engine, own, cell))
        add_entry(index, &index->unindexed, row);
    if (cell && cell->has_initial)
        add_value(engine, index, row, cell->initial);
    for (uint32_t v = 0; cell && v < cell->count; v++)
        add_value(engine, index, row, engine->store.versions[cell->first + v].value);
}

/* Rows of one value stand beside one another: whoever asks for one looks at all of them. */
static void add_rows(const struct iso_rowsets *engine, const struct rowsets_table *table,
                     struct rowsets_index *index)
{
    struct iso_radix items = iso_radix_allocate(table->row_count);
    uint32_t count = 0;
    for (uint32_t c = 0; c < table->chunk_count; c++, rowsets_pass(c * ROWSETS_CHUNK))
        for (uint32_t i = 0; i < table->chunks[c].count; i++, count++) {
            uint32_t row = table->chunks[c].rows[i];
            const struct rowsets_cell *cell = rowsets_find_cell(engine, row, index->of.column);
            struct iso_scalar_place place;
            bool is_placed =
                cell && cell->count && rowsets_index_place(engine, index, cell->newest, &place);
            items.keys[count] = is_placed ? place.hash : 0;
            items.payloads[count] = row;
        }
    uint32_t *rows = iso_radix_order(items, count);
    for (uint32_t i = 0; i < count; i++, rowsets_pass(i))
        add_row(engine, index, rows[i]);
    iso_free(rows);
}

bool rowsets_is_type(struct iso_scalar_type one, struct iso_scalar_type other)
{
    return iso_value_type_equal(one.value, other.value) && one.text == other.text &&
           one.is_signed == other.is_signed;
}

uint32_t rowsets_index(struct iso_rowsets *engine, uint32_t number, uint32_t column,
                       struct iso_scalar_type type)
{
    struct rowsets_table *table = &engine->store.tables[number];
    for (uint32_t i = 0; i < table->index_count; i++)
        if (table->indexes[i].of.column == column &&
            rowsets_is_type(table->indexes[i].of.type, type)) {
            table->indexes[i].of.unasked = 0;
            return i;
        }
    ISO_GROW(table->indexes, table->index_count, table->index_capacity);
    struct rowsets_index *index = &table->indexes[table->index_count++];
    *index = (struct rowsets_index){.of = {.column = column, .type = type}, .unindexed = ISO_NONE};
    for (uint32_t i = 0; i < ISO_SCALAR_CLASSES; i++)
        index->classes[i] = ISO_NONE;
    add_rows(engine, table, index);
    return table->index_count - 1;
}

/* ---- keeping ---- */

void rowsets_index_value(struct iso_rowsets *engine, struct rowsets_target target, iso_atom value)
{
    struct rowsets_table *table = &engine->store.tables[target.table];
    uint64_t rows = table->row_count, spare = engine->options.of_few ? 4 : SPARE;
    for (uint32_t i = 0; i < table->index_count; i++) {
        struct rowsets_index *index = &table->indexes[i];
        if (index->of.column == target.column) {
            add_value(engine, index, target.row, value);
            index->of.unasked++;
        }
        if (index->of.added <= 8 * rows + spare && index->of.unasked <= rows + spare)
            continue;
        release_index(index);
        *index = table->indexes[--table->index_count];
        i--;
    }
}

void rowsets_index_loosen(struct iso_rowsets *engine, struct rowsets_target target)
{
    struct rowsets_table *table = &engine->store.tables[target.table];
    for (uint32_t i = 0; i < table->index_count; i++)
        add_entry(&table->indexes[i], &table->indexes[i].unindexed, target.row);
}

void rowsets_index_birth(struct iso_rowsets *engine, struct rowsets_target target,
                         const struct rowsets_write *write, const struct rowsets_write *end)
{
    struct rowsets_table *table = &engine->store.tables[target.table];
    for (uint32_t i = 0; i < table->index_count; i++) {
        const struct rowsets_write *cell = write + 1; /* as a rule a row's cells follow it */
        while (cell < end && cell->table == write->table && cell->parts == write->parts &&
               cell->column != table->indexes[i].of.column)
            cell++;
        if (cell == end || cell->table != write->table || cell->parts != write->parts)
            add_entry(&table->indexes[i], &table->indexes[i].unindexed, target.row);
    }
}
