/* A finished history: all queries first, then the commits in their order, each query judged once its moment is past. */
#include "base/radix.h"
#include "rowsets/rowsets_private.h"

/* The committed transactions by cts. */
static uint32_t *sort_commits(const struct iso_history *history, uint32_t *count)
{
    size_t room = (size_t)history->transaction_count + 1;
    struct iso_radix items = {iso_allocate(room * sizeof *items.keys), iso_allocate(room * sizeof *items.payloads)};
    struct iso_radix other = {iso_allocate(room * sizeof *items.keys), iso_allocate(room * sizeof *items.payloads)};
    *count = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (iso_status_of(history, t) != ISO_COMMITTED || !(history->flags[t] & ISO_HAS_CTS))
            continue;
        items.keys[*count] = history->cts[t];
        items.payloads[(*count)++] = t;
    }
    bool in_other = iso_radix_sort(items, other, *count);
    iso_free(items.keys);
    iso_free(other.keys);
    iso_free(in_other ? items.payloads : other.payloads);
    return in_other ? other.payloads : items.payloads;
}

static void take_initials(struct iso_rowsets *engine, const struct iso_history *history)
{
    for (uint32_t i = 0; i < history->initial_count; i++)
        if (!history->initial_is_append[i])
            iso_rowsets_initial(engine, history->key_atom[history->initial_key[i]], history->initial_of_key[i], false);
}

static void take_but_versions(struct iso_rowsets *engine, const struct iso_history *history)
{
    iso_rowsets_block(engine, history);
    take_initials(engine, history);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (iso_status_of(history, t) == ISO_UNKNOWN)
            rowsets_take_unknown(engine, t);
        else if (iso_status_of(history, t) == ISO_COMMITTED)
            rowsets_take_queries(engine, t);
    }
}

void rowsets_take_all(struct iso_rowsets *engine, const struct iso_history *history)
{
    take_but_versions(engine, history);
    for (uint32_t t = 0; t < history->transaction_count; t++)
        if (iso_status_of(history, t) == ISO_COMMITTED && history->flags[t] & ISO_HAS_CTS)
            rowsets_take_versions(engine, t);
}

void iso_rowsets_check(const struct iso_history *history, const struct iso_rowsets_options *options,
                       struct iso_rowsets_stats *stats)
{
    struct iso_rowsets_options own = *options;
    uint32_t count = 0;
    *stats = (struct iso_rowsets_stats){0};
    if (!iso_history_has_queries(history))
        return;
    own.retention = 0; /* all queries are there before the first commit */
    struct iso_rowsets *engine = iso_rowsets_new(&own);
    take_but_versions(engine, history);
    uint32_t *commits = sort_commits(history, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t cts = history->cts[commits[i]];
        if (cts && (!i || cts > history->cts[commits[i - 1]]))
            iso_rowsets_watermark(engine, cts - 1);
        engine->store.in_order =
            (!i || history->cts[commits[i - 1]] < cts) && (i + 1 == count || history->cts[commits[i + 1]] > cts);
        rowsets_take_versions(engine, commits[i]);
    }
    iso_rowsets_end(engine);
    iso_rowsets_stats(engine, stats);
    iso_free(commits);
    iso_rowsets_free(engine);
}
