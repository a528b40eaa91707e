/* Atom to dense index: numbers keys and sessions in the order of their first appearance.
 *
 * Small integers, which most keys are, go through a plain array; the rest through open addressing.
 * Owned by a history.
 */
#pragma once

#include "base/atom.h"

struct iso_atom_index {
    uint32_t *direct; /* number + 1, by atom: small integers */
    uint32_t direct_capacity;
    uint64_t *slots; /* the rest: 0 empty, else (number + 1) << 32 | atom */
    size_t slot_count;
    size_t used;
};

struct iso_atom_index *iso_atom_index_new(void);
void iso_atom_index_free(struct iso_atom_index *index);
/* Forgets everything; `atoms` are all that were put in, so that clearing costs what was used. */
void iso_atom_index_clear(struct iso_atom_index *index, const iso_atom *atoms, uint32_t count);

/* The number of `atom`; `next` if it is new (and then it has that number from now on). */
uint32_t iso_atom_index_get_slow(struct iso_atom_index *index, iso_atom atom, uint32_t next);
static inline uint32_t iso_atom_index_get(struct iso_atom_index *index, iso_atom atom,
                                          uint32_t next)
{
    if (atom < index->direct_capacity && index->direct[atom])
        return index->direct[atom] - 1;
    return iso_atom_index_get_slow(index, atom, next);
}

/* The number of `atom` if it stands in the array, else ISO_NONE. */
static inline uint32_t iso_atom_index_known(const struct iso_atom_index *index, iso_atom atom)
{
    return atom < index->direct_capacity ? index->direct[atom] - 1 : UINT32_MAX;
}

/* After slots of another process were read: all are put where they belong here. False: there are
 * too many. */
bool iso_atom_index_refill(struct iso_atom_index *index);

/* The number of `atom`, or ISO_NONE. */
uint32_t iso_atom_index_find(const struct iso_atom_index *index, iso_atom atom);
