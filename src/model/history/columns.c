/* The memory of a history's columns. */
#include <string.h>

#include "history/history_private.h"

/* `first_op` is not among them: it has one number more. */
#define COLUMN(group, column, ...)                                                                 \
    {                                                                                              \
        .name = #column, .place = offsetof(struct iso_history, group.column),                      \
        .size = sizeof *((struct iso_history *)NULL)->group.column, __VA_ARGS__                    \
    }

const struct history_column history_transaction_columns[HISTORY_TRANSACTION_COLUMNS] = {
    COLUMN(txns, flags),
    COLUMN(txns, tid),
    COLUMN(txns, session),
    COLUMN(txns, sts),
    COLUMN(txns, cts),
    COLUMN(txns, origin),
    COLUMN(txns, sno, .is_optional = true),
    COLUMN(txns, xid, .is_optional = true),
    COLUMN(txns, snapshot, .is_optional = true, .fill = 0xff),
    COLUMN(txns, begun, .is_optional = true),
    COLUMN(txns, ended, .is_optional = true),
    COLUMN(txns, marks, .is_optional = true),
    COLUMN(txns, sts_logical, .is_optional = true),
    COLUMN(txns, cts_logical, .is_optional = true),
};

const struct history_column history_operation_columns[HISTORY_OPERATION_COLUMNS] = {
    COLUMN(ops, kind),
    COLUMN(ops, key),
    COLUMN(ops, value),
    COLUMN(ops, ots, .is_optional = true),
    COLUMN(ops, ots_logical, .is_optional = true),
};

static void resize(struct iso_history *history, const struct history_column *column, size_t old,
                   size_t next)
{
    char *bytes = iso_column_grow(history_column_of(history, column), old * column->size,
                                  iso_list_bytes(next, column->size));
    if (column->is_optional)
        memset(bytes + old * column->size, column->fill, (next - old) * column->size);
    history_set_column(history, column, bytes);
}

static void resize_all(struct iso_history *history, const struct history_column *columns,
                       size_t count, size_t old, size_t next)
{
    for (size_t i = 0; i < count; i++)
        if (!columns[i].is_optional || history_column_of(history, &columns[i]))
            resize(history, &columns[i], old, next);
}

static void release(struct iso_history *history, const struct history_column *columns, size_t count,
                    size_t capacity, bool only_optional)
{
    for (size_t i = 0; i < count; i++) {
        if (only_optional && !columns[i].is_optional)
            continue;
        iso_column_free(history_column_of(history, &columns[i]), capacity * columns[i].size);
        history_set_column(history, &columns[i], NULL);
    }
}

void history_reserve_transactions(struct iso_history *history, uint32_t count)
{
    size_t old = history->txns.capacity, need = (size_t)history->txns.count + count;
    if (need <= old)
        return;
    size_t next = iso_column_capacity(old, need);
    if (next >= ISO_NONE)
        iso_out_of_memory(next);
    resize_all(history, history_transaction_columns, HISTORY_TRANSACTION_COLUMNS, old, next);
    ISO_COLUMN_RESIZE(history->txns.first_op, old ? old + 1 : 0, next + 1);
    if (!old)
        history->txns.first_op[0] = 0;
    history->txns.capacity = (uint32_t)next;
}

void iso_history_reserve_operations(struct iso_history *history, uint32_t count)
{
    size_t old = history->ops.capacity, need = (size_t)history->ops.count + count;
    if (need <= old)
        return;
    size_t next = iso_column_capacity(old, need);
    if (need >= ISO_NONE)
        iso_out_of_memory(next);
    resize_all(history, history_operation_columns, HISTORY_OPERATION_COLUMNS, old, next);
    history->ops.capacity = (uint32_t)(next < ISO_NONE ? next : ISO_NONE);
}

void history_add_column(struct iso_history *history, size_t place)
{
    for (int i = 0; i < HISTORY_TRANSACTION_COLUMNS; i++)
        if (history_transaction_columns[i].place == place)
            resize(history, &history_transaction_columns[i], 0, history->txns.capacity);
    for (int i = 0; i < HISTORY_OPERATION_COLUMNS; i++)
        if (history_operation_columns[i].place == place)
            resize(history, &history_operation_columns[i], 0, history->ops.capacity);
}

void history_release_columns(struct iso_history *history, bool only_optional)
{
    release(history, history_transaction_columns, HISTORY_TRANSACTION_COLUMNS,
            history->txns.capacity, only_optional);
    release(history, history_operation_columns, HISTORY_OPERATION_COLUMNS, history->ops.capacity,
            only_optional);
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
