/* A store on disk for what does not fit into memory: records by 64-bit digest, put and got one at a time, in files that
 * nobody else sees and that are gone with the process.
 *
 * A log with an index in memory (Bitcask; the cleaning is that of log-structured file systems, Rosenblum and
 * Ousterhout 1991):
 *
 *   table      tag -> place    8 bytes a slot, 9 to 12 bytes a record: 32 bits of the digest, and where its record
 * begins file       | segment | segment | ...   of 1 MiB, each filled from its start; records of 16 + n bytes, in units
 * of 16 buffer     the segment that is being filled: written at once when it is full
 *
 * A put goes to the end of the log; what the digest's record was before is garbage, and so is one that is removed. When
 * garbage outweighs what lives, the segment with the least living bytes is read, what lives in it goes to the end of
 * the log, and the segment is free. A get is one pread (two if the record is long). Each record has a checksum over all
 * of it.
 *
 * Why not LMDB or RocksDB: measured on this pattern (bench/spill_stores.c; aion/README.md has the figures).
 *
 * The file has no name: it is unlinked as soon as it is open, so that nothing is left behind by whatever death.
 * Errors: ISO_FAILED, naming the folder: the file cannot be made, disk full, read or write error, a record that is not
 * what was written. After an error from put the store must not be used any more. Threads: one at a time.
 */
#ifndef ISO_SPILL_H
#define ISO_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iso/error.h"

struct iso_spill;

/* `folder` exists and can be written to. */
enum iso_status iso_spill_open(const char *folder, struct iso_spill **spill, struct iso_error *error);
void iso_spill_free(struct iso_spill *spill);

/* Bytes that a record may have. */
enum { ISO_SPILL_MOST = 1 << 18 };

/* `replaces`: there is a record of this digest, which this one replaces. Otherwise there must be none. */
enum iso_status iso_spill_put(struct iso_spill *spill, uint64_t digest, bool replaces, const void *record,
                              uint32_t size, struct iso_error *error);

/* The record of a digest, good until the next call; NULL if there is none. */
enum iso_status iso_spill_get(struct iso_spill *spill, uint64_t digest, const uint8_t **record, uint32_t *size,
                              struct iso_error *error);

/* Fetches the cache line that the next call for this digest looks at first. */
void iso_spill_fetch(const struct iso_spill *spill, uint64_t digest);

/* Forgets the record of a digest, which there is. */
enum iso_status iso_spill_remove(struct iso_spill *spill, uint64_t digest, struct iso_error *error);

/* Says in `error` that the store does not hold what was written to it; ISO_FAILED. */
enum iso_status iso_spill_altered(const struct iso_spill *spill, struct iso_error *error);

struct iso_spill_stats {
    uint64_t records;
    uint64_t disk;          /* bytes of the file */
    uint64_t read, written; /* bytes so far; written: with what cleaning moved */
    uint64_t moved;         /* bytes of that */
    uint64_t memory;        /* bytes of table and buffers */
};

/* Adds to what is there. */
void iso_spill_stats(const struct iso_spill *spill, struct iso_spill_stats *stats);

#endif
