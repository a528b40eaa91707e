/* Why a read cannot have seen the writers that were never listed among its candidates
 * (candidates.c).
 *
 * Nothing was kept of that but when it was: the facts of that time give the clocks of that time,
 * and of those the rules find the reason again.
 */
#include <assert.h>

#include "polygraph/evidence/explain.h"

/* The clocks of the facts of that time, node by node in a topological order; into
 * engine->clocks. */
static void make_clocks(struct engine *engine)
{
    uint32_t *order = iso_numbers(engine->graph.node_count);
    uint32_t end = graph_sort_by(engine, engine->candidates.listed_at, order);
    assert(engine->candidates.listed_at <= engine->graph.fact_count);
    memset(engine->clocks.stamps, 0,
           (size_t)engine->graph.node_count * engine->clocks.stride *
               sizeof *engine->clocks.stamps);
    for (uint32_t node = 0; node < engine->graph.event_count; node++)
        clock_of(engine, node)[engine->chains.of[node_transaction(engine, node)]] =
            node_stamp(engine, node);
    for (uint32_t head = 0; head < end; head++) {
        uint32_t node = order[head];
        if (node_goes_on(engine, node))
            graph_merge_clock(engine, node, node + 1, ~(uint64_t)0);
        for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE;
             i = engine->graph.facts[i].next_out) {
            if (i < engine->candidates.listed_at)
                graph_merge_clock(engine, node, engine->graph.facts[i].to, ~(uint64_t)0);
        }
    }
    iso_free(order);
}

static void add_reason(struct explanation *explanation, struct fact reason)
{
    ISO_PUSH_COLUMN(explanation->pruned, explanation->pruned_count, explanation->pruned_capacity,
                    reason);
}

/* Members of a read's set that its candidates, ruled out ones among them, are not. */
static void find_reasons(struct explanation *explanation, uint32_t read, uint8_t *listed)
{
    const struct engine *engine = explanation->engine;
    uint32_t set = engine->reads.set[read], first = engine->candidates.first[read];
    uint32_t end = engine->candidates.first[read + 1];
    for (uint32_t i = first; i < end; i++)
        listed[engine->candidates.version[i] == INITIAL ? engine->versions.count
                                                        : engine->candidates.version[i]] = 1;
    ISO_EACH(i, engine->writer_sets.first, set) {
        uint32_t version = engine->writer_sets.member[i];
        bool own = version != INITIAL &&
                   engine->versions.transaction[version] == engine->reads.transaction[read];
        struct fact reason;
        if (own || listed[version == INITIAL ? engine->versions.count : version])
            continue;
        bool pruned = rules_rule_out(engine, read, version, &reason);
        assert(pruned);
        if (pruned)
            add_reason(explanation, reason);
    }
    for (uint32_t i = first; i < end; i++)
        listed[engine->candidates.version[i] == INITIAL ? engine->versions.count
                                                        : engine->candidates.version[i]] = 0;
}

void explanation_find_pruned(struct explanation *explanation)
{
    struct engine *engine = explanation->engine;
    bool any = false;
    for (uint32_t read = 0;
         engine->candidates.listed_at != ISO_NONE && read < engine->reads.count && !any; read++)
        any = explanation->asked[read] && engine->reads.set[read] != ISO_NONE;
    if (!any)
        return;
    /* the rules are done: what they had seen of the clocks gives the room */
    stamp *clocks = engine->clocks.stamps;
    uint8_t *listed = iso_allocate_zeroed((size_t)engine->versions.count + 1, 1);
    engine->clocks.stamps = engine->saturation.seen;
    make_clocks(engine);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (explanation->asked[read] && engine->reads.set[read] != ISO_NONE)
            find_reasons(explanation, read, listed);
    }
    engine->clocks.stamps = clocks;
    iso_free(listed);
}
