/* Tables, their rows, and the versions of each row and cell. */
#include <assert.h>
#include <string.h>

#include "rowsets/rowsets_private.h"

/* ---- tables and columns ---- */

uint32_t rowsets_find_table(const struct iso_rowsets *engine, iso_atom name)
{
    return iso_number_map_get(&engine->store.table_of, name);
}

static uint32_t add_table(struct iso_rowsets *engine, iso_atom name)
{
    uint32_t table = iso_number_map_add(&engine->store.table_of, name, engine->store.table_count);
    if (table < engine->store.table_count)
        return table;
    ISO_GROW(engine->store.tables, engine->store.table_count, engine->store.table_capacity);
    struct rowsets_table *added = &engine->store.tables[engine->store.table_count++];
    *added = (struct rowsets_table){.name = name, .is_whole = engine->options.initial_is_known};
    ISO_PUSH(added->columns, added->column_count, added->column_capacity,
             (struct rowsets_column){ISO_ABSENT, UINT64_MAX, false});
    return table;
}

uint32_t rowsets_table(struct iso_rowsets *engine, const char *name, size_t length)
{
    uint32_t shards = engine->options.shards;
    iso_atom atom;
    if (engine->is_closed)
        return iso_atoms_find(&engine->atoms, name, length, &atom)
                   ? rowsets_find_table(engine, atom)
                   : ISO_NONE;
    if (shards > 1 && rowsets_shard_of(name, length, shards) != engine->options.shard)
        return ISO_NONE;
    return add_table(engine, iso_atoms_text(&engine->atoms, name, length));
}

uint32_t rowsets_plain(struct iso_rowsets *engine)
{
    uint32_t table = iso_number_map_get(&engine->store.table_of, ISO_ABSENT);
    if (table != ISO_NUMBER_NONE)
        return table;
    table = add_table(engine, ISO_ABSENT);
    engine->store.tables[table].is_plain = true;
    return table;
}

uint32_t rowsets_column(struct iso_rowsets *engine, uint32_t number, const char *name,
                        size_t length)
{
    struct rowsets_table *table = &engine->store.tables[number];
    for (uint32_t column = 1; column < table->column_count; column++)
        if (iso_atom_is_still(&engine->atoms, table->columns[column].name, name, length))
            return column;
    iso_atom atom = iso_atoms_text(&engine->atoms, name, length);
    for (uint32_t column = 1; column < table->column_count; column++)
        if (table->columns[column].name == atom)
            return column;
    assert(table->column_count < ROWSETS_NO_COLUMN);
    ISO_GROW(table->columns, table->column_count, table->column_capacity);
    table->columns[table->column_count] = (struct rowsets_column){atom, UINT64_MAX, false};
    return table->column_count++;
}

/* ---- rows ---- */

uint32_t rowsets_find_row(const struct iso_rowsets *engine, uint32_t table, iso_atom parts)
{
    assert(table < engine->store.table_count);
    return iso_number_map_get(&engine->store.row_of, iso_number_pair(table, parts));
}

/* In columns that are looked at anywhere. */
#define RESERVE(column, need, capacity)                                                            \
    do {                                                                                           \
        if ((need) <= (capacity))                                                                  \
            break;                                                                                 \
        ISO_RESERVE_COLUMN(column, need, capacity);                                                \
        iso_column_huge(column, (size_t)(capacity) * sizeof *(column));                            \
    } while (0)

static uint32_t new_cell(struct iso_rowsets *engine, uint32_t column)
{
    uint32_t number = engine->store.free_cell;
    if (number != ISO_NONE) {
        engine->store.free_cell = engine->store.cells[number].next;
    } else {
        RESERVE(engine->store.cells, engine->store.cell_count + 1, engine->store.cell_capacity);
        number = engine->store.cell_count++;
    }
    engine->store.cells[number] = (struct rowsets_cell){
        .next = ISO_NONE, .column = column, .first = ISO_NONE, .initial = ISO_ABSENT};
    engine->store.living_cells++;
    return number;
}

uint32_t rowsets_row(struct iso_rowsets *engine, uint32_t table, iso_atom parts)
{
    assert(table < engine->store.table_count);
    char buffer[ISO_ATOM_TEXT_MAX];
    uint32_t number = rowsets_find_row(engine, table, parts);
    if (number != ISO_NONE)
        return number;
    number = engine->store.free_row;
    if (number != ISO_NONE) {
        engine->store.free_row = engine->store.rows[number].cells;
    } else {
        RESERVE(engine->store.rows, engine->store.row_count + 1, engine->store.row_capacity);
        number = engine->store.row_count++;
        engine->store.rows[number].serial = 0;
    }
    struct rowsets_row *row = &engine->store.rows[number];
    uint32_t serial = row->serial;
    *row = (struct rowsets_row){
        .table = table, .parts = parts, .candidates = ISO_NONE, .serial = serial};
    row->cells = new_cell(engine, 0);
    row->is_number =
        iso_key_read_integer(rowsets_text(&engine->atoms, parts, buffer), &row->number);
    iso_number_map_put(&engine->store.row_of, iso_number_pair(table, parts), number);
    rowsets_order_add(engine, number);
    return number;
}

struct rowsets_cell *rowsets_find_cell(const struct iso_rowsets *engine, uint32_t row,
                                       uint32_t column)
{
    assert(row < engine->store.row_count);
    for (uint32_t at = engine->store.rows[row].cells; at != ISO_NONE;
         at = engine->store.cells[at].next)
        if (engine->store.cells[at].column == column)
            return &engine->store.cells[at];
    return NULL;
}

struct rowsets_cell *rowsets_cell(struct iso_rowsets *engine, uint32_t row, uint32_t column)
{
    assert(row < engine->store.row_count);
    struct rowsets_cell *found = rowsets_find_cell(engine, row, column);
    if (found)
        return found;
    uint32_t added = new_cell(engine, column), own = engine->store.rows[row].cells;
    engine->store.cells[added].next = engine->store.cells[own].next;
    engine->store.cells[own].next = added;
    return &engine->store.cells[added];
}

/* ---- versions ---- */

static void free_block(struct iso_rowsets *engine, uint32_t first, uint8_t class)
{
    engine->store.versions[first].tid = engine->store.free_version[class];
    engine->store.free_version[class] = first;
    engine->store.version_slots -= 1u << class;
}

static uint32_t new_block(struct iso_rowsets *engine, uint8_t class)
{
    uint32_t first = engine->store.free_version[class], size = 1u << class;
    engine->store.version_slots += size;
    if (first != ISO_NONE) {
        engine->store.free_version[class] = engine->store.versions[first].tid;
        return first;
    }
    RESERVE(engine->store.versions, engine->store.version_count + size,
            engine->store.version_capacity);
    first = engine->store.version_count;
    memset(&engine->store.versions[first], 0, size * sizeof *engine->store.versions);
    engine->store.version_count += size;
    return first;
}

/* Whether the version stands behind the other one. */
bool rowsets_is_behind(const struct iso_rowsets *engine, const struct rowsets_version *one,
                       const struct rowsets_version *other)
{
    if (one->cts != other->cts)
        return one->cts > other->cts;
    if (one->opened != other->opened)
        return one->opened > other->opened;
    return iso_atom_compare(&engine->atoms, one->tid, other->tid) > 0;
}

static void drop_versions(struct iso_rowsets *engine, struct rowsets_cell *cell, uint32_t count)
{
    struct rowsets_version *versions = engine->store.versions + cell->first;
    cell->count -= count;
    engine->store.living -= count;
    memmove(versions, versions + count, cell->count * sizeof *versions);
}

bool rowsets_outlives(const struct iso_rowsets *engine, const struct rowsets_version *version,
                      const struct rowsets_version *deletion)
{
    return version->tid == deletion->tid || rowsets_is_behind(engine, version, deletion);
}

/* The content of the row's cells when it was deleted, which nobody will see any more, goes. */
static void forget_cells(struct iso_rowsets *engine, uint32_t own, struct rowsets_version deletion)
{
    for (uint32_t at = engine->store.cells[own].next; at != ISO_NONE;
         at = engine->store.cells[at].next) {
        struct rowsets_cell *cell = &engine->store.cells[at];
        uint32_t count = 0;
        while (count < cell->count &&
               !rowsets_outlives(engine, &engine->store.versions[cell->first + count], &deletion))
            count++;
        if (count)
            drop_versions(engine, cell, count);
        cell->has_initial = false;
    }
}

/* Keeps only the newest of the versions below the floor. */
static void forget_older(struct iso_rowsets *engine, struct rowsets_cell *cell)
{
    const struct rowsets_version *versions = engine->store.versions + cell->first;
    uint32_t below = 0, drop;
    while (below < cell->count && versions[below].cts < engine->time.floor)
        below++;
    drop = below ? below - 1 : 0;
    for (uint32_t i = drop; !cell->column && i-- > 0;) {
        if (versions[i].value != ISO_ABSENT)
            continue;
        forget_cells(engine, (uint32_t)(cell - engine->store.cells), versions[i]);
        break;
    }
    if (drop)
        drop_versions(engine, cell, drop);
}

/* Into as small a block as there is room for a few more in. */
static void shrink(struct iso_rowsets *engine, struct rowsets_cell *cell)
{
    uint8_t class = cell->class;
    while (class && cell->count <= (1u << class) / 4)
        class --;
    if (cell->first == ISO_NONE || class == cell->class)
        return;
    uint32_t first = new_block(engine, class);
    memcpy(engine->store.versions + first, engine->store.versions + cell->first,
           cell->count * sizeof *engine->store.versions);
    free_block(engine, cell->first, cell->class);
    cell->first = first;
    cell->class = class;
}

void rowsets_sweep(struct iso_rowsets *engine, uint64_t steps)
{
    steps = steps < engine->store.cell_count ? steps : engine->store.cell_count;
    for (; steps > 0; steps--) {
        engine->store.hand =
            engine->store.hand + 1 < engine->store.cell_count ? engine->store.hand + 1 : 0;
        struct rowsets_cell *cell = &engine->store.cells[engine->store.hand];
        if (cell->column == ROWSETS_NO_COLUMN || cell->first == ISO_NONE)
            continue;
        if (cell->count > 1)
            forget_older(engine, cell);
        shrink(engine, cell);
    }
}

static void make_room(struct iso_rowsets *engine, struct rowsets_cell *cell)
{
    if (cell->first == ISO_NONE) {
        cell->first = new_block(engine, 0);
        return;
    }
    if (cell->count < 1u << cell->class)
        return;
    forget_older(engine, cell);
    if (cell->count <= (1u << cell->class) / 2) /* else the next one looked again soon */
        return;
    uint32_t first = new_block(engine, cell->class + 1);
    memcpy(engine->store.versions + first, engine->store.versions + cell->first,
           cell->count * sizeof *engine->store.versions);
    free_block(engine, cell->first, cell->class ++);
    cell->first = first;
}

struct rowsets_target rowsets_target(struct iso_rowsets *engine, uint32_t table, uint32_t column,
                                     iso_atom parts)
{
    assert(table < engine->store.table_count);
    struct rowsets_target target = {
        .table = table, .row = rowsets_row(engine, table, parts), .column = column};
    const struct rowsets_cell *cell = rowsets_cell(engine, target.row, column);
    target.cell = (uint32_t)(cell - engine->store.cells);
    return target;
}

/* A row that is there is written once more, and nothing will come between: that changes nothing. */
static bool is_touch(const struct iso_rowsets *engine, const struct rowsets_cell *cell,
                     const struct rowsets_version *version)
{
    return engine->store.in_order && !cell->column && cell->count && version->value != ISO_ABSENT &&
           cell->newest == version->value;
}

bool rowsets_put_version(struct iso_rowsets *engine, struct rowsets_target target,
                         struct rowsets_version version)
{
    struct rowsets_cell *cell = &engine->store.cells[target.cell];
    struct rowsets_column *column = &engine->store.tables[target.table].columns[target.column];
    column->first_cts = version.cts < column->first_cts ? version.cts : column->first_cts;
    if (is_touch(engine, cell, &version))
        return false;
    make_room(engine, cell);
    engine->store.put++;
    struct rowsets_version *versions = engine->store.versions + cell->first;
    uint32_t at = cell->count++;
    for (; at && rowsets_is_behind(engine, &versions[at - 1], &version); at--)
        versions[at] = versions[at - 1];
    versions[at] = version;
    cell->newest = versions[cell->count - 1].value;
    cell->newest_cts = versions[cell->count - 1].cts;
    engine->store.living++;
    if (target.column && engine->store.tables[target.table].index_count)
        rowsets_index_value(engine, target, version.value);
    if (target.column)
        return false;
    bool is_last = at == cell->count - 1;
    if (version.value != ISO_ABSENT)
        return at ? versions[at - 1].value == ISO_ABSENT
                  : !cell->has_initial || cell->initial == ISO_ABSENT;
    if (!is_last)
        rowsets_index_loosen(engine, target);
    engine->store.rows[target.row].was_deleted = true;
    iso_heap_push(&engine->store.dead, version.cts,
                  iso_number_pair(engine->store.rows[target.row].serial, target.row));
    return false;
}

const struct rowsets_version *rowsets_version_at(const struct iso_rowsets *engine,
                                                 const struct rowsets_cell *cell, uint64_t bound,
                                                 iso_atom but)
{
    const struct rowsets_version *versions = engine->store.versions + cell->first;
    uint32_t low = 0, high = cell->count;
    if (high && versions[high - 1].cts < bound) {
        low = high;
    } else {
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (versions[middle].cts < bound)
                low = middle + 1;
            else
                high = middle;
        }
    }
    while (low && versions[low - 1].tid == but)
        low--;
    return low ? &versions[low - 1] : NULL;
}

/* ---- what transactions of unknown outcome wrote ---- */

void rowsets_add_candidate(struct iso_rowsets *engine, uint32_t row,
                           struct rowsets_candidate candidate)
{
    assert(row < engine->store.row_count);
    uint32_t number = engine->outcomes.free_candidate;
    if (number != ISO_NONE) {
        engine->outcomes.free_candidate = engine->outcomes.candidates[number].next;
    } else {
        ISO_GROW(engine->outcomes.candidates, engine->outcomes.candidate_count,
                 engine->outcomes.candidate_capacity);
        number = engine->outcomes.candidate_count++;
    }
    candidate.next = engine->store.rows[row].candidates;
    engine->outcomes.candidates[number] = candidate;
    engine->store.rows[row].candidates = number;
}

void rowsets_drop_all_candidates(struct iso_rowsets *engine, uint32_t row)
{
    assert(row < engine->store.row_count);
    while (engine->store.rows[row].candidates != ISO_NONE)
        rowsets_drop_candidates(
            engine, row, engine->outcomes.candidates[engine->store.rows[row].candidates].unknown);
}

void rowsets_drop_candidates(struct iso_rowsets *engine, uint32_t row, uint32_t unknown)
{
    assert(row < engine->store.row_count);
    assert(unknown < engine->outcomes.unknown_count);
    for (uint32_t *link = &engine->store.rows[row].candidates; *link != ISO_NONE;) {
        uint32_t number = *link;
        struct rowsets_candidate *candidate = &engine->outcomes.candidates[number];
        if (candidate->unknown != unknown) {
            link = &candidate->next;
            continue;
        }
        *link = candidate->next;
        *candidate = (struct rowsets_candidate){.next = engine->outcomes.free_candidate,
                                                .unknown = ISO_NONE};
        engine->outcomes.free_candidate = number;
    }
}

/* ---- rows that are gone ---- */

void rowsets_free_row(struct iso_rowsets *engine, uint32_t number)
{
    struct rowsets_row *row = &engine->store.rows[number];
    rowsets_order_remove(engine, number);
    iso_number_map_remove(&engine->store.row_of, iso_number_pair(row->table, row->parts));
    for (uint32_t at = row->cells, next; at != ISO_NONE; at = next) {
        struct rowsets_cell *cell = &engine->store.cells[at];
        next = cell->next;
        engine->store.living -= cell->count;
        engine->store.living_cells--;
        if (cell->first != ISO_NONE)
            free_block(engine, cell->first, cell->class);
        *cell = (struct rowsets_cell){
            .next = engine->store.free_cell, .column = ROWSETS_NO_COLUMN, .first = ISO_NONE};
        engine->store.free_cell = at;
    }
    *row = (struct rowsets_row){
        .table = ISO_NONE, .cells = engine->store.free_row, .serial = row->serial + 1};
    engine->store.free_row = number;
}

/* The row was deleted below the floor, and nothing of it came later. */
static bool is_forgotten(const struct iso_rowsets *engine, uint32_t number)
{
    const struct rowsets_row *row = &engine->store.rows[number];
    const struct rowsets_cell *own = &engine->store.cells[row->cells];
    if (row->candidates != ISO_NONE || !own->count)
        return false;
    const struct rowsets_version *last = &engine->store.versions[own->first + own->count - 1];
    if (last->value != ISO_ABSENT || last->cts >= engine->time.floor)
        return false;
    for (uint32_t at = own->next; at != ISO_NONE; at = engine->store.cells[at].next) {
        const struct rowsets_cell *cell = &engine->store.cells[at];
        if (cell->count &&
            engine->store.versions[cell->first + cell->count - 1].cts >= engine->time.floor)
            return false;
    }
    return true;
}

void rowsets_forget_dead(struct iso_rowsets *engine)
{
    while (engine->store.dead.count && engine->store.dead.items[0].key < engine->time.floor) {
        uint64_t item = iso_heap_pop(&engine->store.dead).value;
        uint32_t number = (uint32_t)item, serial = (uint32_t)(item >> 32);
        const struct rowsets_row *row = &engine->store.rows[number];
        if (row->table != ISO_NONE && row->serial == serial && is_forgotten(engine, number))
            rowsets_free_row(engine, number);
    }
}

void rowsets_release_store(struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->store.table_count; i++) {
        ISO_FREE_ALL(engine->store.tables[i].columns, engine->store.tables[i].chunks,
                     engine->store.tables[i].altered);
        rowsets_release_indexes(&engine->store.tables[i]);
    }
    iso_free(engine->store.tables);
    ISO_FREE_COLUMN(engine->store.rows, engine->store.row_capacity);
    ISO_FREE_COLUMN(engine->store.cells, engine->store.cell_capacity);
    ISO_FREE_COLUMN(engine->store.versions, engine->store.version_capacity);
    iso_free(engine->outcomes.candidates);
    iso_number_map_release(&engine->store.table_of);
    iso_number_map_release(&engine->store.row_of);
    iso_heap_release(&engine->store.dead);
}
