/* Values and transaction ids that come and go: atoms with a count of their references.
 *
 * Integers from 0 to 2^31-1 and null are their own atoms, as everywhere, and cost nothing. Others
 * have an entry, found by hash and compared in full; the last reference that goes frees it, and its
 * text waits for the next one of about its length (16 bytes more or less). Only where lengths
 * change so much that half of the texts' space is free they are moved together. So an endless
 * stream of distinct values needs the memory of those that are referred to. Threads: one at a time.
 */
#pragma once

#include "base/index.h"
#include "base/atom.h"

/* Lengths of texts, by 16 bytes, whose space is found again; longer ones leave it to moving
 * together. */
enum { AION_TEXTS = 64 };

struct aion_values {
    struct iso_atoms atoms; /* its entries and texts; its own table is not used */
    uint32_t *references;   /* 0: a free entry, whose payload is the next free one + 1 */
    uint32_t first_free;    /* + 1; 0: none */
    struct iso_index table; /* of entries, by hash */
    size_t garbage;         /* bytes of text that belong to nobody */
    uint64_t free_text[AION_TEXTS + 1]; /* by length / 16, where such a text begins, + 1; in it
                                           stands the next one */
};

void aion_values_init(struct aion_values *values);
void aion_values_release(struct aion_values *values);
uint64_t aion_values_bytes(const struct aion_values *values);

/* The atom here of an atom there, referred to once more; or of what an entry says (`text`, if it is
 * a string). */
uint32_t aion_values_enter(struct aion_values *values, const struct iso_atoms *from, iso_atom atom);
uint32_t aion_values_enter_text(struct aion_values *values, uint32_t form, uint64_t payload,
                                const char *text);
void aion_values_shrink(struct aion_values *values,
                        bool eager); /* what of texts and slots is free, if it is much */
void aion_values_leave(struct aion_values *values, uint32_t value);

static inline bool aion_value_is_entry(uint32_t value)
{
    return (value & ISO_ATOM_TABLE) && value != ISO_ABSENT;
}

/* Where the atom is the table's own, the caller has a reference already and passes it on. */
static inline uint32_t aion_values_take(struct aion_values *values, const struct iso_atoms *from,
                                        iso_atom atom)
{
    return aion_value_is_entry(atom) && from != &values->atoms
               ? aion_values_enter(values, from, atom)
               : atom;
}

static inline uint32_t aion_values_reference(struct aion_values *values, uint32_t value)
{
    if (aion_value_is_entry(value))
        values->references[value & ~ISO_ATOM_TABLE]++;
    return value;
}

static inline void aion_values_drop(struct aion_values *values, uint32_t value)
{
    if (aion_value_is_entry(value))
        aion_values_leave(values, value);
}

/* Are the texts of two atoms of two tables equal? */
bool aion_atoms_same(const struct iso_atoms *left, iso_atom one, const struct iso_atoms *right,
                     iso_atom other);

/* A digest of an atom's text, the same in every table and every run. */
uint64_t aion_atom_digest(const struct iso_atoms *atoms, iso_atom atom);
/* The digest that an atom of this text has. */
uint64_t aion_text_digest(const char *text, size_t length);
/* The digest of a key; for a cell's key, the digest of its row's key. */
uint64_t aion_row_digest(const struct iso_atoms *atoms, iso_atom key, uint64_t digest);

/* After entries and slots of another process were read: hashes and slots are made anew. False:
 * something is wrong. */
bool aion_values_refill(struct aion_values *values);

/* Fetching ahead: the slot of a text that will be entered, by its hash; an entry; once that is
 * there, its text; and its slot, before it is let go. */
ISO_FETCH aion_values_fetch_slot(const struct aion_values *values, uint32_t hash)
{
    iso_index_fetch(&values->table, hash);
}

ISO_FETCH aion_values_fetch_entry(const struct aion_values *values, uint32_t value)
{
    uint32_t entry = value & ~ISO_ATOM_TABLE;
    if (!aion_value_is_entry(value))
        return;
    __builtin_prefetch(&values->atoms.entries[entry], 1);
    __builtin_prefetch(&values->references[entry], 1);
}

/* Fetches the value's text into the cache, to be compared with. */
ISO_FETCH aion_values_fetch_text(const struct aion_values *values, uint32_t value)
{
    if (aion_value_is_entry(value) && iso_atom_is_string(&values->atoms, value)) {
        const struct iso_atom_entry *entry = &values->atoms.entries[value & ~ISO_ATOM_TABLE];
        __builtin_prefetch(values->atoms.text + entry->payload);
        __builtin_prefetch(values->atoms.text + entry->payload + entry->form - 1);
    }
}

ISO_FETCH aion_values_fetch_leave(const struct aion_values *values, uint32_t value)
{
    if (!aion_value_is_entry(value))
        return;
    aion_values_fetch_slot(values, values->atoms.entries[value & ~ISO_ATOM_TABLE].hash);
    aion_values_fetch_text(values, value);
}

static inline uint64_t aion_mix(uint64_t bits)
{
    bits ^= bits >> 32;
    bits *= 0xd6e8feb86659fd93u;
    bits ^= bits >> 32;
    bits *= 0xd6e8feb86659fd93u;
    return bits ^ bits >> 32;
}
