/* Forward search: runs the chains' heads forward until all have run, deciding what is open on the way.
 *
 * A head may run when everything that reaches it has run: its clock says so. Running a writer decides that it
 * comes before every version of its keys that has not begun, and that no open read still to run sees what it
 * replaces; these guesses are propagated by the rules of saturation, at once and only among what has not run:
 * clocks do not tell of nodes that have run, for those hold nothing up any more. What they still say is local
 * to their keys: readers of a version that has begun come before the next writer in each chain.
 *
 * News goes as far as a window of nodes ahead in each chain, and waits there until the window comes to it.
 * Only how early a conflict is seen depends on that: a node always knows its direct predecessors.
 *
 * What needs no guess runs at once: it costs the others nothing, so if any order explains the history, one
 * does in which it runs now. Else the head least far along its chain is tried; on a conflict all is undone by
 * a log, and the next one is tried. Where no head can run, an earlier guess was wrong. If going back step by
 * step does not get past the place soon, the search jumps back, twice as far each time, and goes on with a
 * little noise in its order. It gives up after some dead ends; it never rejects.
 */
#include "polygraph/polygraph_private.h"

enum { LOOK_UP = 256 };                /* steps between looks at the clock on the wall */
enum { WINDOW = 4096, NARROWEST = 8 }; /* nodes, of all chains together; of one chain */
enum { DEAD_ENDS = 1000, PATIENCE = 12, FIRST_JUMP = 4, LONGEST_JUMP = 1024 };

struct change {
    uint32_t *where, old;
};

/* The same for a vector of a clock. */
struct clock_change {
    stamp_vector *where, old;
};

/* A node that was looked at, for what had moved. */
struct look {
    uint64_t groups;
    uint32_t node;
};

/* A decision: the heads that could run, the tried ones first. */
struct decision {
    size_t log_count, clock_log_count, look_count;
    uint32_t first, count, tried; /* into `options`: chains */
};

struct search {
    struct engine *engine;
    struct change *log;
    size_t log_count, log_capacity;
    struct clock_change *clock_log;
    size_t clock_log_count, clock_log_capacity;
    struct look *looks;
    size_t look_count, look_capacity;
    uint32_t window;        /* nodes of a chain */
    uint32_t *ran;          /* nodes in the order in which they ran */
    uint32_t *position;     /* by node: when it ran, or ISO_NONE */
    uint32_t run_count;     /* nodes that have run */
    uint32_t *current;      /* by key: the newest version that has run, or INITIAL */
    uint32_t *holder;       /* by key: the version that has begun and not committed, or ISO_NONE */
    uint32_t *open_readers; /* by version, and then by key for the initial one: open reads that have it for a
                               candidate */
    uint32_t *first_reader, *next_reader, *reader_of; /* likewise; by candidate: those reads */
    struct agenda reads;                              /* open reads one of whose candidates' clocks has moved */
    uint32_t *blocker;                                /* by chain: the chain that last held its head up */
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

void search_set_vector(struct search *search, stamp_vector *where, stamp_vector value)
{
    if (search->clock_log_count == search->clock_log_capacity) {
        size_t old = search->clock_log_capacity, next = iso_column_capacity(old, old + 1);
        search->clock_log =
            iso_column_grow(search->clock_log, old * sizeof *search->clock_log, next * sizeof *search->clock_log);
        search->clock_log_capacity = next;
    }
    search->clock_log[search->clock_log_count++] = (struct clock_change){where, *where};
    *where = value;
}

/* Whether news reaches a node yet. */
static bool is_near(const struct search *search, uint32_t node)
{
    const struct engine *engine = search->engine;
    if (node >= engine->event_count) /* of time */
        return true;
    return node_stamp(engine, node) <= engine->progress[engine->chain[node_transaction(engine, node)]] + search->window;
}

static void log_look(struct search *search, uint32_t node, uint64_t groups)
{
    if (search->look_count == search->look_capacity) {
        size_t old = search->look_capacity, next = iso_column_capacity(old, old + 1);
        search->looks = iso_column_grow(search->looks, old * sizeof *search->looks, next * sizeof *search->looks);
        search->look_capacity = next;
    }
    search->looks[search->look_count++] = (struct look){groups, node};
}

/* What waited for the window then waits again; what came to it since may wait too, for nothing. */
static void undo_to(struct search *search, const struct decision *decision)
{
    struct engine *engine = search->engine;
    while (search->log_count > decision->log_count) {
        struct change *change = &search->log[--search->log_count];
        *change->where = change->old;
    }
    while (search->clock_log_count > decision->clock_log_count) {
        struct clock_change *change = &search->clock_log[--search->clock_log_count];
        *change->where = change->old;
    }
    while (search->look_count > decision->look_count) {
        const struct look *look = &search->looks[--search->look_count];
        if (!is_near(search, look->node))
            engine->moved_groups[look->node] |= look->groups;
    }
    for (uint32_t rank; (rank = agenda_take(&engine->agenda)) != ISO_NONE;) {
        if (is_near(search, engine->order[rank]))
            engine->moved_groups[engine->order[rank]] = 0;
    }
    agenda_clear(&search->reads);
    engine->conflict = false;
    engine->empty_read = ISO_NONE;
}

/* ---- propagation ---- */

static void merge(struct search *search, uint32_t from, uint32_t to, uint64_t groups)
{
    struct engine *engine = search->engine;
    const stamp_vector *source = (const stamp_vector *)clock_of(engine, from);
    const stamp_vector *progress = (const stamp_vector *)engine->progress;
    stamp_vector *target = (stamp_vector *)clock_of(engine, to);
    uint64_t moved = 0;
    if (search->position[to] != ISO_NONE)
        return;
    if (to < engine->event_count && reaches(engine, to, from))
        engine->conflict = true;
    for (struct vectors at = vectors_of(engine, groups); next_vector(&at);) {
        stamp_vector a = source[at.vector], b = target[at.vector], larger = (a > b) & (a > progress[at.vector]);
        if (!any_of(larger))
            continue;
        search_set_vector(search, &target[at.vector], (a & larger) | (b & ~larger));
        moved |= (uint64_t)1 << at.vector / at.a_group;
    }
    if (!moved)
        return;
    engine->moved_groups[to] |= moved;
    if (is_near(search, to))
        agenda_add(&engine->agenda, engine->rank[to]);
}

/* From what has run, the order of running keeps it; to that, it is a conflict. */
bool search_add_edge(struct engine *engine, struct fact fact)
{
    struct search *search = engine->search;
    uint32_t from = search->position[fact.from], to = search->position[fact.to];
    if (from != ISO_NONE && (to == ISO_NONE || from < to))
        return false;
    if (to != ISO_NONE || reaches(engine, fact.to, fact.from)) {
        engine->conflict = true;
        return false;
    }
    search_log(search, &engine->linked_count);
    search_log(search, &engine->first_out[fact.from]);
    graph_append(engine, fact);
    graph_link(engine);
    merge(search, fact.from, fact.to, ~(uint64_t)0);
    return true;
}

/* Where lists of open reads start: that of the initial version of a key stands behind those of versions. */
static uint32_t list_of(const struct engine *engine, uint32_t version, uint32_t key)
{
    return version == INITIAL ? engine->version_count + key : version;
}

void search_candidate_gone(struct engine *engine, uint32_t read, uint32_t version)
{
    uint32_t *count = &engine->search->open_readers[list_of(engine, version, engine->read_key[read])];
    engine_set(engine, count, *count - 1);
}

/* A read that sees what has begun comes before the writer that will replace that, and before those that wait.
 */
void search_settle(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->read_key[read], holder = engine->search->holder[key], version = engine->read_writer[read];
    if (version == INITIAL || version >= engine->waiting[engine->version_run[version]])
        return;
    if (holder != ISO_NONE && holder != version)
        rules_add_rw(engine, read, holder);
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        if (engine->waiting[run] < engine->run_version[run + 1])
            rules_add_rw(engine, read, engine->waiting[run]);
    }
}

static bool failed(const struct engine *engine)
{
    return engine->conflict || engine->empty_read != ISO_NONE;
}

/* The open reads that may see what a transaction writes. */
static void note_open_reads(struct search *search, uint32_t t)
{
    const struct engine *engine = search->engine;
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t version = engine->version_of_write[write];
        if (!search->open_readers[version])
            continue;
        for (uint32_t c = search->first_reader[version]; c != ISO_NONE; c = search->next_reader[c])
            agenda_add(&search->reads, search->reader_of[c]);
    }
}

static void look_at_open_read(struct search *search, uint32_t read)
{
    struct engine *engine = search->engine;
    if (engine->read_writer[read] == OPEN &&
        search->position[node_begin(engine, engine->read_transaction[read])] == ISO_NONE)
        rules_apply_open(engine, read);
}

static void look_at_node(struct search *search, uint32_t node)
{
    struct engine *engine = search->engine;
    uint64_t groups = engine->moved_groups[node];
    engine->moved_groups[node] = 0;
    log_look(search, node, groups);
    if (node < engine->event_count) {
        uint32_t t = node_transaction(engine, node);
        rules_apply(engine, node, groups);
        if (engine->open_reads && node == node_commit(engine, t))
            note_open_reads(search, t);
    }
    if (node_goes_on(engine, node))
        merge(search, node, node + 1, groups);
    for (uint32_t i = engine->first_out[node]; i != ISO_NONE && !failed(engine); i = engine->facts[i].next_out)
        merge(search, node, engine->facts[i].to, groups);
}

/* False on conflict. */
static bool propagate(struct search *search)
{
    struct engine *engine = search->engine;
    for (uint32_t steps = 1; !failed(engine); steps++) {
        if (steps % LOOK_UP == 0 && engine_must_stop(engine))
            return false;
        if (engine->agenda.count)
            look_at_node(search, engine->order[agenda_take(&engine->agenda)]);
        else if (search->reads.count)
            look_at_open_read(search, agenda_take(&search->reads));
        else
            return true;
    }
    return false;
}

/* ---- heads ---- */

static uint32_t chain_length(const struct engine *engine, uint32_t chain)
{
    uint32_t members = engine->chain_first[chain + 1] - engine->chain_first[chain];
    return engine->serial ? members : 2 * members;
}

static uint32_t node_at(const struct engine *engine, uint32_t chain, uint32_t at)
{
    if (engine->serial)
        return engine->chain_member[engine->chain_first[chain] + at];
    return 2 * engine->chain_member[engine->chain_first[chain] + at / 2] + (at & 1);
}

/* The next node of a chain. */
static uint32_t head_of(const struct search *search, uint32_t chain)
{
    return node_at(search->engine, chain, search->engine->progress[chain]);
}

/* Whether all that reaches a chain's head has run. What held it up last is looked at first. */
static bool is_ready(struct search *search, uint32_t chain, uint32_t node)
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

enum readiness { BLOCKED, FREE, GUESSES };

/* Whether a version's writer, about to begin, comes before all that wait in any case. */
static bool goes_first(const struct engine *engine, uint32_t version)
{
    uint32_t key = engine->version_key[version], chain = engine->run_chain[engine->version_run[version]];
    stamp commit = version_commit_stamp(engine, version);
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t waiting = first_waiting(engine, run, version);
        if (waiting < engine->run_version[run + 1] &&
            clock_of(engine, node_begin(engine, engine->version_transaction[waiting]))[chain] < commit)
            return false;
    }
    return true;
}

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
        uint32_t key = engine->write_key[write];
        guesses |= commits && engine->open_reads && search->open_readers[list_of(engine, search->current[key], key)];
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
    for (uint32_t c = search->first_reader[list_of(engine, version, key)]; c != ISO_NONE && !failed(engine);
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

/* The readers of a version that begins come before the next writers of its key. */
static void put_readers_first(struct engine *engine, uint32_t version)
{
    uint32_t key = engine->version_key[version];
    for (uint32_t read = engine->version_reader[version]; read != ISO_NONE && !failed(engine);
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
    uint32_t commit = node_commit(engine, engine->version_transaction[version]);
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1] && !failed(engine); run++) {
        uint32_t waiting = engine->waiting[run];
        if (waiting >= engine->run_version[run + 1])
            continue;
        uint32_t begin = node_begin(engine, engine->version_transaction[waiting]);
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
    for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1] && !failed(engine); read++) {
        if (engine->read_writer[read] == OPEN)
            keep_only(engine, read, candidate_now(search, read));
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t version = engine->version_of_write[write];
        engine_set(engine, &engine->waiting[engine->version_run[version]], version + 1);
        if (!engine->serial)
            engine_set(engine, &search->holder[engine->write_key[write]], version);
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !failed(engine); write++)
        put_readers_first(engine, engine->version_of_write[write]);
}

static void commit(struct search *search, uint32_t t)
{
    struct engine *engine = search->engine;
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !failed(engine); write++) {
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
    uint32_t last = engine->progress[chain] + search->window - 1; /* what the window comes to */
    if (last < chain_length(engine, chain) && engine->moved_groups[node_at(engine, chain, last)])
        agenda_add(&engine->agenda, engine->rank[node_at(engine, chain, last)]);
}

/* False on conflict. */
static bool run_node(struct search *search, uint32_t chain, uint32_t node)
{
    struct engine *engine = search->engine;
    uint32_t t = node_transaction(engine, node);
    if (node == node_begin(engine, t)) {
        begin(search, t);
        advance(search, chain, node);
        /* a writer that can commit at once does: nobody has to be told to wait for it */
        uint32_t next = node_commit(engine, t);
        if (!engine->serial && !failed(engine) && engine->first_write[t] != engine->first_write[t + 1]) {
            if (is_ready(search, chain, next) && readiness_of(search, next) == FREE) {
                engine->result->counters.search_free++;
                commit(search, t);
                advance(search, chain, next);
                return propagate(search);
            }
            for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1] && !failed(engine);
                 write++)
                put_commit_first(engine, engine->version_of_write[write]);
        }
    }
    if (node == node_commit(engine, t)) {
        commit(search, t);
        if (!engine->serial)
            advance(search, chain, node);
    }
    return propagate(search);
}

/* ---- the search ---- */

static void add_option(struct search *search, uint32_t chain)
{
    if (search->option_count == search->option_capacity) {
        search->option_capacity = (uint32_t)iso_column_capacity(search->option_capacity, search->option_count + 1u);
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
    return (search->engine->progress[chain] + noise) / chain_length(search->engine, chain);
}

/* Heads that could run with a guess, the one least far along its chain first. */
static bool open_decision(struct search *search)
{
    struct engine *engine = search->engine;
    uint32_t first = search->option_count;
    for (uint32_t chain = 0; chain < engine->chain_count; chain++) {
        if (engine->progress[chain] == chain_length(engine, chain))
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
        search->decisions = iso_reallocate(search->decisions, search->decision_capacity * sizeof *search->decisions);
    }
    search->decisions[search->decision_count++] = (struct decision){
        search->log_count, search->clock_log_count, search->look_count, first, search->option_count - first, 0};
    return true;
}

/* Forgets the last decisions, and their order. */
static void jump_back(struct search *search)
{
    uint32_t back = search->jump < search->decision_count ? search->jump : search->decision_count;
    search->decision_count -= back;
    const struct decision *decision = &search->decisions[search->decision_count];
    undo_to(search, decision);
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
    while (search->decision_count && !engine_must_stop(search->engine)) {
        struct decision *decision = &search->decisions[search->decision_count - 1];
        undo_to(search, decision);
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
            while (engine->progress[chain] < chain_length(engine, chain)) {
                uint32_t node = head_of(search, chain);
                if (!is_ready(search, chain, node) || readiness_of(search, node) != FREE)
                    break;
                if (++engine->result->counters.search_free % LOOK_UP == 0 && engine_must_stop(engine))
                    return false;
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
        if (fine && search->run_count == engine->event_count)
            return true;
        if (engine_must_stop(engine))
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
            uint32_t list = list_of(engine, engine->candidates[i], engine->read_key[read]);
            /* candidates move within their read when one goes; the entry only has to lead to the read */
            search->reader_of[i] = read;
            search->next_reader[i] = search->first_reader[list];
            search->first_reader[list] = i;
            search->open_readers[list]++;
        }
    }
}

static void init(struct search *search, struct engine *engine)
{
    size_t candidates = ((size_t)engine->candidate_total + 1) * sizeof(uint32_t);
    size_t nodes = ((size_t)engine->node_count + 1) * sizeof(uint32_t);
    size_t keys = ((size_t)engine->history->key_count + 1) * sizeof(uint32_t);
    size_t lists = ((size_t)engine->version_count + engine->history->key_count + 1) * sizeof(uint32_t);
    size_t runs = ((size_t)engine->run_count + 1) * sizeof(uint32_t);
    *search = (struct search){.engine = engine};
    engine->progress = iso_allocate_zeroed((size_t)engine->stride + STAMPS_A_VECTOR, sizeof *engine->progress);
    engine->waiting = memcpy(iso_allocate(runs), engine->run_version, runs);
    search->window = WINDOW / (engine->chain_count + 1);
    search->window = search->window > NARROWEST ? search->window : NARROWEST;
    search->ran = iso_allocate(nodes);
    search->position = memset(iso_allocate(nodes), 0xff, nodes);
    search->current = iso_allocate(keys);
    for (uint32_t key = 0; key < engine->history->key_count; key++)
        search->current[key] = INITIAL;
    search->holder = memset(iso_allocate(keys), 0xff, keys);
    search->open_readers = memset(iso_allocate(lists), 0, lists);
    search->first_reader = memset(iso_allocate(lists), 0xff, lists);
    search->next_reader = iso_allocate(candidates);
    search->reader_of = iso_allocate(candidates);
    search->blocker = iso_allocate_zeroed((size_t)engine->chain_count + 1, sizeof *search->blocker);
    search->share = iso_allocate(((size_t)engine->chain_count + 1) * sizeof *search->share);
    search->jump = FIRST_JUMP;
    search->random = 0x9e3779b97f4a7c15u;
    agenda_init(&search->reads, engine->read_count);
    index_open_reads(search);
}

static void release(struct search *search)
{
    struct engine *engine = search->engine;
    iso_column_free(search->log, search->log_capacity * sizeof *search->log);
    iso_column_free(search->clock_log, search->clock_log_capacity * sizeof *search->clock_log);
    iso_column_free(search->looks, search->look_capacity * sizeof *search->looks);
    iso_free(engine->progress);
    iso_free(engine->waiting);
    engine->progress = NULL;
    engine->waiting = NULL;
    iso_free(search->ran);
    iso_free(search->position);
    iso_free(search->current);
    iso_free(search->holder);
    iso_free(search->open_readers);
    iso_free(search->first_reader);
    iso_free(search->next_reader);
    iso_free(search->reader_of);
    agenda_release(&search->reads);
    iso_free(search->blocker);
    iso_free(search->decisions);
    iso_free(search->options);
    iso_free(search->share);
}

/* What has run, then the rest as it stood: the order to propose. */
static void propose(struct search *search)
{
    struct engine *engine = search->engine;
    for (uint32_t node = 0; node < engine->node_count; node++)
        engine->rank[node] =
            search->position[node] != ISO_NONE ? search->position[node] : engine->node_count + engine->rank[node];
}

bool search_order(struct engine *engine)
{
    struct search search;
    init(&search, engine);
    engine->search = &search;
    bool found = run_all(&search);
    if (found) {
        memcpy(engine->order, search.ran, engine->event_count * sizeof *engine->order);
    } else {
        propose(&search);
        undo_to(&search, &(struct decision){0});
        memset(engine->moved_groups, 0, engine->node_count * sizeof *engine->moved_groups);
    }
    engine->search = NULL;
    release(&search);
    return found;
}
