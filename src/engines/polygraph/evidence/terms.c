/* The engine's transactions, versions and reads in the terms of evidence. */
#include <assert.h>

#include "polygraph/engine_private.h"
#include "problem/placements.h"

uint32_t event_of(const struct engine *engine, uint32_t node)
{
    return engine->serial ? 2 * engine->transactions.in_history[node]
                          : 2 * engine->transactions.in_history[node / 2] + (node & 1);
}

static uint32_t writer_of(const struct engine *engine, uint32_t version)
{
    assert(version == INITIAL || version < engine->versions.count);
    return version == INITIAL
               ? ISO_NONE
               : engine->transactions.in_history[engine->versions.transaction[version]];
}

static uint32_t begin_of_read(const struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    return node_begin(engine, engine->reads.transaction[read]);
}

struct iso_literal literal_reads(const struct engine *engine, uint32_t read, uint32_t version,
                                 bool reads)
{
    assert(read < engine->reads.count);
    assert(version == INITIAL || version < engine->versions.count);
    return (struct iso_literal){reads ? ISO_LITERAL_READS : ISO_LITERAL_NOT_READS,
                                engine->transactions.in_history[engine->reads.transaction[read]],
                                writer_of(engine, version), engine->reads.key[read], 0};
}

struct iso_literal literal_order(const struct engine *engine, uint32_t earlier, uint32_t later)
{
    return (struct iso_literal){ISO_LITERAL_ORDER, writer_of(engine, earlier),
                                writer_of(engine, later), engine->versions.key[earlier], 0};
}

struct iso_literal literal_placed(const struct engine *engine, uint32_t placement, bool placed)
{
    const struct placement *item = &engine->placements->items[placement];
    return (struct iso_literal){
        placed ? ISO_LITERAL_PLACED : ISO_LITERAL_NOT_PLACED,
        engine->transactions.in_history[engine->writes.transaction[item->write]], item->at,
        engine->writes.key[item->write], 0};
}

struct iso_edge edge_between(const struct engine *engine, enum iso_edge_kind kind, uint32_t from,
                             uint32_t to, uint32_t key)
{
    return (struct iso_edge){kind, event_of(engine, from), event_of(engine, to), key, ISO_NONE, 0};
}

struct iso_edge edge_wr(const struct engine *engine, uint32_t read, uint32_t version)
{
    assert(read < engine->reads.count);
    assert(version == INITIAL || version < engine->versions.count);
    return edge_between(engine, ISO_EDGE_WR, version_commit(engine, version),
                        begin_of_read(engine, read), engine->reads.key[read]);
}

struct iso_edge edge_ww(const struct engine *engine, uint32_t earlier, uint32_t later)
{
    return edge_between(engine, ISO_EDGE_WW, version_commit(engine, earlier),
                        version_begin(engine, later), engine->versions.key[later]);
}

struct iso_edge edge_rw(const struct engine *engine, uint32_t read, uint32_t version,
                        uint32_t later)
{
    assert(read < engine->reads.count);
    assert(version == INITIAL || version < engine->versions.count);
    struct iso_edge result = edge_between(engine, ISO_EDGE_RW, begin_of_read(engine, read),
                                          version_commit(engine, later), engine->reads.key[read]);
    result.via = writer_of(engine, version);
    return result;
}
