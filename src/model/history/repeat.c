/* Repeats: transactions that stand in the input again, word for word. */
#include <string.h>

#include "base/number_map.h"
#include "history/history_private.h"

static bool same_stamp(const uint64_t *physical, const uint64_t *logical, uint32_t a, uint32_t b)
{
    return physical[a] == physical[b] && (!logical || logical[a] == logical[b]);
}

bool history_same_snapshot(const struct iso_history *history, uint64_t a, uint64_t b)
{
    const struct iso_snapshot *left = &history->snapshots[a], *right = &history->snapshots[b];
    return left->xmin == right->xmin && left->xmax == right->xmax &&
           left->xip_count == right->xip_count &&
           (!left->xip_count || !memcmp(history->snapshot_xips + left->first_xip,
                                        history->snapshot_xips + right->first_xip,
                                        left->xip_count * sizeof *history->snapshot_xips));
}

static bool same_list(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint64_t first = history->list_first[a], other = history->list_first[b];
    uint64_t count = history->list_first[a + 1] - first;
    return count == history->list_first[b + 1] - other &&
           (!count || !memcmp(history->element + first, history->element + other,
                              count * sizeof *history->element));
}

static bool same_operation(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint8_t kind = history->kind[a];
    if (kind != history->kind[b] || history->key[a] != history->key[b])
        return false;
    if ((kind & ISO_OPERATION_SNAPSHOT) &&
        !history_same_snapshot(history, history->ots[a], history->ots[b]))
        return false;
    if ((kind & ISO_OPERATION_OTS) && !(kind & ISO_OPERATION_SNAPSHOT) &&
        !same_stamp(history->ots, history->ots_logical, a, b))
        return false;
    if (iso_kind_of(history, a) == ISO_READ_LIST)
        return same_list(history, history->value[a], history->value[b]);
    return history->value[a] == history->value[b];
}

static bool same_place_in_time(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint8_t flags = history->flags[a];
    uint32_t left = history->snapshot ? history->snapshot[a] : ISO_NONE;
    uint32_t right = history->snapshot ? history->snapshot[b] : ISO_NONE;
    return (!(flags & ISO_HAS_STS) || same_stamp(history->sts, history->sts_logical, a, b)) &&
           (!(flags & ISO_HAS_CTS) || same_stamp(history->cts, history->cts_logical, a, b)) &&
           (!(flags & ISO_HAS_SNO) || history->sno[a] == history->sno[b]) &&
           (!history->xid || history->xid[a] == history->xid[b]) &&
           (!history->begun || history->begun[a] == history->begun[b]) &&
           (!history->ended || history->ended[a] == history->ended[b]) &&
           (left == right ||
            (left != ISO_NONE && right != ISO_NONE && history_same_snapshot(history, left, right)));
}

static bool same_content(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint32_t left = history->first_operation[a], right = history->first_operation[b];
    uint32_t count = history->first_operation[a + 1] - left;
    if (history->flags[a] != history->flags[b] || history->session[a] != history->session[b] ||
        iso_marks_of(history, a) != iso_marks_of(history, b) ||
        count != history->first_operation[b + 1] - right || !same_place_in_time(history, a, b))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!same_operation(history, left + i, right + i))
            return false;
    return true;
}

#define MOVE(column, to, from) ((column) ? (void)((column)[to] = (column)[from]) : (void)0)

static void move_operations(struct iso_history *history, uint32_t to, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        MOVE(history->kind, to + i, from + i);
        MOVE(history->key, to + i, from + i);
        MOVE(history->value, to + i, from + i);
        MOVE(history->ots, to + i, from + i);
        MOVE(history->ots_logical, to + i, from + i);
    }
}

/* Down to index `to`, whose operations begin where those of the one before end. */
static void move_transaction(struct iso_history *history, uint32_t to, uint32_t from)
{
    uint32_t first = history->first_operation[from],
             count = history->first_operation[from + 1] - first;
    MOVE(history->flags, to, from);
    MOVE(history->tid, to, from);
    MOVE(history->session, to, from);
    MOVE(history->sts, to, from);
    MOVE(history->cts, to, from);
    MOVE(history->origin, to, from);
    MOVE(history->sno, to, from);
    MOVE(history->xid, to, from);
    MOVE(history->snapshot, to, from);
    MOVE(history->begun, to, from);
    MOVE(history->ended, to, from);
    MOVE(history->marks, to, from);
    MOVE(history->sts_logical, to, from);
    MOVE(history->cts_logical, to, from);
    move_operations(history, history->first_operation[to], first, count);
    history->first_operation[to + 1] = history->first_operation[to] + count;
}

uint32_t iso_history_drop_repeats(struct iso_history *history)
{
    uint32_t kept = 0, count = history->transaction_count, ranges_seen = 0, ranges_kept = 0;
    struct iso_number_map first = {0}; /* by tid */
    for (uint32_t t = 0; t < count; t++) {
        uint32_t earlier = iso_number_map_add(&first, history->tid[t], kept);
        struct history_range_run ranges =
            history_ranges_of(history, t, ranges_seen, history->ranges.count);
        ranges_seen = ranges.end;
        if (earlier != kept && same_content(history, earlier, t) &&
            history_same_ranges(history, history_ranges_of(history, earlier, 0, ranges_kept),
                                ranges))
            continue;
        if (kept != t)
            move_transaction(history, kept, t);
        for (uint32_t i = ranges.first; i < ranges.end; i++, ranges_kept++) {
            history->ranges.list[ranges_kept] = history->ranges.list[i];
            history->ranges.list[ranges_kept].transaction = kept;
        }
        kept++;
    }
    iso_number_map_release(&first);
    history->transaction_count = kept;
    history->ranges.count = ranges_kept;
    history->operation_count = count ? history->first_operation[kept] : 0;
    return count - kept;
}

static uint32_t count_drops(const bool *drops, uint32_t count)
{
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < count; i++)
        dropped += drops[i];
    return dropped;
}

/* Where sets stand when the operations are out; nothing is taken out of a range that was not
 * implied yet. */
static void shrink_sets(struct iso_history *history, const bool *drops)
{
    for (uint32_t i = 0; i < history->ranges.count; i++) {
        struct iso_range *set = &history->ranges.list[i];
        const bool *first = drops + history->first_operation[set->transaction];
        uint32_t inside = count_drops(first + set->first, set->count);
        set->first -= count_drops(first, set->first);
        set->count -= inside;
        set->rows -= inside;
    }
}

void iso_history_drop_operations(struct iso_history *history, const bool *drops)
{
    uint32_t kept = 0, o = 0;
    shrink_sets(history, drops);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        uint32_t end = t + 1 < history->transaction_count ? history->first_operation[t + 1]
                                                          : history->operation_count;
        history->first_operation[t] = kept;
        for (; o < end; o++) {
            if (drops[o])
                continue;
            if (kept != o)
                move_operations(history, kept, o, 1);
            kept++;
        }
    }
    history->operation_count = kept;
    if (history->transaction_count)
        history->first_operation[history->transaction_count] = kept;
}
