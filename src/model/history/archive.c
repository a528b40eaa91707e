#include "history/archive.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "history/history_private.h"
#include "history/index.h"

void iso_atoms_archive(struct iso_archive *archive, struct iso_atoms *atoms)
{
    ISO_ARCHIVE_ANY(archive, "atoms.entries", ISO_ARCHIVE_COLUMN, atoms->entries, atoms->count,
                    atoms->capacity);
    ISO_ARCHIVE_ANY(archive, "atoms.text", ISO_ARCHIVE_COLUMN, atoms->text, atoms->text_size,
                    atoms->text_capacity);
    iso_archive_index(archive, "atoms.slots", &atoms->table);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, iso_atoms_refill(atoms));
}

/* ---- histories ---- */

static void archive_columns(struct iso_archive *archive, struct iso_history *history,
                            const struct history_column *columns, int column_count, uint32_t *count,
                            uint32_t *capacity)
{
    for (int i = 0; i < column_count; i++) {
        uint64_t elements = *count, room = *capacity;
        void *list = iso_archive_column(
            archive, columns[i].name, i ? ISO_ARCHIVE_TWIN : ISO_ARCHIVE_COLUMN,
            history_column_of(history, &columns[i]), &elements, &room, columns[i].size);
        history_set_column(history, &columns[i], list);
        *count = (uint32_t)elements;
        *capacity = (uint32_t)room;
        iso_archive_expect(archive, *count == elements && *capacity == room);
    }
}

static void archive_transactions(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t *count = &history->txns.count, *capacity = &history->txns.capacity;
    archive_columns(archive, history, history_transaction_columns, HISTORY_TRANSACTION_COLUMNS,
                    count, capacity);
    uint64_t starts = *capacity ? (uint64_t)*count + 1 : 0;
    uint64_t room = *capacity ? (uint64_t)*capacity + 1 : 0;
    history->txns.first_op =
        iso_archive_column(archive, "first_operation", ISO_ARCHIVE_TWIN, history->txns.first_op,
                           &starts, &room, sizeof(uint32_t));
}

static void archive_operations(struct iso_archive *archive, struct iso_history *history)
{
    archive_columns(archive, history, history_operation_columns, HISTORY_OPERATION_COLUMNS,
                    &history->ops.count, &history->ops.capacity);
    uint32_t starts = history->lists.first ? history->lists.count + 1 : 0;
    ISO_ARCHIVE_ANY(archive, "list_first", ISO_ARCHIVE_COLUMN, history->lists.first, starts,
                    history->lists.capacity);
    history->lists.count = starts ? starts - 1 : 0;
    ISO_ARCHIVE_ANY(archive, "element", ISO_ARCHIVE_COLUMN, history->lists.element,
                    history->lists.element_count, history->lists.element_capacity);
}

static void archive_sets(struct iso_archive *archive, struct iso_history *history)
{
    struct iso_ranges *ranges = &history->ranges;
    ISO_ARCHIVE_LIST(archive, "sets", ISO_ARCHIVE_COLUMN, *ranges);
    for (uint32_t i = 0;
         archive->restoring && archive->error->status == ISO_OK && i < ranges->count; i++)
        iso_archive_expect(archive, ranges->list[i].transaction < history->txns.count &&
                                        ranges->list[i].form <= ISO_SET_ROW);
}

static bool are_atoms(const struct iso_atoms *atoms, const iso_atom *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] & ISO_ATOM_TABLE && (list[i] & ~ISO_ATOM_TABLE) >= atoms->count)
            return false;
    return true;
}

/* False: they are none, or one stands there twice. */
static bool number_names(struct iso_history *history)
{
    return are_atoms(&history->atoms, history->keys.atom, history->keys.count) &&
           are_atoms(&history->atoms, history->sessions.atom, history->sessions.count) &&
           iso_atom_index_fill(history->keys.index, history->keys.atom, history->keys.count) &&
           iso_atom_index_fill(history->sessions.index, history->sessions.atom,
                               history->sessions.count);
}

static void archive_names(struct iso_archive *archive, struct iso_history *history)
{
    ISO_ARCHIVE_ANY(archive, "key_atom", ISO_ARCHIVE_COLUMN, history->keys.atom,
                    history->keys.count, history->keys.capacity);
    ISO_ARCHIVE_ANY(archive, "key_use", ISO_ARCHIVE_TWIN, history->keys.use, history->keys.count,
                    history->keys.capacity);
    ISO_ARCHIVE_ANY(archive, "session_atom", ISO_ARCHIVE_COLUMN, history->sessions.atom,
                    history->sessions.count, history->sessions.capacity);
    iso_atoms_archive(archive, &history->atoms);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, number_names(history));
}

static void archive_snapshots(struct iso_archive *archive, struct iso_history *history)
{
    ISO_ARCHIVE_LIST(archive, "snapshots", ISO_ARCHIVE_COLUMN, history->snapshots);
    ISO_ARCHIVE_ANY(archive, "xips", ISO_ARCHIVE_COLUMN, history->snapshots.xips,
                    history->snapshots.xip_count, history->snapshots.xip_capacity);
}

static void archive_initial(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t *count = &history->initial.count;
    ISO_ARCHIVE_VALUE(archive, history->initial.other_value);
    ISO_ARCHIVE_ANY(archive, "initial_key", ISO_ARCHIVE_HEAP, history->initial.key, *count, *count);
    ISO_ARCHIVE_ANY(archive, "initial_of_key", ISO_ARCHIVE_HEAP_TWIN, history->initial.value,
                    *count, *count);
    ISO_ARCHIVE_ANY(archive, "initial_is_append", ISO_ARCHIVE_HEAP_TWIN, history->initial.is_append,
                    *count, *count);
    iso_archive_expect(archive, !*count || (history->initial.value && history->initial.is_append));
}

static void archive_inputs(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t count = history->inputs.count;
    iso_archive_value(archive, "inputs", &count, sizeof count);
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        char *name = archive->restoring ? NULL : history->inputs.names[i];
        uint64_t length = name ? strlen(name) + 1 : 0, capacity = length;
        name = iso_archive_column(archive, "input", ISO_ARCHIVE_HEAP, name, &length, &capacity, 1);
        if (!archive->restoring)
            continue;
        iso_archive_expect(archive, length && !name[length - 1]);
        if (archive->error->status == ISO_OK)
            iso_history_input(history, name);
        iso_free(name);
    }
}

void iso_history_archive(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t clock = history->clock, whole_rows = history->whole_rows;
    assert(!history->finished && (!archive->restoring || !history->inputs.count));
    archive_inputs(archive, history);
    archive_initial(archive, history);
    archive_snapshots(archive, history);
    archive_transactions(archive, history);
    archive_operations(archive, history);
    archive_sets(archive, history);
    archive_names(archive, history);
    iso_archive_value(archive, "clock", &clock, sizeof clock);
    history->clock = clock;
    iso_archive_value(archive, "whole_rows", &whole_rows, sizeof whole_rows);
    history->whole_rows = whole_rows;
}
