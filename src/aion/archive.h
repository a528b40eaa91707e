/* The engine's state as an archive (base/archive.h): one walk saves and restores.
 *
 * Between calls to the engine all of its state is columns and numbers: what one call accepts is taken or waits for its
 * turn before it returns, and what was found has been delivered. A restored engine goes on as the saved one would have,
 * event for event, also where the memory limit decides what is dropped. Caches of blocks are not saved: they fill
 * again.
 */
#ifndef ISO_AION_ARCHIVE_H
#define ISO_AION_ARCHIVE_H

#include "aion/aion.h"
#include "base/archive.h"

struct iso_aion_shard;

/* Restoring: into a new engine of the same options, to which nothing was given but initial values. The archive's
 * error says what went wrong; then the engine can only be freed. */
void iso_aion_archive(struct iso_archive *archive, struct iso_aion *engine);

/* For the engine. */
void iso_aion_shard_archive(struct iso_archive *archive, struct iso_aion_shard *shard);

#endif
