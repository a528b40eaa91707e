/* What the files of this module share: growing the columns of a history. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "history/history.h"

void history_reserve_transactions(struct iso_history *history, uint32_t count);
void history_reserve_lists(struct iso_history *history, uint32_t count);
void history_reserve_elements(struct iso_history *history, uint64_t count);
void history_reserve_snapshots(struct iso_history *history, uint32_t count, uint64_t xips);

/* The columns of transactions and of operations, by the names and in the order that archives have.
 * An optional one, once there, has the capacity of its fellows. */
enum { HISTORY_TRANSACTION_COLUMNS = 14, HISTORY_OPERATION_COLUMNS = 5 };
struct history_column {
    size_t place; /* of the pointer, in the history */
    uint8_t size; /* of an element */
    const char *name;
    bool is_optional;
    uint8_t fill; /* each byte of new elements of an optional one */
};
extern const struct history_column history_transaction_columns[HISTORY_TRANSACTION_COLUMNS];
extern const struct history_column history_operation_columns[HISTORY_OPERATION_COLUMNS];

static inline void *history_column_of(const struct iso_history *history,
                                      const struct history_column *column)
{
    void *list;
    memcpy(&list, (const char *)history + column->place, sizeof list);
    return list;
}

static inline void history_set_column(struct iso_history *history,
                                      const struct history_column *column, void *list)
{
    memcpy((char *)history + column->place, &list, sizeof list);
}

void history_release_columns(struct iso_history *history, bool only_optional);

/* Makes an optional column that is not there yet. */
void history_add_column(struct iso_history *history, size_t place);
#define HISTORY_NEED(history, member)                                                              \
    do {                                                                                           \
        if (!(history)->member)                                                                    \
            history_add_column(history, offsetof(struct iso_history, member));                     \
    } while (0)

/* A block's atom in the history: `map` has those of its table. */
static inline iso_atom history_translate(const iso_atom *map, iso_atom atom)
{
    return !(atom & ISO_ATOM_TABLE) || atom == ISO_ABSENT ? atom : map[atom & ~ISO_ATOM_TABLE];
}

/* Use of a key by an operation: ISO_KEY_SCALAR, ISO_KEY_LIST, or none (a null read fits both). */
static inline uint8_t history_key_use(enum iso_operation_kind kind, uint32_t value)
{
    if (kind == ISO_APPEND || kind == ISO_READ_LIST)
        return ISO_KEY_LIST;
    return kind == ISO_READ && value == ISO_ABSENT ? 0 : ISO_KEY_SCALAR;
}

/* copy.c: a transaction without its operations, timestamps and sno. */
void history_copy_head(struct iso_history *into, const struct iso_history *from, uint32_t t);

/* snapshot.c: PostgreSQL counts a transaction's own xid among the finished ones of its snapshots.
 * To all others it is in progress, and so it is here. */
void history_hide_own(struct iso_history *history, uint32_t transaction);

/* range.c: the row sets of `block`, behind those that are there: its atoms by `atoms`, its
 * transactions from the count that there is, its snapshots likewise. */
void history_append_ranges(struct iso_history *history, const struct iso_history *block,
                           const iso_atom *atoms);

/* A run of row sets: those of one transaction. */
struct history_range_run {
    uint32_t first, end;
};
/* Those of the transaction, among the row sets from `low` to `high` - 1. */
struct history_range_run history_ranges_of(const struct iso_history *history, uint32_t transaction,
                                           uint32_t low, uint32_t high);
bool history_same_ranges(const struct iso_history *history, struct history_range_run a,
                         struct history_range_run b);
/* repeat.c */
bool history_same_snapshot(const struct iso_history *history, uint64_t a, uint64_t b);

/* range_implied.c: part of iso_history_finish, as are the next two */
void history_expand_ranges(struct iso_history *history);
/* snapshot_chain.c */
enum iso_status history_place_snapshots(struct iso_history *history, struct iso_error *error);
/* rank.c */
void history_rank_timestamps(struct iso_history *history);
