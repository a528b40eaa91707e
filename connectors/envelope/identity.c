#include "connectors/envelope/identity.h"

#include <string.h>

void iso_identities_init(struct iso_identities *identities)
{
    *identities = (struct iso_identities){0};
    iso_atoms_init(&identities->tables);
}

void iso_identities_release(struct iso_identities *identities)
{
    iso_atoms_release(&identities->tables);
}

static bool *find(struct iso_identities *identities, const char *table, size_t length)
{
    iso_atom atom = iso_atoms_add_string(&identities->tables, table, length);
    if ((atom & ~ISO_ATOM_TABLE) == ISO_IDENTITIES_MAX) {
        iso_atoms_clear(&identities->tables);
        memset(identities->is_full, 0, sizeof identities->is_full);
        atom = iso_atoms_add_string(&identities->tables, table, length);
    }
    return &identities->is_full[atom & ~ISO_ATOM_TABLE];
}

/* Nothing in it is null, and there is something beside the key. */
static bool shows_all(const struct iso_row *before)
{
    bool beside = false;
    for (uint32_t i = 0; i < before->count; i++) {
        if (before->cells[i].kind == ISO_CELL_NULL || before->cells[i].kind == ISO_CELL_UNKNOWN)
            return false;
        beside |= !before->cells[i].is_key;
    }
    return beside;
}

bool iso_identities_is_whole(struct iso_identities *identities, const char *table, size_t length,
                             const struct iso_row *before, const char *value, bool is_update)
{
    bool *full = find(identities, table, length);
    if (!before->count) {
        if (is_update)
            *full = false;
        return false;
    }
    *full |= shows_all(before);
    const struct iso_cell *cell = value ? iso_row_find(before, value, strlen(value)) : NULL;
    return *full || (cell && cell->kind != ISO_CELL_NULL && cell->kind != ISO_CELL_UNKNOWN);
}
