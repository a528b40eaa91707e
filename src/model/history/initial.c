#include "history/initial.h"

#include "base/numbers.h"

iso_atom *iso_history_initial_values(const struct iso_history *history)
{
    iso_atom *initial = iso_numbers(history->keys.count);
    for (uint32_t key = 0; key < history->keys.count; key++)
        initial[key] = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++)
        initial[history->initial.key[i]] = history->initial.value[i];
    return initial;
}
