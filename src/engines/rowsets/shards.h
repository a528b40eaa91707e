/* Row sets on several threads: each table, and the queries that ask it, belong to one shard, which
 * is an engine of its own (rowsets.h).
 *
 *     what is told -> | shard 0: tables acct, log |  -> findings, in the order of the shards, to
 *                                                    the caller's thread
 *                     | shard 1: table stock      |
 *
 * A query asks one table and a finding is of one, so what is found does not depend on how many
 * shards there are; only the order in which it is told does. Which shard a table belongs to follows
 * from its name. Transactions are collected and go to the shards whose tables they concern, those
 * of unknown outcome to all, as soon as anything else is told: a block of a history must not change
 * before iso_rowsets_shards_flush.
 *
 * The functions are those of rowsets.h of the same names. Cost: with one shard nothing; else a
 * lookup for each key of a block, and texts of rows that transactions of several tables name are
 * kept in each shard. Threads: the caller's gives and takes; `run` puts the shards on others, where
 * the functions of the options that say what is known of columns and keys are called: those must
 * not change anything.
 */
#pragma once

#include "rowsets/rowsets.h"

struct iso_rowsets_shards;

/* Calls task(argument, shard) for each shard, in any order or at the same time, and returns when
 * all have returned (base/team.h). */
typedef void (*iso_rowsets_run)(void *runner, void (*task)(void *argument, uint32_t shard),
                                void *argument, uint32_t shards);

/* `run` NULL: one after another. Of the options `shards` says how many; 0 counts as 1. */
struct iso_rowsets_shards *iso_rowsets_shards_new(const struct iso_rowsets_options *options,
                                                  iso_rowsets_run run, void *runner);
void iso_rowsets_shards_free(struct iso_rowsets_shards *shards);

void iso_rowsets_shards_block(struct iso_rowsets_shards *shards, const struct iso_history *history);
void iso_rowsets_shards_add(struct iso_rowsets_shards *shards, uint32_t transaction);
void iso_rowsets_shards_flush(struct iso_rowsets_shards *shards);
bool iso_rowsets_shards_initial(struct iso_rowsets_shards *shards, iso_atom key, iso_atom value,
                                bool is_list);
void iso_rowsets_shards_unknown_keys(struct iso_rowsets_shards *shards);
void iso_rowsets_shards_whole(struct iso_rowsets_shards *shards);
void iso_rowsets_shards_altered(struct iso_rowsets_shards *shards, struct iso_json_text table,
                                uint64_t cts);
void iso_rowsets_shards_lost(struct iso_rowsets_shards *shards, struct iso_json_text table,
                             uint64_t cts);
bool iso_rowsets_shards_resolve(struct iso_rowsets_shards *shards, const struct iso_atoms *atoms,
                                iso_atom tid, bool committed, uint64_t cts);
void iso_rowsets_shards_watermark(struct iso_rowsets_shards *shards, uint64_t timestamp);
void iso_rowsets_shards_clock(struct iso_rowsets_shards *shards, uint64_t now, uint64_t patience);
void iso_rowsets_shards_forget(struct iso_rowsets_shards *shards, uint64_t floor);
/* Where what is kept takes more than `most` bytes it goes to a file in the folder of the options,
 * of which at most the rest of `most` is in memory. As long as it is too much all the same (there
 * is no folder, or its disk is full), the largest table is given up: what it is asked is unjudged
 * (`memory`). Returns how many tables are. */
uint32_t iso_rowsets_shards_fit(struct iso_rowsets_shards *shards, uint64_t most);
uint64_t iso_rowsets_shards_bytes(struct iso_rowsets_shards *shards);
void iso_rowsets_shards_end(struct iso_rowsets_shards *shards);
void iso_rowsets_shards_stats(struct iso_rowsets_shards *shards, struct iso_rowsets_stats *stats);
void iso_rowsets_shards_archive(struct iso_archive *archive, struct iso_rowsets_shards *shards);
void iso_rowsets_shards_validate(struct iso_rowsets_shards *shards);
