/* How many intervals of a set overlap one: [opened, time] of the writers of a key that many of them
 * share.
 *
 * Two overlap if each begins at or below the other's end, also where one ends before it begins
 * (such a transaction has its timestamps the wrong way round). So it is a count of points (opened,
 * time) in a quarter of the plane. The set is a few arrays, each twice as long as the one before or
 * more, and a handful of the latest; each array is sorted by where intervals begin and says by
 * bits, from the highest on, on which side of each middle their ends lie (a wavelet matrix): a look
 * costs the square of the logarithm, and so does adding one in the long run. 20 bytes or so each.
 */
#pragma once

#include <stdint.h>

struct aion_overlaps;

struct aion_overlaps *aion_overlaps_new(void);
void aion_overlaps_free(struct aion_overlaps *overlaps); /* or NULL */

/* `counts`: the others may overlap it; else only that it is there is known. */
void aion_overlaps_add(struct aion_overlaps *overlaps, uint64_t start_bound, uint64_t time,
                       int counts);
/* Counts only intervals whose time lies from `from` to `to`. */
uint64_t aion_overlaps_count(const struct aion_overlaps *overlaps, uint64_t start_bound,
                             uint64_t time, uint64_t from, uint64_t to);
uint32_t aion_overlaps_size(const struct aion_overlaps *overlaps);  /* how many were added */
uint64_t aion_overlaps_steps(const struct aion_overlaps *overlaps); /* taken so far: for tests */
