/* Building a history, one transaction and operation after another. */

#include <stdio.h>
#include <string.h>

#include "history/history_private.h"
#include "history/index.h"

void iso_history_init(struct iso_history *history)
{
    memset(history, 0, sizeof *history);
    iso_atoms_init(&history->atoms);
    history->key_index = iso_atom_index_new();
    history->session_index = iso_atom_index_new();
    history->initial_value = ISO_ABSENT;
    history->without_sts = history->without_cts = history->writer_of_stream = ISO_NONE;
}

static void release_finish(struct iso_history *history)
{
    iso_free(history->session_first);
    iso_free(history->session_order);
    iso_free(history->snapshot_violations);
    iso_free(history->rank_physical);
    iso_free(history->rank_logical);
    history->session_first = history->session_order = NULL;
    history->snapshot_violations = NULL;
    history->rank_physical = history->rank_logical = NULL;
    history->rank_count = 0;
    history->snapshot_violation_count = 0;
    history->finished = false;
    history->committed_count = history->aborted_count = history->unknown_count = 0;
    history->without_sts = history->without_cts = history->writer_of_stream = ISO_NONE;
    history->reads_of_stream = 0;
    history->ranges.skipped = 0;
    history->ranges.are_implied = false;
    history->ranges.not_implied = 0;
}

static void release_initial(struct iso_history *history)
{
    iso_free(history->initial_key);
    iso_free(history->initial_of_key);
    iso_free(history->initial_is_append);
    history->initial_key = NULL;
    history->initial_of_key = NULL;
    history->initial_is_append = NULL;
    history->initial_count = 0;
    history->initial_value = ISO_ABSENT;
}

static void release_inputs(struct iso_history *history)
{
    for (uint32_t i = 0; i < history->input_count; i++)
        iso_free(history->inputs[i]);
    iso_free(history->inputs);
    history->inputs = NULL;
    history->input_count = 0;
}

void iso_history_release(struct iso_history *history)
{
    release_finish(history);
    release_initial(history);
    release_inputs(history);
    history_release_transactions(history);
    history_release_operations(history);
    iso_column_free(history->ranges.list, history->ranges.capacity * sizeof *history->ranges.list);
    iso_column_free(history->list_first, history->list_capacity * sizeof *history->list_first);
    iso_column_free(history->element, history->element_capacity * sizeof *history->element);
    iso_column_free(history->key_atom, history->key_capacity * sizeof *history->key_atom);
    iso_column_free(history->key_use, history->key_capacity * sizeof *history->key_use);
    iso_column_free(history->session_atom,
                    history->session_capacity * sizeof *history->session_atom);
    iso_column_free(history->snapshots, history->snapshot_capacity * sizeof *history->snapshots);
    iso_column_free(history->snapshot_xips, history->xip_capacity * sizeof *history->snapshot_xips);
    iso_atom_index_free(history->key_index);
    iso_atom_index_free(history->session_index);
    iso_atoms_release(&history->atoms);
    memset(history, 0, sizeof *history);
}

void iso_history_clear(struct iso_history *history)
{
    release_finish(history);
    release_initial(history);
    release_inputs(history);
    iso_atom_index_clear(history->key_index, history->key_atom, history->key_count);
    iso_atom_index_clear(history->session_index, history->session_atom, history->session_count);
    iso_atoms_clear(&history->atoms);
    history_drop_optional(history);
    history->transaction_count = history->operation_count = 0;
    history->ranges.count = history->ranges.limit = 0;
    history->list_count = 0;
    history->element_count = 0;
    history->key_count = history->session_count = 0;
    history->snapshot_count = 0;
    history->xip_count = 0;
    history->clock = ISO_CLOCK_NONE;
    history->positions_known = history->whole_rows = false;
    history->lost = (struct iso_history_lost){0};
    history->of_stream = false;
}

uint32_t iso_history_input(struct iso_history *history, const char *name)
{
    history->inputs =
        iso_reallocate(history->inputs, (history->input_count + 1) * sizeof *history->inputs);
    history->inputs[history->input_count] = iso_copy_text(name, strlen(name));
    return history->input_count++;
}

uint32_t iso_history_key(struct iso_history *history, iso_atom key)
{
    uint32_t index = iso_atom_index_get(history->key_index, key, history->key_count);
    if (index < history->key_count)
        return index;
    if (index == history->key_capacity) {
        size_t old = history->key_capacity, next = iso_column_capacity(old, old + 1);
        ISO_COLUMN_RESIZE(history->key_atom, old, next);
        ISO_COLUMN_RESIZE(history->key_use, old, next);
        history->key_capacity = (uint32_t)next;
    }
    history->key_atom[index] = key;
    history->key_use[index] = 0;
    return history->key_count++;
}

uint32_t iso_history_session(struct iso_history *history, iso_atom session)
{
    uint32_t index = iso_atom_index_get(history->session_index, session, history->session_count);
    if (index < history->session_count)
        return index;
    ISO_GROW_COLUMN(history->session_atom, index, history->session_capacity);
    history->session_atom[index] = session;
    return history->session_count++;
}

uint32_t iso_history_open(struct iso_history *history, uint64_t origin)
{
    uint32_t transaction = history->transaction_count;
    history_reserve_transactions(history, 1);
    history->flags[transaction] = 0;
    history->tid[transaction] = ISO_ABSENT;
    history->session[transaction] = ISO_NONE;
    history->sts[transaction] = history->cts[transaction] = 0;
    history->origin[transaction] = origin;
    history->first_operation[transaction] = history->first_operation[transaction + 1] =
        history->operation_count;
    if (history->xid)
        history->xid[transaction] = 0;
    if (history->snapshot)
        history->snapshot[transaction] = ISO_NONE;
    if (history->begun)
        history->begun[transaction] = 0;
    if (history->ended)
        history->ended[transaction] = 0;
    if (history->marks)
        history->marks[transaction] = 0;
    return history->transaction_count++;
}

uint32_t iso_history_begin(struct iso_history *history, iso_atom tid, iso_atom session,
                           uint8_t status, uint64_t origin)
{
    uint32_t transaction = iso_history_open(history, origin);
    history->flags[transaction] = status;
    history->tid[transaction] = tid;
    history->session[transaction] = iso_history_session(history, session);
    return transaction;
}

void iso_history_close(struct iso_history *history)
{
    static const uint8_t kind_flags[ISO_KIND_MASK + 1] = {
        [ISO_WRITE] = ISO_WRITES, [ISO_DELETE] = ISO_WRITES, [ISO_APPEND] = ISO_WRITES};
    uint32_t transaction = history->transaction_count - 1, end = history->operation_count;
    const uint8_t *kinds = history->kind;
    const uint32_t *keys = history->key, *values = history->value;
    uint8_t *key_use = history->key_use, flags = history->flags[transaction], all = 0;
    for (uint32_t o = history->first_operation[transaction]; o < end; o++) {
        uint8_t kind = kinds[o] & ISO_KIND_MASK;
        key_use[keys[o]] |= history_key_use(kind, values[o]);
        flags |= kind_flags[kind];
        all |= kinds[o];
    }
    history->flags[transaction] = flags | (all & ~ISO_KIND_MASK ? ISO_OWN_TIMES : 0);
    history->first_operation[transaction + 1] = end;
    history_hide_own(history, transaction);
}

struct iso_history_mark iso_history_mark(const struct iso_history *history)
{
    return (struct iso_history_mark){
        .transactions = history->transaction_count,
        .operations = history->operation_count,
        .ranges = history->ranges.count,
        .lists = history->list_count,
        .snapshots = history->snapshot_count,
        .elements = history->element_count,
        .xips = history->xip_count,
        .clock = history->clock,
        .whole_rows = history->whole_rows,
    };
}

void iso_history_rewind(struct iso_history *history, const struct iso_history_mark *mark)
{
    history->transaction_count = mark->transactions;
    history->operation_count = mark->operations;
    history->ranges.count = mark->ranges;
    history->list_count = mark->lists;
    history->snapshot_count = mark->snapshots;
    history->element_count = mark->elements;
    history->xip_count = mark->xips;
    history->clock = mark->clock;
    history->whole_rows = mark->whole_rows;
}

static void set_stamp(struct iso_history *history, uint64_t *column, uint64_t **twin,
                      struct iso_stamp stamp)
{
    uint32_t transaction = history->transaction_count - 1;
    column[transaction] = stamp.physical;
    if (history->clock != ISO_CLOCK_PAIR)
        return;
    history_need_transaction_column(history, twin);
    (*twin)[transaction] = stamp.logical;
}

void iso_history_set_sts(struct iso_history *history, struct iso_stamp stamp)
{
    history->flags[history->transaction_count - 1] |= ISO_HAS_STS;
    set_stamp(history, history->sts, &history->sts_logical, stamp);
}

void iso_history_set_cts(struct iso_history *history, struct iso_stamp stamp)
{
    history->flags[history->transaction_count - 1] |= ISO_HAS_CTS;
    set_stamp(history, history->cts, &history->cts_logical, stamp);
}

void iso_history_set_sno(struct iso_history *history, uint64_t sno)
{
    uint32_t transaction = history->transaction_count - 1;
    history_need_transaction_column(history, &history->sno);
    history->sno[transaction] = sno;
    history->flags[transaction] |= ISO_HAS_SNO;
}

void iso_history_set_xid(struct iso_history *history, uint64_t xid)
{
    history_need_transaction_column(history, &history->xid);
    history->xid[history->transaction_count - 1] = xid;
}

void iso_history_set_snapshot(struct iso_history *history, uint32_t snapshot)
{
    history_need_snapshot_column(history);
    history->snapshot[history->transaction_count - 1] = snapshot;
}

void iso_history_set_begun(struct iso_history *history, uint64_t nanoseconds)
{
    history_need_transaction_column(history, &history->begun);
    history->begun[history->transaction_count - 1] = nanoseconds + 1;
}

void iso_history_set_ended(struct iso_history *history, uint64_t nanoseconds)
{
    history_need_transaction_column(history, &history->ended);
    history->ended[history->transaction_count - 1] = nanoseconds + 1;
}

void iso_history_set_marks(struct iso_history *history, uint8_t marks)
{
    history_need_marks_column(history);
    history->marks[history->transaction_count - 1] = marks;
}

uint32_t iso_history_operation(struct iso_history *history, enum iso_operation_kind kind,
                               iso_atom key, uint32_t value)
{
    uint32_t operation = history->operation_count, transaction = history->transaction_count - 1;
    iso_history_reserve_operations(history, 1);
    uint32_t index = iso_history_key(history, key);
    history->kind[operation] = (uint8_t)kind;
    history->key[operation] = index;
    history->value[operation] = value;
    history->key_use[index] |= history_key_use(kind, value);
    if (iso_kind_writes((uint8_t)kind))
        history->flags[transaction] |= ISO_WRITES;
    history->first_operation[transaction + 1] = ++history->operation_count;
    return operation;
}

void iso_history_set_ots(struct iso_history *history, struct iso_stamp stamp)
{
    uint32_t operation = history->operation_count - 1;
    history_need_operation_column(history, &history->ots);
    history->ots[operation] = stamp.physical;
    history->kind[operation] |= ISO_OPERATION_OTS;
    history->flags[history->transaction_count - 1] |= ISO_OWN_TIMES;
    if (history->clock == ISO_CLOCK_PAIR) {
        history_need_operation_column(history, &history->ots_logical);
        history->ots_logical[operation] = stamp.logical;
    }
}

void iso_history_set_operation_snapshot(struct iso_history *history, uint32_t snapshot)
{
    uint32_t operation = history->operation_count - 1;
    history_need_operation_column(history, &history->ots);
    history->ots[operation] = snapshot;
    history->kind[operation] |= ISO_OPERATION_SNAPSHOT;
    history->flags[history->transaction_count - 1] |= ISO_OWN_TIMES;
}

void iso_history_set_lock(struct iso_history *history)
{
    history->kind[history->operation_count - 1] |= ISO_OPERATION_LOCK;
    history->flags[history->transaction_count - 1] |= ISO_OWN_TIMES;
}

uint32_t iso_history_list(struct iso_history *history)
{
    history_reserve_lists(history, 1);
    history->list_first[history->list_count] = history->list_first[history->list_count + 1] =
        history->element_count;
    return history->list_count++;
}

void iso_history_element(struct iso_history *history, iso_atom element)
{
    history_reserve_elements(history, 1);
    history->element[history->element_count++] = element;
    history->list_first[history->list_count] = history->element_count;
}

void iso_history_initial(struct iso_history *history, iso_atom key, iso_atom value, bool is_append)
{
    uint32_t index = iso_history_key(history, key), count = history->initial_count++;
    history->initial_key =
        iso_reallocate(history->initial_key, (count + 1) * sizeof *history->initial_key);
    history->initial_of_key =
        iso_reallocate(history->initial_of_key, (count + 1) * sizeof *history->initial_of_key);
    history->initial_is_append = iso_reallocate(history->initial_is_append,
                                                (count + 1) * sizeof *history->initial_is_append);
    history->initial_key[count] = index;
    history->initial_of_key[count] = value;
    history->initial_is_append[count] = is_append;
    history->key_use[index] |= is_append ? ISO_KEY_LIST : ISO_KEY_SCALAR;
}

void iso_history_location_text(const struct iso_history *history, uint32_t transaction, char *text,
                               size_t size)
{
    uint64_t origin = history->origin[transaction];
    uint32_t input = iso_origin_input(origin);
    snprintf(text, size, "%s:%llu", input < history->input_count ? history->inputs[input] : "?",
             (unsigned long long)iso_origin_offset(origin));
}

void iso_history_stamp_text(const struct iso_history *history, uint64_t timestamp,
                            char text[ISO_STAMP_TEXT])
{
    if (!history->rank_physical || timestamp == 0 || timestamp > history->rank_count) {
        snprintf(text, ISO_STAMP_TEXT, "%llu", (unsigned long long)timestamp);
    } else if (!history->rank_logical) {
        snprintf(text, ISO_STAMP_TEXT, "%llu",
                 (unsigned long long)history->rank_physical[timestamp]);
    } else {
        snprintf(text, ISO_STAMP_TEXT, "{%llu,%llu}",
                 (unsigned long long)history->rank_physical[timestamp],
                 (unsigned long long)history->rank_logical[timestamp]);
    }
}

uint32_t iso_history_owner(const struct iso_history *history, uint32_t operation)
{
    uint32_t low = 0, high = history->transaction_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (history->first_operation[middle] <= operation)
            low = middle;
        else
            high = middle;
    }
    return low;
}
