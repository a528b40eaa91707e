#include "verify/proof.h"

#include <limits.h>

#include "verify/verify_private.h"

struct iso_proof {
    struct clauses *clauses;
    int variables;
};

struct iso_proof *iso_proof_new(int variables)
{
    struct iso_proof *proof = iso_allocate_zeroed(1, sizeof *proof);
    proof->clauses = clauses_new();
    proof->variables = variables;
    for (int i = 0; i < variables; i++)
        clauses_variable(proof->clauses);
    return proof;
}

void iso_proof_free(struct iso_proof *proof)
{
    if (!proof)
        return;
    clauses_free(proof->clauses);
    iso_free(proof);
}

void iso_proof_give(struct iso_proof *proof, const int *literals, uint32_t count)
{
    clauses_add(proof->clauses, literals, count);
}

bool iso_proof_learn(struct iso_proof *proof, const int *literals, uint32_t count)
{
    bool follows = clauses_contradiction(proof->clauses), known = true;
    for (uint32_t i = 0; i < count; i++)
        known = known && literals[i] && literals[i] != INT_MIN && literals[i] <= proof->variables &&
                -literals[i] <= proof->variables;
    for (uint32_t i = 0; known && !follows && i < count; i++)
        follows = !clauses_assume(proof->clauses, -literals[i]);
    follows = known && (follows || clauses_contradiction(proof->clauses));
    clauses_undo(proof->clauses);
    if (follows)
        clauses_add(proof->clauses, literals, count);
    return follows;
}

bool iso_proof_is_closed(const struct iso_proof *proof)
{
    return clauses_contradiction(proof->clauses);
}
