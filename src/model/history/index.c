#include "history/index.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/slots.h"
#include "base/index.h"

/* Integers below this may stand in the array; it grows only as far as they reach. */
enum { DIRECT_LIMIT = 1 << 22, FIRST_SLOTS = 64 };

struct iso_atom_index *iso_atom_index_new(void)
{
    return iso_allocate_zeroed(1, sizeof(struct iso_atom_index));
}

void iso_atom_index_free(struct iso_atom_index *index)
{
    if (!index)
        return;
    ISO_FREE_COLUMN(index->direct, index->direct_capacity);
    ISO_FREE_COLUMN(index->slots, index->slot_count);
    iso_free(index);
}

void iso_atom_index_clear(struct iso_atom_index *index, const iso_atom *atoms, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (atoms[i] < index->direct_capacity)
            index->direct[atoms[i]] = 0;
    }
    if (index->used)
        memset(index->slots, 0, index->slot_count * sizeof *index->slots);
    index->used = 0;
}

static void grow_direct(struct iso_atom_index *index, uint32_t atom)
{
    uint32_t old = index->direct_capacity;
    uint32_t next = (uint32_t)iso_column_capacity(old, (size_t)atom + 1);
    index->direct =
        iso_column_grow(index->direct, old * sizeof *index->direct, next * sizeof *index->direct);
    memset(index->direct + old, 0, (next - old) * sizeof *index->direct);
    index->direct_capacity = next;
}

static bool is_free(const void *slot)
{
    return !*(const uint64_t *)slot;
}

static uint64_t hash_of(const void *slot)
{
    return iso_hash_number((iso_atom) * (const uint64_t *)slot);
}

static const struct iso_slot_kind kind = {sizeof(uint64_t), is_free, hash_of};

static inline uint64_t *find_slot(const struct iso_atom_index *index, iso_atom atom)
{
    size_t mask = index->slot_count - 1, slot = iso_hash_number(atom) & mask;
    while (index->slots[slot] && (iso_atom)index->slots[slot] != atom)
        slot = (slot + 1) & mask;
    return &index->slots[slot];
}

static void set_slots(struct iso_atom_index *index, size_t count)
{
    struct iso_atom_index old = *index;
    index->slot_count = count;
    index->slots = iso_column_zeroed(count * sizeof *index->slots);
    index->used = iso_slots_spread(index->slots, count - 1, &kind, old.slots, old.slot_count);
    ISO_FREE_COLUMN(old.slots, old.slot_count);
}

bool iso_atom_index_refill(struct iso_atom_index *index)
{
    size_t used = 0;
    for (size_t i = 0; i < index->slot_count; i++)
        used += index->slots[i] != 0;
    if (index->slot_count && used == index->slot_count)
        return false;
    if (index->slot_count)
        set_slots(index, index->slot_count);
    return true;
}

uint32_t iso_atom_index_get_slow(struct iso_atom_index *index, iso_atom atom, uint32_t next)
{
    if (atom < DIRECT_LIMIT) {
        if (atom >= index->direct_capacity)
            grow_direct(index, atom);
        if (!index->direct[atom])
            index->direct[atom] = next + 1;
        return index->direct[atom] - 1;
    }
    if (index->used * 4 >= index->slot_count * 3)
        set_slots(index, index->slot_count ? index->slot_count * 2 : FIRST_SLOTS);
    uint64_t *slot = find_slot(index, atom);
    if (!*slot) {
        *slot = (uint64_t)(next + 1) << 32 | atom;
        index->used++;
    }
    return (uint32_t)(*slot >> 32) - 1;
}

uint32_t iso_atom_index_find(const struct iso_atom_index *index, iso_atom atom)
{
    if (atom < DIRECT_LIMIT)
        return atom < index->direct_capacity && index->direct[atom] ? index->direct[atom] - 1
                                                                    : ISO_NONE;
    return index->slot_count ? (uint32_t)(*find_slot(index, atom) >> 32) - 1 : ISO_NONE;
}
