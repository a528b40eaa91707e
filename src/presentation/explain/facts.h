/* Facts that arguments look up in a finished history: the versions of the keys that claims name,
 * and of those that a row set of such a claim covers.
 *
 * One pass over all operations finds the versions of all those keys; nothing else grows with the
 * history. Ownership: facts own the versions and borrow history and claims. Threads: one at a time.
 */
#pragma once

#include "base/number_map.h"
#include "explain/claims.h"
#include "history/moment.h"

/* A final write of a committed transaction with a cts. */
struct iso_key_version {
    uint32_t transaction, first_write, last_write;
};

struct iso_facts {
    const struct iso_history *history;
    const struct iso_claims *claims;
    uint32_t *slot_of_key; /* ISO_NONE: no claim names the key */
    uint32_t slot_count;
    uint32_t *first_version;          /* slot_count + 1 of them */
    struct iso_key_version *versions; /* of a key, in the order of versions */
    /* number of the last initial write of a key that row sets cover */
    struct iso_number_map initial;
};

void iso_facts_init(struct iso_facts *facts, const struct iso_claims *claims);
void iso_facts_release(struct iso_facts *facts);

/* The versions of such a key. */
const struct iso_key_version *iso_facts_versions(const struct iso_facts *facts, uint32_t key,
                                                 uint32_t *count);

/* The version of a key that a transaction wrote, as a number among them; ISO_NONE: none. */
uint32_t iso_facts_version_of(const struct iso_facts *facts, uint32_t key, uint32_t transaction);

/* The initial value of a register that a row set covers. */
iso_atom iso_facts_initial(const struct iso_facts *facts, uint32_t key);
