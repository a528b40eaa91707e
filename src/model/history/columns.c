/* The memory of a history's columns. Optional columns, once there, have the capacity of their
 * fellows. */
#include <string.h>

#include "history/history_private.h"

enum { TRANSACTION_EXTRAS = 6, OPERATION_EXTRAS = 2 };

static void transaction_extras(struct iso_history *history, uint64_t **columns[TRANSACTION_EXTRAS])
{
    columns[0] = &history->txns.sno;
    columns[1] = &history->txns.xid;
    columns[2] = &history->txns.sts_logical;
    columns[3] = &history->txns.cts_logical;
    columns[4] = &history->txns.begun;
    columns[5] = &history->txns.ended;
}

static void operation_extras(struct iso_history *history, uint64_t **columns[OPERATION_EXTRAS])
{
    columns[0] = &history->ops.ots;
    columns[1] = &history->ops.ots_logical;
}

static void grow_zeroed(uint64_t **column, size_t old, size_t next)
{
    ISO_COLUMN_RESIZE(*column, old, next);
    memset(*column + old, 0, (next - old) * sizeof **column);
}

static void grow_marks(struct iso_history *history, size_t old, size_t next)
{
    ISO_COLUMN_RESIZE(history->txns.marks, old, next);
    memset(history->txns.marks + old, 0, (next - old) * sizeof *history->txns.marks);
}

static void grow_transactions(struct iso_history *history, size_t need)
{
    size_t old = history->txns.capacity, next = iso_column_capacity(old, need);
    uint64_t **extras[TRANSACTION_EXTRAS];
    if (next >= ISO_NONE)
        iso_out_of_memory(next);
    ISO_COLUMN_RESIZE(history->txns.flags, old, next);
    ISO_COLUMN_RESIZE(history->txns.tid, old, next);
    ISO_COLUMN_RESIZE(history->txns.session, old, next);
    ISO_COLUMN_RESIZE(history->txns.sts, old, next);
    ISO_COLUMN_RESIZE(history->txns.cts, old, next);
    ISO_COLUMN_RESIZE(history->txns.origin, old, next);
    ISO_COLUMN_RESIZE(history->txns.first_op, old ? old + 1 : 0, next + 1);
    if (!old)
        history->txns.first_op[0] = 0;
    transaction_extras(history, extras);
    for (int i = 0; i < TRANSACTION_EXTRAS; i++) {
        if (*extras[i])
            grow_zeroed(extras[i], old, next);
    }
    if (history->txns.snapshot)
        ISO_COLUMN_RESIZE(history->txns.snapshot, old, next);
    if (history->txns.marks)
        grow_marks(history, old, next);
    history->txns.capacity = (uint32_t)next;
}

void history_reserve_transactions(struct iso_history *history, uint32_t count)
{
    size_t need = (size_t)history->txns.count + count;
    if (need > history->txns.capacity)
        grow_transactions(history, need);
}

static void grow_operations(struct iso_history *history, size_t need)
{
    size_t old = history->ops.capacity, next = iso_column_capacity(old, need);
    uint64_t **extras[OPERATION_EXTRAS];
    if (need >= ISO_NONE)
        iso_out_of_memory(next);
    ISO_COLUMN_RESIZE(history->ops.kind, old, next);
    ISO_COLUMN_RESIZE(history->ops.key, old, next);
    ISO_COLUMN_RESIZE(history->ops.value, old, next);
    operation_extras(history, extras);
    for (int i = 0; i < OPERATION_EXTRAS; i++) {
        if (*extras[i])
            grow_zeroed(extras[i], old, next);
    }
    history->ops.capacity = (uint32_t)(next < ISO_NONE ? next : ISO_NONE);
}

void iso_history_reserve_operations(struct iso_history *history, uint32_t count)
{
    size_t need = (size_t)history->ops.count + count;
    if (need > history->ops.capacity)
        grow_operations(history, need);
}

void history_need_transaction_column(struct iso_history *history, uint64_t **column)
{
    if (!*column)
        grow_zeroed(column, 0, history->txns.capacity);
}

void history_need_operation_column(struct iso_history *history, uint64_t **column)
{
    if (!*column)
        grow_zeroed(column, 0, history->ops.capacity);
}

void history_need_snapshot_column(struct iso_history *history)
{
    if (history->txns.snapshot)
        return;
    ISO_COLUMN_RESIZE(history->txns.snapshot, 0, history->txns.capacity);
    for (uint32_t i = 0; i < history->txns.count; i++)
        history->txns.snapshot[i] = ISO_NONE;
}

void history_need_marks_column(struct iso_history *history)
{
    if (!history->txns.marks)
        grow_marks(history, 0, history->txns.capacity);
}

static void free_extra(uint64_t **column, size_t capacity)
{
    iso_column_free(*column, capacity * sizeof **column);
    *column = NULL;
}

void history_drop_optional(struct iso_history *history)
{
    uint64_t **of_transactions[TRANSACTION_EXTRAS], **of_operations[OPERATION_EXTRAS];
    transaction_extras(history, of_transactions);
    operation_extras(history, of_operations);
    for (int i = 0; i < TRANSACTION_EXTRAS; i++)
        free_extra(of_transactions[i], history->txns.capacity);
    for (int i = 0; i < OPERATION_EXTRAS; i++)
        free_extra(of_operations[i], history->ops.capacity);
    iso_column_free(history->txns.snapshot,
                    history->txns.capacity * sizeof *history->txns.snapshot);
    iso_column_free(history->txns.marks, history->txns.capacity * sizeof *history->txns.marks);
    history->txns.snapshot = NULL;
    history->txns.marks = NULL;
}

void history_release_transactions(struct iso_history *history)
{
    size_t capacity = history->txns.capacity;
    history_drop_optional(history);
    iso_column_free(history->txns.flags, capacity * sizeof *history->txns.flags);
    iso_column_free(history->txns.tid, capacity * sizeof *history->txns.tid);
    iso_column_free(history->txns.session, capacity * sizeof *history->txns.session);
    iso_column_free(history->txns.sts, capacity * sizeof *history->txns.sts);
    iso_column_free(history->txns.cts, capacity * sizeof *history->txns.cts);
    iso_column_free(history->txns.origin, capacity * sizeof *history->txns.origin);
    iso_column_free(history->txns.first_op, (capacity + 1) * sizeof *history->txns.first_op);
}

void history_release_operations(struct iso_history *history)
{
    size_t capacity = history->ops.capacity;
    iso_column_free(history->ops.kind, capacity * sizeof *history->ops.kind);
    iso_column_free(history->ops.key, capacity * sizeof *history->ops.key);
    iso_column_free(history->ops.value, capacity * sizeof *history->ops.value);
}

void history_reserve_lists(struct iso_history *history, uint32_t count)
{
    bool is_first = !history->lists.capacity;
    ISO_RESERVE_COLUMN(history->lists.first, (size_t)history->lists.count + count + 1,
                       history->lists.capacity);
    if (is_first)
        history->lists.first[0] = 0;
}

void history_reserve_elements(struct iso_history *history, uint64_t count)
{
    ISO_RESERVE_COLUMN(history->lists.element, history->lists.element_count + count,
                       history->lists.element_capacity);
}

void history_reserve_snapshots(struct iso_history *history, uint32_t count, uint64_t xips)
{
    ISO_RESERVE_COLUMN(history->snapshots.list, (size_t)history->snapshots.count + count,
                       history->snapshots.capacity);
    ISO_RESERVE_COLUMN(history->snapshots.xips, history->snapshots.xip_count + xips,
                       history->snapshots.xip_capacity);
}
