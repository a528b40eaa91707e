/* How a list whose elements repeat may be put together, as clauses.
 *
 * A variable a placement (placements.h): a transaction's appends stand there. Every element of the longest read is
 * covered, no two placements overlap, and no transaction has two. Neighbours are ordered as they stand, and whoever has
 * no place comes after the last one. A read that saw a version last saw the list end with it. Clauses are told twice,
 * to the solver and as lemmas.
 */
#include "polygraph/placements.h"
#include "polygraph/solve.h"

/* A literal: of placement a; that version a comes before version b; that read a does not see version b. */
struct term {
    enum { TERM_PLACED, TERM_NOT_PLACED, TERM_ORDER, TERM_NOT_READS } kind;
    uint32_t a, b;
};

struct tilings {
    const struct open *open;
    const struct repeating_list *list;
    struct term *terms; /* of the clause at hand */
    uint32_t term_count, term_capacity;
    void (*take)(struct tilings *tilings); /* what is done with a clause */
    struct iso_solver *solver;
    struct explanation *explanation;
    int *clause;
};

enum { LOOK_UP = 256 };

static void add(struct tilings *tilings, struct term term)
{
    if (tilings->term_count == tilings->term_capacity) {
        tilings->term_capacity = (uint32_t)iso_column_capacity(tilings->term_capacity, tilings->term_count + 1u);
        tilings->terms = iso_reallocate(tilings->terms, tilings->term_capacity * sizeof *tilings->terms);
        tilings->clause = iso_reallocate(tilings->clause, tilings->term_capacity * sizeof *tilings->clause);
    }
    tilings->terms[tilings->term_count++] = term;
}

static void take(struct tilings *tilings)
{
    tilings->take(tilings);
    tilings->term_count = 0;
}

/* ---- all clauses ---- */

static const struct placement *items_of(const struct tilings *tilings)
{
    return tilings->open->engine->placements->items;
}

static uint32_t version_of_placement(const struct tilings *tilings, uint32_t placement)
{
    return tilings->open->engine->version_of_write[items_of(tilings)[placement].write];
}

/* Someone's appends cover each element. Places that cover one are among the last ones that start up to it. */
static void tell_covers(struct tilings *tilings)
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
        take(tilings);
    }
}

static void tell_apart(struct tilings *tilings, uint32_t a, uint32_t b)
{
    add(tilings, (struct term){TERM_NOT_PLACED, a, 0});
    add(tilings, (struct term){TERM_NOT_PLACED, b, 0});
    take(tilings);
}

/* A placement and those behind it: they overlap, or are neighbours. */
static void tell_pairs(struct tilings *tilings, uint32_t placement)
{
    const struct placement *items = items_of(tilings), *item = &items[placement];
    for (uint32_t i = placement + 1; i < tilings->list->end && items[i].at <= item->end; i++) {
        if (items[i].write == item->write || items[i].at < item->end) {
            tell_apart(tilings, placement, i);
            continue;
        }
        add(tilings, (struct term){TERM_NOT_PLACED, placement, 0});
        add(tilings, (struct term){TERM_NOT_PLACED, i, 0});
        add(tilings,
            (struct term){TERM_ORDER, version_of_placement(tilings, placement), version_of_placement(tilings, i)});
        take(tilings);
    }
}

/* By write, linked: the next placement of the same one behind each; `*first` by write. The caller frees both. */
static uint32_t *link_places(const struct tilings *tilings, uint32_t **first)
{
    const struct repeating_list *list = tilings->list;
    size_t writes = ((size_t)tilings->open->engine->write_count + 1) * sizeof(uint32_t);
    uint32_t *next = iso_allocate(((size_t)list->end - list->first + 1) * sizeof *next);
    *first = memset(iso_allocate(writes), 0xff, writes);
    for (uint32_t i = list->end; i-- > list->first;) {
        uint32_t write = items_of(tilings)[i].write;
        next[i - list->first] = (*first)[write];
        (*first)[write] = i;
    }
    return next;
}

/* No transaction has two places, also such as neither overlap nor are neighbours. */
static void tell_places(struct tilings *tilings, const uint32_t *next)
{
    const struct placement *items = items_of(tilings);
    uint32_t first = tilings->list->first;
    for (uint32_t i = first; i < tilings->list->end && !engine_must_stop(tilings->open->engine); i++) {
        for (uint32_t j = next[i - first]; j != ISO_NONE; j = next[j - first]) {
            if (items[j].at > items[i].end)
                tell_apart(tilings, i, j);
        }
    }
}

/* A writer without a place comes after the one whose place is the last. */
static void tell_rest(struct tilings *tilings, uint32_t last, const uint32_t *first, const uint32_t *next)
{
    const struct engine *engine = tilings->open->engine;
    uint32_t key = tilings->list->key, version = version_of_placement(tilings, last);
    for (uint32_t write = 0; write < engine->write_count; write++) {
        if (engine->write_key[write] != key || engine->version_of_write[write] == version)
            continue;
        add(tilings, (struct term){TERM_NOT_PLACED, last, 0});
        for (uint32_t i = first[write]; i != ISO_NONE; i = next[i - tilings->list->first])
            add(tilings, (struct term){TERM_PLACED, i, 0});
        add(tilings, (struct term){TERM_ORDER, version, engine->version_of_write[write]});
        take(tilings);
    }
}

static void tell_reads(struct tilings *tilings)
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
            take(tilings);
        }
    }
}

static void tell_list(struct tilings *tilings)
{
    const struct repeating_list *list = tilings->list;
    uint32_t *first, *next = link_places(tilings, &first);
    tell_covers(tilings);
    for (uint32_t i = list->first; i < list->end && !engine_must_stop(tilings->open->engine); i++)
        tell_pairs(tilings, i);
    tell_places(tilings, next);
    for (uint32_t i = list->first_ending[list->length - list->start];
         i < list->first_ending[list->length - list->start + 1]; i++)
        tell_rest(tilings, list->ending[i], first, next);
    tell_reads(tilings);
    iso_free(first);
    iso_free(next);
}

static void tell_all(struct tilings *tilings)
{
    const struct placements *placements = tilings->open->engine->placements;
    for (uint32_t i = 0; placements && i < placements->list_count; i++) {
        tilings->list = &placements->lists[i];
        tell_list(tilings);
    }
    iso_free(tilings->terms);
    iso_free(tilings->clause);
}

/* ---- to the solver ---- */

enum { KNOWN_FALSE = 0, KNOWN_TRUE = INT32_MAX };

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

static int literal_of(const struct open *open, const struct term *term)
{
    int literal;
    switch (term->kind) {
    case TERM_PLACED:
        return (int)(open->first_placed + term->a);
    case TERM_NOT_PLACED:
        return -(int)(open->first_placed + term->a);
    case TERM_ORDER:
        literal = open_literal_of_order(open, term->a, term->b);
        if (literal)
            return literal;
        return reaches(open->engine, version_begin(open->engine, term->a), version_commit(open->engine, term->b))
                   ? KNOWN_TRUE
                   : KNOWN_FALSE;
    case TERM_NOT_READS:
        literal = literal_of_read(open, term->a, term->b);
        return literal == KNOWN_TRUE ? KNOWN_FALSE : literal == KNOWN_FALSE ? KNOWN_TRUE : -literal;
    }
    return KNOWN_FALSE;
}

static void take_for_solver(struct tilings *tilings)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tilings->term_count; i++) {
        int literal = literal_of(tilings->open, &tilings->terms[i]);
        if (literal == KNOWN_TRUE)
            return;
        if (literal != KNOWN_FALSE)
            tilings->clause[count++] = literal;
    }
    iso_solver_clause(tilings->solver, tilings->clause, count);
}

void tilings_add_variables(struct open *open)
{
    const struct placements *placements = open->engine->placements;
    open->first_placed = open->variable_count + 1;
    for (uint32_t i = 0; placements && i < placements->count; i++)
        open_add_variable(open, (struct variable){PLACED, i, ISO_NONE});
}

void tilings_add_clauses(const struct open *open, struct iso_solver *solver)
{
    struct tilings tilings = {.open = open, .take = take_for_solver, .solver = solver};
    tell_all(&tilings);
}

/* ---- as lemmas ---- */

/* True, and the two versions, if a clause lacks a literal since the opposite order is known. */
static bool rests_on_order(const struct tilings *tilings, uint32_t *earlier, uint32_t *later)
{
    const struct term *last = &tilings->terms[tilings->term_count - 1];
    if (!tilings->term_count || last->kind != TERM_ORDER || literal_of(tilings->open, last) != KNOWN_FALSE)
        return false;
    *earlier = last->b;
    *later = last->a;
    return true;
}

static void take_for_need(struct tilings *tilings)
{
    uint32_t earlier, later;
    if (rests_on_order(tilings, &earlier, &later))
        explanation_need_order(tilings->explanation, earlier, later);
    if (tilings->term_count && tilings->terms[0].kind == TERM_NOT_READS)
        explanation_need_read(tilings->explanation, tilings->terms[0].a);
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

static void take_for_lemma(struct tilings *tilings)
{
    const struct engine *engine = tilings->open->engine;
    uint32_t earlier, later;
    if (rests_on_order(tilings, &earlier, &later))
        explanation_order(tilings->explanation, earlier, later);
    iso_evidence_lemma(&engine->result->evidence, ISO_LEMMA_LIST, engine->read_operation[tilings->list->read]);
    for (uint32_t i = 0; i < tilings->term_count; i++)
        iso_evidence_literal(&engine->result->evidence, evidence_of(engine, &tilings->terms[i]));
}

void tilings_need(const struct open *open, struct explanation *explanation)
{
    struct tilings tilings = {.open = open, .take = take_for_need, .explanation = explanation};
    tell_all(&tilings);
}

void tilings_write(const struct open *open, struct explanation *explanation)
{
    struct tilings tilings = {.open = open, .take = take_for_lemma, .explanation = explanation};
    tell_all(&tilings);
}
