/* Where an index of a column keeps a value, and where it has to look for those that may equal a
 * constant.
 *
 *     iso_scalar_place(&cell, &place)             under its hash, and in its class
 *     iso_scalar_seek(type, &constant, &seek)     under that hash, and in all of those classes
 *
 * Two scalars that surely differ may meet; two that may be equal always do (iso_places_meet). Of
 * typed values the hash says it all. A text of no type has other spellings, which depend on what
 * kind of text it is: so integers are a class, and words are by their lengths and letters, since
 * base64 of one length may be another's bytes. Values that have no place are looked at for every
 * constant.
 */
#pragma once

#include "predicate/scalar.h"

enum { ISO_SCALAR_CLASSES = 32 };

struct iso_scalar_place {
    uint64_t hash;
    uint32_t classes; /* bits by number */
};

/* False: it has none. */
bool iso_scalar_place(const struct iso_scalar *value, struct iso_scalar_place *place);
/* False: all values of a column of that type have to be looked at. */
bool iso_scalar_seek(struct iso_scalar_type type, const struct iso_scalar *constant,
                     struct iso_scalar_place *seek);

static inline bool iso_places_meet(const struct iso_scalar_place *value,
                                   const struct iso_scalar_place *seek)
{
    return value->hash == seek->hash || value->classes & seek->classes;
}
