/* The engine's state as an archive (base/archive.h): one walk saves and restores.
 *
 * Between calls to the engine all of its state is columns and numbers: what one call accepts is
 * taken or waits for its turn before it returns, and what was found has been delivered. A restored
 * engine goes on as the saved one would have, event for event, also where the memory limit decides
 * what goes to the spill file or is dropped. The cache of a block's keys is not saved, and a key
 * that is looked up anew counts as asked for lately: so the block is to be set again
 * (iso_aion_block) before each iso_aion_add, where a memory limit may decide.
 *
 * The spill file on disk, if there is one, has a name (`spill_stays`), and its file is part of what
 * is saved (spill/spill.h).
 */
#pragma once

#include "aion/aion.h"
#include "base/archive.h"

struct iso_aion_shard;

/* Restoring: into a new engine of the same options, to which nothing was given but initial values.
 * The archive's error says what went wrong; then the engine can only be freed. */
void iso_aion_archive(struct iso_archive *archive, struct iso_aion *engine);

/* The engine is about to be saved as it is now, perhaps by another process; what was saved at the
 * last fork is from now on the archive that is restored. In turn, but forks without a commit may
 * precede one. */
void iso_aion_fork(struct iso_aion *engine);
void iso_aion_commit(struct iso_aion *engine);

/* For the engine. */
void iso_aion_shard_archive(struct iso_archive *archive, struct iso_aion_shard *shard);
void iso_aion_shard_fork(struct iso_aion_shard *shard);
void iso_aion_shard_commit(struct iso_aion_shard *shard);
