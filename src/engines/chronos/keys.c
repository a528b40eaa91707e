/* The state of keys before the first event: initial values, initial lists, nobody open. */

#include <assert.h>

#include "chronos/chronos_private.h"

enum { CACHE_LINE = 64 };

iso_atom chronos_initial_value(const struct chronos *check, uint32_t key)
{
    assert(key < check->history->keys.count);
    return check->initial ? check->initial[key] : check->history->initial.other_value;
}

void chronos_append(struct chronos_list *list, iso_atom element)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 8;
        list->elements = iso_reallocate(list->elements, list->capacity * sizeof *list->elements);
    }
    list->elements[list->count++] = element;
}

static void init_lists(struct chronos *check)
{
    const struct iso_history *history = check->history;
    bool lists = false;
    for (uint32_t key = 0; key < history->keys.count && !lists; key++)
        lists = iso_key_is_list(history, key);
    if (!lists)
        return;
    check->lists = iso_allocate_zeroed((size_t)history->keys.count, sizeof *check->lists);
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.is_append[i])
            chronos_append(&check->lists[history->initial.key[i]], history->initial.value[i]);
    }
    for (uint32_t key = 0; key < history->keys.count; key++)
        check->lists[key].initial = check->lists[key].count;
}

struct chronos_key *chronos_keys_allocate(uint32_t count, void **memory)
{
    *memory = iso_allocate(((size_t)count + 1) * sizeof(struct chronos_key) + CACHE_LINE);
    return (void *)(((uintptr_t)*memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
}

void chronos_keys_init(struct chronos *check)
{
    const struct iso_history *history = check->history;
    check->keys = chronos_keys_allocate(history->keys.count, &check->keys_memory);
    if (history->initial.count)
        check->initial = iso_history_initial_values(history, false);
    init_lists(check);
    for (uint32_t key = 0; key < history->keys.count; key++) {
        bool list = iso_key_is_list(history, key);
        check->keys[key] = (struct chronos_key){.value = list ? check->lists[key].count
                                                              : chronos_initial_value(check, key),
                                                .writer = ISO_NONE,
                                                .accessor = ISO_NONE,
                                                .int_found = ISO_NONE};
    }
    if (check->inverted)
        check->previous = iso_allocate(((size_t)history->keys.count + 1) * sizeof *check->previous);
}

void chronos_keys_release(struct chronos *check)
{
    for (uint32_t key = 0; check->lists && key < check->history->keys.count; key++)
        iso_free(check->lists[key].elements);
    ISO_FREE_ALL(check->lists, check->initial, check->previous, check->keys_memory);
}
