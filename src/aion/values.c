#include "aion/values.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define GROW(column, old, next)                                                                                        \
    ((column) = iso_column_grow((column), (size_t)(old) * sizeof *(column), (size_t)(next) * sizeof *(column)))
enum { FIRST_SLOTS = 256, COMPACT_FROM = 1 << 16 };

void aion_values_init(struct aion_values *values)
{
    memset(values, 0, sizeof *values);
}

void aion_values_release(struct aion_values *values)
{
    size_t capacity = values->atoms.capacity;
    iso_column_free(values->holders, capacity * sizeof *values->holders);
    iso_column_free(values->hash, capacity * sizeof *values->hash);
    if (values->slots)
        iso_column_free(values->slots, ((size_t)values->slot_mask + 1) * sizeof *values->slots);
    iso_atoms_release(&values->atoms);
    aion_values_init(values);
}

uint64_t aion_values_bytes(const struct aion_values *values)
{
    return (uint64_t)values->atoms.count * 20 + values->atoms.text_size + ((uint64_t)values->slot_mask + 1) * 8;
}

uint64_t aion_atom_digest(const struct iso_atoms *atoms, iso_atom atom)
{
    if (!aion_value_is_entry(atom))
        return aion_mix(atom + 1u);
    uint32_t index = atom & ~ISO_ATOM_TABLE, form = atoms->form[index];
    if (form >= ISO_FORM_NEGATIVE)
        return form == ISO_FORM_NEGATIVE ? ~aion_mix(atoms->payload[index]) : aion_mix(atoms->payload[index] + 1);
    return XXH3_64bits(atoms->text + atoms->payload[index], form);
}

static bool same_text(const struct iso_atoms *left, uint32_t i, const struct iso_atoms *right, uint32_t j)
{
    if (left->form[i] != right->form[j])
        return false;
    if (left->form[i] >= ISO_FORM_NEGATIVE)
        return left->payload[i] == right->payload[j];
    return memcmp(left->text + left->payload[i], right->text + right->payload[j], left->form[i]) == 0;
}

bool aion_atoms_same(const struct iso_atoms *left, iso_atom one, const struct iso_atoms *right, iso_atom other)
{
    if (!aion_value_is_entry(one) || !aion_value_is_entry(other))
        return one == other;
    return same_text(left, one & ~ISO_ATOM_TABLE, right, other & ~ISO_ATOM_TABLE);
}

static void grow_slots(struct aion_values *values)
{
    size_t old_count = values->slots ? (size_t)values->slot_mask + 1 : 0;
    size_t count = old_count ? old_count * 2 : FIRST_SLOTS;
    uint64_t *old = values->slots;
    values->slots = iso_column_grow(NULL, 0, count * sizeof *values->slots);
    memset(values->slots, 0, count * sizeof *values->slots);
    values->slot_mask = (uint32_t)(count - 1);
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        uint32_t slot = (uint32_t)(old[i] >> 32) & values->slot_mask;
        while (values->slots[slot])
            slot = (slot + 1) & values->slot_mask;
        values->slots[slot] = old[i];
    }
    iso_column_free(old, old_count * sizeof *old);
}

static void grow_entries(struct aion_values *values)
{
    struct iso_atoms *atoms = &values->atoms;
    size_t old = atoms->capacity, next = iso_column_capacity(old, old + 1);
    if (next > ISO_ATOM_TABLE - 1)
        iso_out_of_memory(next * sizeof *atoms->payload);
    GROW(atoms->payload, old, next);
    GROW(atoms->form, old, next);
    GROW(values->holders, old, next);
    GROW(values->hash, old, next);
    atoms->capacity = (uint32_t)next;
}

/* Copies the texts that are held into a column of their own. */
static void compact(struct aion_values *values)
{
    struct iso_atoms *atoms = &values->atoms;
    size_t size = 0;
    char *text = iso_column_grow(NULL, 0, atoms->text_capacity);
    for (uint32_t i = 0; i < atoms->count; i++) {
        if (!values->holders[i] || atoms->form[i] >= ISO_FORM_NEGATIVE)
            continue;
        memcpy(text + size, atoms->text + atoms->payload[i], atoms->form[i]);
        atoms->payload[i] = size;
        size += atoms->form[i];
    }
    iso_column_free(atoms->text, atoms->text_capacity);
    atoms->text = text;
    atoms->text_size = size;
    values->garbage = 0;
}

static uint64_t store_text(struct aion_values *values, const char *text, size_t length)
{
    struct iso_atoms *atoms = &values->atoms;
    if (atoms->text_size + length >= atoms->text_capacity) {
        if (values->garbage >= COMPACT_FROM && values->garbage > atoms->text_size / 2)
            compact(values);
        if (atoms->text_size + length >= atoms->text_capacity) {
            size_t next = iso_column_capacity(atoms->text_capacity, atoms->text_size + length + 1);
            atoms->text = iso_column_grow(atoms->text, atoms->text_capacity, next);
            atoms->text_capacity = next;
        }
    }
    memcpy(atoms->text + atoms->text_size, text, length);
    atoms->text_size += length;
    return atoms->text_size - length;
}

static uint32_t new_entry(struct aion_values *values, const struct iso_atoms *from, uint32_t index, uint32_t hash)
{
    struct iso_atoms *atoms = &values->atoms;
    uint32_t form = from->form[index], entry = values->first_free - 1;
    uint64_t payload = from->payload[index];
    if (form < ISO_FORM_NEGATIVE)
        payload = store_text(values, from->text + payload, form);
    if (values->first_free) {
        values->first_free = (uint32_t)atoms->payload[entry];
    } else {
        if (atoms->count == atoms->capacity)
            grow_entries(values);
        entry = atoms->count++;
    }
    atoms->payload[entry] = payload;
    atoms->form[entry] = form;
    values->holders[entry] = 1;
    values->hash[entry] = hash;
    return entry;
}

uint32_t aion_values_enter(struct aion_values *values, const struct iso_atoms *from, iso_atom atom)
{
    uint32_t index = atom & ~ISO_ATOM_TABLE, hash = (uint32_t)aion_atom_digest(from, atom);
    assert(from != &values->atoms);
    if (!values->slots || values->used >= values->slot_mask / 4 * 3)
        grow_slots(values);
    uint32_t slot = hash & values->slot_mask;
    for (; values->slots[slot]; slot = (slot + 1) & values->slot_mask) {
        uint32_t entry = (uint32_t)values->slots[slot] - 1;
        if (values->slots[slot] >> 32 == hash && same_text(&values->atoms, entry, from, index)) {
            values->holders[entry]++;
            return entry | ISO_ATOM_TABLE;
        }
    }
    uint32_t entry = new_entry(values, from, index, hash);
    values->slots[slot] = (uint64_t)hash << 32 | (entry + 1);
    values->used++;
    return entry | ISO_ATOM_TABLE;
}

/* Linear probing without tombstones: what stood behind moves up. */
static void empty_slot(struct aion_values *values, uint32_t slot)
{
    uint32_t mask = values->slot_mask, next = slot;
    for (;;) {
        next = (next + 1) & mask;
        uint64_t content = values->slots[next];
        if (!content)
            break;
        uint32_t home = (uint32_t)(content >> 32) & mask;
        if (((next - home) & mask) >= ((next - slot) & mask)) {
            values->slots[slot] = content;
            slot = next;
        }
    }
    values->slots[slot] = 0;
}

void aion_values_leave(struct aion_values *values, uint32_t value)
{
    uint32_t entry = value & ~ISO_ATOM_TABLE;
    assert(values->holders[entry]);
    if (--values->holders[entry])
        return;
    uint32_t slot = values->hash[entry] & values->slot_mask;
    while ((uint32_t)values->slots[slot] != entry + 1)
        slot = (slot + 1) & values->slot_mask;
    empty_slot(values, slot);
    values->used--;
    if (values->atoms.form[entry] < ISO_FORM_NEGATIVE)
        values->garbage += values->atoms.form[entry];
    values->atoms.payload[entry] = values->first_free;
    values->first_free = entry + 1;
}
