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
    const struct iso_snapshot *left = &history->snapshots.list[a],
                              *right = &history->snapshots.list[b];
    return left->xmin == right->xmin && left->xmax == right->xmax &&
           left->xip_count == right->xip_count &&
           (!left->xip_count || !memcmp(history->snapshots.xips + left->first_xip,
                                        history->snapshots.xips + right->first_xip,
                                        left->xip_count * sizeof *history->snapshots.xips));
}

static bool same_list(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint64_t first = history->lists.first[a], other = history->lists.first[b];
    uint64_t count = history->lists.first[a + 1] - first;
    return count == history->lists.first[b + 1] - other &&
           (!count || !memcmp(history->lists.element + first, history->lists.element + other,
                              count * sizeof *history->lists.element));
}

static bool same_operation(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint8_t kind = history->ops.kind[a];
    if (kind != history->ops.kind[b] || history->ops.key[a] != history->ops.key[b])
        return false;
    if ((kind & ISO_OPERATION_SNAPSHOT) &&
        !history_same_snapshot(history, history->ops.ots[a], history->ops.ots[b]))
        return false;
    if ((kind & ISO_OPERATION_OTS) && !(kind & ISO_OPERATION_SNAPSHOT) &&
        !same_stamp(history->ops.ots, history->ops.ots_logical, a, b))
        return false;
    if (iso_kind_of(history, a) == ISO_READ_LIST)
        return same_list(history, history->ops.value[a], history->ops.value[b]);
    return history->ops.value[a] == history->ops.value[b];
}

static bool same_moments(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint8_t flags = history->txns.flags[a];
    uint32_t left = history->txns.snapshot ? history->txns.snapshot[a] : ISO_NONE;
    uint32_t right = history->txns.snapshot ? history->txns.snapshot[b] : ISO_NONE;
    return (!(flags & ISO_HAS_STS) ||
            same_stamp(history->txns.sts, history->txns.sts_logical, a, b)) &&
           (!(flags & ISO_HAS_CTS) ||
            same_stamp(history->txns.cts, history->txns.cts_logical, a, b)) &&
           (!(flags & ISO_HAS_SNO) || history->txns.sno[a] == history->txns.sno[b]) &&
           (!history->txns.xid || history->txns.xid[a] == history->txns.xid[b]) &&
           (!history->txns.begun || history->txns.begun[a] == history->txns.begun[b]) &&
           (!history->txns.ended || history->txns.ended[a] == history->txns.ended[b]) &&
           (left == right ||
            (left != ISO_NONE && right != ISO_NONE && history_same_snapshot(history, left, right)));
}

static bool same_content(const struct iso_history *history, uint32_t a, uint32_t b)
{
    uint32_t left = history->txns.first_op[a], right = history->txns.first_op[b];
    uint32_t count = history->txns.first_op[a + 1] - left;
    if (history->txns.flags[a] != history->txns.flags[b] ||
        history->txns.session[a] != history->txns.session[b] ||
        iso_marks_of(history, a) != iso_marks_of(history, b) ||
        count != history->txns.first_op[b + 1] - right || !same_moments(history, a, b))
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
        MOVE(history->ops.kind, to + i, from + i);
        MOVE(history->ops.key, to + i, from + i);
        MOVE(history->ops.value, to + i, from + i);
        MOVE(history->ops.ots, to + i, from + i);
        MOVE(history->ops.ots_logical, to + i, from + i);
    }
}

/* Down to index `to`, whose operations begin where those of the one before end. */
static void move_transaction(struct iso_history *history, uint32_t to, uint32_t from)
{
    uint32_t first = history->txns.first_op[from], count = history->txns.first_op[from + 1] - first;
    MOVE(history->txns.flags, to, from);
    MOVE(history->txns.tid, to, from);
    MOVE(history->txns.session, to, from);
    MOVE(history->txns.sts, to, from);
    MOVE(history->txns.cts, to, from);
    MOVE(history->txns.origin, to, from);
    MOVE(history->txns.sno, to, from);
    MOVE(history->txns.xid, to, from);
    MOVE(history->txns.snapshot, to, from);
    MOVE(history->txns.begun, to, from);
    MOVE(history->txns.ended, to, from);
    MOVE(history->txns.marks, to, from);
    MOVE(history->txns.sts_logical, to, from);
    MOVE(history->txns.cts_logical, to, from);
    move_operations(history, history->txns.first_op[to], first, count);
    history->txns.first_op[to + 1] = history->txns.first_op[to] + count;
}

uint32_t iso_history_drop_repeats(struct iso_history *history)
{
    uint32_t kept = 0, count = history->txns.count, ranges_seen = 0, ranges_kept = 0;
    struct iso_number_map first = {0}; /* by tid */
    for (uint32_t t = 0; t < count; t++) {
        uint32_t earlier = iso_number_map_add(&first, history->txns.tid[t], kept);
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
    history->txns.count = kept;
    history->ranges.count = ranges_kept;
    history->ops.count = count ? history->txns.first_op[kept] : 0;
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
        const bool *first = drops + history->txns.first_op[set->transaction];
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
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint32_t end =
            t + 1 < history->txns.count ? history->txns.first_op[t + 1] : history->ops.count;
        history->txns.first_op[t] = kept;
        for (; o < end; o++) {
            if (drops[o])
                continue;
            if (kept != o)
                move_operations(history, kept, o, 1);
            kept++;
        }
    }
    history->ops.count = kept;
    if (history->txns.count)
        history->txns.first_op[history->txns.count] = kept;
}
