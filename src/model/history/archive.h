/* Walks of an archive (base/archive.h) over atoms, indices, and histories that are being built. */
#pragma once

#include "base/archive.h"
#include "history/history.h"

struct iso_atom_index;

void iso_atoms_archive(struct iso_archive *archive, struct iso_atoms *atoms);
void iso_atom_index_archive(struct iso_archive *archive, struct iso_atom_index *index);

/* A history in building. Restoring: into an empty one. */
void iso_history_archive(struct iso_archive *archive, struct iso_history *history);
