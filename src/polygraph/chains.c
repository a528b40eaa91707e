/* Chains: a cover of the transactions by paths of the known graph, so that what reaches a node is one number
 * a chain.
 *
 * Sessions are paths already. Where sessions are short or their order does not count, a transaction may
 * follow any known predecessor that nobody else follows; that only ever lowers the number of chains.
 */
#include "polygraph/polygraph_private.h"

uint32_t *session_predecessors(const struct engine *engine)
{
    const struct iso_history *history = engine->history;
    uint32_t *before = iso_allocate(((size_t)engine->count + 1) * sizeof *before);
    memset(before, 0xff, ((size_t)engine->count + 1) * sizeof *before);
    if (!iso_model_keeps_sessions(engine->options->model))
        return before;
    for (uint32_t s = 0; s < history->session_count; s++) {
        uint32_t last = ISO_NONE;
        for (uint32_t i = history->session_first[s]; i < history->session_first[s + 1]; i++) {
            uint32_t local = engine->local[history->session_order[i]];
            if (local == ISO_NONE)
                continue;
            before[local] = last;
            /* one of unknown outcome may take effect long after its session went on */
            if (iso_status_of(history, history->session_order[i]) == ISO_COMMITTED)
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
    uint32_t write = engine->read_writer[read];
    return write == OPEN || write == INITIAL ? ISO_NONE : engine->write_transaction[write];
}

static void add_successor(struct known *known, uint32_t from, uint32_t to)
{
    known->after[known->first[from + 1]++] = to;
    known->degree[to]++;
}

static void known_init(struct known *known, const struct engine *engine)
{
    uint32_t edges = engine->count;
    known->before = session_predecessors(engine);
    known->first = iso_allocate_zeroed((size_t)engine->count + 2, sizeof *known->first);
    known->degree = iso_allocate_zeroed((size_t)engine->count + 1, sizeof *known->degree);
    known->followed = iso_allocate_zeroed((size_t)engine->count + 1, 1);
    for (uint32_t t = 0; t < engine->count; t++) {
        if (known->before[t] == ISO_NONE)
            continue;
        known->first[known->before[t] + 2]++;
        known->followed[known->before[t]] = 1;
    }
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t writer = only_writer(engine, read);
        if (writer != ISO_NONE)
            known->first[writer + 2]++;
    }
    for (uint32_t t = 0; t < engine->count; t++)
        known->first[t + 2] += known->first[t + 1];
    edges = known->first[engine->count + 1];
    known->after = iso_allocate(((size_t)edges + 1) * sizeof *known->after);
    for (uint32_t t = 0; t < engine->count; t++) {
        if (known->before[t] != ISO_NONE)
            add_successor(known, known->before[t], t);
    }
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t writer = only_writer(engine, read);
        if (writer != ISO_NONE)
            add_successor(known, writer, engine->read_transaction[read]);
    }
}

static void known_release(struct known *known)
{
    iso_free(known->first);
    iso_free(known->after);
    iso_free(known->degree);
    iso_free(known->before);
    iso_free(known->followed);
}

static bool may_go_on(const struct engine *engine, const uint32_t *tail, uint32_t t)
{
    return tail[engine->chain[t]] == t && engine->place[t] + 1 < LONGEST_CHAIN;
}

/* A chain that may go on with the transaction: its session's, or one whose end is a known predecessor and the
 * last of its session. */
static uint32_t find_chain(const struct engine *engine, const struct known *known, const uint32_t *tail, uint32_t t)
{
    uint32_t before = known->before[t];
    if (before != ISO_NONE && may_go_on(engine, tail, before))
        return engine->chain[before];
    for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1]; read++) {
        uint32_t writer = only_writer(engine, read);
        if (writer != ISO_NONE && !known->followed[writer] && may_go_on(engine, tail, writer))
            return engine->chain[writer];
    }
    return ISO_NONE;
}

/* Chains by one walk in topological order. */
static bool cover(struct engine *engine, struct known *known)
{
    uint32_t *queue = iso_allocate(((size_t)engine->count + 1) * sizeof *queue), head = 0, end = 0;
    uint32_t *tail = iso_allocate(((size_t)engine->count + 1) * sizeof *tail);
    for (uint32_t t = 0; t < engine->count; t++) {
        if (!known->degree[t])
            queue[end++] = t;
    }
    for (; head < end; head++) {
        uint32_t t = queue[head], chain = find_chain(engine, known, tail, t);
        engine->place[t] = chain == ISO_NONE ? 0 : engine->place[tail[chain]] + 1;
        if (chain == ISO_NONE)
            chain = engine->chain_count++;
        engine->chain[t] = chain;
        tail[chain] = t;
        for (uint32_t i = known->first[t]; i < known->first[t + 1]; i++) {
            if (--known->degree[known->after[i]] == 0)
                queue[end++] = known->after[i];
        }
    }
    iso_free(queue);
    iso_free(tail);
    return end == engine->count;
}

static void list_members(struct engine *engine)
{
    engine->chain_first = iso_allocate_zeroed((size_t)engine->chain_count + 2, sizeof *engine->chain_first);
    engine->chain_member = iso_allocate(((size_t)engine->count + 1) * sizeof *engine->chain_member);
    for (uint32_t t = 0; t < engine->count; t++)
        engine->chain_first[engine->chain[t] + 1]++;
    for (uint32_t c = 0; c < engine->chain_count; c++)
        engine->chain_first[c + 1] += engine->chain_first[c];
    for (uint32_t t = 0; t < engine->count; t++)
        engine->chain_member[engine->chain_first[engine->chain[t]] + engine->place[t]] = t;
}

bool chains_build(struct engine *engine)
{
    struct known known;
    known_init(&known, engine);
    engine->chain = iso_allocate(((size_t)engine->count + 1) * sizeof *engine->chain);
    engine->place = iso_allocate(((size_t)engine->count + 1) * sizeof *engine->place);
    bool fine = cover(engine, &known);
    known_release(&known);
    if (!fine) { /* no order, no chains: versions still want some order */
        engine->chain_count = 1;
        for (uint32_t t = 0; t < engine->count; t++) {
            engine->chain[t] = 0;
            engine->place[t] = t;
        }
    }
    list_members(engine);
    engine->result->counters.chains = engine->chain_count;
    return fine;
}

void chains_release(struct engine *engine)
{
    iso_free(engine->chain);
    iso_free(engine->place);
    iso_free(engine->chain_first);
    iso_free(engine->chain_member);
}

/* ---- versions ---- */

static void place_versions(struct engine *engine)
{
    uint32_t keys = engine->history->key_count;
    uint32_t *next = iso_allocate_zeroed((size_t)keys + 2, sizeof *next);
    for (uint32_t write = 0; write < engine->write_count; write++)
        next[engine->write_key[write] + 2]++;
    for (uint32_t key = 0; key < keys; key++)
        next[key + 2] += next[key + 1];
    for (uint32_t i = 0; i < engine->count; i++) {
        uint32_t t = engine->chain_member[i];
        for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
            uint32_t version = next[engine->write_key[write] + 1]++;
            engine->version_of_write[write] = version;
            engine->version_transaction[version] = t;
            engine->version_place[version] = (stamp)engine->place[t];
            engine->version_key[version] = engine->write_key[write];
            engine->version_reader[version] = ISO_NONE;
        }
    }
    engine->first_version = next;
}

static void cut_runs(struct engine *engine)
{
    uint32_t keys = engine->history->key_count;
    engine->first_run = iso_allocate(((size_t)keys + 1) * sizeof *engine->first_run);
    for (uint32_t key = 0; key < keys; key++) {
        engine->first_run[key] = engine->run_count;
        uint32_t last = ISO_NONE;
        for (uint32_t v = engine->first_version[key]; v < engine->first_version[key + 1]; v++) {
            uint32_t chain = engine->chain[engine->version_transaction[v]];
            if (chain != last) {
                engine->run_chain[engine->run_count] = last = chain;
                engine->run_version[engine->run_count++] = v;
            }
            engine->version_run[v] = engine->run_count - 1;
        }
    }
    engine->first_run[keys] = engine->run_count;
    engine->run_version[engine->run_count] = engine->version_count;
}

void versions_sort(struct engine *engine)
{
    size_t versions = ((size_t)engine->write_count + 1) * sizeof(uint32_t);
    size_t reads = ((size_t)engine->read_count + 1) * sizeof(uint32_t);
    engine->version_count = engine->write_count;
    engine->version_of_write = iso_allocate(versions);
    engine->version_transaction = iso_allocate(versions);
    engine->version_key = iso_allocate(versions);
    engine->version_run = iso_allocate(versions);
    engine->version_place = iso_allocate(versions);
    engine->version_reader = iso_allocate(versions);
    engine->run_chain = iso_allocate(versions);
    engine->run_version = iso_allocate(versions);
    engine->run_cursor = memset(iso_allocate(versions), 0, versions);
    engine->read_next = iso_allocate(reads);
    place_versions(engine);
    cut_runs(engine);
    origins_to_versions(engine);
}

void versions_release(struct engine *engine)
{
    iso_free(engine->version_of_write);
    iso_free(engine->version_transaction);
    iso_free(engine->version_key);
    iso_free(engine->version_run);
    iso_free(engine->version_place);
    iso_free(engine->version_reader);
    iso_free(engine->first_version);
    iso_free(engine->first_run);
    iso_free(engine->run_chain);
    iso_free(engine->run_version);
    iso_free(engine->run_cursor);
    iso_free(engine->read_next);
}
