/* The join's state as an archive (base/archive.h): one walk saves and restores. */
#pragma once

#include "base/archive.h"
#include "join/join.h"

/* Between batches, with nothing in its output. Restoring: into a new one of the same options. */
void iso_join_archive(struct iso_archive *archive, struct iso_join *join);
