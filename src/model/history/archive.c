#include "history/archive.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "history/index.h"

void iso_atoms_archive(struct iso_archive *archive, struct iso_atoms *atoms)
{
    ISO_ARCHIVE_ANY(archive, "atoms.payload", ISO_ARCHIVE_COLUMN, atoms->payload, atoms->count,
                    atoms->capacity);
    ISO_ARCHIVE_ANY(archive, "atoms.form", ISO_ARCHIVE_TWIN, atoms->form, atoms->count,
                    atoms->capacity);
    ISO_ARCHIVE_ANY(archive, "atoms.text", ISO_ARCHIVE_COLUMN, atoms->text, atoms->text_size,
                    atoms->text_capacity);
    iso_archive_index(archive, "atoms.slots", &atoms->table);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, iso_atoms_refill(atoms));
}

void iso_atom_index_archive(struct iso_archive *archive, struct iso_atom_index *index)
{
    uint64_t used = index->used, direct = index->direct_capacity;
    ISO_ARCHIVE_ANY(archive, "index.direct", ISO_ARCHIVE_COLUMN, index->direct, direct,
                    index->direct_capacity);
    ISO_ARCHIVE_ANY(archive, "index.slots", ISO_ARCHIVE_COLUMN, index->slots, index->slot_count,
                    index->slot_count);
    iso_archive_value(archive, "index.used", &used, sizeof used);
    iso_archive_expect(archive, direct == index->direct_capacity && used <= index->slot_count &&
                                    !(index->slot_count & (index->slot_count - 1)));
    index->used = used;
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, iso_atom_index_refill(index));
}

/* ---- histories ---- */

static void archive_transactions(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t *count = &history->transaction_count, *capacity = &history->transaction_capacity;
#define TWIN(column)                                                                               \
    ISO_ARCHIVE_ANY(archive, #column, ISO_ARCHIVE_TWIN, history->column, *count, *capacity)
    ISO_ARCHIVE_ANY(archive, "flags", ISO_ARCHIVE_COLUMN, history->flags, *count, *capacity);
    TWIN(tid);
    TWIN(session);
    TWIN(sts);
    TWIN(cts);
    TWIN(origin);
    TWIN(sno);
    TWIN(xid);
    TWIN(snapshot);
    TWIN(begun);
    TWIN(ended);
    TWIN(marks);
    TWIN(sts_logical);
    TWIN(cts_logical);
#undef TWIN
    uint64_t starts = *capacity ? (uint64_t)*count + 1 : 0;
    uint64_t room = *capacity ? (uint64_t)*capacity + 1 : 0;
    history->first_operation =
        iso_archive_column(archive, "first_operation", ISO_ARCHIVE_TWIN, history->first_operation,
                           &starts, &room, sizeof(uint32_t));
}

static void archive_operations(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t *count = &history->operation_count, *capacity = &history->operation_capacity;
    ISO_ARCHIVE_ANY(archive, "kind", ISO_ARCHIVE_COLUMN, history->kind, *count, *capacity);
    ISO_ARCHIVE_ANY(archive, "key", ISO_ARCHIVE_TWIN, history->key, *count, *capacity);
    ISO_ARCHIVE_ANY(archive, "value", ISO_ARCHIVE_TWIN, history->value, *count, *capacity);
    ISO_ARCHIVE_ANY(archive, "ots", ISO_ARCHIVE_TWIN, history->ots, *count, *capacity);
    ISO_ARCHIVE_ANY(archive, "ots_logical", ISO_ARCHIVE_TWIN, history->ots_logical, *count,
                    *capacity);
    uint32_t starts = history->list_first ? history->list_count + 1 : 0;
    ISO_ARCHIVE_ANY(archive, "list_first", ISO_ARCHIVE_COLUMN, history->list_first, starts,
                    history->list_capacity);
    history->list_count = starts ? starts - 1 : 0;
    ISO_ARCHIVE_ANY(archive, "element", ISO_ARCHIVE_COLUMN, history->element,
                    history->element_count, history->element_capacity);
}

static void archive_sets(struct iso_archive *archive, struct iso_history *history)
{
    struct iso_ranges *ranges = &history->ranges;
    ISO_ARCHIVE_ANY(archive, "sets", ISO_ARCHIVE_COLUMN, ranges->list, ranges->count,
                    ranges->capacity);
    for (uint32_t i = 0;
         archive->restoring && archive->error->status == ISO_OK && i < ranges->count; i++)
        iso_archive_expect(archive, ranges->list[i].transaction < history->transaction_count &&
                                        ranges->list[i].form <= ISO_SET_ROW);
}

static void archive_names(struct iso_archive *archive, struct iso_history *history)
{
    ISO_ARCHIVE_ANY(archive, "key_atom", ISO_ARCHIVE_COLUMN, history->key_atom, history->key_count,
                    history->key_capacity);
    ISO_ARCHIVE_ANY(archive, "key_use", ISO_ARCHIVE_TWIN, history->key_use, history->key_count,
                    history->key_capacity);
    ISO_ARCHIVE_ANY(archive, "session_atom", ISO_ARCHIVE_COLUMN, history->session_atom,
                    history->session_count, history->session_capacity);
    iso_atom_index_archive(archive, history->key_index);
    iso_atom_index_archive(archive, history->session_index);
    iso_atoms_archive(archive, &history->atoms);
}

static void archive_snapshots(struct iso_archive *archive, struct iso_history *history)
{
    ISO_ARCHIVE_ANY(archive, "snapshots", ISO_ARCHIVE_COLUMN, history->snapshots,
                    history->snapshot_count, history->snapshot_capacity);
    ISO_ARCHIVE_ANY(archive, "xips", ISO_ARCHIVE_COLUMN, history->snapshot_xips, history->xip_count,
                    history->xip_capacity);
}

static void archive_initial(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t *count = &history->initial_count;
    ISO_ARCHIVE_VALUE(archive, history->initial_value);
    ISO_ARCHIVE_ANY(archive, "initial_key", ISO_ARCHIVE_HEAP, history->initial_key, *count, *count);
    ISO_ARCHIVE_ANY(archive, "initial_of_key", ISO_ARCHIVE_HEAP_TWIN, history->initial_of_key,
                    *count, *count);
    ISO_ARCHIVE_ANY(archive, "initial_is_append", ISO_ARCHIVE_HEAP_TWIN, history->initial_is_append,
                    *count, *count);
    iso_archive_expect(archive, !*count || (history->initial_of_key && history->initial_is_append));
}

static void archive_inputs(struct iso_archive *archive, struct iso_history *history)
{
    uint32_t count = history->input_count;
    iso_archive_value(archive, "inputs", &count, sizeof count);
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        char *name = archive->restoring ? NULL : history->inputs[i];
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
    assert(!history->finished && (!archive->restoring || !history->input_count));
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
