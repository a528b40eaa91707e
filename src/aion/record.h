/* A key as a record: its bytes in the store, while it is not in memory.
 *
 *   name  use and flags  span  [initial value, base]  versions  spare writes      all numbers varints (base/varint.h)
 *
 * Each version and spare write carries what is kept of its transaction: that has no record of its own any more. A key
 * with open reads, cases, or writes of unknown outcome has none: others refer to those.
 */
#ifndef ISO_AION_RECORD_H
#define ISO_AION_RECORD_H

#include "aion/shard_private.h"

/* The record of a key, which stays as it is. */
void aion_record_write(const struct iso_aion_shard *shard, const struct aion_key *key, struct aion_bytes *record);

/* Is it the record of this name? */
bool aion_record_is_of(const uint8_t *record, uint32_t size, const struct iso_atoms *atoms, iso_atom name);

/* The same of a segment of versions of a register (cut.c): name  serial number  versions */
void aion_segment_write(const struct iso_aion_shard *shard, const struct aion_key *key, uint32_t serial,
                        const struct aion_entry *versions, uint32_t count, struct aion_bytes *record);

/* Adds the versions of a segment to a run; false: it is none of this key and number. */
bool aion_segment_read(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t serial, const uint8_t *record,
                       uint32_t size, struct aion_run *run);

/* Does the newest version of a segment below `bound`, which it has, have this value? */
bool aion_segment_agrees(const uint8_t *record, uint32_t size, uint64_t bound, const struct iso_atoms *atoms,
                         iso_atom value);

/* Fills an empty key, whose name is there, with what its record says; false: that is not a record. */
bool aion_record_read(struct iso_aion_shard *shard, struct aion_key *key, const uint8_t *record, uint32_t size);

#endif
