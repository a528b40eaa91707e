/* The proposed order, mended knot by knot. */
#include "polygraph/windows.h"

enum { FIRST_MARGIN = 32, MARGIN_GROWS = 2, GROWTHS = 8 }; /* nodes on either side; how often a window grows */

static void windows_init(struct windows *windows, struct engine *engine, uint32_t run_count)
{
    size_t nodes = ((size_t)engine->node_count + 1) * sizeof(uint32_t);
    size_t versions = ((size_t)engine->version_count + 1) * sizeof(uint32_t);
    size_t reads = ((size_t)engine->read_count + 1) * sizeof(uint32_t);
    *windows = (struct windows){.engine = engine,
                                .order = iso_allocate(nodes),
                                .place = iso_allocate(nodes),
                                .sorted = iso_allocate(versions),
                                .sorted_at = iso_allocate(versions),
                                .seen = iso_allocate(reads),
                                .first_seer = memset(iso_allocate(versions), 0xff, versions),
                                .next_seer = iso_allocate(reads)};
    windows->block_of_key = iso_allocate_zeroed((size_t)engine->history->key_count + 1, sizeof *windows->block_of_key);
    memcpy(windows->order, engine->order, run_count * sizeof *windows->order);
    schedule_nodes(engine, windows->order, run_count);
    for (uint32_t i = 0; i < engine->node_count; i++)
        windows->place[windows->order[i]] = i;
}

static void windows_release(struct windows *windows)
{
    iso_free(windows->order);
    iso_free(windows->place);
    iso_free(windows->sorted);
    iso_free(windows->sorted_at);
    iso_free(windows->seen);
    iso_free(windows->first_seer);
    iso_free(windows->next_seer);
    iso_free(windows->block_of_key);
    iso_free(windows->knots);
}

/* By insertion: they are nearly sorted as a rule. */
void windows_sort_versions(struct windows *windows, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++) {
        uint32_t version = windows->sorted[i], place = commit_place(windows, version), at = i;
        for (; at > from && commit_place(windows, windows->sorted[at - 1]) > place; at--)
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
    size_t keys = ((size_t)engine->history->key_count + 1) * sizeof(uint32_t);
    uint32_t *next = memcpy(iso_allocate(keys), engine->first_version, keys);
    for (uint32_t i = 0; i < engine->node_count; i++) {
        uint32_t node = windows->order[i];
        if (node >= engine->event_count || node != node_commit(engine, node_transaction(engine, node)))
            continue;
        uint32_t t = node_transaction(engine, node);
        for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
            uint32_t version = engine->version_of_write[write], at = next[engine->write_key[write]]++;
            windows->sorted[at] = version;
            windows->sorted_at[version] = at;
        }
    }
    iso_free(next);
}

/* Of the possible writers of a read, the last that commits before it; else the first of all. */
static uint32_t choose_writer(const struct windows *windows, uint32_t read)
{
    const struct engine *engine = windows->engine;
    uint32_t begin = windows->place[node_begin(engine, engine->read_transaction[read])];
    uint32_t first = engine->first_candidate[read], best = ISO_NONE, best_place = 0;
    for (uint32_t i = first; i < first + engine->candidate_count[read]; i++) {
        uint32_t version = engine->candidates[i], place = version == INITIAL ? 0 : 1 + commit_place(windows, version);
        bool before = place <= begin, best_before = best_place <= begin;
        if (best == ISO_NONE || (before && (!best_before || place > best_place)) ||
            (!before && !best_before && place < best_place)) {
            best = version;
            best_place = place;
        }
    }
    return best;
}

static void choose_writers(struct windows *windows)
{
    const struct engine *engine = windows->engine;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        windows->seen[read] = engine->read_writer[read];
        if (engine->read_writer[read] != OPEN)
            continue;
        uint32_t version = windows->seen[read] = choose_writer(windows, read);
        if (version == INITIAL)
            continue;
        windows->next_seer[read] = windows->first_seer[version];
        windows->first_seer[version] = read;
    }
}

/* The last place of a window that ends no knot in the middle. */
static uint32_t round_up(const struct windows *windows, uint32_t knot, uint32_t end)
{
    for (uint32_t i = knot; i < windows->knot_count && windows->knots[i].first < end; i++)
        end = windows->knots[i].end > end ? windows->knots[i].end : end;
    return end;
}

/* The window around a knot, larger and larger; `*end` is where it ended. */
static enum iso_status mend(struct windows *windows, uint32_t knot, uint32_t *end)
{
    struct engine *engine = windows->engine;
    uint32_t margin = 0;
    for (uint32_t growth = 0;; growth++) {
        uint32_t first = windows->knots[knot].first;
        first = first > margin ? first - margin : 0;
        *end = windows->knots[knot].end + margin;
        *end = round_up(windows, knot, *end < engine->node_count ? *end : engine->node_count);
        if (*end - first > windows->most_nodes)
            return ISO_UNDECIDED;
        engine->result->counters.windows++;
        enum iso_status status = window_solve(windows, first, *end);
        if (status != ISO_VIOLATED || growth == GROWTHS || (first == 0 && *end == engine->node_count))
            return status;
        margin = margin ? margin * MARGIN_GROWS : FIRST_MARGIN;
        engine->result->counters.windows_grown++;
    }
}

bool windows_order(struct engine *engine, uint32_t run_count, uint32_t most_knot, uint32_t most_nodes)
{
    struct windows windows;
    enum iso_status status = ISO_OK;
    windows_init(&windows, engine, run_count);
    windows.most_nodes = most_nodes;
    sort_all_versions(&windows);
    choose_writers(&windows);
    knots_find(&windows); /* keeps the order of versions: edges lead from each to the next */
    engine->result->counters.knots = windows.knot_count;
    for (uint32_t knot = 0; knot < windows.knot_count; knot++) {
        if (windows.knots[knot].end - windows.knots[knot].first > most_knot)
            status = ISO_UNDECIDED; /* before any other is mended in vain */
    }
    for (uint32_t knot = 0, end = 0; knot < windows.knot_count && status == ISO_OK; knot++) {
        if (windows.knots[knot].first >= end)
            status = mend(&windows, knot, &end);
        if (engine_must_stop(engine))
            status = ISO_UNDECIDED;
    }
    if (status == ISO_OK)
        memcpy(engine->order, windows.order, engine->node_count * sizeof *engine->order);
    windows_release(&windows);
    return status == ISO_OK;
}
