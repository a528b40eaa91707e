/* Values and names as a person reads them. Private to explain; no state. */
#pragma once

#include "base/text.h"
#include "base/atom.h"

/* Control characters escaped as JSON does, quotes only where the text needs them; what is very long
 * is cut. */
void argue_put_text(struct iso_text *text, const char *bytes, size_t length);

/* "nothing" if it is absent; of a long list the last elements. */
void argue_put_atom(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom);
void argue_put_list(struct iso_text *text, const struct iso_atoms *atoms, const iso_atom *elements,
                    uint64_t count);
