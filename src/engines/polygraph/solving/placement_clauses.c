/* How a list whose elements repeat may be put together, as clauses.
 *
 * A variable a placement (placements.h): a transaction's appends stand there. Every element of the
 * longest read is covered, and a read that saw a version last saw the list end with it: these
 * clauses are there from the start. That no two placements overlap and no transaction has two, that
 * writers are ordered as they stand, and that whoever has no position comes after those that have
 * one, has a clause for a placement once a model has it. Clauses go to the solver, and again as
 * lemmas.
 *
 * The solver begins with what is likely: of those that fit the first in the proposed order, one
 * behind the other.
 */
#include <assert.h>
#include <stdlib.h>

#include "polygraph/solving/solve.h"
#include "problem/placements.h"

enum { CLAUSES_A_ROUND = 20000 };

/* A literal: of placement a; that version a comes before version b; that read a does not see
 * version b. */
struct term {
    enum { TERM_PLACED, TERM_NOT_PLACED, TERM_ORDER, TERM_NOT_READS } kind;
    uint32_t a, b;
};

struct placement_clause {
    size_t end; /* of its terms */
    uint32_t list;
};

struct placement_clauses {
    struct open *open;
    const struct repeating_list *list;
    uint32_t list_number;
    struct term *terms; /* of all clauses so far */
    size_t term_count, term_capacity;
    struct placement_clause *clauses;
    uint32_t clause_count, clause_capacity;
    uint32_t first_held_back; /* that the solver does not have */
    bool *likely;             /* by placement */
    int *clause;              /* of the one at hand, for the solver */
    size_t clause_size;
};

/* ---- all clauses ---- */

static void add_term(struct placement_clauses *clauses_of_lists, struct term term)
{
    ISO_GROW_COLUMN(clauses_of_lists->terms, clauses_of_lists->term_count,
                    clauses_of_lists->term_capacity);
    clauses_of_lists->terms[clauses_of_lists->term_count++] = term;
}

static void end_clause(struct placement_clauses *clauses_of_lists)
{
    ISO_GROW_COLUMN(clauses_of_lists->clauses, clauses_of_lists->clause_count,
                    clauses_of_lists->clause_capacity);
    clauses_of_lists->clauses[clauses_of_lists->clause_count++] =
        (struct placement_clause){clauses_of_lists->term_count, clauses_of_lists->list_number};
}

static const struct placement *items_of(const struct placement_clauses *clauses_of_lists)
{
    return clauses_of_lists->open->engine->placements->items;
}

static uint32_t version_of_placement(const struct placement_clauses *clauses_of_lists,
                                     uint32_t placement)
{
    return clauses_of_lists->open->engine->writes
        .version[items_of(clauses_of_lists)[placement].write];
}

/* Someone's appends cover each element. Positions that cover one are among the last ones that start
 * up to it. */
static void add_covers(struct placement_clauses *clauses_of_lists)
{
    const struct repeating_list *list = clauses_of_lists->list;
    const struct placement *items = items_of(clauses_of_lists);
    uint32_t longest = 0, next = list->first;
    for (uint32_t i = list->first; i < list->end; i++)
        longest = items[i].end - items[i].at > longest ? items[i].end - items[i].at : longest;
    for (uint32_t at = list->start; at < list->length; at++) {
        while (next < list->end && items[next].at <= at)
            next++;
        for (uint32_t i = next; i-- > list->first && at - items[i].at < longest;) {
            if (items[i].end > at)
                add_term(clauses_of_lists, (struct term){TERM_PLACED, i, 0});
        }
        end_clause(clauses_of_lists);
    }
}

static void add_reads(struct placement_clauses *clauses_of_lists)
{
    const struct engine *engine = clauses_of_lists->open->engine;
    const struct repeating_list *list = clauses_of_lists->list;
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (engine->reads.key[read] != list->key || engine->reads.prefix[read] == list->start)
            continue;
        uint32_t length = engine->reads.prefix[read] - list->start;
        ISO_EACH(i, list->first_ending, length) {
            uint32_t placement = list->ending[i],
                     version = version_of_placement(clauses_of_lists, placement);
            if (engine->versions.transaction[version] == engine->reads.transaction[read])
                continue;
            add_term(clauses_of_lists, (struct term){TERM_NOT_READS, read, version});
            add_term(clauses_of_lists, (struct term){TERM_PLACED, placement, 0});
            end_clause(clauses_of_lists);
        }
    }
}

/* ---- what is likely ---- */

static uint32_t rank_of(const struct placement_clauses *clauses_of_lists, uint32_t placement)
{
    return clauses_of_lists->open->engine->graph.rank[version_commit(
        clauses_of_lists->open->engine, version_of_placement(clauses_of_lists, placement))];
}

/* The first in the proposed order, among the placements from `i` on that start at `at`, whose write
 * has none yet. */
static uint32_t find_likely(const struct placement_clauses *clauses_of_lists, uint32_t i,
                            uint32_t at, const bool *placed)
{
    const struct placement *items = items_of(clauses_of_lists);
    uint32_t best = ISO_NONE;
    for (; i < clauses_of_lists->list->end && items[i].at == at; i++) {
        if (!placed[items[i].write] &&
            (best == ISO_NONE || rank_of(clauses_of_lists, i) < rank_of(clauses_of_lists, best)))
            best = i;
    }
    return best;
}

static void mark_likely(struct placement_clauses *clauses_of_lists)
{
    const struct placement *items = items_of(clauses_of_lists);
    bool *placed = iso_allocate_zeroed((size_t)clauses_of_lists->open->engine->writes.count + 1,
                                       sizeof *placed);
    uint32_t at = clauses_of_lists->list->start;
    for (uint32_t i = clauses_of_lists->list->first; i < clauses_of_lists->list->end;) {
        uint32_t best = items[i].at == at ? find_likely(clauses_of_lists, i, at, placed) : ISO_NONE;
        if (best != ISO_NONE) {
            clauses_of_lists->likely[best] = placed[items[best].write] = true;
            at = items[best].end;
        }
        for (uint32_t passed = items[i].at;
             i < clauses_of_lists->list->end && items[i].at == passed;)
            i++;
    }
    iso_free(placed);
}

/* ---- to the solver ---- */

enum { KNOWN_FALSE = 0, KNOWN_TRUE = INT32_MAX };

static int literal_of_placement(const struct placement_clauses *clauses_of_lists,
                                uint32_t placement, bool placed)
{
    int variable = (int)(clauses_of_lists->open->first_placed + placement);
    return clauses_of_lists->likely[placement] == placed ? variable : -variable;
}

static int literal_of_read(const struct open *open, uint32_t read, uint32_t version)
{
    const struct engine *engine = open->engine;
    if (engine->reads.writer[read] != OPEN)
        return engine->reads.writer[read] == version ? KNOWN_TRUE : KNOWN_FALSE;
    uint32_t candidate = candidate_of(engine, read, version);
    return candidate == ISO_NONE ? KNOWN_FALSE : open->candidate_variable[candidate];
}

static int literal_of_order(const struct open *open, uint32_t version, uint32_t later)
{
    int literal = open_literal_of_order(open, version, later);
    if (literal)
        return literal;
    return reaches(open->engine, version_begin(open->engine, version),
                   version_commit(open->engine, later))
               ? KNOWN_TRUE
               : KNOWN_FALSE;
}

static int literal_of(const struct placement_clauses *clauses_of_lists, const struct term *term)
{
    if (term->kind == TERM_ORDER)
        return literal_of_order(clauses_of_lists->open, term->a, term->b);
    if (term->kind != TERM_NOT_READS)
        return literal_of_placement(clauses_of_lists, term->a, term->kind == TERM_PLACED);
    int literal = literal_of_read(clauses_of_lists->open, term->a, term->b);
    return literal == KNOWN_TRUE ? KNOWN_FALSE : literal == KNOWN_FALSE ? KNOWN_TRUE : -literal;
}

/* The terms of a clause. */
static const struct term *terms_of(const struct placement_clauses *clauses_of_lists,
                                   uint32_t clause, size_t *count)
{
    assert(clause < clauses_of_lists->clause_count);
    size_t first = clause ? clauses_of_lists->clauses[clause - 1].end : 0;
    *count = clauses_of_lists->clauses[clause].end - first;
    return clauses_of_lists->terms + first;
}

static void emit_clause(struct placement_clauses *clauses_of_lists, uint32_t number,
                        struct iso_solver *solver)
{
    size_t terms;
    const struct term *term = terms_of(clauses_of_lists, number, &terms);
    uint32_t count = 0;
    if (terms > clauses_of_lists->clause_size) {
        clauses_of_lists->clause_size = 2 * terms;
        clauses_of_lists->clause =
            iso_reallocate(clauses_of_lists->clause,
                           clauses_of_lists->clause_size * sizeof *clauses_of_lists->clause);
    }
    for (size_t i = 0; i < terms; i++) {
        int literal = literal_of(clauses_of_lists, &term[i]);
        if (literal == KNOWN_TRUE)
            return;
        if (literal != KNOWN_FALSE)
            clauses_of_lists->clause[count++] = literal;
    }
    iso_solver_clause(solver, clauses_of_lists->clause, count);
}

void placement_clauses_add_clauses(const struct open *open, struct iso_solver *solver)
{
    for (uint32_t i = 0; open->clauses_of_lists && i < open->clauses_of_lists->clause_count; i++)
        emit_clause(open->clauses_of_lists, i, solver);
    if (open->clauses_of_lists)
        open->clauses_of_lists->first_held_back = open->clauses_of_lists->clause_count;
}

void placement_clauses_new(struct open *open)
{
    const struct placements *placements = open->engine->placements;
    if (!placements)
        return;
    struct placement_clauses *clauses_of_lists = open->clauses_of_lists =
        iso_allocate_zeroed(1, sizeof *clauses_of_lists);
    clauses_of_lists->open = open;
    clauses_of_lists->likely =
        iso_allocate_zeroed((size_t)placements->count + 1, sizeof *clauses_of_lists->likely);
    open->first_placed = open->variable_count + 1;
    for (uint32_t i = 0; i < placements->count; i++)
        open_add_variable(open, (struct variable){PLACED, i, ISO_NONE});
    for (; clauses_of_lists->list_number < placements->list_count;
         clauses_of_lists->list_number++) {
        clauses_of_lists->list = &placements->lists[clauses_of_lists->list_number];
        add_covers(clauses_of_lists);
        add_reads(clauses_of_lists);
        mark_likely(clauses_of_lists);
    }
}

void placement_clauses_free(struct placement_clauses *clauses_of_lists)
{
    if (!clauses_of_lists)
        return;
    ISO_FREE_COLUMN(clauses_of_lists->terms, clauses_of_lists->term_capacity);
    ISO_FREE_COLUMN(clauses_of_lists->clauses, clauses_of_lists->clause_capacity);
    ISO_FREE_ALL(clauses_of_lists->likely, clauses_of_lists->clause, clauses_of_lists);
}

bool placement_clauses_is_placed(const struct placement_clauses *clauses_of_lists, int literal)
{
    assert((uint32_t)abs(literal) >= clauses_of_lists->open->first_placed);
    return clauses_of_lists
               ->likely[(uint32_t)abs(literal) - clauses_of_lists->open->first_placed] ==
           (literal > 0);
}

/* ---- what a model does not keep to ---- */

static bool term_is_true(const struct placement_clauses *clauses_of_lists, int literal)
{
    if (literal == KNOWN_TRUE || literal == KNOWN_FALSE)
        return literal == KNOWN_TRUE;
    return iso_solver_value(clauses_of_lists->open->solver, abs(literal)) == (literal > 0);
}

/* The placements that the model has, by `at`. */
static uint32_t collect_placed(const struct placement_clauses *clauses_of_lists, uint32_t *placed)
{
    uint32_t count = 0;
    for (uint32_t i = clauses_of_lists->list->first; i < clauses_of_lists->list->end; i++) {
        if (term_is_true(clauses_of_lists, literal_of_placement(clauses_of_lists, i, true)))
            placed[count++] = i;
    }
    return count;
}

static void look_at_pair(struct placement_clauses *clauses_of_lists, uint32_t a, uint32_t b)
{
    const struct placement *items = items_of(clauses_of_lists);
    bool apart = items[a].write != items[b].write && items[b].at >= items[a].end;
    struct term order = {TERM_ORDER, version_of_placement(clauses_of_lists, a),
                         version_of_placement(clauses_of_lists, b)};
    if (apart && term_is_true(clauses_of_lists, literal_of(clauses_of_lists, &order)))
        return;
    add_term(clauses_of_lists, (struct term){TERM_NOT_PLACED, a, 0});
    add_term(clauses_of_lists, (struct term){TERM_NOT_PLACED, b, 0});
    if (apart)
        add_term(clauses_of_lists, order);
    end_clause(clauses_of_lists);
}

/* Writers without a position come after the one whose position is the last. */
static void look_at_rest(struct placement_clauses *clauses_of_lists, const uint32_t *placed,
                         uint32_t count)
{
    assert(count);
    const struct engine *engine = clauses_of_lists->open->engine;
    const struct placement *items = items_of(clauses_of_lists);
    uint32_t version = version_of_placement(clauses_of_lists, placed[count - 1]);
    bool *has = iso_allocate_zeroed((size_t)engine->writes.count + 1, sizeof *has);
    for (uint32_t i = 0; i < count; i++)
        has[items[placed[i]].write] = true;
    for (uint32_t write = 0; write < engine->writes.count; write++) {
        struct term order = {TERM_ORDER, version, engine->writes.version[write]};
        if (engine->writes.key[write] != clauses_of_lists->list->key || has[write] ||
            term_is_true(clauses_of_lists, literal_of(clauses_of_lists, &order)))
            continue;
        add_term(clauses_of_lists, (struct term){TERM_NOT_PLACED, placed[count - 1], 0});
        for (uint32_t i = clauses_of_lists->list->first; i < clauses_of_lists->list->end; i++) {
            if (items[i].write == write)
                add_term(clauses_of_lists, (struct term){TERM_PLACED, i, 0});
        }
        add_term(clauses_of_lists, order);
        end_clause(clauses_of_lists);
    }
    iso_free(has);
}

bool placement_clauses_agree(struct placement_clauses *clauses_of_lists)
{
    if (!clauses_of_lists)
        return true;
    const struct placements *placements = clauses_of_lists->open->engine->placements;
    uint32_t before = clauses_of_lists->clause_count;
    for (clauses_of_lists->list_number = 0; clauses_of_lists->list_number < placements->list_count;
         clauses_of_lists->list_number++) {
        const struct repeating_list *list = clauses_of_lists->list =
            &placements->lists[clauses_of_lists->list_number];
        uint32_t *placed = iso_allocate(((size_t)list->end - list->first + 1) * sizeof *placed);
        uint32_t count = collect_placed(clauses_of_lists, placed);
        for (uint32_t i = 0; i < count && clauses_of_lists->clause_count - before < CLAUSES_A_ROUND;
             i++) {
            for (uint32_t j = i + 1; j < count; j++)
                look_at_pair(clauses_of_lists, placed[i], placed[j]);
        }
        if (clauses_of_lists->clause_count == before) /* else the last one may not be the last */
            look_at_rest(clauses_of_lists, placed, count);
        iso_free(placed);
    }
    return clauses_of_lists->clause_count == before;
}

void placement_clauses_emit(struct placement_clauses *clauses_of_lists)
{
    for (; clauses_of_lists && clauses_of_lists->first_held_back < clauses_of_lists->clause_count;
         clauses_of_lists->first_held_back++)
        emit_clause(clauses_of_lists, clauses_of_lists->first_held_back,
                    clauses_of_lists->open->solver);
}

/* ---- as lemmas ---- */

/* True, and the two versions, if a clause lacks its last literal since the opposite order is
 * known. */
static bool rests_on_order(const struct placement_clauses *clauses_of_lists, uint32_t clause,
                           uint32_t *earlier, uint32_t *later)
{
    size_t count;
    const struct term *terms = terms_of(clauses_of_lists, clause, &count),
                      *last = &terms[count - 1];
    *earlier = last->b;
    *later = last->a;
    return last->kind == TERM_ORDER && literal_of(clauses_of_lists, last) == KNOWN_FALSE;
}

void placement_clauses_need(const struct placement_clauses *clauses_of_lists,
                            struct explanation *explanation)
{
    uint32_t earlier, later;
    for (uint32_t i = 0; clauses_of_lists && i < clauses_of_lists->clause_count; i++) {
        size_t count;
        const struct term *terms = terms_of(clauses_of_lists, i, &count);
        if (rests_on_order(clauses_of_lists, i, &earlier, &later))
            explanation_need_order(explanation, earlier, later);
        if (terms[0].kind == TERM_NOT_READS)
            explanation_need_read(explanation, terms[0].a);
    }
}

static struct iso_literal evidence_of(const struct engine *engine, const struct term *term)
{
    switch (term->kind) {
    case TERM_ORDER:
        return literal_order(engine, term->a, term->b);
    case TERM_NOT_READS:
        return literal_reads(engine, term->a, term->b, false);
    default:
        return literal_placed(engine, term->a, term->kind == TERM_PLACED);
    }
}

void placement_clauses_write(const struct placement_clauses *clauses_of_lists,
                             struct explanation *explanation)
{
    uint32_t earlier, later;
    for (uint32_t i = 0; clauses_of_lists && i < clauses_of_lists->clause_count; i++) {
        const struct engine *engine = clauses_of_lists->open->engine;
        const struct repeating_list *list =
            &engine->placements->lists[clauses_of_lists->clauses[i].list];
        size_t count;
        const struct term *terms = terms_of(clauses_of_lists, i, &count);
        if (rests_on_order(clauses_of_lists, i, &earlier, &later))
            explanation_order(explanation, earlier, later);
        iso_evidence_lemma(&engine->result->evidence, ISO_LEMMA_LIST,
                           engine->reads.operation[list->read]);
        for (size_t term = 0; term < count; term++)
            iso_evidence_literal(&engine->result->evidence, evidence_of(engine, &terms[term]));
    }
}
