/* Everything is known: sessions, versions in their order, and the version of each read. So the
 * graph has an order or a cycle, and no more than one walk decides.
 *
 * No edge is stored: a transaction's follow from its session, its writes and its reads. From a
 * version edges lead to the next one only, and, where a foreign transaction wrote that, to the next
 * of another: so cycles that go through no foreign transaction are found without them. Those are
 * violations; others are doubtful.
 *
 * `neighbours` asks for less, as PostgreSQL's SERIALIZABLE promises nothing beside weaker
 * transactions: those have versions and no edges, none leads past them, and where versions share a
 * cts none says which was read or came first.
 */
#include <assert.h>

#include "polygraph/graph/commit_order.h"

struct step {
    enum iso_edge_kind kind;
    uint32_t from, to, key; /* local transactions */
    uint32_t via;           /* RW: the write that was read, or INITIAL */
};

struct walk {
    struct engine *engine;
    uint32_t *after;    /* by transaction: the next one of its session, or ISO_NONE */
    uint32_t *next_own; /* by position in given->order: the next position of a transaction that is
                           not foreign */
    uint32_t *first_reader; /* by write */
    uint32_t *next_reader;  /* by read */
    uint8_t *left;          /* by transaction: what is walked */
    uint32_t *degree, *queue;
    /* of a search for a cycle */
    struct step *by, *found;
    uint32_t *stamp, *depth;
    uint32_t found_count;
    uint64_t budget;
};

typedef void visit(struct walk *walk, const struct step *step);

static bool is_foreign(const struct walk *walk, uint32_t t)
{
    return walk->engine->commit_order->foreign[t];
}

/* ---- edges ---- */

/* `neighbours`: whether the version stands between two others for sure. */
static bool is_alone(const struct walk *walk, uint32_t position)
{
    const struct commit_order *commit_order = walk->engine->commit_order;
    return !commit_order->ties ||
           commit_order->tie_end[position] - commit_order->tie[position] == 1;
}

static void visit_position(struct walk *walk, visit *visitor, struct step step, uint32_t position)
{
    step.to = walk->engine->writes.transaction[walk->engine->commit_order->order[position]];
    if (step.to != step.from && walk->left[step.to])
        visitor(walk, &step);
}

/* The next version at `position` or behind, and the next that no foreign transaction wrote. */
static void visit_later(struct walk *walk, visit *visitor, struct step step, uint32_t position)
{
    const struct commit_order *commit_order = walk->engine->commit_order;
    if (position == commit_order->first[step.key + 1])
        return;
    uint32_t own = walk->next_own[position];
    if (walk->engine->options->neighbours && !is_alone(walk, position))
        return;
    visit_position(walk, visitor, step, position);
    if (walk->engine->options->neighbours)
        return;
    if (own != position && own < commit_order->first[step.key + 1])
        visit_position(walk, visitor, step, own);
}

static void visit_write(struct walk *walk, visit *visitor, uint32_t t, uint32_t write)
{
    const struct engine *engine = walk->engine;
    struct step step = {
        .kind = ISO_EDGE_WR, .from = t, .key = engine->writes.key[write], .via = ISO_NONE};
    for (uint32_t read = walk->first_reader[write]; read != ISO_NONE;
         read = walk->next_reader[read]) {
        step.to = engine->reads.transaction[read];
        if (step.to != t && walk->left[step.to])
            visitor(walk, &step);
    }
    step.kind = ISO_EDGE_WW;
    if (engine->commit_order->position[write] != ISO_NONE &&
        (!engine->options->neighbours || is_alone(walk, engine->commit_order->position[write])))
        visit_later(walk, visitor, step, engine->commit_order->position[write] + 1);
}

/* Whether its moment says which version it saw; else no edge of it stands (`neighbours`). */
static bool is_seen(const struct engine *engine, uint32_t read)
{
    return !engine->options->neighbours || engine->commit_order->seen[read] != OPEN;
}

static void visit_read(struct walk *walk, visit *visitor, uint32_t t, uint32_t read)
{
    const struct engine *engine = walk->engine;
    uint32_t key = engine->reads.key[read], seen = engine->reads.writer[read];
    struct step step = {.kind = ISO_EDGE_RW, .from = t, .key = key, .via = seen};
    if (!is_seen(engine, read))
        return;
    visit_later(walk, visitor, step,
                seen == INITIAL ? engine->commit_order->first[key]
                                : engine->commit_order->position[seen] + 1);
}

/* Visits edges that need the shortest argument first: a search takes the first of several between
 * two transactions. */
static void visit_edges(struct walk *walk, uint32_t t, visit *visitor)
{
    const struct engine *engine = walk->engine;
    struct step session = {ISO_EDGE_SESSION, t, walk->after[t], ISO_NONE, ISO_NONE};
    if (session.to != ISO_NONE && walk->left[session.to])
        visitor(walk, &session);
    ISO_EACH(write, engine->writes.first, t)
        visit_write(walk, visitor, t, write);
    ISO_EACH(read, engine->reads.first, t)
        visit_read(walk, visitor, t, read);
}

/* ---- order ---- */

static void count_degree(struct walk *walk, const struct step *step)
{
    walk->degree[step->to]++;
}

static void take_degree(struct walk *walk, const struct step *step)
{
    if (--walk->degree[step->to] == 0)
        walk->queue[walk->found_count++] = step->to;
}

/* Committed transactions, with or without the foreign ones, into `queue` as far as they have an
 * order. `left` says which have none; true: none is left. */
static bool sort_walk(struct walk *walk, bool foreign)
{
    const struct engine *engine = walk->engine;
    uint32_t count = 0;
    memset(walk->degree, 0, ((size_t)engine->transactions.count + 1) * sizeof *walk->degree);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        bool committed =
            iso_status_of(engine->history, engine->transactions.in_history[t]) == ISO_COMMITTED;
        walk->left[t] = committed && (foreign || !is_foreign(walk, t));
        count += walk->left[t];
    }
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        if (walk->left[t])
            visit_edges(walk, t, count_degree);
    walk->found_count = 0;
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        if (walk->left[t] && !walk->degree[t])
            walk->queue[walk->found_count++] = t;
    for (uint32_t head = 0; head < walk->found_count; head++)
        visit_edges(walk, walk->queue[head], take_degree);
    for (uint32_t i = 0; i < walk->found_count; i++)
        walk->left[walk->queue[i]] = 0;
    return walk->found_count == count;
}

static void accept_walk(struct walk *walk)
{
    struct iso_polygraph_result *result = walk->engine->result;
    for (uint32_t i = 0; i < walk->found_count; i++)
        iso_evidence_event(&result->evidence,
                           iso_event_begin(walk->engine->transactions.in_history[walk->queue[i]]));
    result->evidence.accepts = true;
    result->outcome = ISO_HOLDS;
}

/* ---- a short cycle among what is left ---- */

static void note_before(struct walk *walk, const struct step *step)
{
    walk->by[step->to] = *step;
}

/* Whatever is left has something before it that is left: going back leads into a cycle. */
static uint32_t find_on_cycle(struct walk *walk)
{
    const struct engine *engine = walk->engine;
    uint32_t t = 0;
    for (uint32_t i = 0; i < engine->transactions.count; i++) {
        walk->stamp[i] = 0;
        if (walk->left[i])
            visit_edges(walk, i, note_before);
    }
    while (!walk->left[t])
        t++;
    for (; !walk->stamp[t]; t = walk->by[t].from)
        walk->stamp[t] = 1;
    assert(walk->left[t]);
    return t;
}

/* A search in breadth, whose stamp is 2 + where it started; `by` of the start is set when it is
 * reached again. */
static void reach_transaction(struct walk *walk, const struct step *step)
{
    uint32_t start = walk->queue[0];
    walk->budget -= walk->budget > 0;
    if (walk->stamp[step->to] == start + 2 &&
        (step->to != start || walk->by[start].from != ISO_NONE))
        return;
    walk->by[step->to] = *step;
    if (step->to == start)
        return;
    walk->stamp[step->to] = start + 2;
    walk->depth[step->to] = walk->depth[step->from] + 1;
    walk->queue[walk->found_count++] = step->to;
}

/* The shortest cycle through a transaction, of fewer than `most` edges, into `found`; its edges, or
 * `most`. */
static uint32_t find_cycle(struct walk *walk, uint32_t start, uint32_t most)
{
    walk->queue[0] = start;
    walk->found_count = 1;
    walk->stamp[start] = start + 2;
    walk->depth[start] = 0;
    walk->by[start].from = ISO_NONE;
    for (uint32_t head = 0; head < walk->found_count && walk->by[start].from == ISO_NONE; head++) {
        if (walk->depth[walk->queue[head]] + 1 >= most)
            return most;
        visit_edges(walk, walk->queue[head], reach_transaction);
    }
    if (walk->by[start].from == ISO_NONE)
        return most;
    uint32_t count = walk->depth[walk->by[start].from] + 1;
    walk->found = iso_reallocate(walk->found, count * sizeof *walk->found);
    for (uint32_t i = count, t = start; i-- > 0; t = walk->by[t].from)
        walk->found[i] = walk->by[t];
    return count;
}

/* A short one through any, as far as that is cheap. */
static uint32_t find_short_cycle(struct walk *walk)
{
    enum { BUDGET = 20000000 };
    uint32_t start = find_on_cycle(walk), best;
    memset(walk->stamp, 0, ((size_t)walk->engine->transactions.count + 1) * sizeof *walk->stamp);
    walk->budget = BUDGET;
    best = find_cycle(walk, start, UINT32_MAX);
    for (uint32_t t = 0; t < walk->engine->transactions.count && walk->budget && best > 2; t++)
        if (walk->left[t] && t != start)
            best = find_cycle(walk, t, best);
    return best;
}

static void emit_order(const struct walk *walk, uint32_t earlier, uint32_t later, uint32_t key)
{
    const struct engine *engine = walk->engine;
    iso_evidence_lemma(&engine->result->evidence, ISO_LEMMA_VERSIONS, ISO_NONE);
    iso_evidence_literal(&engine->result->evidence,
                         (struct iso_literal){ISO_LITERAL_ORDER,
                                              engine->transactions.in_history[earlier],
                                              engine->transactions.in_history[later], key, 0});
}

/* Which writes are known to come first, then the cycle. */
static void reject_cycle(struct walk *walk, uint32_t count)
{
    assert(walk->found[count - 1].to == walk->found[0].from);
    const struct engine *engine = walk->engine;
    struct iso_polygraph_result *result = engine->result;
    for (uint32_t i = 0; i < count; i++) {
        const struct step *step = &walk->found[i];
        if (step->kind == ISO_EDGE_WW)
            emit_order(walk, step->from, step->to, step->key);
        else if (step->kind == ISO_EDGE_RW && step->via != INITIAL)
            emit_order(walk, engine->writes.transaction[step->via], step->to, step->key);
    }
    result->cycle_lemma = result->evidence.lemma_count;
    iso_evidence_lemma(&result->evidence, ISO_LEMMA_CYCLE, ISO_NONE);
    for (uint32_t i = 0; i < count; i++) {
        const struct step *step = &walk->found[i];
        bool via = step->kind == ISO_EDGE_RW && step->via != INITIAL;
        iso_evidence_edge(
            &result->evidence,
            (struct iso_edge){
                .kind = step->kind,
                .from = iso_event_begin(engine->transactions.in_history[step->from]),
                .to = iso_event_begin(engine->transactions.in_history[step->to]),
                .key = step->key,
                .via = via ? engine->transactions.in_history[engine->writes.transaction[step->via]]
                           : ISO_NONE});
    }
    result->outcome = ISO_IS_VIOLATED;
    result->cycles = 1;
}

/* ---- the walk ---- */

/* Every read has its version, and every version that was read its position. */
static bool is_known(const struct engine *engine)
{
    const struct commit_order *commit_order = engine->commit_order;
    if (commit_order->ties)
        return false;
    for (uint32_t key = 0; key < engine->history->keys.count; key++)
        if (iso_key_is_list(engine->history, key))
            return false;
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t write = engine->reads.writer[read];
        if (write == OPEN || (write != INITIAL && commit_order->position[write] == ISO_NONE))
            return false;
    }
    return true;
}

static void list_sessions(struct walk *walk)
{
    const struct engine *engine = walk->engine;
    uint32_t *before = session_predecessors(engine);
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        if (before[t] != ISO_NONE &&
            iso_status_of(engine->history, engine->transactions.in_history[t]) == ISO_COMMITTED)
            walk->after[before[t]] = t;
    iso_free(before);
}

static void list_readers(struct walk *walk)
{
    const struct engine *engine = walk->engine;
    for (uint32_t read = engine->reads.count; read-- > 0;) {
        uint32_t write = engine->reads.writer[read];
        if (write == INITIAL || !is_seen(engine, read))
            continue;
        assert(write < engine->writes.count);
        walk->next_reader[read] = walk->first_reader[write];
        walk->first_reader[write] = read;
    }
}

static void list_own(struct walk *walk)
{
    const struct engine *engine = walk->engine;
    uint32_t count = engine->commit_order->first[engine->history->keys.count], next = count;
    for (uint32_t position = count; position-- > 0; walk->next_own[position] = next)
        next = is_foreign(walk, engine->writes.transaction[engine->commit_order->order[position]])
                   ? next
                   : position;
}

static void walk_init(struct walk *walk, struct engine *engine)
{
    *walk = (struct walk){.engine = engine,
                          .after = iso_numbers_none(engine->transactions.count),
                          .next_own = iso_numbers_none(engine->writes.count),
                          .first_reader = iso_numbers_none(engine->writes.count),
                          .next_reader = iso_numbers_none(engine->reads.count),
                          .left = iso_allocate((size_t)engine->transactions.count + 1),
                          .degree = iso_numbers_none(engine->transactions.count),
                          .queue = iso_numbers_none(engine->transactions.count)};
    list_sessions(walk);
    list_readers(walk);
    list_own(walk);
}

static void walk_release(struct walk *walk)
{
    ISO_FREE_ALL(walk->after, walk->next_own, walk->first_reader, walk->next_reader, walk->left,
                 walk->degree, walk->queue, walk->by, walk->found, walk->stamp, walk->depth);
}

static void reject_or_doubt(struct walk *walk)
{
    const struct engine *engine = walk->engine;
    if (!engine->options->neighbours && sort_walk(walk, false)) {
        engine->result->outcome = ISO_IS_UNDECIDED;
        engine->result->reason = "foreign-cycle";
        return;
    }
    walk->by = iso_allocate(((size_t)engine->transactions.count + 1) * sizeof *walk->by);
    walk->stamp = iso_numbers_none(engine->transactions.count);
    walk->depth = iso_numbers_none(engine->transactions.count);
    reject_cycle(walk, find_short_cycle(walk));
}

bool commit_order_decides(struct engine *engine)
{
    struct walk walk;
    bool neighbours = engine->options->neighbours;
    if (!neighbours && !is_known(engine))
        return false;
    walk_init(&walk, engine);
    if (sort_walk(&walk, !neighbours))
        accept_walk(&walk);
    else
        reject_or_doubt(&walk);
    walk_release(&walk);
    return true;
}
