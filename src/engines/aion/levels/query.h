/* Levels below SI: at which moments a read was right, or of which version it is, asked of what a
 * shard keeps of a key.
 *
 * The front asks, between two tasks of the shards (deferred.c): so a read that could be of several
 * moments is judged once, when all that it may rest on is there, and not again by each version that
 * comes. What was dropped below the floor is not known: LOST.
 *
 * Moments are bounds, as in batch.h. Where commits are positions in a log, those between the same
 * two snapshots are one moment (history/boundaries.h).
 *
 * Costs: the versions between what is asked for and what is found. Threads: none of the shards' may
 * run.
 */
#pragma once

#include "aion/shard/shard.h"
#include "history/boundaries.h"

/* The exclusive limit of the timestamps that the moment shows. */
uint64_t aion_time_of_moment(const struct iso_boundaries *boundaries, uint64_t visible_below);

/* One read, as the front has it. */
struct aion_query {
    struct iso_aion_shard *shard;
    const struct iso_boundaries *boundaries;
    uint32_t key;
    uint32_t value; /* of the shard: a single one, or a list */
    uint32_t own;   /* the reader, where it has a version of the key; else ISO_NONE */
    uint32_t match; /* of a list: whose version it is, if it is ON_VERSION */
    enum { AION_ON_NOTHING, AION_ON_INITIAL, AION_ON_VERSION, AION_ON_DROPPED } list_is;
    bool is_list, is_dropped, are_positions;
};

/* The reader that asks; if it has written the key itself, it did so at `cts`. */
struct aion_looker {
    const struct iso_atoms *atoms;
    iso_atom tid;
    uint64_t cts;
    bool has_own;
};

/* `elements`, of `atoms`: of a list, `count` of them, what others appended; else one value. Ends
 * with aion_query_end. */
void aion_query_begin(struct aion_query *query, struct iso_aion_shard *shard, uint32_t key,
                      const struct aion_looker *reader, const struct iso_atoms *atoms,
                      const iso_atom *elements, uint32_t count);
void aion_query_end(struct aion_query *query);

enum aion_found { AION_NOT, AION_FOUND, AION_LOST };

/* Whether the read is right at a moment; from `low` on below `high`, and since when; up to `high`,
 * and until when. */
enum aion_found aion_right_at(const struct aion_query *query, uint64_t visible_below);
enum aion_found aion_first_right(const struct aion_query *query, uint64_t low, uint64_t high,
                                 uint64_t *found);
enum aion_found aion_last_right(const struct aion_query *query, uint64_t high, uint64_t *found);

/* Whether there is a moment from `low` up to `high` whose newest version is not comparable with
 * what was read: the first one, and why. */
bool aion_first_unsure(const struct aion_query *query, uint64_t low, uint64_t high, uint64_t *found,
                       enum iso_unjudged *reason);

/* The writers that a read may be of: the versions with its value that have a cts up to `limit`, but
 * the reader's own. */
struct aion_source {
    uint32_t count; /* of them; with the initial value, if it is that */
    uint32_t newest, shown,
        oldest; /* their transactions, or ISO_NONE; shown: the newest below `start` */
    uint64_t newest_cts, shown_cts, oldest_cts; /* + 1; 0: the initial version's, or none */
    uint64_t kept_from; /* + 1: the least cts of a version that is kept; others of it may have been
                           dropped. 0: none is */
    bool is_initial, is_lost;
};
void aion_find_source(const struct aion_query *query, uint64_t start, uint64_t limit,
                      struct aion_source *source);

/* The newest version with a cts above `than` (+ 1; 0: the initial one) up to `horizon` whose writer
 * is known: its cts + 1, or 0; and how many of that cts, not counting the reader's, are newer.
 * Stops at versions below `floor`: then `*lost`. */
typedef bool aion_knows(void *context, const struct iso_atoms *atoms, iso_atom tid, uint64_t cts);
uint64_t aion_newest_known(const struct aion_query *query, uint64_t than, uint64_t horizon,
                           uint64_t floor, aion_knows *knows, void *context, bool *lost,
                           uint16_t *newer);

/* A list two of whose writers share a cts. */
bool aion_list_is_tied(const struct aion_query *query);

/* The tid of a transaction that `aion_source` names. */
iso_atom aion_query_tid(const struct aion_query *query, uint32_t transaction);
