#include "history/initial.h"

#include "base/numbers.h"

iso_atom *iso_history_initial_values(const struct iso_history *history)
{
    iso_atom *initial = iso_numbers(history->key_count);
    for (uint32_t key = 0; key < history->key_count; key++)
        initial[key] = history->initial_value;
    for (uint32_t i = 0; i < history->initial_count; i++)
        initial[history->initial_key[i]] = history->initial_of_key[i];
    return initial;
}
