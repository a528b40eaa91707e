/* Updates of rows whose columns are cells, where an order of the transactions is sought.
 *
 * An update writes the row's key `true` once more (docs/semantics.md), so that writers of a row
 * meet. Of the order it says no more than that the row was there: as a write it would stand between
 * those that read other columns. So it is with a transaction that deletes a row and inserts it
 * again. What it reads in between is its own, and goes with the writes.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/cell_key.h"
#include "base/memory.h"
#include "history/history_private.h"
#include "history/index.h"

/* A committed write of a row's key, or a read behind one of the same transaction. */
struct touch {
    uint32_t key, transaction, operation;
    uint64_t cts;
};

struct touches {
    struct iso_history *history;
    iso_atom there;   /* `true` */
    bool *is_row;     /* by key: it has cells */
    uint32_t *writer; /* by key: the last transaction that wrote it, + 1 */
    struct touch *list;
    uint32_t count, capacity;
};

static void find_rows(struct touches *touches)
{
    const struct iso_history *history = touches->history;
    char buffer[ISO_ATOM_TEXT_MAX];
    iso_atom atom;
    for (uint32_t key = 0; key < history->keys.count; key++) {
        struct iso_json_text text, row, column;
        text.at = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &text.length);
        if (!iso_cell_key_split(text, &row, &column) || !column.length ||
            !iso_atoms_find(&history->atoms, row.at, row.length, &atom))
            continue;
        uint32_t found = iso_atom_index_find(history->keys.index, atom);
        if (found != ISO_NONE)
            touches->is_row[found] = true;
    }
}

static void collect(struct touches *touches)
{
    const struct iso_history *history = touches->history;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) != ISO_COMMITTED || !(history->txns.flags[t] & ISO_HAS_CTS) ||
            !(history->txns.flags[t] & ISO_WRITES))
            continue;
        ISO_EACH(o, history->txns.first_op, t) {
            uint32_t key = history->ops.key[o];
            if (!touches->is_row[key] ||
                (!iso_kind_writes(history->ops.kind[o]) && touches->writer[key] != t + 1))
                continue;
            touches->writer[key] = t + 1;
            ISO_APPEND(*touches, (struct touch){key, t, o, history->txns.cts[t]});
        }
    }
}

static int compare(const void *left, const void *right)
{
    const struct touch *one = left, *other = right;
    if (one->key != other->key)
        return one->key < other->key ? -1 : 1;
    if (one->cts != other->cts)
        return one->cts < other->cts ? -1 : 1;
    return (one->operation > other->operation) - (one->operation < other->operation);
}

static bool starts_there(const struct touches *touches, uint32_t key)
{
    const struct iso_history *history = touches->history;
    for (uint32_t i = history->initial.count; i-- > 0;)
        if (history->initial.key[i] == key)
            return history->initial.value[i] == touches->there;
    return history->initial.other_value == touches->there;
}

/* The value that one transaction's operations of one key, from `first` to before `end`, leave
 * there. */
static iso_atom left_by(const struct touches *touches, uint32_t first, uint32_t end)
{
    const struct iso_history *history = touches->history;
    while (end > first + 1 && !iso_kind_writes(history->ops.kind[touches->list[end - 1].operation]))
        end--;
    return history->ops.value[touches->list[end - 1].operation];
}

/* Whether they only touch a row that is there: writes of `true`, deletions with one behind them,
 * and reads that see so. */
static bool only_touch(const struct touches *touches, uint32_t first, uint32_t end)
{
    const struct iso_history *history = touches->history;
    iso_atom now = ISO_ABSENT;
    for (uint32_t i = first; i < end; i++) {
        uint32_t o = touches->list[i].operation;
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_WRITE || kind == ISO_DELETE) {
            now = kind == ISO_WRITE ? history->ops.value[o] : ISO_ABSENT;
            if (kind == ISO_WRITE && now != touches->there)
                return false;
        } else if (kind != ISO_READ || history->ops.value[o] != now) {
            return false;
        }
    }
    return now == touches->there;
}

/* The operations from `first` to before `end` are one transaction's of one key, and `was_there` is
 * what they found. */
static void read_run(const struct touches *touches, uint32_t first, uint32_t end, bool was_there,
                     uint64_t since)
{
    struct iso_history *history = touches->history;
    uint32_t t = touches->list[first].transaction;
    if (!was_there || !(history->txns.flags[t] & ISO_HAS_STS) || since > history->txns.sts[t] ||
        !only_touch(touches, first, end))
        return;
    for (uint32_t i = first; i < end; i++) {
        uint32_t o = touches->list[i].operation;
        history->ops.kind[o] = ISO_READ;
        history->ops.value[o] = touches->there;
    }
}

static void read_all(const struct touches *touches)
{
    bool was_there = false;
    uint64_t since = 0;
    for (uint32_t i = 0, end; i < touches->count; i = end) {
        const struct touch *touch = &touches->list[i];
        bool is_first = !i || touch[-1].key != touch->key;
        if (is_first) {
            was_there = starts_there(touches, touch->key);
            since = 0;
        }
        for (end = i + 1; end < touches->count && touches->list[end].key == touch->key &&
                          touches->list[end].transaction == touch->transaction;
             end++)
            ;
        bool is_shared = end < touches->count && touches->list[end].key == touch->key &&
                         touches->list[end].cts == touch->cts; /* another's of the same position */
        is_shared |= !is_first && touch[-1].cts == touch->cts;
        iso_atom left = left_by(touches, i, end);
        if (!is_shared)
            read_run(touches, i, end, was_there, since);
        was_there = left == touches->there;
        since = touch->cts;
    }
}

void iso_history_read_touches(struct iso_history *history)
{
    struct touches touches = {.history = history};
    if (!iso_atoms_find(&history->atoms, "true", 4, &touches.there))
        return;
    touches.is_row = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *touches.is_row);
    touches.writer = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *touches.writer);
    find_rows(&touches);
    collect(&touches);
    if (touches.count)
        qsort(touches.list, touches.count, sizeof *touches.list, compare);
    read_all(&touches);
    ISO_FREE_ALL(touches.list, touches.is_row, touches.writer);
}
