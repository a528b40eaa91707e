/* How a list whose elements repeat may be put together, as clauses.
 *
 * A variable a placement (placements.h): a transaction's appends stand there. Every element of the longest read is
 * covered, and a read that saw a version last saw the list end with it: these clauses are there from the start. That no
 * two placements overlap and no transaction has two, that writers are ordered as they stand, and that whoever has no
 * place comes after those that have one, is told of a placement once a model has it. Clauses are told to the solver,
 * and again as lemmas.
 *
 * The solver begins with what is likely: of those that fit the first in the proposed order, one behind the other.
 */
#include <stdlib.h>

#include "polygraph/placements.h"
#include "polygraph/solve.h"

enum { CLAUSES_A_ROUND = 20000 };

/* A literal: of placement a; that version a comes before version b; that read a does not see version b. */
struct term {
    enum { TERM_PLACED, TERM_NOT_PLACED, TERM_ORDER, TERM_NOT_READS } kind;
    uint32_t a, b;
};

struct told_clause {
    size_t end; /* of its terms */
    uint32_t list;
};

struct tilings {
    struct open *open;
    const struct repeating_list *list;
    uint32_t list_number;
    struct term *terms; /* of all clauses so far */
    size_t term_count, term_capacity;
    struct told_clause *clauses;
    uint32_t clause_count, clause_capacity;
    uint32_t first_untold; /* that the solver does not have */
    bool *likely;          /* by placement */
    int *clause;           /* of the one at hand, for the solver */
    size_t clause_size;
};

/* ---- all clauses ---- */

static void add(struct tilings *tilings, struct term term)
{
    if (tilings->term_count == tilings->term_capacity) {
        size_t old = tilings->term_capacity, next = iso_column_capacity(old, old + 1);
        tilings->terms = iso_column_grow(tilings->terms, old * sizeof term, next * sizeof term);
        tilings->term_capacity = next;
    }
    tilings->terms[tilings->term_count++] = term;
}

static void end_clause(struct tilings *tilings)
{
    if (tilings->clause_count == tilings->clause_capacity) {
        size_t old = tilings->clause_capacity, next = iso_column_capacity(old, old + 1),
               size = sizeof *tilings->clauses;
        tilings->clauses = iso_column_grow(tilings->clauses, old * size, next * size);
        tilings->clause_capacity = (uint32_t)next;
    }
    tilings->clauses[tilings->clause_count++] = (struct told_clause){tilings->term_count, tilings->list_number};
}

static const struct placement *items_of(const struct tilings *tilings)
{
    return tilings->open->engine->placements->items;
}

static uint32_t version_of_placement(const struct tilings *tilings, uint32_t placement)
{
    return tilings->open->engine->version_of_write[items_of(tilings)[placement].write];
}

/* Someone's appends cover each element. Places that cover one are among the last ones that start up to it. */
static void add_covers(struct tilings *tilings)
{
    const struct repeating_list *list = tilings->list;
    const struct placement *items = items_of(tilings);
    uint32_t longest = 0, next = list->first;
    for (uint32_t i = list->first; i < list->end; i++)
        longest = items[i].end - items[i].at > longest ? items[i].end - items[i].at : longest;
    for (uint32_t at = list->start; at < list->length; at++) {
        while (next < list->end && items[next].at <= at)
            next++;
        for (uint32_t i = next; i-- > list->first && at - items[i].at < longest;) {
            if (items[i].end > at)
                add(tilings, (struct term){TERM_PLACED, i, 0});
        }
        end_clause(tilings);
    }
}

static void add_reads(struct tilings *tilings)
{
    const struct engine *engine = tilings->open->engine;
    const struct repeating_list *list = tilings->list;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        if (engine->read_key[read] != list->key || engine->read_prefix[read] == list->start)
            continue;
        uint32_t length = engine->read_prefix[read] - list->start;
        for (uint32_t i = list->first_ending[length]; i < list->first_ending[length + 1]; i++) {
            uint32_t placement = list->ending[i], version = version_of_placement(tilings, placement);
            if (engine->version_transaction[version] == engine->read_transaction[read])
                continue;
            add(tilings, (struct term){TERM_NOT_READS, read, version});
            add(tilings, (struct term){TERM_PLACED, placement, 0});
            end_clause(tilings);
        }
    }
}

/* ---- what is likely ---- */

static uint32_t rank_of(const struct tilings *tilings, uint32_t placement)
{
    return tilings->open->engine->rank[version_commit(tilings->open->engine, version_of_placement(tilings, placement))];
}

/* Of the placements from `i` on that start at `at`: the first in the proposed order whose write has none yet. */
static uint32_t find_likely(const struct tilings *tilings, uint32_t i, uint32_t at, const bool *placed)
{
    const struct placement *items = items_of(tilings);
    uint32_t best = ISO_NONE;
    for (; i < tilings->list->end && items[i].at == at; i++) {
        if (!placed[items[i].write] && (best == ISO_NONE || rank_of(tilings, i) < rank_of(tilings, best)))
            best = i;
    }
    return best;
}

static void mark_likely(struct tilings *tilings)
{
    const struct placement *items = items_of(tilings);
    bool *placed = iso_allocate_zeroed((size_t)tilings->open->engine->write_count + 1, sizeof *placed);
    uint32_t at = tilings->list->start;
    for (uint32_t i = tilings->list->first; i < tilings->list->end;) {
        uint32_t best = items[i].at == at ? find_likely(tilings, i, at, placed) : ISO_NONE;
        if (best != ISO_NONE) {
            tilings->likely[best] = placed[items[best].write] = true;
            at = items[best].end;
        }
        for (uint32_t passed = items[i].at; i < tilings->list->end && items[i].at == passed;)
            i++;
    }
    iso_free(placed);
}

/* ---- to the solver ---- */

enum { KNOWN_FALSE = 0, KNOWN_TRUE = INT32_MAX };

static int literal_of_placement(const struct tilings *tilings, uint32_t placement, bool placed)
{
    int variable = (int)(tilings->open->first_placed + placement);
    return tilings->likely[placement] == placed ? variable : -variable;
}

static int literal_of_read(const struct open *open, uint32_t read, uint32_t version)
{
    const struct engine *engine = open->engine;
    uint32_t first = engine->first_candidate[read];
    if (engine->read_writer[read] != OPEN)
        return engine->read_writer[read] == version ? KNOWN_TRUE : KNOWN_FALSE;
    for (uint32_t i = first; i < first + engine->candidate_count[read]; i++) {
        if (engine->candidates[i] == version)
            return open->candidate_variable[i];
    }
    return KNOWN_FALSE;
}

static int literal_of_order(const struct open *open, uint32_t version, uint32_t later)
{
    int literal = open_literal_of_order(open, version, later);
    if (literal)
        return literal;
    return reaches(open->engine, version_begin(open->engine, version), version_commit(open->engine, later))
               ? KNOWN_TRUE
               : KNOWN_FALSE;
}

static int literal_of(const struct tilings *tilings, const struct term *term)
{
    if (term->kind == TERM_ORDER)
        return literal_of_order(tilings->open, term->a, term->b);
    if (term->kind != TERM_NOT_READS)
        return literal_of_placement(tilings, term->a, term->kind == TERM_PLACED);
    int literal = literal_of_read(tilings->open, term->a, term->b);
    return literal == KNOWN_TRUE ? KNOWN_FALSE : literal == KNOWN_FALSE ? KNOWN_TRUE : -literal;
}

/* The terms of a clause. */
static const struct term *terms_of(const struct tilings *tilings, uint32_t clause, size_t *count)
{
    size_t first = clause ? tilings->clauses[clause - 1].end : 0;
    *count = tilings->clauses[clause].end - first;
    return tilings->terms + first;
}

static void tell(struct tilings *tilings, uint32_t number, struct iso_solver *solver)
{
    size_t terms;
    const struct term *term = terms_of(tilings, number, &terms);
    uint32_t count = 0;
    if (terms > tilings->clause_size) {
        tilings->clause_size = 2 * terms;
        tilings->clause = iso_reallocate(tilings->clause, tilings->clause_size * sizeof *tilings->clause);
    }
    for (size_t i = 0; i < terms; i++) {
        int literal = literal_of(tilings, &term[i]);
        if (literal == KNOWN_TRUE)
            return;
        if (literal != KNOWN_FALSE)
            tilings->clause[count++] = literal;
    }
    iso_solver_clause(solver, tilings->clause, count);
}

void tilings_add_clauses(const struct open *open, struct iso_solver *solver)
{
    for (uint32_t i = 0; open->tilings && i < open->tilings->clause_count; i++)
        tell(open->tilings, i, solver);
    if (open->tilings)
        open->tilings->first_untold = open->tilings->clause_count;
}

void tilings_new(struct open *open)
{
    const struct placements *placements = open->engine->placements;
    if (!placements)
        return;
    struct tilings *tilings = open->tilings = iso_allocate_zeroed(1, sizeof *tilings);
    tilings->open = open;
    tilings->likely = iso_allocate_zeroed((size_t)placements->count + 1, sizeof *tilings->likely);
    open->first_placed = open->variable_count + 1;
    for (uint32_t i = 0; i < placements->count; i++)
        open_add_variable(open, (struct variable){PLACED, i, ISO_NONE});
    for (; tilings->list_number < placements->list_count; tilings->list_number++) {
        tilings->list = &placements->lists[tilings->list_number];
        add_covers(tilings);
        add_reads(tilings);
        mark_likely(tilings);
    }
}

void tilings_free(struct tilings *tilings)
{
    if (!tilings)
        return;
    iso_column_free(tilings->terms, tilings->term_capacity * sizeof *tilings->terms);
    iso_column_free(tilings->clauses, tilings->clause_capacity * sizeof *tilings->clauses);
    iso_free(tilings->likely);
    iso_free(tilings->clause);
    iso_free(tilings);
}

bool tilings_is_placed(const struct tilings *tilings, int literal)
{
    return tilings->likely[(uint32_t)abs(literal) - tilings->open->first_placed] == (literal > 0);
}

/* ---- what a model does not keep to ---- */

static bool holds(const struct tilings *tilings, int literal)
{
    if (literal == KNOWN_TRUE || literal == KNOWN_FALSE)
        return literal == KNOWN_TRUE;
    return iso_solver_value(tilings->open->solver, abs(literal)) == (literal > 0);
}

/* The placements that the model has, by `at`. */
static uint32_t collect(const struct tilings *tilings, uint32_t *placed)
{
    uint32_t count = 0;
    for (uint32_t i = tilings->list->first; i < tilings->list->end; i++) {
        if (holds(tilings, literal_of_placement(tilings, i, true)))
            placed[count++] = i;
    }
    return count;
}

static void look_at_pair(struct tilings *tilings, uint32_t a, uint32_t b)
{
    const struct placement *items = items_of(tilings);
    bool apart = items[a].write != items[b].write && items[b].at >= items[a].end;
    struct term order = {TERM_ORDER, version_of_placement(tilings, a), version_of_placement(tilings, b)};
    if (apart && holds(tilings, literal_of(tilings, &order)))
        return;
    add(tilings, (struct term){TERM_NOT_PLACED, a, 0});
    add(tilings, (struct term){TERM_NOT_PLACED, b, 0});
    if (apart)
        add(tilings, order);
    end_clause(tilings);
}

/* Writers without a place come after the one whose place is the last. */
static void look_at_rest(struct tilings *tilings, const uint32_t *placed, uint32_t count)
{
    const struct engine *engine = tilings->open->engine;
    const struct placement *items = items_of(tilings);
    uint32_t version = version_of_placement(tilings, placed[count - 1]);
    bool *has = iso_allocate_zeroed((size_t)engine->write_count + 1, sizeof *has);
    for (uint32_t i = 0; i < count; i++)
        has[items[placed[i]].write] = true;
    for (uint32_t write = 0; write < engine->write_count; write++) {
        struct term order = {TERM_ORDER, version, engine->version_of_write[write]};
        if (engine->write_key[write] != tilings->list->key || has[write] || holds(tilings, literal_of(tilings, &order)))
            continue;
        add(tilings, (struct term){TERM_NOT_PLACED, placed[count - 1], 0});
        for (uint32_t i = tilings->list->first; i < tilings->list->end; i++) {
            if (items[i].write == write)
                add(tilings, (struct term){TERM_PLACED, i, 0});
        }
        add(tilings, order);
        end_clause(tilings);
    }
    iso_free(has);
}

bool tilings_agree(struct tilings *tilings)
{
    if (!tilings)
        return true;
    const struct placements *placements = tilings->open->engine->placements;
    uint32_t before = tilings->clause_count;
    for (tilings->list_number = 0; tilings->list_number < placements->list_count; tilings->list_number++) {
        const struct repeating_list *list = tilings->list = &placements->lists[tilings->list_number];
        uint32_t *placed = iso_allocate(((size_t)list->end - list->first + 1) * sizeof *placed);
        uint32_t count = collect(tilings, placed);
        for (uint32_t i = 0; i < count && tilings->clause_count - before < CLAUSES_A_ROUND; i++) {
            for (uint32_t j = i + 1; j < count; j++)
                look_at_pair(tilings, placed[i], placed[j]);
        }
        if (tilings->clause_count == before) /* else the last one may not be the last */
            look_at_rest(tilings, placed, count);
        iso_free(placed);
    }
    return tilings->clause_count == before;
}

void tilings_tell(struct tilings *tilings)
{
    for (; tilings && tilings->first_untold < tilings->clause_count; tilings->first_untold++)
        tell(tilings, tilings->first_untold, tilings->open->solver);
}

/* ---- as lemmas ---- */

/* True, and the two versions, if a clause lacks its last literal since the opposite order is known. */
static bool rests_on_order(const struct tilings *tilings, uint32_t clause, uint32_t *earlier, uint32_t *later)
{
    size_t count;
    const struct term *terms = terms_of(tilings, clause, &count), *last = &terms[count - 1];
    *earlier = last->b;
    *later = last->a;
    return last->kind == TERM_ORDER && literal_of(tilings, last) == KNOWN_FALSE;
}

void tilings_need(const struct tilings *tilings, struct explanation *explanation)
{
    uint32_t earlier, later;
    for (uint32_t i = 0; tilings && i < tilings->clause_count; i++) {
        size_t count;
        const struct term *terms = terms_of(tilings, i, &count);
        if (rests_on_order(tilings, i, &earlier, &later))
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

void tilings_write(const struct tilings *tilings, struct explanation *explanation)
{
    uint32_t earlier, later;
    for (uint32_t i = 0; tilings && i < tilings->clause_count; i++) {
        const struct engine *engine = tilings->open->engine;
        const struct repeating_list *list = &engine->placements->lists[tilings->clauses[i].list];
        size_t count;
        const struct term *terms = terms_of(tilings, i, &count);
        if (rests_on_order(tilings, i, &earlier, &later))
            explanation_order(explanation, earlier, later);
        iso_evidence_lemma(&engine->result->evidence, ISO_LEMMA_LIST, engine->read_operation[list->read]);
        for (size_t term = 0; term < count; term++)
            iso_evidence_literal(&engine->result->evidence, evidence_of(engine, &terms[term]));
    }
}
