/* Values, names and keys as a person reads them, and where two long texts differ. No state. */
#pragma once

#include <stdbool.h>

#include "base/atom.h"
#include "base/json.h"
#include "base/text.h"

/* Control characters escaped as JSON does, quotes only where the text needs them: a row's cells and
 * aggregates, {"n":1}, need none; what is very long is cut. */
void argue_put_text(struct iso_text *text, const char *bytes, size_t length);

/* "nothing" if it is absent; of a long list the last elements. */
void argue_put_atom(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom);
void argue_put_list(struct iso_text *text, const struct iso_atoms *atoms, const iso_atom *elements,
                    uint64_t count);

/* Keys by name: "key x", and of a cell (base/cell_key.h) "column balance of row public.acct/7". */
bool explain_is_cell(struct iso_json_text key);
void explain_put_key(struct iso_text *text, struct iso_json_text key);

/* Says, as a sentence at the end of `text`, from which byte on the two differ, and how each goes
 * on. False, and says nothing: they are equal, or differ so early that it shows by itself. */
bool explain_put_difference(struct iso_text *text, const char *expected, size_t expected_length,
                            const char *found, size_t found_length);
