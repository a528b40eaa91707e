#include "aion/structures/values.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <string.h>

#include "base/cell_key.h"
#include "base/memory.h"

#ifdef ISO_VALIDATE
enum { COMPACT_FROM = 1 << 6, SHRINK_FROM = 1 << 8 }; /* so that small histories do it, too */
#else
enum { COMPACT_FROM = 1 << 16, SHRINK_FROM = 1 << 20 };
#endif
enum { TEXT_UNIT = 16 };

void aion_values_init(struct aion_values *values)
{
    memset(values, 0, sizeof *values);
}

void aion_values_release(struct aion_values *values)
{
    size_t capacity = values->atoms.capacity;
    ISO_FREE_COLUMN(values->references, capacity);
    iso_index_release(&values->table);
    iso_atoms_release(&values->atoms);
    aion_values_init(values);
}

uint64_t aion_values_bytes(const struct aion_values *values)
{
    return (uint64_t)values->table.used * 20 + values->atoms.text_size - values->garbage +
           iso_index_bytes(&values->table);
}

uint64_t aion_text_digest(const char *text, size_t length)
{
    return XXH3_64bits(text, length);
}

uint64_t aion_atom_digest(const struct iso_atoms *atoms, iso_atom atom)
{
    uint32_t index = atom & ~ISO_ATOM_TABLE;
    if (!aion_value_is_entry(atom))
        return aion_mix(atom + 1u);
    uint64_t payload = atoms->entries[index].payload;
    if (atoms->entries[index].form >= ISO_FORM_NEGATIVE)
        return atoms->entries[index].form == ISO_FORM_NEGATIVE ? ~aion_mix(payload)
                                                               : aion_mix(payload + 1);
    return aion_text_digest(atoms->text + payload, atoms->entries[index].form);
}

uint64_t aion_row_digest(const struct iso_atoms *atoms, iso_atom key, uint64_t digest)
{
    struct iso_json_text row;
    uint32_t index = key & ~ISO_ATOM_TABLE;
    if (!aion_value_is_entry(key) || atoms->entries[index].form >= ISO_FORM_NEGATIVE)
        return digest;
    struct iso_json_text text = {atoms->text + atoms->entries[index].payload,
                                 atoms->entries[index].form};
    return iso_cell_key_row(text, &row) ? XXH3_64bits(row.at, row.length) : digest;
}

bool aion_atoms_same(const struct iso_atoms *left, iso_atom one, const struct iso_atoms *right,
                     iso_atom other)
{
    uint32_t i = one & ~ISO_ATOM_TABLE, j = other & ~ISO_ATOM_TABLE;
    if (!aion_value_is_entry(one) || !aion_value_is_entry(other))
        return one == other;
    if (left->entries[i].form != right->entries[j].form)
        return false;
    if (left->entries[i].form >= ISO_FORM_NEGATIVE)
        return left->entries[i].payload == right->entries[j].payload;
    return memcmp(left->text + left->entries[i].payload, right->text + right->entries[j].payload,
                  left->entries[i].form) == 0;
}

bool aion_values_refill(struct aion_values *values)
{
    struct iso_atoms *atoms = &values->atoms;
    uint32_t used = values->table.used;
    if (used > atoms->count)
        return false;
    iso_index_clear(&values->table);
    for (uint32_t entry = 0; entry < atoms->count; entry++) {
        if (!values->references[entry])
            continue;
        if (!iso_atom_rehash(atoms, entry))
            return false;
        iso_index_add(&values->table, atoms->entries[entry].hash, entry);
    }
    return used == values->table.used;
}

static void grow_entries(struct aion_values *values)
{
    struct iso_atoms *atoms = &values->atoms;
    size_t old = atoms->capacity, next = iso_column_capacity(old, old + 1);
    if (next > ISO_ATOM_TABLE - 1)
        iso_out_of_memory(next * sizeof *atoms->entries);
    ISO_COLUMN_RESIZE(atoms->entries, old, next);
    ISO_COLUMN_RESIZE(values->references, old, next);
    atoms->capacity = (uint32_t)next;
    iso_column_huge(atoms->entries, next * sizeof *atoms->entries);
    iso_column_huge(values->references, next * sizeof *values->references);
}

/* ---- texts ---- */

/* Stands before each text. */
struct block {
    /* whose text it is; FREE: nobody's, and the next free one + 1 of its size follows */
    uint32_t entry;
    uint32_t units; /* of the block, of TEXT_UNIT bytes */
};
#define FREE UINT32_MAX

static size_t units_of(uint32_t length)
{
    size_t bytes = sizeof(struct block) + (length < sizeof(uint64_t) ? sizeof(uint64_t) : length);
    return (bytes + TEXT_UNIT - 1) / TEXT_UNIT;
}

/* Moves the texts that are referred to together, in place. */
static void compact_texts(struct aion_values *values)
{
    struct iso_atoms *atoms = &values->atoms;
    struct block block;
    size_t to = 0, size;
    for (size_t at = 0; at < atoms->text_size; at += size) {
        memcpy(&block, atoms->text + at, sizeof block);
        size = (size_t)block.units * TEXT_UNIT;
        if (block.entry == FREE)
            continue;
        memmove(atoms->text + to, atoms->text + at, size);
        atoms->entries[block.entry].payload = to + sizeof block;
        to += size;
    }
    atoms->text_size = to;
    values->garbage = 0;
    memset(values->free_text, 0, sizeof values->free_text);
    iso_column_trim(atoms->text, atoms->text_capacity, to);
}

void aion_values_shrink(struct aion_values *values, bool eager)
{
    iso_index_shrink(&values->table);
    bool much = values->garbage >= SHRINK_FROM && values->garbage > values->atoms.text_size / 8;
    if (much || (eager && values->garbage))
        compact_texts(values);
}

static void make_room_for_text(struct aion_values *values, size_t bytes)
{
    struct iso_atoms *atoms = &values->atoms;
    if (values->garbage >= COMPACT_FROM && values->garbage > atoms->text_size / 2)
        compact_texts(values);
    if (atoms->text_size + bytes <= atoms->text_capacity)
        return;
    size_t next = iso_column_capacity(atoms->text_capacity, atoms->text_size + bytes);
    atoms->text = iso_column_grow(atoms->text, atoms->text_capacity, next);
    atoms->text_capacity = next;
    iso_column_huge(atoms->text, next);
}

static uint64_t store_text(struct aion_values *values, uint32_t entry, const char *text,
                           uint32_t length)
{
    struct iso_atoms *atoms = &values->atoms;
    struct block block = {entry, (uint32_t)units_of(length)};
    size_t bytes = (size_t)block.units * TEXT_UNIT;
    uint64_t at;
    if (block.units <= AION_TEXTS && values->free_text[block.units]) {
        at = values->free_text[block.units] - 1;
        memcpy(&values->free_text[block.units], atoms->text + at + sizeof block,
               sizeof values->free_text[0]);
        values->garbage -= bytes;
        if (values->free_text[block.units]) /* the next one of this size */
            __builtin_prefetch(atoms->text + values->free_text[block.units] - 1, 1);
    } else {
        if (atoms->text_size + bytes > atoms->text_capacity ||
            values->garbage > atoms->text_size / 2)
            make_room_for_text(values, bytes);
        at = atoms->text_size;
        atoms->text_size += bytes;
    }
    memcpy(atoms->text + at, &block, sizeof block);
    memcpy(atoms->text + at + sizeof block, text, length);
    return at + sizeof block;
}

static void free_text(struct aion_values *values, uint64_t payload, uint32_t length)
{
    struct block block = {FREE, (uint32_t)units_of(length)};
    uint64_t at = payload - sizeof block;
    values->garbage += (size_t)block.units * TEXT_UNIT;
    memcpy(values->atoms.text + at, &block, sizeof block);
    if (block.units > AION_TEXTS)
        return;
    memcpy(values->atoms.text + payload, &values->free_text[block.units],
           sizeof values->free_text[0]);
    values->free_text[block.units] = at + 1;
}

/* ---- entries ---- */

static uint32_t new_entry(struct aion_values *values, uint32_t form, uint64_t payload,
                          const char *text, uint32_t hash)
{
    struct iso_atoms *atoms = &values->atoms;
    uint32_t entry = values->first_free - 1;
    if (values->first_free) {
        values->first_free = (uint32_t)atoms->entries[entry].payload;
        if (values->first_free)
            aion_values_fetch_entry(values, (values->first_free - 1) | ISO_ATOM_TABLE);
    } else {
        if (atoms->count == atoms->capacity)
            grow_entries(values);
        entry = atoms->count++;
    }
    if (form < ISO_FORM_NEGATIVE)
        payload = store_text(values, entry, text, form);
    atoms->entries[entry] = (struct iso_atom_entry){payload, form, hash};
    values->references[entry] = 1;
    return entry;
}

static bool is_entry_of(const struct iso_atoms *atoms, uint32_t entry, uint32_t form,
                        uint64_t payload, const char *text)
{
    if (atoms->entries[entry].form != form)
        return false;
    return form >= ISO_FORM_NEGATIVE
               ? atoms->entries[entry].payload == payload
               : memcmp(atoms->text + atoms->entries[entry].payload, text, form) == 0;
}

static uint32_t enter(struct aion_values *values, uint32_t form, uint64_t payload, const char *text,
                      uint32_t hash)
{
    iso_index_reserve(&values->table, 1);
    uint32_t at = iso_index_home(hash), entry;
    for (; iso_index_next(&values->table, &at, hash, &entry); at++) {
        if (is_entry_of(&values->atoms, entry, form, payload, text)) {
            values->references[entry]++;
            return entry | ISO_ATOM_TABLE;
        }
    }
    entry = new_entry(values, form, payload, text, hash);
    iso_index_fill(&values->table, at, hash, entry);
    return entry | ISO_ATOM_TABLE;
}

uint32_t aion_values_enter_text(struct aion_values *values, uint32_t form, uint64_t payload,
                                const char *text)
{
    return enter(values, form, payload, text, iso_atom_new_hash(form, payload, text));
}

uint32_t aion_values_enter(struct aion_values *values, const struct iso_atoms *from, iso_atom atom)
{
    const struct iso_atom_entry *entry = &from->entries[atom & ~ISO_ATOM_TABLE];
    assert(from != &values->atoms);
    return enter(values, entry->form, entry->payload,
                 entry->form < ISO_FORM_NEGATIVE ? from->text + entry->payload : NULL, entry->hash);
}

void aion_values_leave(struct aion_values *values, uint32_t value)
{
    uint32_t entry = value & ~ISO_ATOM_TABLE;
    assert(values->references[entry]);
    if (--values->references[entry])
        return;
    iso_index_remove(&values->table, values->atoms.entries[entry].hash, entry);
    if (values->atoms.entries[entry].form < ISO_FORM_NEGATIVE)
        free_text(values, values->atoms.entries[entry].payload, values->atoms.entries[entry].form);
    values->atoms.entries[entry].payload = values->first_free;
    values->first_free = entry + 1;
}
