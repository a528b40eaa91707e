/* Chains: a cover of the transactions by paths of the known graph, so that what reaches a node is
 * one number a chain.
 *
 * Sessions are paths already. Where sessions are short or their order does not count, a transaction
 * may follow any known predecessor that nobody else follows; that only ever lowers the number of
 * chains.
 */
#include <assert.h>

#include "polygraph/engine_private.h"

uint32_t *session_predecessors(const struct engine *engine)
{
    const struct iso_history *history = engine->history;
    uint32_t *before = iso_numbers_none(engine->transactions.count);
    if (!iso_level_keeps_sessions(engine->options->level))
        return before;
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        uint32_t last = ISO_NONE;
        ISO_EACH(i, history->sessions.first, s) {
            uint32_t local = engine->transactions.local[history->sessions.order[i]];
            if (local == ISO_NONE)
                continue;
            before[local] = last;
            /* one of unknown outcome may take effect long after its session went on */
            if (iso_status_of(history, history->sessions.order[i]) == ISO_COMMITTED)
                last = local;
        }
    }
    return before;
}

/* Known predecessors of each transaction, as a graph on transactions. */
struct known {
    uint32_t *first, *after; /* successors: after[first[t]] to after[first[t + 1] - 1] */
    uint32_t *degree;        /* predecessors left */
    uint32_t *before;        /* in the session */
    uint8_t *followed;       /* a transaction of the same session follows it */
};

/* The one possible writer of a read, or ISO_NONE. */
static uint32_t only_writer(const struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    uint32_t write = engine->reads.writer[read];
    return write == OPEN || write == INITIAL ? ISO_NONE : engine->writes.transaction[write];
}

static void add_successor(struct known *known, uint32_t from, uint32_t to)
{
    known->after[known->first[from + 1]++] = to;
    known->degree[to]++;
}

static void known_init(struct known *known, const struct engine *engine)
{
    uint32_t edges = engine->transactions.count;
    known->before = session_predecessors(engine);
    known->first = iso_numbers_zero((size_t)engine->transactions.count + 1);
    known->degree = iso_numbers_zero(engine->transactions.count);
    known->followed = iso_allocate_zeroed((size_t)engine->transactions.count + 1, 1);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        if (known->before[t] == ISO_NONE)
            continue;
        known->first[known->before[t] + 2]++;
        known->followed[known->before[t]] = 1;
    }
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t writer = only_writer(engine, read);
        if (writer != ISO_NONE)
            known->first[writer + 2]++;
    }
    iso_running_sums(known->first + 1, (size_t)engine->transactions.count + 1);
    edges = known->first[engine->transactions.count + 1];
    known->after = iso_numbers(edges);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        if (known->before[t] != ISO_NONE)
            add_successor(known, known->before[t], t);
    }
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t writer = only_writer(engine, read);
        if (writer != ISO_NONE)
            add_successor(known, writer, engine->reads.transaction[read]);
    }
}

static bool may_go_on(const struct engine *engine, const uint32_t *tail, uint32_t t)
{
    return tail[engine->chains.of[t]] == t && engine->chains.position[t] + 1 < LONGEST_CHAIN;
}

/* A chain that may go on with the transaction: its session's, or one whose end is a known
 * predecessor and the last of its session. */
static uint32_t find_chain(const struct engine *engine, const struct known *known,
                           const uint32_t *tail, uint32_t t)
{
    uint32_t before = known->before[t];
    if (before != ISO_NONE && may_go_on(engine, tail, before))
        return engine->chains.of[before];
    ISO_EACH(read, engine->reads.first, t) {
        uint32_t writer = only_writer(engine, read);
        if (writer != ISO_NONE && !known->followed[writer] && may_go_on(engine, tail, writer))
            return engine->chains.of[writer];
    }
    return ISO_NONE;
}

/* Chains by one walk in topological order. */
static bool cover_with_chains(struct engine *engine, struct known *known)
{
    uint32_t *queue = iso_numbers(engine->transactions.count), head = 0, end = 0;
    uint32_t *tail = iso_numbers(engine->transactions.count);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        if (!known->degree[t])
            queue[end++] = t;
    }
    for (; head < end; head++) {
        uint32_t t = queue[head], chain = find_chain(engine, known, tail, t);
        engine->chains.position[t] =
            chain == ISO_NONE ? 0 : engine->chains.position[tail[chain]] + 1;
        if (chain == ISO_NONE)
            chain = engine->chains.count++;
        engine->chains.of[t] = chain;
        tail[chain] = t;
        ISO_EACH(i, known->first, t) {
            if (--known->degree[known->after[i]] == 0)
                queue[end++] = known->after[i];
        }
    }
    ISO_FREE_ALL(queue, tail);
    return end == engine->transactions.count;
}

static void list_members(struct engine *engine)
{
    engine->chains.first = iso_numbers_zero((size_t)engine->chains.count + 1);
    engine->chains.member = iso_numbers(engine->transactions.count);
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        engine->chains.first[engine->chains.of[t] + 1]++;
    iso_running_sums(engine->chains.first, (size_t)engine->chains.count + 1);
    assert(engine->chains.first[engine->chains.count] == engine->transactions.count);
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        engine->chains
            .member[engine->chains.first[engine->chains.of[t]] + engine->chains.position[t]] = t;
}

bool chains_build(struct engine *engine)
{
    struct known known;
    known_init(&known, engine);
    engine->chains.of = iso_numbers(engine->transactions.count);
    engine->chains.position = iso_numbers(engine->transactions.count);
    bool fine = cover_with_chains(engine, &known);
    ISO_FREE_ALL(known.first, known.after, known.degree, known.before, known.followed);
    if (!fine) { /* no order, no chains: versions still want some order */
        engine->chains.count = 1;
        for (uint32_t t = 0; t < engine->transactions.count; t++) {
            engine->chains.of[t] = 0;
            engine->chains.position[t] = t;
        }
    }
    list_members(engine);
    engine->result->counters.chains = engine->chains.count;
    return fine;
}

void chains_release(struct engine *engine)
{
    ISO_FREE_ALL(engine->chains.of, engine->chains.position, engine->chains.first,
                 engine->chains.member);
}

/* ---- versions ---- */

static void place_versions(struct engine *engine)
{
    uint32_t keys = engine->history->keys.count;
    uint32_t *next = iso_allocate_zeroed((size_t)keys + 2, sizeof *next);
    for (uint32_t write = 0; write < engine->writes.count; write++)
        next[engine->writes.key[write] + 2]++;
    iso_running_sums(next + 1, (size_t)keys + 1);
    for (uint32_t i = 0; i < engine->transactions.count; i++) {
        uint32_t t = engine->chains.member[i];
        ISO_EACH(write, engine->writes.first, t) {
            uint32_t version = next[engine->writes.key[write] + 1]++;
            engine->writes.version[write] = version;
            engine->versions.transaction[version] = t;
            engine->versions.position[version] = (stamp)engine->chains.position[t];
            engine->versions.key[version] = engine->writes.key[write];
            engine->versions.reader[version] = ISO_NONE;
        }
    }
    assert(next[keys] == engine->writes.count);
    engine->versions.first = next;
}

static void cut_spans(struct engine *engine)
{
    uint32_t keys = engine->history->keys.count;
    engine->spans.first = iso_numbers(keys);
    for (uint32_t key = 0; key < keys; key++) {
        engine->spans.first[key] = engine->spans.count;
        uint32_t last = ISO_NONE;
        ISO_EACH(v, engine->versions.first, key) {
            uint32_t chain = engine->chains.of[engine->versions.transaction[v]];
            if (chain != last) {
                engine->spans.chain[engine->spans.count] = last = chain;
                engine->spans.version[engine->spans.count++] = v;
            }
            engine->versions.span[v] = engine->spans.count - 1;
        }
    }
    assert(engine->spans.count <= engine->versions.count);
    engine->spans.first[keys] = engine->spans.count;
    engine->spans.version[engine->spans.count] = engine->versions.count;
}

void versions_sort(struct engine *engine)
{
    engine->versions.count = engine->writes.count;
    engine->writes.version = iso_numbers(engine->writes.count);
    engine->versions.transaction = iso_numbers(engine->writes.count);
    engine->versions.key = iso_numbers(engine->writes.count);
    engine->versions.span = iso_numbers(engine->writes.count);
    engine->versions.position = iso_allocate(((size_t)engine->writes.count + 1) * sizeof(stamp));
    engine->versions.reader = iso_numbers(engine->writes.count);
    engine->spans.chain = iso_numbers(engine->writes.count);
    engine->spans.version = iso_numbers(engine->writes.count);
    engine->spans.cursor = iso_numbers_zero(engine->writes.count);
    engine->reads.next = iso_numbers(engine->reads.count);
    place_versions(engine);
    cut_spans(engine);
    read_from_to_versions(engine);
}

uint32_t *versions_initial(const struct engine *engine)
{
    uint32_t *current = iso_numbers(engine->history->keys.count);
    for (uint32_t key = 0; key < engine->history->keys.count; key++)
        current[key] = INITIAL;
    return current;
}

void versions_release(struct engine *engine)
{
    ISO_FREE_ALL(engine->writes.version, engine->versions.transaction, engine->versions.key,
                 engine->versions.span, engine->versions.position, engine->versions.reader,
                 engine->versions.first, engine->spans.first, engine->spans.chain,
                 engine->spans.version, engine->spans.cursor, engine->reads.next);
}
