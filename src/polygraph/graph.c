/* The graph of facts, and clocks: for each node and chain the latest node of the chain that reaches it. */
#include "polygraph/polygraph_private.h"

void graph_init(struct engine *engine)
{
    engine->event_count = engine->serial ? engine->count : 2 * engine->count;
    engine->node_count = engine->event_count + times_count(engine);
    engine->first_out = iso_allocate(((size_t)engine->node_count + 1) * sizeof *engine->first_out);
    memset(engine->first_out, 0xff, ((size_t)engine->node_count + 1) * sizeof *engine->first_out);
    engine->order = iso_allocate(((size_t)engine->node_count + 1) * sizeof *engine->order);
    engine->rank = iso_allocate_zeroed((size_t)engine->node_count + 1, sizeof *engine->rank);
}

/* A path cover's clocks start with every node's own stamp. */
void graph_clocks_init(struct engine *engine)
{
    engine->stride = (engine->chain_count + STAMPS_A_VECTOR - 1) & ~(uint32_t)(STAMPS_A_VECTOR - 1);
    size_t size = (size_t)engine->node_count * engine->stride * sizeof *engine->clocks;
    engine->clocks = iso_column_zeroed(size + 16);
    engine->seen = iso_column_zeroed(size + 16);
    engine->vector_count = engine->stride / STAMPS_A_VECTOR;
    engine->vectors_a_group = engine->vector_count / 64 + 1;
    size_t words = engine->chain_count / 64 + 2;
    engine->moved_groups = memset(iso_allocate(((size_t)engine->node_count + 1) * sizeof(uint64_t)), 0xff,
                                  ((size_t)engine->node_count + 1) * sizeof(uint64_t));
    engine->latest = iso_allocate(((size_t)engine->chain_count + 1) * sizeof *engine->latest);
    engine->chain_scale = iso_allocate(((size_t)engine->chain_count + 1) * sizeof *engine->chain_scale);
    for (uint32_t chain = 0; chain < engine->chain_count; chain++)
        engine->chain_scale[chain] = 1 / (float)(engine->chain_first[chain + 1] - engine->chain_first[chain]);
    engine->first_successor = memset(iso_allocate(((size_t)engine->version_count + 1) * sizeof(uint32_t)), 0xff,
                                     ((size_t)engine->version_count + 1) * sizeof(uint32_t));
    engine->moved = iso_allocate_zeroed(words, sizeof *engine->moved);
    engine->all_chains =
        memset(iso_allocate(words * sizeof *engine->all_chains), 0xff, words * sizeof *engine->all_chains);
    engine->key_chains = iso_allocate_zeroed((size_t)engine->history->key_count + 1, sizeof *engine->key_chains);
    for (uint32_t version = 0; version < engine->version_count; version++)
        engine->key_chains[engine->version_key[version]] |= (uint64_t)1
                                                            << engine->run_chain[engine->version_run[version]] % 64;
    engine->meet = iso_allocate(engine->stride * sizeof *engine->meet + 16);
    engine->before = iso_allocate(engine->stride * sizeof *engine->before + 16);
    agenda_init(&engine->agenda, engine->node_count);
    for (uint32_t node = 0; node < engine->event_count; node++)
        clock_of(engine, node)[engine->chain[node_transaction(engine, node)]] = node_stamp(engine, node);
}

void graph_release(struct engine *engine)
{
    size_t size = (size_t)engine->node_count * engine->stride * sizeof *engine->clocks + 16;
    iso_column_free(engine->facts, engine->fact_capacity * sizeof *engine->facts);
    iso_free(engine->first_out);
    iso_free(engine->order);
    iso_free(engine->rank);
    iso_free(engine->moved);
    iso_free(engine->moved_groups);
    iso_free(engine->latest);
    iso_free(engine->chain_scale);
    iso_free(engine->first_successor);
    iso_column_free(engine->successors, engine->successor_capacity * sizeof *engine->successors);
    iso_free(engine->all_chains);
    iso_free(engine->key_chains);
    iso_free(engine->meet);
    iso_free(engine->before);
    iso_column_free(engine->clocks, size);
    iso_column_free(engine->seen, size);
    agenda_release(&engine->agenda);
}

uint32_t graph_append(struct engine *engine, struct fact fact)
{
    if (engine->fact_count == engine->fact_capacity) {
        size_t old = engine->fact_capacity, next = iso_column_capacity(old, old + 1);
        engine->facts = iso_column_grow(engine->facts, old * sizeof fact, next * sizeof fact);
        engine->fact_capacity = (uint32_t)next;
    }
    fact.next_out = ISO_NONE;
    engine->facts[engine->fact_count] = fact;
    engine_set(engine, &engine->fact_count, engine->fact_count + 1);
    return engine->fact_count - 1;
}

void graph_link(struct engine *engine)
{
    for (; engine->linked_count < engine->fact_count; engine->linked_count++) {
        struct fact *fact = &engine->facts[engine->linked_count];
        if (fact->from == ISO_NONE)
            continue;
        fact->next_out = engine->first_out[fact->from];
        engine->first_out[fact->from] = engine->linked_count;
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
    if (engine->successor_count == engine->successor_capacity) {
        size_t old = engine->successor_capacity, next = iso_column_capacity(old, old + 1),
               size = sizeof *engine->successors;
        engine->successors = iso_column_grow(engine->successors, old * size, next * size);
        engine->successor_capacity = (uint32_t)next;
    }
    uint32_t successor = engine->successor_count;
    engine->successors[successor].version = later;
    engine->successors[successor].next = engine->first_successor[version];
    engine_set(engine, &engine->first_successor[version], successor);
    engine_set(engine, &engine->successor_count, successor + 1);
}

/* ---- what the history says ---- */

static void add_sessions(struct engine *engine)
{
    uint32_t *before = session_predecessors(engine);
    for (uint32_t t = 0; t < engine->count; t++) {
        if (before[t] != ISO_NONE)
            graph_append(engine, (struct fact){.kind = FACT_SESSION,
                                               .from = node_commit(engine, before[t]),
                                               .to = node_begin(engine, t)});
    }
    iso_free(before);
}

/* An initial read comes before the first version of each run that is not the reader's own. */
static void add_initial_read(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->read_key[read], reader = engine->read_transaction[read];
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t version = engine->run_version[run];
        if (engine->version_transaction[version] != reader)
            graph_append(engine, (struct fact){.kind = FACT_RW,
                                               .from = node_begin(engine, reader),
                                               .read = read,
                                               .to = version_commit(engine, version),
                                               .version = version});
    }
}

void graph_add_known(struct engine *engine)
{
    add_sessions(engine);
    times_add(engine);
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t version = engine->read_writer[read];
        if (version == INITIAL)
            add_initial_read(engine, read);
        else if (version != OPEN)
            graph_append(engine, (struct fact){.kind = FACT_WR,
                                               .read = read,
                                               .version = version,
                                               .from = version_commit(engine, version),
                                               .to = node_begin(engine, engine->read_transaction[read])});
    }
    for (uint32_t i = 0; i < engine->list_pair_count; i++) {
        uint32_t earlier = engine->version_of_write[engine->list_pairs[i][0]];
        uint32_t later = engine->version_of_write[engine->list_pairs[i][1]];
        graph_append(engine, (struct fact){.kind = FACT_LIST,
                                           .read = engine->list_pairs[i][2],
                                           .other = earlier,
                                           .version = later,
                                           .from = version_commit(engine, earlier),
                                           .to = version_begin(engine, later)});
    }
    engine->known_count = engine->fact_count;
    engine->result->counters.known_edges = engine->fact_count;
    graph_link(engine);
}

/* ---- topological order ---- */

void graph_count_degrees(const struct engine *engine, uint32_t *degree)
{
    for (uint32_t i = 0; i < engine->linked_count; i++) {
        if (engine->facts[i].to != ISO_NONE)
            degree[engine->facts[i].to]++;
    }
    for (uint32_t t = 0; !engine->serial && t < engine->count; t++)
        degree[node_commit(engine, t)]++;
}

bool graph_sort(struct engine *engine)
{
    uint32_t *degree = iso_allocate_zeroed((size_t)engine->node_count + 1, sizeof *degree), end = 0;
    graph_count_degrees(engine, degree);
    for (uint32_t node = 0; node < engine->node_count; node++) {
        if (!degree[node])
            engine->order[end++] = node;
    }
    for (uint32_t head = 0; head < end; head++) {
        uint32_t node = engine->order[head];
        engine->rank[node] = head;
        if (node_goes_on(engine, node) && --degree[node + 1] == 0)
            engine->order[end++] = node + 1;
        for (uint32_t i = engine->first_out[node]; i != ISO_NONE; i = engine->facts[i].next_out) {
            if (--degree[engine->facts[i].to] == 0)
                engine->order[end++] = engine->facts[i].to;
        }
    }
    iso_free(degree);
    return end == engine->node_count;
}

/* ---- versions ---- */

/* The first version of a run whose commit is known to come after the begin of `version`'s writer; the run's
 * end if none is. Clocks grow along a chain, so this is a search. */
uint32_t run_first_after(const struct engine *engine, uint32_t run, uint32_t version)
{
    uint32_t begin = version_begin(engine, version);
    uint32_t low = engine->run_version[run], high = engine->run_version[run + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (reaches(engine, begin, version_commit(engine, middle)))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint32_t version_of(const struct engine *engine, uint32_t transaction, uint32_t key)
{
    for (uint32_t write = engine->first_write[transaction]; write < engine->first_write[transaction + 1]; write++) {
        if (engine->write_key[write] == key)
            return engine->version_of_write[write];
    }
    return ISO_NONE;
}
