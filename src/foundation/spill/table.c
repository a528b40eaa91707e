#include "spill/table.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { FIRST_SLOTS = 64 };

/* One multiplication by a secret number: the tag is the lower half, what chooses the table
 * above. */
static uint64_t hash_of(const struct spill_table *table, uint64_t digest)
{
    unsigned __int128 product =
        (unsigned __int128)(digest ^ table->seed.number) * table->seed.factor;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t number_of(uint64_t hash)
{
    return hash >> 32 & (SPILL_TABLES - 1);
}

static uint32_t home_of(const struct table *table, uint32_t tag)
{
    return (uint32_t)((uint64_t)tag * table->size >> 32);
}

void spill_table_init(struct spill_table *table)
{
    *table = (struct spill_table){.seed = {iso_hash_number(1), iso_hash_number(2) | 1}};
}

void spill_table_release(struct spill_table *table)
{
    for (uint32_t i = 0; i < SPILL_TABLES; i++)
        iso_free(table->tables[i].slots);
    memset(table, 0, sizeof *table);
}

uint64_t spill_table_bytes(const struct spill_table *table)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < SPILL_TABLES; i++)
        slots += table->tables[i].size;
    return slots * sizeof(struct spill_slot);
}

static void put_slot(struct table *table, struct spill_slot slot)
{
    uint32_t at = home_of(table, slot.tag);
    while (table->slots[at].position)
        at = at + 1 < table->size ? at + 1 : 0;
    table->slots[at] = slot;
}

static void widen_table(struct table *table)
{
    struct table old = *table;
    table->size = old.size ? old.size + old.size / 4 : FIRST_SLOTS;
    table->slots = iso_allocate_zeroed(table->size, sizeof *table->slots);
    for (uint32_t i = 0; i < old.size; i++) {
        if (old.slots[i].position)
            put_slot(table, old.slots[i]);
    }
    iso_free(old.slots);
}

void spill_table_add(struct spill_table *table, uint64_t digest, uint32_t position)
{
    uint64_t hash = hash_of(table, digest);
    struct table *part = &table->tables[number_of(hash)];
    if (part->used + 1 > part->size / 6 * 5)
        widen_table(part);
    put_slot(part, (struct spill_slot){(uint32_t)hash, position});
    part->used++;
    table->used++;
}

struct spill_slot *spill_table_next(struct spill_table *table, uint64_t digest,
                                    struct spill_slot *after)
{
    uint64_t hash = hash_of(table, digest);
    struct table *part = &table->tables[number_of(hash)];
    uint32_t at, tag = (uint32_t)hash;
    if (!part->size)
        return NULL;
    at = after ? (uint32_t)(after - part->slots) + 1 : home_of(part, tag);
    for (at = at < part->size ? at : 0; part->slots[at].position;
         at = at + 1 < part->size ? at + 1 : 0) {
        if (part->slots[at].tag == tag)
            return &part->slots[at];
    }
    return NULL;
}

const struct spill_slot *spill_table_home(const struct spill_table *table, uint64_t digest)
{
    uint64_t hash = hash_of(table, digest);
    const struct table *part = &table->tables[number_of(hash)];
    return part->size ? &part->slots[home_of(part, (uint32_t)hash)] : NULL;
}

/* Without tombstones: what stood behind moves up, as far as its home allows. */
void spill_table_remove(struct spill_table *table, uint64_t digest, struct spill_slot *slot)
{
    struct table *part = &table->tables[number_of(hash_of(table, digest))];
    uint32_t gap = (uint32_t)(slot - part->slots), at = gap;
    for (;;) {
        at = at + 1 < part->size ? at + 1 : 0;
        if (!part->slots[at].position)
            break;
        uint32_t home = home_of(part, part->slots[at].tag);
        uint32_t from_home = at >= home ? at - home : at + part->size - home;
        uint32_t from_gap = at >= gap ? at - gap : at + part->size - gap;
        if (from_home >= from_gap) {
            part->slots[gap] = part->slots[at];
            gap = at;
        }
    }
    part->slots[gap] = (struct spill_slot){0};
    part->used--;
    table->used--;
}

#ifdef ISO_VALIDATE
void spill_table_validate(const struct spill_table *table)
{
    uint64_t used = 0;
    for (uint32_t t = 0; t < SPILL_TABLES; t++) {
        const struct table *part = &table->tables[t];
        uint32_t count = 0;
        for (uint32_t i = 0; i < part->size; i++) {
            if (!part->slots[i].position)
                continue;
            count++;
            for (uint32_t at = home_of(part, part->slots[i].tag); at != i;
                 at = at + 1 < part->size ? at + 1 : 0)
                assert(part->slots[at].position);
        }
        assert(count == part->used && count <= part->size / 6 * 5);
        used += count;
    }
    assert(used == table->used);
}
#endif

void spill_table_archive(struct iso_archive *archive, struct spill_table *table)
{
    ISO_ARCHIVE_VALUE(archive, table->used);
    ISO_ARCHIVE_VALUE(archive, table->seed.number);
    ISO_ARCHIVE_VALUE(archive, table->seed.factor);
    iso_archive_expect(archive, table->seed.factor % 2);
    uint64_t used = 0;
    for (uint32_t i = 0; i < SPILL_TABLES; i++) {
        struct table *part = &table->tables[i];
        ISO_ARCHIVE_ANY(archive, "spill slots", ISO_ARCHIVE_HEAP, part->slots, part->size,
                        part->size);
        part->used = 0;
        for (uint32_t s = 0; s < part->size; s++)
            part->used += part->slots[s].position != 0;
        iso_archive_expect(archive, !part->size || part->size >= FIRST_SLOTS);
        iso_archive_expect(archive, part->used <= part->size / 6 * 5);
        used += part->used;
    }
    iso_archive_expect(archive, used == table->used);
}
