/* The forward search's heads: whether the next node of a chain may run, and what follows when it does. */
#include "polygraph/search.h"

static uint32_t node_at(const struct engine *engine, uint32_t chain, uint32_t at)
{
    if (engine->serial)
        return engine->chain_member[engine->chain_first[chain] + at];
    return 2 * engine->chain_member[engine->chain_first[chain] + at / 2] + (at & 1);
}

/* The next node of a chain. */
uint32_t search_head(const struct search *search, uint32_t chain)
{
    return node_at(search->engine, chain, search->engine->progress[chain]);
}

/* Whether all that reaches a chain's head has run. What held it up last is looked at first. */
bool search_is_ready(struct search *search, uint32_t chain, uint32_t node)
{
    struct engine *engine = search->engine;
    const stamp *clock = clock_of(engine, node);
    uint32_t blocker = search->blocker[chain];
    if (blocker != chain && clock[blocker] > engine->progress[blocker])
        return false;
    stamp own = engine->progress[chain]++; /* its own stamp */
    bool ready = true;
    for (uint32_t i = 0; i < engine->stride && ready; i += STAMPS_A_VECTOR) {
        stamp_vector later = *(const stamp_vector *)(clock + i) > *(const stamp_vector *)(engine->progress + i);
        ready = !any_of(later);
        for (uint32_t j = 0; j < STAMPS_A_VECTOR && !ready; j++) {
            if (later[j])
                search->blocker[chain] = i + j;
        }
    }
    engine->progress[chain] = own;
    return ready;
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

/* The first version of a run that has not begun and is not `version`, or the run's end. */
static uint32_t first_waiting(const struct engine *engine, uint32_t run, uint32_t version)
{
    uint32_t waiting = engine->waiting[run];
    return waiting + (waiting == version);
}

/* Whether a version's writer, about to begin, comes before all that wait in any case. */
static bool goes_first(const struct engine *engine, uint32_t version)
{
    uint32_t key = engine->version_key[version], chain = engine->run_chain[engine->version_run[version]];
    stamp commit = version_commit_stamp(engine, version);
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t waiting = first_waiting(engine, run, version);
        if (waiting < engine->run_version[run + 1] && clock_of(engine, version_begin(engine, waiting))[chain] < commit)
            return false;
    }
    return true;
}

/* Whether a ready node may run, and whether that takes a guess. */
enum readiness search_readiness(const struct search *search, uint32_t node)
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
        uint32_t key = engine->write_key[write];
        guesses |=
            commits && engine->open_reads && search->open_readers[search_list_of(engine, search->current[key], key)];
        guesses |= begins && !goes_first(engine, engine->version_of_write[write]);
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
static void hide(struct search *search, uint32_t version, uint32_t key, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t c = search->first_reader[search_list_of(engine, version, key)];
         c != ISO_NONE && !search_failed(engine); c = search->next_reader[c]) {
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

/* The readers of a version that begins come before the next writers of its key. */
static void put_readers_first(struct engine *engine, uint32_t version)
{
    uint32_t key = engine->version_key[version];
    for (uint32_t read = engine->version_reader[version]; read != ISO_NONE && !search_failed(engine);
         read = engine->read_next[read]) {
        for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
            if (engine->waiting[run] < engine->run_version[run + 1])
                rules_add_rw(engine, read, engine->waiting[run]);
        }
    }
}

/* A writer that has begun commits before the next writers of its key begin. */
static void put_commit_first(struct engine *engine, uint32_t version)
{
    uint32_t key = engine->version_key[version], chain = engine->run_chain[engine->version_run[version]];
    uint32_t commit = version_commit(engine, version);
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1] && !search_failed(engine); run++) {
        uint32_t waiting = engine->waiting[run];
        if (waiting >= engine->run_version[run + 1])
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

static void begin(struct search *search, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1] && !search_failed(engine); read++) {
        if (engine->read_writer[read] == OPEN)
            keep_only(engine, read, candidate_now(search, read));
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t version = engine->version_of_write[write];
        engine_set(engine, &engine->waiting[engine->version_run[version]], version + 1);
        if (!engine->serial)
            engine_set(engine, &search->holder[engine->write_key[write]], version);
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !search_failed(engine); write++)
        put_readers_first(engine, engine->version_of_write[write]);
}

static void commit(struct search *search, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !search_failed(engine);
         write++) {
        uint32_t key = engine->write_key[write], *current = &search->current[key], replaced = *current;
        engine_set(engine, current, engine->version_of_write[write]);
        if (!engine->serial)
            engine_set(engine, &search->holder[key], ISO_NONE);
        if (engine->open_reads)
            hide(search, replaced, key, t);
    }
}

static void advance(struct search *search, uint32_t chain, uint32_t node)
{
    struct engine *engine = search->engine;
    stamp_vector *progress = (stamp_vector *)engine->progress + chain / STAMPS_A_VECTOR, next = *progress;
    search_log(search, &search->position[node]);
    search->position[node] = search->run_count;
    search_log(search, &search->run_count);
    search->ran[search->run_count++] = node;
    next[chain % STAMPS_A_VECTOR]++;
    search_set_vector(search, progress, next);
    uint32_t last = search->run_count + WINDOW - 1; /* what the window comes to */
    if (last < engine->event_count && engine->moved_groups[search->likely[last]])
        agenda_add(&engine->agenda, engine->rank[search->likely[last]]);
}

/* False on conflict. */
bool search_run(struct search *search, uint32_t chain, uint32_t node)
{
    struct engine *engine = search->engine;
    uint32_t t = node_transaction(engine, node);
    if (node == node_begin(engine, t)) {
        begin(search, t);
        advance(search, chain, node);
        /* a writer that can commit at once does: nobody has to be told to wait for it */
        uint32_t next = node_commit(engine, t);
        if (!engine->serial && !search_failed(engine) && engine->first_write[t] != engine->first_write[t + 1]) {
            if (search_is_ready(search, chain, next) && search_readiness(search, next) == FREE) {
                engine->result->counters.search_free++;
                commit(search, t);
                advance(search, chain, next);
                return search_propagate(search);
            }
            for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !search_failed(engine);
                 write++)
                put_commit_first(engine, engine->version_of_write[write]);
        }
    }
    if (node == node_commit(engine, t)) {
        commit(search, t);
        if (!engine->serial)
            advance(search, chain, node);
    }
    return search_propagate(search);
}
