/* Row sets: a range of keys, and the rows that were found. */

#include "base/sorted.h"
#include "history/history_private.h"

/* ---- building ---- */

void iso_history_range(struct iso_history *history, const struct iso_range *range, uint32_t rows)
{
    uint32_t transaction = history->txns.count - 1, at = history->ranges.count++;
    ISO_RESERVE_COLUMN(history->ranges.list, (size_t)at + 1, history->ranges.capacity);
    history->ranges.list[at] = *range;
    history->ranges.list[at].transaction = transaction;
    history->ranges.list[at].first =
        history->ops.count - history->txns.first_op[transaction] - rows;
    history->ranges.list[at].count = history->ranges.list[at].rows = rows;
    if (!range->kind)
        return;
    history->txns.flags[transaction] |= ISO_OWN_TIMES;
    if (range->kind & (ISO_OPERATION_OTS | ISO_OPERATION_SNAPSHOT))
        HISTORY_NEED(history, ops.ots);
    if (history->clock == ISO_CLOCK_PAIR && range->kind & ISO_OPERATION_OTS)
        HISTORY_NEED(history, ops.ots_logical);
    for (uint32_t o = history->ops.count - rows; o < history->ops.count; o++) {
        history->ops.kind[o] |= range->kind;
        if (history->ops.ots)
            history->ops.ots[o] = range->ots;
        if (history->ops.ots_logical)
            history->ops.ots_logical[o] = range->ots_logical;
    }
}

void history_append_ranges(struct iso_history *history, const struct iso_history *block,
                           const iso_atom *atoms)
{
    if (!block->ranges.count)
        return;
    ISO_RESERVE_COLUMN(history->ranges.list, (size_t)history->ranges.count + block->ranges.count,
                       history->ranges.capacity);
    for (uint32_t i = 0; i < block->ranges.count; i++) {
        struct iso_range range = block->ranges.list[i];
        range.transaction += history->txns.count;
        range.from = history_translate(atoms, range.from);
        range.to = history_translate(atoms, range.to);
        range.table = history_translate(atoms, range.table);
        range.where = history_translate(atoms, range.where);
        range.returned = history_translate(atoms, range.returned);
        if (range.kind & ISO_OPERATION_SNAPSHOT)
            range.ots += history->snapshots.count;
        history->ranges.list[history->ranges.count++] = range;
    }
}

struct history_range_run history_ranges_of(const struct iso_history *history, uint32_t transaction,
                                           uint32_t low, uint32_t high)
{
    uint32_t end = high;
    ISO_BISECT(low, high, middle, history->ranges.list[middle].transaction < transaction);
    while (high < end && history->ranges.list[high].transaction == transaction)
        high++;
    return (struct history_range_run){low, high};
}

static bool same_range(const struct iso_history *history, const struct iso_range *a,
                       const struct iso_range *b)
{
    if (a->first != b->first || a->count != b->count || a->from != b->from || a->to != b->to ||
        a->kind != b->kind || a->is_partial != b->is_partial || a->form != b->form ||
        a->table != b->table || a->where != b->where || a->returned != b->returned)
        return false;
    if (a->kind & ISO_OPERATION_SNAPSHOT)
        return history_same_snapshot(history, a->ots, b->ots);
    return a->ots == b->ots && a->ots_logical == b->ots_logical;
}

bool history_same_ranges(const struct iso_history *history, struct history_range_run a,
                         struct history_range_run b)
{
    if (a.end - a.first != b.end - b.first)
        return false;
    for (uint32_t i = 0; i < a.end - a.first; i++)
        if (!same_range(history, &history->ranges.list[a.first + i],
                        &history->ranges.list[b.first + i]))
            return false;
    return true;
}

enum iso_status iso_history_refuse_ranges(const struct iso_history *history, const char *expected,
                                          struct iso_error *error)
{
    char location[512];
    uint32_t number = 0;
    while (number < history->ranges.count && history->ranges.list[number].form != ISO_SET_RANGE)
        number++;
    if (number == history->ranges.count)
        return ISO_OK;
    iso_history_location_text(history, history->ranges.list[number].transaction, location,
                              sizeof location);
    return iso_error_set(error, ISO_BAD_INPUT, "%s: a row set without \"table\", expected %s",
                         location, expected);
}

bool iso_history_has_queries(const struct iso_history *history)
{
    for (uint32_t i = 0; i < history->ranges.count; i++)
        if (history->ranges.list[i].form == ISO_SET_QUERY)
            return true;
    return false;
}

bool iso_history_leaves_queries(const struct iso_history *history)
{
    return iso_history_has_queries(history) &&
           (!history->ranges.are_implied || history->ranges.not_implied);
}

uint32_t iso_history_sets_of(const struct iso_history *history, uint32_t transaction, uint32_t *end)
{
    struct history_range_run run =
        history_ranges_of(history, transaction, 0, history->ranges.count);
    *end = run.end;
    return run.first;
}

const struct iso_range *iso_history_set_of(const struct iso_history *history, uint32_t operation)
{
    if (!history->ranges.count)
        return NULL;
    const struct iso_range *list = history->ranges.list;
    uint32_t transaction = iso_history_owner(history, operation);
    uint32_t at = operation - history->txns.first_op[transaction];
    uint32_t low = 0, high = history->ranges.count;
    ISO_BISECT(low, high, middle,
               list[middle].transaction < transaction ||
                   (list[middle].transaction == transaction && list[middle].first <= at));
    while (low > 0 && list[low - 1].transaction == transaction && !list[low - 1].count)
        low--;
    bool is_inside = low > 0 && list[low - 1].transaction == transaction &&
                     at - list[low - 1].first < list[low - 1].count;
    return is_inside ? &list[low - 1] : NULL;
}

bool iso_history_in_range(const struct iso_history *history, uint32_t operation, bool *is_row)
{
    const struct iso_range *range = iso_history_set_of(history, operation);
    if (!range || range->form == ISO_SET_ROW)
        return false;
    *is_row = operation - history->txns.first_op[range->transaction] - range->first < range->rows;
    return true;
}

uint32_t iso_history_step(const struct iso_history *history, uint32_t transaction,
                          uint32_t operation)
{
    uint32_t at = operation - history->txns.first_op[transaction], step = at;
    struct history_range_run run =
        history_ranges_of(history, transaction, 0, history->ranges.count);
    for (uint32_t i = run.first; i < run.end && history->ranges.list[i].first <= at; i++) {
        const struct iso_range *range = &history->ranges.list[i];
        bool inside = at - range->first < range->count;
        step -= inside ? at - range->first : range->count - 1; /* of an empty set: + 1 */
    }
    return step;
}

uint32_t iso_history_set_step(const struct iso_history *history, const struct iso_range *set)
{
    uint32_t step = set->first;
    for (const struct iso_range *range = set; range > history->ranges.list;
         step -= range->count - 1)
        if ((--range)->transaction != set->transaction)
            break;
    return step;
}
