#include "polygraph/validate.h"
#include "polygraph/order/windows.h"

#ifdef ISO_VALIDATE

#include <assert.h>

/* ---- problem ---- */

static void validate_writes(const struct engine *engine, uint32_t t)
{
    const struct writes *writes = &engine->writes;
    assert(writes->first[t] <= writes->first[t + 1] && writes->first[t + 1] <= writes->count);
    ISO_EACH(write, writes->first, t) {
        assert(writes->transaction[write] == t);
        assert(writes->key[write] < engine->history->keys.count);
    }
}

static void validate_reads(const struct engine *engine, uint32_t t)
{
    const struct reads *reads = &engine->reads;
    assert(reads->first[t] <= reads->first[t + 1] && reads->first[t + 1] <= reads->count);
    ISO_EACH(read, reads->first, t) {
        uint32_t operation = reads->operation[read];
        assert(reads->transaction[read] == t);
        assert(engine->history->ops.key[operation] == reads->key[read]);
        assert(reads->writer[read] == OPEN ||
               reads->set[read] == ISO_NONE); /* one writer, or a set of several */
    }
}

static void validate_sets(const struct engine *engine)
{
    const struct writer_sets *sets = &engine->writer_sets;
    for (uint32_t set = 0; set < sets->count; set++) {
        assert(sets->first[set] < sets->first[set + 1]);
        ISO_EACH(i, sets->first, set)
            assert(sets->member[i] < engine->writes.count ||
                   (sets->member[i] == INITIAL && i + 1 == sets->first[set + 1]));
    }
}

void problem_validate(const struct engine *engine)
{
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        assert(engine->transactions.local[engine->transactions.in_history[t]] == t);
        assert(!t || engine->transactions.in_history[t - 1] < engine->transactions.in_history[t]);
        validate_writes(engine, t);
        validate_reads(engine, t);
    }
    assert(engine->writes.first[engine->transactions.count] == engine->writes.count);
    assert(engine->reads.first[engine->transactions.count] == engine->reads.count);
    validate_sets(engine);
}

/* ---- versions ---- */

static void validate_span(const struct engine *engine, uint32_t key, uint32_t span)
{
    const struct versions *versions = &engine->versions;
    assert(engine->spans.version[span] < engine->spans.version[span + 1]);
    ISO_EACH(version, engine->spans.version, span) {
        uint32_t writer = versions->transaction[version];
        assert(versions->span[version] == span && versions->key[version] == key);
        assert(engine->chains.of[writer] == engine->spans.chain[span]);
        assert(versions->position[version] == (stamp)engine->chains.position[writer]);
        assert(version == engine->spans.version[span] ||
               versions->position[version - 1] < versions->position[version]);
    }
}

static void validate_readers(const struct engine *engine)
{
    uint32_t listed = 0, known = 0, open = 0;
    for (uint32_t version = 0; version < engine->versions.count; version++) {
        for (uint32_t read = engine->versions.reader[version]; read != ISO_NONE;
             read = engine->reads.next[read]) {
            assert(engine->reads.writer[read] == version);
            assert(engine->reads.key[read] == engine->versions.key[version]);
            listed++;
        }
    }
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        open += engine->reads.writer[read] == OPEN;
        known += engine->reads.writer[read] != OPEN && engine->reads.writer[read] != INITIAL;
    }
    assert(listed == known);
    assert(open == engine->reads.open);
}

static void validate_chains(const struct engine *engine)
{
    const struct chains *chains = &engine->chains;
    for (uint32_t chain = 0; chain < chains->count; chain++) {
        ISO_EACH(i, chains->first, chain) {
            assert(chains->of[chains->member[i]] == chain);
            assert(chains->position[chains->member[i]] == i - chains->first[chain]);
        }
    }
    assert(chains->first[chains->count] == engine->transactions.count);
}

void versions_validate(const struct engine *engine)
{
    validate_chains(engine);
    for (uint32_t write = 0; write < engine->writes.count; write++) {
        uint32_t version = engine->writes.version[write];
        assert(engine->versions.transaction[version] == engine->writes.transaction[write]);
        assert(engine->versions.key[version] == engine->writes.key[write]);
    }
    for (uint32_t key = 0; key < engine->history->keys.count; key++) {
        ISO_EACH(span, engine->spans.first, key)
            validate_span(engine, key, span);
    }
    assert(engine->spans.version[engine->spans.count] == engine->versions.count);
    validate_readers(engine);
}

/* ---- graph ---- */

void graph_validate(const struct engine *engine)
{
    const struct graph *graph = &engine->graph;
    assert(!graph->conflict);
    assert(graph->known_count <= graph->linked_count && graph->linked_count <= graph->fact_count);
    for (uint32_t i = 0; i < graph->node_count; i++)
        assert(graph->rank[graph->order[i]] == i);
    for (uint32_t i = 0; i < graph->fact_count; i++) {
        const struct fact *fact = &graph->facts[i];
        assert(fact->next_out == ISO_NONE ||
               (fact->next_out < i && graph->facts[fact->next_out].from == fact->from));
        assert((fact->from == ISO_NONE) == (fact->to == ISO_NONE));
        assert(fact->from == ISO_NONE || i < graph->linked_count);
        assert(fact->from == ISO_NONE || graph->rank[fact->from] < graph->rank[fact->to]);
    }
}

/* ---- candidates ---- */

void candidates_validate(const struct engine *engine)
{
    const struct candidates *candidates = &engine->candidates;
    assert(candidates->listed_at != ISO_NONE && candidates->listed_at <= engine->graph.fact_count);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t first = candidates->first[read], end = candidates->first[read + 1];
        assert(first <= end && candidates->count[read] <= end - first);
        for (uint32_t i = first; i < end; i++) {
            uint32_t version = candidates->version[i];
            assert(version == INITIAL || engine->versions.key[version] == engine->reads.key[read]);
            assert(version == INITIAL ||
                   engine->versions.transaction[version] != engine->reads.transaction[read]);
        }
    }
}

/* ---- windows ---- */

void windows_validate(const struct windows *windows)
{
    const struct engine *engine = windows->engine;
    for (uint32_t i = 0; i < engine->graph.node_count; i++)
        assert(windows->position[windows->order[i]] == i);
    for (uint32_t i = 0; i < engine->versions.count; i++) {
        uint32_t version = windows->sorted[i];
        bool first = i == engine->versions.first[engine->versions.key[version]];
        assert(windows->sorted_at[version] == i);
        assert(first ||
               engine->versions.key[windows->sorted[i - 1]] == engine->versions.key[version]);
        assert(first || commit_position(windows, windows->sorted[i - 1]) <
                            commit_position(windows, version));
    }
}

#endif
