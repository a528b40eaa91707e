#include "polygraph/evidence/derive.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/memory.h"

struct clause {
    size_t first;
    uint32_t count, open; /* literals; those that are not false */
    uint32_t source;
};

struct occurrence {
    uint32_t clause, next;
};

/* A chain of what a source rests on: a clause, or a variable that is known. */
struct ground {
    uint32_t number, next;
    bool known;
};

struct derivation {
    /* names */
    uint32_t (*names)[4];   /* by variable */
    struct iso_index table; /* of names */
    uint32_t variable_count, variable_capacity;
    /* by variable */
    signed char *value;
    uint32_t *reason,
        *met;         /* the clause it follows from, or ISO_NONE; the round in which it was met */
    uint32_t *occurs; /* by literal */
    /* clauses */
    int *literals;
    size_t literal_count, literal_capacity;
    struct clause *clauses;
    uint32_t clause_count, clause_capacity;
    struct occurrence *occurrences;
    uint32_t occurrence_count, occurrence_capacity;
    /* the literals that are true, in the order in which they became so */
    int *trail;
    uint32_t trail_count, propagated, known_count,
        *position;                 /* position: by variable, on the trail */
    uint32_t failed, known_failed; /* the clause that is false, or ISO_NONE */
    int refused;                   /* an assumption that was false, or 0 */
    /* grounds */
    struct ground *grounds;
    uint32_t ground_count, ground_capacity, *first_ground, source_count; /* by source */
    uint32_t round;
};

/* Room for one more of `count` items. */
static void *grow_items(void *items, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = (uint32_t)iso_column_capacity(*capacity, (size_t)count + 1);
    return iso_reallocate(items, *capacity * size);
}

struct derivation *derivation_new(uint32_t sources)
{
    struct derivation *derivation = iso_allocate_zeroed(1, sizeof *derivation);
    size_t size = ((size_t)sources + 1) * sizeof *derivation->first_ground;
    derivation->first_ground = memset(iso_allocate(size), 0xff, size);
    derivation->failed = derivation->known_failed = ISO_NONE;
    derivation->source_count = sources;
    return derivation;
}

void derivation_free(struct derivation *derivation)
{
    iso_free(derivation->names);
    iso_index_release(&derivation->table);
    ISO_FREE_ALL(derivation->value, derivation->reason, derivation->met, derivation->occurs,
                 derivation->literals, derivation->clauses, derivation->occurrences,
                 derivation->trail, derivation->position, derivation->grounds,
                 derivation->first_ground, derivation);
}

/* ---- names ---- */

static uint64_t hash_of(const uint32_t name[4])
{
    return iso_hash_number(iso_hash_pair(name[0], name[1]) ^ ((uint64_t)name[2] << 32 | name[3]));
}

static void grow_variables(struct derivation *derivation)
{
    uint32_t old = derivation->variable_capacity, capacity = old ? 2 * old : 256;
    derivation->names = iso_reallocate(derivation->names, capacity * sizeof *derivation->names);
    derivation->value = iso_reallocate(derivation->value, capacity);
    derivation->reason = iso_reallocate(derivation->reason, capacity * sizeof(uint32_t));
    derivation->met = iso_reallocate(derivation->met, capacity * sizeof(uint32_t));
    derivation->position = iso_reallocate(derivation->position, capacity * sizeof(uint32_t));
    derivation->trail = iso_reallocate(derivation->trail, capacity * sizeof(int));
    derivation->occurs =
        iso_reallocate(derivation->occurs, 2 * (size_t)capacity * sizeof(uint32_t));
    memset(derivation->value + old, 0, capacity - old);
    memset(derivation->met + old, 0, (capacity - old) * sizeof(uint32_t));
    memset(derivation->occurs + 2 * (size_t)old, 0xff,
           2 * (size_t)(capacity - old) * sizeof(uint32_t));
    derivation->variable_capacity = capacity;
}

int derivation_variable(struct derivation *derivation, const uint32_t name[4], bool *is_new)
{
    if (derivation->variable_count + 1 >= derivation->variable_capacity)
        grow_variables(derivation);
    uint64_t hash = hash_of(name);
    uint32_t at = iso_index_home(hash), variable;
    *is_new = false;
    for (; iso_index_next(&derivation->table, &at, hash, &variable); at++) {
        if (memcmp(derivation->names[variable], name, sizeof derivation->names[0]) == 0)
            return (int)variable;
    }
    *is_new = true;
    variable = ++derivation->variable_count;
    memcpy(derivation->names[variable], name, sizeof derivation->names[0]);
    iso_index_add(&derivation->table, hash, variable);
    return (int)variable;
}

/* ---- propagation ---- */

static uint32_t index_of(int literal)
{
    return literal > 0 ? 2 * (uint32_t)literal : 2 * (uint32_t)-literal + 1;
}

static int value_of(const struct derivation *derivation, int literal)
{
    return literal > 0 ? derivation->value[literal] : -derivation->value[-literal];
}

static void make_true(struct derivation *derivation, int literal, uint32_t reason)
{
    derivation->value[abs(literal)] = literal > 0 ? 1 : -1;
    derivation->reason[abs(literal)] = reason;
    derivation->position[abs(literal)] = derivation->trail_count;
    derivation->trail[derivation->trail_count++] = literal;
}

/* A clause with one literal that is not false, or none. */
static void conclude_literal(struct derivation *derivation, uint32_t number)
{
    const struct clause *clause = &derivation->clauses[number];
    for (uint32_t i = 0; i < clause->count; i++) {
        int literal = derivation->literals[clause->first + i],
            value = value_of(derivation, literal);
        if (value > 0)
            return;
        if (value == 0) {
            make_true(derivation, literal, number);
            return;
        }
    }
    if (derivation->failed == ISO_NONE)
        derivation->failed = number;
}

static void propagate_units(struct derivation *derivation)
{
    while (!derivation_fails(derivation) && derivation->propagated < derivation->trail_count) {
        uint32_t falsified = index_of(-derivation->trail[derivation->propagated++]);
        /* counts are kept whole, also where one clause has failed */
        for (uint32_t i = derivation->occurs[falsified]; i != ISO_NONE;
             i = derivation->occurrences[i].next) {
            uint32_t clause = derivation->occurrences[i].clause;
            if (--derivation->clauses[clause].open <= 1)
                conclude_literal(derivation, clause);
        }
    }
}

void derivation_add(struct derivation *derivation, const int *literals, uint32_t count,
                    uint32_t source)
{
    if (derivation->literal_count + count > derivation->literal_capacity) {
        derivation->literal_capacity = 2 * derivation->literal_capacity + count + 64;
        derivation->literals = iso_reallocate(
            derivation->literals, derivation->literal_capacity * sizeof *derivation->literals);
    }
    derivation->clauses = grow_items(derivation->clauses, derivation->clause_count,
                                     &derivation->clause_capacity, sizeof *derivation->clauses);
    uint32_t number = derivation->clause_count++, open = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t literal = index_of(literals[i]);
        derivation->occurrences =
            grow_items(derivation->occurrences, derivation->occurrence_count,
                       &derivation->occurrence_capacity, sizeof *derivation->occurrences);
        derivation->occurrences[derivation->occurrence_count] =
            (struct occurrence){number, derivation->occurs[literal]};
        derivation->occurs[literal] = derivation->occurrence_count++;
        derivation->literals[derivation->literal_count + i] = literals[i];
        open += value_of(derivation, literals[i]) >= 0;
    }
    derivation->clauses[number] = (struct clause){derivation->literal_count, count, open, source};
    derivation->literal_count += count;
    if (open <= 1)
        conclude_literal(derivation, number);
    propagate_units(derivation);
    derivation->known_count = derivation->trail_count;
    derivation->known_failed = derivation->failed;
}

void derivation_assume(struct derivation *derivation, int literal)
{
    if (derivation_fails(derivation) || value_of(derivation, literal) > 0)
        return;
    if (value_of(derivation, literal) < 0) {
        derivation->refused = literal;
        return;
    }
    make_true(derivation, literal, ISO_NONE);
    propagate_units(derivation);
}

bool derivation_fails(const struct derivation *derivation)
{
    return derivation->failed != ISO_NONE || derivation->refused;
}

bool derivation_has(const struct derivation *derivation, int literal)
{
    return value_of(derivation, literal) > 0;
}

void derivation_undo(struct derivation *derivation)
{
    while (derivation->trail_count > derivation->known_count) {
        int literal = derivation->trail[--derivation->trail_count];
        derivation->value[abs(literal)] = 0;
        if (derivation->trail_count >= derivation->propagated)
            continue;
        for (uint32_t i = derivation->occurs[index_of(-literal)]; i != ISO_NONE;
             i = derivation->occurrences[i].next)
            derivation->clauses[derivation->occurrences[i].clause].open++;
    }
    if (derivation->propagated > derivation->known_count)
        derivation->propagated = derivation->known_count;
    derivation->failed = derivation->known_failed;
    derivation->refused = 0;
}

/* ---- what rests on what ---- */

static void note_ground(struct derivation *derivation, uint32_t source, uint32_t number, bool known)
{
    derivation->grounds = grow_items(derivation->grounds, derivation->ground_count,
                                     &derivation->ground_capacity, sizeof *derivation->grounds);
    derivation->grounds[derivation->ground_count] =
        (struct ground){number, derivation->first_ground[source], known};
    derivation->first_ground[source] = derivation->ground_count++;
}

/* The variables of a clause: what is known of them is noted, the others are left to the walk. */
static void meet_variable(struct derivation *derivation, uint32_t source, uint32_t clause)
{
    for (uint32_t i = 0; i < derivation->clauses[clause].count; i++) {
        uint32_t variable =
            (uint32_t)abs(derivation->literals[derivation->clauses[clause].first + i]);
        if (derivation->met[variable] == derivation->round)
            continue;
        derivation->met[variable] = derivation->round;
        if (derivation->value[variable] && derivation->position[variable] < derivation->known_count)
            note_ground(derivation, source, variable, true);
    }
}

/* From the variables that were met back along the trail, to clauses and to what is known. */
static void walk_reasons(struct derivation *derivation, uint32_t source)
{
    for (uint32_t i = derivation->trail_count; i-- > derivation->known_count;) {
        uint32_t variable = (uint32_t)abs(derivation->trail[i]);
        uint32_t reason = derivation->reason[variable];
        if (derivation->met[variable] != derivation->round || reason == ISO_NONE)
            continue;
        note_ground(derivation, source, reason, false);
        meet_variable(derivation, source, reason);
    }
}

void derivation_rests_on(struct derivation *derivation, uint32_t source, int literal)
{
    uint32_t variable = (uint32_t)abs(literal);
    derivation->round++;
    derivation->met[variable] = derivation->round;
    if (derivation->position[variable] < derivation->known_count)
        note_ground(derivation, source, variable, true);
    walk_reasons(derivation, source);
}

void derivation_rests_on_failure(struct derivation *derivation, uint32_t source)
{
    if (derivation->refused) {
        derivation_rests_on(derivation, source, derivation->refused);
        return;
    }
    derivation->round++;
    note_ground(derivation, source, derivation->failed, false);
    meet_variable(derivation, source, derivation->failed);
    walk_reasons(derivation, source);
}

/* ---- marking ---- */

struct marking {
    const struct derivation *derivation;
    bool *marked, *passed;  /* sources; variables */
    uint32_t *stack, count; /* sources, and variables behind them */
    uint32_t sources;
};

static void push_source(struct marking *marking, uint32_t source)
{
    if (source == ISO_NONE || marking->marked[source])
        return;
    marking->marked[source] = true;
    marking->stack[marking->count++] = source;
}

static void push_variable(struct marking *marking, uint32_t variable)
{
    if (marking->passed[variable])
        return;
    marking->passed[variable] = true;
    marking->stack[marking->count++] = marking->sources + variable;
}

/* Goes on to the clause that made a variable known, whose other variables were known before. */
static void pass_variable(struct marking *marking, uint32_t variable)
{
    const struct derivation *derivation = marking->derivation;
    const struct clause *clause = &derivation->clauses[derivation->reason[variable]];
    push_source(marking, clause->source);
    for (uint32_t i = 0; i < clause->count; i++)
        push_variable(marking, (uint32_t)abs(derivation->literals[clause->first + i]));
}

static void pass_source(struct marking *marking, uint32_t source)
{
    const struct derivation *derivation = marking->derivation;
    for (uint32_t i = derivation->first_ground[source]; i != ISO_NONE;
         i = derivation->grounds[i].next) {
        const struct ground *ground = &derivation->grounds[i];
        if (ground->known)
            push_variable(marking, ground->number);
        else
            push_source(marking, derivation->clauses[ground->number].source);
    }
}

void derivation_mark(const struct derivation *derivation, uint32_t source, bool *marked)
{
    struct marking marking = {
        .derivation = derivation, .marked = marked, .sources = derivation->source_count};
    size_t variables = (size_t)derivation->variable_count + 1;
    marking.passed = iso_allocate_zeroed(variables, sizeof *marking.passed);
    marking.stack = iso_allocate((marking.sources + variables) * sizeof *marking.stack);
    push_source(&marking, source);
    while (marking.count) {
        uint32_t next = marking.stack[--marking.count];
        if (next < marking.sources)
            pass_source(&marking, next);
        else
            pass_variable(&marking, next - marking.sources);
    }
    ISO_FREE_ALL(marking.passed, marking.stack);
}
