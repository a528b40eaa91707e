/* The proposed order, mended SCC by SCC. */
#include "polygraph/order/windows.h"

#include <assert.h>

enum {
    FIRST_MARGIN = 32,
    MARGIN_GROWS = 2,
    GROWTHS = 8
}; /* nodes on either side; how often a window grows */

static void windows_init(struct windows *windows, struct engine *engine, uint32_t scheduled_count)
{
    uint32_t nodes = engine->graph.node_count, versions = engine->versions.count;
    *windows = (struct windows){.engine = engine,
                                .order = iso_numbers(nodes),
                                .position = iso_numbers(nodes),
                                .sorted = iso_numbers(versions),
                                .sorted_at = iso_numbers(versions),
                                .seen = iso_numbers(engine->reads.count),
                                .first_seer = iso_numbers_none(versions),
                                .next_seer = iso_numbers(engine->reads.count)};
    windows->block_of_key = iso_numbers_zero(engine->history->keys.count);
    assert(scheduled_count <= nodes);
    memcpy(windows->order, engine->graph.order, scheduled_count * sizeof *windows->order);
    schedule_nodes(engine, windows->order, scheduled_count);
    for (uint32_t i = 0; i < nodes; i++)
        windows->position[windows->order[i]] = i;
}

static void windows_release(struct windows *windows)
{
    ISO_FREE_ALL(windows->order, windows->position, windows->sorted, windows->sorted_at,
                 windows->seen, windows->first_seer, windows->next_seer, windows->block_of_key,
                 windows->sccs);
}

/* By insertion: they are nearly sorted as a rule. */
void windows_sort_versions(struct windows *windows, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++) {
        uint32_t version = windows->sorted[i], position = commit_position(windows, version), at = i;
        for (; at > from && commit_position(windows, windows->sorted[at - 1]) > position; at--)
            windows->sorted[at] = windows->sorted[at - 1];
        windows->sorted[at] = version;
    }
    for (uint32_t i = from; i < end; i++)
        windows->sorted_at[windows->sorted[i]] = i;
}

/* All versions by key and commit: walks the order once. */
static void sort_all_versions(struct windows *windows)
{
    const struct engine *engine = windows->engine;
    uint32_t *next = iso_numbers_copy(engine->versions.first, engine->history->keys.count);
    for (uint32_t i = 0; i < engine->graph.node_count; i++) {
        uint32_t node = windows->order[i];
        if (node >= engine->graph.event_count ||
            node != node_commit(engine, node_transaction(engine, node)))
            continue;
        uint32_t t = node_transaction(engine, node);
        ISO_EACH(write, engine->writes.first, t) {
            uint32_t version = engine->writes.version[write],
                     at = next[engine->writes.key[write]]++;
            assert(at < engine->versions.first[engine->writes.key[write] + 1]);
            windows->sorted[at] = version;
            windows->sorted_at[version] = at;
        }
    }
    iso_free(next);
}

/* The last possible writer of a read that commits before it; else the first of all. */
static uint32_t choose_writer(const struct windows *windows, uint32_t read)
{
    const struct engine *engine = windows->engine;
    uint32_t begin = windows->position[node_begin(engine, engine->reads.transaction[read])];
    uint32_t first = engine->candidates.first[read], best = ISO_NONE, best_position = 0;
    for (uint32_t i = first; i < first + engine->candidates.count[read]; i++) {
        uint32_t version = engine->candidates.version[i],
                 position = version == INITIAL ? 0 : 1 + commit_position(windows, version);
        bool before = position <= begin, best_before = best_position <= begin;
        if (best == ISO_NONE || (before && (!best_before || position > best_position)) ||
            (!before && !best_before && position < best_position)) {
            best = version;
            best_position = position;
        }
    }
    assert(best != ISO_NONE); /* a read without candidates is a contradiction, which was found */
    return best;
}

static void choose_writers(struct windows *windows)
{
    const struct engine *engine = windows->engine;
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        windows->seen[read] = engine->reads.writer[read];
        if (engine->reads.writer[read] != OPEN)
            continue;
        uint32_t version = windows->seen[read] = choose_writer(windows, read);
        if (version == INITIAL)
            continue;
        windows->next_seer[read] = windows->first_seer[version];
        windows->first_seer[version] = read;
    }
}

/* The last position of a window that ends no SCC in the middle. */
static uint32_t round_up(const struct windows *windows, uint32_t scc, uint32_t end)
{
    for (uint32_t i = scc; i < windows->scc_count && windows->sccs[i].first < end; i++)
        end = windows->sccs[i].end > end ? windows->sccs[i].end : end;
    return end;
}

/* The window around an SCC, larger and larger; `*end` is where it ended. */
static enum step_result mend_scc(struct windows *windows, uint32_t scc, uint32_t *end)
{
    struct engine *engine = windows->engine;
    uint32_t margin = 0;
    for (uint32_t growth = 0;; growth++) {
        uint32_t first = windows->sccs[scc].first;
        first = first > margin ? first - margin : 0;
        *end = windows->sccs[scc].end + margin;
        *end = round_up(windows, scc,
                        *end < engine->graph.node_count ? *end : engine->graph.node_count);
        assert(first <= windows->sccs[scc].first && *end >= windows->sccs[scc].end);
        if (*end - first > windows->most_nodes)
            return STEP_STOPPED;
        engine->result->counters.windows++;
        enum step_result status = window_solve(windows, first, *end);
        if (status != STEP_CONTRADICTION || growth == GROWTHS ||
            (first == 0 && *end == engine->graph.node_count))
            return status;
        margin = margin ? margin * MARGIN_GROWS : FIRST_MARGIN;
        engine->result->counters.windows_grown++;
    }
}

bool windows_order(struct engine *engine, uint32_t scheduled_count, uint32_t most_scc,
                   uint32_t most_nodes)
{
    struct windows windows;
    enum step_result status = STEP_DONE;
    windows_init(&windows, engine, scheduled_count);
    windows.most_nodes = most_nodes;
    sort_all_versions(&windows);
    choose_writers(&windows);
    windows_validate(&windows);
    sccs_find(&windows); /* keeps the order of versions: edges lead from each to the next */
    engine->result->counters.sccs = windows.scc_count;
    for (uint32_t scc = 0; scc < windows.scc_count; scc++) {
        if (windows.sccs[scc].end - windows.sccs[scc].first > most_scc)
            status = STEP_STOPPED; /* before any other is mended in vain */
    }
    for (uint32_t scc = 0, end = 0; scc < windows.scc_count && status == STEP_DONE; scc++) {
        if (windows.sccs[scc].first >= end)
            status = mend_scc(&windows, scc, &end);
        if (engine_must_stop(engine))
            status = STEP_STOPPED;
    }
    windows_validate(&windows);
    if (status == STEP_DONE)
        memcpy(engine->graph.order, windows.order,
               engine->graph.node_count * sizeof *engine->graph.order);
    windows_release(&windows);
    return status == STEP_DONE;
}
