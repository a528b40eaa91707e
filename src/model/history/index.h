/* Atom to dense index: numbers keys and sessions in the order of their first appearance.
 *
 * Small integers and entries of the table of atoms, which nearly all are, go through plain arrays;
 * the rest through open addressing. Owned by a history.
 */
#pragma once

#include "base/atom.h"

struct iso_atom_index {
    struct iso_direct {
        uint32_t *numbers; /* + 1 */
        uint32_t capacity;
    } direct[2];     /* by small integers; by entries of the table */
    uint64_t *slots; /* the rest: 0 empty, else (number + 1) << 32 | atom */
    size_t slot_count;
    size_t used;
};

struct iso_atom_index *iso_atom_index_new(void);
void iso_atom_index_free(struct iso_atom_index *index);
/* Forgets everything; `atoms` are all that were put in, so that clearing costs what was used. */
void iso_atom_index_clear(struct iso_atom_index *index, const iso_atom *atoms, uint32_t count);

/* The number of `atom` if it stands in an array, else ISO_NONE. */
static inline uint32_t iso_atom_index_known(const struct iso_atom_index *index, iso_atom atom)
{
    const struct iso_direct *direct = &index->direct[!!(atom & ISO_ATOM_TABLE)];
    uint32_t at = atom & ~ISO_ATOM_TABLE;
    return at < direct->capacity ? direct->numbers[at] - 1 : ISO_NONE;
}

/* The number of `atom`; `next` if it is new (and then it has that number from now on). */
uint32_t iso_atom_index_get_slow(struct iso_atom_index *index, iso_atom atom, uint32_t next);
static inline uint32_t iso_atom_index_get(struct iso_atom_index *index, iso_atom atom,
                                          uint32_t next)
{
    uint32_t known = iso_atom_index_known(index, atom);
    return known != ISO_NONE ? known : iso_atom_index_get_slow(index, atom, next);
}

/* An empty one gets the numbers of a list. False: an atom stands there twice. */
bool iso_atom_index_fill(struct iso_atom_index *index, const iso_atom *atoms, uint32_t count);

/* The number of `atom`, or ISO_NONE. */
uint32_t iso_atom_index_find(const struct iso_atom_index *index, iso_atom atom);
