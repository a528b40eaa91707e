/* Atoms: interned keys, values and ids, 32 bits each.
 *
 * Two texts are the same atom iff they are equal after unescaping: the number 7 and the string "7"
 * are one atom (CDC sources quote numbers at will), "007" is another. An integer from 0 to 2^31-1
 * *is* its atom, without table or hash; other 64-bit integers and strings have an entry in an
 * `iso_atoms` table, found by XXH3 and compared in full, so that a collision costs time and never a
 * wrong answer. `ISO_ABSENT` is null: no value.
 *
 * Ownership: a table owns its texts. Threads: one writer and no reader, or any number of readers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"

typedef uint32_t iso_atom;

/* this bit: the rest is an index into the table; else the integer itself */
#define ISO_ATOM_TABLE 0x80000000u
#define ISO_ABSENT 0xffffffffu /* null */

/* An unknown value is a text of this byte and a reason behind it. No client's value begins with
 * it. */
#define ISO_ATOM_UNKNOWN '\x02'

struct iso_atoms {
    uint32_t count; /* entries */
    uint32_t capacity;
    struct iso_atom_entry {
        uint64_t payload; /* integer: its 64 bits; string: where it starts in `text` */
        uint32_t form;    /* string: its length; else ISO_FORM_UNSIGNED or ISO_FORM_NEGATIVE */
        uint32_t hash;    /* in this process only (base/hash.h) */
    } * entries;
    char *text; /* all strings, back to back, no terminators */
    size_t text_size, text_capacity;
    struct iso_index table; /* of entries */
};

enum { ISO_ATOM_TEXT_MAX = 24 }; /* room for any integer's text and a NUL */
#define ISO_FORM_UNSIGNED 0xffffffffu
#define ISO_FORM_NEGATIVE 0xfffffffeu /* payload is the two's complement */

void iso_atoms_init(struct iso_atoms *atoms);
void iso_atoms_release(struct iso_atoms *atoms);
void iso_atoms_clear(struct iso_atoms *atoms); /* forgets all entries, keeps the memory */

iso_atom iso_atoms_add_integer(struct iso_atoms *atoms, uint64_t bits, bool negative);
iso_atom iso_atoms_add_string(struct iso_atoms *atoms, const char *text, size_t length);

/* The unsigned integer's atom; the common case needs no call. */
static inline iso_atom iso_atoms_unsigned(struct iso_atoms *atoms, uint64_t value)
{
    return value < ISO_ATOM_TABLE ? (iso_atom)value : iso_atoms_add_integer(atoms, value, false);
}

/* The atom of a text: an integer's if the text is a canonical decimal integer of 64 bits (signed or
 * unsigned). */
iso_atom iso_atoms_text(struct iso_atoms *atoms, const char *text, size_t length);

/* As above, but only looks: false if there is no such atom yet. */
bool iso_atoms_find(const struct iso_atoms *atoms, const char *text, size_t length,
                    iso_atom *found);

/* Copies an atom into another table. */
iso_atom iso_atoms_copy(struct iso_atoms *into, const struct iso_atoms *from, iso_atom atom);

/* The entry of an atom, in step 1, and its text in step 2. */
ISO_FETCH iso_atoms_fetch_entry(const struct iso_atoms *atoms, iso_atom atom, uint32_t step)
{
    uint32_t entry = atom & ~ISO_ATOM_TABLE;
    if (!(atom & ISO_ATOM_TABLE))
        return;
    if (step == 1)
        __builtin_prefetch(&atoms->entries[entry]);
    else if (atoms->entries[entry].form < ISO_FORM_NEGATIVE)
        __builtin_prefetch(atoms->text + atoms->entries[entry].payload);
}

/* The hash of an atom, the same in each table of this process, and that of an entry which is new
 * (`text`, if it is a string). */
static inline uint32_t iso_atom_hash(const struct iso_atoms *atoms, iso_atom atom)
{
    return (atom & ISO_ATOM_TABLE) && atom != ISO_ABSENT
               ? atoms->entries[atom & ~ISO_ATOM_TABLE].hash
               : (uint32_t)iso_hash_number(atom);
}
static inline uint32_t iso_atom_new_hash(uint32_t form, uint64_t payload, const char *text)
{
    return form < ISO_FORM_NEGATIVE
               ? (uint32_t)iso_hash_text(text, form)
               : (uint32_t)iso_hash_number(payload + (form == ISO_FORM_NEGATIVE));
}
/* Of an entry of another process; false: it cannot be one. */
bool iso_atom_rehash(struct iso_atoms *atoms, uint32_t entry);

/* What iso_atoms_copy will look for, by its hash: fetched in steps from 0 on, each of which needs
 * what the one before fetched. */
ISO_FETCH iso_atoms_fetch(const struct iso_atoms *into, uint32_t hash, uint32_t step)
{
    uint32_t at = iso_index_home(hash), entry;
    if (!step)
        iso_index_fetch(&into->table, hash);
    else if (iso_index_next(&into->table, &at, hash, &entry))
        iso_atoms_fetch_entry(into, entry | ISO_ATOM_TABLE, step);
}

/* The text of an atom other than ISO_ABSENT. `*length` bytes, not NUL-terminated; points into the
 * table, or into `buffer` for integers. */
const char *iso_atom_text(const struct iso_atoms *atoms, iso_atom atom,
                          char buffer[ISO_ATOM_TEXT_MAX], size_t *length);

static inline bool iso_atom_is_string(const struct iso_atoms *atoms, iso_atom atom)
{
    return (atom & ISO_ATOM_TABLE) &&
           atoms->entries[atom & ~ISO_ATOM_TABLE].form < ISO_FORM_NEGATIVE;
}

/* Whether it is that of an unknown value. */
static inline bool iso_atom_is_unknown(const struct iso_atoms *atoms, iso_atom atom)
{
    uint32_t index = atom & ~ISO_ATOM_TABLE;
    return (atom & ISO_ATOM_TABLE) && atom != ISO_ABSENT && atoms->entries[index].form &&
           atoms->entries[index].form < ISO_FORM_NEGATIVE &&
           atoms->text[atoms->entries[index].payload] == ISO_ATOM_UNKNOWN;
}

/* Whether the atom is this string in this table, as it was when it was looked up last; false may be
 * wrong. */
static inline bool iso_atom_is_still(const struct iso_atoms *atoms, iso_atom atom, const char *text,
                                     size_t length)
{
    uint32_t index = atom & ~ISO_ATOM_TABLE;
    return (atom & ISO_ATOM_TABLE) && index < atoms->count &&
           atoms->entries[index].form == length &&
           !memcmp(atoms->text + atoms->entries[index].payload, text, length);
}

/* Total order of reports: numbers by size, before strings by bytes; absent last. <0, 0, >0. */
int iso_atom_compare(const struct iso_atoms *atoms, iso_atom left, iso_atom right);

/* After entries and slots of another process were read: slots are made anew. False: something is
 * wrong with them. */
bool iso_atoms_refill(struct iso_atoms *atoms);
