/* Repeats: which tids came, and with what content.
 *
 * 32 bytes a transaction in open addressing, found by a digest of the tid's text: those of two
 * natural numbers differ, those of two other texts are equal with a chance of 2^-64, and then the
 * second is refused aloud as having other content, unless 64 more bits agree by chance. Where both
 * sides of a contradiction are judged, a tid has an entry for each of its contents, up to
 * AION_CONTENTS. Bounded: when the table is full, entries below the floor go (what comes again from
 * there is not taken at all, see `beyond_retention`); only if that does not make room it grows.
 */
#include <assert.h>
#include <string.h>

#include "aion/front/dedup.h"
#include "base/memory.h"
#include "base/slots.h"

enum { FIRST_SLOTS = 1 << 12 };

static bool is_free(const void *slot)
{
    return !((const struct aion_dedup_entry *)slot)->tid;
}

static uint64_t hash_of(const void *slot)
{
    return iso_hash_number(((const struct aion_dedup_entry *)slot)->tid);
}

static const struct iso_slot_kind kind = {sizeof(struct aion_dedup_entry), is_free, hash_of};

static void set_slots(struct aion_dedup *dedup, uint64_t count)
{
    struct aion_dedup old = *dedup;
    dedup->slots = iso_column_zeroed(count * sizeof *dedup->slots);
    dedup->mask = count - 1;
    dedup->used = iso_slots_spread(dedup->slots, dedup->mask, &kind, old.slots, old.mask + 1);
    assert(dedup->used < dedup->mask);
    aion_dedup_release(&old);
}

void aion_dedup_rebuild(struct aion_dedup *dedup, uint64_t floor)
{
    uint64_t kept = 0, count = FIRST_SLOTS;
    for (uint64_t i = 0; dedup->slots && i <= dedup->mask; i++) {
        if (dedup->slots[i].stamp < floor)
            dedup->slots[i].tid = 0;
        kept += dedup->slots[i].tid != 0;
    }
    while (count < kept * 2)
        count *= 2;
    set_slots(dedup, count);
}

void aion_dedup_refill(struct aion_dedup *dedup)
{
    if (dedup->slots)
        set_slots(dedup, dedup->mask + 1);
}

enum aion_dedup_result aion_dedup_note(struct aion_dedup *dedup,
                                       const struct aion_dedup_entry *entry, uint64_t floor,
                                       uint32_t contents)
{
    assert(entry->tid && contents && contents <= AION_CONTENTS);
    if (!dedup->slots || dedup->used >= dedup->mask / 4 * 3)
        aion_dedup_rebuild(dedup, floor);
    uint64_t slot = iso_hash_number(entry->tid) & dedup->mask;
    uint32_t others = 0;
    for (; dedup->slots[slot].tid; slot = (slot + 1) & dedup->mask) {
        const struct aion_dedup_entry *known = &dedup->slots[slot];
        if (known->tid != entry->tid)
            continue;
        if (known->content == entry->content)
            return AION_REPEAT;
        if (!others++)
            dedup->contradicted = known->origin;
    }
    if (others >= contents)
        return AION_OTHER_CONTENT;
    dedup->slots[slot] = *entry;
    dedup->used++;
    return others ? AION_CONTRADICTION : AION_NEW;
}

void aion_dedup_release(struct aion_dedup *dedup)
{
    iso_column_free(dedup->slots, dedup->slots ? (dedup->mask + 1) * sizeof *dedup->slots : 0);
    memset(dedup, 0, sizeof *dedup);
}
