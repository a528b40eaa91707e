/* Whether a spill is what its files take it for: run in builds that validate (ISO_VALIDATE), after
 * what changes it. What it costs is kept below a share of the calls' own, however many records
 * there are. */
#include <assert.h>

#include "base/memory.h"
#include "spill/spill_private.h"

bool spill_agrees(const struct iso_spill *spill)
{
    uint32_t *live = iso_allocate_zeroed((size_t)spill->segments + 1, sizeof *live);
    bool agrees = true;
    for (uint32_t t = 0; t < SPILL_TABLES; t++) {
        for (uint32_t i = 0; agrees && i < spill->table.tables[t].size; i++) {
            const struct spill_slot *slot = &spill->table.tables[t].slots[i];
            uint64_t offset = slot->position ? spill_offset_of(slot) : 0,
                     number = offset / spill->segment;
            if (!slot->position)
                continue;
            agrees = number < spill->segments &&
                     offset % spill->segment <
                         (number == spill->active ? spill->filled : spill->segment);
            if (agrees)
                live[number]++;
        }
    }
    for (uint32_t i = 0; agrees && i < spill->segments; i++) {
        const struct spill_segment *segment = &spill->list[i];
        uint32_t most = i == spill->active ? spill->filled : spill->segment;
        agrees = live[i] == segment->live && segment->live <= segment->records &&
                 segment->used <= most && segment->expiring <= segment->used &&
                 segment->records <= segment->used / SPILL_UNIT && segment->order < spill->order;
    }
    iso_free(live);
    return agrees;
}

#ifdef ISO_VALIDATE

/* Slots and segments that one call pays for. */
enum { SHARE = 64 };

/* Each segment is the active one, or has records, or is in one of the stacks. */
static void validate_stacks(const struct iso_spill *spill)
{
    const struct spill_stack *stacks[] = {&spill->free, &spill->freed, &spill->waiting};
    bool *seen = iso_allocate_zeroed((size_t)spill->segments + 1, sizeof *seen);
    uint32_t full = 0, empty = 0;
    for (uint32_t s = 0; s < sizeof stacks / sizeof *stacks; s++)
        for (uint32_t i = 0; i < stacks[s]->count; i++, empty++) {
            uint32_t number = stacks[s]->list[i];
            assert(number < spill->segments && number != spill->active);
            assert(!seen[number] && !spill->list[number].records);
            seen[number] = true;
        }
    for (uint32_t i = 0; i < spill->segments; i++)
        full += i != spill->active && spill->list[i].records;
    assert(full + empty + (spill->segments != 0) == spill->segments);
    assert(spill->options.name || !(spill->freed.count + spill->waiting.count));
    iso_free(seen);
}

void spill_validate(struct iso_spill *spill)
{
    if (spill->unchecked ||
        ++spill->calls * SHARE <
            spill_table_bytes(&spill->table) / sizeof(struct spill_slot) + spill->segments)
        return;
    spill->calls = 0;
    assert(spill_is_segment(spill->segment) && !spill->cleaning);
    assert(spill->segments <= spill->segment_capacity);
    assert(!spill->segments == !spill->buffer);
    assert(spill->filled <= spill->segment && spill->filled % SPILL_UNIT == 0);
    assert(!spill->segments || spill->list[spill->active].used == spill->filled);
    spill_table_validate(&spill->table);
    validate_stacks(spill);
    assert(spill_agrees(spill));
}
#endif
