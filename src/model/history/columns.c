/* The memory of a history's columns. Optional columns, once there, have the capacity of their
 * fellows. */
#include <string.h>

#include "history/history_private.h"

enum { TRANSACTION_EXTRAS = 6, OPERATION_EXTRAS = 2 };

static void transaction_extras(struct iso_history *history, uint64_t **columns[TRANSACTION_EXTRAS])
{
    columns[0] = &history->sno;
    columns[1] = &history->xid;
    columns[2] = &history->sts_logical;
    columns[3] = &history->cts_logical;
    columns[4] = &history->begun;
    columns[5] = &history->ended;
}

static void operation_extras(struct iso_history *history, uint64_t **columns[OPERATION_EXTRAS])
{
    columns[0] = &history->ots;
    columns[1] = &history->ots_logical;
}

static void grow_zeroed(uint64_t **column, size_t old, size_t next)
{
    ISO_COLUMN_RESIZE(*column, old, next);
    memset(*column + old, 0, (next - old) * sizeof **column);
}

static void grow_marks(struct iso_history *history, size_t old, size_t next)
{
    ISO_COLUMN_RESIZE(history->marks, old, next);
    memset(history->marks + old, 0, (next - old) * sizeof *history->marks);
}

static void grow_transactions(struct iso_history *history, size_t need)
{
    size_t old = history->transaction_capacity, next = iso_column_capacity(old, need);
    uint64_t **extras[TRANSACTION_EXTRAS];
    if (next >= ISO_NONE)
        iso_out_of_memory(next);
    ISO_COLUMN_RESIZE(history->flags, old, next);
    ISO_COLUMN_RESIZE(history->tid, old, next);
    ISO_COLUMN_RESIZE(history->session, old, next);
    ISO_COLUMN_RESIZE(history->sts, old, next);
    ISO_COLUMN_RESIZE(history->cts, old, next);
    ISO_COLUMN_RESIZE(history->origin, old, next);
    ISO_COLUMN_RESIZE(history->first_operation, old ? old + 1 : 0, next + 1);
    if (!old)
        history->first_operation[0] = 0;
    transaction_extras(history, extras);
    for (int i = 0; i < TRANSACTION_EXTRAS; i++) {
        if (*extras[i])
            grow_zeroed(extras[i], old, next);
    }
    if (history->snapshot)
        ISO_COLUMN_RESIZE(history->snapshot, old, next);
    if (history->marks)
        grow_marks(history, old, next);
    history->transaction_capacity = (uint32_t)next;
}

void history_reserve_transactions(struct iso_history *history, uint32_t count)
{
    size_t need = (size_t)history->transaction_count + count;
    if (need > history->transaction_capacity)
        grow_transactions(history, need);
}

static void grow_operations(struct iso_history *history, size_t need)
{
    size_t old = history->operation_capacity, next = iso_column_capacity(old, need);
    uint64_t **extras[OPERATION_EXTRAS];
    if (need >= ISO_NONE)
        iso_out_of_memory(next);
    ISO_COLUMN_RESIZE(history->kind, old, next);
    ISO_COLUMN_RESIZE(history->key, old, next);
    ISO_COLUMN_RESIZE(history->value, old, next);
    operation_extras(history, extras);
    for (int i = 0; i < OPERATION_EXTRAS; i++) {
        if (*extras[i])
            grow_zeroed(extras[i], old, next);
    }
    history->operation_capacity = (uint32_t)(next < ISO_NONE ? next : ISO_NONE);
}

void iso_history_reserve_operations(struct iso_history *history, uint32_t count)
{
    size_t need = (size_t)history->operation_count + count;
    if (need > history->operation_capacity)
        grow_operations(history, need);
}

void history_need_transaction_column(struct iso_history *history, uint64_t **column)
{
    if (!*column)
        grow_zeroed(column, 0, history->transaction_capacity);
}

void history_need_operation_column(struct iso_history *history, uint64_t **column)
{
    if (!*column)
        grow_zeroed(column, 0, history->operation_capacity);
}

void history_need_snapshot_column(struct iso_history *history)
{
    if (history->snapshot)
        return;
    ISO_COLUMN_RESIZE(history->snapshot, 0, history->transaction_capacity);
    for (uint32_t i = 0; i < history->transaction_count; i++)
        history->snapshot[i] = ISO_NONE;
}

void history_need_marks_column(struct iso_history *history)
{
    if (!history->marks)
        grow_marks(history, 0, history->transaction_capacity);
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
        free_extra(of_transactions[i], history->transaction_capacity);
    for (int i = 0; i < OPERATION_EXTRAS; i++)
        free_extra(of_operations[i], history->operation_capacity);
    iso_column_free(history->snapshot, history->transaction_capacity * sizeof *history->snapshot);
    iso_column_free(history->marks, history->transaction_capacity * sizeof *history->marks);
    history->snapshot = NULL;
    history->marks = NULL;
}

void history_release_transactions(struct iso_history *history)
{
    size_t capacity = history->transaction_capacity;
    history_drop_optional(history);
    iso_column_free(history->flags, capacity * sizeof *history->flags);
    iso_column_free(history->tid, capacity * sizeof *history->tid);
    iso_column_free(history->session, capacity * sizeof *history->session);
    iso_column_free(history->sts, capacity * sizeof *history->sts);
    iso_column_free(history->cts, capacity * sizeof *history->cts);
    iso_column_free(history->origin, capacity * sizeof *history->origin);
    iso_column_free(history->first_operation, (capacity + 1) * sizeof *history->first_operation);
}

void history_release_operations(struct iso_history *history)
{
    size_t capacity = history->operation_capacity;
    iso_column_free(history->kind, capacity * sizeof *history->kind);
    iso_column_free(history->key, capacity * sizeof *history->key);
    iso_column_free(history->value, capacity * sizeof *history->value);
}

void history_reserve_lists(struct iso_history *history, uint32_t count)
{
    bool is_first = !history->list_capacity;
    ISO_RESERVE_COLUMN(history->list_first, (size_t)history->list_count + count + 1,
                       history->list_capacity);
    if (is_first)
        history->list_first[0] = 0;
}

void history_reserve_elements(struct iso_history *history, uint64_t count)
{
    ISO_RESERVE_COLUMN(history->element, history->element_count + count, history->element_capacity);
}

void history_reserve_snapshots(struct iso_history *history, uint32_t count, uint64_t xips)
{
    ISO_RESERVE_COLUMN(history->snapshots, (size_t)history->snapshot_count + count,
                       history->snapshot_capacity);
    ISO_RESERVE_COLUMN(history->snapshot_xips, history->xip_count + xips, history->xip_capacity);
}
