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
    uint32_t *map = iso_allocate(((size_t)block->key_count + 1) * sizeof *map);
    for (uint32_t i = 0; i < block->key_count; i++) {
        map[i] = iso_history_key(history, history_translate(atoms, block->key_atom[i]));
        history->key_use[map[i]] |= block->key_use[i];
    }
    return map;
}

static uint32_t *copy_sessions(struct iso_history *history, const struct iso_history *block,
                               const iso_atom *atoms)
{
    uint32_t *map = iso_allocate(((size_t)block->session_count + 1) * sizeof *map);
    for (uint32_t i = 0; i < block->session_count; i++)
        map[i] = iso_history_session(history, history_translate(atoms, block->session_atom[i]));
    return map;
}

static void append_lists(struct iso_history *history, const struct iso_history *block,
                         const iso_atom *atoms)
{
    if (!block->list_count)
        return;
    uint32_t lists = block->list_count;
    uint64_t elements = block->element_count;
    history_reserve_lists(history, lists);
    history_reserve_elements(history, elements);
    for (uint32_t i = 0; i < lists; i++)
        history->list_first[history->list_count + 1 + i] =
            history->element_count + block->list_first[i + 1];
    for (uint64_t i = 0; i < elements; i++)
        history->element[history->element_count + i] = history_translate(atoms, block->element[i]);
    history->list_count += lists;
    history->element_count += elements;
}

static void append_snapshots(struct iso_history *history, const struct iso_history *block)
{
    history_reserve_snapshots(history, block->snapshot_count, block->xip_count);
    for (uint32_t i = 0; i < block->snapshot_count; i++) {
        struct iso_snapshot snapshot = block->snapshots[i];
        snapshot.first_xip += history->xip_count;
        history->snapshots[history->snapshot_count + i] = snapshot;
    }
    if (block->xip_count)
        memcpy(history->snapshot_xips + history->xip_count, block->snapshot_xips,
               block->xip_count * sizeof *block->snapshot_xips);
    history->snapshot_count += block->snapshot_count;
    history->xip_count += block->xip_count;
}

/* Values are atoms but where a list read has the index of its list. */
static void append_values(struct iso_history *history, const struct iso_history *block,
                          const iso_atom *atoms, uint32_t list_base)
{
    uint32_t *to = history->value + history->operation_count;
    if (!block->atoms.count && !block->list_count) {
        memcpy(to, block->value, block->operation_count * sizeof *to);
        return;
    }
    for (uint32_t i = 0; i < block->operation_count; i++) {
        uint32_t value = block->value[i];
        if (iso_kind_of(block, i) == ISO_READ_LIST)
            to[i] = value + list_base;
        else
            to[i] = history_translate(atoms, value);
    }
}

static void append_ots(struct iso_history *history, const struct iso_history *block,
                       uint32_t snapshot_base)
{
    if (!block->ots)
        return;
    history_need_operation_column(history, &history->ots);
    for (uint32_t i = 0; i < block->operation_count; i++) {
        bool snapshot = block->kind[i] & ISO_OPERATION_SNAPSHOT;
        history->ots[history->operation_count + i] = block->ots[i] + (snapshot ? snapshot_base : 0);
    }
    if (!block->ots_logical)
        return;
    history_need_operation_column(history, &history->ots_logical);
    memcpy(history->ots_logical + history->operation_count, block->ots_logical,
           block->operation_count * sizeof *block->ots_logical);
}

static void append_operations(struct iso_history *history, const struct iso_history *block,
                              const iso_atom *atoms, const uint32_t *keys)
{
    uint32_t at = history->operation_count, count = block->operation_count;
    if (!count)
        return;
    iso_history_reserve_operations(history, count);
    memcpy(history->kind + at, block->kind, count);
    for (uint32_t i = 0; i < count; i++)
        history->key[at + i] = keys[block->key[i]];
    append_values(history, block, atoms, history->list_count);
    append_ots(history, block, history->snapshot_count);
}

static void append_extra(struct iso_history *history, uint64_t **to, const uint64_t *from,
                         uint32_t count)
{
    if (!from)
        return;
    history_need_transaction_column(history, to);
    memcpy(*to + history->transaction_count, from, count * sizeof *from);
}

static void append_snapshot_column(struct iso_history *history, const struct iso_history *block)
{
    if (block->snapshot)
        history_need_snapshot_column(history);
    if (!history->snapshot)
        return;
    for (uint32_t i = 0; i < block->transaction_count; i++) {
        uint32_t snapshot = block->snapshot ? block->snapshot[i] : ISO_NONE;
        history->snapshot[history->transaction_count + i] =
            snapshot == ISO_NONE ? ISO_NONE : snapshot + history->snapshot_count;
    }
}

static void append_marks(struct iso_history *history, const struct iso_history *block)
{
    if (!block->marks)
        return;
    history_need_marks_column(history);
    memcpy(history->marks + history->transaction_count, block->marks, block->transaction_count);
}

static void append_transactions(struct iso_history *history, const struct iso_history *block,
                                const iso_atom *atoms, const uint32_t *sessions)
{
    uint32_t at = history->transaction_count, count = block->transaction_count;
    memcpy(history->flags + at, block->flags, count);
    memcpy(history->sts + at, block->sts, count * sizeof *block->sts);
    memcpy(history->cts + at, block->cts, count * sizeof *block->cts);
    for (uint32_t i = 0; i < count; i++) {
        history->tid[at + i] = history_translate(atoms, block->tid[i]);
        history->session[at + i] = sessions[block->session[i]];
        history->first_operation[at + i + 1] =
            history->operation_count + block->first_operation[i + 1];
    }
    append_extra(history, &history->sno, block->sno, count);
    append_extra(history, &history->xid, block->xid, count);
    append_extra(history, &history->begun, block->begun, count);
    append_extra(history, &history->ended, block->ended, count);
    append_extra(history, &history->sts_logical, block->sts_logical, count);
    append_extra(history, &history->cts_logical, block->cts_logical, count);
    append_snapshot_column(history, block);
    append_marks(history, block);
    history->whole_rows |= block->whole_rows;
}

void iso_history_append(struct iso_history *history, const struct iso_history *block,
                        uint32_t input, uint64_t line_base)
{
    if (!block->transaction_count)
        return;
    assert(history->clock == ISO_CLOCK_NONE || block->clock == ISO_CLOCK_NONE ||
           history->clock == block->clock);
    if (block->clock != ISO_CLOCK_NONE)
        history->clock = block->clock;
    iso_atom *atoms = copy_atoms(history, block);
    uint32_t *keys = copy_keys(history, block, atoms),
             *sessions = copy_sessions(history, block, atoms);

    /* operations and transactions first: they use the bases that lists and snapshots then move */
    history_reserve_transactions(history, block->transaction_count);
    append_operations(history, block, atoms, keys);
    append_transactions(history, block, atoms, sessions);
    for (uint32_t i = 0; i < block->transaction_count; i++)
        history->origin[history->transaction_count + i] =
            iso_origin(input, iso_origin_offset(block->origin[i]) + line_base);
    history_append_ranges(history, block, atoms);
    append_lists(history, block, atoms);
    append_snapshots(history, block);
    history->operation_count += block->operation_count;
    history->transaction_count += block->transaction_count;

    iso_free(atoms);
    iso_free(keys);
    iso_free(sessions);
}
