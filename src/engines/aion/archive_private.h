/* Parts of the walk that engine and shards share. */
#pragma once

#include "aion/archive.h"
#include "base/index.h"
#include "aion/structures/pool.h"
#include "aion/reorder/reorder_queue.h"
#include "aion/structures/values.h"

void aion_pool_archive(struct iso_archive *archive, struct aion_pool *pool);
void aion_values_archive(struct iso_archive *archive, struct aion_values *values);
void aion_index_archive(struct iso_archive *archive, struct iso_index *index);
void aion_reorder_queue_archive(struct iso_archive *archive, struct aion_reorder_queue *queue);
