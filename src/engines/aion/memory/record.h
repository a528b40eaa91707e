/* A key as a record: its bytes in the spill file, while it is not in memory.
 *
 *   name  use and flags  span  [initial value, base, non-version writes, segments]  versions
 *
 * all numbers varints (base/varint.h). Of a segment of versions (paging.c):
 *
 *   name  a flag  serial number  time of the version behind  versions
 *
 * Each version and non-version write carries what is kept of its transaction: that has no record of
 * its own any more. A key with open reads, pending verdicts, or writes of unknown outcome has none:
 * others refer to those.
 *
 * What of a record is below a floor that has yet to come expires then (spill/spill.h): versions
 * before another one that the watermark has passed, but for elements of lists, non-version writes,
 * segments. Writing says how much that is. When the spill file moves the record, it is cut, byte by
 * byte, to what trimming (trim.c) and aion_pages_trim would leave of the key.
 */
#pragma once

#include "aion/shard/shard_private.h"

/* The record of a key, which stays as it is; in `bytes`. */
struct iso_spill_record aion_record_write(const struct iso_aion_shard *shard,
                                          const struct aion_key *key, struct aion_bytes *bytes);

/* Is it the record of this name? */
bool aion_record_is_of(const uint8_t *record, uint32_t size, const struct iso_atoms *atoms,
                       iso_atom name);

/* A segment as a record: `count` versions of a register, behind which there is one more. */
struct iso_spill_record aion_segment_write(const struct iso_aion_shard *shard,
                                           const struct aion_key *key, uint32_t serial,
                                           const struct aion_entry *versions, uint32_t count,
                                           uint64_t behind, struct aion_bytes *bytes);

/* Cuts a record to what the shard's floor leaves of it, and says what will expire later. True:
 * something went, and what is left is in `bytes`; of a segment nothing is. */
bool aion_record_compact(const struct iso_aion_shard *shard, struct iso_spill_record *record,
                         struct aion_bytes *bytes);

/* Adds the versions of a segment to a run; false: it is none of this key and number. */
bool aion_segment_read(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t serial,
                       const uint8_t *record, uint32_t size,
                       struct aion_sorted_chunks *sorted_chunks);

/* Does the newest version of a segment below `bound`, which it has, have this value? */
bool aion_segment_agrees(const uint8_t *record, uint32_t size, uint64_t visible_below,
                         const struct iso_atoms *atoms, iso_atom value);

/* Fills an empty key, whose name is there, with what its record says; false: that is not a
 * record. */
bool aion_record_read(struct iso_aion_shard *shard, struct aion_key *key, const uint8_t *record,
                      uint32_t size);
