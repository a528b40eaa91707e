/* A finished history: all queries first, then the commits in their order, each query judged once
 * its moment is past. The tables that are asked are shared out among threads, each of which passes
 * over all others. */
#include <assert.h>
#include <pthread.h>

#include "base/team.h"
#include "base/radix.h"
#include "rowsets/rowsets_private.h"

/* The committed transactions by cts. */
static uint32_t *sort_commits(const struct iso_history *history, uint32_t *count)
{
    struct iso_radix items = iso_radix_allocate(history->txns.count);
    *count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) != ISO_COMMITTED || !(history->txns.flags[t] & ISO_HAS_CTS))
            continue;
        items.keys[*count] = history->txns.cts[t];
        items.payloads[(*count)++] = t;
    }
    return iso_radix_order(items, *count);
}

static void take_initials(struct iso_rowsets *engine, const struct iso_history *history)
{
    for (uint32_t i = 0; i < history->initial.count; i++)
        if (!history->initial.is_append[i])
            iso_rowsets_initial(engine, history->keys.atom[history->initial.key[i]],
                                history->initial.value[i], false);
}

static void take_but_versions(struct iso_rowsets *engine, const struct iso_history *history)
{
    iso_rowsets_block(engine, history);
    take_initials(engine, history);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) == ISO_UNKNOWN)
            rowsets_take_unknown(engine, t);
        else if (iso_status_of(history, t) == ISO_COMMITTED)
            rowsets_take_queries(engine, t);
    }
}

void rowsets_take_all(struct iso_rowsets *engine, const struct iso_history *history)
{
    take_but_versions(engine, history);
    for (uint32_t t = 0; t < history->txns.count; t++)
        if (iso_status_of(history, t) == ISO_COMMITTED &&
            (engine->is_timeless || history->txns.flags[t] & ISO_HAS_CTS))
            rowsets_take_versions(engine, t);
}

/* The tables that are asked, each once. */
static iso_atom *list_asked(const struct iso_history *history, uint32_t *count)
{
    struct iso_number_map found = {0};
    uint32_t capacity = 0;
    iso_atom *list = NULL;
    *count = 0;
    for (uint32_t i = 0; i < history->ranges.count; i++) {
        const struct iso_range *set = &history->ranges.list[i];
        if (set->form != ISO_SET_QUERY || iso_number_map_add(&found, set->table, *count) != *count)
            continue;
        ISO_PUSH(list, *count, capacity, set->table);
    }
    iso_number_map_release(&found);
    return list;
}

/* Which tables are whose, and what they tell. */
struct checking {
    const struct iso_history *history;
    const struct iso_rowsets_options *options;
    const uint32_t *commits;
    uint32_t commit_count;
    const iso_atom *asked;
    uint32_t asked_count, shards;
    struct iso_rowsets_stats *stats; /* of each shard */
    pthread_mutex_t telling;
};

static void tell_finding(void *context, const struct iso_rowsets_finding *finding)
{
    struct checking *checking = context;
    pthread_mutex_lock(&checking->telling);
    checking->options->on_finding(iso_rowsets_reports(checking->options), finding);
    pthread_mutex_unlock(&checking->telling);
}

static void tell_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    struct checking *checking = context;
    pthread_mutex_lock(&checking->telling);
    checking->options->on_unjudged(iso_rowsets_reports(checking->options), unjudged);
    pthread_mutex_unlock(&checking->telling);
}

/* The engine knows no tables but its own: of the others nothing is kept. */
static struct iso_rowsets *new_engine(struct checking *checking, unsigned shard)
{
    struct iso_rowsets_options own = *checking->options;
    /* all queries are there before the first commit */
    own.retention = own.level == ISO_RC ? ISO_ROWSETS_FOREVER : 0;
    own.shards = 1;
    own.on_finding = tell_finding;
    own.on_unjudged = own.on_unjudged ? tell_unjudged : NULL;
    own.reports = checking;
    struct iso_rowsets *engine = iso_rowsets_new(&own);
    for (uint32_t i = shard; i < checking->asked_count; i += checking->shards) {
        char buffer[ISO_ATOM_TEXT_MAX];
        struct iso_json_text name =
            rowsets_text(&checking->history->atoms, checking->asked[i], buffer);
        if (name.at)
            rowsets_table(engine, name.at, name.length);
    }
    engine->is_closed = true;
    return engine;
}

/* Each once its moment is past. */
static void judge_in_order(struct iso_rowsets *engine, const struct checking *checking)
{
    const struct iso_history *history = checking->history;
    const uint32_t *commits = checking->commits;
    take_but_versions(engine, history);
    for (uint32_t i = 0; i < checking->commit_count; i++) {
        uint64_t cts = history->txns.cts[commits[i]];
        if (cts && (!i || cts > history->txns.cts[commits[i - 1]]))
            iso_rowsets_watermark(engine, cts - 1);
        engine->store.in_order =
            (!i || history->txns.cts[commits[i - 1]] < cts) &&
            (i + 1 == checking->commit_count || history->txns.cts[commits[i + 1]] > cts);
        rowsets_take_versions(engine, commits[i]);
    }
    iso_rowsets_end(engine);
}

static void check_shard(void *context, unsigned shard)
{
    struct checking *checking = context;
    const struct iso_history *history = checking->history;
    const uint32_t *commits = checking->commits;
    struct iso_rowsets *engine = new_engine(checking, shard);
    if (engine->options.level == ISO_RC) {
        rowsets_take_all(engine, history);
        rowsets_judge_between(engine, history, commits, checking->commit_count);
    } else {
        judge_in_order(engine, checking);
    }
    iso_rowsets_stats(engine, &checking->stats[shard]);
    iso_rowsets_free(engine);
}
void iso_rowsets_check(const struct iso_history *history, const struct iso_rowsets_options *options,
                       struct iso_rowsets_stats *stats)
{
    struct checking checking = {.history = history, .options = options};
    *stats = (struct iso_rowsets_stats){0};
    if (!iso_history_has_queries(history))
        return;
    iso_atom *asked = list_asked(history, &checking.asked_count);
    uint32_t *commits = sort_commits(history, &checking.commit_count);
    uint32_t most = options->shards ? options->shards : 1;
    checking.asked = asked;
    checking.commits = commits;
    checking.shards = checking.asked_count < most ? checking.asked_count : most;
    assert(checking.shards); /* there are queries */
    checking.stats = iso_allocate_zeroed(checking.shards, sizeof *checking.stats);
    pthread_mutex_init(&checking.telling, NULL);
    iso_parallel(checking.shards, check_shard, &checking);
    pthread_mutex_destroy(&checking.telling);
    *stats = checking.stats[0];
    for (uint32_t s = 1; s < checking.shards; s++)
        rowsets_add_stats(stats, &checking.stats[s]);
    ISO_FREE_ALL(checking.stats, commits, asked);
}

/* ---- by an order that was found ---- */

/* Transactions of queries that it does not explain, each once. */
struct failing {
    bool *is_there;
    ISO_LIST(uint32_t) list;
};

static void fail(struct failing *failing, uint32_t transaction)
{
    if (!failing->is_there[transaction])
        ISO_APPEND(failing->list, transaction);
    failing->is_there[transaction] = true;
}

static void note_finding(void *context, const struct iso_rowsets_finding *finding)
{
    fail(context, finding->transaction.index);
}

static void note_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    fail(context, unjudged->transaction.index);
}

bool iso_rowsets_explained(const struct iso_history *history,
                           const struct iso_rowsets_options *known, const uint64_t *moments,
                           bool (*move)(void *context, uint32_t transaction), void *context)
{
    struct iso_rowsets_options options = *known;
    struct failing failing = {
        .is_there = iso_allocate_zeroed(history->txns.count + (size_t)1, sizeof(bool))};
    bool is_moved = move;
    options.level = ISO_SI;
    options.initial_is_known = true;
    options.scan_limit = history->ranges.limit;
    options.retention = ISO_ROWSETS_FOREVER;
    options.on_finding = note_finding;
    options.on_unjudged = note_unjudged;
    options.context = &failing;
    struct iso_rowsets *engine = iso_rowsets_new(&options);
    engine->is_timeless = true;
    engine->moments = moments;
    rowsets_take_all(engine, history);
    iso_rowsets_end(engine);
    while (failing.list.count && is_moved) {
        uint32_t count = failing.list.count;
        failing.list.count = 0;
        for (uint32_t i = 0; i < count && is_moved; i++) {
            is_moved = move(context, failing.list.list[i]);
            failing.is_there[failing.list.list[i]] = false;
            rowsets_take_queries(engine, failing.list.list[i]);
        }
        iso_rowsets_end(engine);
    }
    bool is_explained = !failing.list.count && (is_moved || !move);
    iso_rowsets_free(engine);
    ISO_FREE_ALL(failing.is_there, failing.list.list);
    return is_explained;
}
