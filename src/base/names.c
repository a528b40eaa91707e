#include "base/names.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { FIRST_SLOTS = 64 };

static struct iso_name *slot_of(const struct iso_names *names, const char *name)
{
    uint32_t slot = (uint32_t)iso_hash_text(name, strlen(name)) & names->mask;
    while (names->slots[slot].name && strcmp(names->slots[slot].name, name) != 0)
        slot = (slot + 1) & names->mask;
    return &names->slots[slot];
}

static void widen(struct iso_names *names)
{
    struct iso_names old = *names;
    uint32_t slots = old.slots ? 2 * (old.mask + 1) : FIRST_SLOTS;
    names->slots = iso_allocate_zeroed(slots, sizeof *names->slots);
    names->mask = slots - 1;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++) {
        if (old.slots[i].name)
            *slot_of(names, old.slots[i].name) = old.slots[i];
    }
    iso_free(old.slots);
}

void iso_names_add(struct iso_names *names, const char *name, uint32_t number)
{
    if (!names->slots || names->count >= names->mask / 4 * 3)
        widen(names);
    struct iso_name *slot = slot_of(names, name);
    if (slot->name)
        return;
    *slot = (struct iso_name){name, number};
    names->count++;
}

int64_t iso_names_find(const struct iso_names *names, const char *name)
{
    const struct iso_name *slot = names->slots ? slot_of(names, name) : NULL;
    return slot && slot->name ? (int64_t)slot->number : ISO_NAMES_NONE;
}

void iso_names_release(struct iso_names *names)
{
    iso_free(names->slots);
    memset(names, 0, sizeof *names);
}
