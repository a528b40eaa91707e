/* Repeats: which tids came, and with what content.
 *
 * 32 bytes a transaction in open addressing, found by a digest of the tid's text: those of two natural
 * numbers differ, those of two other texts are equal with a chance of 2^-64, and then the second is refused
 * aloud as having other content, unless 64 more bits agree by chance. Where both sides of a contradiction are judged, a
 * tid has an entry for each of its contents, up to AION_CONTENTS. Bounded: when the table is full,
 * entries below the floor go (what comes again from there is not taken at all, see `beyond_retention`); only
 * if that does not make room it grows.
 */
#include <string.h>

#include "aion/dedup.h"
#include "base/hash.h"
#include "base/memory.h"

enum { FIRST_SLOTS = 1 << 12 };

static uint64_t free_slot(const struct aion_dedup *dedup, uint64_t tid)
{
    uint64_t slot = iso_hash_number(tid) & dedup->mask;
    while (dedup->slots[slot].tid)
        slot = (slot + 1) & dedup->mask;
    return slot;
}

void aion_dedup_rebuild(struct aion_dedup *dedup, uint64_t floor)
{
    struct aion_dedup_entry *old = dedup->slots;
    uint64_t old_count = old ? dedup->mask + 1 : 0, kept = 0, count = FIRST_SLOTS;
    for (uint64_t i = 0; i < old_count; i++)
        kept += old[i].tid && old[i].stamp >= floor;
    while (count < kept * 2)
        count *= 2;
    dedup->slots = iso_column_grow(NULL, 0, count * sizeof *dedup->slots);
    memset(dedup->slots, 0, count * sizeof *dedup->slots);
    dedup->mask = count - 1;
    dedup->used = kept;
    for (uint64_t i = 0; i < old_count; i++) {
        if (old[i].tid && old[i].stamp >= floor)
            dedup->slots[free_slot(dedup, old[i].tid)] = old[i];
    }
    iso_column_free(old, old_count * sizeof *old);
}

void aion_dedup_refill(struct aion_dedup *dedup)
{
    struct aion_dedup_entry *old = dedup->slots;
    if (!old)
        return;
    dedup->slots = iso_column_zeroed((dedup->mask + 1) * sizeof *dedup->slots);
    for (uint64_t i = 0; i <= dedup->mask; i++) {
        if (old[i].tid)
            dedup->slots[free_slot(dedup, old[i].tid)] = old[i];
    }
    iso_column_free(old, (dedup->mask + 1) * sizeof *old);
}

enum aion_dedup_result aion_dedup_note(struct aion_dedup *dedup, const struct aion_dedup_entry *entry, uint64_t floor,
                                       uint32_t contents)
{
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
