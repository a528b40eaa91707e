/* A proof without the lemmas that its end does not rest on.
 *
 * One pass over the lemmas checks each as `verify` would, and notes what it rests on (derive.h);
 * what the last one rests on, and so on, is kept. That is done again while it helps. Of a short
 * proof each lemma and each literal is then left out on trial.
 */
#include <assert.h>

#include "polygraph/evidence/derive.h"
#include "polygraph/engine_private.h"

enum { LOOK_UP = 256, SHORT = 512, SHORTER = 128 }; /* lemmas */

struct trimmer {
    struct engine *engine;
    const struct iso_evidence *evidence;
    struct derivation *derivation;
    int *clause;
    uint32_t clause_capacity;
};

static void reserve_clause(struct trimmer *trimmer, uint32_t count)
{
    if (count <= trimmer->clause_capacity)
        return;
    trimmer->clause_capacity = (uint32_t)iso_column_capacity(trimmer->clause_capacity, count);
    trimmer->clause =
        iso_reallocate(trimmer->clause, trimmer->clause_capacity * sizeof *trimmer->clause);
}

/* ---- literals ---- */

static int variable_of(struct trimmer *trimmer, uint32_t kind, uint32_t a, uint32_t b, uint32_t key,
                       bool *is_new)
{
    return derivation_variable(trimmer->derivation, (const uint32_t[4]){kind, a, b, key}, is_new);
}

static uint32_t find_read(const struct engine *engine, uint32_t transaction, uint32_t key)
{
    uint32_t t = engine->transactions.local[transaction], read = engine->reads.first[t];
    while (read < engine->reads.first[t + 1] && engine->reads.key[read] != key)
        read++;
    assert(read < engine->reads.first[t + 1]); /* a literal names a read that there is */
    return read;
}

/* A read sees one of its possible writers; said once. */
static void add_choice(struct trimmer *trimmer, uint32_t transaction, uint32_t key)
{
    const struct engine *engine = trimmer->engine;
    bool is_new;
    variable_of(trimmer, ISO_LITERAL_READS, transaction, transaction, key, &is_new);
    if (!is_new)
        return;
    uint32_t read = find_read(engine, transaction, key), set = engine->reads.set[read], count = 0;
    const uint32_t *writer = set == ISO_NONE
                                 ? &engine->reads.writer[read]
                                 : engine->writer_sets.member + engine->writer_sets.first[set];
    uint32_t members =
        set == ISO_NONE ? 1 : engine->writer_sets.first[set + 1] - engine->writer_sets.first[set];
    int *clause = iso_allocate(((size_t)members + 1) * sizeof *clause);
    for (uint32_t i = 0; i < members; i++) {
        struct iso_literal literal = literal_reads(engine, read, writer[i], true);
        if (literal.b != transaction)
            clause[count++] =
                variable_of(trimmer, ISO_LITERAL_READS, transaction, literal.b, key, &is_new);
    }
    derivation_add(trimmer->derivation, clause, count, ISO_NONE);
    iso_free(clause);
}

/* Without assumptions only. */
static int literal_of(struct trimmer *trimmer, struct iso_literal literal)
{
    bool up = literal.a < literal.b, is_new;
    int variable;
    switch (literal.kind) {
    case ISO_LITERAL_ORDER:
    case ISO_LITERAL_BEFORE:
        variable = variable_of(trimmer, literal.kind, up ? literal.a : literal.b,
                               up ? literal.b : literal.a, 0, &is_new);
        return up ? variable : -variable;
    case ISO_LITERAL_PLACED:
    case ISO_LITERAL_NOT_PLACED:
        variable =
            variable_of(trimmer, ISO_LITERAL_PLACED, literal.a, literal.b, literal.key, &is_new);
        return literal.kind == ISO_LITERAL_PLACED ? variable : -variable;
    default:
        add_choice(trimmer, literal.a, literal.key);
        variable =
            variable_of(trimmer, ISO_LITERAL_READS, literal.a, literal.b, literal.key, &is_new);
        return literal.kind == ISO_LITERAL_READS ? variable : -variable;
    }
}

/* The literals that an edge rests on; 0: none, or no second one. */
static void needs_of(struct trimmer *trimmer, const struct iso_edge *edge, int needs[2])
{
    uint32_t from = edge->from / 2, to = edge->to / 2;
    needs[0] = needs[1] = 0;
    if (edge->kind == ISO_EDGE_WR)
        needs[0] =
            literal_of(trimmer, (struct iso_literal){ISO_LITERAL_READS, to, from, edge->key, 0});
    else if (edge->kind == ISO_EDGE_WW)
        needs[0] =
            literal_of(trimmer, (struct iso_literal){ISO_LITERAL_ORDER, from, to, edge->key, 0});
    else if (edge->kind == ISO_EDGE_BEFORE)
        needs[0] = literal_of(
            trimmer, (struct iso_literal){ISO_LITERAL_BEFORE, edge->from, edge->to, ISO_NONE, 0});
    if (edge->kind != ISO_EDGE_RW)
        return;
    needs[0] =
        literal_of(trimmer, (struct iso_literal){ISO_LITERAL_READS, from, edge->via, edge->key, 0});
    if (edge->via != ISO_NONE)
        needs[1] = literal_of(trimmer,
                              (struct iso_literal){ISO_LITERAL_ORDER, edge->via, to, edge->key, 0});
}

/* ---- one pass ---- */

/* Its clause is in trimmer->clause; `needs`, two an edge, are true or there is a contradiction. */
static bool is_justified(struct trimmer *trimmer, uint32_t number, const int *needs)
{
    const struct iso_lemma *lemma = &trimmer->evidence->lemmas[number];
    bool fine = true;
    if (lemma->kind == ISO_LEMMA_LIST || lemma->kind == ISO_LEMMA_VERSIONS)
        return true;
    for (uint32_t i = 0; i < lemma->literal_count; i++)
        derivation_assume(trimmer->derivation, -trimmer->clause[i]);
    if (derivation_fails(trimmer->derivation)) {
        derivation_rests_on_failure(trimmer->derivation, number);
    } else {
        fine = lemma->kind == ISO_LEMMA_CYCLE;
        for (uint32_t i = 0; i < 2 * lemma->edge_count && fine; i++) {
            if (!needs[i])
                continue;
            fine = derivation_has(trimmer->derivation, needs[i]);
            if (fine)
                derivation_rests_on(trimmer->derivation, number, needs[i]);
        }
    }
    derivation_undo(trimmer->derivation);
    return fine;
}

static bool check_lemma(struct trimmer *trimmer, uint32_t number)
{
    const struct iso_lemma *lemma = &trimmer->evidence->lemmas[number];
    int *needs = iso_allocate((2 * (size_t)lemma->edge_count + 1) * sizeof *needs);
    reserve_clause(trimmer, lemma->literal_count + 1);
    for (uint32_t i = 0; i < lemma->literal_count; i++)
        trimmer->clause[i] =
            literal_of(trimmer, trimmer->evidence->literals[lemma->first_literal + i]);
    for (uint32_t i = 0; i < lemma->edge_count; i++)
        needs_of(trimmer, &trimmer->evidence->edges[lemma->first_edge + i], needs + 2 * i);
    bool fine = is_justified(trimmer, number, needs);
    if (fine)
        derivation_add(trimmer->derivation, trimmer->clause, lemma->literal_count, number);
    iso_free(needs);
    return fine;
}

/* False: a lemma does not follow, or the time is up. Marks what the last one rests on. */
static bool check_all(struct engine *engine, const struct iso_evidence *evidence, bool *needed)
{
    struct trimmer trimmer = {.engine = engine, .evidence = evidence};
    trimmer.derivation = derivation_new(evidence->lemma_count);
    bool fine = true;
    for (uint32_t i = 0; i < evidence->lemma_count && fine; i++)
        fine =
            check_lemma(&trimmer, i) && !(i % LOOK_UP == LOOK_UP - 1 && engine_must_stop(engine));
    if (fine)
        derivation_mark(trimmer.derivation, evidence->lemma_count - 1, needed);
    derivation_free(trimmer.derivation);
    iso_free(trimmer.clause);
    return fine;
}

/* ---- parts of a proof ---- */

static void copy_lemma(const struct iso_evidence *evidence, uint32_t number, uint32_t left_out,
                       struct iso_evidence *part)
{
    const struct iso_lemma *lemma = &evidence->lemmas[number];
    iso_evidence_lemma(part, lemma->kind, lemma->operation);
    for (uint32_t i = 0; i < lemma->literal_count; i++) {
        if (i != left_out)
            iso_evidence_literal(part, evidence->literals[lemma->first_literal + i]);
    }
    for (uint32_t i = 0; i < lemma->edge_count; i++)
        iso_evidence_edge(part, evidence->edges[lemma->first_edge + i]);
}

/* Takes over `part`, whose lemmas are those that are kept. The cycle to be shown stays the same, or
 * is the last one. */
static void take_over(struct engine *engine, struct iso_evidence *part, const bool *kept)
{
    struct iso_evidence *evidence = &engine->result->evidence;
    uint32_t shown = engine->result->cycle_lemma, now = ISO_NONE, count = 0;
    for (uint32_t i = 0; i < evidence->lemma_count; i++) {
        if (!kept[i])
            continue;
        if (evidence->lemmas[i].kind == ISO_LEMMA_CYCLE && (i <= shown || now == ISO_NONE))
            now = count;
        count++;
    }
    engine->result->cycle_lemma = shown == ISO_NONE ? ISO_NONE : now;
    part->level = evidence->level;
    part->drift = evidence->drift;
    part->versions_by_commit = evidence->versions_by_commit;
    iso_evidence_release(evidence);
    *evidence = *part;
}

static void keep_lemmas(struct engine *engine, const bool *kept)
{
    const struct iso_evidence *evidence = &engine->result->evidence;
    struct iso_evidence part;
    iso_evidence_init(&part);
    for (uint32_t i = 0; i < evidence->lemma_count; i++) {
        if (kept[i])
            copy_lemma(evidence, i, ISO_NONE, &part);
    }
    take_over(engine, &part, kept);
}

/* Only what the last lemma rests on; false: that is all, or that is not known. */
static bool trim_once(struct engine *engine)
{
    const struct iso_evidence *evidence = &engine->result->evidence;
    bool *needed = iso_allocate_zeroed((size_t)evidence->lemma_count + 1, sizeof *needed);
    uint32_t count = 0;
    bool fine = check_all(engine, evidence, needed);
    for (uint32_t i = 0; i < evidence->lemma_count; i++)
        count += needed[i];
    fine = fine && count < evidence->lemma_count;
    if (fine)
        keep_lemmas(engine, needed);
    iso_free(needed);
    return fine;
}

/* ---- by trial ---- */

/* Without a lemma, or without one literal of it. */
static bool try_without(struct engine *engine, uint32_t number, uint32_t literal)
{
    const struct iso_evidence *evidence = &engine->result->evidence;
    struct iso_evidence part;
    bool kept[SHORT], needed[SHORT] = {false};
    iso_evidence_init(&part);
    part.level = evidence->level;
    for (uint32_t i = 0; i < evidence->lemma_count; i++) {
        kept[i] = i != number || literal != ISO_NONE;
        if (kept[i])
            copy_lemma(evidence, i, i == number ? literal : ISO_NONE, &part);
    }
    bool fine = check_all(engine, &part, needed);
    if (fine)
        take_over(engine, &part, kept);
    else
        iso_evidence_release(&part);
    return fine;
}

/* True: a literal went, so that other lemmas may be needed no more. */
static bool minimise_lemma(struct engine *engine, uint32_t number)
{
    const struct iso_evidence *evidence = &engine->result->evidence;
    bool smaller = false;
    enum iso_lemma_kind kind = evidence->lemmas[number].kind;
    if (kind == ISO_LEMMA_LIST || kind == ISO_LEMMA_VERSIONS || evidence->lemma_count > SHORTER)
        return false;
    for (uint32_t i = evidence->lemmas[number].literal_count;
         i-- > 0 && evidence->lemmas[number].literal_count > 1;)
        smaller |= try_without(engine, number, i);
    return smaller;
}

static bool minimise_proof(struct engine *engine)
{
    bool smaller = false;
    for (uint32_t number = engine->result->evidence.lemma_count - 1;
         number-- > 0 && !engine_must_stop(engine);)
        smaller |= !try_without(engine, number, ISO_NONE) && minimise_lemma(engine, number);
    return smaller;
}

void trim_proof(struct engine *engine)
{
    while (trim_once(engine))
        ;
    if (engine->result->evidence.lemma_count > SHORT)
        return;
    while (minimise_proof(engine))
        ;
}
