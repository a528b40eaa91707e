/* The state of keys before the first event: initial values, initial lists, nobody open. */
#include <string.h>

#include "chronos/chronos_private.h"

enum { CACHE_LINE = 64 };

static void init_initial(struct chronos *check)
{
    const struct iso_history *history = check->history;
    if (!history->initial_count)
        return;
    check->initial = iso_allocate(((size_t)history->key_count + 1) * sizeof *check->initial);
    for (uint32_t key = 0; key < history->key_count; key++)
        check->initial[key] = history->initial_value;
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (!history->initial_is_append[i])
            check->initial[history->initial_key[i]] = history->initial_of_key[i];
    }
}

iso_atom chronos_initial_value(const struct chronos *check, uint32_t key)
{
    return check->initial ? check->initial[key] : check->history->initial_value;
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
    for (uint32_t key = 0; key < history->key_count && !lists; key++)
        lists = iso_key_is_list(history, key);
    if (!lists)
        return;
    check->lists = iso_allocate_zeroed((size_t)history->key_count, sizeof *check->lists);
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initial_is_append[i])
            chronos_append(&check->lists[history->initial_key[i]], history->initial_of_key[i]);
    }
    for (uint32_t key = 0; key < history->key_count; key++)
        check->lists[key].initial = check->lists[key].count;
}

/* True if some transaction's own version may be the newest when it reads. */
static bool needs_previous(const struct chronos *check)
{
    const struct iso_history *history = check->history;
    if (!check->si)
        return false;
    if (check->own_times)
        return true;
    for (uint32_t i = 0; i < check->commits.count; i++) {
        uint32_t t = check->commits.transaction[i];
        if (check->commits.time[i] <= history->sts[t])
            return true;
    }
    return false;
}

void chronos_keys_init(struct chronos *check)
{
    const struct iso_history *history = check->history;
    check->keys_memory = iso_allocate(((size_t)history->key_count + 1) * sizeof *check->keys + CACHE_LINE);
    check->keys = (void *)(((uintptr_t)check->keys_memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
    init_initial(check);
    init_lists(check);
    for (uint32_t key = 0; key < history->key_count; key++) {
        bool list = iso_key_is_list(history, key);
        check->keys[key] = (struct chronos_key){.value = list ? check->lists[key].count : chronos_initial_value(check, key),
                                                .writer = ISO_NONE,
                                                .toucher = ISO_NONE,
                                                .int_found = ISO_NONE,
                                                .open_first = ISO_NONE,
                                                .open_more = ISO_NONE};
    }
    if (needs_previous(check))
        check->previous = iso_allocate(((size_t)history->key_count + 1) * sizeof *check->previous);
}

void chronos_keys_release(struct chronos *check)
{
    for (uint32_t key = 0; check->lists && key < check->history->key_count; key++)
        iso_free(check->lists[key].elements);
    iso_free(check->lists);
    iso_free(check->initial);
    iso_free(check->previous);
    iso_free(check->keys_memory);
}
