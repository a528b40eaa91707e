/* Walks of an archive (base/archive.h) over atoms, and histories that are being built. */
#pragma once

#include "base/archive.h"
#include "history/history.h"

void iso_atoms_archive(struct iso_archive *archive, struct iso_atoms *atoms);

/* A history in building. Restoring: into an empty one. */
void iso_history_archive(struct iso_archive *archive, struct iso_history *history);
