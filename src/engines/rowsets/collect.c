/* Texts that nobody needs any more: once half of them may be such, and they are worth a walk
 * through all versions, those that are needed go to a new table. */
#include <string.h>

#include "rowsets/rowsets_private.h"

enum { MANY = 1 << 16 };

struct collection {
    struct iso_atoms atoms; /* the new table */
    const struct iso_atoms *old;
    iso_atom *moved; /* by number in the old one; ISO_ABSENT: not yet */
};

static void move(struct collection *collection, iso_atom *atom)
{
    if (!(*atom & ISO_ATOM_TABLE) || *atom == ISO_ABSENT)
        return;
    iso_atom *moved = &collection->moved[*atom & ~ISO_ATOM_TABLE];
    if (*moved == ISO_ABSENT)
        *moved = iso_atoms_copy(&collection->atoms, collection->old, *atom);
    *atom = *moved;
}

static void move_tables(struct collection *collection, struct iso_rowsets *engine)
{
    for (uint32_t t = 0; t < engine->store.table_count; t++) {
        move(collection, &engine->store.tables[t].name);
        for (uint32_t c = 0; c < engine->store.tables[t].column_count; c++)
            move(collection, &engine->store.tables[t].columns[c].name);
    }
}

static void move_rows(struct collection *collection, struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->store.row_count; i++, rowsets_pass(i))
        if (engine->store.rows[i].table != ISO_NONE)
            move(collection, &engine->store.rows[i].parts);
    for (uint32_t i = 0; i < engine->store.cell_count; i++, rowsets_pass(i)) {
        struct rowsets_cell *cell = &engine->store.cells[i];
        if (cell->column == ROWSETS_NO_COLUMN)
            continue;
        move(collection, &cell->initial);
        for (uint32_t v = cell->first; v < cell->first + cell->count; v++) {
            move(collection, &engine->store.versions[v].tid);
            move(collection, &engine->store.versions[v].value);
        }
        cell->newest =
            cell->count ? engine->store.versions[cell->first + cell->count - 1].value : ISO_ABSENT;
    }
}

static void move_query(struct collection *collection, struct rowsets_query *query)
{
    iso_atom *const atoms[] = {&query->tid, &query->table, &query->from,
                               &query->to,  &query->where, &query->returned};
    for (size_t i = 0; i < sizeof atoms / sizeof *atoms; i++)
        move(collection, atoms[i]);
    for (uint32_t i = 0; i < query->row_count; i++)
        move(collection, &query->rows[i]);
    for (uint32_t i = 0; i < query->emitted_count; i++)
        move(collection, &query->emitted[i]);
    for (uint32_t i = 0; i < query->own_count; i++) {
        move(collection, &query->owns[i].parts);
        move(collection, &query->owns[i].value);
    }
}

static void move_unknowns(struct collection *collection, struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->outcomes.candidate_count; i++)
        if (engine->outcomes.candidates[i].unknown != ISO_NONE)
            move(collection, &engine->outcomes.candidates[i].value);
    for (uint32_t i = 0; i < engine->outcomes.unknown_count; i++) {
        struct rowsets_unknown *unknown = &engine->outcomes.unknowns[i];
        if (unknown->tid == ISO_ABSENT)
            continue;
        move(collection, &unknown->tid);
        for (uint32_t w = 0; w < unknown->write_count; w++) {
            move(collection, &unknown->writes[w].parts);
            move(collection, &unknown->writes[w].value);
        }
        for (uint32_t q = 0; q < unknown->query_count; q++)
            move_query(collection, unknown->queries[q]);
    }
}

void rowsets_make_maps(struct iso_rowsets *engine)
{
    iso_number_map_clear(&engine->store.table_of);
    iso_number_map_clear(&engine->store.row_of);
    iso_number_map_clear(&engine->outcomes.unknown_of);
    iso_number_map_reserve(&engine->store.row_of, engine->store.row_count);
    for (uint32_t i = 0; i < engine->store.table_count; i++)
        iso_number_map_put(&engine->store.table_of, engine->store.tables[i].name, i);
    for (uint32_t i = 0; i < engine->store.row_count; i++, rowsets_pass(i))
        if (engine->store.rows[i].table != ISO_NONE)
            iso_number_map_put(
                &engine->store.row_of,
                iso_number_pair(engine->store.rows[i].table, engine->store.rows[i].parts), i);
    for (uint32_t i = 0; i < engine->outcomes.unknown_count; i++)
        if (engine->outcomes.unknowns[i].tid != ISO_ABSENT)
            iso_number_map_put(&engine->outcomes.unknown_of, engine->outcomes.unknowns[i].tid, i);
}

void rowsets_collect(struct iso_rowsets *engine)
{
    uint64_t few = 2ull * engine->atoms_kept + engine->store.living / 16 + MANY;
    if (engine->options.of_few || engine->atoms.count >= few)
        rowsets_collect_now(engine);
}

void rowsets_collect_now(struct iso_rowsets *engine)
{
    size_t size = engine->atoms.count * sizeof(iso_atom);
    struct collection collection = {.old = &engine->atoms, .moved = iso_allocate(size + 1)};
    memset(collection.moved, 0xff, size);
    iso_atoms_init(&collection.atoms);
    move_tables(&collection, engine);
    move_rows(&collection, engine);
    move_unknowns(&collection, engine);
    for (uint32_t i = 0; i < engine->waiting.queue.count; i++)
        move_query(&collection,
                   (struct rowsets_query *)(uintptr_t)engine->waiting.queue.items[i].value);
    for (uint32_t i = 0; i < engine->waiting.held_count; i++)
        move_query(&collection, engine->waiting.held[i]);
    iso_free(collection.moved);
    iso_atoms_release(&engine->atoms);
    rowsets_forget_conditions(engine);
    engine->atoms = collection.atoms;
    engine->atoms_kept = engine->atoms.count;
    /* what the block's keys are is looked up again */
    engine->block.known_count = engine->block.plain_count = 0;
    rowsets_make_maps(engine);
}
