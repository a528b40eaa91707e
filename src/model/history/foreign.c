#include "history/foreign.h"

#include <string.h>

bool iso_tid_is_foreign(const struct iso_atoms *atoms, iso_atom tid)
{
    static const size_t prefix = sizeof ISO_FOREIGN_PREFIX - 1;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, tid, buffer, &length);
    return length > prefix && !memcmp(text, ISO_FOREIGN_PREFIX, prefix);
}
