#include "explain/value_text.h"

#include <string.h>

#include "base/shown.h"

enum { LIST_SHOWN = 20, TEXT_SHOWN = 400 };

void argue_put_text(struct iso_text *text, const char *bytes, size_t length)
{
    size_t shown = length > TEXT_SHOWN ? TEXT_SHOWN : length;
    while (shown < length && shown && ((unsigned char)bytes[shown] & 0xc0) == 0x80)
        shown--; /* never inside a character */
    bool plain = length > 0 && !(length == 7 && !memcmp(bytes, "nothing", 7));
    for (size_t i = 0; i < shown && plain; i++)
        plain = (unsigned char)bytes[i] > 0x20 && bytes[i] != '"' && bytes[i] != '\\';
    if (plain && iso_is_shown_as_it_is(bytes, shown))
        iso_text_put_bytes(text, bytes, shown);
    else
        iso_text_put_shown_string(text, bytes, shown);
    if (shown < length)
        iso_text_put(text, "...");
}

void argue_put_atom(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_text_put(text, "nothing");
        return;
    }
    const char *bytes = iso_atom_text(atoms, atom, buffer, &length);
    argue_put_text(text, bytes, length);
}

void argue_put_list(struct iso_text *text, const struct iso_atoms *atoms, const iso_atom *elements,
                    uint64_t count)
{
    uint64_t first = count > LIST_SHOWN ? count - LIST_SHOWN : 0;
    iso_text_put(text, "[");
    if (first) {
        iso_text_put(text, "... ");
        iso_text_put_unsigned(text, first);
        iso_text_put(text, " more, ");
    }
    for (uint64_t i = first; i < count; i++) {
        if (i > first)
            iso_text_put(text, ", ");
        argue_put_atom(text, atoms, elements[i]);
    }
    iso_text_put(text, "]");
}
