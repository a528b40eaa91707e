#include "base/names.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/index.h"

int64_t iso_names_find(const struct iso_names *names, const char *name)
{
    uint64_t hash = iso_hash_text(name, strlen(name));
    uint32_t at = iso_index_home(hash), i;
    for (; iso_index_next(&names->table, &at, hash, &i); at++)
        if (strcmp(names->list[i].name, name) == 0)
            return names->list[i].number;
    return ISO_NAMES_NONE;
}

void iso_names_add(struct iso_names *names, const char *name, uint32_t number)
{
    if (iso_names_find(names, name) != ISO_NAMES_NONE)
        return;
    ISO_GROW(names->list, names->count, names->capacity);
    names->list[names->count] = (struct iso_name){name, number};
    iso_index_add(&names->table, iso_hash_text(name, strlen(name)), names->count++);
}

void iso_names_release(struct iso_names *names)
{
    iso_index_release(&names->table);
    iso_free(names->list);
    *names = (struct iso_names){0};
}
