/* The candidates of reads with several possible writers, listed once clocks have thrown out what
 * cannot be.
 *
 * Of each chain, a read can have seen the last version that commits before it, if that is of the
 * read's set and no other chain's last one is known to hide it, and what is neither before nor
 * after the read: a few searches a chain find these. That is done once the rules have nothing more
 * to say of the rest, for all reads at one time, `listed_at`; the rules narrow the lists then.
 *
 * Nothing is kept of what was not listed. Who wants to know why (explain.c) has the clocks of that
 * time made again, from the facts of that time, and asks the rules.
 */
#include <assert.h>

#include "polygraph/engine_private.h"

enum { LOOK_UP = 256 }; /* reads between looks at the clock on the wall */

/* None behind the one for which there was no memory. */
static void add_candidate(struct engine *engine, uint32_t candidate)
{
    if (engine->candidates.total == engine->candidates.capacity) {
        size_t old = engine->candidates.capacity, next = iso_column_capacity(old, old + 1);
        if (!budget_may_take(&engine->budget, (next - old) * sizeof candidate))
            return;
        engine->candidates.version = iso_column_grow(
            engine->candidates.version, old * sizeof candidate, next * sizeof candidate);
        engine->candidates.capacity = (uint32_t)next;
    }
    engine->candidates.version[engine->candidates.total++] = candidate;
}

/* The first member of a set, between two, that is not less than a version. */
static uint32_t first_from(const struct engine *engine, uint32_t low, uint32_t high,
                           uint32_t version)
{
    ISO_BISECT(low, high, middle, engine->writer_sets.member[middle] < version);
    return low;
}

/* The first member, between two of one chain, that commits after a node. */
static uint32_t first_reached(const struct engine *engine, uint32_t low, uint32_t high,
                              uint32_t node)
{
    ISO_BISECT(low, high, middle,
               !reaches(engine, node, version_commit(engine, engine->writer_sets.member[middle])));
    return low;
}

/* Puts the last version that commits before the read, for each span of its key, into
 * saturation.latest; false: there is none. */
static bool find_latest(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->reads.key[read], t = engine->reads.transaction[read];
    const stamp *clock = clock_of(engine, node_begin(engine, t));
    bool any = false;
    ISO_EACH(span, engine->spans.first, key) {
        uint32_t last = clock_before(engine, clock, engine->spans.chain[span], t);
        uint32_t latest = last ? span_latest_commit(engine, span, last) : ISO_NONE;
        engine->saturation.latest[span - engine->spans.first[key]] = latest;
        any |= latest != ISO_NONE;
    }
    return any;
}

/* Whether another chain's last version before the read is known to come after one. */
static bool is_hidden(const struct engine *engine, uint32_t key, uint32_t version)
{
    uint32_t spans = engine->spans.first[key + 1] - engine->spans.first[key],
             begin = version_begin(engine, version);
    for (uint32_t i = 0; i < spans; i++) {
        uint32_t latest = engine->saturation.latest[i];
        if (latest != ISO_NONE && latest != version &&
            reaches(engine, begin, version_commit(engine, latest)))
            return true;
    }
    return false;
}

static void list_read(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->reads.key[read], t = engine->reads.transaction[read],
             begin = node_begin(engine, t);
    uint32_t set = engine->reads.set[read], end = engine->writer_sets.first[set + 1];
    bool any = find_latest(engine, read);
    if (engine->writer_sets.member[end - 1] == INITIAL && --end && !any)
        add_candidate(engine, INITIAL);
    for (uint32_t i = engine->writer_sets.first[set], next; i < end; i = next) {
        uint32_t span = engine->versions.span[engine->writer_sets.member[i]];
        uint32_t latest = engine->saturation.latest[span - engine->spans.first[key]];
        next = first_from(engine, i + 1, end, engine->spans.version[span + 1]);
        i = latest == ISO_NONE ? i : first_from(engine, i, next, latest);
        for (uint32_t last = first_reached(engine, i, next, begin); i < last; i++) {
            uint32_t version = engine->writer_sets.member[i];
            if (engine->versions.transaction[version] != t &&
                (version != latest || !is_hidden(engine, key, version)))
                add_candidate(engine, version);
        }
    }
}

/* Without the rules: all. */
static void list_all(struct engine *engine, uint32_t read)
{
    uint32_t set = engine->reads.set[read];
    ISO_EACH(i, engine->writer_sets.first, set) {
        uint32_t version = engine->writer_sets.member[i];
        if (version == INITIAL ||
            engine->versions.transaction[version] != engine->reads.transaction[read])
            add_candidate(engine, version);
    }
}

bool candidates_list(struct engine *engine)
{
    assert(engine->candidates.listed_at == ISO_NONE); /* at one time, for all reads */
    engine->candidates.first = iso_numbers(engine->reads.count);
    engine->candidates.count = iso_numbers(engine->reads.count);
    engine->candidates.listed_at = engine->graph.fact_count;
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t set = engine->reads.set[read];
        if (engine->budget.stop_reason || (read % LOOK_UP == 0 && engine_must_stop(engine)))
            return false;
        engine->candidates.first[read] = engine->candidates.total;
        if (set != ISO_NONE && engine->options->no_saturation)
            list_all(engine, read);
        else if (set != ISO_NONE)
            list_read(engine, read);
        engine->candidates.count[read] = engine->candidates.total - engine->candidates.first[read];
        if (set != ISO_NONE)
            engine->result->counters.candidates_pruned += engine->writer_sets.first[set + 1] -
                                                          engine->writer_sets.first[set] -
                                                          engine->candidates.count[read];
    }
    engine->candidates.first[engine->reads.count] = engine->candidates.total;
    return !engine->budget.stop_reason;
}

void candidates_release(struct engine *engine)
{
    ISO_FREE_ALL(engine->candidates.first, engine->candidates.count);
    ISO_FREE_COLUMN(engine->candidates.version, engine->candidates.capacity);
}
