/* Unit propagation by two watched literals. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "verify/verify_private.h"

struct watchers {
    uint32_t *clauses, count, capacity;
};

struct clauses {
    int *literals; /* of all clauses, back to back */
    size_t literal_count, literal_capacity;
    size_t *first; /* by clause, count + 1 */
    uint32_t count, capacity;
    signed char *value;        /* by variable: 1 true, -1 false, 0 open */
    struct watchers *watchers; /* by literal: 2 * variable + (negative) */
    int variable_count, variable_capacity;
    int *trail;
    int trail_count, propagated, root_count;
    bool root_contradiction, contradiction;
};

struct clauses *clauses_new(void)
{
    struct clauses *clauses = iso_allocate_zeroed(1, sizeof *clauses);
    clauses->first = iso_allocate_zeroed(1, sizeof *clauses->first);
    return clauses;
}

void clauses_free(struct clauses *clauses)
{
    for (int i = 0; i < 2 * (clauses->variable_count + 1) && clauses->watchers; i++)
        iso_free(clauses->watchers[i].clauses);
    ISO_FREE_ALL(clauses->literals, clauses->first, clauses->value, clauses->watchers,
                 clauses->trail, clauses);
}

int clauses_variable(struct clauses *clauses)
{
    int variable = ++clauses->variable_count;
    if (variable >= clauses->variable_capacity) {
        int capacity = clauses->variable_capacity ? 2 * clauses->variable_capacity : 64;
        clauses->value = iso_reallocate(clauses->value, (size_t)capacity);
        clauses->trail = iso_reallocate(clauses->trail, (size_t)capacity * sizeof *clauses->trail);
        clauses->watchers =
            iso_reallocate(clauses->watchers, 2 * (size_t)capacity * sizeof *clauses->watchers);
        memset(clauses->value + clauses->variable_capacity, 0,
               (size_t)(capacity - clauses->variable_capacity));
        memset(clauses->watchers + 2 * clauses->variable_capacity, 0,
               2 * (size_t)(capacity - clauses->variable_capacity) * sizeof *clauses->watchers);
        clauses->variable_capacity = capacity;
    }
    return variable;
}

static int value_of(const struct clauses *clauses, int literal)
{
    return literal > 0 ? clauses->value[literal] : -clauses->value[-literal];
}

bool clauses_true(const struct clauses *clauses, int literal)
{
    return value_of(clauses, literal) > 0;
}

static void watch_clause(struct clauses *clauses, int literal, uint32_t clause)
{
    struct watchers *watchers = &clauses->watchers[literal > 0 ? 2 * literal : -2 * literal + 1];
    if (watchers->count == watchers->capacity) {
        watchers->capacity = watchers->capacity ? 2 * watchers->capacity : 4;
        watchers->clauses =
            iso_reallocate(watchers->clauses, watchers->capacity * sizeof *watchers->clauses);
    }
    watchers->clauses[watchers->count++] = clause;
}

static bool assign_literal(struct clauses *clauses, int literal)
{
    assert(literal && abs(literal) <= clauses->variable_count);
    if (value_of(clauses, literal))
        return value_of(clauses, literal) > 0;
    clauses->value[abs(literal)] = literal > 0 ? 1 : -1;
    clauses->trail[clauses->trail_count++] = literal;
    return true;
}

/* One clause one of whose first two literals, `false_literal`, has become false. True: it goes on
 * being watched there. */
static bool visit_watch(struct clauses *clauses, uint32_t number, int false_literal)
{
    int *clause = clauses->literals + clauses->first[number];
    size_t count = clauses->first[number + 1] - clauses->first[number];
    if (clause[0] == false_literal) {
        clause[0] = clause[1];
        clause[1] = false_literal;
    }
    if (value_of(clauses, clause[0]) > 0)
        return true;
    for (size_t i = 2; i < count; i++) {
        if (value_of(clauses, clause[i]) < 0)
            continue;
        clause[1] = clause[i];
        clause[i] = false_literal;
        watch_clause(clauses, clause[1], number);
        return false;
    }
    clauses->contradiction |= !assign_literal(clauses, clause[0]);
    return true;
}

static void propagate_units(struct clauses *clauses)
{
    while (!clauses->contradiction && clauses->propagated < clauses->trail_count) {
        int literal = -clauses->trail[clauses->propagated++];
        struct watchers *watchers =
            &clauses->watchers[literal > 0 ? 2 * literal : -2 * literal + 1];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < watchers->count; i++) {
            if (clauses->contradiction || visit_watch(clauses, watchers->clauses[i], literal))
                watchers->clauses[kept++] = watchers->clauses[i];
        }
        watchers->count = kept;
    }
}

bool clauses_assume(struct clauses *clauses, int literal)
{
    clauses->contradiction |= !assign_literal(clauses, literal);
    propagate_units(clauses);
    return !clauses->contradiction;
}

/* A watched literal of a clause is not false, unless the other one that is watched is true. */
#ifdef ISO_VALIDATE
static void clauses_validate(const struct clauses *clauses)
{
    for (uint32_t i = 0; i < clauses->count && !clauses->contradiction; i++) {
        const int *clause = clauses->literals + clauses->first[i];
        bool watched = clauses->first[i + 1] - clauses->first[i] > 1;
        assert(!watched || value_of(clauses, clause[0]) >= 0 || value_of(clauses, clause[1]) > 0);
        assert(!watched || value_of(clauses, clause[1]) >= 0 || value_of(clauses, clause[0]) > 0);
    }
}
#else
static void clauses_validate(const struct clauses *clauses)
{
    (void)clauses;
}
#endif

void clauses_undo(struct clauses *clauses)
{
    while (clauses->trail_count > clauses->root_count)
        clauses->value[abs(clauses->trail[--clauses->trail_count])] = 0;
    clauses->propagated = clauses->root_count;
    clauses->contradiction = clauses->root_contradiction;
    clauses_validate(clauses);
}

bool clauses_contradiction(const struct clauses *clauses)
{
    return clauses->contradiction;
}

/* Open and true literals to the front, so that the watched ones are not false. */
static void order_for_watching(struct clauses *clauses, int *clause, uint32_t count)
{
    uint32_t front = 0;
    for (uint32_t i = 0; i < count && front < 2; i++) {
        if (value_of(clauses, clause[i]) < 0)
            continue;
        int other = clause[front];
        clause[front++] = clause[i];
        clause[i] = other;
    }
}

void clauses_add(struct clauses *clauses, const int *literals, uint32_t count)
{
    assert(clauses->trail_count == clauses->root_count); /* nothing is assumed */
    if (clauses->literal_count + count >=
        clauses->literal_capacity) { /* room also where there is nothing to put */
        clauses->literal_capacity = 2 * clauses->literal_capacity + count + 64;
        clauses->literals = iso_reallocate(clauses->literals,
                                           clauses->literal_capacity * sizeof *clauses->literals);
    }
    if (clauses->count == clauses->capacity) {
        clauses->capacity = 2 * clauses->capacity + 64;
        clauses->first =
            iso_reallocate(clauses->first, (clauses->capacity + 1u) * sizeof *clauses->first);
    }
    int *clause = clauses->literals + clauses->literal_count;
    if (count)
        memcpy(clause, literals, count * sizeof *literals);
    clauses->literal_count += count;
    clauses->first[++clauses->count] = clauses->literal_count;
    order_for_watching(clauses, clause, count);
    if (count == 0 || value_of(clauses, clause[0]) < 0)
        clauses->contradiction = true;
    else if (count == 1 || value_of(clauses, clause[1]) < 0)
        assign_literal(clauses, clause[0]);
    if (count > 1) {
        watch_clause(clauses, clause[0], clauses->count - 1);
        watch_clause(clauses, clause[1], clauses->count - 1);
    }
    propagate_units(clauses);
    clauses->root_count = clauses->trail_count;
    clauses->root_contradiction = clauses->contradiction;
}
