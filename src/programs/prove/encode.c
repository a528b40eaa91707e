#include "prove/encode.h"

#include <assert.h>

#include "base/memory.h"
#include "prove/linear.h"

enum { FALSE_TERM, TRUE_TERM, LARGEST = 20000000 /* terms, and terms of constraints */ };

static struct prove_terms *terms_of(const struct prove_encoding *encoding)
{
    return &encoding->system->terms;
}

/* Begins a clause; `put` adds to it, `close` ends it, and drops it if it is true by itself. */
static void open_clause(struct prove_encoding *encoding)
{
    ISO_GROW(encoding->constraints.list, encoding->constraints.count,
             encoding->constraints.capacity);
    encoding->constraints.list[encoding->constraints.count] = (struct prove_constraint){
        .first = encoding->terms.count, .equal_a = ISO_NONE, .equal_b = ISO_NONE};
}

static void put(struct prove_encoding *encoding, uint32_t term)
{
    ISO_APPEND(encoding->terms, term);
}

/* The clause that is open holds, too, where these two are equal. */
static void put_equality(struct prove_encoding *encoding, uint32_t a, uint32_t b)
{
    struct prove_constraint *clause = &encoding->constraints.list[encoding->constraints.count];
    assert(clause->equal_a == ISO_NONE && a != ISO_NONE && b != ISO_NONE);
    clause->equal_a = a;
    clause->equal_b = b;
}

static void close_clause(struct prove_encoding *encoding)
{
    struct prove_constraint *clause = &encoding->constraints.list[encoding->constraints.count];
    uint32_t kept = clause->first;
    assert(clause->first <= encoding->terms.count);
    bool holds = clause->equal_a != ISO_NONE && clause->equal_a == clause->equal_b;
    for (uint32_t i = clause->first; i < encoding->terms.count; i++) {
        holds = holds || encoding->terms.list[i] == TRUE_TERM;
        if (encoding->terms.list[i] != FALSE_TERM)
            encoding->terms.list[kept++] = encoding->terms.list[i];
    }
    encoding->terms.count = holds ? clause->first : kept;
    clause->count = kept - clause->first;
    encoding->constraints.count += !holds;
}

static void clause(struct prove_encoding *encoding, const uint32_t *list, uint32_t count)
{
    open_clause(encoding);
    for (uint32_t i = 0; i < count; i++)
        put(encoding, list[i]);
    close_clause(encoding);
}

/* Both of `a` and `b` give one of the rest. */
static void implies(struct prove_encoding *encoding, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                    uint32_t e)
{
    struct prove_terms *terms = terms_of(encoding);
    clause(encoding, (uint32_t[]){prove_not(terms, a), prove_not(terms, b), c, d, e}, 5);
}

static bool stopped(struct prove_encoding *encoding)
{
    const struct prove_system *system = encoding->system;
    encoding->stopped = encoding->stopped || system->terms.count > LARGEST ||
                        encoding->terms.count > LARGEST || iso_prove_stop_asked(&system->stop);
    return encoding->stopped;
}

static uint32_t order(const struct prove_encoding *encoding, uint32_t i, uint32_t j)
{
    assert(i < encoding->system->count && j < encoding->system->count);
    return encoding->order[i * encoding->system->count + j];
}

static uint32_t aborted(struct prove_encoding *encoding, uint32_t i)
{
    return prove_not(terms_of(encoding), encoding->system->transactions[i].committed);
}

/* No axiom holds for what `i` sees. */
static uint32_t relaxed(struct prove_encoding *encoding, uint32_t i)
{
    struct prove_terms *terms = terms_of(encoding);
    return prove_and(terms, aborted(encoding, i), prove_not(terms, encoding->strict));
}

static void make_order(struct prove_encoding *encoding)
{
    struct prove_terms *terms = terms_of(encoding);
    uint32_t count = encoding->system->count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            uint32_t before = prove_before(encoding->system->program, i, j)
                                  ? TRUE_TERM
                                  : prove_variable(terms, 0, 1);
            encoding->order[i * count + j] = before;
            encoding->order[j * count + i] = prove_not(terms, before);
        }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            for (uint32_t k = j + 1; k < count; k++) {
                implies(encoding, order(encoding, i, j), order(encoding, j, k),
                        order(encoding, i, k), FALSE_TERM, FALSE_TERM);
                implies(encoding, order(encoding, k, j), order(encoding, j, i),
                        order(encoding, k, i), FALSE_TERM, FALSE_TERM);
            }
}

/* A new variable for "j sees i". */
static uint32_t sees(struct prove_encoding *encoding, uint32_t i, uint32_t j)
{
    const struct iso_prove_program *program = encoding->system->program;
    uint32_t made;
    if (prove_before(program, i, j))
        return TRUE_TERM;
    if (i == j || prove_before(program, j, i))
        return FALSE_TERM;
    made = prove_variable(terms_of(encoding), 0, 1);
    implies(encoding, made, TRUE_TERM, order(encoding, i, j), FALSE_TERM, FALSE_TERM);
    return made;
}

static void make_visible(struct prove_encoding *encoding)
{
    assert(encoding->level != ISO_PROVE_RC);
    uint32_t count = encoding->system->count;
    bool total = encoding->level == ISO_PROVE_SER;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            bool same = total && aborted(encoding, j) == FALSE_TERM && i != j;
            uint32_t made = same ? order(encoding, i, j) : sees(encoding, i, j);
            encoding->visible[i * count + j] = made;
            if (total && i != j)
                implies(encoding, order(encoding, i, j), TRUE_TERM, made, relaxed(encoding, j),
                        FALSE_TERM);
        }
}

/* Visibility is closed: who sees j sees all that come before j (`prefix`), or that j
 * sees. */
static void close_seen(struct prove_encoding *encoding, const uint32_t *seen, uint32_t stride,
                       uint32_t reader, bool prefix)
{
    uint32_t count = encoding->system->count;
    uint32_t excuse = reader == ISO_NONE ? FALSE_TERM : relaxed(encoding, reader);
    for (uint32_t j = 0; j < count; j++)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t before = prefix ? order(encoding, i, j) : encoding->visible[i * count + j];
            if (i != j && i != reader && j != reader)
                implies(encoding, before, seen[j * stride], seen[i * stride], aborted(encoding, j),
                        excuse);
        }
}

/* Whether `t` claims a cell that `u` writes (or claims). */
static uint32_t conflict(struct prove_encoding *encoding, uint32_t t, uint32_t u)
{
    const struct prove_system *system = encoding->system;
    uint32_t any = FALSE_TERM;
    for (uint32_t cell = 0; cell < system->program->cells; cell++) {
        uint32_t claims = system->transactions[t].claimed[cell],
                 writes = system->transactions[u].writes[cell];
        if (claims != FALSE_TERM && writes != FALSE_TERM)
            any = prove_or(terms_of(encoding), any, prove_and(terms_of(encoding), claims, writes));
    }
    return any;
}

static void axioms(struct prove_encoding *encoding)
{
    enum iso_prove_level level = encoding->level;
    uint32_t count = encoding->system->count;
    bool prefix = level == ISO_PROVE_PC || level == ISO_PROVE_SI;
    bool causal = level == ISO_PROVE_CC || level == ISO_PROVE_PSI;
    for (uint32_t k = 0; (prefix || causal) && k < count && !stopped(encoding); k++)
        close_seen(encoding, encoding->visible + k, count, k, prefix);
    if (level != ISO_PROVE_SI && level != ISO_PROVE_PSI)
        return;
    for (uint32_t t = 0; t < count; t++)
        for (uint32_t u = 0; u < count; u++)
            if (t != u)
                implies(encoding, conflict(encoding, t, u), order(encoding, u, t),
                        encoding->visible[u * count + t], FALSE_TERM, FALSE_TERM);
}

/* ---- rc ---- */

/* After a claim all later statements see every earlier claimer. It is enough to say so of the next
 * one that reads. */
static void see_claimers(struct prove_encoding *encoding, uint32_t t, uint32_t statement,
                         uint32_t from)
{
    const struct prove_system *system = encoding->system;
    const struct prove_transaction *transaction = &system->transactions[t];
    uint32_t count = system->count;
    for (uint32_t i = 0; i < transaction->claims.count; i++) {
        const struct prove_claim *claim = &transaction->claims.list[i];
        if (claim->statement >= statement || claim->statement < from)
            continue;
        for (uint32_t u = 0; u < count; u++)
            if (u != t && system->transactions[u].claimed[claim->cell] != FALSE_TERM) {
                uint32_t both = prove_and(terms_of(encoding), claim->guard,
                                          system->transactions[u].claimed[claim->cell]);
                implies(encoding, both, order(encoding, u, t),
                        encoding->statement[t][statement * count + u], relaxed(encoding, t),
                        FALSE_TERM);
            }
    }
}

static void make_statements(struct prove_encoding *encoding, uint32_t t)
{
    assert(encoding->level == ISO_PROVE_RC && !encoding->statement[t]);
    const struct prove_transaction *transaction = &encoding->system->transactions[t];
    uint32_t count = encoding->system->count, before = ISO_NONE;
    uint32_t *seen =
        iso_allocate_zeroed((size_t)transaction->statements.count * count + 1, sizeof *seen);
    encoding->statement[t] = seen;
    for (uint32_t s = 0; s < transaction->statements.count && !stopped(encoding); s++) {
        if (!transaction->statements.list[s].reads)
            continue;
        for (uint32_t u = 0; u < count; u++)
            seen[s * count + u] = sees(encoding, u, t);
        close_seen(encoding, seen + s * count, 1, t, true);
        for (uint32_t u = 0; before != ISO_NONE && u < count; u++)
            implies(encoding, seen[before * count + u], TRUE_TERM, seen[s * count + u],
                    relaxed(encoding, t), FALSE_TERM);
        see_claimers(encoding, t, s, before == ISO_NONE ? 0 : before);
        before = s;
    }
}

/* ---- what is read ---- */

/* A reader that sees `seen[u * stride]`: what it finds in the cells. One cell's variables at a
 * time. */
struct finder {
    const uint32_t *seen;
    uint32_t stride, self;
    uint32_t *last; /* by transaction: it wrote what is read */
};

static void find_writers(struct prove_encoding *encoding, struct finder *finder, uint32_t cell)
{
    struct prove_terms *terms = terms_of(encoding);
    const struct prove_system *system = encoding->system;
    uint32_t count = system->count, *writes = iso_allocate_zeroed(count + 1, sizeof *writes);
    for (uint32_t u = 0; u < count; u++) {
        uint32_t seen = u == finder->self ? FALSE_TERM
                        : finder->seen    ? finder->seen[u * finder->stride]
                                          : TRUE_TERM;
        writes[u] = prove_and(terms, seen, system->transactions[u].writes[cell]);
    }
    for (uint32_t u = 0; u < count; u++) {
        uint32_t last = writes[u];
        for (uint32_t w = 0; w < count && last != FALSE_TERM; w++)
            if (w != u)
                last =
                    prove_and(terms, last,
                              prove_not(terms, prove_and(terms, writes[w], order(encoding, u, w))));
        finder->last[u] = last;
    }
    iso_free(writes);
}

static void bind(struct prove_encoding *encoding, const struct finder *finder, uint32_t slot,
                 uint32_t variable)
{
    assert(slot < encoding->system->slots);
    const struct prove_system *system = encoding->system;
    for (uint32_t u = 0; u < system->count; u++) {
        if (finder->last[u] == FALSE_TERM)
            continue;
        open_clause(encoding);
        put(encoding, prove_not(terms_of(encoding), finder->last[u]));
        put_equality(encoding, variable, system->transactions[u].values[slot]);
        close_clause(encoding);
    }
    open_clause(encoding);
    for (uint32_t u = 0; u < system->count; u++)
        if (finder->last[u] != FALSE_TERM)
            put(encoding, finder->last[u]);
    put_equality(encoding, variable, system->initial[slot]);
    close_clause(encoding);
}

static void read_transaction(struct prove_encoding *encoding, struct finder *finder, uint32_t t)
{
    const struct prove_system *system = encoding->system;
    const struct prove_transaction *transaction = &system->transactions[t];
    uint32_t count = system->count, cell = ISO_NONE, statement = ISO_NONE;
    for (uint32_t i = 0; i < transaction->reads.count && !stopped(encoding); i++) {
        const struct prove_read *read = &transaction->reads.list[i];
        finder->self = t;
        assert(read->statement == PROVE_NEWEST || !system->statements ||
               read->statement < transaction->statements.count);
        if (read->statement == PROVE_NEWEST) {
            finder->seen = encoding->order + t;
            finder->stride = count;
        } else if (system->statements) {
            finder->seen = encoding->statement[t] + (size_t)read->statement * count;
            finder->stride = 1;
        } else {
            finder->seen = encoding->visible + t;
            finder->stride = count;
        }
        if (read->cell != cell || read->statement != statement)
            find_writers(encoding, finder, read->cell);
        cell = read->cell;
        statement = read->statement;
        bind(encoding, finder, system->first_slot[cell] + read->column, read->variable);
    }
}

/* The readers of everything: at the end, and at a moment. */
static void read_everything(struct prove_encoding *encoding, struct finder *finder,
                            const uint32_t *list)
{
    const struct prove_system *system = encoding->system;
    const struct iso_prove_program *program = system->program;
    for (uint32_t cell = 0; cell < program->cells && !stopped(encoding); cell++) {
        uint32_t slot = system->first_slot[cell],
                 columns = iso_prove_table_of(program, cell)->columns;
        bool written = false;
        for (uint32_t i = 0; i < columns; i++)
            written = written || list[slot + i] != system->initial[slot + i];
        if (!written)
            continue;
        find_writers(encoding, finder, cell);
        for (uint32_t i = 0; i < columns; i++)
            bind(encoding, finder, slot + i, list[slot + i]);
    }
}

static void make_wrong(struct prove_encoding *encoding, bool *asserts, bool *invariants)
{
    const struct prove_system *system = encoding->system;
    struct prove_terms *terms = terms_of(encoding);
    encoding->wrong = FALSE_TERM;
    for (uint32_t i = 0; i < system->program->rules.count; i++) {
        if (system->program->rules.list[i].kind == ISO_PROVE_ASSUME)
            continue;
        encoding->wrong = prove_or(terms, encoding->wrong, prove_not(terms, system->rules[i]));
        *asserts = *asserts || system->program->rules.list[i].kind == ISO_PROVE_ASSERT;
        *invariants = *invariants || system->program->rules.list[i].kind == ISO_PROVE_INVARIANT;
    }
}

static void tell_equal(struct prove_encoding *encoding, uint32_t a, uint32_t b)
{
    open_clause(encoding);
    put_equality(encoding, a, b);
    close_clause(encoding);
}

/* Tells the sums in each rule that these readers are asked about. */
static void add_up(struct prove_encoding *encoding, enum iso_prove_rule_kind kind,
                   const uint32_t *list, const uint32_t *seen)
{
    const struct prove_system *system = encoding->system;
    for (uint32_t i = 0;
         iso_prove_level_conflicts(encoding->level) && i < system->program->rules.count; i++)
        if (system->program->rules.list[i].kind == kind && !stopped(encoding))
            prove_telescope(encoding, list, seen, system->rules[i], tell_equal);
}

static void make_moment(struct prove_encoding *encoding, struct finder *finder)
{
    enum iso_prove_level level = encoding->level;
    for (uint32_t i = 0; i < encoding->system->count; i++)
        encoding->moment[i] = prove_variable(terms_of(encoding), 0, 1);
    if (level != ISO_PROVE_RA)
        close_seen(encoding, encoding->moment, 1, ISO_NONE,
                   level != ISO_PROVE_CC && level != ISO_PROVE_PSI);
    *finder = (struct finder){
        .seen = encoding->moment, .stride = 1, .self = ISO_NONE, .last = finder->last};
    read_everything(encoding, finder, encoding->system->seen);
    add_up(encoding, ISO_PROVE_INVARIANT, encoding->system->seen, encoding->moment);
}

void prove_encode(struct prove_encoding *encoding, struct prove_system *system,
                  enum iso_prove_level level)
{
    uint32_t count = system->count;
    struct finder finder = {.last = iso_allocate_zeroed(count + 1, sizeof *finder.last)};
    bool aborts = false, asserts = false, invariants = false;
    assert(system->statements == (level == ISO_PROVE_RC));
    *encoding = (struct prove_encoding){.system = system, .level = level};
    encoding->order = iso_allocate_zeroed((size_t)count * count + 1, sizeof *encoding->order);
    encoding->visible = iso_allocate_zeroed((size_t)count * count + 1, sizeof *encoding->visible);
    encoding->statement = iso_allocate_zeroed(count + 1, sizeof *encoding->statement);
    encoding->moment = iso_allocate_zeroed(count + 1, sizeof *encoding->moment);
    for (uint32_t i = 0; i < count; i++)
        aborts = aborts || system->transactions[i].committed != TRUE_TERM;
    encoding->strict = aborts ? prove_variable(&system->terms, 0, 1) : TRUE_TERM;
    assert(prove_boolean(&system->terms, system->assumed));
    clause(encoding, &system->assumed, 1);
    make_order(encoding);
    if (level == ISO_PROVE_RC) {
        for (uint32_t t = 0; t < count && !stopped(encoding); t++)
            make_statements(encoding, t);
    } else {
        make_visible(encoding);
        axioms(encoding);
    }
    for (uint32_t t = 0; t < count; t++)
        read_transaction(encoding, &finder, t);
    finder = (struct finder){.seen = NULL, .self = ISO_NONE, .last = finder.last};
    make_wrong(encoding, &asserts, &invariants);
    if (asserts) {
        read_everything(encoding, &finder, system->ended);
        add_up(encoding, ISO_PROVE_ASSERT, system->ended, NULL);
    }
    if (invariants)
        make_moment(encoding, &finder);
    iso_free(finder.last);
}

void prove_encoding_release(struct prove_encoding *encoding)
{
    for (uint32_t i = 0; encoding->statement && i < encoding->system->count; i++)
        iso_free(encoding->statement[i]);
    ISO_FREE_ALL(encoding->statement, encoding->order, encoding->visible, encoding->moment,
                 encoding->constraints.list, encoding->terms.list);
    *encoding = (struct prove_encoding){0};
}
