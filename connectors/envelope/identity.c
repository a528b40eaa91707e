#include "connectors/envelope/identity.h"

#include <string.h>

#include "base/archive.h"
#include "base/memory.h"

void iso_identities_init(struct iso_identities *identities)
{
    *identities = (struct iso_identities){0};
    iso_atoms_init(&identities->tables);
}

void iso_identities_release(struct iso_identities *identities)
{
    iso_atoms_release(&identities->tables);
}

/* By name, so that this needs no more of an archive than values and columns: a table's text, then its flag. */
void iso_identities_archive(struct iso_archive *archive, struct iso_identities *identities)
{
    uint32_t count = identities->tables.count;
    if (archive->restoring)
        iso_atoms_clear(&identities->tables);
    iso_archive_value(archive, "identities", &count, sizeof count);
    iso_archive_expect(archive, count <= ISO_IDENTITIES_MAX);
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        char buffer[ISO_ATOM_TEXT_MAX];
        size_t size = 0;
        const char *known =
            archive->restoring ? NULL : iso_atom_text(&identities->tables, ISO_ATOM_TABLE | i, buffer, &size);
        uint64_t length = size, capacity = size;
        char *name = iso_archive_column(archive, "identity", ISO_ARCHIVE_HEAP, (char *)known, &length, &capacity, 1);
        ISO_ARCHIVE_VALUE(archive, identities->is_full[i]);
        if (!archive->restoring)
            continue;
        if (archive->error->status == ISO_OK)
            iso_archive_expect(archive, iso_atoms_add_string(&identities->tables, name ? name : "", length) ==
                                            (ISO_ATOM_TABLE | i));
        iso_free(name);
    }
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
