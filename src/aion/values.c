#include "aion/values.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define GROW(column, old, next)                                                                                        \
    ((column) = iso_column_grow((column), (size_t)(old) * sizeof *(column), (size_t)(next) * sizeof *(column)))
enum { FIRST_SLOTS = 256, COMPACT_FROM = 1 << 16, TEXT_UNIT = 16 };

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
    uint64_t slots = values->slots ? ((uint64_t)values->slot_mask + 1) * sizeof *values->slots : 0;
    return (uint64_t)values->used * 20 + values->atoms.text_size - values->garbage + slots;
}

static inline uint64_t digest_of(uint32_t form, uint64_t payload, const char *text)
{
    if (form >= ISO_FORM_NEGATIVE)
        return form == ISO_FORM_NEGATIVE ? ~aion_mix(payload) : aion_mix(payload + 1);
    return XXH3_64bits(text, form);
}

uint64_t aion_atom_digest(const struct iso_atoms *atoms, iso_atom atom)
{
    if (!aion_value_is_entry(atom))
        return aion_mix(atom + 1u);
    uint32_t index = atom & ~ISO_ATOM_TABLE;
    return digest_of(atoms->form[index], atoms->payload[index],
                     atoms->form[index] < ISO_FORM_NEGATIVE ? atoms->text + atoms->payload[index] : NULL);
}

bool aion_atoms_same(const struct iso_atoms *left, iso_atom one, const struct iso_atoms *right, iso_atom other)
{
    uint32_t i = one & ~ISO_ATOM_TABLE, j = other & ~ISO_ATOM_TABLE;
    if (!aion_value_is_entry(one) || !aion_value_is_entry(other))
        return one == other;
    if (left->form[i] != right->form[j])
        return false;
    if (left->form[i] >= ISO_FORM_NEGATIVE)
        return left->payload[i] == right->payload[j];
    return memcmp(left->text + left->payload[i], right->text + right->payload[j], left->form[i]) == 0;
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

/* ---- texts ---- */

/* The space that a text takes, in units of 16 bytes. */
static size_t units_of(uint32_t length)
{
    return length ? ((size_t)length + TEXT_UNIT - 1) / TEXT_UNIT : 1;
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
        size += units_of(atoms->form[i]) * TEXT_UNIT;
    }
    iso_column_free(atoms->text, atoms->text_capacity);
    atoms->text = text;
    atoms->text_size = size;
    values->garbage = 0;
    memset(values->free_text, 0, sizeof values->free_text);
}

static void make_room(struct aion_values *values, size_t bytes)
{
    struct iso_atoms *atoms = &values->atoms;
    if (values->garbage >= COMPACT_FROM && values->garbage > atoms->text_size / 2)
        compact(values);
    if (atoms->text_size + bytes <= atoms->text_capacity)
        return;
    size_t next = iso_column_capacity(atoms->text_capacity, atoms->text_size + bytes);
    atoms->text = iso_column_grow(atoms->text, atoms->text_capacity, next);
    atoms->text_capacity = next;
}

static uint64_t store_text(struct aion_values *values, const char *text, uint32_t length)
{
    struct iso_atoms *atoms = &values->atoms;
    size_t units = units_of(length), bytes = units * TEXT_UNIT;
    uint64_t at;
    if (units <= AION_TEXTS && values->free_text[units]) {
        at = values->free_text[units] - 1;
        memcpy(&values->free_text[units], atoms->text + at, sizeof values->free_text[units]);
        values->garbage -= bytes;
    } else {
        if (atoms->text_size + bytes > atoms->text_capacity || values->garbage > atoms->text_size / 2)
            make_room(values, bytes);
        at = atoms->text_size;
        atoms->text_size += bytes;
    }
    memcpy(atoms->text + at, text, length);
    return at;
}

static void free_text(struct aion_values *values, uint64_t at, uint32_t length)
{
    size_t units = units_of(length);
    values->garbage += units * TEXT_UNIT;
    if (units > AION_TEXTS)
        return;
    memcpy(values->atoms.text + at, &values->free_text[units], sizeof values->free_text[units]);
    values->free_text[units] = at + 1;
}

/* ---- entries ---- */

static uint32_t new_entry(struct aion_values *values, uint32_t form, uint64_t payload, const char *text, uint32_t hash)
{
    struct iso_atoms *atoms = &values->atoms;
    uint32_t entry = values->first_free - 1;
    if (form < ISO_FORM_NEGATIVE)
        payload = store_text(values, text, form);
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

static bool is_entry_of(const struct iso_atoms *atoms, uint32_t entry, uint32_t form, uint64_t payload,
                        const char *text)
{
    if (atoms->form[entry] != form)
        return false;
    return form >= ISO_FORM_NEGATIVE ? atoms->payload[entry] == payload
                                     : memcmp(atoms->text + atoms->payload[entry], text, form) == 0;
}

uint32_t aion_values_enter_text(struct aion_values *values, uint32_t form, uint64_t payload, const char *text)
{
    uint32_t hash = (uint32_t)digest_of(form, payload, text);
    if (!values->slots || values->used >= values->slot_mask / 4 * 3)
        grow_slots(values);
    uint32_t slot = hash & values->slot_mask;
    for (; values->slots[slot]; slot = (slot + 1) & values->slot_mask) {
        uint32_t entry = (uint32_t)values->slots[slot] - 1;
        if (values->slots[slot] >> 32 == hash && is_entry_of(&values->atoms, entry, form, payload, text)) {
            values->holders[entry]++;
            return entry | ISO_ATOM_TABLE;
        }
    }
    uint32_t entry = new_entry(values, form, payload, text, hash);
    values->slots[slot] = (uint64_t)hash << 32 | (entry + 1);
    values->used++;
    return entry | ISO_ATOM_TABLE;
}

uint32_t aion_values_enter(struct aion_values *values, const struct iso_atoms *from, iso_atom atom)
{
    uint32_t index = atom & ~ISO_ATOM_TABLE, form = from->form[index];
    assert(from != &values->atoms);
    return aion_values_enter_text(values, form, from->payload[index],
                                  form < ISO_FORM_NEGATIVE ? from->text + from->payload[index] : NULL);
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
        free_text(values, values->atoms.payload[entry], values->atoms.form[entry]);
    values->atoms.payload[entry] = values->first_free;
    values->first_free = entry + 1;
}
