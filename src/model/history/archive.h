/* Walks of an archive (base/archive.h) over atoms, indices, and histories that are being built. */
#pragma once

#include "base/archive.h"
#include "iso/history.h"

struct iso_atom_index;

/* After entries and slots of another process were read: slots are made anew. False: something is
 * wrong with them. */
bool iso_atoms_refill(struct iso_atoms *atoms);
void iso_atoms_archive(struct iso_archive *archive, struct iso_atoms *atoms);
void iso_atom_index_archive(struct iso_archive *archive, struct iso_atom_index *index);

/* A history in building. Restoring: into an empty one. */
void iso_history_archive(struct iso_archive *archive, struct iso_history *history);
