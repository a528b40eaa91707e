/* Building a history, one transaction and operation after another. */

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "history/history_private.h"
#include "history/index.h"

void iso_history_init(struct iso_history *history)
{
    memset(history, 0, sizeof *history);
    iso_atoms_init(&history->atoms);
    history->keys.index = iso_atom_index_new();
    history->sessions.index = iso_atom_index_new();
    history->initial.other_value = ISO_ABSENT;
    history->totals.without_sts = history->totals.without_cts = history->streamed.writer = ISO_NONE;
}

static void release_finish(struct iso_history *history)
{
    ISO_FREE_ALL(history->sessions.first, history->sessions.order, history->snapshots.violations,
                 history->ranks.physical, history->ranks.logical);
    history->sessions.first = history->sessions.order = NULL;
    history->snapshots.violations = NULL;
    history->ranks.physical = history->ranks.logical = NULL;
    history->ranks.count = 0;
    history->snapshots.violation_count = 0;
    history->finished = false;
    history->totals.committed = history->totals.aborted = history->totals.unknown = 0;
    history->totals.without_sts = history->totals.without_cts = history->streamed.writer = ISO_NONE;
    history->streamed.left_out = 0;
    history->ranges.skipped = 0;
    history->ranges.are_implied = false;
    history->ranges.not_implied = 0;
}

static void release_initial(struct iso_history *history)
{
    ISO_FREE_ALL(history->initial.key, history->initial.value, history->initial.is_append);
    history->initial.key = NULL;
    history->initial.value = NULL;
    history->initial.is_append = NULL;
    history->initial.count = 0;
    history->initial.other_value = ISO_ABSENT;
}

static void release_inputs(struct iso_history *history)
{
    for (uint32_t i = 0; i < history->inputs.count; i++)
        iso_free(history->inputs.names[i]);
    iso_free(history->inputs.names);
    history->inputs.names = NULL;
    history->inputs.count = 0;
}

void iso_history_release(struct iso_history *history)
{
    release_finish(history);
    release_initial(history);
    release_inputs(history);
    history_release_columns(history, false);
    ISO_FREE_COLUMN(history->txns.first_op, (history->txns.capacity + 1u));
    ISO_FREE_COLUMN(history->ranges.list, history->ranges.capacity);
    ISO_FREE_COLUMN(history->lists.first, history->lists.capacity);
    ISO_FREE_COLUMN(history->lists.element, history->lists.element_capacity);
    ISO_FREE_COLUMN(history->keys.atom, history->keys.capacity);
    ISO_FREE_COLUMN(history->keys.use, history->keys.capacity);
    ISO_FREE_COLUMN(history->sessions.atom, history->sessions.capacity);
    ISO_FREE_COLUMN(history->snapshots.list, history->snapshots.capacity);
    ISO_FREE_COLUMN(history->snapshots.xips, history->snapshots.xip_capacity);
    iso_atom_index_free(history->keys.index);
    iso_atom_index_free(history->sessions.index);
    iso_atoms_release(&history->atoms);
    memset(history, 0, sizeof *history);
}

void iso_history_clear(struct iso_history *history)
{
    release_finish(history);
    release_initial(history);
    release_inputs(history);
    iso_atom_index_clear(history->keys.index, history->keys.atom, history->keys.count);
    iso_atom_index_clear(history->sessions.index, history->sessions.atom, history->sessions.count);
    iso_atoms_clear(&history->atoms);
    history_release_columns(history, true);
    history->txns.count = history->ops.count = 0;
    history->ranges.count = history->ranges.limit = 0;
    history->lists.count = 0;
    history->lists.element_count = 0;
    history->keys.count = history->sessions.count = 0;
    history->snapshots.count = 0;
    history->snapshots.xip_count = 0;
    history->clock = ISO_CLOCK_NONE;
    history->txns.are_numbered = history->whole_rows = false;
    history->lost = (struct iso_history_lost){0};
    history->streamed.is_needed = false;
}

uint32_t iso_history_input(struct iso_history *history, const char *name)
{
    history->inputs.names = iso_reallocate(
        history->inputs.names, (history->inputs.count + 1) * sizeof *history->inputs.names);
    history->inputs.names[history->inputs.count] = iso_copy_text(name, strlen(name));
    return history->inputs.count++;
}

uint32_t iso_history_key(struct iso_history *history, iso_atom key)
{
    uint32_t index = iso_atom_index_get(history->keys.index, key, history->keys.count);
    if (index < history->keys.count)
        return index;
    if (index == history->keys.capacity) {
        size_t old = history->keys.capacity, next = iso_column_capacity(old, old + 1);
        ISO_COLUMN_RESIZE(history->keys.atom, old, next);
        ISO_COLUMN_RESIZE(history->keys.use, old, next);
        history->keys.capacity = (uint32_t)next;
    }
    history->keys.atom[index] = key;
    history->keys.use[index] = 0;
    return history->keys.count++;
}

uint32_t iso_history_session(struct iso_history *history, iso_atom session)
{
    uint32_t index = iso_atom_index_get(history->sessions.index, session, history->sessions.count);
    if (index < history->sessions.count)
        return index;
    ISO_GROW_COLUMN(history->sessions.atom, index, history->sessions.capacity);
    history->sessions.atom[index] = session;
    return history->sessions.count++;
}

uint32_t iso_history_open(struct iso_history *history, uint64_t origin)
{
    uint32_t transaction = history->txns.count;
    history_reserve_transactions(history, 1);
    history->txns.flags[transaction] = 0;
    history->txns.tid[transaction] = ISO_ABSENT;
    history->txns.session[transaction] = ISO_NONE;
    history->txns.sts[transaction] = history->txns.cts[transaction] = 0;
    history->txns.origin[transaction] = origin;
    history->txns.first_op[transaction] = history->txns.first_op[transaction + 1] =
        history->ops.count;
    if (history->txns.xid)
        history->txns.xid[transaction] = 0;
    if (history->txns.snapshot)
        history->txns.snapshot[transaction] = ISO_NONE;
    if (history->txns.begun)
        history->txns.begun[transaction] = 0;
    if (history->txns.ended)
        history->txns.ended[transaction] = 0;
    if (history->txns.marks)
        history->txns.marks[transaction] = 0;
    return history->txns.count++;
}

uint32_t iso_history_begin(struct iso_history *history, iso_atom tid, iso_atom session,
                           uint8_t status, uint64_t origin)
{
    uint32_t transaction = iso_history_open(history, origin);
    history->txns.flags[transaction] = status;
    history->txns.tid[transaction] = tid;
    history->txns.session[transaction] = iso_history_session(history, session);
    return transaction;
}

void iso_history_close(struct iso_history *history)
{
    static const uint8_t kind_flags[ISO_KIND_MASK + 1] = {
        [ISO_WRITE] = ISO_WRITES, [ISO_DELETE] = ISO_WRITES, [ISO_APPEND] = ISO_WRITES};
    uint32_t transaction = history->txns.count - 1, end = history->ops.count;
    const uint8_t *kinds = history->ops.kind;
    const uint32_t *keys = history->ops.key, *values = history->ops.value;
    uint8_t *key_use = history->keys.use, flags = history->txns.flags[transaction], all = 0;
    for (uint32_t o = history->txns.first_op[transaction]; o < end; o++) {
        uint8_t kind = kinds[o] & ISO_KIND_MASK;
        key_use[keys[o]] |= history_key_use(kind, values[o]);
        flags |= kind_flags[kind];
        all |= kinds[o];
    }
    history->txns.flags[transaction] = flags | (all & ~ISO_KIND_MASK ? ISO_OWN_TIMES : 0);
    history->txns.first_op[transaction + 1] = end;
    history_hide_own(history, transaction);
}

struct iso_history_mark iso_history_mark(const struct iso_history *history)
{
    return (struct iso_history_mark){
        .transactions = history->txns.count,
        .operations = history->ops.count,
        .ranges = history->ranges.count,
        .lists = history->lists.count,
        .snapshots = history->snapshots.count,
        .elements = history->lists.element_count,
        .xips = history->snapshots.xip_count,
        .clock = history->clock,
        .whole_rows = history->whole_rows,
    };
}

void iso_history_rewind(struct iso_history *history, const struct iso_history_mark *mark)
{
    history->txns.count = mark->transactions;
    history->ops.count = mark->operations;
    history->ranges.count = mark->ranges;
    history->lists.count = mark->lists;
    history->snapshots.count = mark->snapshots;
    history->lists.element_count = mark->elements;
    history->snapshots.xip_count = mark->xips;
    history->clock = mark->clock;
    history->whole_rows = mark->whole_rows;
}

void iso_history_set_sts(struct iso_history *history, struct iso_stamp stamp)
{
    uint32_t transaction = history->txns.count - 1;
    history->txns.flags[transaction] |= ISO_HAS_STS;
    history->txns.sts[transaction] = stamp.physical;
    if (history->clock != ISO_CLOCK_PAIR)
        return;
    HISTORY_NEED(history, txns.sts_logical);
    history->txns.sts_logical[transaction] = stamp.logical;
}

void iso_history_set_cts(struct iso_history *history, struct iso_stamp stamp)
{
    uint32_t transaction = history->txns.count - 1;
    history->txns.flags[transaction] |= ISO_HAS_CTS;
    history->txns.cts[transaction] = stamp.physical;
    if (history->clock != ISO_CLOCK_PAIR)
        return;
    HISTORY_NEED(history, txns.cts_logical);
    history->txns.cts_logical[transaction] = stamp.logical;
}

void iso_history_set_sno(struct iso_history *history, uint64_t sno)
{
    uint32_t transaction = history->txns.count - 1;
    HISTORY_NEED(history, txns.sno);
    history->txns.sno[transaction] = sno;
    history->txns.flags[transaction] |= ISO_HAS_SNO;
}

void iso_history_set_xid(struct iso_history *history, uint64_t xid)
{
    HISTORY_NEED(history, txns.xid);
    history->txns.xid[history->txns.count - 1] = xid;
}

void iso_history_set_snapshot(struct iso_history *history, uint32_t snapshot)
{
    HISTORY_NEED(history, txns.snapshot);
    history->txns.snapshot[history->txns.count - 1] = snapshot;
}

void iso_history_set_begun(struct iso_history *history, uint64_t nanoseconds)
{
    HISTORY_NEED(history, txns.begun);
    history->txns.begun[history->txns.count - 1] = nanoseconds + 1;
}

void iso_history_set_ended(struct iso_history *history, uint64_t nanoseconds)
{
    HISTORY_NEED(history, txns.ended);
    history->txns.ended[history->txns.count - 1] = nanoseconds + 1;
}

void iso_history_set_marks(struct iso_history *history, uint8_t marks)
{
    HISTORY_NEED(history, txns.marks);
    history->txns.marks[history->txns.count - 1] = marks;
}

uint32_t iso_history_operation(struct iso_history *history, enum iso_operation_kind kind,
                               iso_atom key, uint32_t value)
{
    uint32_t operation = history->ops.count, transaction = history->txns.count - 1;
    iso_history_reserve_operations(history, 1);
    uint32_t index = iso_history_key(history, key);
    history->ops.kind[operation] = (uint8_t)kind;
    history->ops.key[operation] = index;
    history->ops.value[operation] = value;
    history->keys.use[index] |= history_key_use(kind, value);
    if (iso_kind_writes((uint8_t)kind))
        history->txns.flags[transaction] |= ISO_WRITES;
    history->txns.first_op[transaction + 1] = ++history->ops.count;
    return operation;
}

void iso_history_set_ots(struct iso_history *history, struct iso_stamp stamp)
{
    uint32_t operation = history->ops.count - 1;
    HISTORY_NEED(history, ops.ots);
    history->ops.ots[operation] = stamp.physical;
    history->ops.kind[operation] |= ISO_OPERATION_OTS;
    history->txns.flags[history->txns.count - 1] |= ISO_OWN_TIMES;
    if (history->clock == ISO_CLOCK_PAIR) {
        HISTORY_NEED(history, ops.ots_logical);
        history->ops.ots_logical[operation] = stamp.logical;
    }
}

void iso_history_set_operation_snapshot(struct iso_history *history, uint32_t snapshot)
{
    uint32_t operation = history->ops.count - 1;
    HISTORY_NEED(history, ops.ots);
    history->ops.ots[operation] = snapshot;
    history->ops.kind[operation] |= ISO_OPERATION_SNAPSHOT;
    history->txns.flags[history->txns.count - 1] |= ISO_OWN_TIMES;
}

void iso_history_set_lock(struct iso_history *history)
{
    history->ops.kind[history->ops.count - 1] |= ISO_OPERATION_LOCK;
    history->txns.flags[history->txns.count - 1] |= ISO_OWN_TIMES;
}

uint32_t iso_history_list(struct iso_history *history)
{
    history_reserve_lists(history, 1);
    history->lists.first[history->lists.count] = history->lists.first[history->lists.count + 1] =
        history->lists.element_count;
    return history->lists.count++;
}

void iso_history_element(struct iso_history *history, iso_atom element)
{
    history_reserve_elements(history, 1);
    history->lists.element[history->lists.element_count++] = element;
    history->lists.first[history->lists.count] = history->lists.element_count;
}

void iso_history_initial(struct iso_history *history, iso_atom key, iso_atom value, bool is_append)
{
    uint32_t index = iso_history_key(history, key), count = history->initial.count++;
    history->initial.key =
        iso_reallocate(history->initial.key, (count + 1) * sizeof *history->initial.key);
    history->initial.value =
        iso_reallocate(history->initial.value, (count + 1) * sizeof *history->initial.value);
    history->initial.is_append = iso_reallocate(history->initial.is_append,
                                                (count + 1) * sizeof *history->initial.is_append);
    history->initial.key[count] = index;
    history->initial.value[count] = value;
    history->initial.is_append[count] = is_append;
    history->keys.use[index] |= is_append ? ISO_KEY_LIST : ISO_KEY_SCALAR;
}

void iso_history_location_text(const struct iso_history *history, uint32_t transaction, char *text,
                               size_t size)
{
    uint64_t origin = history->txns.origin[transaction];
    uint32_t input = iso_origin_input(origin);
    snprintf(text, size, "%s:%llu",
             input < history->inputs.count ? history->inputs.names[input] : "?",
             (unsigned long long)iso_origin_offset(origin));
}

void iso_history_stamp_text(const struct iso_history *history, uint64_t timestamp,
                            char text[ISO_STAMP_TEXT])
{
    if (!history->ranks.physical || timestamp == 0 || timestamp > history->ranks.count) {
        snprintf(text, ISO_STAMP_TEXT, "%llu", (unsigned long long)timestamp);
    } else if (!history->ranks.logical) {
        snprintf(text, ISO_STAMP_TEXT, "%llu",
                 (unsigned long long)history->ranks.physical[timestamp]);
    } else {
        snprintf(text, ISO_STAMP_TEXT, "{%llu,%llu}",
                 (unsigned long long)history->ranks.physical[timestamp],
                 (unsigned long long)history->ranks.logical[timestamp]);
    }
}

uint32_t iso_history_owner(const struct iso_history *history, uint32_t operation)
{
    uint32_t low = 0, high = history->txns.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (history->txns.first_op[middle] <= operation)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool iso_tid_is_foreign(const struct iso_atoms *atoms, iso_atom tid)
{
    static const size_t prefix = sizeof ISO_FOREIGN_PREFIX - 1;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, tid, buffer, &length);
    return length > prefix && !memcmp(text, ISO_FOREIGN_PREFIX, prefix);
}

iso_atom *iso_history_initial_values(const struct iso_history *history, bool of_lists)
{
    iso_atom *initial = iso_numbers(history->keys.count);
    for (uint32_t key = 0; key < history->keys.count; key++)
        initial[key] = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++)
        if (of_lists || !history->initial.is_append[i])
            initial[history->initial.key[i]] = history->initial.value[i];
    return initial;
}

uint32_t iso_history_first_write(const struct iso_history *history, uint32_t transaction,
                                 uint32_t key)
{
    ISO_EACH(o, history->txns.first_op, transaction)
        if (history->ops.key[o] == key && iso_kind_writes(history->ops.kind[o]))
            return o;
    return ISO_NONE;
}

uint32_t iso_history_last_write(const struct iso_history *history, uint32_t transaction,
                                uint32_t key)
{
    uint32_t last = ISO_NONE;
    ISO_EACH(o, history->txns.first_op, transaction)
        if (history->ops.key[o] == key && iso_kind_writes(history->ops.kind[o]))
            last = o;
    return last;
}

uint32_t iso_history_external_read(const struct iso_history *history, uint32_t transaction,
                                   uint32_t key)
{
    ISO_EACH(o, history->txns.first_op, transaction)
        if (history->ops.key[o] == key)
            return iso_kind_writes(history->ops.kind[o]) ? ISO_NONE : o;
    return ISO_NONE;
}
