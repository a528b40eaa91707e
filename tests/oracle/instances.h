/* The violations of a verdict as plain, comparable rows: what an oracle says, and what an engine
 * said.
 *
 * Texts instead of atoms, indices of the plain history's transactions. Two sets are equal iff,
 * sorted, they are equal row by row. Fixed bounds; no ownership.
 */
#ifndef TESTS_INSTANCES_H
#define TESTS_INSTANCES_H

#include <stdio.h>

#include "verdict/verdict.h"
#include "tests/support/plain_history.h"

enum { INSTANCE_TEXT = 640, INSTANCES_MAX = 512 };

struct instance {
    enum iso_axiom axiom;
    enum iso_violation_kind kind;
    uint32_t transaction, other;  /* ISO_NONE: nobody */
    char key[PLAIN_TEXT];         /* "" where the axiom has none */
    uint32_t operation;           /* of the whole history; INT and EXT only, else ISO_NONE */
    char expected[INSTANCE_TEXT]; /* INT and EXT: as plain_value_text writes it, else "" */
    char actual[INSTANCE_TEXT];
    uint32_t writer_expected, writer_actual;
};

struct instances {
    uint32_t count;
    uint64_t reads_judged, reads_unjudged, writes_unjudged;
    bool per_operation;
    uint64_t counts[ISO_AXIOMS];
    struct instance rows[INSTANCES_MAX];
};

/* An instance of nothing yet, to be filled in. */
struct instance instance_of(enum iso_axiom axiom, enum iso_violation_kind kind,
                            uint32_t transaction);

void instances_clear(struct instances *instances);
/* Adds a row and counts it. */
void instances_add(struct instances *instances, const struct instance *instance);

/* By transaction, axiom, key, other. */
void instances_sort(struct instances *instances);

/* What an engine found (limit 0), with the counts that it claims; sorted. */
void instances_of_verdict(struct instances *instances, const struct iso_verdict *verdict);

/* Both sorted. False if anything differs, also a count. */
bool instances_equal(const struct instances *left, const struct instances *right);

void instances_print(const struct instances *instances, const struct plain_history *history,
                     FILE *file, const char *prefix);

/* "null", "7", "abc"; a list "[1,abc]". */
void value_text(const struct plain_text *value, char text[INSTANCE_TEXT]);
void list_text(const struct plain_text *elements, uint32_t count, char text[INSTANCE_TEXT]);

#endif
