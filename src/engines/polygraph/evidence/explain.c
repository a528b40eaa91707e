/* From facts to lemmas.
 *
 * A fact rests on paths that were there when it was found, that is on facts with smaller numbers.
 * So the facts that a conclusion needs are found by one walk from the last one down; their lemmas
 * are then written in the order of their numbers.
 */
#include "polygraph/evidence/explain.h"

#include <assert.h>

static uint32_t begin_of_read(const struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    return node_begin(engine, engine->reads.transaction[read]);
}

static struct iso_literal literal_before(const struct engine *engine, uint32_t from, uint32_t to)
{
    return (struct iso_literal){ISO_LITERAL_BEFORE, event_of(engine, from), event_of(engine, to),
                                ISO_NONE, 0};
}

struct explanation *explanation_new(struct engine *engine)
{
    struct explanation *explanation = iso_allocate_zeroed(1, sizeof *explanation);
    size_t nodes = (size_t)engine->graph.node_count + 1,
           facts = (size_t)engine->graph.fact_count + 1;
    explanation->engine = engine;
    explanation->needed = iso_allocate_zeroed(facts, 1);
    explanation->first_prune = iso_allocate(((size_t)engine->reads.count + 1) * sizeof(uint32_t));
    explanation->next_prune = iso_allocate(facts * sizeof(uint32_t));
    memset(explanation->first_prune, 0xff, ((size_t)engine->reads.count + 1) * sizeof(uint32_t));
    for (uint32_t i = engine->graph.known_count; i < engine->graph.fact_count; i++) {
        const struct fact *fact = &engine->graph.facts[i];
        if (fact->kind != FACT_PRUNE_AFTER && fact->kind != FACT_PRUNE_HIDDEN)
            continue;
        explanation->next_prune[i] = explanation->first_prune[fact->read];
        explanation->first_prune[fact->read] = i;
    }
    explanation->asked = iso_allocate_zeroed((size_t)engine->reads.count + 1, 1);
    explanation->cost = iso_allocate(nodes * sizeof *explanation->cost);
    explanation->visited = iso_allocate_zeroed(nodes, sizeof *explanation->visited);
    explanation->by = iso_allocate(nodes * sizeof *explanation->by);
    return explanation;
}

void explanation_free(struct explanation *explanation)
{
    ISO_FREE_ALL(explanation->needed, explanation->first_prune, explanation->next_prune,
                 explanation->asked);
    ISO_FREE_COLUMN(explanation->pruned, explanation->pruned_capacity);
    ISO_FREE_ALL(explanation->cost, explanation->visited, explanation->by);
    iso_heap_release(&explanation->heap);
    iso_free(explanation->path);
    iso_number_map_release(&explanation->orders);
    iso_free(explanation);
}

/* A path that was there when the fact was found is there now. */
static void find_path(struct explanation *explanation, uint32_t from, uint32_t to, uint32_t limit)
{
    bool found = explanation_find_path(explanation, from, to, limit, false);
    assert(found);
    (void)found;
}

/* ---- what is needed ---- */

/* Orders of versions by a path are facts for the walk only where the path's facts are: so paths are
 * what is marked. */
static void mark_path(struct explanation *explanation, uint32_t from, uint32_t to, uint32_t limit)
{
    find_path(explanation, from, to, limit);
    for (uint32_t i = 0; i < explanation->path_count; i++) {
        if (explanation->path[i] != OWN_EDGE)
            explanation->needed[explanation->path[i]] = 1;
    }
}

/* The order of two versions whose commits and begins the facts below `limit` connect. */
static void mark_order(struct explanation *explanation, uint32_t earlier, uint32_t later,
                       uint32_t limit)
{
    const struct engine *engine = explanation->engine;
    if (earlier != INITIAL)
        mark_path(explanation, version_begin(engine, earlier), version_commit(engine, later),
                  limit);
}

static void mark_prunes(struct explanation *explanation, uint32_t read, uint32_t limit)
{
    explanation->asked[read] = 1;
    for (uint32_t i = explanation->first_prune[read]; i != ISO_NONE;
         i = explanation->next_prune[i]) {
        if (i < limit)
            explanation->needed[i] = 1;
    }
}

/* The candidates that a read had when fact `limit` was found. */
static uint32_t candidates_at(const struct explanation *explanation, uint32_t read, uint32_t limit,
                              uint32_t *count)
{
    const struct engine *engine = explanation->engine;
    uint32_t first = engine->candidates.first[read];
    *count = engine->candidates.first[read + 1] - first;
    for (uint32_t i = explanation->first_prune[read]; i != ISO_NONE; i = explanation->next_prune[i])
        *count -= i < limit;
    return first; /* ruled out ones stand behind, the first of them last */
}

/* Marks the facts that a fact rests on, all of them with smaller numbers. */
static void mark_basis(struct explanation *explanation, const struct fact *fact, uint32_t number)
{
    const struct engine *engine = explanation->engine;
    uint32_t count, first;
    switch ((enum fact_kind)fact->kind) {
    case FACT_HIDES:
        mark_prunes(explanation, fact->read, number);
        mark_path(explanation, version_commit(engine, fact->other),
                  begin_of_read(engine, fact->read), number);
        break;
    case FACT_PAIR:
        mark_order(explanation, fact->other, fact->version, number);
        break;
    case FACT_WR:
        mark_prunes(explanation, fact->read, number);
        break;
    case FACT_RW:
        mark_prunes(explanation, fact->read, number);
        mark_order(explanation, engine->reads.writer[fact->read], fact->version, number);
        break;
    case FACT_MEET:
    case FACT_JOIN:
        mark_prunes(explanation, fact->read, number);
        first = candidates_at(explanation, fact->read, number, &count);
        for (uint32_t i = first; i < first + count; i++) {
            if (fact->kind == FACT_JOIN)
                mark_order(explanation, engine->candidates.version[i], fact->version, number);
            else
                mark_path(explanation, fact->from,
                          version_commit(engine, engine->candidates.version[i]), number);
        }
        break;
    case FACT_PRUNE_AFTER:
        mark_path(explanation, begin_of_read(engine, fact->read),
                  version_commit(engine, fact->version), number);
        break;
    case FACT_PRUNE_HIDDEN:
        mark_order(explanation, fact->version, fact->other, number);
        mark_path(explanation, version_commit(engine, fact->other),
                  begin_of_read(engine, fact->read), number);
        break;
    case FACT_SESSION:
    case FACT_TIME:
    case FACT_LIST:
    case FACT_COMMIT_ORDER:
    case FACT_GUESS:
        break;
    }
}

void explanation_need_path(struct explanation *explanation, uint32_t from, uint32_t to)
{
    mark_path(explanation, from, to, explanation->engine->graph.fact_count);
}

void explanation_need_read(struct explanation *explanation, uint32_t read)
{
    mark_prunes(explanation, read, explanation->engine->graph.fact_count);
}

void explanation_need_order(struct explanation *explanation, uint32_t earlier, uint32_t later)
{
    mark_order(explanation, earlier, later, explanation->engine->graph.fact_count);
}

/* ---- lemmas ---- */

static struct iso_edge edge_of_fact(const struct engine *engine, const struct fact *fact)
{
    switch ((enum fact_kind)fact->kind) {
    case FACT_SESSION:
        return edge_between(engine, ISO_EDGE_SESSION, fact->from, fact->to, ISO_NONE);
    case FACT_TIME:
        return edge_between(engine, ISO_EDGE_TIME, fact->from, fact->to, ISO_NONE);
    case FACT_WR:
        return edge_wr(engine, fact->read, fact->version);
    case FACT_RW:
        return edge_rw(engine, fact->read, engine->reads.writer[fact->read], fact->version);
    case FACT_LIST:
    case FACT_COMMIT_ORDER:
    case FACT_HIDES:
    case FACT_PAIR:
        return edge_ww(engine, fact->other, fact->version);
    default:
        return edge_between(engine, ISO_EDGE_BEFORE, fact->from, fact->to, ISO_NONE);
    }
}

static void write_edge(struct explanation *explanation, struct iso_edge edge)
{
    iso_evidence_edge(&explanation->engine->result->evidence, edge);
}

static void write_literal(struct explanation *explanation, struct iso_literal literal)
{
    iso_evidence_literal(&explanation->engine->result->evidence, literal);
}

static void start_lemma(struct explanation *explanation, enum iso_lemma_kind kind)
{
    iso_evidence_lemma(&explanation->engine->result->evidence, kind, ISO_NONE);
}

static void write_path(struct explanation *explanation)
{
    const struct engine *engine = explanation->engine;
    uint32_t node = ISO_NONE;
    for (uint32_t i = 0; i < explanation->path_count; i++) {
        uint32_t number = explanation->path[i];
        if (number != OWN_EDGE) {
            struct fact fact = engine->graph.facts[number];
            while (fact.to >= engine->graph.event_count) /* through nodes of time */
                fact.to = engine->graph.facts[explanation->path[++i]].to;
            write_edge(explanation, edge_of_fact(engine, &fact));
            node = fact.to;
            continue;
        }
        if (node == ISO_NONE) /* the path starts with it: its end is where the next fact starts */
            node = i + 1 < explanation->path_count
                       ? engine->graph.facts[explanation->path[i + 1]].from - 1
                       : ISO_NONE;
        write_edge(explanation, edge_between(engine, ISO_EDGE_OWN, node, node + 1, ISO_NONE));
        node++;
    }
}

static void write_edges(struct explanation *explanation, uint32_t from, uint32_t to, uint32_t limit)
{
    find_path(explanation, from, to, limit);
    if (explanation->path_count == 1 && explanation->path[0] == OWN_EDGE)
        write_edge(explanation,
                   edge_between(explanation->engine, ISO_EDGE_OWN, from, to, ISO_NONE));
    else
        write_path(explanation);
}

void explanation_edges(struct explanation *explanation, uint32_t from, uint32_t to)
{
    write_edges(explanation, from, to, explanation->engine->graph.fact_count);
}

/* Several facts may say one order: the first of them has its lemma, the others would add
 * nothing. */
static bool is_new_order(struct explanation *explanation, uint32_t earlier, uint32_t later)
{
    return iso_number_map_put(&explanation->orders, iso_number_pair(earlier, later), 0) ==
           ISO_NUMBER_NONE;
}

/* "earlier before later": were it the other way round, that edge and the path close a cycle. */
static void write_order(struct explanation *explanation, uint32_t earlier, uint32_t later,
                        uint32_t limit)
{
    const struct engine *engine = explanation->engine;
    if (earlier == INITIAL || !is_new_order(explanation, earlier, later))
        return;
    start_lemma(explanation, ISO_LEMMA_CYCLE);
    write_literal(explanation, literal_order(engine, earlier, later));
    write_edge(explanation, edge_ww(engine, later, earlier));
    write_edges(explanation, version_begin(engine, earlier), version_commit(engine, later), limit);
}

void explanation_order(struct explanation *explanation, uint32_t earlier, uint32_t later)
{
    write_order(explanation, earlier, later, explanation->engine->graph.fact_count);
}

/* One lemma a candidate, then what follows whichever it is. */
static void write_choice(struct explanation *explanation, uint32_t number)
{
    const struct engine *engine = explanation->engine;
    const struct fact *fact = &engine->graph.facts[number];
    struct iso_literal before = literal_before(engine, fact->from, fact->to);
    uint32_t count, first = candidates_at(explanation, fact->read, number, &count);
    for (uint32_t i = first; i < first + count; i++) {
        uint32_t version = engine->candidates.version[i];
        if (fact->kind == FACT_JOIN)
            write_order(explanation, version, fact->version, number);
        start_lemma(explanation, ISO_LEMMA_CYCLE);
        write_literal(explanation, literal_reads(engine, fact->read, version, false));
        write_literal(explanation, before);
        write_edge(explanation,
                   edge_between(engine, ISO_EDGE_BEFORE, fact->to, fact->from, ISO_NONE));
        if (fact->kind == FACT_JOIN) {
            write_edge(explanation, edge_rw(engine, fact->read, version, fact->version));
        } else {
            write_edges(explanation, fact->from, version_commit(engine, version), number);
            write_edge(explanation, edge_wr(engine, fact->read, version));
        }
    }
    start_lemma(explanation, ISO_LEMMA_PROPAGATION);
    write_literal(explanation, before);
}

static void write_prune(struct explanation *explanation, const struct fact *fact, uint32_t number)
{
    const struct engine *engine = explanation->engine;
    uint32_t begin = begin_of_read(engine, fact->read);
    if (fact->kind == FACT_PRUNE_HIDDEN)
        write_order(explanation, fact->version, fact->other, number);
    start_lemma(explanation, ISO_LEMMA_CYCLE);
    write_literal(explanation, literal_reads(engine, fact->read, fact->version, false));
    if (fact->kind == FACT_PRUNE_HIDDEN) {
        write_edge(explanation, edge_rw(engine, fact->read, fact->version, fact->other));
        write_edges(explanation, version_commit(engine, fact->other), begin, number);
    } else {
        write_edge(explanation, edge_wr(engine, fact->read, fact->version));
        write_edges(explanation, begin, version_commit(engine, fact->version), number);
    }
}

static void write_fact(struct explanation *explanation, uint32_t number)
{
    const struct engine *engine = explanation->engine;
    const struct fact *fact = &engine->graph.facts[number];
    switch ((enum fact_kind)fact->kind) {
    case FACT_LIST:
        if (!is_new_order(explanation, fact->other, fact->version))
            break;
        iso_evidence_lemma(&engine->result->evidence, ISO_LEMMA_LIST, fact->read);
        write_literal(explanation, literal_order(engine, fact->other, fact->version));
        break;
    case FACT_COMMIT_ORDER:
        if (!is_new_order(explanation, fact->other, fact->version))
            break;
        start_lemma(explanation, ISO_LEMMA_VERSIONS);
        write_literal(explanation, literal_order(engine, fact->other, fact->version));
        break;
    case FACT_HIDES:
        if (!is_new_order(explanation, fact->other, fact->version))
            break;
        start_lemma(explanation, ISO_LEMMA_CYCLE);
        write_literal(explanation, literal_order(engine, fact->other, fact->version));
        write_edge(explanation, edge_rw(engine, fact->read, fact->version, fact->other));
        write_edges(explanation, version_commit(engine, fact->other),
                    begin_of_read(engine, fact->read), number);
        break;
    case FACT_PAIR:
        write_order(explanation, fact->other, fact->version, number);
        break;
    case FACT_RW:
        write_order(explanation, engine->reads.writer[fact->read], fact->version, number);
        break;
    case FACT_MEET:
    case FACT_JOIN:
        write_choice(explanation, number);
        break;
    case FACT_PRUNE_AFTER:
    case FACT_PRUNE_HIDDEN:
        write_prune(explanation, fact, number);
        break;
    case FACT_SESSION:
    case FACT_TIME:
    case FACT_WR:
    case FACT_GUESS:
        break;
    }
}

static void mark_facts(struct explanation *explanation, uint32_t first, uint32_t end)
{
    for (uint32_t i = end; i-- > first;) {
        if (explanation->needed[i])
            mark_basis(explanation, &explanation->engine->graph.facts[i], i);
    }
}

static void write_facts(struct explanation *explanation, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (explanation->needed[i])
            write_fact(explanation, i);
    }
}

/* Marks what the reasons of candidates that were not listed rest on, or writes them. They follow
 * from clocks made anew of the facts below `listed_at`, and paths go by the same: the rules' own
 * may lag behind those facts still. */
static void pass_excluded(struct explanation *explanation, uint32_t listed_at, bool write)
{
    struct engine *engine = explanation->engine;
    stamp *clocks = engine->clocks.stamps;
    if (explanation->pruned_count)
        engine->clocks.stamps = engine->saturation.seen; /* where they were made */
    for (uint32_t i = 0; i < explanation->pruned_count; i++) {
        if (write)
            write_prune(explanation, &explanation->pruned[i], listed_at);
        else
            mark_basis(explanation, &explanation->pruned[i], listed_at);
    }
    engine->clocks.stamps = clocks;
}

/* Candidates that were not listed were ruled out between the facts before and after that. */
void explanation_write(struct explanation *explanation)
{
    const struct engine *engine = explanation->engine;
    uint32_t listed_at = engine->candidates.listed_at < engine->graph.fact_count
                             ? engine->candidates.listed_at
                             : engine->graph.fact_count;
    mark_facts(explanation, listed_at, engine->graph.fact_count);
    explanation_find_pruned(explanation);
    pass_excluded(explanation, listed_at, false);
    mark_facts(explanation, 0, listed_at);
    write_facts(explanation, 0, listed_at);
    pass_excluded(explanation, listed_at, true);
    write_facts(explanation, listed_at, engine->graph.fact_count);
}

/* ---- conclusions ---- */

static uint32_t find_node_on_cycle(const struct engine *engine)
{
    uint32_t *before = iso_numbers(engine->graph.node_count);
    uint8_t *sorted = iso_allocate_zeroed((size_t)engine->graph.node_count + 1, 1),
            *passed = sorted;
    uint32_t *order = iso_numbers(engine->graph.node_count);
    for (uint32_t end = graph_sort_by(engine, engine->graph.fact_count, order); end-- > 0;)
        sorted[order[end]] = 1;
    /* every unsorted node has an unsorted predecessor: walking back leads into a cycle */
    for (uint32_t i = 0; i < engine->graph.fact_count; i++) {
        const struct fact *fact = &engine->graph.facts[i];
        if (fact->to != ISO_NONE && !sorted[fact->from] && !sorted[fact->to])
            before[fact->to] = fact->from;
    }
    uint32_t node = 0;
    while (sorted[node])
        node++;
    for (uint32_t i = 0; !engine->serial && i < engine->graph.event_count; i += 2) {
        if (!sorted[i] && !sorted[i + 1])
            before[i + 1] = i;
    }
    while (!passed[node] ||
           node >= engine->graph.event_count) { /* nodes of time alone close none */
        passed[node] = 1;
        node = before[node];
    }
    ISO_FREE_ALL(before, sorted, order);
    return node;
}

void explain_cycle(struct engine *engine)
{
    struct explanation *explanation = explanation_new(engine);
    stamp *clocks = engine->clocks.stamps;
    uint32_t node;
    engine->clocks.stamps = NULL; /* they may lag behind on a cycle */
    const struct fact *last = &engine->graph.facts[engine->graph.fact_count - 1];
    if (engine->graph.fact_count > engine->graph.known_count && last->to != ISO_NONE &&
        explanation_find_path(explanation, last->to, last->from, engine->graph.fact_count, false))
        node = last->from;
    else
        node = find_node_on_cycle(engine);
    bool found = explanation_find_path(explanation, node, node, engine->graph.fact_count, true);
    assert(found);
    (void)found;
    engine->clocks.stamps = clocks;
    uint32_t count = explanation->path_count, *cycle = explanation->path;
    explanation->path = NULL;
    explanation->path_capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (cycle[i] != OWN_EDGE)
            explanation->needed[cycle[i]] = 1;
    }
    explanation_write(explanation);
    start_lemma(explanation, ISO_LEMMA_CYCLE);
    engine->result->cycle_lemma = engine->result->evidence.lemma_count - 1;
    iso_free(explanation->path);
    explanation->path = cycle;
    explanation->path_count = count;
    write_path(explanation);
    explanation->path = cycle;
    explanation_free(explanation);
}

void explain_empty_read(struct engine *engine)
{
    struct explanation *explanation = explanation_new(engine);
    explanation_need_read(explanation, engine->saturation.empty_read);
    explanation_write(explanation);
    start_lemma(explanation, ISO_LEMMA_PROPAGATION);
    explanation_free(explanation);
}
