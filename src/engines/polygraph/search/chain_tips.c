/* The forward search's chain tips: whether the next node of a chain may be scheduled, and what
 * follows when it does. */
#include <assert.h>

#include "polygraph/search/search.h"

static uint32_t node_at(const struct engine *engine, uint32_t chain, uint32_t at)
{
    if (engine->serial)
        return engine->chains.member[engine->chains.first[chain] + at];
    return 2 * engine->chains.member[engine->chains.first[chain] + at / 2] + (at & 1);
}

/* The next node of a chain. */
uint32_t search_tip(const struct search *search, uint32_t chain)
{
    assert(search->engine->scheduled.progress[chain] < search_chain_length(search->engine, chain));
    return node_at(search->engine, chain, search->engine->scheduled.progress[chain]);
}

/* Whether all that reaches a chain's tip is scheduled. What blocked it last is looked at first. */
bool search_is_ready(struct search *search, uint32_t chain, uint32_t node)
{
    struct engine *engine = search->engine;
    const stamp *clock = clock_of(engine, node);
    uint32_t blocker = search->blocker[chain];
    if (blocker != chain && clock[blocker] > engine->scheduled.progress[blocker])
        return false;
    stamp own = engine->scheduled.progress[chain]++; /* its own stamp */
    bool ready = true;
    for (uint32_t i = 0; i < engine->clocks.stride && ready; i += STAMPS_A_VECTOR) {
        stamp_vector later = *(const stamp_vector *)(clock + i) >
                             *(const stamp_vector *)(engine->scheduled.progress + i);
        ready = !any_of(later);
        for (uint32_t j = 0; j < STAMPS_A_VECTOR && !ready; j++) {
            if (later[j])
                search->blocker[chain] = i + j;
        }
    }
    engine->scheduled.progress[chain] = own;
    return ready;
}

/* The candidate of an open read that it would see now; ISO_NONE: none. */
static uint32_t candidate_now(const struct search *search, uint32_t read)
{
    return candidate_of(search->engine, read, search->current[search->engine->reads.key[read]]);
}

/* The first version of a span that has not begun and is not `version`, or the span's end. */
static uint32_t first_waiting(const struct engine *engine, uint32_t span, uint32_t version)
{
    uint32_t waiting = engine->scheduled.waiting[span];
    return waiting + (waiting == version);
}

/* Whether a version's writer, about to begin, comes before all that wait in any case. */
static bool goes_first(const struct engine *engine, uint32_t version)
{
    uint32_t key = engine->versions.key[version],
             chain = engine->spans.chain[engine->versions.span[version]];
    stamp commit = version_commit_stamp(engine, version);
    ISO_EACH(span, engine->spans.first, key) {
        uint32_t waiting = first_waiting(engine, span, version);
        if (waiting < engine->spans.version[span + 1] &&
            clock_of(engine, version_begin(engine, waiting))[chain] < commit)
            return false;
    }
    return true;
}

/* Whether a ready node may be scheduled, and whether that takes a guess. */
enum readiness search_readiness(const struct search *search, uint32_t node)
{
    const struct engine *engine = search->engine;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t),
         guesses = false;
    bool writes = engine->writes.first[t] != engine->writes.first[t + 1];
    for (uint32_t read = engine->reads.first[t]; begins && read < engine->reads.first[t + 1];
         read++) {
        if (engine->reads.writer[read] != OPEN)
            continue;
        if (candidate_now(search, read) == ISO_NONE)
            return BLOCKED;
        guesses |= writes;
    }
    for (uint32_t write = engine->writes.first[t]; write < engine->writes.first[t + 1] && !guesses;
         write++) {
        uint32_t key = engine->writes.key[write];
        guesses |= commits && engine->reads.open &&
                   search->readers.open[version_slot(engine, search->current[key], key)];
        guesses |= begins && !goes_first(engine, engine->writes.version[write]);
    }
    return guesses ? GUESSES : FREE;
}

/* ---- scheduling a node ---- */

static void keep_only(struct engine *engine, uint32_t read, uint32_t candidate)
{
    assert(candidate != ISO_NONE);
    uint32_t first = engine->candidates.first[read],
             version = engine->candidates.version[candidate];
    for (uint32_t i = engine->candidates.count[read]; i-- > 0;) {
        if (engine->candidates.version[first + i] != version)
            rules_prune(engine, read, i, FACT_GUESS, ISO_NONE);
    }
    rules_resolve(engine, read);
}

/* Open reads that have not begun cannot see the version that is replaced now. */
static void rule_out_replaced(struct search *search, uint32_t version, uint32_t key, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t c = search->readers.first[version_slot(engine, version, key)];
         c != ISO_NONE && !search_failed(engine); c = search->readers.next[c]) {
        uint32_t read = search->readers.of[c];
        uint32_t begin = node_begin(engine, engine->reads.transaction[read]);
        if (engine->reads.writer[read] != OPEN || engine->reads.transaction[read] == t ||
            search->position[begin] != ISO_NONE)
            continue;
        uint32_t candidate = candidate_of(engine, read, version);
        if (candidate != ISO_NONE) {
            rules_prune(engine, read, candidate - engine->candidates.first[read], FACT_GUESS,
                        ISO_NONE);
            if (engine->candidates.count[read] == 1)
                rules_resolve(engine, read);
        }
        if (engine->candidates.count[read] == 0)
            engine->saturation.empty_read = read;
    }
}

/* The readers of a version that begins come before the next writers of its key. */
static void put_readers_first(struct engine *engine, uint32_t version)
{
    uint32_t key = engine->versions.key[version];
    for (uint32_t read = engine->versions.reader[version];
         read != ISO_NONE && !search_failed(engine); read = engine->reads.next[read]) {
        ISO_EACH(span, engine->spans.first, key) {
            if (engine->scheduled.waiting[span] < engine->spans.version[span + 1])
                rules_add_rw(engine, read, engine->scheduled.waiting[span]);
        }
    }
}

/* A writer that has begun commits before the next writers of its key begin. */
static void put_commit_first(struct engine *engine, uint32_t version)
{
    uint32_t key = engine->versions.key[version],
             chain = engine->spans.chain[engine->versions.span[version]];
    uint32_t commit = version_commit(engine, version);
    for (uint32_t span = engine->spans.first[key];
         span < engine->spans.first[key + 1] && !search_failed(engine); span++) {
        uint32_t waiting = engine->scheduled.waiting[span];
        if (waiting >= engine->spans.version[span + 1])
            continue;
        uint32_t begin = version_begin(engine, waiting);
        if (clock_of(engine, begin)[chain] < version_commit_stamp(engine, version))
            search_add_edge(engine, (struct fact){.kind = FACT_GUESS,
                                                  .from = commit,
                                                  .to = begin,
                                                  .read = ISO_NONE,
                                                  .version = waiting,
                                                  .other = version});
    }
}

static void begin_transaction(struct search *search, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t read = engine->reads.first[t];
         read < engine->reads.first[t + 1] && !search_failed(engine); read++) {
        if (engine->reads.writer[read] == OPEN)
            keep_only(engine, read, candidate_now(search, read));
    }
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t version = engine->writes.version[write];
        engine_set(engine, &engine->scheduled.waiting[engine->versions.span[version]], version + 1);
        if (!engine->serial)
            engine_set(engine, &search->open_writer[engine->writes.key[write]], version);
    }
    for (uint32_t write = engine->writes.first[t];
         write < engine->writes.first[t + 1] && !search_failed(engine); write++)
        put_readers_first(engine, engine->writes.version[write]);
}

static void commit_transaction(struct search *search, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t write = engine->writes.first[t];
         write < engine->writes.first[t + 1] && !search_failed(engine); write++) {
        uint32_t key = engine->writes.key[write], *current = &search->current[key],
                 replaced = *current;
        engine_set(engine, current, engine->writes.version[write]);
        if (!engine->serial)
            engine_set(engine, &search->open_writer[key], ISO_NONE);
        if (engine->reads.open)
            rule_out_replaced(search, replaced, key, t);
    }
}

static void advance_chain(struct search *search, uint32_t chain, uint32_t node)
{
    struct engine *engine = search->engine;
    assert(search->position[node] == ISO_NONE &&
           search->scheduled_count < engine->graph.event_count);
    stamp_vector *progress = (stamp_vector *)engine->scheduled.progress + chain / STAMPS_A_VECTOR,
                 next = *progress;
    search_log(search, &search->position[node]);
    search->position[node] = search->scheduled_count;
    search_log(search, &search->scheduled_count);
    search->scheduled[search->scheduled_count++] = node;
    next[chain % STAMPS_A_VECTOR]++;
    search_set_vector(search, progress, next);
    uint32_t last = search->scheduled_count + WINDOW - 1; /* what the window comes to */
    if (last < engine->graph.event_count && engine->saturation.moved_groups[search->likely[last]])
        agenda_add(&engine->saturation.agenda, engine->graph.rank[search->likely[last]]);
}

/* False on conflict. */
bool search_schedule(struct search *search, uint32_t chain, uint32_t node)
{
    assert(node == search_tip(search, chain));
    struct engine *engine = search->engine;
    uint32_t t = node_transaction(engine, node);
    if (node == node_begin(engine, t)) {
        begin_transaction(search, t);
        advance_chain(search, chain, node);
        /* a writer that can commit at once does: nobody has to wait for it */
        uint32_t next = node_commit(engine, t);
        if (!engine->serial && !search_failed(engine) &&
            engine->writes.first[t] != engine->writes.first[t + 1]) {
            if (search_is_ready(search, chain, next) && search_readiness(search, next) == FREE) {
                engine->result->counters.search_free++;
                commit_transaction(search, t);
                advance_chain(search, chain, next);
                return search_propagate(search);
            }
            for (uint32_t write = engine->writes.first[t];
                 write < engine->writes.first[t + 1] && !search_failed(engine); write++)
                put_commit_first(engine, engine->writes.version[write]);
        }
    }
    if (node == node_commit(engine, t)) {
        commit_transaction(search, t);
        if (!engine->serial)
            advance_chain(search, chain, node);
    }
    return search_propagate(search);
}
