#include "explain/words.h"

#include <inttypes.h>
#include <string.h>

#include "base/cell_key.h"
#include "base/shown.h"

/* ---- values ---- */

enum { LIST_SHOWN = 20, TEXT_SHOWN = 400 };

void argue_put_text(struct iso_text *text, const char *bytes, size_t length)
{
    size_t shown = length > TEXT_SHOWN ? TEXT_SHOWN : length;
    while (shown < length && shown && ((unsigned char)bytes[shown] & 0xc0) == 0x80)
        shown--; /* never inside a character */
    bool plain = length > 0 && !(length == 7 && !memcmp(bytes, "nothing", 7)),
         is_object = length > 1 && bytes[0] == '{' && bytes[length - 1] == '}';
    for (size_t i = 0; i < shown && plain && !is_object; i++)
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
    if (first)
        iso_text_format(text, "... %" PRIu64 " more, ", first);
    for (uint64_t i = first; i < count; i++) {
        if (i > first)
            iso_text_put(text, ", ");
        argue_put_atom(text, atoms, elements[i]);
    }
    iso_text_put(text, "]");
}

/* ---- keys ---- */

static bool split(struct iso_json_text key, struct iso_json_text *row, struct iso_json_text *column)
{
    return iso_cell_key_split(key, row, column) && column->length &&
           memchr(row->at, '/', row->length);
}

bool explain_is_cell(struct iso_json_text key)
{
    struct iso_json_text row, column;
    return split(key, &row, &column);
}

/* Keys that stand for what rows are to queries' results (rowsets/imply.c, imply_any.c). */
static bool put_implied(struct iso_text *text, struct iso_json_text row,
                        struct iso_json_text column)
{
    static const char where[] = "?where ";
    size_t length = sizeof where - 1;
    bool has_condition = column.length > length && !memcmp(column.at, where, length);
    if (*column.at != '?')
        return false;
    iso_text_put(text, has_condition ? "whether row " : "whether queries find row ");
    argue_put_text(text, row.at, row.length);
    if (has_condition) {
        iso_text_put(text, " meets ");
        argue_put_text(text, column.at + length, column.length - length);
    }
    return true;
}

void explain_put_key(struct iso_text *text, struct iso_json_text key)
{
    struct iso_json_text row, column;
    struct iso_text name = {0};
    bool is_cell = split(key, &row, &column);
    if (is_cell && put_implied(text, row, column))
        return;
    iso_text_put(text, is_cell ? "column " : "key ");
    if (is_cell) {
        iso_cell_key_decode(&name, column);
        argue_put_text(text, name.bytes, name.used);
        iso_text_put(text, " of row ");
    }
    argue_put_text(text, row.at, is_cell ? row.length : key.length);
    iso_text_release(&name);
}

/* ---- differences ---- */

/* EARLY: a difference before this byte is seen at a glance. */
enum { EARLY = 80, BEFORE = 20, AFTER = 60 };

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Writes the part of a text around the byte where it begins to differ. */
static void put_around(struct iso_text *text, const char *bytes, size_t length, size_t from)
{
    size_t start = from - BEFORE, end = length - from > AFTER ? from + AFTER : length;
    if (from == length) {
        iso_text_put(text, "ends");
        return;
    }
    while (start < from && is_inside_character(bytes[start]))
        start++;
    while (end < length && end > from + 1 && is_inside_character(bytes[end]))
        end--;
    iso_text_put(text, "says ...");
    argue_put_text(text, bytes + start, end - start);
    iso_text_put(text, end < length ? "..." : "");
}

bool explain_put_difference(struct iso_text *text, const char *expected, size_t expected_length,
                            const char *found, size_t found_length)
{
    size_t least = expected_length < found_length ? expected_length : found_length, equal = 0;
    while (equal < least && expected[equal] == found[equal])
        equal++;
    if (equal == expected_length && equal == found_length)
        return false;
    while (equal && equal < least && is_inside_character(expected[equal]))
        equal--;
    if (equal < EARLY)
        return false;
    iso_text_format(
        text, "The first %" PRIu64 " bytes of the two are equal; behind them the expected one ",
        equal);
    put_around(text, expected, expected_length, equal);
    iso_text_put(text, ", the other one ");
    put_around(text, found, found_length, equal);
    iso_text_put(text, ".");
    return true;
}
