/* What follows from what is known, at one node.
 *
 * Clocks say which versions come before a node. For a key that its transaction reads or writes,
 * only the latest version of each chain matters: earlier ones of the chain follow from that one.
 * Why each rule is right:
 *
 *   hides  u commits before r begins, and r reads w: were u later than w, r would have read u.
 *          So u is before w.
 *   pair   u begins before z commits, and both write k: were z before u, z's commit would come
 *          before u's begin.
 *          So u is before z. (At the serialisable levels this says nothing new.)
 *   rw     r reads u, and u is before z: r did not see z, so r begins before z commits.
 *   prune  r cannot read what commits after r begins, nor what a later version hides that commits
 *          before r begins.
 *   meet   whatever comes before every version that r may read comes before r.
 *   join   whatever version comes after every version that r may read, r does not see: r begins
 *          before it commits.
 *
 * A clock may lag behind the facts: it is then smaller than it could be, and so still right; what
 * is missing follows when it has caught up. What one version of a chain has found, the next one of
 * the same key and chain need not find again.
 *
 * During a search only what is not scheduled matters: an edge from a node that is scheduled is kept
 * by the order of the schedule, one to such a node from another is a conflict, and clocks do not
 * say anything of scheduled nodes.
 */
#include <assert.h>

#include "polygraph/engine_private.h"

/* Adds an edge that is not known yet; none behind the one that closes a cycle. */
static bool add_edge(struct engine *engine, struct fact fact)
{
    if (engine->graph.conflict)
        return false;
    return engine->scheduled.by ? search_add_edge(engine, fact) : graph_add_edge(engine, fact);
}

static void add_hides(struct engine *engine, uint32_t read, uint32_t hidden)
{
    uint32_t version = engine->reads.writer[read];
    struct fact fact = {.kind = FACT_HIDES,
                        .from = version_commit(engine, hidden),
                        .to = version_begin(engine, version),
                        .read = read,
                        .version = version,
                        .other = hidden};
    engine->result->counters.edges_version += add_edge(engine, fact);
}

void rules_add_rw(struct engine *engine, uint32_t read, uint32_t later)
{
    assert(read < engine->reads.count);
    uint32_t t = engine->reads.transaction[read], begin = node_begin(engine, t),
             commit = version_commit(engine, later);
    if (t == engine->versions.transaction[later] || reaches(engine, begin, commit))
        return;
    struct fact fact = {
        .kind = FACT_RW, .from = begin, .to = commit, .read = read, .version = later};
    engine->result->counters.edges_anti += add_edge(engine, fact);
}

/* True if all that a clock says of a chain is scheduled. */
static inline bool is_scheduled(const struct engine *engine, const stamp *clock, uint32_t chain)
{
    return engine->scheduled.by && clock[chain] <= engine->scheduled.progress[chain];
}

/* The spans of a key whose chains are in a set, one after another. A few of up to 64 chains are
 * found by counting bits. */
struct spans_left {
    const uint64_t *chains;
    uint64_t of_key, left;
    uint32_t next, end;
};

static inline struct spans_left spans_of(const struct engine *engine, uint32_t key,
                                         const uint64_t *chains)
{
    uint64_t of_key = engine->saturation.key_chains[key], left = of_key & chains[0],
             two_less = left & (left - 1);
    bool few = engine->chains.count <= 64 && !(two_less & (two_less - 1));
    return (struct spans_left){chains, few ? of_key : 0, left, engine->spans.first[key],
                               engine->spans.first[key + 1]};
}

static inline bool next_span(const struct engine *engine, struct spans_left *spans, uint32_t *span)
{
    if (spans->of_key) {
        uint64_t lowest = spans->left & -spans->left;
        *span = spans->next + (uint32_t)__builtin_popcountll(spans->of_key & (lowest - 1));
        spans->left ^= lowest;
        return lowest;
    }
    for (; spans->next < spans->end; spans->next++) {
        uint32_t chain = engine->spans.chain[spans->next];
        if (spans->chains[chain / 64] >> chain % 64 & 1) {
            *span = spans->next++;
            return true;
        }
    }
    return false;
}

/* r reads w: every chain's latest version that commits before r comes before w. Those up to what
 * the rules had seen before, NULL: nothing, do already. */
static void apply_hides(struct engine *engine, uint32_t read, const uint64_t *chains,
                        const stamp *seen)
{
    uint32_t t = engine->reads.transaction[read], key = engine->reads.key[read],
             version = engine->reads.writer[read];
    if (version == INITIAL)
        return;
    const stamp *clock = clock_of(engine, node_begin(engine, t));
    const stamp *known = clock_of(engine, version_begin(engine, version));
    struct spans_left spans = spans_of(engine, key, chains);
    for (uint32_t span; next_span(engine, &spans, &span);) {
        uint32_t chain = engine->spans.chain[span], last = clock_before(engine, clock, chain, t);
        if (known[chain] >= last || is_scheduled(engine, clock, chain))
            continue;
        uint32_t latest = span_latest_near(engine, span, positions_of_commits(engine, last));
        if (latest == ISO_NONE || latest == version)
            continue;
        stamp commit = version_commit_stamp(engine, latest);
        if (known[chain] < commit && (!seen || seen[chain] < commit))
            add_hides(engine, read, latest);
    }
}

static void add_pair(struct engine *engine, uint32_t version, uint32_t earlier)
{
    struct fact fact = {.kind = FACT_PAIR,
                        .from = version_commit(engine, earlier),
                        .to = version_begin(engine, version),
                        .version = version,
                        .other = earlier};
    engine->result->counters.edges_version += add_edge(engine, fact);
}

static void add_rws(struct engine *engine, uint32_t earlier, uint32_t version)
{
    for (uint32_t read = engine->versions.reader[earlier]; read != ISO_NONE;
         read = engine->reads.next[read])
        rules_add_rw(engine, read, version);
}

/* u comes before z, both write k: the edge, those of u's readers, and a note for readers yet to be
 * found. */
static void apply_order(struct engine *engine, uint32_t earlier, uint32_t version)
{
    uint32_t begin = version_begin(engine, version),
             chain = engine->spans.chain[engine->versions.span[earlier]];
    if (!engine->serial && clock_of(engine, begin)[chain] < version_commit_stamp(engine, earlier))
        add_pair(engine, version, earlier);
    add_rws(engine, earlier, version);
    if (engine->reads.open)
        graph_note_successor(engine, earlier, version);
}

/* z writes k: of each chain whose clock has moved, the latest version that begins before z commits
 * and that the rules have not seen yet, into saturation.latest. What z's predecessor in its own
 * chain has found is so for z through it. */
static uint32_t find_latest(struct engine *engine, uint32_t version, const uint64_t *chains,
                            uint32_t *newest)
{
    uint32_t key = engine->versions.key[version], own = engine->versions.span[version], count = 0;
    const stamp *clock = clock_of(engine, version_commit(engine, version));
    const stamp *previous = version > engine->spans.version[own]
                                ? clock_of(engine, version_commit(engine, version - 1))
                                : NULL;
    float best = -1;
    struct spans_left spans = spans_of(engine, key, chains);
    for (uint32_t span; next_span(engine, &spans, &span);) {
        uint32_t chain = engine->spans.chain[span];
        if (span == own) {
            if (previous)
                add_rws(engine, version - 1, version);
            continue;
        }
        if ((previous && previous[chain] >= clock[chain]) || is_scheduled(engine, clock, chain))
            continue;
        uint32_t latest = span_latest_near(engine, span, positions_of_begins(engine, clock[chain]));
        stamp begin = latest == ISO_NONE ? 0 : version_begin_stamp(engine, latest);
        if (begin <= engine->saturation.before[chain] || (previous && previous[chain] >= begin))
            continue;
        float share =
            (float)engine->versions.position[latest] * engine->saturation.chain_scale[chain];
        if (share > best) {
            best = share;
            *newest = count;
        }
        engine->saturation.latest[count++] = latest;
    }
    return count;
}

/* Each of those comes before z, and so do its readers; where one is known to come before the newest
 * of them, that says it. The newest is a guess: chains tend to advance side by side. */
static void apply_pair(struct engine *engine, uint32_t version, const uint64_t *chains)
{
    uint32_t newest = 0, count = find_latest(engine, version, chains, &newest);
    if (!count)
        return;
    uint32_t last = engine->saturation.latest[newest];
    const stamp *clock = clock_of(engine, version_commit(engine, last));
    apply_order(engine, last, version);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t latest = engine->saturation.latest[i],
                 chain = engine->spans.chain[engine->versions.span[latest]];
        if (clock[chain] < version_begin_stamp(engine, latest))
            apply_order(engine, latest, version);
    }
}

/* ---- reads with several possible writers ---- */

void rules_prune(struct engine *engine, uint32_t read, uint32_t index, enum fact_kind kind,
                 uint32_t other)
{
    assert(read < engine->reads.count);
    uint32_t *candidates = engine->candidates.version + engine->candidates.first[read];
    uint32_t version = candidates[index], last = engine->candidates.count[read] - 1;
    engine_set(engine, &engine->candidates.count[read], last);
    if (engine->scheduled.by)
        search_candidate_gone(engine, read, version);
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

/* True if a version is known to come before another one of its key. */
static bool comes_before(const struct engine *engine, uint32_t version, uint32_t later)
{
    if (version == INITIAL)
        return true;
    if (engine->scheduled.by && version < engine->scheduled.waiting[engine->versions.span[version]])
        return later >= engine->scheduled.waiting[engine->versions.span[later]];
    return reaches(engine, version_begin(engine, version), version_commit(engine, later));
}

/* A version that commits before the read begins and after `candidate` commits; ISO_NONE if none is
 * known. */
static uint32_t find_hiding(const struct engine *engine, uint32_t read, uint32_t candidate)
{
    uint32_t t = engine->reads.transaction[read], key = engine->reads.key[read];
    const stamp *clock = clock_of(engine, node_begin(engine, t));
    ISO_EACH(span, engine->spans.first, key) {
        uint32_t chain = engine->spans.chain[span];
        if (!clock[chain] || is_scheduled(engine, clock, chain))
            continue;
        uint32_t latest = span_latest_commit(engine, span, clock_before(engine, clock, chain, t));
        if (latest != ISO_NONE && latest != candidate && comes_before(engine, candidate, latest))
            return latest;
    }
    return ISO_NONE;
}

bool rules_rule_out(const struct engine *engine, uint32_t read, uint32_t version,
                    struct fact *reason)
{
    assert(read < engine->reads.count);
    assert(version == INITIAL || version < engine->versions.count);
    uint32_t begin = node_begin(engine, engine->reads.transaction[read]);
    *reason = (struct fact){
        .from = ISO_NONE, .to = ISO_NONE, .read = read, .version = version, .other = ISO_NONE};
    if (version != INITIAL && reaches(engine, begin, version_commit(engine, version))) {
        reason->kind = FACT_PRUNE_AFTER;
        return true;
    }
    if (version != INITIAL && !engine->scheduled.by &&
        !reaches(engine, version_begin(engine, version), begin))
        return false;
    reason->kind = FACT_PRUNE_HIDDEN;
    reason->other = find_hiding(engine, read, version);
    return reason->other != ISO_NONE;
}

static void prune_candidates(struct engine *engine, uint32_t read)
{
    uint32_t first = engine->candidates.first[read];
    struct fact reason;
    for (uint32_t i = engine->candidates.count[read]; i-- > 0;) {
        if (rules_rule_out(engine, read, engine->candidates.version[first + i], &reason))
            rules_prune(engine, read, i, reason.kind, reason.other);
    }
}

/* A read of a version: it comes before those noted to come after that, and before all others
 * through them. */
static void add_rws_of_read(struct engine *engine, uint32_t read)
{
    uint32_t version = engine->reads.writer[read], key = engine->reads.key[read];
    for (uint32_t span = engine->spans.first[key];
         version == INITIAL && span < engine->spans.first[key + 1]; span++)
        rules_add_rw(engine, read, engine->spans.version[span]);
    if (version == INITIAL)
        return;
    for (uint32_t i = engine->saturation.first_successor[version]; i != ISO_NONE;
         i = engine->saturation.successors[i].next)
        rules_add_rw(engine, read, engine->saturation.successors[i].version);
    if (version + 1 < engine->spans.version[engine->versions.span[version] + 1])
        rules_add_rw(engine, read, version + 1);
}

/* Only one candidate is left. */
void rules_resolve(struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    uint32_t version = engine->candidates.version[engine->candidates.first[read]];
    engine_set(engine, &engine->reads.writer[read], version);
    engine_set(engine, &engine->reads.open, engine->reads.open - 1);
    if (engine->scheduled.by)
        search_candidate_gone(engine, read, version); /* a reader now, no candidate any more */
    if (version != INITIAL) {
        engine_set(engine, &engine->reads.next[read], engine->versions.reader[version]);
        engine_set(engine, &engine->versions.reader[version], read);
        uint32_t commit = version_commit(engine, version),
                 begin = node_begin(engine, engine->reads.transaction[read]);
        /* an edge of the history: it makes evidence shorter even where it is implied */
        add_edge(
            engine,
            (struct fact){
                .kind = FACT_WR, .from = commit, .read = read, .to = begin, .version = version});
        apply_hides(engine, read, engine->saturation.all_chains, NULL);
    }
    add_rws_of_read(engine, read);
    if (engine->scheduled.by)
        search_decide_read(engine, read);
}

/* The first version of a span that comes after another one of the key. */
static uint32_t first_after(const struct engine *engine, uint32_t span, uint32_t version)
{
    if (version == INITIAL)
        return engine->spans.version[span];
    if (engine->scheduled.by && version < engine->scheduled.waiting[engine->versions.span[version]])
        return engine->scheduled.waiting[span];
    uint32_t first = span_first_after(engine, span, version);
    return first + (first == version);
}

/* The minimum of the candidates' clocks into the scratch clock; false: no chain has more than the
 * read's own.
 */
static bool find_meet(struct engine *engine, uint32_t read)
{
    const uint32_t *candidates = engine->candidates.version + engine->candidates.first[read];
    const stamp_vector *own =
        (const stamp_vector *)clock_of(engine, node_begin(engine, engine->reads.transaction[read]));
    stamp_vector *meet = (stamp_vector *)engine->saturation.meet, more = {0};
    for (uint32_t i = 0; i < engine->candidates.count[read]; i++) {
        if (candidates[i] == INITIAL)
            return false;
        const stamp_vector *clock =
            (const stamp_vector *)clock_of(engine, version_commit(engine, candidates[i]));
        for (uint32_t v = 0; v < engine->clocks.stride / STAMPS_A_VECTOR; v++) {
            stamp_vector a = clock[v], b = i ? meet[v] : clock[v], smaller = a < b;
            meet[v] = (a & smaller) | (b & ~smaller);
        }
    }
    for (uint32_t v = 0; v < engine->clocks.stride / STAMPS_A_VECTOR; v++)
        more |= meet[v] > own[v];
    return any_of(more);
}

static void apply_meet(struct engine *engine, uint32_t read)
{
    uint32_t begin = node_begin(engine, engine->reads.transaction[read]);
    const stamp *own = clock_of(engine, begin);
    if (!find_meet(engine, read))
        return;
    for (uint32_t chain = 0; chain < engine->chains.count; chain++) {
        uint32_t meet = engine->saturation.meet[chain];
        if (meet <= own[chain] || is_scheduled(engine, engine->saturation.meet, chain))
            continue;
        uint32_t member =
            engine->chains
                .member[engine->chains.first[chain] + (engine->serial ? meet - 1 : (meet - 1) / 2)];
        uint32_t from = engine->serial ? member : 2 * member + ((meet - 1) & 1);
        struct fact fact = {.kind = FACT_MEET, .from = from, .to = begin, .read = read};
        engine->result->counters.edges_meet += add_edge(engine, fact);
    }
}

/* The first version of a span that comes after all candidates. */
static uint32_t join_of_span(const struct engine *engine, uint32_t read, uint32_t span)
{
    const uint32_t *candidates = engine->candidates.version + engine->candidates.first[read];
    uint32_t low = engine->spans.version[span], end = engine->spans.version[span + 1];
    for (uint32_t i = 0; i < engine->candidates.count[read] && low < end; i++) {
        uint32_t version = candidates[i], first;
        if (version == INITIAL)
            continue;
        if (engine->versions.span[version] == span) {
            first = version + 1;
        } else if (!engine->scheduled.by && low < end && comes_before(engine, version, low)) {
            continue;
        } else {
            first = first_after(engine, span, version);
        }
        low = first > low ? first : low;
    }
    return low;
}

static void apply_join(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->reads.key[read], t = engine->reads.transaction[read],
             begin = node_begin(engine, t);
    ISO_EACH(span, engine->spans.first, key) {
        if (engine->spans.chain[span] == engine->chains.of[t])
            continue; /* what follows there follows the reader anyway, or prunes */
        uint32_t first = join_of_span(engine, read, span);
        if (first >= engine->spans.version[span + 1] ||
            reaches(engine, begin, version_commit(engine, first)))
            continue;
        struct fact fact = {.kind = FACT_JOIN,
                            .from = begin,
                            .to = version_commit(engine, first),
                            .read = read,
                            .version = first};
        engine->result->counters.edges_join += add_edge(engine, fact);
    }
}

bool rules_narrow(struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    prune_candidates(engine, read);
    uint32_t left = engine->candidates.count[read];
    if (left == 0)
        engine->saturation.empty_read = read;
    else if (left == 1)
        rules_resolve(engine, read);
    return left > 1;
}

bool rules_apply_open(struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    if (!rules_narrow(engine, read))
        return false;
    if (!engine->options->no_meet)
        apply_meet(engine, read);
    if (!engine->options->no_join)
        apply_join(engine, read);
    return true;
}

static uint64_t bits_that_differ(const stamp *clock, const stamp *seen)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < STAMPS_A_VECTOR; i++)
        bits |= (uint64_t)(clock[i] != seen[i]) << i;
    return bits;
}

/* The chains of which a clock says more than the rules have seen, as a set; false: none. From then
 * on they have seen it, since they may move it themselves. */
static bool find_moved(struct engine *engine, uint32_t node, uint64_t groups)
{
    stamp_vector *seen =
        (stamp_vector *)(engine->saturation.seen + (size_t)node * engine->clocks.stride);
    const stamp_vector *clock = (const stamp_vector *)clock_of(engine, node);
    uint64_t any = 0;
    memset(engine->saturation.moved, 0,
           (engine->chains.count / 64 + 1) * sizeof *engine->saturation.moved);
    for (struct vectors at = vectors_of(engine, groups); next_vector(&at);) {
        uint32_t i = at.vector;
        if (!any_of(clock[i] != seen[i]))
            continue;
        uint64_t bits = bits_that_differ((const stamp *)&clock[i], (const stamp *)&seen[i]);
        engine->saturation.moved[i / 8] |= bits << i % 8 * 8;
        any |= bits;
        ((stamp_vector *)engine->saturation.before)[i] = seen[i];
        if (engine->scheduled.by)
            search_set_vector(engine->scheduled.by, &seen[i], clock[i]);
        else
            seen[i] = clock[i];
    }
    return any;
}

/* Whether a chain with versions of the key is among those. Sets of more than 64 chains are
 * folded. */
static bool moves_key(const struct engine *engine, uint32_t key)
{
    return engine->chains.count > 64 ||
           (engine->saturation.moved[0] & engine->saturation.key_chains[key]);
}

void rules_apply(struct engine *engine, uint32_t node, uint64_t groups)
{
    uint32_t t = node_transaction(engine, node);
    if (!find_moved(engine, node, groups))
        return;
    if (node == node_begin(engine, t)) {
        ISO_EACH(read, engine->reads.first, t) {
            if (!moves_key(engine, engine->reads.key[read]))
                continue;
            if (engine->reads.writer[read] != OPEN)
                apply_hides(engine, read, engine->saturation.moved, engine->saturation.before);
            else if (engine->scheduled.by)
                rules_apply_open(engine, read);
            else if (engine->candidates.listed_at != ISO_NONE)
                rules_narrow(engine, read); /* meet and join wait for clocks that do not lag */
        }
    }
    if (node == node_commit(engine, t)) {
        ISO_EACH(write, engine->writes.first, t)
            apply_pair(engine, engine->writes.version[write], engine->saturation.moved);
    }
}
