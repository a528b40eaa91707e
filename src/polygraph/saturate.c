/* Saturation: what follows from what is known, in passes over the nodes in topological order.
 *
 * At a node, clocks say which versions come before it. For a key that its transaction reads or writes, only
 * the latest version of each chain matters: earlier ones of the chain are settled by that one. Why each rule
 * is right:
 *
 *   hides  u commits before r begins, and r reads w: were u later than w, r would have read u. So u is before
 * w. pair   u begins before z commits, and both write k: were z before u, z's commit would come before u's
 * begin. So u is before z. (At the serialisable levels this says nothing new.) rw     r reads u, and u is
 * before z: r did not see z, so r begins before z commits. prune  r cannot read what commits after r begins,
 * nor what a later version hides that commits before r begins. meet   whatever comes before every version
 * that r may read comes before r. join   whatever version comes after every version that r may read, r does
 * not see: r begins before it commits.
 *
 * A clock may lag behind the facts: it is then smaller than it could be, and so still right. Passes go on
 * until nothing is added.
 */
#include "polygraph/polygraph_private.h"

static uint32_t begin_of(const struct engine *engine, uint32_t version)
{
    return node_begin(engine, engine->version_transaction[version]);
}

static uint32_t commit_of(const struct engine *engine, uint32_t version)
{
    return node_commit(engine, engine->version_transaction[version]);
}

/* Adds an edge unless it is implied. */
static bool add_edge(struct engine *engine, struct fact fact)
{
    if (reaches(engine, fact.from, fact.to))
        return false;
    if (engine->search)
        return search_add_edge(engine, fact);
    graph_append(engine, fact);
    engine->conflict |= reaches(engine, fact.to, fact.from);
    graph_merge_clock(engine, fact.from, fact.to);
    return true;
}

static void add_hides(struct engine *engine, uint32_t read, uint32_t hidden)
{
    uint32_t version = engine->read_writer[read];
    if (version == INITIAL || version == hidden)
        return;
    struct fact fact = {.kind = FACT_HIDES,
                        .from = commit_of(engine, hidden),
                        .to = begin_of(engine, version),
                        .read = read,
                        .version = version,
                        .other = hidden};
    engine->result->counters.edges_version += add_edge(engine, fact);
}

static void add_rw(struct engine *engine, uint32_t read, uint32_t later)
{
    if (engine->read_transaction[read] == engine->version_transaction[later])
        return;
    struct fact fact = {.kind = FACT_RW,
                        .from = node_begin(engine, engine->read_transaction[read]),
                        .to = commit_of(engine, later),
                        .read = read,
                        .version = later};
    engine->result->counters.edges_anti += add_edge(engine, fact);
}

/* The stamps of a chain that count at a node of transaction t: of its own chain, what stands before it. */
static uint32_t limit(const struct engine *engine, const uint32_t *clock, uint32_t chain, uint32_t t)
{
    return engine->chain[t] == chain ? node_stamp(engine, node_begin(engine, t)) - 1 : clock[chain];
}

/* r reads w: every chain's latest version that commits before r comes before w. `seen` NULL: all chains. */
static void apply_hides(struct engine *engine, uint32_t read, const uint32_t *seen)
{
    uint32_t t = engine->read_transaction[read], key = engine->read_key[read];
    const uint32_t *clock = clock_of(engine, node_begin(engine, t));
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t chain = engine->run_chain[run];
        if (seen && clock[chain] == seen[chain])
            continue;
        uint32_t latest = run_latest_commit(engine, run, limit(engine, clock, chain, t));
        if (latest != ISO_NONE)
            add_hides(engine, read, latest);
    }
}

/* z writes k: every chain's latest version u that begins before z commits comes before z, and so do u's
 * readers. */
static void apply_pair(struct engine *engine, uint32_t version, const uint32_t *seen)
{
    uint32_t z = engine->version_transaction[version], key = engine->version_key[version];
    const uint32_t *clock = clock_of(engine, node_commit(engine, z));
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t chain = engine->run_chain[run];
        if (clock[chain] == seen[chain])
            continue;
        uint32_t latest = run_latest_begin(engine, run, limit(engine, clock, chain, z));
        if (latest == ISO_NONE)
            continue;
        if (!engine->serial) {
            struct fact fact = {.kind = FACT_PAIR,
                                .from = commit_of(engine, latest),
                                .to = begin_of(engine, version),
                                .version = version,
                                .other = latest};
            engine->result->counters.edges_version += add_edge(engine, fact);
        }
        for (uint32_t read = engine->version_reader[latest]; read != ISO_NONE; read = engine->read_next[read])
            add_rw(engine, read, version);
    }
}

/* ---- reads with several possible writers ---- */

void rules_prune(struct engine *engine, uint32_t read, uint32_t index, enum fact_kind kind, uint32_t other)
{
    uint32_t *candidates = engine->candidates + engine->first_candidate[read];
    uint32_t version = candidates[index], last = engine->candidate_count[read] - 1;
    engine_set(engine, &engine->candidate_count[read], last);
    if (engine->search)
        search_candidate_gone(engine, version);
    candidates[index] = candidates[last];
    candidates[last] = version;
    graph_append(engine, (struct fact){.kind = kind,
                                       .from = ISO_NONE,
                                       .to = ISO_NONE,
                                       .read = read,
                                       .version = version,
                                       .other = other});
    engine->result->counters.candidates_pruned++;
}

/* A version that commits before the read begins and after `candidate` commits; ISO_NONE if none is known. */
static uint32_t find_hiding(const struct engine *engine, uint32_t read, uint32_t candidate)
{
    uint32_t t = engine->read_transaction[read], key = engine->read_key[read];
    const uint32_t *clock = clock_of(engine, node_begin(engine, t));
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t latest = run_latest_commit(engine, run, limit(engine, clock, engine->run_chain[run], t));
        if (latest == ISO_NONE || latest == candidate)
            continue;
        if (candidate == INITIAL || reaches(engine, begin_of(engine, candidate), commit_of(engine, latest)))
            return latest;
    }
    return ISO_NONE;
}

static void prune_candidates(struct engine *engine, uint32_t read)
{
    uint32_t begin = node_begin(engine, engine->read_transaction[read]);
    const uint32_t *candidates = engine->candidates + engine->first_candidate[read];
    for (uint32_t i = engine->candidate_count[read]; i-- > 0;) {
        uint32_t version = candidates[i];
        if (version != INITIAL && reaches(engine, begin, commit_of(engine, version))) {
            rules_prune(engine, read, i, FACT_PRUNE_AFTER, ISO_NONE);
        } else if (version == INITIAL || reaches(engine, begin_of(engine, version), begin)) {
            uint32_t hiding = find_hiding(engine, read, version);
            if (hiding != ISO_NONE)
                rules_prune(engine, read, i, FACT_PRUNE_HIDDEN, hiding);
        }
    }
}

/* Only one candidate is left. Versions that are found to come after it from now on will find the read among
 * its readers; those that were found before wait for the end of the pass. */
void rules_resolve(struct engine *engine, uint32_t read)
{
    uint32_t version = engine->candidates[engine->first_candidate[read]];
    engine_set(engine, &engine->read_writer[read], version);
    engine_set(engine, &engine->open_reads, engine->open_reads - 1);
    engine->resolved[engine->resolved_count++] = read;
    if (engine->search)
        search_candidate_gone(engine, version); /* a reader now, no candidate any more */
    if (version == INITIAL)
        return;
    engine_set(engine, &engine->read_next[read], engine->version_reader[version]);
    engine_set(engine, &engine->version_reader[version], read);
    add_edge(engine, (struct fact){.kind = FACT_WR,
                                   .from = commit_of(engine, version),
                                   .read = read,
                                   .to = node_begin(engine, engine->read_transaction[read]),
                                   .version = version});
    apply_hides(engine, read, NULL);
}

/* The first version of a run that the pair rule has seen after `version`. What the rules have seen grows
 * along a chain at the end of a pass; the clocks themselves need not, then. */
static uint32_t run_first_seen_after(const struct engine *engine, uint32_t run, uint32_t version)
{
    uint32_t begin = begin_of(engine, version), chain = engine->chain[engine->version_transaction[version]];
    uint32_t low = engine->run_version[run], high = engine->run_version[run + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const uint32_t *seen = engine->seen + (size_t)commit_of(engine, middle) * engine->stride;
        if (seen[chain] >= node_stamp(engine, begin))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void rules_settle(struct engine *engine)
{
    while (engine->resolved_count) {
        uint32_t read = engine->resolved[--engine->resolved_count], version = engine->read_writer[read];
        uint32_t key = engine->read_key[read];
        for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
            uint32_t later =
                version == INITIAL ? engine->run_version[run] : run_first_seen_after(engine, run, version);
            later += later == version;
            if (later < engine->run_version[run + 1])
                add_rw(engine, read, later);
        }
    }
}

/* The minimum of the candidates' clocks, chain by chain. */
static void apply_meet(struct engine *engine, uint32_t read)
{
    uint32_t begin = node_begin(engine, engine->read_transaction[read]),
             count = engine->candidate_count[read];
    const uint32_t *candidates = engine->candidates + engine->first_candidate[read];
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i] == INITIAL)
            return;
    }
    for (uint32_t chain = 0; chain < engine->chain_count; chain++) {
        uint32_t meet = clock_of(engine, commit_of(engine, candidates[0]))[chain];
        uint32_t own = clock_of(engine, begin)[chain];
        for (uint32_t i = 1; i < count && meet > own; i++) {
            uint32_t stamp = clock_of(engine, commit_of(engine, candidates[i]))[chain];
            meet = stamp < meet ? stamp : meet;
        }
        if (meet <= own)
            continue;
        uint32_t member =
            engine->chain_member[engine->chain_first[chain] + (engine->serial ? meet - 1 : (meet - 1) / 2)];
        uint32_t from = engine->serial ? member : 2 * member + ((meet - 1) & 1);
        struct fact fact = {.kind = FACT_MEET, .from = from, .to = begin, .read = read};
        engine->result->counters.edges_meet += add_edge(engine, fact);
    }
}

/* The first version of a run that comes after all candidates. */
static uint32_t join_of_run(const struct engine *engine, uint32_t read, uint32_t run)
{
    const uint32_t *candidates = engine->candidates + engine->first_candidate[read];
    uint32_t low = engine->run_version[run], end = engine->run_version[run + 1];
    for (uint32_t i = 0; i < engine->candidate_count[read] && low < end; i++) {
        uint32_t version = candidates[i];
        if (version == INITIAL)
            continue;
        if (version >= engine->run_version[run] && version < end) {
            low = version >= low ? version + 1 : low;
            continue;
        }
        uint32_t first = run_first_after(engine, run, version);
        low = first > low ? first : low;
    }
    return low;
}

static void apply_join(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->read_key[read], t = engine->read_transaction[read], begin = node_begin(engine, t);
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t last = engine->run_version[run + 1] - 1;
        if (engine->run_chain[run] == engine->chain[t])
            continue; /* what follows there follows the reader anyway, or prunes */
        uint32_t first = join_of_run(engine, read, run);
        if (first > last)
            continue;
        struct fact fact = {
            .kind = FACT_JOIN, .from = begin, .to = commit_of(engine, first), .read = read, .version = first};
        engine->result->counters.edges_join += add_edge(engine, fact);
    }
}

static void apply_open(struct engine *engine, uint32_t read)
{
    prune_candidates(engine, read);
    uint32_t left = engine->candidate_count[read];
    if (left == 0)
        engine->empty_read = read;
    else if (left == 1)
        rules_resolve(engine, read);
    if (left < 2)
        return;
    if (!engine->options->no_meet)
        apply_meet(engine, read);
    if (!engine->options->no_join)
        apply_join(engine, read);
}

/* ---- passes ---- */

void rules_apply(struct engine *engine, uint32_t node)
{
    uint32_t t = node_transaction(engine, node);
    uint32_t *seen = engine->seen + (size_t)node * engine->stride;
    const uint32_t *clock = clock_of(engine, node);
    uint32_t *now = engine->scratch_clock; /* the rules may move the clock */
    bool changed = memcmp(seen, clock, engine->stride * sizeof *clock) != 0;
    if (changed)
        memcpy(now, clock, engine->stride * sizeof *clock);
    if (node == node_begin(engine, t)) {
        for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1]; read++) {
            if (engine->read_writer[read] == OPEN)
                apply_open(engine, read); /* its candidates' clocks move without its own */
            else if (changed)
                apply_hides(engine, read, seen);
        }
    }
    if (node == node_commit(engine, t) && changed) {
        for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++)
            apply_pair(engine, engine->version_of_write[write], seen);
    }
    for (uint32_t i = 0; changed && i < engine->stride; i++) {
        if (seen[i] != now[i])
            engine_set(engine, &seen[i], now[i]);
    }
}

static void push_clock(struct engine *engine, uint32_t node)
{
    if (!engine->serial && !(node & 1))
        graph_merge_clock(engine, node, node + 1);
    for (uint32_t i = engine->first_out[node]; i != ISO_NONE; i = engine->facts[i].next_out)
        graph_merge_clock(engine, node, engine->facts[i].to);
}

enum iso_status saturate(struct engine *engine)
{
    for (;;) {
        uint32_t before = engine->fact_count;
        engine->result->counters.passes++;
        if (!graph_sort(engine)) {
            engine->conflict = true;
            return ISO_VIOLATED;
        }
        for (uint32_t i = 0; i < engine->node_count; i++) {
            if (!engine->options->no_saturation)
                rules_apply(engine, engine->order[i]);
            if (engine->conflict || engine->empty_read != ISO_NONE) {
                graph_link(engine);
                return ISO_VIOLATED;
            }
            push_clock(engine, engine->order[i]);
        }
        rules_settle(engine);
        graph_link(engine);
        if (engine->fact_count == before)
            return ISO_OK;
        if (engine_out_of_time(engine))
            return ISO_UNDECIDED;
    }
}
