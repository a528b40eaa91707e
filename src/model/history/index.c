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
    for (int i = 0; i < 2; i++)
        ISO_FREE_COLUMN(index->direct[i].numbers, index->direct[i].capacity);
    ISO_FREE_COLUMN(index->slots, index->slot_count);
    iso_free(index);
}

/* The array that has room for the atom, or may get it; NULL: none. */
static struct iso_direct *direct_of(struct iso_atom_index *index, iso_atom atom)
{
    if (atom & ISO_ATOM_TABLE)
        return atom == ISO_ABSENT ? NULL : &index->direct[1];
    return atom < DIRECT_LIMIT ? &index->direct[0] : NULL;
}

void iso_atom_index_clear(struct iso_atom_index *index, const iso_atom *atoms, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct iso_direct *direct = direct_of(index, atoms[i]);
        if (direct && (atoms[i] & ~ISO_ATOM_TABLE) < direct->capacity)
            direct->numbers[atoms[i] & ~ISO_ATOM_TABLE] = 0;
    }
    if (index->used)
        memset(index->slots, 0, index->slot_count * sizeof *index->slots);
    index->used = 0;
}

static void grow_direct(struct iso_direct *direct, uint32_t at)
{
    uint32_t old = direct->capacity;
    ISO_RESERVE_COLUMN(direct->numbers, (size_t)at + 1, direct->capacity);
    memset(direct->numbers + old, 0, (direct->capacity - old) * sizeof *direct->numbers);
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

bool iso_atom_index_fill(struct iso_atom_index *index, const iso_atom *atoms, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && iso_atom_index_get(index, atoms[i], i) == i)
        i++;
    return i == count;
}

uint32_t iso_atom_index_get_slow(struct iso_atom_index *index, iso_atom atom, uint32_t next)
{
    struct iso_direct *direct = direct_of(index, atom);
    if (direct) {
        uint32_t at = atom & ~ISO_ATOM_TABLE;
        if (at >= direct->capacity)
            grow_direct(direct, at);
        if (!direct->numbers[at])
            direct->numbers[at] = next + 1;
        return direct->numbers[at] - 1;
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
    uint32_t known = iso_atom_index_known(index, atom);
    if (known != ISO_NONE || !index->slot_count)
        return known;
    return (uint32_t)(*find_slot(index, atom) >> 32) - 1;
}
