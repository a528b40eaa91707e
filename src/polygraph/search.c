/* Forward search: runs the chains' heads forward until all have run, deciding what is open on the way.
 *
 * A head may run when everything that reaches it has run: its clock says so. Running a writer decides that it
 * comes before every version of its keys that has not begun, and that no open read still to run sees what it
 * replaces; these guesses are propagated by the rules of saturation, at once and only among what has not run.
 * What needs no guess runs at once: it costs the others nothing, so if any order explains the history, one
 * does in which it runs now. Else the head least far along its chain is tried; on a conflict all is undone by
 * a log, and the next one is tried. Where no head can run, an earlier guess was wrong. If going back step by
 * step does not get past the place soon, the search jumps back, twice as far each time, and goes on with a
 * little noise in its order. It gives up after some dead ends; it never rejects.
 */
#include "polygraph/polygraph_private.h"

enum { DEAD_ENDS = 1000, PATIENCE = 12, FIRST_JUMP = 4, LONGEST_JUMP = 1024 };

struct change {
    uint32_t *where, old;
};

/* A decision: the heads that could run, the tried ones first. */
struct decision {
    size_t log_count;
    uint32_t first, count, tried; /* into `options`: chains */
};

struct search {
    struct engine *engine;
    struct change *log;
    size_t log_count, log_capacity;
    uint32_t *progress;     /* by chain: nodes that have run */
    uint32_t *position;     /* by node: when it ran, or ISO_NONE */
    uint32_t run_count;     /* nodes that have run */
    uint32_t *current;      /* by key: the newest version that has run, or INITIAL */
    uint32_t *open_readers; /* by version: open reads that have it for a candidate */
    uint32_t *first_reader, *next_reader, *reader_of; /* by version; by candidate: those reads */
    uint32_t *queue, queue_head, queue_count;
    uint8_t *queued;
    struct decision *decisions;
    uint32_t decision_count, decision_capacity;
    uint32_t *options, option_count, option_capacity;
    uint32_t furthest;    /* the most nodes that have run at once */
    uint32_t stuck, jump; /* dead ends since then or the last jump; decisions to jump back over */
    double *share;        /* by chain: of the heads of the decision at hand */
    double noise;         /* in nodes of a chain */
    uint64_t random;
};

void search_log(struct search *search, uint32_t *where)
{
    if (search->log_count == search->log_capacity) {
        size_t old = search->log_capacity, next = iso_column_capacity(old, old + 1);
        search->log = iso_column_grow(search->log, old * sizeof *search->log, next * sizeof *search->log);
        search->log_capacity = next;
    }
    search->log[search->log_count++] = (struct change){where, *where};
}

static void undo_to(struct search *search, size_t count)
{
    struct engine *engine = search->engine;
    while (search->log_count > count) {
        struct change *change = &search->log[--search->log_count];
        *change->where = change->old;
    }
    while (search->queue_count) {
        search->queued[search->queue[search->queue_head++ % engine->node_count]] = 0;
        search->queue_count--;
    }
    search->queue_head = 0;
    engine->resolved_count = 0;
    engine->conflict = false;
    engine->empty_read = ISO_NONE;
}

/* ---- propagation ---- */

static void enqueue(struct search *search, uint32_t node)
{
    if (search->queued[node])
        return;
    search->queued[node] = 1;
    search->queue[(search->queue_head + search->queue_count++) % search->engine->node_count] = node;
}

static void merge(struct search *search, uint32_t from, uint32_t to)
{
    struct engine *engine = search->engine;
    const uint32_t *source = clock_of(engine, from);
    uint32_t *target = clock_of(engine, to);
    bool changed = false;
    if (search->position[to] != ISO_NONE)
        return;
    for (uint32_t i = 0; i < engine->chain_count; i++) {
        if (source[i] <= target[i])
            continue;
        search_log(search, &target[i]);
        target[i] = source[i];
        changed = true;
    }
    if (changed)
        enqueue(search, to);
}

/* The clocks do not know the edge yet. Among what has run, the order of running decides. */
bool search_add_edge(struct engine *engine, struct fact fact)
{
    struct search *search = engine->search;
    uint32_t from = search->position[fact.from], to = search->position[fact.to];
    if (from != ISO_NONE && from < to)
        if (to != ISO_NONE)
            return false;
    if (to != ISO_NONE || reaches(engine, fact.to, fact.from)) {
        engine->conflict = true;
        return false;
    }
    search_log(search, &engine->linked_count);
    search_log(search, &engine->first_out[fact.from]);
    graph_append(engine, fact);
    graph_link(engine);
    merge(search, fact.from, fact.to);
    return true;
}

void search_candidate_gone(struct engine *engine, uint32_t version)
{
    if (version != INITIAL)
        engine_set(engine, &engine->search->open_readers[version], engine->search->open_readers[version] - 1);
}

static bool failed(const struct engine *engine)
{
    return engine->conflict || engine->empty_read != ISO_NONE;
}

/* False on conflict. */
static bool propagate(struct search *search)
{
    struct engine *engine = search->engine;
    while (!failed(engine) && (search->queue_count || engine->resolved_count)) {
        if (!search->queue_count) {
            rules_settle(engine);
            continue;
        }
        uint32_t node = search->queue[search->queue_head];
        search->queue_head = (search->queue_head + 1) % engine->node_count;
        search->queue_count--;
        search->queued[node] = 0;
        rules_apply(engine, node);
        if (!engine->serial && !(node & 1))
            merge(search, node, node + 1);
        for (uint32_t i = engine->first_out[node]; i != ISO_NONE && !failed(engine);
             i = engine->facts[i].next_out)
            merge(search, node, engine->facts[i].to);
    }
    return !failed(engine);
}

/* ---- heads ---- */

static uint32_t chain_length(const struct engine *engine, uint32_t chain)
{
    uint32_t members = engine->chain_first[chain + 1] - engine->chain_first[chain];
    return engine->serial ? members : 2 * members;
}

/* The next node of a chain. */
static uint32_t head_of(const struct search *search, uint32_t chain)
{
    const struct engine *engine = search->engine;
    uint32_t at = search->progress[chain];
    if (engine->serial)
        return engine->chain_member[engine->chain_first[chain] + at];
    return 2 * engine->chain_member[engine->chain_first[chain] + at / 2] + (at & 1);
}

static bool is_ready(const struct search *search, uint32_t chain, uint32_t node)
{
    const struct engine *engine = search->engine;
    const uint32_t *clock = clock_of(engine, node);
    for (uint32_t i = 0; i < engine->chain_count; i++) {
        if (clock[i] > search->progress[i] && i != chain)
            return false;
    }
    return true;
}

/* The candidate of an open read that it would see now; ISO_NONE: none. */
static uint32_t candidate_now(const struct search *search, uint32_t read)
{
    const struct engine *engine = search->engine;
    uint32_t first = engine->first_candidate[read], current = search->current[engine->read_key[read]];
    for (uint32_t i = first; i < first + engine->candidate_count[read]; i++) {
        if (engine->candidates[i] == current)
            return i;
    }
    return ISO_NONE;
}

/* The first version of a run that has not begun. */
static uint32_t first_waiting(const struct search *search, uint32_t run)
{
    const struct engine *engine = search->engine;
    uint32_t latest = run_latest_begin(engine, run, search->progress[engine->run_chain[run]]);
    return latest == ISO_NONE ? engine->run_version[run] : latest + 1;
}

enum readiness { BLOCKED, FREE, GUESSES };

/* Whether a ready node may run, and whether that takes a guess. */
static enum readiness readiness_of(const struct search *search, uint32_t node)
{
    const struct engine *engine = search->engine;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t), guesses = false;
    bool writes = engine->first_write[t] != engine->first_write[t + 1];
    for (uint32_t read = engine->first_read[t]; begins && read < engine->first_read[t + 1]; read++) {
        if (engine->read_writer[read] != OPEN)
            continue;
        if (candidate_now(search, read) == ISO_NONE)
            return BLOCKED;
        guesses |= writes;
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !guesses; write++) {
        uint32_t version = engine->version_of_write[write], key = engine->write_key[write];
        uint32_t current = search->current[key];
        guesses |= commits && current != INITIAL && search->open_readers[current];
        guesses |= commits && current == INITIAL && engine->open_reads;
        for (uint32_t run = engine->first_run[key]; begins && run < engine->first_run[key + 1] && !guesses;
             run++) {
            uint32_t waiting = first_waiting(search, run);
            waiting += waiting == version;
            guesses = waiting < engine->run_version[run + 1] &&
                      !reaches(engine, node_commit(engine, t),
                               node_begin(engine, engine->version_transaction[waiting]));
        }
    }
    return guesses ? GUESSES : FREE;
}

/* ---- running a node ---- */

static void keep_only(struct engine *engine, uint32_t read, uint32_t candidate)
{
    uint32_t first = engine->first_candidate[read], version = engine->candidates[candidate];
    for (uint32_t i = engine->candidate_count[read]; i-- > 0;) {
        if (engine->candidates[first + i] != version)
            rules_prune(engine, read, i, FACT_GUESS, ISO_NONE);
    }
    rules_resolve(engine, read);
}

/* Open reads that have not begun cannot see the version that is replaced now. */
static void hide(struct search *search, uint32_t version, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t c = search->first_reader[version]; c != ISO_NONE && !failed(engine);
         c = search->next_reader[c]) {
        uint32_t read = search->reader_of[c], first = engine->first_candidate[read];
        uint32_t begin = node_begin(engine, engine->read_transaction[read]);
        if (engine->read_writer[read] != OPEN || engine->read_transaction[read] == t ||
            search->position[begin] != ISO_NONE)
            continue;
        for (uint32_t i = 0; i < engine->candidate_count[read]; i++) {
            if (engine->candidates[first + i] != version)
                continue;
            rules_prune(engine, read, i, FACT_GUESS, ISO_NONE);
            if (engine->candidate_count[read] == 1)
                rules_resolve(engine, read);
            break;
        }
        if (engine->candidate_count[read] == 0)
            engine->empty_read = read;
    }
}

static void put_before_waiting(struct search *search, uint32_t t, uint32_t version)
{
    struct engine *engine = search->engine;
    uint32_t key = engine->version_key[version], commit = node_commit(engine, t);
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1] && !failed(engine); run++) {
        uint32_t waiting = first_waiting(search, run);
        waiting += waiting == version;
        if (waiting >= engine->run_version[run + 1])
            continue;
        uint32_t begin = node_begin(engine, engine->version_transaction[waiting]);
        if (!reaches(engine, commit, begin))
            search_add_edge(engine, (struct fact){.kind = FACT_GUESS,
                                                  .from = commit,
                                                  .to = begin,
                                                  .read = ISO_NONE,
                                                  .version = waiting,
                                                  .other = version});
    }
}

static bool run_node(struct search *search, uint32_t chain, uint32_t node)
{
    struct engine *engine = search->engine;
    uint32_t t = node_transaction(engine, node);
    if (node == node_begin(engine, t)) {
        for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1] && !failed(engine);
             read++) {
            if (engine->read_writer[read] == OPEN)
                keep_only(engine, read, candidate_now(search, read));
        }
        for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !failed(engine);
             write++)
            put_before_waiting(search, t, engine->version_of_write[write]);
    }
    search_log(search, &search->position[node]);
    search->position[node] = search->run_count;
    search_log(search, &search->run_count);
    engine->order[search->run_count++] = node;
    search_log(search, &search->progress[chain]);
    search->progress[chain]++;
    for (uint32_t write = engine->first_write[t];
         node == node_commit(engine, t) && write < engine->first_write[t + 1] && !failed(engine); write++) {
        uint32_t *current = &search->current[engine->write_key[write]], replaced = *current;
        engine_set(engine, current, engine->version_of_write[write]);
        if (replaced != INITIAL)
            hide(search, replaced, t);
    }
    return propagate(search);
}

/* ---- the search ---- */

static void add_option(struct search *search, uint32_t chain)
{
    if (search->option_count == search->option_capacity) {
        search->option_capacity =
            (uint32_t)iso_column_capacity(search->option_capacity, search->option_count + 1u);
        search->options = iso_reallocate(search->options, search->option_capacity * sizeof *search->options);
    }
    search->options[search->option_count++] = chain;
}

static double draw(struct search *search)
{
    search->random ^= search->random << 13;
    search->random ^= search->random >> 7;
    search->random ^= search->random << 17;
    return (double)(search->random >> 11) / 9007199254740992.0;
}

/* How far along its chain a head stands: chains tend to run side by side. */
static double share_of(struct search *search, uint32_t chain)
{
    double noise = search->noise > 0 ? search->noise * draw(search) : 0.5;
    return (search->progress[chain] + noise) / chain_length(search->engine, chain);
}

/* Heads that could run with a guess, the one least far along its chain first. */
static bool open_decision(struct search *search)
{
    struct engine *engine = search->engine;
    uint32_t first = search->option_count;
    for (uint32_t chain = 0; chain < engine->chain_count; chain++) {
        if (search->progress[chain] == chain_length(engine, chain))
            continue;
        uint32_t node = head_of(search, chain);
        if (!is_ready(search, chain, node) || readiness_of(search, node) == BLOCKED)
            continue;
        add_option(search, chain);
        search->share[chain] = share_of(search, chain);
        for (uint32_t i = search->option_count - 1;
             i > first && search->share[chain] < search->share[search->options[i - 1]]; i--) {
            search->options[i] = search->options[i - 1];
            search->options[i - 1] = chain;
        }
    }
    if (search->option_count == first)
        return false;
    if (search->decision_count == search->decision_capacity) {
        search->decision_capacity =
            (uint32_t)iso_column_capacity(search->decision_capacity, search->decision_count + 1u);
        search->decisions =
            iso_reallocate(search->decisions, search->decision_capacity * sizeof *search->decisions);
    }
    search->decisions[search->decision_count++] =
        (struct decision){search->log_count, first, search->option_count - first, 0};
    return true;
}

/* Forgets the last decisions, and their order. */
static void jump_back(struct search *search)
{
    uint32_t back = search->jump < search->decision_count ? search->jump : search->decision_count;
    search->decision_count -= back;
    const struct decision *decision = &search->decisions[search->decision_count];
    undo_to(search, decision->log_count);
    search->option_count = decision->first;
    search->noise = 1 + 4.0 * search->jump / search->engine->chain_count;
    search->jump = search->jump < LONGEST_JUMP ? 2 * search->jump : FIRST_JUMP;
    search->stuck = 0;
}

static void note_progress(struct search *search)
{
    if (search->run_count <= search->furthest)
        return;
    search->furthest = search->run_count;
    search->stuck = 0;
    search->jump = FIRST_JUMP;
    search->noise = 0;
}

/* Tries the next option of the last decision that has one; false: there is none any more. */
static bool try_options(struct search *search)
{
    struct iso_polygraph_counters *counters = &search->engine->result->counters;
    while (search->decision_count) {
        struct decision *decision = &search->decisions[search->decision_count - 1];
        undo_to(search, decision->log_count);
        if (decision->tried == decision->count) {
            search->option_count = decision->first;
            search->decision_count--;
            if (++counters->search_dead_ends >= DEAD_ENDS + search->engine->count / 2)
                return false;
            if (++search->stuck >= PATIENCE && search->decision_count) {
                jump_back(search);
                return true;
            }
            continue;
        }
        uint32_t chain = search->options[decision->first + decision->tried++];
        counters->search_decisions++;
        if (run_node(search, chain, head_of(search, chain)))
            return true;
    }
    return false;
}

/* Runs all that needs no guess; false: a conflict. */
static bool run_free(struct search *search)
{
    struct engine *engine = search->engine;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t chain = 0; chain < engine->chain_count; chain++) {
            while (search->progress[chain] < chain_length(engine, chain)) {
                uint32_t node = head_of(search, chain);
                if (!is_ready(search, chain, node) || readiness_of(search, node) != FREE)
                    break;
                engine->result->counters.search_free++;
                any = true;
                if (!run_node(search, chain, node))
                    return false;
            }
        }
    }
    return true;
}

static bool run_all(struct search *search)
{
    struct engine *engine = search->engine;
    bool fine = true;
    for (;;) {
        fine = fine && run_free(search);
        note_progress(search);
        if (fine && search->run_count == engine->node_count)
            return true;
        if (engine_out_of_time(engine))
            return false;
        fine = (fine && open_decision(search)) || search->decision_count;
        if (!fine || !try_options(search))
            return false;
    }
}

static void index_open_reads(struct search *search)
{
    struct engine *engine = search->engine;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t first = engine->first_candidate[read];
        if (engine->read_writer[read] != OPEN)
            continue;
        for (uint32_t i = first; i < first + engine->candidate_count[read]; i++) {
            uint32_t version = engine->candidates[i];
            if (version == INITIAL)
                continue;
            /* candidates move within their read when one goes; the entry only has to lead to the read */
            search->reader_of[i] = read;
            search->next_reader[i] = search->first_reader[version];
            search->first_reader[version] = i;
            search->open_readers[version]++;
        }
    }
}

static void init(struct search *search, struct engine *engine)
{
    size_t candidates = ((size_t)engine->candidate_total + 1) * sizeof(uint32_t);
    size_t versions = ((size_t)engine->version_count + 1) * sizeof(uint32_t);
    size_t nodes = ((size_t)engine->node_count + 1) * sizeof(uint32_t);
    size_t keys = ((size_t)engine->history->key_count + 1) * sizeof(uint32_t);
    *search = (struct search){.engine = engine};
    search->progress = iso_allocate_zeroed((size_t)engine->chain_count + 1, sizeof *search->progress);
    search->position = memset(iso_allocate(nodes), 0xff, nodes);
    search->current = iso_allocate(keys);
    for (uint32_t key = 0; key < engine->history->key_count; key++)
        search->current[key] = INITIAL;
    search->open_readers = memset(iso_allocate(versions), 0, versions);
    search->first_reader = memset(iso_allocate(versions), 0xff, versions);
    search->next_reader = iso_allocate(candidates);
    search->reader_of = iso_allocate(candidates);
    search->queue = iso_allocate(nodes);
    search->share = iso_allocate(((size_t)engine->chain_count + 1) * sizeof *search->share);
    search->jump = FIRST_JUMP;
    search->random = 0x9e3779b97f4a7c15u;
    search->queued = iso_allocate_zeroed((size_t)engine->node_count + 1, 1);
    index_open_reads(search);
}

static void release(struct search *search)
{
    iso_column_free(search->log, search->log_capacity * sizeof *search->log);
    iso_free(search->progress);
    iso_free(search->position);
    iso_free(search->current);
    iso_free(search->open_readers);
    iso_free(search->first_reader);
    iso_free(search->next_reader);
    iso_free(search->reader_of);
    iso_free(search->queue);
    iso_free(search->queued);
    iso_free(search->decisions);
    iso_free(search->options);
    iso_free(search->share);
}

bool search_order(struct engine *engine)
{
    struct search search;
    init(&search, engine);
    engine->search = &search;
    bool found = run_all(&search);
    if (!found) /* propose what has run, then the rest as it stood */
        for (uint32_t node = 0; node < engine->node_count; node++)
            engine->rank[node] = search.position[node] != ISO_NONE ? search.position[node]
                                                                   : engine->node_count + engine->rank[node];
    if (!found)
        undo_to(&search, 0);
    engine->search = NULL;
    release(&search);
    return found;
}
