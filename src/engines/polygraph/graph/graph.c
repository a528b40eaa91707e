/* The graph of facts, and clocks: for each node and chain the latest node of the chain that reaches
 * it. */
#include <assert.h>

#include "polygraph/graph/commit_order.h"

void graph_init(struct engine *engine)
{
    engine->graph.event_count =
        engine->serial ? engine->transactions.count : 2 * engine->transactions.count;
    engine->graph.node_count = engine->graph.event_count + times_count(engine);
    engine->graph.first_out = iso_numbers_none(engine->graph.node_count);
    engine->graph.order = iso_numbers(engine->graph.node_count);
    engine->graph.rank = iso_numbers_zero(engine->graph.node_count);
}

/* A path cover's clocks start with every node's own stamp. */
void graph_clocks_init(struct engine *engine)
{
    engine->clocks.stride =
        (engine->chains.count + STAMPS_A_VECTOR - 1) & ~(uint32_t)(STAMPS_A_VECTOR - 1);
    assert(engine->clocks.stride >= engine->chains.count);
    size_t size =
        (size_t)engine->graph.node_count * engine->clocks.stride * sizeof *engine->clocks.stamps;
    engine->clocks.stamps = iso_column_zeroed(size + 16);
    engine->saturation.seen = iso_column_zeroed(size + 16);
    engine->clocks.vector_count = engine->clocks.stride / STAMPS_A_VECTOR;
    engine->clocks.vectors_a_group = engine->clocks.vector_count / 64 + 1;
    size_t words = engine->chains.count / 64 + 2;
    engine->saturation.moved_groups =
        memset(iso_allocate(((size_t)engine->graph.node_count + 1) * sizeof(uint64_t)), 0xff,
               ((size_t)engine->graph.node_count + 1) * sizeof(uint64_t));
    engine->saturation.latest = iso_numbers(engine->chains.count);
    engine->saturation.chain_scale =
        iso_allocate(((size_t)engine->chains.count + 1) * sizeof *engine->saturation.chain_scale);
    for (uint32_t chain = 0; chain < engine->chains.count; chain++)
        engine->saturation.chain_scale[chain] =
            1 / (float)(engine->chains.first[chain + 1] - engine->chains.first[chain]);
    engine->saturation.first_successor = iso_numbers_none(engine->versions.count);
    engine->saturation.moved = iso_allocate_zeroed(words, sizeof *engine->saturation.moved);
    engine->saturation.all_chains =
        memset(iso_allocate(words * sizeof *engine->saturation.all_chains), 0xff,
               words * sizeof *engine->saturation.all_chains);
    engine->saturation.key_chains = iso_allocate_zeroed((size_t)engine->history->keys.count + 1,
                                                        sizeof *engine->saturation.key_chains);
    for (uint32_t version = 0; version < engine->versions.count; version++)
        engine->saturation.key_chains[engine->versions.key[version]] |=
            (uint64_t)1 << engine->spans.chain[engine->versions.span[version]] % 64;
    engine->saturation.meet =
        iso_allocate(engine->clocks.stride * sizeof *engine->saturation.meet + 16);
    engine->saturation.before =
        iso_allocate(engine->clocks.stride * sizeof *engine->saturation.before + 16);
    agenda_init(&engine->saturation.agenda, engine->graph.node_count);
    for (uint32_t node = 0; node < engine->graph.event_count; node++)
        clock_of(engine, node)[engine->chains.of[node_transaction(engine, node)]] =
            node_stamp(engine, node);
}

void graph_release(struct engine *engine)
{
    size_t size =
        (size_t)engine->graph.node_count * engine->clocks.stride * sizeof *engine->clocks.stamps +
        16;
    ISO_FREE_COLUMN(engine->graph.facts, engine->graph.fact_capacity);
    ISO_FREE_ALL(engine->graph.first_out, engine->graph.order, engine->graph.rank,
                 engine->saturation.moved, engine->saturation.moved_groups,
                 engine->saturation.latest, engine->saturation.chain_scale,
                 engine->saturation.first_successor);
    ISO_FREE_COLUMN(engine->saturation.successors, engine->saturation.successor_capacity);
    ISO_FREE_ALL(engine->saturation.all_chains, engine->saturation.key_chains,
                 engine->saturation.meet, engine->saturation.before);
    iso_column_free(engine->clocks.stamps, size);
    iso_column_free(engine->saturation.seen, size);
    agenda_release(&engine->saturation.agenda);
}

uint32_t graph_append(struct engine *engine, struct fact fact)
{
    assert(fact.from == ISO_NONE ||
           (fact.from < engine->graph.node_count && fact.to < engine->graph.node_count));
    ISO_GROW_COLUMN(engine->graph.facts, engine->graph.fact_count, engine->graph.fact_capacity);
    fact.next_out = ISO_NONE;
    engine->graph.facts[engine->graph.fact_count] = fact;
    engine_set(engine, &engine->graph.fact_count, engine->graph.fact_count + 1);
    return engine->graph.fact_count - 1;
}

void graph_link(struct engine *engine)
{
    for (; engine->graph.linked_count < engine->graph.fact_count; engine->graph.linked_count++) {
        struct fact *fact = &engine->graph.facts[engine->graph.linked_count];
        if (fact->from == ISO_NONE)
            continue;
        fact->next_out = engine->graph.first_out[fact->from];
        engine->graph.first_out[fact->from] = engine->graph.linked_count;
    }
}

uint64_t graph_merge_clock(struct engine *engine, uint32_t from, uint32_t to, uint64_t groups)
{
    const stamp_vector *source = (const stamp_vector *)clock_of(engine, from);
    stamp_vector *target = (stamp_vector *)clock_of(engine, to);
    uint64_t moved = 0;
    for (struct vectors at = vectors_of(engine, groups); next_vector(&at);) {
        stamp_vector a = source[at.vector], b = target[at.vector], larger = a > b;
        if (!any_of(larger))
            continue;
        target[at.vector] = (a & larger) | (b & ~larger);
        moved |= (uint64_t)1 << at.vector / at.a_group;
    }
    return moved;
}

void graph_note_successor(struct engine *engine, uint32_t version, uint32_t later)
{
    assert(version == INITIAL || version < engine->versions.count);
    ISO_GROW_COLUMN(engine->saturation.successors, engine->saturation.successor_count,
                    engine->saturation.successor_capacity);
    uint32_t successor = engine->saturation.successor_count;
    engine->saturation.successors[successor].version = later;
    engine->saturation.successors[successor].next = engine->saturation.first_successor[version];
    engine_set(engine, &engine->saturation.first_successor[version], successor);
    engine_set(engine, &engine->saturation.successor_count, successor + 1);
}

/* ---- what the history says ---- */

static void add_sessions(struct engine *engine)
{
    uint32_t *before = session_predecessors(engine);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        if (before[t] != ISO_NONE)
            graph_append(engine, (struct fact){.kind = FACT_SESSION,
                                               .from = node_commit(engine, before[t]),
                                               .to = node_begin(engine, t)});
    }
    iso_free(before);
}

/* An initial read comes before the first version of each span that is not the reader's own. */
static void add_initial_read(struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    uint32_t key = engine->reads.key[read], reader = engine->reads.transaction[read];
    ISO_EACH(span, engine->spans.first, key) {
        uint32_t version = engine->spans.version[span];
        if (engine->versions.transaction[version] != reader)
            graph_append(engine, (struct fact){.kind = FACT_RW,
                                               .from = node_begin(engine, reader),
                                               .read = read,
                                               .to = version_commit(engine, version),
                                               .version = version});
    }
}

/* A read of the initial value makes an edge to each chain that writes the key, versions of one cts
 * to each of the next: as many as all reads have values where neither is large. */
uint64_t graph_count_known(struct engine *engine)
{
    uint64_t count = (uint64_t)engine->transactions.count + engine->reads.count +
                     2 * (uint64_t)(engine->graph.node_count - engine->graph.event_count);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t key = engine->reads.key[read];
        if (engine->reads.writer[read] == INITIAL)
            count += engine->spans.first[key + 1] - engine->spans.first[key];
    }
    return count + engine->list_orders.count + commit_order_facts(engine, false);
}

void graph_add_known(struct engine *engine)
{
    add_sessions(engine);
    times_add(engine);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t version = engine->reads.writer[read];
        if (version == INITIAL)
            add_initial_read(engine, read);
        else if (version != OPEN)
            graph_append(engine,
                         (struct fact){.kind = FACT_WR,
                                       .read = read,
                                       .version = version,
                                       .from = version_commit(engine, version),
                                       .to = node_begin(engine, engine->reads.transaction[read])});
    }
    for (uint32_t i = 0; i < engine->list_orders.count; i++) {
        uint32_t earlier = engine->writes.version[engine->list_orders.pairs[i][0]];
        uint32_t later = engine->writes.version[engine->list_orders.pairs[i][1]];
        graph_append(engine, (struct fact){.kind = FACT_LIST,
                                           .read = engine->list_orders.pairs[i][2],
                                           .other = earlier,
                                           .version = later,
                                           .from = version_commit(engine, earlier),
                                           .to = version_begin(engine, later)});
    }
    commit_order_facts(engine, true);
    engine->graph.known_count = engine->graph.fact_count;
    engine->result->counters.known_edges = engine->graph.fact_count;
    graph_link(engine);
}

/* ---- topological order ---- */

void graph_count_degrees(const struct engine *engine, uint32_t fact_count, uint32_t *degree)
{
    for (uint32_t i = 0; i < fact_count; i++) {
        if (engine->graph.facts[i].to != ISO_NONE)
            degree[engine->graph.facts[i].to]++;
    }
    for (uint32_t t = 0; !engine->serial && t < engine->transactions.count; t++)
        degree[node_commit(engine, t)]++;
}

uint32_t graph_sort_by(const struct engine *engine, uint32_t fact_count, uint32_t *order)
{
    uint32_t *degree = iso_numbers_zero(engine->graph.node_count), end = 0;
    graph_count_degrees(engine, fact_count, degree);
    for (uint32_t node = 0; node < engine->graph.node_count; node++) {
        if (!degree[node])
            order[end++] = node;
    }
    for (uint32_t head = 0; head < end; head++) {
        uint32_t node = order[head];
        if (node_goes_on(engine, node) && --degree[node + 1] == 0)
            order[end++] = node + 1;
        for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE;
             i = engine->graph.facts[i].next_out) {
            if (i < fact_count && --degree[engine->graph.facts[i].to] == 0)
                order[end++] = engine->graph.facts[i].to;
        }
    }
    assert(end <= engine->graph.node_count);
    iso_free(degree);
    return end;
}

bool graph_sort(struct engine *engine)
{
    uint32_t end = graph_sort_by(engine, engine->graph.linked_count, engine->graph.order);
    for (uint32_t i = 0; i < end; i++)
        engine->graph.rank[engine->graph.order[i]] = i;
    return end == engine->graph.node_count;
}

/* ---- versions ---- */

/* The first version of a span whose commit is known to come after the begin of `version`'s writer;
 * the span's end if none is. Clocks grow along a chain, so this is a search. */
uint32_t span_first_after(const struct engine *engine, uint32_t span, uint32_t version)
{
    uint32_t begin = version_begin(engine, version);
    uint32_t low = engine->spans.version[span], high = engine->spans.version[span + 1];
    ISO_BISECT(low, high, middle, !reaches(engine, begin, version_commit(engine, middle)));
    return low;
}
