/* Open addressing, for slots of any kind: linear probing in a power of two of them. What is removed
 * leaves no trace: what stood behind it moves up, as far as its home allows.
 *
 * Most want base/index.h or base/number_map.h, which are made of this. A table of its own kind of
 * slot has `slots` and `mask`, one less than there are, keeps one slot free, at least, and calls
 * these functions, which are compiled for the kind. Threads: those of the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A constant: `static const struct iso_slot_kind kind = {sizeof(struct slot), is_free, hash_of};`.
 * A slot of zeros is free. */
struct iso_slot_kind {
    size_t size;
    bool (*is_free)(const void *slot);
    uint64_t (*hash)(const void *slot); /* its home is this & mask */
};

#define ISO_SLOTS_INLINE static inline __attribute__((always_inline))

ISO_SLOTS_INLINE void *iso_slots_at(const void *slots, const struct iso_slot_kind *kind,
                                    uint64_t at)
{
    return (char *)slots + at * kind->size;
}

/* The first free slot for what has this hash. */
ISO_SLOTS_INLINE void *iso_slots_vacant(const void *slots, uint64_t mask,
                                        const struct iso_slot_kind *kind, uint64_t hash)
{
    uint64_t at = hash & mask;
    while (!kind->is_free(iso_slots_at(slots, kind, at)))
        at = (at + 1) & mask;
    return iso_slots_at(slots, kind, at);
}

/* Copies `count` slots from elsewhere (NULL: none) to where they belong. Returns how many were
 * in use. */
ISO_SLOTS_INLINE uint64_t iso_slots_spread(void *slots, uint64_t mask,
                                           const struct iso_slot_kind *kind, const void *from,
                                           uint64_t count)
{
    uint64_t used = 0;
    for (uint64_t i = 0; from && i < count; i++) {
        const void *slot = iso_slots_at(from, kind, i);
        if (kind->is_free(slot))
            continue;
        memcpy(iso_slots_vacant(slots, mask, kind, kind->hash(slot)), slot, kind->size);
        used++;
    }
    return used;
}

ISO_SLOTS_INLINE void iso_slots_vacate(void *slots, uint64_t mask, const struct iso_slot_kind *kind,
                                       uint64_t hole)
{
    for (uint64_t at = hole;;) {
        at = (at + 1) & mask;
        const void *slot = iso_slots_at(slots, kind, at);
        if (kind->is_free(slot))
            break;
        if (((at - kind->hash(slot)) & mask) < ((at - hole) & mask))
            continue;
        memcpy(iso_slots_at(slots, kind, hole), slot, kind->size);
        hole = at;
    }
    memset(iso_slots_at(slots, kind, hole), 0, kind->size);
}
