/* Appending a block: a history that another thread read, with numbers of its own. */
#include <assert.h>
#include <string.h>

#include "history/history_private.h"

static iso_atom *copy_atoms(struct iso_history *history, const struct iso_history *block)
{
    iso_atom *map = iso_allocate(((size_t)block->atoms.count + 1) * sizeof *map);
    for (uint32_t i = 0; i < block->atoms.count; i++)
        map[i] = iso_atoms_copy(&history->atoms, &block->atoms, i | ISO_ATOM_TABLE);
    return map;
}

static uint32_t *copy_keys(struct iso_history *history, const struct iso_history *block,
                           const iso_atom *atoms)
{
    uint32_t *map = iso_allocate(((size_t)block->keys.count + 1) * sizeof *map);
    for (uint32_t i = 0; i < block->keys.count; i++) {
        map[i] = iso_history_key(history, history_translate(atoms, block->keys.atom[i]));
        history->keys.use[map[i]] |= block->keys.use[i];
    }
    return map;
}

static uint32_t *copy_sessions(struct iso_history *history, const struct iso_history *block,
                               const iso_atom *atoms)
{
    uint32_t *map = iso_allocate(((size_t)block->sessions.count + 1) * sizeof *map);
    for (uint32_t i = 0; i < block->sessions.count; i++)
        map[i] = iso_history_session(history, history_translate(atoms, block->sessions.atom[i]));
    return map;
}

static void append_lists(struct iso_history *history, const struct iso_history *block,
                         const iso_atom *atoms)
{
    if (!block->lists.count)
        return;
    uint32_t lists = block->lists.count;
    uint64_t elements = block->lists.element_count;
    history_reserve_lists(history, lists);
    history_reserve_elements(history, elements);
    for (uint32_t i = 0; i < lists; i++)
        history->lists.first[history->lists.count + 1 + i] =
            history->lists.element_count + block->lists.first[i + 1];
    for (uint64_t i = 0; i < elements; i++)
        history->lists.element[history->lists.element_count + i] =
            history_translate(atoms, block->lists.element[i]);
    history->lists.count += lists;
    history->lists.element_count += elements;
}

static void append_snapshots(struct iso_history *history, const struct iso_history *block)
{
    history_reserve_snapshots(history, block->snapshots.count, block->snapshots.xip_count);
    for (uint32_t i = 0; i < block->snapshots.count; i++) {
        struct iso_snapshot snapshot = block->snapshots.list[i];
        snapshot.first_xip += history->snapshots.xip_count;
        history->snapshots.list[history->snapshots.count + i] = snapshot;
    }
    if (block->snapshots.xip_count)
        memcpy(history->snapshots.xips + history->snapshots.xip_count, block->snapshots.xips,
               block->snapshots.xip_count * sizeof *block->snapshots.xips);
    history->snapshots.count += block->snapshots.count;
    history->snapshots.xip_count += block->snapshots.xip_count;
}

/* Values are atoms but where a list read has the index of its list. */
static void append_values(struct iso_history *history, const struct iso_history *block,
                          const iso_atom *atoms, uint32_t list_base)
{
    uint32_t *to = history->ops.value + history->ops.count;
    if (!block->atoms.count && !block->lists.count) {
        memcpy(to, block->ops.value, block->ops.count * sizeof *to);
        return;
    }
    for (uint32_t i = 0; i < block->ops.count; i++) {
        uint32_t value = block->ops.value[i];
        if (iso_kind_of(block, i) == ISO_READ_LIST)
            to[i] = value + list_base;
        else
            to[i] = history_translate(atoms, value);
    }
}

static void append_ots(struct iso_history *history, const struct iso_history *block,
                       uint32_t snapshot_base)
{
    if (!block->ops.ots)
        return;
    HISTORY_NEED(history, ops.ots);
    for (uint32_t i = 0; i < block->ops.count; i++) {
        bool snapshot = block->ops.kind[i] & ISO_OPERATION_SNAPSHOT;
        history->ops.ots[history->ops.count + i] =
            block->ops.ots[i] + (snapshot ? snapshot_base : 0);
    }
    if (!block->ops.ots_logical)
        return;
    HISTORY_NEED(history, ops.ots_logical);
    memcpy(history->ops.ots_logical + history->ops.count, block->ops.ots_logical,
           block->ops.count * sizeof *block->ops.ots_logical);
}

static void append_operations(struct iso_history *history, const struct iso_history *block,
                              const iso_atom *atoms, const uint32_t *keys)
{
    uint32_t at = history->ops.count, count = block->ops.count;
    if (!count)
        return;
    iso_history_reserve_operations(history, count);
    memcpy(history->ops.kind + at, block->ops.kind, count);
    for (uint32_t i = 0; i < count; i++)
        history->ops.key[at + i] = keys[block->ops.key[i]];
    append_values(history, block, atoms, history->lists.count);
    append_ots(history, block, history->snapshots.count);
}

/* The optional columns whose elements mean the same in both: all but the snapshots. */
static void append_optional(struct iso_history *history, const struct iso_history *block)
{
    for (int i = 0; i < HISTORY_TRANSACTION_COLUMNS; i++) {
        const struct history_column *column = &history_transaction_columns[i];
        const char *from = history_column_of(block, column);
        if (!column->is_optional || column->fill || !from)
            continue;
        if (!history_column_of(history, column))
            history_add_column(history, column->place);
        memcpy((char *)history_column_of(history, column) +
                   (size_t)history->txns.count * column->size,
               from, (size_t)block->txns.count * column->size);
    }
}

static void append_snapshot_column(struct iso_history *history, const struct iso_history *block)
{
    if (block->txns.snapshot)
        HISTORY_NEED(history, txns.snapshot);
    if (!history->txns.snapshot)
        return;
    for (uint32_t i = 0; i < block->txns.count; i++) {
        uint32_t snapshot = block->txns.snapshot ? block->txns.snapshot[i] : ISO_NONE;
        history->txns.snapshot[history->txns.count + i] =
            snapshot == ISO_NONE ? ISO_NONE : snapshot + history->snapshots.count;
    }
}

static void append_transactions(struct iso_history *history, const struct iso_history *block,
                                const iso_atom *atoms, const uint32_t *sessions)
{
    uint32_t at = history->txns.count, count = block->txns.count;
    memcpy(history->txns.flags + at, block->txns.flags, count);
    memcpy(history->txns.sts + at, block->txns.sts, count * sizeof *block->txns.sts);
    memcpy(history->txns.cts + at, block->txns.cts, count * sizeof *block->txns.cts);
    for (uint32_t i = 0; i < count; i++) {
        history->txns.tid[at + i] = history_translate(atoms, block->txns.tid[i]);
        history->txns.session[at + i] = sessions[block->txns.session[i]];
        history->txns.first_op[at + i + 1] = history->ops.count + block->txns.first_op[i + 1];
    }
    append_optional(history, block);
    append_snapshot_column(history, block);
    history->whole_rows |= block->whole_rows;
}

void iso_history_append(struct iso_history *history, const struct iso_history *block,
                        uint32_t input, uint64_t line_base)
{
    if (!block->txns.count)
        return;
    assert(history->clock == ISO_CLOCK_NONE || block->clock == ISO_CLOCK_NONE ||
           history->clock == block->clock);
    if (block->clock != ISO_CLOCK_NONE)
        history->clock = block->clock;
    iso_atom *atoms = copy_atoms(history, block);
    uint32_t *keys = copy_keys(history, block, atoms),
             *sessions = copy_sessions(history, block, atoms);

    /* operations and transactions first: they use the bases that lists and snapshots then move */
    history_reserve_transactions(history, block->txns.count);
    append_operations(history, block, atoms, keys);
    append_transactions(history, block, atoms, sessions);
    for (uint32_t i = 0; i < block->txns.count; i++)
        history->txns.origin[history->txns.count + i] =
            iso_origin(input, iso_origin_offset(block->txns.origin[i]) + line_base);
    history_append_ranges(history, block, atoms);
    append_lists(history, block, atoms);
    append_snapshots(history, block);
    history->ops.count += block->ops.count;
    history->txns.count += block->txns.count;

    ISO_FREE_ALL(atoms, keys, sessions);
}
